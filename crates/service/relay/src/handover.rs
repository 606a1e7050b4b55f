//! Connections handed from one process to another, in messages with a descriptor each.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};

use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};

/// Returns the two ends of a way for connections: for the station, and for the host.
///
/// # Errors
/// If the system refuses.
pub fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let (family, kind) = (AddressFamily::UNIX, SocketType::SEQPACKET);
    Ok(socketpair(family, kind, SocketFlags::CLOEXEC, None)?)
}

/// Hands a connection over.
pub(crate) fn send(to: &OwnedFd, connection: &impl AsFd) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let descriptors = [connection.as_fd()];
    ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
    sendmsg(to, &[IoSlice::new(b"c")], &mut ancillary, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Takes the next connection; `None` when the other process is gone.
pub(crate) fn receive(from: &OwnedFd) -> io::Result<Option<OwnedFd>> {
    loop {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let mut byte = [0];
        let mut parts = [IoSliceMut::new(&mut byte)];
        let flags = RecvFlags::CMSG_CLOEXEC;
        let message = match recvmsg(from, &mut parts, &mut ancillary, flags) {
            Err(rustix::io::Errno::INTR) => continue,
            outcome => outcome?,
        };
        if message.bytes == 0 {
            return Ok(None);
        }
        let descriptors = ancillary.drain().filter_map(|it| match it {
            RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
            _ => None,
        });
        if let Some(connection) = descriptors.last() {
            return Ok(Some(connection));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn a_connection_is_the_same_after_it_was_handed_over() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let mut client =
            TcpStream::connect(listener.local_addr().expect("an address")).expect("it");
        let (server, _) = listener.accept().expect("a client");
        let (station, host) = pair().expect("two sockets");
        send(&station, &server).expect("it goes");
        drop((server, station));
        let mut server = TcpStream::from(receive(&host).expect("it comes").expect("one"));
        client.write_all(b"through").expect("room");
        drop(client);
        let mut text = String::new();
        server.read_to_string(&mut text).expect("text");
        assert_eq!(text, "through");
        assert!(receive(&host).expect("an end").is_none());
    }
}
