//! The settings of an 802.11 radio: of a link, and of a station on it.

mod words;

use core::num::NonZeroU8;

use windfall_base::{Dbm, Duration, Metres, Preamble, Rate};
use windfall_channel::radio::{CarrierSense, Errors};
use windfall_mac::wifi::{Backoff, EifsPolicy, LEAST_FRAGMENT, NO_THRESHOLD, RateControlKind};
use windfall_settings::{Setting, Settings, settings};

pub use words::{FadingWord, PathLossWord, ProtectionWord, Slot, StationMode};

/// The longest packet that a data frame carries: 2304 bytes less LLC/SNAP.
pub(crate) const MAX_MTU: u16 = 2_296;
/// The power that a station can send with.
const POWER: core::ops::RangeInclusive<Dbm> = Dbm(-60.0)..=Dbm(40.0);

settings! {
    /// The settings of the radio of an 802.11 link.
    pub struct Radio {
        /// Distance from the first station to stations without a position. A bare number is in m
        "distance" distance: Metres [Metres(0.0)..=Metres(1e6)] {
            value: "METRES", example: "12m", default: "5m",
            short: "Distance of the two ends of a wifi link, in m",
        }
        /// Distance over time: seconds and metres of each point, separated by commas. Before the
        /// first point, the distance applies
        "walk" walk: Vec<[f64; 2]> {
            value: "POINTS", example: "10 18,20 9", unset: "none",
            detail: "In a scenario a list of lists, `[[10, 18], [20, 9]]`.",
        }
        /// Transmit power of every station, antenna gain included
        "power" power: Dbm [POWER] { value: "DBM", example: "10dBm", default: "15dBm" }
        /// Noise figure of the receivers, in dB
        "noise-figure" noise_figure: f64 [0.0..=60.0] {
            value: "DB", example: "10", default: "7", detail: "Noise above the thermal noise.",
        }
        /// Channel at 2.4 GHz
        "channel" channel: u8 [1..=14] { value: "NUMBER", example: "11", default: "6" }
        /// Model of path loss: office, home, shop, free-space, "log 3", 60dB
        "path-loss" path_loss: PathLossWord {
            value: "MODEL", example: "log 3.3", default: "office",
            detail: "`office`, `home` and `shop` are those of ITU-R P.1238.",
        }
        /// Walls, each "x y x y loss" in metres and dB, separated by commas
        "walls" walls: Vec<[f64; 5]> {
            value: "WALLS", example: "0 5 9 5 6", unset: "none",
            detail: "In a scenario a list of lists, `[[0, 5, 9, 5, 6]]`.",
        }
        /// Standard deviation of shadowing, in dB
        "shadowing" shadowing: f64 [0.0..=40.0] { value: "DB", example: "4", unset: "none" }
        /// Model of fading over time: none, "rayleigh HERTZ", "rician K HERTZ"
        "fading" fading: FadingWord { value: "MODEL", example: "rayleigh 11", default: "none" }
        /// Delay spread of the echoes, which makes OFDM carriers fade differently
        "delay-spread" delay_spread: Duration [Duration::ZERO..=Duration::from_nanos(200)] {
            value: "TIME", example: "50ns", unset: "none", needs: "fading",
            detail: "A root mean square. Longer echoes outlast the guard interval and are not \
                     modelled.",
        }
        /// Distortion of transmitters and receivers relative to the signal, in dB
        "distortion" distortion: f64 [-80.0..=0.0] {
            value: "DB", example: "-25", unset: "none",
            detail: "The standard allows -25 dB at 54 Mb/s.",
        }
        /// Weakest preamble that receivers detect
        "preamble-power" preamble_power: Dbm [Dbm(-110.0)..=Dbm(-20.0)] {
            value: "DBM", example: "-84dBm", default: "-95dBm",
        }
        /// Lowest ratio of a preamble to noise and interference at which receivers detect it, in dB
        "preamble-sinr" preamble_sinr: f64 [-30.0..=60.0] {
            value: "DB", example: "4", unset: "0 for OFDM, -4 for the rates of 802.11b",
        }
        /// Model that decides whether bits arrive: events or formula
        "errors" errors: Errors {
            value: "NAME", example: "formula", default: "events",
            detail: "[radio.md](../explanation/radio.md#whether-bits-arrive) compares them.",
        }
        /// Capture effect: a receiver switches to a frame that is stronger by this ratio, in dB
        "capture" capture: f64 [0.0..=60.0] { value: "DB", example: "10", unset: "never" }
        /// Signals that make the medium busy below -62 dBm
        "carrier-sense" carrier_sense: CarrierSense {
            value: "WHAT", example: "energy", default: "follow",
        }
        /// Send RTS and CTS before frames longer than this, in bytes
        "rts-threshold" rts_threshold: usize [0..=NO_THRESHOLD] {
            value: "BYTES", example: "500", unset: "2347, which is never",
        }
        /// Rate of RTS, CTS and CTS-to-self
        "rts-rate" rts_rate: Rate {
            value: "RATE", example: "2Mbps", needs: "rts-threshold",
            needs_or: "`protection`, or a station with `mode = \"b\"`",
            unset: "of RTS the highest basic rate up to that of the frame, of CTS as of every \
                    response",
        }
        /// Fragment packets whose frames would be longer than this, in bytes
        "fragment-threshold" fragment_threshold: usize [LEAST_FRAGMENT..=NO_THRESHOLD] {
            value: "BYTES", example: "800", unset: "2347, which is never",
        }
        /// Frames that reserve the medium before OFDM frames, at a rate of 802.11b
        "protection" protection: ProtectionWord {
            value: "NAME", example: "rts-cts",
            unset: "cts-to-self if a station has mode b, or none",
        }
        /// Slot time of 802.11g
        "slot" slot: Slot {
            value: "NAME", example: "long", unset: "short, or long if a station has mode b",
        }
        /// Preamble of 802.11b
        "preamble" preamble: Preamble { value: "NAME", example: "short", default: "long" }
        /// Basic rates, which every station understands, separated by commas
        "basic-rates" basic_rates: Vec<Rate> {
            value: "RATES", example: "6Mbps,1Mbps",
            unset: "1 and 2 Mb/s, of 802.11g also 6, 12 and 24 if no station has mode b",
        }
        /// Algorithm that selects the rate
        "rate-control" rate_control: RateControlKind {
            value: "NAME", example: "minstrel", default: "fixed",
        }
        /// Contention window after a collision: binary, mild (MACAW) or constant
        "backoff" backoff: Backoff {
            value: "NAME", example: "mild", default: "binary", requirement: "S2.46",
        }
        /// Failed receptions after which stations wait EIFS: always, readable-header or never
        "eifs" eifs: EifsPolicy { value: "NAME", example: "always", default: "readable-header" }
        /// Attempts to send each packet, the first included
        "attempts" attempts: NonZeroU8 [NonZeroU8::MIN..=NonZeroU8::MAX] {
            value: "NUMBER", example: "3", unset: "short-attempts and long-attempts",
        }
        /// Attempts to send frames up to the RTS threshold, the first included
        "short-attempts" short_attempts: NonZeroU8 [NonZeroU8::MIN..=NonZeroU8::MAX] {
            value: "NUMBER", example: "5", unset: "attempts, or 7",
        }
        /// Attempts to send frames above the RTS threshold, the first included
        "long-attempts" long_attempts: NonZeroU8 [NonZeroU8::MIN..=NonZeroU8::MAX] {
            value: "NUMBER", example: "5", unset: "attempts, or 4", needs: "rts-threshold",
        }
        /// Stations associate with an access point and send through it, by default the base station
        "infrastructure" infrastructure: bool { value: "SWITCH", example: "on", default: "off" }
        /// Time between the beacons of an access point, in units of 1024 µs
        "beacon-interval" beacon_interval: u16 [1..=65_535] {
            value: "NUMBER", example: "50", default: "100", needs: "infrastructure",
        }
        /// Stations doze between the beacons of the access point
        "power-save" power_save: bool {
            value: "SWITCH", example: "on", default: "off", needs: "infrastructure",
        }
        /// Add the eight bytes of WEP to every frame
        "wep" wep: bool { value: "SWITCH", example: "on", default: "off" }
        /// Log every state of every radio
        "observe" observe: bool { value: "SWITCH", example: "on", default: "off" }
    }
}

settings! {
    /// The settings of the radio of one station.
    pub struct StationRadio {
        /// Position in metres, x and y
        "position" position: [f64; 2] {
            value: "PLACE", example: "8 0", unset: "on a circle around the first station",
            detail: "In a scenario a list, `[8.0, 0.0]`.",
        }
        /// Walk: seconds and metres of each point
        "walk" walk: Vec<[f64; 3]> {
            value: "POINTS", example: "0 0 0,60 40 0", unset: "stays at its position",
            excludes: "position",
            detail: "In a scenario a list of lists, `[[0, 0, 0], [60, 40, 0]]`.",
        }
        /// Channel at 2.4 GHz
        "channel" channel: u8 [1..=14] { value: "NUMBER", example: "11", unset: "as the link" }
        /// Power, antenna gain included
        "power" power: Dbm [POWER] { value: "DBM", example: "10dBm", unset: "as the link" }
        /// Rate of its data frames
        "rate" rate: Rate { value: "RATE", example: "6Mbps", unset: "as the link" }
        /// Standard of the station on a link of 802.11g
        "mode" mode: StationMode { value: "NAME", example: "b", unset: "as the link" }
        /// Station is an access point
        "access-point" access_point: bool {
            value: "SWITCH", example: "on",
            unset: "with infrastructure the base station, if no station is set",
        }
        /// Station dozes between beacons
        "power-save" power_save: bool { value: "SWITCH", example: "on", unset: "as the link" }
    }
}

impl Radio {
    /// Returns the settings that limit the attempts.
    fn limits_of_attempts() -> [&'static Setting<Self>; 3] {
        [
            Self::row(|it| &it.attempts),
            Self::row(|it| &it.short_attempts),
            Self::row(|it| &it.long_attempts),
        ]
    }

    /// Returns the name of the first setting that limits the attempts.
    pub(crate) fn attempts_set(&self) -> Option<&'static str> {
        let set = Self::limits_of_attempts().into_iter().find(|it| it.is_set(self));
        set.map(|it| it.name)
    }

    /// Unsets the limits of attempts.
    pub(crate) fn clear_attempts(&mut self) {
        (self.attempts, self.short_attempts, self.long_attempts) = (None, None, None);
    }
}
