//! A host: the internet layer and the sockets of the applications on top.

mod datagram;
mod event;
mod processor;
mod sockets;
mod streams;

use std::collections::VecDeque;

use core::net::{IpAddr, SocketAddr};

use bytes::Bytes;
use windfall_base::{
    DropReason, Drops, Input, Instant, Ledger, Node, Outgoing, Port, Seed, Tag, earlier,
};
use windfall_ip::{ErrorReport, IpDatagram, IpSendError, Layer, Outbound, Problem, Upward};
use windfall_wire_net::{Addresses, Ecn, Protocol};

use crate::socket_api::{SocketCommand, SocketError, SocketEvent, SocketId, Transport};

pub use event::HostEvent;
pub use processor::ProcessorConfig;
pub use sockets::AppId;

use datagram::Arrival;
use processor::WorkQueue;
use sockets::{Kind, Sockets};
use streams::Streams;

/// The bytes that a received datagram is charged in a socket's buffer besides its data.
const OVERHEAD: usize = 256;

/// The configuration of a host.
#[derive(Clone, Debug, PartialEq)]
pub struct HostConfig {
    /// The interfaces, addresses and routes, and whether the host forwards. Port *i* is interface
    /// *i*.
    pub internet: windfall_ip::IpConfig,
    /// The capacity of each socket's receive buffer, in bytes.
    pub receive_buffer: usize,
    /// The settings of its TCP; the segment size follows from the interfaces.
    pub tcp: windfall_tcp::TcpConfig,
    /// Its processor; without one, work takes no time.
    pub processor: Option<ProcessorConfig>,
}

impl Default for HostConfig {
    fn default() -> Self {
        Self {
            internet: windfall_ip::IpConfig::default(),
            receive_buffer: 212_992,
            tcp: windfall_tcp::TcpConfig::default(),
            processor: None,
        }
    }
}

/// A station's host: port *i* is the device of its *i*-th interface and carries bare IP packets.
///
/// `handle_command` takes the commands of applications, `poll_socket_event` yields events for them,
/// `poll_event` yields events for the log; the rest is [`Node`].
#[derive(Debug)]
pub struct Host {
    layer: Layer,
    sockets: Sockets,
    streams: Streams,
    processor: Option<WorkQueue>,
    receive_buffer: usize,
    to_apps: VecDeque<(AppId, SocketEvent)>,
    /// Datagrams among them.
    waiting: u64,
    events: VecDeque<HostEvent>,
    /// Packets that failed before the internet layer saw them, and datagrams that waited for an
    /// application when it closed its socket.
    drops: Drops,
    /// The former of these.
    unseen: u64,
}

impl Host {
    /// Creates the host that `config` describes.
    #[must_use]
    pub fn new(config: HostConfig, seed: Seed) -> Self {
        Self {
            layer: Layer::new(config.internet, seed),
            sockets: Sockets::default(),
            streams: Streams::new(config.tcp, seed),
            processor: config.processor.map(WorkQueue::new),
            receive_buffer: config.receive_buffer,
            to_apps: VecDeque::new(),
            waiting: 0,
            events: VecDeque::new(),
            drops: Drops::default(),
            unseen: 0,
        }
    }

    /// Performs a command of an application; its events come by `poll_socket_event`.
    pub fn handle_command(&mut self, now: Instant, app: AppId, command: SocketCommand) {
        match command {
            SocketCommand::Open { socket, transport, local } => {
                let own = local.ip().is_unspecified() || self.layer.is_local(local.ip());
                let opened = match transport {
                    _ if !own => Err(SocketError::Unreachable),
                    Transport::Tcp => self.streams.open((app, socket), local),
                    _ => self.sockets.open(app, socket, transport, local),
                };
                let event = match opened {
                    Ok(local) => SocketEvent::Opened { socket, local },
                    Err(error) => SocketEvent::Failed { socket, error },
                };
                self.to_apps.push_back((app, event));
            }
            SocketCommand::Connect { socket, to } => {
                let source = self.layer.source_for(to.ip());
                let mtu = self.layer.mtu_towards(to.ip()).unwrap_or(usize::from(u16::MAX));
                let name = (app, socket);
                if let Err(error) = self.streams.connect(now, name, source, to, mtu) {
                    self.to_apps.push_back((app, SocketEvent::Failed { socket, error }));
                }
            }
            SocketCommand::Listen { socket } => {
                let mtu = self.layer.least_mtu();
                if let Err(error) = self.streams.listen((app, socket), mtu) {
                    self.to_apps.push_back((app, SocketEvent::Failed { socket, error }));
                }
            }
            SocketCommand::Send { socket, data, .. } if self.streams.holds((app, socket)) => {
                self.streams.send((app, socket), data);
            }
            SocketCommand::Finish { socket } => self.streams.finish((app, socket)),
            SocketCommand::Pause { socket } => self.streams.pause((app, socket)),
            SocketCommand::Resume { socket } => self.streams.resume((app, socket)),
            SocketCommand::Abort { socket } => self.streams.abort((app, socket)),
            SocketCommand::Close { socket } if self.streams.holds((app, socket)) => {
                self.streams.close(now, (app, socket));
            }
            SocketCommand::Send { socket, to, data } => {
                self.send_or_fail(now, (app, socket), to, data, None);
            }
            SocketCommand::SendCovered { socket, to, data, coverage } => {
                self.send_or_fail(now, (app, socket), to, data, Some(coverage));
            }
            SocketCommand::Close { socket } => self.close(app, socket),
        }
        self.drain(now);
    }

    /// Returns the next event for an application; call until `None`.
    pub fn poll_socket_event(&mut self) -> Option<(AppId, SocketEvent)> {
        let (app, event) = self.to_apps.pop_front()?;
        if let SocketEvent::Received { socket, data, .. } = &event {
            self.waiting -= 1;
            self.sockets.release(app, *socket, data.len() + OVERHEAD);
        }
        Some((app, event))
    }

    /// Returns the next event; call until `None`.
    pub fn poll_event(&mut self) -> Option<HostEvent> {
        self.events.pop_front()
    }

    /// Returns the number of TCP processing steps so far, including those of closed connections.
    #[must_use]
    pub fn tcp_operations(&self) -> windfall_tcp::Operations {
        self.streams.operations()
    }

    /// Returns the TCP connections of the stream sockets, for their statistics.
    pub fn connections(&self) -> impl Iterator<Item = &windfall_tcp::Connection> {
        self.streams.connections()
    }

    /// Returns the TCP connection of a stream socket, if it has one.
    #[must_use]
    pub fn connection(&self, app: AppId, socket: SocketId) -> Option<&windfall_tcp::Connection> {
        self.streams.connection((app, socket))
    }

    /// The account of the host: the packets from its devices and its applications, and their fates.
    #[must_use]
    pub fn ledger(&self) -> Ledger {
        let mut ledger = self.layer.ledger();
        ledger.taken += self.unseen;
        ledger.held += self.waiting;
        ledger.given -= self.waiting + (self.drops.total() - self.unseen);
        ledger.drops.add(&self.drops);
        if let Some(processor) = &self.processor {
            processor.enter_held(&mut ledger);
        }
        ledger
    }

    /// Sends a datagram, and reports a failure to the application.
    fn send_or_fail(
        &mut self,
        now: Instant,
        from: (AppId, SocketId),
        to: SocketAddr,
        data: Bytes,
        coverage: Option<u16>,
    ) {
        let (app, socket) = from;
        if let Err(error) = self.send(now, app, socket, to, data, coverage) {
            self.to_apps.push_back((app, SocketEvent::Failed { socket, error }));
        }
    }

    /// Sends a datagram with the given checksum coverage, or with that of the socket.
    fn send(
        &mut self,
        now: Instant,
        app: AppId,
        socket: SocketId,
        to: SocketAddr,
        data: Bytes,
        coverage: Option<u16>,
    ) -> Result<(), SocketError> {
        let mut sender = self.sockets.sender(app, socket).ok_or(SocketError::NotOpen)?;
        sender.coverage = coverage.unwrap_or(sender.coverage);
        let source = match sender.local.ip() {
            address if address.is_unspecified() => self.layer.source_for(to.ip()),
            address => Some(address),
        };
        let Some(addresses) = source.and_then(|source| Addresses::new(source, to.ip())) else {
            self.unseen += 1;
            self.discard(None, data.len(), DropReason::NoRoute);
            return Err(SocketError::Unreachable);
        };
        let (protocol, header) =
            datagram::header(&sender, &addresses, to.port(), &data).ok_or(SocketError::TooLong)?;
        let len = data.len();
        let packet = Outbound { addresses, protocol, ecn: Ecn::NotCapable, header: &header, data };
        self.layer.handle_send(now, packet).map_err(|error| match error {
            IpSendError::NoRoute(_) => SocketError::Unreachable,
            IpSendError::TooLong(_) => SocketError::TooLong,
        })?;
        self.events.push_back(HostEvent::Sent { app, socket, len });
        Ok(())
    }

    fn close(&mut self, app: AppId, socket: SocketId) {
        if !self.sockets.close(app, socket) {
            let error = SocketError::NotOpen;
            return self.to_apps.push_back((app, SocketEvent::Failed { socket, error }));
        }
        let (gone, kept) = core::mem::take(&mut self.to_apps)
            .into_iter()
            .partition(|(to, event)| *to == app && is_received(event, socket));
        self.to_apps = kept;
        let gone: VecDeque<(AppId, SocketEvent)> = gone;
        for (_, event) in gone {
            if let SocketEvent::Received { data, .. } = event {
                self.waiting -= 1;
                self.discard(None, data.len(), DropReason::NoListener);
            }
        }
    }

    /// Does all the work that is due, until nothing is left or the processor is busy.
    fn drain(&mut self, now: Instant) {
        loop {
            self.pass_up(now);
            self.begin_work(now);
            if self.processor.as_ref().is_some_and(|it| it.is_busy(now)) {
                break;
            }
            if let Some((interface, frame)) =
                self.processor.as_mut().and_then(WorkQueue::pop_received)
            {
                self.layer.handle_input(now, interface, frame);
                continue;
            }
            // A packet to this host itself is passed up again.
            let Some(transmit) = self.streams.poll_transmit(now) else { break };
            let windfall_tcp::TcpTransmit { addresses, ecn, header, data } = transmit;
            let protocol = Protocol::TCP;
            let packet = Outbound { addresses, protocol, ecn, header: &header, data };
            // Without a route the internet layer counts the segment as dropped, and TCP retransmits
            // it.
            let _ = self.layer.handle_send(now, packet);
        }
        while let Some(event) = self.layer.poll_event() {
            self.events.push_back(event.into());
        }
    }

    /// Processes everything that the internet layer passes up to the host.
    fn pass_up(&mut self, now: Instant) {
        while let Some(upward) = self.layer.poll_upward() {
            match upward {
                Upward::Datagram(datagram) => self.receive(now, datagram),
                Upward::Report(report) => self.tell(now, &report),
            }
        }
        while let Some(event) = self.streams.poll_event(now) {
            self.to_apps.push_back(event);
        }
    }

    /// Begins the work of what has just been done; its packets leave when the work is over.
    fn begin_work(&mut self, now: Instant) {
        let Some(processor) = &mut self.processor else { return };
        processor.begin_work(now, self.streams.operations());
        while let Some((interface, frame)) = self.layer.poll_transmit() {
            processor.push_leaving(interface, frame);
        }
    }

    //= S0.5
    /// Delivers a datagram to its socket, or drops it for the first reason found.
    fn receive(&mut self, now: Instant, mut datagram: IpDatagram) {
        if datagram.protocol == Protocol::TCP {
            if let Err(reason) = self.streams.receive(now, &mut datagram) {
                self.layer.refuse(now, &datagram, reason);
            }
            return;
        }
        let arrival = match datagram::read(&datagram) {
            Ok(arrival) => arrival,
            Err(reason) => {
                if reason == DropReason::NoListener {
                    let problem = Problem::NoProtocol;
                    return self.layer.handle_refusal(now, &datagram, reason, problem);
                }
                return self.layer.refuse(now, &datagram, reason);
            }
        };
        let kind = arrival.kind;
        let local = datagram.addresses.dst();
        let found = self.sockets.find(kind, local, arrival.to_port);
        let is_unchecked = |(app, socket)| self.sockets.is_unchecked(app, socket);
        if !(arrival.intact || found.is_some_and(is_unchecked)) {
            return self.layer.refuse(now, &datagram, DropReason::UdpLiteChecksum);
        }
        let Some((app, socket)) = found else {
            let reason = DropReason::NoListener;
            return match kind {
                Kind::Echo => self.layer.refuse(now, &datagram, reason),
                _ => self.layer.handle_refusal(now, &datagram, reason, Problem::NoPort),
            };
        };
        if !self.sockets.accepts(app, socket, arrival.coverage) {
            return self.layer.refuse(now, &datagram, DropReason::UdpLiteCoverage);
        }
        let len = arrival.end - datagram::HEADER_LEN.min(arrival.end);
        let size = len + OVERHEAD;
        if !self.sockets.reserve(app, socket, size, self.receive_buffer) {
            return self.layer.refuse(now, &datagram, DropReason::ReceiveBuffer);
        }
        let Arrival { end, damage, from_port, .. } = arrival;
        let tag = datagram.tag;
        self.events.push_back(HostEvent::Delivered {
            tag,
            app,
            socket,
            len,
            damage: damage.clone(),
        });
        let from = SocketAddr::new(datagram.addresses.src(), from_port);
        let data = datagram.into_bytes(datagram::HEADER_LEN, end);
        self.waiting += 1;
        self.to_apps.push_back((app, SocketEvent::Received { socket, from, data, damage }));
    }

    /// Reports an ICMP error to the socket that sent the packet.
    fn tell(&mut self, now: Instant, report: &ErrorReport) {
        if report.protocol == Protocol::TCP {
            if self.streams.tell(now, report) {
                self.layer.learn_path_mtu(now, report);
            }
            return;
        }
        let error = match report.problem {
            Some(Problem::NoPort | Problem::NoProtocol) => SocketError::PortClosed,
            // The internet layer has updated the path MTU, and the next packet will fit.
            Some(Problem::TooBig { .. } | Problem::Reassembly) => return,
            Some(Problem::NoRoute | Problem::HopLimit) => SocketError::Unreachable,
            Some(Problem::Parameter { .. }) | None => return,
        };
        let Some((kind, port)) = datagram::sender_of(report) else { return };
        let local: IpAddr = report.addresses.src();
        if let Some((app, socket)) = self.sockets.find(kind, local, port) {
            self.to_apps.push_back((app, SocketEvent::Failed { socket, error }));
        }
    }

    /// Drops what the internet layer has not seen, or does not hold any more.
    fn discard(&mut self, tag: Option<Tag>, len: usize, reason: DropReason) {
        self.drops.count(reason);
        self.events.push_back(HostEvent::Dropped { tag, reason, len });
    }
}

impl Node for Host {
    fn handle_input(&mut self, now: Instant, port: Port, input: Input) {
        // A device has no carrier and is always free to take a packet.
        let Input::Frame(frame, _) = input else { return };
        let interface = usize::from(port.0);
        match &mut self.processor {
            None => self.layer.handle_input(now, interface, frame),
            Some(processor) => {
                if let Err(frame) = processor.push_received(interface, frame) {
                    self.unseen += 1;
                    self.discard(frame.tag, frame.len(), DropReason::ReceiveBuffer);
                }
            }
        }
        self.drain(now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        if self.processor.as_ref().is_some_and(|it| it.is_busy(now)) {
            return;
        }
        self.layer.handle_timeout(now);
        self.streams.handle_timeout(now);
        self.drain(now);
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<(Port, Outgoing)> {
        let (interface, frame) = match &mut self.processor {
            None => self.layer.poll_transmit()?,
            Some(processor) => processor.pop_leaving(now)?,
        };
        Some((Port(interface as u16), frame.into()))
    }

    fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        let timer = earlier(self.layer.poll_timeout(), self.streams.poll_timeout());
        let Some(processor) = &self.processor else { return timer };
        let work = processor.poll_timeout(self.streams.has_segments());
        // Timers wait for the processor, too.
        let timer = timer.map(|(at, reason)| (at.max(processor.free_at()), reason));
        earlier(work.map(|at| (at, "processor")), timer)
    }
}

fn is_received(event: &SocketEvent, of: SocketId) -> bool {
    matches!(event, SocketEvent::Received { socket, .. } if *socket == of)
}

/// The ICMP of a family.
fn icmp_of(addresses: &Addresses) -> Protocol {
    match addresses {
        Addresses::V4 { .. } => Protocol::ICMP,
        Addresses::V6 { .. } => Protocol::ICMPV6,
    }
}

#[cfg(test)]
mod tests;
