use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

const HEADER: SapHeader = SapHeader {
    kind: SapKind::Data,
    flags: flags::APPROXIMATE,
    exact: 12,
    connection: 7,
    number: 9,
};

fn datagram(exact: &[u8], rest: &[u8]) -> Bytes {
    [&HEADER.emit([exact, &[]]), exact, rest].concat().into()
}

fn bytes(most: usize) -> impl Strategy<Value = Bytes> {
    vec(any::<u8>(), 0..most).prop_map(Bytes::from)
}

//= S0.2
#[test]
fn any_single_wrong_bit_is_found_where_it_matters_and_only_there() {
    let good = datagram(&[0x55; 12], &[0xaa; 30]);
    for bit in 0..good.len() * 8 {
        let mut damaged = good.to_vec();
        damaged[bit / 8] ^= 0x80 >> (bit % 8);
        let parsed = SapPacket::parse(&damaged.into());
        let header = parsed.is_ok();
        let body = parsed.is_ok_and(|packet| packet.intact);
        assert_eq!((header, body), (bit >= 160, bit >= 160 + 96), "bit {bit}");
    }
}

#[test]
fn another_version_is_named() {
    let mut bytes = datagram(b"twelve bytes", b"").to_vec();
    bytes[0] = 0x25;
    let check = crc32c::crc32c(&bytes[..16]);
    put_u32(&mut bytes, 16, check);
    let error = SapPacket::parse(&bytes.into()).expect_err("version 2");
    assert_eq!(error, WireError::Version { header: NAME, expected: 1, found: 2 });
}

#[test]
fn a_head_is_as_long_as_its_spans_make_it() {
    for count in [0, 1, 5, data::MAX_SPANS] {
        let spans = (0..count as u16).map(|at| Span { start: at * 10, len: 3 }).collect();
        let head = SapData { stream: 1, number: 2, part: None, spans };
        assert_eq!((head.len(), head.is_empty()), (data::FIXED_LEN + 4 * count, count == 0));
        assert_eq!(SapRepair(head.clone()).emit().len(), head.len());
    }
}

#[test]
fn a_body_that_is_too_short_is_damaged() {
    let whole = datagram(b"twelve bytes", b"");
    assert!(!SapPacket::parse(&whole.slice(..25)).expect("the header is there").intact);
}

proptest! {
    #[test]
    fn headers_survive(
        flags: u8, connection: u32, number: u32, exact in bytes(50), rest in bytes(50),
    ) {
        for kind in SapKind::ALL {
            let header = SapHeader { kind, flags, exact: exact.len() as u16, connection, number };
            let (front, back) = exact.split_at(exact.len() / 2);
            let datagram = [&header.emit([front, back])[..], &exact, &rest].concat();
            let packet = SapPacket::parse(&datagram.into()).expect("a datagram");
            prop_assert_eq!((packet.header, packet.intact), (header, true));
            prop_assert_eq!(&packet.body[..], &[&exact[..], &rest].concat()[..]);
        }
    }

    #[test]
    fn bodies_survive(
        a: u32, b: u32, c: u32, max_datagram: u16,
        runs in vec(any::<(u16, u16)>(), 0..MAX_RUNS_TRIED), damaged in vec(any::<u16>(), 0..9),
        token in bytes(MAX_TOKEN), handshake in bytes(MAX_HANDSHAKE),
        spans in vec(any::<(u16, u16)>(), 0..data::MAX_SPANS),
    ) {
        let ack = SapAck { largest: a, delay: b, room: c, runs, damaged };
        prop_assert_eq!(SapAck::parse(&ack.emit()), Ok(ack));
        let features = a as u8;
        let ping =
            SapPing { connection: a, max_datagram, token, handshake: handshake.clone(), features };
        prop_assert_eq!(SapPing::parse(&ping.emit()), Ok(ping));
        let accept = SapAccept { connection: b, max_datagram, handshake, features };
        prop_assert_eq!(SapAccept::parse(&accept.emit()), Ok(accept));
        let span = |(start, len)| Span { start, len };
        let spans: Vec<Span> = spans.into_iter().map(span).collect();
        for (flags, part) in [(0, None), (flags::PART, Some(Part { offset: a, total: b }))] {
            let all: &[Span] = &spans;
            let spans = all.iter().copied().collect();
            let repair = SapRepair(SapData { stream: max_datagram, number: c, part, spans });
            prop_assert_eq!(SapRepair::parse(&repair.emit(), flags), Ok(repair));
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(body in bytes(300)) {
        let _ = SapPacket::parse(&body);
        let _ = (SapAck::parse(&body), SapRepair::parse(&body, 0));
        let _ = SapRepair::parse(&body, flags::PART);
        let _ = (SapPing::parse(&body), SapAccept::parse(&body));
    }
}

const MAX_RUNS_TRIED: usize = ack::MAX_RUNS;

#[test]
fn lists_are_as_long_as_they_may_be_and_no_longer() {
    for more in [0, 1] {
        let mut body = vec![0; 2_000];
        body[2] = (data::MAX_SPANS + more) as u8;
        assert_eq!(SapData::parse(&body, 0).is_ok(), more == 0, "spans");
        let mut body = vec![0; 2_000];
        body[12] = (ack::MAX_RUNS + more) as u8;
        assert_eq!(SapAck::parse(&body).is_ok(), more == 0, "runs");
        let mut body = vec![0; 2_000];
        body[13] = (ack::MAX_DAMAGED + more) as u8;
        assert_eq!(SapAck::parse(&body).is_ok(), more == 0, "damaged");
    }
}

#[test]
fn reasons_are_known_by_their_numbers() {
    let reasons = [
        Reason::Closed,
        Reason::Version,
        Reason::Busy,
        Reason::Key,
        Reason::NotListening,
        Reason::Violation,
        Reason::StreamLimit,
    ];
    for (number, reason) in (0..).zip(reasons) {
        assert_eq!((reason as u8, Reason::from_byte(number)), (number, reason));
    }
    assert_eq!(Reason::from_byte(7), Reason::Closed);
}

#[test]
fn an_unknown_kind_is_named() {
    let mut bytes = datagram(b"twelve bytes", b"").to_vec();
    bytes[0] = 0x1f;
    let check = crc32c::crc32c(&bytes[..16]);
    put_u32(&mut bytes, 16, check);
    let error = SapPacket::parse(&bytes.into()).expect_err("kind 15");
    assert_eq!(error, WireError::Illegal { header: NAME, field: "kind", found: 15 });
}

#[test]
fn the_exact_part_is_what_the_header_says_or_what_is_there_of_it() {
    let packet = SapPacket::parse(&datagram(b"twelve bytes", b"and more")).expect("a datagram");
    assert_eq!(packet.exact(), Bytes::from_static(b"twelve bytes"));
    let cut = SapPacket::parse(&datagram(b"twelve bytes", b"").slice(..HEADER_LEN + 6));
    assert_eq!(cut.expect("its header is whole").exact(), Bytes::from_static(b"twelve"));
}

#[test]
fn a_span_is_its_bytes_and_a_block_has_half_a_crc() {
    assert_eq!(Span { start: 7, len: 5 }.range(), 7..12);
    // The check value of CRC-32C for these nine digits is e3069283.
    assert_eq!(data::block_check(b"123456789"), 0x9283);
}
