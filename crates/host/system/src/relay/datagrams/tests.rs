#![expect(clippy::disallowed_methods, reason = "silence and refusals take real time")]

use std::net::UdpSocket;
use std::sync::mpsc::channel;

use tokio::runtime::Builder;
use tokio::task::LocalSet;

use super::*;
use crate::relay::counts::CountsFile;

/// A socket of loopback that waits for 10 s at most.
fn socket() -> (UdpSocket, String) {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    socket.set_read_timeout(Some(Duration::from_secs(10))).expect("a time");
    let address = socket.local_addr().expect("an address").to_string();
    (socket, address)
}

/// A relay to these targets; returns its address, and what it counts.
fn relay(targets: Vec<String>, most: usize, idle: Duration) -> (String, CountsFile) {
    let (socket, address) = socket();
    let counts = CountsFile::new().expect("a file");
    let told = counts.writer().expect("a descriptor");
    let (sender, ready) = channel();
    std::thread::spawn(move || {
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        LocalSet::new().block_on(&runtime, async move {
            socket.set_nonblocking(true).expect("a socket");
            let socket = tokio::net::UdpSocket::from_std(socket).expect("a socket");
            sender.send(()).expect("it waits");
            carry(socket, Targets::new(&targets), most, idle, Counts::telling(told.into())).await
        })
    });
    ready.recv().expect("it begins");
    (address, counts)
}

#[test]
fn each_client_has_its_own_port_and_gets_its_own_answers() {
    let (server, target) = socket();
    let (relay, _counts) = relay(vec![target], CLIENTS, IDLE);
    let clients = [socket().0, socket().0];
    let mut buffer = [0; 2_000];
    let mut seen = Vec::new();
    for (client, text) in clients.iter().zip([&[1; 1_400][..], &[2]]) {
        client.send_to(text, &relay).expect("it is sent");
        let (length, from) = server.recv_from(&mut buffer).expect("a datagram");
        assert_eq!(&buffer[..length], text);
        seen.push(from);
    }
    assert_ne!(seen[0], seen[1]);
    server.send_to(b"second", seen[1]).expect("it is sent");
    server.send_to(b"first", seen[0]).expect("it is sent");
    for (client, text) in clients.iter().zip([&b"first"[..], b"second"]) {
        let length = client.recv(&mut buffer).expect("an answer");
        assert_eq!(&buffer[..length], text);
    }
    // An empty datagram is one as well.
    clients[0].send_to(b"", &relay).expect("it is sent");
    assert_eq!(server.recv_from(&mut buffer).expect("a datagram"), (0, seen[0]));
}

#[test]
fn a_target_that_refuses_gives_way_to_the_next_whatever_its_family() {
    let refusing = socket().1;
    let (server, target) = socket();
    let port = server.local_addr().expect("an address").port();
    for targets in
        [vec![refusing, target], vec![format!("[::1]:{port}"), format!("127.0.0.1:{port}")]]
    {
        let (relay, _counts) = relay(targets, CLIENTS, IDLE);
        let client = socket().0;
        let mut buffer = [0; 10];
        for text in [&b"hello"[..], b"again"] {
            client.send_to(text, &relay).expect("it is sent");
            let (length, from) = server.recv_from(&mut buffer).expect("a datagram");
            assert_eq!(&buffer[..length], text);
            server.send_to(text, from).expect("it is sent");
            assert_eq!(client.recv(&mut buffer).expect("an answer"), text.len());
        }
    }
}

#[test]
fn a_server_that_comes_later_at_any_target_is_found() {
    let (early, first) = socket();
    let (late, second) = socket();
    drop((early, late));
    let (relay, counts) = relay(vec![first.clone(), second], CLIENTS, IDLE);
    let client = socket().0;
    let refused = || counts.read().get("refused").copied().unwrap_or_default();
    for number in 1..=3 {
        client.send_to(b"x", &relay).expect("it is sent");
        for _ in 0..1_000 {
            if refused() >= number {
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(refused(), number);
    }
    let server = UdpSocket::bind(&first).expect("it is free");
    server.set_read_timeout(Some(Duration::from_secs(10))).expect("a time");
    client.send_to(b"now", &relay).expect("it is sent");
    let mut buffer = [0; 10];
    assert_eq!(server.recv(&mut buffer).expect("a datagram"), 3);
}

#[test]
fn clients_of_one_question_do_not_displace_an_active_one() {
    let (server, target) = socket();
    let (relay, counts) = relay(vec![target], 16, IDLE);
    let mut buffer = [0; 10];
    let mut ask = |client: &UdpSocket| {
        client.send_to(b"question", &relay).expect("it is sent");
        let (_, from) = server.recv_from(&mut buffer).expect("a datagram");
        server.send_to(b"answer", from).expect("it is sent");
        assert_eq!(client.recv(&mut buffer).expect("an answer"), 6);
        from
    };
    let steady = socket().0;
    let first = ask(&steady);
    // Open sockets have ports of their own.
    let mut clients = Vec::new();
    for number in 0..100 {
        clients.push(socket().0);
        ask(&clients[number]);
        if number % 10 == 0 {
            assert_eq!(ask(&steady), first, "one that is active keeps its port");
        }
    }
    let counts = counts.read();
    assert_eq!((counts["clients"], counts["evicted-idle"]), (101, 85));
}

#[test]
fn further_clients_begin_with_the_target_that_has_answered() {
    let refusing = socket().1;
    let (server, target) = socket();
    let (relay, counts) = relay(vec![refusing, target], CLIENTS, IDLE);
    let mut buffer = [0; 10];
    // A host reports a few refusals only, and is silent then.
    for number in 0..200 {
        let client = socket().0;
        client.send_to(b"question", &relay).expect("it is sent");
        let (_, from) = server.recv_from(&mut buffer).expect("a datagram");
        server.send_to(b"answer", from).expect("it is sent");
        assert_eq!(client.recv(&mut buffer).expect("an answer"), 6, "{number}");
    }
    assert_eq!(counts.read().get("refused"), None);
}

#[test]
fn a_client_that_is_silent_for_long_is_forgotten_and_comes_by_a_new_port() {
    let (server, target) = socket();
    let (relay, _counts) = relay(vec![target], CLIENTS, Duration::from_millis(20));
    let client = socket().0;
    let from = || {
        client.send_to(b"x", &relay).expect("it is sent");
        server.recv_from(&mut [0]).expect("a datagram").1
    };
    let first = from();
    let is_new = (0..500).any(|_| {
        std::thread::sleep(Duration::from_millis(60));
        from() != first
    });
    assert!(is_new);
}

#[test]
fn a_client_keeps_its_port_at_an_only_target_that_refuses_for_a_while() {
    let (server, target) = socket();
    let (relay, counts) = relay(vec![target.clone()], CLIENTS, IDLE);
    let client = socket().0;
    let mut buffer = [0; 10];
    client.send_to(b"x", &relay).expect("it is sent");
    let (_, first) = server.recv_from(&mut buffer).expect("a datagram");
    drop(server);
    client.send_to(b"x", &relay).expect("it is sent");
    let is_refused = (0..1_000).any(|_| {
        std::thread::sleep(Duration::from_millis(5));
        counts.read().get("refused") == Some(&1)
    });
    assert!(is_refused);
    let server = UdpSocket::bind(&target).expect("it is free");
    server.set_read_timeout(Some(Duration::from_secs(10))).expect("a time");
    client.send_to(b"x", &relay).expect("it is sent");
    assert_eq!(server.recv_from(&mut buffer).expect("a datagram").1, first);
    assert_eq!(counts.read()["clients"], 1);
}
