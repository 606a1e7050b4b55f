//! What a client makes of replies before their bodies.

use std::io;

use hyper::body::{Body as _, Incoming};
use hyper::header::{CONTENT_LENGTH, HeaderValue, TRANSFER_ENCODING};
use hyper::{HeaderMap, Request, Response, StatusCode};

use crate::offer;
use crate::server::{MessageBody, empty};
use windfall_bodies::TransferToken;

/// Returns a copy of a request that may be repeated: one that changes nothing and has no body
/// (RFC 9110, section 9.2.2).
pub(crate) fn repeatable_request(request: &Request<MessageBody>) -> Option<Request<MessageBody>> {
    let may_repeat = request.method().is_safe() && request.body().is_end_stream();
    may_repeat.then(|| {
        let mut again = Request::new(empty());
        *again.method_mut() = request.method().clone();
        *again.uri_mut() = request.uri().clone();
        *again.headers_mut() = request.headers().clone();
        again
    })
}

/// Tells whether a request failed because its connection has ended.
pub(crate) fn has_ended(error: &hyper_util::client::legacy::Error) -> bool {
    let mut cause = core::error::Error::source(error);
    while let Some(error) = cause {
        let http = error.downcast_ref::<hyper::Error>();
        let system = error.downcast_ref::<io::Error>().map(io::Error::kind);
        if http.is_some_and(|it| it.is_incomplete_message() || it.is_canceled())
            || system == Some(io::ErrorKind::ConnectionReset)
            || system == Some(io::ErrorKind::BrokenPipe)
        {
            return true;
        }
        cause = error.source();
    }
    false
}

/// Checks that a reply is one to a request that asks for no encoding of the transfer, and for
/// another protocol only if it `asks`: its body could not be passed on.
pub(crate) fn expected(reply: &Response<Incoming>, asks: bool) -> Result<(), String> {
    if reply.status() == StatusCode::SWITCHING_PROTOCOLS && !asks {
        return Err("another protocol".to_owned());
    }
    expected_encoding(reply.headers())
}

/// Checks that a reply is encoded for its transfer in chunks once, or not at all: a sender must not
/// apply chunks twice (RFC 9112, section 6.1).
fn expected_encoding(headers: &HeaderMap) -> Result<(), String> {
    let lines = headers.get_all(TRANSFER_ENCODING).iter();
    let codings = lines.flat_map(|it| it.as_bytes().split(|byte| *byte == b','));
    let codings = codings.map(<[u8]>::trim_ascii).filter(|coding| !coding.is_empty());
    let mut is_chunked = false;
    for coding in codings {
        if !coding.eq_ignore_ascii_case(b"chunked") {
            return Err(format!("Transfer-Encoding {}", String::from_utf8_lossy(coding)));
        }
        if is_chunked {
            return Err("Transfer-Encoding chunked, chunked".to_owned());
        }
        is_chunked = true;
    }
    Ok(())
}

/// Says what a reply has instead of a length or a head that can be read, if that is why a request
/// failed.
pub(crate) fn unreadable(error: &hyper_util::client::legacy::Error) -> Option<&'static str> {
    let mut cause = core::error::Error::source(error);
    while let Some(error) = cause {
        if let Some(http) = error.downcast_ref::<hyper::Error>() {
            if http.is_parse_too_large() {
                return Some("a head that is too long, or a length that is too great");
            }
            if http.is_parse() && http.to_string().contains("content-length") {
                return Some(NO_LENGTH);
            }
        }
        cause = error.source();
    }
    None
}

/// The form of a length that is none.
const NO_LENGTH: &str = "a length that is none, or several";

/// Makes several equal lengths one, as a list or as headers (RFC 9110, section 8.6): whoever reads
/// the reply next may take another one of them.
///
/// # Errors
/// If they differ, or are no numbers: a reply without content may have such ones (RFC 9112, section
/// 6.3).
pub(crate) fn one_length(headers: &mut HeaderMap) -> Result<(), String> {
    let values = headers.get_all(CONTENT_LENGTH).iter();
    let mut lengths = values.flat_map(|it| it.as_bytes().split(|byte| *byte == b','));
    let Some(first) = lengths.next().map(<[u8]>::trim_ascii) else { return Ok(()) };
    if lengths.any(|other| other.trim_ascii() != first) {
        return Err("several lengths".to_owned());
    }
    let is_number = !first.is_empty() && first.iter().all(u8::is_ascii_digit);
    let value = HeaderValue::from_bytes(first).ok().filter(|_| is_number);
    let value = value.ok_or_else(|| NO_LENGTH.to_owned())?;
    headers.insert(CONTENT_LENGTH, value);
    Ok(())
}

/// Reads the token and the length of the body that a reply announces over SAP, if it does.
pub(crate) fn sap_transfer_headers(
    headers: &HeaderMap,
) -> Result<Option<(TransferToken, Option<usize>)>, String> {
    let wrong = |name, value: &HeaderValue, want| {
        let value = String::from_utf8_lossy(value.as_bytes());
        Err(format!("{name} is {value:?}, not {want}"))
    };
    let Some(token) = headers.get(&offer::TOKEN) else { return Ok(None) };
    let Some(read) = token.to_str().ok().and_then(offer::token_from_hex) else {
        return wrong(offer::TOKEN, token, "32 hexadecimal digits");
    };
    let Some(length) = headers.get(&offer::LENGTH) else { return Ok(Some((read, None))) };
    let digits = length.to_str().ok().filter(|it| it.bytes().all(|it| it.is_ascii_digit()));
    match digits.and_then(|it| it.parse().ok()) {
        Some(length) => Ok(Some((read, Some(length)))),
        None => wrong(offer::LENGTH, length, "a number of bytes"),
    }
}
