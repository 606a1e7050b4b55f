//! SAP on loopback against what the system offers: datagrams against `sendmmsg`, round trips
//! against bare UDP, precise bulk against the kernel's TCP; and the memory of idle connections.
//!
//! Both sides have a thread for each end. Time is the wall's, since both ends and the system work.
//! The comparisons over 1500 bytes are between two network namespaces joined by a veth pair.
#![expect(clippy::disallowed_methods, reason = "what is measured is how long the system takes")]

use std::io::{IoSlice, IoSliceMut, Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsRawFd as _;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use nix::sys::socket::{MsgFlags, MultiHeaders, recvmmsg};
use rustix::net::addr::SocketAddrArg as _;
use rustix::net::{MMsgHdr, SendAncillaryBuffer, SendFlags, sendmmsg};
use windfall_bench::veth::{self, Veth};
use windfall_bench::{alternate, is_listed, is_wanted};
use windfall_socket::{Mode, SapListener, SapSocket};

/// Pairs of runs.
const PAIRS: usize = 7;
/// Datagrams of one run, and how many either side passes on at once.
const DATAGRAMS: usize = 50_000;
const BATCH: usize = 64;
/// The receive buffer of the system's socket, in bytes: as much as a SAP socket asks for.
const KERNEL_BUFFER: usize = 4 << 20;
/// Round trips of one run.
const TRIPS: usize = 2_000;
/// Bytes of one bulk transfer.
const BULK: usize = 128 << 20;
/// Connections in one process.
const IDLE: usize = 10_000;
/// After so much silence a bare receiver has seen everything.
const QUIET: Duration = Duration::from_millis(200);
/// The time that the search for the path's size takes.
const SEARCH: Duration = Duration::from_millis(700);
/// The longest time in which all connections must be established.
const PATIENCE: Duration = Duration::from_secs(60);

fn main() {
    if is_listed() {
        return;
    }
    if veth::is_inside() {
        let Some(laid) = Veth::lay() else { return println!("no veth pair can be made here") };
        let _ = CABLE.set(laid);
        return over_a_cable();
    }
    for size in [1_024, 1_400] {
        let name = format!("approximate datagrams of {size} bytes");
        race(&name, "MB/s", 0.9, || sap_datagrams(size), || raw_datagrams(size));
    }
    // The other way round, so that a larger ratio is better here too.
    race("round trips, median", "/s", 1.0 / 1.1, sap_trips, raw_trips);
    race("precise bulk", "MB/s", 0.8, sap_bulk, tcp_bulk);
    if is_wanted("memory of idle connections") {
        idle();
    }
    if !veth::again() {
        println!("no network namespace can be made here");
    }
}

/// Compares over a path of 1500 bytes.
fn over_a_cable() {
    for size in [1_024, 1_400] {
        let name = format!("1500 bytes: approximate datagrams of {size} bytes");
        race(&name, "MB/s", 0.9, || sap_datagrams(size), || raw_datagrams(size));
    }
    let long = |len: usize| move || sap_precise(len);
    race("1500 bytes: precise messages of 64 KB", "MB/s", 0.7, long(1 << 16), tcp_bulk);
    race("1500 bytes: precise messages of 1 MB", "MB/s", 0.7, long(1 << 20), tcp_bulk);
    race("1500 bytes: precise messages of 1400 bytes", "MB/s", 0.7, sap_short, tcp_bulk);
}

/// The far end of the comparisons over 1500 bytes.
static CABLE: OnceLock<Veth> = OnceLock::new();

/// Binds a socket at the far end, to any port.
fn at_far<T: Send + 'static>(bind: fn(SocketAddr) -> T) -> Option<T> {
    let at = |ip: IpAddr| SocketAddr::new(ip, 0);
    match CABLE.get() {
        Some(veth) => {
            let to = at(veth.ip());
            veth.run(move || bind(to))
        }
        None => Some(bind(at(Ipv4Addr::LOCALHOST.into()))),
    }
}

/// Binds a socket at this end, to any port.
fn at_near() -> Option<UdpSocket> {
    let any = if CABLE.get().is_some() { Ipv4Addr::UNSPECIFIED } else { Ipv4Addr::LOCALHOST };
    UdpSocket::bind((any, 0)).ok()
}

/// Runs both in turn and prints the ratio.
fn race(
    name: &str,
    unit: &str,
    goal: f64,
    ours: impl Fn() -> Option<f64>,
    peer: impl Fn() -> Option<f64>,
) {
    if is_wanted(name) {
        match alternate(PAIRS, ours, peer) {
            Some(ratio) => ratio.print(name, unit, goal),
            None => println!("{name}: not a single pair of runs came to an end"),
        }
    }
}

/// Two connected sockets, the sender first.
fn pair() -> Option<(SapSocket, SapSocket)> {
    let listener = at_far(SapListener::bind)?.ok()?;
    let sender = SapSocket::connect(listener.local_addr().ok()?).ok()?;
    let receiver = listener.accept().ok()?.0;
    Some((sender, receiver))
}

/// Megabytes a second that arrive, of approximate messages.
fn sap_datagrams(size: usize) -> Option<f64> {
    let (sender, receiver) = pair()?;
    while sender.max_whole() < size {
        std::thread::sleep(Duration::from_millis(5));
    }
    sender.set_mode(Mode::Approximate { protected: 0 });
    let arrived = std::thread::spawn(move || {
        let mut arrived = 0;
        let began = Instant::now();
        while let Ok(Some(message)) = receiver.recv() {
            arrived += message.data.len();
        }
        arrived as f64 / began.elapsed().as_secs_f64() / 1e6
    });
    let data = vec![0x5a; size];
    for _ in 0..DATAGRAMS / BATCH {
        let messages: Vec<_> = (0..BATCH).map(|_| sender.message(&data)).collect();
        sender.send_messages(&messages).ok()?;
    }
    sender.close().ok()?;
    arrived.join().ok()
}

/// The rate of `sendmmsg` and `recvmmsg` over bare UDP; lost datagrams do not count.
fn raw_datagrams(size: usize) -> Option<f64> {
    let receiver = at_far(UdpSocket::bind)?.ok()?;
    receiver.set_read_timeout(Some(QUIET)).ok()?;
    rustix::net::sockopt::set_socket_recv_buffer_size(&receiver, KERNEL_BUFFER).ok()?;
    let to = receiver.local_addr().ok()?;
    let sender = at_near()?;
    let arrived = std::thread::spawn(move || {
        let mut arrived = 0;
        let mut buffers = vec![[0; 2_048]; BATCH];
        let began = Instant::now();
        let mut last = began;
        while let Some(len) = receive_batch(&receiver, &mut buffers) {
            arrived += len;
            last = Instant::now();
        }
        arrived as f64 / (last - began).as_secs_f64() / 1e6
    });
    let message = vec![0x5a; size];
    for _ in 0..DATAGRAMS / BATCH {
        send_batch(&sender, to, &message)?;
    }
    arrived.join().ok()
}

fn send_batch(sender: &UdpSocket, to: SocketAddr, message: &[u8]) -> Option<()> {
    let to = to.as_any();
    let slices = [IoSlice::new(message)];
    let mut ancillary: Vec<SendAncillaryBuffer<'_, '_, '_>> =
        (0..BATCH).map(|_| SendAncillaryBuffer::default()).collect();
    let mut headers: Vec<MMsgHdr<'_>> =
        ancillary.iter_mut().map(|control| MMsgHdr::new_with_addr(&to, &slices, control)).collect();
    let mut sent = 0;
    while sent < BATCH {
        sent += sendmmsg(sender, &mut headers[sent..], SendFlags::empty()).ok()?;
    }
    Some(())
}

/// Bytes of a batch of datagrams, once one has arrived.
fn receive_batch(receiver: &UdpSocket, buffers: &mut [[u8; 2_048]]) -> Option<usize> {
    let mut headers = MultiHeaders::<()>::preallocate(buffers.len(), None);
    let mut slices: Vec<_> = buffers.iter_mut().map(|buffer| [IoSliceMut::new(buffer)]).collect();
    let fd = receiver.as_raw_fd();
    let flags = MsgFlags::MSG_WAITFORONE;
    let received = recvmmsg(fd, &mut headers, slices.iter_mut(), flags, None).ok()?;
    Some(received.map(|datagram| datagram.bytes).sum())
}

/// Round trips a second, from the median of one.
fn rate_of(mut trips: Vec<Duration>) -> f64 {
    trips.sort();
    1.0 / trips[trips.len() / 2].as_secs_f64()
}

fn sap_trips() -> Option<f64> {
    let (near, far) = pair()?;
    let approximate = Mode::Approximate { protected: 0 };
    near.set_mode(approximate.clone());
    far.set_mode(approximate);
    let echo = std::thread::spawn(move || {
        while let Ok(Some(message)) = far.recv() {
            let _ = far.send(&message.data);
        }
    });
    let mut trips = Vec::with_capacity(TRIPS);
    for _ in 0..TRIPS {
        let began = Instant::now();
        near.send(&[0x5a; 64]).ok()?;
        near.recv().ok()??;
        trips.push(began.elapsed());
    }
    near.close().ok()?;
    echo.join().ok()?;
    Some(rate_of(trips))
}

fn raw_trips() -> Option<f64> {
    let [near, far] = [0, 1].map(|_| UdpSocket::bind("127.0.0.1:0"));
    let near = near.ok()?;
    let far = far.ok()?;
    near.connect(far.local_addr().ok()?).ok()?;
    far.connect(near.local_addr().ok()?).ok()?;
    far.set_read_timeout(Some(QUIET)).ok()?;
    let echo = std::thread::spawn(move || {
        let mut buffer = [0; 64];
        while far.recv(&mut buffer).is_ok() {
            let _ = far.send(&buffer);
        }
    });
    let mut trips = Vec::with_capacity(TRIPS);
    let mut buffer = [0x5a; 64];
    for _ in 0..TRIPS {
        let began = Instant::now();
        near.send(&buffer).ok()?;
        near.recv(&mut buffer).ok()?;
        trips.push(began.elapsed());
    }
    echo.join().ok()?;
    Some(rate_of(trips))
}

/// Megabytes a second of precise messages as long as a datagram of the path.
fn sap_bulk() -> Option<f64> {
    let (sender, receiver) = found_pair()?;
    let len = sender.max_whole();
    bulk(sender, receiver, len, |sender, message| sender.send(message).ok())
}

/// Megabytes a second of precise messages that go in parts.
fn sap_precise(len: usize) -> Option<f64> {
    let (sender, receiver) = found_pair()?;
    bulk(sender, receiver, len, |sender, message| sender.send(message).ok())
}

/// Megabytes a second of short precise messages that are passed on together.
fn sap_short() -> Option<f64> {
    let (sender, receiver) = found_pair()?;
    bulk(sender, receiver, 1_400 * BATCH, |sender, message| {
        let messages: Vec<_> = message.chunks(1_400).map(|part| sender.message(part)).collect();
        sender.send_messages(&messages).ok()
    })
}

/// A pair whose search for the path's size has ended.
fn found_pair() -> Option<(SapSocket, SapSocket)> {
    let sockets = pair()?;
    std::thread::sleep(SEARCH);
    Some(sockets)
}

fn bulk(
    sender: SapSocket,
    receiver: SapSocket,
    len: usize,
    send: fn(&SapSocket, &[u8]) -> Option<()>,
) -> Option<f64> {
    let message = vec![0x5a; len];
    let arrived = std::thread::spawn(move || {
        let mut arrived = 0;
        while let Ok(Some(message)) = receiver.recv() {
            arrived += message.data.len();
        }
        arrived
    });
    let began = Instant::now();
    for _ in 0..BULK.div_ceil(len) {
        send(&sender, &message)?;
    }
    sender.close().ok()?;
    let arrived = arrived.join().ok().filter(|arrived| *arrived >= BULK)?;
    Some(arrived as f64 / began.elapsed().as_secs_f64() / 1e6)
}

fn tcp_bulk() -> Option<f64> {
    let listener = at_far(TcpListener::bind)?.ok()?;
    let mut sender = TcpStream::connect(listener.local_addr().ok()?).ok()?;
    let mut receiver = listener.accept().ok()?.0;
    let arrived = std::thread::spawn(move || {
        let mut arrived = 0;
        let mut buffer = vec![0; 1 << 16];
        while let Ok(len @ 1..) = receiver.read(&mut buffer) {
            arrived += len;
        }
        arrived
    });
    let message = vec![0x5a; 1 << 16];
    let began = Instant::now();
    for _ in 0..BULK / message.len() {
        sender.write_all(&message).ok()?;
    }
    drop(sender);
    let arrived = arrived.join().ok()?;
    Some(arrived as f64 / began.elapsed().as_secs_f64() / 1e6)
}

/// The memory of connections that do nothing, both ends in this process.
fn idle() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut files = getrlimit(Resource::Nofile);
    files.current = files.maximum;
    let _ = setrlimit(Resource::Nofile, files);
    let Ok(listener) = SapListener::bind("127.0.0.1:0") else { return };
    let Ok(to) = listener.local_addr() else { return };
    let before = resident();
    let mut ends = Vec::new();
    let began = Instant::now();
    while ends.len() < IDLE
        && began.elapsed() < PATIENCE
        && let Ok(near) = SapSocket::connect(to)
        && let Ok((far, _)) = listener.accept()
    {
        ends.push((near, far));
    }
    let count = ends.len().max(1);
    let used = resident().saturating_sub(before);
    println!(
        "memory of {count} idle connections, both ends: {} MB (goal: 10 000 under 1000), {:.1} KB \
         each (goal: a socket under 64)",
        used >> 20,
        used as f64 / 1024.0 / count as f64
    );
}

/// Bytes of this process that are in memory.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
    kilobytes.map_or(0, |kilobytes: usize| kilobytes << 10)
}
