use std::io::Write;
use std::net::TcpListener;
use std::thread;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{MsgFlags, send};

use super::*;

/// Bytes before the urgent one.
const PLAIN: usize = 200_000;

/// Sends bytes in order, then an urgent one, and closes.
fn send_urgently(mut socket: TcpStream) {
    socket.write_all(&[1; PLAIN]).expect("the end reads");
    let sent = send(socket.as_raw_fd(), &[2], MsgFlags::MSG_OOB).expect("the end reads");
    assert_eq!(sent, 1);
}

/// Reads until the peer closes.
fn read_all(mut end: End) -> Vec<u8> {
    let mut all = Vec::new();
    let mut buffer = Vec::new();
    loop {
        match end.read(Instant::START, &mut buffer).expect("the peer is there") {
            Read::Data(data) => all.extend_from_slice(&data),
            Read::Nothing => {
                let socket = end.socket().expect("a socket");
                let mut waited = [PollFd::new(socket.as_fd(), PollFlags::POLLIN)];
                let timeout = PollTimeout::from(20_000_u16);
                assert_eq!(poll(&mut waited, timeout), Ok(1), "no more after {}", all.len());
            }
            Read::End => return all,
        }
    }
}

/// Checks that the urgent byte arrives in its place.
fn check(end: End, peer: TcpStream) {
    let sender = thread::spawn(|| send_urgently(peer));
    let all = read_all(end);
    sender.join().expect("it sends all");
    assert_eq!(all.len(), PLAIN + 1);
    assert_eq!(all.last(), Some(&2));
}

#[test]
fn urgent_data_of_an_accepted_socket_stay_in_the_stream() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let peer = TcpStream::connect(listener.local_addr().expect("bound")).expect("it listens");
    let (socket, _) = listener.accept().expect("it connects");
    check(End::accepted(socket).expect("a socket"), peer);
}

#[test]
fn urgent_data_of_a_connected_socket_stay_in_the_stream() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let end = End::connect(listener.local_addr().expect("bound")).expect("a socket");
    let (peer, _) = listener.accept().expect("it connects");
    check(end, peer);
}
