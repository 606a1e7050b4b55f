//! What HTTP asks of servers, of clients and of those between them.

use std::io::{Read as _, Write as _};
use std::iter::once;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::ffi::OsStrExt as _;
use std::sync::Arc;

use hyper::Response;
use windfall_socket::SapOptions;
use windfall_testkit::folder::Folder;
use windfall_web::{
    BodyDamage, BodyMemory, DeliveredBody, DeliveryRules, FetchError, FetcherSettings, Gateway,
    HeaderMap, Proxy, Repair, SapDirection, Site,
};

use crate::support::{Running, delivery, fetcher, get, put, raw, run, site};

/// TCP's checksum misses some damage where a link passes damaged packets up.
#[test]
fn a_repair_whose_head_is_damaged_is_asked_for_again() {
    const PART: &str = "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 3-5/9\r\n\
        ETag: \"a\"\r\nContent-Length: 3\r\n\r\ndef";
    let repaired = |connections: Vec<Vec<&'static str>>| {
        let uri = format!("http://{}/a", scripted(connections)).parse().expect("an address");
        let damage = BodyDamage { missing: once(3..6).collect(), ..BodyDamage::default() };
        let mut body = DeliveredBody::new(b"abc\0\0\0ghi".to_vec(), damage, true);
        let headers = HeaderMap::new();
        let head = Response::builder().header("etag", "\"a\"").body(()).expect("a head");
        let head = head.into_parts().0;
        let client = fetcher("", false, SapDirection::Tcp);
        let came = run(client.repair(Repair::All, &uri, &headers, &head, &mut body));
        (came, body.into_bytes().expect("all of it"))
    };
    let damaged = ["HTP/1.1 206 Partial Content\r\n\r\n", &PART.replace("3-5/9", "3-5/8")[..]]
        .map(|reply| vec![reply.to_owned().leak() as &str]);
    let [status, range] = damaged.clone();
    let (came, bytes) = repaired(vec![status.clone(), range, vec![PART]]);
    let whole = (3, &b"abcdefghi"[..]);
    assert_eq!((came.expect("the third try"), &bytes[..]), whole);
    let short = vec![&PART[..PART.len() - 2]];
    let (came, bytes) = repaired(vec![short, vec![PART]]);
    assert_eq!((came.expect("the bytes that are missing never come"), &bytes[..]), whole);
    let (came, bytes) = repaired(vec![status; 4]);
    let error = came.expect_err("no reply is whole").to_string();
    assert!(error.contains("asked for 3 times"), "{error}");
    assert_eq!(&bytes[..], b"abc\0\0\0ghi");
}

/// Reads a request up to the end of its head; returns whether one came.
fn read_head(stream: &mut TcpStream) -> bool {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        if !matches!(stream.read(&mut byte), Ok(1)) {
            return false;
        }
        head.extend(byte);
    }
    true
}

/// A server whose connections each take the requests that have a reply here, and then end with the
/// next request.
fn scripted(connections: Vec<Vec<&'static str>>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let at = listener.local_addr().expect("it is bound");
    std::thread::spawn(move || {
        for replies in connections {
            let Ok((mut stream, _)) = listener.accept() else { return };
            // A connection that the client keeps does not hold up the next one.
            std::thread::spawn(move || {
                for reply in replies {
                    if !read_head(&mut stream) || stream.write_all(reply.as_bytes()).is_err() {
                        break;
                    }
                }
                read_head(&mut stream);
            });
        }
    });
    at
}

fn proxy() -> Running {
    let options = SapOptions::default();
    let way = SapDirection::Tcp;
    let memory = BodyMemory::default();
    let settings = FetcherSettings { options, types: None, is_precise: false, way, memory };
    Running::start(|_| Proxy::new(settings, DeliveryRules::default()))
}

#[test]
fn a_request_names_one_host() {
    let folder = Folder::new("web-host");
    put(&folder, "a", b"a");
    let server = site(&folder);
    let ask = |version: &str, hosts: &str| {
        let request = format!("GET /a HTTP/{version}\r\n{hosts}Connection: close\r\n\r\n");
        raw(server.at, &request).status()
    };
    for (version, hosts, status) in [
        ("1.1", "Host: x\r\n", 200),
        ("1.1", "Host: [::1]:8080\r\n", 200),
        ("1.1", "Host:\r\n", 200),
        ("1.0", "", 200),
        ("1.1", "", 400),
        ("1.1", "Host: x\r\nHost: x\r\n", 400),
        ("1.1", "Host: x\r\nHost: y\r\n", 400),
        ("1.0", "Host: x\r\nHost: y\r\n", 400),
        ("1.1", "Host: a b\r\n", 400),
        ("1.1", "Host: me@x\r\n", 400),
        ("1.1", "Host: x:99999\r\n", 400),
        ("1.1", "Host: x:80x\r\n", 400),
    ] {
        assert_eq!(ask(version, hosts), status, "{version} {hosts}");
    }
}

#[test]
fn a_port_that_is_none_is_not_taken_for_another() {
    let proxy = proxy();
    for port in ["99999", "65536", "0"] {
        let uri = format!("http://127.0.0.1:{port}/a");
        let reply = get(proxy.at, &uri, &[]);
        let said = String::from_utf8_lossy(&reply.body).into_owned();
        assert!(reply.status() == 400 && said.contains("port"), "{port}: {said}");
        let client = fetcher("", true, SapDirection::Tcp);
        let uri = uri.parse().expect("an address");
        let got = run(async { client.get(&uri, &HeaderMap::new(), &Default::default()).await });
        assert!(matches!(got, Err(FetchError::Port(_))), "{port}");
        assert!(Gateway::new(&uri, delivery()).is_err());
    }
}

#[test]
fn a_request_is_repeated_when_a_kept_connection_has_ended() {
    let [first, second] = ["1", "2"].map(|body| {
        let reply = format!("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n{body}");
        &*String::leak(reply)
    });
    let at = scripted(vec![vec![first], vec![second]]);
    let proxy = proxy();
    for body in [b"1", b"2"] {
        let reply = get(proxy.at, &format!("http://{at}/"), &[]);
        assert_eq!((reply.status(), &reply.body[..]), (200, &body[..]));
    }
    // What changes something is sent once.
    let at = scripted(vec![vec![first], vec![second]]);
    assert_eq!(get(proxy.at, &format!("http://{at}/"), &[]).status(), 200);
    let post = format!("POST http://{at}/ HTTP/1.1\r\nHost: {at}\r\nContent-Length: 0\r\n");
    assert_eq!(raw(proxy.at, &format!("{post}Connection: close\r\n\r\n")).status(), 502);
}

#[test]
fn a_body_that_is_announced_over_sap_is_not_an_empty_one() {
    let token = "00112233445566778899aabbccddeeff";
    let offered = SapDirection::ClientOpens;
    for (way, headers, why) in [
        (offered, "X-SAP-Token: zz\r\n".to_owned(), "hexadecimal"),
        (offered, format!("X-SAP-Token: {token}\r\nX-SAP-Length: many\r\n"), "a number"),
        (SapDirection::Tcp, format!("X-SAP-Token: {token}\r\n"), "not asked for"),
    ] {
        let reply = format!("HTTP/1.1 200 OK\r\n{headers}Content-Length: 0\r\n\r\n");
        let reply: &str = String::leak(reply);
        let at = scripted(vec![vec![reply], vec![reply]]);
        let uri = format!("http://{at}/");
        let client = fetcher("*/*", false, way);
        let parsed = uri.parse().expect("an address");
        let got = run(async { client.get(&parsed, &HeaderMap::new(), &Default::default()).await });
        let error = got.err().expect("an error").to_string();
        assert!(error.contains(why), "{error}");
        let settings = FetcherSettings {
            options: SapOptions::default(),
            types: "*/*".parse().ok(),
            is_precise: false,
            way,
            memory: BodyMemory::default(),
        };
        let proxy = Running::start(|_| Proxy::new(settings, DeliveryRules::default()));
        assert_eq!(get(proxy.at, &uri, &[]).status(), 502);
    }
}

#[test]
fn a_body_that_stalls_is_an_error_after_thirty_seconds() {
    let at = scripted(vec![vec!["HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab"]]);
    let client = fetcher("", true, SapDirection::Tcp);
    let uri = format!("http://{at}/").parse().expect("an address");
    let paused = tokio::runtime::Builder::new_current_thread().enable_all().build();
    paused.expect("a runtime").block_on(async {
        let got = client.get(&uri, &HeaderMap::new(), &Default::default()).await;
        let mut body = got.expect("a reply").body;
        assert_eq!(body.next().await.expect("two bytes").as_deref(), Some(&b"ab"[..]));
        // The clock of the runtime springs ahead, as nothing else is to be done.
        tokio::time::pause();
        let begun = tokio::time::Instant::now();
        assert!(matches!(body.next().await, Err(FetchError::Stalled)));
        assert_eq!(begun.elapsed().as_secs(), 30);
    });
}

#[test]
fn a_range_is_nothing_to_a_head() {
    let folder = Folder::new("web-head");
    put(&folder, "a", b"0123456789");
    let server = site(&folder);
    for range in ["0-3", "20-"] {
        let head = format!("HEAD /a HTTP/1.1\r\nHost: x\r\nRange: bytes={range}\r\n");
        let reply = raw(server.at, &format!("{head}Connection: close\r\n\r\n"));
        assert_eq!((reply.status(), reply.header("content-length")), (200, Some("10")), "{range}");
    }
}

#[test]
fn those_between_name_themselves_and_count_the_way() {
    let folder = Folder::new("web-via");
    put(&folder, "a", b"a");
    let origin = Running::start(|_| Site::new(folder.path(), None).expect("a folder"));
    let gateway = Running::start(|_| Gateway::new(&origin.uri("/"), delivery()).expect("HTTP"));
    let proxy = proxy();
    for (at, uri) in [(gateway.at, "/a".to_owned()), (proxy.at, origin.uri("/a").to_string())] {
        let via = get(at, &uri, &[]).header("via").map(str::to_owned);
        assert!(via.as_deref().is_some_and(|it| it.starts_with("1.1 windfall-")), "{via:?}");
        let ask = |method: &str, left: &str| {
            let head = format!("{method} {uri} HTTP/1.1\r\nHost: x\r\nMax-Forwards: {left}\r\n");
            raw(at, &format!("{head}Connection: close\r\n\r\n")).status()
        };
        // The site behind knows neither OPTIONS nor TRACE.
        assert_eq!((ask("OPTIONS", "0"), ask("OPTIONS", "1")), (200, 405));
        assert_eq!((ask("TRACE", "0"), ask("GET", "0")), (405, 200));
    }
}

#[test]
fn a_reply_that_nothing_asked_for_is_an_error_with_its_reason() {
    let proxy = proxy();
    for (reply, reason) in [
        (
            "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n",
            "protocol",
        ),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\nConnection: close\r\n\r\nx", "gzip"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", "gzip"),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
            "chunked, chunked",
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n\
             0\r\n\r\n",
            "chunked, chunked",
        ),
    ] {
        let at = scripted(vec![vec![reply]]);
        let got = get(proxy.at, &format!("http://{at}/"), &[]);
        let said = String::from_utf8_lossy(&got.body).into_owned();
        assert!(got.status() == 502 && said.contains(reason), "{reply}: {said}");
    }
    let nowhere = get(proxy.at, "http://127.0.0.1:1/", &[]);
    let said = String::from_utf8_lossy(&nowhere.body).into_owned();
    assert!(nowhere.status() == 502 && said.contains("refused"), "{said}");
}

/// A recipient takes a message of a later minor version for one of its own (RFC 9110, section 2.5).
#[test]
fn a_reply_of_a_later_minor_version_is_one_of_1_1() {
    for (version, status) in [("1.5", 200), ("1.2", 200), ("2.0", 502), ("3", 502)] {
        let length = "Content-Length: 2\r\n\r\nok";
        let chunks = "Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n";
        let reply = |body: &str| &*format!("HTTP/{version} 200 OK\r\n{body}").leak();
        let at = scripted(vec![vec![reply(length)], vec![reply(chunks)]]);
        let origin = format!("http://{at}").parse().expect("an address");
        let gateway = Running::start(|_| Gateway::new(&origin, delivery()).expect("HTTP"));
        for body in ["ok", "2\r\nok\r\n0\r\n\r\n"] {
            let got = get(gateway.at, "/", &[]);
            assert_eq!(got.status(), status, "{version}: {}", got.head);
            assert!(status == 502 || got.body == body.as_bytes(), "{:?}", got.body);
        }
    }
}

//= S0.40
#[test]
fn a_server_does_not_call_itself() {
    let folder = Folder::new("web-itself");
    put(&folder, "a.jpg", &[7; 5_000]);
    let delivery = delivery();
    let port = format!("X-SAP-Port: {}", delivery.port());
    let server = Running::start(|_| Site::new(folder.path(), Some(delivery)).expect("a folder"));
    let reply = get(server.at, "/a.jpg", &["X-SAP-Approx: image/*", &port]);
    assert_eq!(reply.header("x-sap-fallback"), Some("no-answer"), "{}", reply.head);
    assert_eq!(reply.body, [7; 5_000]);
}

#[test]
fn every_link_of_a_list_leads_somewhere() {
    use std::os::unix::fs::symlink;
    let folder = Folder::new("web-list");
    for name in ["plain", "a b", "back\\slash", "100%", "q?u#e", "a:b", "&amp;"] {
        put(&folder, name, b"here");
    }
    let latin = std::ffi::OsStr::from_bytes(b"caf\xe9");
    std::fs::write(folder.path().join(latin), b"here").expect("a file");
    for (to, name) in [("plain", "fine"), ("nowhere", "dangling"), ("/etc/passwd", "outside")] {
        symlink(to, folder.path().join(name)).expect("a link");
    }
    let pipe = std::process::Command::new("mkfifo").arg(folder.path().join("pipe")).status();
    assert!(pipe.expect("it runs").success());
    let _socket = std::os::unix::net::UnixListener::bind(folder.path().join("socket"));
    let server = site(&folder);
    for not_served in ["/pipe", "/socket", "/outside"] {
        assert_eq!(get(server.at, not_served, &[]).status(), 403, "{not_served}");
    }
    let page = String::from_utf8(get(server.at, "/", &[]).body).expect("text");
    let links: Vec<&str> =
        page.split("href=\"./").skip(1).filter_map(|it| it.split('"').next()).collect();
    assert_eq!(links.len(), 9, "{page}");
    for link in links {
        let reply = get(server.at, &format!("/{}", link.replace("&amp;", "&")), &[]);
        assert_eq!((reply.status(), &reply.body[..]), (200, &b"here"[..]), "{link}");
    }
}

/// A gateway and a proxy before this server, with what to ask of each, and a server of files.
fn servers(origin: SocketAddr, folder: &Folder) -> [(Running, String); 3] {
    let uri = format!("http://{origin}").parse().expect("an address");
    let gateway = Running::start(|_| Gateway::new(&uri, delivery()).expect("HTTP"));
    [
        (gateway, "/a".to_owned()),
        (proxy(), format!("http://{origin}/a")),
        (site(folder), "/a".to_owned()),
    ]
}

/// A server that tells what it gets, and gives each connection this reply.
fn telling(reply: &'static str) -> (SocketAddr, std::sync::mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let at = listener.local_addr().expect("it is bound");
    let (sender, heads) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let sender = sender.clone();
            let mut bytes = Vec::new();
            std::thread::spawn(move || {
                let mut byte = [0];
                while !bytes.ends_with(b"\r\n\r\n") && matches!(stream.read(&mut byte), Ok(1)) {
                    bytes.extend(byte);
                }
                let _ = sender.send(String::from_utf8_lossy(&bytes).to_lowercase());
                let _ = stream.write_all(reply.as_bytes());
                // The rest of a request is read: a reset would take the reply away.
                let _ = stream.shutdown(std::net::Shutdown::Write);
                let _ = stream.read_to_end(&mut bytes);
            });
        }
    });
    (at, heads)
}

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

/// Two programs on the way could read such requests in two ways (RFC 9112, section 11.2).
#[test]
fn a_request_that_can_be_read_in_two_ways_is_refused() {
    let folder = Folder::new("web-smuggling");
    put(&folder, "a", b"a");
    let (origin, _heads) = telling(OK);
    let after = "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n";
    for (server, target) in servers(origin, &folder) {
        for (fields, body, status) in [
            ("Content-Length: 5\r\nContent-Length: 6", "abcdef", 400),
            ("Content-Length: 5, 6", "abcdef", 400),
            ("Content-Length : 5", "abcde", 400),
            ("Content-Length: +5", "abcde", 400),
            ("X: a\r\n b", "", 400),
            ("X: a\rTransfer-Encoding: chunked", "", 400),
            ("Transfer-Encoding:\x0bchunked", "0\r\n\r\n", 400),
            ("Transfer-Encoding: chunked, identity", "0\r\n\r\n", 400),
            ("Transfer-Encoding: chunked, chunked", "0\r\n\r\n", 400),
            ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", "0\r\n\r\n", 400),
            ("Transfer-Encoding: gzip, chunked", "0\r\n\r\n", 501),
        ] {
            let request =
                format!("POST {target} HTTP/1.1\r\nHost: x\r\n{fields}\r\n\r\n{body}{after}");
            // `raw` reads to the end of the connection.
            let reply = raw(server.at, &request);
            let rest = String::from_utf8_lossy(&reply.body).into_owned();
            assert!(reply.status() == status && !rest.contains("HTTP/1.1"), "{fields}: {rest}");
        }
        // The encoding decides where there is a length too, and nothing more is read.
        for fields in [
            "Content-Length: 5\r\nTransfer-Encoding: chunked",
            "Transfer-Encoding: chunked\r\nContent-Length: 5",
        ] {
            let request =
                format!("GET {target} HTTP/1.1\r\nHost: x\r\n{fields}\r\n\r\n0\r\n\r\n{after}");
            let reply = raw(server.at, &request);
            let rest = String::from_utf8_lossy(&reply.body).into_owned();
            assert!(reply.status() == 200 && !rest.contains("HTTP/1.1"), "{fields}: {rest}");
        }
    }
}

/// Lengths that are no numbers, or that no body has (RFC 9110, section 8.6).
const NO_LENGTHS: [&str; 16] = [
    "18446744073709551616",
    "99999999999999999999999",
    "+5",
    "-5",
    "-0",
    "5 5",
    "5,6",
    "",
    " ",
    "0x5",
    "5.0",
    "5e0",
    "5;a",
    "\u{665}",
    "5\r\nContent-Length:",
    "5\r\nContent-Length: +5",
];

#[test]
fn a_length_that_is_none_is_the_fault_of_the_client() {
    let folder = Folder::new("web-lengths");
    put(&folder, "a", b"a");
    let (origin, _heads) = telling(OK);
    let after = "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n";
    let zeros = ["0".repeat(50), "18446744073709551615".to_owned()].concat();
    let too_great = ["18446744073709551615", "18446744073709551614", &zeros];
    for (server, target) in servers(origin, &folder) {
        for length in NO_LENGTHS.into_iter().chain(too_great) {
            let head = format!("POST {target} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}");
            let reply = raw(server.at, &format!("{head}\r\n\r\nabcde{after}"));
            let rest = String::from_utf8_lossy(&reply.body).into_owned();
            assert!(reply.status() == 400 && !rest.contains("HTTP/1.1"), "{length}: {rest}");
        }
    }
}

#[test]
fn a_length_that_is_none_is_the_fault_of_the_server() {
    let folder = Folder::new("web-reply-lengths");
    let is_digit = |it: &&str| it.bytes().all(|byte| byte.is_ascii_digit()) && !it.is_empty();
    let unlike = NO_LENGTHS.into_iter().filter(|it| !is_digit(it));
    let too_great = ["18446744073709551615", "18446744073709551616"];
    for length in unlike.chain(too_great) {
        let reply = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\nabcde");
        let (origin, _heads) = telling(reply.leak());
        let uri = format!("http://{origin}/a").parse().expect("an address");
        let client = fetcher("", false, SapDirection::Tcp);
        let came = run(client.get(&uri, &HeaderMap::new(), &Arc::default()));
        let error = came.err().expect(length).to_string();
        assert!(error.starts_with("the server answers with a "), "{length}: {error}");
        assert!(error.contains("length"), "{length}: {error}");
        let [gateway, proxy, _] = servers(origin, &folder);
        for (server, target) in [gateway, proxy] {
            // A HEAD has no body, so that its length matters to the next reader alone.
            let methods = if too_great.contains(&length) { &["GET"][..] } else { &["GET", "HEAD"] };
            for method in methods {
                let request =
                    format!("{method} {target} HTTP/1.1\r\nHost: {origin}\r\nConnection: close");
                let status = raw(server.at, &format!("{request}\r\n\r\n")).status();
                assert_eq!(status, 502, "{method} {length}");
            }
        }
    }
}

#[test]
fn a_chunk_that_is_none_is_the_fault_of_its_sender() {
    let folder = Folder::new("web-chunks");
    put(&folder, "a", b"a");
    let (origin, _heads) = telling(OK);
    let chunks =
        ["10000000000000005\r\nabcde", "-5\r\nabcde", "0x5\r\nabcde", "5;a\nabcde", "\r\n"];
    for (server, target) in servers(origin, &folder) {
        for (method, chunk) in chunks.into_iter().flat_map(|it| [("POST", it), ("GET", it)]) {
            let head =
                format!("{method} {target} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked");
            let request = format!("{head}\r\n\r\n{chunk}\r\n0\r\n\r\n");
            assert_eq!(raw(server.at, &request).status(), 400, "{method} {chunk}");
        }
    }
}

/// The bytes of an unread body must not be taken for a request.
#[test]
fn a_body_that_no_file_needs_is_read_or_ends_the_connection() {
    let folder = Folder::new("web-unwanted");
    put(&folder, "a", b"a");
    let server = site(&folder);
    for (fields, body, replies) in [
        ("Content-Length: 3", "abc", 2),
        ("Transfer-Encoding: chunked", "3\r\nabc\r\n0\r\n\r\n", 2),
        ("Content-Length: 3\r\nExpect: 100-continue", "abc", 1),
        ("Content-Length: 300000", "abc", 1),
    ] {
        let head = format!("GET /a HTTP/1.1\r\nHost: x\r\n{fields}\r\n\r\n");
        let next = "GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
        let reply = raw(server.at, &[&head, body, next].concat());
        let rest = String::from_utf8_lossy(&reply.body).into_owned();
        assert_eq!((reply.status(), 1 + rest.matches("HTTP/1.1 200 ").count()), (200, replies));
        let closes = reply.header("connection") == Some("close");
        assert_eq!(closes, replies == 1, "{fields}: {}", reply.head);
    }
}

#[test]
fn another_major_version_is_refused_by_its_name() {
    let folder = Folder::new("web-version");
    put(&folder, "a", b"a");
    let (origin, _heads) = telling(OK);
    for (server, target) in servers(origin, &folder) {
        for (version, status) in
            [("2.0", 505), ("3.0", 505), ("0.9", 505), ("1.9", 200), ("2", 400), ("1.1x", 400)]
        {
            let request =
                format!("GET {target} HTTP/{version}\r\nHost: x\r\nConnection: close\r\n\r\n");
            assert_eq!(raw(server.at, &request).status(), status, "{version}");
        }
        let preface = raw(server.at, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
        assert_eq!(preface.status(), 505);
        // Only the request of that version is refused.
        let get = |version: &str| format!("GET {target} HTTP/{version}\r\nHost: x\r\n\r\n");
        let with_body = format!("GET {target} HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc");
        for before in [get("1.1"), with_body] {
            let replies = raw(server.at, &[&before[..], &get("1.9"), &get("2.0")].concat());
            let rest = String::from_utf8_lossy(&replies.body).into_owned();
            let has = |status: u16| rest.contains(&format!("HTTP/1.1 {status} "));
            assert!(replies.status() == 200 && has(200) && has(505), "{rest}");
        }
    }
}

#[test]
fn the_host_of_a_whole_address_counts_and_no_client_takes_it_away() {
    let folder = Folder::new("web-absolute");
    let (origin, heads) = telling(OK);
    let [(gateway, _), (proxy, _), _] = servers(origin, &folder);
    for (server, host) in [(gateway, "named.example".to_owned()), (proxy, origin.to_string())] {
        let head = format!("GET http://{host}/a HTTP/1.1\r\nHost: other.example\r\n");
        let reply = raw(server.at, &format!("{head}Connection: close, Host\r\n\r\n"));
        let head = heads.recv().expect("a request");
        let names = head.contains(&format!("\r\nhost: {host}\r\n"));
        assert!(reply.status() == 200 && names && !head.contains("other.example"), "{head}");
    }
    let uri = format!("http://{origin}").parse().expect("an address");
    let gateway = Running::start(|_| Gateway::new(&uri, delivery()).expect("HTTP"));
    let reply =
        raw(gateway.at, "GET /a HTTP/1.1\r\nHost: own.example\r\nConnection: close, Host\r\n\r\n");
    assert!(
        reply.status() == 200
            && heads.recv().expect("a request").contains("\r\nhost: own.example\r\n")
    );
}
