//! Assistance of an interface to the TCP that crosses it; all of it is off by default.
//!
//! Both elements are between the link and the internet layer and read two headers, so they are here
//! and not in `link` or `tcp`.

mod filter;
mod snoop;

use windfall_base::{DropReason, Frame, Instant};

pub use filter::CorruptionFilter;
pub use snoop::SnoopConfig;

use snoop::Snoop;

/// Which elements there are.
#[derive(Clone, Copy, Debug, Default)]
pub struct AssistConfig {
    /// Damaged segments are passed up only if their corruption detection option is valid (S4.11).
    pub filter: Option<CorruptionFilter>,
    /// Segments are cached and retransmitted over the link, and duplicate ACKs that this explains
    /// are suppressed (S2.18).
    pub snoop: Option<SnoopConfig>,
    /// Packets are passed up without the number of frames that the link lost before them (S4.27).
    pub hides_losses: bool,
}

/// The elements of the assistance.
#[derive(Debug)]
pub(super) struct Assist {
    filter: Option<CorruptionFilter>,
    snoop: Option<Snoop>,
    hides_losses: bool,
}

impl Assist {
    pub(super) fn new(config: AssistConfig) -> Self {
        let AssistConfig { filter, snoop, hides_losses } = config;
        Self { filter, snoop: snoop.map(Snoop::new), hides_losses }
    }

    /// Returns whether packets must be passed to `handle_queued`.
    pub(super) const fn keeps_packets(&self) -> bool {
        self.snoop.is_some()
    }

    /// Processes a packet that was queued for the link. A packet that the full queue dropped is not
    /// passed here: its loss is congestion.
    pub(super) fn handle_queued(&mut self, now: Instant, frame: &Frame) {
        if let Some(snoop) = &mut self.snoop {
            snoop.handle_packet(now, frame);
        }
    }

    /// Processes a packet on its way from the link to the device.
    ///
    /// # Errors
    /// The reason for which the packet is dropped.
    pub(super) fn handle_delivery(
        &mut self,
        now: Instant,
        frame: &mut Frame,
    ) -> Result<(), DropReason> {
        //= S4.27
        if self.hides_losses {
            frame.damage.lost_before = 0;
        }
        if let Some(filter) = &self.filter {
            filter.check(frame)?;
        }
        self.snoop.as_mut().map_or(Ok(()), |snoop| snoop.handle_delivery(now, frame))
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) {
        if let Some(snoop) = &mut self.snoop {
            snoop.handle_timeout(now);
        }
    }

    /// Returns the next packet to retransmit over the link.
    pub(super) fn poll_repetition(&mut self) -> Option<Frame> {
        self.snoop.as_mut().and_then(Snoop::poll_repetition)
    }

    pub(super) fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        self.snoop.as_ref().and_then(Snoop::poll_timeout)
    }
}

#[cfg(test)]
mod tests;
