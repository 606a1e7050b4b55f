//! Which rate an attempt uses.

mod arf;
mod minstrel;

use std::collections::BTreeMap;

use windfall_base::{Instant, Preamble, Stream};
use windfall_wire_link::ieee80211::{MacAddress, Phy, PhyRate};

use arf::Arf;
use minstrel::Minstrel;

/// The policy by which a station chooses the rate of its data frames.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RatePolicy {
    /// Always this one.
    Fixed(PhyRate),
    /// Automatic rate fallback: down after two failures in a row, up after ten successes
    /// (Kamerman and Monteban 1997). The rates in rising order.
    Arf(Vec<PhyRate>),
    /// The rate with the best throughput by measured success, with a tenth of the frames spent on
    /// trying others, as Minstrel does. The rates in rising order.
    Minstrel(Vec<PhyRate>),
}

impl RatePolicy {
    /// The rates among which a station of this PHY chooses, rising: those of its own modulation.
    #[must_use]
    pub fn ladder(phy: Phy) -> Vec<PhyRate> {
        let own = |rate: &PhyRate| rate.is_ofdm() == (phy == Phy::G);
        PhyRate::ALL.into_iter().filter(own).collect()
    }

    /// The rates that it may choose.
    #[must_use]
    pub fn rates(&self) -> &[PhyRate] {
        match self {
            Self::Fixed(rate) => core::slice::from_ref(rate),
            Self::Arf(rates) | Self::Minstrel(rates) => rates,
        }
    }
}

/// The choice of one station, for each of its peers.
#[derive(Clone, Debug)]
pub(super) struct Rates {
    policy: RatePolicy,
    preamble: Preamble,
    arf: BTreeMap<MacAddress, Arf>,
    minstrel: BTreeMap<MacAddress, Minstrel>,
}

impl Rates {
    pub(super) fn new(policy: RatePolicy, preamble: Preamble) -> Self {
        Self { policy, preamble, arf: BTreeMap::new(), minstrel: BTreeMap::new() }
    }

    /// The rate of attempt `attempt`, from 1, of a packet to `peer`.
    pub(super) fn choose(
        &mut self,
        now: Instant,
        peer: MacAddress,
        attempt: u32,
        draw: &mut Stream,
    ) -> PhyRate {
        match &self.policy {
            RatePolicy::Fixed(rate) => *rate,
            RatePolicy::Arf(rates) => {
                self.arf.entry(peer).or_insert_with(|| Arf::new(rates.clone())).rate()
            }
            RatePolicy::Minstrel(rates) => {
                let preamble = self.preamble;
                let minstrel = self
                    .minstrel
                    .entry(peer)
                    .or_insert_with(|| Minstrel::new(rates.clone(), preamble));
                minstrel.rate(now, attempt, draw)
            }
        }
    }

    /// Learns the fate of an attempt to `peer` at `rate`.
    pub(super) fn learn(&mut self, peer: MacAddress, rate: PhyRate, arrived: bool) {
        match &self.policy {
            RatePolicy::Fixed(_) => {}
            RatePolicy::Arf(_) => {
                if let Some(arf) = self.arf.get_mut(&peer) {
                    arf.learn(rate, arrived);
                }
            }
            RatePolicy::Minstrel(_) => {
                if let Some(minstrel) = self.minstrel.get_mut(&peer) {
                    minstrel.learn(rate, arrived);
                }
            }
        }
    }
}
