//! Hostile clients of `windfall serve` under a limit of the process's memory.

#![expect(clippy::disallowed_methods, reason = "the attack takes its time")]

use std::net::UdpSocket;
use std::process::{Command, Stdio};
use std::time::Duration;

use windfall_wire_net::carrier;
use windfall_wire_net::sap::{
    Part, SapData, SapHeader, SapKind, SapPacket, SapPing, Span, features, flags,
};
use windfall_wire_net::udplite::Coverage;

use crate::support::{Folder, WINDFALL};
use crate::web::served;

/// The address space of the server, in kilobytes.
const LIMIT: usize = 2_000_000;
/// The memory that it may have, in bytes: what it holds for clients, and its own.
const RESIDENT: usize = 400 << 20;

/// A client that has connected to the server by hand.
struct Hostile {
    socket: UdpSocket,
    id: u32,
    number: u32,
    sent: usize,
}

impl Hostile {
    fn connect(port: u16) -> Option<Self> {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a free port");
        socket.connect(("127.0.0.1", port)).expect("it is an address");
        socket.set_read_timeout(Some(Duration::from_secs(2))).expect("it is a socket");
        let mut hostile = Self { socket, id: 0, number: 0, sent: 0 };
        let features = features::PARTS;
        let ping = SapPing { connection: 7, max_datagram: 1472, features, ..SapPing::default() };
        hostile.send(SapKind::Ping, 0, &ping.emit());
        let answer = hostile.receive()?;
        let answer = match answer.header.kind {
            SapKind::Retry => {
                hostile.send(SapKind::Ping, 0, &SapPing { token: answer.body, ..ping }.emit());
                hostile.receive()?
            }
            _ => answer,
        };
        let id = answer.body.first_chunk().filter(|_| answer.header.kind == SapKind::Accept)?;
        hostile.id = u32::from_be_bytes(*id);
        hostile.send(SapKind::Probe, 0, &[]);
        Some(hostile)
    }

    fn receive(&self) -> Option<SapPacket> {
        let mut buffer = [0; 2048];
        let len = self.socket.recv(&mut buffer).ok()?;
        SapPacket::parse(&buffer[carrier::HEADER_LEN..len].to_vec().into()).ok()
    }

    fn send(&mut self, kind: SapKind, bits: u8, body: &[u8]) {
        let connection = self.id;
        let number = self.number;
        let header = SapHeader { kind, flags: bits, exact: 0, connection, number };
        let sap = [&header.emit([body, &[]])[..], body].concat();
        let mut bytes = vec![0; carrier::HEADER_LEN];
        carrier::emit_unbound(&mut bytes, Coverage::Full, [&sap, &[]]);
        bytes.extend(sap);
        self.number += 1;
        self.sent += bytes.len();
        // A full buffer of the system loses it.
        let _ = self.socket.send(&bytes);
        if self.number.is_multiple_of(64) {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn part(&mut self, bits: u8, number: u32, (offset, total): (u32, u32), len: usize) {
        let part = Some(Part { offset, total });
        let head = SapData { stream: 3, number, part, ..SapData::default() }.emit();
        self.send(SapKind::Data, bits, &[&head[..], &vec![7; len]].concat());
    }

    /// Announces long approximate messages by one byte of each.
    fn announce(&mut self) {
        for number in 0..80 {
            self.part(flags::APPROXIMATE | flags::PART, number, (5, 4 << 20), 1);
            self.part(flags::APPROXIMATE | flags::PART, 100 + number, (5, 1 << 20), 1);
        }
    }

    /// Sends parts of precise messages of which each brings one new byte.
    fn overlap(&mut self) {
        for index in 0..1_000 {
            self.part(flags::PART, 1, (9_000 - 2 * index, 1 << 20), 1_000);
        }
    }

    /// Sends messages for which the first one is missing, and unsolicited repairs.
    fn hoard(&mut self) {
        for number in 1..500 {
            let head = SapData { stream: 4, number, ..SapData::default() }.emit();
            self.send(SapKind::Data, 0, &head);
            let spans = [Span { start: 0, len: 9 }].into_iter().collect();
            let head = SapData { stream: 4, number, part: None, spans }.emit();
            self.send(SapKind::Data, flags::REPAIRED, &[&head[..], &[7; 9]].concat());
            self.send(SapKind::Repair, 0, &head);
        }
    }
}

fn resident(process: u32) -> usize {
    let text = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    let kilobytes = line.split_whitespace().next().and_then(|number| number.parse::<usize>().ok());
    kilobytes.unwrap_or_default() << 10
}

#[test]
fn a_server_with_little_memory_outlives_those_who_announce_much() {
    let folder = Folder::new("hostile");
    folder.write("page.txt", "what honest clients want");
    let limited = format!("ulimit -v {LIMIT} && exec \"$0\" \"$@\"");
    let mut command = Command::new("sh");
    command.args(["-c", &limited, WINDFALL, "serve"]).arg(folder.path());
    command.args(["--on", "127.0.0.1", "--port", "0", "-q"]).stdin(Stdio::null());
    let (server, at) = served(command);
    let port = at.rsplit(':').next().and_then(|it| it.parse().ok()).expect("a port");
    let attacks = [Hostile::announce, Hostile::overlap, Hostile::hoard];
    let mut clients = Vec::new();
    for index in 0..48 {
        let Some(mut hostile) = Hostile::connect(port) else { continue };
        attacks[index % attacks.len()](&mut hostile);
        clients.push(hostile);
    }
    assert!(clients.len() > 30, "{} hostile clients", clients.len());
    // What waits for parts is delivered after two seconds at the latest.
    std::thread::sleep(Duration::from_millis(2_500));
    let sent: usize = clients.iter().map(|it| it.sent).sum();
    let held = resident(server.process());
    assert!(held > 0 && held < RESIDENT, "{held} bytes for {sent}");
    let page = format!("{at}/page.txt");
    let asked = ["get", "--client-opens", "--force-precise", &page, "-o", "-"];
    let output = folder.windfall(&asked).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert_eq!(output.stdout, b"what honest clients want", "{said}");
}
