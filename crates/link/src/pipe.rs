//! The link over a full-duplex pipe: sender and receiver of one end in one machine.

use std::collections::VecDeque;

use windfall_base::{Check, Duration, Frame, Instant, Rate};
use windfall_wire_link::pipe::{Data, Number, Wish};

use crate::event::{Arrival, Event};
use crate::framing::{Opened, open, seal};
use crate::persistence::Arq;

/// How one end of a pipe does error control.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PipeConfig {
    /// How persistently it repeats.
    pub arq: Arq,
    /// Hand up packets whose frame check failed, where their sender did not say (S0.5).
    pub accept_damaged: bool,
    /// How much it may have under way, and how much it keeps to bring it into order.
    pub window: Window,
}

/// How much a link may have sent and not yet settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Packets, at most 16 384.
    pub packets: usize,
    /// Bytes of the packets.
    pub bytes: usize,
}

impl Window {
    /// The most packets of any window.
    pub const MAX_PACKETS: usize = 16_384;

    /// A window that keeps a pipe of `rate` and one-way `delay` full of packets of `packet` bytes
    /// through two repetitions of each: four times the bandwidth–delay product, 64 packets at least.
    #[must_use]
    pub fn of_pipe(rate: Rate, delay: Duration, packet: usize) -> Self {
        let round_trip = delay.as_secs_f64() * 2.0;
        let bytes = (rate.as_bps() as f64 / 8.0 * round_trip * 4.0) as usize;
        let packets = bytes.div_ceil(packet.max(1)).clamp(64, Self::MAX_PACKETS);
        Self { packets, bytes: bytes.max(64 * packet) }
    }
}

impl Default for Window {
    /// Enough for 1 Gbit/s over 60 ms; it costs memory only as it fills.
    fn default() -> Self {
        Self { packets: 8_192, bytes: 16 << 20 }
    }
}

/// One end of a full-duplex pipe.
///
/// Feed it with `handle_*`, drain it with `poll_*` until `None`, then ask `poll_timeout`.
/// Packets to send are pulled: `poll_transmit` asks its caller for one when the link may send one.
#[derive(Debug)]
pub struct Pipe {
    config: PipeConfig,
    deliveries: VecDeque<Frame>,
    events: VecDeque<Event>,
}

impl Pipe {
    /// A link that has sent and received nothing.
    #[must_use]
    pub fn new(config: PipeConfig) -> Self {
        Self { config, deliveries: VecDeque::new(), events: VecDeque::new() }
    }

    /// Takes a frame from the medium.
    pub fn handle_frame(&mut self, _now: Instant, mut frame: Frame) -> Arrival {
        match open(&mut frame) {
            Ok(Opened::Data(data)) => {
                self.accept(data, frame);
                Arrival::Packet
            }
            Ok(Opened::Control(_)) => Arrival::Control,
            Err(reason) => {
                self.events.push_back(Event::Dropped {
                    tag: frame.tag,
                    kept: frame.kept,
                    reason,
                    len: frame.payload.len(),
                });
                Arrival::Packet
            }
        }
    }

    fn accept(&mut self, data: Data, frame: Frame) {
        let accept = data.wish.accept_damaged.unwrap_or(self.config.accept_damaged);
        if frame.damage.frame == Check::Good || accept {
            self.deliveries.push_back(frame);
        } else {
            let reason = windfall_base::DropReason::FrameCheck;
            let (tag, kept, len) = (frame.tag, frame.kept, frame.payload.len());
            self.events.push_back(Event::Dropped { tag, kept, reason, len });
        }
    }

    /// Yields the next frame for a medium that is free; `pull` gives the next packet to send.
    pub fn poll_transmit(
        &mut self,
        _now: Instant,
        pull: impl FnOnce() -> Option<Frame>,
    ) -> Option<Frame> {
        let mut frame = pull()?;
        let wish = Wish { last: true, accept_damaged: frame.class.accept_damaged };
        seal(&mut frame, Number::Plain, wish);
        frame.kept = false;
        let (tag, len) = (frame.tag, frame.len());
        self.events.push_back(Event::Sent { tag, attempt: 1, len, kept: false });
        Some(frame)
    }

    /// Fires every timer due.
    pub fn handle_timeout(&mut self, _now: Instant) {}

    /// Yields the next packet for the layer above, in order.
    pub fn poll_delivery(&mut self) -> Option<Frame> {
        self.deliveries.pop_front()
    }

    /// Yields what happened.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Says when to call `handle_timeout` next, and why.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        None
    }

    /// Packets that the link holds: kept copies, and what waits for order or for collection.
    #[must_use]
    pub fn held(&self) -> usize {
        self.deliveries.len()
    }
}
