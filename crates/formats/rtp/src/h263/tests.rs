use super::*;

/// The first header is of ffmpeg's H.263+, QCIF with slices; the second of its H.263.
const PLUS: [u8; 16] = [
    0x00, 0x00, 0x80, 0x06, 0x1c, 0xa8, 0x21, 0x04, 0x97, 0xf8, 0x09, 0x01, 0x0a, 0x78, 0x90, 0x5d,
];
const BASELINE: [u8; 16] = [
    0x00, 0x00, 0x80, 0x0a, 0x0a, 0x02, 0x02, 0x9e, 0x24, 0x17, 0x4f, 0x7d, 0x56, 0xae, 0x95, 0x7b,
];

#[test]
fn the_length_of_a_picture_header_follows_its_options() {
    // 22 + 8 + 8 up to the source format, 5 bits of PTYPE, PQUANT 5, CPM 1, PEI 1.
    assert_eq!(picture_header_bits(&BASELINE), Some(50));
    // 38, UFEP 3, OPPTYPE 18, MPPTYPE 9, CPM 1, CPCFC 8 and ETR 2 since the clock is not the
    // standard one, SSS 2 since slices are on, PQUANT 5, PEI 1.
    assert_eq!(picture_header_bits(&PLUS), Some(87));
    assert_eq!(picture_header_bits(&PLUS[..10]), None, "cut off");
    assert_eq!(picture_header_bits(&[0, 0, 0x84, 0, 0, 0, 0, 0, 0]), None, "a GOB");
}

#[test]
fn a_header_of_rfc_4629_has_its_fields_in_place() {
    let header = H263PlusHeader {
        is_start: true,
        redundancy: Some(0xa5),
        picture_header: &[0x80, 0x02, 0x1c],
        ignored_bits: 6,
    };
    // 00000 1 1 000011 110
    assert_eq!(header.encode(), [0x06, 0x1e, 0xa5, 0x80, 0x02, 0x1c]);
    let mut bytes = header.encode();
    bytes.push(0x77);
    assert_eq!(H263PlusHeader::parse(&bytes), Ok((header, &[0x77][..])));
    assert_eq!(header.restored(), [0, 0, 0x80, 0x02, 0x00]);
    assert_eq!(H263PlusHeader::parse(&bytes[..4]), Err(RtpError::Short));
}

/// The example of a header in mode A that Microsoft's description of its profile gives.
#[test]
fn a_header_of_rfc_2190_is_read_in_each_mode() {
    let (header, rest) = Rfc2190Header::parse(&[0x02, 0x60, 0x00, 0x02, 0xff]).unwrap();
    assert_eq!((header.mode, header.start_bits, header.end_bits), (H263Mode::A, 0, 2));
    assert_eq!((header.source_format, header.is_inter, rest), (3, false, &[0xff][..]));
    let (header, rest) = Rfc2190Header::parse(&[0x9c, 0x40, 0, 0, 0x80, 0, 0, 0, 1]).unwrap();
    assert_eq!((header.mode, header.start_bits, header.end_bits), (H263Mode::B, 3, 4));
    assert_eq!((header.source_format, header.is_inter, rest), (2, true, &[1][..]));
    let (header, rest) = Rfc2190Header::parse(&[0xc0; 13]).unwrap();
    assert_eq!((header.mode, rest.len()), (H263Mode::C, 1));
    assert_eq!(Rfc2190Header::parse(&[0xc0; 11]), Err(RtpError::Short));
}

#[test]
fn payloads_end_at_slices_and_carry_the_picture_header_again() {
    let mut picture = PLUS.to_vec();
    for slice in 0..5_u8 {
        picture.extend([0, 0, 0xc0 | slice, 0x11]);
        picture.extend([0x55; 56]);
    }
    let payloads = packetize(&picture, 150, true);
    assert!(payloads.iter().all(|payload| payload.bytes.len() <= 150));
    for payload in &payloads[1..] {
        let (header, rest) = H263PlusHeader::parse(&payload.bytes).unwrap();
        assert!(header.is_start);
        assert_eq!((rest[0] & 0xc0, header.ignored_bits), (0xc0, 1));
        assert_eq!(header.picture_header, &PLUS[2..11]);
        assert_eq!(payload.exact, 2 + 9 + 4);
    }
    // Headers of payload and picture, without the null bytes.
    assert_eq!(payloads[0].exact, 2 + 11 - 2);
    let shorter = packetize(&picture, 150, false);
    assert!(
        shorter.iter().all(|it| H263PlusHeader::parse(&it.bytes)
            .unwrap()
            .0
            .picture_header
            .is_empty())
    );
}

#[test]
fn each_mode_of_rfc_2190_tells_in_its_own_place_whether_a_picture_is_predicted() {
    // RFC 2190, sections 5.1 to 5.3: I is behind SRC in mode A, and begins the second word else.
    for (first, length, mode) in [
        (0x00, 4, H263Mode::A),
        (0x40, 4, H263Mode::A),
        (0x80, 8, H263Mode::B),
        (0xc0, 12, H263Mode::C),
    ] {
        for is_inter in [false, true] {
            // All other bits are set, and then none.
            for others in [0xff_u8, 0] {
                let mut payload = vec![others; length];
                payload[0] = first | 0b101_011;
                let (at, bit) = if mode == H263Mode::A { (1, 0x10) } else { (4, 0x80) };
                payload[at] = if is_inter { payload[at] | bit } else { payload[at] & !bit };
                payload[1] = payload[1] & 0x1f | 0b010 << 5;
                payload.extend([1, 2, 3]);
                let (header, rest) = Rfc2190Header::parse(&payload).expect("a header");
                assert_eq!((header.mode, header.is_inter), (mode, is_inter), "{payload:x?}");
                assert_eq!((header.start_bits, header.end_bits), (5, 3));
                assert_eq!((header.source_format, rest), (2, &[1, 2, 3][..]));
            }
        }
        let short = vec![first; length - 1];
        assert_eq!(Rfc2190Header::parse(&short), Err(RtpError::Short));
    }
}
