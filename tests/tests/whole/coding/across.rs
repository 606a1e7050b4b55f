//! Codes across packets in whole simulations, on every link that has them.

use std::net::Ipv4Addr;

use windfall_base::{Duration, Frame, Input, Instant, Node as _, Port, RxVector, Seed};
use windfall_network::Network;
use windfall_tests::run::{UPLINK, pair, run, topology};

const EXAMPLE: &str = include_str!("../../../../scenarios/examples/code-across-packets.toml");

/// A camera: 1200 packets of 400 bytes, one every 8 ms.
const CAMERA: &str = "[[app]]\nkind = \"cbr\"\nstation = \"near\"\nto = \"far\"\n\
                      interval = \"8ms\"\nsize = 400\ncount = 1200\n";

/// The share of packets that arrive whole, and how many were repaired.
fn whole(link: &str) -> (f64, u64) {
    whole_with(link, 5)
}

/// The share of packets that arrive whole with this seed, and how many were repaired.
fn whole_with(link: &str, seed: u64) -> (f64, u64) {
    // So long after the last packet that none still waits for a repair.
    let outcome = run(&pair(13, link, CAMERA), seed);
    let ledger = outcome.ledger(UPLINK);
    assert_eq!(ledger.entered, 1_200, "{link}");
    ((ledger.delivered - ledger.damaged) as f64 / 1_200.0, ledger.packets.repaired)
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

/// Each flow has numbers of its own, so that a queue may change the order of flows.
#[test]
fn a_code_loses_nothing_where_flows_overtake_each_other() {
    let flow = |name: &str, port: u16, weight: u8| {
        format!("[[flow]]\nname = \"{name}\"\ndst-port = {port}\nweight = {weight}\n")
    };
    let app = |port: u16, size: u16, rate: &str, count: u16| {
        format!(
            "[[app]]\nkind = \"cbr\"\nstation = \"near\"\nto = \"far\"\nport = {port}\n\
             size = {size}\nrate = \"{rate}\"\narrivals = \"poisson\"\ncount = {count}\n"
        )
    };
    let apps = [
        app(5000, 1000, "5Mbps", 5000),
        app(5001, 200, "500kbps", 2500),
        flow("big", 5000, 3),
        flow("small", 5001, 1),
    ];
    for code in ["8/12", "window:32:25%:40ms"] {
        let link = format!("rate = \"10Mbps\"\ndelay = \"20ms\"\nfec = \"{code}\"");
        let outcome = run(&pair(14, &link, &apps.concat()), 3);
        let ledger = outcome.ledger(UPLINK);
        assert_eq!((ledger.entered, ledger.delivered), (7_500, 7_500), "{code}: {ledger:?}");
    }
}

/// Bursts of nearly ten frames, a seventh of all: more than the repairs of one block.
#[test]
fn blocks_that_take_turns_bear_bursts_that_one_block_does_not() {
    for link in [
        "rate = \"20Mbps\"\ndelay = \"5ms\"\ngemodel = \"2% 12%\"",
        "kind = \"wavelan\"\nrate = \"10Mbps\"\narq = \"none\"\ngemodel = \"2% 12%\"",
    ] {
        // A run has twenty bursts, which chance may lay where they do most harm.
        let with = |fec: &str| {
            let link = format!("{link}\nfec = \"{fec}\"");
            (1..=10).map(|seed| whole_with(&link, seed).0).sum::<f64>() / 10.0
        };
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
    let coded = arrived(EXAMPLE);
    let alone = arrived(&EXAMPLE.replace("fec = \"8/12\"", ""));
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

/// Packets of 500 bytes from the first station to an address: of each that arrived at one of the
/// others the port, when it was sent, when it came, and its bytes.
type Arrivals = Vec<(Port, Instant, Instant, Vec<u8>)>;

/// The time between two packets.
const STEP: Duration = Duration::from_millis(1);

/// A packet of IP with a number in it.
fn packet(number: u32, to: Ipv4Addr) -> Vec<u8> {
    let mut bytes = vec![0x45, 0, 500_u16.to_be_bytes()[0], 500_u16.to_be_bytes()[1]];
    bytes.extend([0, 0, 0, 0, 64, 17, 0, 0, 10, 77, 0, 1]);
    bytes.extend(to.octets());
    let sum = bytes.chunks(2).map(|it| u32::from(it[0]) << 8 | u32::from(it[1])).sum::<u32>();
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    bytes[10..12].copy_from_slice(&sum.to_be_bytes());
    bytes.extend(number.to_be_bytes());
    bytes.extend((24..500).map(|at| (u64::from(number) * 31 + at) as u8));
    bytes
}

/// Carries 1000 packets, one each `step`, over the link of a scenario without hosts.
fn carry(text: &str, (to, step): (Ipv4Addr, Duration), seed: u64) -> Arrivals {
    let network = Network::build(&topology(text).network, Seed(seed));
    let mut network = network.expect("a network");
    let mut arrivals = Vec::new();
    let mut sent = 0;
    let mut now = Instant::START;
    let due = |number: u32| Instant::START + step * u64::from(number);
    loop {
        while sent < 1_000 && due(sent) <= now {
            let frame = Frame::packet(packet(sent, to));
            network.handle_input(now, Port(0), Input::Frame(frame, RxVector::wired(now)));
            sent += 1;
        }
        network.handle_timeout(now);
        while let Some((port, outgoing)) = network.poll_transmit(now) {
            let bytes = outgoing.frame.to_vec();
            let number = u32::from_be_bytes(bytes[20..24].try_into().expect("four bytes"));
            arrivals.push((port, due(number), now, bytes));
        }
        let next = (sent < 1_000).then(|| due(sent));
        let Some(next) = next.into_iter().chain(network.next_event()).min() else { break };
        now = next.max(now);
    }
    arrivals
}

/// Whatever is lost or damaged, no packet waits longer than the delay of the code, counted from the
/// first later frame that arrives.
#[test]
fn no_packet_waits_longer_than_the_delay_of_its_code() {
    let far = Ipv4Addr::new(10, 77, 0, 2);
    for (code, bound) in [
        ("8/12:40ms", 40),
        ("window:32:25%:40ms", 40),
        ("window:16:50%:15ms", 15),
        ("8/12:200ms,interleave:4", 200),
    ] {
        for air in ["loss = \"30%\"", "gemodel = \"6% 40%\"", "ber = 1e-3"] {
            let link = format!("rate = \"20Mbps\"\ndelay = \"5ms\"\n{air}\nfec = \"{code}\"");
            let arrivals = carry(&pair(10, &link, ""), (far, STEP), 7);
            // Of a thousand: at this bit error rate a window whose repairs suffer too saves few.
            assert!(arrivals.len() > 400, "{code}, {air}: {} arrived", arrivals.len());
            let waits = arrivals.iter().map(|(_, sent, at, _)| *at - *sent);
            let longest = waits.max().unwrap_or_default();
            // 5 ms of the link, and as long as up to 16 frames in a row are lost.
            let most = Duration::from_millis(bound + 5) + STEP * 16;
            assert!(longest <= most, "{code}, {air}: {longest} for {most}");
            // Losses make packets wait for the repairs, so that there is something to bound.
            assert!(longest > Duration::from_millis(10), "{code}, {air}: {longest}");
        }
    }
}

/// A group and all of a network are coded as one destination: each station makes again what it
/// lost itself, and nothing that arrives is false.
#[test]
fn stations_of_a_group_repair_what_each_has_lost() {
    let station =
        |name: &str, x: i32| format!("[[station]]\nname = \"{name}\"\nradio.position = [{x}, 0]\n");
    let text = |far: i32, fec: &str| {
        let stations = [station("near", 0), station("one", far), station("two", -far)].concat();
        format!(
            "format = 1\nduration = \"10s\"\n{stations}[[link]]\nname = \"air\"\n\
             stations = [\"near\", \"one\", \"two\"]\nkind = \"wifi-g\"\nrate = \"54Mbps\"\n\
             radio.fading = \"rayleigh 200\"\n{fec}\n"
        )
    };
    for to in [Ipv4Addr::new(224, 0, 0, 77), Ipv4Addr::BROADCAST] {
        let right = |far: i32, fec: &str| {
            let arrivals = carry(&text(far, fec), (to, STEP * 4), 3);
            [Port(1), Port(2)].map(|port| {
                let own = arrivals.iter().filter(|(at, ..)| *at == port);
                let is_right = |bytes: &[u8]| {
                    let number = u32::from_be_bytes(bytes[20..24].try_into().expect("four"));
                    number < 1_000 && *bytes == packet(number, to)
                };
                own.clone().for_each(|(.., bytes)| assert!(is_right(bytes), "{to}: {bytes:?}"));
                own.count()
            })
        };
        // The first distance at which both lose a twentieth or more.
        let mut all = (20..120).step_by(4).map(|far| (far, right(far, "")));
        let found = all.find(|(_, alone)| alone.iter().all(|alone| *alone < 950));
        let (far, alone) = found.expect("the radio has an edge");
        let coded = right(far, "fec = \"8/12:200ms,interleave:4\"");
        for (alone, coded) in alone.into_iter().zip(coded) {
            assert!(alone > 500, "{to}: {alone} of 1000 without a code at {far} m");
            let missing = (1_000 - alone, 1_000 - coded);
            assert!(2 * missing.1 < missing.0, "{to}, {far} m: {coded} of 1000, not {alone}");
        }
    }
}

/// Simulated hosts speak to groups: with a code and without one, on a wire and on a radio.
#[test]
fn applications_reach_every_station_of_a_group() {
    let station = |name: &str| format!("[[station]]\nname = \"{name}\"\n");
    for (kind, names) in [
        ("kind = \"pipe\"\nrate = \"5Mbps\"\nloss = \"20%\"", &["near", "far"][..]),
        ("kind = \"wifi-g\"\nradio.distance = \"3m\"", &["near", "one", "two", "far"]),
    ] {
        for to in ["224.0.0.77", "255.255.255.255", "ff02::77"] {
            let received = |fec: &str| {
                let stations: String = names.iter().map(|name| station(name)).collect();
                let text = format!(
                    "format = 1\nduration = \"9s\"\n{stations}[[link]]\nstations = {names:?}\n\
                     {kind}\n{fec}\n[[app]]\nkind = \"cbr\"\nstation = \"near\"\nto = \"{to}\"\n\
                     interval = \"4ms\"\nsize = 400\ncount = 1000\n"
                );
                let outcome = run(&text, 5);
                assert_eq!(outcome.report("cbr")["failed"], 0.0, "{to}");
                (1..names.len())
                    .map(|at| outcome.report_at("sink", at)["received"])
                    .fold(f64::INFINITY, f64::min)
            };
            let alone = received("");
            let coded = received("fec = \"4/8\"");
            let expected = if names.len() == 2 { 800.0 } else { 1000.0 };
            // Four standard deviations of 1000 packets of which a fifth is lost. With the code 7 of
            // them stay lost, each if four of the seven frames beside it are lost too.
            assert!((alone - expected).abs() <= 51.0, "{kind}, {to}: {alone}");
            assert!(coded > 980.0, "{kind}, {to}: {coded}");
        }
    }
}
