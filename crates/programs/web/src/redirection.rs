//! Replies that name another place for what was asked for (RFC 9110, section 15.4).

use fluent_uri::UriRef;
use hyper::HeaderMap;
use hyper::header::{AUTHORIZATION, COOKIE, LOCATION};
use hyper::http::response::Parts;
use hyper::{StatusCode, Uri};
use percent_encoding::{AsciiSet, CONTROLS};

use crate::fetch_error::{FetchError, check_authority};

/// The characters that no address may hold (RFC 3986, section 2).
const FOREIGN: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'<')
    .add(b'>')
    .add(b'\\')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// Returns the address that a reply names for what was asked for at `asked`, if it names one.
pub(crate) fn redirection(asked: &Uri, head: &Parts) -> Result<Option<Uri>, FetchError> {
    let is_redirection = matches!(
        head.status,
        StatusCode::MOVED_PERMANENTLY
            | StatusCode::FOUND
            | StatusCode::SEE_OTHER
            | StatusCode::TEMPORARY_REDIRECT
            | StatusCode::PERMANENT_REDIRECT
    );
    let Some(location) = head.headers.get(LOCATION).filter(|_| is_redirection) else {
        return Ok(None);
    };
    let text = escaped(location.as_bytes());
    let wrong = |why| FetchError::Redirection(head.status, text.clone(), why);
    let to = resolved(asked, &text).ok_or_else(|| wrong("it is no address"))?;
    match to.scheme_str() {
        Some("http") => {}
        Some("https") => return Err(wrong("https is encrypted, and does not travel over SAP")),
        _ => return Err(wrong("it is none of http")),
    }
    check_authority(&to)?;
    Ok(Some(to))
}

/// Returns the headers of a request for `at` that was begun for `asked`: at another host without
/// those that are secrets of the first one.
#[must_use]
pub fn of_other_host(headers: &HeaderMap, asked: &Uri, at: &Uri) -> HeaderMap {
    let mut headers = headers.clone();
    if asked.authority() != at.authority() {
        [AUTHORIZATION, COOKIE].iter().for_each(|name| _ = headers.remove(name));
    }
    headers
}

/// Writes bytes that no address may hold as escapes, as browsers do: servers send names of files as
/// they are.
fn escaped(location: &[u8]) -> String {
    percent_encoding::percent_encode(location, FOREIGN).to_string()
}

/// Resolves a reference against the address where it was found (RFC 3986, section 5.2).
fn resolved(base: &Uri, reference: &str) -> Option<Uri> {
    let base = base.to_string();
    let base = fluent_uri::Uri::parse(base.as_str()).ok()?;
    let mut to = UriRef::parse(reference).ok()?.resolve_against(&base).ok()?;
    to.set_fragment(None);
    to.as_str().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::Response;

    fn to(status: StatusCode, location: &str) -> Result<Option<Uri>, FetchError> {
        let value = hyper::header::HeaderValue::from_bytes(location.as_bytes()).expect("a value");
        let reply = Response::builder().status(status).header(LOCATION, value).body(());
        let asked = "http://host:8080/a/b?c=d".parse().expect("an address");
        redirection(&asked, &reply.expect("a reply").into_parts().0)
    }

    #[test]
    fn places_are_resolved_against_the_address_that_was_asked() {
        for (location, expected) in [
            ("e", "http://host:8080/a/e"),
            ("../e/./f", "http://host:8080/e/f"),
            ("/e?f", "http://host:8080/e?f"),
            ("?f", "http://host:8080/a/b?f"),
            ("//other/e", "http://other/e"),
            ("http://other:81/e#part", "http://other:81/e"),
            ("a b/é.jpg?\"c%20d\"", "http://host:8080/a/a%20b/%C3%A9.jpg?%22c%20d%22"),
        ] {
            let found = to(StatusCode::FOUND, location).expect(location).expect(location);
            assert_eq!(found, expected.parse::<Uri>().expect("an address"), "{location}");
        }
        assert!(to(StatusCode::OK, "/e").expect("no error").is_none());
        assert!(to(StatusCode::NOT_MODIFIED, "/e").expect("no error").is_none());
    }

    #[test]
    fn places_that_are_none_of_http_are_named() {
        for (location, part) in [
            ("https://host/e", "encrypted"),
            ("ftp://host/e", "none of http"),
            ("http://host:99999/e", "99999"),
            ("http://a b/", "no address"),
            ("http://me:secret@host/", "names a user"),
            ("ftp://me:secret@host/", "none of http"),
        ] {
            let error = to(StatusCode::FOUND, location).expect_err(location).to_string();
            assert!(error.contains(part) && !error.contains("secret"), "{location}: {error}");
        }
    }
}
