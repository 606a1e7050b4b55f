//! Passing messages on from one connection to another (RFC 9110, section 7.6).

use core::error::Error;
use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Frame, Incoming};
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderName, HeaderValue,
    MAX_FORWARDS, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
    VIA,
};
use hyper::http::request;
use hyper::http::response::Parts;
use hyper::http::uri::PathAndQuery;
use hyper::{HeaderMap, Method, Response, StatusCode, Uri, Version};

use crate::fetch_error::FetchError;
use crate::idle_timeout::IdleTimeoutBody;
use crate::server::{MessageBody, Reply, closing, empty, plain};
use crate::versions::ForServer;

/// The headers that concern one connection only.
const OF_CONNECTION: [HeaderName; 9] = [
    CONNECTION,
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
];

/// The headers that concern a connection no more where one names them in `Connection`.
const OF_MESSAGE: [HeaderName; 4] = [CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, HOST];

/// The time for which the sender of a body that is passed on may be silent.
const SILENCE: Duration = Duration::from_secs(60);
/// The time for which a head waits for the first bytes of its body.
const BEGIN: Duration = Duration::from_millis(100);

/// Removes the headers that concern the connection on which a message came.
pub(crate) fn strip(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|names| names.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    // No sender may take away what is meant for all on the way (RFC 9110, section 7.6.1).
    let named = named.iter().filter(|name| !OF_MESSAGE.contains(name));
    named.chain(&OF_CONNECTION).for_each(|name| _ = headers.remove(name));
}

/// Adds the name of this program to those that have passed a message on, and the version in which
/// it came; returns false if the name is there already, which is a loop.
pub(crate) fn sign(headers: &mut HeaderMap, version: Version, name: &str) -> bool {
    let via = headers.get_all(VIA).iter().filter_map(|value| value.to_str().ok());
    let is_loop = via.flat_map(|it| it.split([' ', ','])).any(|word| word == name);
    let version = if version < Version::HTTP_11 { "1.0" } else { "1.1" };
    let signature = HeaderValue::from_str(&format!("{version} {name}"));
    signature.into_iter().for_each(|signature| _ = headers.append(VIA, signature));
    !is_loop
}

/// Returns a random name for [`sign`].
pub(crate) fn name() -> String {
    let mut number = [0; 8];
    // Without randomness all have one name, so that two in a row look like a loop.
    let _ = rustix::rand::getrandom(&mut number, rustix::rand::GetRandomFlags::empty());
    format!("windfall-{:016x}", u64::from_ne_bytes(number))
}

/// Why the body of a request could not be read, if it could not.
#[derive(Clone, Debug, Default)]
pub(crate) struct BodyFault(Arc<OnceLock<StatusCode>>);

impl BodyFault {
    /// Returns the reply for a request whose body is at fault, and not the server behind.
    pub(crate) fn reply(&self, error: &FetchError) -> Option<Reply> {
        Some(closing(*self.0.get()?, &with_causes(error)))
    }
}

/// The body of a request that is passed on as [`body`] is, and what tells of its faults. One in
/// chunks is announced as such, since a GET would otherwise be sent without it.
pub(crate) fn request_body(headers: &mut HeaderMap, body: Incoming) -> (MessageBody, BodyFault) {
    if body.size_hint().exact().is_none() {
        headers.remove(CONTENT_LENGTH);
        headers.insert(TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
    }
    let fault = BodyFault::default();
    let noted = fault.clone();
    let body = IdleTimeoutBody::new(body, SILENCE).map_err(move |error| {
        let is_late = error.kind() == io::ErrorKind::TimedOut;
        let status = if is_late { StatusCode::REQUEST_TIMEOUT } else { StatusCode::BAD_REQUEST };
        noted.0.get_or_init(|| status);
        error
    });
    (body.boxed(), fault)
}

/// Names the host by the address that is asked for, whatever the client named (RFC 9112 section
/// 3.2.2).
pub(crate) fn name_the_host(head: &mut request::Parts) {
    let Some(authority) = head.uri.authority() else { return };
    let port = authority.port().map_or(String::new(), |port| format!(":{port}"));
    if let Ok(host) = HeaderValue::from_str(&format!("{}{port}", authority.host())) {
        head.headers.insert(HOST, host);
    }
}

/// Aims a request of OPTIONS for a whole address without a path at the server itself, as `*` (RFC
/// 9112, section 3.2.4).
pub(crate) fn aim(head: &mut request::Parts) {
    let is_for_server = head.extensions.remove::<ForServer>().is_some();
    if !is_for_server || head.method != Method::OPTIONS {
        return;
    }
    let mut parts = head.uri.clone().into_parts();
    parts.path_and_query = Some(PathAndQuery::from_static("*"));
    head.uri = Uri::from_parts(parts).unwrap_or_else(|_| head.uri.clone());
}

/// A body that is passed on as it comes, and broken off where its sender stops.
pub(crate) fn body(body: Incoming) -> MessageBody {
    IdleTimeoutBody::new(body, SILENCE).boxed()
}

/// Answers a request that asks which server on the way is the last that `Max-Forwards` lets it
/// reach, if this is the one; counts this server otherwise (RFC 9110, section 7.6.2).
pub(crate) fn last_stop(method: &Method, headers: &mut HeaderMap) -> Option<Reply> {
    let counts = matches!(*method, Method::OPTIONS | Method::TRACE);
    let left = headers.get(MAX_FORWARDS).filter(|_| counts)?;
    let left: u64 = left.to_str().ok()?.trim().parse().ok()?;
    let Some(left) = left.checked_sub(1) else {
        let mut reply = plain(StatusCode::METHOD_NOT_ALLOWED, "TRACE is not answered");
        if *method == Method::OPTIONS {
            reply = plain(StatusCode::OK, "");
        }
        reply.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD, OPTIONS"));
        return Some(reply);
    };
    headers.insert(MAX_FORWARDS, left.into());
    None
}

/// The body of a reply once its first bytes have come, or some time has passed.
///
/// # Errors
/// If it breaks off before them: the reply can still say so then, in place of a connection that
/// ends without a word.
async fn begun(mut rest: Incoming) -> Result<MessageBody, FetchError> {
    if rest.is_end_stream() {
        return Ok(empty());
    }
    match tokio::time::timeout(BEGIN, rest.frame()).await {
        Err(_) => Ok(body(rest)),
        Ok(None) => Ok(empty()),
        Ok(Some(Ok(first))) => Ok(IdleTimeoutBody::begun([first], rest, SILENCE).boxed()),
        Ok(Some(Err(error))) => Err(FetchError::Body(with_causes(&error).into())),
    }
}

/// A reply that the program of this name passes on as it comes.
///
/// # Errors
/// If its body breaks off before the first byte.
pub(crate) async fn reply(reply: Response<Incoming>, name: &str) -> Result<Reply, FetchError> {
    let (mut head, body) = reply.into_parts();
    // It has no content (RFC 9110, section 15.3.6), whatever its sender thinks.
    let body = if head.status == StatusCode::RESET_CONTENT {
        head.headers.insert(CONTENT_LENGTH, 0.into());
        empty()
    } else {
        begun(body).await?
    };
    Ok(signed(Response::from_parts(head, body), name))
}

/// A reply of whose body some has come before there was no memory for more of it: it is passed on
/// as it comes.
pub(crate) fn reply_begun(
    head: Parts,
    first: impl IntoIterator<Item = Bytes>,
    rest: Incoming,
    name: &str,
) -> Reply {
    let first = first.into_iter().map(Frame::data);
    let body = IdleTimeoutBody::begun(first, rest, SILENCE).boxed();
    signed(Response::from_parts(head, body), name)
}

/// Makes the head of a reply one of the next connection, and adds the name of this program.
pub(crate) fn signed(mut reply: Reply, name: &str) -> Reply {
    // The encoding decides where there are both (RFC 9112 section 6.3), and is no business of the
    // next connection.
    if reply.headers().contains_key(TRANSFER_ENCODING) {
        reply.headers_mut().remove(CONTENT_LENGTH);
    }
    strip(reply.headers_mut());
    let version = reply.version();
    let _ = sign(reply.headers_mut(), version, name);
    // Each connection has a version of its own (RFC 9110, section 2.5).
    *reply.version_mut() = Version::HTTP_11;
    reply
}

/// The reply to a request that the server behind has not answered.
pub(crate) fn failure(error: &FetchError) -> Reply {
    let status = match error {
        FetchError::TimedOut => StatusCode::GATEWAY_TIMEOUT,
        FetchError::Address(_) | FetchError::Port(_) | FetchError::User(_) => {
            StatusCode::BAD_REQUEST
        }
        _ => StatusCode::BAD_GATEWAY,
    };
    plain(status, &with_causes(error))
}

/// Returns the text of an error and of what caused it.
fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(reason) = cause {
        text += &format!(": {reason}");
        cause = reason.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_the_connection_are_not_passed_on() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("connection", "x-own, close, Host"),
            ("x-own", "1"),
            ("host", "a"),
            ("proxy-connection", "keep-alive"),
            ("transfer-encoding", "chunked"),
            ("accept", "*/*"),
        ] {
            headers.append(name, value.parse().expect("a value"));
        }
        strip(&mut headers);
        assert_eq!(headers.keys().map(HeaderName::as_str).collect::<Vec<_>>(), ["host", "accept"]);
    }

    #[test]
    fn a_request_that_comes_back_is_a_loop() {
        let mut headers = HeaderMap::new();
        assert!(sign(&mut headers, Version::HTTP_11, "windfall-1"));
        assert!(sign(&mut headers, Version::HTTP_10, "windfall-2"));
        assert!(!sign(&mut headers, Version::HTTP_11, "windfall-1"));
        let via: Vec<_> = headers.get_all(VIA).iter().take(2).collect();
        assert_eq!(via, ["1.1 windfall-1", "1.0 windfall-2"]);
    }
}
