//! The configuration of a radio medium: stations, propagation, thresholds.

use windfall_base::{Dbm, Duration, Instant};
use windfall_wire_link::ieee80211::{MacAddress, PhyRate};

use super::place::{Position, Track};
use super::propagation::{PathLoss, Shadowing, Wall};
use crate::fading::Fading;

/// Preambles that begin within this time of each other compete for a receiver: the time within
/// which OFDM has to be detected (aCCATime, 802.11-2007, 17.3.10.5).
pub(super) const PREAMBLE_DETECTION: Duration = Duration::from_micros(4);

/// The air of 802.11b/g: the positions of stations, and the signals that reach each.
#[derive(Clone, Debug, PartialEq)]
pub struct RadioConfig {
    /// The stations, in the order of their ports.
    pub stations: Vec<RadioStation>,
    /// The rate of frames whose sender asks for none.
    pub rate: PhyRate,
    /// The loss with distance.
    pub path_loss: PathLoss,
    /// Walls, each of which adds its loss.
    pub walls: Vec<Wall>,
    /// Differences between places; none if `None`.
    pub shadowing: Option<Shadowing>,
    /// Differences in time.
    pub fading: Fading,
    /// The root mean square of the delays of the echoes that make the fading, so that carriers of
    /// OFDM fade differently; all alike if `None`.
    pub delay_spread: Option<Duration>,
    /// When receivers notice what.
    pub thresholds: Thresholds,
    /// The error model that decides whether bits arrive.
    pub errors: Errors,
    /// The distortion of senders and receivers, over the signal, in decibels: −25 is the most that
    /// 802.11 allows at 54 Mb/s (17.3.9.7.4). Nothing if `None`.
    pub distortion: Option<f64>,
    /// Receivers report the reliability of each byte of a damaged frame; by patterns alone.
    pub reliability: bool,
    /// Bit errors spare the headers of the packets that frames carry, up to that of the transport,
    /// so that damage reaches programs.
    pub spares_headers: bool,
}

/// One station of a radio medium.
#[derive(Clone, Debug, PartialEq)]
pub struct RadioStation {
    /// The place of the station over time.
    pub track: Track,
    /// The address whose frames its radio passes up whole; all frames if `None`.
    pub address: Option<MacAddress>,
    /// The transmit power, and the most that a frame can ask for; antenna gain included.
    pub power: Dbm,
    /// The noise of its receiver over that of heat, in decibels.
    pub noise_figure: f64,
    /// The channel, 1 to 14. Others are heard only as noise.
    pub channel: u8,
    /// Its receiver knows the preambles of OFDM. One of 802.11b hears such frames only as noise.
    pub reads_ofdm: bool,
}

/// The signals that make the medium busy to a receiver below the energy threshold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum CarrierSense {
    /// A preamble that was detected, until its frame ends, whether or not the frame can be read: a
    /// receiver whose gain control has settled on a signal notices when the signal falls.
    #[default]
    Follow,
    /// A frame to which the receiver is synchronised. Preambles that drown each other leave the
    /// medium idle, as the receive procedure of the standard has it after a header that cannot be
    /// read (802.11-2007, 17.3.12), and ns-3.
    Energy,
}

/// When a receiver notices what.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholds {
    /// Weaker preambles are not noticed.
    pub preamble_power: Dbm,
    /// Receivers synchronise to no preamble of OFDM that is less than this many decibels above
    /// noise and everything else in the air, preambles that begin with it included.
    pub preamble_sinr: f64,
    /// The least SINR of a preamble of 802.11b in decibels: it is despread as data at 1 Mb/s.
    pub dsss_preamble_sinr: f64,
    /// The medium is busy when there is so much energy, whatever it is.
    pub energy: Dbm,
    /// The signals that make the medium busy below that energy.
    pub carrier_sense: CarrierSense,
    /// A receiver leaves a frame for another one that is stronger by this in decibels; if `None`,
    /// it stays.
    pub capture: Option<f64>,
    /// The time after the start of a frame in which it does so.
    pub capture_window: Duration,
}

impl Default for Thresholds {
    /// The energy threshold of 802.11 (20 dB above the weakest sensitivity), preambles to the
    /// sensitivity of good receivers, those of 802.11b down to where 1 Mb/s can be read, and no
    /// capture.
    fn default() -> Self {
        Self {
            preamble_power: Dbm(-95.0),
            preamble_sinr: 0.0,
            dsss_preamble_sinr: -4.0,
            energy: Dbm(-62.0),
            carrier_sense: CarrierSense::Follow,
            capture: None,
            capture_window: Duration::from_micros(16),
        }
    }
}

impl Thresholds {
    /// Every frame whatever its strength is tried: the model of others without detection.
    #[must_use]
    pub fn none() -> Self {
        Self {
            preamble_power: Dbm(-110.0),
            preamble_sinr: f64::NEG_INFINITY,
            dsss_preamble_sinr: f64::NEG_INFINITY,
            ..Self::default()
        }
    }
}

/// The error model that decides whether bits arrive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Errors {
    /// Formulas decide whether a frame as a whole arrives ([`windfall_phy::formula`]). The wrong
    /// bits are unknown, so a damaged frame is lost.
    Formula,
    /// Error events measured on the chains bit by bit ([`windfall_phy::event`]): damage falls where
    /// it falls on a radio.
    #[default]
    Pattern,
}

impl RadioStation {
    /// A station that stays at a place: 15 dBm, noise figure 7 dB, channel 6.
    #[must_use]
    pub fn at(position: Position) -> Self {
        Self {
            track: Track::fixed(position),
            address: None,
            power: Dbm(15.0),
            noise_figure: 7.0,
            channel: 6,
            reads_ofdm: true,
        }
    }
}

impl RadioConfig {
    /// A radio medium in an office without walls: ITU-R P.1238 with N = 30, 54 Mb/s.
    #[must_use]
    pub fn new(stations: Vec<RadioStation>) -> Self {
        Self {
            stations,
            rate: PhyRate::Ofdm54,
            path_loss: PathLoss::Indoor { coefficient: 30.0, floors: 0.0 },
            walls: Vec::new(),
            shadowing: None,
            fading: Fading::None,
            delay_spread: None,
            thresholds: Thresholds::default(),
            errors: Errors::default(),
            distortion: None,
            reliability: false,
            spares_headers: false,
        }
    }

    /// The distance between two stations and the mean loss on the way, in metres and decibels.
    pub(super) fn mean_loss(
        &self,
        sender: &RadioStation,
        receiver: &RadioStation,
        now: Instant,
    ) -> (f64, f64) {
        let from = sender.track.at(now);
        let to = receiver.track.at(now);
        let metres = from.distance(to);
        let walls = self.walls.iter().filter(|wall| wall.between(from, to)).map(|wall| wall.loss);
        let loss = self.path_loss.decibels(metres, megahertz(sender.channel));
        (metres, loss + walls.sum::<f64>())
    }
}

/// The middle of a channel, in megahertz.
pub(super) fn megahertz(channel: u8) -> f64 {
    if channel == 14 { 2_484.0 } else { 2_407.0 + 5.0 * f64::from(channel) }
}

/// Returns the part of a signal on one channel that falls into a receiver on another, as a ratio.
///
/// Within the band of 16.6 MHz that OFDM fills, its share in the receiver's 20 MHz; beyond it what
/// the transmit mask of 802.11-2020, 17.3.9.3 lets through (−28 dB at 20 MHz, −40 dB at 30 MHz).
pub(super) fn overlap(a: u8, b: u8) -> f64 {
    let apart = (megahertz(a) - megahertz(b)).abs();
    let share = ((10.0 + 8.3 - apart) / 16.6).clamp(0.0, 1.0);
    let mask = if apart >= 30.0 { 1e-4 } else { 1.6e-3 };
    share.max(mask)
}

#[cfg(test)]
mod tests {
    use super::*;
    use windfall_phy::decibel::decibels;

    #[test]
    fn neighbouring_channels_hear_a_part_of_a_signal_and_far_ones_what_the_mask_leaves() {
        let heard = |a, b| decibels(overlap(a, b));
        assert_eq!(heard(6, 6), 0.0);
        // Of 16.6 MHz there are 13.3, 8.3 and 3.3 within 20 MHz so much further.
        for (channel, share) in [(7, 13.3 / 16.6), (4, 8.3 / 16.6), (9, 3.3 / 16.6)] {
            assert!((overlap(6, channel) - share).abs() < 1e-9, "{channel}");
        }
        assert!((heard(6, 10) + 28.0).abs() < 0.1 && (heard(1, 6) + 28.0).abs() < 0.1);
        assert!((heard(1, 11) + 40.0).abs() < 1e-9 && (heard(13, 14) - heard(14, 13)).abs() < 1e-9);
    }

    #[test]
    fn channels_lie_where_the_standard_puts_them() {
        assert_eq!([1, 6, 13, 14].map(megahertz), [2_412.0, 2_437.0, 2_472.0, 2_484.0]);
    }

    #[test]
    fn without_detection_every_preamble_counts() {
        let none = Thresholds::none();
        assert!(none.preamble_power.0 <= -110.0);
        assert_eq!([none.preamble_sinr, none.dsss_preamble_sinr], [f64::NEG_INFINITY; 2]);
        assert_eq!(none.energy, Thresholds::default().energy);
    }
}
