//! A line for each request, in the Common Log Format.

use std::io::Write;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

/// The bytes of a request or of the way of a body that a line holds.
const LONGEST: usize = 2_048;

/// A log of requests; lines that cannot be written are dropped.
pub struct AccessLog(Option<Mutex<Box<dyn Write + Send>>>);

/// An answered request.
pub(crate) struct Access<'a> {
    pub(crate) from: IpAddr,
    /// The request line.
    pub(crate) request: &'a str,
    pub(crate) status: u16,
    /// Bytes of the body; unset: unknown.
    pub(crate) length: Option<u64>,
    /// The way of the body, and its damage.
    pub(crate) way: &'a str,
}

impl AccessLog {
    /// Writes lines to `out`.
    #[must_use]
    pub fn new(out: impl Write + Send + 'static) -> Self {
        Self(Some(Mutex::new(Box::new(out))))
    }

    /// Writes no lines.
    #[must_use]
    pub fn none() -> Self {
        Self(None)
    }

    /// Tells whether lines are written anywhere.
    pub(crate) fn is_kept(&self) -> bool {
        self.0.is_some()
    }

    pub(crate) fn write(&self, access: &Access<'_>) {
        let Some(out) = &self.0 else { return };
        let time = common_date(&httpdate::fmt_http_date(now()));
        let length = access.length.map_or_else(|| "-".to_owned(), |length| length.to_string());
        let request = field(access.request);
        let way = field(access.way);
        let Access { from, status, .. } = access;
        let line = format!("{from} - - [{time}] \"{request}\" {status} {length} \"{way}\"\n");
        let _ = out.lock().unwrap_or_else(PoisonError::into_inner).write_all(line.as_bytes());
    }
}

/// Returns a text as a field between quotes: no quote and no control character of the peer looks
/// like its end, and a long one is cut, with its length as a mark.
fn field(text: &str) -> String {
    let mut ends = (0..=LONGEST.min(text.len())).rev();
    let end = ends.find(|end| text.is_char_boundary(*end)).unwrap_or_default();
    let mut field = text[..end].replace(|c: char| c == '"' || c.is_control(), "?");
    if end < text.len() {
        field += &format!("...[cut, {} bytes]", text.len());
    }
    field
}

/// Writes the date of HTTP, `Sun, 06 Nov 1994 08:49:37 GMT`, as the Common Log Format does.
fn common_date(of_http: &str) -> String {
    let words: Vec<&str> = of_http.split(' ').collect();
    match words[..] {
        [_, day, month, year, time, _] => format!("{day}/{month}/{year}:{time} +0000"),
        _ => of_http.to_owned(),
    }
}

#[expect(clippy::disallowed_methods, reason = "a log says when")]
fn now() -> std::time::SystemTime {
    std::time::SystemTime::now()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    /// A writer that the test reads.
    #[derive(Clone, Default)]
    struct Shared(Arc<Mutex<Vec<u8>>>);

    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().expect("whole").extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_line_has_the_fields_of_the_common_log_format() {
        let shared = Shared::default();
        let request = "GET /a\"b\n HTTP/1.1";
        let from = IpAddr::from([10, 0, 0, 1]);
        let access = Access { from, request, status: 200, length: Some(5), way: "tcp" };
        AccessLog::new(shared.clone()).write(&access);
        let line = last_line(&shared);
        assert!(line.starts_with("10.0.0.1 - - ["), "{line}");
        assert!(line.ends_with("+0000] \"GET /a?b? HTTP/1.1\" 200 5 \"tcp\"\n"), "{line}");
        assert_eq!(common_date("Sun, 06 Nov 1994 08:49:37 GMT"), "06/Nov/1994:08:49:37 +0000");
    }

    #[test]
    fn a_long_request_is_cut_and_marked() {
        let shared = Shared::default();
        let request = format!("GET /{} HTTP/1.1", "ä".repeat(30_000));
        let way = "tcp: \" 200 9 \"sap";
        let from = IpAddr::from([10, 0, 0, 1]);
        let access = Access { from, request: &request, status: 404, length: None, way };
        AccessLog::new(shared.clone()).write(&access);
        let line = last_line(&shared);
        assert!(line.len() < LONGEST + 200, "{}", line.len());
        assert!(line.ends_with("ä...[cut, 60014 bytes]\" 404 - \"tcp: ? 200 9 ?sap\"\n"), "{line}");
    }

    fn last_line(shared: &Shared) -> String {
        String::from_utf8(shared.0.lock().expect("whole").clone()).expect("text")
    }
}
