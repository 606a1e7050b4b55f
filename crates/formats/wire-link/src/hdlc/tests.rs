use proptest::prelude::*;

use super::*;

fn any_check() -> impl Strategy<Value = HdlcCheck> {
    prop_oneof![Just(HdlcCheck::Fcs16), Just(HdlcCheck::Fcs32)]
}

//= S1.11
#[test]
fn the_checks_have_their_published_values_and_residues() {
    assert_eq!(fcs16(b"123456789"), 0x906e);
    assert!(HdlcCheck::Fcs16.holds(b"123456789\x6e\x90"));
    assert!(HdlcCheck::Fcs32.holds(b"123456789\x26\x39\xf4\xcb"));
    // Over content and check the sums are the residues of RFC 1662.
    assert_eq!(fcs16_step(FCS16_START, b"123456789\x6e\x90"), 0xf0b8);
    let whole = crate::check::frame_check(&[b"123456789\x26\x39\xf4\xcb"]);
    assert_eq!(!u32::from_le_bytes(whole), 0xdebb_20e3);
    assert!(!HdlcCheck::Fcs16.holds(b"1") && !HdlcCheck::Fcs32.holds(b""));
}

//= S1.11
#[test]
fn a_configure_request_looks_as_on_a_real_line() {
    // LCP Configure-Request 1 with a magic number, as pppd begins.
    let content = [0xff, 3, 0xc0, 0x21, 1, 1, 0, 10, 5, 6, 0x7e, 0x7d, 0, 1];
    let mut line = Vec::new();
    encode_frame(&[&content], HdlcCheck::Fcs16, Accm::ALL, &mut line);
    let escaped = [
        0x7e, 0xff, 0x7d, 0x23, 0xc0, 0x21, 0x7d, 0x21, 0x7d, 0x21, 0x7d, 0x20, 0x7d, 0x2a, 0x7d,
        0x25, 0x7d, 0x26, 0x7d, 0x5e, 0x7d, 0x5d, 0x7d, 0x20, 0x7d, 0x21,
    ];
    assert_eq!(line[..escaped.len()], escaped);
    assert_eq!(line.last(), Some(&FLAG));
}

#[test]
fn the_check_is_the_remainder_of_its_polynomial_at_every_length() {
    let bytes: Vec<u8> = (0..80).map(|i| (i * 89 + 7) as u8).collect();
    let mut sum = 0xffff_u16;
    for (len, byte) in bytes.iter().enumerate() {
        assert_eq!(fcs16(&bytes[..len]), !sum, "{len} bytes");
        for bit in 0..8 {
            let lead = (sum ^ u16::from(byte >> bit)) & 1;
            sum = (sum >> 1) ^ (lead * 0x8408);
        }
    }
}

proptest! {
    #[test]
    fn frames_survive(
        parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..60), 1..3),
        check in any_check(),
        map: u32,
        noise in prop::collection::vec(any::<bool>(), 200),
    ) {
        for accm in [Accm::NONE, Accm::ALL, Accm(map)] {
            let slices: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
            let mut line = Vec::new();
            encode_frame(&slices, check, accm, &mut line);
            let inside = &line[1..line.len() - 1];
            prop_assert!(!inside.contains(&FLAG));
            prop_assert!(!inside.iter().any(|byte| accm.names(*byte)));
            // The line may insert bytes that the map names, except behind an escape.
            let mut noisy = Vec::new();
            for (i, &byte) in inside.iter().enumerate() {
                if noise[i % 200] && accm.names(0x11) && (i == 0 || inside[i - 1] != ESCAPE) {
                    noisy.push(0x11);
                }
                noisy.push(byte);
            }
            let mut content = Vec::new();
            prop_assert!(unescape(&noisy, accm, &mut content));
            prop_assert!(check.holds(&content));
            content.truncate(content.len() - check.len());
            prop_assert_eq!(content, parts.concat());
        }
    }

    #[test]
    fn any_bytes_are_taken_without_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..80),
        map: u32,
        check in any_check(),
    ) {
        let mut content = Vec::new();
        let _ = unescape(&bytes, Accm(map), &mut content);
        prop_assert!(content.len() <= bytes.len());
        let _ = check.holds(&content);
    }

    #[test]
    fn an_inverted_bit_is_seen(content in prop::collection::vec(any::<u8>(), 1..60), bit: usize) {
        for check in [HdlcCheck::Fcs16, HdlcCheck::Fcs32] {
            let mut bytes = content.clone();
            bytes.extend(&check.over(&[&content])[..check.len()]);
            prop_assert!(check.holds(&bytes));
            let bit = bit % (8 * bytes.len());
            bytes[bit / 8] ^= 0x80 >> (bit % 8);
            prop_assert!(!check.holds(&bytes));
        }
    }
}
