//! The link over a full-duplex pipe: sender and receiver of one end in one machine.

use std::collections::VecDeque;

use windfall_base::{
    DropReason, Duration, Frame, FramesOfPacket, Instant, PacketEvent, PacketEventKind,
    TransitTiming,
};
use windfall_wire_link::check::FCS_LEN;
use windfall_wire_link::pipe::{Header, NUMBERED_LEN, Number, PLAIN_LEN, Wish};

use crate::arq::framer::Whole;
use crate::arq::receiver::{Numbered, Receiver, ReceiverConfig};
use crate::arq::sender::Sender;
use crate::arrival::Arrival;
use crate::coded::pipelined::{Coding, Pipelined};
use crate::framing::{Opened, open, seal};
use crate::output::Output;
use crate::persistence::Arq;
use crate::window::{Pulled, Window};

/// The error control at one end of a pipe.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PipeConfig {
    /// The limit of retransmissions.
    pub arq: Arq,
    /// Passes up packets with a wrong frame check, unless their sender says otherwise (S0.5).
    pub accept_damaged: bool,
    /// Restores packets from several damaged copies.
    pub combine: bool,
    /// Incremental redundancy: the receiver keeps a damaged packet and reports it, and the sender
    /// sends parity instead of another copy. Coded packets do not use it.
    pub increments: bool,
    /// The limits of packets in flight at the sender, and of reordered packets at the receiver.
    pub window: Window,
    /// The coding in blocks; `None` for uncoded packets. Both ends must agree.
    pub coding: Option<Coding>,
}

/// One end of a full-duplex pipe.
///
/// Call `handle_*` methods, then call each `poll_*` until it returns `None`, then `poll_timeout`.
/// Packets to send are pulled: `poll_transmit` requests a packet when the link can send one.
///
/// With [`Arq::None`] frames have no numbers: each is sent once and passed up on arrival. Otherwise
/// packets are numbered and passed up in order. If the class of a flow limits attempts or lifetime,
/// its packets are ordered only within the flow. Coded frames are always numbered.
#[derive(Debug)]
pub struct Pipe {
    sender: Option<Sender<Whole>>,
    coded: Option<Box<Pipelined>>,
    receiver: Receiver,
    passage: TransitTiming,
    deliveries: VecDeque<Frame>,
    events: VecDeque<PacketEvent>,
}

impl Pipe {
    /// Creates a link that has sent and received nothing.
    #[must_use]
    pub fn new(config: PipeConfig) -> Self {
        let PipeConfig { arq, accept_damaged, combine, increments, window, coding } = config;
        let window =
            Window { packets: window.packets.clamp(1, Window::MAX_PACKETS), bytes: window.bytes };
        let receiver = ReceiverConfig { accept_damaged, combine, increments, window };
        Self {
            sender: (arq != Arq::None).then(|| Sender::new(Whole::new(arq), window)),
            coded: coding.map(|coding| Box::new(Pipelined::new(coding, arq, receiver))),
            receiver: Receiver::new(receiver),
            passage: TransitTiming::default(),
            deliveries: VecDeque::new(),
            events: VecDeque::new(),
        }
    }

    /// Sets the transmission time of its frames.
    pub fn set_passage(&mut self, passage: TransitTiming) {
        self.passage = passage;
        if let Some(coded) = &mut self.coded {
            coded.set_passage(passage);
        }
        if let Some(sender) = &mut self.sender {
            sender.framer.passage = passage;
        }
    }

    /// Returns the transmission time of a packet in the shortest frame, without queueing.
    #[must_use]
    pub fn least_time(&self) -> LeastTime {
        let header = if self.sender.is_some() { NUMBERED_LEN } else { PLAIN_LEN };
        LeastTime { passage: self.passage, beside: header + FCS_LEN }
    }

    /// Handles a frame from the medium.
    pub fn handle_frame(&mut self, now: Instant, mut frame: Frame) -> Arrival {
        let Self { sender, coded, receiver, deliveries, events, .. } = self;
        let mut out = Output { deliveries, events };
        if let Some(coded) = coded {
            return coded.handle_frame(now, &frame, &mut out);
        }
        let failure = match open(&mut frame) {
            Ok(Opened::Data(data, mismatch)) => match data.number {
                Number::Plain => {
                    out.finish(frame, receiver.accepts(data.wish));
                    return Arrival::Packet;
                }
                Number::Window { seq, order, settled } => {
                    let numbered = Numbered { seq, order, settled, wish: data.wish };
                    receiver.take(numbered, None, frame, mismatch, &mut out);
                    return Arrival::Packet;
                }
                Number::Flow { seq, order, settled, place } => {
                    let numbered = Numbered { seq, order, settled, wish: data.wish };
                    receiver.take(numbered, Some(place), frame, mismatch, &mut out);
                    return Arrival::Packet;
                }
                Number::Increment { seq, order, settled, part, place } => {
                    let numbered = Numbered { seq, order, settled, wish: data.wish };
                    receiver.take_parity(numbered, part, place, frame, &mut out);
                    return Arrival::Packet;
                }
                Number::Unit(_) => DropReason::NotForUs,
            },
            Ok(Opened::Control(Header::Probe(probe))) => {
                match receiver.take_probe(probe, &mut out) {
                    Ok(()) => return Arrival::Control,
                    Err(reason) => reason,
                }
            }
            Ok(Opened::Control(Header::Ack(ack))) => {
                let took = sender.as_mut().is_some_and(|s| s.take_ack(now, &ack, out.events));
                if took {
                    return Arrival::Control;
                }
                DropReason::Malformed
            }
            Ok(Opened::Control(Header::Data(_))) => DropReason::Malformed,
            Err(reason) => reason,
        };
        out.discard(&frame, failure);
        Arrival::Packet
    }

    /// Restarts the receiver after the peer has restarted, with numbers from zero. Packets that
    /// wait for earlier ones are passed up. The sender continues: a restarted peer accepts the
    /// numbers as they are.
    pub fn restart_receiver(&mut self) {
        let Self { coded, receiver, deliveries, events, .. } = self;
        let mut out = Output { deliveries, events };
        match coded {
            Some(coded) => coded.restart_receiver(&mut out),
            None => receiver.restart(&mut out),
        }
    }

    /// Yields the next frame for an idle medium; `pull` returns the next packet to send.
    ///
    /// The order of priority is: ACKs, retransmissions, new packets, probes.
    pub fn poll_transmit(
        &mut self,
        now: Instant,
        mut pull: impl FnMut() -> Option<Pulled>,
    ) -> Option<Frame> {
        if let Some(coded) = &mut self.coded {
            return coded.poll_transmit(now, &mut self.events, pull);
        }
        if let Some(ack) = self.receiver.poll_ack() {
            let (header, trailer) = ack.encode();
            return Some(Frame::control(header, trailer));
        }
        let Some(sender) = &mut self.sender else {
            return pull().map(|pulled| send_plain(pulled.frame, &mut self.events));
        };
        let packet = sender.poll_packet(now, &mut self.events, pull);
        packet.or_else(|| sender.poll_probe(now))
    }

    /// Handles all timers that are due. A spurious call changes nothing.
    pub fn handle_timeout(&mut self, now: Instant) {
        if let Some(coded) = &mut self.coded {
            coded.handle_timeout(now);
        } else if let Some(sender) = &mut self.sender {
            sender.handle_timeout(now);
        }
    }

    /// Yields the next packet for the layer above, in order.
    pub fn poll_delivery(&mut self) -> Option<Frame> {
        self.deliveries.pop_front()
    }

    /// Yields the next event.
    pub fn poll_event(&mut self) -> Option<PacketEvent> {
        self.events.pop_front()
    }

    /// Returns when to call `handle_timeout` next, and why.
    #[must_use]
    #[inline]
    pub fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        match &self.coded {
            Some(coded) => coded.poll_timeout(),
            None => self.sender.as_ref()?.poll_timeout(),
        }
    }

    /// Returns the number of packets that the link holds: kept copies, reordered packets, and
    /// deliveries not yet polled.
    #[must_use]
    pub fn held(&self) -> usize {
        let copies = self.sender.as_ref().map_or(0, Sender::held);
        let coded = self.coded.as_ref().map_or(0, |coded| coded.held());
        copies + coded + self.receiver.held() + self.deliveries.len()
    }
}

/// The minimum time from the beginning of a packet's transmission to its arrival.
#[derive(Clone, Copy, Debug)]
pub struct LeastTime {
    passage: TransitTiming,
    /// The bytes of a frame beside the packet.
    beside: usize,
}

impl LeastTime {
    /// Returns the time of a packet of `len` bytes.
    #[must_use]
    pub fn of(&self, len: usize) -> Duration {
        self.passage.time(FramesOfPacket::one(len, len + self.beside))
    }
}

/// Sends a packet without a number, for the only time.
fn send_plain(mut frame: Frame, events: &mut VecDeque<PacketEvent>) -> Frame {
    let wish = Wish { last: true, accept_damaged: frame.class.accept_damaged };
    seal(&mut frame, Number::Plain, wish);
    frame.kept = false;
    let sent = PacketEventKind::Sent { attempt: 1, len: frame.len(), kept: false };
    events.push_back(sent.of_packet(frame.tag));
    frame
}

#[cfg(test)]
mod tests;
