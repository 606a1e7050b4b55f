//! A real TCP over links that lose and damage packets.

use crate::live::{require, windfall};

/// What TCP gets through in a second and a half at 10 Mb/s, in bits per second.
fn goodput(options: &str) -> f64 {
    const SECONDS: f64 = 1.5;
    let output = windfall("run --json --rate 10Mbps --delay 2ms --tcp-congestion reno --queue 100")
        .args(options.split_whitespace())
        .args(["--far", "exec iperf3 -s >/dev/null 2>&1", "--", "sh", "-c"])
        // Not iperf3's own count: it ends with a conversation that takes long on a bad link.
        .arg(format!("timeout {SECONDS} iperf3 -t 60 -c $WINDFALL_BASE >/dev/null 2>&1"))
        .output()
        .expect("it runs");
    let error = String::from_utf8_lossy(&output.stderr);
    let summary: serde_json::Value = serde_json::from_str(&error).expect(&error);
    let packets = summary["links"][0]["delivered"].as_u64().expect("a number");
    assert_eq!(summary["links"][0]["balances"], true, "{summary}");
    packets as f64 * 1448.0 * 8.0 / SECONDS
}

//= S3.6
//= S3.8
//= S3.9
#[test]
fn local_retransmission_keeps_what_loss_takes() {
    require!("iperf3");
    let clean = goodput("");
    assert!(clean > 0.7 * 10e6, "{clean}");
    // Without repetition a burst of eight in every hundred frames costs TCP far more than those
    // eight (S3.6), the more so without selective acknowledgements.
    let bare = goodput("--uplink-burst 8/100 --arq none --sysctl net.ipv4.tcp_sack=0");
    assert!(bare < 0.7 * clean, "{bare} of {clean}");
    // Five of every twelve are lost and repeated: linear in what the link carries (S3.8).
    let repeated = goodput("--uplink-burst 5/12 --arq persistent");
    let share = 1.0 - 5.0 / 12.0;
    assert!(repeated > 0.75 * share * clean, "{repeated} of {clean}");
}

#[test]
fn bit_errors_without_repetition_hurt_and_with_it_do_not() {
    require!("iperf3");
    let none = goodput("--ber 1e-5 --arq none");
    let persistent = goodput("--ber 1e-5 --arq persistent");
    // A frame of 12 000 bits is damaged with probability 0.11.
    assert!(persistent > 1.5 * none, "{persistent} against {none}");
    assert!(persistent > 5e6, "{persistent}");
}
