//! Requests of later minor versions of HTTP/1, which a server reads as those of its own, and those
//! of other major ones, which it refuses by their name (RFC 9110, sections 2.5 and 15.6.6).

use core::pin::Pin;
use core::sync::atomic::{AtomicU64, Ordering};
use core::task::{Context, Poll, ready};
use std::collections::BTreeSet;
use std::io::{self, IoSlice};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::write_through::write_through;

/// The bytes before the digit of a minor version.
const BEFORE: &[u8; 8] = b" HTTP/1.";
/// The bytes of a version, before and after the digit of its major one.
const NAME_OF_HTTP: &[u8] = b" HTTP/";
const READ_AS: &[u8] = b"1.1";
const DELETE: u8 = 0x7f;
const OPTIONS: &[u8] = b"OPTIONS ";
/// The bytes of a line by which a field that changes how the connection is read is known, with the
/// longest length and spaces around it.
const FIELD: usize = 48;
const LENGTH: &[u8] = b"content-length:";
/// The greatest length that a request may name: who reads it takes a longer one for fields that are
/// too long.
const LONGEST: u64 = u64::MAX - 2;

/// A request of OPTIONS for a whole address without a path, which is one for the server itself (RFC
/// 9112, section 3.2.4). Who reads the address takes it for one with the path `/`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ForServer;

/// The knowledge about the request lines of a connection, counted from 0 in the order in which
/// they come.
#[derive(Clone, Debug)]
pub(crate) struct RequestLines(Arc<Noted>);

#[derive(Debug)]
struct Noted {
    /// The first request of a major version that is not served.
    other: AtomicU64,
    /// Requests for the server itself that have not been taken.
    for_server: Mutex<BTreeSet<u64>>,
}

impl RequestLines {
    /// Tells whether the request of this number is the first of another major version.
    pub(crate) fn is_other_version(&self, number: u64) -> bool {
        self.0.other.load(Ordering::Relaxed) == number
    }

    /// Tells whether the request of this number is one for the server itself; only once.
    pub(crate) fn take_for_server(&self, number: u64) -> Option<ForServer> {
        self.for_server().remove(&number).then_some(ForServer)
    }

    fn for_server(&self) -> MutexGuard<'_, BTreeSet<u64>> {
        self.0.for_server.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells whether a request line asks for the options of a whole address without a path.
fn is_for_server(line: &[u8]) -> bool {
    let Some(target) = line.strip_prefix(OPTIONS) else { return false };
    let target = target.split(|byte| *byte == b' ').next().unwrap_or_default();
    let begin = target.windows(3).position(|it| it == b"://").map(|at| at + 3);
    begin.is_some_and(|begin| {
        begin < target.len() && !target[begin..].iter().any(|byte| b"/?#".contains(byte))
    })
}

/// A connection whose requests are of version 1.1 at most.
///
/// The requests are followed as long as none has a body in chunks or changes the protocol: what
/// comes after such a one is passed on as it is.
pub(crate) struct AtMost11<S> {
    stream: S,
    place: Place,
    /// The last bytes of a request line, or the first ones of a field, in lower case.
    seen: Vec<u8>,
    /// The line is empty up to now.
    is_empty: bool,
    /// The request that is read has a body of unknown length, or changes the protocol.
    leads_elsewhere: bool,
    /// The digits up to now of the length that the field names.
    digits: u64,
    /// The bytes of the body of the request that is read.
    body: u64,
    /// The requests before this one.
    requests: u64,
    lines: RequestLines,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    RequestLine,
    Field,
    /// A body, of which this number of bytes is left.
    Body(u64),
    Elsewhere,
}

impl<S> AtMost11<S> {
    pub(crate) fn new(stream: S) -> Self {
        Self {
            stream,
            place: Place::RequestLine,
            seen: Vec::with_capacity(FIELD),
            is_empty: true,
            leads_elsewhere: false,
            digits: 0,
            body: 0,
            requests: 0,
            lines: RequestLines(Arc::new(Noted {
                other: AtomicU64::new(u64::MAX),
                for_server: Mutex::default(),
            })),
        }
    }

    /// Returns what tells of the request lines.
    pub(crate) fn lines(&self) -> RequestLines {
        self.lines.clone()
    }

    /// Notes a request whose line ends here if it is of another major version, and writes 1.1 in
    /// its place so that it is read. A line that has come in several pieces is refused as one that
    /// cannot be read.
    fn note_version(&mut self, line: &mut [u8]) {
        let line = match line {
            [line @ .., b'\r'] => line,
            line => line,
        };
        if is_for_server(line) {
            self.lines.for_server().insert(self.requests);
        }
        let Some((rest, version)) = line.split_last_chunk_mut::<3>() else { return };
        let is_other = rest.ends_with(NAME_OF_HTTP)
            && matches!(version, [b'0' | b'2'..=b'9', b'.', b'0'..=b'9']);
        if is_other {
            version.copy_from_slice(READ_AS);
            let other = &self.lines.0.other;
            other.store(other.load(Ordering::Relaxed).min(self.requests), Ordering::Relaxed);
        }
    }

    /// Reads the version of each request, and writes 1.1 in place of a later one. A length that is
    /// too great becomes one that is none.
    fn follow(&mut self, bytes: &mut [u8]) {
        let mut line = 0;
        let mut at = 0;
        while at < bytes.len() {
            if let Place::Body(left) = self.place {
                let here = left.min((bytes.len() - at) as u64);
                at += here as usize;
                line = at;
                self.place =
                    if here < left { Place::Body(left - here) } else { Place::RequestLine };
                continue;
            }
            if bytes[at] == b'\n' {
                if self.place == Place::RequestLine {
                    self.note_version(&mut bytes[line..at]);
                }
                line = at + 1;
            }
            let byte = &mut bytes[at];
            match self.place {
                Place::Elsewhere | Place::Body(_) => return,
                _ if *byte == b'\n' => self.end_line(),
                Place::RequestLine => {
                    if self.seen == BEFORE && (b'2'..=b'9').contains(byte) {
                        *byte = b'1';
                    }
                    // Who reads the line would leave a fragment out, which no target has (RFC
                    // 9112, section 3.2): a control character makes the line one that is none.
                    if *byte == b'#' {
                        *byte = DELETE;
                    }
                    if *byte != b'\r' {
                        self.is_empty = false;
                    }
                    if self.seen.len() == BEFORE.len() {
                        self.leads_elsewhere |= self.seen == b"CONNECT ";
                        self.seen.rotate_left(1);
                        self.seen.pop();
                    }
                    self.seen.push(*byte);
                }
                Place::Field => {
                    self.is_empty &= *byte == b'\r';
                    if byte.is_ascii_digit() && self.seen.starts_with(LENGTH) {
                        let digit = u64::from(*byte - b'0');
                        self.digits = self.digits.saturating_mul(10).saturating_add(digit);
                        if self.digits > LONGEST {
                            *byte = b'x';
                        }
                    }
                    if self.seen.len() < FIELD {
                        self.seen.push(byte.to_ascii_lowercase());
                    }
                }
            }
            at += 1;
        }
    }

    fn end_line(&mut self) {
        let names = [&b"transfer-encoding:"[..], b"upgrade:"];
        self.place = match (self.place, self.is_empty) {
            // Empty lines may stand before a request.
            (Place::RequestLine, true) => Place::RequestLine,
            (Place::Field, true) if self.leads_elsewhere => Place::Elsewhere,
            (Place::Field, true) => {
                self.requests += 1;
                match core::mem::take(&mut self.body) {
                    0 => Place::RequestLine,
                    body => Place::Body(body),
                }
            }
            (Place::Field, false) => {
                self.leads_elsewhere |= names.iter().any(|name| self.seen.starts_with(name));
                if let Some(length) = self.seen.strip_prefix(LENGTH) {
                    let length = core::str::from_utf8(length.trim_ascii()).ok();
                    match length.filter(|_| self.seen.len() < FIELD).and_then(|it| it.parse().ok())
                    {
                        Some(length) => self.body = length,
                        None => self.leads_elsewhere = true,
                    }
                }
                Place::Field
            }
            (_, false) => Place::Field,
            (place, true) => place,
        };
        self.seen.clear();
        self.digits = 0;
        self.is_empty = true;
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for AtMost11<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        if self.place != Place::Elsewhere {
            self.follow(&mut buffer.filled_mut()[before..]);
        }
        Poll::Ready(Ok(()))
    }
}

write_through!(AtMost11);

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the bytes that a connection reads of these, in pieces of this length.
    fn read(bytes: &str, step: usize) -> String {
        let mut connection = AtMost11::new(());
        let mut bytes = bytes.as_bytes().to_vec();
        bytes.chunks_mut(step).for_each(|piece| connection.follow(piece));
        String::from_utf8(bytes).expect("text")
    }

    #[test]
    fn the_first_request_of_another_major_version_is_known() {
        let get = |version: &str| format!("GET / HTTP/{version}\r\nHost: a\r\n\r\n");
        for (versions, number) in [
            (&["2.0"][..], Some(0)),
            (&["1.1", "1.9", "3.0", "2.0"], Some(2)),
            (&["1.0", "0.9"], Some(1)),
            (&["1.0", "1.22", "2", "12.0", "2.00"], None),
        ] {
            let mut connection = AtMost11::new(());
            let other = connection.lines();
            versions.iter().for_each(|it| connection.follow(&mut get(it).into_bytes()));
            assert_eq!((0..9).find(|at| other.is_other_version(*at)), number, "{versions:?}");
        }
    }

    #[test]
    fn a_length_that_is_too_great_is_read_as_none() {
        let post = |length: &str| format!("POST / HTTP/1.1\r\nContent-Length: {length}\r\n\r\n");
        let zeros = "0".repeat(60);
        for (length, read_as) in [
            ("18446744073709551613", "18446744073709551613"),
            ("18446744073709551614", "1844674407370955161x"),
            ("18446744073709551615", "1844674407370955161x"),
            ("18446744073709551616", "1844674407370955161x"),
            ("999999999999999999999", "9999999999999999999xx"),
            (&format!("{zeros}5"), &format!("{zeros}5")),
            (&format!("{zeros}18446744073709551615"), &format!("{zeros}1844674407370955161x")),
        ] {
            for step in [1, 2, 3, 7, 1_000] {
                // The count begins again in each field, and with each request.
                let other = "GET / HTTP/1.1\r\nAge: 18446744073709551615\r\n\r\n";
                let sent = [&post("0"), other, &post("0"), &post(length)].concat();
                let expected = [&post("0"), other, &post("0"), &post(read_as)].concat();
                assert_eq!(read(&sent, step), expected, "{length} by {step}");
            }
        }
    }

    #[test]
    fn a_target_with_a_fragment_is_none() {
        let get = |end: &str| {
            format!("GET /a{end} HTTP/1.1\r\nReferer: b#c\r\nContent-Length: 1\r\n\r\n#")
        };
        for step in [1, 2, 3, 7, 1_000] {
            assert_eq!(read(&get("#b").repeat(2), step), get("\x7fb").repeat(2));
        }
    }

    #[test]
    fn later_versions_are_read_as_1_1_and_nothing_else_is_changed() {
        let get = |version: &str| format!("GET /HTTP/1.2 HTTP/{version}\r\nHost: a\r\n\r\n");
        let post = "POST / HTTP/1.3\r\nContent-Length: 15\r\n\r\nGET / HTTP/1.2\n";
        let read_post = "POST / HTTP/1.1\r\nContent-Length: 15\r\n\r\nGET / HTTP/1.2\n";
        for step in [1, 2, 3, 7, 1_000] {
            for (sent, expected) in
                [("1.2", "1.1"), ("1.9", "1.1"), ("1.1", "1.1"), ("1.0", "1.0"), ("1.22", "1.12")]
            {
                assert_eq!(read(&get(sent), step), get(expected));
            }
            // Pipelined, after an empty line, and with a body, whose bytes are none of a request.
            let several = [&get("1.2"), "\r\n", &get("1.3"), post, &get("1.2")].concat();
            let expected = [&get("1.1"), "\r\n", &get("1.1"), read_post, &get("1.1")].concat();
            assert_eq!(read(&several, step), expected);
            for other in [
                "CONNECT a:1 HTTP/1.1\r\n\r\n",
                "GET / HTTP/1.1\r\nUpgrade: x\r\n\r\n",
                "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n",
                "POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n",
            ] {
                let tunnel = [other, "GET / HTTP/1.2\r\n\r\n"].concat();
                assert_eq!(read(&tunnel, step), tunnel);
            }
            // A line that comes at once is read, and noted.
            for version in ["2.0", "3.0", "0.9"] {
                let several = [get("1.1"), get(version)].concat();
                let expected =
                    if step < several.len() { several.clone() } else { get("1.1").repeat(2) };
                assert_eq!(read(&several, step), expected);
            }
            let field = "GET / HTTP/1.1\r\nReferer: GET / HTTP/1.2\r\n\r\n";
            assert_eq!(read(field, step), field);
        }
    }
}
