//! The part of a file that a reply brings (RFC 9110, section 14.4).

use core::ops::Range;
use core::str::FromStr;

use hyper::HeaderMap;
use hyper::header::{CONTENT_RANGE, RANGE};

/// The range of a part, and the length of the whole file if the server knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ContentRange {
    pub(crate) range: Range<usize>,
    pub(crate) of: Option<usize>,
}

impl ContentRange {
    /// Reads the header of a reply; `None` if there is none, several, or no range of bytes.
    pub(crate) fn of(headers: &HeaderMap) -> Option<Self> {
        let mut lines = headers.get_all(CONTENT_RANGE).iter();
        let text = lines.next().filter(|_| lines.next().is_none())?.to_str().ok()?;
        let (range, of) = text.trim().strip_prefix("bytes ")?.split_once('/')?;
        let (first, last) = range.split_once('-')?;
        let (first, last): (usize, usize) = (decimal(first)?, decimal(last)?);
        let of = if of == "*" { None } else { Some(decimal(of)?) };
        let is_range = first <= last && last < of.unwrap_or(usize::MAX);
        is_range.then(|| Self { range: first..last.saturating_add(1), of })
    }
}

/// Returns the length of the file that a reply names which sends nothing of it (416).
pub(crate) fn length_of_none(headers: &HeaderMap) -> Option<u64> {
    let text = headers.get(CONTENT_RANGE)?.to_str().ok()?;
    text.trim().strip_prefix("bytes */").and_then(decimal)
}

fn decimal<T: FromStr>(text: &str) -> Option<T> {
    let is_number = !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit());
    text.parse().ok().filter(|_| is_number)
}

/// The bytes of a file that a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AskedRange {
    /// From this position, and before that one unless it is all the rest.
    From(u64, Option<u64>),
    /// The last ones of the file.
    Last(u64),
}

impl AskedRange {
    /// Reads the header of a request; `None` if there is none, or no single range of bytes.
    pub(crate) fn of(headers: &HeaderMap) -> Option<Self> {
        let mut lines = headers.get_all(RANGE).iter();
        let text = lines.next().filter(|_| lines.next().is_none())?.to_str().ok()?.trim();
        let (unit, range) = text.split_once('=')?;
        let (first, last) = range.trim().split_once('-').filter(|_| unit == "bytes")?;
        match (first, last) {
            ("", last) => decimal(last).map(Self::Last),
            (first, "") => Some(Self::From(decimal(first)?, None)),
            (first, last) => {
                let first = decimal(first)?;
                let last = decimal::<u64>(last)?;
                (first <= last).then(|| Self::From(first, Some(last.saturating_add(1))))
            }
        }
    }

    /// Returns the range in a file of this length, or of an unknown one: its start, and its end.
    pub(crate) fn within(self, length: Option<u64>) -> (Option<u64>, Option<u64>) {
        match self {
            Self::From(start, end) => {
                let end = end.map(|end| length.map_or(end, |length| end.min(length)));
                (Some(start), end.or(length))
            }
            Self::Last(bytes) => (length.map(|length| length.saturating_sub(bytes)), length),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_range_of_bytes_is_one() {
        let read = |text: &str| {
            let value = text.parse().expect("a value");
            ContentRange::of(&HeaderMap::from_iter([(CONTENT_RANGE, value)]))
        };
        assert_eq!(read("bytes 3-5/9"), Some(ContentRange { range: 3..6, of: Some(9) }));
        assert_eq!(read("bytes 0-0/*"), Some(ContentRange { range: 0..1, of: None }));
        for text in
            ["bytes */9", "bytes 5-3/9", "bytes 3-9/9", "lines 3-5/9", "3-5/9", "bytes +3-5/9"]
        {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn one_range_is_asked_for_and_ends_with_the_file() {
        let read = |text: &str| {
            let value = text.parse().expect("a value");
            AskedRange::of(&HeaderMap::from_iter([(RANGE, value)]))
        };
        for (text, unknown, of_ten) in [
            ("bytes=4-", (Some(4), None), (Some(4), Some(10))),
            ("bytes=4-5", (Some(4), Some(6)), (Some(4), Some(6))),
            ("bytes=4-99", (Some(4), Some(100)), (Some(4), Some(10))),
            ("bytes=-3", (None, None), (Some(7), Some(10))),
            ("bytes=-30", (None, None), (Some(0), Some(10))),
        ] {
            let asked = read(text).expect("a range");
            assert_eq!((asked.within(None), asked.within(Some(10))), (unknown, of_ten), "{text}");
        }
        for text in ["bytes=5-4", "bytes=1-2,4-5", "lines=4-5", "bytes=-", "bytes=+4-", "4-5"] {
            assert_eq!(read(text), None, "{text}");
        }
        let none = |text: &str| {
            let value = text.parse().expect("a value");
            length_of_none(&HeaderMap::from_iter([(CONTENT_RANGE, value)]))
        };
        assert_eq!(
            (none("bytes */10"), none("bytes 0-9/10"), none("bytes */*")),
            (Some(10), None, None)
        );
    }
}
