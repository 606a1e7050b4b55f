//! The verdicts on record: `windfall reproduce` ends with 0 as long as none has changed.

use std::process::{Command, Output};

use crate::support::{Folder, WINDFALL};

fn windfall(arguments: &[&str]) -> Output {
    Command::new(WINDFALL).args(arguments).output().expect("it runs")
}

/// Reproduces figures, which must have the verdicts on record and leave these files.
fn assert_reproduced(figures: &[&str], files: &[&str]) {
    let folder = Folder::new("reproduce");
    let out = folder.file("out");
    let output = windfall(&[&["reproduce", "--quick", "--out", &out], figures].concat());
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    let is_missing = |file: &&&str| !folder.path().join("out").join(file).exists();
    let missing: Vec<_> = files.iter().filter(is_missing).collect();
    assert!(missing.is_empty(), "{missing:?}");
    let page = std::fs::read_to_string(folder.path().join("out/index.html")).expect("the page");
    for figure in figures {
        // A page of one figure has no list.
        let is_listed = figures.len() == 1
            || page.split("<tr>").any(|row| row.contains(&format!("href=\"#{figure}\"")));
        let line = format!("windfall reproduce {figure} ");
        assert!(is_listed && page.contains(&line), "{figure} and the line that makes it alone");
    }
}

/// Skips the test where no station can be built.
macro_rules! require_stations {
    () => {
        if !windfall(&["run", "--quiet", "--", "true"]).status.success() {
            windfall_testkit::skip!("this machine allows no network namespaces");
        }
    };
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn claims_are_test_cases_of_junit() {
    let folder = Folder::new("reproduce-junit");
    let out = folder.file("out");
    let junit = folder.file("junit.xml");
    let figure = "S3.table2";
    let arguments = ["reproduce", "--quick", "--json", "--out", &out, "--junit", &junit, figure];
    let output = windfall(&arguments);
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let claims = json["findings"][0]["claims"].as_array().expect("claims").len();
    let xml = std::fs::read_to_string(&junit).expect("the report");
    assert_eq!(xml.matches("<testcase classname=\"S3.table2\"").count(), claims + 1, "{xml}");
    assert!(xml.contains("failures=\"0\" errors=\"0\"") && !xml.contains("<failure"), "{xml}");
}

#[test]
fn figures_are_listed_with_their_verdicts() {
    let output = windfall(&["reproduce", "S3.*", "--list"]);
    assert!(output.status.success());
    let list = text(&output.stdout);
    assert_eq!(list.lines().count(), 2 + 23, "{list}");
    let is_fig3 = |line: &&str| line.starts_with("S3.fig3");
    let fig3 = list.lines().find(is_fig3).expect("it is listed");
    assert!(fig3.contains("reproduced") && fig3.contains("paper"), "{fig3}");
}

#[test]
fn an_unknown_figure_is_trouble_that_names_the_known() {
    let output = windfall(&["reproduce", "S3.fig99"]);
    assert_eq!(output.status.code(), Some(2));
    let message = text(&output.stderr);
    assert!(message.contains("\"S3.fig99\"") && message.contains("S3.fig5"), "{message}");
}

//= S3.8
//= S3.9
#[test]
fn local_retransmission_preserves_the_throughput_of_the_kernels_tcp() {
    require_stations!();
    let files = ["index.html", "S3.fig3.svg", "S3.fig3.csv", "S3.fig4.svg", "S3.fig4.csv"];
    assert_reproduced(&["S3.fig3", "S3.fig4"], &files);
}

//= S3.43
#[test]
fn a_bad_station_pays_for_its_errors_under_real_programs() {
    require_stations!();
    assert_reproduced(&["S3.43"], &[]);
}

//= S0.28
//= S0.34
//= S0.35
//= S0.36
//= S0.37
#[test]
fn damage_in_a_busy_office_is_as_the_paper_says() {
    let files = ["index.html", "S0.fig2.svg", "S0.fig3-by-share.svg", "S0.fig4-by-rate.svg"];
    assert_reproduced(&["S0.fig2", "S0.fig3", "S0.fig4", "S0.28"], &files);
}

#[test]
fn damage_over_the_systems_sockets_is_as_the_paper_says() {
    require_stations!();
    assert_reproduced(&["S0.sockets"], &[]);
}

//= S0.44
//= S0.45
//= S0.46
//= S0.47
//= S0.57
#[test]
fn files_of_a_web_server_take_as_long_as_on_record() {
    require_stations!();
    let files = ["S0.table1.csv", "S0.table1.svg", "S0.fig5.csv", "S0.fig5.svg"];
    assert_reproduced(&["S0.table1", "S0.fig5"], &files);
}

//= S0.48
//= S0.49
#[test]
fn files_of_a_web_server_at_all_rates_take_as_long_as_on_record() {
    require_stations!();
    let files = ["S0.fig6.csv", "S0.fig6.svg", "S0.fig6-8m.svg", "S0.49.csv", "S0.49.svg"];
    assert_reproduced(&["S0.fig6", "S0.49"], &files);
}

//= S3.17
//= S3.22
//= S3.23
//= S3.26
//= S3.28
//= S3.40
//= S3.41
//= S3.47
//= S3.49
//= S3.52
#[test]
fn coding_and_scheduling_do_what_the_paper_says() {
    let figures = [
        "S3.table1",
        "S3.fig8",
        "S3.fig9",
        "S3.table2",
        "S3.table3",
        "S3.47",
        "S3.fig11",
        "S3.fig12",
        "S3.52",
    ];
    let values = ["S3.fig8.csv", "S3.fig9.csv", "S3.fig11.csv", "S3.fig12.csv", "S3.52.csv"];
    assert_reproduced(&figures, &values);
}

/// The figures that `reproduce --list --json` lists: name, basis, mutation.
fn listed() -> Vec<(String, String, Option<String>)> {
    let output = windfall(&["reproduce", "--list", "--json"]);
    let list: serde_json::Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    let word = |value: &serde_json::Value| value.as_str().map(str::to_owned);
    let figures = list["figures"].as_array().expect("it lists figures").iter();
    figures
        .map(|it| {
            (word(&it["figure"]).unwrap(), word(&it["basis"]).unwrap(), word(&it["mutation"]))
        })
        .collect()
}

/// Tells whether the environment asks for all of a test of which CI runs a sample.
fn is_full(variable: &str) -> bool {
    std::env::var(variable).is_ok_and(|value| value == "full")
}

#[test]
fn the_document_lists_what_each_mutation_breaks() {
    let document = include_str!("../../../../../docs/measurements/reproduce.md");
    let (_, table) = document.split_once("| figure | broken |\n|---|---|\n").expect("a table");
    let rows = table.lines().take_while(|line| line.starts_with('|'));
    let rows: Vec<String> = rows.map(str::to_owned).collect();
    let broken = |(figure, _, mutation): (String, String, Option<String>)| {
        mutation.map(|mutation| format!("| `{figure}` | {mutation} |"))
    };
    assert_eq!(rows, listed().into_iter().filter_map(broken).collect::<Vec<_>>());
}

/// All figures with `WINDFALL_TEST_MUTATION=full`, at the paper's extent: minutes in a release.
#[test]
fn a_broken_mechanism_changes_the_verdict() {
    let all = listed().into_iter().filter(|it| it.1 != "real time" && it.2.is_some());
    let (names, extent) = if is_full("WINDFALL_TEST_MUTATION") {
        (all.map(|it| it.0).collect(), None)
    } else {
        (["S0.fig1", "S0.59", "S3.30"].map(str::to_owned).to_vec(), Some("--quick"))
    };
    let folder = Folder::new("mutation");
    let out = folder.file("out");
    let unchanged: Vec<String> = names
        .into_iter()
        .filter(|name| {
            let arguments = ["reproduce", "--mutate", "--out", &out, name];
            !windfall(&[&arguments[..], extent.as_slice()].concat()).status.success()
        })
        .collect();
    assert!(unchanged.is_empty(), "as on record although broken: {unchanged:?}");
}

/// All figures over 20 seeds with `WINDFALL_TEST_UNSEEN=full`: hours in a release.
#[test]
fn unseen_seeds_come_to_the_verdicts_on_record() {
    let all = listed().into_iter().filter(|it| it.1 != "real time").map(|it| it.0);
    let (names, seeds, extent) = if is_full("WINDFALL_TEST_UNSEEN") {
        (all.collect(), 20, None)
    } else {
        (["S3.30", "S3.47", "S3.table2"].map(str::to_owned).to_vec(), 3, Some("--quick"))
    };
    let count = seeds.to_string();
    let failed = |name: &String| {
        let arguments = ["reproduce", "--json", "--unseen", &count, name];
        let output = windfall(&[&arguments[..], extent.as_slice()].concat());
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
        let claims = report["claims"].as_array().expect("it lists claims").clone();
        let holds = |it: &serde_json::Value| 20 * it["confirmed"].as_u64().unwrap() >= 19 * seeds;
        claims.into_iter().filter(move |it| !holds(it)).map(|it| it.to_string()).collect::<Vec<_>>()
    };
    let failures: Vec<String> = names.iter().flat_map(failed).collect();
    assert!(failures.is_empty(), "of {seeds} seeds:\n{}", failures.join("\n"));
}
