//! The keys of an 802.11 radio: of a link, and of a station on it.

mod words;

use core::num::NonZeroU8;

use serde::{Deserialize, Serialize};
use toml::Spanned;
use windfall_base::{Dbm, Duration, Metres, Rate};

use crate::values::by_text;

pub use words::{
    Backoff, ErrorModel, ExtendedGap, FadingWord, PathLossWord, PreambleWord, RateControl, Slot,
};

/// The radio of an 802.11 link; silent keys mean what the standard or an office does.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Radio {
    /// How far stations that say nothing of their place are from the first one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distance: Option<Metres>,
    /// What stations send with, antenna gain included; 15 dBm if silent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power: Option<Dbm>,
    /// The noise of receivers over that of heat, in decibels; 7 if silent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noise_figure: Option<f64>,
    /// The channel, 1 to 14; 6 if silent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<Spanned<u8>>,
    /// How a signal fades with distance.
    #[serde(with = "by_text", skip_serializing_if = "Option::is_none")]
    pub path_loss: Option<PathLossWord>,
    /// Walls: two points in metres, and what each takes in decibels: `[x, y, x, y, loss]`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub walls: Vec<[f64; 5]>,
    /// The standard deviation of shadowing, in decibels; none if silent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shadowing: Option<f64>,
    /// Differences in time.
    #[serde(with = "by_text", skip_serializing_if = "Option::is_none")]
    pub fading: Option<FadingWord>,
    /// How late the echoes of the fading come, as a root mean square; at once if silent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_spread: Option<Spanned<Duration>>,
    /// What senders and receivers distort, over the signal, in decibels; nothing if silent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distortion: Option<f64>,
    /// Receivers notice no weaker preamble; -95 dBm if silent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preamble_power: Option<Dbm>,
    /// Receivers synchronise to no preamble that stands less than so many decibels above noise and
    /// all other signals; unset, 0 for OFDM and -4 for the rates of 802.11b.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preamble_sinr: Option<f64>,
    /// The model that decides whether bits arrive; error events if unset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub errors: Option<ErrorModel>,
    /// A receiver leaves a frame for one that is stronger by so many decibels; never if silent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capture: Option<f64>,
    /// Frames longer than this are preceded by RTS and CTS, in bytes; never if silent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rts_threshold: Option<Spanned<usize>>,
    /// The rate of RTS and CTS; unset, of RTS the highest basic rate that is not above that of the
    /// frame, and of CTS as of every response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rts_rate: Option<Spanned<Rate>>,
    /// Packets whose frames would be longer are cut, in bytes; never if silent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fragment_threshold: Option<Spanned<usize>>,
    /// The slots of 802.11g; short if silent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slot: Option<Slot>,
    /// The preambles of 802.11b; long if silent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preamble: Option<PreambleWord>,
    /// The rates that every station understands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub basic_rates: Option<Spanned<Vec<Rate>>>,
    /// Who chooses the rate; it is fixed if silent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_control: Option<RateControl>,
    /// How the contention window answers to collisions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backoff: Option<Backoff>,
    /// After what the extended gap is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extended_gap: Option<ExtendedGap>,
    /// Attempts in all at frames up to the RTS threshold; 7 if silent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub short_attempts: Option<NonZeroU8>,
    /// Attempts in all at longer ones; 4 if silent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub long_attempts: Option<NonZeroU8>,
    /// Stations join an access point and talk through it; ad hoc if silent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub infrastructure: Option<bool>,
    /// Between the beacons of an access point, in units of 1024 µs; 100 if silent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beacon_interval: Option<Spanned<u16>>,
    /// Members doze between beacons.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power_save: Option<Spanned<bool>>,
    /// Frames bear the eight bytes of WEP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wep: Option<bool>,
    /// Put every state of every radio into the event log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observe: Option<bool>,
}

/// What a station says of itself on a radio.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct StationRadio {
    /// Where it is, in metres: `[x, y]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<[f64; 2]>,
    /// How it walks: seconds and metres, `[t, x, y]` for each point.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub walk: Vec<[f64; 3]>,
    /// Its channel, where it is not that of the link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<u8>,
    /// What it sends with, where it is not what the link says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power: Option<Dbm>,
    /// Whether it is an access point; of an infrastructure link the base station is one if all
    /// are silent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access_point: Option<bool>,
    /// Whether it dozes between beacons, where it is not what the link says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power_save: Option<bool>,
}

impl Radio {
    /// Takes over every key that `other` sets.
    pub fn overlay(&mut self, other: &Self) {
        macro_rules! take {
            ($($key:ident),*) => {$(
                if other.$key.is_some() {
                    self.$key.clone_from(&other.$key);
                }
            )*};
        }
        take!(distance, power, noise_figure, channel, path_loss, shadowing, fading, capture);
        take!(delay_spread, distortion, preamble_power, preamble_sinr, errors, rts_rate);
        take!(rts_threshold, fragment_threshold, slot, preamble, basic_rates, rate_control);
        take!(infrastructure, beacon_interval, power_save);
        take!(backoff, extended_gap, short_attempts, long_attempts, wep, observe);
        if !other.walls.is_empty() {
            self.walls.clone_from(&other.walls);
        }
    }

    /// Whether nothing is said.
    #[must_use]
    pub fn is_silent(&self) -> bool {
        *self == Self::default()
    }
}
