use super::*;

#[test]
fn an_exchange_at_54_mbps_is_exact_to_the_microsecond() {
    let mut cell = cell(2, Phy::G, 1, |_| {});
    cell.run_until(micros(1_000));
    cell.packet(0, kilobyte(0));
    cell.run_until(micros(10_000));
    windfall_testkit::assert_golden!("dcf/exchange", cell.timeline.as_str());
    let rate = PhyRate::Ofdm54;
    let data = rate.frame_duration(windfall_base::Preamble::Long, 1024).as_micros();
    // Data, propagation, SIFS, ACK at 24 Mb/s, propagation.
    let ends = format!("{} 0 < Ack to 0", micros(1_000 + data + 1 + 10 + 34 + 1));
    let last = cell.timeline.as_str().lines().last().unwrap();
    assert!(last.starts_with(&ends), "{last} is not {ends}");
}

//= S2.37
#[test]
fn rts_and_cts_come_first_above_the_threshold_alone() {
    let change = |config: &mut Config| config.rts_threshold = 1_000;
    let mut cell = cell(3, Phy::B, 1, change);
    cell.run_until(micros(1_000));
    cell.packet(0, kilobyte(0));
    cell.run_until(micros(10_000));
    cell.packet(0, packet(vec![0; 1_000 - 36], 1));
    cell.run_until(micros(20_000));
    windfall_testkit::assert_golden!("dcf/rts", cell.timeline.as_str());
}

#[test]
fn a_packet_above_the_threshold_goes_in_fragments_a_sifs_apart() {
    let change = |config: &mut Config| config.fragment_threshold = 400;
    let mut cell = cell(2, Phy::G, 1, change);
    cell.run_until(micros(1_000));
    cell.damaged = vec![2];
    let bytes: Vec<u8> = (0..988).map(|index| index as u8).collect();
    cell.packet(0, packet(bytes.clone(), 7));
    cell.run_until(micros(20_000));
    windfall_testkit::assert_golden!("dcf/fragments", cell.timeline.as_str());
    for station in &cell.stations {
        assert!(station.ledger().balances(), "{:?}", station.ledger());
    }
}

#[test]
fn the_fragments_together_are_the_packet() {
    let mut config = Config::new(address(0), Phy::G);
    config.fragment_threshold = 300;
    config.wep = true;
    let bytes: Vec<u8> = (0..1_500).map(|index| (index % 251) as u8).collect();
    let frame = packet(bytes.clone(), 7);
    let packet =
        Packet { frame, to: address(1), ether_type: snap::IPV6, expires: None, source: None };
    let mut job = super::super::pending_packet::PendingPacket::new(packet, 5, &config);
    let mut receiver = Dcf::new(Config::new(address(1), Phy::G), Seed(1), "r");
    let mut at = 1_000;
    let mut count = 0;
    loop {
        let length = job.len();
        let frame = job.build(0);
        assert_eq!(frame.len(), length);
        assert!(frame.len() <= 300);
        let input = Input::Frame(frame, RxVector::wired(micros(at)));
        receiver.handle_input(micros(at), input, &mut || None);
        at += 100;
        receiver.handle_timeout(micros(at), &mut || None);
        let _ = receiver.poll_transmit();
        receiver.handle_input(micros(at + 50), Input::TransmissionDone, &mut || None);
        at += 100;
        count += 1;
        if !job.advance() {
            break;
        }
    }
    assert_eq!(count, 6);
    let whole = receiver.poll_delivery().expect("all fragments have come");
    assert_eq!(whole.payload.to_bytes(), bytes);
    assert!(whole.header.is_empty() && whole.trailer.is_empty());
}

#[test]
fn what_everybody_should_hear_is_sent_once_at_a_basic_rate_without_an_answer() {
    let mut cell = cell(3, Phy::B, 1, |_| {});
    cell.stations[0].to = MacAddress::BROADCAST;
    cell.run_until(micros(1_000));
    cell.packet(0, kilobyte(0));
    cell.run_until(micros(30_000));
    windfall_testkit::assert_golden!("dcf/group", cell.timeline.as_str());
}

/// Returns when station 0 begins to send its packet, after these inputs at microseconds.
pub(super) fn begins(inputs: Vec<(u64, windfall_base::Port, Input)>) -> u64 {
    let mut station = Station::new(Config::new(address(0), Phy::G), address(1), 1);
    for (at, port, input) in inputs {
        station.handle_input(micros(at), port, input);
    }
    let (at, why) = station.poll_timeout().expect("it has something to send");
    assert_eq!(why, "attempt");
    at.as_micros()
}

#[test]
fn the_first_attempt_needs_no_backoff_unless_the_gap_before_it_is_broken() {
    let packet = |at| (at, DEVICE, Input::Frame(kilobyte(0), RxVector::wired(micros(at))));
    let carrier = |at, busy| (at, AIR, if busy { Input::CarrierBusy } else { Input::CarrierIdle });
    let mut inputs = vec![carrier(1_000, true), carrier(1_100, false), packet(1_110)];
    assert_eq!(begins(inputs.clone()), 1_128, "a DIFS after the medium fell idle");
    inputs.extend([carrier(1_120, true), carrier(1_200, false)]);
    let slots = begins(inputs) - 1_228;
    assert!(slots > 0 && slots.is_multiple_of(9), "{slots} µs of backoff");
}

#[test]
fn a_station_that_overhears_a_poll_leaves_room_for_its_acknowledgement() {
    let overheard = |code, low, high| {
        let head = [code, 0, low, high];
        let heard = windfall_base::Overheard { head, good: true };
        vec![
            (1_000, AIR, Input::CarrierBusy),
            (1_100, AIR, Input::Overheard(heard)),
            (1_100, AIR, Input::CarrierIdle),
            (1_101, DEVICE, Input::Frame(kilobyte(0), RxVector::wired(micros(1_101)))),
        ]
    };
    // A SIFS and 304 µs, then a DIFS and the backoff.
    let after = |inputs| begins(inputs) - 1_100;
    let poll = after(overheard(0xa4, 0x01, 0xc0));
    assert!(poll >= 314 + 28 && (poll - 342).is_multiple_of(9), "{poll}");
    let null = after(overheard(0x48, 100, 0));
    assert!((128..314 + 28).contains(&null), "{null}");
}

#[test]
fn slots_that_passed_idle_are_not_waited_for_again() {
    let carrier = |at, busy| (at, AIR, if busy { Input::CarrierBusy } else { Input::CarrierIdle });
    let packet = (1_050, DEVICE, Input::Frame(kilobyte(0), RxVector::wired(micros(1_050))));
    // What comes while the medium is busy needs a backoff.
    let mut inputs = vec![carrier(1_000, true), packet, carrier(1_100, false)];
    let slots = (begins(inputs.clone()) - 1_128) / 9;
    assert!((2..16).contains(&slots), "{slots}");
    // The medium is idle for a DIFS and 1.5 slots, and then busy for 100 µs: one slot is counted.
    inputs.extend([carrier(1_141, true), carrier(1_241, false)]);
    assert_eq!(begins(inputs.clone()), 1_241 + 28 + 9 * (slots - 1));
    // No slot is counted within the interframe space, however often it begins.
    inputs.extend([carrier(1_260, true), carrier(1_300, false)]);
    assert_eq!(begins(inputs), 1_300 + 28 + 9 * (slots - 1));
}

/// The answer of station 0 to an RTS, `after` µs after a frame for another station that
/// reserves the medium for 500 µs.
fn answer_to_request(after: u64) -> Option<Kind> {
    let mut station = Station::new(Config::new(address(0), Phy::G), address(1), 1);
    let head = [Kind::Cts.code(), 0, 500_u16.to_le_bytes()[0], 500_u16.to_le_bytes()[1]];
    let overheard = Input::Overheard(windfall_base::Overheard { head, good: true });
    station.handle_input(micros(1_000), AIR, Input::CarrierBusy);
    station.handle_input(micros(1_000), AIR, overheard);
    station.handle_input(micros(1_000), AIR, Input::CarrierIdle);
    let header = Header { transmitter: address(1), ..Header::new(Kind::Rts, address(0)) };
    let mut request = Frame::default();
    header.encode(&mut request.header);
    let check = windfall_wire_link::check::frame_check(&[&request.header]);
    request.trailer.extend(check);
    let now = micros(1_000 + after);
    station.handle_input(now, AIR, Input::CarrierBusy);
    station.handle_input(now, AIR, Input::Frame(request, RxVector::wired(now)));
    station.handle_input(now, AIR, Input::CarrierIdle);
    let (at, _) = station.poll_timeout()?;
    station.handle_timeout(at);
    let (_, outgoing) = station.poll_transmit(at)?;
    Header::parse(&outgoing.frame.header).ok().map(|header| header.kind)
}

#[test]
fn a_request_is_not_granted_while_others_have_the_medium() {
    assert_eq!(answer_to_request(499), None);
    assert_eq!(answer_to_request(500), Some(Kind::Cts));
    assert_eq!(answer_to_request(501), Some(Kind::Cts));
}

#[test]
fn a_hidden_station_keeps_silent_once_it_has_heard_a_cts() {
    // 0 and 2 do not hear each other; both send to 1.
    let hidden = vec![(0, 2), (2, 0)];
    let collisions = |threshold: usize| {
        let mut cell = cell(3, Phy::B, 3, |config| config.rts_threshold = threshold);
        cell.hidden = hidden.clone();
        for tag in 0..40 {
            cell.stations[2].to = address(1);
            cell.packet(0, kilobyte(tag));
            cell.packet(2, kilobyte(tag + 100));
        }
        cell.run_until(micros(2_000_000));
        let sent = cell.stations[0].sent() + cell.stations[2].sent();
        assert!(cell.stations.iter().all(|station| station.ledger().balances()));
        sent - 80
    };
    let without = collisions(super::super::NO_THRESHOLD);
    let with = collisions(0);
    assert!(without > 10 * with.max(1), "{without} repeated without RTS, {with} with it");
}
