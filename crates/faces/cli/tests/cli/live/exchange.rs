//! `windfall stream`, `track` and `image` between two namespaces, over links with damage.

use serde_json::Value;

use crate::live::{Folder, WINDFALL, require, until, windfall};

/// Returns the report of the receiver at the far end.
fn exchange(name: &str, options: &str, receive: &str, send: &str) -> Value {
    let folder = Folder::new(name);
    let file = folder.path().join("report");
    let file = file.display();
    let output = windfall(&format!("run -q {options}"))
        .args(["--far", &format!("{WINDFALL} {receive} --json > {file}")])
        .args(["--", "sh", "-c"])
        // The report is there a moment after the sender's end.
        .arg(format!("{WINDFALL} {send}; {}; test -s {file}", until(&format!("-s {file}"))))
        .output()
        .expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = std::fs::read_to_string(folder.path().join("report")).expect("the report is there");
    serde_json::from_str(&text).expect("JSON")
}

/// 12 m in an office take 72 dB, so that most frames of 54 Mb/s come damaged.
const OFFICE: &str = "--link wifi-g --distance 12 --rate 54 --power -4";

/// Returns the output of the receiver at the far end, when the run ends with its sender.
fn printed(options: &str, receive: &str, send: &str) -> String {
    let output = windfall(&format!("run -q {options}"))
        .args(["--far", &format!("exec {WINDFALL} {receive}"), "--", WINDFALL])
        .args(send.split(' '))
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    said
}

/// More waits at the sender than leaves in the time for which a close bears nothing.
#[test]
fn what_is_queued_at_the_end_arrives_and_is_reported() {
    require!();
    for over in ["sap", "sap-precise"] {
        let receive = format!("stream receive --over {over}");
        let send = format!("stream send 10.77.0.2 --datagrams 3500 --over {over}");
        let said = printed("--rate 5Mbps", &receive, &send);
        assert!(said.contains(" of 3500 datagrams arrived"), "{over}: {said}");
        let all = said.contains("far: 3500 of 3500 datagrams arrived");
        assert!(over == "sap" || all, "{over}: {said}");
    }
}

#[test]
fn every_receiver_reports_before_the_run_ends() {
    require!();
    let folder = Folder::new("verdict");
    for over in ["sap", "sap-precise", "tcp"] {
        let over = format!("--over {over}");
        let send = format!("stream send 10.77.0.2 --datagrams 100 {over}");
        let said = printed("--rate 10Mbps", &format!("stream receive {over}"), &send);
        assert!(said.contains("lost or damaged"), "{over}: {said}");
        let send = format!("track send 10.77.0.2 --interval 100us {over}");
        let said = printed("--rate 10Mbps", &format!("track receive {over}"), &send);
        assert!(said.contains("mean speed"), "{over}: {said}");
        let out = folder.path().join("out.jpg");
        let receive = format!("image receive {over} --out {}", out.display());
        let send = format!("image send 10.77.0.2 --interval 100us {over}");
        let said = printed("--rate 10Mbps", &receive, &send);
        assert!(said.contains("PSNR"), "{over}: {said}");
        assert!(std::fs::metadata(&out).expect("a file").len() > 1000, "{over}");
        std::fs::remove_file(&out).expect("it is there");
    }
}

//= S0.32
//= S0.35
#[test]
fn a_stream_crosses_the_radio_and_its_damage_is_counted() {
    require!();
    let stream = |name, options: &str| {
        exchange(
            name,
            &format!("{OFFICE} {options}"),
            "stream receive",
            "stream send $WINDFALL_BASE --datagrams 400 --interval 1ms",
        )
    };
    let accepted = stream("stream-accepted", "--accept-damaged");
    let number = |key: &str| accepted[key].as_f64().expect("a number");
    assert!(number("damaged") > 0.0 && number("bit_errors") > 0.0, "{accepted}");
    assert!(number("correct_bits") > 0.95, "{accepted}");
    let refused = stream("stream-refused", "");
    assert_eq!(refused["damaged"], 0, "{refused}");
}

//= S0.1
/// A file over the kernel's TCP and datagrams over approximate SAP, at once, on one interface and
/// as an ordinary user where the test is one.
#[test]
fn tcp_stays_exact_beside_approximate_datagrams() {
    require!("curl", "python3");
    let folder = Folder::new("beside");
    let path = folder.path().display();
    let content: Vec<u8> =
        (0..400_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    std::fs::write(folder.path().join("file"), content).expect("the folder can be written");
    let far = format!(
        "python3 -m http.server -d {path} 80 >/dev/null 2>&1 & \
         exec {WINDFALL} stream receive --json > {path}/report"
    );
    let near = format!(
        "curl -s --retry 20 --retry-connrefused --retry-delay 1 -m 60 -o {path}/got \
         http://$WINDFALL_BASE/file & fetch=$!
         {WINDFALL} stream send $WINDFALL_BASE --datagrams 400 --interval 5ms && wait $fetch && \
         cmp {path}/file {path}/got && {}; test -s {path}/report",
        until(&format!("-s {path}/report"))
    );
    let output = windfall(&format!("run -q {OFFICE} --accept-damaged"))
        .args(["--far", &far, "--", "sh", "-c", &near])
        .output()
        .expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report =
        std::fs::read_to_string(folder.path().join("report")).expect("the report is there");
    let report: Value = serde_json::from_str(&report).expect("JSON");
    assert!(report["damaged"].as_u64() > Some(20), "{report}");
}

/// The link of both kinds of time below.
const DAMAGED: [(&str, &str); 4] =
    [("rate", "\"10Mbps\""), ("delay", "\"10ms\""), ("ber", "2e-5"), ("accept-damaged", "true")];

/// Returns what a simulated stream of as many messages measures at its receiver.
fn simulated(datagrams: u32) -> Value {
    let link = DAMAGED.map(|(key, value)| format!("{key} = {value}\n")).concat();
    let text = format!(
        "format = 1\nduration = \"60s\"\n[[station]]\nname = \"near\"\n[[station]]\n\
         name = \"far\"\n[[link]]\nstations = [\"near\", \"far\"]\n{link}[[app]]\n\
         kind = \"sap-stream\"\nstation = \"near\"\nto = \"far\"\ninterval = \"2ms\"\n\
         size = 1000\ncount = {datagrams}\n"
    );
    let folder = Folder::new("stream-simulated");
    let file = folder.path().join("stream.toml");
    std::fs::write(&file, text).expect("it can be written");
    let output = windfall(&format!("sim {} --json", file.display())).output().expect("it runs");
    let summary: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let applications = summary["applications"].as_array().expect("there are some");
    let sink = applications.iter().find(|it| it["name"] == "sap-sink at far");
    sink.expect("a receiver")["measures"].clone()
}

//= S0.32
#[test]
fn a_stream_between_sockets_is_lost_and_damaged_as_a_simulated_one() {
    require!();
    const DATAGRAMS: u32 = 2_000;
    let simulated = simulated(DATAGRAMS);
    let option = |(key, value): (&str, &str)| format!("--{key}={}", value.trim_matches('"'));
    let options = DAMAGED.map(option).join(" ").replace("=true", "");
    let send = format!(
        "stream send $WINDFALL_BASE --datagrams {DATAGRAMS} --size 1000 --interval 2ms \
         --carrier raw"
    );
    let real = exchange("stream-real", &options, "stream receive --carrier raw", &send);
    for key in ["lost", "damaged", "bit_errors"] {
        let number = |report: &Value| report[key].as_f64().expect("a number");
        let simulated = number(&simulated);
        let real = number(&real);
        // Each is a count of rare events; five standard deviations of the difference of two.
        let tolerance = 5.0 * (simulated + real).sqrt();
        assert!((simulated - real).abs() < tolerance, "{key}: {simulated} simulated, {real} real");
        assert!(simulated > 0.0, "{key}");
    }
}

/// In the paper profile nothing but the link knows of damage.
#[test]
fn the_link_tells_the_receiver_which_datagrams_are_damaged() {
    require!();
    for carrier in ["udp", "raw"] {
        let words = format!("--profile paper --carrier {carrier}");
        let receive = format!("stream receive {words}");
        let send = format!(
            "stream send $WINDFALL_BASE --datagrams 300 --size 1000 --interval 1ms {words}"
        );
        let name = format!("hints-{carrier}");
        let report = exchange(&name, &format!("{OFFICE} --accept-damaged"), &receive, &send);
        let number = |key: &str| report[key].as_u64().expect("a number");
        assert!(number("damaged") > 20, "{carrier}: {report}");
        // A frame whose header alone is damaged holds no bit errors of the application.
        assert!(number("suspect") >= number("damaged"), "{carrier}: {report}");
        assert!(number("suspect") <= number("damaged") * 5 / 4, "{carrier}: {report}");
    }
}

//= S0.27
//= S0.38
#[test]
fn a_picture_crosses_bit_errors_damaged_and_recognisable() {
    require!();
    let picture = |name, options: &str| {
        let options = format!("--rate 10Mbps --ber 1e-4 {options}");
        exchange(name, &options, "image receive", "image send $WINDFALL_BASE")
    };
    let accepted = picture("image-accepted", "--accept-damaged");
    let refused = picture("image-refused", "");
    let quality = |report: &Value| report["psnr_db"].as_f64().expect("a number");
    // Undamaged it would be above 30 dB.
    assert!((15.0..30.0).contains(&quality(&accepted)), "{accepted}");
    assert!(quality(&accepted) > quality(&refused) + 2.0, "{accepted} {refused}");
}

//= S0.50
//= S0.53
#[test]
fn a_walk_crosses_the_radio_over_sap_and_over_tcp() {
    require!();
    for over in ["sap", "sap-precise", "tcp"] {
        let report = exchange(
            &format!("track-{over}"),
            "--link wifi-g --distance 8 --rate 54 --accept-damaged",
            &format!("track receive --over {over}"),
            &format!("track send $WINDFALL_BASE --interval 1ms --over {over}"),
        );
        let mean = report["mean_speed_mps"].as_f64().expect("a speed");
        assert!((mean - 1.56).abs() < 0.1, "{over}: {report}");
    }
}
