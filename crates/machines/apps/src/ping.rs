//! Sends echo requests and times the replies.

use std::collections::BTreeMap;

use core::net::{IpAddr, SocketAddr};

use windfall_base::{Duration, Instant, Seed};
use windfall_stack::socket_api::{
    Application, Measured, SocketCommand, SocketError, SocketEvent, Transport,
};

use crate::pattern::{Pattern, Wrong};
use crate::sender::{SOCKET, unspecified};
use crate::spread::Spread;

/// The time for which a reply is awaited; a request without one by then counts as lost.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// The configuration of a ping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PingConfig {
    /// Whom to ask.
    pub to: IpAddr,
    /// Bytes of data in each request.
    pub size: usize,
    /// Time between two requests; zero counts as a nanosecond.
    pub interval: Duration,
    /// The number of requests; endless if `None`.
    pub count: Option<u64>,
    /// When the first one goes.
    pub start: Instant,
    /// When it stops: none goes at or after this; no end if `None`.
    pub stop: Option<Instant>,
}

/// Sends echo requests at a steady interval and measures how long the replies take.
#[derive(Clone, Debug)]
pub struct Ping {
    config: PingConfig,
    pattern: Pattern,
    next: Instant,
    opened: bool,
    closed: bool,
    /// Requests without a reply yet, and when they went.
    waiting: BTreeMap<u64, Instant>,
    sent: u64,
    received: u64,
    /// The number after the last request that was answered.
    answered: u64,
    unexpected: u64,
    failed: u64,
    wrong: Wrong,
    times: Spread,
}

impl Ping {
    /// A ping that does what `config` says, with the contents of `seed`.
    #[must_use]
    pub fn new(config: PingConfig, seed: Seed) -> Self {
        Self {
            config,
            pattern: Pattern::new(seed),
            next: config.start,
            opened: false,
            closed: false,
            waiting: BTreeMap::new(),
            sent: 0,
            received: 0,
            answered: 0,
            unexpected: 0,
            failed: 0,
            wrong: Wrong::default(),
            times: Spread::default(),
        }
    }

    fn due(&self) -> Option<Instant> {
        let counted_out = self.config.count.is_some_and(|count| self.sent >= count);
        let over = self.config.stop.is_some_and(|stop| self.next >= stop);
        (!counted_out && !over && !self.closed).then_some(self.next)
    }

    /// Drops the requests that are no longer awaited.
    fn forget(&mut self, now: Instant) {
        while let Some(entry) = self.waiting.first_entry() {
            if now < entry.get().saturating_add(PATIENCE) {
                break;
            }
            entry.remove();
        }
    }

    fn receive(&mut self, now: Instant, data: &[u8]) {
        let oldest = self.waiting.first_key_value().map_or(self.sent, |(number, _)| *number);
        let number = self.pattern.number_of(oldest, data);
        let asked = number.and_then(|number| Some((number, self.waiting.remove(&number)?)));
        let Some((number, asked)) = asked.filter(|(_, asked)| now < asked.saturating_add(PATIENCE))
        else {
            self.unexpected += 1;
            return;
        };
        self.received += 1;
        self.answered = self.answered.max(number + 1);
        self.times.add(now.saturating_since(asked).as_secs_f64());
        let wrong = self.pattern.check(number, data);
        self.wrong.bits += wrong.bits;
        self.wrong.bytes += wrong.bytes;
    }
}

impl Application for Ping {
    fn handle_event(&mut self, now: Instant, event: SocketEvent) {
        match event {
            SocketEvent::Received { data, .. } => self.receive(now, &data),
            SocketEvent::Failed { error, .. } => {
                self.failed += 1;
                self.closed |= matches!(error, SocketError::AddressInUse | SocketError::NotOpen);
            }
            _ => {}
        }
    }

    // Due requests are sent when they are polled for.
    fn handle_timeout(&mut self, now: Instant) {
        self.forget(now);
    }

    fn poll_command(&mut self, now: Instant) -> Option<SocketCommand> {
        let due = self.due().filter(|due| *due <= now)?;
        if !self.opened {
            self.opened = true;
            let local = SocketAddr::new(unspecified(self.config.to), 0);
            return Some(SocketCommand::Open { socket: SOCKET, transport: Transport::Echo, local });
        }
        self.forget(now);
        let data = self.pattern.datagram(self.sent, self.config.size);
        self.waiting.insert(self.sent, now);
        self.sent += 1;
        let interval = self.config.interval.max(Duration::from_nanos(1));
        self.next = due.saturating_add(interval);
        Some(SocketCommand::Send { socket: SOCKET, to: SocketAddr::new(self.config.to, 0), data })
    }

    fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        let oldest = self.waiting.first_key_value().map(|(_, asked)| *asked);
        let forgotten = oldest.map(|asked| asked.saturating_add(PATIENCE));
        Some((self.due().into_iter().chain(forgotten).min()?, "ping"))
    }

    fn report(&self, _now: Instant) -> Vec<(&'static str, Measured)> {
        // Links keep order: a request before one that was answered is hardly under way any more.
        let pending = self.waiting.range(self.answered..).count() as u64;
        let decided = self.sent - pending;
        let lost = decided - self.received;
        vec![
            ("sent", self.sent.into()),
            ("received", self.received.into()),
            ("pending", pending.into()),
            ("lost", lost.into()),
            ("loss", (decided > 0).then(|| lost as f64 / decided as f64).into()),
            ("unexpected", self.unexpected.into()),
            ("failed", self.failed.into()),
            ("bit_errors", self.wrong.bits.into()),
            ("byte_errors", self.wrong.bytes.into()),
            ("rtt_min_seconds", self.times.least().into()),
            ("rtt_mean_seconds", self.times.mean().into()),
            ("rtt_max_seconds", self.times.most().into()),
            ("rtt_sd_seconds", self.times.deviation().into()),
        ]
    }
}

#[cfg(test)]
mod tests;
