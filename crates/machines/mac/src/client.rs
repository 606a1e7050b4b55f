//! The seam between a MAC, which owns the air time, and the link above, which fills it.

use windfall_base::{DropReason, Frame, Instant};
use windfall_wire_link::wavelan::{Address, Feedback};

/// The layer above an exchange of units with immediate ACKs.
///
/// A *unit* is a frame as the link made it; the MAC puts its own header before it and takes it off
/// again. The calls come in this order for each unit sent: `on_opportunity`, then `on_outcome`.
pub trait Client {
    /// Returns `true` if there is something to send to `peer`.
    fn has_unit(&self, peer: Address) -> bool;

    /// The peer of the next unit, if the client prefers one; `None` leaves the choice to the MAC.
    fn preferred(&mut self) -> Option<Address> {
        None
    }

    /// Offers air time for one unit to `peer`; returns the unit, or `None`. A frame of `ahead`
    /// bytes is sent before it, or none if that is 0.
    fn on_opportunity(&mut self, now: Instant, peer: Address, ahead: usize) -> Option<Frame>;

    /// Takes a unit from `peer`. The returned feedback goes back at once as the ACK; without it
    /// `peer` gets no answer (S0.6).
    fn on_unit(&mut self, now: Instant, peer: Address, unit: Frame) -> Option<Feedback>;

    /// Reports the fate of the last unit for `peer`: the feedback of its ACK, or none.
    fn on_outcome(&mut self, now: Instant, peer: Address, feedback: Option<&Feedback>);

    /// Reports a frame of no use to this station: for another one, or not readable.
    fn on_useless(&mut self, now: Instant, frame: Frame, reason: DropReason);
}
