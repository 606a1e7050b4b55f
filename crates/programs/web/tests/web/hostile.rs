//! Servers that announce more than they send.

use std::io::{ErrorKind, Read as _, Write as _};
use std::iter::once;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use windfall_bodies::{BodyPlan, Control, LONGEST_BODY};
use windfall_socket::{Message, Mode, SapListener, SapOptions, SapSocket};
use windfall_testkit::folder::Folder;
use windfall_web::{
    AccessLog, BodyMemory, DeliveryRules, FetchError, FetcherSettings, HeaderMap, HeaderValue,
    Proxy, RANGE, Repair, SapDirection, ServerLimits, Site,
};

use crate::support::{Running, delivery, fetcher, get, put, run};

const TOKEN: [u8; 16] = [7; 16];
const ANNOUNCED: &str = "HTTP/1.1 200 OK\r\nContent-Type: image/jpeg\r\nContent-Length: 0\r\n";
/// A body of ten bytes.
const SHORT: [u8; 16] = [8; 16];
const PLAIN: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nplain";

/// Answers each offer with a body of the longest length, and all else with a short one over TCP.
fn server() -> Running {
    let options = SapOptions::default();
    let listener = options.listen((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    let port = listener.local_addr().expect("bound").port();
    thread::spawn(move || bodies(&listener));
    let server = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let at = server.local_addr().expect("bound");
    thread::spawn(move || {
        for stream in server.incoming().map_while(Result::ok) {
            thread::spawn(move || answer(stream, port));
        }
    });
    Running::at(at)
}

fn answer(mut stream: TcpStream, port: u16) {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && matches!(stream.read(&mut byte), Ok(1)) {
        head.extend(byte);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    // The path names the range of a part.
    if let Some(range) = head.strip_prefix("GET /bytes/").and_then(|rest| rest.split(' ').next()) {
        let token: String = SHORT.iter().map(|byte| format!("{byte:02x}")).collect();
        let range = range.replace("of", "/");
        let part = format!(
            "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes {range}\r\nContent-Length: 0\r\n\
             X-SAP-Token: {token}\r\nX-SAP-Length: 10\r\nX-SAP-Port: {port}\r\n\
             Connection: close\r\n\r\n"
        );
        let _ = stream.write_all(part.as_bytes());
        return;
    }
    let is_offer = head.to_lowercase().contains("x-sap-approx");
    let token: String = TOKEN.iter().map(|byte| format!("{byte:02x}")).collect();
    let announced = format!(
        "{ANNOUNCED}X-SAP-Token: {token}\r\nX-SAP-Length: {LONGEST_BODY}\r\nX-SAP-Port: {port}\r\n\
         Connection: close\r\n\r\n"
    );
    let _ = stream.write_all(if is_offer { announced.as_bytes() } else { PLAIN.as_bytes() });
}

fn bodies(listener: &SapListener) {
    while let Ok((socket, _)) = listener.accept() {
        thread::spawn(move || body(&socket));
    }
}

/// Sends the description, one piece and the end of each body that is asked for.
fn body(socket: &SapSocket) {
    while let Ok(Some(message)) = socket.recv() {
        let Ok((transfer, Control::Ask(token))) = Control::decode(message.data) else { return };
        let control = |control: &Control| {
            let data = control.encode(transfer);
            let mode = Mode::Precise;
            socket.send_message(&Message { stream: transfer % 32, mode, data })
        };
        if token == SHORT {
            let plan = BodyPlan { token, piece: 1_000, length: 10, exact: once(0..10).collect() };
            let _ = control(&Control::Plan(plan, Bytes::from_static(b"0123456789")));
            continue;
        }
        let length = LONGEST_BODY as u32;
        let plan = BodyPlan { token, piece: 1_000, length, exact: Vec::new() };
        let mut piece = vec![1; 1_000];
        piece[..4].copy_from_slice(&[0xff, 0xd8, 0xff, 0xda]);
        let mode = Mode::Approximate { protected: 0 };
        let piece = Message { stream: transfer, mode, data: piece.into() };
        let sent = control(&Control::Plan(plan, Bytes::new()))
            .and_then(|()| socket.send_message(&piece))
            .and_then(|()| control(&Control::End));
        if sent.is_err() {
            return;
        }
    }
}

/// The most memory that this process has had, in bytes.
fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.trim().split(' ').next()?.parse::<usize>().ok());
    kilobytes.unwrap_or_default() * 1_000
}

#[test]
fn what_is_announced_takes_no_memory_and_the_body_comes_over_tcp() {
    let server = server();
    let memory = BodyMemory::default();
    for way in [SapDirection::ClientOpens] {
        let options = SapOptions::default();
        let memory = memory.clone();
        let settings = FetcherSettings { options, types: None, is_precise: false, way, memory };
        let proxy = Running::start(|_| Proxy::new(settings, DeliveryRules::default()));
        let before = peak();
        let asking: Vec<_> = (0..12)
            .map(|number| {
                let at = proxy.at;
                let uri = server.uri(&format!("/{number}.jpg")).to_string();
                thread::spawn(move || get(at, &uri, &[]))
            })
            .collect();
        for asked in asking {
            let reply = asked.join().expect("an answer");
            assert_eq!((reply.status(), &reply.body[..]), (200, &b"plain"[..]), "{}", reply.head);
        }
        // Other tests of this process have bodies of their own.
        let more = peak() - before;
        assert!(more < LONGEST_BODY as usize, "{more} bytes for {} announced", 12 * LONGEST_BODY);
    }
    assert_eq!(memory.held(), 0);
}

/// A length that is announced would be written as that many zeros.
#[test]
fn a_body_of_which_hardly_anything_has_arrived_comes_over_tcp_whatever_is_repaired() {
    let server = server();
    for repair in [Repair::None, Repair::Intolerable, Repair::All] {
        let uri = server.uri("/a.jpg");
        let client = fetcher("*/*", false, SapDirection::ClientOpens);
        let asked = HeaderMap::new();
        let bytes = run(async {
            let mut came = client.get(&uri, &asked, &Default::default()).await.expect("a reply");
            client.mend(repair, &uri, &asked, &mut came).await.expect("a body");
            let next = client.next(&uri, &asked, &mut came).await;
            next.expect("it goes on").expect("no end")
        });
        assert_eq!(bytes, "plain", "{repair:?}");
    }
}

/// The ranges that replies over SAP name are those of their bodies, and those that were asked for.
#[test]
fn a_part_over_sap_is_the_one_that_was_asked_for() {
    let server = server();
    for (range, is_right) in [
        ("4-13of14", true),
        ("4-13of*", true),
        ("4-12of14", false),
        ("0-9of14", false),
        ("5-14of15", false),
        ("4-13of20", false),
        ("none", false),
    ] {
        let uri = server.uri(&format!("/bytes/{range}"));
        let client = fetcher("*/*", true, SapDirection::ClientOpens);
        let asked = HeaderMap::from_iter([(RANGE, HeaderValue::from_static("bytes=4-"))]);
        let came = run(async {
            let mut came = client.get(&uri, &asked, &Default::default()).await?;
            client.mend(Repair::None, &uri, &asked, &mut came).await?;
            let mut bytes = Vec::new();
            while let Some(more) = client.next(&uri, &asked, &mut came).await? {
                bytes.extend(more);
            }
            Ok::<_, FetchError>(bytes)
        });
        match came {
            Ok(bytes) => assert!(is_right && bytes == b"0123456789", "{range}"),
            Err(error) => assert!(!is_right, "{range}: {error}"),
        }
    }
}

#[test]
fn heads_that_never_end_take_no_more_memory_than_heads_may() {
    let folder = Folder::new("web-heads");
    put(&folder, "a", b"a");
    // Room for eight heads of the longest kind.
    let limits = ServerLimits { heads: 8 * (64 << 10), ..ServerLimits::default() };
    let make = |_| Site::new(folder.path(), Some(delivery())).expect("a folder");
    let server = Running::within(limits, AccessLog::none(), make);
    let head = [b"GET /a HTTP/1.1\r\nHost: a\r\nX: ".as_slice(), &[b'x'; 60_000]].concat();
    let mut hostile: Vec<TcpStream> = (0..40)
        .map(|_| {
            let mut stream = TcpStream::connect(server.at).expect("it listens");
            // One that is sent away meanwhile cannot take it all.
            let _ = stream.write_all(&head);
            stream
        })
        .collect();
    // Everybody else is answered, in the place of the one that has waited for longest.
    assert_eq!(get(server.at, "/a", &[]).status(), 200);
    let is_open = |stream: &mut TcpStream| {
        stream.set_read_timeout(Some(Duration::from_millis(200))).expect("a timeout");
        let read = stream.read(&mut [0; 1_000]);
        read.is_err_and(|error| matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut))
    };
    let open = hostile.iter_mut().filter_map(|it| is_open(it).then_some(())).count();
    assert!(open <= 8, "{open} are open");
}
