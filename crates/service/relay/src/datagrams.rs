//! Datagrams carried from one socket to others, and the answers back.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs as _, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The most clients at the same time; datagrams of further ones are dropped.
const CLIENTS: usize = 512;

/// The time without datagrams after which a client is forgotten, as that of a NAT.
const IDLE: Duration = Duration::from_secs(120);

/// The longest datagram.
const LONGEST: usize = 65_535;

/// Carries the datagrams that come to a socket to the first of `targets` that does not refuse them,
/// each client from a port of its own, and the answers back; it only returns if that fails.
pub(crate) fn serve(here: UdpSocket, targets: &[String]) -> io::Result<()> {
    carry(&Arc::new(here), targets, IDLE)
}

/// The way of one client's datagrams.
struct Path {
    /// It is connected to a target.
    socket: UdpSocket,
    /// The time and the bytes of the last datagram, which a target may refuse.
    last: Mutex<(Instant, Vec<u8>)>,
    is_over: AtomicBool,
}

fn carry(here: &Arc<UdpSocket>, targets: &[String], idle: Duration) -> io::Result<()> {
    let mut paths = BTreeMap::<SocketAddr, Arc<Path>>::new();
    let mut datagram = vec![0; LONGEST];
    loop {
        let (length, client) = match here.recv_from(&mut datagram) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            outcome => outcome?,
        };
        let datagram = &datagram[..length];
        let known = paths.get(&client).filter(|it| !it.is_over.load(Ordering::Acquire));
        let path = match known {
            Some(path) => Arc::clone(path),
            None => {
                paths.retain(|_, path| !path.is_over.load(Ordering::Acquire));
                if paths.len() >= CLIENTS {
                    continue;
                }
                let Ok(path) = open(here, client, targets, idle) else { continue };
                paths.insert(client, Arc::clone(&path));
                path
            }
        };
        *path.last.lock().unwrap_or_else(PoisonError::into_inner) = (now(), datagram.to_vec());
        // A refusal is seen where answers are read, or here: then it is that of an earlier one,
        // and this one was not sent. One that does not fit is lost, as in any network.
        let sent = path.socket.send(datagram);
        if sent.is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused) {
            let _ = path.socket.send(datagram);
        }
    }
}

/// The time by which silence is measured.
#[expect(clippy::disallowed_methods, reason = "clients are silent in real time")]
fn now() -> Instant {
    Instant::now()
}

/// Makes the way of a client, and a thread that carries the answers.
fn open(
    here: &Arc<UdpSocket>,
    client: SocketAddr,
    targets: &[String],
    idle: Duration,
) -> io::Result<Arc<Path>> {
    let addresses = targets.iter().filter_map(|it| it.to_socket_addrs().ok()).flatten();
    let mut addresses = addresses.collect::<Vec<_>>().into_iter();
    let first = addresses.next().ok_or(ErrorKind::NotFound)?;
    let socket = match first {
        SocketAddr::V4(_) => UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?,
        SocketAddr::V6(_) => UdpSocket::bind((Ipv6Addr::UNSPECIFIED, 0))?,
    };
    socket.connect(first)?;
    socket.set_read_timeout(Some(idle))?;
    let last = Mutex::new((now(), Vec::new()));
    let path = Arc::new(Path { socket, last, is_over: AtomicBool::new(false) });
    let (here, own) = (Arc::clone(here), Arc::clone(&path));
    let work = move || {
        answer(&here, client, &own, (addresses, idle));
        own.is_over.store(true, Ordering::Release);
    };
    std::thread::Builder::new().spawn(work)?;
    Ok(path)
}

/// Carries answers until nothing comes for too long, from neither side. A target that refuses gives
/// way to the next of `others`.
fn answer(
    here: &UdpSocket,
    client: SocketAddr,
    path: &Path,
    (mut others, idle): (impl Iterator<Item = SocketAddr>, Duration),
) {
    let last = || path.last.lock().unwrap_or_else(PoisonError::into_inner);
    let mut datagram = vec![0; LONGEST];
    loop {
        match path.socket.recv(&mut datagram) {
            Ok(length) => _ = here.send_to(&datagram[..length], client),
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                // The last one stays the target: a server may come later.
                let Some(next) = others.next() else { continue };
                if path.socket.connect(next).is_ok() {
                    let _ = path.socket.send(&last().1);
                }
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                if last().0.elapsed() >= idle {
                    return;
                }
            }
            // An unreachable target is told once for each datagram, and the next may pass.
            Err(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A socket of loopback that waits for 10 s at most.
    fn socket() -> (UdpSocket, String) {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
        socket.set_read_timeout(Some(Duration::from_secs(10))).expect("a time");
        let address = socket.local_addr().expect("an address").to_string();
        (socket, address)
    }

    /// A relay to these targets; returns its address.
    fn relay(targets: Vec<String>, idle: Duration) -> String {
        let (socket, address) = socket();
        socket.set_read_timeout(None).expect("no time");
        std::thread::spawn(move || carry(&Arc::new(socket), &targets, idle));
        address
    }

    #[test]
    fn each_client_has_its_own_port_and_gets_its_own_answers() {
        let (server, target) = socket();
        let relay = relay(vec![target], IDLE);
        let clients = [socket().0, socket().0];
        let mut buffer = [0; 2_000];
        let mut seen = Vec::new();
        for (client, text) in clients.iter().zip([&[1; 1_400][..], &[2]]) {
            client.send_to(text, &relay).expect("it is sent");
            let (length, from) = server.recv_from(&mut buffer).expect("a datagram");
            assert_eq!(&buffer[..length], text);
            seen.push(from);
        }
        assert_ne!(seen[0], seen[1]);
        server.send_to(b"second", seen[1]).expect("it is sent");
        server.send_to(b"first", seen[0]).expect("it is sent");
        for (client, text) in clients.iter().zip([&b"first"[..], b"second"]) {
            let length = client.recv(&mut buffer).expect("an answer");
            assert_eq!(&buffer[..length], text);
        }
        // An empty datagram is one as well.
        clients[0].send_to(b"", &relay).expect("it is sent");
        assert_eq!(server.recv_from(&mut buffer).expect("a datagram"), (0, seen[0]));
    }

    #[test]
    fn a_target_that_refuses_gives_way_to_the_next() {
        let refusing = socket().1;
        let (server, target) = socket();
        let relay = relay(vec![refusing, target], IDLE);
        let client = socket().0;
        client.send_to(b"hello", relay).expect("it is sent");
        let mut buffer = [0; 10];
        let length = server.recv(&mut buffer).expect("a datagram");
        assert_eq!(&buffer[..length], b"hello");
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "silence takes real time")]
    fn a_client_that_is_silent_for_long_is_forgotten_and_comes_by_a_new_port() {
        let (server, target) = socket();
        let relay = relay(vec![target], Duration::from_millis(20));
        let client = socket().0;
        let from = || {
            client.send_to(b"x", &relay).expect("it is sent");
            server.recv_from(&mut [0]).expect("a datagram").1
        };
        let first = from();
        let is_new = (0..500).any(|_| {
            std::thread::sleep(Duration::from_millis(60));
            from() != first
        });
        assert!(is_new);
    }
}
