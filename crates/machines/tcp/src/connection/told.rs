//! The phase and the in-flight counts of a sender, as systems report them in `TCP_INFO`.

use super::Connection;

/// The phase of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendPhase {
    /// Nothing hints at a loss.
    Open,
    /// Something arrived out of order, or twice.
    Disorder,
    /// The window was reduced for a mark.
    Reduced,
    /// Lost data are sent again.
    Recovery,
    /// After a timeout, everything in flight counts as lost.
    Loss,
}

/// The counts of data in flight, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SendFlight {
    /// Sent and not acknowledged.
    pub outstanding: u64,
    /// The part that the peer reports as arrived.
    pub reported: u64,
    /// The part that was judged lost, sent again or not.
    pub lost: u64,
    /// The part that was sent again.
    pub repeated: u64,
    /// The part that the network holds.
    pub in_network: u64,
    /// The phase of the sender.
    pub phase: SendPhase,
}

impl Connection {
    /// Returns the counts of data in flight.
    #[must_use]
    pub fn flight(&self) -> SendFlight {
        let flow = self.flow();
        let reported = self.recovery.reported_below(flow.max);
        let phase = if self.recovery.is_active() {
            SendPhase::Recovery
        } else if self.recovery.repairs_timeout(&flow) {
            SendPhase::Loss
        } else if reported > 0 {
            SendPhase::Disorder
        } else if flow.una < self.sender.reduced_until {
            SendPhase::Reduced
        } else {
            SendPhase::Open
        };
        let first = flow.una.max(1).min(flow.max);
        let in_network = self.recovery.in_flight(&flow);
        let (lost, repeated) = self.recovery.lost_and_repeated(&flow);
        let outstanding = flow.max - first;
        SendFlight { outstanding, reported, lost: lost + repeated, repeated, in_network, phase }
    }
}
