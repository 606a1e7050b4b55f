//! The memory of all connections together, under peers that let data wait.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;

use bytes::Bytes;
use windfall_base::{Duration, Instant, Payload, Seed};
use windfall_tcp::{
    ConnectionHandle, Listener, Lookup, SegmentMeta, TcpConfig, TcpEndpoint, TcpError, TcpEvent,
    TcpTransmit,
};

use crate::pair::{FAR, NEAR, Pair, address, ms, pattern};

const BUDGET: usize = 64 << 20;
const GREEDY: u16 = 800;
const HONEST: u16 = 4;
/// The bytes that a server has for each client, and those that a connection may hold.
const FILE: usize = 3 << 20;
const SEND_BUFFER: usize = 1 << 20;

/// A server that writes as much as it may to each of its clients, and one endpoint with all of
/// them; the wire takes 5 ms.
struct Crowd {
    now: Instant,
    ends: [TcpEndpoint; 2],
    wire: BinaryHeap<Reverse<(Instant, u64)>>,
    flying: BTreeMap<u64, (usize, SegmentMeta, Payload)>,
    file: Bytes,
    /// The bytes left to write, by connection of the server.
    left: BTreeMap<ConnectionHandle, Bytes>,
    /// The clients that read, and what they have.
    read: BTreeMap<ConnectionHandle, Vec<u8>>,
    resets: [usize; 2],
    most_held: usize,
}

impl Crowd {
    fn new(config: &TcpConfig) -> Self {
        let mut ends = ["crowd", "server"].map(|it| TcpEndpoint::new(Seed(5), it, Lookup::Hashed));
        ends[FAR].set_memory(BUDGET);
        ends[FAR].listen(address(FAR), Listener::new(Arc::new(config.clone()))).unwrap();
        Self {
            now: Instant::START,
            ends,
            wire: BinaryHeap::new(),
            flying: BTreeMap::new(),
            file: pattern(FAR, FILE),
            left: BTreeMap::new(),
            read: BTreeMap::new(),
            resets: [0; 2],
            most_held: 0,
        }
    }

    fn connect(&mut self, port: u16, receive_buffer: usize, reads: bool) {
        let config = TcpConfig::default().with(|it| it.receive_buffer = receive_buffer.into());
        let local = (address(NEAR).ip(), port).into();
        let client = &mut self.ends[NEAR];
        let id = client.connect(self.now, local, address(FAR), Arc::new(config)).unwrap();
        if reads {
            self.read.insert(id, Vec::new());
        }
    }

    fn launch(&mut self, from: usize, transmit: &TcpTransmit) {
        let number = self.flying.keys().next_back().map_or(0, |last| last + 1);
        self.wire.push(Reverse((self.now.saturating_add(ms(5)), number)));
        self.flying.insert(number, (1 - from, transmit.meta(), transmit.payload()));
    }

    fn write(&mut self, id: ConnectionHandle) {
        let Some(left) = self.left.get_mut(&id) else { return };
        match self.ends[FAR].write_bytes(id, left.clone()) {
            Ok(taken) => drop(left.split_to(taken)),
            Err(_) => left.clear(),
        }
    }

    fn react(&mut self, end: usize, id: ConnectionHandle, event: TcpEvent) {
        match event {
            TcpEvent::Accepted => {
                self.left.insert(id, self.file.clone());
                self.write(id);
            }
            TcpEvent::Writable if end == FAR => self.write(id),
            TcpEvent::Readable => {
                let Some(read) = self.read.get_mut(&id) else { return };
                while let Ok(Some(data)) = self.ends[end].read(id, usize::MAX) {
                    read.extend_from_slice(&data);
                }
            }
            TcpEvent::Closed(Some(TcpError::Reset | TcpError::Aborted)) => {
                self.resets[end] += 1;
                self.left.remove(&id);
                let _ = self.ends[end].close(self.now, id);
            }
            _ => {}
        }
    }

    fn settle(&mut self) {
        for end in [NEAR, FAR, NEAR] {
            while let Some(transmit) = self.ends[end].poll_transmit(self.now) {
                self.launch(end, &transmit);
            }
            while let Some((id, event)) = self.ends[end].poll_event() {
                self.react(end, id, event);
            }
            while let Some(transmit) = self.ends[end].poll_transmit(self.now) {
                self.launch(end, &transmit);
            }
        }
        let held = self.ends[FAR].connections().map(windfall_tcp::Connection::held_bytes).sum();
        self.most_held = self.most_held.max(held);
    }

    fn run_for(&mut self, span: Duration) {
        let end = self.now.saturating_add(span);
        loop {
            let timers = self.ends.iter().filter_map(TcpEndpoint::poll_timeout).map(|(at, _)| at);
            let wire = self.wire.peek().map(|Reverse((at, _))| *at);
            let Some(next) = timers.chain(wire).min().filter(|at| *at <= end) else { break };
            self.now = self.now.max(next);
            while let Some(Reverse((at, number))) = self.wire.peek().copied()
                && at <= self.now
            {
                self.wire.pop();
                let (to, meta, bytes) = self.flying.remove(&number).unwrap();
                let _ = self.ends[to].handle_segment(self.now, &meta, &bytes);
            }
            self.ends.iter_mut().for_each(|end| end.handle_timeout(self.now));
            self.settle();
        }
        self.now = end;
    }
}

#[test]
fn clients_with_a_closed_window_cannot_take_all_memory() {
    let config = TcpConfig::default().with(|it| it.send_buffer = SEND_BUFFER.into());
    let mut crowd = Crowd::new(&config);
    for port in 0..GREEDY {
        // Two hundred a second, each with a window for two segments that it never reads.
        crowd.connect(1_000 + port, 2_920, false);
        crowd.settle();
        crowd.run_for(ms(5));
    }
    for port in 0..HONEST {
        crowd.connect(10_000 + port, 1 << 20, true);
        crowd.settle();
    }
    crowd.run_for(Duration::from_secs(20));
    // Who writes here is pressed back first.
    assert_eq!(crowd.resets, [0, 0]);
    for port in 0..HONEST {
        crowd.connect(20_000 + port, 1 << 20, true);
        crowd.settle();
    }
    crowd.run_for(Duration::from_secs(40));
    for port in 0..HONEST {
        crowd.connect(30_000 + port, 1 << 20, true);
        crowd.settle();
    }
    crowd.run_for(Duration::from_secs(60));
    // Beyond the budget each connection has its small share.
    let bound = BUDGET + usize::from(GREEDY + 3 * HONEST) * (16 << 10);
    assert!(crowd.most_held <= bound, "{} of {bound}", crowd.most_held);
    assert_eq!(crowd.read.len(), 3 * usize::from(HONEST));
    for (id, read) in &crowd.read {
        assert!(crowd.ends[NEAR].connection(*id).is_some());
        assert!(*read == crowd.file[..], "{} of {FILE}", read.len());
    }
    // Not more of the others lost theirs than there was need.
    assert!((1..usize::from(GREEDY)).contains(&crowd.resets[FAR]), "{:?}", crowd.resets);
    assert_eq!(crowd.resets[NEAR], crowd.resets[FAR]);
}

#[test]
fn what_a_program_does_not_read_costs_no_peer_its_connection() {
    const UPLOAD: usize = 100_000;
    let mut crowd = Crowd::new(&TcpConfig::default());
    crowd.ends[FAR].set_memory(4 << 20);
    (0..60).for_each(|port| crowd.connect(1_000 + port, 2_920, false));
    crowd.settle();
    crowd.run_for(ms(500));
    let others = crowd.left.len();
    for port in 0..20 {
        crowd.connect(10_000 + port, 1 << 20, false);
    }
    crowd.settle();
    crowd.run_for(ms(500));
    let uploads: Vec<_> = crowd.ends[NEAR]
        .connections()
        .filter(|it| it.path().local.port() >= 10_000)
        .map(|it| *it.path())
        .collect();
    for path in &uploads {
        let id = crowd.ends[NEAR].find(path.local, path.remote).unwrap();
        crowd.ends[NEAR].write_bytes(id, pattern(NEAR, UPLOAD)).unwrap();
    }
    crowd.settle();
    // The server reads nothing for twenty seconds.
    crowd.run_for(Duration::from_secs(20));
    assert_eq!((crowd.resets, crowd.left.len()), ([0, 0], others + 20));
    let mut read = 0;
    for _ in 0..200 {
        for path in &uploads {
            let id = crowd.ends[FAR].find(path.remote, path.local).unwrap();
            while let Ok(Some(data)) = crowd.ends[FAR].read(id, usize::MAX) {
                read += data.len();
            }
        }
        crowd.settle();
        crowd.run_for(ms(100));
    }
    assert_eq!((read, crowd.resets), (20 * UPLOAD, [0, 0]));
}

#[test]
fn pieces_of_one_byte_count_with_what_keeping_them_costs() {
    let mut pair = Pair::with(TcpConfig::default());
    pair.run_for(ms(100));
    let next = pair.forged(FAR, windfall_wire_net::TcpFlags::ACK);
    for n in 1..=1_000 {
        let header = windfall_wire_net::TcpRepr { seq: next.seq + 2 * n, ..next.clone() };
        pair.inject(FAR, &header, b"x").unwrap();
    }
    assert_eq!(pair.connection(FAR).held_bytes(), 1_000);
    assert_eq!(pair.ends[FAR].tcp.held_bytes(), 129 * 1_000);
}

#[test]
fn whoever_makes_progress_is_not_reset_however_little_memory_there_is() {
    let mut crowd = Crowd::new(&TcpConfig::default());
    crowd.ends[FAR].set_memory(100_000);
    (0..8).for_each(|port| crowd.connect(1_000 + port, 1 << 20, true));
    crowd.settle();
    crowd.run_for(Duration::from_secs(60));
    assert_eq!(crowd.resets, [0, 0]);
    assert!(crowd.read.values().all(|read| read.len() == FILE));
    assert!(crowd.most_held <= 100_000 + 8 * (16 << 10), "{}", crowd.most_held);
    assert_eq!(crowd.ends[FAR].held_bytes(), 0);
}

#[test]
fn data_that_a_window_of_before_allows_are_refused_if_there_is_no_memory_for_them() {
    let mut pair = Pair::with(TcpConfig::default());
    pair.ends[FAR].reads = false;
    pair.send(NEAR, 60_000).run_for(ms(500));
    assert_eq!(pair.connection(FAR).readable(), 60_000);
    pair.ends[FAR].tcp.set_memory(100_000);
    pair.send(NEAR, 400_000).run_for(Duration::from_secs(2));
    let held = pair.ends[FAR].tcp.held_bytes();
    assert!(held < 101_000, "{held}");
    assert!(pair.ends[FAR].drops.total() > 0);
    // Whatever is read makes room.
    for _ in 0..400 {
        while pair.read(FAR, usize::MAX) > 0 {}
        pair.run_for(ms(500));
    }
    assert_eq!(pair.ends[FAR].incoming.len(), 460_000);
}

#[test]
fn a_window_stays_closed_while_memory_is_short() {
    let config = TcpConfig::default().with(|it| it.receive_buffer = 380_000.into());
    let mut pair = Pair::with(config);
    pair.ends[FAR].tcp.set_memory(440_000);
    pair.ends[FAR].reads = false;
    pair.send(NEAR, 1_000_000).run_for(Duration::from_secs(4));
    let held = pair.ends[FAR].tcp.held_bytes();
    assert!(held > 370_000, "{held}");
    // What is read is not offered again before a quarter of the memory is free.
    for (most, is_closed) in [(30_000, true), (20_000, true), (200_000, false)] {
        let mut left: usize = most;
        while left > 0 {
            left -= pair.read(FAR, left);
        }
        let arrived =
            |pair: &Pair| pair.ends[FAR].incoming.len() + pair.connection(FAR).held_bytes();
        let before = arrived(&pair);
        pair.run_for(Duration::from_secs(2));
        // Probes of the closed window bring a byte each.
        assert_eq!(arrived(&pair) < before + 100, is_closed, "{most}");
    }
    pair.ends[FAR].reads = true;
    for _ in 0..20 {
        while pair.read(FAR, usize::MAX) > 0 {}
        pair.run_for(Duration::from_secs(2));
    }
    assert_eq!(pair.ends[FAR].incoming, pattern(NEAR, 1_000_000)[..]);
}
