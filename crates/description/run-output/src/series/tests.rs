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
