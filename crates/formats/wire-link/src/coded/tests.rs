use proptest::prelude::*;

use super::*;

fn any_head() -> impl Strategy<Value = Head> {
    let wish = (any::<bool>(), any::<Option<bool>>())
        .prop_map(|(last, accept_damaged)| Wish { last, accept_damaged });
    let stretches = prop::collection::vec(any::<(u16, u16)>(), 1..=MAX_BLOCKS);
    let number = prop_oneof![
        any::<u16>().prop_map(|seq| Number::Unit(Seq16(seq))),
        any::<(u32, u32, u16)>().prop_map(|(seq, order, settled)| {
            Number::Window(WindowNumber { seq: Seq32(seq), order: Seq32(order), settled })
        }),
        any::<(u32, u32, u16, u16, u32, u16)>().prop_map(
            |(seq, order, settled, flow, number, open)| {
                let place = FlowPlace { flow, number: Seq32(number), open };
                let seq = Seq32(seq);
                let order = Seq32(order);
                Number::Flow(WindowNumber { seq, order, settled }, place)
            }
        ),
    ];
    (wish, 0..8_u8, any::<[bool; 3]>(), number, 0..=65_531_u16, stretches).prop_map(
        |(wish, level, [whole, padded, uncoded], number, length, stretches)| {
            let level = if uncoded { Level::NONE } else { Level(level) };
            let place = |(start, len): (u16, u16)| {
                let start = if length == 0 { 0 } else { start % length };
                let rest = usize::from(length) + FCS_LEN - usize::from(start);
                let most = if uncoded { rest } else { rest.min(level.data()) };
                Stretch { start, len: (usize::from(len) % most + 1) as u16 }
            };
            let count = if uncoded { 1 } else { MAX_BLOCKS };
            Head {
                wish,
                level,
                whole,
                padded: padded && !uncoded,
                uncoded,
                number,
                length,
                stretches: stretches.into_iter().take(count).map(place).collect(),
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
            prop_assert!(head.uncoded || head.block_len(index) <= BLOCK);
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

/// A header of one block of this stretch, at the light level.
fn one_block(length: u16, (start, len): (u16, u16), padded: bool) -> Head {
    Head {
        wish: Wish { last: false, accept_damaged: None },
        level: Level::LIGHT,
        whole: false,
        padded,
        uncoded: false,
        number: Number::Unit(Seq16(7)),
        length,
        stretches: [Stretch { start, len }].into_iter().collect(),
    }
}

#[test]
fn a_block_is_its_data_a_check_and_parity_or_all_of_255_bytes() {
    let parity = Level::LIGHT.parity();
    assert_eq!(one_block(100, (0, 40), false).block_len(0), 40 + BLOCK_CHECK + parity);
    assert_eq!(one_block(100, (0, 40), true).block_len(0), BLOCK);
}

#[test]
fn a_stretch_lies_in_the_stream_and_fits_into_a_block() {
    let refused = Err(HeaderError::Field("stretch"));
    let most = Level::LIGHT.data() as u16;
    // The stream is the packet and the four bytes of its check.
    for (length, stretch, padded, good) in [
        (100, (100, 4), false, true),
        (100, (100, 5), false, false),
        (100, (104, 1), false, false),
        (1_000, (0, most), false, true),
        (1_000, (0, most + 1), false, false),
        (1_000, (0, 0), false, false),
        (1_000, (0, 0), true, true),
    ] {
        let head = one_block(length, stretch, padded);
        let expected = if good { Ok(head.clone()) } else { refused.clone() };
        assert_eq!(Head::parse(&head.encode()), expected, "{stretch:?} of {length}");
    }
}

#[test]
fn an_uncoded_frame_has_a_check_and_no_parity_and_a_shorter_header() {
    let uncoded = Head { level: Level::NONE, uncoded: true, ..one_block(1_500, (0, 1_504), false) };
    assert_eq!(Head::parse(&uncoded.encode()), Ok(uncoded.clone()));
    assert_eq!(uncoded.block_len(0), 1_504 + BLOCK_CHECK);
    let blocks: ArrayVec<_, MAX_BLOCKS> = (0..5).map(|n| Stretch { start: n, len: 9 }).collect();
    let five = Head { uncoded: false, stretches: blocks, ..uncoded.clone() };
    assert_eq!(five.encode().len() - uncoded.encode().len(), 5 * 3 - 4);
    // What has parity or padding is in blocks.
    for wrong in [Head { level: Level::LIGHT, ..uncoded.clone() }, Head { padded: true, ..uncoded }]
    {
        assert_eq!(Head::parse(&wrong.encode()), Err(HeaderError::Field("level")));
    }
}

#[test]
fn the_stretch_of_an_uncoded_frame_lies_in_the_stream() {
    for (stretch, good) in [((0, 1_504), true), ((4, 1_501), false), ((0, 0), false)] {
        let head = Head { level: Level::NONE, uncoded: true, ..one_block(1_500, stretch, false) };
        assert_eq!(Head::parse(&head.encode()).is_ok(), good, "{stretch:?}");
    }
}

#[test]
fn a_block_that_was_corrected_never_counts_as_damaged() {
    for corrected in [0, 1, 251, 252, 253, 254, 255] {
        let fate = Fate::from_byte(Fate::Good(corrected).byte());
        assert_eq!(fate, Fate::Good(corrected.min(251)));
        assert!(fate.is_taken());
    }
    let others = [
        (Fate::Combined, true),
        (Fate::Damaged, true),
        (Fate::Failed, false),
        (Fate::Missing, false),
    ];
    for (fate, taken) in others {
        assert_eq!((Fate::from_byte(fate.byte()), fate.is_taken()), (fate, taken));
    }
}
