use proptest::prelude::*;
use windfall_wire_net::sap::{HEADER_LEN, SapHeader};

use super::*;

/// Returns the datagram of an encoded message.
fn datagram(encoded: &Encoded) -> Vec<u8> {
    let kind = windfall_wire_net::sap::SapKind::Data;
    let flags = encoded.flags;
    let header = SapHeader { kind, flags, exact: 0, connection: 1, number: 2 };
    let header = header.emit([&encoded.head, &encoded.exact]);
    [&header[..], &encoded.head, &encoded.exact, &encoded.rest].concat()
}

fn received(bytes: Vec<u8>) -> Option<Received> {
    let packet = SapPacket::parse(&bytes.into()).ok()?;
    packet.intact.then(|| decode(&packet, Check::Unchecked)).flatten().map(|(found, _)| found)
}

fn message(mode: Mode, len: usize) -> Message {
    Message { stream: 3, mode, data: (0..len).map(|byte| byte as u8).collect() }
}

//= S0.4
#[test]
fn a_bit_error_drops_a_message_if_and_only_if_the_bit_is_protected() {
    let message = message(Mode::Approximate { protected: 100 }, 1024);
    let encoded = encode(&message, 9, true).expect("legal");
    let good = datagram(&encoded);
    let precise = HEADER_LEN + encoded.head.len() + 100;
    for bit in 0..good.len() * 8 {
        let mut bytes = good.clone();
        bytes[bit / 8] ^= 0x80 >> (bit % 8);
        let Some(received) = received(bytes) else {
            assert!(bit < precise * 8, "bit {bit} is not protected");
            continue;
        };
        assert!(bit >= precise * 8, "bit {bit} is protected");
        let Integrity::Suspect(suspect) = received.integrity else {
            panic!("bit {bit} is not detected")
        };
        let byte = bit / 8 - precise + 100;
        assert!(suspect.len() == 1 && suspect[0].contains(&byte), "bit {bit}: {suspect:?}");
    }
}

//= S0.27
#[test]
fn several_ranges_are_gathered_and_put_back() {
    let mode = Mode::Ranges(vec![500..520, 0..10, 10..16, 30..30]);
    let message = message(mode, 600);
    let encoded = encode(&message, 1, true).expect("legal");
    assert_eq!(encoded.exact.len(), 36);
    let mut bytes = datagram(&encoded);
    let intact = received(bytes.clone()).expect("intact");
    assert_eq!((&intact.data, &intact.exact), (&message.data, &vec![0..16, 500..520]));
    assert_eq!(intact.integrity, Integrity::Intact);
    // The last block begins 512 bytes into the gathered bytes, 28 after the second range.
    *bytes.last_mut().expect("bytes") ^= 1;
    let tail = 548..600;
    let damaged = received(bytes).expect("the exact part is intact");
    assert_eq!(damaged.integrity, Integrity::Suspect(vec![tail]));
}

#[test]
fn invalid_protection_is_reported() {
    let protection = |mode| encode(&message(mode, 10), 0, false).expect_err("illegal");
    let error = SapSendError::Protection { protected: 11, len: 10 };
    assert_eq!(protection(Mode::Approximate { protected: 11 }), error);
    assert_eq!(protection(Mode::Ranges(vec![0..2, 5..11])), error);
    let many = (0..9).map(|start| 10 * start..10 * start + 1).collect();
    let error = encode(&message(Mode::Ranges(many), 100), 0, false).expect_err("illegal");
    assert_eq!(error, SapSendError::Ranges { found: 9, most: 8 });
}

fn any_mode() -> impl Strategy<Value = Mode> {
    let ranges = prop::collection::vec((0_usize..700, 0_usize..300), 0..8);
    let ranges = ranges.prop_map(|pairs| pairs.into_iter().map(|(at, len)| at..at + len).collect());
    prop_oneof![
        Just(Mode::Precise),
        (0_usize..1000).prop_map(|protected| Mode::Approximate { protected }),
        ranges.prop_map(Mode::Ranges),
    ]
}

proptest! {
    #[test]
    fn messages_survive_a_round_trip(mode in any_mode(), checks: bool, number: u32) {
        let message = message(mode, 1000);
        let encoded = encode(&message, number, checks).expect("legal");
        let received = received(datagram(&encoded)).expect("intact");
        prop_assert_eq!((received.stream, received.number), (3, number));
        prop_assert_eq!(&received.data, &message.data);
        let precise = message.mode == Mode::Precise;
        prop_assert_eq!(received.kind == MessageKind::Precise, precise);
        if checks || precise {
            prop_assert_eq!(received.integrity, Integrity::Intact);
        }
    }

    #[test]
    fn arbitrary_bodies_never_panic(
        body in prop::collection::vec(any::<u8>(), 0..80), flags: u8, exact in 0_u16..80,
    ) {
        let exact = exact.min(body.len() as u16);
        let kind = windfall_wire_net::sap::SapKind::Data;
        let header = SapHeader { kind, flags, exact, connection: 0, number: 0 };
        let packet = SapPacket { header, intact: true, body: body.into() };
        if let Some(received) = decode(&packet, Check::Unchecked) {
            prop_assert!(received.0.data.len() <= packet.body.len());
        }
    }
}

#[test]
fn a_message_that_was_made_exact_is_the_same_message() {
    for checks in [false, true] {
        let message = message(Mode::Approximate { protected: 100 }, 1024);
        let mut encoded = encode(&message, 9, checks).expect("legal");
        encoded.make_exact();
        let found = received(datagram(&encoded)).expect("intact");
        assert_eq!(found.data, message.data, "checks: {checks}");
        let whole = 0..1024;
        assert_eq!(found.exact, core::slice::from_ref(&whole), "checks: {checks}");
        assert_eq!(found.number, 9);
    }
}

#[test]
fn parts_are_joined_unless_they_are_a_repair_or_have_ranges() {
    let plain = message(Mode::Approximate { protected: 100 }, 1024);
    let encoded = encode(&plain, 9, true).expect("legal");
    let joined = join(core::slice::from_ref(&encoded)).expect("a whole message");
    assert_eq!((joined.data, joined.mode), (plain.data, plain.mode));
    let repair = Encoded { flags: encoded.flags | flags::REPAIRED, ..encoded };
    assert!(join(&[repair]).is_none());
    let ranges = message(Mode::Ranges(vec![0..16, 500..520]), 600);
    assert!(join(&[encode(&ranges, 9, true).expect("legal")]).is_none());
}
