//! `windfall get` and `windfall proxy` on loopback, before servers that answer as written here.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::support::{Folder, WINDFALL};

/// A server that gives each connection this reply, and ends it.
fn server(reply: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let at = listener.local_addr().expect("it is bound");
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut head = Vec::new();
            let mut byte = [0];
            while !head.ends_with(b"\r\n\r\n") && matches!(stream.read(&mut byte), Ok(1)) {
                head.extend(byte);
            }
            let _ = stream.write_all(reply.as_bytes());
        }
    });
    at
}

/// A server of this program, killed when dropped, and where it is.
pub(crate) fn started(folder: &Folder, arguments: &[&str]) -> (Running, String) {
    let (command, rest) = arguments.split_first().expect("a command");
    let own = [command, "--on", "127.0.0.1", "--port", "0", "-q"];
    served(folder.windfall(&[&own, rest].concat()))
}

/// Starts a server by a command, and returns where it is, without a slash at its end.
pub(crate) fn served(mut server: Command) -> (Running, String) {
    let mut server = Running(server.stderr(Stdio::piped()).spawn().expect("it runs"));
    let mut said = String::new();
    let mut lines = BufReader::new(server.0.stderr.take().expect("piped"));
    lines.read_line(&mut said).expect("a line");
    let at = said.trim_end().trim_end_matches('/');
    let at = at.rsplit("http://").next().expect("an address");
    (server, format!("http://{at}"))
}

pub(crate) struct Running(Child);

impl Running {
    pub(crate) fn process(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs `windfall get`; returns its exit code and what it says.
fn get(folder: &Folder, arguments: &[&str]) -> (Option<i32>, String) {
    let output = folder.windfall(&[&["get"], arguments].concat()).output().expect("it runs");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn addresses_that_cannot_be_fetched_are_named_with_what_is_wrong() {
    let folder = Folder::new("get-addresses");
    for (address, part) in [
        ("me:secret@localhost/a.jpg", "http://...@localhost/a.jpg"),
        ("https://localhost/a.jpg", "https is encrypted"),
        ("localhost:8080/a.jpg", "http://localhost:8080/a.jpg"),
        ("a.jpg", "http://a.jpg"),
        ("ftp://localhost/a.jpg", "ftp is no scheme"),
        ("http://localhost:99999/a.jpg", "the port"),
    ] {
        let (code, said) = get(&folder, &[address]);
        assert!(code == Some(2) && said.contains(part), "{address}: {code:?} {said}");
    }
}

#[test]
fn options_of_sap_are_refused_where_they_are_of_no_use() {
    let folder = Folder::new("get-options");
    let many: Vec<String> = (0..3).map(|number| format!("http://localhost:1/{number}")).collect();
    for (options, part) in [
        (&["--sap-port", "5000"][..], "--sap-port is of use over SAP alone"),
        (&["--client-opens"], "--client-opens is of use"),
        (&["--repair", "all"], "--repair is of use"),
        (&["--force-precise", "--repair", "all"], "is not damaged"),
        (&["--approx", "*/*", "--sap-port", "5"], "1024 to 65535"),
        (&["--approx", "*/*", "--sap-port", "65534"], "the first is 65533 at most"),
    ] {
        let urls = many.iter().map(String::as_str);
        let (code, said) = get(&folder, &options.iter().copied().chain(urls).collect::<Vec<_>>());
        assert!(code == Some(2) && said.contains(part), "{options:?}: {code:?} {said}");
    }
}

#[test]
fn redirections_are_followed_and_names_are_unescaped() {
    let folder = Folder::new("get-redirections");
    let to = server("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nthere");
    let location = format!("Location: http://{to}/else\r\nContent-Length: 0\r\n\r\n");
    let from = server(format!("HTTP/1.1 302 Found\r\n{location}").leak());
    let (code, said) = get(&folder, &["--json", &format!("http://{from}/a%20b%2Fc")]);
    assert_eq!((code, said.as_str()), (Some(0), ""));
    let written = std::fs::read(folder.path().join("a%20b%2Fc")).expect("it is no path");
    assert_eq!(written, b"there");
    let (code, said) = get(&folder, &[&format!("http://{from}/a%20b")]);
    assert_eq!((code, said.as_str()), (Some(0), ""));
    assert_eq!(std::fs::read(folder.path().join("a b")).expect("it is there"), b"there");
    let round = server("HTTP/1.1 301 Moved\r\nLocation: /a\r\nContent-Length: 0\r\n\r\n");
    let (code, said) = get(&folder, &[&format!("http://{round}/a")]);
    assert!(code == Some(1) && said.contains("the eleventh in a row"), "{code:?} {said}");
}

#[test]
fn a_file_stays_when_what_replaces_it_does_not_come_whole() {
    let folder = Folder::new("get-breaks");
    let replies = [
        "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this",
        "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-3/100\r\n\
         Content-Length: 4\r\n\r\npart",
    ];
    for reply in replies {
        std::fs::write(folder.path().join("a"), "before").expect("a file");
        let url = format!("http://{}/a", server(reply));
        let (code, said) = get(&folder, &["-o", "a", &url]);
        assert_ne!(code, Some(0), "{said}");
        let files = std::fs::read_dir(folder.path()).expect("a folder").count();
        assert_eq!(
            (std::fs::read(folder.path().join("a")).expect("it stays").as_slice(), files),
            (&b"before"[..], 1)
        );
    }
    let url = format!("http://{}/a", server("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nafter"));
    let (code, said) = get(&folder, &["-o", "a", &url]);
    assert_eq!((code, said.as_str()), (Some(0), ""));
    assert_eq!(std::fs::read(folder.path().join("a")).expect("it is there"), b"after");
}

#[test]
fn a_fetch_that_is_interrupted_or_killed_leaves_nothing() {
    for (signal, code) in [("TERM", Some(128 + 15)), ("KILL", None)] {
        fetch_until(signal, code);
    }
}

#[expect(clippy::disallowed_methods, reason = "it waits for another program")]
fn fetch_until(signal: &str, code: Option<i32>) {
    let folder = Folder::new("get-interrupted");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let url = format!("http://{}/a", listener.local_addr().expect("it is bound"));
    let mut child = folder.windfall(&["get", "-o", "a", &url]).spawn().expect("it runs");
    let (mut stream, _) = listener.accept().expect("it connects");
    // An answer before the question would be refused.
    let question = BufReader::new(stream.try_clone().expect("a descriptor")).lines();
    let lines = question.map_while(Result::ok).take_while(|line| !line.is_empty());
    assert!(lines.count() > 0, "it asks");
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this").expect("it reads");
    let count = || std::fs::read_dir(folder.path()).expect("a folder").count();
    // The file has no name yet.
    let files = format!("/proc/{}/fd", child.id());
    let is_ours = |file: std::path::PathBuf| file.starts_with(folder.path());
    let open = || {
        let files = std::fs::read_dir(&files).into_iter().flatten().flatten();
        files.filter_map(|file| std::fs::read_link(file.path()).ok()).any(is_ours)
    };
    while !open() {
        assert_eq!(child.try_wait().expect("it is ours"), None, "it has ended");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let kill =
        Command::new("sh").args(["-c", "kill -$0 $1", signal, &child.id().to_string()]).status();
    assert!(kill.expect("it runs").success());
    assert_eq!(child.wait().expect("it ends").code(), code, "{signal}");
    assert_eq!(count(), 0);
}

#[test]
fn a_fetch_into_a_pipe_without_a_reader_can_be_interrupted_and_one_with_a_reader_is_whole() {
    use rustix::process::{Pid, Signal, kill_process};
    let folder = Folder::new("get-pipe");
    let pipe = folder.path().join("pipe");
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    let fifo = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, fifo, mode, 0).expect("a pipe");
    for options in [&["-o", "pipe"][..], &["-C", "-o", "pipe"]] {
        for signal in [Some(Signal::TERM), Some(Signal::INT), None] {
            let (at, requests) =
                scripted(vec![reply("HTTP/1.1 200 OK\r\nContent-Length: 5", b"whole")]);
            let url = format!("http://{at}/a");
            let all = [&["get", "-q"], options, &[&url]].concat();
            let mut child = folder.windfall(&all).spawn().expect("it runs");
            requests.recv().expect("it asks");
            let code = match signal {
                Some(signal) => {
                    kill_process(Pid::from_child(&child), signal).expect("it runs");
                    128 + signal.as_raw()
                }
                None => {
                    assert_eq!(std::fs::read(&pipe).expect("a pipe"), b"whole");
                    0
                }
            };
            assert_eq!(child.wait().expect("it ends").code(), Some(code), "{options:?} {signal:?}");
        }
    }
}

/// The findings of REDbot on files, and on the length of any reply.
const OF_FILES: [&str; 4] = [
    OF_LENGTH,
    "If-None-Match conditional requests are supported.",
    "If-Modified-Since conditional requests are supported.",
    "A ranged request returned the correct partial content.",
];
const OF_LENGTH: &str = "The Content-Length header is correct.";
/// Its other findings that are no fault of the server.
const NO_FAULTS: [&str; 9] = [
    "The resource last changed ",
    "The server's clock is correct.",
    "The resource could not be found.",
    "One or more intermediaries are present.",
    "This response instructs browsers not to 'sniff' its media type.",
    // RFC 9110 section 10.2.2 permits it, and behind a gateway another would be wrong.
    "The Location header contains a relative URI.",
    // Files have no `Cache-Control`: the server does not know for how long they stay as they are.
    "This response allows ",
    "In exceptional circumstances, caches can serve this response stale.",
    "This response cannot be stored by caches.",
];

/// REDbot, lint for HTTP, finds no fault with what `serve` answers, nor behind a gateway.
#[test]
fn redbot_finds_replies_in_order() {
    let redbot = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../target/redbot/bin/redbot");
    if !redbot.exists() {
        windfall_testkit::skip!("there is no REDbot: .ci/prepare fetches it");
    }
    let folder = Folder::new("redbot");
    std::fs::create_dir(folder.path().join("folder")).expect("a folder");
    std::fs::write(folder.path().join("a.txt"), "text\n".repeat(9_999)).expect("a file");
    std::fs::write(folder.path().join("empty.txt"), "").expect("a file");
    let (_server, at) = started(&folder, &["serve", "."]);
    let (_gateway, behind) = started(&folder, &["gateway", &at]);
    for (server, path, status, notes) in [
        (&at, "a.txt", "200 OK", &OF_FILES[..]),
        (&behind, "a.txt", "200 OK", &OF_FILES),
        (&at, "empty.txt", "200 OK", &OF_FILES[1..3]),
        (&at, "folder/", "200 OK", &[OF_LENGTH]),
        (&at, "folder", "301 Moved Permanently", &[OF_LENGTH]),
        (&behind, "folder", "301 Moved Permanently", &[OF_LENGTH]),
        (&at, "none", "404 Not Found", &[OF_LENGTH]),
    ] {
        let url = format!("{server}/{path}");
        let output = Command::new(&redbot).args(["-o", "text", &url]).output().expect("it runs");
        let report = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(report.starts_with(&format!("HTTP/1.1 {status}")), "{url}: {report}");
        let said: Vec<_> = report.lines().filter_map(|line| line.strip_prefix("  * ")).collect();
        for note in notes {
            assert!(said.contains(note), "{url}: no {note} in {report}");
        }
        for note in said {
            let mut known = OF_FILES.iter().chain(&NO_FAULTS);
            assert!(known.any(|known| note.starts_with(known)), "{url}: {note}");
        }
    }
}

#[test]
fn servers_that_are_told_to_end_have_done_their_work() {
    use rustix::process::{Pid, Signal, kill_process};
    let folder = Folder::new("servers-end");
    for (command, argument) in [("serve", "."), ("proxy", ""), ("gateway", "http://127.0.0.1:9")] {
        for signal in [Signal::INT, Signal::TERM] {
            let argument = (!argument.is_empty()).then_some(argument);
            let all: Vec<&str> = core::iter::once(command).chain(argument).collect();
            let (mut server, _) = started(&folder, &all);
            kill_process(Pid::from_child(&server.0), signal).expect("it runs");
            let status = server.0.wait().expect("it ends");
            assert_eq!(status.code(), Some(0), "{command} after {signal:?}");
        }
    }
}

#[test]
fn a_reader_that_goes_away_ends_a_fetch_silently() {
    let folder = Folder::new("get-reader");
    std::fs::write(folder.path().join("a"), vec![7; 4_000_000]).expect("a file");
    let (_server, root) = started(&folder, &["serve", "."]);
    let mut get = folder.windfall(&["get", "-o", "-", &format!("{root}/a")]);
    let mut get = get.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
    drop(get.stdout.take());
    let output = get.wait_with_output().expect("it ends");
    assert_eq!((output.status.code(), &output.stderr[..]), (Some(141), &b""[..]));
}

#[test]
fn a_short_file_that_the_standard_output_does_not_take_is_an_error() {
    let Ok(full) = std::fs::File::options().write(true).open("/dev/full") else {
        windfall_testkit::skip!("there is no /dev/full");
    };
    let folder = Folder::new("get-full");
    // Without the end of a line it is buffered.
    std::fs::write(folder.path().join("a"), "short").expect("a file");
    let (_server, root) = started(&folder, &["serve", "."]);
    let mut get = folder.windfall(&["get", "-o", "-", &format!("{root}/a")]);
    let output = get.stdout(full).output().expect("it ends");
    let message = String::from_utf8(output.stderr).expect("text");
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.contains("cannot write the standard output"), "{message}");
}

#[test]
fn a_standard_output_that_is_closed_is_an_error() {
    let folder = Folder::new("get-closed");
    std::fs::write(folder.path().join("a"), "a file").expect("a file");
    let (_server, root) = started(&folder, &["serve", "."]);
    let get = format!("exec {WINDFALL} get -o - {root}/a >&-");
    let output = Command::new("sh").args(["-c", &get]).output().expect("it ends");
    let message = String::from_utf8(output.stderr).expect("text");
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.contains("cannot write the standard output: it is closed"), "{message}");
}

#[test]
fn a_proxy_that_is_open_to_others_says_so() {
    for (on, warns) in [("0.0.0.0", true), ("127.0.0.1", false)] {
        let mut child = Command::new(WINDFALL)
            .args(["proxy", "--on", on, "--port", "0"])
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
        let said: Vec<String> =
            lines.map_while(Result::ok).take(if warns { 2 } else { 1 }).collect();
        let _ = child.kill();
        let _ = child.wait();
        assert_eq!(said.iter().any(|it| it.contains("may use the proxy")), warns, "{said:?}");
    }
}

/// A server that gives one connection after the other these replies, and tells the requests.
fn scripted(replies: Vec<Vec<u8>>) -> (SocketAddr, std::sync::mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let at = listener.local_addr().expect("it is bound");
    let (sender, requests) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for reply in replies {
            let (mut stream, _) = listener.accept().expect("a client");
            let mut head = Vec::new();
            let mut byte = [0];
            while !head.ends_with(b"\r\n\r\n") && matches!(stream.read(&mut byte), Ok(1)) {
                head.extend(byte);
            }
            let _ = sender.send(String::from_utf8_lossy(&head).to_lowercase());
            let _ = stream.write_all(&reply);
        }
    });
    (at, requests)
}

/// A reply with this head, and the bytes of its body.
fn reply(head: &str, body: &[u8]) -> Vec<u8> {
    [head.as_bytes(), b"\r\nConnection: close\r\n\r\n", body].concat()
}

#[test]
fn a_file_that_is_there_in_part_is_continued() {
    let folder = Folder::new("get-continues");
    let part = "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 4-9/10\r\nContent-Length: 6";
    let (at, requests) = scripted(vec![
        reply(part, b"456789"),
        reply(
            "HTTP/1.1 416 Range Not Satisfiable\r\nContent-Range: bytes */10\r\nContent-Length: 0",
            b"",
        ),
        reply("HTTP/1.1 200 OK\r\nContent-Length: 5", b"whole"),
    ]);
    let url = format!("http://{at}/a");
    let a = folder.path().join("a");
    std::fs::write(&a, "0123").expect("a file");
    for (text, range) in [
        ("0123456789", "range: bytes=4-"),
        ("0123456789", "range: bytes=10-"),
        ("whole", "range: bytes=10-"),
    ] {
        let (code, said) = get(&folder, &["-C", &url]);
        assert_eq!((code, said.as_str()), (Some(0), ""));
        assert!(requests.recv().expect("a request").contains(range), "{range}");
        assert_eq!(std::fs::read_to_string(&a).expect("it is there"), text);
    }
}

#[test]
fn a_body_that_breaks_off_is_continued_by_range() {
    let folder = Folder::new("get-breaks-on");
    let whole = "HTTP/1.1 200 OK\r\nETag: \"v\"\r\nContent-Length: 10";
    let part = |start: usize| {
        let length = 10 - start;
        format!(
            "HTTP/1.1 206 Partial Content\r\nETag: \"v\"\r\nContent-Range: bytes {start}-9/10\r\n\
             Content-Length: {length}"
        )
    };
    let (at, requests) =
        scripted(vec![reply(whole, b"0123"), reply(&part(4), b"45"), reply(&part(6), b"6789")]);
    let (code, said) = get(&folder, &[&format!("http://{at}/a")]);
    assert_eq!((code, said.as_str()), (Some(0), ""));
    let text = std::fs::read_to_string(folder.path().join("a")).expect("it is there");
    assert_eq!(text, "0123456789");
    for asked in [None, Some("range: bytes=4-"), Some("range: bytes=6-")] {
        let request = requests.recv().expect("a request");
        assert!(asked.is_none_or(|asked| request.contains(asked)), "{request}");
        assert_eq!(asked.is_some(), request.contains("if-range: \"v\""), "{request}");
    }
}

/// Goes on with a file of which "0123" is there, at a server with these replies; returns the exit
/// code, what is said, and the file.
fn continued(name: &str, options: &[&str], replies: Vec<Vec<u8>>) -> (Option<i32>, String, String) {
    let folder = Folder::new(name);
    std::fs::write(folder.path().join("a"), "0123").expect("a file");
    let (at, _requests) = scripted(replies);
    let url = format!("http://{at}/a");
    let (code, said) = get(&folder, &[&["-C"], options, &[&url]].concat());
    (code, said, std::fs::read_to_string(folder.path().join("a")).expect("it is there"))
}

#[test]
fn a_reply_that_is_not_the_rest_of_a_file_leaves_it_as_it_is() {
    let part = "HTTP/1.1 206 Partial Content\r\nContent-Length: 6\r\n";
    let range = |text: &str| format!("{part}Content-Range: bytes {text}");
    for (head, body, why) in [
        (range("0-5/10"), "012345", "bytes=4- was asked for, and bytes 0-5 came"),
        (range("5-10/11"), "56789a", "bytes 5-10 came"),
        (range("4-8/10"), "456789", "names 5 bytes"),
        (range("4-9/9"), "456789", "names no range"),
        (range("4-9/10\r\nContent-Range: bytes 0-5/10"), "456789", "names no range"),
        (part.trim_end().to_owned(), "456789", "names no range"),
        (format!("{part}Content-Type: multipart/byteranges; boundary=x"), "--x--\n", "no range"),
        (range("4-9/10").replace("Length: 6", "Length: 5"), "45678", "but its body has 5"),
        ("HTTP/1.1 416 Range\r\nContent-Range: bytes */3".to_owned(), "", "has 3 bytes, and 4"),
        ("HTTP/1.1 416 Range\r\nContent-Length: 0".to_owned(), "", "416"),
        ("HTTP/1.1 204 No Content".to_owned(), "", "204"),
        ("HTTP/1.1 404 Not Found\r\nContent-Length: 1".to_owned(), "x", "404"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 10".to_owned(), "new", "the body broke off"),
    ] {
        let (code, said, file) =
            continued("get-wrong-rest", &[], vec![reply(&head, body.as_bytes())]);
        assert!(code == Some(1) && said.contains(why) && file == "0123", "{head}: {said} {file}");
    }
}

#[test]
fn a_part_that_ends_early_is_not_taken_for_the_rest_of_a_file() {
    let part = |range: &str, headers: &str, body: &str| {
        let head = format!("HTTP/1.1 206 Partial Content\r\nContent-Range: bytes {range}{headers}");
        reply(&head, body.as_bytes())
    };
    let [v, w] = ["v", "w"].map(|version| format!("\r\nETag: \"{version}\""));
    let chunked = "\r\nTransfer-Encoding: chunked";
    let none = || reply("HTTP/1.1 416 Range\r\nContent-Range: bytes */10", b"");
    let name = "get-short-part";
    for (replies, code, text) in [
        // Without a name of its version no rest can be added, but what has come stays.
        (vec![part("4-6/10", "", "456")], 1, "0123456"),
        (vec![part("4-9/10", "", "45")], 1, "012345"),
        (vec![part("4-9/10", chunked, "2\r\n45\r\n0\r\n\r\n")], 1, "012345"),
        (vec![part("4-5/10", chunked, "6\r\n456789\r\n0\r\n\r\n")], 1, "0123"),
        (vec![part("4-6/*", "", "456")], 1, "0123456"),
        (vec![part("4-6/10", &v, "456"), part("7-9/10", &w, "xyz")], 1, "0123456"),
        (vec![part("4-6/10", &v, "456"), part("6-9/10", &v, "6789")], 1, "0123456"),
        (vec![part("4-6/10", &v, "456"), part("7-9/11", &v, "789")], 1, "0123456"),
        (vec![part("4-6/10", &v, "456"), reply("HTTP/1.1 200 OK", b"other")], 1, "0123456"),
        (vec![part("4-6/10", &v, "456"), part("7-9/10", &v, "789")], 0, "0123456789"),
        (
            vec![part("4-6/10", &v, "456"), part("7-7/10", &v, "7"), part("8-9/10", &v, "89")],
            0,
            "0123456789",
        ),
        (vec![part("4-6/*", &v, "456"), part("7-9/10", &v, "789")], 0, "0123456789"),
        (vec![part("4-9/*", &v, "456789"), none()], 0, "0123456789"),
        (vec![part("4-9/*", "", "456789"), none()], 0, "0123456789"),
        (vec![part("4-8/*", "", "45678"), none()], 1, "012345678"),
        // A server that knows no length sends the same part again, which has nothing further.
        (vec![part("4-9/*", &v, "456789"), part("4-9/*", &v, "456789")], 0, "0123456789"),
        (vec![part("4-6/*", &v, "456"), part("4-9/*", &v, "456789")], 1, "0123456"),
    ] {
        let shown = replies.iter().map(|it| String::from_utf8_lossy(it)).collect::<String>();
        let (found, said, file) = continued(name, &[], replies);
        assert_eq!((found, file.as_str()), (Some(code), text), "{shown}: {said}");
    }
}

/// The bytes that an attempt has left are of one version, and the next one adds only its rest.
#[test]
fn a_repetition_adds_only_to_the_same_version() {
    let of = |range: &str, version: &str, body: &str| {
        let head = format!(
            "HTTP/1.1 206 Partial Content\r\nETag: \"{version}\"\r\nContent-Range: bytes {range}"
        );
        reply(&head, body.as_bytes())
    };
    let whole = || reply("HTTP/1.1 200 OK\r\nETag: \"w\"\r\nContent-Length: 5", b"other");
    let begun = || vec![of("4-9/10", "v", "45"), of("6-9/10", "w", "xxxx")];
    for (last, code, text) in [
        (of("6-9/10", "w", "xxxx"), 1, "012345"),
        (of("6-9/10", "v", "6789"), 0, "0123456789"),
        (whole(), 0, "other"),
    ] {
        let replies = begun().into_iter().chain([last]).collect();
        let (found, said, file) = continued("get-versions", &["--retries", "1"], replies);
        assert_eq!((found, file.as_str()), (Some(code), text), "{said}");
    }
}

/// A later `get -C` asks for the rest of the version that is there, where the file system keeps its
/// name.
#[test]
fn a_file_is_continued_later_only_by_its_own_version() {
    let folder = Folder::new("get-later");
    let begun =
        |version: &str| format!("HTTP/1.1 200 OK\r\nETag: \"{version}\"\r\nContent-Length: 10");
    let rest = |version: &str| {
        format!(
            "HTTP/1.1 206 Partial Content\r\nETag: \"{version}\"\r\nContent-Range: bytes 4-9/10"
        )
    };
    let gone = || reply("HTTP/1.1 404 Not Found", b"");
    let a = folder.path().join("a");
    for (last, code, text) in [
        (reply(&rest("v"), b"456789"), 0, "0123456789"),
        (reply(&rest("w"), b"xxxxxx"), 1, "0123"),
        (reply(&begun("w"), b"other of w"), 0, "other of w"),
    ] {
        let _ = std::fs::remove_file(&a);
        let (at, requests) = scripted(vec![reply(&begun("v"), b"0123"), gone(), last]);
        let url = format!("http://{at}/a");
        let (first, said) = get(&folder, &["-C", &url]);
        let left = std::fs::read_to_string(&a).expect("what came");
        assert_eq!((first, left.as_str()), (Some(1), "0123"), "{said}");
        if windfall_system::files::noted_version(&a).is_none() {
            windfall_testkit::skip!("the file system has no attributes");
        }
        let (second, said) = get(&folder, &["-C", &url]);
        let file = std::fs::read_to_string(&a).expect("it is there");
        assert_eq!((second, file.as_str()), (Some(code), text), "{said}");
        let request = requests.iter().nth(2).expect("a third request");
        assert!(request.contains("if-range: \"v\""), "{request}");
    }
}

#[test]
fn what_fails_and_may_pass_is_repeated_and_nothing_else() {
    let folder = Folder::new("get-retries");
    let busy = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0";
    let (at, _requests) =
        scripted(vec![reply(busy, b""), reply("HTTP/1.1 200 OK\r\nContent-Length: 2", b"ok")]);
    let url = format!("http://{at}/a");
    let (code, said) = get(&folder, &["--retries", "2", &url]);
    assert!(code == Some(0) && said.contains("503") && said.contains("again in 1 s"), "{said}");
    let (at, requests) = scripted(vec![reply("HTTP/1.1 404 Not Found\r\nContent-Length: 0", b"")]);
    let (code, said) = get(&folder, &["--retries", "5", &format!("http://{at}/a")]);
    assert!(code == Some(1) && said.contains("404") && !said.contains("again"), "{said}");
    drop(requests);
    // A server that is silent is given up in the time that was said.
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let url = format!("http://{}/a", silent.local_addr().expect("it is bound"));
    for option in ["--timeout", "--max-time"] {
        let (code, said) = get(&folder, &[option, "300ms", &url]);
        assert_eq!(code, Some(1), "{option}: {said}");
    }
}

#[test]
fn headers_and_a_user_go_to_the_server_that_was_named_and_to_no_other() {
    let folder = Folder::new("get-headers");
    let ok = || reply("HTTP/1.1 200 OK\r\nContent-Length: 0", b"");
    let (other, of_other) = scripted(vec![ok()]);
    let moved = format!("HTTP/1.1 302 Found\r\nLocation: http://{other}/b\r\nContent-Length: 0");
    let (at, of_first) = scripted(vec![reply(&moved, b"")]);
    let options = ["-H", "Accept-Language: de", "-H", "Cookie: a=b", "--user", "me:secret"];
    let (code, said) = get(&folder, &[&options[..], &[&format!("http://{at}/a")]].concat());
    assert_eq!((code, said.as_str()), (Some(0), ""));
    let secret = ["cookie: a=b", "authorization: basic bwu6c2vjcmv0"];
    let first = of_first.recv().expect("one");
    let second = of_other.recv().expect("another");
    assert!(secret.iter().all(|it| first.contains(it)), "{first}");
    assert!(!secret.iter().any(|it| second.contains(it)), "{second}");
    assert!([first, second].iter().all(|it| it.contains("accept-language: de")));
    for wrong in ["Range: bytes=0-", "X-SAP-Port: 5000", "none", "a b: c", "Connection: close"] {
        let (code, _) = get(&folder, &["-H", wrong, "http://127.0.0.1:1/a"]);
        assert_eq!(code, Some(2), "{wrong}");
    }
}

#[test]
fn addresses_come_from_a_file_too() {
    let folder = Folder::new("get-list");
    let ok = || reply("HTTP/1.1 200 OK\r\nContent-Length: 2", b"ok");
    let (at, _requests) = scripted(vec![ok(), ok(), ok()]);
    let list = format!("# three\nhttp://{at}/a\n\n  http://{at}/b  \n");
    std::fs::write(folder.path().join("list"), list).expect("a file");
    let (code, said) = get(&folder, &["-i", "list", &format!("http://{at}/c")]);
    assert_eq!((code, said.as_str()), (Some(0), ""));
    for name in ["a", "b", "c"] {
        assert_eq!(std::fs::read(folder.path().join(name)).expect(name), b"ok");
    }
    std::fs::write(folder.path().join("list"), "http://a/b\nnone\n").expect("a file");
    let (code, said) = get(&folder, &["-i", "list"]);
    assert!(code == Some(2) && said.contains("list, line 2: "), "{said}");
    let (code, _) = get(&folder, &["-i", "/dev/null"]);
    assert_eq!(code, Some(2));
}

/// Asks a server for a path with a line and headers of one's own; returns the whole reply.
fn ask(at: &str, request: &str) -> String {
    let mut stream = std::net::TcpStream::connect(at).expect("it listens");
    let request = format!("{request}\r\nHost: x\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("room");
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).expect("a reply");
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn a_server_sends_compressed_files_and_what_caches_need() {
    let folder = Folder::new("serve-compressed");
    let site = folder.path().join("site");
    std::fs::create_dir(&site).expect("a folder");
    for (name, text) in
        [("a.js", "plain"), ("a.js.gz", "gzipped"), ("b.js", "b"), ("b.js.br", "br")]
    {
        std::fs::write(site.join(name), text).expect("a file");
    }
    // One that is older than its file is of another version.
    let (_server, root) =
        started(&folder, &["serve", "--cache-control", "max-age=60", &site.display().to_string()]);
    let at = root.trim_start_matches("http://").trim_end_matches('/').to_owned();
    for (path, accepted, body, encoding) in [
        ("/a.js", "gzip, br", "gzipped", Some("gzip")),
        ("/a.js", "br", "plain", None),
        ("/a.js", "gzip;q=0", "plain", None),
        ("/a.js", "*", "gzipped", Some("gzip")),
        ("/b.js", "gzip, br;q=0.5", "br", Some("br")),
        ("/b.js", "identity", "b", None),
    ] {
        let said = ask(&at, &format!("GET {path} HTTP/1.1\r\nAccept-Encoding: {accepted}"));
        let said = said.to_lowercase();
        assert!(said.ends_with(&format!("\r\n\r\n{body}")), "{path} {accepted}: {said}");
        let named = encoding.map(|encoding| format!("content-encoding: {encoding}\r\n"));
        assert_eq!(named.is_some(), said.contains("content-encoding"), "{said}");
        assert!(named.is_none_or(|named| said.contains(&named)), "{said}");
        assert!(
            said.contains("vary: accept-encoding") && said.contains("text/javascript"),
            "{said}"
        );
        assert!(said.contains("cache-control: max-age=60\r\n"), "{said}");
    }
    let range = ask(&at, "GET /a.js HTTP/1.1\r\nAccept-Encoding: gzip\r\nRange: bytes=0-1");
    assert!(range.starts_with("HTTP/1.1 206 ") && range.ends_with("\r\n\r\npl"), "{range}");
    assert!(ask(&at, "GET /a.js HTTP/1.2").starts_with("HTTP/1.1 200 "));
    assert!(ask(&at, "BREW /a.js HTTP/1.1").starts_with("HTTP/1.1 501 "));
    assert!(ask(&at, "DELETE /a.js HTTP/1.1").starts_with("HTTP/1.1 405 "));
}
