//! A contention that is lent goes on as that of a station that is told everything.

use windfall_base::{Overheard, Probability, Stream};
use windfall_wire_link::ieee80211::Timing;

use super::super::pending_packet::PendingPacket;
use super::*;
use crate::wifi::access::Access;
use crate::wifi::{Contention, Rest};

/// Returns a station whose packet met a busy medium, and its contention once the medium is idle.
fn contending(seed: u64) -> (Station, Contention, Instant) {
    let mut station = Station::new(Config::new(address(0), Phy::G), address(1), seed);
    let now = Instant::START + Duration::from_millis(1);
    station.handle_input(now, AIR, Input::CarrierBusy);
    station.handle_input(now, DEVICE, Input::Frame(kilobyte(0), RxVector::wired(now)));
    let now = now + Duration::from_micros(100);
    station.handle_input(now, AIR, Input::CarrierIdle);
    let Some(Rest::Contending(contention)) = station.dcf.rest() else {
        panic!("it waits for its slots");
    };
    (station, contention, now)
}

#[test]
fn a_contention_knows_the_attempt_of_a_station_that_is_told_everything() {
    let mut frames = 0;
    let mut committed = 0;
    for seed in 0..200 {
        let stream = &mut Stream::new(Seed(seed), "frames of others");
        let (mut told, mut lent, mut now) = contending(seed);
        loop {
            let due = lent.attempt_at().expect("the medium is idle");
            assert_eq!(told.poll_timeout().map(|(at, _)| at), Some(due), "seed {seed}");
            now += Duration::from_nanos(1 + stream.below((due - now).as_nanos()));
            if now >= due {
                break;
            }
            told.handle_input(now, AIR, Input::CarrierBusy);
            let is_committed = lent.carrier_busy(now);
            assert_eq!(told.poll_timeout().is_some(), is_committed, "seed {seed}");
            if is_committed {
                committed += 1;
                break;
            }
            frames += 1;
            now += Duration::from_micros(20 + stream.below(300));
            let code = [0x08, 0xd4, 0xa4, 0xff][stream.below(4) as usize];
            let head = [code, 0, stream.bits() as u8, (stream.bits() & 0x81) as u8];
            told.handle_input(now, AIR, Input::Overheard(Overheard { head, good: true }));
            told.handle_input(now, AIR, Input::CarrierIdle);
            lent.carrier_idle(now, head);
        }
    }
    assert!(frames > 200 && committed > 5, "{frames} {committed}");
}

#[test]
fn a_station_begins_with_the_contention_that_it_is_given_back() {
    let (mut station, mut lent, now) = contending(3);
    let [begin, end] = [5, 400].map(|micros| now + Duration::from_micros(micros));
    assert!(!lent.carrier_busy(begin));
    lent.carrier_idle(end, [0xd4, 0, 0, 0]);
    let due = lent.attempt_at().expect("the medium is idle");
    assert!(due > end);
    station.dcf.resume(lent);
    assert_eq!(station.poll_timeout().map(|(at, _)| at), Some(due));
    station.handle_timeout(due);
    assert!(station.poll_transmit(due).is_some());
}

#[test]
fn a_station_that_hears_others_or_sends_lends_nothing() {
    let (mut hears, _, now) = contending(1);
    hears.handle_input(now, AIR, Input::CarrierBusy);
    assert!(hears.dcf.rest().is_none());
    let (mut sends, lent, _) = contending(1);
    sends.handle_timeout(lent.attempt_at().expect("the medium is idle"));
    assert!(sends.dcf.rest().is_none());
}

#[test]
fn a_station_knows_the_share_of_slots_in_which_others_begin() {
    for others in [0.0, 0.05, 0.3] {
        let draw = &mut Stream::new(Seed(5), "slots");
        let chance = Probability::new(others).expect("a chance");
        let (mut access, mut now) =
            (Access::new(Timing::G_SHORT_SLOT, Duration::ZERO), Instant::START);
        for _ in 0..2_000 {
            access.back_off(now, draw.below(16) as u32);
            loop {
                let due = access.attempt_at().expect("the medium is idle");
                let last = (due - now).as_nanos().saturating_sub(28_000) / 9_000;
                let Some(slot) = (1..last).find(|_| draw.chance(chance)) else {
                    now = due;
                    break;
                };
                now += Duration::from_micros(28 + 9 * slot);
                access.carrier_busy(now, true, || 0);
                now += Duration::from_micros(300);
                access.reception(true);
                access.carrier_idle(now);
            }
            access.spend();
            access.begin(now);
            now += Duration::from_micros(300);
            access.end(now);
        }
        let found = access.collides().get();
        assert!((found - others).abs() < 0.03, "{found} for {others}");
    }
}

#[test]
fn a_station_whose_source_was_empty_may_rest() {
    let mut station = Station::new(Config::new(address(0), Phy::G), address(1), 1);
    assert!(station.dcf.rest().is_none(), "it has not asked its source");
    station.with(|dcf, pull| dcf.handle_queued(Instant::START, pull));
    assert!(matches!(station.dcf.rest(), Some(Rest::Idle)));
    let watched = Config { observe_radio: true, ..Config::new(address(0), Phy::G) };
    let mut watched = Station::new(watched, address(1), 1);
    watched.with(|dcf, pull| dcf.handle_queued(Instant::START, pull));
    assert!(watched.dcf.rest().is_none(), "all that its radio does is recorded");
    // It owes an ACK.
    let packet = Packet {
        frame: kilobyte(0),
        to: address(0),
        ether_type: snap::IPV4,
        expires: None,
        source: None,
    };
    let sender = Config::new(address(1), Phy::G);
    let frame = PendingPacket::new(packet, 0, &sender).build(44);
    let now = micros(1_000);
    station.handle_input(now, AIR, Input::Frame(frame, RxVector::wired(now)));
    assert!(station.dcf.rest().is_none());
}

#[test]
fn slots_in_which_another_station_sends_do_not_count() {
    let timing = Timing::G_SHORT_SLOT;
    let mut access = Access::new(timing, Duration::ZERO);
    access.back_off(Instant::START, 10);
    // Four slots pass; then another station sends, and this one answers it.
    let idle = timing.difs() + timing.slot * 4;
    access.carrier_busy(Instant::START + idle, true, || 0);
    access.begin(micros(400));
    access.end(micros(450));
    access.reception(true);
    access.carrier_idle(micros(500));
    assert_eq!(access.attempt_at(), Some(micros(500) + timing.difs() + timing.slot * 6));
}

#[test]
fn an_attempt_that_is_cancelled_leaves_no_backoff() {
    let timing = Timing::G_SHORT_SLOT;
    let mut access = Access::new(timing, Duration::ZERO);
    access.back_off(Instant::START, 10);
    assert!(access.is_counting() && !access.is_settled());
    access.spend();
    assert!(!access.is_counting() && access.is_settled());
    // Not even if carrier sense could no longer stop it.
    access.back_off(Instant::START, 10);
    let due = access.attempt_at().expect("the medium is idle");
    access.carrier_busy(due, true, || 0);
    assert!(access.is_committed());
    access.spend();
    assert_eq!(access.attempt_at(), None, "the medium is busy");
}
