use core::net::Ipv4Addr;

use bytes::Bytes;
use windfall_base::{Check, Class};
use windfall_wire_net::{Addresses, Ipv4Repr, Protocol, UdpPacket, UdpRepr};

use super::*;

const ADDRESSES: Addresses =
    Addresses::V4 { src: Ipv4Addr::new(10, 77, 0, 1), dst: Ipv4Addr::new(10, 77, 0, 2) };

/// A UDP datagram over IPv4, in two slices that are cut at `cut`.
fn datagram(cut: usize) -> Frame {
    let data = [7; 100];
    let mut bytes = [0; 28];
    let Addresses::V4 { src, dst } = ADDRESSES else { unreachable!("it is of IPv4") };
    let ip = Ipv4Repr::new(src, dst, Protocol::UDP, 108).expect("it fits");
    ip.emit(&mut bytes);
    let udp = UdpRepr { src_port: 4000, dst_port: 5000 };
    udp.emit(&mut bytes[20..], &ADDRESSES, &data).expect("it fits");
    let whole = Bytes::from([&bytes[..], &data].concat());
    Frame::packet(Payload::new(whole.slice(..cut), whole.slice(cut..)))
}

fn checksum(frame: &Frame) -> u16 {
    let packet = frame.payload.to_bytes();
    u16::from_be_bytes([packet[26], packet[27]])
}

fn accepting(accept_damaged: Option<bool>, cut: usize) -> Frame {
    datagram(cut).with_class(Class { accept_damaged, ..Class::NONE })
}

#[test]
fn a_datagram_that_may_arrive_damaged_is_sent_without_a_checksum() {
    // The class of a packet goes before the choice of the link.
    for (class, link, is_cleared) in [
        (None, false, false),
        (None, true, true),
        (Some(true), false, true),
        (Some(false), true, false),
    ] {
        for cut in [10, 27, 28, 128] {
            let config = ChecksumConfig {
                clears_sent: true,
                accepts_damaged: link,
                ..ChecksumConfig::default()
            };
            let sent = accepting(class, cut);
            let mut frame = sent.clone();
            config.handle_sent(&mut frame);
            assert_eq!(checksum(&frame) == 0, is_cleared, "{class:?} {link} {cut}");
            assert_ne!(checksum(&sent), 0, "another holder of the bytes keeps them");
            let [before, after] = [sent, frame].map(|it| it.payload.to_bytes());
            assert_eq!((&before[..26], &before[28..]), (&after[..26], &after[28..]));
        }
    }
}

#[test]
fn only_fragments_are_sent_without_a_checksum_where_the_receiver_mends() {
    let config = ChecksumConfig {
        clears_sent_fragments: true,
        accepts_damaged: true,
        ..ChecksumConfig::default()
    };
    for is_fragment in [false, true] {
        let mut packet = datagram(28).payload.to_bytes().to_vec();
        // More fragments follow.
        packet[6] |= if is_fragment { 0x20 } else { 0 };
        let mut frame = Frame::packet(packet);
        config.handle_sent(&mut frame);
        assert_eq!(checksum(&frame) == 0, is_fragment);
    }
}

#[test]
fn a_datagram_that_arrives_damaged_has_a_checksum_that_holds() {
    let config = ChecksumConfig { restores_received: true, ..ChecksumConfig::default() };
    for check in [Check::Good, Check::Bad] {
        let mut frame = datagram(40);
        frame.invert(&[800]);
        frame.damage.frame = check;
        let arrived = frame.payload.to_bytes();
        config.handle_received(&mut frame);
        let packet = frame.payload.to_bytes();
        let udp = UdpPacket::new(&packet[20..]).expect("whole");
        assert_eq!(udp.checksum_holds(&ADDRESSES), check == Check::Bad);
        assert_eq!(packet[28..], arrived[28..], "the data stay as they arrived");
    }
}

#[test]
fn checksums_are_kept_unless_something_else_was_asked() {
    let config = ChecksumConfig { accepts_damaged: true, ..ChecksumConfig::default() };
    let mut frame = accepting(Some(true), 28);
    config.handle_sent(&mut frame);
    assert_eq!(frame.payload, datagram(28).payload);
    frame.damage.frame = Check::Bad;
    frame.invert(&[800]);
    let arrived = frame.payload.to_bytes();
    config.handle_received(&mut frame);
    assert_eq!(frame.payload.to_bytes(), arrived);
}
