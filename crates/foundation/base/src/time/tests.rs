use super::*;

#[test]
fn text_of_a_duration_parses_back() {
    for nanos in [0, 1, 999, 1_000, 1_500, 2_000_000, 61_000_000_000, u64::MAX / 2_048] {
        let span = Duration::from_nanos(nanos);
        let back: Duration = span.to_string().parse().unwrap();
        assert!(back.as_nanos().abs_diff(nanos) <= nanos >> 50, "{span} became {back}");
    }
}

#[test]
fn a_bare_number_is_in_milliseconds() {
    assert_eq!("10".parse::<Duration>().unwrap(), Duration::from_millis(10));
    assert_eq!("1.5s".parse::<Duration>().unwrap(), Duration::from_millis(1_500));
    for text in ["20 us", "20\u{b5}s", "20\u{3bc}s", "20usec", "0.02msecs", "20000 nsec"] {
        assert_eq!(text.parse::<Duration>().unwrap(), Duration::from_micros(20), "{text}");
    }
    assert_eq!("5sec".parse::<Duration>().unwrap(), Duration::from_secs(5));
}

#[test]
fn bad_times_name_the_value_and_the_fix() {
    let error = "5 parsecs".parse::<Duration>().unwrap_err().to_string();
    assert!(error.contains("5 parsecs") && error.contains("5ms"), "{error}");
    assert!("-1ms".parse::<Duration>().is_err());
    assert!("".parse::<Duration>().is_err());
    assert!("nan".parse::<Duration>().is_err());
}

#[test]
fn spans_of_the_standard_library_are_the_same_spans() {
    let std = core::time::Duration::new(1, 500);
    assert_eq!(Duration::from(std), Duration::from_nanos(1_000_000_500));
    assert_eq!(core::time::Duration::from(Duration::from_nanos(1_000_000_500)), std);
    assert_eq!(Duration::from(core::time::Duration::MAX), Duration::MAX);
}
