//! The stream sockets of a host: applications above, the TCP engine below.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use bytes::Bytes;
use windfall_base::seq::Seq32;
use windfall_base::{Damage, DropReason, Instant, Seed};
use windfall_ip::{ErrorReport, IpDatagram, Problem};
use windfall_tcp::{
    Connection, ConnectionHandle, Listener, Lookup, OpenError, SegmentMeta, TcpConfig, TcpEndpoint,
    TcpError, TcpEvent, TcpTransmit,
};

use super::sockets::AppId;
use crate::socket_api::{SocketError, SocketEvent, SocketId};

type Name = (AppId, SocketId);

/// The state of a stream socket.
#[derive(Debug)]
enum Stream {
    /// It is bound to an address.
    Bound(SocketAddr),
    /// It listens for connections.
    Listening(SocketAddr),
    /// It is one end of a connection.
    Open {
        id: ConnectionHandle,
        /// Data that wait for room in the send buffer.
        waiting: VecDeque<Bytes>,
        /// A FIN follows these data.
        finishes: bool,
        /// Set while the stream is paused: arrivals and the end wait in the engine.
        held: Option<Held>,
    },
}

/// The events that are held back while a stream is paused.
#[derive(Debug, Default)]
struct Held {
    /// The peer has finished.
    finished: bool,
    /// The connection is over.
    over: Option<SocketEvent>,
}

impl Stream {
    const fn open(id: ConnectionHandle) -> Self {
        Self::Open { id, waiting: VecDeque::new(), finishes: false, held: None }
    }
}

/// The stream sockets of a host.
#[derive(Debug)]
pub(super) struct Streams {
    tcp: TcpEndpoint,
    config: TcpConfig,
    sockets: BTreeMap<Name, Stream>,
    names: BTreeMap<ConnectionHandle, Name>,
    /// The last socket identifier given to a connection that a peer opened.
    last_name: u32,
    events: VecDeque<(AppId, SocketEvent)>,
}

impl Streams {
    pub(super) fn new(config: TcpConfig, seed: Seed) -> Self {
        let mut tcp = TcpEndpoint::new(seed, "tcp", Lookup::Hashed);
        tcp.set_memory(config.memory);
        Self {
            tcp,
            config,
            sockets: BTreeMap::new(),
            names: BTreeMap::new(),
            last_name: u32::MAX,
            events: VecDeque::new(),
        }
    }

    pub(super) fn connections(&self) -> impl Iterator<Item = &Connection> {
        self.tcp.connections()
    }

    pub(super) fn operations(&self) -> windfall_tcp::Operations {
        self.tcp.operations()
    }

    /// Returns the TCP settings for an interface with this MTU.
    fn config_for(&self, mtu: usize, local: IpAddr) -> Arc<TcpConfig> {
        let headers = if local.is_ipv4() { 40 } else { 60 };
        let most = mtu.saturating_sub(headers).min(usize::from(u16::MAX)) as u16;
        Arc::new(self.config.clone().with(|it| it.mss = self.config.mss.min(most)))
    }

    pub(super) fn holds(&self, name: Name) -> bool {
        self.sockets.contains_key(&name)
    }

    pub(super) fn open(
        &mut self,
        name: Name,
        local: SocketAddr,
    ) -> Result<SocketAddr, SocketError> {
        if self.holds(name) {
            return Err(SocketError::AddressInUse);
        }
        self.sockets.insert(name, Stream::Bound(local));
        Ok(local)
    }

    pub(super) fn listen(&mut self, name: Name, mtu: usize) -> Result<(), SocketError> {
        let Some(Stream::Bound(local)) = self.sockets.get(&name) else {
            return Err(SocketError::NotOpen);
        };
        let local = *local;
        // A socket bound to the unspecified address accepts connections over both IPv4 and IPv6.
        let [ipv4, ipv6] = [Ipv4Addr::UNSPECIFIED.into(), Ipv6Addr::UNSPECIFIED.into()]
            .map(|version| self.config_for(mtu, version));
        let listener = Listener { ipv6: Some(ipv6), ..Listener::new(ipv4) };
        self.tcp.listen(local, listener).map_err(|_| SocketError::AddressInUse)?;
        self.sockets.insert(name, Stream::Listening(local));
        Ok(())
    }

    /// Opens a connection; `source` is the source address for packets to `to`.
    pub(super) fn connect(
        &mut self,
        now: Instant,
        name: Name,
        source: Option<IpAddr>,
        to: SocketAddr,
        mtu: usize,
    ) -> Result<(), SocketError> {
        let Some(Stream::Bound(bound)) = self.sockets.get(&name) else {
            return Err(SocketError::NotOpen);
        };
        let address = if bound.ip().is_unspecified() { source } else { Some(bound.ip()) };
        let local = SocketAddr::new(address.ok_or(SocketError::Unreachable)?, bound.port());
        let config = self.config_for(mtu, local.ip());
        let id = self.tcp.connect(now, local, to, config).map_err(|error| match error {
            OpenError::Family { .. } => SocketError::Unreachable,
            _ => SocketError::AddressInUse,
        })?;
        self.names.insert(id, name);
        self.sockets.insert(name, Stream::open(id));
        Ok(())
    }

    pub(super) fn send(&mut self, name: Name, data: Bytes) {
        match self.sockets.get_mut(&name) {
            Some(Stream::Open { waiting, finishes: false, .. }) => {
                waiting.push_back(data);
                self.push(name);
            }
            _ => self.fail(name, SocketError::NotOpen),
        }
    }

    pub(super) fn finish(&mut self, name: Name) {
        if let Some(Stream::Open { finishes, .. }) = self.sockets.get_mut(&name) {
            *finishes = true;
            self.push(name);
        } else {
            self.fail(name, SocketError::NotOpen);
        }
    }

    /// Pauses reading: received data stay in the receive buffer, so the receive window closes.
    pub(super) fn pause(&mut self, name: Name) {
        if let Some(Stream::Open { held, .. }) = self.sockets.get_mut(&name) {
            held.get_or_insert_default();
        }
    }

    /// Resumes reading, and delivers the data that have arrived since the pause.
    pub(super) fn resume(&mut self, name: Name) {
        let Some(Stream::Open { id, held, .. }) = self.sockets.get_mut(&name) else { return };
        let (id, Some(held)) = (*id, held.take()) else { return };
        let (app, socket) = name;
        self.hand_up(id, name);
        if held.finished {
            self.events.push_back((app, SocketEvent::Finished { socket }));
        }
        self.events.extend(held.over.map(|over| (app, over)));
    }

    /// Aborts a connection with a RST; no further event is reported.
    pub(super) fn abort(&mut self, name: Name) {
        if let Some(Stream::Open { id, .. }) = self.sockets.remove(&name) {
            self.names.remove(&id);
            // The engine knows every open connection.
            let _ = self.tcp.abort(id);
        }
    }

    pub(super) fn connection(&self, name: Name) -> Option<&Connection> {
        match self.sockets.get(&name) {
            Some(Stream::Open { id, .. }) => self.tcp.connection(*id),
            _ => None,
        }
    }

    /// Delivers all readable data to the application.
    fn hand_up(&mut self, id: ConnectionHandle, (app, socket): Name) {
        while let Ok(Some(data)) = self.tcp.read(id, usize::MAX) {
            self.events.push_back((app, SocketEvent::Stream { socket, data }));
        }
    }

    /// The held events of a paused stream.
    fn held(&mut self, name: Name) -> Option<&mut Held> {
        match self.sockets.get_mut(&name) {
            Some(Stream::Open { held, .. }) => held.as_mut(),
            _ => None,
        }
    }

    /// Releases a socket; data that the engine has accepted are still sent.
    pub(super) fn close(&mut self, now: Instant, name: Name) {
        self.push(name);
        match self.sockets.remove(&name) {
            Some(Stream::Open { id, .. }) => {
                self.names.remove(&id);
                // The engine knows every open connection.
                let _ = self.tcp.close(now, id);
            }
            Some(Stream::Listening(local)) => self.tcp.unlisten(local),
            Some(Stream::Bound(_)) | None => {}
        }
    }

    /// Moves waiting data into the send buffer, and tells the application when it may send more.
    fn push(&mut self, name: Name) {
        let Some(Stream::Open { id, waiting, finishes, .. }) = self.sockets.get_mut(&name) else {
            return;
        };
        let had = !waiting.is_empty();
        while let Some(data) = waiting.front_mut() {
            match self.tcp.write_bytes(*id, data.clone()) {
                Ok(taken) if taken < data.len() => {
                    drop(data.split_to(taken));
                    return;
                }
                // If data cannot be sent any more, an event reports the reason.
                Ok(_) | Err(_) => drop(waiting.pop_front()),
            }
        }
        if *finishes {
            let _ = self.tcp.shutdown(*id);
        } else if had {
            let (app, socket) = name;
            self.events.push_back((app, SocketEvent::Writable { socket }));
        }
    }

    fn fail(&mut self, (app, socket): Name, error: SocketError) {
        self.events.push_back((app, SocketEvent::Failed { socket, error }));
    }

    pub(super) fn receive(
        &mut self,
        now: Instant,
        datagram: &mut IpDatagram,
    ) -> Result<(), DropReason> {
        let addresses = datagram.addresses;
        let ecn = datagram.ecn();
        let Damage { missing, lost_before, .. } = datagram.damage;
        let arrival = SegmentMeta { addresses, ecn, missing, lost_before };
        self.tcp.handle_segment(now, &arrival, &datagram.take_content())
    }

    /// Handles an ICMP error about a sent segment. A path MTU changes the segment size; other
    /// errors are soft (RFC 5461) and only count against Fast Open. Returns whether the report is
    /// about a segment in flight that was too big.
    pub(super) fn tell(&mut self, now: Instant, report: &ErrorReport) -> bool {
        let quoted = &report.quoted;
        let (Some(ports), Some(seq)) = (quoted.get(..4), quoted.get(4..8)) else { return false };
        let port = |at: usize| u16::from_be_bytes([ports[at], ports[at + 1]]);
        let local = SocketAddr::new(report.addresses.src(), port(0));
        let remote = SocketAddr::new(report.addresses.dst(), port(2));
        let seq = Seq32(u32::from_be_bytes([seq[0], seq[1], seq[2], seq[3]]));
        let Some(id) = self.tcp.find(local, remote) else { return false };
        let Some(Problem::TooBig { mtu }) = report.problem else {
            self.tcp.handle_unreachable(now, id, seq);
            return false;
        };
        let mtu = u16::try_from(mtu).unwrap_or(u16::MAX);
        // The connection was found above. A sequence number outside the window shows a forged
        // report (RFC 5927, section 4.1).
        self.tcp.handle_too_big(id, seq, mtu).unwrap_or(false)
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) {
        self.tcp.handle_timeout(now);
    }

    pub(super) fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        self.tcp.poll_timeout()
    }

    /// Returns whether a connection may have a segment to send.
    pub(super) fn has_segments(&self) -> bool {
        self.tcp.is_ready()
    }

    pub(super) fn poll_transmit(&mut self, now: Instant) -> Option<TcpTransmit> {
        self.tcp.poll_transmit(now)
    }

    /// Returns the next event for an application; call until `None`.
    pub(super) fn poll_event(&mut self, now: Instant) -> Option<(AppId, SocketEvent)> {
        while self.events.is_empty() {
            let (id, event) = self.tcp.poll_event()?;
            self.translate(now, id, event);
        }
        self.events.pop_front()
    }

    fn translate(&mut self, now: Instant, id: ConnectionHandle, event: TcpEvent) {
        if event == TcpEvent::Accepted {
            return self.accept(now, id);
        }
        let Some(&name) = self.names.get(&id) else { return };
        let (app, socket) = name;
        let told = match event {
            TcpEvent::Connected => SocketEvent::Connected { socket },
            TcpEvent::Readable if self.held(name).is_some() => return,
            TcpEvent::Readable => return self.hand_up(id, name),
            TcpEvent::Writable => return self.push(name),
            TcpEvent::PeerFinished => match self.held(name) {
                Some(held) => return held.finished = true,
                None => SocketEvent::Finished { socket },
            },
            TcpEvent::Closed(None) => SocketEvent::Closed { socket },
            TcpEvent::Closed(Some(error)) => {
                let error = match error {
                    TcpError::Refused => SocketError::PortClosed,
                    TcpError::Reset | TcpError::Aborted => SocketError::Reset,
                    TcpError::TimedOut => SocketError::TimedOut,
                };
                SocketEvent::Failed { socket, error }
            }
            // An application is told of no others.
            _ => return,
        };
        let is_over = matches!(told, SocketEvent::Closed { .. } | SocketEvent::Failed { .. });
        match self.held(name) {
            // The application reads all received data before the end of the stream is reported.
            Some(held) if is_over => held.over = Some(told),
            _ => self.events.push_back((app, told)),
        }
    }

    /// Passes a connection that a peer opened to the listening socket.
    fn accept(&mut self, now: Instant, id: ConnectionHandle) {
        let Some(path) = self.tcp.connection(id).map(Connection::path).copied() else { return };
        let listens = |(_, stream): &(&Name, &Stream)| match stream {
            Stream::Listening(local) => {
                let address = local.ip() == path.local.ip() || local.ip().is_unspecified();
                address && local.port() == path.local.port()
            }
            _ => false,
        };
        let Some((&(app, listener), _)) = self.sockets.iter().find(listens) else {
            // The listener was closed meanwhile.
            let _ = self.tcp.close(now, id);
            return;
        };
        let socket = SocketId(self.last_name);
        self.last_name -= 1;
        self.sockets.insert((app, socket), Stream::open(id));
        self.names.insert(id, (app, socket));
        let from = path.remote;
        self.events.push_back((app, SocketEvent::Accepted { listener, socket, from }));
    }
}
