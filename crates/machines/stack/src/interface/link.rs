//! The interface between a network interface and its link: queues, error control and medium access.

use core::fmt;

use windfall_base::{DropReason, Frame, Input, Instant, Outgoing, TransitTiming};
use windfall_mac::wifi::radio::Airtime;
use windfall_mac::wifi::{Contention, Rest};

use super::account::InterfaceAccount;
use super::flows::FlowAccount;

/// A link below an interface: it queues packets of the device and exchanges frames with its
/// medium.
///
/// It has the verbs of a [`base::Node`](windfall_base::Node) with one port, the medium, and the
/// verbs towards the interface. It records what happens to packets in the account.
pub(super) trait Link: fmt::Debug + Send {
    /// Enqueues a packet of the device. Returns the number of packets that wait.
    ///
    /// # Errors
    /// The reason for which the packet was dropped.
    fn take_packet(
        &mut self,
        now: Instant,
        frame: Frame,
        account: &mut InterfaceAccount,
    ) -> Result<usize, DropReason>;

    /// Enqueues a packet ahead of all others, if the link supports this.
    ///
    /// # Errors
    /// The reason for which the packet was dropped.
    fn take_first(
        &mut self,
        now: Instant,
        frame: Frame,
        account: &mut InterfaceAccount,
    ) -> Result<usize, DropReason> {
        self.take_packet(now, frame, account)
    }

    /// Starts the transmission of queued packets, for links that choose the time of their frames.
    fn handle_queued(&mut self, _now: Instant, _account: &mut InterfaceAccount) {}

    /// Processes a frame or a signal of the medium.
    fn handle_input(&mut self, now: Instant, input: Input, account: &mut InterfaceAccount);

    /// Sets the expected transit time of frames, for links that do not know it themselves.
    fn set_passage(&mut self, _passage: TransitTiming) {}

    /// Restarts the receiver, for links with sequence numbers, after the peer has restarted.
    fn restart_receiver(&mut self, _now: Instant, _account: &mut InterfaceAccount) {}

    /// Performs the actions that are due.
    fn handle_timeout(&mut self, now: Instant, account: &mut InterfaceAccount);

    /// Yields the next packet for the device.
    fn poll_delivery(&mut self, account: &mut InterfaceAccount) -> Option<Frame>;

    /// Yields the next frame for the medium.
    fn poll_transmit(&mut self, now: Instant, account: &mut InterfaceAccount) -> Option<Outgoing>;

    /// Returns when to call [`handle_timeout`](Self::handle_timeout), and why.
    fn poll_timeout(&self) -> Option<(Instant, &'static str)>;

    /// Lends the contention of the station, if frames for other stations need not be passed to it
    /// for a while. Call [`resume`](Self::resume) before any other input.
    fn rest(&self) -> Option<Rest> {
        None
    }

    /// Restores the contention that [`rest`](Self::rest) has lent.
    fn resume(&mut self, _contention: Contention) {}

    /// Returns the number of packets that the link holds.
    fn held(&self) -> usize;

    /// Returns the number of packets that wait, and their bytes.
    fn queue_len(&self) -> (usize, usize);

    /// Returns the service that each flow has received, best effort first; empty without flows.
    fn flows(&self) -> Vec<FlowAccount>;

    /// Returns the time that an 802.11 radio has spent in each state; `None` for other links.
    fn airtime(&self, _now: Instant) -> Option<Airtime> {
        None
    }

    /// Sets whether damaged frames are delivered; other links than 802.11 ignore the call.
    fn set_accept_damaged(&mut self, _accept: bool) {}
}
