//! Coded data frames, their answers and the choice of rate and code in whole exchanges.

use core::cell::RefCell;

use windfall_base::{Class, Stream};
use windfall_testkit::laws;
use windfall_wire_link::check::frame_check;
use windfall_wire_link::ieee80211::{Code, Report};

use super::super::pending_packet::PendingPacket;
use super::super::rate_control::{JOINT, RateControl, RateControlKind};
use super::laws::frame_to;
use super::*;

/// A cell of two stations with this code, whose first data frame is damaged.
fn damaged(code: Code) -> Cell<Station> {
    let mut cell = cell(2, Phy::G, 1, |config| config.coding = Some(code));
    cell.run_until(micros(1_000));
    cell.damaged = vec![0];
    cell.packet(0, kilobyte(7));
    cell.run_until(micros(20_000));
    for station in &cell.stations {
        assert!(station.ledger().balances(), "{:?}", station.ledger());
    }
    cell
}

fn lines(cell: &Cell<Station>, what: &str) -> usize {
    cell.timeline.as_str().lines().filter(|line| line.contains(what)).count()
}

#[test]
fn a_damaged_frame_that_its_code_puts_right_is_acknowledged_at_once() {
    let cell = damaged(Code::ALL[1]);
    assert_eq!(cell.stations[0].sent(), 1);
    // Five blocks of eight symbols, a CRC-32 and three marks; reports make the answer longer.
    assert_eq!(lines(&cell, &format!("Data #0 to 1 len={}", 1_024 + 5 * 8 + 7)), 2);
    assert_eq!(lines(&cell, "Ack to 0 len=16"), 2);
    assert_eq!(lines(&cell, "packet len=988"), 1);
    let kinds = cell.stations[0].packet_events().map(|event| &event.kind);
    assert_eq!(kinds.filter(|kind| **kind == PacketEventKind::Acknowledged).count(), 1);
}

#[test]
fn a_frame_that_stays_damaged_is_answered_but_not_acknowledged() {
    let cell = damaged(Code::NONE);
    assert_eq!(cell.stations[0].sent(), 2);
    assert_eq!(lines(&cell, "Ack to 0 len=16"), 4);
    assert_eq!(lines(&cell, "packet len=988"), 1);
    assert_eq!(cell.stations[1].drops(DropSite::Receiver, DropReason::FrameCheck), 1);
}

#[test]
fn what_stays_damaged_loses_its_code_before_it_is_passed_up() {
    let mut cell = cell(2, Phy::G, 1, |config| {
        config.coding = Some(Code::NONE);
        config.accept_damaged = true;
    });
    cell.damaged = vec![0];
    cell.packet(0, kilobyte(7));
    cell.run_until(micros(20_000));
    assert_eq!(lines(&cell, "packet len=988 damaged"), 1);
    assert_eq!(lines(&cell, "packet len=988"), 2);
}

/// Returns two stations that combine copies; `damaged` selects the first frames to damage.
fn combining(damaged: &[usize]) -> Cell<Station> {
    let mut cell = cell(2, Phy::G, 1, |config| {
        (config.coding, config.combine) = (Some(Code::NONE), true);
        config.accept_damaged = true;
    });
    cell.run_until(micros(1_000));
    cell.damaged = damaged.to_vec();
    cell.packet(0, kilobyte(7));
    cell.packet(0, kilobyte(8));
    cell.run_until(micros(20_000));
    for station in &cell.stations {
        assert!(station.ledger().balances(), "{:?}", station.ledger());
    }
    cell
}

/// 1024 bytes are six blocks; eight symbols of each follow behind the MAC header of 24 bytes.
const INCREMENT: usize = 24 + 6 * 8 + 3 + 4;

#[test]
fn further_parity_follows_a_damaged_frame_in_place_of_a_copy() {
    let cell = combining(&[0]);
    assert_eq!(cell.stations[0].sent(), 3);
    assert_eq!(lines(&cell, &format!("to 1 len={INCREMENT}")), 2);
    // The first copy is passed up at once to an owner who takes damage, its parity never is.
    assert_eq!(lines(&cell, "packet len=988 damaged"), 1);
    assert_eq!(lines(&cell, "packet len=988"), 3);
    let kinds = cell.stations[1].packet_events().map(|event| &event.kind);
    assert_eq!(kinds.filter(|kind| **kind == PacketEventKind::Combined { copies: 2 }).count(), 1);
}

/// The second frame on the air is the ACK of the first, and the fourth is the ACK of its parity.
#[test]
fn parity_is_sent_again_if_its_answer_is_lost_and_then_known_by_its_number() {
    let cell = combining(&[0, 3]);
    assert_eq!(cell.stations[0].sent(), 4);
    assert_eq!(lines(&cell, &format!("to 1 len={INCREMENT}")), 4);
    assert_eq!(lines(&cell, "packet len=988"), 3);
    assert_eq!(cell.stations[1].drops(DropSite::Receiver, DropReason::Duplicate), 1);
}

#[test]
fn damaged_parity_of_a_packet_that_has_come_is_a_duplicate_of_it() {
    let cell = combining(&[0, 3, 4]);
    assert_eq!(lines(&cell, "packet len=988"), 3);
    let dropped = |reason| cell.stations[1].drops(DropSite::Receiver, reason);
    assert_eq!([DropReason::Duplicate, DropReason::FrameCheck].map(dropped), [2, 0]);
}

/// A rate control that only this test defines: it tells a thread what it is told.
const NOTING: RateControlKind = RateControlKind {
    name: "noting",
    help: "The lowest rate",
    is_adaptive: true,
    build: |setup| Box::new(Noting(setup.rates[0])),
};

thread_local! {
    static NOTED: RefCell<Vec<bool>> = const { RefCell::new(Vec::new()) };
}

#[derive(Debug)]
struct Noting(PhyRate);

impl RateControl for Noting {
    fn rate(&mut self, _: Instant, _: u32, _: &mut Stream) -> PhyRate {
        self.0
    }

    fn on_attempt(&mut self, _: PhyRate, arrived: bool) {
        NOTED.with_borrow_mut(|noted| noted.push(arrived));
    }
}

/// Returns whether each attempt arrived that the rate control is told of, if the attempts of a
/// packet get these answers.
fn told(answers: &[Option<Report>]) -> Vec<bool> {
    NOTED.take();
    let rate_control = NOTING;
    let coding = Some(Code::NONE);
    let config = Config { coding, rate_control, ..Config::new(address(1), Phy::G) };
    let mut station = Station::new(config, address(2), 1);
    let mut now = micros(1_000);
    station.handle_input(now, DEVICE, Input::Frame(kilobyte(1), RxVector::wired(now)));
    for answer in answers {
        while station.poll_transmit(now).is_none() {
            now = station.poll_timeout().expect("it has a packet to send").0;
            station.handle_timeout(now);
        }
        now += Duration::from_millis(1);
        station.handle_input(now, AIR, Input::TransmissionDone);
        if let Some(report) = answer {
            let mut frame = Frame::default();
            Header::new(Kind::Ack, address(1)).encode(&mut frame.header);
            frame.header.extend(report.encode());
            let check = frame_check(&[&frame.header]);
            frame.trailer.extend(check);
            station.handle_input(now, AIR, Input::Frame(frame, RxVector::wired(now)));
        }
    }
    assert_eq!(station.ledger().held, 0, "the packet has arrived");
    NOTED.take()
}

/// Parity is shorter than a copy, so that a copy may be lost where it arrives.
#[test]
fn the_rate_control_is_told_of_copies_and_of_parity_that_nothing_answers() {
    let whole = Report { corrected: Some(0), combined: false, wanted: None, signal: None };
    let damaged = |level| Report { corrected: None, wanted: Some(level), ..whole };
    let [whole, first, second] = [whole, damaged(1), damaged(2)].map(Some);
    assert_eq!(told(&[first, whole]), [false]);
    assert_eq!(told(&[first, None, whole]), [false, false]);
    assert_eq!(told(&[first, second, whole]), [false], "the parity has come, but is too little");
    assert_eq!(told(&[None, whole]), [false, true]);
}

#[test]
fn fragments_are_coded_one_by_one() {
    let mut cell = cell(2, Phy::G, 1, |config| {
        config.coding = Some(Code::ALL[2]);
        config.fragment_threshold = 400;
    });
    cell.damaged = vec![0, 2, 4];
    cell.packet(0, kilobyte(7));
    cell.run_until(micros(20_000));
    assert_eq!((cell.stations[0].sent(), lines(&cell, "packet len=988")), (3, 1));
}

#[test]
fn the_answer_to_a_damaged_fragment_reserves_nothing() {
    let mut cell = cell(2, Phy::G, 1, |config| {
        config.coding = Some(Code::NONE);
        config.fragment_threshold = 400;
    });
    cell.damaged = vec![0];
    cell.packet(0, kilobyte(7));
    cell.run_until(micros(20_000));
    let answers = cell.timeline.as_str().lines().filter(|line| line.contains("> Ack"));
    let reserving: Vec<bool> = answers.map(|line| !line.ends_with("reserves=0us")).collect();
    // The Duration of a fragment covers the next one, but damage may have changed it.
    assert_eq!(reserving, [false, true, true, false], "{}", cell.timeline.as_str());
}

/// Returns whether the sender still keeps a copy of a packet whose frame is built.
fn is_kept(to: MacAddress, kept: bool) -> bool {
    let mut frame = kilobyte(1);
    frame.kept = kept;
    let packet = Packet { frame, to, ether_type: snap::IPV4, expires: None, source: None };
    PendingPacket::new(packet, 0, &Config::new(address(1), Phy::G)).build(44).kept
}

#[test]
fn a_frame_says_whether_a_copy_is_left_at_its_sender_or_at_the_source_of_its_packet() {
    assert!(is_kept(address(2), false), "until it is acknowledged");
    assert!(!is_kept(MacAddress::BROADCAST, false));
    assert!(is_kept(MacAddress::BROADCAST, true));
}

#[test]
fn damage_is_accepted_of_a_whole_packet_whose_owner_says_so() {
    let accepts = |accept_damaged, fragment_threshold| {
        let class = Class { accept_damaged, ..Class::default() };
        let frame = kilobyte(1).with_class(class);
        let to = address(2);
        let packet = Packet { frame, to, ether_type: snap::IPV4, expires: None, source: None };
        let config = Config { fragment_threshold, ..Config::new(address(1), Phy::G) };
        PendingPacket::new(packet, 0, &config).accepts_damaged()
    };
    assert!(accepts(Some(true), 2_346));
    assert!(!accepts(Some(true), 400), "fragments are never passed up damaged");
    assert!(!accepts(Some(false), 2_346) && !accepts(None, 2_346));
}

#[test]
fn stations_that_choose_jointly_keep_the_laws() {
    let new = |seed: Seed| {
        let mut config = Config::new(address(0), Phy::G);
        (config.rate_control, config.coding) = (JOINT, Some(Code::NONE));
        config.accept_damaged = seed.0.is_multiple_of(2);
        Station::new(config, address(1), seed.0)
    };
    laws::check(laws::Subject::new(2, new).ledger(Station::ledger).input(|stream, now| {
        match stream.below(8) {
            0 => (AIR, Input::CarrierBusy),
            1 => (AIR, Input::CarrierIdle),
            2 => (AIR, Input::TransmissionDone),
            3..=5 => {
                let frame = frame_to(address(stream.below(3) as u16), stream);
                (AIR, Input::Frame(frame, RxVector::wired(now)))
            }
            _ => (DEVICE, Input::Frame(kilobyte(0), RxVector::wired(now))),
        }
    }));
}

/// Returns the frame of a coded packet from station 1 to `to`, with these bits inverted.
fn coded_frame(to: u16, bits: &[u32]) -> Frame {
    let sender = Config { coding: Some(Code::ALL[2]), ..Config::new(address(1), Phy::G) };
    let packet = Packet {
        frame: kilobyte(to.into()),
        to: address(to),
        ether_type: snap::IPV4,
        expires: None,
        source: None,
    };
    let mut frame = PendingPacket::new(packet, to, &sender).build(44);
    frame.invert(bits);
    frame
}

/// A bit of the payload, behind MAC header and LLC/SNAP.
const PAYLOAD_BIT: u32 = (24 + 8) * 8 + 100;
/// The bit that the addresses of stations 2 and 3 differ by, in the receiver address.
const ADDRESS_BIT: u32 = 9 * 8 + 7;

/// A repaired frame for another station is dropped as such, and one that is not decoded as damaged.
#[test]
fn a_damaged_frame_is_not_decoded_if_an_intact_one_was_heard_for_its_receiver() {
    let config = Config { coding: Some(Code::NONE), ..Config::new(address(2), Phy::G) };
    let mut station = Station::new(config, address(1), 1);
    let mut drop_reason = |frame| {
        let before = station.ledger().drops;
        station.handle_input(micros(200), AIR, Input::Frame(frame, RxVector::wired(micros(200))));
        let after = station.ledger().drops;
        let reasons = [DropReason::NotForUs, DropReason::FrameCheck];
        reasons.into_iter().find(|reason| after.of(*reason) > before.of(*reason))
    };
    // Nothing is known of station 3, so its frame may be one for station 2 with a damaged address.
    assert_eq!(drop_reason(coded_frame(4, &[PAYLOAD_BIT])), Some(DropReason::NotForUs));
    assert_eq!(drop_reason(coded_frame(2, &[ADDRESS_BIT])), None, "repaired, and for this station");
    assert_eq!(drop_reason(coded_frame(3, &[])), Some(DropReason::NotForUs));
    assert_eq!(drop_reason(coded_frame(3, &[PAYLOAD_BIT])), Some(DropReason::FrameCheck));
    assert_eq!(drop_reason(coded_frame(2, &[ADDRESS_BIT])), Some(DropReason::FrameCheck));
    assert_eq!(drop_reason(coded_frame(2, &[PAYLOAD_BIT])), None);
    let up = core::iter::from_fn(|| station.dcf.poll_delivery()).count();
    assert_eq!(up, 2);
}
