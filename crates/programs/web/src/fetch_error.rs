//! What can go wrong with a request.

use std::time::Duration;

use hyper::{StatusCode, Uri};

use crate::memory::MemorySpent;
use crate::server::port_of;
use crate::userinfo::without_user;

/// The time in which the next bytes of a body come over TCP.
pub(crate) const BODY: Duration = Duration::from_secs(30);

/// The error of a request.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The server cannot be reached, or broke the connection.
    #[error("the request failed")]
    Request(#[from] hyper_util::client::legacy::Error),
    /// The body broke off.
    #[error("the body broke off: {0}")]
    Body(Box<dyn core::error::Error + Send + Sync>),
    /// The transfer over SAP ended amid a precise body.
    #[error("the body broke off: its transfer over SAP has ended")]
    BrokeOff,
    /// The server has stopped amid a body over TCP.
    #[error("the body broke off: no byte came for {} s", BODY.as_secs())]
    Stalled,
    /// The reply contradicts itself or the request in its headers of SAP.
    #[error("the reply is none of SAP: {0}")]
    Contradicts(String),
    /// The server has not answered in time.
    #[error("the server did not answer in time")]
    TimedOut,
    /// No UDP port can be opened.
    #[error(transparent)]
    Sap(#[from] windfall_socket::SapError),
    /// The file on the server is another one now, or the server sends no parts.
    #[error("the server has no part of the same file: its answer is {0}")]
    Changed(StatusCode),
    /// The file would come in the clear.
    #[error(
        "the server has another key of SAP, or none, so that the file would come in the clear: \
         give both the same --key, or --key none here"
    )]
    KeysDiffer,
    /// A reply with a part of the file contradicts the request or itself.
    #[error("the part that the server sends does not fit: {0}")]
    Part(String),
    /// The server ends a part before what was asked for, and the rest cannot be asked for.
    #[error(
        "the server sent the file only up to byte {came}{of}, and the rest did not come",
        came = .0, of = .1.map_or(String::new(), |of| format!(" of {of}"))
    )]
    Short(u64, Option<u64>),
    /// The file on the server has another length than what is there already permits.
    #[error(
        "the file on the server has {of} bytes, and {there} are there: it is another one, so \
         that nothing can be added",
        of = .0, there = .1
    )]
    Shorter(u64, u64),
    /// The server does not send the file.
    #[error("the server answers {0}")]
    Status(StatusCode),
    /// There is no memory for a body.
    #[error(transparent)]
    Memory(#[from] MemorySpent),
    /// A body would be zeros for the most part.
    #[error("less than a quarter of the body has arrived")]
    TooLittle,
    /// The damage of a body cannot be repaired.
    #[error("the damage cannot be repaired; asked for {0} times, it comes with: {1}")]
    Repair(usize, #[source] Box<Self>),
    /// The address is not one of HTTP.
    #[error("{} is no address of HTTP such as http://host:8080/picture.jpg", shown(.0))]
    Address(Uri),
    /// The port in the address is none.
    #[error("the port in {} is none from 1 to 65535", shown(.0))]
    Port(Uri),
    /// The address names a user.
    #[error(
        "{} names a user: leave out what stands before the @, and give it by --user",
        shown(.0)
    )]
    User(Uri),
    /// The server names another place that cannot be followed.
    #[error(
        "the server answers {status} and names {place:?}, which cannot be followed: {why}",
        status = .0, place = without_user(.1), why = .2
    )]
    Redirection(StatusCode, String, &'static str),
    /// The reply is one that nothing has asked for.
    #[error("the server answers with {0}, which was not asked for")]
    Unasked(String),
}

fn shown(uri: &Uri) -> String {
    without_user(&uri.to_string())
}

impl FetchError {
    /// Tells whether the same request may succeed later.
    #[must_use]
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Request(_) | Self::Body(_) | Self::BrokeOff | Self::Stalled => true,
            Self::TimedOut | Self::Memory(_) | Self::Short(..) => true,
            Self::Status(status) => matches!(status.as_u16(), 408 | 425 | 429 | 500 | 502..=504),
            _ => false,
        }
    }

    /// Tells whether the same request may succeed: a reply that was damaged on its way reads as one
    /// that is none of HTTP, or as that of another file.
    pub(crate) fn may_be_damage(&self) -> bool {
        match self {
            Self::Request(error) => !error.is_connect(),
            Self::TooLittle
            | Self::Body(_)
            | Self::Contradicts(_)
            | Self::Changed(_)
            | Self::Unasked(_) => true,
            _ => false,
        }
    }
}

/// Checks host and port of an address: a port that is none would be taken for 80, and a user would
/// be left out.
///
/// # Errors
/// If the address names a port that is none, or a user.
pub fn check_authority(uri: &Uri) -> Result<(), FetchError> {
    match uri.authority() {
        Some(authority) if port_of(authority).is_err() => Err(FetchError::Port(uri.clone())),
        Some(authority) if authority.as_str().contains('@') => Err(FetchError::User(uri.clone())),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_host_and_a_port_and_no_user() {
        let check = |text: &'static str| check_authority(&Uri::from_static(text));
        assert!(check("http://host/a").is_ok() && check("http://[::1]:80/a@b").is_ok());
        assert!(matches!(check("http://host:99999/"), Err(FetchError::Port(_))));
        let named = check("http://me:secret@host/").expect_err("a user");
        assert!(matches!(named, FetchError::User(_)));
        assert!(!named.to_string().contains("secret"), "{named}");
    }
}
