//! Claims: what a paper says, or what this project says, beside what was measured.

use windfall_report::Estimate;

use crate::experiment::comparison::{Band, ClaimComparison, Placement};
use crate::experiment::extent::Extent;
use crate::experiment::verdict::Verdict;

/// The origin of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimSource {
    /// A paper: its section and its words or its number.
    Paper(&'static str),
    /// This project: no paper claims it.
    Ours,
}

/// The grounds of a verdict.
#[derive(Clone, Debug, PartialEq)]
enum Judgment {
    /// Estimates and their bands.
    Compared(Vec<ClaimComparison>),
    /// A verdict that needs no estimate, or cannot have one.
    Stated(Verdict),
}

/// One statement beside what was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// The requirement, such as `S3.8`.
    pub requirement: &'static str,
    /// The origin of the statement.
    pub source: ClaimSource,
    /// The statement, in words that need no paper.
    pub statement: String,
    /// The argument for the verdict, where it is not plain from the numbers.
    pub reason: String,
    /// The verdict on record.
    pub recorded: Verdict,
    /// The intervals on record reach across an end of their band and decide nothing.
    undecided: bool,
    measured: String,
    judgment: Judgment,
}

impl Claim {
    /// Creates a claim of a paper. `quote` has the section and the words or the number:
    /// `section 4.3: “1.43 times”`.
    pub fn paper(
        requirement: &'static str,
        quote: &'static str,
        statement: impl Into<String>,
    ) -> Self {
        Self::with(requirement, ClaimSource::Paper(quote), statement.into())
    }

    /// Creates a claim that no paper makes.
    pub fn ours(requirement: &'static str, statement: impl Into<String>) -> Self {
        Self::with(requirement, ClaimSource::Ours, statement.into())
    }

    fn with(requirement: &'static str, source: ClaimSource, statement: String) -> Self {
        Self {
            requirement,
            source,
            statement,
            reason: String::new(),
            recorded: Verdict::Reproduced,
            undecided: false,
            measured: String::new(),
            judgment: Judgment::Compared(Vec::new()),
        }
    }

    /// The claim with one more estimate, which should lie in `band`. `of` says what was estimated
    /// where there are several.
    #[must_use]
    pub fn compare(mut self, of: impl Into<String>, estimate: Estimate, band: Band) -> Self {
        let comparison = ClaimComparison { of: of.into(), estimate, band };
        match &mut self.judgment {
            Judgment::Compared(comparisons) => comparisons.push(comparison),
            judgment @ Judgment::Stated(_) => *judgment = Judgment::Compared(vec![comparison]),
        }
        self
    }

    /// The claim with what was found where no seed changes it: a formula, a golden timeline.
    #[must_use]
    pub fn fact(self, measured: impl Into<String>, holds: bool) -> Self {
        self.stated(measured, Verdict::of(holds))
    }

    /// The claim as one that follows from what was put in.
    #[must_use]
    pub fn by_construction(self, reason: impl Into<String>) -> Self {
        let claim = self.recorded(Verdict::ByConstruction).because(reason);
        claim.stated("an input", Verdict::ByConstruction)
    }

    /// The claim as one that these conditions cannot tell.
    #[must_use]
    pub fn not_comparable(self, measured: impl Into<String>, reason: impl Into<String>) -> Self {
        let claim = self.recorded(Verdict::NotComparable).because(reason);
        claim.stated(measured, Verdict::NotComparable)
    }

    /// The claim with a verdict that was reached otherwise.
    #[must_use]
    pub fn stated(mut self, measured: impl Into<String>, verdict: Verdict) -> Self {
        self.measured = measured.into();
        self.judgment = Judgment::Stated(verdict);
        self
    }

    /// The claim with the verdict on record; *reproduced* if nothing is said.
    #[must_use]
    pub fn recorded(mut self, verdict: Verdict) -> Self {
        self.recorded = verdict;
        self
    }

    /// The claim as one that is not reproduced since the intervals on record reach across an end
    /// of their band.
    #[must_use]
    pub fn undecided(self) -> Self {
        self.recorded(Verdict::NotReproduced).left_open()
    }

    /// The claim as one whose intervals on record reach across an end of their band. The few runs
    /// of a quick run may fall on either side of it, and the many of a full one inside.
    #[must_use]
    pub fn left_open(mut self) -> Self {
        self.undecided = true;
        self
    }

    /// The claim with the argument for its verdict.
    #[must_use]
    pub fn because(mut self, reason: impl Into<String>) -> Self {
        self.reason = reason.into();
        self
    }

    /// The estimates and their bands.
    #[must_use]
    pub fn comparisons(&self) -> &[ClaimComparison] {
        match &self.judgment {
            Judgment::Compared(comparisons) => comparisons,
            Judgment::Stated(_) => &[],
        }
    }

    /// The measurement in words.
    #[must_use]
    pub fn measured(&self) -> String {
        let each = self.comparisons().iter().map(ClaimComparison::to_string);
        if self.comparisons().is_empty() {
            self.measured.clone()
        } else {
            each.collect::<Vec<_>>().join("; ")
        }
    }

    /// The verdict that was measured. An interval that reaches across an end of its band shows
    /// nothing.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        match &self.judgment {
            Judgment::Stated(verdict) => *verdict,
            Judgment::Compared(comparisons) => Verdict::on_all(
                comparisons.iter().map(|it| Verdict::of(it.placement() == Placement::Inside)),
            ),
        }
    }

    /// The verdict to show: a quick run that does not contradict the record has that on record.
    #[must_use]
    pub fn verdict_of(&self, extent: Extent) -> Verdict {
        match extent {
            Extent::Quick if self.is_as_recorded(extent) => self.recorded,
            _ => self.verdict(),
        }
    }

    /// The verdict in words; those of a quick run say that it rests on the record.
    #[must_use]
    pub fn verdict_as_text(&self, extent: Extent) -> String {
        let verdict = self.verdict_of(extent);
        let shown = self.verdict();
        if verdict == shown {
            return verdict.to_string();
        }
        format!("{verdict} (on record; this quick run does not contradict it, nor show it)")
    }

    /// Tells whether the measurement agrees with the record.
    ///
    /// A quick run has too few trials for the intervals of a full one: it disagrees only if it
    /// shows the contrary.
    #[must_use]
    pub fn is_as_recorded(&self, extent: Extent) -> bool {
        let Judgment::Compared(comparisons) = &self.judgment else {
            return self.verdict() == self.recorded;
        };
        let count = |placement| comparisons.iter().filter(|it| it.placement() == placement).count();
        let all = comparisons.len();
        if extent != Extent::Quick {
            let is_decided = self.undecided && extent == Extent::Full;
            return self.verdict() == self.recorded
                || (is_decided && count(Placement::Outside) == 0);
        }
        match self.recorded {
            Verdict::Reproduced => count(Placement::Outside) == 0,
            Verdict::InPart => {
                let is_inside = !self.undecided && count(Placement::Inside) == all;
                count(Placement::Outside) < all && !is_inside
            }
            Verdict::NotReproduced => self.undecided || count(Placement::Inside) == 0,
            Verdict::NotComparable | Verdict::ByConstruction => all == 0,
        }
    }

    /// The claim as JSON.
    #[must_use]
    pub fn to_json(&self, extent: Extent) -> serde_json::Value {
        let quote = match self.source {
            ClaimSource::Paper(quote) => Some(quote),
            ClaimSource::Ours => None,
        };
        serde_json::json!({
            "requirement": self.requirement,
            "paper": quote,
            "statement": self.statement,
            "measured": self.measured(),
            "comparisons": self.comparisons().iter().map(comparison_json).collect::<Vec<_>>(),
            "verdict": self.verdict_of(extent),
            "recorded": self.recorded,
            "reason": self.reason,
        })
    }
}

/// Returns a comparison as JSON; ends that are open are null.
fn comparison_json(comparison: &ClaimComparison) -> serde_json::Value {
    let ClaimComparison { of, estimate, band } = comparison;
    serde_json::json!({
        "of": of,
        "value": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "runs": estimate.runs,
        "due": { "low": band.low, "high": band.high, "reason": band.reason },
        "placement": comparison.placement(),
    })
}

#[cfg(test)]
mod tests;
