use proptest::prelude::*;

use super::*;

fn any_wish() -> impl Strategy<Value = Wish> {
    (any::<bool>(), any::<Option<bool>>())
        .prop_map(|(last, accept_damaged)| Wish { last, accept_damaged })
}

fn any_place() -> impl Strategy<Value = Option<FlowPlace>> {
    any::<Option<(u32, [u16; 2])>>().prop_map(|place| {
        place.map(|(number, [flow, open])| FlowPlace { flow, number: Seq32(number), open })
    })
}

fn any_number() -> impl Strategy<Value = Number> {
    prop_oneof![
        Just(Number::Plain),
        any::<u16>().prop_map(|seq| Number::Unit(Seq16(seq))),
        (any::<u32>(), any::<u32>(), any::<u16>()).prop_map(|(seq, order, settled)| {
            Number::Window { seq: Seq32(seq), order: Seq32(order), settled }
        }),
        (any::<[u32; 3]>(), any::<[u16; 3]>()).prop_map(
            |([seq, order, number], [settled, flow, open])| Number::Flow {
                seq: Seq32(seq),
                order: Seq32(order),
                settled,
                place: FlowPlace { flow, number: Seq32(number), open },
            }
        ),
        (any::<[u32; 2]>(), any::<[u16; 2]>(), any::<[u8; 2]>(), any_place()).prop_map(
            |([seq, order], [settled, packet], [first, count], place)| Number::Increment {
                seq: Seq32(seq),
                order: Seq32(order),
                settled,
                part: IncrementPart { packet, first, count },
                place,
            }
        ),
    ]
}

fn bitmap(bits: &[bool]) -> Bitmap {
    let mut map = Bitmap::default();
    for &bit in bits {
        assert!(map.push(bit));
    }
    map
}

proptest! {
    #[test]
    fn data_headers_survive(wish in any_wish(), length: u16, number in any_number()) {
        let data = Data { wish, length, number };
        let bytes = data.encode();
        prop_assert_eq!(bytes.len(), Data::len(number));
        prop_assert_eq!(Header::parse(&bytes, &[]), Ok(Header::Data(data)));
    }

    #[test]
    fn control_headers_survive(
        a: u32,
        b: u32,
        bits in prop::collection::vec(any::<bool>(), 0..=ACK_MAX_COUNT),
    ) {
        let probe = Probe { base: Seq32(a), order: Seq32(b) };
        let (header, trailer) = probe.encode();
        prop_assert_eq!(Header::parse(&header, &trailer), Ok(Header::Probe(probe)));
        let ack = Ack { next: Seq32(a), first: Seq32(b), arrived: bitmap(&bits), kept: None };
        prop_assert_eq!(ack.arrived.iter().collect::<Vec<_>>(), bits.clone());
        let (header, trailer) = ack.encode();
        prop_assert_eq!(Header::parse(&header, &trailer), Ok(Header::Ack(ack)));
        let bits = &bits[..bits.len().min(KEPT_MAX_COUNT)];
        let kept: Vec<bool> = bits.iter().rev().copied().collect();
        let arrived = bitmap(bits);
        let kept = Some(bitmap(&kept));
        let ack = Ack { next: Seq32(a), first: Seq32(b), arrived, kept };
        let (header, trailer) = ack.encode();
        prop_assert_eq!(Header::parse(&header, &trailer), Ok(Header::Ack(ack)));
    }

    #[test]
    fn any_bytes_parse_without_panic(
        header in prop::collection::vec(any::<u8>(), 0..80),
        trailer in prop::collection::vec(any::<u8>(), 0..8),
    ) {
        let _ = Header::parse(&header, &trailer);
        // A frame check that holds lets the parser reach the fields.
        let _ = Header::parse(&header, &frame_check(&[&header]));
    }

    #[test]
    fn every_single_inverted_bit_is_seen(number in any_number(), length: u16, bit in 0_usize..216) {
        let data = Data { wish: Wish::default(), length, number };
        let mut bytes = data.encode();
        let bit = bit % (bytes.len() * 8);
        bytes[bit / 8] ^= 0x80 >> (bit % 8);
        prop_assert!(Header::parse(&bytes, &[]).is_err());
    }
}

#[test]
fn a_full_bitmap_takes_no_more() {
    let mut map = bitmap(&[true; ACK_MAX_COUNT]);
    assert!(!map.push(true));
    assert_eq!(map.len(), ACK_MAX_COUNT);
}
