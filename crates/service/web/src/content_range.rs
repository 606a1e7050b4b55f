//! The part of a file that a reply brings (RFC 9110, section 14.4).

use core::ops::Range;

use hyper::HeaderMap;
use hyper::header::CONTENT_RANGE;

/// The range of a part, and the length of the whole file if the server knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ContentRange {
    pub(crate) range: Range<usize>,
    pub(crate) of: Option<usize>,
}

impl ContentRange {
    /// Reads the header of a reply; `None` if there is none, or no range of bytes.
    pub(crate) fn of(headers: &HeaderMap) -> Option<Self> {
        let text = headers.get(CONTENT_RANGE)?.to_str().ok()?;
        let (range, of) = text.trim().strip_prefix("bytes ")?.split_once('/')?;
        let (first, last) = range.split_once('-')?;
        let number = |text: &str| {
            let is_number = !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit());
            text.parse::<usize>().ok().filter(|_| is_number)
        };
        let (first, last) = (number(first)?, number(last)?);
        let of = if of == "*" { None } else { Some(number(of)?) };
        let is_range = first <= last && of.is_none_or(|of| last < of);
        is_range.then(|| Self { range: first..last.saturating_add(1), of })
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
}
