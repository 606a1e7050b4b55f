use super::*;

#[test]
fn rates_read_and_print_alike() {
    for text in ["10Mbps", "1Gbps", "64kbps", "1200bps"] {
        assert_eq!(text.parse::<Rate>().unwrap().to_string(), text);
    }
    assert_eq!("2.5".parse::<Rate>().unwrap().as_bps(), 2_500_000);
    assert_eq!("100 mbit".parse::<Rate>().unwrap().as_bps(), 100_000_000);
}

#[test]
fn impossible_rates_are_refused() {
    for text in ["0", "-3Mbps", "inf", "10 Mbp", "1e300Gbps"] {
        assert!(text.parse::<Rate>().is_err(), "{text}");
    }
}

#[test]
fn a_rate_of_a_serial_line_needs_a_unit() {
    let error = "57600".parse::<Rate>().expect_err("it would be 57.6 Gb/s").to_string();
    assert!(error.contains("write 57600bps or 57600Mbps"), "{error}");
    assert_eq!("57600bps".parse().ok(), Rate::from_bps(57_600));
    assert_eq!("57.6".parse().ok(), Rate::from_bps(57_600_000));
}

#[test]
fn rates_in_bytes_are_refused_with_what_they_are_in_bits() {
    let cases = [
        ("10MBps", "80Mbps"),
        ("10MBPS", "80Mbps"),
        ("1.5 kB/s", "12kbps"),
        ("2GB", "16Gbps"),
        ("1_000Bps", "8000bps"),
    ];
    for (text, bits) in cases {
        let error = text.parse::<Rate>().unwrap_err().to_string();
        assert!(error.ends_with(&format!("bytes, and rates are in bits: write {bits}")), "{error}");
    }
    // What names bits is taken as netem takes it, in any case.
    for text in ["10mbps", "10MBit", "10MBIT", "10mBit"] {
        assert_eq!(text.parse::<Rate>().unwrap().as_bps(), 10_000_000, "{text}");
    }
    assert!("10 xBps".parse::<Rate>().is_err() && "B".parse::<Rate>().is_err());
}

#[test]
fn the_fastest_rate_is_the_same_in_every_message() {
    assert!("10000Gbps".parse::<Rate>().is_ok());
    let error = "10001Gbps".parse::<Rate>().unwrap_err().to_string();
    assert!(error.contains("between 1bps and 10000Gbps"), "{error}");
}

#[test]
fn misspelt_probabilities_are_told_as_they_are_to_be_written() {
    let cases = [
        ("0,05", "write a point for the comma: 0.05"),
        ("0,5%", "write a point for the comma: 0.5"),
        ("10^-5", "write the power of ten as 1e-5"),
    ];
    for (text, fix) in cases {
        let error = text.parse::<Probability>().unwrap_err().to_string();
        assert!(error.ends_with(fix), "{error}");
    }
    assert_eq!("1e-5%".parse::<Probability>().unwrap().to_string(), "1e-7");
    assert_eq!("2.5 %".parse::<Probability>().unwrap().get(), 0.025);
    assert!("%".parse::<Probability>().is_err());
}

#[test]
fn a_probability_that_only_looks_like_one_is_refused() {
    for text in ["1e-400", "1e-400%", "0.5E-330", "-1e-400"] {
        let error = text.parse::<Probability>().unwrap_err().to_string();
        assert!(error.contains(text) && error.ends_with("write 0, or 1e-300 or more"), "{error}");
    }
    for text in ["0", "0%", "0.0", "0e9", "0e-400%", "-0"] {
        assert!(text.parse::<Probability>().unwrap().is_zero(), "{text}");
    }
    assert!(!"1e-300".parse::<Probability>().unwrap().is_zero());
}

#[test]
fn air_time_is_rounded_up() {
    let rate = Rate::from_bps(3).unwrap();
    assert_eq!(rate.time_of_bits(1).as_nanos(), 333_333_334);
    assert_eq!(Rate::from_mbps(2).unwrap().time_of(1500).as_micros(), 6_000);
    assert!(!rate.time_of_bits(u64::MAX / 8).is_zero());
}

#[test]
fn probabilities_are_fractions_or_per_cent() {
    assert_eq!("1%".parse::<Probability>().unwrap().get(), 0.01);
    assert_eq!("1e-5".parse::<Probability>().unwrap().get(), 1e-5);
    assert_eq!("70%".parse::<Probability>().unwrap().to_string(), "0.7");
    for text in ["1.1", "-0.1", "101%", "nan", "one"] {
        let error = text.parse::<Probability>().unwrap_err().to_string();
        assert!(error.contains(text), "{error}");
    }
}

#[test]
fn sizes_powers_and_distances() {
    assert_eq!("64kB".parse::<ByteCount>().unwrap().0, 64_000);
    assert_eq!("1MiB".parse::<ByteCount>().unwrap().0, 1 << 20);
    assert_eq!("-10dBm".parse::<Dbm>().unwrap().0, -10.0);
    assert_eq!("0.5km".parse::<Metres>().unwrap().0, 500.0);
    assert!("-8m".parse::<Metres>().is_err());
}
