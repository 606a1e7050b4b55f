//! What the link below knows of damage: inside `windfall run` a socket in each station tells which
//! datagrams came in frames whose check failed (docs/run.md).

use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;

use rustix::net::{AddressFamily, RecvFlags, SocketAddrUnix, SocketFlags, SocketType};

/// The name of the socket that tells.
const NAME: &[u8] = b"windfall/hints";
/// The version of what travels, and the first byte of everything.
const VERSION: u8 = 1;
/// Hints that wait for their datagrams, at most; a datagram that was dropped leaves its own behind.
const WAITING: usize = 256;

/// Hints of damage, for who has asked for them.
#[derive(Debug)]
pub(crate) struct Hints {
    socket: OwnedFd,
    /// Length and CRC-32C of the data of each damaged datagram.
    waiting: VecDeque<(u16, u32)>,
}

impl Hints {
    /// Asks for hints; `None` where nobody gives them, outside of `windfall run`.
    pub(crate) fn ask() -> Option<Self> {
        let ask = || -> io::Result<Self> {
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            let kind = SocketType::DGRAM;
            let socket = rustix::net::socket_with(AddressFamily::UNIX, kind, flags, None)?;
            rustix::net::connect(&socket, &SocketAddrUnix::new_abstract_name(NAME)?)?;
            // Without a name of its own nobody could answer it; the system makes one.
            rustix::net::bind(&socket, &SocketAddrUnix::new_unnamed())?;
            rustix::io::write(&socket, &[VERSION])?;
            Ok(Self { socket, waiting: VecDeque::new() })
        };
        ask().ok()
    }

    /// Takes the hints that have come; each comes before its datagram.
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

    /// Whether a datagram with these data came in a damaged frame.
    pub(crate) fn take(&mut self, data: &[u8]) -> bool {
        if self.waiting.iter().all(|(len, _)| usize::from(*len) != data.len()) {
            return false;
        }
        let sum = crc32c::crc32c(data);
        let found = self.waiting.iter().position(|hint| *hint == (data.len() as u16, sum));
        found.and_then(|place| self.waiting.remove(place)).is_some()
    }
}
