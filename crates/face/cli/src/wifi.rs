//! The options of an 802.11 link.

use core::num::NonZeroU8;

use windfall_base::{Dbm, Duration, Metres, Rate};
use windfall_scenario::Spanned;
use windfall_scenario::wireless::{
    Backoff, ErrorModel, FadingWord, PathLossWord, PreambleWord, Radio, RateControl, Slot,
};

use crate::usage::{real, whole};

/// Options of the radio; they need `--link wifi-b` or `--link wifi-g`.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Radio of 802.11")]
pub(crate) struct WifiOptions {
    /// Distance from the near end to the far end [default: 5m]
    #[arg(long, value_name = "METRES", allow_negative_numbers = true)]
    distance: Option<Metres>,
    /// Number of further simulated stations, each of which always has something to send
    #[arg(long, value_name = "NUMBER", default_value_t = 0, hide_default_value = true,
          value_parser = whole(0..=65_000_u16))]
    pub(crate) stations: u16,
    /// Power of every station, antenna included [default: 15dBm]
    #[arg(long, value_name = "DBM", allow_negative_numbers = true, hide_short_help = true)]
    power: Option<Dbm>,
    /// Channel, 1 to 14 [default: 6]
    #[arg(long, value_name = "NUMBER", hide_short_help = true, value_parser = whole(1..=14_u8))]
    channel: Option<u8>,
    /// Path loss with distance: office, home, shop, free-space, "log 3", 60dB [default: office]
    #[arg(long, value_name = "MODEL", hide_short_help = true)]
    path_loss: Option<PathLossWord>,
    /// Standard deviation of shadowing, in dB
    #[arg(long, value_name = "DB", allow_negative_numbers = true, hide_short_help = true,
          value_parser = real)]
    shadowing: Option<f64>,
    /// Fading: none, "rayleigh HERTZ", "rician K HERTZ"
    #[arg(long, value_name = "MODEL", hide_short_help = true)]
    fading: Option<FadingWord>,
    /// Delay spread of the fading, such as 50ns, which makes OFDM carriers fade differently
    #[arg(long, value_name = "TIME", hide_short_help = true)]
    delay_spread: Option<Duration>,
    /// RTS and CTS before frames longer than this, in bytes
    #[arg(long, value_name = "BYTES", hide_short_help = true,
          value_parser = whole(0..=65_535_usize))]
    rts_threshold: Option<usize>,
    /// Rate of RTS and CTS [default: that of the frame or the next lower basic one]
    #[arg(long, value_name = "RATE", hide_short_help = true)]
    rts_rate: Option<Rate>,
    /// Fragment packets whose frames would be longer, in bytes
    #[arg(long, value_name = "BYTES", hide_short_help = true,
          value_parser = whole(0..=65_535_usize))]
    fragment_threshold: Option<usize>,
    /// Attempts in all at each packet [default: 7]
    #[arg(long, value_name = "NUMBER", hide_short_help = true,
          value_parser = whole(NonZeroU8::MIN..=NonZeroU8::MAX))]
    attempts: Option<NonZeroU8>,
    /// Rate control: fixed, arf or minstrel [default: fixed]
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    rate_control: Option<RateControlName>,
    /// The far end is an access point, which all others join and through which they talk
    #[arg(long, hide_short_help = true)]
    infrastructure: bool,
    /// Stations doze between the beacons of the access point
    #[arg(long, hide_short_help = true, requires = "infrastructure")]
    power_save: bool,
    /// Capture effect: lock to a later frame that is stronger by this many dB
    #[arg(long, value_name = "DB", allow_negative_numbers = true, hide_short_help = true,
          value_parser = real)]
    capture: Option<f64>,
    /// Error model: events or formula [default: events]
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    errors: Option<ErrorsName>,
    /// Least SINR for preamble detection, in dB [default: 0; of 802.11b -4]
    #[arg(long, value_name = "DB", allow_negative_numbers = true, hide_short_help = true)]
    preamble_sinr: Option<f64>,
    /// Growth of the contention window: binary, mild (MACAW) or constant [default: binary]
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    backoff: Option<BackoffName>,
    /// Frames bear the eight bytes of WEP
    #[arg(long, hide_short_help = true)]
    wep: bool,
    /// Slots of 20 µs instead of 9 µs
    #[arg(long, hide_short_help = true)]
    long_slot: bool,
    /// Preambles of 96 µs instead of 192 µs at 2, 5.5 and 11 Mb/s
    #[arg(long, hide_short_help = true)]
    short_preamble: bool,
}

/// Rate controls by their names on the command line.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum RateControlName {
    /// The rate that --rate says
    Fixed,
    /// Automatic rate fallback
    Arf,
    /// Measured success, after Minstrel
    Minstrel,
}

/// Error models by their names on the command line.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum ErrorsName {
    /// Error events measured on the chains bit by bit
    Events,
    /// Formulas for whole frames, as ns-3 has them
    Formula,
}

/// Growth of the contention window after collisions, by its names on the command line.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum BackoffName {
    /// Doubled, as the standard says
    Binary,
    /// Half as much again, as MACAW says
    Mild,
    /// Not at all
    Constant,
}

impl WifiOptions {
    /// Returns the radio settings that the options set.
    pub(crate) fn radio(&self) -> Radio {
        Radio {
            distance: self.distance,
            power: self.power,
            channel: self.channel.map(unplaced),
            path_loss: self.path_loss,
            shadowing: self.shadowing,
            fading: self.fading,
            delay_spread: self.delay_spread.map(unplaced),
            rts_threshold: self.rts_threshold.map(unplaced),
            rts_rate: self.rts_rate.map(unplaced),
            errors: self.errors.map(|name| match name {
                ErrorsName::Events => ErrorModel::Events,
                ErrorsName::Formula => ErrorModel::Formula,
            }),
            preamble_sinr: self.preamble_sinr,
            fragment_threshold: self.fragment_threshold.map(unplaced),
            short_attempts: self.attempts,
            long_attempts: self.attempts,
            rate_control: self.rate_control.map(|control| match control {
                RateControlName::Fixed => RateControl::Fixed,
                RateControlName::Arf => RateControl::Arf,
                RateControlName::Minstrel => RateControl::Minstrel,
            }),
            infrastructure: self.infrastructure.then_some(true),
            power_save: self.power_save.then_some(unplaced(true)),
            capture: self.capture,
            backoff: self.backoff.map(|name| match name {
                BackoffName::Binary => Backoff::Binary,
                BackoffName::Mild => Backoff::Mild,
                BackoffName::Constant => Backoff::Constant,
            }),
            wep: self.wep.then_some(true),
            slot: self.long_slot.then_some(Slot::Long),
            preamble: self.short_preamble.then_some(PreambleWord::Short),
            ..Radio::default()
        }
    }
}

/// A value that stands in no file.
fn unplaced<T>(value: T) -> Spanned<T> {
    Spanned::new(0..0, value)
}
