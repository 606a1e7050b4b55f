//! The packet queues of a link: one for each flow, and a discipline that schedules them
//! (S3.29–S3.42).

use std::collections::{BTreeMap, VecDeque};

use windfall_base::{Duration, FlowId, Frame, Instant, Rate, Stream};
use windfall_link::Pulled;
use windfall_queue::expected::Expectations;
use windfall_queue::{
    Account, Discipline, FlowConfig, FlowError, Join, Limits, Measure, PacketQueue, Scheduler,
    Service,
};

use super::account::InterfaceAccount;
use super::classify::inspect;

/// A flow with a share of its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScheduledFlow {
    /// The flow, as rules of the interface name it.
    pub flow: FlowId,
    /// The share of the flow.
    pub share: FlowConfig,
    /// The throughput that is reserved for it, in bits of packets.
    pub reserve: Option<Rate>,
}

/// The waiting packets of a link.
#[derive(Clone, Debug)]
pub(super) struct QueueConfig {
    /// The order in which flows are served.
    pub(super) discipline: Discipline,
    /// The length of each queue.
    pub(super) limits: Limits,
    /// The flows with a share of their own.
    pub(super) flows: Vec<ScheduledFlow>,
    /// The random numbers of the active queue management.
    pub(super) random: Stream,
}

impl QueueConfig {
    /// Returns the empty queue of this number.
    pub(super) fn queue(&self, number: usize) -> PacketQueue {
        PacketQueue::new(self.limits, inspect, self.random.at(number as u64))
    }
}

/// The share of best effort, for each destination: weight 1, and its power factor (S3.35).
const REST: FlowConfig = FlowConfig { weight: 1.0, power_factor: 1.2, reserved: false };

/// The use of a link by a flow so far, in seconds of air time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowAccount {
    /// The flow; 0 is everything else.
    pub flow: FlowId,
    /// The share of the flow.
    pub share: FlowConfig,
    /// Effort, outcome and error rate.
    pub account: Account,
    /// The outcome that the flow could expect without errors.
    pub expected: f64,
    /// The bytes of the packets that have arrived, or are presumed to have; repairs are none.
    pub bytes: u64,
    /// Set if the link does not know the outcome of packets, which then count as delivered.
    pub outcome_unknown: bool,
    /// Offered packets, including those dropped by a full queue; repairs are none.
    pub offered: u64,
    /// Packets that wait.
    pub waiting: usize,
}

/// The record of a packet that the link has dequeued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ticket {
    /// The place of its flow.
    flow: usize,
    /// The length of the packet, in bytes.
    pub(super) len: usize,
    /// The packet is a repair of others.
    is_repair: bool,
}

/// An attempt to send a packet, or all of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attempt {
    /// The number of attempts.
    pub(super) count: u32,
    /// The air that it took.
    pub(super) spent: Duration,
    /// The air time without errors, if the packet counts as delivered by this attempt.
    pub(super) brings: Option<Duration>,
}

#[derive(Debug)]
struct Entry {
    flow: FlowId,
    share: FlowConfig,
    reserve: Option<Rate>,
    queue: PacketQueue,
    /// The peer that each packet of the queue goes to.
    peers: VecDeque<usize>,
    /// The peer that a dequeued packet of this queue is in transmission to.
    under_way: Option<usize>,
    account: Account,
    bytes: u64,
    outcome_unknown: bool,
    offered: u64,
}

/// Queues of a link to one or several peers, which are numbered from 0.
///
/// Packets that belong to no flow have a queue for each peer, from its first packet on. A packet
/// that was taken counts as one of its flow until it is `done`, so that the flow keeps its place
/// among the others and the discipline chooses again for each attempt.
#[derive(Debug)]
pub(super) struct Queues {
    entries: Vec<Entry>,
    /// The places of the flows among them.
    places: BTreeMap<FlowId, usize>,
    /// The configuration of each queue of best effort.
    config: QueueConfig,
    scheduler: Box<dyn Scheduler>,
    expectations: Expectations,
    measure: Measure,
    /// Packets that wait for each peer.
    waiting: Vec<usize>,
    /// The time up to which air time is charged.
    settled: Instant,
    /// Air time charged beyond that time, by attempts that had begun before and ended later.
    ahead: Duration,
    /// The cost of recent attempts, in units of the measure and in seconds of air time.
    spent: (f64, f64),
}

/// The weight of each attempt in the moving averages of the cost.
const FORGOTTEN: f64 = 0.02;

impl Queues {
    /// Empty queues for peers 0 to `peers - 1` at first, with one for each flow.
    ///
    /// Flows whose weight or power factor is none are left out; [`check`] names them.
    pub(super) fn new(config: &QueueConfig, peers: usize) -> Self {
        let QueueConfig { discipline, flows, .. } = config;
        let mut scheduler = discipline.build();
        // Under strict priority the first flow is served first, and best effort last.
        let legal = flows.iter().filter(|flow| scheduler.add(flow.share).is_ok());
        let entry = |(place, flow)| Entry::new(flow, config.queue(place));
        let entries: Vec<Entry> = legal.enumerate().map(entry).collect();
        let places = (0..).zip(&entries).map(|(place, entry)| (entry.flow, place)).collect();
        let mut expectations = Expectations::new(*discipline);
        entries.iter().for_each(|entry| expectations.add(entry.share));
        let mut queues = Self {
            entries,
            places,
            config: QueueConfig { flows: Vec::new(), ..config.clone() },
            scheduler,
            expectations,
            measure: discipline.measure,
            waiting: Vec::new(),
            settled: Instant::START,
            ahead: Duration::ZERO,
            spent: (0.0, 0.0),
        };
        queues.add_peers(peers);
        queues
    }

    /// Adds the queues of best effort for peers up to `peers - 1`.
    fn add_peers(&mut self, peers: usize) {
        let rest = ScheduledFlow { flow: FlowId(0), share: REST, reserve: None };
        while self.waiting.len() < peers && self.scheduler.add(REST).is_ok() {
            let queue = self.config.queue(self.entries.len());
            self.entries.push(Entry::new(&rest, queue));
            self.expectations.add(REST);
            self.waiting.push(0);
        }
    }

    /// Enqueues a packet for `peer` at the tail of its flow, unless the queue drops it.
    pub(super) fn push(&mut self, now: Instant, peer: usize, frame: Frame) -> Join {
        self.add_peers(peer + 1);
        let flow = frame.class.flow;
        let named = self.entries.len() - self.waiting.len();
        let place = self.places.get(&flow).copied().unwrap_or(named + peer);
        let entry = &mut self.entries[place];
        entry.offered += u64::from(!is_repair(&frame));
        let bytes = frame.payload.len();
        let join = entry.queue.push(now, frame);
        if let Join::Refused(..) = join {
            return join;
        }
        entry.peers.push_back(peer);
        self.waiting[peer] += 1;
        self.pass(now, Duration::ZERO);
        self.scheduler.arrive(place);
        self.expectations.arrive(now, place, bytes);
        if let Join::Displaced(heads) = &join {
            // The dropped packets were at the head of the same flow.
            for _ in heads {
                let peer = self.entries[place].peers.pop_front().unwrap_or(peer);
                self.waiting[peer] -= 1;
                self.lose(now, place);
            }
        }
        join
    }

    /// Records that a packet of a flow was dropped from its queue.
    fn lose(&mut self, now: Instant, flow: usize) {
        self.scheduler.depart(flow);
        self.expectations.give_up(flow);
        self.expectations.depart(now, flow);
    }

    /// Returns the peer whose turn it is.
    pub(super) fn preferred(&mut self) -> Option<usize> {
        let entry = &self.entries[self.scheduler.choose()?];
        entry.under_way.or_else(|| entry.peers.front().copied())
    }

    //= S3.38
    /// Dequeues the next packet for `peer` that can still arrive in time, if it is that peer's
    /// turn. `least` returns the minimum transit time for a length.
    pub(super) fn pull(
        &mut self,
        now: Instant,
        peer: usize,
        least: impl Fn(usize) -> Duration,
        books: &mut InterfaceAccount,
    ) -> Option<(Ticket, Pulled)> {
        loop {
            let flow = self.scheduler.choose()?;
            let entry = &mut self.entries[flow];
            if entry.under_way.is_some() || entry.peers.front() != Some(&peer) {
                return None;
            }
            let waiting = entry.queue.pop(now)?;
            entry.peers.pop_front();
            self.waiting[peer] -= 1;
            if let Some(pulled) = books.dequeue_checked(now, &least, waiting, Some(&entry.queue)) {
                entry.under_way = Some(peer);
                let frame = &pulled.frame;
                let len = frame.payload.len();
                return Some((Ticket { flow, len, is_repair: is_repair(frame) }, pulled));
            }
            self.lose(now, flow);
        }
    }

    /// Charges an attempt that has just ended.
    pub(super) fn charge(&mut self, now: Instant, ticket: Ticket, attempt: Attempt) {
        let spent = attempt.spent;
        let service = self.service(ticket, attempt);
        self.entries[ticket.flow].account.spend(spent.as_secs_f64());
        self.spent.0 += service.effort - FORGOTTEN * self.spent.0;
        self.spent.1 += spent.as_secs_f64() - FORGOTTEN * self.spent.1;
        self.pass(now, spent);
        self.scheduler.charge(ticket.flow, service);
        self.expectations.spend(ticket.flow, spent.as_secs_f64(), attempt.count);
        self.entries[ticket.flow].account.lag = self.scheduler.lag(ticket.flow);
    }

    /// Returns effort and outcome of an attempt in the measure.
    ///
    /// A reservation is a share of air time in every measure. The air time of a reserved flow is
    /// converted by the recent average cost of attempts.
    fn service(&self, ticket: Ticket, attempt: Attempt) -> Service {
        let Attempt { count, spent, brings } = attempt;
        let entry = &self.entries[ticket.flow];
        let each = match self.measure {
            Measure::Packets => 1.0,
            Measure::Bytes => ticket.len as f64,
            Measure::AirTime => return entry.air(ticket, spent, brings),
        };
        if entry.share.reserved && self.per_second() > 0.0 {
            let Service { effort, outcome } = entry.air(ticket, spent, brings);
            let per_second = self.per_second();
            return Service { effort: effort * per_second, outcome: outcome * per_second };
        }
        Service { effort: f64::from(count) * each, outcome: brings.map_or(0.0, |_| each) }
    }

    /// Returns the cost of a second of air time in the measure, as far as it is known.
    fn per_second(&self) -> f64 {
        match self.measure {
            Measure::AirTime => 1.0,
            Measure::Packets | Measure::Bytes if self.spent.1 > 0.0 => self.spent.0 / self.spent.1,
            Measure::Packets | Measure::Bytes => 0.0,
        }
    }

    /// Credits a delivered packet with `ideal`, its air time without errors.
    pub(super) fn credit(&mut self, ticket: Ticket, ideal: Duration) {
        let entry = &mut self.entries[ticket.flow];
        entry.account.credit(ideal.as_secs_f64());
        entry.bytes += if ticket.is_repair { 0 } else { ticket.len as u64 };
        self.expectations.credit(ticket.flow, ideal.as_secs_f64());
    }

    /// Credits a packet whose outcome the link does not know.
    pub(super) fn presume(&mut self, ticket: Ticket, ideal: Duration) {
        self.entries[ticket.flow].outcome_unknown = true;
        self.credit(ticket, ideal);
    }

    /// Notes that a packet was given up.
    pub(super) fn give_up(&mut self, ticket: Ticket) {
        self.expectations.give_up(ticket.flow);
    }

    /// Records that the link is done with a packet, whatever its outcome.
    pub(super) fn done(&mut self, ticket: Ticket) {
        self.entries[ticket.flow].under_way = None;
        self.scheduler.depart(ticket.flow);
        self.expectations.depart(self.settled, ticket.flow);
    }

    /// Advances the accounting to `now`; a flow is charged `spent` of this time.
    fn pass(&mut self, now: Instant, spent: Duration) {
        let gap = now.saturating_since(self.settled);
        let unpaid = gap.saturating_sub(spent);
        let idle = unpaid.saturating_sub(self.ahead);
        // If a packet arrives during an attempt, the earlier part of the attempt was counted as
        // idle.
        self.ahead = self.ahead.saturating_sub(unpaid) + spent.saturating_sub(gap);
        self.settled = now;
        let idle = idle.as_secs_f64();
        self.scheduler.pass(idle * self.per_second());
    }

    /// Returns `true` if a packet waits for `peer`.
    pub(super) fn has_packets(&self, peer: usize) -> bool {
        self.waiting[peer] > 0
    }

    /// Packets that wait.
    pub(super) fn len(&self) -> usize {
        self.waiting.iter().sum()
    }

    pub(super) fn bytes(&self) -> usize {
        self.entries.iter().map(|entry| entry.queue.bytes()).sum()
    }

    /// Returns the account of each flow; best effort comes first, as one flow.
    pub(super) fn accounts(&self) -> Vec<FlowAccount> {
        let account = |(place, entry): (usize, &Entry)| FlowAccount {
            expected: self.expectations.expected(self.settled, place),
            ..entry.account()
        };
        let mut all = self.entries.iter().enumerate().map(account);
        let named: Vec<_> = all.by_ref().take(self.entries.len() - self.waiting.len()).collect();
        let best_effort = ScheduledFlow { flow: FlowId(0), share: REST, reserve: None };
        let mut first =
            Entry::new(&best_effort, PacketQueue::drop_tail(Limits::default())).account();
        all.for_each(|rest| first.join(&rest));
        core::iter::once(first).chain(named).collect()
    }
}

impl Entry {
    fn new(flow: &ScheduledFlow, queue: PacketQueue) -> Self {
        Self {
            flow: flow.flow,
            share: flow.share,
            reserve: flow.reserve,
            queue,
            peers: VecDeque::new(),
            under_way: None,
            account: Account::default(),
            bytes: 0,
            outcome_unknown: false,
            offered: 0,
        }
    }

    /// Returns effort and outcome of an attempt in air time.
    fn air(&self, ticket: Ticket, spent: Duration, brings: Option<Duration>) -> Service {
        let outcome = brings.map_or(0.0, |ideal| self.due(ticket, ideal.as_secs_f64()));
        Service { effort: spent.as_secs_f64(), outcome }
    }

    //= S3.33
    /// Returns the outcome of a delivered packet. For a reserved flow it is the time that its bytes
    /// take at the reserved rate, for others the air time without errors.
    fn due(&self, ticket: Ticket, ideal: f64) -> f64 {
        let reserved = |rate: Rate| ticket.len as f64 * 8.0 / rate.as_bps() as f64;
        self.reserve.map_or(ideal, |rate| self.share.weight * reserved(rate))
    }

    fn account(&self) -> FlowAccount {
        FlowAccount {
            flow: self.flow,
            share: self.share,
            account: self.account,
            expected: 0.0,
            bytes: self.bytes,
            outcome_unknown: self.outcome_unknown,
            offered: self.offered,
            waiting: self.queue.len(),
        }
    }
}

impl FlowAccount {
    /// Adds what the same flow had elsewhere.
    fn join(&mut self, other: &Self) {
        self.account.join(&other.account);
        self.expected += other.expected;
        self.bytes += other.bytes;
        self.outcome_unknown |= other.outcome_unknown;
        self.offered += other.offered;
        self.waiting += other.waiting;
    }
}

/// Checks the configuration of flows.
///
/// # Errors
/// The first flow whose weight is not above zero, or whose power factor is below one.
pub fn check(flows: &[ScheduledFlow]) -> Result<(), (FlowId, FlowError)> {
    flows.iter().try_for_each(|flow| flow.share.check().map_err(|error| (flow.flow, error)))
}

/// Returns whether a frame carries a repair of packets, and no packet of its own.
fn is_repair(frame: &Frame) -> bool {
    frame.covers.is_some()
}

#[cfg(test)]
mod tests;
