use windfall_base::{RxVector, Tag};

use super::air::{Cell, PROPAGATION};
use super::mpdu::describe;
use super::*;
use crate::arbitrary::packet;
use crate::laws;

fn rate() -> Rate {
    Rate::from_mbps(2).unwrap()
}

fn cell(seed: u64) -> Cell<Station> {
    let station = |address, peer| Station::new(address, peer, rate(), Seed(seed));
    Cell::new(vec![station(0, 1), station(1, 0)], describe)
}

/// A packet whose data frame is 1028 bytes long: 192 + 4112 µs at 2 Mb/s.
fn full(tag: u64) -> Frame {
    packet(vec![0x5a; 1000], tag)
}

fn micros(n: u64) -> Instant {
    Instant::START + Duration::from_micros(n)
}

#[test]
fn an_exchange_is_exact_to_the_microsecond() {
    let mut cell = cell(1);
    cell.run_until(micros(1_000));
    cell.packet(0, full(0));
    cell.run_until(micros(10_000));
    crate::assert_golden!("wifi/exchange", cell.timeline.as_str());
    let last = 1_000 + 192 + 4_112 + 1 + 10 + 304 + 1;
    let ends = format!("{} 0 < ack to 0", micros(last));
    assert_eq!(cell.timeline.as_str().lines().last(), Some(&ends[..]));
}

#[test]
fn two_that_begin_in_one_slot_collide_and_double_their_windows() {
    let mut cell = cell(3);
    for tag in 0..2 {
        cell.packet(0, full(tag));
        cell.packet(1, full(tag + 2));
    }
    cell.run_until(micros(100));
    assert_eq!((cell.stations[0].radio, cell.stations[1].radio), (Radio::Free, Radio::Free));
    // Both draw before they begin, since the medium has not yet been idle for DIFS.
    for station in &mut cell.stations {
        station.backoff = 5;
    }
    cell.run_until(micros(160 + 4_304 + 400));
    assert_eq!((cell.stations[0].window, cell.stations[1].window), (63, 63));
    cell.run_until(micros(40_000));
    crate::assert_golden!("wifi/collision", cell.timeline.as_str());
    for station in &cell.stations {
        assert_eq!(station.window, CW_MIN);
        assert_eq!((station.ledger().held, station.ledger().drops.total()), (0, 0));
    }
}

#[test]
fn a_damaged_frame_is_not_acknowledged_and_comes_again() {
    let mut cell = cell(5);
    cell.damaged = vec![0];
    cell.run_until(micros(1_000));
    cell.packet(0, full(0));
    cell.run_until(micros(30_000));
    crate::assert_golden!("wifi/damaged", cell.timeline.as_str());
    assert_eq!(cell.stations[1].ledger().drops.of(DropReason::FrameCheck), 1);
}

#[test]
fn a_lost_acknowledgement_makes_a_duplicate_that_is_not_handed_up() {
    let mut cell = cell(5);
    cell.damaged = vec![1];
    cell.run_until(micros(1_000));
    cell.packet(0, full(0));
    cell.run_until(micros(30_000));
    assert_eq!(cell.timeline.as_str().matches("1 ^ packet").count(), 1);
    assert_eq!(cell.stations[1].ledger().drops.of(DropReason::Duplicate), 1);
}

#[test]
fn a_frame_without_acknowledgement_is_sent_seven_times() {
    let mut cell = Cell::new(vec![Station::new(0, 9, rate(), Seed(2))], describe);
    cell.packet(0, full(0));
    cell.run_until(micros(1_000_000));
    assert_eq!(cell.timeline.as_str().matches("0 > data").count(), usize::from(ATTEMPTS));
    assert_eq!(cell.stations[0].ledger().drops.of(DropReason::RetryLimit), 1);
}

#[test]
fn a_countdown_freezes_while_others_send() {
    let mut station = Station::new(0, 1, rate(), Seed(1));
    let carrier = |station: &mut Station, at, input| station.handle_input(micros(at), AIR, input);
    station.handle_input(micros(0), DEVICE, Input::Frame(full(0), RxVector::wired(Instant::START)));
    station.backoff = 10;
    // 50 µs of DIFS, then three whole slots and a part of the fourth.
    carrier(&mut station, 50 + 3 * 20 + 19, Input::CarrierBusy);
    assert_eq!(station.poll_timeout(), None);
    carrier(&mut station, 5_000, Input::CarrierIdle);
    assert_eq!(station.poll_timeout(), Some((micros(5_000 + 50 + 7 * 20), "attempt")));
}

#[test]
fn a_lone_sender_gets_the_throughput_of_the_formula() {
    const PACKETS: u64 = 2_000;
    let mut cell = cell(7);
    for tag in 0..PACKETS {
        // The queue is never empty, so every packet but the first waits a whole backoff.
        while cell.stations[0].queue.len() == QUEUE {
            cell.run_until(cell.now() + Duration::from_millis(5));
        }
        cell.packet(0, full(tag));
    }
    while cell.stations[0].ledger().held > 0 {
        cell.run_until(cell.now() + SLOT);
    }
    let frame = PREAMBLE + rate().time_of(1_028);
    let fixed = DIFS + frame + PROPAGATION + SIFS + ACK_TIME + PROPAGATION;
    let mean = fixed.as_nanos() as f64 + 15.5 * SLOT.as_nanos() as f64;
    let measured = cell.now().as_nanos() as f64 / PACKETS as f64;
    // A uniform draw from 0..=31 slots has a deviation of 9.23; four of them over √2000.
    let tolerance = 4.0 * 9.23 * SLOT.as_nanos() as f64 / (PACKETS as f64).sqrt();
    assert!((measured - mean).abs() < tolerance, "{measured} against {mean} ± {tolerance}");
}

#[test]
fn a_station_keeps_the_laws() {
    laws::check(
        laws::Subject::new(2, |seed| Station::new(0, 1, rate(), seed))
            .ledger(Station::ledger)
            .input(|stream, now| match stream.below(6) {
                0 => (AIR, Input::CarrierBusy),
                1 => (AIR, Input::CarrierIdle),
                2 => {
                    let kind = if stream.below(2) == 0 { Kind::Data } else { Kind::Ack };
                    let sequence = stream.below(4) as u16;
                    let mut frame = packet(vec![1; 100], 0);
                    Mpdu { kind, to: 0, from: 1, sequence }.wrap(&mut frame);
                    (AIR, Input::Frame(frame, RxVector::wired(now)))
                }
                _ => {
                    let frame = Frame { tag: Some(Tag(stream.bits())), ..full(0) };
                    (DEVICE, Input::Frame(frame, RxVector::wired(now)))
                }
            }),
    );
}
