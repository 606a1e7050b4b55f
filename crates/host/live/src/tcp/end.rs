//! The far side of a splice: a socket of the kernel, or a bulk source and sink.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::{AsFd, AsRawFd};
use std::os::linux::net::TcpStreamExt as _;

use bytes::{Buf, Bytes};
use nix::errno::Errno;
use nix::libc;
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, SockaddrStorage, connect, setsockopt, socket,
    sockopt::{Linger, OobInline, TcpNoDelay},
};
use windfall_base::Instant;

use super::bulk::Worker;
use super::kernel_table::KernelTable;
use crate::system;

/// The most that is read at once, in bytes.
const CHUNK: usize = 256 << 10;
/// Shorter reads are copied out of the buffer, longer ones keep it.
const SHORT: usize = 32 << 10;
/// The most slices that one write takes.
const SLICES: usize = 256;

/// The result of a read.
#[derive(Debug)]
pub(super) enum Read {
    Data(Bytes),
    Nothing,
    End,
}

/// One end of a splice, that which is not the engine's.
#[derive(Debug)]
pub(super) enum End {
    /// A socket of the kernel, perhaps still connecting.
    Socket(TcpStream),
    /// A bulk source and sink.
    Bulk(Worker),
}

impl End {
    /// Connects by the kernel's TCP without waiting for it.
    pub(super) fn connect(to: SocketAddr) -> io::Result<Self> {
        let family = if to.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
        let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
        let socket = socket(family, SockType::Stream, flags, None)?;
        keep_urgent_data(&socket)?;
        setsockopt(&socket, TcpNoDelay, &true)?;
        match connect(socket.as_raw_fd(), &SockaddrStorage::from(to)) {
            Ok(()) | Err(Errno::EINPROGRESS) => Ok(Self::Socket(socket.into())),
            Err(error) => Err(error.into()),
        }
    }

    /// A socket that the kernel has accepted.
    pub(super) fn accepted(socket: TcpStream) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        socket.set_nodelay(true)?;
        keep_urgent_data(&socket)?;
        Ok(Self::Socket(socket))
    }

    /// Reads what there is; `buffer` is scratch.
    pub(super) fn read(&mut self, now: Instant, buffer: &mut Vec<u8>) -> io::Result<Read> {
        let socket = match self {
            Self::Socket(socket) => socket,
            Self::Bulk(worker) => {
                return Ok(worker.next(now, CHUNK / 4).map_or(Read::End, Read::Data));
            }
        };
        buffer.clear();
        buffer.reserve(CHUNK);
        let read = system::read(&*socket, buffer);
        acknowledge_at_once(socket);
        match read {
            Ok(0) => Ok(Read::End),
            Ok(len) if len < SHORT => Ok(Read::Data(Bytes::copy_from_slice(buffer))),
            Ok(_) => Ok(Read::Data(std::mem::take(buffer).into())),
            Err(Errno::EAGAIN | Errno::EINTR) => Ok(Read::Nothing),
            Err(error) => Err(error.into()),
        }
    }

    /// Writes as much of `pending` as finds room; gives back how much that was.
    pub(super) fn write(&mut self, pending: &mut VecDeque<Bytes>) -> io::Result<usize> {
        let mut written = 0;
        loop {
            let slices: Vec<_> =
                pending.iter().take(SLICES).map(|slice| IoSlice::new(slice)).collect();
            if slices.is_empty() {
                return Ok(written);
            }
            let len = match self {
                Self::Bulk(worker) => {
                    slices.iter().for_each(|slice| worker.take(slice));
                    slices.iter().map(|slice| slice.len()).sum()
                }
                Self::Socket(socket) => match nix::sys::uio::writev(&*socket, &slices) {
                    Ok(len) => {
                        acknowledge_at_once(socket);
                        len
                    }
                    Err(Errno::EAGAIN | Errno::EINTR) => return Ok(written),
                    Err(error) => return Err(error.into()),
                },
            };
            written += len;
            advance(pending, len);
        }
    }

    /// Tells the program behind the socket that nothing more will come; returns whether a FIN
    /// follows the data.
    pub(super) fn finish(&mut self) -> bool {
        // A socket that is gone needs no telling.
        self.socket().is_some_and(|socket| socket.shutdown(Shutdown::Write).is_ok())
    }

    /// Returns the bytes, a FIN among them, that were written and not acknowledged.
    pub(super) fn unacknowledged(&self) -> u64 {
        self.socket().map_or(0, |socket| system::unacknowledged(socket).unwrap_or(0))
    }

    /// Returns the error of a socket that was reset, once.
    pub(super) fn take_error(&self) -> Option<io::Error> {
        self.socket().and_then(|socket| socket.take_error().ok().flatten())
    }

    /// Makes the end of the socket a reset.
    pub(super) fn reset(&mut self) {
        if let Self::Socket(socket) = self {
            let now = libc::linger { l_onoff: 1, l_linger: 0 };
            let _ = setsockopt(socket, Linger, &now);
        }
    }

    /// The socket of the kernel, to wait for.
    pub(super) fn socket(&self) -> Option<&TcpStream> {
        match self {
            Self::Socket(socket) => Some(socket),
            Self::Bulk(_) => None,
        }
    }

    /// Tells whether it is a bulk source and sink.
    pub(super) const fn is_bulk(&self) -> bool {
        matches!(self, Self::Bulk(_))
    }

    /// Tells whether the program behind the socket has closed its direction in order.
    pub(super) fn is_closed_by_program(&self, table: &KernelTable) -> bool {
        // A socket has no peer any more when both directions are closed.
        self.socket().is_some()
            && self.addresses().is_none_or(|(ours, theirs)| table.has_closed(ours, theirs))
    }

    /// Tells whether a program still has the remote end of the socket open.
    pub(super) fn has_program(&self, table: &KernelTable) -> bool {
        self.addresses().is_none_or(|(ours, theirs)| table.has_program(ours, theirs))
    }

    /// Returns the bytes of the program that were not read.
    pub(super) fn waiting(&self, table: &KernelTable) -> u64 {
        match self.addresses() {
            Some((ours, theirs)) => table.waiting(ours, theirs),
            None => self.socket().map_or(0, read_out),
        }
    }

    /// The addresses of the socket and of its peer.
    fn addresses(&self) -> Option<(SocketAddr, SocketAddr)> {
        let socket = self.socket()?;
        Some((socket.local_addr().ok()?, socket.peer_addr().ok()?))
    }

    /// Tells whether it never has anything to send.
    pub(super) fn only_receives(&self) -> bool {
        matches!(self, Self::Bulk(worker) if worker.only_receives())
    }

    /// The place of the first byte that a bulk sink found wrong.
    pub(super) fn wrong(&self) -> Option<u64> {
        match self {
            Self::Socket(_) => None,
            Self::Bulk(worker) => worker.wrong(),
        }
    }
}

/// Lets the kernel acknowledge what comes next without delay: a program's small write waits for the
/// acknowledgment of the one before (Nagle). The kernel forgets it, so that it is said each time.
fn acknowledge_at_once(socket: &TcpStream) {
    // Without it a small write waits for some 40 ms.
    let _ = socket.set_quickack(true);
}

/// Leaves urgent data in the stream: otherwise the kernel takes the last byte of them out of it.
fn keep_urgent_data(socket: &impl AsFd) -> io::Result<()> {
    Ok(setsockopt(socket, OobInline, &true)?)
}

/// Takes `len` bytes from the front.
fn advance(pending: &mut VecDeque<Bytes>, mut len: usize) {
    while let Some(front) = pending.front_mut() {
        let part = front.len().min(len);
        front.advance(part);
        len -= part;
        if !front.is_empty() {
            return;
        }
        pending.pop_front();
    }
}

/// Reads what has come to a socket whose peer has closed; returns how many bytes that was.
fn read_out(mut socket: &TcpStream) -> u64 {
    let mut buffer = vec![0; 1 << 16];
    let mut bytes = 0;
    while let Ok(len @ 1..) = io::Read::read(&mut socket, &mut buffer) {
        bytes += len as u64;
    }
    bytes
}

#[cfg(test)]
mod tests;
