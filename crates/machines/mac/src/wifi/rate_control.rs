//! The rate of each attempt.
//!
//! One trait, one file for each rate control, which has its row of the table too:
//!
//! - [`FIXED`]: always the same.
//! - [`ARF`]: one rate up or down after some successes or failures in a row.
//! - [`MINSTREL`]: the best throughput by measured success.
//! - [`JOINT`]: rate, code and fragments of the least expected air time.

mod arf;
mod fixed;
mod joint;
mod minstrel;

use core::fmt;
use std::collections::BTreeMap;
use std::sync::Arc;

use windfall_base::{Duration, Instant, Preamble, Probability, Stream};
use windfall_wire_link::ieee80211::{Code, MacAddress, Phy, PhyRate, Report};

pub use arf::ARF;
pub use fixed::FIXED;
pub use joint::JOINT;
pub use minstrel::MINSTREL;

/// The choice of rates for data frames to one peer. It knows only the fate of earlier attempts.
pub trait RateControl: fmt::Debug + Send {
    /// Chooses the rate of attempt `attempt`, from 1, of a packet.
    fn rate(&mut self, now: Instant, attempt: u32, draw: &mut Stream) -> PhyRate;

    /// Learns the fate of an attempt at `rate`, which the owner of the packet may have chosen.
    fn on_attempt(&mut self, rate: PhyRate, arrived: bool);

    /// Chooses rate and code of an attempt together; `None` if it could not succeed.
    ///
    /// Rate controls that choose no code leave it to the station.
    fn choose(&mut self, now: Instant, attempt: &Attempt, draw: &mut Stream) -> Option<RateChoice> {
        Some(RateChoice { rate: self.rate(now, attempt.number, draw), code: attempt.code })
    }

    /// Chooses into how many fragments a packet is cut, before its first attempt.
    fn fragments(&mut self, _now: Instant, _attempt: &Attempt) -> usize {
        1
    }

    /// Learns the fate of an attempt, and the receiver's report of it.
    fn on_outcome(&mut self, outcome: &AttemptOutcome) {
        self.on_attempt(outcome.choice.rate, outcome.arrived);
    }

    /// Returns `true` if packets with a lifetime are tried while it lasts, in place of a number of
    /// attempts.
    fn tries_until_expiry(&self) -> bool {
        false
    }

    /// Returns `true` if a packet is not repeated that its receiver says to have damaged, and whose
    /// owner takes it so.
    fn accepts_damaged_delivery(&self) -> bool {
        false
    }
}

/// An attempt that a rate control is asked about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attempt {
    /// Its number, from 1.
    pub number: u32,
    /// Bytes of MAC header and body, without code and frame check.
    pub len: usize,
    /// Attempts that are left, this one among them.
    pub left: u32,
    /// The time that is left for it.
    pub time: Option<Duration>,
    /// It has waited for more than half of its lifetime before its first attempt: the load exceeds
    /// the air time, so a surer delivery costs other packets.
    pub is_scarce: bool,
    /// The owner of the packet takes it damaged too.
    pub accepts_damaged: bool,
    /// Frames are coded, with this code unless the rate control chooses one.
    pub code: Option<Code>,
}

/// The form of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateChoice {
    /// Rate of the frame.
    pub rate: PhyRate,
    /// The code; `None` if frames are not coded.
    pub code: Option<Code>,
}

/// The fate of an attempt.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AttemptOutcome {
    /// The rate and code that were chosen.
    pub choice: RateChoice,
    /// Bytes of MAC header and body, without code and frame check.
    pub len: usize,
    /// It was acknowledged.
    pub arrived: bool,
    /// The report of the receiver, if there was one.
    pub report: Option<Report>,
    /// The probability that another station began in the same slot, by recent observations.
    pub collides: Probability,
}

/// The rates and frames of a station, from which a rate control is built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setup {
    /// The rates among which it may choose, rising; at least one.
    pub rates: Vec<PhyRate>,
    /// The form of the preamble at the rates that have two.
    pub preamble: Preamble,
    /// The mean time before an attempt.
    pub contention: Duration,
    /// The time by which the wait before the next attempt is longer on average, after the first
    /// failure.
    pub growth: Duration,
    /// The time from the end of a frame to that of its answer, at each of the rates.
    pub answers: Vec<Duration>,
}

/// A row of the table of rate controls.
#[derive(Clone, Copy)]
pub struct RateControlKind {
    /// The name in options and files.
    pub name: &'static str,
    /// The description in the reference.
    pub help: &'static str,
    /// It chooses among the rates of the PHY; else it has the rate of the station alone.
    pub is_adaptive: bool,
    /// Builds the control for one peer.
    pub build: fn(&Setup) -> Box<dyn RateControl>,
}

impl RateControlKind {
    /// The rate controls that choose the rate alone, in the order of the reference.
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
    /// For stations that read OFDM, and for those of 802.11b.
    setups: [Setup; 2],
    without_ofdm: Arc<[MacAddress]>,
    peers: BTreeMap<MacAddress, Box<dyn RateControl>>,
}

impl Rates {
    pub(super) fn new(
        kind: RateControlKind,
        setups: [Setup; 2],
        without_ofdm: Arc<[MacAddress]>,
    ) -> Self {
        Self { kind, setups, without_ofdm, peers: BTreeMap::new() }
    }

    /// Chooses rate and code of an attempt at a packet to `peer`; `None` if it could not succeed.
    pub(super) fn choose(
        &mut self,
        now: Instant,
        peer: MacAddress,
        attempt: &Attempt,
        draw: &mut Stream,
    ) -> Option<RateChoice> {
        self.of(peer).choose(now, attempt, draw)
    }

    /// Chooses into how many fragments a packet to `peer` is cut.
    pub(super) fn fragments(&mut self, now: Instant, peer: MacAddress, first: &Attempt) -> usize {
        self.of(peer).fragments(now, first)
    }

    /// Learns the fate of an attempt to `peer`.
    pub(super) fn on_outcome(&mut self, peer: MacAddress, outcome: &AttemptOutcome) {
        if let Some(control) = self.peers.get_mut(&peer) {
            control.on_outcome(outcome);
        }
    }

    /// Returns `true` if packets to `peer` with a lifetime are tried while it lasts.
    pub(super) fn tries_until_expiry(&self, peer: MacAddress) -> bool {
        self.peers.get(&peer).is_some_and(|control| control.tries_until_expiry())
    }

    /// Returns `true` if packets to `peer` are not retransmitted after they arrived damaged for an
    /// owner that accepts damage.
    pub(super) fn accepts_damaged_delivery(&self, peer: MacAddress) -> bool {
        self.peers.get(&peer).is_some_and(|control| control.accepts_damaged_delivery())
    }

    fn of(&mut self, peer: MacAddress) -> &mut dyn RateControl {
        let Self { kind, setups, without_ofdm, peers } = self;
        let setup = || &setups[usize::from(without_ofdm.contains(&peer))];
        peers.entry(peer).or_insert_with(|| (kind.build)(setup())).as_mut()
    }
}
