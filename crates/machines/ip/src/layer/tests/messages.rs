//! ICMP messages, and where they go.

use windfall_wire_net::{Icmpv4Repr, Icmpv6Repr};

use super::*;

/// Returns an ICMP message to the host from 10.0.0.9.
fn message_v4(repr: &Icmpv4Repr, data: &[u8]) -> Frame {
    let mut header = [0; 8];
    repr.emit(&mut header, data);
    v4([10, 0, 0, 1], Protocol::ICMP, &[&header[..], data].concat(), |_| {})
}

/// Returns an ICMPv6 message to the host from fd00::9, changed by `change` before its checksum is
/// made.
fn message_v6(repr: &Icmpv6Repr, data: &[u8]) -> Frame {
    let src = "fd00::9".parse();
    let dst = "fd00::1".parse();
    let addresses = Addresses::V6 { src: src.expect("an address"), dst: dst.expect("an address") };
    let mut header = [0; 8];
    repr.emit(&mut header, &addresses, data);
    v6("fd00::1", Protocol::ICMPV6, &[&header[..], data].concat())
}

#[test]
fn the_reply_to_an_echo_is_handed_up() {
    for frame in [
        message_v4(&Icmpv4Repr::EchoReply { id: 1, seq: 2 }, b"data"),
        message_v6(&Icmpv6Repr::EchoReply { id: 1, seq: 2 }, b"data"),
    ] {
        let mut host = layer(false);
        host.handle_input(NOW, 0, frame);
        let Some(Upward::Datagram(datagram)) = host.poll_upward() else { panic!("a datagram") };
        assert_eq!(&datagram.slices().concat()[8..], b"data");
        assert!(sent(&mut host).is_empty() && host.ledger().balances());
    }
}

#[test]
fn an_echo_that_was_cut_is_not_answered() {
    let whole = message_v4(&Icmpv4Repr::EchoRequest { id: 1, seq: 2 }, b"data");
    let bytes = whole.payload.to_bytes();
    let mut host = layer(false);
    host.handle_input(NOW, 0, Frame::packet(bytes.slice(..bytes.len() - 1)));
    assert!(sent(&mut host).is_empty());
    assert_eq!(host.ledger().drops.of(DropReason::Truncated), 1);
}

#[test]
fn news_about_a_packet_from_here_are_handed_up_and_teach_the_mtu_of_the_path() {
    let quoted_v4 =
        v4([10, 0, 0, 9], Protocol::UDP, &[0; 1_000], |repr| repr.src = [10, 0, 0, 1].into());
    let quoted_v4 = quoted_v4.payload.to_bytes();
    let why = icmpv4::Unreachable::FragmentationNeeded { mtu: 600 };
    let mut quoted_v6 = v6("fd00::9", Protocol::UDP, &[0; 1_400]).payload.to_bytes().to_vec();
    // From the host: both addresses differ in their last byte alone.
    (quoted_v6[23], quoted_v6[39]) = (1, 9);
    for (frame, quoted, mtu, was_sent) in [
        (message_v4(&Icmpv4Repr::Unreachable(why), &quoted_v4), &quoted_v4[..], 600, true),
        (message_v6(&Icmpv6Repr::PacketTooBig { mtu: 1_300 }, &quoted_v6), &quoted_v6, 1_300, true),
        (message_v4(&Icmpv4Repr::Unreachable(why), &quoted_v4), &quoted_v4, 600, false),
    ] {
        let mut host = layer(false);
        let mut others = 0;
        if was_sent {
            let addresses = IpPacket::new(quoted).expect("a packet").addresses();
            let data = Bytes::from(vec![0; if mtu == 600 { 992 } else { 1_392 }]);
            let protocol = Protocol::UDP;
            let ecn = Ecn::NotCapable;
            let header = &[0; 8][..];
            let packet = Outbound { addresses, protocol, ecn, header, data };
            host.handle_send(NOW, packet).expect("a route");
            others = sent(&mut host).len() as u64;
        }
        host.handle_input(NOW, 0, frame);
        let Some(Upward::Report(report)) = host.poll_upward() else { panic!("a report") };
        assert_eq!(report.problem, Some(Problem::TooBig { mtu }));
        let learned =
            core::iter::from_fn(|| host.poll_event()).find_map(|event| match event.kind {
                IpEventKind::PathMtu { mtu, .. } => Some(mtu),
                _ => None,
            });
        assert_eq!(learned, was_sent.then_some(mtu), "a stranger guesses");
        let ledger = host.ledger();
        assert_eq!((ledger.given - others, ledger.drops.total()), (1, 0));
        assert!(ledger.balances());
    }
}

#[test]
fn a_message_of_no_known_kind_means_nothing() {
    let src = "fd00::9".parse();
    let dst = "fd00::1".parse();
    let addresses = Addresses::V6 { src: src.expect("an address"), dst: dst.expect("an address") };
    // A solicitation of neighbours, behind which stands what an error would quote.
    let mut quoted = v6("fd00::9", Protocol::UDP, &[0; 8]).payload.to_bytes().to_vec();
    (quoted[23], quoted[39]) = (1, 9);
    let mut message = [&[135, 0, 0, 0, 0, 0, 0, 0][..], &quoted].concat();
    let sum = windfall_wire_net::checksum::checksum(
        &[&addresses_of(&addresses, message.len())[..], &message].concat(),
    );
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    let mut host = layer(false);
    host.handle_input(NOW, 0, v6("fd00::1", Protocol::ICMPV6, &message));
    assert!(host.poll_upward().is_none());
    let drops = host.ledger().drops;
    assert_eq!((drops.of(DropReason::NoListener), drops.of(DropReason::IcmpChecksum)), (1, 0));
}

/// Returns the pseudo-header of a message of `len` bytes (RFC 8200, section 8.1).
fn addresses_of(addresses: &Addresses, len: usize) -> Vec<u8> {
    let Addresses::V6 { src, dst } = addresses else { panic!("of IPv6") };
    let len = (len as u32).to_be_bytes();
    [&src.octets()[..], &dst.octets(), &len, &[0, 0, 0, 58]].concat()
}

#[test]
fn what_went_to_all_of_a_network_is_not_reported() {
    for (dst, reports) in [([10, 0, 0, 1], 1), ([10, 0, 0, 255], 0)] {
        let mut host = layer(false);
        host.handle_input(NOW, 0, v4(dst, Protocol::UDP, &[0; 8], |_| {}));
        let Some(Upward::Datagram(datagram)) = host.poll_upward() else { panic!("a datagram") };
        host.handle_refusal(NOW, &datagram, DropReason::NoListener, Problem::NoPort);
        assert_eq!(reported(&mut host).len(), reports, "{dst:?}");
        assert!(host.ledger().balances());
    }
}

#[test]
fn the_field_that_names_an_unknown_protocol_may_stand_in_a_later_header() {
    let options = [[60, 0, 1, 4, 0, 0, 0, 0], [200, 0, 1, 4, 0, 0, 0, 0]].concat();
    let mut host = layer(false);
    host.handle_input(NOW, 0, v6("fd00::1", Protocol::DESTINATION_OPTIONS, &options));
    let Some(Upward::Datagram(datagram)) = host.poll_upward() else { panic!("a datagram") };
    host.handle_refusal(NOW, &datagram, DropReason::NoListener, Problem::NoProtocol);
    let (_, bytes) = sent(&mut host).remove(0);
    assert_eq!(bytes[44..48], [0, 0, 0, 48]);
}
