//! The findings in the XML of JUnit, which continuous integration shows: a test case for each
//! claim.

use std::fmt::Write as _;

use serde_json::Value;
use windfall_report::escape;

use crate::experiment::ShownFinding;

/// A test case: its suite, its name, and the message and text of its failure if it has one.
struct Case {
    suite: String,
    name: String,
    output: String,
    failure: Option<String>,
}

/// Returns the report; what could not be measured is an error. `must_change`: the mechanism was
/// broken, so that a figure fails whose verdicts are still those on record.
#[must_use]
pub fn report(findings: &[ShownFinding], failures: &[String], must_change: bool) -> String {
    let cases: Vec<Case> = findings.iter().flat_map(|it| cases(it, must_change)).collect();
    let failed = cases.iter().filter(|it| it.failure.is_some()).count();
    let errors = failures.len();
    let tests = cases.len() + failures.len();
    let counts = format!("tests=\"{tests}\" failures=\"{failed}\" errors=\"{errors}\"");
    let mut xml = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"windfall reproduce\" \
         {counts}>\n<testsuite name=\"windfall reproduce\" {counts}>\n"
    );
    for case in &cases {
        let suite = escape(&case.suite);
        let name = escape(&case.name);
        let output = escape(&case.output);
        let _ = writeln!(xml, "<testcase classname=\"{suite}\" name=\"{name}\">");
        if let Some(message) = &case.failure {
            let message = escape(message);
            let _ = writeln!(xml, "<failure message=\"{message}\">{output}</failure>");
        }
        let _ = writeln!(xml, "<system-out>{output}</system-out>\n</testcase>");
    }
    for failure in failures {
        let text = escape(failure);
        let name = escape(failure.lines().next().unwrap_or_default());
        let _ = writeln!(
            xml,
            "<testcase classname=\"could not run\" name=\"{name}\"><error \
             message=\"{name}\">{text}</error></testcase>"
        );
    }
    xml + "</testsuite>\n</testsuites>\n"
}

/// The cases of a figure: one for each claim, and one for the verdict on the whole.
fn cases(finding: &ShownFinding, must_change: bool) -> Vec<Case> {
    let json = &finding.json;
    let title = text(json, "title");
    let claims = json["claims"].as_array().map_or(&[][..], Vec::as_slice);
    let mut all: Vec<Case> = Vec::with_capacity(claims.len() + 1);
    for (number, claim) in claims.iter().enumerate() {
        let requirement = text(claim, "requirement");
        let statement = text(claim, "statement");
        all.push(Case {
            suite: finding.figure.clone(),
            // Statements may repeat; a number makes the name of a case its own.
            name: format!("{} {requirement}: {statement}", number + 1),
            output: format!("measured: {}\n{}", text(claim, "measured"), text(claim, "reason")),
            failure: departure(claim).filter(|_| !must_change),
        });
    }
    let is_as_due = finding.is_as_recorded != must_change;
    let verdict = text(json, "verdict");
    let recorded = text(json, "recorded");
    let failure = (!is_as_due).then(|| {
        if must_change {
            format!("the verdict {verdict} has not changed with the mechanism broken")
        } else {
            format!("verdict {verdict}, on record {recorded}, or that of a claim departs")
        }
    });
    let name = format!("verdict: {title}");
    all.push(Case { suite: finding.figure.clone(), name, output: verdict, failure });
    all
}

/// Says how the verdict on a claim departs from the record, if it does.
fn departure(claim: &Value) -> Option<String> {
    let verdict = text(claim, "verdict");
    let recorded = text(claim, "recorded");
    (verdict != recorded).then(|| format!("verdict {verdict}, on record {recorded}"))
}

fn text(json: &Value, key: &str) -> String {
    json[key].as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(verdict: &str, is_as_recorded: bool) -> ShownFinding {
        let claim = |verdict: &str| {
            serde_json::json!({
                "requirement": "S3.1", "statement": "a < b & \"c\"\u{1}", "measured": "1 > 0",
                "reason": "", "verdict": verdict, "recorded": "reproduced",
            })
        };
        let json = serde_json::json!({
            "title": "a figure", "verdict": "reproduced", "recorded": "reproduced",
            "claims": [claim("reproduced"), claim(verdict)],
        });
        let shown = serde_json::json!({
            "conditions": "", "figure": "S3.fig1", "row": "", "section": "", "text": "",
            "json": json, "is_as_recorded": is_as_recorded,
        });
        serde_json::from_value(shown).expect("a finding")
    }

    #[test]
    fn a_claim_whose_verdict_departs_from_the_record_fails() {
        let good = report(&[finding("reproduced", true)], &[], false);
        assert!(good.contains("tests=\"3\" failures=\"0\" errors=\"0\""), "{good}");
        assert!(!good.contains("<failure"), "{good}");
        let bad = report(&[finding("in-part", false)], &[], false);
        // The claim and the figure.
        assert!(bad.contains("tests=\"3\" failures=\"2\""), "{bad}");
        let said = "<failure message=\"verdict in-part, on record reproduced\">";
        assert!(bad.contains(said), "{bad}");
        assert!(bad.contains("name=\"2 S3.1: a &lt; b &amp; &quot;c&quot;\u{fffd}\""), "{bad}");
    }

    #[test]
    fn with_the_mechanism_broken_an_unchanged_verdict_fails() {
        let unchanged = report(&[finding("reproduced", true)], &[], true);
        assert!(unchanged.contains("failures=\"1\""), "{unchanged}");
        let changed = report(&[finding("in-part", false)], &[], true);
        assert!(changed.contains("failures=\"0\""), "{changed}");
    }

    #[test]
    fn what_could_not_be_measured_is_an_error() {
        let xml = report(&[], &["S1.fig1: no <ffmpeg>\nmore".to_owned()], false);
        assert!(xml.contains("tests=\"1\" failures=\"0\" errors=\"1\""), "{xml}");
        assert!(xml.contains("<error message=\"S1.fig1: no &lt;ffmpeg&gt;\">"), "{xml}");
    }
}
