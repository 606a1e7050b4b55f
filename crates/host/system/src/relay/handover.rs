//! A socket handed to another process, in a message with a descriptor.

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

/// Hands a socket over.
pub(crate) fn send(to: &OwnedFd, socket: &impl AsFd) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let descriptors = [socket.as_fd()];
    ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
    sendmsg(to, &[IoSlice::new(b"c")], &mut ancillary, SendFlags::NOSIGNAL)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::{IoSliceMut, Read as _, Write as _};
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::net::UnixStream;

    use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};

    use super::*;

    fn receive(from: &UnixStream) -> OwnedFd {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let mut byte = [0];
        let mut parts = [IoSliceMut::new(&mut byte)];
        recvmsg(from, &mut parts, &mut ancillary, RecvFlags::CMSG_CLOEXEC).expect("a message");
        let mut found = ancillary.drain().filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
            _ => None,
        });
        found.next().expect("a descriptor")
    }

    #[test]
    fn a_connection_is_the_same_after_it_was_handed_over() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let mut client =
            TcpStream::connect(listener.local_addr().expect("an address")).expect("it");
        let (server, _) = listener.accept().expect("a client");
        let (station, host) = UnixStream::pair().expect("two sockets");
        send(&OwnedFd::from(station), &server).expect("it goes");
        drop(server);
        let mut server = TcpStream::from(receive(&host));
        client.write_all(b"through").expect("room");
        drop(client);
        let mut text = String::new();
        server.read_to_string(&mut text).expect("text");
        assert_eq!(text, "through");
    }
}
