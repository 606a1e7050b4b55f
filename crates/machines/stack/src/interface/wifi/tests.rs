use core::net::IpAddr;
use core::num::NonZeroU8;

use windfall_base::{Check, Class, Duration, FlowId, Node, Port, RxVector, Stream, Tag};
use windfall_testkit::laws;
use windfall_wire_link::check::frame_check;
use windfall_wire_link::ieee80211::{Header, Phy};

use super::super::{DEVICE, Interface, InterfaceConfig, LinkLayerConfig, MEDIUM};
use super::*;
use crate::interface::Rule;

fn address(number: u16) -> MacAddress {
    MacAddress::of_station(number)
}

/// Stations 1 and 2, each with the address 10.0.0.n behind it.
fn neighbours() -> Arc<[Neighbour]> {
    let behind = |last| vec![IpAddr::from([10, 0, 0, last]).into()];
    let neighbour =
        |number: u16| Neighbour { address: address(number), behind: behind(number as u8) };
    [1, 2].map(neighbour).into()
}

/// An interface of station `number`, whose neighbours are 1 and 2.
fn interface(number: u16, accept_damaged: bool) -> Interface {
    let mac = Config { accept_damaged, ..Config::new(address(number), Phy::G) };
    let link = LinkLayerConfig::Wifi(WifiConfig { mac, neighbours: neighbours() });
    let rules = vec![Rule::approximate()];
    let config = InterfaceConfig { link, rules, observe: true, ..InterfaceConfig::default() };
    Interface::new(config, Seed(1), "wifi")
}

/// A UDP-Lite datagram of 40 bytes to 10.0.0.`to` that covers `coverage` of them.
fn datagram(to: u8, coverage: u8) -> Frame {
    let mut bytes = vec![0x45, 0, 0, 60, 0, 0, 0, 0, 64, 136, 0, 0, 10, 0, 0, 9, 10, 0, 0, to];
    bytes.extend([0, 1, 0, 2, 0, coverage, 1, 1]);
    bytes.resize(60, 0);
    Frame { tag: Some(Tag(1)), ..Frame::packet(bytes) }
}

fn frame_for(to: u8, coverage: u8) -> Frame {
    let mut sender = interface(0, false);
    let at = Instant::from_nanos(1_000_000);
    sender.handle_input(at, DEVICE, Input::Frame(datagram(to, coverage), RxVector::wired(at)));
    let (port, outgoing) = sender.poll_transmit(at).expect("the medium is free");
    assert_eq!(port, MEDIUM);
    outgoing.frame
}

#[test]
fn packets_go_to_the_station_behind_which_their_address_is_and_to_all_if_it_is_a_group() {
    let receiver = |to: IpAddr| {
        let mut packet = datagram(0, 0).to_vec();
        if let IpAddr::V4(to) = to {
            packet[16..20].copy_from_slice(&to.octets());
        }
        next_hop(&neighbours(), &packet.into())
    };
    let v4 = |last| IpAddr::from([10, 0, 0, last]);
    assert_eq!(receiver(v4(2)), Some(address(2)));
    assert_eq!(receiver(v4(1)), Some(address(1)));
    assert_eq!(receiver(v4(77)), None);
    assert_eq!(receiver([224, 0, 0, 1].into()), Some(MacAddress::BROADCAST));
    assert_eq!(next_hop(&[], &Payload::default()), None);
    assert_eq!(ether_type(&vec![0x60; 40].into()), snap::IPV6);
}

/// The frames of an interface with these rules when no station ever answers, with their times.
fn unanswered(rules: Vec<Rule>, coverage: u8) -> Vec<(Instant, Vec<u8>)> {
    let mac = Config::new(address(0), Phy::G);
    let behind = vec![IpAddr::from([10, 0, 0, 1]).into()];
    let neighbours = [Neighbour { address: address(1), behind }].into();
    let link = LinkLayerConfig::Wifi(WifiConfig { mac, neighbours });
    let config = InterfaceConfig { link, rules, ..InterfaceConfig::default() };
    let mut interface = Interface::new(config, Seed(1), "wifi");
    let at = Instant::from_nanos(1_000_000);
    interface.handle_input(at, DEVICE, Input::Frame(datagram(1, coverage), RxVector::wired(at)));
    let mut now = at;
    let mut sent = Vec::new();
    loop {
        while let Some((_, outgoing)) = interface.poll_transmit(now) {
            sent.push((now, outgoing.frame.to_vec()));
            now += Duration::from_micros(50);
            interface.handle_input(now, MEDIUM, Input::TransmissionDone);
        }
        let Some((due, _)) = interface.poll_timeout() else { return sent };
        now = due;
        interface.handle_timeout(now);
    }
}

//= S0.8
//= S0.9
//= S0.13
#[test]
fn the_sender_differs_from_a_stock_one_in_the_attempts_at_partly_covered_datagrams_alone() {
    let rules = || vec![Rule::approximate()];
    let stock = unanswered(Vec::new(), 40);
    let precise = unanswered(rules(), 40);
    assert_eq!(stock.len(), 7);
    assert_eq!(stock, precise, "a precise datagram meets a stock sender");
    let stock = unanswered(Vec::new(), 8);
    let approximate = unanswered(rules(), 8);
    assert_eq!(stock.len(), 7);
    assert_eq!(approximate, stock[..1], "the first attempt is the same, and the only one");
}

//= S0.14
//= S0.70
#[test]
fn the_switch_of_the_receiver_and_the_mode_of_the_sender_are_independent() {
    for (switch, approximate) in [(false, false), (false, true), (true, false), (true, true)] {
        let coverage = if approximate { 8 } else { 40 };
        let mut frame = frame_for(1, coverage);
        // The sender's mode alone decides whether it keeps the packet to send it again.
        assert_eq!(frame.kept, !approximate);
        frame.invert(&[(24 + 8 + 50) * 8]);
        let mut receiver = interface(1, false);
        receiver.set_accept_damaged(switch);
        let at = Instant::from_nanos(2_000_000);
        receiver.handle_input(at, MEDIUM, Input::Frame(frame, RxVector::wired(at)));
        // The receiver's switch alone decides whether a damaged one goes up.
        let up = receiver.poll_transmit(at);
        assert_eq!(up.is_some(), switch);
        if let Some((port, outgoing)) = up {
            assert_eq!((port, outgoing.frame.damage.frame), (DEVICE, Check::Bad));
        }
        let lost = receiver.ledger().drops.of(DropReason::FrameCheck);
        assert_eq!(lost, u64::from(!switch));
        assert!(receiver.ledger().balances());
        // Neither of them makes it acknowledge damage.
        assert_eq!(receiver.poll_timeout(), None);
    }
}

/// The receiver knows its flows by the headers that arrived.
#[test]
fn damaged_packets_of_a_flow_are_passed_up_as_the_flow_says() {
    let class = |accept| Class { flow: FlowId(1), accept_damaged: accept, ..Class::default() };
    for (accept, switch, passes) in [
        (Some(true), false, true),
        (Some(false), true, false),
        (None, true, true),
        (None, false, false),
    ] {
        let of_flow = Rule { class: class(accept), ..Rule::default() };
        let mac = Config { accept_damaged: switch, ..Config::new(address(1), Phy::G) };
        let link = LinkLayerConfig::Wifi(WifiConfig { mac, neighbours: neighbours() });
        let config = InterfaceConfig { link, rules: vec![of_flow], ..InterfaceConfig::default() };
        let mut receiver = Interface::new(config, Seed(1), "wifi");
        let mut frame = frame_for(1, 40);
        frame.invert(&[(24 + 8 + 50) * 8]);
        let at = Instant::from_nanos(2_000_000);
        receiver.handle_input(at, MEDIUM, Input::Frame(frame, RxVector::wired(at)));
        let up = receiver.poll_transmit(at);
        assert_eq!(up.is_some(), passes, "{accept:?} with the switch at {switch}");
        assert!(up.is_none_or(|(port, it)| port == DEVICE && !it.frame.kept));
        assert_eq!(receiver.ledger().drops.of(DropReason::FrameCheck), u64::from(!passes));
        assert!(receiver.ledger().balances());
    }
}

#[test]
fn an_interface_keeps_the_laws() {
    let subject = |seed: Seed| interface(1, seed.0.is_multiple_of(2));
    let input = |stream: &mut Stream, now: Instant| -> (Port, Input) {
        match stream.below(6) {
            0 => (MEDIUM, Input::CarrierBusy),
            1 => (MEDIUM, Input::CarrierIdle),
            2 => (MEDIUM, Input::TransmissionDone),
            3 => {
                let mut frame = frame_for(1 + stream.below(2) as u8, 8);
                if stream.below(2) == 0 {
                    frame.invert(&[stream.below(800) as u32]);
                }
                (MEDIUM, Input::Frame(frame, RxVector::wired(now)))
            }
            _ => {
                let lifetime = Some(Duration::from_millis(3));
                let class = Class { attempts: NonZeroU8::new(2), lifetime, ..Class::default() };
                let frame = datagram(stream.below(3) as u8, 8).with_class(class);
                (DEVICE, Input::Frame(frame, RxVector::wired(now)))
            }
        }
    };
    laws::check(laws::Subject::new(2, subject).input(input).ledger(Interface::ledger));
}

/// On a link of three stations the numbers that are missing may be those of frames for the third.
#[test]
fn numbers_missing_between_two_frames_are_losses_on_a_link_of_two_stations_alone() {
    let lost_before = |neighbours: Arc<[Neighbour]>| {
        let mac = Config::new(address(1), Phy::G);
        let link = LinkLayerConfig::Wifi(WifiConfig { mac, neighbours });
        let config = InterfaceConfig { link, ..InterfaceConfig::default() };
        let mut receiver = Interface::new(config, Seed(1), "wifi");
        [5, 8].map(|sequence| {
            let at = Instant::from_nanos(u64::from(sequence) * 1_000_000);
            let mut frame = frame_for(1, 40);
            let header = Header::parse(&frame.header).expect("a data frame");
            let header = Header { transmitter: address(2), sequence, ..header };
            let body: Vec<u8> = frame.header.drain(..).skip(header.kind.header_len()).collect();
            header.encode(&mut frame.header);
            frame.header.extend(body);
            let [head, first, second, _] = frame.slices();
            let check = frame_check(&[head, first, second]);
            frame.trailer.clear();
            frame.trailer.extend(check);
            receiver.handle_input(at, MEDIUM, Input::Frame(frame, RxVector::wired(at)));
            let (port, outgoing) = receiver.poll_transmit(at).expect("it is passed up");
            assert_eq!(port, DEVICE);
            outgoing.frame.damage.lost_before
        })
    };
    assert_eq!(lost_before(neighbours()), [0, 2]);
    let third = Neighbour { address: address(3), behind: Vec::new() };
    assert_eq!(lost_before(neighbours().iter().cloned().chain([third]).collect()), [0, 0]);
}
