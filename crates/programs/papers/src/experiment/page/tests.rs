use windfall_base::Seed;
use windfall_report::{Axis, Chart, Estimate, Provenance};

use super::*;
use crate::experiment::comparison::Band;
use crate::experiment::verdict::VerdictRecord;

fn finding(figure: &'static str, recorded: Verdict) -> Finding {
    let claim = Claim::paper("S3.8", "section 3.3: “preserved”", "T ≥ 0.9 (1 − p) T0").compare(
        "at p < 0.5",
        Estimate::mean(&[0.96, 0.97, 0.98]),
        Band::from(0.9, "the tolerance of the requirement"),
    );
    Finding {
        figure,
        title: "Losses & repairs".into(),
        method: "Five runs <each>.".into(),
        inputs: vec![ExperimentInput::fitted("K", "4 < 5", "figure 2")],
        claims: vec![claim],
        record: VerdictRecord::with_seeds(recorded, 10),
        extent: Extent::Paper,
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
        "section 3.3: “preserved”",
        "at p &lt; 0.5",
        "<svg class=\"interval inside\"",
        "0.9452 to 0.9948",
        "at least 0.9",
        "<td>4 &lt; 5</td><td>fitted: figure 2</td>",
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
fn what_no_run_measured_is_said_in_words() {
    let mut absent = finding("S3.fig3", Verdict::NotReproduced);
    let claim = Claim::ours("S3.8", "two ratios")
        .compare("without runs", Estimate::mean(&[]), Band::from(1.0, "an ordering"))
        .compare("of nothing", Estimate::geometric_mean(&[0.0, 0.1]), Band::from(1.0, "one"));
    absent.claims = vec![claim];
    let page = render("All", &[absent]);
    assert!(page.contains("<td>without runs</td><td>not measured</td><td>none</td><td>0</td>"));
    assert!(page.contains("<td>of nothing</td><td>0</td><td>none</td><td>2</td>"));
    assert!([">NaN", "\"NaN", "∞"].iter().all(|it| !page.contains(it)), "{page}");
}

#[test]
fn figures_stand_below_their_paper_and_tables_can_be_sorted() {
    let page = render("All", &["S0.57", "S3.1", "S3.2"].map(|it| finding(it, Verdict::Reproduced)));
    let places = ["Paper 000:", "id=\"S0.57\"", "Paper 003:", "id=\"S3.1\"", "id=\"S3.2\""];
    let places = places.map(|part| page.find(part).expect(part));
    assert!(places.is_sorted(), "{places:?}");
    assert_eq!(page.matches("<h2").count(), 2);
    assert!(page.contains("<script>") && page.contains("aria-sort"));
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

#[test]
fn a_quick_run_says_that_it_is_one() {
    let quick = Finding { extent: Extent::Quick, ..finding("S3.fig3", Verdict::Reproduced) };
    assert!(render("All", &[quick]).contains("A quick run"));
}
