//! One network interface of a station: classify, queue, link.

mod account;
pub mod classify;

use core::num::NonZeroU8;

use windfall_base::{DropReason, Frame, Input, Instant, Ledger, Node, Outgoing, Port, Seed};
use windfall_link::{Arq, Arrival, Pipe, PipeConfig, Pulled};
use windfall_queue::{DropTail, Limits};

pub use account::Counters;

use crate::event::Event;
use account::Account;
use classify::{Classifier, Rule};

/// The port of bare IP packets.
pub const DEVICE: Port = Port(0);
/// The port of frames on the air.
pub const MEDIUM: Port = Port(1);

/// How an interface is built.
#[derive(Clone, Debug)]
pub struct InterfaceConfig {
    /// The longest packet that it takes from the device, in bytes.
    pub mtu: usize,
    /// What the owners of packets ask; the first rule that matches counts.
    pub rules: Vec<Rule>,
    /// How much waits for the link.
    pub queue: Limits,
    /// The link below.
    pub link: LinkConfig,
    /// Keep events for [`Interface::poll_event`]; without it only counters and the ledger are kept.
    pub observe: bool,
}

impl Default for InterfaceConfig {
    /// MTU 1500 over a pipe without error control, unobserved.
    fn default() -> Self {
        Self {
            mtu: 1_500,
            rules: Vec::new(),
            queue: Limits::default(),
            link: LinkConfig::Pipe(PipeConfig::default()),
            observe: false,
        }
    }
}

/// Which link an interface has.
#[derive(Clone, Debug)]
pub enum LinkConfig {
    /// One end of a full-duplex pipe.
    Pipe(PipeConfig),
}

/// A network interface: [`DEVICE`] carries bare IP packets, [`MEDIUM`] frames.
///
/// Kinds of method: the verbs of [`Node`], `poll_event` (call until `None` if observed), getters.
#[derive(Debug)]
pub struct Interface {
    mtu: usize,
    classifier: Classifier,
    queue: DropTail,
    link: Pipe,
    /// The medium carries a frame of ours that has not left it.
    sending: bool,
    account: Account,
}

impl Interface {
    /// An interface that has done nothing. Links that contend draw from the stream `name` of `seed`.
    #[must_use]
    pub fn new(config: InterfaceConfig, _seed: Seed, _name: &str) -> Self {
        let InterfaceConfig { mtu, rules, queue, link: LinkConfig::Pipe(link), observe } = config;
        let classifier = Classifier::new(rules);
        Self {
            mtu,
            queue: DropTail::new(queue),
            link: Pipe::new(numbered_if_asked(link, &classifier)),
            classifier,
            sending: false,
            account: Account::new(observe),
        }
    }

    /// Yields what happened, oldest first; nothing unless the interface is observed.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.account.poll_event()
    }

    /// The account: a packet from the device counts once, each frame with a packet from the medium
    /// counts once (S0.5).
    #[must_use]
    pub fn ledger(&self) -> Ledger {
        Ledger {
            taken: self.account.taken,
            given: self.account.given,
            held: (self.queue.len() + self.link.held()) as u64,
            drops: self.account.drops.clone(),
        }
    }

    /// What the interface has done so far.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.account.counters
    }

    /// How much waits for the link: packets and their bytes.
    #[must_use]
    pub fn queue_len(&self) -> (usize, usize) {
        (self.queue.len(), self.queue.bytes())
    }

    fn take_packet(&mut self, now: Instant, mut frame: Frame) {
        self.account.taken += 1;
        self.account.counters.from_device += 1;
        self.classifier.classify(&mut frame);
        let (tag, flow, len) = (frame.tag, frame.class.flow, frame.len());
        if len > self.mtu {
            return self.account.dropped(now, tag, false, DropReason::TooBig, len);
        }
        match self.queue.push(now, frame) {
            None => self.account.queued(now, (tag, flow), len, self.queue.len()),
            Some(_) => self.account.dropped(now, tag, false, DropReason::QueueFull, len),
        }
    }

    fn take_frame(&mut self, now: Instant, frame: Frame) {
        match self.link.handle_frame(now, frame) {
            Arrival::Packet => {
                self.account.taken += 1;
                self.account.counters.from_medium += 1;
            }
            Arrival::Control => self.account.counters.control_received += 1,
        }
        self.collect(now);
    }

    /// Takes down what the link has reported.
    fn collect(&mut self, now: Instant) {
        while let Some(event) = self.link.poll_event() {
            self.account.link(now, event);
        }
    }
}

impl Node for Interface {
    fn handle_input(&mut self, now: Instant, port: Port, input: Input) {
        match (port, input) {
            (DEVICE, Input::Frame(frame, _)) => self.take_packet(now, frame),
            (MEDIUM, Input::Frame(frame, _)) => self.take_frame(now, frame),
            (MEDIUM, Input::TransmissionDone) => self.sending = false,
            // A pipe has no carrier to sense, and a device no signals.
            _ => {}
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.link.handle_timeout(now);
        self.collect(now);
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<(Port, Outgoing)> {
        if let Some(frame) = self.link.poll_delivery() {
            self.account.delivered(now, &frame);
            return Some((DEVICE, frame.into()));
        }
        if self.sending {
            return None;
        }
        let Self { queue, account, link, .. } = self;
        let packets_sent = account.counters.sent;
        let frame = link.poll_transmit(now, || pull(now, queue, account));
        self.collect(now);
        let frame = frame?;
        self.sending = true;
        let counters = &mut self.account.counters;
        counters.bytes_sent += frame.len() as u64;
        counters.control_sent += u64::from(counters.sent == packets_sent);
        Some((MEDIUM, frame.into()))
    }

    fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        self.link.poll_timeout()
    }
}

/// A link that repeats nothing of itself still numbers its frames where a rule asks for repetition.
fn numbered_if_asked(link: PipeConfig, classifier: &Classifier) -> PipeConfig {
    if link.arq == Arq::None && classifier.asks_for_repetition() {
        PipeConfig { arq: Arq::Attempts(NonZeroU8::MIN), ..link }
    } else {
        link
    }
}

/// The next packet that is still worth sending.
fn pull(now: Instant, queue: &mut DropTail, account: &mut Account) -> Option<Pulled> {
    loop {
        let waiting = queue.pop()?;
        let expires = waiting.expires();
        let frame = waiting.frame;
        if expires.is_none_or(|expires| now <= expires) {
            return Some(Pulled { frame, expires });
        }
        account.dropped(now, frame.tag, false, DropReason::Expired, frame.len());
    }
}

#[cfg(test)]
mod tests;
