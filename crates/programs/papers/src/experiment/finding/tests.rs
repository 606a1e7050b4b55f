use windfall_base::Seed;

use super::*;

fn finding(verdicts: &[Verdict]) -> Finding {
    let claims = verdicts.iter().map(|verdict| {
        Claim::paper("S3.12", "section 3.2: “six”", "p = 0.5 needs 6").stated("6", *verdict)
    });
    Finding {
        figure: "S3.fig5",
        title: "Loss that is left".into(),
        method: "closed form".into(),
        inputs: vec![ExperimentInput::fitted("K", "4", "the paper's figure 2")],
        claims: claims.collect(),
        record: VerdictRecord::exact(Verdict::Reproduced),
        extent: Extent::Paper,
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
fn the_claims_of_papers_decide() {
    use Verdict::{InPart, NotReproduced, Reproduced};
    assert_eq!(finding(&[NotReproduced, Reproduced]).verdict(), InPart);
    assert!(finding(&[Reproduced]).is_as_recorded());
    assert!(!finding(&[NotReproduced]).is_as_recorded());
    let mut with_ours = finding(&[Reproduced]);
    with_ours.claims.push(Claim::ours("S3.12", "faster").fact("slower", false));
    assert_eq!(with_ours.verdict(), Reproduced);
    assert!(!with_ours.is_as_recorded(), "our own claims have a record too");
    with_ours.claims.remove(0);
    assert_eq!(with_ours.verdict(), NotReproduced);
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
    assert_eq!(json["recorded"], "reproduced");
    assert_eq!(json["seed"], 1);
    assert_eq!(json["claims"][0]["requirement"], "S3.12");
    assert_eq!(json["inputs"][0]["fitted"], true);
    assert_eq!(json["extent"], "paper");
}
