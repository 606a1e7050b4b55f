//! Bodies over SAP: by a call of the server, by one of the client, precise and approximate.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::sync::{Arc, Barrier};
use std::thread;

use tokio::net::TcpSocket;
use tokio::task::JoinSet;
use windfall_socket::{SapOptions, SharedKey};
use windfall_testkit::folder::Folder;
use windfall_web::{
    BodyMemory, Fetcher, FetcherSettings, HeaderMap, KEYS_DIFFER, SapDirection, Site, StatusCode,
    Uri,
};

use crate::support::{
    Running, delivery, delivery_with, fetch, fetcher, fetcher_with, get, noise, put, run, site,
};

const WAYS: [SapDirection; 2] = [SapDirection::ServerCalls(0), SapDirection::ClientOpens];

/// A JPEG in all that its structure needs: a head, entropy-coded bytes, an end.
fn picture(length: usize, seed: u32) -> Vec<u8> {
    let mut bytes = vec![0xff, 0xd8, 0xff, 0xda, 0, 4, 1, 2];
    bytes.extend(noise(length, seed).into_iter().map(|byte| byte & 0x7f));
    bytes.extend([0xff, 0xd9]);
    bytes
}

//= S0.39
//= S0.40
//= S0.42
#[test]
fn a_matching_file_comes_over_sap_and_the_rest_over_tcp() {
    let folder = Folder::new("web-match");
    let jpeg = picture(300_000, 1);
    let page = noise(200_000, 2);
    put(&folder, "a.jpg", &jpeg);
    put(&folder, "a.html", &page);
    put(&folder, "empty.jpg", &[]);
    let server = site(&folder);
    for way in WAYS {
        run(async {
            let client = fetcher("image/jpeg, audio/*", false, way);
            let got = fetch(&client, &server.uri("/a.jpg")).await;
            assert!(got.over_sap, "{way:?}: {:?}", got.fallback);
            // A datagram that the loopback drops is missing, and named so.
            assert!(got.bytes == jpeg || got.is_damaged, "{way:?}");
            assert_eq!(got.headers["content-type"], "image/jpeg");
            assert_eq!(got.headers["content-length"], jpeg.len().to_string());
            assert!(!got.headers.contains_key("cache-control"), "{:?}", got.headers);
            let got = fetch(&client, &server.uri("/a.html")).await;
            assert!(!got.over_sap && got.bytes == page, "{way:?}");
            let got = fetch(&client, &server.uri("/empty.jpg")).await;
            assert!(got.over_sap && got.bytes.is_empty(), "{way:?}");
        });
    }
}

//= S0.41
#[test]
fn forced_precise_bodies_are_the_originals() {
    let folder = Folder::new("web-precise");
    let original = noise(3_000_000, 3);
    put(&folder, "data", &original);
    let server = site(&folder);
    for way in WAYS {
        run(async {
            let client = fetcher("", true, way);
            let got = fetch(&client, &server.uri("/data")).await;
            assert!(got.over_sap && !got.is_damaged, "{way:?}: {:?}", got.fallback);
            assert!(got.bytes == original, "{way:?}");
        });
    }
}

#[test]
fn a_precise_body_for_which_there_is_no_memory_comes_over_tcp() {
    let folder = Folder::new("web-precise-memory");
    let original = noise(3_000_000, 4);
    put(&folder, "data", &original);
    let server = site(&folder);
    // Nothing of the body fits, the first message, or some of those that wait for their reader.
    for limit in [0, 20_000, 300_000] {
        for way in WAYS {
            let got = run(fetch_with_memory(limit, way, &server.uri("/data")));
            let (bytes, over_sap, fallback) = got;
            assert!(bytes == original, "{limit}, {way:?}");
            assert!(!over_sap || limit == 300_000, "{limit}, {way:?}");
            assert_eq!(fallback.as_deref(), (!over_sap).then_some("no-memory"), "{limit}, {way:?}");
        }
    }
}

/// Fetches a body as `windfall get --force-precise` does, with this memory for all bodies; returns
/// its bytes, whether all of it came over SAP, and why not.
async fn fetch_with_memory(
    limit: usize,
    way: SapDirection,
    uri: &Uri,
) -> (Vec<u8>, bool, Option<String>) {
    let options = SapOptions::default();
    let memory = BodyMemory::new(limit);
    let settings = FetcherSettings { options, types: None, is_precise: true, way, memory };
    let client = Fetcher::new(settings);
    let headers = HeaderMap::new();
    let mut fetched = client.get(uri, &headers, &Arc::default()).await.expect("a reply");
    let mut bytes = Vec::new();
    while let Some(more) = client.next(uri, &headers, &mut fetched).await.expect("all of it") {
        bytes.extend(more);
    }
    (bytes, fetched.damage().is_some(), fetched.fallback)
}

//= S0.25
#[test]
fn several_files_come_at_once_by_several_ports() {
    let folder = Folder::new("web-ports");
    let files: Vec<_> = (0..8).map(|number| noise(100_000, 10 + number)).collect();
    for (number, bytes) in files.iter().enumerate() {
        put(&folder, &format!("{number}.jpg"), bytes);
    }
    let server = site(&folder);
    run(async {
        let mut fetches = JoinSet::new();
        for number in 0..files.len() {
            let uri = server.uri(&format!("/{number}.jpg"));
            let client = fetcher("image/jpeg", true, SapDirection::ServerCalls(0));
            fetches.spawn(async move { (number, fetch(&client, &uri).await) });
        }
        while let Some(fetched) = fetches.join_next().await {
            let (number, got) = fetched.expect("no panic");
            assert!(got.over_sap && got.bytes == files[number], "{number}: {:?}", got.fallback);
        }
    });
}

/// The first of two UDP ports in a row that are free.
fn two_free_ports() -> u16 {
    loop {
        let one = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).expect("a free port");
        let port = one.local_addr().expect("bound").port();
        if port < u16::MAX && UdpSocket::bind((Ipv4Addr::UNSPECIFIED, port + 1)).is_ok() {
            return port;
        }
    }
}

//= S0.25
#[test]
fn ports_of_the_user_s_choice_serve_one_file_after_the_other() {
    let folder = Folder::new("web-chosen-ports");
    let files: Vec<_> = (0..6).map(|number| noise(30_000, 40 + number)).collect();
    for (number, bytes) in files.iter().enumerate() {
        put(&folder, &format!("{number}.jpg"), bytes);
    }
    let server = site(&folder);
    let port = two_free_ports();
    run(async {
        let client = fetcher("image/jpeg", true, SapDirection::ServerCalls(port));
        for (number, pair) in files.chunks(2).enumerate() {
            let uris = [0, 1].map(|it| server.uri(&format!("/{}.jpg", 2 * number + it)));
            let got = tokio::join!(fetch(&client, &uris[0]), fetch(&client, &uris[1]));
            for (got, bytes) in [got.0, got.1].iter().zip(pair) {
                assert!(got.over_sap && got.bytes == *bytes, "{number}: {:?}", got.fallback);
            }
        }
        // A port that another program has costs no file.
        let taken = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).expect("a free port");
        let port = taken.local_addr().expect("bound").port();
        let client = fetcher("image/jpeg", true, SapDirection::ServerCalls(port));
        let got = fetch(&client, &server.uri("/0.jpg")).await;
        assert!(!got.over_sap && got.bytes == files[0]);
        assert!(got.fallback.is_some_and(|it| it.contains(&port.to_string())));
    });
}

#[test]
fn many_files_share_the_connection_that_the_client_opens() {
    let folder = Folder::new("web-shared");
    let files: Vec<_> = (0..60).map(|number| noise(20_000, 100 + number)).collect();
    for (number, bytes) in files.iter().enumerate() {
        put(&folder, &format!("{number}.jpg"), bytes);
    }
    let delivery = delivery();
    let port = delivery.port();
    let server = Running::start(|_| Site::new(folder.path(), Some(delivery)).expect("a folder"));
    run(async {
        let client = Arc::new(fetcher("image/jpeg", true, SapDirection::ClientOpens));
        // One of them opens the connection, which the others wait for.
        let mut fetches = JoinSet::new();
        for number in 0..files.len() {
            let client = Arc::clone(&client);
            let uri = server.uri(&format!("/{number}.jpg"));
            fetches.spawn(async move { (number, fetch(&client, &uri).await) });
        }
        while let Some(fetched) = fetches.join_next().await {
            let (number, got) = fetched.expect("no panic");
            assert!(got.over_sap && got.bytes == files[number], "{number}: {:?}", got.fallback);
        }
        assert_eq!(udp_sockets_to(port), 1);
    });
}

#[test]
fn bodies_that_the_server_calls_for_take_no_socket_each() {
    let folder = Folder::new("web-recycled");
    put(&folder, "a.jpg", &noise(20_000, 400));
    let server = site(&folder);
    run(async {
        let client = fetcher("image/jpeg", true, SapDirection::ServerCalls(0));
        let sockets = udp_sockets();
        let bodies = 1_000;
        for number in 0..bodies {
            let got = fetch(&client, &server.uri("/a.jpg")).await;
            assert!(got.over_sap, "{number}: {:?}", got.fallback);
        }
        // Other tests of this process open and close theirs meanwhile.
        assert!(udp_sockets() < sockets + bodies / 3, "{sockets}, {} now", udp_sockets());
    });
}

#[test]
fn different_keys_are_named_as_the_reason_for_tcp() {
    let folder = Folder::new("web-keys");
    let original = noise(20_000, 500);
    put(&folder, "a.jpg", &original);
    let with = |digit: &str| {
        SapOptions::default()
            .with(|it| it.key = Some(SharedKey::from_hex(&digit.repeat(64)).expect("a key")))
    };
    let none = SapOptions::default();
    let one = with("1");
    let other = with("2");
    for way in WAYS {
        for (of_server, of_client) in [(one, other), (one, none), (none, one), (one, one)] {
            let make = || Site::new(folder.path(), Some(delivery_with(of_server)));
            let server = Running::start(|_| make().expect("a folder"));
            let client = fetcher_with(of_client, "image/jpeg", false, way);
            let got = run(fetch(&client, &server.uri("/a.jpg")));
            let agree = of_server.key == of_client.key;
            let reason = Some(KEYS_DIFFER).filter(|_| !agree);
            assert_eq!((got.over_sap, got.fallback.as_deref()), (agree, reason), "{way:?}");
            assert!(got.bytes == original, "{way:?}");
        }
    }
}

/// Returns the number of UDP sockets on loopback's ports of this network namespace.
/// Counts the sockets of UDP that are connected to this port.
fn udp_sockets_to(port: u16) -> usize {
    let table = std::fs::read_to_string("/proc/self/net/udp").expect("a table of sockets");
    let end = format!(":{port:04X}");
    let remotes = table.lines().filter_map(|line| line.split_whitespace().nth(2));
    remotes.filter(|remote| remote.ends_with(&end)).count()
}

fn udp_sockets() -> usize {
    std::fs::read_to_string("/proc/self/net/udp").map_or(0, |text| text.lines().count())
}

//= S0.39
//= S0.40
#[test]
fn bad_and_missing_headers_fall_back_to_tcp() {
    let folder = Folder::new("web-bad");
    let original = noise(50_000, 4);
    put(&folder, "a.jpg", &original);
    let server = site(&folder);
    let types = "X-SAP-Approx: image/jpeg";
    for headers in [
        &[][..],
        &[types],
        &["X-SAP-Port: 5004"],
        &[types, "X-SAP-Port: 22"],
        &[types, "X-SAP-Port: 99999"],
        &[types, "X-SAP-Port: five"],
        &[types, "X-SAP-Port: 5004", "X-SAP-Port: 5005"],
        &["X-SAP-Approx: jpeg", "X-SAP-Port: 5004"],
        &["X-SAP-Approx: image/png", "X-SAP-Port: 5004"],
        &["X-SAP-Approx: image/png", "X-SAP-Client-Opens: 1"],
        &[types, "X-SAP-Client-Opens: 0"],
    ] {
        let reply = get(server.at, "/a.jpg", headers);
        assert_eq!(reply.status(), 200, "{headers:?}");
        assert!(reply.body == original, "{headers:?}: {}", reply.head);
        assert!(!reply.head.to_lowercase().contains("x-sap"), "{headers:?}: {}", reply.head);
    }
}

//= S0.40
#[test]
fn the_ports_of_a_client_cannot_be_probed() {
    let folder = Folder::new("web-probe");
    let original = noise(5_000, 5);
    put(&folder, "a.jpg", &original);
    let server = site(&folder);
    let mut answers = Vec::new();
    // Nothing listens there: the port belongs to a socket that was closed.
    let closed = std::net::UdpSocket::bind("127.0.0.1:0").expect("a port");
    let port = closed.local_addr().expect("bound").port();
    drop(closed);
    for _ in 0..8 {
        let port = format!("X-SAP-Port: {port}");
        let reply = get(server.at, "/a.jpg", &["X-SAP-Approx: image/*", &port]);
        assert!(reply.body == original, "{}", reply.head);
        answers.push(reply.header("x-sap-fallback").expect("a reason").to_owned());
    }
    assert_eq!(answers[..4], ["no-answer"; 4]);
    assert_eq!(answers[4..], ["too-many-calls"; 4]);
}

#[test]
fn a_token_opens_one_body_once() {
    use windfall_bodies::Control;
    use windfall_socket::{Message, MessageKind, SapSocket};
    let folder = Folder::new("web-token");
    put(&folder, "a.jpg", &noise(5_000, 6));
    let server = site(&folder);
    let reply = get(server.at, "/a.jpg", &["X-SAP-Approx: image/*", "X-SAP-Client-Opens: 1"]);
    assert_eq!((reply.status(), reply.body.len()), (200, 0));
    assert_eq!(reply.header("cache-control"), Some("no-store"));
    assert_eq!(reply.header("x-sap-length"), Some("5000"));
    let port: u16 = reply.header("x-sap-port").and_then(|it| it.parse().ok()).expect("a port");
    let token = reply.header("x-sap-token").expect("a token");
    let token: Vec<u8> = (0..16)
        .map(|at| u8::from_str_radix(&token[2 * at..2 * at + 2], 16).expect("hexadecimal"))
        .collect();
    let socket = SapSocket::connect(("127.0.0.1", port)).expect("it listens");
    let ask = |transfer: u8, token: &[u8]| {
        let data = [&[1, 0, transfer], token].concat();
        socket.send_message(&Message::new(windfall_socket::Mode::Precise, data)).expect("open");
    };
    // Returns the kinds of messages until a body is whole; an end may follow that is not needed.
    let kinds = |of: u16| {
        let mut kinds = Vec::new();
        let mut came = 0;
        let mut all = u32::MAX;
        while came < all {
            let message = socket.recv().expect("open").expect("no end");
            if message.kind != MessageKind::Precise {
                assert_eq!(message.stream, of);
                came += 1;
                continue;
            }
            match Control::decode(message.data.clone()).expect("sound") {
                (number, Control::End) if number < of => {}
                (number, control) => {
                    assert_eq!(number, of);
                    kinds.push(message.data[0]);
                    all = match control {
                        Control::Plan(plan, _) => plan.pieces(),
                        Control::End | Control::Unknown => 0,
                        _ => all,
                    };
                }
            }
        }
        kinds
    };
    ask(7, &[9; 16]);
    assert_eq!(kinds(7), [2]);
    ask(8, &token);
    assert_eq!(kinds(8)[0], 3);
    ask(9, &token);
    assert_eq!(kinds(9), [2]);
    // The connection has the name of its first transfer, and the next body comes unasked.
    let token: String = token.iter().map(|byte| format!("{byte:02x}")).collect();
    for (name, comes) in [(token.as_str(), true), (&"0".repeat(32), false)] {
        let opens = format!("X-SAP-Client-Opens: {name} 10");
        let reply = get(server.at, "/a.jpg", &["X-SAP-Approx: image/*", &opens]);
        assert_eq!(reply.header("x-sap-token") == Some(&token), comes, "{}", reply.head);
        if comes {
            assert_eq!(kinds(10)[0], 3);
        }
    }
}

/// 128 MiB, a quarter of what may wait in all.
#[test]
fn the_bodies_that_wait_for_one_client_leave_room_for_others() {
    let folder = Folder::new("web-one-client");
    let file = std::fs::File::create(folder.path().join("a.jpg")).expect("a file");
    file.set_len(70 << 20).expect("a sparse file");
    let server = site(&folder);
    let head = |path: &str, from: [u8; 4]| {
        let connecting = async {
            let socket = TcpSocket::new_v4().expect("a socket");
            socket.bind((from, 0).into()).expect("a loopback address");
            socket.connect(server.at).await.expect("it listens").into_std().expect("a socket")
        };
        let mut stream = run(connecting);
        stream.set_nonblocking(false).expect("a socket");
        let offer = "X-SAP-Approx: image/jpeg\r\nX-SAP-Client-Opens: 1\r\n";
        let request = format!("GET {path} HTTP/1.1\r\nHost: a\r\n{offer}\r\n");
        stream.write_all(request.as_bytes()).expect("room");
        let lines = BufReader::new(stream).lines().map_while(Result::ok);
        lines.take_while(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
    };
    let one = [127, 0, 0, 1];
    let another = [127, 0, 0, 2];
    let is_kept = |head: &str| head.contains("x-sap-token");
    assert!(is_kept(&head("/a.jpg", one)));
    let refused = head("/a.jpg", one);
    assert!(!is_kept(&refused) && refused.contains("x-sap-fallback: busy"), "{refused}");
    assert!(is_kept(&head("/a.jpg", another)));
}

/// A server that answers the first request of each connection, those of the first three together,
/// and ends it with `last` once it gets a second one.
fn ends_at_the_second_request(last: &'static [u8]) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    let at = listener.local_addr().expect("bound");
    let together = Arc::new(Barrier::new(3));
    thread::spawn(move || {
        for (number, stream) in listener.incoming().map_while(Result::ok).enumerate() {
            let together = Arc::clone(&together);
            thread::spawn(move || {
                let mut lines = BufReader::new(&stream).lines().map_while(Result::ok);
                let mut asks = || lines.by_ref().take_while(|line| !line.is_empty()).count() > 0;
                if !asks() {
                    return;
                }
                if number < 3 {
                    together.wait();
                }
                let _ = (&stream).write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
                if asks() {
                    let _ = (&stream).write_all(last);
                }
            });
        }
    });
    at
}

#[test]
fn a_request_on_a_kept_connection_that_ends_is_repeated_on_a_new_one() {
    let timeout = b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    for last in [&b""[..], timeout] {
        let server = Running::at(ends_at_the_second_request(last));
        run(async {
            let client = fetcher("", false, SapDirection::Tcp);
            let uri = server.uri("/a");
            let three =
                tokio::join!(fetch(&client, &uri), fetch(&client, &uri), fetch(&client, &uri));
            assert_eq!([three.0, three.1, three.2].map(|got| got.bytes), [b"ok"; 3]);
            // Three connections are kept, each of which ends at its next request.
            let got = client.get(&uri, &HeaderMap::new(), &Arc::default()).await;
            assert_eq!(got.expect("a reply").head.status, StatusCode::OK);
        });
    }
}
