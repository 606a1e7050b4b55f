//! Damage hints of the link: inside `windfall run` a socket in each station reports the datagrams
//! of frames whose check sequence failed (docs/reference/run.md).

use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;

use rustix::net::{AddressFamily, RecvFlags, SocketAddrUnix, SocketFlags, SocketType};

/// The name of the reporting socket.
const NAME: &[u8] = b"windfall/hints";
/// The version of the hint format, and the first byte of each hint.
const VERSION: u8 = 1;
/// The maximum number of hints that wait for their datagrams; a dropped datagram leaves its hint
/// behind.
const WAITING: usize = 256;

/// A subscription to damage hints.
#[derive(Debug)]
pub(crate) struct Hints {
    socket: OwnedFd,
    /// The length and the CRC-32C of each damaged datagram's payload.
    waiting: VecDeque<(u16, u32)>,
}

impl Hints {
    /// Subscribes to hints; `None` outside of `windfall run`.
    pub(crate) fn ask() -> Option<Self> {
        let ask = || -> io::Result<Self> {
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            let kind = SocketType::DGRAM;
            let socket = rustix::net::socket_with(AddressFamily::UNIX, kind, flags, None)?;
            rustix::net::connect(&socket, &SocketAddrUnix::new_abstract_name(NAME)?)?;
            // The reporter needs an address to answer to; the system chooses one.
            rustix::net::bind(&socket, &SocketAddrUnix::new_unnamed())?;
            rustix::io::write(&socket, &[VERSION])?;
            Ok(Self { socket, waiting: VecDeque::new() })
        };
        ask().ok()
    }

    /// Receives the waiting hints; each arrives before its datagram.
    pub(crate) fn gather(&mut self) {
        let mut hint = [0; 8];
        for _ in 0..WAITING {
            match rustix::net::recv(&self.socket, &mut hint[..], RecvFlags::DONTWAIT) {
                Ok((8, _)) if hint[0] == VERSION => {
                    let [_, _, high, low, a, b, c, d] = hint;
                    self.waiting.truncate(WAITING - 1);
                    let sum = u32::from_be_bytes([a, b, c, d]);
                    self.waiting.push_front((u16::from_be_bytes([high, low]), sum));
                }
                Ok(_) => {}
                Err(_) => return,
            }
        }
    }

    /// Returns whether a datagram with this payload came in a damaged frame, and forgets its hint.
    pub(crate) fn take(&mut self, data: &[u8]) -> bool {
        if self.waiting.iter().all(|(len, _)| usize::from(*len) != data.len()) {
            return false;
        }
        let sum = crc32c::crc32c(data);
        let found = self.waiting.iter().position(|hint| *hint == (data.len() as u16, sum));
        found.and_then(|place| self.waiting.remove(place)).is_some()
    }
}
