//! The rates of 802.11b/g, and how long a frame lasts at each of them.

use core::fmt;

use windfall_base::{Duration, Preamble, Rate};

/// Bits of the SERVICE field before, and of the tail behind, the bytes of an OFDM frame.
const SERVICE_AND_TAIL: u64 = 16 + 6;
/// An OFDM symbol with its guard interval, in microseconds.
const SYMBOL: u64 = 4;
/// An OFDM preamble of 16 µs and the SIGNAL field of one symbol.
const OFDM_PREAMBLE: Duration = Duration::from_micros(16 + SYMBOL);

/// Silence after an OFDM frame at 2.4 GHz that counts as part of it, so that slow decoders keep up.
pub const SIGNAL_EXTENSION: Duration = Duration::from_micros(6);

/// The modulation of bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Modulation {
    /// Barker spreading, 1 and 2 Mb/s (802.11-1997).
    Dsss,
    /// Complementary code keying, 5.5 and 11 Mb/s (802.11b).
    Cck,
    /// Orthogonal frequency division, 6 to 54 Mb/s (802.11a, and 802.11g at 2.4 GHz).
    Ofdm,
}

/// A rate that the standard has at 2.4 GHz.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PhyRate {
    /// 1 Mb/s, DBPSK.
    Dsss1,
    /// 2 Mb/s, DQPSK.
    Dsss2,
    /// 5.5 Mb/s, CCK.
    Cck5_5,
    /// 11 Mb/s, CCK.
    Cck11,
    /// 6 Mb/s, BPSK 1/2.
    Ofdm6,
    /// 9 Mb/s, BPSK 3/4.
    Ofdm9,
    /// 12 Mb/s, QPSK 1/2.
    Ofdm12,
    /// 18 Mb/s, QPSK 3/4.
    Ofdm18,
    /// 24 Mb/s, 16-QAM 1/2.
    Ofdm24,
    /// 36 Mb/s, 16-QAM 3/4.
    Ofdm36,
    /// 48 Mb/s, 64-QAM 2/3.
    Ofdm48,
    /// 54 Mb/s, 64-QAM 3/4.
    Ofdm54,
}

//= S0.31
impl PhyRate {
    /// Every rate, those of 802.11b first.
    pub const ALL: [Self; 12] = [
        Self::Dsss1,
        Self::Dsss2,
        Self::Cck5_5,
        Self::Cck11,
        Self::Ofdm6,
        Self::Ofdm9,
        Self::Ofdm12,
        Self::Ofdm18,
        Self::Ofdm24,
        Self::Ofdm36,
        Self::Ofdm48,
        Self::Ofdm54,
    ];

    /// The rate in units of 500 kb/s, as radiotap and beacons write it.
    #[must_use]
    pub const fn half_megabits(self) -> u8 {
        match self {
            Self::Dsss1 => 2,
            Self::Dsss2 => 4,
            Self::Cck5_5 => 11,
            Self::Cck11 => 22,
            Self::Ofdm6 => 12,
            Self::Ofdm9 => 18,
            Self::Ofdm12 => 24,
            Self::Ofdm18 => 36,
            Self::Ofdm24 => 48,
            Self::Ofdm36 => 72,
            Self::Ofdm48 => 96,
            Self::Ofdm54 => 108,
        }
    }

    /// The rate written as [`half_megabits`](Self::half_megabits); `None` if the standard has none.
    #[must_use]
    pub fn from_half_megabits(units: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|rate| rate.half_megabits() == units)
    }

    /// Converts a rate; `None` if the standard has none of that number of bits per second.
    #[must_use]
    pub fn from_rate(rate: Rate) -> Option<Self> {
        let units = u8::try_from(rate.as_bps() / 500_000).ok()?;
        Self::from_half_megabits(units).filter(|found| found.rate() == rate)
    }

    /// Bits per second.
    #[must_use]
    pub const fn rate(self) -> Rate {
        match Rate::from_bps(self.half_megabits() as u64 * 500_000) {
            Some(rate) => rate,
            None => unreachable!(),
        }
    }

    /// Returns the modulation of the rate.
    #[must_use]
    pub const fn modulation(self) -> Modulation {
        match self {
            Self::Dsss1 | Self::Dsss2 => Modulation::Dsss,
            Self::Cck5_5 | Self::Cck11 => Modulation::Cck,
            _ => Modulation::Ofdm,
        }
    }

    /// Returns `true` if it belongs to 802.11g alone.
    #[must_use]
    pub const fn is_ofdm(self) -> bool {
        matches!(self.modulation(), Modulation::Ofdm)
    }

    /// Returns the highest rate of 802.11b that is not above it.
    #[must_use]
    pub const fn without_ofdm(self) -> Self {
        match self {
            Self::Ofdm6 | Self::Ofdm9 => Self::Cck5_5,
            rate if rate.is_ofdm() => Self::Cck11,
            rate => rate,
        }
    }

    /// Tells whether every station that can send at rates of its kind can send at this one.
    #[must_use]
    pub const fn is_mandatory(self) -> bool {
        !self.is_ofdm() || matches!(self, Self::Ofdm6 | Self::Ofdm12 | Self::Ofdm24)
    }

    /// Data bits in an OFDM symbol, N_DBPS; `None` for the rates of 802.11b, which have no symbols
    /// of that kind.
    #[must_use]
    pub const fn bits_per_symbol(self) -> Option<u32> {
        // 4 µs at this number of half megabits per second.
        if self.is_ofdm() { Some(self.half_megabits() as u32 * 2) } else { None }
    }

    /// Returns the duration of the preamble and the PHY header.
    ///
    /// 1 Mb/s has no short form, and OFDM has one form only.
    #[must_use]
    pub const fn preamble_duration(self, preamble: Preamble) -> Duration {
        match (self, preamble) {
            (Self::Dsss2 | Self::Cck5_5 | Self::Cck11, Preamble::Short) => {
                Duration::from_micros(72 + 24)
            }
            (Self::Dsss1 | Self::Dsss2 | Self::Cck5_5 | Self::Cck11, _) => {
                Duration::from_micros(144 + 48)
            }
            _ => OFDM_PREAMBLE,
        }
    }

    /// Returns the duration of the signal when a frame of `bytes` bytes is sent.
    #[must_use]
    pub const fn signal_duration(self, preamble: Preamble, bytes: usize) -> Duration {
        let bits = bytes as u64 * 8;
        let payload = match self.bits_per_symbol() {
            Some(per_symbol) => SYMBOL * (bits + SERVICE_AND_TAIL).div_ceil(per_symbol as u64),
            None => (2 * bits).div_ceil(self.half_megabits() as u64),
        };
        let before = self.preamble_duration(preamble).as_nanos();
        Duration::from_nanos(before + payload * 1_000)
    }

    /// Returns the air time of a frame of `bytes` bytes, header and check included, at 2.4 GHz:
    /// the signal, and for OFDM the [`SIGNAL_EXTENSION`] behind it.
    #[must_use]
    pub const fn frame_duration(self, preamble: Preamble, bytes: usize) -> Duration {
        let extension = if self.is_ofdm() { SIGNAL_EXTENSION.as_nanos() } else { 0 };
        Duration::from_nanos(self.signal_duration(preamble, bytes).as_nanos() + extension)
    }
}

impl fmt::Display for PhyRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.rate().fmt(f)
    }
}

#[cfg(test)]
mod tests;
