//! Who may ask: those who have the token, by the address of this machine itself, and no other page.
//!
//! A server on the loopback device can be reached by every user of the machine, and by every page
//! that is open in a browser there. A token in the path keeps out both, as long as it is secret;
//! the checks of `Host` and `Origin` keep out pages that reach the server under a name of their own
//! (DNS rebinding), and forms and scripts of other sites.

use hyper::header::{CONTENT_TYPE, HOST, HeaderMap, HeaderName, ORIGIN};
use hyper::{Method, Request, StatusCode};

/// The relation of the page that a request comes from to this server, as a browser says.
const SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The secret in the address of a page: 16 random bytes as hexadecimal digits.
#[derive(Clone, PartialEq, Eq)]
pub struct AccessToken(String);

impl AccessToken {
    /// Makes a token of random bytes.
    #[must_use]
    pub fn new(random: [u8; 16]) -> Self {
        Self(random.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// Returns the digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Compares with a text in a time that depends on its length alone.
    fn is(&self, text: &str) -> bool {
        let differences = self.0.bytes().zip(text.bytes()).fold(0, |sum, (a, b)| sum | (a ^ b));
        text.len() == self.0.len() && differences == 0
    }
}

/// A check of requests to a server on the loopback device.
#[derive(Clone)]
pub struct Guard {
    token: AccessToken,
    hosts: [String; 3],
}

impl Guard {
    /// The guard of the server at this port.
    #[must_use]
    pub fn new(token: AccessToken, port: u16) -> Self {
        Self { token, hosts: ["127.0.0.1", "localhost", "[::1]"].map(|it| format!("{it}:{port}")) }
    }

    /// Returns the path behind the token, if the request may be answered.
    ///
    /// # Errors
    /// The status and a line that says why it is refused.
    pub fn check<'a, B>(&self, request: &'a Request<B>) -> Result<&'a str, (StatusCode, String)> {
        let headers = request.headers();
        let named = one(headers, &HOST).filter(|host| self.is_host(host));
        let absolute = request.uri().authority().map(hyper::http::uri::Authority::as_str);
        if named.is_none() || absolute.is_some_and(|it| !self.is_host(it)) {
            return refuse("this is the server of another name");
        }
        let is_own = |origin: &str| {
            let host = origin.strip_prefix("http://");
            host.is_some_and(|host| self.is_host(host))
        };
        if headers.contains_key(ORIGIN) && !one(headers, &ORIGIN).is_some_and(is_own) {
            return refuse("another page asks");
        }
        let path = request.uri().path().strip_prefix('/').unwrap_or_default();
        let (token, rest) = path.split_once('/').unwrap_or((path, ""));
        if !self.token.is(token) {
            return refuse("use the address that `windfall top --web` has printed");
        }
        let is_change = request.method() != Method::GET;
        let site = one(headers, &SITE);
        // A link on another page may lead here; what changes the run comes from here alone.
        let is_foreign = headers.contains_key(SITE)
            && !matches!(site, Some("same-origin" | "none"))
            && (is_change || !rest.is_empty());
        if is_foreign {
            return refuse("another page asks");
        }
        // A form of another page cannot send JSON.
        let is_json = one(headers, &CONTENT_TYPE).is_some_and(|it| it == "application/json");
        if is_change && !is_json {
            let why = "send JSON, as application/json".to_owned();
            return Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, why));
        }
        Ok(rest)
    }

    fn is_host(&self, text: &str) -> bool {
        self.hosts.iter().any(|host| host.eq_ignore_ascii_case(text))
    }
}

/// Returns the answer to a request that is forbidden.
fn refuse<T>(why: &str) -> Result<T, (StatusCode, String)> {
    Err((StatusCode::FORBIDDEN, why.to_owned()))
}

/// The value of a header that stands once.
fn one<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next().filter(|_| values.next().is_none())?;
    value.to_str().ok()
}

#[cfg(test)]
mod tests;
