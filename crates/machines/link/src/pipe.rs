//! The link over a full-duplex pipe: sender and receiver of one end in one machine.

use std::collections::VecDeque;

use windfall_base::{
    DropReason, Duration, Frame, FramesOfPacket, Instant, PacketEvent, PacketEventKind,
    TransitTiming,
};
use windfall_wire_link::check::FCS_LEN;
use windfall_wire_link::pipe::{Header, NUMBERED_LEN, Number, PLAIN_LEN, Wish};

use crate::arq::framer::Whole;
use crate::arq::receiver::{Numbered, Receiver};
use crate::arq::sender::Sender;
use crate::arrival::Arrival;
use crate::coded::pipelined::{Coding, Pipelined};
use crate::framing::{Opened, open, seal};
use crate::output::Output;
use crate::persistence::Arq;
use crate::window::{Pulled, Window};

/// The error control of one end of a pipe.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PipeConfig {
    /// The retransmission of packets.
    pub arq: Arq,
    /// Pass up packets whose frame check failed, where their sender did not say (S0.5).
    pub accept_damaged: bool,
    /// Make whole packets from damaged copies.
    pub combine: bool,
    /// Keep damaged packets and tell their sender, who sends parity of them instead of copies, but
    /// of coded packets.
    pub increments: bool,
    /// The limits of packets in flight, and of those that wait to be put in order.
    pub window: Window,
    /// The coding in blocks, if packets go so. Both ends must agree.
    pub coding: Option<Coding>,
}

/// One end of a full-duplex pipe.
///
/// Feed it with `handle_*`, drain it with `poll_*` until `None`, then ask `poll_timeout`. Packets
/// to send are pulled: `poll_transmit` asks its caller for one when the link may send one.
///
/// With [`Arq::None`] frames are plain: each is sent once and passed up as it arrives. Else they
/// are numbered, and passed up in that order; packets of a flow whose class limits attempts or
/// lifetime keep order within the flow alone. Coded frames are always numbered.
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
    /// A link that has sent and received nothing.
    #[must_use]
    pub fn new(config: PipeConfig) -> Self {
        let PipeConfig { arq, accept_damaged, combine, increments, window, coding } = config;
        let window =
            Window { packets: window.packets.clamp(1, Window::MAX_PACKETS), bytes: window.bytes };
        Self {
            sender: (arq != Arq::None).then(|| Sender::new(Whole::new(arq), window)),
            coded: coding
                .map(|it| Box::new(Pipelined::new(it, arq, [accept_damaged, combine], window))),
            receiver: Receiver::new(accept_damaged, [combine, increments], window),
            passage: TransitTiming::default(),
            deliveries: VecDeque::new(),
            events: VecDeque::new(),
        }
    }

    /// Tells it the time that its frames take.
    pub fn set_passage(&mut self, passage: TransitTiming) {
        self.passage = passage;
        if let Some(coded) = &mut self.coded {
            coded.set_passage(passage);
        }
        if let Some(sender) = &mut self.sender {
            sender.framer.passage = passage;
        }
    }

    /// Returns the time of a packet that is sent at once, in the shortest of frames.
    #[must_use]
    pub fn least_time(&self) -> LeastTime {
        let header = if self.sender.is_some() { NUMBERED_LEN } else { PLAIN_LEN };
        LeastTime { passage: self.passage, beside: header + FCS_LEN }
    }

    /// Takes a frame from the medium.
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
                    receiver.take(numbered, None, (frame, mismatch), &mut out);
                    return Arrival::Packet;
                }
                Number::Flow { seq, order, settled, place } => {
                    let numbered = Numbered { seq, order, settled, wish: data.wish };
                    receiver.take(numbered, Some(place), (frame, mismatch), &mut out);
                    return Arrival::Packet;
                }
                Number::Increment { seq, order, settled, part, place } => {
                    let numbered = Numbered { seq, order, settled, wish: data.wish };
                    receiver.take_parity(numbered, (part, place), frame, &mut out);
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

    /// Restarts the receiver after the peer has restarted: its numbers begin at zero. Packets that
    /// wait for earlier ones are passed up. Transmission continues, because a new peer accepts the
    /// numbers as they are.
    pub fn restart_receiver(&mut self) {
        let Self { coded, receiver, deliveries, events, .. } = self;
        let mut out = Output { deliveries, events };
        match coded {
            Some(coded) => coded.restart_receiver(&mut out),
            None => receiver.restart(&mut out),
        }
    }

    /// Yields the next frame for a medium that is free; `pull` gives the next packet to send.
    ///
    /// The order is that of the peer's needs: ACKs, then retransmissions, new packets, probes.
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

    /// Fires every timer due; a spurious call changes nothing.
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

    /// Says when to call `handle_timeout` next, and why.
    #[must_use]
    #[inline]
    pub fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        match &self.coded {
            Some(coded) => coded.poll_timeout(),
            None => self.sender.as_ref()?.poll_timeout(),
        }
    }

    /// Packets that the link holds: kept copies, and packets that wait for order or for collection.
    #[must_use]
    pub fn held(&self) -> usize {
        let copies = self.sender.as_ref().map_or(0, Sender::held);
        let coded = self.coded.as_ref().map_or(0, |coded| coded.held());
        copies + coded + self.receiver.held() + self.deliveries.len()
    }
}

/// The least time from the beginning of a packet's transmission to its arrival.
#[derive(Clone, Copy, Debug)]
pub struct LeastTime {
    passage: TransitTiming,
    /// Bytes of the frame beside those of the packet.
    beside: usize,
}

impl LeastTime {
    /// The time of a packet of `len` bytes.
    #[must_use]
    pub fn of(&self, len: usize) -> Duration {
        self.passage.time(FramesOfPacket::one(len, len + self.beside))
    }
}

/// Sends a packet for the only time.
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
