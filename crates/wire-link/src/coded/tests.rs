use proptest::prelude::*;

use super::*;

fn any_head() -> impl Strategy<Value = Head> {
    let wish = (any::<bool>(), any::<Option<bool>>())
        .prop_map(|(last, accept_damaged)| Wish { last, accept_damaged });
    let stretches = prop::collection::vec(any::<(u16, u8)>(), 1..=MAX_BLOCKS);
    let number = prop_oneof![
        any::<u16>().prop_map(|seq| Number::Unit(Seq16(seq))),
        any::<(u32, u32, u16)>().prop_map(|(seq, order, settled)| {
            Number::Window(Place { seq: Seq32(seq), order: Seq32(order), settled })
        }),
    ];
    (wish, 0..8_u8, any::<[bool; 2]>(), number, any::<u16>(), stretches).prop_map(
        |(wish, level, [whole, padded], number, length, stretches)| {
            let level = Level(level);
            let place = |(start, len): (u16, u8)| {
                let start = if length == 0 { 0 } else { start % length };
                let most = (usize::from(length) + FCS_LEN - usize::from(start)).min(level.data());
                Stretch { start, len: (usize::from(len) % most + 1) as u8 }
            };
            Head {
                wish,
                level,
                whole,
                padded,
                number,
                length,
                stretches: stretches.into_iter().map(place).collect(),
            }
        },
    )
}

proptest! {
    #[test]
    fn headers_survive(head in any_head()) {
        prop_assert_eq!(Head::parse(&head.encode()), Ok(head));
    }

    #[test]
    fn blocks_are_at_most_255_bytes_and_lie_inside_the_stream(head in any_head()) {
        for index in 0..head.stretches.len() {
            prop_assert!(head.block_len(index) <= BLOCK);
            prop_assert!(head.stretches[index].range().end <= head.stream());
        }
    }

    #[test]
    fn any_bytes_parse_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
        let _ = Head::parse(&bytes);
        let _ = Report::parse(&bytes);
        let _ = parse_records(&bytes);
    }

    #[test]
    fn records_survive(
        parts in prop::collection::vec(
            (any::<u32>(), any::<bool>(), prop::collection::vec(any::<u8>(), 0..=MAX_BLOCKS)),
            0..9,
        ),
        bit: usize,
    ) {
        let record = |(order, again, fates): (u32, bool, Vec<u8>)| Record {
            order: Seq32(order),
            again,
            fates: fates.into_iter().map(Fate::from_byte).collect(),
        };
        let records: Vec<Record> = parts.into_iter().map(record).collect();
        let mut bytes = encode_records(&records);
        prop_assert_eq!(parse_records(&bytes), Ok(records));
        if !bytes.is_empty() {
            let bit = bit % (bytes.len() * 8);
            bytes[bit / 8] ^= 0x80 >> (bit % 8);
            prop_assert_eq!(parse_records(&bytes), Err(HeaderError::Check));
        }
    }

    #[test]
    fn any_bytes_with_a_good_check_parse_without_panic(
        mut bytes in prop::collection::vec(any::<u8>(), 0..40),
        is_window: bool,
    ) {
        if let Some(first) = bytes.first_mut() {
            *first = if is_window { 7 << 4 } else { 6 << 4 };
        }
        let check = header_check(&bytes);
        bytes.extend(check);
        if let Ok(head) = Head::parse(&bytes) {
            for index in 0..head.stretches.len() {
                let _ = (head.stretches[index].range(), head.block_len(index));
            }
        }
    }

    #[test]
    fn reports_survive(
        state in 0..3_u8,
        seq: u16,
        fates in prop::collection::vec(any::<u8>(), 0..=MAX_BLOCKS),
    ) {
        let [high, low] = seq.to_be_bytes();
        let bytes: Vec<u8> = [state, high, low].into_iter().chain(fates).collect();
        let report = Report::parse(&bytes);
        prop_assert!(report.is_ok());
        prop_assert_eq!(report.map(|report| report.encode().to_vec()), Ok(bytes));
    }
}

//= S3.19
//= S3.20
//= S3.21
#[test]
fn levels_have_the_redundancy_of_the_paper() {
    let share = |level: Level| level.parity() as f64 / BLOCK as f64;
    assert!((share(Level::LIGHT) - 0.05).abs() < 0.005);
    assert!((share(Level::ROBUST) - 0.29).abs() < 0.005);
    assert!((share(Level::STRONGEST) - 0.78).abs() < 0.005);
    assert_eq!(Level::correcting(7), Level::LIGHT.stronger());
    assert_eq!(Level::correcting(1_000), Level::STRONGEST);
    assert_eq!(Level::STRONGEST.stronger(), Level::STRONGEST);
    assert_eq!(Level::NONE.weaker(), Level::NONE);
}
