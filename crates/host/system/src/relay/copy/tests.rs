use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};

use tokio::runtime::Builder;
use tokio::task::LocalSet;

use super::*;

/// Waits for 10 s at most.
const LONG: Option<Duration> = Some(Duration::from_secs(10));

/// A relay to an address that carries a number of connections; returns its own address.
fn relay(target: &str, most: usize) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let targets = [target.to_owned()];
    std::thread::spawn(move || {
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        LocalSet::new().block_on(&runtime, async move {
            listener.set_nonblocking(true).expect("a socket");
            let listener = tokio::net::TcpListener::from_std(listener).expect("a socket");
            carry(listener, Targets::new(&targets), most, Counts::default()).await
        })
    });
    address
}

/// A server, and its address.
fn server() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    (listener, address)
}

/// A client and the end of its connection at the server, after a byte has gone each way.
fn carried(relay: &str, server: &TcpListener) -> (TcpStream, TcpStream) {
    let mut client = TcpStream::connect(relay).expect("it listens");
    client.write_all(b"a").expect("room");
    let (mut server, _) = server.accept().expect("a client");
    [&client, &server].iter().for_each(|it| it.set_read_timeout(LONG).expect("a time"));
    server.read_exact(&mut [0]).expect("a byte");
    server.write_all(b"b").expect("room");
    client.read_exact(&mut [0]).expect("a byte");
    (client, server)
}

/// Ends a connection by a reset.
fn reset(stream: TcpStream) {
    set_socket_linger(&stream, Some(Duration::ZERO)).expect("a socket");
    drop(stream);
}

#[test]
fn a_reset_is_passed_on_both_ways() {
    let (listener, address) = server();
    let relay = relay(&address, CONNECTIONS);
    let (client, mut server) = carried(&relay, &listener);
    reset(client);
    let error = server.read(&mut [0]).expect_err("no orderly end");
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    let (mut client, server) = carried(&relay, &listener);
    reset(server);
    let error = client.read(&mut [0]).expect_err("no orderly end");
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
}

#[test]
fn an_end_of_one_direction_leaves_the_other_open() {
    let (listener, address) = server();
    let (mut client, mut server) = carried(&relay(&address, CONNECTIONS), &listener);
    client.shutdown(Shutdown::Write).expect("an end");
    assert_eq!(server.read(&mut [0]).expect("an end"), 0);
    server.write_all(b"after").expect("room");
    drop(server);
    let mut text = String::new();
    client.read_to_string(&mut text).expect("text");
    assert_eq!(text, "after");
}

#[test]
fn a_client_whose_target_refuses_is_reset() {
    let (listener, address) = server();
    drop(listener);
    let mut client = TcpStream::connect(relay(&address, CONNECTIONS)).expect("it listens");
    client.set_read_timeout(LONG).expect("a time");
    let error = client.read(&mut [0]).expect_err("no orderly end");
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
}

#[test]
fn the_connection_that_is_idle_for_longest_gives_way_to_a_new_one() {
    let (listener, address) = server();
    let relay = relay(&address, 8);
    let mut idle: Vec<_> = (0..8).map(|_| carried(&relay, &listener)).collect();
    // The first one is active again.
    idle[0].0.write_all(b"c").expect("room");
    idle[0].1.read_exact(&mut [0]).expect("a byte");
    let newcomers: Vec<_> = (0..4).map(|_| carried(&relay, &listener)).collect();
    for (number, (client, server)) in idle.iter_mut().enumerate() {
        if (1..5).contains(&number) {
            for end in [client, server] {
                let error = end.read(&mut [0]).expect_err("no orderly end");
                assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{number}");
            }
        } else {
            client.write_all(b"d").expect("room");
            server.read_exact(&mut [0]).expect("it is there");
        }
    }
    drop(newcomers);
}

#[test]
fn a_target_that_refuses_gives_way_to_the_next() {
    let (gone, refuses) = server();
    drop(gone);
    let (listener, address) = server();
    let port = address.rsplit_once(':').expect("a port").1;
    let here = TcpListener::bind("127.0.0.1:0").expect("a port");
    let relay = here.local_addr().expect("an address").to_string();
    // The name is one of IPv6 first, where nothing listens.
    let targets = [refuses, format!("localhost:{port}")];
    std::thread::spawn(move || {
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        LocalSet::new().block_on(&runtime, async move {
            here.set_nonblocking(true).expect("a socket");
            let here = tokio::net::TcpListener::from_std(here).expect("a socket");
            carry(here, Targets::new(&targets), 8, Counts::default()).await
        })
    });
    carried(&relay, &listener);
}

#[test]
fn an_error_says_whether_memory_is_scarce_or_the_socket_useless() {
    // accept(2): the first four pass, the next four stay.
    let known = |number: Errno| {
        let error = io::Error::from_raw_os_error(number.raw_os_error());
        (is_scarce(&error), is_closed(&error))
    };
    for number in [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM] {
        assert_eq!(known(number), (true, false), "{number:?}");
    }
    for number in [Errno::BADF, Errno::NOTSOCK, Errno::INVAL, Errno::OPNOTSUPP] {
        assert_eq!(known(number), (false, true), "{number:?}");
    }
    for number in [Errno::CONNABORTED, Errno::CONNREFUSED, Errno::AGAIN, Errno::PERM] {
        assert_eq!(known(number), (false, false), "{number:?}");
    }
    // One that the system did not tell is neither.
    let own = io::Error::from(ErrorKind::NotFound);
    assert_eq!((is_scarce(&own), is_closed(&own)), (false, false));
}

#[test]
fn clients_evictions_and_refusals_are_counted() {
    let (listener, address) = server();
    let (gone, refuses) = server();
    drop(gone);
    for (target, most, expected) in
        [(&address, 8, [3, 0, 0]), (&address, 2, [3, 1, 0]), (&refuses, 8, [3, 0, 3])]
    {
        let file = crate::relay::counts::CountsFile::new().expect("a file");
        let told = file.writer().expect("a descriptor");
        let here = TcpListener::bind("127.0.0.1:0").expect("a port");
        let relay = here.local_addr().expect("an address").to_string();
        let targets = [target.clone()];
        std::thread::spawn(move || {
            let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
            LocalSet::new().block_on(&runtime, async move {
                here.set_nonblocking(true).expect("a socket");
                let here = tokio::net::TcpListener::from_std(here).expect("a socket");
                carry(here, Targets::new(&targets), most, Counts::telling(told.into())).await
            })
        });
        if *target == address {
            let _all: Vec<_> = (0..3).map(|_| carried(&relay, &listener)).collect();
        } else {
            for _ in 0..3 {
                let mut client = TcpStream::connect(&relay).expect("it listens");
                client.set_read_timeout(LONG).expect("a time");
                client.read(&mut [0]).expect_err("no orderly end");
            }
        }
        let counts = file.read();
        let count = |it: PortCount| counts.get(it.name()).copied().unwrap_or_default();
        let found = [PortCount::Clients, PortCount::EvictedIdle, PortCount::Refused].map(count);
        assert_eq!(found, expected, "{target} {most}");
    }
}
