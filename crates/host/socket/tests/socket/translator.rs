//! A translator of addresses and ports between two sockets, as a home router is one.
#![expect(clippy::disallowed_methods, reason = "the translator is slow")]

use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use windfall_socket::{Mode, SapOptions, SapSocket, SharedKey};

/// Passes datagrams on between a client and a server, each of which sees only the translator; after
/// half of them it takes another port.
fn translate(inside: &UdpSocket, server: SocketAddr, ended: &AtomicBool, change_after: u32) {
    let fresh = || {
        let outside = UdpSocket::bind("127.0.0.1:0").expect("a free port");
        outside.set_nonblocking(true).expect("it is a socket");
        outside
    };
    inside.set_nonblocking(true).expect("it is a socket");
    let mut outside = fresh();
    let mut client = None;
    let mut passed = 0;
    let mut buffer = vec![0; 1 << 16];
    while !ended.load(Ordering::Relaxed) {
        let mut idle = true;
        while let Ok((len, from)) = inside.recv_from(&mut buffer) {
            (client, idle, passed) = (Some(from), false, passed + 1);
            if passed == change_after {
                outside = fresh();
            }
            let _ = outside.send_to(&buffer[..len], server);
        }
        while let Ok((len, _)) = outside.recv_from(&mut buffer) {
            idle = false;
            let _ = client.map(|client| inside.send_to(&buffer[..len], client));
        }
        if idle {
            std::thread::sleep(Duration::from_micros(200));
        }
    }
}

fn cross(key: Option<SharedKey>) {
    let options = SapOptions::default().with(|it| it.key = key);
    let listener = options.listen("127.0.0.1:0").expect("a free port");
    let server = listener.local_addr().expect("bound");
    let inside = UdpSocket::bind("127.0.0.1:0").expect("a free port");
    let door = inside.local_addr().expect("bound");
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| translate(&inside, server, &ended, 60));
        let here = options.connect(door).expect("it is answered");
        let (there, from) = listener.accept().expect("it connected");
        for socket in [&here, &there] {
            socket.set_timeout(Some(windfall_socket::Duration::from_secs(60)));
        }
        talk(&here, &there);
        assert_ne!(there.peer_addr(), from, "the connection has followed");
        ended.store(true, Ordering::Relaxed);
    });
}

/// Sends messages in both directions, one after the other.
fn talk(here: &SapSocket, there: &SapSocket) {
    for number in 0..200_u32 {
        for (from, to) in [(here, there), (there, here)] {
            from.set_mode(Mode::Precise);
            from.send(&number.to_be_bytes().repeat(300)).expect("it is open");
            let message = to.recv().expect("it arrives").expect("no end");
            assert_eq!(message.data[..4], number.to_be_bytes());
        }
    }
}

#[test]
fn a_connection_crosses_a_translator_that_changes_its_port() {
    cross(None);
}

#[test]
fn an_encrypted_connection_crosses_a_translator_that_changes_its_port() {
    cross(Some(SharedKey::new([3; 32])));
}
