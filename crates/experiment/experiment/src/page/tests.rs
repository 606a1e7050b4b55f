use windfall_base::Seed;
use windfall_report::{Axis, Chart, Provenance};

use super::*;
use crate::finding::Claim;

fn finding(figure: &'static str, expected: Verdict) -> Finding {
    Finding {
        figure,
        title: "Losses & repairs".into(),
        method: "Five runs <each>.".into(),
        claims: vec![Claim {
            requirement: "S3.8",
            paper: "T ≥ 0.9 (1 − p) T0".into(),
            measured: "0.97".into(),
            verdict: Verdict::Reproduced,
        }],
        expected,
        charts: vec![("", Chart { y: Axis::linear("y"), ..Chart::default() })],
        tables: Vec::new(),
        provenance: Provenance {
            version: "0.1.0".into(),
            seed: Seed(42),
            command: "windfall reproduce S3.fig3 --seed 42".into(),
        },
    }
}

#[test]
fn the_page_stands_alone_and_says_how_to_repeat_it() {
    let page = render("Paper 003", &[finding("S3.fig3", Verdict::Reproduced)]);
    for part in [
        "<svg ",
        "T ≥ 0.9 (1 − p) T0",
        "<span class=\"badge yes\">reproduced</span>",
        "Losses &amp; repairs",
        "Five runs &lt;each&gt;.",
        "seed 42",
        "<code>windfall reproduce S3.fig3 --seed 42</code>",
    ] {
        assert!(page.contains(part), "{part} is missing");
    }
    // The name space of SVG is a name, not an address to be opened.
    let links = page.replace("http://www.w3.org/2000/svg", "");
    assert!(!links.contains("http") && !links.contains("src="), "the page needs other files");
    assert!(!page.contains("class=\"changed\""));
}

#[test]
fn a_changed_verdict_is_said() {
    let page = render(
        "All",
        &[finding("S3.fig3", Verdict::NotReproduced), finding("S3.fig4", Verdict::Reproduced)],
    );
    assert!(page.contains("The verdict on record is: not reproduced."));
    assert!(page.contains("href=\"#S3.fig4\""));
}
