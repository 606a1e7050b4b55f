//! Impairments of one flow in simulated time.

use serde_json::Value;

use crate::support::Folder;

/// A stream of datagrams to port 5000.
const STREAM: &str = r#"format = 1
duration = "200ms"
[[station]]
name = "near"
[[station]]
name = "far"
[[link]]
name = "air"
stations = ["near", "far"]
[[app]]
kind = "cbr"
station = "near"
to = "far"
port = 5000
size = 200
interval = "20ms"
stop = "150ms"
"#;

#[test]
fn the_summary_has_the_outcome_of_the_packets_of_an_impaired_flow() {
    let folder = Folder::new("sim-impaired");
    folder.write("a.toml", STREAM);
    let flow = "voice: dst port 5000, lose \"2, 4..5\", delay 30ms";
    let run = |words: &[&str]| {
        let words = [&["sim", "a.toml", "--flow", flow], words].concat();
        let output = folder.windfall(&words).output().expect("the program");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    };
    let text = String::from_utf8(run(&[])).expect("text");
    let line = "flow voice on air/near: 8 packets, 5 delivered, 3 dropped (lost 3)\n";
    assert!(text.contains(line), "{text}");
    let summary: Value = serde_json::from_slice(&run(&["--json"])).expect("JSON");
    let flow = &summary["flows"][0];
    assert_eq!(flow["dropped"], serde_json::json!({ "lost": 3 }), "{flow}");
    assert_eq!(flow["offered"], 8);
    assert_eq!(flow["delivered"], 5);
}

#[test]
fn a_flow_without_packets_fails_a_run_in_which_all_must_act() {
    let folder = Folder::new("sim-flow-must-act");
    folder.write("a.toml", STREAM);
    let run = |flow: &str| {
        let words = ["sim", "a.toml", "--must-act", "--flow", flow];
        let output = folder.windfall(&words).output().expect("the program");
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    assert_eq!(run("voice: dst port 5000, loss 5%"), (true, String::new()));
    let (is_good, said) = run("voice: dst port 6000, loss 5%");
    assert!(!is_good && said.contains("--must-act does not allow: flow voice"), "{said}");
}
