//! Chooses what of a damaged body is asked for again.

use core::ops::Range;

use windfall_base::RangeSet;
use windfall_media::intolerable;

use crate::assembly::DeliveredBody;

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

/// Ranges that lie closer than this are asked for together.
const CLOSE: u64 = 1_024;

/// Returns the ranges of a body to ask for again.
pub(crate) fn wanted(repair: Repair, body: &DeliveredBody) -> Vec<Range<usize>> {
    let damaged = body.damage.ranges();
    let mut wanted = match repair {
        Repair::None => Vec::new(),
        Repair::Intolerable => intolerable(&body.bytes, &damaged),
        Repair::All => damaged,
    };
    if !body.ended {
        // The connection broke: what is missing was never sent.
        wanted.extend(body.damage.missing.iter().cloned());
    }
    joined(&wanted)
}

/// Joins ranges that lie close to each other.
fn joined(ranges: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut set = RangeSet::<u64>::default();
    for range in ranges {
        let (start, end) = (range.start as u64, range.end as u64);
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
    use super::*;
    use crate::assembly::BodyDamage;

    fn body(ended: bool) -> DeliveredBody {
        let missing = core::iter::once(5_000..6_000).collect();
        let suspect = vec![100..356, 1_000..1_256];
        let damage = BodyDamage { missing, suspect, unchecked: 0 };
        DeliveredBody { bytes: vec![0; 10_000].into(), damage, ended }
    }

    #[test]
    fn what_is_asked_for_again_is_what_the_user_cannot_bear() {
        assert_eq!(wanted(Repair::None, &body(true)), []);
        assert_eq!(wanted(Repair::Intolerable, &body(true)), []);
        assert_eq!(wanted(Repair::All, &body(true)), [100..1_256, 5_000..6_000]);
        let missing = body(false).damage.missing;
        assert_eq!(wanted(Repair::None, &body(false)), missing);
    }
}
