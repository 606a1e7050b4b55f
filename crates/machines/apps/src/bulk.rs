//! Bulk transfers over one stream, and their sink: the transfers of the papers' figures.

use std::collections::BTreeMap;

use core::net::SocketAddr;

use bytes::{Bytes, BytesMut};
use windfall_base::{Instant, Seed};
use windfall_stack::socket_api::{
    Application, Measured, SocketCommand, SocketError, SocketEvent, SocketId, Transport,
};

use crate::pattern::Pattern;
use crate::sender::{SOCKET, unspecified};

/// The bytes of each of the numbered blocks of which the stream is made.
const BLOCK: usize = 1024;
/// Blocks that are handed to the host at once.
const BLOCKS: u64 = 64;

/// The configuration of a bulk sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BulkConfig {
    /// Whom it sends to.
    pub to: SocketAddr,
    /// The number of bytes; endless if `None`.
    pub bytes: Option<u64>,
    /// When it begins.
    pub start: Instant,
    /// When it ends, sent or not.
    pub stop: Option<Instant>,
}

/// Sends bytes over one TCP connection as fast as it takes them.
#[derive(Clone, Debug)]
pub struct Bulk {
    config: BulkConfig,
    pattern: Pattern,
    step: Step,
    sent: u64,
    connected: Option<Instant>,
    closed: Option<Instant>,
    error: Option<SocketError>,
}

/// The next step of the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Open,
    Connect,
    /// Wait for the connection, or for room.
    Wait,
    Send,
    /// Everything is sent, or it is over.
    Done,
}

impl Bulk {
    /// A sender that does what `config` says, with the contents of `seed`.
    #[must_use]
    pub fn new(config: BulkConfig, seed: Seed) -> Self {
        let pattern = Pattern::new(seed);
        let step = Step::Open;
        let sent = 0;
        let connected = None;
        let closed = None;
        let error = None;
        Self { config, pattern, step, sent, connected, closed, error }
    }

    /// The next bytes, whole blocks unless they are the last.
    fn next_bytes(&mut self) -> Bytes {
        let most = BLOCKS * BLOCK as u64;
        let left = self.config.bytes.map_or(most, |bytes| bytes - self.sent).min(most);
        let first = self.sent / BLOCK as u64;
        let mut data = BytesMut::with_capacity(most as usize);
        for number in first..first + BLOCKS {
            self.pattern.append(number, BLOCK, &mut data);
        }
        data.truncate(left as usize);
        self.sent += left;
        data.freeze()
    }

    fn is_over(&self, now: Instant) -> bool {
        let all = self.config.bytes.is_some_and(|bytes| self.sent >= bytes);
        all || self.config.stop.is_some_and(|stop| now >= stop)
    }
}

impl Application for Bulk {
    fn handle_event(&mut self, now: Instant, event: SocketEvent) {
        match event {
            SocketEvent::Connected { .. } => {
                self.connected = Some(now);
                self.step = Step::Send;
            }
            SocketEvent::Writable { .. } if self.step == Step::Wait => self.step = Step::Send,
            SocketEvent::Closed { .. } => self.closed = Some(now),
            SocketEvent::Failed { error, .. } => {
                self.error = Some(error);
                self.step = Step::Done;
            }
            _ => {}
        }
    }

    // Due data are sent when they are polled for.
    fn handle_timeout(&mut self, _now: Instant) {}

    fn poll_command(&mut self, now: Instant) -> Option<SocketCommand> {
        let socket = SOCKET;
        let to = self.config.to;
        match self.step {
            Step::Open if now >= self.config.start => {
                self.step = Step::Connect;
                let local = SocketAddr::new(unspecified(to.ip()), 0);
                Some(SocketCommand::Open { socket, transport: Transport::Tcp, local })
            }
            Step::Connect => {
                self.step = Step::Wait;
                Some(SocketCommand::Connect { socket, to })
            }
            Step::Send if self.is_over(now) => {
                self.step = Step::Done;
                Some(SocketCommand::Finish { socket })
            }
            Step::Send => {
                self.step = Step::Wait;
                Some(SocketCommand::Send { socket, to, data: self.next_bytes() })
            }
            Step::Open | Step::Wait | Step::Done => None,
        }
    }

    fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        (self.step == Step::Open).then_some((self.config.start, "bulk"))
    }

    fn report(&self, _now: Instant) -> Vec<(&'static str, Measured)> {
        let since = |at: Option<Instant>| {
            at.map(|at| at.saturating_since(self.config.start).as_secs_f64()).into()
        };
        vec![
            ("sent_bytes", self.sent.into()),
            ("connected_seconds", since(self.connected)),
            ("closed_seconds", since(self.closed)),
            ("failed", u64::from(self.error.is_some()).into()),
        ]
    }
}

/// The address at which a bulk receiver listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BulkSinkConfig {
    /// The address; an unspecified one accepts every address of the host.
    pub local: SocketAddr,
}

/// Takes streams of bulk senders and checks every byte.
#[derive(Clone, Debug)]
pub struct BulkSink {
    config: BulkSinkConfig,
    pattern: Pattern,
    commands: Vec<SocketCommand>,
    streams: BTreeMap<SocketId, u64>,
    opened: bool,
    accepted: u64,
    finished: u64,
    failed: u64,
    bytes: u64,
    wrong: u64,
    first: Option<Instant>,
    last: Option<Instant>,
}

impl BulkSink {
    /// A receiver that listens where `config` says and expects the contents of `seed`.
    #[must_use]
    pub fn new(config: BulkSinkConfig, seed: Seed) -> Self {
        let socket = SOCKET;
        let local = config.local;
        // The last comes first.
        let commands = vec![
            SocketCommand::Listen { socket },
            SocketCommand::Open { socket, transport: Transport::Tcp, local },
        ];
        Self {
            config,
            pattern: Pattern::new(seed),
            commands,
            streams: BTreeMap::new(),
            opened: false,
            accepted: 0,
            finished: 0,
            failed: 0,
            bytes: 0,
            wrong: 0,
            first: None,
            last: None,
        }
    }

    /// Returns the address at which it listens.
    #[must_use]
    pub const fn config(&self) -> &BulkSinkConfig {
        &self.config
    }

    fn receive(&mut self, now: Instant, socket: SocketId, data: &[u8]) {
        self.first.get_or_insert(now);
        self.last = Some(now);
        self.bytes += data.len() as u64;
        let Some(position) = self.streams.get_mut(&socket) else { return };
        let mut rest = data;
        while !rest.is_empty() {
            let number = *position / BLOCK as u64;
            let skip = (*position % BLOCK as u64) as usize;
            let block = self.pattern.datagram(number, BLOCK);
            let len = rest.len().min(BLOCK - skip);
            let expected = &block[skip..skip + len];
            // Nearly always all of it is right.
            if *expected != rest[..len] {
                self.wrong += expected.iter().zip(rest).filter(|(a, b)| a != b).count() as u64;
            }
            rest = &rest[len..];
            *position += len as u64;
        }
    }
}

impl Application for BulkSink {
    fn handle_event(&mut self, now: Instant, event: SocketEvent) {
        match event {
            SocketEvent::Accepted { socket, .. } => {
                self.accepted += 1;
                self.streams.insert(socket, 0);
            }
            SocketEvent::Stream { socket, data } => self.receive(now, socket, &data),
            SocketEvent::Finished { socket } => {
                self.finished += 1;
                self.commands.push(SocketCommand::Close { socket });
                self.streams.remove(&socket);
            }
            SocketEvent::Failed { .. } => self.failed += 1,
            _ => {}
        }
    }

    // It waits for nothing but streams.
    fn handle_timeout(&mut self, _now: Instant) {}

    fn poll_command(&mut self, _now: Instant) -> Option<SocketCommand> {
        self.opened = true;
        self.commands.pop()
    }

    fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        // Once, at the very beginning, to open the socket.
        (!self.opened).then_some((Instant::START, "open"))
    }

    fn report(&self, _now: Instant) -> Vec<(&'static str, Measured)> {
        let span = self.first.zip(self.last);
        let span = span.map(|(first, last)| last.saturating_since(first).as_secs_f64());
        let goodput = span.filter(|it| *it > 0.0).map(|it| self.bytes as f64 * 8.0 / it);
        vec![
            ("accepted", self.accepted.into()),
            ("finished", self.finished.into()),
            ("received_bytes", self.bytes.into()),
            ("byte_errors", self.wrong.into()),
            ("seconds", span.into()),
            ("goodput_bps", goodput.into()),
            ("failed", self.failed.into()),
        ]
    }
}

#[cfg(test)]
mod tests;
