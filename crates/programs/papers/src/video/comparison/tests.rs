use serde_json::json;
use windfall_base::{Duration, Seed};
use windfall_video::camera::CameraPlan;

use super::*;

fn run(seed: u64, usable: f64) -> SchemeRun {
    let report = json!({
        "usable": usable, "pictures": 4, "whole_pictures": 2, "delay_median_seconds": 0.002,
        "delay_95_seconds": 0.004, "delay_99_seconds": 0.008,
    });
    SchemeRun { seed: Seed(seed), report, busy: Some(0.25), disturbed: 0.0 }
}

fn compared(schemes: &[(&CameraScheme, Option<&str>, &[SchemeRun])]) -> ComparedSchemes {
    let comparison = CameraComparison {
        program: PathBuf::new(),
        scenario: String::new(),
        plan: CameraPlan::of_rate(10.0, 1e6, Duration::from_secs(1), 1_000).expect("a plan"),
        deadline: Duration::from_millis(100),
        wait: Duration::from_secs(1),
        schemes: Vec::new(),
        seeds: (Seed(1), 2),
        command: "windfall camera compare".to_owned(),
        version: "1".to_owned(),
    };
    let schemes = schemes.iter().map(|(scheme, no, runs)| ComparedScheme {
        scheme: (*scheme).clone(),
        scenario: no.map_or(Ok("format = 1".to_owned()), |why| Err(why.to_owned())),
        runs: runs.to_vec(),
    });
    ComparedSchemes::new(&comparison, schemes.collect())
}

#[test]
fn schemes_are_read_by_name_or_with_options() {
    let named = CameraScheme::parse("blocks").expect("a scheme of the list");
    assert_eq!(named.shown(), "udp --arq none --fec 8/12");
    let own = CameraScheme::parse("mine = udplite --fec 4/8  --arq none").expect("options");
    assert_eq!((own.name.as_str(), own.protocol.as_str()), ("mine", "udplite"));
    assert_eq!(own.options, ["--fec", "4/8", "--arq", "none"]);
    let plain = CameraScheme::parse("mine=--arq 2").expect("options");
    assert_eq!((plain.shown().as_str(), plain.is_own), ("udp --arq 2", true));
    assert_eq!(CameraScheme::parse("mine=").expect("no option").shown(), "udp");
    for text in ["", "fec", "=--arq 2", "mine=tcp --arq 2", "mine=udplite 8/12"] {
        CameraScheme::parse(text).expect_err(text);
    }
    for scheme in CameraScheme::all() {
        assert_eq!(CameraScheme::parse(&scheme.name).expect("its name").options, scheme.options);
    }
}

#[test]
fn a_row_has_means_and_a_scheme_that_the_link_lacks_says_why() {
    let [blocks, combine] = ["blocks", "combine"].map(|it| CameraScheme::parse(it).expect("one"));
    let runs = [run(1, 0.5), run(2, 0.7)];
    let table = compared(&[(&blocks, None, &runs), (&combine, Some("not on wifi"), &[])]).table();
    let [first, second] = table.rows() else { panic!("two rows") };
    // Student's quantile with one degree of freedom, 12.71, times 10 points.
    assert_eq!(first[..4], ["blocks", "60 ± 127.1", "50 ± 0", "2 ± 0"]);
    assert_eq!(second[..2], ["combine", "–"]);
    assert_eq!(second[8], "udp --arq 6 --combine: not on wifi");
}

#[test]
fn a_stream_of_which_nothing_arrives_has_no_delay_and_no_usable_byte() {
    let bare = CameraScheme::parse("bare").expect("one");
    let runs = [SchemeRun { report: serde_json::Value::Null, busy: None, ..run(1, 0.0) }];
    let compared = compared(&[(&bare, None, &runs)]);
    assert_eq!(compared.table().rows()[0][1..7], ["0", "0", "–", "–", "–", "–"]);
    let json = compared.to_json();
    assert_eq!(json["schemes"][0]["runs"][0]["report"], serde_json::Value::Null);
    let files = compared.finding().files();
    let names: Vec<_> = files.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["camera.svg", "camera-delay.svg", "camera.csv"]);
}
