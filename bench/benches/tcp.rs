//! Both ends of a TCP connection on one thread, in memory, against smoltcp.
//!
//! Packets of 1500 bytes with their IP headers and every checksum computed and checked; our side
//! has SACK and timestamps on, which smoltcp's lacks. Goal: three quarters of its time per data
//! segment. Besides: what an idle connection costs, and how often header prediction hits.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use smoltcp::iface::{self, Interface, SocketSet};
use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::tcp as peer;
use smoltcp::wire::{HardwareAddress, IpAddress, IpCidr};
use windfall_base::{Duration, Instant, Payload, Seed};
use windfall_bench::compare;
use windfall_tcp::{
    ConnectionHandle, Listener, Lookup, SegmentMeta, TcpConfig, TcpEndpoint, TcpEvent, TcpTransmit,
};
use windfall_wire_net::{Addresses, Ecn, Ipv4Packet, Ipv4Repr, Protocol, ipv4};

/// Bytes of a transfer.
const BYTES: usize = 8 << 20;
/// Both buffers of both ends.
const BUFFER: usize = 256 << 10;
/// Data bytes of a full segment: ours with timestamps, the peer's without.
const OUR_MSS: usize = 1448;
const PEER_MSS: usize = 1460;

fn main() {
    let per_segment = compare(
        || assert_eq!(Ours::new().transfer(), BYTES),
        || assert_eq!(peer_transfer(), BYTES),
    )
    .per_unit(BYTES.div_ceil(OUR_MSS), BYTES.div_ceil(PEER_MSS));
    per_segment.print_time("tcp, per data segment, both ends", 1.0 / 0.75);
    let mut ours = Ours::new();
    ours.transfer();
    for (end, id) in ours.ends.iter().zip(ours.ids) {
        let connection = id.and_then(|id| end.connection(id));
        let rate = connection.map_or(0.0, |connection| connection.operations().prediction_rate());
        println!("header prediction hits: {:.1} % (goal: above 95 %)", rate * 100.0);
    }
    idle_connections();
}

/// Two endpoints and the packets between them.
struct Ours {
    now: Instant,
    ends: [TcpEndpoint; 2],
    ids: [Option<ConnectionHandle>; 2],
    wire: [VecDeque<Payload>; 2],
    headers: BytesMut,
}

impl Ours {
    fn new() -> Self {
        let config = TcpConfig::new_reno().with(|it| {
            it.send_buffer = BUFFER.into();
            it.receive_buffer = BUFFER.into();
            it.time_wait = Duration::ZERO;
        });
        let config = Arc::new(config);
        let mut ends = ["near", "far"].map(|name| TcpEndpoint::new(Seed(1), name, Lookup::Hashed));
        let far = "10.0.0.2:80".parse().expect("an address");
        ends[1].listen(far, Listener::new(Arc::clone(&config))).expect("a free port");
        let near = "10.0.0.1:0".parse().expect("an address");
        let id = ends[0].connect(Instant::START, near, far, config).expect("a free port");
        let wire = [VecDeque::new(), VecDeque::new()];
        let now = Instant::START;
        let ids = [Some(id), None];
        let headers = BytesMut::new();
        Self { now, ends, ids, wire, headers }
    }

    /// Sends the bytes, reads them at the peer; returns the number that arrived.
    fn transfer(&mut self) -> usize {
        let chunk = Bytes::from(vec![0x5a; 64 << 10]);
        let mut left = BYTES;
        let mut read = 0;
        while read < BYTES {
            if let Some(id) = self.ids[0]
                && left > 0
            {
                let part = chunk.slice(..left.min(chunk.len()));
                left -= self.ends[0].write_bytes(id, part).expect("an open connection");
            }
            let mut busy = false;
            for end in 0..2 {
                busy |= self.drain(end, &mut read);
            }
            if !busy {
                let wakeups = self.ends.iter().filter_map(TcpEndpoint::poll_timeout);
                self.now = wakeups.map(|(at, _)| at).min().expect("something to wait for");
                self.ends.iter_mut().for_each(|end| end.handle_timeout(self.now));
            }
        }
        read
    }

    fn drain(&mut self, end: usize, read: &mut usize) -> bool {
        let mut busy = false;
        while let Some(packet) = self.wire[end].pop_front() {
            busy = true;
            self.receive(end, packet);
            while let Some((id, event)) = self.ends[end].poll_event() {
                match event {
                    TcpEvent::Accepted => self.ids[end] = Some(id),
                    TcpEvent::Readable => {
                        while let Ok(Some(data)) = self.ends[end].read(id, usize::MAX) {
                            *read += data.len();
                        }
                    }
                    _ => {}
                }
            }
        }
        while let Some(transmit) = self.ends[end].poll_transmit(self.now) {
            busy = true;
            let packet = self.pack(transmit);
            self.wire[1 - end].push_back(packet);
        }
        busy
    }

    /// Puts the IP header in front, as a host does.
    fn pack(&mut self, transmit: TcpTransmit) -> Payload {
        let Addresses::V4 { src, dst } = transmit.addresses else {
            panic!("the addresses are IPv4");
        };
        let len = transmit.len();
        let mut repr = Ipv4Repr::new(src, dst, Protocol::TCP, len).expect("a packet that fits");
        repr.tos = transmit.ecn.bits();
        if self.headers.capacity() < 80 {
            self.headers.reserve(64 << 10);
        }
        self.headers.resize(ipv4::HEADER_LEN, 0);
        repr.emit(&mut self.headers);
        self.headers.extend_from_slice(&transmit.header);
        Payload::new(self.headers.split().freeze(), transmit.data)
    }

    fn receive(&mut self, end: usize, mut packet: Payload) {
        let [head, _] = packet.slices();
        let ip = Ipv4Packet::new(head).expect("a packet of ours");
        let addresses = Addresses::V4 { src: ip.src(), dst: ip.dst() };
        let arrival =
            SegmentMeta { addresses, ecn: Ecn::from_bits(ip.tos()), missing: 0, lost_before: 0 };
        packet.advance(ipv4::HEADER_LEN);
        let taken = self.ends[end].handle_segment(self.now, &arrival, &packet);
        assert_eq!(taken, Ok(()));
    }
}

/// A device that hands packets of 1500 bytes back.
#[derive(Default)]
struct Loop {
    queue: VecDeque<Vec<u8>>,
    free: Vec<Vec<u8>>,
}

struct Received(Vec<u8>);

struct Sending<'a>(&'a mut Loop);

impl RxToken for Received {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
        f(&self.0)
    }
}

impl TxToken for Sending<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, f: F) -> R {
        let mut buffer = self.0.free.pop().unwrap_or_default();
        buffer.resize(len, 0);
        let result = f(&mut buffer);
        self.0.queue.push_back(buffer);
        result
    }
}

impl Device for Loop {
    type RxToken<'a> = Received;
    type TxToken<'a> = Sending<'a>;

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ip;
        capabilities.max_transmission_unit = 1500;
        capabilities
    }

    fn receive(
        &mut self,
        _: smoltcp::time::Instant,
    ) -> Option<(Self::RxToken<'_>, Self::TxToken<'_>)> {
        let packet = self.queue.pop_front()?;
        Some((Received(packet), Sending(self)))
    }

    fn transmit(&mut self, _: smoltcp::time::Instant) -> Option<Self::TxToken<'_>> {
        Some(Sending(self))
    }
}

/// That transfer by smoltcp, over its loopback.
fn peer_transfer() -> usize {
    let mut device = Loop::default();
    let mut now = smoltcp::time::Instant::ZERO;
    let mut interface = Interface::new(iface::Config::new(HardwareAddress::Ip), &mut device, now);
    let address = IpAddress::v4(127, 0, 0, 1);
    interface.update_ip_addrs(|list| list.push(IpCidr::new(address, 8)).expect("room for one"));
    let socket = || {
        let buffer = || peer::SocketBuffer::new(vec![0; BUFFER]);
        peer::Socket::new(buffer(), buffer())
    };
    let mut sockets = SocketSet::new(Vec::new());
    let server = sockets.add(socket());
    let client = sockets.add(socket());
    sockets.get_mut::<peer::Socket>(server).listen(80).expect("a free port");
    let context = interface.context();
    let near = sockets.get_mut::<peer::Socket>(client);
    near.connect(context, (address, 80), 49_152).expect("a free port");
    let chunk = vec![0x5a; 64 << 10];
    let mut into = vec![0; 64 << 10];
    let mut left = BYTES;
    let mut read = 0;
    while read < BYTES {
        interface.poll(now, &mut device, &mut sockets);
        let near = sockets.get_mut::<peer::Socket>(client);
        while near.can_send() && left > 0 {
            left -= near.send_slice(&chunk[..left.min(chunk.len())]).expect("an open socket");
        }
        let far = sockets.get_mut::<peer::Socket>(server);
        while far.can_recv() {
            read += far.recv_slice(&mut into).expect("an open socket");
        }
        let wait = interface.poll_delay(now, &sockets).unwrap_or(smoltcp::time::Duration::ZERO);
        now += wait;
    }
    read
}

/// Memory of connections on which nothing happens.
fn idle_connections() {
    const CONNECTIONS: u16 = 10_000;
    let resident = || {
        let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
        let pages = text.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok());
        pages.unwrap_or(0) * 4096
    };
    let config = Arc::new(TcpConfig::default());
    let before = resident();
    let mut ends = ["near", "far"].map(|name| TcpEndpoint::new(Seed(1), name, Lookup::Hashed));
    let far = "10.0.0.2:80".parse().expect("an address");
    let listener = Listener { backlog: 20_000, ..Listener::new(Arc::clone(&config)) };
    ends[1].listen(far, listener).expect("a free port");
    for _ in 0..CONNECTIONS {
        let near = "10.0.0.1:0".parse().expect("an address");
        let config = Arc::clone(&config);
        ends[0].connect(Instant::START, near, far, config).expect("a free port");
        for end in [0, 1, 0] {
            while let Some(segment) = ends[end].poll_transmit(Instant::START) {
                let addresses = segment.addresses;
                let ecn = segment.ecn;
                let arrival = SegmentMeta { addresses, ecn, missing: 0, lost_before: 0 };
                let taken =
                    ends[1 - end].handle_segment(Instant::START, &arrival, &segment.payload());
                assert_eq!(taken, Ok(()));
            }
        }
        ends.iter_mut().for_each(|end| while end.poll_event().is_some() {});
    }
    let each = (resident() - before) / usize::from(CONNECTIONS) / 2;
    let all = each * usize::from(CONNECTIONS) / 1_000_000;
    println!("{CONNECTIONS} idle connections: {each} bytes each, {all} MB (goal: below 20 MB)");
}
