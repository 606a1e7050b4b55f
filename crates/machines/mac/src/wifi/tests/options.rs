use windfall_base::Preamble;
use windfall_wire_link::ieee80211::Timing;

use super::super::radio::{Period, State};
use super::super::{Backoff, ConfigError};
use super::*;

#[test]
fn values_that_the_standard_lacks_are_refused_by_name() {
    let check = |change: &dyn Fn(&mut Config)| {
        let mut config = Config::new(address(0), Phy::B);
        change(&mut config);
        config.check()
    };
    assert_eq!(check(&|_| {}), Ok(()));
    let refused = check(&|config| config.rate = PhyRate::Ofdm54);
    assert_eq!(refused, Err(ConfigError::Rate { rate: PhyRate::Ofdm54, phy: Phy::B }));
    let refused = check(&|config| config.fragment_threshold = 255);
    assert_eq!(refused, Err(ConfigError::FragmentThreshold(255)));
    let refused = check(&|config| config.rts_threshold = 2_348);
    assert_eq!(refused, Err(ConfigError::RtsThreshold(2_348)));
    assert_eq!(check(&|config| config.basic_rates.clear()), Err(ConfigError::NoBasicRate));
    assert_eq!(check(&|config| config.combine = true), Err(ConfigError::UncodedCopies));
    let code = Some(windfall_wire_link::ieee80211::Code::NONE);
    assert_eq!(check(&|config| config.wep = true), Ok(()));
    assert_eq!(check(&|config| config.coding = code), Ok(()));
    let refused = check(&|config| (config.wep, config.coding) = (true, code));
    assert_eq!(refused, Err(ConfigError::CodedWep));
}

#[test]
fn a_packet_takes_the_air_time_of_its_data_frame() {
    for phy in [Phy::B, Phy::G] {
        let config = Config::new(address(0), phy);
        let time = |len| config.attempt_time(config.highest_rate(), len);
        // 24 bytes of MAC header, 8 of LLC/SNAP, 4 of FCS.
        assert_eq!(config.packet_time(988), time(1_024));
        let wep = Config { wep: true, ..config.clone() };
        assert_eq!(wep.packet_time(988), time(1_024 + 8));
    }
}

#[test]
fn responses_use_the_highest_basic_rate_that_is_not_higher() {
    let config = Config::new(address(0), Phy::G);
    let pairs = [
        (PhyRate::Ofdm54, PhyRate::Ofdm24),
        (PhyRate::Ofdm18, PhyRate::Ofdm12),
        (PhyRate::Ofdm9, PhyRate::Ofdm6),
        (PhyRate::Cck11, PhyRate::Dsss2),
        (PhyRate::Dsss1, PhyRate::Dsss1),
    ];
    for (rate, response) in pairs {
        assert_eq!(config.response_rate(rate), response, "{rate}");
    }
}

#[test]
fn where_no_basic_rate_fits_responses_use_a_mandatory_one_and_requests_any_basic_one() {
    // A network that 802.11b stations can join.
    let basic_rates = PhyRate::ALL[..4].to_vec();
    let config = Config { basic_rates, ..Config::new(address(0), Phy::G) };
    for (rate, response, request) in [
        (PhyRate::Ofdm54, PhyRate::Ofdm24, PhyRate::Cck11),
        (PhyRate::Ofdm18, PhyRate::Ofdm12, PhyRate::Cck11),
        (PhyRate::Ofdm9, PhyRate::Ofdm6, PhyRate::Cck11),
        (PhyRate::Cck5_5, PhyRate::Cck5_5, PhyRate::Cck5_5),
    ] {
        assert_eq!((config.response_rate(rate), config.request_rate(rate)), (response, request));
    }
    let config = Config { basic_rates: vec![PhyRate::Ofdm24], ..config };
    assert_eq!(config.request_rate(PhyRate::Cck11), PhyRate::Ofdm24);
    assert_eq!(config.response_rate(PhyRate::Cck11), PhyRate::Cck11);
}

#[test]
fn requests_and_their_answers_go_at_the_rate_that_is_configured_for_them() {
    let rts = |rate| {
        move |config: &mut Config| {
            config.rts_threshold = 0;
            config.rts_rate = rate;
        }
    };
    // 200 times an RTS of 20 bytes and a CTS of 14: unset both go at 2 Mb/s.
    let [unset, slow, fast] = [None, Some(PhyRate::Dsss1), Some(PhyRate::Cck11)]
        .map(|rate| time_for(200, rts(rate)).as_secs_f64());
    let bits = 200.0 * f64::from(20 + 14) * 8.0;
    // Times are known to the millisecond.
    assert!((slow - unset - bits * (1e-6 - 0.5e-6)).abs() < 2e-3, "{slow} {unset}");
    assert!((unset - fast - bits * (0.5e-6 - 1e-6 / 11.0)).abs() < 2e-3, "{unset} {fast}");
    let mut config = Config { rts_rate: Some(PhyRate::Ofdm6), ..Config::new(address(0), Phy::B) };
    let refused = ConfigError::Rate { rate: PhyRate::Ofdm6, phy: Phy::B };
    assert_eq!(config.check(), Err(refused));
    config.rts_rate = Some(PhyRate::Dsss1);
    assert_eq!(config.check(), Ok(()));
}

/// Returns the time of `count` frames of 1 kB from one saturated sender.
fn time_for(count: u64, change: impl Fn(&mut Config) + Copy) -> Duration {
    let mut cell = cell(2, Phy::B, 7, change);
    for tag in 0..count {
        cell.packet(0, kilobyte(tag));
    }
    while cell.stations[0].ledger().held > 0 {
        cell.run_until(cell.now() + Duration::from_millis(1));
    }
    cell.now() - Instant::START
}

//= S2.19
#[test]
fn wep_costs_its_eight_bytes_and_a_short_preamble_saves_its_time() {
    let plain = time_for(200, |_| {});
    let wep = time_for(200, |config| config.wep = true);
    // Eight bytes at 11 Mb/s, rounded to whole microseconds.
    let more = (wep - plain).as_micros() as f64 / 200.0;
    assert!((more - 6.0).abs() <= 1.0 + 1_000.0 / 200.0, "{more} µs a frame");
    let short = time_for(200, |config| config.preamble = Preamble::Short);
    // Data and the acknowledgement at 2 Mb/s are each 96 µs shorter.
    let less = (plain - short).as_micros() as f64 / 200.0;
    assert!((less - 192.0).abs() <= 1_000.0 / 200.0, "{less} µs a frame");
}

#[test]
fn a_frame_says_its_rate_its_preamble_and_what_these_cost() {
    for preamble in [Preamble::Long, Preamble::Short] {
        let config = Config { preamble, ..Config::new(address(0), Phy::B) };
        let mut station = Station::new(config, address(1), 1);
        let packet = Input::Frame(kilobyte(1), RxVector::wired(micros(0)));
        station.handle_input(micros(0), DEVICE, packet);
        let mut now = micros(0);
        let outgoing = (0..99).find_map(|_| {
            let sent = station.poll_transmit(now);
            if sent.is_none() {
                now = station.poll_timeout().expect("it contends").0;
                station.handle_timeout(now);
            }
            sent
        });
        let (_, Outgoing { frame, vector }) = outgoing.expect("the medium is free");
        let rate = PhyRate::Cck11;
        assert_eq!((vector.rate, vector.preamble), (Some(rate.rate()), preamble));
        let took = vector.overhead + rate.rate().time_of(frame.len());
        assert_eq!(took, rate.frame_duration(preamble, frame.len()));
    }
}

#[test]
fn a_lone_saturated_sender_gets_the_throughput_of_the_formula() {
    const PACKETS: u64 = 4_000;
    for (slot, timing) in [(20, Timing::G_LONG_SLOT), (9, Timing::G_SHORT_SLOT)] {
        let mut cell = cell(2, Phy::G, 7, |config| config.timing = timing);
        for tag in 0..PACKETS {
            cell.packet(0, kilobyte(tag));
        }
        while cell.stations[0].ledger().held > 0 {
            cell.run_until(cell.now() + Duration::from_micros(slot));
        }
        let frame = PhyRate::Ofdm54.frame_duration(Preamble::Long, 1_024).as_micros();
        let fixed = timing.difs().as_micros() + frame + 1 + 10 + 34 + 1;
        let mean = fixed as f64 + 7.5 * slot as f64;
        let measured = cell.now().as_nanos() as f64 / 1e3 / PACKETS as f64;
        // A uniform draw from 0..=15 slots has a deviation of 4.61; four of them over √4000.
        let tolerance = 4.0 * 4.61 * slot as f64 / (PACKETS as f64).sqrt();
        assert!((measured - mean).abs() < tolerance, "{measured} against {mean} ± {tolerance}");
        assert_eq!(PROPAGATION, Duration::from_micros(1));
    }
}

#[test]
fn a_mild_backoff_does_not_forget_the_crowd() {
    let failures = |backoff| {
        let mut cell = cell(8, Phy::B, 11, |config: &mut Config| config.backoff = backoff);
        for station in 0..8 {
            for tag in 0..60 {
                cell.packet(station, kilobyte(tag));
            }
        }
        cell.run_until(micros(5_000_000));
        let sent: usize = cell.stations.iter().map(Station::sent).sum();
        sent - 8 * 60
    };
    let binary = failures(Backoff::Binary);
    let mild = failures(Backoff::Mild);
    assert!(mild < binary, "{mild} collisions with the mild backoff, {binary} with the binary");
}

#[test]
fn the_times_of_a_radio_add_up_to_the_time() {
    let mut cell = cell(3, Phy::G, 3, |config| config.observe_radio = true);
    cell.run_until(micros(1_000));
    cell.packet(0, kilobyte(0));
    cell.run_until(micros(9_000));
    cell.packet(1, kilobyte(1));
    cell.run_until(micros(20_000));
    let data = PhyRate::Ofdm54.frame_duration(Preamble::Long, 1024);
    let ack = PhyRate::Ofdm24.frame_duration(Preamble::Long, 14);
    let now = cell.now();
    let [first, second, third] = [0, 1, 2].map(|station| cell.stations[station].dcf.airtime(now));
    assert_eq!(first.of(State::Transmit), data);
    assert_eq!(first.of(State::Receive), ack);
    assert_eq!(first.of(State::Overhear), data + ack);
    assert_eq!(second.of(State::Transmit), ack + data);
    assert_eq!(second.of(State::Receive), data + ack);
    assert_eq!(second.of(State::Overhear), Duration::ZERO);
    assert_eq!(third.of(State::Receive), data);
    assert_eq!(third.of(State::Overhear), data + ack);
    for (station, airtime) in cell.stations.iter().zip([first, second, third]) {
        let mut until = Instant::START;
        for event in &station.events {
            if let DcfEvent::Radio(Period { began, ended, .. }) = event {
                assert_eq!(*began, until, "periods follow each other");
                until = *ended;
            }
        }
        assert_eq!(airtime.total(), now - Instant::START);
        assert!(until > Instant::START);
    }
}
