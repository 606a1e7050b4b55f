use proptest::prelude::*;

use super::*;

fn any_function() -> impl Strategy<Value = Supervisory> {
    prop_oneof![
        Just(Supervisory::Rr),
        Just(Supervisory::Rnr),
        Just(Supervisory::Rej),
        Just(Supervisory::Srej),
    ]
}

fn any_control() -> impl Strategy<Value = RlpControl> {
    let number = 0..RLP_MODULUS;
    prop_oneof![
        (0..Unnumbered::ALL.len()).prop_map(|i| RlpControl::Unnumbered(Unnumbered::ALL[i])),
        (any_function(), number.clone())
            .prop_map(|(function, nr)| RlpControl::Supervisory { function, nr }),
        (any_function(), number.clone(), number)
            .prop_map(|(function, ns, nr)| RlpControl::Information { function, ns, nr }),
    ]
}

fn any_frame() -> impl Strategy<Value = RlpFrame> {
    (any::<[bool; 2]>(), any_control(), any::<RlpInfo>()).prop_map(
        |([command, poll_final], control, info)| RlpFrame { command, poll_final, control, info },
    )
}

//= S1.14
#[test]
fn the_frame_check_gives_the_values_of_other_implementations() {
    let ascending: Vec<u8> = (0..27).collect();
    assert_eq!(fcs24(b"123456789"), 0x4e_86cb);
    assert_eq!(fcs24(&[0; 27]), 0xc9_5719);
    assert_eq!(fcs24(&ascending), 0xae_6c82);
}

//= S1.14
#[test]
fn the_header_stands_bit_by_bit_where_the_standard_puts_it() {
    let frame = |command, poll_final, control| RlpFrame {
        command,
        poll_final,
        control,
        info: [0; RLP_INFO_LEN],
    };
    let head = |frame: RlpFrame| [frame.encode()[0], frame.encode()[1]];
    // SABM, P = 1: C/R 1, N(S) 111111, P, M = 11100 in the order of sending.
    let sabm = RlpControl::Unnumbered(Unnumbered::Sabm);
    assert_eq!(head(frame(true, true, sabm)), [0b1111_1001, 0b0001_1111]);
    let xid = RlpControl::Unnumbered(Unnumbered::Xid);
    assert_eq!(head(frame(true, true, xid)), [0b1111_1001, 0b0101_1111]);
    let rr = RlpControl::Supervisory { function: Supervisory::Rr, nr: 5 };
    assert_eq!(head(frame(false, true, rr)), [0b1111_0000, 0b0001_0111]);
    let data = RlpControl::Information { function: Supervisory::Srej, ns: 33, nr: 61 };
    assert_eq!(head(frame(true, false, data)), [0b0000_1111, 0b1111_0101]);
}

#[test]
fn octets_that_are_no_frame_say_why() {
    let mut bytes = RlpFrame {
        command: true,
        poll_final: false,
        control: RlpControl::Unnumbered(Unnumbered::Null),
        info: [7; RLP_INFO_LEN],
    }
    .encode();
    let mut with_head = |head: [u8; 2]| {
        bytes[..2].copy_from_slice(&head);
        let check = fcs24(&bytes[..CHECKED]).to_le_bytes();
        bytes[CHECKED..].copy_from_slice(&check[..3]);
        RlpFrame::parse(&bytes)
    };
    assert_eq!(with_head([0b1111_1001, 0b0000_0101]), Err(RlpError::Kind(1)));
    assert_eq!(with_head([0b1111_0001, 0b1111_1001]), Err(RlpError::Number(62)));
    assert_eq!(with_head([0b0000_0001, 0b1111_1100]), Err(RlpError::Number(63)));
    bytes[29] ^= 1;
    assert_eq!(RlpFrame::parse(&bytes), Err(RlpError::Check));
    assert_eq!(RlpFrame::parse(&bytes[..29]), Err(RlpError::Length(29)));
}

#[test]
fn parameters_stand_as_type_length_value() {
    let parameters = XidParameters { version: Some(0), n2: Some(6), ..XidParameters::default() };
    assert_eq!(parameters.encode()[..5], [0x11, 0, 0x51, 6, 0]);
    // Compression of four octets is unknown here and skipped; the delimiter ends the list.
    let info = [0x74, 1, 2, 3, 4, 0x41, 48, 0, 0x51, 9];
    let read = XidParameters::parse(&info);
    assert_eq!(read, XidParameters { t1: Some(48), ..XidParameters::default() });
}

proptest! {
    #[test]
    fn frames_survive(frame in any_frame()) {
        prop_assert_eq!(RlpFrame::parse(&frame.encode()), Ok(frame));
    }

    #[test]
    fn an_inverted_bit_is_seen(frame in any_frame(), bit in 0..240_usize) {
        let mut bytes = frame.encode();
        bytes[bit / 8] ^= 0x80 >> (bit % 8);
        prop_assert_eq!(RlpFrame::parse(&bytes), Err(RlpError::Check));
    }

    #[test]
    fn any_octets_parse_without_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..32)) {
        let _ = RlpFrame::parse(&bytes);
        bytes.resize(RLP_FRAME_LEN, 0);
        let check = fcs24(&bytes[..CHECKED]).to_le_bytes();
        bytes[CHECKED..].copy_from_slice(&check[..3]);
        if let Ok(frame) = RlpFrame::parse(&bytes) {
            prop_assert_eq!(RlpFrame::parse(&frame.encode()), Ok(frame));
        }
        let _ = XidParameters::parse(&bytes);
    }

    #[test]
    fn parameters_survive(values in any::<[Option<u8>; 6]>()) {
        let [version, window_down, window_up, t1, n2, t2] = values;
        let parameters = XidParameters { version, window_down, window_up, t1, n2, t2 };
        prop_assert_eq!(XidParameters::parse(&parameters.encode()), parameters);
    }
}
