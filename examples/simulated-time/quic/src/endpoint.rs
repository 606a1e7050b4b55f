//! An endpoint of quinn without a socket, and what its application does.

use std::net::SocketAddr;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use bytes::BytesMut;
use quinn_proto::{
    Connection, ConnectionHandle, DatagramEvent, Dir, EcnCodepoint, Endpoint, EndpointConfig,
    Event, FinishError, ReadError, StreamEvent, StreamId, Transmit, WriteError,
};
use windfall_sim_link::{Ecn, SimDatagram};

use crate::{EventKind, bytes, identity};

/// The instant that quinn takes for the start of the simulation: only differences count.
static EPOCH: LazyLock<Instant> = LazyLock::new(Instant::now);

/// One end: the endpoint, its connections and the data of its stream.
pub(crate) struct Peer {
    pub(crate) address: SocketAddr,
    pub(crate) outgoing: Vec<SimDatagram>,
    endpoint: Endpoint,
    connections: Vec<Open>,
    is_client: bool,
}

struct Open {
    handle: ConnectionHandle,
    connection: Connection,
    stream: Option<StreamId>,
    /// The bytes to write; `written` of them have been.
    data: Vec<u8>,
    written: usize,
    read: Vec<u8>,
    has_ended: bool,
    has_finished: bool,
}

impl Peer {
    pub(crate) fn client(
        address: SocketAddr,
        server: SocketAddr,
        seed: u64,
        data: &[u8],
    ) -> Result<Self, String> {
        let mut endpoint = Endpoint::new(Arc::default(), None, true, Some(seed_of(seed, 1)));
        let opened = endpoint.connect(*EPOCH, identity::client(), server, identity::NAME);
        let (handle, connection) = opened.map_err(|error| error.to_string())?;
        let mut open = Open::new(handle, connection);
        open.data = data.to_vec();
        let (outgoing, connections) = (Vec::new(), vec![open]);
        Ok(Self { address, outgoing, endpoint, connections, is_client: true })
    }

    pub(crate) fn server(address: SocketAddr, seed: u64) -> Self {
        let config = Arc::new(EndpointConfig::default());
        let server = Some(Arc::new(identity::server()));
        let endpoint = Endpoint::new(config, server, true, Some(seed_of(seed, 2)));
        let (outgoing, connections) = (Vec::new(), Vec::new());
        Self { address, outgoing, endpoint, connections, is_client: false }
    }

    /// Returns what came back, once all of it is there.
    pub(crate) fn returned(&mut self) -> Option<Vec<u8>> {
        let open = self.connections.first_mut().filter(|open| open.has_ended)?;
        Some(std::mem::take(&mut open.read))
    }

    pub(crate) fn lost(&self) -> u64 {
        self.connections.iter().map(|open| open.connection.stats().path.lost_packets).sum()
    }

    pub(crate) fn timeout(&mut self) -> Option<Duration> {
        let timers = self.connections.iter_mut().filter_map(|open| open.connection.poll_timeout());
        timers.min().map(|at| at.saturating_duration_since(*EPOCH))
    }

    /// Takes a datagram that has arrived.
    pub(crate) fn take(&mut self, now: Duration, datagram: SimDatagram) {
        let (now, mut buffer) = (*EPOCH + now, Vec::new());
        let ecn = EcnCodepoint::from_bits(datagram.ecn.bits());
        let data = BytesMut::from(&datagram.payload[..]);
        match self.endpoint.handle(now, datagram.from, None, ecn, data, &mut buffer) {
            Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                if let Some(open) = self.connections.iter_mut().find(|it| it.handle == handle) {
                    open.connection.handle_event(event);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                match self.endpoint.accept(incoming, now, &mut buffer, None) {
                    Ok((handle, connection)) => {
                        self.connections.push(Open::new(handle, connection));
                    }
                    Err(error) => {
                        if let Some(transmit) = error.response {
                            self.put(&transmit, &buffer);
                        }
                    }
                }
            }
            Some(DatagramEvent::Response(transmit)) => self.put(&transmit, &buffer),
            None => {}
        }
    }

    fn put(&mut self, transmit: &Transmit, buffer: &[u8]) {
        let ecn = transmit.ecn.map_or(Ecn::NotCapable, |ecn| Ecn::from_bits(ecn as u8));
        let segments =
            buffer[..transmit.size].chunks(transmit.segment_size.unwrap_or(transmit.size));
        let (from, to) = (self.address, transmit.destination);
        let datagram = |payload| SimDatagram { from, to, ecn, payload: bytes(payload) };
        self.outgoing.extend(segments.map(datagram));
    }

    /// Does everything that is due. Returns whether something happened.
    pub(crate) fn work(
        &mut self,
        now: Duration,
        say: &mut dyn FnMut(What),
    ) -> Result<bool, String> {
        let at = *EPOCH + now;
        let (mut has_worked, mut transmits) = (false, Vec::new());
        for open in &mut self.connections {
            if open.connection.poll_timeout().is_some_and(|due| due <= at) {
                open.connection.handle_timeout(at);
                has_worked = true;
            }
            while let Some(event) = open.connection.poll() {
                has_worked = true;
                open.handle(event, self.is_client, say)?;
            }
            if open.exchange(self.is_client)? {
                has_worked = true;
            }
            while let Some(event) = open.connection.poll_endpoint_events() {
                has_worked = true;
                if let Some(event) = self.endpoint.handle_event(open.handle, event) {
                    open.connection.handle_event(event);
                }
            }
            let mut buffer = Vec::new();
            while let Some(transmit) = open.connection.poll_transmit(at, 1, &mut buffer) {
                transmits.push((transmit, std::mem::take(&mut buffer)));
            }
        }
        for (transmit, buffer) in &transmits {
            self.put(transmit, buffer);
        }
        Ok(has_worked)
    }
}

impl Open {
    fn new(handle: ConnectionHandle, connection: Connection) -> Self {
        Self {
            handle,
            connection,
            stream: None,
            data: Vec::new(),
            written: 0,
            read: Vec::new(),
            has_ended: false,
            has_finished: false,
        }
    }

    fn handle(
        &mut self,
        event: Event,
        is_client: bool,
        say: &mut dyn FnMut(What),
    ) -> Result<(), String> {
        say(What::Event(match event {
            Event::HandshakeDataReady => "handshake",
            Event::Connected => "connected",
            Event::ConnectionLost { reason } if is_client => return Err(reason.to_string()),
            Event::ConnectionLost { .. } => "lost",
            Event::Stream(StreamEvent::Opened { .. }) => "opened",
            Event::Stream(StreamEvent::Readable { .. }) => "readable",
            Event::Stream(StreamEvent::Writable { .. }) => "writable",
            Event::Stream(StreamEvent::Finished { .. }) => "finished",
            Event::Stream(_) => "stream",
            _ => "datagram",
        }));
        Ok(())
    }

    /// Opens or accepts the stream, reads what has come, writes what there is room for.
    fn exchange(&mut self, is_client: bool) -> Result<bool, String> {
        if self.stream.is_none() {
            let mut streams = self.connection.streams();
            self.stream = if is_client { streams.open(Dir::Bi) } else { streams.accept(Dir::Bi) };
        }
        let Some(id) = self.stream else { return Ok(false) };
        let before = (self.read.len(), self.written, self.has_ended, self.has_finished);
        if !self.has_ended {
            self.read(id)?;
        }
        if !is_client {
            // The server sends back what it has read, as it comes.
            self.data = self.read.clone();
        }
        while self.written < self.data.len() {
            match self.connection.send_stream(id).write(&self.data[self.written..]) {
                Ok(len) => self.written += len,
                Err(WriteError::Blocked) => break,
                Err(error) => return Err(error.to_string()),
            }
        }
        let has_all = is_client || self.has_ended;
        if has_all && self.written == self.data.len() && !self.has_finished {
            match self.connection.send_stream(id).finish() {
                Ok(()) | Err(FinishError::ClosedStream) => self.has_finished = true,
                Err(error) => return Err(error.to_string()),
            }
        }
        Ok(before != (self.read.len(), self.written, self.has_ended, self.has_finished))
    }

    fn read(&mut self, id: StreamId) -> Result<(), String> {
        let mut stream = self.connection.recv_stream(id);
        let mut chunks = match stream.read(true) {
            Ok(chunks) => chunks,
            Err(_) => return Ok(()),
        };
        loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => self.read.extend_from_slice(&chunk.bytes),
                Ok(None) => {
                    self.has_ended = true;
                    break;
                }
                Err(ReadError::Blocked) => break,
                Err(error) => return Err(error.to_string()),
            }
        }
        let _ = chunks.finalize();
        Ok(())
    }
}

/// Returns the seed of an endpoint's own draws.
fn seed_of(seed: u64, end: u8) -> [u8; 32] {
    let mut bytes = [end; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    bytes
}
