//! Codes across packets in whole simulations, on every link that has them.

use windfall_tests::run::{UPLINK, pair, run};

const EXAMPLE: &str = include_str!("../../../../scenarios/examples/code-across-packets.toml");

/// A camera: 1200 packets of 400 bytes, one every 8 ms.
const CAMERA: &str = "[[app]]\nkind = \"cbr\"\nstation = \"near\"\nto = \"far\"\n\
                      interval = \"8ms\"\nsize = 400\ncount = 1200\n";

/// The share of packets that arrive whole, and how many were repaired.
fn whole(link: &str) -> (f64, u64) {
    let outcome = run(&pair(10, link, CAMERA), 5);
    let ledger = outcome.ledger(UPLINK);
    assert_eq!(ledger.entered, 1_200, "{link}");
    ((ledger.delivered - ledger.damaged) as f64 / 1_200.0, ledger.repaired)
}

#[test]
fn a_code_replaces_lost_packets_on_every_link() {
    for (link, lost) in [
        ("rate = \"20Mbps\"\ndelay = \"5ms\"\nloss = \"10%\"", 0.1),
        ("rate = \"20Mbps\"\narq = 1\nloss = \"40%\"", 0.16),
        ("kind = \"wavelan\"\nrate = \"10Mbps\"\narq = \"none\"\nloss = \"10%\"", 0.1),
    ] {
        let (alone, none) = whole(link);
        assert!((alone - (1.0 - lost)).abs() < 0.04 && none == 0, "{link}: {alone}");
        for (code, least) in [("8/12", 0.97), ("window:32:50%:60ms", 0.97)] {
            let (coded, repaired) = whole(&format!("{link}\nfec = \"{code}\""));
            assert!(coded > least && repaired > 100, "{link}, {code}: {coded}");
        }
    }
}

/// Bursts of nearly ten frames, a seventh of all: more than the repairs of one block.
#[test]
fn blocks_that_take_turns_bear_bursts_that_one_block_does_not() {
    for link in [
        "rate = \"20Mbps\"\ndelay = \"5ms\"\ngemodel = \"2% 12%\"",
        "kind = \"wavelan\"\nrate = \"10Mbps\"\narq = \"none\"\ngemodel = \"2% 12%\"",
    ] {
        let with = |fec: &str| whole(&format!("{link}\nfec = \"{fec}\"")).0;
        let [one, eight] = ["8/12:1s", "8/12:2s,interleave:8"].map(with);
        assert!(1.0 - eight < 0.7 * (1.0 - one), "{link}: {eight} instead of {one}");
    }
}

/// At this rate three packets in four are damaged: as losses they would be far too many for a
/// third more frames.
#[test]
fn damaged_packets_are_put_right() {
    let link = "rate = \"20Mbps\"\nuplink.ber = 4e-4";
    let (alone, _) = whole(link);
    assert!(alone < 0.35, "{alone}");
    let (coded, repaired) = whole(&format!("{link}\nfec = \"8/12\""));
    assert!(coded > 0.95 && repaired > 700, "{coded}, {repaired} repaired");
}

#[test]
fn the_camera_of_the_example_is_seen_by_its_code() {
    let arrived = |text: &str| {
        let outcome = run(text, 1);
        outcome.ledger(UPLINK).delivered as f64 / outcome.ledger(UPLINK).entered as f64
    };
    let (coded, alone) = (arrived(EXAMPLE), arrived(&EXAMPLE.replace("fec = \"8/12\"", "")));
    assert!(coded > 0.9 && alone < 0.35, "{coded} instead of {alone}");
}

#[test]
fn a_code_helps_at_the_edge_of_a_radio_without_retransmission() {
    let radio = |distance: u32| {
        format!("kind = \"wifi-g\"\nradio.distance = {distance}\nrate = \"54Mbps\"\narq = \"none\"")
    };
    // The first distance at which more than a twentieth is lost.
    let mut all = (13..80).map(|distance| (radio(distance), whole(&radio(distance)).0));
    let (radio, alone) = all.find(|(_, alone)| *alone < 0.95).expect("the radio has an edge");
    for code in ["8/12", "window:32:50%:60ms"] {
        let (coded, repaired) = whole(&format!("{radio}\nfec = \"{code}\""));
        assert!(coded > alone && repaired > 20, "{code}: {coded} instead of {alone}, {repaired}");
    }
}
