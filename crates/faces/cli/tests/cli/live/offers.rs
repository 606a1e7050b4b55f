//! What `windfall serve` and lighttpd with `mod_sap` make of the same offers and connections.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};

use windfall_socket::{Duration, Message, MessageKind, Mode, SapListener, SapSocket};

use crate::live::lighttpd::{CONFIGURATION, Lighttpd, built_module, folder};
use crate::live::{Folder, LONG};
use crate::web::{Running, started};

pub(super) const HERE: Ipv4Addr = Ipv4Addr::LOCALHOST;
/// Another address of this machine, as of another client.
const ELSEWHERE: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

/// The kinds of messages, see `docs/reference/web.md`.
const ASK: u8 = 1;
const UNKNOWN: u8 = 2;
const PLAN: u8 = 3;
const END: u8 = 5;
/// Longer than a call takes.
const LONG_CALL: Duration = Duration::from_secs(60);

pub(super) fn free_port() -> u16 {
    let free = UdpSocket::bind((HERE, 0)).expect("a free port");
    free.local_addr().expect("its address").port()
}

/// lighttpd that takes offers of all kinds.
fn lighttpd(folder: &Folder) -> Lighttpd {
    let all = CONFIGURATION.replace("image/*", "*/*").replace("5000-", "1024-");
    let listen = format!("sap.listen = \"127.0.0.1:{}\"\n", free_port());
    Lighttpd::start(folder, &format!("{all}{listen}"))
}

/// `windfall serve`, and where it is.
pub(super) fn serving(folder: &Folder) -> (Running, SocketAddr) {
    let (server, at) = started(folder, &["serve", "site"]);
    (server, at.trim_start_matches("http://").trim_end_matches('/').parse().expect("an address"))
}

/// The head of a reply.
pub(super) struct Head(String);

impl Head {
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let mut lines = self.0.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// Tells how an offer was taken.
    fn way(&self) -> &str {
        let reason = self.get("X-SAP-Fallback");
        if self.get("X-SAP-Token").is_some() { "sap" } else { reason.unwrap_or("no offer") }
    }
}

/// Asks for a file from this address, with these lines of headers.
pub(super) fn ask(server: SocketAddr, from: Ipv4Addr, file: &str, headers: &str) -> Head {
    let connecting = async {
        let socket = tokio::net::TcpSocket::new_v4()?;
        socket.bind((from, 0).into())?;
        socket.connect(server).await?.into_std()
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build();
    let mut stream = runtime.expect("a loop").block_on(connecting).expect("it listens");
    stream.set_nonblocking(false).expect("a socket");
    stream.set_read_timeout(Some(LONG)).expect("a time");
    let lines: String = headers.lines().map(|line| format!("{line}\r\n")).collect();
    write!(stream, "GET /{file} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{lines}\r\n")
        .expect("it reads");
    let mut reply = Vec::new();
    stream.read_to_end(&mut reply).expect("it answers");
    let end = reply.windows(4).position(|it| it == b"\r\n\r\n").expect("a head");
    Head(String::from_utf8_lossy(&reply[..end]).into_owned())
}

/// The headers of an offer, and whether it is one; `PORT` is one where nothing listens.
fn offers() -> Vec<(String, bool)> {
    const APPROX: &str = "X-SAP-Approx: image/jpeg\nX-SAP-Port: PORT";
    let token = "00112233445566778899aAbBcCdDeEfF";
    let list = |value: &str| format!("X-SAP-Approx: {value}\nX-SAP-Port: PORT");
    let port = |value: &str| format!("X-SAP-Approx: image/jpeg\nX-SAP-Port: {value}");
    let opens = |value: &str| format!("X-SAP-Approx: */*\nX-SAP-Client-Opens: {value}");
    let precise = |value: &str| format!("X-SAP-Port: PORT\nX-SAP-Force-Precise: {value}");
    let many = |count| "a/b,".repeat(count) + "image/*";
    let filled = |length| format!("{:<length$}image/*", ",");
    let mut table = Vec::new();
    let mut add = |make: &dyn Fn(&str) -> String, good: &[&str], bad: &[&str]| {
        table.extend(good.iter().map(|value| (make(value), true)));
        table.extend(bad.iter().map(|value| (make(value), false)));
    };
    let good = ["IMAGE/Jpeg", "image/*;q=1", " a/b ,, image/jpeg\t", "*/*", &many(63), ";,*/*"];
    let bad = ["", "image", "*/jpeg", "image/jpeg image/png", "a/b/c,*/*", "image/png", ",", "*"];
    add(&list, &good, &bad);
    add(&list, &[&filled(2_041)], &[&filled(2_042), &many(64), "*/*;é", "é/*, */*", "/, */*"]);
    add(&list, &["image/*\nX-SAP-Approx: a/b", "a/b\nX-SAP-Approx:\nX-SAP-Approx: */*"], &[]);
    let wrong = ["", "0", "80", "1023", "65536", "+5004", "5004x", "-1", "5004,5005", "005004"];
    add(&port, &["PORT", "PORT\t ", "1024", "65535", "05004"], &wrong);
    add(&port, &["PORT\nX-SAP-Client-Opens: 0", "PORT\nX-SAP-Client-Opens: No"], &[]);
    add(&port, &["PORT\nX-SAP-Client-Opens:"], &["PORT\nX-SAP-Client-Opens: 1"]);
    add(&port, &[], &["PORT\nX-SAP-Port: PORT", "PORT\nX-SAP-Client-Opens: perhaps"]);
    let numbers = ["1", "65535", "00007"].map(|number| format!("{token} {number}"));
    add(&opens, &["1", "Yes", "TRUE"], &["", "12", "12 7", "00 11", "1, 1", "0", "no"]);
    add(&opens, &numbers.each_ref().map(String::as_str), &["1\nX-SAP-Client-Opens: 1"]);
    let numbers = ["0", "+7", "65536", "7 8", "000007", " 7", ""];
    let numbers = numbers.map(|number| format!("{token} {number}"));
    add(&opens, &["1\nX-SAP-Port:"], &numbers.each_ref().map(String::as_str));
    add(&precise, &["1", "yes", "anything"], &["0", "no", "False", "", "1, 1", "é", "0, 0"]);
    add(&precise, &["no\nX-SAP-Approx: */*", "1\nX-SAP-Approx: image/*"], &[]);
    add(&precise, &[], &["1\nX-SAP-Approx: text/*", "1\nX-SAP-Approx: image"]);
    let rest = ["", "X-SAP-Approx: */*", "X-SAP-Port: PORT", "X-SAP-Force-Precise: 1"];
    table.extend(rest.map(|headers| (headers.to_owned(), false)));
    table.push((APPROX.to_owned(), true));
    table
}

//= S0.39
//= S0.40
//= S0.41
#[test]
fn serve_and_lighttpd_take_the_same_offers() {
    let folder = folder("offers-same", built_module!());
    let lighttpd = lighttpd(&folder);
    let (_serve, serve) = serving(&folder);
    // No program answers there, which is said of an offer alone.
    let closed = free_port().to_string();
    for (headers, is_offer) in offers() {
        let lines = headers.replace("PORT", &closed);
        let heads = [serve, lighttpd.at()].map(|server| ask(server, HERE, "a.jpg", &lines));
        for (head, server) in heads.iter().zip(["serve", "lighttpd"]) {
            assert!(head.0.starts_with("HTTP/1.1 20"), "{server}: {headers:?}: {}", head.0);
            assert_eq!(head.way() != "no offer", is_offer, "{server}: {headers:?}: {}", head.0);
        }
        let [by_serve, by_lighttpd] = heads.map(|head| head.way() == "sap");
        assert_eq!(by_serve, by_lighttpd, "{headers:?}");
    }
    // Both take an offer for a part. The client cannot be called here.
    let part = format!("X-SAP-Port: {closed}\nX-SAP-Force-Precise: 1\nRange: bytes=0-");
    for server in [serve, lighttpd.at()] {
        let head = ask(server, HERE, "a.jpg", &part);
        assert!(head.0.starts_with("HTTP/1.1 206"), "{}", head.0);
        assert_ne!(head.way(), "no offer", "{}", head.0);
    }
}

#[test]
fn serve_and_lighttpd_damage_nothing_that_must_arrive_as_it_is() {
    let folder = folder("offers-as-it-is", built_module!());
    let site = folder.path().join("site");
    std::fs::copy(site.join("a.jpg"), site.join("kept.jpg")).expect("a file");
    let kept = "max-age=5, No-Transform";
    let set = format!("setenv.set-response-header = ( \"Cache-Control\" => \"{kept}\" )");
    let header = format!("$HTTP[\"url\"] =^ \"/kept\" {{ {set} }}\n");
    let before = CONFIGURATION.replace("( \"mod_sap\" )", "( \"mod_setenv\", \"mod_sap\" )");
    let port = free_port();
    let listen = format!("sap.listen = \"127.0.0.1:{port}\"\n");
    let lighttpd = Lighttpd::start(&folder, &format!("{before}{listen}{header}"));
    let (_serve, serve) = serving(&folder);
    let approx = "X-SAP-Approx: image/*\nX-SAP-Client-Opens: 1\n";
    let forbids = format!("{approx}Cache-Control: max-age=0, No-Transform\n");
    for server in [serve, lighttpd.at()] {
        assert_eq!(ask(server, HERE, "a.jpg", approx).way(), "sap");
        assert_eq!(ask(server, HERE, "a.jpg", &forbids).way(), "no-transform");
        let exact = format!("{forbids}X-SAP-Force-Precise: 1\n");
        assert_eq!(ask(server, HERE, "a.jpg", &exact).way(), "sap");
    }
    // What another module of lighttpd writes into the reply holds too, and after a call.
    let head = ask(lighttpd.at(), HERE, "kept.jpg", approx);
    assert_eq!((head.way(), head.get("Cache-Control")), ("no-transform", Some(kept)));
    let precise = format!("{approx}X-SAP-Force-Precise: 1\n");
    let head = ask(lighttpd.at(), HERE, "kept.jpg", &precise);
    assert_eq!((head.way(), head.get("Cache-Control")), ("sap", Some("no-store")));
    assert_eq!(head.get("X-SAP-Cache-Control"), Some(kept));
    let called = SapListener::bind("127.0.0.1:0").expect("a free port");
    let port = called.local_addr().expect("its address").port();
    for (headers, way) in [("", "no-transform"), ("X-SAP-Force-Precise: 1\n", "sap")] {
        let headers = format!("X-SAP-Approx: image/*\nX-SAP-Port: {port}\n{headers}");
        assert_eq!(ask(lighttpd.at(), HERE, "kept.jpg", &headers).way(), way);
        let (socket, _) = called.accept_timeout(LONG_CALL).expect("a call");
        let has_plan = matches!(socket.recv(), Ok(Some(message)) if message.data[0] == PLAN);
        assert_eq!(has_plan, way == "sap");
    }
}

/// A connection that this client has opened, and the bodies that come on it.
pub(super) struct Opened(pub(super) SapSocket);

impl Opened {
    /// Asks for the body of a token as the transfer of this number.
    pub(super) fn ask(&self, number: u8, token: &str) {
        let digit = |at: usize| u8::from_str_radix(&token[at..at + 2], 16).expect("hexadecimal");
        let token: Vec<u8> = (0..16).map(|at| digit(2 * at)).collect();
        let data = [&[ASK, 0, number], &token[..]].concat();
        self.0.send_message(&Message::new(Mode::Precise, data)).expect("it is open");
    }

    /// Returns the kind of message that begins a transfer, once the transfer has ended; nothing of
    /// another comes before but an end, which may follow though it is not needed.
    fn outcome(&self, number: u8) -> u8 {
        let mut begun = false;
        let mut left = 0;
        loop {
            let message = self.0.recv().expect("it is open").expect("it has not ended");
            let data = &message.data;
            if message.kind != MessageKind::Precise {
                assert_eq!(message.stream, u16::from(number), "of another transfer");
                left -= 1;
            } else if data[0] != END {
                assert_eq!(data[1..3], [0, number], "of another transfer");
                match data[0] {
                    PLAN => (begun, left) = (true, left + pieces(data)),
                    UNKNOWN => return UNKNOWN,
                    _ => {}
                }
            }
            let has_end = message.kind == MessageKind::Precise && data[..3] == [END, 0, number];
            if has_end || begun && left == 0 {
                return PLAN;
            }
        }
    }
}

/// Returns the number of pieces that a plan announces.
fn pieces(plan: &[u8]) -> i64 {
    let number = |at: usize| {
        let bytes = plan[at..at + 4].try_into().expect("four bytes");
        i64::from(u32::from_be_bytes(bytes))
    };
    let ranges = usize::from(plan[27]) << 8 | usize::from(plan[28]);
    let exact: i64 = (0..ranges).map(|it| number(33 + 8 * it) - number(29 + 8 * it)).sum();
    let piece = number(19);
    let length = number(23);
    (length - exact + piece - 1) / piece
}

/// Checks that a server gives each body to the client that asked for it, and once.
fn gives_each_body_once(server: SocketAddr) {
    let named = |from, name: &str| {
        let headers = format!("X-SAP-Approx: image/*\nX-SAP-Client-Opens: {name}\n");
        let head = ask(server, from, "a.jpg", &headers);
        let token = head.get("X-SAP-Token").expect("it is taken").to_owned();
        (token, head.get("X-SAP-Port").and_then(|it| it.parse().ok()).unwrap_or(0))
    };
    let (first, port): (String, u16) = named(HERE, "1");
    let connect = || Opened(SapSocket::connect((HERE, port)).expect("it listens"));
    let own = connect();
    own.ask(7, &"09".repeat(16));
    assert_eq!(own.outcome(7), UNKNOWN, "a token that was never given");
    own.ask(8, &first);
    assert_eq!(own.outcome(8), PLAN);
    own.ask(9, &first);
    assert_eq!(own.outcome(9), UNKNOWN, "a token that was used");
    let another = connect();
    another.ask(1, &first);
    assert_eq!(another.outcome(1), UNKNOWN, "a token that was used on another connection");
    // The connection has the name of its first transfer, and the next body comes unasked.
    assert_eq!(named(HERE, &format!("{first} 10")).0, first);
    assert_eq!(own.outcome(10), PLAN);
    for number in [8, 10] {
        let (token, _) = named(HERE, &format!("{first} {number}"));
        assert_ne!(token, first, "the number {number} was used");
        own.ask(number, &token);
        assert_eq!(own.outcome(number), UNKNOWN, "the number {number} was used");
    }
    // Another client that has read the name gets nothing on the connection, nor does it use up a
    // number; a name that is none is no connection.
    for (from, name) in [(ELSEWHERE, &first), (HERE, &"0".repeat(32))] {
        assert_ne!(&named(from, &format!("{name} 12")).0, name, "{from}");
    }
    assert_eq!(named(HERE, &format!("{first} 12")).0, first);
    assert_eq!(own.outcome(12), PLAN);
    // A body that this client has asked for is not lost by what the others did.
    let (token, _) = named(HERE, "1");
    own.ask(13, &token);
    assert_eq!(own.outcome(13), PLAN);
    drop(own);
}

#[test]
fn serve_gives_each_body_to_the_client_that_asked_and_once() {
    let folder = Folder::new("offers-serve");
    std::fs::create_dir(folder.path().join("site")).expect("a folder");
    std::fs::write(folder.path().join("site/a.jpg"), vec![7; 5_000]).expect("a file");
    let (_serve, at) = serving(&folder);
    gives_each_body_once(at);
}

#[test]
fn lighttpd_gives_each_body_to_the_client_that_asked_and_once() {
    let folder = folder("offers-lighttpd", built_module!());
    gives_each_body_once(lighttpd(&folder).at());
}
