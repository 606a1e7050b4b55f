//! Goodput of the kernel's TCP, QUIC, and SAP over emulated links with losses and bit errors: a
//! table as docs/measurements/sap.md has it.
//!
//! Each cell is the median of [`SEEDS`] runs of `windfall run`, with its range, in megabits a
//! second of what arrived in [`SPAN`] seconds; the transports take turns. It needs the program
//! `windfall` of the same build, and for QUIC `make -C bench/peers quic`.
#![expect(clippy::disallowed_methods, reason = "programs send for some seconds")]

use std::io::{Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use windfall_bench::is_listed;
use windfall_socket::{Mode, SapListener, SapSocket};

/// The seeds of the runs of a cell.
const SEEDS: std::ops::RangeInclusive<u32> = 1..=3;
/// The seconds that a receiver counts from the first bytes on.
const SPAN: u64 = 5;
/// The links; all have 20 Mb/s, 10 ms each way and a queue of 100 packets.
const LINKS: [(&str, &[&str]); 7] = [
    ("no loss", &[]),
    ("0.5 % loss", &["--loss", "0.5%"]),
    ("1 % loss", &["--loss", "1%"]),
    ("2 % loss", &["--loss", "2%"]),
    ("5 % loss", &["--loss", "5%"]),
    ("bit errors 1e-6", &["--ber", "1e-6", "--accept-damaged"]),
    ("bit errors 1e-5", &["--ber", "1e-5", "--accept-damaged"]),
];
const LINK: [&str; 6] = ["--rate", "20Mbps", "--delay", "10ms", "--queue", "fifo,100"];
const TRANSPORTS: [&str; 4] = ["tcp", "quic", "precise", "approximate"];
const PORT: u16 = 5_000;
/// The bytes of an approximate message, which one datagram carries.
const SHORT: usize = 1_400;
const LONG: usize = 1 << 16;

fn main() {
    if is_listed() {
        return;
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["far", transport] => far(transport),
        ["near", transport] => near(transport),
        _ => table(),
    }
}

/// A file beside this program, in the folder of the build.
fn built(name: &str) -> PathBuf {
    let me = std::env::current_exe().unwrap_or_default();
    me.ancestors().nth(2).map_or_else(PathBuf::new, |folder| folder.join(name))
}

fn quic() -> PathBuf {
    built("../peers/quic")
}

fn table() {
    println!("| link | kernel TCP (CUBIC) | QUIC (quinn) | SAP precise | SAP approximate |");
    println!("|---|---|---|---|---|");
    for (name, options) in LINKS {
        let mut cells = TRANSPORTS.map(|_| Vec::new());
        for seed in SEEDS {
            for (cell, transport) in cells.iter_mut().zip(TRANSPORTS) {
                cell.extend(run(options, transport, seed));
            }
        }
        let cells: Vec<String> = cells.into_iter().map(cell).collect();
        println!("| {name} | {} |", cells.join(" | "));
    }
}

/// The median and the range.
fn cell(mut figures: Vec<f64>) -> String {
    figures.sort_by(f64::total_cmp);
    match (figures.first(), figures.get(figures.len() / 2), figures.last()) {
        (Some(least), Some(median), Some(most)) => format!("{median:.1} ({least:.1}–{most:.1})"),
        _ => "–".to_owned(),
    }
}

/// Returns megabits a second over one link.
fn run(options: &[&str], transport: &str, seed: u32) -> Option<f64> {
    if transport == "quic" && !quic().exists() {
        return None;
    }
    let me = std::env::current_exe().ok()?;
    let mut command = Command::new(built("windfall"));
    command.args(["run", "--quiet", "--seed", &seed.to_string()]).args(LINK).args(options);
    command.args(["--far-output", "-", "--far-may-fail"]);
    command.arg("--far").arg(format!("{} far {transport}", me.display()));
    let output = command.arg("--").arg(me).args(["near", transport]).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().find_map(|line| line.strip_prefix("goodput ")?.parse().ok())
}

/// Bytes that arrive within the span, from the first of them on.
fn count(mut receive: impl FnMut() -> Option<usize>) {
    let Some(mut arrived) = receive() else { return };
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(SPAN)
        && let Some(len) = receive()
    {
        arrived += len;
    }
    println!("goodput {}", arrived as f64 * 8.0 / 1e6 / began.elapsed().as_secs_f64());
}

fn far(transport: &str) {
    let any = SocketAddr::new(IpAddr::from([0, 0, 0, 0]), PORT);
    match transport {
        "tcp" => {
            let Ok((mut stream, _)) = TcpListener::bind(any).and_then(|it| it.accept()) else {
                return;
            };
            let mut buffer = vec![0; 1 << 16];
            count(|| stream.read(&mut buffer).ok().filter(|len| *len > 0));
        }
        "quic" => peer("far", any),
        _ => {
            let Ok(listener) = SapListener::bind(any) else { return };
            let Ok((socket, _)) = listener.accept() else { return };
            count(|| Some(socket.recv().ok()??.data.len()));
        }
    }
}

/// Runs the peer that speaks QUIC.
fn peer(end: &str, address: SocketAddr) {
    let certificate = std::env::temp_dir().join("windfall-goodput-certificate");
    let seconds = SPAN + u64::from(end == "near");
    let mut command = Command::new(quic());
    command.arg(end).arg(certificate).args([address.to_string(), seconds.to_string()]);
    // Its message says what went wrong.
    let _ = command.status();
}

/// Sends until the far end has counted.
fn near(transport: &str) {
    let Some(base) = std::env::var("WINDFALL_BASE").ok().and_then(|it| it.parse().ok()) else {
        return;
    };
    let to = SocketAddr::new(base, PORT);
    if transport == "quic" {
        // Its certificate is there when it listens.
        std::thread::sleep(Duration::from_millis(300));
        return peer("near", to);
    }
    let name = transport.to_owned();
    std::thread::spawn(move || if name == "tcp" { send_tcp(to) } else { send_sap(to, &name) });
    std::thread::sleep(Duration::from_secs(SPAN + 2));
}

fn send_tcp(to: SocketAddr) -> Option<()> {
    let mut stream = TcpStream::connect(to).ok()?;
    rustix::net::sockopt::set_tcp_congestion(&stream, "cubic").ok()?;
    let data = vec![0x5a; LONG];
    while stream.write_all(&data).is_ok() {}
    Some(())
}

fn send_sap(to: SocketAddr, transport: &str) -> Option<()> {
    let socket = SapSocket::connect(to).ok()?;
    let approximate = transport == "approximate";
    if approximate {
        socket.set_mode(Mode::Approximate { protected: 0 });
    }
    let data = vec![0x5a; if approximate { SHORT } else { LONG }];
    while socket.send(&data).is_ok() || approximate {}
    Some(())
}
