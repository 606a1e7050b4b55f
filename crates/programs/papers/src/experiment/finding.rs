//! The finding of one figure: what the paper says, what was measured, and the verdict.

use serde::Serialize;
use windfall_report::{Chart, Provenance, Table};

use crate::experiment::claim::{Claim, ClaimSource};
use crate::experiment::extent::Extent;
use crate::experiment::verdict::{Verdict, VerdictRecord};

/// A value that went into an experiment, as against what came out of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ExperimentInput {
    /// The name of the quantity.
    pub name: String,
    /// Its value, with its unit.
    pub value: String,
    /// Its source: the paper's section, a standard, a measurement, or what it was fitted to.
    pub source: String,
    /// Tells whether it was fitted, so that what it was fitted to is no result.
    pub fitted: bool,
}

impl ExperimentInput {
    /// Creates an input that was taken from elsewhere.
    pub fn given(
        name: impl Into<String>,
        value: impl Into<String>,
        source: impl Into<String>,
    ) -> Self {
        let name = name.into();
        let value = value.into();
        let source = source.into();
        Self { name, value, source, fitted: false }
    }

    /// Creates an input that was fitted so that a figure comes out.
    pub fn fitted(
        name: impl Into<String>,
        value: impl Into<String>,
        source: impl Into<String>,
    ) -> Self {
        Self { fitted: true, ..Self::given(name, value, source) }
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
    /// The values that went in.
    pub inputs: Vec<ExperimentInput>,
    /// The statements and their verdicts.
    pub claims: Vec<Claim>,
    /// The verdict on record; another one means that something has changed.
    pub record: VerdictRecord,
    /// The extent of the measurement.
    pub extent: Extent,
    /// The figures, each with the ending of its file name; the first has none.
    pub charts: Vec<(&'static str, Chart)>,
    /// The values, each with the ending of its file name; the first has none.
    pub tables: Vec<(&'static str, Table)>,
    /// The origin of the finding.
    pub provenance: Provenance,
}

impl Finding {
    /// The verdict on the whole figure, from the claims of papers; from our own if there are no
    /// others.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        if self.extent == Extent::Quick && self.claims_are_as_recorded() {
            return self.record.verdict;
        }
        let is_ours = |claim: &Claim| claim.source == ClaimSource::Ours;
        let only_ours = self.claims.iter().all(is_ours);
        let judged = self.claims.iter().filter(|claim| only_ours || !is_ours(claim));
        Verdict::on_all(judged.map(Claim::verdict))
    }

    /// The number of independent seeds in words: those of the record, or of a quick run its own.
    #[must_use]
    pub fn seeds_as_text(&self) -> String {
        let runs = self.claims.iter().flat_map(Claim::comparisons).map(|it| it.estimate.runs);
        match self.extent {
            Extent::Quick if self.record.seeds > 0 => {
                runs.max().map_or_else(|| "–".to_owned(), |runs| runs.to_string())
            }
            _ => self.record.seeds_as_text(),
        }
    }

    /// Tells whether the verdicts are those on record.
    #[must_use]
    pub fn is_as_recorded(&self) -> bool {
        self.claims_are_as_recorded() && self.verdict() == self.record.verdict
    }

    fn claims_are_as_recorded(&self) -> bool {
        self.claims.iter().all(|claim| claim.is_as_recorded(self.extent))
    }

    /// The statements as a table: requirement, paper says, we measured, verdict.
    #[must_use]
    pub fn claims_table(&self) -> Table {
        let mut table = Table::new(["requirement", "paper says", "we measured", "verdict"]);
        for claim in &self.claims {
            let verdict = claim.verdict_as_text(self.extent);
            table.push([claim.requirement, &claim.statement, &claim.measured(), &verdict]);
        }
        table
    }

    /// The statements in words: what is said, what was measured, the verdict and its reason.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut out = format!("{}: {}\n\n", self.figure, self.title);
        for claim in &self.claims {
            let (says, quote) = match claim.source {
                ClaimSource::Paper(quote) => ("paper says ", format!("; {quote}")),
                ClaimSource::Ours => ("we say     ", String::new()),
            };
            let Claim { statement, requirement, reason, .. } = claim;
            let measured = claim.measured();
            let verdict = claim.verdict_as_text(self.extent);
            out += &format!("  {says}  {statement} ({requirement}{quote})\n");
            out += &format!("  we measured  {measured}\n  verdict      {verdict}\n");
            if !reason.is_empty() {
                out += &format!("  since        {reason}\n");
            }
            out.push('\n');
        }
        if !self.is_as_recorded() {
            out += &format!("  Verdict on record: {}\n\n", self.record.verdict);
        }
        out
    }

    /// The finding as JSON; its figures and values are in the files that it names.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::json!({
            "figure": self.figure,
            "title": self.title,
            "method": self.method,
            "verdict": self.verdict(),
            "recorded": self.record.verdict,
            "extent": self.extent,
            "inputs": self.inputs,
            "claims": self.claims.iter().map(|it| it.to_json(self.extent)).collect::<Vec<_>>(),
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
        let tables = tables.map(|(part, table)| (name(part, "csv"), table.to_csv()));
        charts.chain(tables).collect()
    }
}

#[cfg(test)]
mod tests;
