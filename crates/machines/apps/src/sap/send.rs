//! Sends messages over a connection of SAP: as fast as it takes them, or at their times.

use core::net::SocketAddr;

use windfall_base::{Duration, Instant, Seed};
use windfall_sap::{
    CloseReason, ConnectionId, Message, Mode, SapConfig, SapEvent, SapSendError, Undelivered,
};
use windfall_stack::socket_api::{Application, Measured, SocketCommand, SocketError, SocketEvent};

use super::carrier::Carrier;
use super::contents::Contents;
use crate::sender::unspecified;
use crate::spacing::{Departures, Schedule};
use crate::spread::Spread;

/// The configuration of a sender of messages.
#[derive(Clone, Debug, PartialEq)]
pub struct SapSenderConfig {
    /// Whom it sends to.
    pub to: SocketAddr,
    /// The parameters of its endpoint.
    pub sap: SapConfig,
    /// The mode of its messages.
    pub mode: Mode,
    /// Bytes of data in each message.
    pub size: usize,
    /// The number of bytes of each transfer; endless if `None`.
    pub bytes: Option<u64>,
    /// The number of transfers, each over a connection of its own.
    pub transfers: u64,
    /// The times of the messages.
    pub pace: SapPace,
    /// Approximate messages are sent newest first, and the oldest are dropped where the link is too
    /// slow.
    pub newest_first: bool,
    /// The time for which lost approximate messages are sent again; zero if they are sent once.
    pub lateness: Duration,
    /// When it begins.
    pub start: Instant,
    /// When it ends: no message goes at or after this; no end if `None`.
    pub stop: Option<Instant>,
    /// Which of the senders of a run it is, for random numbers of its own.
    pub number: u64,
}

/// The times of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SapPace {
    /// Whenever there is room for one.
    Greedy,
    /// At these times; the first one counts from the time at which the connection stood.
    Timed(Departures),
}

/// The next step of the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Idle,
    Connecting(ConnectionId),
    Sending(ConnectionId),
    /// The end is announced.
    Finishing(ConnectionId),
    /// The peer has everything, and ends as well.
    Parting(ConnectionId),
    Over,
}

/// Sends messages over connections of SAP, one connection after another.
#[derive(Debug)]
pub struct SapSender {
    config: SapSenderConfig,
    seed: Seed,
    contents: Contents,
    carrier: Carrier,
    step: Step,
    schedule: Option<Schedule>,
    /// The send buffer is full.
    is_full: bool,
    /// The peer has ended its direction of this transfer.
    has_peer_ended: bool,
    /// Messages and bytes of this transfer.
    messages: u64,
    bytes: u64,
    began: Instant,
    tally: Tally,
}

/// The counts and times of a sender.
#[derive(Clone, Debug, Default)]
struct Tally {
    begun: u64,
    sent: u64,
    sent_bytes: u64,
    refused: u64,
    failed: u64,
    undelivered: Undelivered,
    /// Messages that gave way to newer ones before they were sent.
    displaced: u64,
    connected: Option<Instant>,
    closed: Option<Instant>,
    transfers: Spread,
}

impl SapSender {
    /// A sender that does what `config` says, with the contents of `seed`.
    #[must_use]
    pub fn new(config: SapSenderConfig, seed: Seed) -> Self {
        let local = SocketAddr::new(unspecified(config.to.ip()), 0);
        let random = Carrier::random(seed, "sap", config.number);
        Self {
            seed,
            contents: Contents::new(seed),
            carrier: Carrier::new(config.sap, local, random),
            step: Step::Idle,
            schedule: None,
            is_full: false,
            has_peer_ended: false,
            messages: 0,
            bytes: 0,
            began: config.start,
            tally: Tally::default(),
            config,
        }
    }

    /// Takes the next step; returns false if it waits for something.
    fn advance(&mut self, now: Instant) -> bool {
        match self.step {
            Step::Idle if now >= self.config.start => self.connect(now),
            Step::Sending(id) if self.is_over(now) => {
                self.carrier.endpoint.finish(id);
                self.step = Step::Finishing(id);
            }
            Step::Sending(id) if self.due().is_some_and(|due| due <= now) => self.send(now, id),
            Step::Finishing(id) if self.carrier.endpoint.is_finished(id) => {
                self.tally.transfers.add(now.saturating_since(self.began).as_secs_f64());
                self.step = Step::Parting(id);
                if self.has_peer_ended {
                    self.part(now, id);
                }
            }
            _ => return false,
        }
        true
    }

    fn connect(&mut self, now: Instant) {
        let id = self.carrier.endpoint.connect(now, self.config.to);
        self.tally.begun += 1;
        self.has_peer_ended = false;
        self.step = Step::Connecting(id);
    }

    /// When the next message goes, if there is room; at once if it waits for nothing else.
    fn due(&self) -> Option<Instant> {
        let due = self.schedule.as_ref().map_or(Instant::START, |schedule| schedule.next);
        (!self.is_full).then_some(due)
    }

    /// Tells whether this transfer has sent all its messages.
    fn is_over(&self, now: Instant) -> bool {
        let next = self.schedule.as_ref().map_or(now, |schedule| schedule.next.max(now));
        self.config.bytes.is_some_and(|bytes| self.bytes >= bytes)
            || self.config.stop.is_some_and(|stop| next >= stop)
    }

    fn send(&mut self, now: Instant, id: ConnectionId) {
        let left = self.config.bytes.map_or(u64::MAX, |bytes| bytes - self.bytes);
        let len = (self.config.size as u64).min(left) as usize;
        let due = self.schedule.as_ref().map_or(now, |schedule| schedule.next);
        let data = self.contents.message(self.messages, len, due);
        let mode = match self.config.mode {
            Mode::Approximate { protected } => Mode::Approximate { protected: protected.min(len) },
            ref mode => mode.clone(),
        };
        match self.carrier.endpoint.send(id, &Message::new(mode, data)) {
            Ok(()) => {
                self.messages += 1;
                self.tally.sent += 1;
                self.tally.sent_bytes += len as u64;
            }
            // As a program that blocks: the message waits, and those behind it too.
            Err(SapSendError::Full) => {
                self.is_full = true;
                return;
            }
            Err(_) => {
                self.tally.refused += 1;
                self.carrier.endpoint.finish(id);
                self.step = Step::Finishing(id);
                return;
            }
        }
        self.bytes += len as u64;
        self.schedule.iter_mut().for_each(Schedule::advance);
    }

    fn handle_sap(&mut self, now: Instant, of: ConnectionId, event: &SapEvent) {
        match (self.step, event) {
            (Step::Connecting(id), SapEvent::Connected) if id == of => {
                self.schedule = match self.config.pace {
                    SapPace::Greedy => None,
                    SapPace::Timed(timing) => {
                        let timing = Departures { start: now, ..timing };
                        let number = self.config.number;
                        Some(Schedule::new(&timing, self.config.size, self.seed, number))
                    }
                };
                self.tally.connected.get_or_insert(now);
                (self.began, self.messages, self.bytes) = (now, 0, 0);
                self.is_full = false;
                self.carrier.endpoint.set_newest_first(id, self.config.newest_first);
                self.carrier.endpoint.set_lateness(id, self.config.lateness);
                self.step = Step::Sending(id);
            }
            (Step::Sending(id), SapEvent::Writable) if id == of => self.is_full = false,
            (Step::Parting(id), SapEvent::Finished { .. }) if id == of => self.part(now, id),
            // The peer's end may overtake the acknowledgement of this one's.
            (Step::Sending(id) | Step::Finishing(id), SapEvent::Finished { .. }) if id == of => {
                self.has_peer_ended = true;
            }
            (_, SapEvent::Closed(reason)) => self.end(now, of, *reason),
            _ => {}
        }
    }

    /// Takes leave of a peer that has everything and has ended too.
    fn part(&mut self, now: Instant, id: ConnectionId) {
        self.tally.displaced += self.carrier.endpoint.displaced(id).0;
        self.carrier.endpoint.close(now, id);
        self.tally.closed = Some(now);
        self.step = Step::Over;
        if self.tally.begun < self.config.transfers {
            self.connect(now);
        }
    }

    /// Notes the end of a connection, which is a failure unless the peer had everything.
    fn end(&mut self, now: Instant, of: ConnectionId, reason: CloseReason) {
        match self.step {
            Step::Parting(id) if id == of => self.part(now, of),
            Step::Finishing(id) if id == of && reason == CloseReason::Closed => {
                self.tally.transfers.add(now.saturating_since(self.began).as_secs_f64());
                self.part(now, of);
            }
            Step::Connecting(id) | Step::Sending(id) | Step::Finishing(id) if id == of => {
                self.tally.failed += 1;
                let left = self.carrier.endpoint.undelivered(of);
                self.tally.undelivered.messages += left.messages;
                self.tally.undelivered.bytes += left.bytes;
                self.part(now, of);
            }
            _ => self.carrier.endpoint.close(now, of),
        }
    }
}

impl Application for SapSender {
    fn handle_event(&mut self, now: Instant, event: SocketEvent) {
        self.carrier.handle_event(now, &event);
        let to = self.config.to;
        match event {
            SocketEvent::Failed { error: SocketError::PortClosed, .. } => {
                self.carrier.endpoint.handle_refused(now, to);
            }
            SocketEvent::Failed { error: SocketError::Unreachable, .. } => {
                self.carrier.endpoint.handle_unreachable(to);
            }
            SocketEvent::Failed { .. } => {
                self.tally.failed += 1;
                self.step = Step::Over;
            }
            _ => {}
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.carrier.endpoint.handle_timeout(now);
    }

    fn poll_command(&mut self, now: Instant) -> Option<SocketCommand> {
        if now < self.config.start {
            return None;
        }
        loop {
            if let Some(command) = self.carrier.poll_command(now) {
                return Some(command);
            }
            if let Some((id, event)) = self.carrier.endpoint.poll_event() {
                self.handle_sap(now, id, &event);
            } else if !self.advance(now) {
                return None;
            }
        }
    }

    fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        let own = match self.step {
            Step::Idle => Some(self.config.start),
            Step::Sending(_) => {
                let due = self.schedule.as_ref().and_then(|_| self.due());
                due.into_iter().chain(self.config.stop).min()
            }
            _ => None,
        };
        let endpoint = self.carrier.endpoint.deadline().filter(|_| self.step != Step::Idle);
        Some((own.into_iter().chain(endpoint).min()?, "sap"))
    }

    fn report(&self, _now: Instant) -> Vec<(&'static str, Measured)> {
        let tally = &self.tally;
        let open = match self.step {
            Step::Sending(id) | Step::Finishing(id) | Step::Parting(id) => {
                self.carrier.endpoint.displaced(id).0
            }
            Step::Idle | Step::Connecting(_) | Step::Over => 0,
        };
        let since = |at: Option<Instant>| {
            at.map(|at| at.saturating_since(self.config.start).as_secs_f64()).into()
        };
        let mut report = vec![
            ("sent", tally.sent.into()),
            ("sent_bytes", tally.sent_bytes.into()),
            ("refused", tally.refused.into()),
            ("displaced", (tally.displaced + open).into()),
            ("undelivered", tally.undelivered.messages.into()),
            ("undelivered_bytes", tally.undelivered.bytes.into()),
            ("connected_seconds", since(tally.connected)),
            ("closed_seconds", since(tally.closed)),
            ("transfers", tally.transfers.count().into()),
            ("transfer_min_seconds", tally.transfers.least().into()),
            ("transfer_mean_seconds", tally.transfers.mean().into()),
            ("transfer_max_seconds", tally.transfers.most().into()),
            ("failed", tally.failed.into()),
        ];
        report.extend(self.carrier.drops());
        report
    }
}
