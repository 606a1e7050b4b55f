//! An erasure code across packets, above the link of an interface.

use core::net::IpAddr;

use windfall_base::{FlowId, Frame, Instant, Payload, Tag, earlier};
use windfall_link::{Arrival, RepairConfig, RepairReceiver, RepairSender};
use windfall_wire_link::check::frame_check;

use super::account::InterfaceAccount;
use super::classify::destination;

/// The erasure codes across packets of an interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RepairsConfig {
    /// The code of the packets that it sends.
    pub send: Option<RepairConfig>,
    /// The code of the packets that it receives. Its link must pass damaged packets up.
    pub receive: Option<RepairConfig>,
    /// Passes up packets that stay damaged, unless their sender states otherwise.
    pub accept_damaged: bool,
    /// Codes the packets of each destination separately, because not every station receives all
    /// packets.
    pub by_destination: bool,
}

/// Both sides of the code.
#[derive(Debug)]
pub(super) struct Repairs {
    pub(super) sender: Option<RepairSender>,
    receiver: Option<RepairReceiver>,
    /// The name that distinguishes the streams of this interface from those of other interfaces.
    name: [u8; 4],
    by_destination: bool,
}

impl Repairs {
    pub(super) fn new(config: RepairsConfig, name: &str) -> Self {
        let RepairsConfig { send, receive, accept_damaged, by_destination } = config;
        Self {
            sender: send.map(RepairSender::new),
            receiver: receive.map(|code| RepairReceiver::new(code, accept_damaged)),
            name: frame_check(&[name.as_bytes()]),
            by_destination,
        }
    }

    /// Adds a packet to be sent to the code.
    pub(super) fn protect(&mut self, now: Instant, frame: &mut Frame) {
        let Some(sender) = &mut self.sender else { return };
        let to = if self.by_destination { destination(&frame.payload) } else { None };
        let stream = match to {
            None => self.name,
            Some(IpAddr::V4(to)) => frame_check(&[&self.name, &to.octets()]),
            Some(IpAddr::V6(to)) => frame_check(&[&self.name, &to.octets()]),
        };
        // Queues keep the order only among packets of one flow.
        let stream = match frame.class.flow {
            FlowId(0) => stream,
            FlowId(flow) => frame_check(&[&stream, &flow.to_be_bytes()]),
        };
        let before = if self.by_destination { header_len(&frame.payload) } else { 0 };
        sender.protect(now, u32::from_be_bytes(stream), before, frame);
    }

    /// Processes a received packet; returns it unchanged if no code is configured.
    pub(super) fn take(
        &mut self,
        now: Instant,
        frame: Frame,
        account: &mut InterfaceAccount,
    ) -> Option<Frame> {
        let Some(receiver) = &mut self.receiver else { return Some(frame) };
        if receiver.handle_frame(now, frame) == Arrival::Control {
            account.consumed();
        }
        self.collect(account);
        None
    }

    /// Passes up the packets that wait for a repair, and removes the streams of the peer.
    pub(super) fn restart_receiver(&mut self, account: &mut InterfaceAccount) {
        if let Some(receiver) = &mut self.receiver {
            receiver.restart();
        }
        self.collect(account);
    }

    /// Yields the next packet in order.
    pub(super) fn poll_delivery(&mut self) -> Option<Frame> {
        self.receiver.as_mut()?.poll_delivery()
    }

    /// Performs the actions that are due.
    pub(super) fn handle_timeout(&mut self, now: Instant, account: &mut InterfaceAccount) {
        if let Some(sender) = &mut self.sender {
            sender.handle_timeout(now);
        }
        if let Some(receiver) = &mut self.receiver {
            receiver.handle_timeout(now);
        }
        self.collect(account);
    }

    pub(super) fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        let sending = self.sender.as_ref().and_then(RepairSender::poll_timeout);
        earlier(sending, self.receiver.as_ref().and_then(RepairReceiver::poll_timeout))
    }

    /// Returns the missing packets that a received repair packet may still recover.
    pub(super) fn awaited(&self) -> impl Iterator<Item = Tag> + '_ {
        self.receiver.iter().flat_map(RepairReceiver::awaited)
    }

    /// Packets that wait for a repair.
    pub(super) fn held(&self) -> usize {
        self.receiver.as_ref().map_or(0, RepairReceiver::held)
    }

    /// Sets whether damaged packets are passed up. Returns whether a code is configured, which
    /// needs the damaged packets of the link in any case.
    pub(super) fn set_accept_damaged(&mut self, accept: bool) -> bool {
        self.receiver.as_mut().is_some_and(|receiver| {
            receiver.set_accept_damaged(accept);
            true
        })
    }

    fn collect(&mut self, account: &mut InterfaceAccount) {
        while let Some(event) = self.receiver.as_mut().and_then(RepairReceiver::poll_event) {
            account.record(event);
        }
    }
}

/// Bytes of the header in which the link finds the destination of a packet.
fn header_len(packet: &Payload) -> usize {
    match packet.prefix(1).first().map(|first| first >> 4) {
        Some(4) => 20,
        Some(6) => 40,
        _ => 0,
    }
}
