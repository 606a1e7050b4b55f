//! Datagrams carried from one socket to others, and the answers back.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::rc::Rc;
use std::time::Duration;

use tokio::io::Interest;
use tokio::net::UdpSocket;
use tokio::sync::mpsc;
use tokio::task::spawn_local;

use crate::relay::copy::{is_closed, is_scarce};
use crate::relay::counts::{Counts, PortCount};
use crate::relay::table::{ClientPlace, Clients};
use crate::relay::targets::Targets;

/// The most clients at the same time.
pub(crate) const CLIENTS: usize = 4_096;
/// The time without datagrams after which a client is forgotten, as that of a NAT.
pub(crate) const IDLE: Duration = Duration::from_secs(120);
/// The longest datagram.
const LONGEST: usize = 65_535;
/// The datagrams of one client that wait for its socket.
const WAITING: usize = 64;

/// Carries the datagrams that come to a socket to the first of `targets` that does not refuse them,
/// each client from a port of its own, and the answers back; it only returns if that fails. A
/// client is forgotten after the time `idle`, or if there are `most` others.
pub(crate) async fn carry(
    here: UdpSocket,
    targets: Targets,
    most: usize,
    idle: Duration,
    counts: Counts,
) -> io::Error {
    let here = Rc::new(here);
    let clients = Clients::new(most);
    let paths = Rc::new(RefCell::new(BTreeMap::<SocketAddr, mpsc::Sender<Vec<u8>>>::new()));
    let mut buffer = vec![0; LONGEST];
    loop {
        // An error belongs to a datagram that was sent before, such as an answer to a client that
        // has gone.
        let (length, client) = match here.recv_from(&mut buffer).await {
            Err(error) if is_closed(&error) => return error,
            Err(_) => continue,
            Ok(found) => found,
        };
        let mut datagram = buffer[..length].to_vec();
        let known = paths.borrow().get(&client).cloned();
        if let Some(path) = known {
            match path.try_send(datagram) {
                Ok(()) => continue,
                Err(mpsc::error::TrySendError::Full(_)) => {
                    counts.add(PortCount::NotSent);
                    continue;
                }
                // Its time is over just now: it begins again.
                Err(mpsc::error::TrySendError::Closed(back)) => datagram = back,
            }
        }
        counts.add(PortCount::Clients);
        let (place, has_evicted) = clients.enter();
        if has_evicted {
            counts.add(PortCount::EvictedIdle);
        }
        let (sender, datagrams) = mpsc::channel(WAITING);
        let _ = sender.try_send(datagram);
        paths.borrow_mut().insert(client, sender.clone());
        let path = Path {
            here: Rc::clone(&here),
            client,
            targets: targets.clone(),
            clients: clients.clone(),
            counts: counts.clone(),
        };
        let paths = Rc::clone(&paths);
        spawn_local(async move {
            tokio::select! {
                biased;
                () = place.sent_away() => {}
                () = path.run(datagrams, &place, idle) => {}
            }
            let mut paths = paths.borrow_mut();
            if paths.get(&client).is_some_and(|it| it.same_channel(&sender)) {
                paths.remove(&client);
            }
        });
    }
}

/// The way of one client's datagrams.
struct Path {
    here: Rc<UdpSocket>,
    client: SocketAddr,
    targets: Targets,
    clients: Clients,
    counts: Counts,
}

/// The progress of a client's last datagram.
#[derive(Default)]
struct Sending {
    addresses: Vec<SocketAddr>,
    /// The socket that is connected to one of the addresses, which has this number.
    upstream: Option<(UdpSocket, usize)>,
    last: Vec<u8>,
    /// The targets that have refused it.
    refusals: usize,
}

impl Path {
    /// Carries datagrams both ways until none comes for too long, from neither side.
    ///
    /// A target that refuses gives way to the next, and the last to the first: a server may come
    /// later at any of them.
    async fn run(
        &self,
        mut datagrams: mpsc::Receiver<Vec<u8>>,
        place: &ClientPlace,
        idle: Duration,
    ) {
        let addresses = self.targets.addresses().await;
        let mut sending = Sending { addresses, ..Sending::default() };
        loop {
            let socket = sending.upstream.as_ref().map(|(socket, _)| socket);
            tokio::select! {
                datagram = datagrams.recv() => {
                    let Some(datagram) = datagram else { return };
                    place.touch();
                    (sending.last, sending.refusals) = (datagram, 0);
                    self.send(&mut sending).await;
                }
                heard = heard(socket) => match heard {
                    Ok(answer) => {
                        place.touch();
                        sending.refusals = 0;
                        let upstream = sending.upstream.as_ref();
                        let at = upstream.and_then(|(_, at)| sending.addresses.get(*at));
                        at.iter().for_each(|at| self.targets.note_answer(**at));
                        if self.here.send_to(&answer, self.client).await.is_err() {
                            self.counts.add(PortCount::NotSent);
                        }
                    }
                    Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                        self.pass_over(&mut sending);
                        if sending.refusals < sending.addresses.len() {
                            self.send(&mut sending).await;
                        } else {
                            self.counts.add(PortCount::Refused);
                        }
                    }
                    // An unreachable target is told once for each datagram, and the next may pass.
                    Err(_) => {}
                },
                () = tokio::time::sleep(idle) => return,
            }
        }
    }

    /// Sends the last datagram to the present target, or to the next ones while they refuse.
    async fn send(&self, sending: &mut Sending) {
        if sending.upstream.is_none() {
            self.open(sending, self.targets.answering(&sending.addresses));
        }
        for _ in 0..=sending.addresses.len() {
            let Some((socket, _)) = &sending.upstream else { break };
            match socket.send(&sending.last).await {
                Ok(_) => return,
                // That was the refusal of an earlier datagram, and this one was not sent.
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                    self.pass_over(sending);
                }
                // One that does not fit is lost, as in any network.
                Err(_) => return self.counts.add(PortCount::NotSent),
            }
        }
        self.counts.add(PortCount::Refused);
    }

    /// Goes on to the next target, after the present one has refused.
    fn pass_over(&self, sending: &mut Sending) {
        sending.refusals += 1;
        if sending.addresses.len() > 1 {
            let next = sending.upstream.as_ref().map_or(0, |(_, at)| at + 1);
            self.open(sending, next % sending.addresses.len());
        }
    }

    /// Opens a socket to a target; where there is no descriptor left the client that has been idle
    /// for longest makes room.
    fn open(&self, sending: &mut Sending, at: usize) {
        let Some(address) = sending.addresses.get(at) else { return };
        sending.upstream = None;
        let socket = match connected(*address) {
            Err(error) if is_scarce(&error) && self.clients.evict() => {
                self.counts.add(PortCount::EvictedIdle);
                connected(*address)
            }
            socket => socket,
        };
        match socket {
            Ok(socket) => sending.upstream = Some((socket, at)),
            Err(_) => self.counts.add(PortCount::NoSocket),
        }
    }
}

/// Waits for an answer at a socket, if there is one.
async fn heard(socket: Option<&UdpSocket>) -> io::Result<Vec<u8>> {
    let Some(socket) = socket else { return core::future::pending().await };
    loop {
        let ready = socket.ready(Interest::READABLE | Interest::ERROR).await?;
        if ready.is_error() {
            // A refusal is no datagram that could be read.
            let failed = socket.try_io(Interest::ERROR, || match socket.take_error()? {
                Some(error) => Err(error),
                None => Err::<(), _>(ErrorKind::WouldBlock.into()),
            });
            match failed {
                Err(error) if error.kind() != ErrorKind::WouldBlock => return Err(error),
                _ => {}
            }
        }
        let mut answer = Vec::with_capacity(LONGEST);
        match socket.try_recv_buf(&mut answer) {
            Ok(_) => return Ok(answer),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
}

/// Returns a socket of the family of an address that is connected to it.
fn connected(address: SocketAddr) -> io::Result<UdpSocket> {
    let socket = match address {
        SocketAddr::V4(_) => std::net::UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?,
        SocketAddr::V6(_) => std::net::UdpSocket::bind((Ipv6Addr::UNSPECIFIED, 0))?,
    };
    socket.connect(address)?;
    socket.set_nonblocking(true)?;
    UdpSocket::from_std(socket)
}

#[cfg(test)]
mod tests;
