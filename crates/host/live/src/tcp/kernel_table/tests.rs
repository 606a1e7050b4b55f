use std::io::Write;
use std::net::{Shutdown, TcpListener, TcpStream};

use super::*;

/// A client and the accepted socket, at an address.
fn pair(address: &str) -> Option<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind(address).ok()?;
    let client = TcpStream::connect(listener.local_addr().ok()?).ok()?;
    Some((client, listener.accept().ok()?.0))
}

#[test]
fn a_program_that_left_is_known_even_while_its_data_wait() {
    for address in ["127.0.0.1:0", "[::1]:0"] {
        let Some((mut client, ours)) = pair(address) else { continue };
        let [own, theirs] = [ours.local_addr(), ours.peer_addr()].map(|it| it.expect("open"));
        let table = KernelTable::read();
        assert!(!table.has_closed(own, theirs) && table.has_program(own, theirs));
        assert_eq!(table.waiting(own, theirs), 0);
        // More than both buffers hold at once, so that the FIN waits behind it.
        client.set_nonblocking(true).expect("it is open");
        let block = vec![0; 1 << 16];
        let mut written = 0;
        while let Ok(len) = client.write(&block) {
            written += len as u64;
        }
        assert!(!KernelTable::read().has_closed(own, theirs));
        drop(client);
        let table = KernelTable::read();
        assert!(table.has_closed(own, theirs) && !table.has_program(own, theirs), "{address}");
        // What has arrived and is not acknowledged yet counts at both ends.
        let waiting = table.waiting(own, theirs);
        assert!(waiting < 2 * written && waiting > written / 2, "{waiting} of {written}");
    }
}

#[test]
fn half_a_connection_is_closed_while_its_program_lives() {
    let (client, ours) = pair("127.0.0.1:0").expect("loopback");
    let [own, theirs] = [ours.local_addr(), ours.peer_addr()].map(|it| it.expect("open"));
    client.shutdown(Shutdown::Write).expect("it is open");
    let table = KernelTable::read();
    assert!(table.has_closed(own, theirs) && table.has_program(own, theirs));
    // A stranger is on another host.
    let stranger = "192.0.2.1:9".parse().expect("an address");
    assert!(!table.has_closed(own, stranger) && !table.has_program(own, stranger));
}

/// The program's FIN waits behind its data, and comes after ours: our socket never stands in
/// CLOSE-WAIT.
#[test]
fn a_program_that_closed_after_us_is_known_when_its_socket_is_gone() {
    let (client, ours) = pair("127.0.0.1:0").expect("loopback");
    let [own, theirs] = [ours.local_addr(), ours.peer_addr()].map(|it| it.expect("open"));
    let held = |state| Entry { state, to_send: 0, unread: 7, is_held: true };
    for state in PEER_CLOSED {
        let table = KernelTable([((own, theirs), held(state))].into());
        assert!(table.has_closed(own, theirs), "{state}");
    }
    let table = KernelTable([((own, theirs), held(ESTABLISHED))].into());
    assert!(!table.has_closed(own, theirs));
    ours.shutdown(Shutdown::Write).expect("it is open");
    drop(client);
    let closed = (0..100_000).any(|_| KernelTable::read().has_closed(own, theirs));
    assert!(closed);
}

#[test]
fn the_fin_behind_unread_bytes_is_none_of_them() {
    let (mut client, ours) = pair("127.0.0.1:0").expect("loopback");
    let [own, theirs] = [ours.local_addr(), ours.peer_addr()].map(|it| it.expect("open"));
    client.write_all(&[1; 1000]).expect("it is open");
    drop(client);
    // What has arrived and is not acknowledged yet counts at both ends.
    let is_exact = (0..100_000).any(|_| KernelTable::read().waiting(own, theirs) == 1000);
    assert!(is_exact, "{}", KernelTable::read().waiting(own, theirs));
}
