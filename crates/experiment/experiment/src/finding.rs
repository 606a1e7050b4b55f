//! The finding of one figure: what the paper says, what was measured, and the verdict.

use core::fmt;

use serde::Serialize;
use windfall_report::{Chart, Provenance, Table};

/// The agreement of a measurement with the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The conditions differ so much that neither yes nor no would be honest.
    NotComparable,
    /// The measurement agrees with the paper.
    Reproduced,
    /// The measurement disagrees with the paper.
    NotReproduced,
}

impl Verdict {
    /// [`Verdict::Reproduced`] if `holds`, else [`Verdict::NotReproduced`].
    #[must_use]
    pub const fn of(holds: bool) -> Self {
        if holds { Self::Reproduced } else { Self::NotReproduced }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::NotComparable => "not comparable",
            Self::Reproduced => "reproduced",
            Self::NotReproduced => "not reproduced",
        })
    }
}

/// One statement of a paper beside what was measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Claim {
    /// The requirement, such as `S3.8`.
    pub requirement: &'static str,
    /// The statement of the paper.
    pub paper: String,
    /// The measured value, with its unit.
    pub measured: String,
    /// The agreement of the two.
    pub verdict: Verdict,
}

impl Claim {
    /// Creates a claim that is reproduced if `holds`, else not reproduced.
    pub fn new(
        requirement: &'static str,
        paper: impl Into<String>,
        measured: impl Into<String>,
        holds: bool,
    ) -> Self {
        let verdict = Verdict::of(holds);
        Self { requirement, paper: paper.into(), measured: measured.into(), verdict }
    }
}

/// The finding of one figure.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The name of the figure, such as `S3.fig5`.
    pub figure: &'static str,
    /// The subject of the figure, in one line.
    pub title: String,
    /// The method of measurement, and the reason for the verdict.
    pub method: String,
    /// The statements and their verdicts.
    pub claims: Vec<Claim>,
    /// The verdict that is on record; another one means that something has changed.
    pub expected: Verdict,
    /// The figures, each with the ending of its file name; the first has none.
    pub charts: Vec<(&'static str, Chart)>,
    /// The values, each with the ending of its file name; the first has none.
    pub tables: Vec<(&'static str, Table)>,
    /// The origin of the finding.
    pub provenance: Provenance,
}

impl Finding {
    /// The verdict on the whole figure: the gravest of its statements'.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        self.claims.iter().map(|claim| claim.verdict).max().unwrap_or(Verdict::NotComparable)
    }

    /// Tells whether the verdict is the one on record.
    #[must_use]
    pub fn is_as_expected(&self) -> bool {
        self.verdict() == self.expected
    }

    /// The statements as a table: requirement, paper says, we measured, verdict.
    #[must_use]
    pub fn claims_table(&self) -> Table {
        let mut table = Table::new(["requirement", "paper says", "we measured", "verdict"]);
        for claim in &self.claims {
            let verdict = claim.verdict.to_string();
            table.push([claim.requirement, &claim.paper, &claim.measured, &verdict]);
        }
        table
    }

    /// The finding as JSON; its figures and values are in the files that it names.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::json!({
            "figure": self.figure,
            "title": self.title,
            "method": self.method,
            "verdict": self.verdict(),
            "expected": self.expected,
            "claims": self.claims,
            "version": self.provenance.version,
            "seed": self.provenance.seed,
            "command": self.provenance.command,
            "files": self.files().into_iter().map(|(name, _)| name).collect::<Vec<_>>(),
        })
    }

    /// The files of the finding: their names and what they hold, figures as SVG, values as CSV.
    #[must_use]
    pub fn files(&self) -> Vec<(String, String)> {
        let name = |part: &str, ending: &str| match part {
            "" => format!("{}.{ending}", self.figure),
            part => format!("{}-{part}.{ending}", self.figure),
        };
        let charts = self.charts.iter().map(|(part, chart)| (name(part, "svg"), chart.to_svg()));
        let tables = self.tables.iter();
        let tables =
            tables.map(|(part, table)| (name(part, "csv"), table.to_csv(&self.provenance)));
        charts.chain(tables).collect()
    }
}

#[cfg(test)]
mod tests;
