use core::net::Ipv4Addr;

use windfall_base::frame::Tag;
use windfall_base::seq::Seq32;
use windfall_base::{Check, Duration, Input, Node, Outgoing, RxVector, Seed, Stream};
use windfall_testkit::laws;
use windfall_wire_net::tcp::{CorruptionKinds, Packing, corruption};
use windfall_wire_net::{Addresses, Ecn, Ipv4Repr, Protocol, TcpFlags, TcpOptions, TcpRepr, tcp};

use super::*;
use crate::interface::{DEVICE, Interface, InterfaceConfig, MEDIUM};

const SERVER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const MOBILE: Ipv4Addr = Ipv4Addr::new(10, 0, 9, 9);

/// A segment of the stream, from the server with data or from the mobile station without.
fn segment(seq: u32, ack: u32, len: usize, flags: TcpFlags, cdo: bool) -> Frame {
    let down = len > 0;
    let (src, dst) = if down { (SERVER, MOBILE) } else { (MOBILE, SERVER) };
    let addresses = Addresses::V4 { src, dst };
    let (src_port, dst_port) = if down { (80, 4_000) } else { (4_000, 80) };
    let detection = cdo.then_some(0);
    let repr = TcpRepr {
        src_port,
        dst_port,
        seq: Seq32(seq),
        ack: Seq32(ack),
        flags,
        window: 9_000,
        urgent: 0,
        options: TcpOptions { detection, ..TcpOptions::default() },
    };
    let kinds = CorruptionKinds::default();
    let mut header = repr.emit(&kinds).unwrap();
    corruption::seal(&kinds, Packing::default(), Ecn::NotCapable, &addresses, &mut header);
    let data = vec![7; len];
    tcp::fill_checksum(&addresses, &mut header, &data);
    let ip = Ipv4Repr::new(src, dst, Protocol::TCP, header.len() + len).unwrap();
    let mut bytes = vec![0; ip.header_len()];
    ip.emit(&mut bytes);
    bytes.extend_from_slice(&header);
    bytes.extend(data);
    Frame::packet(bytes)
}

/// Marked as the link marks what failed its frame check, with these bits wrong.
fn damaged(mut frame: Frame, bits: &[u32]) -> Frame {
    frame.invert(bits);
    frame.damage.frame = Check::Bad;
    frame
}

#[test]
fn of_damaged_segments_those_with_a_whole_header_pass() {
    //= S4.11
    let filter = CorruptionFilter::default();
    let (cdo, plain) =
        (segment(1, 1, 500, TcpFlags::ACK, true), segment(1, 1, 500, TcpFlags::ACK, false));
    let refused = Err(DropReason::TcpChecksum);
    let last = cdo.len() as u32 * 8 - 1;
    // The flow of figure 3, and what the link marks although nothing that counts is wrong.
    assert_eq!(filter.check(&cdo), Ok(()));
    assert_eq!(filter.check(&damaged(cdo.clone(), &[])), Ok(()));
    assert_eq!(filter.check(&damaged(cdo.clone(), &[last])), Ok(()));
    assert_eq!(filter.check(&damaged(cdo.clone(), &[24 * 8])), refused, "sequence number");
    assert_eq!(filter.check(&damaged(plain, &[last - 64])), refused);
    // A cut leaves the header whole, or not.
    for (len, verdict) in [(300, Ok(())), (40, refused)] {
        let mut cut = cdo.clone();
        cut.damage.missing = (cut.len() - len) as u32;
        cut.truncate(len);
        assert_eq!(filter.check(&cut), verdict, "{len} bytes");
    }
    // A router's mark is no damage; other kinds than the filter's are none at all.
    let mut marked = damaged(cdo.clone(), &[last]);
    marked.invert(&[8 + 6, 8 + 7]);
    assert_eq!(filter.check(&marked), refused, "not ECN-capable when it left");
    let kinds = CorruptionKinds::EXPERIMENTAL;
    assert_eq!(CorruptionFilter { kinds, ..filter }.check(&damaged(cdo, &[last])), refused);
    // What is no TCP segment is not the filter's matter.
    let noise = damaged(Frame::packet(vec![0x45; 60]), &[9]);
    assert_eq!(filter.check(&noise), Ok(()));
}

fn ms(n: u64) -> Instant {
    Instant::START.saturating_add(Duration::from_millis(n))
}

fn assist() -> Assist {
    Assist::new(AssistConfig { snoop: Some(SnoopConfig::default()), ..AssistConfig::default() })
}

fn ack(assist: &mut Assist, now: Instant, ack: u32) -> Result<(), DropReason> {
    assist.handle_delivery(now, &mut segment(1, ack, 0, TcpFlags::ACK, false))
}

/// Ten segments of 100 bytes that left at 10 ms.
fn ten(assist: &mut Assist) {
    for n in 0..10 {
        assist.handle_queued(ms(10), &segment(1 + n * 100, 1, 100, TcpFlags::ACK, false));
    }
}

#[test]
fn a_duplicate_brings_the_segment_again_and_goes_no_further() {
    //= S2.18
    let mut assist = assist();
    ten(&mut assist);
    assert_eq!(ack(&mut assist, ms(15), 201), Ok(()));
    for _ in 0..3 {
        assert_eq!(ack(&mut assist, ms(16), 201), Err(DropReason::TcpSuppressed));
    }
    let again = assist.poll_repetition().expect("the third segment goes down again");
    assert_eq!(again.payload, segment(201, 1, 100, TcpFlags::ACK, false).payload);
    assert!(assist.poll_repetition().is_none(), "once is enough");
    // The repetition is lost too: silence brings it again.
    let (at, reason) = assist.poll_timeout().expect("it waits");
    assert_eq!((at, reason), (ms(36), "snoop repetition"));
    assist.handle_timeout(ms(36));
    assert!(assist.poll_repetition().is_some());
    assert_eq!(ack(&mut assist, ms(41), 1001), Ok(()));
    assert_eq!(assist.poll_timeout(), None, "nothing is kept");
}

#[test]
fn what_the_sender_repeats_or_never_sent_is_its_own_matter() {
    //= S2.18
    let mut assist = assist();
    ten(&mut assist);
    assert_eq!(ack(&mut assist, ms(15), 201), Ok(()));
    // The sender has repeated it: the duplicates are for the sender.
    assist.handle_queued(ms(16), &segment(201, 1, 100, TcpFlags::ACK, false));
    assert_eq!(ack(&mut assist, ms(20), 201), Ok(()));
    assert!(assist.poll_repetition().is_none());
    // A hole that came with the stream: 1001..1101 never passed here.
    assert_eq!(ack(&mut assist, ms(21), 1001), Ok(()));
    assist.handle_queued(ms(30), &segment(1101, 1, 100, TcpFlags::ACK, false));
    for _ in 0..4 {
        assert_eq!(ack(&mut assist, ms(60), 1001), Ok(()));
    }
    assert_eq!(assist.poll_timeout(), None);
    // A reset ends all that.
    let mut reset = segment(1, 1001, 0, TcpFlags::RST, false);
    assert_eq!(assist.handle_delivery(ms(61), &mut reset), Ok(()));
    assert_eq!(ack(&mut assist, ms(62), 1001), Ok(()));
}

#[test]
fn damaged_acknowledgments_and_notifications_are_left_alone() {
    let mut assist = assist();
    ten(&mut assist);
    assert_eq!(ack(&mut assist, ms(15), 201), Ok(()));
    let copy = segment(1, 201, 0, TcpFlags::ACK, false);
    assert_eq!(assist.handle_delivery(ms(16), &mut damaged(copy, &[])), Ok(()));
    assert!(assist.poll_repetition().is_none());
}

//= S4.27
#[test]
fn the_link_s_count_of_losses_goes_up_unless_it_is_hidden() {
    for (hides_losses, lost_before) in [(false, 3), (true, 0)] {
        let mut assist = Assist::new(AssistConfig { hides_losses, ..AssistConfig::default() });
        let mut frame = segment(1, 1, 100, TcpFlags::ACK, false);
        frame.damage.lost_before = 3;
        assert_eq!(assist.handle_delivery(ms(1), &mut frame), Ok(()));
        assert_eq!(frame.damage.lost_before, lost_before);
    }
}

#[test]
fn the_laws_hold_with_everything_on() {
    let build = |seed| {
        let snoop = Some(SnoopConfig { streams: 2, segments: 5, ..SnoopConfig::default() });
        let filter = Some(CorruptionFilter::default());
        let assist = AssistConfig { filter, snoop, hides_losses: false };
        Interface::new(InterfaceConfig { assist, ..InterfaceConfig::default() }, seed, "subject")
    };
    let input = |stream: &mut Stream, now: Instant| {
        let frame = |stream: &mut Stream, down: bool| {
            let flags = [
                TcpFlags::ACK,
                TcpFlags::ACK,
                TcpFlags::ACK | TcpFlags::FIN,
                TcpFlags::SYN,
                TcpFlags::RST,
            ];
            let flags = flags[stream.below(5) as usize];
            let number = stream.below(9) as u32 * 100;
            let len = if down { 100 } else { 0 };
            let frame = segment(number, number, len, flags, stream.below(2) == 0);
            Frame { tag: Some(Tag(stream.below(50))), ..frame }
        };
        if stream.below(3) == 0 {
            return (DEVICE, Input::Frame(frame(stream, true), RxVector::wired(now)));
        }
        let mut peer = Interface::new(InterfaceConfig::default(), Seed(1), "peer");
        let packet = frame(stream, false);
        peer.handle_input(now, DEVICE, Input::Frame(packet, RxVector::wired(now)));
        match peer.poll_transmit(now) {
            Some((_, Outgoing { mut frame, .. })) if stream.below(5) > 0 => {
                if stream.below(4) == 0 {
                    frame.invert(&[stream.below(frame.len() as u64 * 8) as u32]);
                }
                (MEDIUM, Input::Frame(frame, RxVector::wired(now)))
            }
            _ => (MEDIUM, Input::TransmissionDone),
        }
    };
    laws::check(laws::Subject::new(2, build).input(input).ledger(Interface::ledger));
}
