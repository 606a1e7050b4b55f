//! The engine with its clock, and what it has sent.

use std::collections::VecDeque;

use bytes::Bytes;
use windfall_base::{Instant, Payload, Seed};
use windfall_tcp::{
    Connection, ConnectionHandle, Lookup, SegmentMeta, TcpEndpoint, TcpEvent, TcpTransmit,
};
use windfall_wire_net::{Addresses, Ecn};

/// A segment that the engine has sent.
#[derive(Clone, Debug)]
pub(crate) struct Departure {
    pub(crate) at: Instant,
    pub(crate) addresses: Addresses,
    pub(crate) ecn: Ecn,
    pub(crate) header: Vec<u8>,
    pub(crate) data: Bytes,
}

#[derive(Debug)]
pub(crate) struct Machine {
    pub(crate) tcp: TcpEndpoint,
    pub(crate) now: Instant,
    /// Segments that were sent and of which the script has not spoken yet.
    pub(crate) departures: VecDeque<Departure>,
    /// Connections that wait to be accepted.
    pub(crate) backlog: VecDeque<ConnectionHandle>,
}

impl Machine {
    pub(crate) fn new() -> Self {
        Self {
            tcp: TcpEndpoint::new(Seed(1), "conformance", Lookup::Hashed),
            now: Instant::START,
            departures: VecDeque::new(),
            backlog: VecDeque::new(),
        }
    }

    pub(crate) fn connection(&self, id: ConnectionHandle) -> Option<&Connection> {
        self.tcp.connection(id)
    }

    /// Takes a segment from the script.
    pub(crate) fn arrive(&mut self, meta: &SegmentMeta, bytes: Vec<u8>) {
        // What becomes of it shows in what is sent.
        let _ = self.tcp.handle_segment(self.now, meta, &Payload::from(Bytes::from(bytes)));
        self.drain();
    }

    /// Fetches what the engine has to send and to tell, after every change.
    pub(crate) fn drain(&mut self) {
        while let Some((id, event)) = self.tcp.poll_event() {
            if event == TcpEvent::Accepted {
                self.backlog.push_back(id);
            }
        }
        while let Some(TcpTransmit { addresses, ecn, header, data }) =
            self.tcp.poll_transmit(self.now)
        {
            let at = self.now;
            self.departures.push_back(Departure {
                at,
                addresses,
                ecn,
                header: header.to_vec(),
                data,
            });
        }
    }

    pub(crate) fn next_wake(&self) -> Option<Instant> {
        self.tcp.poll_timeout().map(|(at, _)| at)
    }

    /// Lets the time be `at`, with every timer that is due then.
    pub(crate) fn wake(&mut self, at: Instant) {
        self.now = self.now.max(at);
        self.tcp.handle_timeout(self.now);
        self.drain();
    }
}
