//! Tells programs of a station which packets the link delivers damaged.
//!
//! docs/reference/run.md, "Hints of damage", describes the messages. The socket's name is abstract:
//! it is one of the station's network namespace and vanishes with the run.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockType, UnixAddr, bind, recvfrom, sendto, socket,
};
use windfall_base::Payload;
use windfall_wire_net::{CarrierPacket, IpPacket, Protocol};

/// The name of the socket in each station.
const NAME: &[u8] = b"windfall/hints";
/// The version of the messages, which is their first byte.
const VERSION: u8 = 1;
/// The check of the frame failed.
const FRAME_CHECK: u8 = 1;
/// The number of programs that can receive hints at once.
const MOST_LISTENERS: usize = 64;
/// Bytes of a header of UDP or UDP-Lite.
const PORTS: usize = 8;

/// The programs of one station that asked for hints.
#[derive(Debug)]
pub(crate) struct Hints {
    socket: OwnedFd,
    listeners: Vec<UnixAddr>,
}

/// The socket of a station, in whose network namespace the thread must be.
pub(crate) fn open() -> io::Result<OwnedFd> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let socket = socket(AddressFamily::Unix, SockType::Datagram, flags, None)?;
    bind(socket.as_raw_fd(), &UnixAddr::new_abstract(NAME)?)?;
    Ok(socket)
}

impl Hints {
    pub(crate) fn new(socket: OwnedFd) -> Self {
        Self { socket, listeners: Vec::new() }
    }

    /// Returns a copy of the socket, which is one of the station's network namespace.
    pub(crate) fn socket(&self) -> io::Result<OwnedFd> {
        self.socket.try_clone()
    }

    /// Says that `packet`, whose frame failed its check, comes next.
    pub(crate) fn tell(&mut self, packet: &Payload) {
        self.admit();
        if self.listeners.is_empty() {
            return;
        }
        let packet = packet.to_bytes();
        let data = data(&packet);
        let [high, low] = (data.len().min(usize::from(u16::MAX)) as u16).to_be_bytes();
        let [a, b, c, d] = crc32c::crc32c(data).to_be_bytes();
        let hint = [VERSION, FRAME_CHECK, high, low, a, b, c, d];
        let socket = self.socket.as_raw_fd();
        // A program that is gone is removed; one that does not read misses hints.
        self.listeners.retain(|to| {
            let sent = sendto(socket, &hint, to, MsgFlags::MSG_DONTWAIT);
            !matches!(sent, Err(Errno::ECONNREFUSED | Errno::ENOENT))
        });
    }

    /// Takes those who have asked since.
    fn admit(&mut self) {
        let mut word = [0; 8];
        for _ in 0..MOST_LISTENERS {
            let asked = recvfrom::<UnixAddr>(self.socket.as_raw_fd(), &mut word);
            let Ok((length, from)) = asked else { return };
            let Some(from) = from.filter(|_| word[..length.min(1)] == [VERSION]) else { continue };
            if self.listeners.len() < MOST_LISTENERS && !self.listeners.contains(&from) {
                self.listeners.push(from);
            }
        }
    }
}

/// Returns the part of a packet that a program receives: the data of UDP and UDP-Lite, without our
/// own header inside UDP; of others everything behind the IP header.
fn data(packet: &[u8]) -> &[u8] {
    let carried = IpPacket::new(packet).ok().and_then(|packet| packet.carried().ok());
    let Some(carried) = carried.filter(|carried| !carried.fragment) else { return packet };
    let rest = carried.bytes;
    match carried.protocol {
        Protocol::UDP => {
            let inside = rest.get(PORTS..).unwrap_or_default();
            CarrierPacket::new(inside).map_or(inside, |packet| packet.payload())
        }
        Protocol::UDP_LITE => rest.get(PORTS..).unwrap_or_default(),
        _ => rest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_data_are_what_a_program_receives() {
        // IPv4 of 20 bytes, UDP of 8, the carrier's 8 with a coverage of 8.
        let mut packet = vec![0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17, 0, 0];
        packet.extend([127, 0, 0, 1, 127, 0, 0, 1, 1, 2, 3, 4, 0, 26, 0, 0]);
        packet.extend([0x57, 0x4c, 0x54, 0xe1, 0, 8, 1, 2]);
        packet.extend(b"bit errors");
        assert_eq!(data(&packet), b"bit errors");
        packet[28] = 0;
        assert_eq!(data(&packet).len(), 18, "plain UDP");
        packet[9] = 136;
        assert_eq!(data(&packet).len(), 18, "UDP-Lite");
        packet[9] = 6;
        assert_eq!(data(&packet).len(), 26, "TCP");
        assert_eq!(data(b"noise"), b"noise");
    }
}
