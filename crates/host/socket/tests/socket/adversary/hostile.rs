//! The hostile clients: each runs until the attack is over.

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use windfall_base::{Seed, Stream};
use windfall_socket::SapSocket;
use windfall_wire_net::carrier;
use windfall_wire_net::sap::{HEADER_LEN, SapAck, SapKind};

use super::Attack;
use super::wire::{Spoofer, anyone, carried, check, datagram, mutated, ping};

/// All kinds of attack.
pub(super) const ALL: [fn(&Attack); 8] = [
    random_handshakes,
    spoofed_datagrams,
    |attack| relayed(attack, Behaviour::Replay),
    |attack| relayed(attack, Behaviour::Mutate),
    |attack| relayed(attack, Behaviour::HideLosses),
    |attack| relayed(attack, Behaviour::Vanish),
    never_read,
    never_read,
];

/// The forged datagrams of a burst, and the pause after it: two thousand a second.
const BURST: usize = 40;
const PAUSE: Duration = Duration::from_millis(20);
/// The bytes that a hostile client asks for.
const WANTED: u32 = 2 << 20;
/// The life of a hostile connection.
const LIFE: Duration = Duration::from_secs(5);
/// The datagrams that a replaying client remembers.
const REMEMBERED: usize = 64;
/// The datagrams after which a client vanishes.
const VANISH: usize = 30;

fn bursts(attack: &Attack, mut send: impl FnMut()) {
    while !attack.is_over() {
        (0..BURST).for_each(|_| send());
        attack.sent.fetch_add(BURST as u64, Ordering::Relaxed);
        std::thread::sleep(PAUSE);
    }
}

/// Pings from addresses that wait for no answer: in turn that of the honest clients and any others.
fn random_handshakes(attack: &Attack) {
    let spoofer = Spoofer::new();
    let mut stream = Stream::new(Seed(1), "handshakes");
    let began = Instant::now();
    bursts(attack, || {
        let mut from = anyone(&mut stream);
        if (began.elapsed().as_secs() / LIFE.as_secs()).is_multiple_of(2) {
            from.set_ip(Ipv4Addr::LOCALHOST);
        }
        spoofer.send(from, attack.server, &ping(&mut stream));
    });
}

/// Datagrams of any kind from addresses and ports of honest clients, with guessed ids; and noise.
fn spoofed_datagrams(attack: &Attack) {
    const KINDS: [SapKind; 7] = [
        SapKind::Data,
        SapKind::Ack,
        SapKind::Reset,
        SapKind::Fin,
        SapKind::Challenge,
        SapKind::Response,
        SapKind::Repair,
    ];
    let spoofer = Spoofer::new();
    let mut stream = Stream::new(Seed(2), "spoofed");
    bursts(attack, || {
        let known = attack.honest.lock().expect("not poisoned").last().copied();
        let from = match known {
            Some(SocketAddr::V4(from)) => SocketAddrV4::new(Ipv4Addr::LOCALHOST, from.port()),
            _ => anyone(&mut stream),
        };
        let body: Vec<u8> = (0..stream.below(64)).map(|_| stream.bits() as u8).collect();
        let kind = KINDS[stream.below(KINDS.len() as u64) as usize];
        let bytes = match stream.below(3) {
            0 => body,
            _ => datagram(kind, stream.bits() as u32, stream.below(100) as u32, &body),
        };
        spoofer.send(from, attack.server, &bytes);
    });
}

/// Clients that ask for much and read nothing of it.
fn never_read(attack: &Attack) {
    while !attack.is_over() {
        if let Ok(socket) = SapSocket::connect(attack.server) {
            // It may be refused, which is an answer too.
            let _ = socket.send(&WANTED.to_be_bytes());
            wait(attack, LIFE);
        }
        std::thread::sleep(PAUSE);
    }
}

fn wait(attack: &Attack, span: Duration) {
    let until = Instant::now() + span;
    while Instant::now() < until && !attack.is_over() {
        std::thread::sleep(PAUSE);
    }
}

/// The behaviour of a relay between a client and the server.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Behaviour {
    /// Sends those of the client again, from its address and from others.
    Replay,
    /// Sends changed copies of them.
    Mutate,
    /// Drops half of those of the server, and acknowledges them nevertheless.
    HideLosses,
    /// Passes nothing on after a while.
    Vanish,
}

/// Connections of clients through something that misbehaves, one after the other.
fn relayed(attack: &Attack, behaviour: Behaviour) {
    let mut stream = Stream::new(Seed(behaviour as u64), "relayed");
    while !attack.is_over() {
        let inside = UdpSocket::bind("127.0.0.1:0").expect("a free port");
        let door = inside.local_addr().expect("bound");
        let outside = SocketAddrV4::new(*anyone(&mut stream).ip(), 0);
        let outside = UdpSocket::bind(outside).expect("an address of the loopback");
        let ended = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let ended = &ended;
            let stream = &mut stream;
            let client = None;
            let passed = 0;
            let memory = VecDeque::new();
            let largest = 0;
            let mut relay = Relay { attack, behaviour, stream, client, passed, memory, largest };
            let inside = &inside;
            let outside = &outside;
            scope.spawn(move || relay.run(inside, outside, ended));
            transfer(attack, door);
            ended.store(true, Ordering::Relaxed);
        });
        std::thread::sleep(PAUSE);
    }
}

/// Asks for much through a relay and reads what comes of it.
fn transfer(attack: &Attack, door: SocketAddr) {
    let Ok(socket) = SapSocket::connect(door) else { return };
    socket.set_timeout(Some(windfall_socket::Duration::from_millis(500)));
    socket.set_linger(windfall_socket::Duration::from_secs(1));
    let until = Instant::now() + LIFE;
    let _ = socket.send(&WANTED.to_be_bytes());
    while Instant::now() < until && !attack.is_over() && matches!(socket.recv(), Ok(Some(_))) {}
}

/// Passes datagrams on between a client and the server, and misbehaves.
struct Relay<'a> {
    attack: &'a Attack,
    behaviour: Behaviour,
    stream: &'a mut Stream,
    client: Option<SocketAddr>,
    /// Datagrams of the client that were passed on.
    passed: usize,
    memory: VecDeque<Vec<u8>>,
    /// The largest number of the server's packets.
    largest: u32,
}

impl Relay<'_> {
    fn run(&mut self, inside: &UdpSocket, outside: &UdpSocket, ended: &AtomicBool) {
        inside.set_nonblocking(true).expect("it is a socket");
        outside.set_nonblocking(true).expect("it is a socket");
        let elsewhere = UdpSocket::bind("127.0.0.1:0").expect("a free port");
        let mut buffer = vec![0; 1 << 16];
        while !ended.load(Ordering::Relaxed) {
            let mut idle = true;
            while let Ok((len, from)) = inside.recv_from(&mut buffer) {
                (self.client, idle) = (Some(from), false);
                self.pass(outside, &elsewhere, &buffer[..len]);
            }
            while let Ok((len, _)) = outside.recv_from(&mut buffer) {
                idle = false;
                self.give_back(inside, &buffer[..len]);
            }
            if idle {
                std::thread::sleep(Duration::from_micros(500));
            }
        }
    }

    /// Passes a datagram of the client on, and what becomes of it.
    fn pass(&mut self, outside: &UdpSocket, elsewhere: &UdpSocket, bytes: &[u8]) {
        self.passed += 1;
        if self.behaviour == Behaviour::Vanish && self.passed > VANISH {
            return;
        }
        let hidden = (self.behaviour == Behaviour::HideLosses).then(|| self.hide(bytes)).flatten();
        self.send(outside, hidden.as_deref().unwrap_or(bytes));
        self.memory.push_back(bytes.to_vec());
        if self.memory.len() > REMEMBERED {
            self.memory.pop_front();
        }
        let any = self.stream.below(self.memory.len() as u64) as usize;
        let socket = if self.stream.below(2) == 0 { outside } else { elsewhere };
        match self.behaviour {
            Behaviour::Replay => self.send(socket, &self.memory[any]),
            Behaviour::Mutate => {
                let changed = mutated(self.stream, bytes);
                self.send(socket, &changed);
            }
            Behaviour::HideLosses | Behaviour::Vanish => {}
        }
    }

    fn send(&self, from: &UdpSocket, bytes: &[u8]) {
        // What the system refuses is lost.
        let _ = from.send_to(bytes, self.attack.server);
        self.attack.sent.fetch_add(1, Ordering::Relaxed);
    }

    /// Passes a datagram of the server on, or not.
    fn give_back(&mut self, inside: &UdpSocket, bytes: &[u8]) {
        let vanished = self.behaviour == Behaviour::Vanish && self.passed > VANISH;
        let number = bytes.get(carrier::HEADER_LEN + 8..).and_then(|rest| rest.first_chunk::<4>());
        self.largest = number.map_or(self.largest, |it| u32::from_be_bytes(*it).max(self.largest));
        // The answer to the ping arrives.
        let lost = self.behaviour == Behaviour::HideLosses && self.largest > 0;
        if vanished || lost && self.stream.below(2) == 0 {
            return;
        }
        let _ = self.client.map(|client| inside.send_to(bytes, client));
    }

    /// Changes an acknowledgement so that it lists everything.
    fn hide(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let sap = bytes.get(carrier::HEADER_LEN..)?;
        if *sap.first()? & 15 != SapKind::Ack as u8 {
            return None;
        }
        let mut ack = SapAck::parse(sap.get(HEADER_LEN..)?).ok()?;
        let run = (0, u16::try_from(self.largest).ok()?);
        (ack.largest, ack.runs, ack.damaged) = (self.largest, vec![run], Vec::new());
        let body = ack.emit();
        let mut hidden = [&sap[..HEADER_LEN], &body].concat();
        hidden[2..4].copy_from_slice(&(body.len() as u16).to_be_bytes());
        check(&mut hidden);
        Some(carried(&hidden))
    }
}
