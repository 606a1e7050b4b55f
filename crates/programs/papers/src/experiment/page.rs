//! One self-contained page: *paper says / we measured / verdict*, with the figures inline.

mod interval;

use core::fmt::Write as _;

use serde::{Deserialize, Serialize};
use windfall_report::escape;

use crate::experiment::claim::{Claim, ClaimSource};
use crate::experiment::extent::Extent;
use crate::experiment::finding::{ExperimentInput, Finding};
use crate::experiment::verdict::Verdict;

const STYLE: &str = include_str!("page/style.css");
/// Sorts a table by the column whose head is clicked.
const SCRIPT: &str = include_str!("page/sort.js");
/// The papers by the first part of their figures' names, and what is no paper's.
const PAPERS: [(&str, &str); 6] = [
    ("S0", "Paper 000: selectively approximate communication over 802.11 (SAP)"),
    ("S1", "Paper 001: video over wireless links with UDP-Lite and RLP"),
    ("S2", "Paper 002: the energy that TCP costs"),
    ("S3", "Paper 003: error control and fair scheduling on wireless links"),
    ("S4", "Paper 004: notifying TCP of corruption"),
    ("ours", "Beyond the papers: experiments of our own"),
];

/// A finding as it is shown: on the page, as text and as JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShownFinding {
    /// The conditions under which it counts again: program, extent, seed.
    pub(crate) conditions: String,
    /// The name of the figure.
    pub figure: String,
    /// Its row in the index of the page.
    pub(crate) row: String,
    /// Its section of the page.
    pub(crate) section: String,
    /// The statements in words.
    pub text: String,
    /// The finding as JSON.
    pub json: serde_json::Value,
    /// All verdicts are those on record.
    pub is_as_recorded: bool,
}

impl ShownFinding {
    /// The finding as it is shown, under the conditions in which it counts again.
    #[must_use]
    pub fn new(finding: &Finding, conditions: &str) -> Self {
        Self {
            conditions: conditions.to_owned(),
            figure: finding.figure.to_owned(),
            row: row(finding),
            section: section(finding),
            text: finding.to_text(),
            json: finding.to_json(),
            is_as_recorded: finding.is_as_recorded(),
        }
    }
}

/// The head of the index.
const INDEX: &str = "<table class=\"overview\"><thead><tr><th>Figure</th><th>Subject</th>\
                     <th>Verdict</th><th>Extent</th><th>Seeds</th></tr></thead>\n<tbody>\n";

/// The page of several findings; no other file and no network is needed to read it.
#[must_use]
pub fn render(title: &str, findings: &[Finding]) -> String {
    let shown: Vec<_> = findings.iter().map(|it| ShownFinding::new(it, "")).collect();
    assemble(title, None, &shown.iter().collect::<Vec<_>>())
}

/// The page of what is shown of several findings; `command` makes it again.
#[must_use]
pub fn assemble(title: &str, command: Option<&str>, findings: &[&ShownFinding]) -> String {
    let mut out = head(title);
    if let Some(command) = command {
        out.push_str(&introduction(command, findings));
    }
    if findings.len() > 1 {
        out.push_str(INDEX);
        findings.iter().for_each(|it| out.push_str(&it.row));
        out.push_str("</tbody></table>\n");
    }
    let mut paper = "";
    for finding in findings {
        if paper != paper_of(&finding.figure) {
            paper = paper_of(&finding.figure);
            let _ = writeln!(out, "<h2 class=\"paper\">{}</h2>", escape(paper));
        }
        out.push_str(&finding.section);
    }
    let _ = writeln!(out, "</main>\n<script>\n{SCRIPT}</script>\n</body>\n</html>");
    out
}

/// The first lines: the command that made the page, and how many figures have which verdict.
fn introduction(command: &str, findings: &[&ShownFinding]) -> String {
    let of = |name: &str, value: Verdict| {
        let value = serde_json::json!(value);
        findings.iter().filter(|it| it.json[name] == value).count()
    };
    let verdicts = [
        Verdict::Reproduced,
        Verdict::InPart,
        Verdict::NotReproduced,
        Verdict::NotComparable,
        Verdict::ByConstruction,
    ];
    let counts = verdicts.map(|it| (it, of("verdict", it))).into_iter().filter(|(_, n)| *n > 0);
    let counts: Vec<String> = counts.map(|(it, n)| format!("{n} {}", badge(it))).collect();
    let quick = findings.iter().any(|it| it.json["extent"] == serde_json::json!(Extent::Quick));
    let quick = if quick {
        " Quick runs: their few seeds show only what would contradict the verdicts on record, \
         which \
         come from the extent of the paper; without <code>--quick</code> it is measured again."
    } else {
        ""
    };
    format!(
        "<p class=\"intro\">The papers' statements, what Windfall measured, and the verdict. \
         {} figures and tables: {}.{quick} This page again: <code>{}</code>. Under each figure \
         stands \
         the line that makes it alone; scenarios and seeds are all that it needs.</p>\n",
        findings.len(),
        counts.join(", "),
        escape(command),
    )
}

/// Returns the paper of a figure in words.
fn paper_of(figure: &str) -> &'static str {
    let is_its = |paper: &&(&str, &str)| figure.split('.').next() == Some(paper.0);
    PAPERS.iter().find(is_its).map_or("", |paper| paper.1)
}

fn head(title: &str) -> String {
    let title = escape(title);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n\
         <h1>{title}</h1>\n"
    )
}

/// The row of a finding in the index: what it is about, its verdict and what it was measured with.
pub(crate) fn row(finding: &Finding) -> String {
    let figure = finding.figure;
    format!(
        "<tr><td><a href=\"#{figure}\">{figure}</a></td><td>{}</td><td>{}</td><td>{}</td>\
         <td>{}</td></tr>\n",
        escape(&finding.title),
        badge(finding.verdict()),
        finding.extent,
        finding.seeds_as_text(),
    )
}

/// The section of a finding.
pub(crate) fn section(finding: &Finding) -> String {
    let mut out = String::new();
    let figure = finding.figure;
    let title = escape(&finding.title);
    let badge = badge(finding.verdict());
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "<section id=\"{figure}\">\n<h3>{title} {badge} <small>{figure}</small></h3>"
    );
    if !finding.is_as_recorded() {
        let recorded = finding.record.verdict;
        let _ = writeln!(out, "<p class=\"changed\">The verdict on record is: {recorded}.</p>");
    }
    if finding.extent == Extent::Quick {
        out.push_str(
            "<p class=\"quick\">A quick run: its verdicts are those on record, as far as its few \
             runs do not contradict them.</p>\n",
        );
    }
    for claim in &finding.claims {
        out.push_str(&claim_html(claim, finding.extent));
    }
    for (_, chart) in &finding.charts {
        let _ = writeln!(out, "<figure>\n{}</figure>", chart.to_svg());
    }
    out.push_str(&inputs(&finding.inputs));
    for (_, table) in &finding.tables {
        let _ = writeln!(out, "<details><summary>Values</summary>\n{}</details>", table.to_html());
    }
    let _ = writeln!(out, "<p>{}</p>", escape(&finding.method));
    let provenance = &finding.provenance;
    let _ = writeln!(
        out,
        "<p class=\"origin\">windfall {}, seed {}. Again: <code>{}</code></p>\n</section>",
        escape(&provenance.version),
        provenance.seed,
        escape(&provenance.command),
    );
    out
}

fn claim_html(claim: &Claim, extent: Extent) -> String {
    let (says, quote) = match claim.source {
        ClaimSource::Paper(quote) => {
            ("The paper says", format!(" <span class=\"quote\">{}</span>", escape(quote)))
        }
        ClaimSource::Ours => ("We say", String::new()),
    };
    let measured = match claim.comparisons() {
        [] => escape(&claim.measured()),
        comparisons => interval::table(comparisons),
    };
    let reason = match claim.reason.as_str() {
        "" => String::new(),
        reason => format!("<p class=\"reason\">{}</p>\n", escape(reason)),
    };
    format!(
        "<div class=\"claim\">\n<p><b>{says}</b> {}{quote} <small>{}</small></p>\n\
         <p><b>We measured</b> {}</p>\n{measured}\n{reason}</div>\n",
        escape(&claim.statement),
        claim.requirement,
        verdict_html(claim, extent),
    )
}

/// The verdict of a claim; where a quick run shows too little, with the words that say so.
fn verdict_html(claim: &Claim, extent: Extent) -> String {
    let verdict = claim.verdict_of(extent);
    let text = claim.verdict_as_text(extent);
    let rest = text.strip_prefix(&verdict.to_string()).unwrap_or_default();
    format!("{}{rest}", badge(verdict))
}

/// The table of what went into an experiment, apart from what came out of it.
fn inputs(inputs: &[ExperimentInput]) -> String {
    if inputs.is_empty() {
        return String::new();
    }
    let mut out = String::from(
        "<table class=\"inputs\"><caption>Inputs</caption><thead><tr><th>Quantity</th>\
         <th>Value</th><th>Source</th></tr></thead>\n<tbody>\n",
    );
    for input in inputs {
        let fitted = if input.fitted { "fitted: " } else { "" };
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td>{}</td><td>{fitted}{}</td></tr>",
            escape(&input.name),
            escape(&input.value),
            escape(&input.source),
        );
    }
    out.push_str("</tbody></table>\n");
    out
}

fn badge(verdict: Verdict) -> String {
    let class = match verdict {
        Verdict::Reproduced => "yes",
        Verdict::InPart => "part",
        Verdict::NotReproduced => "no",
        Verdict::NotComparable | Verdict::ByConstruction => "open",
    };
    format!("<span class=\"badge {class}\">{verdict}</span>")
}

#[cfg(test)]
mod tests;
