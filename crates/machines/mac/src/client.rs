//! The interface between a MAC, which grants air time, and the link above, which fills it.

use windfall_base::{DropReason, Frame, Instant};
use windfall_wire_link::wavelan::{Address, Feedback};

/// The layer above a MAC that acknowledges each frame at once.
///
///
/// A *unit* is a frame of the link, the MAC's service data unit (MSDU). The MAC adds its own header
/// and removes it at the receiver. For each unit sent, the MAC first calls `on_opportunity` and
/// then `on_outcome`.
pub trait Client {
    /// Returns `true` if there is something to send to `peer`.
    fn has_unit(&self, peer: Address) -> bool;

    /// Returns the peer of the next unit if the client prefers one; `None` leaves the choice to the
    /// MAC.
    fn preferred(&mut self) -> Option<Address> {
        None
    }

    /// Offers air time for one unit to `peer`; returns the unit, or `None`. The MAC sends a frame
    /// of `ahead` bytes before the unit; 0 means none.
    fn on_opportunity(&mut self, now: Instant, peer: Address, ahead: usize) -> Option<Frame>;

    /// Passes up a unit from `peer`. The MAC returns the feedback at once as the ACK. If there is
    /// no feedback, it sends no answer (S0.6).
    fn on_unit(&mut self, now: Instant, peer: Address, unit: Frame) -> Option<Feedback>;

    /// Reports the outcome of the last unit for `peer`: the feedback of its ACK, or `None` if no
    /// ACK came.
    fn on_outcome(&mut self, now: Instant, peer: Address, feedback: Option<&Feedback>);

    /// Reports a frame that this station cannot use: it is for another station, or unreadable.
    fn on_useless(&mut self, now: Instant, frame: Frame, reason: DropReason);
}
