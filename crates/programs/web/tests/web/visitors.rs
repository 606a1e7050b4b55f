//! What a server does with requests of all kinds, and with clients that behave badly.

use std::io::{Read as _, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};

use windfall_testkit::folder::Folder;
use windfall_web::{
    AccessLog, BodyMemory, DeliveryRules, FetcherSettings, Proxy, SapDirection, Site,
};

use crate::support::{LONG, Running, delivery, get, noise, put, raw, site};

#[test]
fn files_come_whole_in_parts_and_not_again() {
    let folder = Folder::new("web-files");
    let original = noise(700_000, 7);
    put(&folder, "a b.jpg", &original);
    let server = site(&folder);
    let ask = |headers: &[&str]| get(server.at, "/a%20b.jpg", headers);
    let whole = ask(&[]);
    assert!(whole.status() == 200 && whole.body == original);
    assert_eq!(whole.header("content-length"), Some("700000"));
    assert_eq!(whole.header("content-type"), Some("image/jpeg"));
    let tag = whole.header("etag").expect("a tag");
    let since = whole.header("last-modified").expect("a time");
    let part = ask(&["Range: bytes=300000-", &format!("If-Range: {tag}")]);
    assert!(part.status() == 206 && part.body == original[300_000..]);
    assert_eq!(part.header("content-range"), Some("bytes 300000-699999/700000"));
    let changed = ask(&["Range: bytes=3-5", "If-Range: \"other\""]);
    assert!(changed.status() == 200 && changed.body == original);
    let beyond = ask(&["Range: bytes=700000-"]);
    assert_eq!((beyond.status(), beyond.header("content-range")), (416, Some("bytes */700000")));
    for header in [format!("If-None-Match: {tag}"), format!("If-Modified-Since: {since}")] {
        let none = ask(&[&header]);
        assert_eq!((none.status(), none.body.len()), (304, 0), "{header}");
        assert_eq!(none.header("etag"), Some(tag));
    }
    assert_eq!(ask(&["If-Match: \"other\""]).status(), 412);
    let head = "HEAD /a%20b.jpg HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    let head = raw(server.at, head);
    assert_eq!((head.status(), head.body.len()), (200, 0));
    assert_eq!(head.header("content-length"), Some("700000"));
}

#[test]
fn each_encoding_of_a_file_has_a_tag_of_its_own() {
    let folder = Folder::new("web-tags");
    let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    // They have the same length and the same time.
    for (name, bytes) in [("a.js", b"plain"), ("a.js.gz", b"gzipp"), ("a.js.br", b"broot")] {
        put(&folder, name, bytes);
        let file = std::fs::File::options().write(true).open(folder.path().join(name));
        file.and_then(|it| it.set_modified(time)).expect("a time");
    }
    let server = site(&folder);
    let ask = |headers: &[&str]| get(server.at, "/a.js", headers);
    let all = [("identity", &b"plain"[..]), ("gzip", b"gzipp"), ("br", b"broot")];
    let tags = all.map(|(encoding, body)| {
        let answer = ask(&[&format!("Accept-Encoding: {encoding}")]);
        assert_eq!(answer.body, body);
        answer.header("etag").expect("a tag").to_owned()
    });
    for (at, (encoding, body)) in all.into_iter().enumerate() {
        for (of, tag) in tags.iter().enumerate() {
            let accepts = format!("Accept-Encoding: {encoding}");
            let answer = ask(&[&accepts, &format!("If-None-Match: {tag}")]);
            let wanted = if at == of { (304, &b""[..]) } else { (200, body) };
            assert_eq!((answer.status(), &answer.body[..]), wanted, "{encoding} {tag}");
        }
        // Parts are of the file as it lies there.
        let range = ["Range: bytes=3-", &format!("If-Range: {}", tags[at])];
        let answer = ask(&range);
        let wanted = if at == 0 { (206, &b"in"[..]) } else { (200, &b"plain"[..]) };
        assert_eq!((answer.status(), &answer.body[..]), wanted, "{encoding}");
    }
}

#[test]
fn folders_have_an_index_or_a_list() {
    let folder = Folder::new("web-folders");
    for name in ["with", "without"] {
        std::fs::create_dir(folder.path().join(name)).expect("a folder");
    }
    put(&folder, "with/index.html", b"<p>here");
    put(&folder, "without/a&b.jpg", b"1");
    put(&folder, "without/.hidden", b"2");
    let server = site(&folder);
    assert_eq!(get(server.at, "/with/", &[]).body, b"<p>here");
    let moved = get(server.at, "//without", &[]);
    assert_eq!((moved.status(), moved.header("location")), (301, Some("/without/")));
    let moved = get(server.at, "/without?by=name&x=/", &[]);
    assert_eq!(moved.header("location"), Some("/without/?by=name&x=/"));
    let list = get(server.at, "/without/", &[]);
    let list = String::from_utf8_lossy(&list.body).into_owned();
    assert!(list.contains("a&amp;b.jpg") && !list.contains("hidden"), "{list}");
    assert_eq!(get(server.at, "/with/index.html/", &[]).status(), 404);
}

#[test]
fn no_path_leaves_the_folder() {
    use std::os::unix::fs::symlink;
    let outside = Folder::new("web-outside");
    put(&outside, "secret", b"secret");
    let folder = Folder::new("web-inside");
    put(&folder, "inside", b"inside");
    put(&folder, ".secret", b"secret");
    let link = |to: &std::path::Path, name: &str| {
        symlink(to, folder.path().join(name)).expect("a link");
    };
    link(&outside.path().join("secret"), "absolute");
    link(outside.path(), "folder");
    let name = outside.path().file_name().expect("a name");
    link(&std::path::Path::new("..").join(name).join("secret"), "upwards");
    link("inside".as_ref(), "fine");
    link("/proc/self/root".as_ref(), "magic");
    let server = site(&folder);
    for path in [
        "/absolute",
        "/folder/secret",
        "/upwards",
        "/magic/etc/passwd",
        "/.secret",
        "/../secret",
        "/%2e%2e/secret",
        "/..%2fsecret",
        "/%2e%2e%2f%2e%2e%2fetc%2fpasswd",
        "/inside/../../secret",
        "//etc/passwd",
        "/inside%00",
    ] {
        let reply = get(server.at, path, &[]);
        assert!([403, 404].contains(&reply.status()), "{path}: {}", reply.head);
        assert!(!reply.body.windows(6).any(|it| it == b"secret"), "{path}");
    }
    assert_eq!(get(server.at, "/fine", &[]).body, b"inside");
}

#[test]
fn what_is_no_request_for_a_file_is_refused() {
    let folder = Folder::new("web-refused");
    put(&folder, "a", b"a");
    let server = site(&folder);
    let end = "Host: x\r\nConnection: close\r\n\r\n";
    for (line, status) in [
        ("POST /a HTTP/1.1", 405),
        ("DELETE /a HTTP/1.1", 405),
        ("GET /b HTTP/1.1", 404),
        ("GET /a HTTP/9.9", 505),
        ("GET", 400),
    ] {
        assert_eq!(raw(server.at, &format!("{line}\r\n{end}")).status(), status, "{line}");
    }
    let many: String = (0..200).map(|number| format!("X-{number}: 1\r\n")).collect();
    assert_eq!(raw(server.at, &format!("GET /a HTTP/1.1\r\n{many}{end}")).status(), 431);
    // However its pieces arrive.
    let sizable = format!("GET /a HTTP/1.1\r\nX-Long: {}\r\n{end}", "x".repeat(70_000));
    assert_eq!(raw(server.at, &sizable).status(), 431);
    let sizable = sizable.replace(&"x".repeat(10_000), "x");
    assert_eq!(raw(server.at, &sizable).status(), 200);
    let long = format!("GET /a HTTP/1.1\r\nX-Long: {}\r\n{end}", "x".repeat(1 << 20));
    let mut stream = TcpStream::connect(server.at).expect("it listens");
    stream.set_read_timeout(Some(LONG)).expect("a timeout");
    // The server may close before all of it is written.
    let _ = stream.write_all(long.as_bytes());
    let mut reply = [0; 64];
    let read = stream.read(&mut reply).unwrap_or(0);
    let reply = String::from_utf8_lossy(&reply[..read]).into_owned();
    assert!(read == 0 || reply.contains(" 431 "), "{reply}");
    assert_eq!(get(server.at, "/a", &[]).status(), 200);
}

#[test]
fn a_client_that_has_closed_its_half_is_answered() {
    let folder = Folder::new("web-half");
    let original = noise(2_000_000, 27);
    put(&folder, "a.bin", &original);
    let server = site(&folder);
    let mut stream = TcpStream::connect(server.at).expect("it listens");
    stream.set_read_timeout(Some(LONG)).expect("a timeout");
    stream.write_all(b"GET /a.bin HTTP/1.1\r\nHost: x\r\n\r\n").expect("room");
    stream.shutdown(std::net::Shutdown::Write).expect("it is connected");
    let mut reply = Vec::new();
    stream.read_to_end(&mut reply).expect("it ends");
    assert!(reply.ends_with(&original), "{} bytes", reply.len());
}

/// A log that the test reads.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("whole").extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn the_log_tells_the_bytes_that_were_sent() {
    let folder = Folder::new("web-log");
    put(&folder, "a", &noise(5_000, 9));
    let lines = Lines::default();
    let log = AccessLog::new(lines.clone());
    let server =
        Running::logging(log, |_| Site::new(folder.path(), Some(delivery())).expect("a folder"));
    let close = format!("Host: {}\r\nConnection: close\r\n\r\n", server.at);
    let head = raw(server.at, &format!("HEAD /a HTTP/1.1\r\n{close}"));
    assert_eq!((head.header("content-length"), head.body.len()), (Some("5000"), 0));
    assert_eq!(get(server.at, "/a", &[]).body.len(), 5_000);
    assert_eq!(get(server.at, &format!("/{}", "b".repeat(20_000)), &[]).status(), 404);
    let said = String::from_utf8(lines.0.lock().expect("whole").clone()).expect("text");
    let said: Vec<&str> = said.lines().collect();
    let [head, whole, long] = said[..] else { panic!("{said:?}") };
    assert!(head.ends_with("\"HEAD /a HTTP/1.1\" 200 0 \"tcp\""), "{head}");
    assert!(whole.ends_with("\"GET /a HTTP/1.1\" 200 5000 \"tcp\""), "{whole}");
    assert!(long.contains("b...[cut, 20014 bytes]\" 404 "), "{long}");
}

#[test]
fn the_log_tells_what_was_no_request_and_no_password() {
    let lines = Lines::default();
    let options = windfall_socket::SapOptions::default();
    let memory = BodyMemory::default();
    let settings =
        FetcherSettings { options, types: None, is_precise: false, way: SapDirection::Tcp, memory };
    let proxy = Running::logging(AccessLog::new(lines.clone()), |_| {
        Proxy::new(settings, DeliveryRules::default())
    });
    let end = "HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    let long = format!("GET /a HTTP/1.1\r\nX: {}\r\nX: ", "x".repeat(1 << 17));
    for (request, status, logged) in [
        ("GET http://me:secret@127.0.0.1:1/a ", 400, "GET http://...@127.0.0.1:1/a HTTP/1.1"),
        ("POST http://secret@127.0.0.1:1/a ", 400, "POST http://...@127.0.0.1:1/a HTTP/1.1"),
        ("CONNECT me:secret@127.0.0.1:1 ", 502, "CONNECT ...@127.0.0.1:1 HTTP/1.1"),
        ("GET http://me:secret@host:99999/a ", 400, "GET http://...@host:99999/a HTTP/1.1"),
        ("GET /a HTTP/9.9", 400, "-"),
        ("G(T /secret ", 400, "-"),
        ("GET /a HTTP/1.1\r\nContent-Length: 5, 6\r\nX: ", 400, "-"),
        (&long, 431, "-"),
    ] {
        let reply = raw(proxy.at, &format!("{request}{end}"));
        let said = String::from_utf8_lossy(&reply.body).into_owned();
        assert_eq!(reply.status(), status, "{request:.80}");
        assert!(!said.contains("secret"), "{said}");
        // The line of what was no request is written once its connection has ended.
        let mut last = String::new();
        for _ in 0..1_000 {
            let bytes = core::mem::take(&mut *lines.0.lock().expect("whole"));
            last = String::from_utf8(bytes).expect("text");
            if !last.is_empty() {
                break;
            }
            wait();
        }
        let end = format!("\"{logged}\" {status} {} \"tcp\"\n", reply.body.len());
        assert!(last.ends_with(&end), "{last}");
    }
}

/// The descriptors of this process.
fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count)
}

#[test]
fn slow_and_vanished_clients_disturb_none() {
    let folder = Folder::new("web-slow");
    put(&folder, "big", &noise(20_000_000, 8));
    put(&folder, "small", b"small");
    let server = site(&folder);
    let before = descriptors();
    let mut slow = Vec::new();
    for number in 0..60 {
        let mut stream = TcpStream::connect(server.at).expect("it listens");
        let request = format!("GET /big HTTP/1.1\r\nHost: {}\r\n", server.at);
        // Some never end their request, others never read its reply.
        let end = if number % 2 == 0 { "\r\n" } else { "" };
        stream.write_all(format!("{request}{end}").as_bytes()).expect("room");
        slow.push(stream);
    }
    for _ in 0..20 {
        assert_eq!(get(server.at, "/small", &[]).body, b"small");
    }
    drop(slow);
    // The server finds out as soon as it writes or reads.
    for _ in 0..1_000 {
        if descriptors() < before + 40 {
            break;
        }
        wait();
    }
    let after = descriptors();
    assert!(after < before + 40, "{before} descriptors before, {after} after");
}

#[expect(clippy::disallowed_methods, reason = "connections take a moment to end")]
fn wait() {
    std::thread::sleep(std::time::Duration::from_millis(20));
}

#[test]
fn a_thousand_requests_in_a_row_are_answered() {
    let folder = Folder::new("web-thousand");
    put(&folder, "small", b"small");
    let server = site(&folder);
    let mut stream = TcpStream::connect(server.at).expect("it listens");
    stream.set_read_timeout(Some(LONG)).expect("a timeout");
    let request = format!("GET /small HTTP/1.1\r\nHost: {}\r\n\r\n", server.at);
    let mut reply = Vec::new();
    let mut length = None;
    for number in 0..1_000 {
        stream.write_all(request.as_bytes()).expect("room");
        reply.clear();
        while !reply.ends_with(b"small") {
            let mut more = [0; 2_048];
            let read = stream.read(&mut more).expect("a reply");
            assert!(read > 0, "the connection ended after {number}");
            reply.extend(&more[..read]);
        }
        assert!(reply.starts_with(b"HTTP/1.1 200 OK"), "{number}");
        assert_eq!(*length.get_or_insert(reply.len()), reply.len(), "{number}");
    }
}
