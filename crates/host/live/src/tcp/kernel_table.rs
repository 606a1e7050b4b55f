//! The kernel's table of TCP sockets: what the program at the remote end of a local connection has
//! done with its own.

use std::collections::BTreeMap;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// States in which a socket may still send, by the kernel's numbers.
const ESTABLISHED: u8 = 1;
const SYN_SENT: u8 = 2;
const SYN_RECEIVED: u8 = 3;
const CLOSE_WAIT: u8 = 8;
/// Other states in which the peer has closed its direction.
const TIME_WAIT: u8 = 6;
const LAST_ACK: u8 = 9;
const CLOSING: u8 = 11;
const PEER_CLOSED: [u8; 4] = [CLOSE_WAIT, LAST_ACK, CLOSING, TIME_WAIT];

/// A socket of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    state: u8,
    /// Bytes that its peer has not acknowledged.
    to_send: u64,
    /// Bytes that its program has not read; a FIN counts as one.
    unread: u64,
    /// A program has it open.
    is_held: bool,
}

impl Entry {
    /// Returns the bytes of data that its program has not read.
    fn unread_data(&self) -> u64 {
        self.unread.saturating_sub(u64::from(PEER_CLOSED.contains(&self.state)))
    }
}

/// The TCP sockets of this network namespace, by their own and their peer's address.
#[derive(Debug, Default)]
pub(super) struct KernelTable(BTreeMap<(SocketAddr, SocketAddr), Entry>);

impl KernelTable {
    /// Reads the table; what cannot be read is left out.
    pub(super) fn read() -> Self {
        let files = ["/proc/thread-self/net/tcp", "/proc/thread-self/net/tcp6"];
        let texts = files.map(|file| fs::read_to_string(file).unwrap_or_default());
        Self(texts.iter().flat_map(|text| text.lines()).filter_map(entry).collect())
    }

    /// Tells whether the program at the remote end of the socket `ours` has closed its direction,
    /// even if what it sent before has not all arrived.
    pub(super) fn has_closed(&self, ours: SocketAddr, theirs: SocketAddr) -> bool {
        let theirs = canonical(theirs);
        let ours = canonical(ours);
        match (self.0.get(&(theirs, ours)), self.0.get(&(ours, theirs))) {
            (Some(other), _) => {
                ![ESTABLISHED, SYN_SENT, SYN_RECEIVED, CLOSE_WAIT].contains(&other.state)
            }
            // A program on another host, or one whose socket is gone altogether.
            (None, own) => own.is_some_and(|own| PEER_CLOSED.contains(&own.state)),
        }
    }

    /// Tells whether a program still has the remote end of the socket `ours` open.
    pub(super) fn has_program(&self, ours: SocketAddr, theirs: SocketAddr) -> bool {
        self.0.get(&(canonical(theirs), canonical(ours))).is_some_and(|it| it.is_held)
    }

    /// Returns the bytes from the program that have not been read at `ours`. Bytes that have come
    /// and are not acknowledged yet, for some 40 ms, count twice.
    pub(super) fn waiting(&self, ours: SocketAddr, theirs: SocketAddr) -> u64 {
        let theirs = canonical(theirs);
        let ours = canonical(ours);
        let fin = u64::from(self.has_closed(ours, theirs));
        let on_the_way = self.0.get(&(theirs, ours)).map_or(0, |it| it.to_send);
        let arrived = self.0.get(&(ours, theirs)).map_or(0, Entry::unread_data);
        on_the_way.saturating_sub(fin) + arrived
    }
}

/// Reads a line: number, local and remote address, state, queues, timer, retransmissions, user,
/// timeout, inode.
fn entry(line: &str) -> Option<((SocketAddr, SocketAddr), Entry)> {
    let mut words = line.split_whitespace().skip(1);
    let [local, remote] = [address(words.next()?)?, address(words.next()?)?];
    let state = u8::from_str_radix(words.next()?, 16).ok()?;
    let (to_send, unread) = words.next()?.split_once(':')?;
    let [to_send, unread] = [to_send, unread].map(|it| u64::from_str_radix(it, 16));
    let is_held = words.nth(4)? != "0";
    Some(((local, remote), Entry { state, to_send: to_send.ok()?, unread: unread.ok()?, is_held }))
}

/// Reads an address, whose words of 32 bits stand in the host's order of bytes.
fn address(text: &str) -> Option<SocketAddr> {
    let (address, port) = text.split_once(':')?;
    let words: Option<Vec<[u8; 4]>> = (0..address.len() / 8)
        .map(|at| u32::from_str_radix(address.get(8 * at..8 * at + 8)?, 16).ok())
        .map(|word| word.map(u32::to_ne_bytes))
        .collect();
    let ip: IpAddr = match words?.as_slice() {
        [word] => Ipv4Addr::from(*word).into(),
        words => Ipv6Addr::from(<[u8; 16]>::try_from(words.concat()).ok()?).into(),
    };
    Some(canonical(SocketAddr::new(ip, u16::from_str_radix(port, 16).ok()?)))
}

/// Returns the address of IPv4 that an address of IPv6 may stand for.
fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

#[cfg(test)]
mod tests;
