//! The headers with which a client offers to receive a body over SAP.

use hyper::HeaderMap;
use hyper::header::{self, HeaderName, HeaderValue};

use crate::media_types::TypeList;

/// The types that the client tolerates damage of.
pub(crate) const APPROX: HeaderName = HeaderName::from_static("x-sap-approx");
/// In a request the port of the client where it listens, in a reply that of the server.
pub(crate) const PORT: HeaderName = HeaderName::from_static("x-sap-port");
/// The client asks for precise messages.
pub(crate) const FORCE_PRECISE: HeaderName = HeaderName::from_static("x-sap-force-precise");
/// The client opens the connection itself.
pub(crate) const CLIENT_OPENS: HeaderName = HeaderName::from_static("x-sap-client-opens");
/// The token of the transfer that carries the body.
pub(crate) const TOKEN: HeaderName = HeaderName::from_static("x-sap-token");
/// The length of the body that travels over SAP.
pub(crate) const LENGTH: HeaderName = HeaderName::from_static("x-sap-length");
/// The `Cache-Control` of the resource, since the reply itself must not be kept.
pub(crate) const CACHE_CONTROL: HeaderName = HeaderName::from_static("x-sap-cache-control");
/// The reason for which an offer was not taken.
pub(crate) const FALLBACK: HeaderName = HeaderName::from_static("x-sap-fallback");
/// The damage of a body that a proxy passes on.
pub(crate) const DAMAGE: HeaderName = HeaderName::from_static("x-sap-damage");

/// All of these headers; a proxy passes none of them on.
pub(crate) const ALL: [HeaderName; 9] =
    [APPROX, PORT, FORCE_PRECISE, CLIENT_OPENS, TOKEN, LENGTH, CACHE_CONTROL, FALLBACK, DAMAGE];

/// The ports that a server may be asked to call; those below belong to services.
const PORTS: core::ops::RangeInclusive<u16> = 1_024..=u16::MAX;
/// The most digits of a port or of the number of a transfer.
const DIGITS: usize = 5;

/// The end that opens the SAP connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SapOpener {
    /// The server calls the client at this port (S0.42).
    Server(u16),
    /// The client calls the server, since address translation lets no calls in.
    Client {
        /// The connection that is open already: the token of its first transfer, and the number
        /// of the next.
        open: Option<([u8; 16], u16)>,
    },
}

impl SapOpener {
    /// Reads the value of [`CLIENT_OPENS`]; outer `None`: it is malformed, inner: it says no.
    #[expect(clippy::option_option, reason = "no and wrong are answered differently")]
    fn client(text: &str) -> Option<Option<Self>> {
        if !is_set(Some(text)) {
            return Some(None);
        }
        if ["1", "yes", "true"].contains(&text.to_ascii_lowercase().as_str()) {
            return Some(Some(Self::Client { open: None }));
        }
        let (first, number) = text.split_once(' ')?;
        let number = number_of(number).filter(|number| *number > 0)?;
        Some(Some(Self::Client { open: Some((token_from_hex(first)?, number)) }))
    }
}

/// Reads a port or the number of a transfer.
fn number_of(text: &str) -> Option<u16> {
    let is_number = text.len() <= DIGITS && text.bytes().all(|digit| digit.is_ascii_digit());
    text.parse().ok().filter(|_| is_number)
}

/// Returns a token in hexadecimal digits.
pub(crate) fn token_to_hex(token: &[u8; 16]) -> String {
    token.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Reads a token in hexadecimal digits.
pub(crate) fn token_from_hex(text: &str) -> Option<[u8; 16]> {
    let mut token = [0; 16];
    if text.len() != 2 * token.len() || !text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    for (byte, at) in token.iter_mut().zip((0..).step_by(2)) {
        *byte = u8::from_str_radix(&text[at..at + 2], 16).ok()?;
    }
    Some(token)
}

/// The offer of a client to receive a body over SAP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SapOffer {
    /// The types to receive over SAP; unset: all of them, if they are precise.
    pub types: Option<TypeList>,
    /// The body travels as precise messages.
    pub is_precise: bool,
    /// The end that opens the connection.
    pub opener: SapOpener,
    /// The request itself forbids that its reply is changed on the way, `no-transform`.
    pub forbids_change: bool,
}

impl SapOffer {
    //= S0.39
    //= S0.40
    //= S0.41
    /// Reads the offer of a request; `None` if there is none, or one that cannot be taken: a list
    /// that is none, a port that is missing, no number or below 1024, a header other than the list
    /// that comes twice. Headers without a value have no meaning, as for servers that drop them.
    #[must_use]
    pub fn from_headers(headers: &HeaderMap) -> Option<Self> {
        let is_precise = is_set(single(headers, &FORCE_PRECISE)?.as_deref());
        let types = match list(headers, &APPROX)? {
            Some(text) => Some(text.parse::<TypeList>().ok()?),
            None if is_precise => None,
            None => return None,
        };
        let port = single(headers, &PORT)?;
        let client = match single(headers, &CLIENT_OPENS)? {
            Some(text) => SapOpener::client(&text)?,
            None => None,
        };
        let opener = match (client, port) {
            (Some(client), None) => client,
            (None, Some(port)) => {
                SapOpener::Server(number_of(&port).filter(|port| PORTS.contains(port))?)
            }
            _ => return None,
        };
        Some(Self { types, is_precise, opener, forbids_change: forbids_change(headers) })
    }

    /// Adds the headers of this offer to a request.
    pub fn write(&self, headers: &mut HeaderMap) {
        if let Some(types) = &self.types {
            // No longer than the list that was read.
            let value = HeaderValue::from_str(&types.to_string().replace(", ", ","));
            headers.extend(value.map(|value| (APPROX, value)));
        }
        if self.is_precise {
            headers.insert(FORCE_PRECISE, HeaderValue::from_static("1"));
        }
        match self.opener {
            SapOpener::Server(port) => headers.insert(PORT, port.into()),
            SapOpener::Client { open } => {
                let text = open.map(|(token, number)| format!("{} {number}", token_to_hex(&token)));
                let value = text.and_then(|text| HeaderValue::from_str(&text).ok());
                let value = value.unwrap_or(HeaderValue::from_static("1"));
                headers.insert(CLIENT_OPENS, value)
            }
        };
    }

    /// Tells whether a body of this type travels over SAP.
    pub(crate) fn takes(&self, media_type: &str) -> bool {
        self.types.as_ref().is_none_or(|types| types.matches(media_type))
    }
}

/// Returns the text of a header that may come once at most; outer `None`: it is wrong. One with a
/// comma is what a server or a proxy makes of two (RFC 9110, section 5.3).
#[expect(clippy::option_option, reason = "absent and wrong are answered differently")]
fn single(headers: &HeaderMap, name: &HeaderName) -> Option<Option<String>> {
    let text = list(headers, name)?;
    if text.as_ref().is_some_and(|text| text.contains(',')) { None } else { Some(text) }
}

/// Returns the text of a header that may come several times, which is one list then; outer `None`:
/// it is no text.
#[expect(clippy::option_option, reason = "absent and wrong are answered differently")]
fn list(headers: &HeaderMap, name: &HeaderName) -> Option<Option<String>> {
    let values = headers.get_all(name).iter();
    let values: Option<Vec<&str>> = values.map(|value| value.to_str().ok()).collect();
    let values = values?.into_iter().map(str::trim).filter(|text| !text.is_empty());
    let text = values.collect::<Vec<_>>().join(", ");
    Some(Some(text).filter(|text| !text.is_empty()))
}

/// Tells whether a message must arrive as it is (RFC 9110, section 7.7).
pub(crate) fn forbids_change(headers: &HeaderMap) -> bool {
    let values = headers.get_all(header::CACHE_CONTROL).iter();
    let mut directives = values.flat_map(|value| value.as_bytes().split(|byte| *byte == b','));
    directives.any(|it| it.trim_ascii().eq_ignore_ascii_case(b"no-transform"))
}

/// Tells whether a header says yes: it is there, and is not a form of no.
fn is_set(text: Option<&str>) -> bool {
    text.is_some_and(|text| !["0", "no", "false"].contains(&text.to_ascii_lowercase().as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(headers: &[(&'static str, &str)]) -> Option<SapOffer> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, value.parse().expect("a value"));
        }
        SapOffer::from_headers(&map)
    }

    //= S0.39
    //= S0.40
    //= S0.41
    #[test]
    fn an_offer_names_types_a_port_and_the_mode() {
        let plain = offer(&[("X-SAP-Approx", "image/jpeg"), ("X-SAP-Port", " 5004 ")]);
        let plain = plain.expect("an offer");
        assert_eq!(plain.opener, SapOpener::Server(5004));
        assert!(!plain.is_precise && plain.takes("image/jpeg") && !plain.takes("text/html"));
        let precise = offer(&[("x-sap-force-precise", "1"), ("x-sap-port", "5004")]);
        let precise = precise.expect("an offer");
        assert!(precise.is_precise && precise.takes("text/html"));
        let port = ("x-sap-port", "5004");
        let calls = offer(&[("x-sap-approx", "*/*"), ("x-sap-client-opens", "1")]);
        assert_eq!(calls.expect("an offer").opener, SapOpener::Client { open: None });
        let called = offer(&[("x-sap-approx", "*/*"), ("x-sap-client-opens", "No"), port]);
        assert_eq!(called.expect("an offer").opener, SapOpener::Server(5004));
    }

    //= S0.40
    #[test]
    fn missing_and_bad_headers_make_no_offer() {
        let types = ("x-sap-approx", "image/jpeg");
        for port in
            ["", "0", "80", "1023", "65536", "+5004", "5004x", "-1", "1e4", "5004,5005", "005004"]
        {
            assert_eq!(offer(&[types, ("x-sap-port", port)]), None, "{port:?}");
        }
        let port = ("x-sap-port", "5004");
        for bad in ["", "image", "image/jpeg image/png", "*/jpeg"] {
            assert_eq!(offer(&[("x-sap-approx", bad), port]), None, "{bad:?}");
        }
        let token = "00112233445566778899aabbccddeeff";
        let numbers =
            ["0", "+7", "65536", "7 8", "000007"].map(|number| format!("{token} {number}"));
        for bad in
            ["", "12", "12 7", "00 11 22", "perhaps"].into_iter().map(str::to_owned).chain(numbers)
        {
            assert_eq!(offer(&[types, ("x-sap-client-opens", &bad)]), None, "{bad:?}");
        }
        assert_eq!(offer(&[]), None);
        assert_eq!(offer(&[types]), None);
        assert_eq!(offer(&[port]), None);
        assert_eq!(offer(&[types, port, port]), None);
        assert_eq!(offer(&[types, port, ("x-sap-client-opens", "1")]), None);
        assert_eq!(offer(&[port, ("x-sap-force-precise", "0")]), None);
    }

    /// Whoever passes a request on may join headers of one name, and drop those without a value.
    #[test]
    fn an_offer_is_the_same_whichever_way_its_headers_travel() {
        let port = ("x-sap-port", "5004");
        let lines = [("x-sap-approx", "image/jpeg"), ("x-sap-approx", "audio/*"), port];
        let joined = offer(&[("x-sap-approx", "image/jpeg, audio/*"), port]);
        assert!(joined.is_some());
        assert_eq!(offer(&lines), joined);
        let blank = ["x-sap-force-precise", "x-sap-client-opens", "x-sap-approx"];
        let blank = blank.map(|name| (name, ""));
        assert_eq!(offer(&[&lines[..], &blank].concat()), joined);
        for twice in ["1, 1", "0, 0", "1,"] {
            assert_eq!(offer(&[&lines[..], &[("x-sap-force-precise", twice)]].concat()), None);
        }
    }

    #[test]
    fn a_request_can_forbid_a_change() {
        let lines = [("x-sap-approx", "*/*"), ("x-sap-port", "5004")];
        for (value, forbids) in
            [("max-age=0, No-Transform", true), ("no-transform", true), ("no-transforms", false)]
        {
            let found = offer(&[&lines[..], &[("cache-control", value)]].concat());
            assert_eq!(found.expect("an offer").forbids_change, forbids, "{value}");
        }
    }

    #[test]
    fn an_offer_is_read_as_it_was_written() {
        let open = Some(([0x5a; 16], 65_535));
        let clients = [SapOpener::Client { open: None }, SapOpener::Client { open }];
        for opener in clients.into_iter().chain([SapOpener::Server(50_000)]) {
            for is_precise in [false, true] {
                let types = "image/jpeg, audio/*".parse().ok();
                let offer = SapOffer { types, is_precise, opener, forbids_change: false };
                let mut headers = HeaderMap::new();
                offer.write(&mut headers);
                assert_eq!(SapOffer::from_headers(&headers), Some(offer));
            }
        }
    }
}
