//! Slots, inter-frame spaces and contention windows of 802.11b/g.

use windfall_base::{Duration, Preamble};

use super::rate::PhyRate;

/// Bytes of an acknowledgement and of a CTS, frame check included.
pub const ACK_LEN: usize = 14;
/// Bytes of an RTS, frame check included.
pub const RTS_LEN: usize = 20;

/// Which rates a cell uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phy {
    /// 802.11b: 1 to 11 Mb/s.
    B,
    /// 802.11g without stations of 802.11b: 6 to 54 Mb/s, and 1 to 11 where distance asks for it.
    G,
}

impl Phy {
    /// Returns `true` if its stations can send at `rate`.
    #[must_use]
    pub const fn has(self, rate: PhyRate) -> bool {
        matches!(self, Self::G) || !rate.is_ofdm()
    }

    /// Returns the highest rate of its own modulation.
    #[must_use]
    pub const fn highest_rate(self) -> PhyRate {
        match self {
            Self::B => PhyRate::Cck11,
            Self::G => PhyRate::Ofdm54,
        }
    }

    /// The rates that every station of a cell understands, where a cell does not say otherwise.
    ///
    /// 802.11b: 1 and 2 Mb/s. 802.11g: 6, 12 and 24 Mb/s, and 1 and 2 for frames of 802.11b's kind.
    #[must_use]
    pub const fn basic_rates(self) -> &'static [PhyRate] {
        match self {
            Self::B => &[PhyRate::Dsss1, PhyRate::Dsss2],
            Self::G => {
                &[PhyRate::Dsss1, PhyRate::Dsss2, PhyRate::Ofdm6, PhyRate::Ofdm12, PhyRate::Ofdm24]
            }
        }
    }
}

/// The times of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// One slot of the backoff.
    pub slot: Duration,
    /// The gap before a response.
    pub sifs: Duration,
    /// The smallest contention window, in slots less one.
    pub cw_min: u16,
    /// The largest contention window, in slots less one.
    pub cw_max: u16,
}

impl Timing {
    /// 802.11b: slots of 20 µs, windows from 31 to 1023.
    pub const B: Self = Self {
        slot: Duration::from_micros(20),
        sifs: Duration::from_micros(10),
        cw_min: 31,
        cw_max: 1023,
    };
    /// 802.11g with slots of 9 µs, windows from 15 to 1023.
    pub const G_SHORT_SLOT: Self = Self { slot: Duration::from_micros(9), cw_min: 15, ..Self::B };
    /// 802.11g with slots of 20 µs, windows from 15 to 1023.
    pub const G_LONG_SLOT: Self = Self { cw_min: 15, ..Self::B };

    /// The times of a cell; 802.11b has no short slot.
    #[must_use]
    pub const fn of(phy: Phy, short_slot: bool) -> Self {
        match (phy, short_slot) {
            (Phy::B, _) => Self::B,
            (Phy::G, true) => Self::G_SHORT_SLOT,
            (Phy::G, false) => Self::G_LONG_SLOT,
        }
    }

    /// The gap before contention: SIFS and two slots.
    #[must_use]
    pub const fn difs(&self) -> Duration {
        Duration::from_nanos(self.sifs.as_nanos() + 2 * self.slot.as_nanos())
    }

    /// The gap after a frame that could not be read: as long as its acknowledgement at the lowest
    /// mandatory rate would take, 1 Mb/s, and then DIFS (IEEE 802.11-2007, 9.2.10).
    #[must_use]
    pub const fn eifs(&self) -> Duration {
        let ack = PhyRate::Dsss1.frame_duration(Preamble::Long, ACK_LEN).as_nanos();
        Duration::from_nanos(self.sifs.as_nanos() + ack + self.difs().as_nanos())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gaps_are_those_of_the_standard() {
        let micros = |duration: Duration| duration.as_nanos() as f64 / 1e3;
        assert_eq!(micros(Timing::B.difs()), 50.0);
        assert_eq!(micros(Timing::G_SHORT_SLOT.difs()), 28.0);
        assert_eq!(micros(Timing::G_LONG_SLOT.difs()), 50.0);
        assert_eq!(micros(Timing::B.eifs()), 364.0);
        assert_eq!(micros(Timing::G_SHORT_SLOT.eifs()), 342.0);
    }

    #[test]
    fn only_802_11g_has_ofdm_and_the_short_slot() {
        assert!(PhyRate::ALL.into_iter().all(|rate| Phy::G.has(rate)));
        assert_eq!(PhyRate::ALL.into_iter().filter(|rate| Phy::B.has(*rate)).count(), 4);
        assert_eq!(Timing::of(Phy::B, true), Timing::B);
        assert_eq!(Timing::of(Phy::G, true), Timing::G_SHORT_SLOT);
    }
}
