//! A camera's stream across real links, by several schemes of error control.

use std::process::Stdio;

use serde_json::Value;

use crate::live::{Folder, require, text, windfall};

/// The JSON of `windfall camera compare`; its page goes into `folder`.
pub(crate) fn compared(options: &str, folder: &Folder) -> Value {
    let mut command = windfall(&format!("camera compare --json {options}"));
    let output = command.arg("--out").arg(folder.path().join("camera")).output();
    serde_json::from_str(&text(&output.expect("it runs"))).expect("JSON")
}

/// The reports of a scheme's runs.
fn reports<'a>(compared: &'a Value, name: &str) -> Vec<&'a Value> {
    let mut schemes = compared["schemes"].as_array().expect("a list").iter();
    let scheme = schemes.find(|it| it["name"] == name).expect("a scheme");
    let runs = scheme["runs"].as_array().expect("a list");
    runs.iter().map(|run| &run["report"]).collect()
}

#[test]
fn schemes_have_what_the_link_leaves_them() {
    require!();
    let folder = Folder::new("camera");
    // Half of the datagrams have a bit error: dropped over UDP, all but their headers of use over
    // UDP-Lite and SAP, and put right by the code. Nothing is ever too late.
    let options = "--rate 20Mbps --uplink-ber 7e-5 --time 1s --deadline 60s --scheme none \
                   --scheme bare --scheme sap --scheme mine=udplite|--fec|8/12";
    let options: Vec<&str> = options.split(' ').filter(|word| !word.is_empty()).collect();
    let mut command = windfall("camera compare --json");
    command.args(options.iter().map(|word| word.replace('|', " ")));
    let output = command.arg("--out").arg(folder.path().join("camera")).output();
    let compared: Value = serde_json::from_str(&text(&output.expect("it runs"))).expect("JSON");
    let usable = |name: &str| {
        let [report] = reports(&compared, name)[..] else { panic!("one run of {name}") };
        assert_eq!(report["bytes"], 504_000, "{name}: {report}");
        report["usable"].as_f64().expect("a number")
    };
    let [none, bare, sap, mine] = ["none", "bare", "sap", "mine"].map(usable);
    assert!((0.3..0.7).contains(&none), "{compared}");
    assert!(bare > 0.9 && sap > 0.9 && mine > 0.98, "{compared}");
    let page = std::fs::read_to_string(folder.path().join("camera/index.html")).expect("a page");
    assert!(page.contains("usable bytes") && page.contains("--fec 8/12"), "{page}");
}

#[test]
fn a_scheme_is_run_as_windfall_run_would_run_it_by_its_options() {
    require!();
    let folder = Folder::new("camera-schemes");
    // Sixty of a hundred datagrams have a bit error: whatever is not repeated is lost.
    let link = "--rate 20Mbps --ber 1e-4";
    let options = "--time 400ms --deadline 60s --scheme coded --scheme none --scheme arq";
    let compared = compared(&format!("{link} {options}"), &folder);
    let usable = |name: &str| {
        let [report] = reports(&compared, name)[..] else { panic!("one run of {name}") };
        report["usable"].as_f64().expect("a number")
    };
    assert!(usable("coded") > 0.999 && usable("none") < 0.7, "{compared}");
    for (name, options) in [
        ("coded", "--policy best --arq persistent"),
        // What the policy alone means on such a link.
        ("coded", "--policy best"),
        ("none", "--arq none"),
        ("arq", "--arq 6"),
    ] {
        let output = windfall(&format!("run {link} {options} --generate")).output();
        let expected = text(&output.expect("it runs"));
        let mut schemes = compared["schemes"].as_array().expect("a list").iter();
        let scheme = schemes.find(|it| it["name"] == name).expect("a scheme");
        assert_eq!(scheme["scenario"], expected, "{name}");
    }
}

#[test]
fn a_stream_that_comes_late_is_measured_to_its_end() {
    require!();
    let folder = Folder::new("camera-late");
    // Two seconds on the way, and four times as long on the link as at the camera.
    let options = "--rate 1Mbps --delay 2s --time 500ms --scheme none";
    let compared = compared(options, &folder);
    let [report] = reports(&compared, "none")[..] else { panic!("one run") };
    assert_eq!((&report["arrived"], &report["late"]), (&report["sent"], &report["sent"]));
    assert_eq!(report["ended"], "complete", "{compared}");
    assert!(report["delay_99_seconds"].as_f64() > Some(3.0), "{compared}");
    // What never comes is nothing.
    let compared = self::compared("--loss 100% --time 200ms --wait 200ms --scheme none", &folder);
    assert!(reports(&compared, "none")[0].is_null(), "{compared}");
}

#[test]
fn options_of_ones_own_scheme_leave_the_rest_as_windfall_run_has_it() {
    require!();
    let folder = Folder::new("camera-own");
    let mut command = windfall("camera compare --json --rate 20Mbps --ber 1e-4 --time 200ms");
    command.args(["--deadline=60s", "--scheme=mine=udp --policy flex"]);
    let output = command.arg("--out").arg(folder.path().join("camera")).output();
    let compared: Value = serde_json::from_str(&text(&output.expect("it runs"))).expect("JSON");
    let scenario = compared["schemes"][0]["scenario"].as_str().expect("a text");
    assert!(scenario.contains("arq = \"persistent\""), "{scenario}");
    let [report] = reports(&compared, "mine")[..] else { panic!("one run") };
    assert_eq!(report["arrived"], report["sent"], "{compared}");
}

#[test]
fn a_radio_says_which_schemes_it_does_not_have_and_a_bad_scheme_is_refused() {
    require!();
    let folder = Folder::new("camera-radio");
    let walk = "--link wifi-g --distance 13 --walk 1|25,2|13 --time 300ms --seeds 2";
    let mut command = windfall("camera compare");
    command.args(walk.split(' ').map(|word| word.replace('|', " ")));
    let output = command.arg("--out").arg(folder.path().join("camera")).output();
    let table = text(&output.expect("it runs"));
    let row = |name: &str| table.lines().find(|line| line.starts_with(name)).expect("a row");
    assert!(row("combine").contains("–") && row("combine").contains("wifi"), "{table}");
    assert!(row("coded").contains("–") && row("joint").contains('±'), "{table}");
    assert!(row("window").contains('±'), "{table}");
    for (scheme, said, code) in [
        ("mine=--fec 12/8", "12/8", 1),
        ("mine=tcp", "neither a protocol", 2),
        ("blockz", "use none, arq, combine", 2),
    ] {
        let mut command = windfall("camera compare --link wifi-g");
        command.args(["--scheme", scheme]).stderr(Stdio::piped());
        let output = command.output().expect("it runs");
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{error}");
        assert!(error.contains(said), "{scheme}: {error}");
    }
}
