//! The rate of each attempt.
//!
//! One trait, one file for each rate control, which has its row of the table too:
//!
//! - [`FIXED`]: always the same.
//! - [`ARF`]: one rate up or down after some successes or failures in a row.
//! - [`MINSTREL`]: the best throughput by measured success.

mod arf;
mod fixed;
mod minstrel;

use core::fmt;
use std::collections::BTreeMap;

use windfall_base::{Instant, Preamble, Stream};
use windfall_wire_link::ieee80211::{MacAddress, Phy, PhyRate};

pub use arf::ARF;
pub use fixed::FIXED;
pub use minstrel::MINSTREL;

/// The choice of rates for data frames to one peer. It knows only the fate of earlier attempts.
pub trait RateControl: fmt::Debug + Send {
    /// Chooses the rate of attempt `attempt`, from 1, of a packet.
    fn rate(&mut self, now: Instant, attempt: u32, draw: &mut Stream) -> PhyRate;

    /// Learns the fate of an attempt at `rate`, which the owner of the packet may have chosen.
    fn learn(&mut self, rate: PhyRate, arrived: bool);
}

/// The rates and frames of a station, from which a rate control is built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setup {
    /// The rates among which it may choose, rising; at least one.
    pub rates: Vec<PhyRate>,
    /// The form of the preamble at the rates that have two.
    pub preamble: Preamble,
}

/// A row of the table of rate controls.
#[derive(Clone, Copy)]
pub struct RateControlKind {
    /// The name in options and files.
    pub name: &'static str,
    /// The meaning, as the reference has it.
    pub help: &'static str,
    /// It chooses among the rates of the PHY; else it has the rate of the station alone.
    pub is_adaptive: bool,
    /// Builds the control for one peer.
    pub build: fn(&Setup) -> Box<dyn RateControl>,
}

impl RateControlKind {
    /// All rate controls, in the order of the reference.
    pub const ALL: [Self; 3] = [FIXED, ARF, MINSTREL];
}

impl Default for RateControlKind {
    fn default() -> Self {
        FIXED
    }
}

impl PartialEq for RateControlKind {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for RateControlKind {}

impl fmt::Debug for RateControlKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Returns the rates among which a station of this PHY chooses, rising: those of its own
/// modulation.
pub fn ladder(phy: Phy) -> impl DoubleEndedIterator<Item = PhyRate> {
    PhyRate::ALL.into_iter().filter(move |rate| rate.is_ofdm() == (phy == Phy::G))
}

/// The rate controls of one station, one for each of its peers.
#[derive(Debug)]
pub(super) struct Rates {
    kind: RateControlKind,
    setup: Setup,
    peers: BTreeMap<MacAddress, Box<dyn RateControl>>,
}

impl Rates {
    pub(super) fn new(kind: RateControlKind, setup: Setup) -> Self {
        Self { kind, setup, peers: BTreeMap::new() }
    }

    /// Chooses the rate of attempt `attempt`, from 1, of a packet to `peer`.
    pub(super) fn choose(
        &mut self,
        now: Instant,
        peer: MacAddress,
        attempt: u32,
        draw: &mut Stream,
    ) -> PhyRate {
        let Self { kind, setup, peers } = self;
        let control = peers.entry(peer).or_insert_with(|| (kind.build)(setup));
        control.rate(now, attempt, draw)
    }

    /// Learns the fate of an attempt to `peer` at `rate`.
    pub(super) fn learn(&mut self, peer: MacAddress, rate: PhyRate, arrived: bool) {
        if let Some(control) = self.peers.get_mut(&peer) {
            control.learn(rate, arrived);
        }
    }
}
