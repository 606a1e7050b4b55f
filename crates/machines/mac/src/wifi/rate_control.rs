//! Rate control: the rate of each attempt.
//!
//! Each rate control is one file with an implementation of [`RateControl`] and a table row:
//!
//! - [`FIXED`]: a constant rate.
//! - [`ARF`]: the rate changes after consecutive successes or failures.
//! - [`MINSTREL`]: the best throughput according to measured success.
//! - [`JOINT`]: rate, code and fragments with the least expected air time.

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

/// Chooses the rates of data frames to one peer, from the outcomes of earlier attempts alone.
pub trait RateControl: fmt::Debug + Send {
    /// Chooses the rate of attempt `attempt` of a packet; the first attempt is 1.
    fn rate(&mut self, now: Instant, attempt: u32, draw: &mut Stream) -> PhyRate;

    /// Records the outcome of an attempt at `rate`, which the packet's owner may have chosen.
    fn on_attempt(&mut self, rate: PhyRate, arrived: bool);

    /// Chooses rate and code of an attempt together; `None` if no choice could deliver the packet.
    ///
    /// The default chooses only the rate, and leaves the code to the station.
    fn choose(&mut self, now: Instant, attempt: &Attempt, draw: &mut Stream) -> Option<RateChoice> {
        Some(RateChoice { rate: self.rate(now, attempt.number, draw), code: attempt.code })
    }

    /// Chooses the number of fragments of a packet, before its first attempt.
    fn fragments(&mut self, _now: Instant, _attempt: &Attempt) -> usize {
        1
    }

    /// Records the outcome of an attempt, with the receiver's report if there is one.
    fn on_outcome(&mut self, outcome: &AttemptOutcome) {
        self.on_attempt(outcome.choice.rate, outcome.arrived);
    }

    /// Returns `true` if a packet with a lifetime is retried until the lifetime ends, not until a
    /// retry limit.
    fn tries_until_expiry(&self) -> bool {
        false
    }

    /// Returns `true` if a packet is not retried after the receiver reported a damaged copy that
    /// the packet's owner accepts.
    fn accepts_damaged_delivery(&self) -> bool {
        false
    }
}

/// The facts about an attempt for which the rate control chooses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attempt {
    /// The number of the attempt, from 1.
    pub number: u32,
    /// Bytes of MAC header and body, without code and FCS.
    pub len: usize,
    /// The number of remaining attempts, including this one.
    pub left: u32,
    /// The remaining lifetime; `None` if the packet has no lifetime.
    pub time: Option<Duration>,
    /// The packet waited for more than half of its lifetime before its first attempt. The load
    /// exceeds the air time, so a more robust transmission delays other packets.
    pub is_scarce: bool,
    /// The owner accepts a damaged packet.
    pub accepts_damaged: bool,
    /// The code, unless the rate control chooses one; `None` if frames are not coded.
    pub code: Option<Code>,
}

/// The rate and code of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateChoice {
    /// Rate of the frame.
    pub rate: PhyRate,
    /// The code; `None` if frames are not coded.
    pub code: Option<Code>,
}

/// The outcome of an attempt.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AttemptOutcome {
    /// The rate and code that were chosen.
    pub choice: RateChoice,
    /// Bytes of MAC header and body, without code and FCS.
    pub len: usize,
    /// The frame was acknowledged.
    pub arrived: bool,
    /// The report of the receiver, if there was one.
    pub report: Option<Report>,
    /// The estimated probability that another station began to transmit in the same slot.
    pub collides: Probability,
}

/// The rates and timing of a station, from which a rate control is built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setup {
    /// The rates to choose from, in ascending order; at least one.
    pub rates: Vec<PhyRate>,
    /// The preamble at the rates that allow a long and a short one.
    pub preamble: Preamble,
    /// The mean time from the beginning of contention to the beginning of the frame.
    pub contention: Duration,
    /// The time by which the mean backoff grows after the first failure.
    pub growth: Duration,
    /// The time from the end of a frame to the end of its ACK, at each of the rates.
    pub answers: Vec<Duration>,
}

impl Setup {
    /// Returns the air time of a first attempt at the rate with index `place`, whose frame has
    /// `len` bytes with its FCS: contention, frame, SIFS and ACK.
    fn attempt_time(&self, place: usize, len: usize) -> Duration {
        let frame = self.rates[place].frame_duration(self.preamble, len);
        self.contention + frame + self.answers[place]
    }
}

/// A row of the table of rate controls.
#[derive(Clone, Copy)]
pub struct RateControlKind {
    /// The name in options and files.
    pub name: &'static str,
    /// The description in the reference.
    pub help: &'static str,
    /// `true` if it chooses among the rates of the PHY, `false` if it uses the station's rate.
    pub is_adaptive: bool,
    /// Builds the control for one peer.
    pub build: fn(&Setup) -> Box<dyn RateControl>,
}

impl RateControlKind {
    /// The rate controls that choose only the rate, in the order of the reference.
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

/// Returns the rates among which a station of this PHY chooses, in ascending order: OFDM rates for
/// 802.11g, DSSS and CCK rates for 802.11b.
pub fn ladder(phy: Phy) -> impl DoubleEndedIterator<Item = PhyRate> {
    PhyRate::ALL.into_iter().filter(move |rate| rate.is_ofdm() == (phy == Phy::G))
}

/// The rate controls of one station, one for each of its peers.
#[derive(Debug)]
pub(super) struct Rates {
    kind: RateControlKind,
    /// The rates for peers that support OFDM, and for 802.11b peers.
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

    /// Chooses rate and code of an attempt at a packet to `peer`; `None` if no choice could deliver
    /// it.
    pub(super) fn choose(
        &mut self,
        now: Instant,
        peer: MacAddress,
        attempt: &Attempt,
        draw: &mut Stream,
    ) -> Option<RateChoice> {
        self.of(peer).choose(now, attempt, draw)
    }

    /// Chooses the number of fragments of a packet to `peer`.
    pub(super) fn fragments(&mut self, now: Instant, peer: MacAddress, first: &Attempt) -> usize {
        self.of(peer).fragments(now, first)
    }

    /// Records the outcome of an attempt to `peer`.
    pub(super) fn on_outcome(&mut self, peer: MacAddress, outcome: &AttemptOutcome) {
        if let Some(control) = self.peers.get_mut(&peer) {
            control.on_outcome(outcome);
        }
    }

    /// Returns `true` if packets to `peer` with a lifetime are retried until it ends.
    pub(super) fn tries_until_expiry(&self, peer: MacAddress) -> bool {
        self.peers.get(&peer).is_some_and(|control| control.tries_until_expiry())
    }

    /// Returns `true` if packets to `peer` are not retried after a damaged copy arrived that the
    /// owner accepts.
    pub(super) fn accepts_damaged_delivery(&self, peer: MacAddress) -> bool {
        self.peers.get(&peer).is_some_and(|control| control.accepts_damaged_delivery())
    }

    fn of(&mut self, peer: MacAddress) -> &mut dyn RateControl {
        let Self { kind, setups, without_ofdm, peers } = self;
        let setup = || &setups[usize::from(without_ofdm.contains(&peer))];
        peers.entry(peer).or_insert_with(|| (kind.build)(setup())).as_mut()
    }
}
