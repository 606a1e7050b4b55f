//! A full-duplex pipe below an interface: queues, and a link that pulls from them.

use core::num::NonZeroU8;
use std::collections::{BTreeMap, VecDeque};

use windfall_base::{
    DropReason, Duration, Frame, Input, Instant, Outgoing, PacketEvent, PacketEventKind, Rate, Tag,
    TransitTiming,
};
use windfall_link::{Arq, Arrival, Pipe, PipeConfig, Pulled};
use windfall_queue::{PacketQueue, QueueVerdict, Waiting};

use super::account::InterfaceAccount;
use super::flows::{Attempt, FlowAccount, QueueConfig, Queues, Ticket};
use super::link::Link;

#[derive(Debug)]
pub(super) struct PipeLink {
    waiting: Packets,
    link: Pipe,
    /// The expected transit time of frames.
    passage: TransitTiming,
    /// The start time and the bytes of the frame that is being transmitted.
    sending: Option<(Instant, usize)>,
}

/// The packets that wait for a link.
#[derive(Debug)]
pub(super) struct Packets {
    /// Packets that are sent ahead of all others.
    urgent: VecDeque<Waiting>,
    order: Order,
}

#[derive(Debug)]
enum Order {
    /// Everything in one queue.
    One(PacketQueue),
    /// Flows, each in its own.
    Flows(Box<Flows>),
}

/// Flows on a pipe, where many packets are in flight at once.
///
/// The link retransmits before it sends new packets, so the discipline chooses among new packets;
/// each attempt is charged when it has left the medium.
#[derive(Debug)]
pub(super) struct Flows {
    queues: Queues,
    /// Packets whose outcome is unknown, with the air time of their first attempt.
    open: BTreeMap<Option<Tag>, (Ticket, Duration)>,
    /// The frame on the medium.
    flying: Option<Flying>,
}

#[derive(Clone, Copy, Debug)]
struct Flying {
    tag: Option<Tag>,
    since: Instant,
    is_first: bool,
    kept: bool,
}

impl PipeLink {
    /// Creates the link. Even without retransmission of its own, it numbers its frames if some
    /// class requests `repetition`.
    pub(super) fn new(link: PipeConfig, repetition: bool, queues: &QueueConfig) -> Self {
        let link = if link.arq == Arq::None && repetition {
            PipeConfig { arq: Arq::Attempts(NonZeroU8::MIN), ..link }
        } else {
            link
        };
        let waiting = Packets::new(queues);
        Self { waiting, link: Pipe::new(link), passage: TransitTiming::default(), sending: None }
    }

    /// Estimates the rate of the line from the last frame, if the configuration states none.
    fn measure(&mut self, now: Instant, since: Instant, bytes: usize) {
        let nanos = u128::from(now.saturating_since(since).as_nanos());
        let per_second = (bytes as u128 * 8_000_000_000).checked_div(nanos).unwrap_or(0);
        let rate = u64::try_from(per_second).ok().and_then(Rate::from_bps);
        self.link.set_passage(TransitTiming { rate, ..self.passage });
    }

    /// Records the events of the link.
    fn collect(&mut self, now: Instant, account: &mut InterfaceAccount) {
        while let Some(event) = self.link.poll_event() {
            self.waiting.note(now, &event);
            account.record(event);
        }
    }
}

impl Link for PipeLink {
    fn take_packet(
        &mut self,
        now: Instant,
        frame: Frame,
        account: &mut InterfaceAccount,
    ) -> Result<usize, DropReason> {
        self.waiting.push(now, frame, account)
    }

    fn take_first(
        &mut self,
        now: Instant,
        frame: Frame,
        _account: &mut InterfaceAccount,
    ) -> Result<usize, DropReason> {
        Ok(self.waiting.push_first(now, frame))
    }

    fn handle_input(&mut self, now: Instant, input: Input, account: &mut InterfaceAccount) {
        match input {
            Input::Frame(frame, _) => {
                match self.link.handle_frame(now, frame) {
                    Arrival::Packet => account.arrived(),
                    Arrival::More => account.counters.from_medium += 1,
                    Arrival::Control => account.counters.control_received += 1,
                }
                self.collect(now, account);
            }
            Input::TransmissionDone => {
                if let Some((since, bytes)) = self.sending.take()
                    && self.passage.rate.is_none()
                {
                    self.measure(now, since, bytes);
                }
                self.waiting.landed(now);
            }
            // A pipe has no carrier to sense.
            Input::CarrierBusy
            | Input::CarrierIdle
            | Input::ReceptionFailed(_)
            | Input::Overheard(_)
            | Input::CarrierPassed(_) => {}
        }
    }

    fn set_passage(&mut self, passage: TransitTiming) {
        self.passage = passage;
        self.link.set_passage(passage);
    }

    fn restart_receiver(&mut self, now: Instant, account: &mut InterfaceAccount) {
        self.link.restart_receiver();
        self.collect(now, account);
    }

    fn handle_timeout(&mut self, now: Instant, account: &mut InterfaceAccount) {
        self.link.handle_timeout(now);
        self.collect(now, account);
    }

    fn poll_delivery(&mut self, _account: &mut InterfaceAccount) -> Option<Frame> {
        self.link.poll_delivery()
    }

    fn poll_transmit(&mut self, now: Instant, account: &mut InterfaceAccount) -> Option<Outgoing> {
        if self.sending.is_some() {
            return None;
        }
        let packets_sent = account.counters.packets.frames;
        let least = self.link.least_time();
        let pull = || self.waiting.pull(now, |len| least.of(len), account);
        let frame = self.link.poll_transmit(now, pull);
        self.collect(now, account);
        let frame = frame?;
        self.sending = Some((now, frame.len()));
        account.counters.bytes_sent += frame.len() as u64;
        account.counters.control_sent += u64::from(account.counters.packets.frames == packets_sent);
        Some(frame.into())
    }

    fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        self.link.poll_timeout()
    }

    fn held(&self) -> usize {
        self.waiting.held() + self.link.held()
    }

    fn queue_len(&self) -> (usize, usize) {
        self.waiting.len()
    }

    fn flows(&self) -> Vec<FlowAccount> {
        self.waiting.accounts()
    }
}

impl Packets {
    pub(super) fn new(queues: &QueueConfig) -> Self {
        let order = if queues.flows.is_empty() {
            Order::One(queues.queue(0))
        } else {
            let queues = Queues::new(queues, 1);
            Order::Flows(Box::new(Flows { queues, open: BTreeMap::new(), flying: None }))
        };
        Self { urgent: VecDeque::new(), order }
    }

    /// Enqueues a packet, and returns the number that wait.
    pub(super) fn push(
        &mut self,
        now: Instant,
        frame: Frame,
        account: &mut InterfaceAccount,
    ) -> Result<usize, DropReason> {
        let join = match &mut self.order {
            Order::One(queue) => queue.push(now, frame),
            Order::Flows(flows) => flows.queues.push(now, 0, frame),
        };
        account.record_enqueue(join)?;
        Ok(self.len().0)
    }

    /// Processes an event of a packet whose transmission began at `now`.
    pub(super) fn note(&mut self, now: Instant, event: &PacketEvent) {
        if let Order::Flows(flows) = &mut self.order {
            flows.note(now, event);
        }
    }

    /// The last frame has left the medium.
    pub(super) fn landed(&mut self, now: Instant) {
        if let Order::Flows(flows) = &mut self.order {
            flows.landed(now);
        }
    }

    /// Enqueues a packet ahead of all others, and returns the number that wait.
    pub(super) fn push_first(&mut self, now: Instant, frame: Frame) -> usize {
        self.urgent.push_back(Waiting { since: now, frame, verdict: QueueVerdict::Pass });
        self.held()
    }

    /// Returns the number of all waiting packets.
    pub(super) fn held(&self) -> usize {
        self.urgent.len() + self.len().0
    }

    /// Returns the number of waiting packets without those sent ahead, and their bytes.
    pub(super) fn len(&self) -> (usize, usize) {
        match &self.order {
            Order::One(queue) => (queue.len(), queue.bytes()),
            Order::Flows(flows) => (flows.queues.len(), flows.queues.bytes()),
        }
    }

    pub(super) fn accounts(&self) -> Vec<FlowAccount> {
        match &self.order {
            Order::One(_) => Vec::new(),
            Order::Flows(flows) => flows.queues.accounts(),
        }
    }

    /// Dequeues the next packet that can still arrive in time. `least` returns the minimum transit
    /// time for a length.
    pub(super) fn pull(
        &mut self,
        now: Instant,
        least: impl Fn(usize) -> Duration,
        account: &mut InterfaceAccount,
    ) -> Option<Pulled> {
        while let Some(first) = self.urgent.pop_front() {
            let first = account.dequeue_checked(now, &least, first, None);
            if first.is_some() {
                return first;
            }
        }
        match &mut self.order {
            Order::One(queue) => account.pull(now, least, queue),
            Order::Flows(flows) => flows.pull(now, least, account),
        }
    }
}

impl Flows {
    fn pull(
        &mut self,
        now: Instant,
        least: impl Fn(usize) -> Duration,
        account: &mut InterfaceAccount,
    ) -> Option<Pulled> {
        let (ticket, pulled) = self.queues.pull(now, 0, least, account)?;
        self.queues.done(ticket);
        self.open.insert(pulled.frame.tag, (ticket, Duration::ZERO));
        Some(pulled)
    }

    /// Processes an event of a packet.
    fn note(&mut self, now: Instant, event: &PacketEvent) {
        let tag = event.tag;
        match event.kind {
            PacketEventKind::Sent { attempt, kept, .. } => {
                self.flying = Some(Flying { tag, since: now, is_first: attempt == 1, kept });
            }
            PacketEventKind::Acknowledged => {
                if let Some((ticket, ideal)) = self.open.remove(&tag) {
                    self.queues.credit(ticket, ideal);
                }
            }
            // Packets of the peer that are dropped here are not among these.
            PacketEventKind::Dropped(drop) if !drop.kept => {
                if let Some((ticket, _)) = self.open.remove(&tag) {
                    self.queues.give_up(ticket);
                }
            }
            _ => {}
        }
    }

    /// The frame has left the medium. A first attempt counts as delivered, because the link
    /// retransmits a lost packet. The outcome of a packet that the link does not keep stays
    /// unknown.
    fn landed(&mut self, now: Instant) {
        let Some(Flying { tag, since, is_first, kept }) = self.flying.take() else { return };
        let Some((ticket, ideal)) = self.open.get_mut(&tag) else { return };
        let spent = now.saturating_since(since);
        if is_first {
            *ideal = spent;
        }
        let ticket = *ticket;
        self.queues.charge(
            now,
            ticket,
            Attempt { count: 1, spent, brings: is_first.then_some(spent) },
        );
        if !kept {
            self.open.remove(&tag);
            self.queues.presume(ticket, spent);
        }
    }
}
