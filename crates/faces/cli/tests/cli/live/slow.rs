//! Clients of SAP that read nothing for long, at `windfall serve` and at lighttpd with `mod_sap`.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use windfall_socket::{MessageKind, SapSocket};

use crate::live::lighttpd::{CONFIGURATION, Lighttpd, built_module, folder};
use crate::live::offers::{HERE, Opened, ask, free_port, serving};
use crate::live::{Folder, LONG, windfall};

/// The clients that do not read, and the length of the body that each asks for, in bytes.
const SLOW: usize = 8;
const LENGTH: u64 = 48 << 20;
/// The memory that a server may hold for each of them: 4 MB of messages that wait for its answer,
/// in buffers of which a datagram of loopback, 64 KB, fills no more than a quarter.
const EACH: u64 = 16 << 20;

/// The time between two rounds of fetching.
const PAUSE: Duration = Duration::from_millis(100);

/// Returns a field of the kernel's account of a process: memory in KiB, or a number.
fn field(process: u32, name: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("it runs");
    let mut lines = status.lines().filter_map(|line| line.split_once(':'));
    let (_, value) = lines.find(|(found, _)| *found == name).expect("it is there");
    value.split_whitespace().next().and_then(|it| it.parse().ok()).expect("a number")
}

/// Asks for the long body precisely, and reads the first message of it.
fn begin(server: SocketAddr) -> Opened {
    let offer = "X-SAP-Force-Precise: 1\nX-SAP-Client-Opens: 1\n";
    let head = ask(server, HERE, "slow.bin", offer);
    let token = head.get("X-SAP-Token").expect("it is taken").to_owned();
    let port: u16 = head.get("X-SAP-Port").and_then(|it| it.parse().ok()).expect("a port");
    let client = Opened(SapSocket::connect((HERE, port)).expect("it listens"));
    client.ask(1, &token);
    client.0.set_timeout(Some(windfall_socket::Duration::from_secs(60)));
    client.0.recv().expect("it is open").expect("it has not ended");
    client
}

/// Fetches a file by a call of the server, on a connection of the client, and over TCP; returns the
/// longest time that one took.
fn fetch(folder: &Folder, server: SocketAddr) -> Duration {
    let ways = [
        "--force-precise",
        "--force-precise --client-opens",
        "--approx image/* --client-opens --repair all",
        "",
    ];
    let times = ways.map(|options| {
        let began = Instant::now();
        let output = windfall(&format!("get --json {options} -o arrived"))
            .arg(format!("http://{server}/a.jpg"))
            .current_dir(folder.path())
            .output()
            .expect("it runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let over = if options.is_empty() { "tcp" } else { "sap" };
        assert_eq!(report["over"], over, "{options}: {report}");
        let read = |name: &str| std::fs::read(folder.path().join(name)).expect("a file");
        assert!(read("arrived") == read("site/a.jpg"), "{options}: {report}");
        began.elapsed()
    });
    times.into_iter().max().expect("four")
}

/// Waits until a condition holds.
fn wait_for(what: &str, holds: impl Fn() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < LONG, "{what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Reads the rest of a body; returns the number of exact bytes that came.
fn rest(client: &Opened) -> u64 {
    let mut length = 0;
    while length < LENGTH - (64 << 10) {
        let message = client.0.recv().expect("it is open").expect("it has not ended");
        assert_eq!(message.kind, MessageKind::Precise);
        length += message.data.len() as u64 - 3;
    }
    length
}

/// Checks what clients that do not read do to a server.
fn bears_slow_readers(folder: &Folder, server: SocketAddr, process: u32) {
    fetch(folder, server);
    let memory = field(process, "VmRSS");
    let threads = field(process, "Threads");
    let clients: Vec<Opened> = (0..SLOW).map(|_| begin(server)).collect();
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(3) {
        // No other client waits for those that do not read.
        let longest = fetch(folder, server);
        assert!(longest < Duration::from_secs(10), "{longest:?}");
        let grown = field(process, "VmRSS").saturating_sub(memory) << 10;
        assert!(grown < SLOW as u64 * EACH, "{grown} bytes for {SLOW} clients that do not read");
        // Connections end for some seconds, and lighttpd has a limit of them.
        std::thread::sleep(PAUSE);
    }
    // One that goes on reading gets all of it, and one that goes away leaves nothing.
    let (reads, goes) = clients.split_first().expect("several");
    assert!(rest(reads) <= LENGTH, "more than there is");
    assert_eq!(goes.len(), SLOW - 1);
    drop(clients);
    wait_for("their threads end", || field(process, "Threads") < threads + SLOW as u64 / 2);
    fetch(folder, server);
}

fn put_long_file(folder: &Folder) {
    let file = std::fs::File::create(folder.path().join("site/slow.bin")).expect("a file");
    file.set_len(LENGTH).expect("a sparse file");
}

#[test]
fn slow_readers_of_lighttpd_hold_up_no_other_and_take_bounded_memory() {
    let folder = folder("slow-lighttpd", built_module!());
    put_long_file(&folder);
    let all = CONFIGURATION.replace("image/*", "*/*").replace("= 1024", "= 262144");
    let listen = format!("sap.listen = \"127.0.0.1:{}\"\n", free_port());
    let lighttpd = Lighttpd::start(&folder, &format!("{all}{listen}"));
    bears_slow_readers(&folder, lighttpd.at(), lighttpd.process());
}

#[test]
fn slow_readers_of_serve_hold_up_no_other_and_take_bounded_memory() {
    let folder = Folder::new("slow-serve");
    std::fs::create_dir(folder.path().join("site")).expect("a folder");
    std::fs::write(folder.path().join("site/a.jpg"), vec![7; 300_000]).expect("a file");
    put_long_file(&folder);
    let (serve, at) = serving(&folder);
    bears_slow_readers(&folder, at, serve.process());
}
