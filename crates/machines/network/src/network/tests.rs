use core::net::{Ipv4Addr, SocketAddr};

use windfall_apps::{BulkConfig, BulkSinkConfig, PingConfig};
use windfall_base::{DropReason, Duration, Ledger, Probability, Rate, Stream};
use windfall_channel::radio::{Position, RadioConfig, RadioStation};
use windfall_channel::{
    AirConfig, FrameFacts, FrameFate, Line, MediumConfig, MediumEvent, Model, PathConfig,
    PipeMediumConfig,
};
use windfall_link::Arq;
use windfall_mac::wifi::Config;
use windfall_stack::{
    HostConfig, HostEvent, InterfaceConfig, LinkLayerConfig, Neighbour, WifiConfig,
};
use windfall_testkit::laws::{self, Subject};
use windfall_wire_link::ieee80211::{Code, MacAddress, Phy};

use super::*;
use crate::{AppConfig, HostSetup, StationConfig};

const DELAY: Duration = Duration::from_millis(3);

/// Two stations and a pipe of 8 Mb/s, so that a byte takes a microsecond.
fn pair(air: AirConfig, arq: Arq) -> NetworkConfig {
    let rate = Rate::from_mbps(8).map_or(Line::Instant, Line::Rate);
    let path = |air| PathConfig { line: rate.clone(), delay: DELAY, air, ..PathConfig::default() };
    let medium = MediumConfig::Pipe(Box::new(PipeMediumConfig {
        forward: path(air),
        backward: path(AirConfig::default()),
    }));
    let link = windfall_link::PipeConfig { arq, ..windfall_link::PipeConfig::default() };
    let interface =
        InterfaceConfig { link: LinkLayerConfig::Pipe(link), ..InterfaceConfig::default() };
    let end = |station| EndConfig { station, interface: interface.clone() };
    let station = |name: &str| StationConfig { name: name.to_owned(), host: None };
    NetworkConfig {
        stations: vec![station("near"), station("far")],
        links: vec![LinkConfig { name: "air".to_owned(), medium, ends: vec![end(0), end(1)] }],
    }
}

fn build(config: &NetworkConfig) -> Network {
    Network::build(config, Seed(1)).expect("a legal configuration")
}

fn packet(fill: u8, len: usize) -> Input {
    Input::Frame(Frame::packet(vec![fill; len]), RxVector::wired(Instant::START))
}

/// Runs until nothing is due, and returns what left, with its time and port.
fn run_out(network: &mut Network) -> Vec<(Instant, Port, Frame)> {
    let mut left = Vec::new();
    let mut now = Instant::START;
    loop {
        while let Some((port, outgoing)) = network.poll_transmit(now) {
            left.push((now, port, outgoing.frame));
        }
        match network.poll_timeout() {
            Some((at, _)) => now = at,
            None => return left,
        }
        network.handle_timeout(now);
    }
}

fn account(network: &Network) -> Ledger {
    let mut sum = Ledger::default();
    for interface in network.interfaces() {
        let ledger = network.ledger(interface);
        sum.taken += ledger.entered;
        sum.given += ledger.delivered;
        sum.held += ledger.in_flight();
        sum.drops.add(&ledger.drops);
    }
    sum
}

#[test]
fn a_packet_arrives_after_its_air_time_and_the_delay() {
    let mut network = build(&pair(AirConfig::default(), Arq::None));
    network.record(Recording { events: true, packets: false });
    network.handle_input(Instant::START, Port(0), packet(7, 1_000));
    let left = run_out(&mut network);
    let [(at, port, frame)] = &left[..] else { panic!("one packet, not {}", left.len()) };
    let mut length = None;
    while let Some(event) = network.poll_event() {
        if let EventKind::Medium(event) = event.what {
            length = Some(event.length);
        }
    }
    let air_time = Duration::from_micros(length.expect("on the medium").into());
    assert_eq!(*at, Instant::START + air_time + DELAY);
    assert_eq!((*port, frame.to_vec()), (Port(1), vec![7; 1_000]));
    let ledger = network.ledger(ElementId(0));
    assert_eq!((ledger.entered, ledger.delivered, ledger.packets.frames), (1, 1, 1));
    assert_eq!(ledger.busy, air_time);
    assert_eq!(network.ledger(ElementId(1)).entered, 0);
}

#[test]
fn what_the_air_loses_is_dropped_unless_the_link_repeats_it() {
    let half = Probability::new(0.5).unwrap_or_default();
    for (arq, is_complete) in [(Arq::None, false), (Arq::Persistent, true)] {
        let mut network = build(&pair(AirConfig::of(Model::Loss(half)), arq));
        for fill in 0..50 {
            network.handle_input(Instant::START, Port(0), packet(fill, 100));
        }
        let fills: Vec<u8> = run_out(&mut network).iter().map(|(.., f)| f.to_vec()[0]).collect();
        let ledger = network.ledger(ElementId(0));
        assert_eq!(ledger.delivered, fills.len() as u64);
        assert_eq!((ledger.in_flight(), ledger.balances()), (0, true));
        assert_eq!(ledger.drops.of(DropReason::Lost), 50 - fills.len() as u64);
        assert_eq!(fills == (0..50).collect::<Vec<u8>>(), is_complete);
        assert_eq!(ledger.packets.retransmissions > 0, is_complete);
    }
}

#[test]
fn a_full_queue_drops_and_the_books_balance_at_every_moment() {
    let mut network = build(&pair(AirConfig::default(), Arq::None));
    for _ in 0..5_000 {
        network.handle_input(Instant::START, Port(0), packet(0, 100));
        assert!(account(&network).balances());
    }
    let dropped = network.ledger(ElementId(0)).drops.of(DropReason::QueueFull);
    assert!(dropped > 0);
    assert_eq!(run_out(&mut network).len() as u64, 5_000 - dropped);
}

#[test]
fn a_network_keeps_the_laws() {
    let ber = AirConfig::of(Model::BitErrors(Probability::new(1e-3).unwrap_or_default()));
    for arq in [Arq::None, Arq::Persistent] {
        let config = pair(ber.clone(), arq);
        let build = |seed| Network::build(&config, seed).expect("a legal configuration");
        let input = |stream: &mut Stream, now: Instant| {
            let payload = vec![0x45; stream.below(1_600) as usize];
            let port = Port(stream.below(2) as u16);
            (port, Input::Frame(Frame::packet(payload), RxVector::wired(now)))
        };
        laws::check(Subject::new(2, build).input(input).reply(|_, _, _| None).ledger(account));
    }
}

#[test]
fn what_does_not_exist_is_refused() {
    let mut config = pair(AirConfig::default(), Arq::None);
    config.links[0].ends.pop();
    let error = Network::build(&config, Seed(1)).expect_err("one end");
    assert_eq!(error.to_string(), "link \"air\" has 1 ends, and its medium 2 ports");
    let mut config = pair(AirConfig::default(), Arq::None);
    config.links[0].ends[1].station = 9;
    let error = Network::build(&config, Seed(1)).expect_err("no station 9");
    assert_eq!(error.to_string(), "link \"air\" ends at station 9, and there are 2");
}

/// Two stations with hosts on a pipe that takes no time, one of which sends a stream without end.
fn timeless() -> NetworkConfig {
    let mut config = pair(AirConfig::default(), Arq::None);
    let path = PathConfig::default;
    config.links[0].medium =
        MediumConfig::Pipe(Box::new(PipeMediumConfig { forward: path(), backward: path() }));
    let address = |last| Ipv4Addr::new(10, 0, 0, last).into();
    let host = |last| {
        let addresses = ipnet::IpNet::new(address(last), 24).into_iter().collect();
        let interfaces = vec![windfall_ip::IpInterfaceConfig { addresses, mtu: 1500 }];
        let internet = windfall_ip::IpConfig { interfaces, ..windfall_ip::IpConfig::default() };
        HostConfig { internet, ..HostConfig::default() }
    };
    let to = SocketAddr::new(address(2), 9000);
    let bulk = BulkConfig { to, bytes: None, start: Instant::START, stop: None };
    let sink = BulkSinkConfig { local: SocketAddr::new(address(2), 9000) };
    let apps = [AppConfig::Bulk(bulk), AppConfig::BulkSink(sink)];
    for (station, (last, app)) in config.stations.iter_mut().zip([1, 2].into_iter().zip(apps)) {
        station.host = Some(HostSetup { host: host(last), apps: vec![app] });
    }
    config
}

#[test]
fn what_hosts_do_at_the_start_is_recorded() {
    let mut config = timeless();
    let to = Ipv4Addr::new(10, 0, 0, 2).into();
    let interval = Duration::from_millis(1);
    let start = Instant::START;
    let stop = None;
    let ping = PingConfig { to, size: 10, interval, count: Some(3), start, stop };
    let hosts: Vec<_> = config.stations.iter_mut().filter_map(|it| it.host.as_mut()).collect();
    for (host, apps) in hosts.into_iter().zip([vec![AppConfig::Ping(ping)], vec![]]) {
        host.apps = apps;
    }
    for events in [true, false] {
        let mut network = build(&config);
        network.record(Recording { events, packets: false });
        run_out(&mut network);
        let reports = core::iter::from_fn(|| network.poll_event());
        let sent = reports.filter(|it| matches!(it.what, EventKind::Host(HostEvent::Sent { .. })));
        let times: Vec<Instant> = sent.map(|it| it.at).collect();
        let expected = [0, 1, 2].map(|n| Instant::START + Duration::from_millis(n));
        assert_eq!(times, if events { &expected[..] } else { &[] });
    }
}

#[test]
fn time_that_does_not_advance_is_noticed() {
    let mut network = build(&timeless());
    network.limit_steps_per_instant(20_000);
    network.handle_timeout(Instant::START);
    assert_eq!(network.next_event(), Some(Instant::START), "there is more to do");
    let stall = network.stall().expect("a stream without an end takes no time here");
    assert_eq!((stall.at, stall.steps, network.steps()), (Instant::START, 20_000, 20_000));
    let mut elements = stall.elements.clone();
    elements.sort_unstable();
    assert_eq!(elements, ["air/far", "air/near", "far", "near"]);
    let said = stall.to_string();
    assert!(said.starts_with("time does not advance at 0.000000000 s after 20000 steps"), "{said}");
    // A driver whose clock goes on may go on too.
    network.handle_timeout(Instant::START + Duration::from_nanos(1));
    assert_eq!(network.steps(), 40_000);
    assert!(network.ledger(ElementId(0)).delivered > 1_000);
}

#[test]
fn time_that_crawls_is_noticed() {
    let mut config = timeless();
    let path = || PathConfig {
        line: Line::Instant,
        delay: Duration::from_nanos(1),
        ..PathConfig::default()
    };
    config.links[0].medium =
        MediumConfig::Pipe(Box::new(PipeMediumConfig { forward: path(), backward: path() }));
    let mut network = build(&config);
    network.limit_steps_per_instant(20_000);
    for _ in 0..40_000 {
        let Some(next) = network.next_event().filter(|_| network.stall().is_none()) else { break };
        network.handle_timeout(next);
    }
    let stall = network.stall().expect("a stream without an end takes next to no time here");
    assert_eq!((stall.steps, network.steps()), (40_000, 40_000));
    assert!(stall.at > Instant::START && stall.at < Instant::START + Duration::from_millis(1));
    let mut elements = stall.elements.clone();
    elements.sort_unstable();
    assert_eq!(elements, ["air", "air/far", "air/near", "far", "near"]);
    assert!(stall.to_string().starts_with("time does not advance at 0.0000"), "{stall}");
}

#[test]
fn much_work_at_different_instants_is_no_stall() {
    let mut network = build(&pair(AirConfig::default(), Arq::None));
    network.limit_steps_per_instant(200);
    for step in 0..500 {
        let now = Instant::START + DELAY * step;
        network.handle_input(now, Port(0), packet(0, 100));
        while network.poll_transmit(now).is_some() {}
    }
    assert!(network.steps() > 1_000 && network.stall().is_none(), "{}", network.steps());
}

/// Interface 0 is an access point here, which sends on a packet of interface 1.
#[test]
fn a_relayed_packet_that_the_medium_loses_is_a_loss_of_its_own_direction() {
    let mut network = build(&pair(AirConfig::default(), Arq::None));
    for interface in &mut network.interfaces {
        assert_eq!(interface.ledger.enter(), 0, "each has a packet of this number");
    }
    let facts = FrameFacts {
        tag: Some(tag_of(1, 0)),
        kept: false,
        names_only: false,
        is_repair: false,
        length: 100,
        header: 24,
        trailer: 4,
    };
    let times = (Instant::START, Instant::START + DELAY);
    let fate = (None, FrameFate::Lost);
    let lost = MediumEvent::new(facts, (Port(0), Port(1)), times, fate);
    network.account_medium(0, &lost);
    let lost_of = |end| network.ledger(ElementId(end)).drops.of(DropReason::Lost);
    assert_eq!([0, 1].map(lost_of), [0, 1]);
    assert_eq!(network.ledger(ElementId(0)).in_flight(), 1);
}

/// Two pairs of stations of 802.11 on one medium: stations 0 and 1, and stations 2 and 3. Each has
/// the code of its place.
fn pairs(codes: [Option<Code>; 4]) -> NetworkConfig {
    let place = |number: u16| RadioStation::at(Position::new(f64::from(number), 0.0));
    let end = |(number, coding): (u16, Option<Code>)| {
        let mac = Config { coding, ..Config::new(MacAddress::of_station(number), Phy::G) };
        let peer = Neighbour { address: MacAddress::of_station(number ^ 1), behind: Vec::new() };
        let link = LinkLayerConfig::Wifi(WifiConfig { mac, neighbours: [peer].into() });
        let interface = InterfaceConfig { link, ..InterfaceConfig::default() };
        EndConfig { station: usize::from(number), interface }
    };
    let station = |number: u16| StationConfig { name: format!("s{number}"), host: None };
    let medium = RadioConfig::new((0..4).map(place).collect());
    NetworkConfig {
        stations: (0..4).map(station).collect(),
        links: vec![LinkConfig {
            name: "air".to_owned(),
            medium: MediumConfig::Wifi(Box::new(medium)),
            ends: (0..4).zip(codes).map(end).collect(),
        }],
    }
}

#[test]
fn neighbours_of_which_only_one_codes_frames_are_refused_by_name() {
    let refused = |codes| Network::build(&pairs(codes), Seed(1)).err();
    let weak = Some(Code::ALL[1]);
    let strong = Some(Code::ALL[4]);
    assert_eq!(refused([None; 4]), None);
    assert_eq!(refused([weak, strong, None, None]), None, "each frame names its code");
    for codes in [[None, None, weak, None], [None, None, None, weak]] {
        let error = refused(codes).expect("one of the second pair codes its frames");
        let BuildError::UnlikeCoding { link, coded, uncoded } = &error else { panic!("{error}") };
        assert_eq!(link, "air");
        let names = if codes[2].is_some() { ["s2", "s3"] } else { ["s3", "s2"] };
        assert_eq!([coded.as_str(), uncoded.as_str()], names);
        let place = "on link \"air\" station";
        assert!(error.to_string().starts_with(place), "{error}");
    }
}
