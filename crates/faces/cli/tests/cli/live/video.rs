//! Video in RTP across the circuit of paper 001, in real time.

use serde_json::Value;

use crate::live::{Folder, WINDFALL, require, windfall};

/// The circuit of the paper: 9.6 kb/s, a bad channel, damage passed up.
const LINE: &str = "run -q --link gsm --environment gsm-bad --accept-damaged --seed 7";

/// Sends twelve seconds of the project's own clip over `protocol`, and returns the report.
fn across(protocol: &str) -> Value {
    let folder = Folder::new(&format!("video-{protocol}"));
    let sender = format!(
        "while [ ! -e ready ]; do sleep 0.1; done; \
         exec {WINDFALL} video send talking-head 10.77.0.1 --protocol {protocol} --pictures 60"
    );
    // The receiver is there when its port, 5004, is in the table of sockets.
    let receiver = format!(
        "$0 video receive --protocol {protocol} --pictures 60 --compare talking-head \
             --sheet sheet.svg --idle 30s --json &
         while ! grep -q :138C /proc/net/udp; do sleep 0.1; done; touch ready; wait $!"
    );
    let mut command = windfall(LINE);
    command.args(["--far", &sender, "--", "sh", "-c", &receiver, WINDFALL]);
    let output = command.current_dir(folder.path()).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    let sheet = std::fs::read_to_string(folder.path().join("sheet.svg")).expect("a sheet");
    assert!(sheet.matches("<image").count() == 10, "{} bytes", sheet.len());
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
}

//= S1.4
//= S1.8
//= S1.45
#[test]
fn video_crosses_the_bad_circuit_over_either_protocol() {
    require!("ffmpeg");
    for protocol in ["udp", "udplite"] {
        let report = across(protocol);
        println!("{protocol}: {report}");
        let number = |name: &str| report[name].as_f64().unwrap_or_else(|| panic!("{report}"));
        // Sixty pictures of one packet each, some of two; 1.6 % of some eight blocks are damaged.
        assert!(number("received") >= 40.0, "{report}");
        assert!(number("psnr_db") > 20.0, "{report}");
        // A packet of 150 bytes takes 150 ms, and the interleaver 110 ms more.
        assert!(number("delay_seconds") > 0.2, "{report}");
    }
}
