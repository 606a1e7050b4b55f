use windfall_wire_net::sap::SapKind;

use super::*;

const HEADER: SapHeader = SapHeader {
    kind: SapKind::Data,
    flags: flags::APPROXIMATE,
    exact: 0,
    connection: 7,
    number: 9,
};

fn ends() -> (Seal, Seal) {
    (Seal::new([1; 32], [2; 32]), Seal::new([2; 32], [1; 32]))
}

/// Encrypts a body as packet `number`.
fn sealed(seal: &Seal, number: u64, exact: &[u8], rest: &[u8]) -> SapPacket {
    let (front, back) = exact.split_at(exact.len() / 2);
    let mut header = SapHeader { flags: HEADER.flags | flags::SEALED, ..HEADER };
    header.number = number as u32;
    let (exact, rest) = seal.seal(number, &header, [front, back], rest);
    header.exact = exact.len() as u16;
    SapPacket { header, intact: true, body: [exact, rest].concat().into() }
}

fn with_bit(packet: &SapPacket, bit: usize) -> SapPacket {
    let mut body = packet.body.to_vec();
    body[bit / 8] ^= 0x80 >> (bit % 8);
    SapPacket { body: body.into(), ..packet.clone() }
}

#[test]
fn ciphertext_decrypts_and_shows_no_plaintext() {
    let (here, there) = ends();
    let packet = sealed(&here, 9, b"exact bytes", &[0; 50]);
    assert!(packet.body.windows(5).all(|window| window != b"exact" && window != [0; 5]));
    let opened = there.open(9, &packet).expect("it is genuine");
    assert_eq!((opened.header.exact, opened.header.flags), (11, HEADER.flags));
    assert_eq!(&opened.body[..], [&b"exact bytes"[..], &[0; 50]].concat());
}

#[test]
fn a_bit_error_fails_authentication_in_the_exact_part_and_does_not_spread_elsewhere() {
    let (here, there) = ends();
    let good = sealed(&here, 9, b"exact bytes", &[0x55; 50]);
    let whole = there.open(9, &good).expect("it is genuine").body;
    for bit in 0..good.body.len() * 8 {
        let opened = there.open(9, &with_bit(&good, bit));
        let exact = bit < 8 * usize::from(good.header.exact);
        assert_eq!(opened.is_none(), exact, "bit {bit}");
        let Some(opened) = opened else { continue };
        let mut expected = whole.to_vec();
        let bit = bit - 8 * TAG_LEN;
        expected[bit / 8] ^= 0x80 >> (bit % 8);
        assert_eq!(opened.body, expected, "one bit and no other");
    }
}

#[test]
fn a_packet_is_bound_to_its_number_its_header_its_length_and_its_direction() {
    let (here, there) = ends();
    let good = sealed(&here, 9, b"exact bytes", &[0x55; 50]);
    assert!(there.open(9, &good).is_some());
    assert!(there.open(9 + (1 << 32), &good).is_none(), "another number");
    assert!(here.open(9, &good).is_none(), "sent back");
    let cut = good.body.slice(..good.body.len() - 1);
    assert!(there.open(9, &SapPacket { body: cut, ..good.clone() }).is_none(), "cut short");
    let longer = [&good.body[..], &[0]].concat().into();
    assert!(there.open(9, &SapPacket { body: longer, ..good.clone() }).is_none(), "made longer");
    let headers = [
        SapHeader { kind: SapKind::Ack, ..good.header },
        SapHeader { flags: good.header.flags ^ flags::APPROXIMATE, ..good.header },
        SapHeader { flags: good.header.flags ^ flags::SEALED, ..good.header },
        SapHeader { connection: 8, ..good.header },
        SapHeader { exact: good.header.exact + 1, ..good.header },
        SapHeader { exact: 3, ..good.header },
        SapHeader { exact: 9999, ..good.header },
    ];
    for header in headers {
        assert!(there.open(9, &SapPacket { header, ..good.clone() }).is_none(), "{header:?}");
    }
}

#[test]
fn no_keystream_is_used_twice() {
    let (here, there) = ends();
    let zeros = [0; 64];
    let streams = [
        sealed(&here, 1, b"", &zeros).body,
        sealed(&here, 2, b"", &zeros).body,
        sealed(&there, 1, b"", &zeros).body,
        sealed(&here, 1 + (1 << 32), b"", &zeros).body,
        sealed(&here, 1, &zeros, b"").body,
        sealed(&here, 2, &zeros, b"").body,
    ];
    for (index, one) in streams.iter().enumerate() {
        for other in &streams[..index] {
            let ends = [one, other].map(|stream| stream[..TAG_LEN].to_vec());
            assert_ne!(ends[0], ends[1]);
            assert_ne!(one[TAG_LEN..], other[TAG_LEN..]);
            assert_ne!(one[TAG_LEN..], other[..64]);
        }
    }
}

#[test]
fn keys_are_parsed_from_digits_and_never_shown() {
    let digits = "00ff".repeat(16);
    let key = SharedKey::from_hex(&digits).expect("64 digits");
    assert_eq!(key, SharedKey::new(std::array::from_fn(|i| if i % 2 == 0 { 0 } else { 255 })));
    assert_eq!(format!("{key:?} {:?}", Seal::new([1; 32], [2; 32])), "Key Seal");
    for wrong in ["", "00", &digits[1..], &format!("{digits}0"), &"0g".repeat(32), &"é".repeat(32)]
    {
        assert_eq!(SharedKey::from_hex(wrong), None, "{wrong}");
    }
}
