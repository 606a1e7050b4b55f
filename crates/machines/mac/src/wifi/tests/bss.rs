use core::num::NonZeroU8;

use windfall_base::{Class, Tag};
use windfall_testkit::laws;
use windfall_wire_link::ieee80211::management::{Beacon, Ssid, capability, erp};

use super::super::Role;
use super::super::radio::State;
use super::*;

fn ssid() -> Ssid {
    b"office".iter().copied().collect()
}

/// Station 0 is the access point, the others are members.
fn infrastructure(power_save: bool) -> impl Fn(&mut Config) {
    move |config| {
        config.role = if config.address == address(0) {
            Role::AccessPoint { ssid: ssid(), interval: 100, channel: 6 }
        } else {
            Role::Member { ssid: ssid(), power_save }
        };
    }
}

/// Returns the number of packets that station `number` has passed up.
fn up(cell: &Cell<Station>, number: usize) -> usize {
    cell.timeline.as_str().matches(&format!(" {number} ^ packet")).count()
}

fn all_balance(cell: &Cell<Station>) {
    for (number, station) in cell.stations.iter().enumerate() {
        assert!(station.ledger().balances(), "{number}: {:?}", station.ledger());
    }
}

//= S2.19
#[test]
fn a_member_joins_and_its_packets_go_through_the_access_point() {
    let mut cell = cell(3, Phy::G, 1, infrastructure(false));
    cell.run_until(micros(400_000));
    let joining = cell.timeline.as_str().to_owned();
    for kind in ["Beacon", "Authentication", "AssociationRequest", "AssociationResponse"] {
        assert!(joining.contains(kind), "no {kind} in\n{joining}");
    }
    // Station 1 sends to 2, 2 to 0, 0 to 1.
    for station in 0..3 {
        cell.packet(station, kilobyte(station as u64));
        cell.run_until(cell.now() + Duration::from_millis(5));
    }
    assert_eq!([0, 1, 2].map(|station| up(&cell, station)), [1, 1, 1]);
    let sent = [0, 1, 2].map(|station| cell.stations[station].sent());
    assert_eq!(sent, [2, 1, 1], "the access point sends its own packet and the one from 1 to 2");
    all_balance(&cell);
}

#[test]
fn a_packet_for_all_goes_to_the_access_point_and_from_there_to_the_others() {
    let mut cell = cell(4, Phy::G, 1, infrastructure(false));
    cell.stations[1].to = MacAddress::BROADCAST;
    cell.run_until(micros(400_000));
    cell.packet(1, kilobyte(1));
    cell.run_until(micros(450_000));
    assert_eq!([0, 1, 2, 3].map(|station| up(&cell, station)), [1, 0, 1, 1]);
    all_balance(&cell);
}

/// A cell of three in which the first attempt of station 1 at a packet for 2 is damaged, once the
/// packet has gone its way.
fn after_damage(attempts: Option<u8>, far_accepts: bool) -> Cell<Station> {
    let mut cell = cell(3, Phy::G, 1, |config| {
        infrastructure(false)(config);
        config.accept_damaged = config.address != address(2) || far_accepts;
    });
    cell.run_until(micros(400_000));
    cell.damaged = vec![cell.timeline.as_str().matches(" > ").count()];
    let attempts = attempts.and_then(NonZeroU8::new);
    cell.packet(1, kilobyte(1).with_class(Class { attempts, ..Class::default() }));
    cell.run_until(micros(410_000));
    all_balance(&cell);
    cell
}

//= S0.6
//= S0.11
#[test]
fn what_is_known_to_be_damaged_on_the_first_hop_is_known_to_be_so_on_the_second() {
    let cell = after_damage(Some(1), true);
    let timeline = cell.timeline.as_str();
    assert!(timeline.ends_with("2 ^ packet len=988 damaged\n"), "{timeline}");
    assert_eq!([0, 1].map(|station| cell.stations[station].sent()), [1, 1]);
    // A receiver that does not accept damage gets no damaged packet. It also receives the damaged
    // frame of the first hop, whose addressee is unknown.
    let cell = after_damage(Some(1), false);
    assert_eq!(up(&cell, 2), 0);
    assert_eq!(cell.stations[2].ledger().drops.of(DropReason::FrameCheck), 2);
    // The first sender retransmits until the ACK, so the packet finally arrives undamaged.
    let cell = after_damage(None, true);
    let given = |line: &&str| line.contains("2 ^");
    let last = cell.timeline.as_str().lines().rfind(given).expect("it came");
    assert!(last.ends_with("packet len=988"), "{last}");
    assert_eq!([0, 1].map(|station| up(&cell, station)), [0, 0]);
}

/// The sender keeps the packet until its ACK, so that nothing is lost with the damaged one.
#[test]
fn a_damaged_packet_that_is_relayed_is_kept_at_its_sender() {
    let role = Role::AccessPoint { ssid: ssid(), interval: 100, channel: 6 };
    let config = Config { role, accept_damaged: true, ..Config::new(address(0), Phy::G) };
    let mut point = Dcf::new(config, Seed(1), "0");
    let packet = Packet {
        frame: kilobyte(1),
        to: address(0),
        ether_type: snap::IPV4,
        expires: None,
        source: None,
    };
    let sender = Config::new(address(1), Phy::G);
    let mut frame = super::super::pending_packet::PendingPacket::new(packet, 5, &sender).build(44);
    // It goes to all by way of the access point, which its frame check does not cover.
    frame.header[1] |= Flags::TO_DS.0;
    frame.header[16..22].copy_from_slice(&MacAddress::BROADCAST.0);
    assert!(frame.kept);
    let input = Input::Frame(frame, RxVector::wired(micros(200)));
    point.handle_input(micros(200), input, &mut || None);
    let relayed = point.poll_relay().expect("for all").frame;
    assert!(relayed.damage.is_damaged() && relayed.kept);
}

#[test]
fn a_request_that_comes_again_is_answered_once() {
    let with_lost = |frame: Option<usize>| {
        let mut cell = cell(2, Phy::G, 1, infrastructure(false));
        cell.damaged = frame.into_iter().collect();
        cell.run_until(micros(400_000));
        cell
    };
    let sent = |cell: &Cell<Station>| -> Vec<String> {
        let lines = cell.timeline.as_str().lines();
        lines.filter(|line| line.contains(" > ")).map(str::to_owned).collect()
    };
    let all = sent(&with_lost(None));
    let request = all.iter().position(|line| line.contains("AssociationRequest to 0"));
    // Its ACK follows it.
    let again = with_lost(request.map(|at| at + 1));
    let count = |what: &str| sent(&again).iter().filter(|line| line.contains(what)).count();
    assert_eq!(count("AssociationRequest again to 0"), 1, "{}", again.timeline.as_str());
    assert_eq!(count("AssociationResponse to 1"), 1, "{}", again.timeline.as_str());
}

#[test]
fn a_packet_that_is_relayed_keeps_its_name() {
    let mut cell = cell(3, Phy::G, 1, infrastructure(false));
    cell.run_until(micros(400_000));
    cell.packet(1, kilobyte(42));
    cell.run_until(micros(410_000));
    let sent = cell.stations[0]
        .packet_events()
        .filter(|event| matches!(event.kind, PacketEventKind::Sent { .. }));
    assert!(sent.map(|event| event.tag).eq([Some(Tag(42))]));
}

#[test]
fn what_is_for_no_associated_station_is_dropped_by_name() {
    let mut cell = cell(2, Phy::G, 1, infrastructure(false));
    cell.stations[0].to = address(77);
    cell.run_until(micros(400_000));
    cell.packet(0, kilobyte(1));
    cell.run_until(micros(450_000));
    assert_eq!(cell.stations[0].ledger().drops.of(DropReason::NoRoute), 1);
}

//= S2.19
#[test]
fn a_member_that_saves_power_dozes_and_still_gets_its_packets() {
    let mut cell = cell(3, Phy::G, 1, infrastructure(true));
    cell.run_until(micros(1_000_000));
    let before = cell.stations[1].dcf.airtime(cell.now());
    cell.run_until(micros(3_000_000));
    let after = cell.stations[1].dcf.airtime(cell.now());
    let dozed = after.of(State::Doze) - before.of(State::Doze);
    // It is awake for a millisecond before each beacon, and for the beacon.
    assert!(dozed > Duration::from_millis(1_900), "dozed {dozed} of two seconds");
    for tag in 0..5 {
        cell.packet(0, kilobyte(tag));
    }
    cell.run_until(micros(3_001_000));
    assert_eq!(up(&cell, 1), 0, "the access point keeps what is for those that doze");
    cell.run_until(micros(3_120_000));
    assert_eq!(up(&cell, 1), 5, "the beacon has told that something waits");
    assert_eq!(cell.timeline.as_str().matches(" 0 < PsPoll").count(), 5);
    // In place of a duration stands the station's number, marked by its two highest bits.
    let count = |word| cell.timeline.as_str().matches(word).count();
    assert_eq!(count("reserves=49153us") + count("reserves=49154us"), count("PsPoll"));
    // Its own packets need not wait for a beacon.
    let now = cell.now();
    cell.packet(1, kilobyte(9));
    cell.run_until(now + Duration::from_millis(2));
    assert_eq!(cell.stations[1].ledger().held, 0);
    all_balance(&cell);
}

#[test]
fn those_that_doze_wake_for_what_is_for_all() {
    let mut cell = cell(3, Phy::G, 1, infrastructure(true));
    cell.stations[0].to = MacAddress::BROADCAST;
    cell.run_until(micros(1_000_000));
    for tag in 0..3 {
        cell.packet(0, kilobyte(tag));
    }
    cell.run_until(micros(1_200_000));
    assert_eq!([1, 2].map(|station| up(&cell, station)), [3, 3]);
    all_balance(&cell);
}

#[test]
fn the_clock_of_a_beacon_is_that_of_its_sending_however_long_it_had_to_wait() {
    let mut config = Config::new(address(0), Phy::G);
    infrastructure(false)(&mut config);
    let mut point = Dcf::new(config, Seed(1), "0");
    let mut none = || None;
    // From its sending to the first bit of the clock there are 192 µs and 24 bytes at 1 Mb/s.
    let ahead = |beacon: &Beacon, sent: Instant| {
        (sent.as_micros() + 192 + 24 * 8) as i64 - beacon.timestamp as i64
    };
    let mut clocks = Vec::new();
    for waits in [0, 7_000] {
        let (due, _) = point.poll_timeout().expect("a beacon is due");
        let before = Instant::from_nanos(due.as_nanos() - 50_000);
        point.handle_input(before, Input::CarrierBusy, &mut none);
        point.handle_timeout(due, &mut none);
        let free = due + Duration::from_micros(waits);
        point.handle_input(free, Input::CarrierIdle, &mut none);
        let (sent, _) = point.poll_timeout().expect("it contends");
        point.handle_timeout(sent, &mut none);
        let frame = point.poll_transmit().expect("the beacon").frame;
        let header = Header::parse(&frame.header).expect("a header");
        assert_eq!((header.transmitter, header.third), (address(0), address(0)));
        let body = frame.payload.to_bytes();
        let beacon = Beacon::parse(&body);
        let beacon = beacon.expect("it is one");
        assert_eq!(beacon.capability, capability::ESS | capability::SHORT_SLOT);
        assert_eq!(beacon.erp, Some(erp::BARKER_PREAMBLE));
        clocks.push(ahead(&beacon, sent));
        let done = sent + Duration::from_millis(2);
        point.handle_input(done, Input::TransmissionDone, &mut none);
    }
    assert_eq!(clocks[0], clocks[1], "its clock began at one instant");
}

#[test]
fn stations_of_a_network_keep_the_laws() {
    for part in [0, 1] {
        let new = move |seed: Seed| {
            let mut config = Config::new(address(part), Phy::G);
            infrastructure(seed.0.is_multiple_of(2))(&mut config);
            Station::new(config, address(1 - part), seed.0)
        };
        let subject = laws::Subject::new(2, new).ledger(Station::ledger);
        laws::check(subject.input(move |stream, now| match stream.below(6) {
            0 => (AIR, Input::CarrierBusy),
            1 => (AIR, Input::CarrierIdle),
            2 => (AIR, Input::TransmissionDone),
            3 | 4 => {
                let frame = super::laws::frame_to(address(part), stream);
                (AIR, Input::Frame(frame, RxVector::wired(now)))
            }
            _ => (DEVICE, Input::Frame(kilobyte(0), RxVector::wired(now))),
        }));
    }
}

#[test]
fn a_radio_that_is_switched_off_hears_nothing() {
    let mut cell = cell(2, Phy::G, 1, infrastructure(true));
    cell.run_until(micros(1_030_000));
    let now = cell.now();
    let station = &mut cell.stations[1];
    let doze = |station: &Station, at| station.dcf.airtime(at).of(State::Doze);
    let later = now + Duration::from_micros(1);
    assert!(doze(station, later) > doze(station, now), "it is switched off");
    let head = [Kind::Cts.code(), 0, 0x00, 0x40];
    let overheard = windfall_base::Overheard { head, good: true };
    station.handle_input(now, AIR, Input::CarrierBusy);
    station.handle_input(now, AIR, Input::Overheard(overheard));
    let job = |from| {
        let frame = kilobyte(1);
        let packet =
            Packet { frame, to: address(1), ether_type: snap::IPV4, expires: None, source: None };
        super::super::pending_packet::PendingPacket::new(packet, 5, &Config::new(from, Phy::G))
            .build(44)
    };
    let lost_before = station.drops(DropSite::Receiver, DropReason::Lost);
    let vector = RxVector::wired(now);
    station.handle_input(now, AIR, Input::Frame(job(address(0)), vector));
    station.handle_input(now, AIR, Input::CarrierIdle);
    assert!(station.drops(DropSite::Receiver, DropReason::Lost) > lost_before);
    assert!(station.dcf.poll_delivery().is_none());
    // The station has not received the NAV of 16 ms either, and sends its packet at once.
    station.handle_input(now, DEVICE, Input::Frame(kilobyte(2), RxVector::wired(now)));
    let sends = station.poll_transmit(now).is_some();
    let soon = station.poll_timeout().is_some_and(|(at, _)| at < now + Duration::from_millis(1));
    assert!(sends || soon, "{:?}", station.poll_timeout());
}
