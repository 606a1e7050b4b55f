//! One end of a line that carries bytes: packets at one port, the bytes of the line at the other.
//!
//! Three framings: PPP as it is, PPP over RLP, and the frames of a link of the project's own, such
//! as the adaptive one of paper 003, between flags.

mod link;
mod ppp;
mod unchecked;

use core::fmt;
use core::num::NonZeroU32;

use windfall_base::{
    Duration, Frame, Input, Instant, Ledger, Node, Outgoing, Port, Seed, Stream, earlier,
};
use windfall_circuit::ppp::{PppConfig, PppEvent};
use windfall_circuit::rlp::{RlpConfig, RlpEvent};
use windfall_queue::Limits;

use crate::interface::{DEVICE, InterfaceConfig, MEDIUM};
use link::FramedLink;
use ppp::{Below, PppLine};

/// The configuration of one end of a line.
#[derive(Clone, Debug)]
pub struct SerialConfig {
    /// The meaning of the bytes of the line.
    pub framing: SerialFraming,
    /// Characters that the line takes in a second; `None`: as many as it is given.
    pub characters: Option<NonZeroU32>,
    /// The capacity of the queue before PPP; a link has its own.
    pub queue: Limits,
}

/// The framing of a line.
#[derive(Clone, Debug)]
pub enum SerialFraming {
    /// PPP, or PPP Lite, by its configuration (S1.11, S1.12).
    Ppp(PppConfig),
    /// PPP over RLP, whose frames of 30 bytes follow each other between flags.
    Rlp {
        /// The parameters of PPP, above.
        ppp: PppConfig,
        /// The parameters of RLP, below.
        rlp: RlpConfig,
        /// This end connects; the other waits for it.
        calls: bool,
    },
    /// The frames of this interface's link between flags.
    Link(Box<InterfaceConfig>),
}

/// Something that happened on a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SerialEvent {
    /// A report of PPP.
    Ppp(PppEvent),
    /// A report of RLP.
    Rlp(RlpEvent),
}

/// The counts of one end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SerialCounters {
    /// Packets of the device that went to the line.
    pub sent: u64,
    /// Packets that went to the device.
    pub received: u64,
    /// Of them, packets known to be damaged.
    pub damaged: u64,
    /// Bytes given to the line.
    pub line_sent: u64,
    /// Bytes that came from the line.
    pub line_received: u64,
}

/// The layers above a line, without its pace.
trait Body: fmt::Debug + Send {
    fn take_packet(&mut self, now: Instant, frame: Frame);
    fn take_bytes(&mut self, now: Instant, bytes: &[u8]);
    /// Handles a line that was lost and is up again.
    fn restart(&mut self, _now: Instant) {}
    fn close(&mut self, _now: Instant) {}
    /// Handles the end of the transmission of all given bytes.
    fn line_free(&mut self, _now: Instant) {}
    fn handle_timeout(&mut self, now: Instant);
    /// The next bytes for a line that has room.
    fn next_bytes(&mut self, now: Instant) -> Option<Vec<u8>>;
    fn poll_delivery(&mut self, now: Instant) -> Option<Frame>;
    fn poll_event(&mut self) -> Option<SerialEvent> {
        None
    }
    fn poll_timeout(&self) -> Option<(Instant, &'static str)>;
    /// Returns the length of the longest packet that the peer takes, if the framing tells.
    fn peer_mru(&self) -> Option<u16> {
        None
    }
    fn ledger(&self) -> Ledger;
    fn sent(&self) -> u64;
}

/// One end of a line: [`DEVICE`] carries bare IP packets, [`MEDIUM`] bytes in any pieces.
///
/// An empty frame on [`MEDIUM`] signals that the line was lost and is up again.
#[derive(Debug)]
pub struct SerialEnd {
    body: Box<dyn Body>,
    characters: Option<NonZeroU32>,
    /// The time at which the line has sent the last bytes that it was given.
    busy_until: Option<Instant>,
    counters: SerialCounters,
}

impl SerialEnd {
    /// Creates an end whose line is up. The seed determines magic numbers and interface
    /// identifiers.
    #[must_use]
    pub fn new(config: SerialConfig, seed: Seed) -> Self {
        let SerialConfig { framing, characters, queue } = config;
        let stream = Stream::new(seed, "serial");
        let body: Box<dyn Body> = match framing {
            SerialFraming::Ppp(ppp) => {
                Box::new(PppLine::new(ppp, queue, Below::new(None, false, characters), &stream))
            }
            SerialFraming::Rlp { ppp, rlp, calls } => {
                let below = Below::new(Some(rlp), calls, characters);
                Box::new(PppLine::new(ppp, queue, below, &stream))
            }
            SerialFraming::Link(config) => Box::new(FramedLink::new(*config, seed)),
        };
        Self { body, characters, busy_until: None, counters: SerialCounters::default() }
    }

    /// Starts the negotiation, if the framing has one.
    pub fn open(&mut self, now: Instant) {
        self.body.restart(now);
    }

    /// Starts to terminate the connection, if the framing has one.
    pub fn close(&mut self, now: Instant) {
        self.body.close(now);
    }

    /// Returns the length of the longest packet that the peer takes, if the framing negotiates it.
    #[must_use]
    pub fn peer_mru(&self) -> Option<u16> {
        self.body.peer_mru()
    }

    /// Yields the next event; call until `None`.
    pub fn poll_event(&mut self) -> Option<SerialEvent> {
        self.body.poll_event()
    }

    /// The account: each packet of the device counts once, each frame with a packet from the line
    /// counts once.
    #[must_use]
    pub fn ledger(&self) -> Ledger {
        self.body.ledger()
    }

    /// The counts so far.
    #[must_use]
    pub fn counters(&self) -> SerialCounters {
        SerialCounters { sent: self.body.sent(), ..self.counters }
    }

    /// Notes that the line has room again, if it has by now.
    fn settle(&mut self, now: Instant) {
        if self.busy_until.is_some_and(|until| until <= now) {
            self.busy_until = None;
            self.body.line_free(now);
        }
    }
}

/// The time that a line of this number of characters a second needs for `count`.
fn line_time(count: usize, characters: Option<NonZeroU32>) -> Duration {
    characters.map_or(Duration::ZERO, |characters| {
        let nanos = count as u128 * 1_000_000_000 / u128::from(characters.get());
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    })
}

impl Node for SerialEnd {
    fn handle_input(&mut self, now: Instant, port: Port, input: Input) {
        self.settle(now);
        let Input::Frame(frame, _) = input else { return };
        match port {
            DEVICE => self.body.take_packet(now, frame),
            MEDIUM if frame.payload.is_empty() => self.body.restart(now),
            MEDIUM => {
                self.counters.line_received += frame.payload.len() as u64;
                self.body.take_bytes(now, &frame.to_vec());
            }
            _ => {}
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.settle(now);
        self.body.handle_timeout(now);
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<(Port, Outgoing)> {
        self.settle(now);
        if let Some(frame) = self.body.poll_delivery(now) {
            self.counters.received += 1;
            self.counters.damaged += u64::from(frame.damage.is_damaged());
            return Some((DEVICE, frame.into()));
        }
        if self.busy_until.is_some() {
            return None;
        }
        let bytes = self.body.next_bytes(now)?;
        self.counters.line_sent += bytes.len() as u64;
        match line_time(bytes.len(), self.characters) {
            Duration::ZERO => self.body.line_free(now),
            time => self.busy_until = Some(now + time),
        }
        Some((MEDIUM, Frame::packet(bytes).into()))
    }

    fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        earlier(self.busy_until.map(|until| (until, "line")), self.body.poll_timeout())
    }
}

#[cfg(test)]
mod tests;
