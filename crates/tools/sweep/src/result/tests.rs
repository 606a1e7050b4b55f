use windfall_base::Seed;
use windfall_report::Scale;
use windfall_scenario::Scenario;
use windfall_testkit::folder::Folder;

use super::*;
use crate::values::Variation;

const SCENARIO: &str = r#"
format = 1
[[station]]
name = "near"
[[station]]
name = "far"
[[link]]
stations = ["near", "far"]
"#;

/// Calls `judge` with the result of a sweep of two keys over four seeds.
fn with_result(judge: impl FnOnce(&SweepResult<'_>)) {
    let scenario = Scenario::parse("test.toml", SCENARIO).expect("a scenario");
    let parse = |text| Variation::parse(&scenario, text).expect("a variation");
    let variations = vec![parse("policy=bold,flex"), parse("ber=1e-6..1e-4:log3")];
    let grid = Grid::new(&scenario, variations, 4).expect("a grid");
    let runs = grid.checked_runs("", &mut |_, _| Ok(())).expect("runs");
    let folder = Folder::new("sweep");
    let mut store = RunStore::open(folder.path()).unwrap();
    for run in &runs {
        let value = (run.point * 10) as f64 + run.seed.0 as f64;
        let mut measures: Measures = [
            ("applications.bulk at near.throughput_bps".to_owned(), value),
            ("applications.bulk at near.bytes".to_owned(), 5.0),
        ]
        .into();
        if run.seed.0 == 2 {
            measures.insert("links.a.dropped.frame-check".to_owned(), 8.0);
        }
        // One run of the last point has not finished.
        if run.point < 5 || run.seed.0 < 4 {
            store.keep(run, grid.name_of(run.point), measures).unwrap();
        }
    }
    judge(&SweepResult::new(&grid, &runs, &store));
}

#[test]
fn means_have_intervals_and_absent_counts_are_zero() {
    with_result(|result| {
        assert_eq!(result.finished(), 23);
        let point = result.point(0).unwrap();
        let throughput = point["applications.bulk at near.throughput_bps"].estimate;
        assert_eq!((throughput.value, throughput.runs), (2.5, 4));
        // Student's distribution with 3 degrees of freedom: 3.182 standard errors.
        let half = 3.182_446 * (5.0_f64 / 3.0 / 4.0).sqrt();
        assert!((throughput.high - 2.5 - half).abs() < 1e-5, "{throughput:?}");
        assert_eq!(point["links.a.dropped.frame-check"].estimate.value, 2.0);
        assert_eq!(result.point(5).unwrap()["links.a.dropped.frame-check"].estimate.runs, 3);
    });
}

#[test]
fn tables_have_a_row_for_what_they_are_about() {
    with_result(|result| {
        assert_eq!(result.long().rows().len(), 6 * 3);
        assert_eq!(result.long().columns()[..3], ["policy", "ber", "measure"]);
        assert_eq!(result.wide().rows().len(), 6);
        assert_eq!(result.wide().columns().len(), 2 + 3 * 3);
        assert_eq!(result.each_run().rows().len(), 23);
        let shown = result.shown(&["applications.bulk at near.throughput_bps".to_owned()]);
        assert_eq!(shown.rows()[0], ["bold", "1e-6", "2.5 ± 2.054"]);
        let provenance =
            Provenance { version: "1".to_owned(), seed: Seed(1), command: "windfall".to_owned() };
        let json: Value = serde_json::from_str(&result.to_json(&provenance)).expect("JSON");
        assert_eq!(json["points"][1]["values"]["ber"], "1e-5");
        assert_eq!(json["points"][1]["measures"]["applications.bulk at near.bytes"]["mean"], 5.0);
        assert_eq!(json["finished"], 23);
    });
}

#[test]
fn a_chart_stands_over_the_numbers_and_has_a_series_for_the_rest() {
    with_result(|result| {
        let name = "applications.bulk at near.throughput_bps";
        assert_eq!(result.charted(&[]), [name], "what never changes is left out");
        let all = ["links.*.frame-check", "*bytes"].map(str::to_owned);
        assert_eq!(result.charted(&all).len(), 2);
        let chart = result.chart(name);
        assert_eq!(chart.x.scale, Scale::Log);
        let names: Vec<_> = chart.series.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["policy=bold", "policy=flex"]);
        assert_eq!(chart.series[1].points.len(), 3);
        assert!(chart.series[1].points[0].spread.is_some());
        assert!(chart.to_svg().contains("policy=flex"));
    });
}

#[test]
fn a_pattern_matches_any_text_for_its_stars() {
    for (pattern, name, is_match) in [
        ("a.b", "a.b", true),
        ("a.b", "a.bc", false),
        ("a*", "abc", true),
        ("*c", "abc", true),
        ("a*b*c", "axxbyyc", true),
        ("a*b*c", "axxc", false),
        ("ab*ba", "aba", false),
        ("*", "", true),
    ] {
        assert_eq!(matches(pattern, name), is_match, "{pattern} {name}");
    }
}

#[test]
fn the_command_of_a_result_does_not_tell_how_fast_it_was_made() {
    let words =
        "sweep x.toml --jobs 7 --vary ber=1,2 --out=there --json --jobs=2 --out here --seeds 3";
    let kept = words_that_matter(words.split(' ').map(str::to_owned)).collect::<Vec<_>>();
    assert_eq!(kept.join(" "), "sweep x.toml --vary ber=1,2 --seeds 3");
}
