//! The law of memory of a proxy that fetches large bodies over SAP.
//!
//! One test in a program of its own: the memory of all threads is counted. The server of the bodies
//! sends them from memory that was there before.

use std::alloc::System;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use bytes::Bytes;
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use tokio::runtime::Runtime;
use windfall_bodies::{Content, Control, Parcel, send};
use windfall_socket::{SapListener, SapOptions, SapSocket};
use windfall_web::{
    AccessLog, BodyMemory, DeliveryRules, FetcherSettings, Proxy, SapDirection, ServerLimits, serve,
};

#[global_allocator]
static HEAP: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// The length of each body, and how many are fetched at the same time, and one after the other.
const LENGTH: usize = 8 << 20;
const AT_ONCE: usize = 8;
const ROUNDS: usize = 2;
/// The bytes that bodies and messages may take.
const BODIES: usize = 30_000_000;
const MESSAGES: usize = 8 << 20;
/// The bytes that threads, sockets and connections over TCP take beside them.
const OWN: usize = 12 << 20;
/// Longer than anything takes here, on a machine however busy.
const LONG: Duration = Duration::from_secs(60);

fn heap() -> usize {
    let stats = HEAP.stats();
    stats.bytes_allocated.saturating_sub(stats.bytes_deallocated)
}

/// A line of what the system says of this process, in bytes.
fn status(name: &str) -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<usize>().ok());
    kilobytes.unwrap_or_default() << 10
}

/// Reads the head of a message.
fn head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && matches!(stream.read(&mut byte), Ok(1)) {
        head.extend(byte);
    }
    String::from_utf8_lossy(&head).into_owned()
}

/// A server that sends the same bytes for all addresses, over SAP to whoever takes that.
fn origin(body: &'static [u8]) -> SocketAddr {
    let listener = SapOptions::default().listen((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    let port = listener.local_addr().expect("bound").port();
    thread::spawn(move || over_sap(&listener, body));
    let server = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let at = server.local_addr().expect("bound");
    thread::spawn(move || {
        for (number, stream) in (1..).zip(server.incoming().map_while(Result::ok)) {
            thread::spawn(move || answer(stream, port, number, body));
        }
    });
    at
}

fn answer(mut stream: TcpStream, port: u16, number: u128, body: &[u8]) {
    let is_offer = head(&mut stream).to_lowercase().contains("x-sap-approx");
    let own = if is_offer {
        format!("X-SAP-Token: {number:032x}\r\nX-SAP-Length: {LENGTH}\r\nX-SAP-Port: {port}\r\n")
    } else {
        String::new()
    };
    let length = if is_offer { 0 } else { LENGTH };
    let head = "HTTP/1.1 200 OK\r\nContent-Type: image/jpeg\r\nConnection: close\r\n";
    let _ = write!(stream, "{head}{own}Content-Length: {length}\r\n\r\n");
    let _ = stream.write_all(&body[..length]);
}

fn over_sap(listener: &SapListener, body: &'static [u8]) {
    while let Ok((socket, _)) = listener.accept() {
        let socket = Arc::new(socket);
        thread::spawn(move || asked(&socket, body));
    }
}

fn asked(socket: &Arc<SapSocket>, body: &'static [u8]) {
    while let Ok(Some(message)) = socket.recv() {
        let Ok((transfer, Control::Ask(token))) = Control::decode(message.data) else { return };
        let socket = Arc::clone(socket);
        let content = Content::Memory(Bytes::from_static(body));
        let parcel = Parcel { token, content, is_precise: false, exact: Some(Vec::new()) };
        thread::spawn(move || send(&socket, transfer, &parcel));
    }
}

/// Fetches a body through the proxy, and returns the number of its bytes.
fn fetch(proxy: SocketAddr, uri: &str) -> usize {
    let mut stream = TcpStream::connect(proxy).expect("it listens");
    stream.set_read_timeout(Some(LONG)).expect("a timeout");
    let head_of = format!("GET {uri} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    stream.write_all(head_of.as_bytes()).expect("room");
    let head = head(&mut stream);
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    let mut bytes = [0; 16 << 10];
    let mut count = 0;
    loop {
        match stream.read(&mut bytes).expect("a body") {
            0 => return count,
            more => count += more,
        }
    }
}

#[test]
fn a_proxy_holds_no_more_than_its_bodies_and_messages_may_take() {
    windfall_socket::limit_memory(MESSAGES);
    windfall_socket::give_freed_memory_back();
    let body: &'static [u8] = vec![0xa5; LENGTH].leak();
    let origin = origin(body);
    let memory = BodyMemory::new(BODIES);
    let settings = FetcherSettings {
        options: SapOptions::default(),
        types: None,
        is_precise: false,
        way: SapDirection::ClientOpens,
        memory: memory.clone(),
    };
    let proxy = Proxy::new(settings, DeliveryRules::default());
    let runtime = Runtime::new().expect("threads");
    let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).expect("a port");
    let at = listener.local_addr().expect("bound");
    let log = Arc::new(AccessLog::none());
    runtime.spawn(async move {
        serve(listener, Arc::new(proxy), ServerLimits::default(), log).await;
    });
    let before = heap();
    let resident = status("VmRSS:");
    let most = AtomicUsize::new(0);
    let is_over = AtomicBool::new(false);
    let fetched: Vec<_> = thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                most.fetch_max(heap().saturating_sub(before), Ordering::Relaxed);
                thread::park_timeout(Duration::from_millis(1));
            }
        });
        let round = |round: usize| {
            let uri = move |number: usize| format!("http://{origin}/{round}/{number}.jpg");
            let fetching = (0..AT_ONCE).map(uri).map(|uri| thread::spawn(move || fetch(at, &uri)));
            let fetching: Vec<_> = fetching.collect();
            fetching.into_iter().map(JoinHandle::join).collect::<Vec<_>>()
        };
        let fetched = (0..ROUNDS).flat_map(round).collect();
        is_over.store(true, Ordering::Relaxed);
        fetched
    });
    assert!(fetched.into_iter().all(|count| count.expect("a body") == LENGTH));
    let most = most.into_inner();
    assert!(most <= BODIES + MESSAGES + OWN, "{most} bytes");
    // The allocator keeps hardly more than that.
    let peak = status("VmHWM:").saturating_sub(resident);
    assert!(peak <= BODIES + MESSAGES + 2 * OWN, "{peak} bytes, {most} of them allocated");
    assert_eq!(memory.held(), 0);
    runtime.shutdown_background();
}
