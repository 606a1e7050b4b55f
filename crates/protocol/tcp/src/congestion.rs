//! How fast to send: one file for each law, behind one trait.
//!
//! A law says how the congestion window grows and shrinks. What is lost and what to send again is
//! found out by [`recovery`](crate::recovery), which every law shares.

use core::fmt;

use windfall_base::{Duration, Instant};

pub(crate) mod cubic;
pub(crate) mod net3_reno;
pub(crate) mod reno;

/// What an acknowledgment of new data tells a law.
#[derive(Clone, Copy, Debug)]
pub struct Acknowledged {
    /// When it arrived.
    pub now: Instant,
    /// Bytes that it acknowledges for the first time.
    pub bytes: u64,
    /// The smoothed round-trip time, once measured.
    pub rtt: Option<Duration>,
    /// Whether the window was what held the sender back.
    pub limited: bool,
}

/// What a loss tells a law.
#[derive(Clone, Copy, Debug)]
pub struct Loss {
    /// When it was noticed.
    pub now: Instant,
    /// Bytes sent and not acknowledged.
    pub in_flight: u64,
    /// The window that the other end offers, in bytes.
    pub offered: u64,
}

/// A law of congestion control; windows are in bytes.
pub trait CongestionController: fmt::Debug + Send {
    /// The congestion window.
    fn window(&self) -> u64;

    /// The slow-start threshold.
    fn threshold(&self) -> u64;

    /// New data were acknowledged, and nothing is being recovered.
    fn on_acknowledged(&mut self, ack: &Acknowledged);

    /// A loss was noticed by duplicate acknowledgments: reduce once for all losses of the window.
    fn on_loss(&mut self, loss: &Loss);

    /// The network marked a packet instead of dropping it (RFC 3168): as for a loss, once per
    /// round trip.
    fn on_mark(&mut self, loss: &Loss) {
        self.on_loss(loss);
    }

    /// The retransmission timer fired; `first` unless it fired before for the same data.
    fn on_timeout(&mut self, loss: &Loss, first: bool);

    /// Nothing was sent for longer than a timeout (RFC 5681, section 4.1).
    fn on_idle(&mut self);

    /// Lowers the window to `window`, if it is above.
    fn limit(&mut self, window: u64);

    /// Segments carry `mss` bytes from here on.
    fn set_mss(&mut self, mss: u64);
}

/// The congestion control algorithms, by the names under which they are chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CongestionControl {
    /// TCP as NetBSD 1.2 had it (RFC 2001).
    Net3Reno,
    /// Reno as standardised today (RFC 5681).
    Reno,
    /// CUBIC, the default of today's systems (RFC 9438).
    #[default]
    Cubic,
}

impl CongestionControl {
    /// Creates a controller for segments of `mss` bytes, with an initial window of `initial`
    /// segments.
    ///
    /// `byte_counting` switches appropriate byte counting on (RFC 3465) for [`Self::Reno`];
    /// [`Self::Cubic`] always counts bytes and [`Self::Net3Reno`] never.
    #[must_use]
    pub fn start(
        self,
        mss: u64,
        initial: u64,
        byte_counting: bool,
    ) -> Box<dyn CongestionController> {
        match self {
            Self::Net3Reno => Box::new(net3_reno::Net3Reno::new(mss)),
            Self::Reno => Box::new(reno::Reno::new(mss, initial, byte_counting)),
            Self::Cubic => Box::new(cubic::Cubic::new(mss, initial)),
        }
    }

    /// The name in configurations and reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Net3Reno => "net3-reno",
            Self::Reno => "reno",
            Self::Cubic => "cubic",
        }
    }
}

#[cfg(test)]
mod tests;
