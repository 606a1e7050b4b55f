use proptest::collection::vec;
use proptest::prelude::*;

use windfall_base::{MemoryBudget, OverBudget};

use super::*;

fn fault() -> impl Strategy<Value = Option<Fault>> {
    let gaps = vec(1_u32..3000, 0..20);
    let damage = (any::<bool>(), 0_u32..4000, gaps).prop_map(|(is_cut, more, gaps)| {
        let inverted: Box<[u32]> = gaps
            .iter()
            .scan(0, |bit, gap| {
                *bit += gap;
                Some(*bit)
            })
            .collect();
        let end = inverted.last().map_or(0, |bit| bit + 1);
        Some(Fault::Damaged { truncated: is_cut.then_some(end + more), inverted })
    });
    prop_oneof![4 => Just(None), 1 => Just(Some(Fault::Lost)), 2 => damage]
}

fn header() -> impl Strategy<Value = TraceHeader> {
    (any::<Option<u64>>(), 0_u64..10, any::<Option<u32>>(), ".{0,20}").prop_map(
        |(seed, rate, frame_length, workload)| TraceHeader {
            seed: seed.map(Seed),
            rate: Rate::from_mbps(rate),
            frame_length,
            workload,
            ..TraceHeader::default()
        },
    )
}

fn frames() -> impl Strategy<Value = ErrorTrace> {
    (header(), vec((fault(), 1_u64..5), 1..40)).prop_map(|(header, faults)| {
        let mut trace = ErrorTrace::new(header);
        for (fault, count) in faults {
            match fault {
                Some(fault) => trace.push(fault, count),
                None => trace.push_ok(count),
            }
        }
        trace
    })
}

fn bits() -> impl Strategy<Value = ErrorTrace> {
    vec((any::<bool>(), 1_u64..50), 1..40).prop_map(|runs| {
        let mut trace =
            ErrorTrace::new(TraceHeader { index: Index::Bit, ..TraceHeader::default() });
        for (is_wrong, count) in runs {
            if is_wrong { trace.push(Fault::Inverted, count) } else { trace.push_ok(count) }
        }
        trace
    })
}

proptest! {
    #[test]
    fn bits_are_renumbered_within_their_bytes_and_back(bits in vec(0_u32..500, 0..60)) {
        let bits: Vec<u32> = std::collections::BTreeSet::from_iter(bits).into_iter().collect();
        let air = BitOrder::Lsb.renumber(bits.clone());
        prop_assert!(air.is_sorted_by(|a, b| a < b));
        let same_byte = |(a, b): (&u32, &u32)| a / 8 == b / 8;
        prop_assert!(air.iter().zip(&bits).all(same_byte));
        prop_assert_eq!(BitOrder::Msb.renumber(bits.clone()), bits.clone());
        prop_assert_eq!(BitOrder::Lsb.renumber(air), bits);
    }

    //= S3.3
    #[test]
    fn what_is_written_is_read(trace in prop_oneof![frames(), bits()]) {
        prop_assert_eq!(&ErrorTrace::from_text(&trace.to_text()), &Ok(trace.clone()));
        prop_assert_eq!(ErrorTrace::from_bytes(&trace.to_gzip()), Ok(trace));
    }

    #[test]
    fn arbitrary_bytes_are_refused(bytes in vec(any::<u8>(), 0..300)) {
        prop_assert!(ErrorTrace::from_bytes(&bytes).is_err());
        let gzip = [&[0x1f, 0x8b, 8][..], &bytes].concat();
        prop_assert!(ErrorTrace::from_bytes(&gzip).is_err());
    }

    #[test]
    fn arbitrary_lines_never_panic(lines in "([ltbx0-9 e#nd]{0,12}\n){0,12}", bit: bool) {
        let index = if bit { "bit" } else { "frame" };
        let text = format!(
            "{{\"format\":\"windfall-error-trace\",\"version\":1,\"index\":\"{index}\"}}\n{lines}"
        );
        if let Ok(trace) = ErrorTrace::from_text(&text) {
            prop_assert_eq!(ErrorTrace::from_text(&trace.to_text()), Ok(trace));
        }
    }

    #[test]
    fn a_broken_off_trace_is_refused(trace in frames(), cut in 0.0..1.0_f64) {
        let text = trace.to_text();
        let end = (0..=(text.len() as f64 * cut) as usize)
            .rev().find(|&i| text.is_char_boundary(i)).unwrap_or(0);
        let broken = &text[..end];
        // Without its last newline, or digits of its length that happen not to matter, it is whole.
        if broken != text.trim_end() && broken != text {
            prop_assert!(ErrorTrace::from_text(broken).is_err());
        }
    }

    #[test]
    fn bits_and_their_lookup_agree(trace in bits(), start in 0_u64..3000, count in 0_u32..900) {
        let mut struck = Vec::new();
        trace.sample_hits(start, count, |bit| struck.push(bit));
        let looked_up: Vec<u32> =
            (0..count).filter(|&i| trace.fault(start + u64::from(i)).is_some()).collect();
        prop_assert_eq!(struck, looked_up);
    }
}

#[test]
fn the_format_is_what_its_page_says() {
    let header = TraceHeader {
        seed: Some(Seed(7)),
        frame_length: Some(1500),
        workload: "synth".to_owned(),
        ..TraceHeader::default()
    };
    let mut trace = ErrorTrace::new(header);
    trace.push_ok(12);
    trace.push(Fault::Lost, 3);
    trace.push(Fault::Damaged { truncated: Some(4096), inverted: [17, 18, 60].into() }, 1);
    trace.push_ok(84);
    let text = "{\"format\":\"windfall-error-trace\",\"version\":1,\"seed\":7,\"unit\":\"bit\",\
                \"index\":\"frame\",\"origin\":\"payload\",\"frames\":\"packets\",\
                \"frame_length\":1500,\"workload\":\"synth\"}\n\
                12\nl 3\nt 4096 b 17 1 42\n84\nend 100\n";
    assert_eq!(trace.to_text(), text);
    assert_eq!(trace.fault(14), Some(&Fault::Lost));
    assert_eq!(trace.fault(112), Some(&Fault::Lost), "it wraps");
    assert_eq!(trace.fault(16), None);
}

#[test]
fn errors_name_the_line_and_the_fix() {
    let head = "{\"format\":\"windfall-error-trace\",\"version\":1}\n";
    let cases = [
        ("", "line 1: no error trace begins like this"),
        ("{\"format\":\"windfall-error-trace\",\"version\":3}", "line 1: version 3"),
        (
            "{\"format\":\"windfall-error-trace\",\"version\":1,\"bit_order\":\"lsb\"}",
            "line 1: bit_order belongs to version 2",
        ),
        (
            "{\"format\":\"windfall-error-trace\",\"version\":2,\"index\":\"bit\",\
             \"bit_order\":\"lsb\"}",
            "line 1: bit_order: a stream of bits has no bytes",
        ),
        ("{\"format\":\"windfall-error-trace\",\"version\":1,\"sed\":1}", "unknown field `sed`"),
        (&format!("{head}5\nq\nend 5"), "line 3: \"q\" is no event"),
        (&format!("{head}5\nend 6"), "line 3: the trace should end after 6 frames or bits"),
        (&format!("{head}5\nend 6"), "the lines above make 5"),
        (&format!("{head}5\n"), "the trace breaks off after line 2"),
        (&format!("{head}b 5 0\nend 1"), "names a bit twice"),
        (&format!("{head}t 5 b 7\nend 1"), "also cuts off"),
        (&format!("{head}b +5\nend 1"), "is not a whole number that fits"),
        (&format!("{head}l -3\nend 1"), "is not a whole number that fits"),
        (
            &format!("{head}18446744073709551615\nl\nend 1"),
            "line 3: \"l\" makes the trace too long",
        ),
    ];
    for (text, message) in cases {
        let error = ErrorTrace::from_text(text).expect_err("it is wrong").to_string();
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn reading_takes_bounded_memory() {
    let header = "{\"format\":\"windfall-error-trace\",\"version\":1}\n";
    let limit = 1_000_000;
    let refused = Err(ErrorTraceError::TooLong(OverBudget { limit }));
    let read = |bytes: &[u8], limit| {
        let mut budget = MemoryBudget::new(limit);
        let trace = ErrorTrace::from_bytes_within(bytes, &mut budget)?;
        assert_eq!(budget.left(), limit - trace.memory());
        Ok(trace.entries().len())
    };
    // A text that is compressed a thousandfold.
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    std::io::Write::write_all(&mut encoder, &vec![b'#'; 20 * limit]).expect("memory");
    let bomb = encoder.finish().expect("memory");
    assert!(bomb.len() < limit / 4);
    assert_eq!(read(&bomb, limit), refused);
    // Short lines that make long entries, and one line of many bits.
    let faults = format!("{header}{}end 80000\n", "l\n1\n".repeat(40_000));
    let bits = format!("{header}b{}\nend 1\n", " 1".repeat(300_000));
    for text in [faults, bits] {
        assert_eq!(read(text.as_bytes(), limit), refused);
        assert!(read(text.as_bytes(), 10 * limit).is_ok());
    }
}

#[test]
fn the_memory_of_a_trace_is_that_of_its_entries_and_the_bits_they_list() {
    let trace = |bits: u32| {
        let mut trace = ErrorTrace::new(TraceHeader::default());
        assert_eq!(trace.memory(), 0);
        trace.push(Fault::Lost, 1);
        let inverted = (0..bits).collect();
        trace.push(Fault::Damaged { truncated: Some(9_000), inverted }, 1);
        trace
    };
    let few = trace(0);
    let many = trace(1_000);
    assert_eq!(many.memory() - few.memory(), 4_000);
    let entries = few.entries.capacity() * size_of::<Entry>();
    // Two words for each entry's list.
    assert_eq!(few.memory(), entries + few.entries.capacity() * 16);
}

#[test]
fn a_trace_takes_another_header_and_keeps_its_faults_and_its_index() {
    let mut bits = ErrorTrace::new(TraceHeader { index: Index::Bit, ..TraceHeader::default() });
    bits.push(Fault::Inverted, 3);
    let header = TraceHeader { workload: "pings".to_owned(), ..TraceHeader::default() };
    let renamed = bits.clone().with_header(header);
    assert_eq!(renamed.header().workload, "pings");
    assert_eq!(renamed.header().index, Index::Bit);
    assert_eq!((renamed.entries(), renamed.len()), (bits.entries(), 3));
}
