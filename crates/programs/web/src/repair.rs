//! Chooses what of a damaged body is asked for again.

use core::ops::Range;
use core::time::Duration;

use hyper::HeaderMap;
use hyper::header::{DATE, ETAG, HeaderValue, LAST_MODIFIED};
use windfall_base::RangeSet;
use windfall_media::{intolerable, is_entropy_coded};

use crate::assembly::DeliveredBody;
use crate::fetch_error::FetchError;

/// The damage that is repaired: asked for again, precisely.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Repair {
    /// Nothing is repaired.
    None,
    /// The damage that a decoder of that type cannot bear, as far as its structure tells.
    #[default]
    Intolerable,
    /// All damage that is known is repaired.
    All,
}

/// The age at which a date of change tells one version from another.
const SETTLED: Duration = Duration::from_secs(1);
/// Ranges that lie closer than this are asked for together.
const CLOSE: u64 = 1_024;
/// The most ranges that are always asked for one by one.
const FEW: usize = 4;
/// The bytes of a body that come in the time that one more request takes.
const REQUEST_COST: usize = 16_384;

/// Returns the ranges of a body to ask for again.
///
/// # Errors
/// If so little has arrived that its structure is not known.
pub(crate) fn wanted(
    repair: Repair,
    body: &mut DeliveredBody,
) -> Result<Vec<Range<usize>>, FetchError> {
    let damaged = body.damage.ranges();
    let mut wanted = match repair {
        Repair::None => Vec::new(),
        Repair::Intolerable if damaged.is_empty() => Vec::new(),
        Repair::Intolerable => {
            let bytes = body.bytes.contiguous().ok_or(FetchError::TooLittle)?;
            let mut wanted = intolerable(bytes, &damaged);
            if is_entropy_coded(bytes) {
                wanted.extend(body.damage.missing.iter().cloned());
            }
            wanted
        }
        Repair::All => damaged,
    };
    if !body.ended {
        // Where the connection broke, what is missing was never sent.
        wanted.extend(body.damage.missing.iter().cloned());
    }
    Ok(joined(&wanted))
}

/// Tells whether to ask for these ranges one after the other takes longer than to ask for the whole
/// body of this length.
pub(crate) fn exceeds_whole(ranges: &[Range<usize>], length: usize) -> bool {
    let bytes: usize = ranges.iter().map(|range| range.len() + REQUEST_COST).sum();
    ranges.len() > FEW && bytes >= length
}

/// Returns what tells a version of a file from every other (RFC 9110 section 8.8): a strong tag,
/// or else a date of change that is older than the reply by more than the second that it counts.
pub(crate) fn strong_version(head: &HeaderMap) -> Option<&HeaderValue> {
    let tag = head.get(ETAG);
    if tag.is_some_and(|tag| !tag.as_bytes().starts_with(b"W/")) {
        return tag;
    }
    let time = |name| httpdate::parse_http_date(head.get(name)?.to_str().ok()?).ok();
    let age = time(DATE)?.duration_since(time(LAST_MODIFIED)?).ok()?;
    head.get(LAST_MODIFIED).filter(|_| age >= SETTLED)
}

/// Tells whether the head of a part is of the version that a head of the whole is of (RFC 9110
/// section 15.3.7): it names that version, and contradicts nothing of it.
pub(crate) fn is_part_of(part: &HeaderMap, whole: &HeaderMap) -> bool {
    let [tag, changed] = [ETAG, LAST_MODIFIED].map(|name| (part.get(&name), whole.get(&name)));
    let names = strong_version(whole).is_some_and(|it| [tag.0, changed.0].contains(&Some(it)));
    names && tag.0 == tag.1 && (changed.0.is_none() || changed.0 == changed.1)
}

/// Tells whether a `Content-Range` is that of a range of a body of `of` bytes; a server need not
/// know how many there are.
pub(crate) fn is_range_of(text: &str, range: &Range<usize>, of: usize) -> bool {
    let own = format!("bytes {}-{}/", range.start, range.end - 1);
    let length = text.strip_prefix(&own);
    length.is_some_and(|length| length == "*" || length == of.to_string())
}

/// Joins ranges that lie close to each other.
fn joined(ranges: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut set = RangeSet::<u64>::default();
    for range in ranges {
        let start = range.start as u64;
        let end = range.end as u64;
        set.insert(start..end);
        let near: Vec<_> = set
            .gaps(start.saturating_sub(CLOSE)..end + CLOSE)
            .filter(|gap| {
                gap.end - gap.start < CLOSE
                    && gap.start > 0
                    && set.contains(gap.start - 1)
                    && set.contains(gap.end)
            })
            .collect();
        near.into_iter().for_each(|gap| _ = set.insert(gap));
    }
    set.iter().map(|range| range.start as usize..range.end as usize).collect()
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderName;

    use super::*;
    use crate::assembly::BodyDamage;

    fn body(ended: bool) -> DeliveredBody {
        let missing = core::iter::once(5_000..6_000).collect();
        let suspect = vec![100..356, 1_000..1_256];
        let damage = BodyDamage { missing, suspect, unchecked: 0 };
        DeliveredBody::new(vec![0; 10_000], damage, ended)
    }

    fn asked(repair: Repair, mut body: DeliveredBody) -> Vec<Range<usize>> {
        wanted(repair, &mut body).expect("all of it is there")
    }

    #[test]
    fn what_is_asked_for_again_is_what_the_user_cannot_bear() {
        assert_eq!(asked(Repair::None, body(true)), []);
        assert_eq!(asked(Repair::Intolerable, body(true)), []);
        assert_eq!(asked(Repair::All, body(true)), [100..1_256, 5_000..6_000]);
        let missing = body(false).damage.missing;
        assert_eq!(asked(Repair::None, body(false)), missing);
    }

    #[test]
    fn what_is_missing_of_a_jpeg_is_asked_for_again_by_default() {
        let mut jpeg = vec![0xff, 0xd8, 0xff, 0xda, 0, 2];
        jpeg.resize(9_998, 7);
        jpeg.extend([0xff, 0xd9]);
        let delivered = || DeliveredBody::new(jpeg.clone(), body(true).damage, true);
        assert_eq!(asked(Repair::default(), delivered()), delivered().damage.missing);
        assert_eq!(asked(Repair::None, delivered()), []);
    }

    #[test]
    fn many_ranges_cost_more_than_the_whole() {
        let ranges = |count: usize| (0..count).map(|at| at * 9_000..at * 9_000 + 500).collect();
        let exceeds = |count: usize, length| {
            let ranges: Vec<_> = ranges(count);
            exceeds_whole(&ranges, length)
        };
        assert!(!exceeds(4, 36_000), "few");
        assert!(exceeds(5, 84_420) && !exceeds(5, 84_421));
        assert!(exceeds(200, 2_000_000));
    }

    fn head(of: &[(&'static str, &'static str)]) -> HeaderMap {
        of.iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
            .collect()
    }

    #[test]
    fn a_part_names_the_version_of_the_whole() {
        const OLD: (&str, &str) = ("last-modified", "Sun, 06 Nov 1994 08:49:37 GMT");
        const NOW: (&str, &str) = ("date", "Sun, 06 Nov 1994 08:49:38 GMT");
        const NEW: (&str, &str) = ("last-modified", "Sun, 06 Nov 1994 08:49:38 GMT");
        const TAG: (&str, &str) = ("etag", "\"a\"");
        const WEAK: (&str, &str) = ("etag", "W/\"a\"");
        for (whole, part, is_part) in [
            (&[TAG, OLD][..], &[TAG][..], true),
            (&[TAG, OLD], &[TAG, OLD], true),
            (&[TAG, OLD], &[TAG, NEW], false),
            (&[TAG, OLD, NOW], &[OLD], false),
            (&[TAG], &[("etag", "\"b\"")], false),
            (&[TAG], &[], false),
            (&[WEAK], &[WEAK], false),
            (&[WEAK, OLD, NOW], &[WEAK, OLD], true),
            (&[WEAK, OLD, NOW], &[WEAK], false),
            (&[OLD, NOW], &[OLD], true),
            (&[OLD, NOW], &[NEW], false),
            (&[NEW, NOW], &[NEW], false),
            (&[], &[], false),
        ] {
            assert_eq!(is_part_of(&head(part), &head(whole)), is_part, "{whole:?} {part:?}");
        }
        assert_eq!(strong_version(&head(&[WEAK, OLD, NOW])).unwrap(), OLD.1);
        for (text, is_it) in
            [("bytes 3-5/9", true), ("bytes 3-5/*", true), ("bytes 3-5/8", false), ("3-5/9", false)]
        {
            assert_eq!(is_range_of(text, &(3..6), 9), is_it, "{text}");
        }
    }
}
