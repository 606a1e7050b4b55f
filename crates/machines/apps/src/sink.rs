//! Receives numbered datagrams and says how many came, in what order, and which bits were wrong.

use std::collections::BTreeMap;

use core::net::SocketAddr;

use windfall_base::{Damage, Instant, Seed};
use windfall_stack::socket_api::{Application, Measured, SocketCommand, SocketEvent, Transport};

use crate::arrivals::{ArrivalOrder, Arrivals};
use crate::pattern::{Pattern, Wrong};
use crate::sender::SOCKET;
use crate::spread::Spread;

/// The configuration of a sink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SinkConfig {
    /// The address at which it listens; an unspecified one stands for all of the host's.
    pub local: SocketAddr,
    /// By which transport.
    pub transport: Transport,
}

/// Receives datagrams of the senders here, from as many as there are.
#[derive(Clone, Debug)]
pub struct Sink {
    config: SinkConfig,
    pattern: Pattern,
    opened: bool,
    failed: u64,
    flows: BTreeMap<SocketAddr, Arrivals>,
    tally: Tally,
    gaps: Spread,
    first: Option<Instant>,
    last: Option<Instant>,
    /// Bytes of data of the first datagram: they arrived before the measured time.
    first_bytes: u64,
}

#[derive(Clone, Debug, Default)]
struct Tally {
    received: u64,
    bytes: u64,
    late: u64,
    duplicates: u64,
    strange: u64,
    damaged: u64,
    marked: u64,
    missing_bytes: u64,
    wrong: Wrong,
}

impl Sink {
    /// A sink that does what `config` says and expects the contents of `seed`.
    #[must_use]
    pub fn new(config: SinkConfig, seed: Seed) -> Self {
        Self {
            config,
            pattern: Pattern::new(seed),
            opened: false,
            failed: 0,
            flows: BTreeMap::new(),
            tally: Tally::default(),
            gaps: Spread::default(),
            first: None,
            last: None,
            first_bytes: 0,
        }
    }

    fn receive(&mut self, now: Instant, from: SocketAddr, data: &[u8], damage: &Damage) {
        let tally = &mut self.tally;
        let len = data.len() as u64;
        tally.received += 1;
        tally.bytes += len;
        tally.marked += u64::from(damage.is_damaged());
        tally.missing_bytes += u64::from(damage.missing);
        match self.last.replace(now) {
            Some(last) => self.gaps.add(now.saturating_since(last).as_secs_f64()),
            None => (self.first, self.first_bytes) = (Some(now), len),
        }
        let flow = self.flows.entry(from).or_default();
        let Some(number) = self.pattern.number_of(flow.next(), data) else {
            tally.strange += 1;
            return;
        };
        match flow.note(number) {
            ArrivalOrder::Ahead => {}
            ArrivalOrder::Late => tally.late += 1,
            ArrivalOrder::Duplicate => tally.duplicates += 1,
        }
        let wrong = self.pattern.check(number, data);
        tally.damaged += u64::from(wrong.bits > 0 || damage.missing > 0);
        tally.wrong.bits += wrong.bits;
        tally.wrong.bytes += wrong.bytes;
    }

    /// Bits of data per second from the first arrival to the last, if there are two of them.
    fn goodput(&self) -> Option<f64> {
        let (first, last) = self.first.zip(self.last).filter(|(first, last)| last > first)?;
        let bits = (self.tally.bytes - self.first_bytes) * 8;
        Some(bits as f64 / (last - first).as_secs_f64())
    }
}

impl Application for Sink {
    fn handle_event(&mut self, now: Instant, event: SocketEvent) {
        match event {
            SocketEvent::Received { from, data, damage, .. } => {
                self.receive(now, from, &data, &damage);
            }
            SocketEvent::Failed { .. } => self.failed += 1,
            _ => {}
        }
    }

    // A sink waits for nothing but datagrams.
    fn handle_timeout(&mut self, _now: Instant) {}

    fn poll_command(&mut self, _now: Instant) -> Option<SocketCommand> {
        if core::mem::replace(&mut self.opened, true) {
            return None;
        }
        let SinkConfig { local, transport } = self.config;
        Some(SocketCommand::Open { socket: SOCKET, transport, local })
    }

    fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        // Once, at the very beginning, to open the socket.
        (!self.opened).then_some((Instant::START, "open"))
    }

    fn report(&self, _now: Instant) -> Vec<(&'static str, Measured)> {
        let tally = &self.tally;
        vec![
            ("received", tally.received.into()),
            ("received_bytes", tally.bytes.into()),
            ("reordered", tally.late.into()),
            ("duplicates", tally.duplicates.into()),
            ("unknown", tally.strange.into()),
            ("marked_damaged", tally.marked.into()),
            ("damaged", tally.damaged.into()),
            ("bit_errors", tally.wrong.bits.into()),
            ("byte_errors", tally.wrong.bytes.into()),
            ("truncated_bytes", tally.missing_bytes.into()),
            ("goodput_bps", self.goodput().into()),
            ("gap_min_seconds", self.gaps.least().into()),
            ("gap_mean_seconds", self.gaps.mean().into()),
            ("gap_max_seconds", self.gaps.most().into()),
            ("gap_sd_seconds", self.gaps.deviation().into()),
            ("failed", self.failed.into()),
        ]
    }
}

#[cfg(test)]
mod tests;
