//! Rate controls: those of the table, and one that needs nothing but its own file.

use std::collections::BTreeSet;

use windfall_base::{Preamble, Stream};

use super::super::radio::State;
use super::super::rate_control::{ARF, Attempt, RateControl, RateControlKind, ladder};
use super::*;

/// A rate control that only this test defines: each attempt uses the next higher rate.
const RISING: RateControlKind = RateControlKind {
    name: "rising",
    help: "The rates from the lowest on, one for each attempt",
    is_adaptive: true,
    build: |setup| Box::new(Rising(setup.rates.clone())),
};

#[derive(Debug)]
struct Rising(Vec<PhyRate>);

impl RateControl for Rising {
    fn rate(&mut self, _: Instant, attempt: u32, _: &mut Stream) -> PhyRate {
        self.0[attempt as usize - 1]
    }

    fn on_attempt(&mut self, rate: PhyRate, arrived: bool) {
        assert!(self.0.contains(&rate) && !arrived, "{rate}");
    }
}

/// A rate control that only this test defines: every packet goes in four fragments.
const CUTTING: RateControlKind = RateControlKind {
    name: "cutting",
    help: "Four fragments of each packet",
    is_adaptive: false,
    build: |setup| Box::new(Cutting(setup.rates[0])),
};

#[derive(Debug)]
struct Cutting(PhyRate);

impl RateControl for Cutting {
    fn rate(&mut self, _: Instant, _: u32, _: &mut Stream) -> PhyRate {
        self.0
    }

    fn on_attempt(&mut self, _: PhyRate, _: bool) {}

    fn fragments(&mut self, _: Instant, _: &Attempt) -> usize {
        4
    }
}

#[test]
fn a_packet_for_one_station_is_cut_as_its_rate_control_says_but_not_too_short() {
    let frames = |len: usize, to: MacAddress| {
        let mut cell = cell(2, Phy::G, 2, |config| config.rate_control = CUTTING);
        cell.stations[0].to = to;
        cell.packet(0, packet(vec![7; len], 1));
        cell.run_until(micros(100_000));
        cell.stations[0].sent()
    };
    // A fragment has at least 256 bytes, 28 of which are header and FCS; LLC/SNAP takes 8 of the
    // first.
    assert_eq!(frames(4 * 230 - 8, address(1)), 4);
    assert_eq!(frames(4 * 226 - 8, address(1)), 1);
    assert_eq!(frames(4 * 230 - 8, MacAddress::BROADCAST), 1);
}

#[test]
fn rate_controls_are_told_apart_by_their_names() {
    assert_eq!(RISING, RateControlKind { help: "", ..RISING });
    assert_ne!(RISING, CUTTING);
}

/// Returns the air time of a station with this rate control and a peer that does not answer.
fn time_sending_in_vain(control: RateControlKind) -> Duration {
    let mut cell = cell(2, Phy::G, 2, |config| config.rate_control = control);
    cell.stations.truncate(1);
    cell.packet(0, kilobyte(0));
    cell.run_until(micros(100_000));
    assert_eq!(cell.stations[0].sent(), 7);
    cell.stations[0].dcf.airtime(cell.now()).of(State::Transmit)
}

fn time_of(rates: &[PhyRate]) -> Duration {
    let times = rates.iter().map(|rate| rate.frame_duration(Preamble::Long, 1_024));
    times.fold(Duration::ZERO, |sum, time| sum + time)
}

#[test]
fn a_rate_control_needs_nothing_beside_its_trait_and_its_row() {
    let rising = &PhyRate::ALL[4..11];
    assert_eq!(time_sending_in_vain(RISING), time_of(rising));
    assert_eq!(Config { rate_control: RISING, ..Config::new(address(0), Phy::G) }.check(), Ok(()));
}

#[test]
fn rates_fall_for_a_peer_that_does_not_answer() {
    // Two attempts at each rate from 54 Mb/s down: the last goes at 24.
    let [first, second, third] = [PhyRate::Ofdm54, PhyRate::Ofdm48, PhyRate::Ofdm36];
    let falling = [first, first, second, second, third, third, PhyRate::Ofdm24];
    assert_eq!(time_sending_in_vain(ARF), time_of(&falling));
}

#[test]
fn every_row_of_the_table_has_a_name_of_its_own_and_rates_of_the_phy() {
    let names: BTreeSet<&str> = RateControlKind::ALL.iter().map(|kind| kind.name).collect();
    assert_eq!(names.len(), RateControlKind::ALL.len());
    for rate_control in RateControlKind::ALL {
        let config = Config { rate_control, ..Config::new(address(0), Phy::B) };
        assert_eq!(config.highest_rate(), PhyRate::Cck11, "{rate_control:?}");
        assert!(!rate_control.help.is_empty() && !time_sending_in_vain(rate_control).is_zero());
    }
    let slow = Config { rate: PhyRate::Dsss2, ..Config::new(address(0), Phy::B) };
    assert_eq!(slow.highest_rate(), PhyRate::Dsss2);
}

#[test]
fn the_ladder_of_rates_is_that_of_the_modulation() {
    assert!(ladder(Phy::B).eq(PhyRate::ALL[..4].iter().copied()));
    assert!(ladder(Phy::G).eq(PhyRate::ALL[4..].iter().copied()));
}

#[test]
fn the_highest_rate_stays_the_highest() {
    let mut cell = cell(2, Phy::G, 2, |config| config.rate_control = ARF);
    (0..30).for_each(|tag| cell.packet(0, kilobyte(tag)));
    cell.run_until(micros(100_000));
    let airtime = cell.stations[0].dcf.airtime(cell.now()).of(State::Transmit);
    assert_eq!(airtime, time_of(&[PhyRate::Ofdm54; 30]));
}
