//! The seam between an interface and its link: queues, error control and access to one medium.

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
/// verbs towards the interface. What it does with packets it enters into the account.
pub(super) trait Link: fmt::Debug + Send {
    /// Takes a packet of the device into its queue. Returns the number of packets that wait.
    ///
    /// # Errors
    /// The reason why it was not taken.
    fn take_packet(
        &mut self,
        now: Instant,
        frame: Frame,
        account: &mut InterfaceAccount,
    ) -> Result<usize, DropReason>;

    /// Takes a packet that goes ahead of those that wait, where the link has such a place.
    ///
    /// # Errors
    /// The reason why it was not taken.
    fn take_first(
        &mut self,
        now: Instant,
        frame: Frame,
        account: &mut InterfaceAccount,
    ) -> Result<usize, DropReason> {
        self.take_packet(now, frame, account)
    }

    /// Begins to send the packets taken, for links that choose the time of their frames.
    fn handle_queued(&mut self, _now: Instant, _account: &mut InterfaceAccount) {}

    /// Takes a frame or a signal of the medium.
    fn handle_input(&mut self, now: Instant, input: Input, account: &mut InterfaceAccount);

    /// Learns what can be known of the time that frames take, where the link does not know by
    /// itself.
    fn set_passage(&mut self, _passage: TransitTiming) {}

    /// Restarts the receiver, for links with numbers that the peer restarts.
    fn restart_receiver(&mut self, _now: Instant, _account: &mut InterfaceAccount) {}

    /// Performs the actions that are due.
    fn handle_timeout(&mut self, now: Instant, account: &mut InterfaceAccount);

    /// Yields the next packet for the device.
    fn poll_delivery(&mut self, account: &mut InterfaceAccount) -> Option<Frame>;

    /// Yields the next frame for the medium.
    fn poll_transmit(&mut self, now: Instant, account: &mut InterfaceAccount) -> Option<Outgoing>;

    /// Returns when to call [`handle_timeout`](Self::handle_timeout), and why.
    fn poll_timeout(&self) -> Option<(Instant, &'static str)>;

    /// Returns what follows from what the link hears until a frame comes for it, or it is given a
    /// packet or woken, if it need not be told until then.
    fn rest(&self) -> Option<Rest> {
        None
    }

    /// Takes back the contention that it has lent by [`rest`](Self::rest).
    fn resume(&mut self, _contention: Contention) {}

    /// Returns the number of packets that the link holds.
    fn held(&self) -> usize;

    /// Returns the number of packets that wait, and their bytes.
    fn queue_len(&self) -> (usize, usize);

    /// Returns the service that each flow has had, best effort first; nothing without flows.
    fn flows(&self) -> Vec<FlowAccount>;

    /// Returns the time that the radio has spent in each state, where there is an 802.11 radio.
    fn airtime(&self, _now: Instant) -> Option<Airtime> {
        None
    }

    /// Sets whether damaged frames are delivered, where the link has such a switch.
    fn set_accept_damaged(&mut self, _accept: bool) {}
}
