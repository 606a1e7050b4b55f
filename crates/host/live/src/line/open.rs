//! Opening a line, reading it and writing it.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs as _, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use nix::fcntl::OFlag;
use nix::sys::termios::{self, BaudRate, ControlFlags, SetArg};

use windfall_wire_link::hdlc::FLAG;

use super::address::{LineAddress, SPEEDS};

/// A line that is open; reading and writing never block.
#[derive(Debug)]
pub enum OpenLine {
    /// A terminal in raw mode.
    Serial(File),
    /// A socket that is connected to its peer.
    Udp(UdpSocket),
    /// A socket that waits for its peer, and the address of whoever has sent a frame last.
    UdpFrom(UdpSocket, Option<SocketAddr>),
}

impl OpenLine {
    /// Opens a line: a serial device raw, with 8 bits, no parity, no flow control.
    ///
    /// # Errors
    /// If there is no such device or host, or it may not be opened, or is no terminal.
    pub fn open(address: &LineAddress) -> io::Result<Self> {
        match address {
            LineAddress::Serial { path, speed } => open_serial(path, *speed).map(Self::Serial),
            LineAddress::UdpTo { host } => {
                let mut found = host.to_socket_addrs()?;
                let to = found.next().ok_or_else(|| io::Error::other("the name has no address"))?;
                let any: SocketAddr = if to.is_ipv4() {
                    (Ipv4Addr::UNSPECIFIED, 0).into()
                } else {
                    (Ipv6Addr::UNSPECIFIED, 0).into()
                };
                let socket = UdpSocket::bind(any)?;
                socket.connect(to)?;
                socket.set_nonblocking(true)?;
                Ok(Self::Udp(socket))
            }
            LineAddress::UdpFrom { port } => {
                // Both families, where the system has IPv6.
                let socket = UdpSocket::bind((Ipv6Addr::UNSPECIFIED, *port))
                    .or_else(|_| UdpSocket::bind((Ipv4Addr::UNSPECIFIED, *port)))?;
                socket.set_nonblocking(true)?;
                Ok(Self::UdpFrom(socket, None))
            }
        }
    }

    /// Reads what there is; `None` if there is nothing.
    ///
    /// # Errors
    /// If the line is gone.
    pub fn read(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        let result = match self {
            Self::Serial(file) => match file.read(buffer) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                result => result,
            },
            Self::Udp(socket) => socket.recv(buffer),
            Self::UdpFrom(socket, peer) => socket.recv_from(buffer).map(|(count, from)| {
                // A peer that begins anew has another port; what is no frame changes nothing.
                if buffer[..count].first() == Some(&FLAG) {
                    *peer = Some(from);
                    count
                } else {
                    0
                }
            }),
        };
        Ok(self.without_waiting(result)?.filter(|count| *count > 0))
    }

    /// Writes some bytes, a datagram as a whole; `None` if the line has no room.
    ///
    /// # Errors
    /// If the line is gone.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<Option<usize>> {
        let result = match self {
            Self::Serial(file) => file.write(bytes),
            Self::Udp(socket) => socket.send(bytes),
            Self::UdpFrom(socket, Some(peer)) => socket.send_to(bytes, *peer),
            // There is no one to send to.
            Self::UdpFrom(_, None) => Ok(bytes.len()),
        };
        self.without_waiting(result)
    }

    /// Writes of `waiting` what the line has room for, and keeps the rest.
    ///
    /// # Errors
    /// If the line is gone.
    pub fn write_waiting(&mut self, waiting: &mut Vec<u8>) -> io::Result<()> {
        while !waiting.is_empty()
            && let Some(count) = self.write(waiting)?
        {
            waiting.drain(..count);
        }
        Ok(())
    }

    /// Characters that a serial device takes in a second by its own setting, where it has one.
    #[must_use]
    pub fn characters(&self) -> Option<u32> {
        let Self::Serial(file) = self else { return None };
        let rate = termios::cfgetospeed(&termios::tcgetattr(file).ok()?);
        let speed = SPEEDS.into_iter().find(|speed| baud_rate(*speed).is_ok_and(|it| it == rate));
        speed.map(|speed| speed / 10)
    }

    /// Makes nothing of what would block, and of a peer that does not listen yet.
    fn without_waiting(&self, result: io::Result<usize>) -> io::Result<Option<usize>> {
        match result {
            Ok(count) => Ok(Some(count)),
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(None),
                // Datagrams get lost: the peer may come, and routes may change.
                _ if !matches!(self, Self::Serial(_)) => Ok(None),
                _ => Err(error),
            },
        }
    }
}

impl AsFd for OpenLine {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Serial(file) => file.as_fd(),
            Self::Udp(socket) | Self::UdpFrom(socket, _) => socket.as_fd(),
        }
    }
}

fn open_serial(path: &Path, speed: Option<u32>) -> io::Result<File> {
    let flags = OFlag::O_NOCTTY | OFlag::O_NONBLOCK;
    let file = OpenOptions::new().read(true).write(true).custom_flags(flags.bits()).open(path)?;
    let mut settings = termios::tcgetattr(&file)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "it is no serial device"))?;
    termios::cfmakeraw(&mut settings);
    // Heard without a carrier, and without a modem's consent.
    settings.control_flags |= ControlFlags::CLOCAL | ControlFlags::CREAD;
    settings.control_flags &= !(ControlFlags::CSTOPB | ControlFlags::CRTSCTS);
    if let Some(speed) = speed {
        termios::cfsetspeed(&mut settings, baud_rate(speed)?)?;
    }
    termios::tcsetattr(&file, SetArg::TCSANOW, &settings)?;
    Ok(file)
}

fn baud_rate(speed: u32) -> io::Result<BaudRate> {
    Ok(match speed {
        1_200 => BaudRate::B1200,
        2_400 => BaudRate::B2400,
        4_800 => BaudRate::B4800,
        9_600 => BaudRate::B9600,
        19_200 => BaudRate::B19200,
        38_400 => BaudRate::B38400,
        57_600 => BaudRate::B57600,
        115_200 => BaudRate::B115200,
        230_400 => BaudRate::B230400,
        460_800 => BaudRate::B460800,
        500_000 => BaudRate::B500000,
        576_000 => BaudRate::B576000,
        921_600 => BaudRate::B921600,
        1_000_000 => BaudRate::B1000000,
        1_500_000 => BaudRate::B1500000,
        2_000_000 => BaudRate::B2000000,
        3_000_000 => BaudRate::B3000000,
        4_000_000 => BaudRate::B4000000,
        _ => return Err(io::Error::new(io::ErrorKind::InvalidInput, "no such speed")),
    })
}
