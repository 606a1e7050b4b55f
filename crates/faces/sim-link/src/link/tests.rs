use std::time::Duration;

use windfall_wire_net::Ecn;

use super::*;
use crate::{SimDatagram, SimSettings};

const MS: Duration = Duration::from_millis(1);

/// A packet of 1000 bytes with a number.
fn packet(number: u32) -> Bytes {
    let mut payload = vec![0; 972];
    payload[..4].copy_from_slice(&number.to_be_bytes());
    let [from, to] = ["10.77.0.1:4000", "10.77.0.2:5000"].map(|it| it.parse().expect("one"));
    let datagram = SimDatagram { from, to, ecn: Ecn::Capable0, payload: payload.into() };
    datagram.to_packet().expect("it is short").into()
}

/// Sends a packet each millisecond, and returns what arrives until nothing is on its way.
fn run(link: &mut SimLink, packets: u32) -> Vec<SimDelivery> {
    let mut arrived = Vec::new();
    for number in 0..packets {
        link.send(MS * number, SimEnd::Near, packet(number)).expect("it is short");
        arrived.extend(std::iter::from_fn(|| link.poll_delivery(MS * number)));
    }
    while let Some(at) = link.poll_timeout() {
        arrived.extend(std::iter::from_fn(|| link.poll_delivery(at)));
    }
    arrived
}

#[test]
fn packets_take_the_time_of_rate_and_delay() {
    let mut link = SimSettings::new().rate("8Mbps").delay("30ms").build().expect("a link");
    let arrived = run(&mut link, 3);
    let numbers: Vec<_> = arrived.iter().map(|it| it.packet.clone()).collect();
    assert_eq!(numbers, [packet(0), packet(1), packet(2)]);
    assert!(arrived.iter().all(|it| it.to == SimEnd::Far && !it.damaged));
    // A kilobyte takes a millisecond, the frame around it a little more.
    for (number, delivery) in (1..).zip(&arrived) {
        let least = MS * (30 + number);
        assert!(delivery.at >= least && delivery.at < least + MS / 2, "{:?}", delivery.at);
    }
    assert_eq!(link.counts(SimEnd::Near).delivered, 3);
    assert_eq!(link.counts(SimEnd::Far).sent, 0);
}

#[test]
fn a_seed_repeats_damage_jitter_reordering_and_loss() {
    let settings = SimSettings::new().rate("20Mbps").delay("10ms").jitter("5ms normal");
    let settings = settings.reorder("5%").loss("5%").ber(1e-5).accept_damaged();
    let with = |seed| run(&mut settings.clone().seed(seed).build().expect("a link"), 500);
    let first = with(1);
    assert_eq!(first, with(1));
    assert_ne!(first, with(2));
    let numbers: Vec<_> =
        first.iter().filter_map(|it| SimDatagram::parse(&it.packet)).map(|it| it.payload).collect();
    assert!(!numbers.is_sorted(), "none has overtaken another");
    // Of 500 packets 475 arrive; five standard deviations of a binomial are 25.
    assert!((450..=500).contains(&first.len()), "{}", first.len());
    // Of 8000 bits at 1e-5 one is hit in 7.7 % of the packets.
    let damaged = first.iter().filter(|it| it.damaged).count();
    assert!((10..80).contains(&damaged), "{damaged}");
    let truly = |it: &&SimDelivery| SimDatagram::parse_checked(&it.packet).is_none();
    assert!(first.iter().filter(|it| !it.damaged).all(|it| !truly(&it)));
}

#[test]
fn a_queue_marks_and_a_damaged_packet_is_dropped_by_default() {
    let settings = SimSettings::new().rate("4Mbps").setting("queue", "100,mark:5").ber(1e-5);
    let mut link = settings.build().expect("a link");
    let arrived = run(&mut link, 100);
    let marked = |it: &&SimDelivery| {
        SimDatagram::parse(&it.packet).is_some_and(|it| it.ecn == Ecn::Congested)
    };
    let marks = arrived.iter().filter(marked).count();
    assert!(marks > 10, "{marks}");
    let counts = link.counts(SimEnd::Near);
    assert_eq!((counts.sent, counts.in_flight, counts.damaged), (100, 0, 0));
    let dropped: u64 = counts.dropped.iter().map(|(_, packets)| packets).sum();
    assert_eq!(counts.delivered + dropped, 100);
    assert!(counts.dropped.iter().all(|(reason, _)| *reason == "frame-check"), "{counts:?}");
}

#[test]
fn a_link_changes_while_it_runs() {
    let mut link = SimSettings::new().delay("10ms").build().expect("a link");
    link.send(Duration::ZERO, SimEnd::Near, packet(0)).expect("it is short");
    link.set(MS, "uplink loss 100%, delay 20ms").expect("it changes");
    link.send(MS * 2, SimEnd::Near, packet(1)).expect("it is short");
    link.send(MS * 2, SimEnd::Far, packet(2)).expect("it is short");
    let mut arrived = Vec::new();
    while let Some(at) = link.poll_timeout() {
        arrived.extend(std::iter::from_fn(|| link.poll_delivery(at)));
    }
    let said: Vec<_> = arrived.iter().map(|it| (it.at, it.to)).collect();
    assert_eq!(said, [(MS * 10, SimEnd::Far), (MS * 22, SimEnd::Near)]);
    assert!(link.scenario().contains("[[change]]"), "{}", link.scenario());
    let wrong = |change: &str, link: &mut SimLink| {
        link.set(MS * 30, change).expect_err("it makes no sense").to_string()
    };
    assert!(wrong("mtu 1000", &mut link).contains("mtu"));
    assert!(wrong("rate fast", &mut link).contains("fast"));
}

#[test]
fn what_makes_no_sense_is_refused_by_name() {
    let wrong = |settings: SimSettings| settings.build().expect_err("no link").to_string();
    assert!(wrong(SimSettings::new().rate("fast")).starts_with("rate=fast: "));
    assert!(wrong(SimSettings::new().uplink("rte", "1Mbps")).contains("did you mean rate?"));
    assert!(wrong(SimSettings::new().rate_trace("/nowhere")).contains("/nowhere"));
    let mut link = SimSettings::new().setting("mtu", 1400).build().expect("a link");
    let sent = link.send(Duration::ZERO, SimEnd::Near, vec![0; 1401]);
    assert_eq!(sent, Err(SimError::TooLong { len: 1401, mtu: 1400 }));
}
