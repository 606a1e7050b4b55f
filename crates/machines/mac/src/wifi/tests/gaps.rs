//! What stations conclude from what they could not receive, and what they say of themselves.

use core::num::NonZeroU8;

use windfall_base::{Class, Failure, Overheard};

use super::super::config::EifsPolicy;
use super::super::pending_packet::PendingPacket;
use super::super::radio::State;
use super::exchange::begins;
use super::*;

/// Returns when a station with this EIFS policy begins to send, after the medium became idle with
/// `heard`.
fn begins_after(eifs: EifsPolicy, heard: Option<Input>) -> u64 {
    let config = Config { eifs, ..Config::new(address(0), Phy::G) };
    let mut station = Station::new(config, address(1), 1);
    station.handle_input(micros(1_000), AIR, Input::CarrierBusy);
    let packet = Input::Frame(kilobyte(0), RxVector::wired(micros(1_050)));
    station.handle_input(micros(1_050), DEVICE, packet);
    if let Some(heard) = heard {
        station.handle_input(micros(1_100), AIR, heard);
    }
    station.handle_input(micros(1_100), AIR, Input::CarrierIdle);
    station.poll_timeout().expect("it has something to send").0.as_micros()
}

#[test]
fn the_extended_gap_follows_what_it_is_configured_to_follow() {
    let timing = Config::new(address(0), Phy::G).timing;
    let longer = (timing.eifs() - timing.difs()).as_micros();
    assert!(longer > 100, "{longer}");
    let overheard = |good| Input::Overheard(Overheard { head: [0xd4, 0, 0, 0], good });
    for (gap, after_header, after_bad) in [
        (EifsPolicy::Always, longer, longer),
        (EifsPolicy::ReadableHeader, 0, longer),
        (EifsPolicy::Never, 0, 0),
    ] {
        let usual = begins_after(gap, None);
        let more = |heard| begins_after(gap, Some(heard)) - usual;
        assert_eq!(more(Input::ReceptionFailed(Failure::Header)), after_header, "{gap:?}");
        assert_eq!(more(Input::ReceptionFailed(Failure::Noise)), 0, "{gap:?}");
        assert_eq!(more(overheard(false)), after_bad, "{gap:?}");
        assert_eq!(more(overheard(true)), 0, "{gap:?}");
    }
}

/// Returns how many microseconds an erroneous frame delays the next attempt, compared to an intact
/// one. The medium falls idle after the frame at 1100 µs. A second carrier lasts from 1110 µs to
/// `end`, and ends with `last`.
fn delay_by_error(end: u64, last: Option<&Input>) -> u64 {
    let [after_good, after_bad] = [true, false].map(|good| {
        let heard = Overheard { head: [0xd4, 0, 0, 0], good };
        let mut inputs = vec![
            (1_000, AIR, Input::CarrierBusy),
            (1_050, DEVICE, Input::Frame(kilobyte(0), RxVector::wired(micros(1_050)))),
            (1_090, AIR, Input::Overheard(heard)),
            (1_100, AIR, Input::CarrierIdle),
            (1_110, AIR, Input::CarrierBusy),
        ];
        inputs.extend(last.map(|input| (end, AIR, input.clone())));
        inputs.push((end, AIR, Input::CarrierIdle));
        begins(inputs)
    });
    after_bad - after_good
}

#[test]
fn a_carrier_without_a_frame_does_not_prolong_the_extended_gap() {
    let timing = Config::new(address(0), Phy::G).timing;
    let gap_end = 1_100 + timing.eifs().as_micros();
    let difs = timing.difs().as_micros();
    assert_eq!(delay_by_error(1_200, None), gap_end - (1_200 + difs));
    assert_eq!(delay_by_error(gap_end - difs, None), 0);
    assert_eq!(delay_by_error(5_000, None), 0);
}

#[test]
fn only_an_error_free_frame_ends_the_extended_gap() {
    let intact = Input::Overheard(Overheard { head: [0xd4, 0, 0, 0], good: true });
    let carrier_only = delay_by_error(1_200, None);
    assert!(carrier_only > 0);
    for failure in [Failure::Header, Failure::Noise] {
        let failed = Input::ReceptionFailed(failure);
        assert_eq!(delay_by_error(1_200, Some(&failed)), carrier_only, "{failure:?}");
    }
    assert_eq!(delay_by_error(1_200, Some(&intact)), 0);
}

/// When a station begins its second frame for all after `heard` has ended at 4 ms; what was heard
/// began `heard_from` µs after the station's own first frame had begun, which ends after 3 ms.
fn second_begins(heard_from: u64, heard: Input) -> u64 {
    let config = Config { eifs: EifsPolicy::Always, ..Config::new(address(0), Phy::G) };
    let mut station = Station::new(config, MacAddress::BROADCAST, 1);
    for tag in 0..2 {
        let packet = Input::Frame(kilobyte(tag), RxVector::wired(micros(1_000)));
        station.handle_input(micros(1_000), DEVICE, packet);
    }
    assert!(station.poll_transmit(micros(1_000)).is_some());
    let mut inputs = [(1_000 + heard_from, Input::CarrierBusy), (3_000, Input::TransmissionDone)];
    inputs.sort_by_key(|(at, _)| *at);
    for (at, input) in inputs {
        station.handle_input(micros(at), AIR, input);
    }
    station.handle_input(micros(4_000), AIR, heard);
    station.handle_input(micros(4_000), AIR, Input::CarrierIdle);
    station.poll_timeout().expect("it has something to send").0.as_micros()
}

#[test]
fn nothing_is_learned_of_what_overlaps_with_a_frame_of_the_station_itself() {
    // A CTS that sets the NAV to 5 ms.
    let overheard =
        Input::Overheard(Overheard { head: [Kind::Cts.code(), 0, 0x88, 0x13], good: true });
    assert!(second_begins(2_001, overheard.clone()) > 9_000);
    assert!(second_begins(1_500, overheard) < 4_300);
    let timing = Config::new(address(0), Phy::G).timing;
    let usual = |at| at < 4_000 + (timing.difs() + timing.slot * 15).as_micros() + 1;
    let failed = Input::ReceptionFailed(Failure::Header);
    assert!(!usual(second_begins(2_001, failed.clone())));
    assert!(usual(second_begins(1_500, failed)));
}

#[test]
fn an_attempt_begins_with_a_slot_if_the_next_is_near() {
    let packet = |at| (at, DEVICE, Input::Frame(kilobyte(0), RxVector::wired(micros(at))));
    let idle = vec![(1_000, AIR, Input::CarrierBusy), (1_100, AIR, Input::CarrierIdle)];
    // Slots of 9 µs count from 1128 µs; nothing is heard within the turnaround of the radio.
    for at in [1_216, 1_217] {
        assert_eq!(begins([idle.clone(), vec![packet(at)]].concat()), 1_218);
    }
}

/// The fragments of a packet from a station, each within its own frame.
fn fragments(from: u16) -> Vec<Frame> {
    let config = Config { fragment_threshold: 400, ..Config::new(address(from), Phy::G) };
    let packet = Packet {
        frame: kilobyte(from.into()),
        to: address(0),
        ether_type: snap::IPV4,
        expires: None,
        source: None,
    };
    let mut job = PendingPacket::new(packet, 5, &config);
    let mut frames = vec![job.build(44)];
    while job.advance() {
        frames.push(job.build(44));
    }
    frames
}

#[test]
fn fragments_wait_half_a_second_for_the_rest() {
    let mut station = Station::new(Config::new(address(0), Phy::G), address(1), 1);
    let settle = |station: &mut Station, at| {
        station.handle_timeout(at);
        while station.poll_transmit(at).is_some() {
            station.handle_input(at, AIR, Input::TransmissionDone);
        }
    };
    for (at, from) in [(1_000, 1), (2_000, 2)] {
        let frame = fragments(from).remove(0);
        station.handle_input(micros(at), AIR, Input::Frame(frame, RxVector::wired(micros(at))));
        settle(&mut station, micros(at + 10));
    }
    // 512 units of 1024 µs each.
    for from in [1, 2] {
        let at = micros(from * 1_000 + 512 * 1_024);
        assert_eq!(station.poll_timeout(), Some((at, "fragments")));
        let before = station.events.len();
        settle(&mut station, at);
        let lost = &station.events[before..];
        let drops: Vec<_> = lost.iter().map(DcfEvent::packet_drop).collect();
        // 400 bytes without MAC header and check.
        let drop = PacketDrop::at_receiver(true, DropReason::Reassembly, 400 - 24 - 4);
        assert_eq!(drops, [Some(drop)]);
    }
    assert_eq!(station.poll_timeout(), None);
    // What comes later finds nothing to go with.
    let late = fragments(2).remove(1);
    let at = micros(600_000);
    station.handle_input(at, AIR, Input::Frame(late, RxVector::wired(at)));
    assert_eq!(station.ledger().drops.of(DropReason::Reassembly), 3);
}

#[test]
fn frames_are_numbered_one_by_one_and_bear_the_name_of_their_packet() {
    let config = Config::new(address(0), Phy::G);
    let mut station = Station::new(config, MacAddress::BROADCAST, 1);
    let mut numbers = Vec::new();
    let mut at = micros(1_000);
    for tag in 0..3 {
        station.handle_input(at, DEVICE, Input::Frame(kilobyte(tag), RxVector::wired(at)));
        if let Some((due, _)) = station.poll_timeout() {
            at = at.max(due);
            station.handle_timeout(at);
        }
        let (_, outgoing) = station.poll_transmit(at).expect("it begins");
        assert_eq!(outgoing.frame.tag, kilobyte(tag).tag);
        numbers.push(Header::parse(&outgoing.frame.header).expect("a header").sequence);
        at += Duration::from_millis(2);
        station.handle_input(at, AIR, Input::TransmissionDone);
        at += Duration::from_millis(2);
    }
    assert_eq!(numbers[1], (numbers[0] + 1) % 4_096);
    assert_eq!(numbers[2], (numbers[0] + 2) % 4_096);
}

#[test]
fn a_packet_whose_time_is_over_is_given_up() {
    let class = Class { attempts: NonZeroU8::new(12), ..Class::default() };
    let given_up_after = |expires: Option<u64>| {
        let config = Config::new(address(0), Phy::G);
        let mut dcf = Dcf::new(config, Seed(1), "late");
        let frame = kilobyte(0).with_class(class);
        let expires = expires.map(micros);
        let packet =
            Packet { frame, to: address(1), ether_type: snap::IPV4, expires, source: None };
        let mut packets = vec![packet];
        let mut pull = || packets.pop();
        let mut at = micros(1_000);
        dcf.handle_queued(at, &mut pull);
        let mut attempts = 0;
        let mut reasons = Vec::new();
        for _ in 0..100 {
            if dcf.poll_transmit().is_some() {
                attempts += 1;
                at += Duration::from_micros(500);
                dcf.handle_input(at, Input::TransmissionDone, &mut pull);
            } else if let Some((due, _)) = dcf.poll_timeout() {
                at = at.max(due);
                dcf.handle_timeout(at, &mut pull);
            }
        }
        while let Some(event) = dcf.poll_event() {
            let given_up = event.packet_drop().filter(|drop| drop.site == DropSite::Sender);
            reasons.extend(given_up.map(|drop| drop.reason));
        }
        (attempts, reasons)
    };
    assert_eq!(given_up_after(None), (12, vec![DropReason::RetryLimit]));
    let (attempts, reasons) = given_up_after(Some(2_500));
    assert!((2..=4).contains(&attempts), "{attempts}");
    assert_eq!(reasons, [DropReason::Expired]);
}

//= S3.16
#[test]
fn a_packet_whose_time_is_over_before_its_turn_is_not_sent_and_the_next_one_is() {
    let mut dcf = Dcf::new(Config::new(address(0), Phy::G), Seed(1), "late");
    let packet = |tag, expires: Option<u64>| Packet {
        frame: kilobyte(tag),
        to: address(1),
        ether_type: snap::IPV4,
        expires: expires.map(micros),
        source: None,
    };
    let mut packets = VecDeque::from([packet(0, Some(2_500)), packet(1, None)]);
    let mut pull = || packets.pop_front();
    dcf.handle_input(micros(1_000), Input::CarrierBusy, &mut || None);
    dcf.handle_queued(micros(1_500), &mut pull);
    dcf.handle_input(micros(3_000), Input::CarrierIdle, &mut pull);
    let (at, _) = dcf.poll_timeout().expect("it contends");
    dcf.handle_timeout(at, &mut pull);
    assert_eq!(dcf.poll_transmit().and_then(|out| out.frame.tag), kilobyte(1).tag);
    let events: Vec<_> = core::iter::from_fn(|| dcf.poll_event()).collect();
    let drop = PacketDrop::at_sender(DropReason::Expired, kilobyte(0).payload.len());
    let dropped = DcfEvent::Packet(PacketEvent::dropped(kilobyte(0).tag, drop));
    let drops = events.iter().filter(|event| event.packet_drop().is_some());
    assert_eq!(drops.collect::<Vec<_>>(), [&dropped]);
    assert_eq!(dcf.held(), 1);
}

/// A station that ends a wait without another packet must not transmit later.
#[test]
fn a_turn_that_no_packet_is_left_for_passes() {
    let mut dcf = Dcf::new(Config::new(address(0), Phy::G), Seed(1), "late");
    let expires = Some(micros(2_500));
    let frame = kilobyte(0);
    let to = address(1);
    let mut packet = Some(Packet { frame, to, ether_type: snap::IPV4, expires, source: None });
    let mut pull = || packet.take();
    dcf.handle_input(micros(1_000), Input::CarrierBusy, &mut || None);
    dcf.handle_queued(micros(1_500), &mut pull);
    dcf.handle_input(micros(3_000), Input::CarrierIdle, &mut pull);
    let (at, _) = dcf.poll_timeout().expect("it contends");
    dcf.handle_timeout(at, &mut pull);
    assert!(dcf.poll_transmit().is_none());
    assert_eq!((dcf.held(), dcf.poll_timeout()), (0, None));
}

#[test]
fn states_have_names() {
    let names = State::ALL.map(State::name);
    assert_eq!(names, ["transmit", "receive", "overhear", "listen", "doze"]);
}

#[test]
fn attempts_are_counted_from_one() {
    let mut cell = cell(2, Phy::G, 2, |_| {});
    cell.stations.truncate(1);
    cell.packet(0, kilobyte(0));
    cell.run_until(micros(100_000));
    let attempts: Vec<u32> = cell.stations[0]
        .packet_events()
        .filter_map(|event| match event.kind {
            PacketEventKind::Sent { attempt, .. } => Some(attempt),
            _ => None,
        })
        .collect();
    assert_eq!(attempts, [1, 2, 3, 4, 5, 6, 7]);
}

/// Returns a station that has just sent a packet to station 1 and awaits the ACK, and the time.
fn awaiting() -> (Station, u64) {
    let mut station = Station::new(Config::new(address(0), Phy::G), address(1), 1);
    let packet = Input::Frame(kilobyte(0), RxVector::wired(micros(1_000)));
    station.handle_input(micros(1_000), DEVICE, packet);
    assert!(station.poll_transmit(micros(1_000)).is_some());
    station.handle_input(micros(1_200), AIR, Input::TransmissionDone);
    (station, 1_200)
}

/// The silence in place of the answer lasts SIFS, a slot and a preamble. The slots count from a
/// DIFS after it, whether the same packet is tried again or the next one for the first time.
#[test]
fn slots_after_a_packet_that_is_given_up_count_as_those_after_a_failed_attempt() {
    for attempts in [1, 7] {
        let class = Class { attempts: NonZeroU8::new(attempts), ..Class::default() };
        let waits = (0..60).map(|seed| {
            let mut station = Station::new(Config::new(address(0), Phy::G), address(1), seed);
            for tag in 0..2 {
                let packet = kilobyte(tag).with_class(class);
                let packet = Input::Frame(packet, RxVector::wired(micros(1_000)));
                station.handle_input(micros(1_000), DEVICE, packet);
            }
            assert!(station.poll_transmit(micros(1_000)).is_some());
            station.handle_input(micros(1_200), AIR, Input::TransmissionDone);
            let (until, _) = station.poll_timeout().expect("it waits for an answer");
            station.handle_timeout(until);
            let (next, _) = station.poll_timeout().expect("it contends");
            (next - micros(1_200)).as_micros()
        });
        let least = waits.min().expect("several");
        assert_eq!(least, 10 + 9 + 20 + 28, "{attempts} attempts");
    }
}

//= S3.16
/// A frame of 1 kB at 6 Mb/s takes 1.4 ms. With less time left it is not sent.
#[test]
fn a_packet_that_could_not_arrive_in_time_is_not_sent() {
    for (left, rts_threshold, goes) in
        [(1_500, usize::MAX, true), (1_300, usize::MAX, false), (1_500, 500, false)]
    {
        let rts_threshold = rts_threshold.min(super::super::config::NO_THRESHOLD);
        let mut config = Config { rts_threshold, ..Config::new(address(0), Phy::G) };
        config.rate = PhyRate::Ofdm6;
        let mut dcf = Dcf::new(config, Seed(1), "late");
        let frame = kilobyte(0);
        let expires = Some(micros(1_000 + left));
        let packet =
            Packet { frame, to: address(1), ether_type: snap::IPV4, expires, source: None };
        let mut packets = vec![packet];
        dcf.handle_queued(micros(1_000), &mut || packets.pop());
        assert_eq!(dcf.poll_transmit().is_some(), goes, "{left} µs, {rts_threshold}");
    }
}

#[test]
fn an_attempt_has_failed_when_something_else_than_the_answer_has_ended() {
    let why = |station: &Station| station.poll_timeout().map(|(_, why)| why);
    let (mut station, done) = awaiting();
    assert_eq!(why(&station), Some("no answer"));
    station.handle_input(micros(done + 1), AIR, Input::CarrierBusy);
    let overheard = Overheard { head: [0xd4, 0, 0, 0], good: true };
    station.handle_input(micros(done + 5), AIR, Input::Overheard(overheard));
    station.handle_input(micros(done + 5), AIR, Input::CarrierIdle);
    assert_eq!(why(&station), Some("attempt"));
    // Noise that lasts longer than the timeout of the answer.
    let (mut station, done) = awaiting();
    let (until, _) = station.poll_timeout().expect("it waits");
    station.handle_input(micros(done + 1), AIR, Input::CarrierBusy);
    station.handle_timeout(until);
    assert_eq!(why(&station), None, "what is heard may be the answer");
    station.handle_input(micros(done + 500), AIR, Input::CarrierIdle);
    assert_eq!(why(&station), Some("attempt"));
}

#[test]
fn a_frame_without_what_wep_adds_is_malformed() {
    for (header_len, trailer, good) in [(28 + 8, 4, true), (24, 4, false), (28 + 8, 0, false)] {
        let flags = Flags::default().with(Flags::PROTECTED, true);
        let header =
            Header { flags, transmitter: address(1), ..Header::new(Kind::Data, address(0)) };
        let mut frame = kilobyte(1);
        header.encode(&mut frame.header);
        frame.header.extend([0; 4]);
        frame.header.extend(snap::encode(snap::IPV4));
        frame.header.truncate(header_len);
        frame.trailer.extend(vec![0; trailer]);
        let [a, b, c, d] = frame.slices();
        let check = windfall_wire_link::check::frame_check(&[a, b, c, d]);
        frame.trailer.extend(check);
        let mut station = Station::new(Config::new(address(0), Phy::G), address(1), 1);
        let input = Input::Frame(frame, RxVector::wired(micros(5_000)));
        station.handle_input(micros(5_000), AIR, input);
        assert_eq!(station.dcf.poll_delivery().is_some(), good, "{header_len} {trailer}");
        let malformed = station.ledger().drops.of(DropReason::Malformed);
        assert_eq!(malformed, u64::from(!good), "{header_len} {trailer}");
    }
}

//= S4.27
#[test]
fn a_station_counts_the_frames_of_each_sender_that_it_missed() {
    let mut assembly = super::super::assembly::Assembly::default();
    let mut take = |from, sequence| {
        let transmitter = address(from);
        let header = Header { sequence, transmitter, ..Header::new(Kind::Data, address(0)) };
        let lost = assembly.lost_before(&header);
        assembly.has_come_before(&header);
        lost
    };
    assert_eq!(take(1, 4_094), 0, "what came before the first is not known");
    assert_eq!(take(1, 1), 2, "4095 and 0");
    assert_eq!(take(2, 7), 0);
    assert_eq!(take(1, 2), 0);
    assert_eq!(take(1, 2), 0, "once more");
    assert_eq!(take(2, 9), 1);
    assert_eq!(take(1, 1), 0, "one of those before");
}

//= S4.27
#[test]
fn missing_numbers_are_lost_frames_only_if_all_frames_of_the_sender_are_for_this_station() {
    let lost_before = |only_peer| {
        let config = Config { only_peer, ..Config::new(address(0), Phy::G) };
        let mut station = Station::new(config, address(1), 1);
        [5, 8].map(|sequence| {
            let at = micros(u64::from(sequence) * 1_000);
            let packet = Packet {
                frame: kilobyte(sequence.into()),
                to: address(0),
                ether_type: snap::IPV4,
                expires: None,
                source: None,
            };
            let sender = Config::new(address(1), Phy::G);
            let frame = PendingPacket::new(packet, sequence, &sender).build(44);
            station.handle_input(at, AIR, Input::Frame(frame, RxVector::wired(at)));
            station.dcf.poll_delivery().expect("it is whole").damage.lost_before
        })
    };
    assert_eq!(lost_before(Some(address(1))), [0, 2]);
    assert_eq!(lost_before(Some(address(2))), [0, 0], "another station is the peer");
    assert_eq!(lost_before(None), [0, 0], "the sender may have sent them to others");
}

/// A PS-Poll has no Sequence Control field.
#[test]
fn a_poll_takes_no_sequence_number() {
    let config = Config::new(address(0), Phy::G);
    let mut dcf = Dcf::new(config, Seed(1), "0");
    let before = dcf.sequence;
    assert_eq!(dcf.next_sequence(Kind::PsPoll), before);
    assert_eq!(dcf.next_sequence(Kind::Data), (before + 1) % 4_096);
    assert_eq!(dcf.next_sequence(Kind::Null), (before + 2) % 4_096);
}
