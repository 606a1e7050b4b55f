//! Sweeps over real programs.

use std::process::Output;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::live::{Folder, require, windfall};

/// Runs a sweep of a few seconds; what the options leave open is in `words`.
fn sweep(folder: &Folder, command: &str, words: &str) -> Output {
    windfall("sweep --rate 5Mbps --json --max-late 100%")
        .args(words.split_whitespace())
        .arg("--out")
        .arg(folder.path())
        .args(["--run", command])
        .output()
        .expect("it runs")
}

fn result(output: &Output) -> Value {
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// The means of a measure, point by point.
fn means(result: &Value, measure: &str) -> Vec<f64> {
    let points = result["points"].as_array().expect("points").iter();
    points.map(|point| point["measures"][measure]["mean"].as_f64().expect("a mean")).collect()
}

/// Counts the echoes of five requests, and prints the number as JSON among other lines.
const COUNT: &str = r#"
ping -q -c 5 -i 0.01 -W 1 10.77.0.2 > ping.txt
received=$(sed -n 's/.* \([0-9]*\) received.*/\1/p' ping.txt)
echo "the last line of JSON counts"
echo "{\"received\": $received, \"seed\": $WINDFALL_SEED, \"of\": {\"half\": 0.5}}"
"#;

#[test]
fn a_real_program_is_run_at_each_point_with_each_seed() {
    require!();
    let folder = Folder::new("sweep-real");
    let script = folder.path().join("count.sh");
    std::fs::write(&script, COUNT).expect("a file");
    let command = format!("cd {} && sh count.sh", folder.path().display());
    let output = sweep(&folder, &command, "--vary loss=0,100% --seeds 2 --seed 7");
    let result = result(&output);
    assert_eq!(means(&result, "program.received"), [5.0, 0.0]);
    assert_eq!(means(&result, "program.seed"), [7.5, 7.5]);
    assert_eq!(means(&result, "program.of.half"), [0.5, 0.5]);
    assert_eq!(means(&result, "program.exit"), [0.0, 0.0]);
    assert!(means(&result, "links.near-far/near.delivered")[0] > 4.0);
    // Nothing is left of the files of single runs, and a second sweep finds all runs kept.
    let left = std::fs::read_dir(folder.path()).expect("a folder").filter_map(Result::ok);
    let left: Vec<_> = left.map(|it| it.file_name().to_string_lossy().into_owned()).collect();
    assert!(!left.iter().any(|it| it.ends_with(".out") || it.ends_with(".toml")), "{left:?}");
    std::fs::remove_file(folder.path().join("ping.txt")).expect("it was written");
    let again = sweep(&folder, &command, "--vary loss=0,100% --seeds 2 --seed 7");
    assert_eq!(again.stdout, output.stdout);
    assert!(!folder.path().join("ping.txt").exists(), "no run was repeated");
}

#[test]
fn a_program_that_fails_is_a_measure_and_one_that_is_not_found_a_failure() {
    require!();
    let folder = Folder::new("sweep-exit");
    let output = sweep(&folder, "exit 3", "--seeds 1");
    assert_eq!(means(&result(&output), "program.exit"), [3.0]);
    let output = sweep(&folder, "no-such-program", "--seeds 1");
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("no-such-program: not found"), "{error}");
}

#[test]
fn a_sweep_that_is_interrupted_ends_its_programs_and_keeps_what_has_ended() {
    require!();
    let folder = Folder::new("sweep-signal");
    let mark = folder.path().join("began");
    let command =
        format!("if [ $WINDFALL_SEED = 1 ]; then exit 0; fi; touch {}; sleep 600", mark.display());
    let mut child = windfall("sweep --rate 5Mbps --seeds 2 --max-late 100% --json")
        .arg("--out")
        .arg(folder.path())
        .args(["--run", &command])
        .stderr(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .spawn()
        .expect("it starts");
    while !mark.exists() {
        assert!(child.try_wait().expect("its status").is_none(), "it has ended early");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    kill_process(Pid::from_child(&child), Signal::TERM).expect("it is there");
    let output = child.wait_with_output().expect("it ends");
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(128 + 15), "{error}");
    assert!(error.contains("1 of 2 runs kept"), "{error}");
}
