//! How losses of one window are repaired, by our TCP and by the kernel's, on the same damage.

use std::collections::BTreeSet;

use crate::live::expert::tshark;
use crate::live::{Folder, WINDFALL, require, windfall};

/// Packets before the first with data: SYN and the acknowledgment of its answer.
const BEFORE: u64 = 2;
/// The packets with data that are lost: of the 31st to the 70th, the third window that both TCPs
/// send, so far apart that the rest of the window still makes duplicate acknowledgments.
const LOST: [u64; 5] = [34, 40, 46, 52, 58];

/// An error trace in which exactly these packets are lost.
fn trace() -> String {
    let mut text = concat!(
        r#"{"format":"windfall-error-trace","version":1,"unit":"frame","#,
        r#""index":"frame","origin":"payload","frames":"packets"}"#,
        "\n"
    )
    .to_owned();
    let mut next = 1;
    for lost in LOST.map(|lost| lost + BEFORE) {
        text += &format!("{}\nl\n", lost - next);
        next = lost + 1;
    }
    text + "100000\n" + &format!("end {}\n", next - 1 + 100_000)
}

/// In how many round trips the losses were repaired, and how many segments were sent again.
///
/// A round trip is what the sender does between two acknowledgments that get further: what leaves
/// at the same acknowledgment leaves in the same one.
fn rounds(sender: &str, sack: bool) -> (usize, usize) {
    let folder = Folder::new("recovery");
    let file = folder.path().join("errors.trace");
    std::fs::write(&file, trace()).expect("a file");
    // Neither side may guess by time what acknowledgments have not said yet.
    let options = format!(
        "run -q --delay 30ms --rate 20Mbps --uplink-error-trace {} --pcap {} --tcp-congestion reno \
         --sysctl net.ipv4.tcp_sack={} --sysctl net.ipv4.tcp_recovery=0 \
         --sysctl net.ipv4.tcp_early_retrans=0 --far",
        file.display(),
        folder.path().display(),
        u8::from(sack)
    );
    let far = format!("exec {WINDFALL} tcp receive -q --kernel --check");
    let near = format!("exec {WINDFALL} tcp send -q --bytes 400kB {sender} 10.77.0.2:5001");
    let output = windfall(&options).args([&far, "--", "sh", "-c", &near]).output();
    let output = output.expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let capture = folder.path().join("near.pcapng");
    let fields = ["tcp.dstport", "tcp.seq", "tcp.len", "tcp.ack"];
    let segments = tshark(&capture, "tcp", &fields).expect("tshark runs");
    let mut seen = BTreeSet::new();
    let mut heard = 0;
    let mut repairs = BTreeSet::new();
    let mut count = 0;
    for line in segments.lines() {
        let columns: Vec<u64> = line.split('\t').filter_map(|text| text.parse().ok()).collect();
        let [port, number, len, ack] = columns[..] else { panic!("tshark printed {line}") };
        if port != 5001 {
            heard = heard.max(ack);
        } else if len > 0 && !seen.insert(number) {
            repairs.insert(heard);
            count += 1;
        }
    }
    (repairs.len(), count)
}

//= S3.15
#[test]
fn losses_of_one_window_are_repaired_as_fast_as_by_the_kernel() {
    require!("tshark");
    for (sack, ours) in [(false, "--tcp sack=off,min-rto=1s"), (true, "--tcp min-rto=1s")] {
        // Without SACK each loss is heard of when the one before is repaired; with it of all at
        // once, and by SACK perhaps the last segment once more, as the rescue of RFC 6675.
        let trips = if sack { 1..=2 } else { LOST.len()..=LOST.len() };
        let counts = LOST.len()..=LOST.len() + usize::from(sack);
        for sender in [ours, "--kernel"] {
            // On a busy machine a timer may fire before an acknowledgment is heard.
            let mut tries = (0..12).map(|_| rounds(sender, sack));
            let good = |(t, c): &(usize, usize)| trips.contains(t) && counts.contains(c);
            let found: Vec<_> = tries.by_ref().take(1).collect();
            assert!(found.iter().any(good) || tries.any(|it| good(&it)), "{sender}: {found:?}");
        }
    }
}
