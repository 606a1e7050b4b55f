use windfall_base::Overheard;
use windfall_testkit::laws;

use super::*;

/// The frames that a station may receive.
fn frame(stream: &mut windfall_base::Stream) -> Frame {
    let to = address(stream.below(3) as u16);
    frame_to(to, stream)
}

/// Returns frames of every kind from station 1 to one address.
pub(super) fn frame_to(to: MacAddress, stream: &mut windfall_base::Stream) -> Frame {
    let config = Config::new(address(1), Phy::G);
    let mut frame = packet(vec![1; stream.below(200) as usize], stream.bits());
    if stream.below(2) == 0 {
        let packet = Packet { frame, to, ether_type: snap::IPV4, expires: None, source: None };
        return super::super::pending_packet::PendingPacket::new(
            packet,
            stream.below(4) as u16,
            &config,
        )
        .build(50);
    }
    let kind = Kind::ALL[stream.below(Kind::ALL.len() as u64) as usize];
    let flags = windfall_wire_link::ieee80211::Flags(stream.bits() as u8 & 0xfc);
    let from = address(stream.below(2) as u16);
    let fragment = stream.below(3) as u8;
    let header = Header { flags, fragment, transmitter: from, ..Header::new(kind, to) };
    if kind.is_management() {
        // Some fields are valid, and elements rarely are.
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
                (AIR, Input::Overheard(Overheard { head, good: true }))
            }
            _ => (DEVICE, Input::Frame(kilobyte(0), RxVector::wired(now))),
        }
    }));
}
