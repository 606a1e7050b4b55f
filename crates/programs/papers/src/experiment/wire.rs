//! Two TCPs and a wire between them on which a function decides the fate of each packet.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use windfall_base::{Duration, Frame, Instant, Payload, Seed};
use windfall_scenario::TcpSettings;
use windfall_tcp::{
    Connection, ConnectionHandle, Listener, Lookup, SegmentMeta, TcpEndpoint, TcpEvent, TcpTransmit,
};
use windfall_wire_net::{Ecn, TcpFlags, TcpPacket};

use crate::experiment::error::ExperimentError;

/// The end that opens the connection.
pub const NEAR: usize = 0;
/// The end that listens.
pub const FAR: usize = 1;

/// A packet about to leave, as the function that decides on it sees it.
#[derive(Clone, Copy, Debug)]
pub struct Leaving {
    /// The end that sends it.
    pub from: usize,
    /// Its control bits.
    pub flags: TcpFlags,
    /// Bytes of data in it.
    pub len: usize,
}

/// The impairment of a packet on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Impairment {
    /// The last bit of it is inverted.
    pub damaged: bool,
    /// The network marks it (RFC 3168).
    pub marked: bool,
}

/// Two connected TCPs.
pub struct Wire {
    /// The time that the wire has reached.
    pub now: Instant,
    /// The one-way delay of a packet.
    pub delay: Duration,
    /// Decides on every packet.
    pub fate: Box<dyn FnMut(&Leaving) -> Impairment>,
    ends: [TcpEndpoint; 2],
    ids: [Option<ConnectionHandle>; 2],
    /// Bytes that each end has received in order.
    arrived: [usize; 2],
    flying: BTreeMap<(Instant, u64), (usize, SegmentMeta, Payload)>,
    launched: u64,
}

impl Wire {
    /// A wire of `delay` between two ends with these settings, connected.
    ///
    /// # Errors
    /// If the settings make no sense or the ends do not connect.
    pub fn connected(
        figure: &'static str,
        settings: &str,
        delay: Duration,
        seed: Seed,
    ) -> Result<Self, ExperimentError> {
        let failed = |message: String| ExperimentError::Scenario { figure, message };
        let settings: TcpSettings = settings.parse().map_err(|error| failed(format!("{error}")))?;
        let config = Arc::new(settings.config().clone());
        let mut ends = ["near", "far"].map(|name| TcpEndpoint::new(seed, name, Lookup::Hashed));
        let [near, far] = [([10, 0, 0, 1], 40_000), ([10, 0, 0, 2], 5_001)].map(Into::into);
        let listener = Listener::new(Arc::clone(&config));
        ends[FAR].listen(far, listener).map_err(|error| failed(error.to_string()))?;
        let now = Instant::START;
        let fate = Box::new(|_: &Leaving| Impairment::default());
        let id = ends[NEAR].connect(now, near, far, config);
        let id = id.map_err(|error| failed(error.to_string()))?;
        let ids = [Some(id), None];
        let arrived = [0; 2];
        let flying = BTreeMap::new();
        let mut wire = Self { now, delay, fate, ends, ids, arrived, flying, launched: 0 };
        if wire.run_until(Duration::from_secs(10), |wire| wire.ids[FAR].is_some()) {
            Ok(wire)
        } else {
            Err(failed("the two ends do not connect".to_owned()))
        }
    }

    /// The connection as one end sees it; `None` once it is over.
    pub fn connection(&self, end: usize) -> Option<&Connection> {
        self.ends[end].connection(self.ids[end]?)
    }

    /// Bytes that an end has received in order.
    pub fn arrived(&self, end: usize) -> usize {
        self.arrived[end]
    }

    /// Gives an end `len` bytes to send, as many as its buffer has room for.
    pub fn send(&mut self, end: usize, len: usize) {
        if let Some(id) = self.ids[end] {
            // A connection that is over takes nothing; the experiment then sees nothing arrive.
            let _ = self.ends[end].write_bytes(id, Bytes::from(vec![0x5a; len]));
        }
    }

    /// Runs for `span`.
    pub fn run_for(&mut self, span: Duration) {
        self.run_until(span, |_| false);
    }

    /// Runs until `done` or for `span`; says whether it was done.
    pub fn run_until(&mut self, span: Duration, done: impl Fn(&Self) -> bool) -> bool {
        let end = self.now.saturating_add(span);
        self.settle();
        while !done(self) {
            let timers = self.ends.iter().filter_map(TcpEndpoint::poll_timeout).map(|(at, _)| at);
            let next = timers.chain(self.flying.keys().map(|(at, _)| *at).next()).min();
            let Some(next) = next.filter(|next| *next <= end) else {
                self.now = end;
                return false;
            };
            self.now = self.now.max(next);
            self.arrive();
            self.ends.iter_mut().for_each(|tcp| tcp.handle_timeout(self.now));
            self.settle();
        }
        true
    }

    /// Hands over what is due.
    fn arrive(&mut self) {
        while let Some(entry) = self.flying.first_entry().filter(|entry| entry.key().0 <= self.now)
        {
            let (to, arrival, payload) = entry.remove();
            // What is dropped is the experiment's intention.
            let _ = self.ends[to].handle_segment(self.now, &arrival, &payload);
            self.settle();
        }
    }

    /// Lets both ends send and report until they are silent.
    fn settle(&mut self) {
        for end in [NEAR, FAR] {
            while let Some((id, event)) = self.ends[end].poll_event() {
                match event {
                    TcpEvent::Accepted => self.ids[end] = Some(id),
                    TcpEvent::Readable => {
                        while let Ok(Some(data)) = self.ends[end].read(id, usize::MAX) {
                            self.arrived[end] += data.len();
                        }
                    }
                    _ => {}
                }
            }
            while let Some(transmit) = self.ends[end].poll_transmit(self.now) {
                self.launch(end, &transmit);
            }
        }
    }

    fn launch(&mut self, from: usize, transmit: &TcpTransmit) {
        let flags =
            TcpPacket::new(&transmit.header).map_or(TcpFlags::NONE, |packet| packet.flags());
        let leaving = Leaving { from, flags, len: transmit.data.len() };
        let fate = (self.fate)(&leaving);
        let mut frame = Frame::packet(transmit.payload());
        if fate.damaged {
            frame.invert(&[transmit.len() as u32 * 8 - 1]);
        }
        let mut meta = transmit.meta();
        if fate.marked {
            meta.ecn = Ecn::Congested;
        }
        self.launched += 1;
        let at = (self.now.saturating_add(self.delay), self.launched);
        self.flying.insert(at, (1 - from, meta, frame.payload));
    }
}
