//! Senders of numbered datagrams: at a constant rate, or as fast as asked.

use core::net::{IpAddr, SocketAddr};

use windfall_base::{Instant, Seed};
use windfall_stack::socket_api::{
    Application, Measured, SocketCommand, SocketError, SocketEvent, SocketId, Transport,
};

use crate::pattern::Pattern;
use crate::spacing::{Departures, Schedule};

/// The only socket of each application here.
pub(crate) const SOCKET: SocketId = SocketId(0);

/// The configuration of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SenderConfig {
    /// The destination of the datagrams.
    pub to: SocketAddr,
    /// By which transport.
    pub transport: Transport,
    /// Bytes of data in each datagram.
    pub size: usize,
    /// The number of datagrams; endless if `None`.
    pub count: Option<u64>,
    /// The times at which they go.
    pub timing: Departures,
    /// Which of the senders of a run it is, for random numbers of its own.
    pub number: u64,
    /// When it stops: none goes at or after this; no end if `None`.
    pub stop: Option<Instant>,
}

/// A sender of numbered datagrams.
#[derive(Clone, Debug)]
struct Sender {
    config: SenderConfig,
    pattern: Pattern,
    schedule: Schedule,
    opened: bool,
    /// Why the socket could not be opened.
    closed: Option<SocketError>,
    sent: u64,
    failed: u64,
}

impl Sender {
    fn new(config: SenderConfig, seed: Seed) -> Self {
        Self {
            pattern: Pattern::new(seed),
            schedule: Schedule::new(&config.timing, config.size, seed, config.number),
            opened: false,
            closed: None,
            sent: 0,
            failed: 0,
            config,
        }
    }

    /// When the next datagram goes, if another one does.
    fn due(&self) -> Option<Instant> {
        let next = self.schedule.next;
        let counted_out = self.config.count.is_some_and(|count| self.sent >= count);
        let over = self.config.stop.is_some_and(|stop| next >= stop);
        (!counted_out && !over && self.closed.is_none()).then_some(next)
    }

    fn handle_event(&mut self, event: &SocketEvent) {
        if let SocketEvent::Failed { error, .. } = event {
            self.failed += 1;
            if matches!(error, SocketError::AddressInUse | SocketError::NotOpen) {
                self.closed = Some(*error);
            }
        }
    }

    fn poll_command(&mut self, now: Instant) -> Option<SocketCommand> {
        let due = self.due()?;
        if due > now {
            return None;
        }
        if !self.opened {
            self.opened = true;
            let local = SocketAddr::new(unspecified(self.config.to.ip()), 0);
            let transport = self.config.transport;
            return Some(SocketCommand::Open { socket: SOCKET, transport, local });
        }
        let data = self.pattern.datagram(self.sent, self.config.size);
        self.sent += 1;
        self.schedule.advance();
        Some(SocketCommand::Send { socket: SOCKET, to: self.config.to, data })
    }

    fn report(&self) -> Vec<(&'static str, Measured)> {
        let bytes = self.sent * self.config.size as u64;
        let counts = [("sent", self.sent), ("sent_bytes", bytes), ("failed", self.failed)];
        counts.map(|(name, count)| (name, count.into())).into()
    }
}

/// The address that stands for any of a host's, of the family of `address`.
pub(crate) fn unspecified(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => IpAddr::V4(core::net::Ipv4Addr::UNSPECIFIED),
        IpAddr::V6(_) => IpAddr::V6(core::net::Ipv6Addr::UNSPECIFIED),
    }
}

macro_rules! sender_app {
    ($(#[$doc:meta])* $name:ident, $why:literal) => {
        $(#[$doc])*
        #[derive(Clone, Debug)]
        pub struct $name(Sender);

        impl $name {
            /// A sender that does what `config` says, with the contents of `seed`.
            #[must_use]
            pub fn new(config: SenderConfig, seed: Seed) -> Self {
                Self(Sender::new(config, seed))
            }
        }

        impl Application for $name {
            fn handle_event(&mut self, _now: Instant, event: SocketEvent) {
                self.0.handle_event(&event);
            }

            // Due datagrams are sent when they are polled for.
            fn handle_timeout(&mut self, _now: Instant) {}

            fn poll_command(&mut self, now: Instant) -> Option<SocketCommand> {
                self.0.poll_command(now)
            }

            fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
                Some((self.0.due()?, $why))
            }

            fn report(&self, _now: Instant) -> Vec<(&'static str, Measured)> {
                self.0.report()
            }
        }
    };
}

//= S3.24
sender_app!(
    /// Sends datagrams at an offered rate, which may well be more than the link takes, and cares
    /// neither for overflow nor for loss; the [`Sink`](crate::Sink) says how many arrived.
    Spray,
    "spray"
);
sender_app!(
    /// Sends datagrams at a constant rate.
    Cbr,
    "cbr"
);

#[cfg(test)]
mod tests;
