use windfall_base::{Check, DropReason};

use super::*;

/// Returns a station with this receive switch, after a data frame for it with these bits inverted.
fn after(accept_damaged: bool, bits: &[u32]) -> (Station, Option<Frame>) {
    heard(accept_damaged, |frame| frame.invert(bits))
}

/// Returns a station with this receive switch, after a data frame for it that `air` has changed.
fn heard(accept_damaged: bool, air: impl Fn(&mut Frame)) -> (Station, Option<Frame>) {
    let sender = Config::new(address(0), Phy::G);
    let packet = Packet {
        frame: kilobyte(1),
        to: address(1),
        ether_type: snap::IPV4,
        expires: None,
        source: None,
    };
    let mut frame = super::super::pending_packet::PendingPacket::new(packet, 5, &sender).build(44);
    air(&mut frame);
    let config = Config { accept_damaged, ..Config::new(address(1), Phy::G) };
    let mut station = Station::new(config, address(0), 1);
    let vector = RxVector { rate: Some(PhyRate::Ofdm54.rate()), ..RxVector::wired(micros(0)) };
    station.handle_input(micros(200), AIR, Input::Frame(frame, vector));
    let up = station.dcf.poll_delivery();
    station.ledger.taken += u64::from(up.is_some());
    station.ledger.given += u64::from(up.is_some());
    assert!(station.ledger().balances());
    (station, up)
}

/// The offset of the payload: behind MAC header and LLC/SNAP.
const PAYLOAD: u32 = (24 + 8) * 8;

//= S0.6
//= S0.11
//= S0.70
#[test]
fn a_damaged_payload_is_handed_up_by_the_switch_alone_and_never_acknowledged() {
    for accept in [false, true] {
        let (station, up) = after(accept, &[PAYLOAD + 100]);
        assert_eq!(station.poll_timeout(), None, "an answer is owed to a damaged frame");
        assert_eq!(up.is_some(), accept);
        if let Some(up) = up {
            assert_eq!(up.damage.frame, Check::Bad);
            let mut bytes = vec![0x5a; 988];
            bytes[12] ^= 0x80 >> 4;
            assert_eq!(up.payload.to_bytes(), bytes);
        } else {
            assert_eq!(station.ledger().drops.of(DropReason::FrameCheck), 1);
        }
        let (station, up) = after(accept, &[]);
        assert_eq!(station.poll_timeout(), Some((micros(210), "response")));
        assert_eq!(up.map(|up| up.damage.frame), Some(Check::Good));
    }
}

//= S0.12
#[test]
fn a_damaged_address_is_not_ours_in_either_position() {
    for accept in [false, true] {
        for bit in 32..32 + 48 {
            let (station, up) = after(accept, &[bit]);
            assert!(up.is_none());
            let drops = station.ledger().drops;
            // The addressee of a damaged frame is unknown, so the drop reason is not `NotForUs`.
            let damaged = drops.of(DropReason::FrameCheck);
            assert_eq!((damaged, drops.total()), (1, 1), "bit {bit}");
        }
    }
}

#[test]
fn damage_that_hides_what_the_frame_is_is_counted_by_its_name() {
    // Type, more fragments, fragment number, LLC.
    for (bit, reason) in [
        (4, DropReason::FrameCheck),
        (8 + 5, DropReason::FrameCheck),
        (22 * 8 + 7, DropReason::FrameCheck),
        (24 * 8, DropReason::LinkHeader),
    ] {
        let (station, up) = after(true, &[bit]);
        assert!(up.is_none(), "bit {bit}");
        assert_eq!(station.ledger().drops.of(reason), 1, "bit {bit}: {:?}", station.ledger());
    }
}

#[test]
fn a_frame_without_all_of_its_check_is_cut_off_and_not_damaged() {
    for accept in [false, true] {
        let (station, up) = heard(accept, |frame| frame.truncate(frame.len() - 1));
        assert!(up.is_none());
        let drops = station.ledger().drops;
        assert_eq!((drops.of(DropReason::Truncated), drops.total()), (1, 1));
    }
}

#[test]
fn a_damaged_packet_without_a_name_is_counted_too() {
    let (station, _) = heard(false, |frame| {
        frame.tag = None;
        frame.invert(&[PAYLOAD]);
    });
    assert_eq!(station.ledger().drops.of(DropReason::FrameCheck), 1);
}

//= S0.10
//= S0.13
#[test]
fn the_switch_turns_at_run_time_and_changes_nothing_on_the_air() {
    let timeline = |positions: [bool; 3]| {
        let mut cell = cell(2, Phy::G, 9, |_| {});
        cell.damaged = vec![3, 4, 7];
        let mut up = Vec::new();
        for (tag, position) in (0..).zip(positions) {
            cell.stations[1].dcf.set_accept_damaged(position);
            for packet in 0..3 {
                cell.packet(0, kilobyte(10 * tag + packet));
            }
            cell.run_until(cell.now() + Duration::from_millis(20));
            up.push(cell.timeline.as_str().matches("1 ^ packet").count());
        }
        let text = cell.timeline.as_str().to_owned();
        let on_air = text.lines().filter(|line| !line.contains('^')).collect::<Vec<_>>().join("\n");
        (on_air, up)
    };
    let (stock, packets) = timeline([false; 3]);
    assert_eq!(packets, [3, 6, 9]);
    let (switched, packets) = timeline([true, false, true]);
    assert_eq!(stock, switched);
    assert!(packets[0] > 3 && packets[1] - packets[0] == 3, "{packets:?}");
}

#[test]
fn of_a_packet_one_damaged_copy_goes_up_and_the_whole_one_later() {
    let mut cell = cell(2, Phy::G, 9, |config| config.accept_damaged = true);
    // Three attempts at the first packet are damaged, and two at the second.
    cell.damaged = vec![0, 1, 2, 5, 6];
    for packet in 0..3 {
        cell.packet(0, kilobyte(packet));
    }
    cell.run_until(micros(20_000));
    let up = |line: &&str| line.contains("1 ^");
    let up: Vec<bool> =
        cell.timeline.as_str().lines().filter(up).map(|line| line.ends_with("damaged")).collect();
    assert_eq!(up, [true, false, true, false, false]);
    let ledger = cell.stations[1].ledger();
    assert_eq!((ledger.drops.of(DropReason::Duplicate), ledger.drops.total()), (3, 3));
    assert!(ledger.balances());
}
