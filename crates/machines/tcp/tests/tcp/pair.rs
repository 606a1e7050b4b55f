//! Two endpoints, a wire between them whose every packet a test decides on, and a readable
//! timeline.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use windfall_base::{DropReason, Drops, Duration, Instant, Payload, Rate, Seed};
use windfall_tcp::{
    Connection, ConnectionHandle, Listener, Lookup, SegmentMeta, TcpConfig, TcpEndpoint, TcpEvent,
    TcpTransmit,
};
use windfall_wire_net::tcp::{CorruptionKinds, Notification, Packing, corruption};
use windfall_wire_net::{Ecn, TcpFlags, TcpOptions, TcpPacket, TcpRepr};

pub(crate) const NEAR: usize = 0;
pub(crate) const FAR: usize = 1;

pub(crate) fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

pub(crate) fn at(n: u64) -> Instant {
    Instant::START.saturating_add(ms(n))
}

/// A packet on the wire, as a test sees it.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) now: Instant,
    /// The sender of the segment.
    pub(crate) from: usize,
    /// Its number among those of its sender, from 0.
    pub(crate) index: u64,
    pub(crate) header: TcpRepr,
    /// Relative to the initial numbers, as tcpdump prints them.
    pub(crate) seq: u32,
    pub(crate) ack: u32,
    pub(crate) len: usize,
    pub(crate) ecn: Ecn,
    pub(crate) again: bool,
    pub(crate) data: Bytes,
}

impl Seen {
    pub(crate) fn is_data(&self) -> bool {
        self.len > 0
    }
}

/// The fate of a packet on the way.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fate {
    pub(crate) lost: bool,
    pub(crate) twice: bool,
    /// Bits of the TCP segment to invert.
    pub(crate) bits: Vec<u32>,
    /// Beyond the delay of the wire.
    pub(crate) late: Duration,
    pub(crate) mark: bool,
    /// Bytes cut from the end.
    pub(crate) cut: usize,
}

impl Fate {
    pub(crate) fn lost() -> Self {
        Self { lost: true, ..Self::default() }
    }

    /// Returns one inverted bit in the last byte of the segment.
    pub(crate) fn damaged(seen: &Seen) -> Self {
        let header = seen.header.emit(&CorruptionKinds::default()).unwrap().len();
        Self { bits: vec![(header + seen.len) as u32 * 8 - 1], ..Self::default() }
    }
}

struct Flying {
    to: usize,
    arrival: SegmentMeta,
    bytes: Payload,
}

/// One end: the connection that the test is about, and what it does.
pub(crate) struct End {
    pub(crate) tcp: TcpEndpoint,
    pub(crate) id: Option<ConnectionHandle>,
    pub(crate) outgoing: Bytes,
    pub(crate) incoming: Vec<u8>,
    pub(crate) reads: bool,
    /// Finish as soon as everything is written.
    pub(crate) finishes: bool,
    /// Close as soon as the peer has finished.
    pub(crate) follows: bool,
    pub(crate) events: Vec<TcpEvent>,
    pub(crate) drops: Drops,
    origin: Option<u32>,
    sent: u64,
    highest: u32,
    free_at: Instant,
}

pub(crate) struct Pair {
    pub(crate) now: Instant,
    pub(crate) ends: [End; 2],
    pub(crate) delay: Duration,
    pub(crate) rate: Option<Rate>,
    /// Packets that wait at most before a wire with a rate; more are dropped.
    pub(crate) queue: Option<u32>,
    pub(crate) queue_drops: u64,
    /// Packets of each end that were lost since the last one that was not.
    lost: [u16; 2],
    pub(crate) timeline: Vec<String>,
    pub(crate) seen: Vec<Seen>,
    pub(crate) fate: Box<dyn FnMut(&Seen) -> Fate>,
    wire: BinaryHeap<Reverse<(Instant, u64)>>,
    flying: std::collections::BTreeMap<u64, Flying>,
    count: u64,
    pub(crate) steps: u64,
    near_config: Arc<TcpConfig>,
    pub(crate) addresses: [SocketAddr; 2],
}

pub(crate) fn address(end: usize) -> SocketAddr {
    ["10.0.0.1:40000", "10.0.0.2:5001"][end].parse().unwrap()
}

impl Pair {
    /// Creates two ends with these settings; the far one listens.
    pub(crate) fn new(near: TcpConfig, far: TcpConfig) -> Self {
        Self::between([address(NEAR), address(FAR)], near, far)
    }

    /// As [`new`](Self::new), at other addresses.
    pub(crate) fn between(addresses: [SocketAddr; 2], near: TcpConfig, far: TcpConfig) -> Self {
        let end = |name: &str| End {
            tcp: TcpEndpoint::new(Seed(1), name, Lookup::Hashed),
            id: None,
            outgoing: Bytes::new(),
            incoming: Vec::new(),
            reads: true,
            finishes: false,
            follows: true,
            events: Vec::new(),
            drops: Drops::default(),
            origin: None,
            sent: 0,
            highest: 0,
            free_at: Instant::START,
        };
        let mut pair = Self {
            now: Instant::START,
            ends: [end("near"), end("far")],
            delay: ms(10),
            rate: None,
            queue: None,
            queue_drops: 0,
            lost: [0; 2],
            timeline: Vec::new(),
            seen: Vec::new(),
            fate: Box::new(|_| Fate::default()),
            wire: BinaryHeap::new(),
            flying: std::collections::BTreeMap::new(),
            count: 0,
            steps: 0,
            near_config: Arc::new(near),
            addresses,
        };
        let listener = Listener::new(Arc::new(far));
        pair.ends[FAR].tcp.listen(addresses[FAR], listener).unwrap();
        pair
    }

    /// Opens the connection from the near end.
    pub(crate) fn connect(&mut self) -> &mut Self {
        let [local, remote] = self.addresses;
        let config = Arc::clone(&self.near_config);
        let tcp = &mut self.ends[NEAR].tcp;
        self.ends[NEAR].id = Some(tcp.connect(self.now, local, remote, config).unwrap());
        self
    }

    /// Opens the connection and waits until both ends know of it.
    pub(crate) fn established(near: TcpConfig, far: TcpConfig) -> Self {
        let mut pair = Self::new(near, far);
        pair.connect();
        pair.run_for(ms(100));
        assert!(pair.ends.iter().all(|end| end.id.is_some()), "{:#?}", pair.timeline);
        pair
    }

    /// Creates two ends with the same settings.
    pub(crate) fn with(config: TcpConfig) -> Self {
        Self::established(config.clone(), config)
    }

    pub(crate) fn connection(&self, end: usize) -> &Connection {
        self.ends[end].tcp.connection(self.ends[end].id.unwrap()).unwrap()
    }

    /// Gives an end something to send.
    pub(crate) fn send(&mut self, end: usize, len: usize) -> &mut Self {
        self.ends[end].outgoing = pattern(end, len);
        self.write(end);
        self
    }

    fn write(&mut self, end: usize) {
        let end = &mut self.ends[end];
        let Some(id) = end.id else { return };
        if !end.outgoing.is_empty() {
            match end.tcp.write_bytes(id, end.outgoing.clone()) {
                Ok(taken) => drop(end.outgoing.split_to(taken)),
                Err(_) => end.outgoing.clear(),
            }
        }
        if end.outgoing.is_empty() && end.finishes {
            let _ = end.tcp.shutdown(id);
        }
    }

    /// Runs until nothing happens any more, or `span` has passed.
    pub(crate) fn run_for(&mut self, span: Duration) -> &mut Self {
        let end = self.now.saturating_add(span);
        self.settle();
        while let Some(next) = self.next().filter(|next| *next <= end) {
            let reasons = || self.ends.each_ref().map(|end| end.tcp.poll_timeout());
            assert!(
                next > self.now || self.wire.peek().is_some(),
                "a wake-up lies in the future: {:?} {:?}",
                self.now,
                reasons()
            );
            self.now = self.now.max(next);
            self.step();
        }
        self.now = end;
        self
    }

    /// Runs until `done` or until `limit` has passed; says whether it was done.
    pub(crate) fn run_until(
        &mut self,
        limit: Duration,
        mut done: impl FnMut(&Self) -> bool,
    ) -> bool {
        let end = self.now.saturating_add(limit);
        self.settle();
        while !done(self) {
            let Some(next) = self.next().filter(|next| *next <= end) else {
                self.now = end;
                return false;
            };
            self.now = self.now.max(next);
            self.step();
        }
        true
    }

    /// Sends `len` bytes from the near end to the far one and finishes; returns the time taken.
    pub(crate) fn transfer(&mut self, len: usize, limit: Duration) -> Duration {
        let began = self.now;
        self.ends[NEAR].finishes = true;
        self.send(NEAR, len);
        let done = self.run_until(limit, |pair| pair.ends[FAR].incoming.len() >= len);
        assert!(done, "{} of {len} bytes arrived", self.ends[FAR].incoming.len());
        assert_eq!(self.ends[FAR].incoming, pattern(NEAR, len)[..]);
        self.now.saturating_since(began)
    }

    fn next(&self) -> Option<Instant> {
        let wire = self.wire.peek().map(|Reverse((at, _))| *at);
        let timers = self.ends.iter().filter_map(|end| end.tcp.poll_timeout()).map(|(at, _)| at);
        timers.chain(wire).min()
    }

    fn step(&mut self) {
        self.steps += 1;
        assert!(self.steps < 5_000_000, "the pair does not come to rest: {:#?}", self.tail());
        while let Some(Reverse((at, number))) = self.wire.peek().copied() {
            if at > self.now {
                break;
            }
            self.wire.pop();
            let flying = self.flying.remove(&number).unwrap();
            let end = &mut self.ends[flying.to];
            if let Err(reason) = end.tcp.handle_segment(self.now, &flying.arrival, &flying.bytes) {
                end.drops.count(reason);
            }
            self.settle();
        }
        for end in 0..2 {
            self.ends[end].tcp.handle_timeout(self.now);
        }
        self.settle();
    }

    fn tail(&self) -> &[String] {
        &self.timeline[self.timeline.len().saturating_sub(60)..]
    }

    /// Drains both ends.
    pub(crate) fn settle(&mut self) {
        for end in 0..2 {
            loop {
                let mut busy = false;
                while let Some(transmit) = self.ends[end].tcp.poll_transmit(self.now) {
                    busy = true;
                    self.launch(end, &transmit);
                }
                while let Some((id, event)) = self.ends[end].tcp.poll_event() {
                    busy = true;
                    self.ends[end].events.push(event);
                    self.react(end, id, event);
                }
                if !busy {
                    break;
                }
            }
        }
    }

    fn react(&mut self, index: usize, id: ConnectionHandle, event: TcpEvent) {
        let end = &mut self.ends[index];
        match event {
            TcpEvent::Accepted if end.id.is_none() => end.id = Some(id),
            TcpEvent::Connected | TcpEvent::Writable => {}
            TcpEvent::Readable if end.reads => {
                while let Ok(Some(data)) = end.tcp.read(id, usize::MAX) {
                    end.incoming.extend_from_slice(&data);
                }
            }
            TcpEvent::PeerFinished if end.follows => {
                end.finishes = true;
            }
            _ => {}
        }
        self.write(index);
    }

    /// Reads what waits, where the end does not read by itself.
    pub(crate) fn read(&mut self, index: usize, most: usize) -> usize {
        let end = &mut self.ends[index];
        let data = end.tcp.read(end.id.unwrap(), most).unwrap().unwrap_or_default();
        end.incoming.extend_from_slice(&data);
        data.len()
    }

    fn launch(&mut self, from: usize, transmit: &TcpTransmit) {
        let seen = self.look(from, transmit);
        let fate = (self.fate)(&seen);
        self.log(&seen, &fate);
        self.seen.push(seen);
        if fate.lost {
            self.lost[from] += 1;
            return;
        }
        let mut leaves = self.now;
        if let Some(rate) = self.rate {
            let end = &mut self.ends[from];
            let time = rate.time_of(transmit.len() + 20);
            // One packet is on the wire, those of the queue wait; they are of one length.
            let waiting = end.free_at.saturating_since(self.now);
            if self.queue.is_some_and(|most| waiting > time * u64::from(most)) {
                self.queue_drops += 1;
                return;
            }
            leaves = end.free_at.max(self.now).saturating_add(time);
            end.free_at = leaves;
        }
        let mut frame = windfall_base::Frame::packet(transmit.payload());
        frame.invert(&fate.bits);
        let missing = fate.cut.min(transmit.data.len());
        frame.truncate(transmit.len() - missing);
        let ecn = if fate.mark { Ecn::Congested } else { transmit.ecn };
        let arrival = SegmentMeta {
            addresses: transmit.addresses,
            ecn,
            missing: missing as u32,
            lost_before: core::mem::take(&mut self.lost[from]),
        };
        let arrives = leaves.saturating_add(self.delay).saturating_add(fate.late);
        for _ in 0..=usize::from(fate.twice) {
            self.count += 1;
            self.wire.push(Reverse((arrives, self.count)));
            let bytes = frame.payload.clone();
            self.flying.insert(self.count, Flying { to: 1 - from, arrival, bytes });
        }
    }

    /// As [`inject`](Self::inject), with the detection option right and a bit of the data wrong.
    pub(crate) fn inject_damaged(
        &mut self,
        to: usize,
        header: &TcpRepr,
        data: &[u8],
    ) -> Result<(), DropReason> {
        let src = address(1 - to).ip();
        let dst = address(to).ip();
        let addresses = windfall_wire_net::Addresses::new(src, dst).unwrap();
        let kinds = CorruptionKinds::default();
        let mut bytes = header.emit(&kinds).unwrap().to_vec();
        let packing = Packing::default();
        let ecn = Ecn::NotCapable;
        assert!(corruption::seal(&kinds, packing, ecn, &addresses, &mut bytes));
        windfall_wire_net::tcp::fill_checksum(&addresses, &mut bytes, data);
        bytes.extend(data.iter().map(|byte| byte ^ 1));
        let arrival = SegmentMeta { addresses, ecn, missing: 0, lost_before: 0 };
        let result = self.ends[to].tcp.handle_segment(self.now, &arrival, &bytes.into());
        self.settle();
        result
    }

    /// Puts a segment onto the wire towards `to` as if a stranger had sent it.
    pub(crate) fn inject(
        &mut self,
        to: usize,
        header: &TcpRepr,
        data: &[u8],
    ) -> Result<(), DropReason> {
        let src = address(1 - to).ip();
        let dst = address(to).ip();
        let addresses = windfall_wire_net::Addresses::new(src, dst).unwrap();
        let mut bytes = header.emit(&CorruptionKinds::default()).unwrap().to_vec();
        windfall_wire_net::tcp::fill_checksum(&addresses, &mut bytes, data);
        bytes.extend_from_slice(data);
        let arrival = SegmentMeta { addresses, ecn: Ecn::NotCapable, missing: 0, lost_before: 0 };
        let result = self.ends[to].tcp.handle_segment(self.now, &arrival, &bytes.into());
        self.settle();
        result
    }

    /// Returns a header of the connection towards `to`, next in sequence, that acknowledges
    /// everything.
    pub(crate) fn forged(&self, to: usize, flags: TcpFlags) -> TcpRepr {
        let last = |end: usize| self.seen.iter().rev().find(|seen| seen.from == end).unwrap();
        let from = last(1 - to);
        let advance =
            from.len as u32 + u32::from(from.header.flags.has_any(TcpFlags::SYN | TcpFlags::FIN));
        TcpRepr {
            src_port: address(1 - to).port(),
            dst_port: address(to).port(),
            seq: from.header.seq + advance,
            ack: from.header.ack,
            flags,
            window: from.header.window,
            options: TcpOptions {
                timestamps: from.header.options.timestamps,
                ..TcpOptions::default()
            },
            ..TcpRepr::default()
        }
    }

    fn look(&mut self, from: usize, transmit: &TcpTransmit) -> Seen {
        let packet = TcpPacket::new(&transmit.header).unwrap();
        let header = TcpRepr::parse(&packet, &CorruptionKinds::default()).unwrap();
        if header.flags.has(TcpFlags::SYN) {
            self.ends[from].origin.get_or_insert(header.seq.0);
        }
        let base = |end: &End| end.origin.unwrap_or(0);
        let seq = header.seq.0.wrapping_sub(base(&self.ends[from]));
        let acks = header.flags.has(TcpFlags::ACK);
        let ack = if acks { header.ack.0.wrapping_sub(base(&self.ends[1 - from])) } else { 0 };
        let len = transmit.data.len();
        let again = len > 0 && seq < self.ends[from].highest;
        let end = &mut self.ends[from];
        if len > 0 {
            end.highest = end.highest.max(seq + len as u32);
        }
        end.sent += 1;
        let index = end.sent - 1;
        let now = self.now;
        let ecn = transmit.ecn;
        let data = transmit.data.clone();
        Seen { now, from, index, header, seq, ack, len, ecn, again, data }
    }

    /// Returns what the end has sent since `from`, oldest first.
    pub(crate) fn sent(&self, end: usize) -> impl Iterator<Item = &Seen> {
        self.seen.iter().filter(move |seen| seen.from == end)
    }

    /// Returns when each data segment was retransmitted.
    pub(crate) fn retransmissions(&self, end: usize) -> Vec<Instant> {
        self.sent(end).filter(|seen| seen.again).map(|seen| seen.now).collect()
    }

    /// Writes one line per packet: time, direction, flags, numbers, options, fate.
    fn log(&mut self, seen: &Seen, fate: &Fate) {
        let options = &seen.header.options;
        let arrow = if seen.from == NEAR { '>' } else { '<' };
        let mut line = format!("{} {arrow} {} seq {}", seen.now, seen.header.flags, seen.seq);
        if seen.len > 0 {
            line += &format!(":{}", seen.seq + seen.len as u32);
        }
        if seen.header.flags.has(TcpFlags::ACK) {
            line += &format!(" ack {}", seen.ack);
        }
        line += &format!(" win {}", seen.header.window);
        if let Some(mss) = options.mss {
            line += &format!(" mss {mss}");
        }
        let base = self.ends[1 - seen.from].origin.unwrap_or(0);
        for block in &options.sack {
            let left = block.left.0.wrapping_sub(base);
            let right = block.right.0.wrapping_sub(base);
            line += &format!(" sack {left}:{right}");
        }
        if options.detection.is_some() {
            line += " cdo";
        }
        match options.notification {
            Some(Notification::Plain) => line += " cno",
            Some(Notification::Extended(seq)) => {
                line += &format!(" cno {}", seq.0.wrapping_sub(base));
            }
            None => {}
        }
        for (happens, word) in [
            (fate.lost, " LOST"),
            (fate.twice, " TWICE"),
            (!fate.bits.is_empty(), " DAMAGED"),
            (fate.cut > 0, " CUT"),
            (fate.mark, " MARKED"),
        ] {
            if happens {
                line += word;
            }
        }
        self.timeline.push(line);
    }
}

/// Returns the bytes that an end sends.
pub(crate) fn pattern(end: usize, len: usize) -> Bytes {
    let byte = |i: usize| (i as u32).wrapping_mul(2_654_435_761).rotate_left(7) as u8 ^ end as u8;
    (0..len).map(byte).collect::<Vec<_>>().into()
}
