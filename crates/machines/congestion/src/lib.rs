//! Congestion control: one file for each algorithm, behind one trait.
//!
//! A [`CongestionController`] decides how the congestion window grows and shrinks. Detecting losses
//! and choosing what to retransmit belong to the transport, which all of them share. A
//! [`ControllerFactory`] makes the controllers of one algorithm, and a [`CongestionControl`] in a
//! configuration chooses it. Both traits are open: an algorithm may live in any crate.

use core::fmt;

use windfall_base::{Duration, Instant};

mod bbr;
mod cubic;
mod hystart;
mod net3_reno;
mod reno;

/// An acknowledgment of new data, as a congestion controller sees it.
#[derive(Clone, Copy, Debug)]
pub struct Acknowledged {
    /// When it arrived.
    pub now: Instant,
    /// Bytes that it acknowledges for the first time: those that SACK had reported do not count
    /// again (RFC 5681, section 3.1).
    pub bytes: u64,
    /// The smoothed round-trip time, once measured.
    pub rtt: Option<Duration>,
    /// Set if the congestion window limited the sender.
    pub limited: bool,
    /// The round-trip time that it measured, if any.
    pub sample: Option<Duration>,
    /// The oldest unacknowledged position after it.
    pub una: u64,
    /// The next position to send.
    pub next: u64,
}

/// The state of the sender at a loss.
#[derive(Clone, Copy, Debug)]
pub struct Loss {
    /// When it was noticed.
    pub now: Instant,
    /// Bytes sent and not acknowledged (RFC 5681, section 2, FlightSize). What a timeout has
    /// declared lost is not among them, and they are at most the window.
    pub in_flight: u64,
    /// Of these, the bytes that are neither reported as arrived nor lost.
    pub in_network: u64,
    /// The window that the peer offers, in bytes.
    pub offered: u64,
}

/// The loss rate in flight that a model tolerates (draft-ietf-ccwg-bbr, section 2.7).
const MAX_LOSS_RATE: f64 = 0.02;

/// The delivery since something was sent that has now arrived, or is now lost
/// (draft-ietf-ccwg-bbr, section 4.1.1.2); numbers are bytes.
#[derive(Clone, Copy, Debug)]
pub struct Delivery {
    /// When it arrived.
    pub now: Instant,
    /// Bytes per second; 0 if it cannot be told.
    pub rate: f64,
    /// Delivered by the connection, now and when that was sent.
    pub delivered: u64,
    /// When that was sent.
    pub delivered_before: u64,
    /// Delivered by this acknowledgment.
    pub newly_delivered: u64,
    /// Lost by what this acknowledgment told.
    pub newly_lost: u64,
    /// Lost in all.
    pub lost: u64,
    /// Lost since that was sent.
    pub lost_since: u64,
    /// In flight when that was sent, with it.
    pub sent_in_flight: u64,
    /// In flight now.
    pub in_flight: u64,
    /// The application had nothing more to send then.
    pub is_app_limited: bool,
    /// The congestion window limits the sender.
    pub limited: bool,
    /// The round trip, if it was sent once.
    pub round_trip: Option<Duration>,
}

impl Delivery {
    /// Returns whether more was lost than the path should lose.
    const fn loses_too_much(&self) -> bool {
        self.lost_since as f64 > self.sent_in_flight as f64 * MAX_LOSS_RATE
    }
}

/// A congestion control algorithm at work on one connection; windows are in bytes.
pub trait CongestionController: fmt::Debug + Send {
    /// Returns the congestion window.
    fn window(&self) -> u64;

    /// Returns the slow-start threshold.
    fn threshold(&self) -> u64;

    /// Handles an acknowledgment of new data outside recovery.
    fn on_acknowledged(&mut self, ack: &Acknowledged);

    /// Handles a loss noticed by duplicate acknowledgments: reduces once for all losses of the
    /// window.
    fn on_loss(&mut self, loss: &Loss);

    /// Handles a mark of the network (RFC 3168): reduces as for a loss, once per round trip.
    fn on_mark(&mut self, loss: &Loss) {
        self.on_loss(loss);
    }

    /// Handles a retransmission timeout; `first` unless it fired before for the same data.
    fn on_timeout(&mut self, loss: &Loss, first: bool);

    /// Undoes the reduction of the last timeout, which was spurious (RFC 5682; RFC 9438, section
    /// 4.9).
    fn on_spurious_timeout(&mut self);

    /// Takes the last reduction for a loss or a timeout back: nothing had been lost (RFC 4015; RFC
    /// 9438, section 4.9.2).
    fn on_spurious_loss(&mut self) {
        self.on_spurious_timeout();
    }

    /// Handles a pause longer than a timeout (RFC 5681, section 4.1).
    fn on_idle(&mut self);

    /// Lowers the window to `window`, if it is above.
    fn limit(&mut self, window: u64);

    /// Segments carry `mss` bytes from here on.
    fn set_mss(&mut self, mss: u64);

    /// Takes the first round trip that was measured, in most cases that of the handshake.
    fn on_first_round_trip(&mut self, _round_trip: Duration) {}

    /// Takes the rate of delivery, where the algorithm models the path.
    fn on_delivery(&mut self, _sample: &Delivery) {}

    /// Takes one loss, where the algorithm models the path.
    fn on_lost(&mut self, _sample: &Delivery) {}

    /// Returns the share of what is in flight that a loss leaves in the window (RFC 9438, section
    /// 4.6).
    fn beta(&self) -> f64 {
        0.5
    }

    /// Handles the end of a recovery.
    fn on_recovered(&mut self) {}

    /// Returns the rate at which to send, in bytes per second, where the algorithm knows one.
    fn pacing_rate(&self, _smoothed: Option<Duration>) -> Option<f64> {
        None
    }

    /// Returns whether the algorithm models the path and wants rates of delivery for that.
    fn is_model(&self) -> bool {
        false
    }

    /// Watches the round trips of the first slow start, where the algorithm can (RFC 9406).
    fn use_hystart(&mut self) {}
}

/// The settings with which a controller starts.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Start {
    /// Bytes of data in a segment.
    pub mss: u64,
    /// The initial window in segments.
    pub initial_window: u64,
    /// Counts acknowledged bytes instead of acknowledgments, where the algorithm has a choice (RFC
    /// 3465).
    pub byte_counting: bool,
}

/// Makes the controllers of one algorithm; all connections of a configuration share it.
pub trait ControllerFactory: Send + Sync {
    /// Returns the name in configurations and reports. Two factories of one name count as equal.
    fn name(&self) -> &'static str;

    /// Returns the document that describes the algorithm, such as `RFC 5681`; empty if there is
    /// none.
    fn source(&self) -> &'static str {
        ""
    }

    /// Returns the name of the algorithm in Linux.
    ///
    /// # Errors
    /// The reason, if Linux has no such algorithm.
    fn linux_name(&self) -> Result<&'static str, &'static str> {
        Err("the kernel has no such algorithm")
    }

    /// Creates the controller of a new connection.
    fn start(&self, start: &Start) -> Box<dyn CongestionController>;
}

/// A congestion control algorithm, chosen by its factory; equal if the names are.
#[derive(Clone, Copy)]
pub struct CongestionControl(&'static dyn ControllerFactory);

impl CongestionControl {
    /// CUBIC, the default of today's systems (RFC 9438).
    pub const CUBIC: Self = Self(&cubic::CubicFactory);
    /// BBR, a model of bandwidth and round trip (draft-ietf-ccwg-bbr).
    pub const BBR: Self = Self(&bbr::BbrFactory);
    /// Reno as standardised today (RFC 5681).
    pub const RENO: Self = Self(&reno::RenoFactory);
    /// TCP as NetBSD 1.2 had it (RFC 2001).
    pub const NET3_RENO: Self = Self(&net3_reno::Net3RenoFactory);

    /// The algorithms of this crate, in the order in which they are listed for users.
    pub const BUILT_IN: &[Self] = &[Self::CUBIC, Self::BBR, Self::RENO, Self::NET3_RENO];

    /// Returns the algorithm of a factory, which may be a `static` of any crate.
    #[must_use]
    pub const fn new(factory: &'static dyn ControllerFactory) -> Self {
        Self(factory)
    }

    /// Returns the algorithm of this crate that has this name.
    #[must_use]
    pub fn built_in(name: &str) -> Option<Self> {
        Self::BUILT_IN.iter().copied().find(|it| it.name() == name)
    }

    /// Creates a controller for segments of `mss` bytes, with an initial window of `initial`
    /// segments.
    ///
    /// `byte_counting` switches appropriate byte counting on (RFC 3465) for [`Self::RENO`];
    /// [`Self::CUBIC`] always counts bytes and [`Self::NET3_RENO`] never.
    #[must_use]
    pub fn start(
        self,
        mss: u64,
        initial: u64,
        byte_counting: bool,
    ) -> Box<dyn CongestionController> {
        self.0.start(&Start { mss, initial_window: initial, byte_counting })
    }

    /// Returns the name in configurations and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.0.name()
    }

    /// Returns the document that describes the algorithm; empty if there is none.
    #[must_use]
    pub fn source(self) -> &'static str {
        self.0.source()
    }

    /// Returns the name of the algorithm in Linux.
    ///
    /// # Errors
    /// The reason, if Linux has no such algorithm.
    pub fn linux_name(self) -> Result<&'static str, &'static str> {
        self.0.linux_name()
    }
}

impl Default for CongestionControl {
    fn default() -> Self {
        Self::CUBIC
    }
}

impl PartialEq for CongestionControl {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for CongestionControl {}

impl fmt::Debug for CongestionControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
