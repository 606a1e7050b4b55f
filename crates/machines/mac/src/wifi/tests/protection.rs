//! Frames of OFDM beside stations of 802.11b.

use super::super::{ConfigError, Protection};
use super::*;

/// Returns the frames that stations send for a packet of station 0 to station 1.
fn exchange(change: impl Fn(&mut Config)) -> Vec<String> {
    let mut cell = cell(3, Phy::G, 1, |config| {
        config.basic_rates = Phy::B.basic_rates().to_vec();
        config.timing = windfall_wire_link::ieee80211::Timing::G_LONG_SLOT;
        change(config);
    });
    cell.run_until(micros(1_000));
    cell.packet(0, kilobyte(0));
    cell.run_until(micros(10_000));
    let sent = |line: &&str| line.contains(" > ");
    cell.timeline.as_str().lines().filter(sent).map(str::to_owned).collect()
}

#[test]
fn a_cts_to_itself_reserves_the_medium_before_a_frame_of_ofdm() {
    let lines = exchange(|config| config.protection = Some(Protection::CtsToSelf));
    // At 2 Mb/s 192 + 56 µs; then a SIFS, the data frame, a SIFS and an ACK at 24 Mb/s.
    let data = PhyRate::Ofdm54.frame_duration(windfall_base::Preamble::Long, 1_024).as_micros();
    let reserves = 10 + data + 10 + 34;
    assert_eq!(lines.len(), 3, "{lines:#?}");
    let expected = format!("0.001000 0 > Cts to 0 len=14 reserves={reserves}us");
    assert!(lines[0].starts_with(&expected), "{lines:#?}");
    assert!(lines[1].starts_with("0.001258 0 > Data #0 to 1"), "{lines:#?}");
    assert!(lines[2].contains(" 1 > Ack to 0"), "{lines:#?}");
}

#[test]
fn rts_and_cts_reserve_it_where_they_are_chosen() {
    let lines = exchange(|config| config.protection = Some(Protection::RtsCts));
    let kinds: Vec<&str> = lines.iter().filter_map(|line| line.split(' ').nth(3)).collect();
    assert_eq!(kinds, ["Rts", "Cts", "Data", "Ack"], "{lines:#?}");
    // 272 µs of RTS and 248 of CTS at 2 Mb/s, each with a SIFS, and a microsecond on the way.
    assert!(lines[2].starts_with(&format!("0.00{} 0", 1_000 + 272 + 248 + 20 + 2)), "{lines:#?}");
}

#[test]
fn frames_of_802_11b_need_no_protection_and_a_group_none_of_rts() {
    let kinds = |change: &dyn Fn(&mut Config)| -> Vec<String> {
        let lines = exchange(change);
        lines.iter().filter_map(|line| line.split(' ').nth(3)).map(str::to_owned).collect()
    };
    for protection in [Protection::CtsToSelf, Protection::RtsCts] {
        let slow = |config: &mut Config| {
            config.protection = Some(protection);
            config.rate = PhyRate::Cck11;
        };
        assert_eq!(kinds(&slow), ["Data", "Ack"], "{protection:?}");
        // Frames to a station that reads no OFDM do not need protection either.
        let to_b = |config: &mut Config| {
            config.protection = Some(protection);
            config.without_ofdm = [address(1)].into();
        };
        assert_eq!(kinds(&to_b), ["Data", "Ack"], "{protection:?}");
    }
}

#[test]
fn a_reservation_lasts_to_the_last_fragment() {
    let lines = exchange(|config| {
        config.protection = Some(Protection::CtsToSelf);
        config.fragment_threshold = 400;
    });
    let kinds: Vec<&str> = lines.iter().filter_map(|line| line.split(' ').nth(3)).collect();
    assert_eq!(kinds, ["Cts", "Data", "Ack", "Data", "Ack", "Data", "Ack"], "{lines:#?}");
    let number = |text: &str| text.parse::<u64>().expect("a number");
    let last = number(lines[6].split([' ', '.']).nth(1).expect("a time"));
    let reserves = lines[0].split("reserves=").nth(1).expect("it reserves");
    let reserved = number(reserves.split("us").next().expect("microseconds"));
    // The last answer, of 34 µs, ends when the time is over, but for six times a microsecond on
    // the way.
    let ends = last + 34;
    assert!((1_248 + reserved).abs_diff(ends) <= 6, "{reserved} from 1248, {ends}: {lines:#?}");
}

#[test]
fn each_rate_control_has_rates_of_802_11b_for_a_station_that_reads_no_others() {
    use super::super::rate_control::{ARF, MINSTREL};
    for control in [ARF, MINSTREL] {
        let config = Config {
            rate_control: control,
            without_ofdm: [address(1)].into(),
            ..Config::new(address(0), Phy::G)
        };
        let [slow, fast] = [Phy::B, Phy::G].map(|phy| config.rates(phy).rates);
        assert!(slow.iter().all(|rate| !rate.is_ofdm()) && slow.len() == 4, "{slow:?}");
        assert!(fast.iter().all(|rate| rate.is_ofdm()) && fast.len() == 8, "{fast:?}");
    }
}

#[test]
fn protection_goes_at_rates_that_are_read() {
    let config =
        Config { protection: Some(Protection::CtsToSelf), ..Config::new(address(0), Phy::G) };
    // OFDM basic rates cannot protect.
    assert_eq!(config.request_rate(PhyRate::Ofdm54), PhyRate::Dsss2);
    assert_eq!(config.check(), Ok(()));
    let rts = Config { rts_rate: Some(PhyRate::Ofdm6), ..config.clone() };
    assert_eq!(rts.check(), Err(ConfigError::UnreadRequest(PhyRate::Ofdm6)));
    let basic = Config { basic_rates: vec![PhyRate::Ofdm6], ..config };
    assert_eq!(basic.check(), Err(ConfigError::UnreadProtection));
}
