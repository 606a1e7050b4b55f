//! Verdicts on claims and figures, and what is on record.

use core::fmt;

use serde::Serialize;

use crate::experiment::extent::Extent;

/// The agreement of a measurement with a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The whole interval of every estimate lies where the claim says.
    Reproduced,
    /// Some of the estimates lie where the claim says.
    InPart,
    /// None of the estimates lies where the claim says, or the runs do not show it.
    NotReproduced,
    /// The conditions differ so much that neither yes nor no would be honest.
    NotComparable,
    /// It was fitted or generated, or follows from a definition: an input and no result.
    ByConstruction,
}

impl Verdict {
    /// [`Verdict::Reproduced`] if `holds`, else [`Verdict::NotReproduced`].
    #[must_use]
    pub const fn of(holds: bool) -> Self {
        if holds { Self::Reproduced } else { Self::NotReproduced }
    }

    /// The verdict on several: *reproduced* and *not reproduced* if all are, *in part* if they
    /// differ. Inputs and what is not comparable say nothing, unless there is nothing else.
    #[must_use]
    pub fn on_all(verdicts: impl IntoIterator<Item = Self>) -> Self {
        verdicts.into_iter().reduce(Self::with).unwrap_or(Self::NotComparable)
    }

    fn with(self, other: Self) -> Self {
        match (self, other) {
            (Self::ByConstruction, other) | (other, Self::ByConstruction) => other,
            (Self::NotComparable, other) | (other, Self::NotComparable) => other,
            (one, other) if one == other => one,
            _ => Self::InPart,
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Reproduced => "reproduced",
            Self::InPart => "in part",
            Self::NotReproduced => "not reproduced",
            Self::NotComparable => "not comparable",
            Self::ByConstruction => "by construction",
        })
    }
}

/// The verdict on record for a figure, and what it was measured with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VerdictRecord {
    /// The agreement that was found.
    pub verdict: Verdict,
    /// The extent of the measurement.
    pub extent: Extent,
    /// The number of independent seeds; 0 if every value is the same for all of them.
    pub seeds: u32,
}

impl VerdictRecord {
    /// A verdict that was measured as in the paper, with this number of independent seeds.
    #[must_use]
    pub const fn with_seeds(verdict: Verdict, seeds: u32) -> Self {
        Self { verdict, extent: Extent::Paper, seeds }
    }

    /// The number of seeds in words: `any` where they do not matter.
    #[must_use]
    pub fn seeds_as_text(self) -> String {
        if self.seeds == 0 { "any".to_owned() } else { self.seeds.to_string() }
    }

    /// A verdict that no seed changes: a formula, a golden timeline, a count.
    #[must_use]
    pub const fn exact(verdict: Verdict) -> Self {
        Self::with_seeds(verdict, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::Verdict::{ByConstruction, InPart, NotComparable, NotReproduced, Reproduced};
    use super::*;

    #[test]
    fn a_figure_is_reproduced_only_if_all_of_its_claims_are() {
        for (verdicts, expected) in [
            (&[][..], NotComparable),
            (&[Reproduced, Reproduced], Reproduced),
            (&[Reproduced, NotReproduced], InPart),
            (&[NotReproduced, NotReproduced], NotReproduced),
            (&[InPart, Reproduced], InPart),
            (&[InPart, NotReproduced], InPart),
        ] {
            assert_eq!(Verdict::on_all(verdicts.iter().copied()), expected, "{verdicts:?}");
        }
    }

    #[test]
    fn inputs_and_what_cannot_be_compared_say_nothing() {
        for (verdicts, expected) in [
            ([NotComparable, Reproduced], Reproduced),
            ([ByConstruction, NotReproduced], NotReproduced),
            ([ByConstruction, NotComparable], NotComparable),
            ([ByConstruction, ByConstruction], ByConstruction),
        ] {
            assert_eq!(Verdict::on_all(verdicts), expected, "{verdicts:?}");
            assert_eq!(Verdict::on_all(verdicts.into_iter().rev()), expected, "{verdicts:?}");
        }
    }
}
