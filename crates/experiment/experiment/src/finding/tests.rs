use windfall_base::Seed;

use super::*;

fn finding(verdicts: &[Verdict]) -> Finding {
    let claims = verdicts.iter().map(|verdict| Claim {
        requirement: "S3.12",
        paper: "p = 0.5 needs 6".into(),
        measured: "6".into(),
        verdict: *verdict,
    });
    Finding {
        figure: "S3.fig5",
        title: "Loss that is left".into(),
        method: "closed form".into(),
        claims: claims.collect(),
        expected: Verdict::Reproduced,
        charts: vec![("", Chart::default()), ("bursts", Chart::default())],
        tables: vec![("", Table::new(["loss"]))],
        provenance: Provenance {
            version: "0.1.0".into(),
            seed: Seed(1),
            command: "windfall reproduce S3.fig5".into(),
        },
    }
}

#[test]
fn the_gravest_statement_decides() {
    use Verdict::{NotComparable, NotReproduced, Reproduced};
    assert_eq!(finding(&[]).verdict(), NotComparable);
    assert_eq!(finding(&[NotComparable, Reproduced]).verdict(), Reproduced);
    assert_eq!(finding(&[NotReproduced, Reproduced]).verdict(), NotReproduced);
    assert!(finding(&[Reproduced]).is_as_expected());
    assert!(!finding(&[NotComparable]).is_as_expected());
}

#[test]
fn files_are_named_after_the_figure() {
    let names: Vec<_> = finding(&[]).files().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["S3.fig5.svg", "S3.fig5-bursts.svg", "S3.fig5.csv"]);
}

#[test]
fn json_carries_verdict_seed_and_command() {
    let json = finding(&[Verdict::NotReproduced]).to_json();
    assert_eq!(json["verdict"], "not-reproduced");
    assert_eq!(json["expected"], "reproduced");
    assert_eq!(json["seed"], 1);
    assert_eq!(json["claims"][0]["requirement"], "S3.12");
}
