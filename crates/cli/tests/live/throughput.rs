//! A real TCP over links that lose and damage packets.

use crate::{require, windfall};

/// What iperf3's receiver counts in three seconds, in bits per second, at 10 Mb/s.
fn goodput(options: &str) -> f64 {
    let output = windfall("run -q --rate 10Mbps --delay 5ms --tcp-congestion reno --queue 50")
        .args(options.split_whitespace())
        .args(["--far", "exec iperf3 -s >/dev/null 2>&1", "--", "sh", "-c"])
        .arg("iperf3 -J -t 3 -c $WINDFALL_BASE")
        .output()
        .expect("it runs");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stdout)));
    report["end"]["sum_received"]["bits_per_second"].as_f64().unwrap_or_else(|| panic!("{report}"))
}

//= S3.6
//= S3.8
//= S3.9
#[test]
fn local_retransmission_keeps_what_loss_takes() {
    require!("iperf3");
    let clean = goodput("");
    assert!(clean > 0.75 * 10e6, "{clean}");
    // Without repetition a burst of eight in every hundred frames costs TCP far more than those
    // eight (S3.6), the more so without selective acknowledgements.
    let bare = goodput("--uplink-burst 8/100 --arq none --sysctl net.ipv4.tcp_sack=0");
    assert!(bare < 0.7 * clean, "{bare} of {clean}");
    // Five of every twelve are lost and repeated: linear in what the link carries (S3.8).
    let repeated = goodput("--uplink-burst 5/12 --arq persistent");
    let share = 1.0 - 5.0 / 12.0;
    assert!(repeated > 0.8 * share * clean, "{repeated} of {clean}");
}

#[test]
fn bit_errors_without_repetition_hurt_and_with_it_do_not() {
    require!("iperf3");
    let none = goodput("--ber 1e-5 --arq none");
    let persistent = goodput("--ber 1e-5 --arq persistent");
    // A frame of 12 000 bits is damaged with probability 0.11.
    assert!(persistent > 1.5 * none, "{persistent} against {none}");
    assert!(persistent > 6e6, "{persistent}");
}
