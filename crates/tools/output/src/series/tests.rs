use super::*;

#[test]
fn quantiles_are_those_of_the_nearest_rank() {
    assert_eq!(Delays::of(&mut []), None);
    let mut one = [7_000_000_000];
    let alone = Delays { p50: 7.0, p95: 7.0, p99: 7.0, max: 7.0 };
    assert_eq!(Delays::of(&mut one), Some(alone));
    let mut many: Vec<u64> = (1..=200).rev().map(|it| it * 1_000_000_000).collect();
    let found = Delays::of(&mut many);
    assert_eq!(found, Some(Delays { p50: 100.0, p95: 190.0, p99: 198.0, max: 200.0 }));
}

#[test]
fn a_line_has_a_field_for_each_name_of_the_head() {
    let names = CSV_HEAD.split(',').count();
    let delay = Some(Delays { p50: 0.01, p95: 0.02, p99: 0.03, max: 0.04 });
    for delay in [None, delay] {
        let sample = Sample { link: "a-b/a".to_owned(), delay, ..Sample::default() };
        assert_eq!(sample.to_csv().split(',').count(), names, "{}", sample.to_csv());
    }
    let odd = Sample { link: "a,\"b\"".to_owned(), ..Sample::default() };
    assert!(odd.to_csv().contains(",\"a,\"\"b\"\"\","), "{}", odd.to_csv());
}

#[test]
fn a_sample_reads_back_from_its_json() {
    let delay = Some(Delays { p50: 0.01, p95: 0.02, p99: 0.03, max: 0.04 });
    let whole = Sample {
        t: 0.5,
        seconds: 0.25,
        link: "a-b/a".to_owned(),
        rate_bps: 1000.5,
        queue_packets: 2,
        queue_bytes: Some(90),
        delay,
        entered: 9,
        delivered: 7,
        dropped: BTreeMap::from([("lost".into(), 2)]),
        bits_inverted: 3,
        frames: 8,
        retransmitted: 1,
        busy: Some(0.5),
        flow: None,
    };
    let of_flow =
        Sample { flow: Some("web".to_owned()), link: "é".to_owned(), ..Sample::default() };
    for sample in [whole, of_flow] {
        let text = serde_json::to_string(&sample).expect("JSON");
        assert_eq!(serde_json::from_str::<Sample>(&text).expect("a sample"), sample, "{text}");
    }
}

#[test]
fn a_table_has_the_columns_and_the_values_of_the_lines() {
    let delay = Some(Delays { p50: 0.01, p95: 0.02, p99: 0.03, max: 0.04 });
    let dropped = BTreeMap::from([("lost".into(), 2), ("queue-full".into(), 1)]);
    let whole = Sample {
        link: "a-b/a".to_owned(),
        queue_bytes: Some(3000),
        delay,
        dropped,
        entered: 7,
        busy: Some(0.25),
        ..Sample::default()
    };
    let flow = Sample { flow: Some("video".to_owned()), ..Sample::default() };
    let columns = columns(&[whole, flow]);
    let names: Vec<_> = columns.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, CSV_HEAD.split(',').collect::<Vec<_>>());
    let of = |name: &str| &columns.iter().find(|it| it.name == name).expect(name).values;
    let texts = |a: &str, b: &str| Values::Text(vec![a.to_owned(), b.to_owned()]);
    assert_eq!(of("link"), &texts("a-b/a", ""));
    assert_eq!(of("flow"), &texts("", "video"));
    assert_eq!(of("drops"), &texts("lost:2;queue-full:1", ""));
    assert_eq!(of("dropped"), &Values::Whole(vec![3, 0]));
    assert_eq!(of("entered"), &Values::Whole(vec![7, 0]));
    assert_eq!(of("queue_bytes"), &Values::Numbers(vec![Some(3000.0), None]));
    assert_eq!(of("delay_p95"), &Values::Numbers(vec![Some(0.02), None]));
    assert_eq!(of("busy"), &Values::Numbers(vec![Some(0.25), None]));
}
