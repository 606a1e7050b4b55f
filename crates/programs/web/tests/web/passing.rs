//! The proxy and the gateway.

use std::io::{Read as _, Write as _};
use std::iter::once;
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use windfall_socket::SapOptions;
use windfall_testkit::folder::Folder;
use windfall_web::{
    BodyDamage, BodyMemory, DeliveredBody, DeliveryRules, FetcherSettings, Gateway, HeaderMap,
    HeaderName, HeaderValue, Proxy, Repair, SapDirection, Site,
};

use crate::support::{LONG, Running, delivery, fetch, fetcher, get, noise, put, raw, run, site};

fn proxy(way: SapDirection) -> Running {
    let options = SapOptions::default();
    let memory = BodyMemory::default();
    let settings = FetcherSettings { options, types: None, is_precise: false, way, memory };
    Running::start(|_| Proxy::new(settings, DeliveryRules::default()))
}

/// A server of files that knows nothing of SAP.
fn plain_site(folder: &Folder) -> Running {
    Running::start(|_| Site::new(folder.path(), None).expect("a folder"))
}

#[test]
fn a_proxy_brings_what_the_server_has() {
    let folder = Folder::new("web-proxy");
    let picture = noise(150_000, 20);
    let page = noise(50_000, 21);
    put(&folder, "a.jpg", &picture);
    put(&folder, "a.html", &page);
    let servers = [site(&folder), plain_site(&folder)];
    for way in [SapDirection::ClientOpens, SapDirection::ServerCalls(0)] {
        let proxy = proxy(way);
        for server in &servers {
            let reply = get(proxy.at, &server.uri("/a.jpg").to_string(), &["X-Own: 1"]);
            assert_eq!(reply.status(), 200, "{}", reply.head);
            assert_eq!(reply.header("content-length"), Some("150000"), "{}", reply.head);
            // What the loopback has dropped is marked, and kept by no cache.
            let is_marked = reply.header("x-sap-damage").is_some();
            assert_eq!(reply.header("cache-control"), is_marked.then_some("no-store"));
            assert!(reply.body == picture || is_marked, "{}", reply.head);
            let reply = get(proxy.at, &server.uri("/a.html").to_string(), &[]);
            assert!(reply.body == page && !reply.head.contains("x-sap"), "{}", reply.head);
            let range = ["Range: bytes=100-199"];
            let reply = get(proxy.at, &server.uri("/a.jpg").to_string(), &range);
            assert!(reply.status() == 206 && reply.body == picture[100..200], "{}", reply.head);
            let reply = get(proxy.at, &server.uri("/none").to_string(), &[]);
            assert_eq!(reply.status(), 404);
        }
    }
}

#[test]
fn a_proxy_refuses_what_it_cannot_pass_on() {
    let folder = Folder::new("web-proxy-refuses");
    let proxy = proxy(SapDirection::ClientOpens);
    let server = site(&folder);
    assert_eq!(get(proxy.at, "/a.jpg", &[]).status(), 400);
    let nowhere = get(proxy.at, "http://127.0.0.1:1/a.jpg", &[]);
    assert_eq!(nowhere.status(), 502);
    let itself = get(proxy.at, &format!("http://{}/", proxy.at), &[]);
    assert_eq!(itself.status(), 400);
    let posted = format!("POST {} HTTP/1.1\r\nHost: x\r\n", server.uri("/"));
    let posted = raw(proxy.at, &format!("{posted}Connection: close\r\nContent-Length: 0\r\n\r\n"));
    assert_eq!(posted.status(), 405);
}

#[test]
fn a_tunnel_passes_bytes_on_untouched() {
    let folder = Folder::new("web-tunnel");
    let original = noise(400_000, 22);
    put(&folder, "a.jpg", &original);
    let proxy = proxy(SapDirection::ClientOpens);
    let server = site(&folder);
    let mut stream = TcpStream::connect(proxy.at).expect("it listens");
    stream.set_read_timeout(Some(LONG)).expect("a timeout");
    let at = server.at;
    stream
        .write_all(format!("CONNECT {at} HTTP/1.1\r\nHost: {at}\r\n\r\n").as_bytes())
        .expect("room");
    let mut head = Vec::new();
    until(&mut stream, b"\r\n\r\n", &mut head);
    assert!(head.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&head));
    let request = "GET /a.jpg HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).expect("room");
    let mut reply = Vec::new();
    stream.read_to_end(&mut reply).expect("all of it");
    assert!(reply.ends_with(&original));
}

//= S0.42
#[test]
fn a_gateway_adds_sap_to_a_server_without() {
    let folder = Folder::new("web-gateway");
    let picture = noise(150_000, 23);
    let page = noise(50_000, 24);
    put(&folder, "a.jpg", &picture);
    put(&folder, "a.html", &page);
    let origin = plain_site(&folder);
    let gateway = Running::start(|_| Gateway::new(&origin.uri("/"), delivery()).expect("HTTP"));
    let reply = get(gateway.at, "/a.jpg", &[]);
    assert!(reply.status() == 200 && reply.body == picture, "{}", reply.head);
    assert_eq!(get(gateway.at, "/a.jpg", &["Range: bytes=5-9"]).body, picture[5..10]);
    for way in [SapDirection::ServerCalls(0), SapDirection::ClientOpens] {
        run(async {
            let got = fetch(&fetcher("image/jpeg", true, way), &gateway.uri("/a.jpg")).await;
            assert!(got.over_sap && got.bytes == picture, "{way:?}: {:?}", got.fallback);
            let got = fetch(&fetcher("image/jpeg", false, way), &gateway.uri("/a.html")).await;
            assert!(!got.over_sap && got.bytes == page, "{way:?}");
        });
    }
    let elsewhere = "https://127.0.0.1/".parse().expect("an address");
    assert!(Gateway::new(&elsewhere, delivery()).is_err());
}

/// Reads until the bytes end so, and no further, or there are no more.
fn until(stream: &mut TcpStream, end: &[u8], seen: &mut Vec<u8>) {
    let mut byte = [0];
    while !seen.ends_with(end) && matches!(stream.read(&mut byte), Ok(1)) {
        seen.extend(byte);
    }
}

/// Answers one request after the other with the same reply.
fn answering(reply: Vec<u8>) -> Running {
    let origin = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let at = origin.local_addr().expect("it is bound");
    std::thread::spawn(move || {
        for stream in origin.incoming() {
            let Ok(mut stream) = stream else { return };
            until(&mut stream, b"\r\n\r\n", &mut Vec::new());
            let _ = stream.write_all(&reply);
        }
    });
    Running::at(at)
}

#[test]
fn a_gateway_speaks_its_own_version_and_passes_no_headers_of_sap_on() {
    let token = "0123456789abcdef0123456789abcdef";
    let reply = format!(
        "HTTP/1.0 200 OK\r\nContent-Length: 2\r\nX-SAP-Token: {token}\r\nX-SAP-Length: 9\r\n\
         X-SAP-Damage: none\r\n\r\nok"
    );
    let origin = answering(reply.into_bytes());
    let gateway = Running::start(|_| Gateway::new(&origin.uri("/"), delivery()).expect("HTTP"));
    let reply = get(gateway.at, "/a", &[]);
    assert!(reply.head.starts_with("HTTP/1.1 200") && reply.body == b"ok", "{}", reply.head);
    assert!(!reply.head.contains("x-sap"), "{}", reply.head);
    let via = reply.header("via").unwrap_or_default();
    assert!(via.starts_with("1.0 windfall-"), "{via}");
}

//= S0.26
#[test]
fn a_server_without_ranges_repairs_by_the_whole_file() {
    let whole = noise(3_000, 26);
    let head = format!("HTTP/1.0 200 OK\r\nContent-Length: {}\r\n\r\n", whole.len());
    let origin = answering([head.as_bytes(), &whole].concat());
    let at = origin.uri("/a.jpg");
    run(async {
        let mut damaged = whole.clone();
        damaged[100..200].fill(0);
        let damage = BodyDamage { missing: once(100..200).collect(), ..BodyDamage::default() };
        let mut body = DeliveredBody::new(damaged, damage, true);
        let client = fetcher("image/jpeg", false, SapDirection::Tcp);
        let headers = HeaderMap::new();
        let asked = client.get(&at, &headers, &Arc::new(AtomicU64::new(0))).await;
        let reply = asked.expect("it answers").head;
        let came = client.repair(Repair::All, &at, &headers, &reply, &mut body).await;
        assert_eq!(came.expect("the whole file comes"), 3_000);
        assert!(body.damage.is_none());
        // Another version of the file is none of it.
        let mut other = reply.clone();
        let tag = HeaderValue::from_static("\"other\"");
        other.headers.insert(HeaderName::from_static("etag"), tag);
        body.damage.missing = once(1..9).collect();
        let came = client.repair(Repair::All, &at, &headers, &other, &mut body).await;
        assert!(came.is_err() && body.damage.missing.first() == Some(&(1..9)));
        assert!(body.into_bytes().expect("all of it") == whole);
    });
}

/// A length without its bytes would let the next request on the connection be read as them.
#[test]
fn a_proxy_passes_the_body_of_a_get_on_and_names_the_host_that_is_asked() {
    for (field, body) in
        [("Content-Length: 5", "hello"), ("Transfer-Encoding: chunked", "5\r\nhello\r\n0\r\n\r\n")]
    {
        let origin = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let at = origin.local_addr().expect("it is bound");
        let seen = std::thread::spawn(move || {
            let (mut stream, _) = origin.accept().expect("the proxy connects");
            let mut seen = Vec::new();
            until(&mut stream, body.as_bytes(), &mut seen);
            let reply = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";
            stream.write_all(reply.as_bytes()).expect("the proxy waits");
            String::from_utf8_lossy(&seen).into_owned()
        });
        let proxy = proxy(SapDirection::ClientOpens);
        let mut client = TcpStream::connect(proxy.at).expect("the proxy listens");
        client.set_read_timeout(Some(LONG)).expect("it is a socket");
        let request = format!(
            "GET http://{at}/a HTTP/1.1\r\nHost: elsewhere\r\n{field}\r\n\
             Connection: close\r\n\r\n{body}"
        );
        client.write_all(request.as_bytes()).expect("the proxy reads");
        let mut reply = String::new();
        client.read_to_string(&mut reply).expect("the proxy answers");
        let seen = seen.join().expect("the server ends");
        assert!(seen.contains(&format!("host: {at}\r\n")), "{seen}");
        assert!(seen.to_lowercase().contains(&field.to_lowercase()), "{seen}");
        assert!(!seen.contains("elsewhere") && reply.ends_with("ok"), "{seen}{reply}");
    }
}

/// Interim replies (RFC 9110, section 15.2): none of them is taken for the reply.
#[test]
fn interim_replies_of_a_server_stay_behind() {
    let interim = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n\
        HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\nContent-Length: 9\r\n\r\n\
        HTTP/1.1 199 Unknown\r\nX-SAP-Token: 0123456789abcdef0123456789abcdef\r\n\r\n";
    let picture = noise(50_000, 27);
    let head = "HTTP/1.1 200 OK\r\nContent-Type: image/jpeg\r\nContent-Length: 50000\r\n\r\n";
    let origin = answering([interim.as_bytes(), head.as_bytes(), &picture].concat());
    let gateway = Running::start(|_| Gateway::new(&origin.uri("/"), delivery()).expect("HTTP"));
    let proxy = proxy(SapDirection::ClientOpens);
    let by_proxy = get(proxy.at, &origin.uri("/a.jpg").to_string(), &[]);
    for reply in [by_proxy, get(gateway.at, "/a.jpg", &[])] {
        assert_eq!(reply.status(), 200, "{}", reply.head);
        assert!(reply.body == picture && reply.header("link").is_none(), "{}", reply.head);
    }
    for way in [SapDirection::Tcp, SapDirection::ServerCalls(0), SapDirection::ClientOpens] {
        run(async {
            let client = fetcher("image/jpeg", true, way);
            let got = fetch(&client, &origin.uri("/a.jpg")).await;
            assert!(!got.over_sap && got.bytes == picture, "{way:?}");
            let got = fetch(&client, &gateway.uri("/a.jpg")).await;
            assert!(got.over_sap == (way != SapDirection::Tcp) && got.bytes == picture, "{way:?}");
        });
    }
}

/// A client that waits for leave to send its body gets it from the next server on the way.
#[test]
fn a_body_that_waits_for_leave_is_passed_on() {
    for by_gateway in [true, false] {
        let origin = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let at = origin.local_addr().expect("it is bound");
        let seen = std::thread::spawn(move || {
            let (mut stream, _) = origin.accept().expect("it connects");
            let mut seen = Vec::new();
            until(&mut stream, b"\r\n\r\n", &mut seen);
            stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").expect("it reads");
            until(&mut stream, b"hello", &mut seen);
            let reply = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";
            stream.write_all(reply.as_bytes()).expect("it waits");
        });
        let origin = Running::at(at);
        let server = if by_gateway {
            Running::start(|_| Gateway::new(&origin.uri("/"), delivery()).expect("HTTP"))
        } else {
            proxy(SapDirection::ClientOpens)
        };
        let mut client = TcpStream::connect(server.at).expect("it listens");
        client.set_read_timeout(Some(LONG)).expect("it is a socket");
        let request = format!(
            "POST http://{at}/a HTTP/1.1\r\nHost: {at}\r\nContent-Length: 5\r\n\
             Expect: 100-continue\r\nConnection: close\r\n\r\n"
        );
        client.write_all(request.as_bytes()).expect("it reads");
        let mut reply = Vec::new();
        until(&mut client, b"\r\n\r\n", &mut reply);
        assert!(reply.starts_with(b"HTTP/1.1 100 "), "{}", String::from_utf8_lossy(&reply));
        client.write_all(b"hello").expect("it reads");
        client.read_to_end(&mut reply).expect("it answers");
        assert!(reply.ends_with(b"\r\n\r\nok"), "{}", String::from_utf8_lossy(&reply));
        seen.join().expect("the server ends");
    }
}

/// A proxy and a gateway before this server, and what to ask of each for its file.
fn both_before(origin: &Running) -> [(Running, String); 2] {
    let gateway = Running::start(|_| Gateway::new(&origin.uri("/"), delivery()).expect("HTTP"));
    [(proxy(SapDirection::ClientOpens), origin.uri("/a").to_string()), (gateway, "/a".to_owned())]
}

#[test]
fn a_reply_that_breaks_off_before_its_body_is_an_error_with_its_cause() {
    for length in ["Transfer-Encoding: chunked", "Content-Length: 5"] {
        let origin = answering(format!("HTTP/1.1 200 OK\r\n{length}\r\n\r\n").into_bytes());
        for (before, path) in both_before(&origin) {
            let reply = get(before.at, &path, &[]);
            let said = String::from_utf8_lossy(&reply.body).into_owned();
            assert!(reply.status() == 502 && said.contains("the body broke off: "), "{said}");
        }
    }
    // One that has begun can only be cut.
    let origin = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n";
    let origin = answering(origin.as_bytes().to_vec());
    for (before, path) in both_before(&origin) {
        let reply = get(before.at, &path, &[]);
        assert!(reply.status() == 200 && !reply.body.ends_with(b"0\r\n\r\n"), "{:?}", reply.body);
    }
}

//= S0.42
#[test]
fn equal_lengths_are_one_and_others_are_none() {
    for (length, is_one) in
        [("5, 5", true), ("5\r\nContent-Length: 5", true), ("5, 6", false), ("5,", false)]
    {
        let reply = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\nthere");
        let origin = answering(reply.into_bytes());
        for (before, path) in both_before(&origin) {
            let reply = get(before.at, &path, &[]);
            assert_eq!(reply.status(), if is_one { 200 } else { 502 }, "{length}: {}", reply.head);
            if is_one {
                assert_eq!(
                    (reply.header("content-length"), &reply.body[..]),
                    (Some("5"), &b"there"[..])
                );
            }
        }
    }
}

#[test]
fn a_reply_that_has_no_content_by_its_status_gets_none() {
    let origin = answering(b"HTTP/1.1 205 Reset\r\nContent-Length: 5\r\n\r\nthere".to_vec());
    for (before, path) in both_before(&origin) {
        let reply = get(before.at, &path, &[]);
        assert_eq!((reply.status(), &reply.body[..]), (205, &b""[..]), "{}", reply.head);
        assert_eq!(reply.header("content-length"), Some("0"), "{}", reply.head);
    }
}

#[test]
fn a_body_of_two_types_is_not_damaged() {
    let types = "Content-Type: image/jpeg\r\nContent-Type: text/html";
    let reply = format!("HTTP/1.1 200 OK\r\n{types}\r\nContent-Length: 5\r\n\r\nthere");
    let origin = answering(reply.into_bytes());
    let gateway = Running::start(|_| Gateway::new(&origin.uri("/"), delivery()).expect("HTTP"));
    for types in ["image/jpeg", "*/*", "text/html"] {
        let offer = [&format!("X-SAP-Approx: {types}"), "X-SAP-Client-Opens: 1"];
        let reply = get(gateway.at, "/a", &offer);
        assert!(reply.body == b"there" && !reply.head.contains("x-sap"), "{}", reply.head);
    }
}

/// `wget -N` asks by the time when it wrote the file, where the reply named none since it was
/// damaged.
#[test]
fn a_copy_of_another_time_than_the_file_is_replaced_where_it_may_be_damaged() {
    let folder = Folder::new("web-since");
    put(&folder, "a.jpg", &noise(5_000, 28));
    put(&folder, "a.html", b"text");
    let server = site(&folder);
    let proxy = proxy(SapDirection::Tcp);
    let ask =
        |name: &str, condition: &str| get(proxy.at, &server.uri(name).to_string(), &[condition]);
    let own = |name: &str| {
        let reply = ask(name, "X-Own: 1");
        reply.header("last-modified").expect("a time").to_owned()
    };
    let later = "Thu, 01 Jan 2099 00:00:00 GMT";
    for (name, since, status) in [
        ("/a.jpg", own("/a.jpg"), 304),
        ("/a.jpg", later.to_owned(), 200),
        ("/a.html", own("/a.html"), 304),
        ("/a.html", later.to_owned(), 304),
    ] {
        let reply = ask(name, &format!("If-Modified-Since: {since}"));
        assert_eq!(reply.status(), status, "{name} {since}");
    }
    // A tag tells the version itself.
    let tag = ask("/a.jpg", "X-Own: 1").header("etag").expect("a tag").to_owned();
    let both = format!("If-None-Match: {tag}\r\nIf-Modified-Since: {later}");
    assert_eq!(ask("/a.jpg", &both).status(), 304);
}

/// A server that answers with the first line of each request.
fn repeating() -> Running {
    let origin = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let at = origin.local_addr().expect("it is bound");
    std::thread::spawn(move || {
        for mut stream in origin.incoming().map_while(Result::ok) {
            let mut head = Vec::new();
            until(&mut stream, b"\r\n\r\n", &mut head);
            let head = String::from_utf8_lossy(&head).into_owned();
            let line = head.lines().next().unwrap_or_default();
            let length = line.len();
            let reply = format!("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {length}");
            let _ = stream.write_all(format!("{reply}\r\n\r\n{line}").as_bytes());
        }
    });
    Running::at(at)
}

// RFC 9112, section 3.2.4.
#[test]
fn options_of_an_address_without_a_path_are_those_of_the_server() {
    let origin = repeating();
    let gateway = Running::start(|_| Gateway::new(&origin.uri("/"), delivery()).expect("HTTP"));
    let proxy = proxy(SapDirection::ClientOpens);
    let at = origin.at;
    for through in [&gateway, &proxy] {
        for (method, target, line) in [
            ("OPTIONS", format!("http://{at}"), "OPTIONS * HTTP/1.1"),
            ("OPTIONS", format!("http://{at}/"), "OPTIONS / HTTP/1.1"),
            ("OPTIONS", format!("http://{at}/a?b"), "OPTIONS /a?b HTTP/1.1"),
            ("OPTIONS", format!("http://{at}?b"), "OPTIONS /?b HTTP/1.1"),
            ("HEAD", format!("http://{at}"), ""),
            ("DELETE", format!("http://{at}"), "DELETE / HTTP/1.1"),
        ] {
            let mut stream = TcpStream::connect(through.at).expect("it listens");
            stream.set_read_timeout(Some(LONG)).expect("a timeout");
            let head = format!("{method} {target} HTTP/1.1\r\nHost: {at}\r\nConnection: close");
            stream.write_all(format!("{head}\r\n\r\n").as_bytes()).expect("room");
            let mut reply = String::new();
            stream.read_to_string(&mut reply).expect("a reply");
            assert!(reply.starts_with("HTTP/1.1 200 "), "{method} {target}: {reply}");
            assert_eq!(reply.split("\r\n\r\n").nth(1), Some(line), "{method} {target}");
        }
    }
}

fn change(mut stream: TcpStream) {
    let mut head = Vec::new();
    until(&mut stream, b"\r\n\r\n", &mut head);
    let head = String::from_utf8_lossy(&head).to_lowercase();
    if !head.contains("\r\nupgrade: websocket\r\n") {
        let reply = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno";
        let _ = stream.write_all(reply.as_bytes());
        return;
    }
    assert!(head.contains("\r\nconnection: upgrade\r\n"), "{head}");
    // One that errs, if it is asked to.
    let protocol = match () {
        () if head.contains("\r\nx-err: 1") => "Upgrade: irc/6.9\r\n",
        () if head.contains("\r\nx-err: 2") => "",
        () => "Upgrade: WebSocket\r\n",
    };
    let reply = format!(
        "HTTP/1.1 101 Switching Protocols\r\n{protocol}\
        Connection: Upgrade\r\nSec-WebSocket-Accept: x\r\n\r\nearly"
    );
    let _ = stream.write_all(reply.as_bytes());
    let mut bytes = [0; 100];
    while let Ok(length @ 1..) = stream.read(&mut bytes) {
        bytes[..length].make_ascii_uppercase();
        let _ = stream.write_all(&bytes[..length]);
    }
}

/// A server that changes to another protocol, and returns what it gets then in capitals.
fn changing() -> Running {
    let origin = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let at = origin.local_addr().expect("it is bound");
    std::thread::spawn(move || {
        for stream in origin.incoming().map_while(Result::ok) {
            std::thread::spawn(move || change(stream));
        }
    });
    Running::at(at)
}

#[test]
fn a_change_of_protocol_passes_the_proxy_and_the_gateway() {
    let origin = changing();
    let gateway = Running::start(|_| Gateway::new(&origin.uri("/"), delivery()).expect("HTTP"));
    let proxy = proxy(SapDirection::ClientOpens);
    let whole = origin.uri("/chat").to_string();
    for (through, target) in [(&gateway, "/chat"), (&proxy, &whole)] {
        let ask = |upgrade: &str| {
            let mut stream = TcpStream::connect(through.at).expect("it listens");
            stream.set_read_timeout(Some(LONG)).expect("a timeout");
            let request = format!("GET {target} HTTP/1.1\r\nHost: x\r\n{upgrade}\r\n");
            stream.write_all(request.as_bytes()).expect("room");
            let mut head = Vec::new();
            until(&mut stream, b"\r\n\r\n", &mut head);
            (stream, String::from_utf8_lossy(&head).to_lowercase())
        };
        let asked =
            "Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: y\r\n";
        let (mut stream, head) = ask(asked);
        assert!(head.starts_with("http/1.1 101 "), "{head}");
        assert!(head.contains("upgrade: websocket") && head.contains("connection: upgrade"));
        assert!(head.contains("sec-websocket-accept: x"), "{head}");
        let mut seen = Vec::new();
        until(&mut stream, b"early", &mut seen);
        for text in ["hello", "again"] {
            stream.write_all(text.as_bytes()).expect("room");
            until(&mut stream, text.to_uppercase().as_bytes(), &mut seen);
        }
        assert_eq!(seen, b"earlyHELLOAGAIN");
        // Another protocol than was asked for is none that the client would understand, nor is one
        // that has no name.
        for wrong in ["X-Err: 1\r\nSec-", "X-Err: 2\r\nSec-"] {
            let (_, refused) = ask(&asked.replace("Sec-", wrong));
            assert!(refused.starts_with("http/1.1 502 "), "{refused}");
        }
        // What asks for nothing, or for HTTP/2, gets the reply of HTTP.
        for other in ["Upgrade: websocket\r\n", "Connection: Upgrade\r\nUpgrade: h2c\r\n"] {
            assert!(ask(other).1.starts_with("http/1.1 200 "), "{other}");
        }
    }
}
