//! The office of paper 000 (S0.29): two stations 1 to 15 m apart, in one of two hours.

pub(crate) mod busy;
pub(crate) mod calm;

use windfall_base::{Dbm, Duration, Rate};
use windfall_mac::wifi::{Config, Role};
use windfall_wire_link::ieee80211::PhyRate;

/// The index of the moving station, which sends, and of the fixed one; others follow in pairs.
const MOVING: usize = 0;
const FIXED: usize = 1;

/// The parameters of the office and its stations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Office {
    /// The distance from the fixed station to the moving one, in metres.
    pub(crate) metres: f64,
    /// The rate of both stations in Mb/s.
    pub(crate) mbps: u64,
    /// Makes the receivers pass up damaged frames.
    pub(crate) accept_damaged: bool,
    /// The transmit power of both stations.
    pub(crate) power: Dbm,
    /// The length above which a frame is preceded by RTS and CTS.
    pub(crate) rts_threshold: usize,
    /// The channel of both stations.
    pub(crate) channel: u8,
    /// Makes the sender an access point, and the receiver a client that dozes between its beacons.
    pub(crate) power_save: bool,
    /// The number of other networks, at most as many as the hour has.
    pub(crate) others: usize,
}

impl Office {
    /// Creates the paper's office in a busy hour, with all its networks.
    pub(crate) const fn busy(metres: f64, mbps: u64) -> Self {
        Self::with(metres, mbps, usize::MAX)
    }

    /// Creates the paper's office in a calm hour, with three networks on its channel.
    pub(crate) const fn calm(metres: f64, mbps: u64) -> Self {
        Self::with(metres, mbps, 3)
    }

    const fn with(metres: f64, mbps: u64, others: usize) -> Self {
        Self {
            metres,
            mbps,
            accept_damaged: false,
            power: Dbm(15.0),
            rts_threshold: 2_347,
            channel: 6,
            power_save: false,
            others,
        }
    }

    /// Returns the time that the stations need before they can send.
    pub(crate) const fn settles_in(self) -> Duration {
        if self.power_save { Duration::from_secs(1) } else { Duration::ZERO }
    }

    /// Configures the MAC of a station, if it is one of the two.
    fn set_up(self, place: usize, mac: &mut Config) {
        if place > FIXED {
            return;
        }
        mac.rate = phy_rate(self.mbps);
        mac.accept_damaged = self.accept_damaged;
        mac.rts_threshold = self.rts_threshold;
        if self.power_save {
            let ssid = b"office".iter().copied().collect();
            mac.role = match place {
                MOVING => Role::AccessPoint { ssid, interval: 100, channel: self.channel },
                _ => Role::Member { ssid, power_save: true },
            };
        }
    }
}

/// Returns a rate of the standard by its Mb/s.
fn phy_rate(mbps: u64) -> PhyRate {
    let rate = Rate::from_mbps(mbps).and_then(PhyRate::from_rate);
    rate.expect("the rates are those of the standard")
}
