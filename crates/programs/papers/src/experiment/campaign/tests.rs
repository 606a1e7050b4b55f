use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use windfall_base::Seed;
use windfall_report::Estimate;

use super::*;
use crate::experiment::comparison::Band;
use crate::experiment::extent::Extent;
use crate::experiment::verdict::{Verdict, VerdictRecord};
use crate::experiment::{Claim, ExperimentError};

static RUNS: AtomicUsize = AtomicUsize::new(0);

/// A figure whose value is the mean of what ten seeds draw.
fn drawn(figure: &Figure, context: &Context<'_>) -> Result<Finding, ExperimentError> {
    RUNS.fetch_add(1, Ordering::Relaxed);
    (context.progress)("draws");
    let values = context.replicate(10, |seed| seed.0 as f64);
    let claim = Claim::ours("S0.58", "numbers are drawn").compare(
        "the mean",
        Estimate::mean(&values),
        Band::from(0.0, "they have no sign"),
    );
    Ok(Finding { claims: vec![claim], ..figure.finding(context, "drawn") })
}

const fn figure(name: &'static str, basis: Basis) -> Figure {
    Figure {
        name,
        title: "a figure",
        basis,
        record: VerdictRecord::with_seeds(Verdict::Reproduced, 10),
        mutation: None,
        run: drawn,
    }
}

const FIGURES: [Figure; 4] = [
    figure("S3.fig1", Basis::Both),
    figure("S3.fig2", Basis::Simulated),
    Figure {
        run: |_, _| {
            Err(ExperimentError::NoSuchFigure { name: String::new(), known: String::new() })
        },
        ..figure("S3.fig3", Basis::Simulated)
    },
    figure("S4.31", Basis::Simulated),
];

/// Runs a campaign; returns its outcome and the files that it wrote.
fn run(jobs: usize, seed: u64, kept: &str) -> (CampaignResult, BTreeMap<String, String>) {
    let context = Context::simulated(Extent::Paper, Seed(seed));
    let files = Mutex::new(BTreeMap::new());
    let write = |name: &str, text: &str| {
        files.lock().unwrap().insert(name.to_owned(), text.to_owned());
        Ok(())
    };
    let figures: Vec<&Figure> = FIGURES.iter().collect();
    let jobs = NonZeroUsize::new(jobs).unwrap();
    let campaign = Campaign {
        figures: &figures,
        context: &context,
        jobs,
        kept,
        command: "windfall reproduce all",
        write: &write,
        elapsed: &|| Duration::ZERO,
    };
    (campaign.run().unwrap(), files.into_inner().unwrap())
}

#[test]
fn jobs_change_nothing_and_what_was_kept_is_not_measured_again() {
    let (one, files) = run(1, 7, "");
    let (many, others) = run(4, 7, "");
    assert_eq!((&one, &files), (&many, &others));
    let names: Vec<_> = one.findings.iter().map(|it| it.figure.as_str()).collect();
    assert_eq!(names, ["S3.fig1", "S3.fig2", "S4.31"]);
    assert_eq!(one.failures.len(), 1);
    assert!(one.failures[0].starts_with("S3.fig3: "), "{:?}", one.failures);
    let page = &files["index.html"];
    assert!(page.contains("id=\"S4.31\""));
    assert!(page.contains("This page again: <code>windfall reproduce all</code>"), "{page}");
    assert!(page.contains("3 figures and tables: 3 <span class=\"badge yes\">"), "{page}");
    assert!(!page.contains("Quick runs"), "{page}");

    // One of them was kept, and a line was cut off where the campaign ended.
    let kept = &files[KEPT];
    let line = kept.lines().find(|it| it.contains("S4.31")).unwrap();
    let before = RUNS.load(Ordering::Relaxed);
    let (again, _) = run(2, 7, &format!("{line}\n{}", &kept[..kept.len() / 9]));
    assert_eq!(RUNS.load(Ordering::Relaxed) - before, 2);
    assert_eq!(again, one);
    // Of another seed nothing counts.
    let before = RUNS.load(Ordering::Relaxed);
    run(2, 8, kept);
    assert_eq!(RUNS.load(Ordering::Relaxed) - before, 3);
}

#[test]
fn a_disk_that_is_full_ends_the_campaign() {
    let context = Context::simulated(Extent::Paper, Seed(1));
    let write = |_: &str, _: &str| Err(io::ErrorKind::StorageFull.into());
    let figures = [&FIGURES[1]];
    let jobs = NonZeroUsize::MIN;
    let campaign = Campaign {
        figures: &figures,
        context: &context,
        jobs,
        kept: "",
        command: "",
        write: &write,
        elapsed: &|| Duration::ZERO,
    };
    assert_eq!(campaign.run().unwrap_err().kind(), io::ErrorKind::StorageFull);
}

#[test]
fn times_are_seconds_and_then_minutes() {
    assert_eq!(words(Duration::from_secs(119)), "119 s");
    assert_eq!(words(Duration::from_secs(3_600)), "60 min");
}
