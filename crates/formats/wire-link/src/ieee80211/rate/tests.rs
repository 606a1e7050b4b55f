use super::*;

fn micros(rate: PhyRate, preamble: Preamble, bytes: usize) -> u64 {
    let nanos = rate.frame_duration(preamble, bytes).as_nanos();
    assert_eq!(nanos % 1_000, 0, "{rate}: durations are whole microseconds");
    nanos / 1_000
}

#[test]
fn a_datagram_of_a_kilobyte_takes_the_published_times() {
    // 1024 bytes, UDP-Lite, IPv4, LLC/SNAP, MAC header and FCS.
    let ofdm = [1482, 998, 754, 514, 390, 270, 210, 190];
    for (rate, expected) in PhyRate::ALL[4..].iter().zip(ofdm) {
        assert_eq!(micros(*rate, Preamble::Long, 1088), expected, "{rate}");
    }
    for (rate, expected) in PhyRate::ALL[..4].iter().zip([8896, 4544, 1775, 984]) {
        assert_eq!(micros(*rate, Preamble::Long, 1088), expected, "{rate}");
    }
}

#[test]
fn acknowledgements_take_the_published_times() {
    let rates = [PhyRate::Ofdm6, PhyRate::Ofdm12, PhyRate::Ofdm24, PhyRate::Dsss1, PhyRate::Dsss2];
    for (rate, expected) in rates.into_iter().zip([50, 38, 34, 304, 248]) {
        assert_eq!(micros(rate, Preamble::Long, 14), expected, "{rate}");
    }
}

/// The formula of the standard, written down a second time: whole symbols by counting up.
#[test]
fn every_length_at_every_rate_agrees_with_counting_symbols() {
    for rate in PhyRate::ALL {
        let mbps = rate.rate().as_bps() as f64 / 1e6;
        for bytes in (0..2_400).step_by(7) {
            let bits = (bytes * 8) as f64;
            let expected = if rate.is_ofdm() {
                let mut symbols = 0;
                while f64::from(symbols) * mbps * 4.0 < bits + 22.0 {
                    symbols += 1;
                }
                16 + 4 + 4 * symbols + 6
            } else {
                let exact = bits / mbps;
                192 + (exact - 1e-9).max(0.0).ceil() as u32
            };
            assert_eq!(micros(rate, Preamble::Long, bytes), u64::from(expected), "{rate} {bytes}");
        }
    }
}

#[test]
fn the_short_preamble_saves_96_microseconds_except_at_1_mbps() {
    for rate in PhyRate::ALL {
        let saved = micros(rate, Preamble::Long, 500) - micros(rate, Preamble::Short, 500);
        let has_short = !rate.is_ofdm() && rate != PhyRate::Dsss1;
        assert_eq!(saved, if has_short { 96 } else { 0 }, "{rate}");
    }
}

#[test]
fn only_rates_of_the_standard_are_rates() {
    for rate in PhyRate::ALL {
        assert_eq!(PhyRate::from_rate(rate.rate()), Some(rate));
        assert_eq!(PhyRate::from_half_megabits(rate.half_megabits()), Some(rate));
    }
    for bps in [1, 500_000, 3_000_000, 5_500_001, 22_000_000, 53_999_999, 65_000_000, u64::MAX] {
        assert_eq!(Rate::from_bps(bps).and_then(PhyRate::from_rate), None, "{bps}");
    }
}
