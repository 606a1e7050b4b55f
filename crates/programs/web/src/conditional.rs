//! Conditional requests and ranges (RFC 9110, sections 13 and 14).

use core::ops::Range;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hyper::HeaderMap;
use hyper::header::{
    HeaderName, IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE, IF_UNMODIFIED_SINCE, RANGE,
};

/// The state of a file: its strong entity tag, its time and its length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Validators {
    pub(crate) tag: String,
    /// The time of the last change, in whole seconds.
    pub(crate) modified: SystemTime,
    pub(crate) length: u64,
}

impl Validators {
    /// Makes the validators of a file that was last changed this time after 1970. One that is sent
    /// with a content coding is another representation than the file without, and has a tag of its
    /// own (RFC 9110, section 8.8.3.3).
    pub(crate) fn new(modified: Duration, length: u64, encoding: Option<&str>) -> Self {
        let (mark, encoding) = encoding.map_or(("", ""), |name| ("-", name));
        let tag = format!("\"{:x}-{length:x}{mark}{encoding}\"", modified.as_nanos());
        Self { tag, modified: UNIX_EPOCH + Duration::from_secs(modified.as_secs()), length }
    }
}

/// The answer to a request for a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Selection {
    Whole,
    Part(Range<u64>),
    NotModified,
    Failed,
    Unsatisfiable,
}

//= S0.42
/// Decides on a GET or HEAD request in the order of RFC 9110, section 13.2.2.
pub(crate) fn select(headers: &HeaderMap, of: &Validators) -> Selection {
    let later = |name: &HeaderName| date(headers, name).map(|since| of.modified > since);
    match text(headers, &IF_MATCH) {
        Some(tags) if !holds(&tags, &of.tag, true) => return Selection::Failed,
        None if later(&IF_UNMODIFIED_SINCE) == Some(true) => return Selection::Failed,
        _ => {}
    }
    match text(headers, &IF_NONE_MATCH) {
        Some(tags) if holds(&tags, &of.tag, false) => return Selection::NotModified,
        None if later(&IF_MODIFIED_SINCE) == Some(false) => return Selection::NotModified,
        _ => {}
    }
    // A date names no version for sure, since a file may change twice within its second (RFC 9110,
    // section 13.1.5).
    let is_current = text(headers, &IF_RANGE).is_none_or(|tag| tag.trim() == of.tag);
    match text(headers, &RANGE) {
        Some(ranges) if is_current => part(&ranges, of.length),
        _ => Selection::Whole,
    }
}

/// Returns the text of a header, joined if it comes several times.
fn text(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    let values: Vec<_> = headers.get_all(name).iter().filter_map(|it| it.to_str().ok()).collect();
    (!values.is_empty()).then(|| values.join(","))
}

/// Returns the date of a header; several have no meaning (RFC 9110, sections 13.1.3 and 13.1.4).
fn date(headers: &HeaderMap, name: &HeaderName) -> Option<SystemTime> {
    let mut values = headers.get_all(name).iter();
    let only = values.next().filter(|_| values.next().is_none())?;
    httpdate::parse_http_date(only.to_str().ok()?).ok()
}

/// Tells whether a list of entity tags holds `tag`; weak tags count unless `strong`.
fn holds(list: &str, tag: &str, strong: bool) -> bool {
    list.split(',').map(str::trim).any(|it| {
        let bare = it.strip_prefix("W/").filter(|_| !strong).unwrap_or(it);
        it == "*" || bare == tag
    })
}

/// Reads the range of a request. Several ranges, other units and what cannot be read are ignored,
/// as RFC 9110 permits.
fn part(text: &str, length: u64) -> Selection {
    // Units are names without case (RFC 9110, section 14.1).
    let of_bytes =
        text.trim().split_once('=').filter(|(unit, _)| unit.eq_ignore_ascii_case("bytes"));
    let ranges = of_bytes.map_or("", |(_, ranges)| ranges);
    // Empty elements of a list have no meaning (section 5.6.1.2).
    let mut ranges = ranges.split(',').map(str::trim).filter(|range| !range.is_empty());
    let one = ranges.next().filter(|_| ranges.next().is_none());
    let Some((first, last)) = one.and_then(|range| range.split_once('-')) else {
        return Selection::Whole;
    };
    let range = match (number(first), number(last)) {
        (Some(first), Some(last)) if first <= last => first..last.saturating_add(1).min(length),
        (Some(first), None) if last.is_empty() => first..length,
        (None, Some(count)) if first.is_empty() => length.saturating_sub(count)..length,
        _ => return Selection::Whole,
    };
    if range.is_empty() { Selection::Unsatisfiable } else { Selection::Part(range) }
}

/// Reads a number without a sign.
fn number(text: &str) -> Option<u64> {
    let is_number = !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit());
    // A number beyond 64 bits is beyond every end.
    is_number.then(|| text.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIME: &str = "Sun, 06 Nov 1994 08:49:37 GMT";

    fn of() -> Validators {
        Validators::new(Duration::from_millis(784_111_777_500), 1_000, None)
    }

    fn answer(headers: &[(HeaderName, &str)]) -> Selection {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(name, value.parse().expect("a value"));
        }
        select(&map, &of())
    }

    #[test]
    fn a_client_that_has_the_file_gets_none() {
        let tag = of().tag;
        let weak = format!("\"a\", W/{tag}");
        for has in [tag.as_str(), "*", &weak] {
            assert_eq!(answer(&[(IF_NONE_MATCH, has)]), Selection::NotModified, "{has}");
        }
        assert_eq!(answer(&[(IF_MODIFIED_SINCE, TIME)]), Selection::NotModified);
        let before = "Sun, 06 Nov 1994 08:49:36 GMT";
        assert_eq!(answer(&[(IF_MODIFIED_SINCE, before)]), Selection::Whole);
        assert_eq!(answer(&[(IF_MODIFIED_SINCE, "yesterday")]), Selection::Whole);
        for twice in [IF_MODIFIED_SINCE, IF_UNMODIFIED_SINCE] {
            let twice = [(twice.clone(), TIME), (twice, before)];
            assert_eq!(answer(&twice), Selection::Whole);
            assert_eq!(answer(&[twice[1].clone(), twice[0].clone()]), Selection::Whole);
        }
        // A tag that does not match decides, whatever the date says.
        let both = [(IF_NONE_MATCH, "\"b\""), (IF_MODIFIED_SINCE, TIME)];
        assert_eq!(answer(&both), Selection::Whole);
    }

    #[test]
    fn a_file_that_has_changed_fails_a_precondition() {
        let tag = of().tag;
        assert_eq!(answer(&[(IF_MATCH, &tag)]), Selection::Whole);
        assert_eq!(answer(&[(IF_MATCH, "\"b\"")]), Selection::Failed);
        assert_eq!(answer(&[(IF_MATCH, &format!("W/{tag}"))]), Selection::Failed);
        assert_eq!(answer(&[(IF_UNMODIFIED_SINCE, TIME)]), Selection::Whole);
        let before = "Sun, 06 Nov 1994 08:49:36 GMT";
        assert_eq!(answer(&[(IF_UNMODIFIED_SINCE, before)]), Selection::Failed);
    }

    #[test]
    fn ranges_are_parts_of_the_file() {
        for (text, range) in [
            ("bytes=0-0", 0..1),
            ("BYTES=0-0", 0..1),
            ("bytes=10-19", 10..20),
            ("bytes=10-19,", 10..20),
            ("bytes=, ,10-19 ,", 10..20),
            ("bytes=990-2000", 990..1_000),
            ("bytes=990-", 990..1_000),
            ("bytes=-1", 999..1_000),
            ("bytes=-2000", 0..1_000),
            ("bytes=5-99999999999999999999999", 5..1_000),
        ] {
            assert_eq!(answer(&[(RANGE, text)]), Selection::Part(range), "{text}");
        }
        for text in ["bytes=1000-", "bytes=1000-1001", "bytes=-0", "bytes=99999999999999999999-"] {
            assert_eq!(answer(&[(RANGE, text)]), Selection::Unsatisfiable, "{text}");
        }
        for text in [
            "bytes=5-4",
            "bytes=-",
            "bytes=,",
            "bytes=a-b",
            "lines=1-2",
            "bytes=0-1,5-6",
            "bytes=+1-2",
        ] {
            assert_eq!(answer(&[(RANGE, text)]), Selection::Whole, "{text}");
        }
    }

    #[test]
    fn a_range_of_another_version_is_the_whole_file() {
        let tag = of().tag;
        let range = "bytes=0-9";
        let part = Selection::Part(0..10);
        assert_eq!(answer(&[(RANGE, range), (IF_RANGE, &tag)]), part);
        for other in ["\"b\"", &format!("W/{tag}"), TIME, "Sun, 06 Nov 1994 08:49:38 GMT", "never"]
        {
            assert_eq!(answer(&[(RANGE, range), (IF_RANGE, other)]), Selection::Whole, "{other}");
        }
    }
}
