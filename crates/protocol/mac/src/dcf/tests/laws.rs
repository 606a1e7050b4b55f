use windfall_base::{Failure, Overheard, Signal};
use windfall_testkit::laws;

use super::*;

/// Frames that a station may meet.
fn frame(stream: &mut windfall_base::Stream) -> Frame {
    let to = address(stream.below(3) as u16);
    frame_to(to, stream)
}

/// Frames of every kind from station 1 to one address.
pub(super) fn frame_to(to: MacAddress, stream: &mut windfall_base::Stream) -> Frame {
    let config = Config::new(address(1), Phy::G);
    let mut frame = packet(vec![1; stream.below(200) as usize], stream.bits());
    if stream.below(2) == 0 {
        let packet = Packet { frame, to, ether_type: snap::IPV4, expires: None };
        return super::super::job::Job::new(packet, stream.below(4) as u16, &config).build(50);
    }
    let kind = Kind::ALL[stream.below(Kind::ALL.len() as u64) as usize];
    let flags = windfall_wire_link::ieee80211::Flags(stream.bits() as u8 & 0xfc);
    let from = address(stream.below(2) as u16);
    let fragment = stream.below(3) as u8;
    let header = Header { flags, fragment, transmitter: from, ..Header::new(kind, to) };
    if kind.is_management() {
        // Fields that make sense now and then, and elements that hardly do.
        let body: Vec<u8> = (0..stream.below(60)).map(|_| stream.below(3) as u8).collect();
        frame.payload = body.into();
    }
    header.encode(&mut frame.header);
    let [a, b, c, _] = frame.slices();
    let check = windfall_wire_link::check::frame_check(&[a, b, c]);
    frame.trailer.extend(check);
    frame
}

#[test]
fn a_station_keeps_the_laws() {
    let new = |seed: Seed| {
        let mut config = Config::new(address(0), Phy::G);
        config.rts_threshold = 150;
        config.fragment_threshold = 256;
        config.accept_damaged = seed.0.is_multiple_of(2);
        Station::new(config, address(1), seed.0)
    };
    laws::check(laws::Subject::new(2, new).ledger(Station::ledger).input(|stream, now| {
        match stream.below(8) {
            0 => (AIR, Input::CarrierBusy),
            1 => (AIR, Input::CarrierIdle),
            2 => (AIR, Input::TransmissionDone),
            3 | 4 => (AIR, Input::Frame(frame(stream), RxVector::wired(now))),
            5 => {
                let head = [0xd4, 0, stream.bits() as u8, 0];
                (AIR, Input::Overheard(windfall_base::Overheard { head, good: true }))
            }
            _ => (DEVICE, Input::Frame(kilobyte(0), RxVector::wired(now))),
        }
    }));
}

#[test]
fn a_station_at_rest_takes_signals_as_any_other_does() {
    let (mut stream, mut rested, mut sent) = (windfall_base::Stream::new(Seed(1), "signals"), 0, 0);
    for seed in 0..20 {
        // Frames for all have a single attempt.
        let new = || Station::new(Config::new(address(0), Phy::G), MacAddress::BROADCAST, seed);
        let (mut quick, mut usual) = (new(), new());
        let mut now = Instant::START;
        for step in 0..300 {
            now += Duration::from_micros(stream.below(120));
            let due = quick.poll_timeout().filter(|(at, _)| *at <= now);
            if let Some((at, _)) = due {
                now = at;
                quick.handle_timeout(now);
                usual.handle_timeout(now);
            } else if step % 60 == 0 {
                let packet = || Input::Frame(kilobyte(1), RxVector::wired(now));
                quick.handle_input(now, DEVICE, packet());
                usual.handle_input(now, DEVICE, packet());
            } else {
                let head = [0xd4, 0, stream.bits() as u8, stream.below(2) as u8];
                let signal = match stream.below(6) {
                    0 | 1 => Signal::CarrierBusy,
                    2 | 3 => Signal::CarrierIdle,
                    4 => Signal::Overheard(Overheard { head, good: stream.below(2) == 0 }),
                    _ => Signal::ReceptionFailed(Failure::Header),
                };
                if quick.dcf.handle_signal_at_rest(now, signal) {
                    assert!(quick.dcf.is_drained());
                    rested += 1;
                } else {
                    quick.handle_input(now, AIR, signal.into());
                }
                usual.handle_input(now, AIR, signal.into());
            }
            while let Some((port, frame)) = usual.poll_transmit(now) {
                let (same, other) = quick.poll_transmit(now).unwrap();
                assert_eq!((port, describe(&frame.frame)), (same, describe(&other.frame)));
                now += Duration::from_micros(200);
                quick.handle_input(now, AIR, Input::TransmissionDone);
                usual.handle_input(now, AIR, Input::TransmissionDone);
                sent += 1;
            }
            assert_eq!(quick.poll_timeout(), usual.poll_timeout());
            assert_eq!(quick.dcf.airtime(now), usual.dcf.airtime(now));
        }
    }
    assert!(rested > 1_000 && sent > 50, "{rested} signals at rest, {sent} frames");
}
