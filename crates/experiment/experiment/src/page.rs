//! One self-contained page: *paper says / we measured / verdict*, with the figures inline.

use core::fmt::Write as _;

use windfall_report::escape;

use crate::finding::{Finding, Verdict};

const STYLE: &str = include_str!("page/style.css");

/// The page of several findings; no other file and no network is needed to read it.
#[must_use]
pub fn render(title: &str, findings: &[Finding]) -> String {
    let mut out = head(title);
    if findings.len() > 1 {
        out.push_str(&overview(findings));
    }
    for finding in findings {
        section(&mut out, finding);
    }
    out.push_str("</main>\n</body>\n</html>\n");
    out
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

fn overview(findings: &[Finding]) -> String {
    let mut out = String::from("<ul class=\"overview\">\n");
    for finding in findings {
        let figure = finding.figure;
        let title = escape(&finding.title);
        let badge = badge(finding.verdict());
        let _ = writeln!(out, "<li><a href=\"#{figure}\">{figure}</a> {title} {badge}</li>");
    }
    out.push_str("</ul>\n");
    out
}

fn section(out: &mut String, finding: &Finding) {
    let figure = finding.figure;
    let title = escape(&finding.title);
    let badge = badge(finding.verdict());
    // Writing to a string cannot fail.
    let _ = writeln!(out, "<section id=\"{figure}\">\n<h2>{figure}: {title} {badge}</h2>");
    if !finding.is_as_expected() {
        let expected = finding.expected;
        let _ = writeln!(out, "<p class=\"changed\">The verdict on record is: {expected}.</p>");
    }
    if !finding.claims.is_empty() {
        claims(out, finding);
    }
    for (_, chart) in &finding.charts {
        let _ = writeln!(out, "<figure>\n{}</figure>", chart.to_svg());
    }
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
}

fn claims(out: &mut String, finding: &Finding) {
    out.push_str(
        "<table class=\"claims\">\n<thead><tr><th></th><th>Paper says</th>\
         <th>We measured</th><th>Verdict</th></tr></thead>\n<tbody>\n",
    );
    for claim in &finding.claims {
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            escape(claim.requirement),
            escape(&claim.paper),
            escape(&claim.measured),
            badge(claim.verdict),
        );
    }
    out.push_str("</tbody>\n</table>\n");
}

fn badge(verdict: Verdict) -> String {
    let class = match verdict {
        Verdict::Reproduced => "yes",
        Verdict::NotReproduced => "no",
        Verdict::NotComparable => "open",
    };
    format!("<span class=\"badge {class}\">{verdict}</span>")
}

#[cfg(test)]
mod tests;
