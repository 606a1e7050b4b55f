//! What the run and the supervisor of the stations say to each other.

use std::io::{self, IoSlice, IoSliceMut};
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, ControlMessage, ControlMessageOwned, MsgFlags, SockFlag, SockType, recvmsg,
    sendmsg, socketpair,
};

use crate::plan::DeviceKind;
use crate::system;

/// The longest message; the longest are the kernel's counters of one station.
const LONGEST: usize = 128 * 1024;
/// File descriptors that one message may carry.
const MOST_DESCRIPTORS: usize = 4;

/// A message of one of the two processes to the other.
#[derive(Debug)]
pub(crate) enum Message {
    /// To the stations: the identity is set up, build them.
    Go,
    /// To the run: the next device, in the order of the network's ports, and its station's number.
    Device(u16, OwnedFd),
    /// To the run: the device behind which the NAT gateway is.
    Outside(OwnedFd),
    /// To the run: the name and the network namespace of the next station.
    Station(String, OwnedFd),
    /// To the keeper: move the interface of this number into this namespace.
    Interface(u16, OwnedFd),
    /// To a program that enters: the address of the neighbour of the station that comes next.
    Neighbour(IpAddr),
    /// To the run: where the programs of the next station ask for hints of damage.
    Hints(OwnedFd),
    /// To the run: a socket that listens at the next port of those that the plan wants.
    Listener(OwnedFd),
    /// To the run: a socket that listens in the next station under the name of the plan's door.
    Door(OwnedFd),
    /// To the run: the user (if it is a new one), mount and process namespaces.
    Namespaces(Vec<OwnedFd>),
    /// To the run: everything stands, with devices of this kind; the programs wait for a word.
    Ready(DeviceKind),
    /// To the run: it cannot be built. The exit status, and why.
    Failed(u8, String),
    /// To the run: the command has begun.
    Began,
    /// To the run: the command has ended, with this exit status.
    Ended(u8),
    /// To the stations: pass this signal to the command.
    Signal(i32),
    /// To the stations: end the other programs, count, and leave.
    Finish,
    /// To the run: the kernel's counters of the station with this number, as its files give them.
    Counters(u16, String),
    /// To the run: no program runs any more; packets are to be carried no longer.
    Idle,
    /// To the stations: no packet is on its way to a device, count.
    Count,
    /// To the run: all is counted.
    Finished,
    /// To the run: a program beside the command failed by itself. Its exit status, the number of
    /// its station, and its line of the shell.
    Failure(u8, u16, String),
}

/// One end of the connection; a closed one means that the other process is gone.
#[derive(Debug)]
pub(crate) struct Control(OwnedFd);

impl Control {
    /// The end of a connection that was made elsewhere.
    pub(crate) fn new(socket: OwnedFd) -> Self {
        Self(socket)
    }

    /// A connected pair.
    pub(crate) fn pair() -> io::Result<(Self, Self)> {
        let flags = SockFlag::SOCK_CLOEXEC;
        let (a, b) = socketpair(AddressFamily::Unix, SockType::SeqPacket, None, flags)?;
        Ok((Self(a), Self(b)))
    }

    /// The socket of this end.
    pub(crate) fn into_socket(self) -> OwnedFd {
        self.0
    }

    /// Sends a message.
    pub(crate) fn send(&self, message: &Message) -> io::Result<()> {
        let (kind, body, descriptors) = encode(message);
        let descriptors: Vec<RawFd> = descriptors.iter().map(AsRawFd::as_raw_fd).collect();
        let rights = [ControlMessage::ScmRights(&descriptors)];
        let rights = if descriptors.is_empty() { &rights[..0] } else { &rights };
        let parts = [IoSlice::new(&kind), IoSlice::new(&body)];
        let socket = self.0.as_raw_fd();
        let flags = MsgFlags::MSG_NOSIGNAL;
        system::retry(|| sendmsg::<()>(socket, &parts, rights, flags, None))?;
        Ok(())
    }

    /// Waits for a message; `None` if the peer is gone.
    pub(crate) fn receive(&self) -> io::Result<Option<Message>> {
        let mut body = vec![0; LONGEST];
        let mut descriptors = Vec::new();
        let length = match system::retry(|| self.receive_into(&mut body, &mut descriptors)) {
            Err(Errno::ECONNRESET) => 0,
            length => length?,
        };
        let Some((&kind, body)) = body[..length].split_first() else {
            return Ok(None);
        };
        decode(kind, body, descriptors)
            .map(Some)
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "an unknown message"))
    }

    /// Receives once, with the descriptors that came along; returns the length of the message.
    fn receive_into(&self, body: &mut [u8], descriptors: &mut Vec<OwnedFd>) -> nix::Result<usize> {
        let mut space = nix::cmsg_space!([RawFd; MOST_DESCRIPTORS]);
        let mut parts = [IoSliceMut::new(body)];
        let flags = MsgFlags::MSG_CMSG_CLOEXEC;
        let received = recvmsg::<()>(self.0.as_raw_fd(), &mut parts, Some(&mut space), flags)?;
        for message in received.cmsgs()? {
            if let ControlMessageOwned::ScmRights(rights) = message {
                // SAFETY: the kernel has just opened these descriptors for this process.
                descriptors.extend(rights.iter().map(|fd| unsafe { OwnedFd::from_raw_fd(*fd) }));
            }
        }
        Ok(received.bytes)
    }
}

impl AsFd for Control {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn encode(message: &Message) -> ([u8; 1], Vec<u8>, Vec<BorrowedFd<'_>>) {
    let none = Vec::new;
    let (kind, body, descriptors) = match message {
        Message::Go => (0, none(), Vec::new()),
        Message::Device(station, device) => {
            (1, station.to_le_bytes().to_vec(), vec![device.as_fd()])
        }
        Message::Interface(number, station) => {
            (16, number.to_le_bytes().to_vec(), vec![station.as_fd()])
        }
        Message::Station(name, station) => (2, name.clone().into_bytes(), vec![station.as_fd()]),
        Message::Neighbour(address) => (15, address.to_string().into_bytes(), Vec::new()),
        Message::Namespaces(namespaces) => {
            (3, none(), namespaces.iter().map(AsFd::as_fd).collect())
        }
        Message::Ready(kind) => (4, vec![u8::from(*kind == DeviceKind::Packet)], Vec::new()),
        Message::Failed(status, why) => (5, [&[*status], why.as_bytes()].concat(), Vec::new()),
        Message::Began => (20, none(), Vec::new()),
        Message::Ended(status) => (6, vec![*status], Vec::new()),
        Message::Signal(signal) => (7, signal.to_le_bytes().to_vec(), Vec::new()),
        Message::Finish => (8, none(), Vec::new()),
        Message::Counters(station, text) => {
            (9, [&station.to_le_bytes(), text.as_bytes()].concat(), Vec::new())
        }
        Message::Finished => (10, none(), Vec::new()),
        Message::Idle => (13, none(), Vec::new()),
        Message::Count => (14, none(), Vec::new()),
        Message::Hints(hints) => (11, none(), vec![hints.as_fd()]),
        Message::Listener(socket) => (17, none(), vec![socket.as_fd()]),
        Message::Door(socket) => (18, none(), vec![socket.as_fd()]),
        Message::Outside(device) => (19, none(), vec![device.as_fd()]),
        Message::Failure(status, station, line) => {
            let [low, high] = station.to_le_bytes();
            (12, [&[*status, low, high], line.as_bytes()].concat(), Vec::new())
        }
    };
    ([kind], body, descriptors)
}

fn decode(kind: u8, body: &[u8], mut descriptors: Vec<OwnedFd>) -> Option<Message> {
    Some(match kind {
        0 => Message::Go,
        1 => Message::Device(u16::from_le_bytes(body.try_into().ok()?), descriptors.pop()?),
        2 => Message::Station(text_of(body), descriptors.pop()?),
        3 => Message::Namespaces(descriptors),
        16 => Message::Interface(u16::from_le_bytes(body.try_into().ok()?), descriptors.pop()?),
        15 => Message::Neighbour(text_of(body).parse().ok()?),
        4 if *body.first()? == 0 => Message::Ready(DeviceKind::Tun),
        4 => Message::Ready(DeviceKind::Packet),
        5 => Message::Failed(*body.first()?, text_of(&body[1..])),
        20 => Message::Began,
        6 => Message::Ended(*body.first()?),
        7 => Message::Signal(i32::from_le_bytes(body.try_into().ok()?)),
        8 => Message::Finish,
        9 => {
            let (station, rest) = body.split_first_chunk()?;
            Message::Counters(u16::from_le_bytes(*station), text_of(rest))
        }
        10 => Message::Finished,
        13 => Message::Idle,
        14 => Message::Count,
        11 => Message::Hints(descriptors.pop()?),
        17 => Message::Listener(descriptors.pop()?),
        18 => Message::Door(descriptors.pop()?),
        19 => Message::Outside(descriptors.pop()?),
        12 => {
            let ([status, low, high], line) = body.split_first_chunk()?;
            Message::Failure(*status, u16::from_le_bytes([*low, *high]), text_of(line))
        }
        _ => return None,
    })
}

/// Returns bytes as text, with a replacement for what is no UTF-8.
fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests;
