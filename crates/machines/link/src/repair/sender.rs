//! The sender: appends trailers to packets, and builds repairs.

use std::collections::VecDeque;
use std::sync::Arc;

use windfall_base::{Class, CoveredPacket, Frame, Instant, Picked};
use windfall_fec::PacketEncoder;
use windfall_wire_link::check::frame_check;
use windfall_wire_link::repair::{Covered, RepairTrailer, repair_check, symbol};

use super::config::WHOLE;
use super::{MOST_STREAMS, RepairCode, RepairConfig, trailer};

/// The maximum number of bytes of a packet that a repair repeats at its beginning: an IPv6 header.
pub(super) const MOST_BEFORE: usize = 40;

/// Builds the repairs of the packets that an interface sends.
#[derive(Debug)]
pub struct RepairSender {
    config: RepairConfig,
    /// The streams, the most recently used one last.
    streams: Vec<Stream>,
    repairs: VecDeque<Frame>,
}

/// The packets that are coded together.
#[derive(Debug)]
struct Stream {
    id: u32,
    /// The number of the next packet.
    next: u32,
    /// The interleaved blocks.
    lanes: Vec<Lane>,
    /// When repairs become due if no further packet is sent.
    due: Option<Instant>,
    /// The first bytes of the last packet, and its class.
    before: Vec<u8>,
    class: Class,
}

/// One of the interleaved blocks of a stream, with its own repairs.
#[derive(Debug)]
struct Lane {
    encoder: PacketEncoder,
    /// The packets in the window.
    packets: VecDeque<CoveredPacket>,
    /// The number of the last packet.
    last: u32,
    /// The repairs that are due for the packets so far, in millionths of a repair.
    credit: u32,
}

impl RepairSender {
    /// Creates a sender without streams.
    #[must_use]
    pub fn new(config: RepairConfig) -> Self {
        Self { config, streams: Vec::new(), repairs: VecDeque::new() }
    }

    /// Adds a packet to a stream. The repairs of the stream begin with the first `before` bytes of
    /// a packet, at most 40, for links that look for a destination address there.
    pub fn protect(&mut self, now: Instant, stream: u32, before: usize, frame: &mut Frame) {
        let at = self.streams.iter().position(|it| it.id == stream);
        let mut stream = match at {
            Some(at) => self.streams.remove(at),
            None => Stream::new(stream, self.config.code),
        };
        if self.streams.len() == MOST_STREAMS {
            let mut oldest = self.streams.remove(0);
            oldest.finish(self.config.code, &mut self.repairs);
        }
        stream.protect(now, self.config, before.min(MOST_BEFORE), frame);
        stream.repair(self.config.code, &mut self.repairs);
        self.streams.push(stream);
    }

    /// Builds the repairs that are due because no further packet was sent.
    pub fn handle_timeout(&mut self, now: Instant) {
        for stream in &mut self.streams {
            if stream.due.is_some_and(|due| due <= now) {
                stream.finish(self.config.code, &mut self.repairs);
            }
        }
    }

    /// Yields the next repair to send, as a frame without a packet.
    pub fn poll_repair(&mut self) -> Option<Frame> {
        self.repairs.pop_front()
    }

    /// Returns when to call `handle_timeout` next.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        let due = self.streams.iter().filter_map(|stream| stream.due).min();
        due.map(|due| (due, "repairs of an idle stream"))
    }
}

impl Stream {
    fn new(id: u32, code: RepairCode) -> Self {
        Self {
            id,
            next: 0,
            lanes: (0..code.depth()).map(|_| Lane::new(code)).collect(),
            due: None,
            before: Vec::new(),
            class: Class::NONE,
        }
    }

    fn protect(&mut self, now: Instant, config: RepairConfig, before: usize, frame: &mut Frame) {
        let slices = frame.payload.slices();
        let right = frame_check(&slices);
        // A right check would vouch for a packet that is known to be damaged.
        let check = if frame.damage.is_damaged() { right.map(|byte| !byte) } else { right };
        let number = self.next;
        self.next = self.next.wrapping_add(1);
        let lane = number as usize % self.lanes.len();
        let covered = CoveredPacket { tag: frame.tag, expires: frame.expires };
        self.lanes[lane].push(config.code, number, &symbol(&slices, check), covered);
        self.before = frame.payload.prefix(before).into();
        let accept_damaged = frame.class.accept_damaged;
        let kind = Covered::Packet { check, accept_damaged, unordered: frame.class.unordered };
        frame.payload =
            trailer::append(&frame.payload, &RepairTrailer { stream: self.id, number, kind });
        // The receiver of the code decides about damaged packets, so the link must pass them up.
        if accept_damaged.is_some() {
            frame.class.accept_damaged = None;
        }
        self.class = Class { picked: Picked::NONE, ..frame.class };
        // Repairs that arrive after the end of a packet's lifetime are useless.
        let patience = frame.class.lifetime.unwrap_or(config.delay).min(config.delay);
        let due = now + patience / 2;
        let starts_anew = matches!(config.code, RepairCode::Window { .. });
        self.due = match self.due {
            Some(before) if !starts_anew => Some(before.min(due)),
            _ => Some(due),
        };
    }

    /// Builds the repairs that are due after a packet.
    fn repair(&mut self, code: RepairCode, repairs: &mut VecDeque<Frame>) {
        let is_complete = match code {
            RepairCode::Block { packets, .. } => {
                self.lanes.iter().all(|lane| lane.encoder.len() == usize::from(packets))
            }
            RepairCode::Window { .. } => true,
        };
        if is_complete && self.lanes[0].credit >= WHOLE {
            self.emit(code, |lane| lane.credit / WHOLE, repairs);
        }
    }

    /// Builds the repairs of the last packets before a pause.
    fn finish(&mut self, code: RepairCode, repairs: &mut VecDeque<Frame>) {
        self.emit(code, |lane| lane.credit.div_ceil(WHOLE), repairs);
        self.due = None;
    }

    /// Builds repairs for each interleaved block, as many as `count` returns, interleaved like
    /// packets.
    fn emit(
        &mut self,
        code: RepairCode,
        count: impl Fn(&Lane) -> u32,
        repairs: &mut VecDeque<Frame>,
    ) {
        let counts: Vec<u32> = self.lanes.iter().map(count).collect();
        for turn in 0..counts.iter().copied().max().unwrap_or(0) {
            for lane in (0..counts.len()).filter(|lane| turn < counts[*lane]) {
                repairs.extend(self.next_repair(lane));
            }
        }
        for (lane, count) in self.lanes.iter_mut().zip(counts) {
            lane.credit = lane.credit.saturating_sub(count * WHOLE);
        }
        if self.lanes.iter().all(|lane| lane.credit == 0) {
            self.due = None;
        }
        if let RepairCode::Block { .. } = code {
            self.lanes.iter_mut().for_each(Lane::begin);
            self.due = None;
        }
    }

    fn next_repair(&mut self, lane: usize) -> Option<Frame> {
        let depth = self.lanes.len() as u32;
        let lane = &mut self.lanes[lane];
        let (cover, sum) = lane.encoder.repair()?;
        let first = lane.last.wrapping_sub((u32::from(cover.count) - 1) * depth);
        let before = self.before.len() as u8;
        let check = repair_check(&sum);
        let kind = Covered::Repair { count: cover.count, row: cover.row, before, check };
        let payload = [&self.before[..], &sum].concat().into();
        let trailer = RepairTrailer { stream: self.id, number: first, kind };
        let mut frame = Frame::packet(trailer::append(&payload, &trailer)).with_class(self.class);
        // A repair is useful as long as one of its packets is.
        let ends: Option<Vec<_>> = lane.packets.iter().map(|packet| packet.expires).collect();
        frame.set_expiry(ends.and_then(|ends| ends.into_iter().max()));
        frame.covers = Some(lane.packets.iter().copied().collect::<Arc<[_]>>());
        Some(frame)
    }
}

impl Lane {
    fn new(code: RepairCode) -> Self {
        let encoder = PacketEncoder::new(code.covered());
        Self { encoder, packets: VecDeque::new(), last: 0, credit: 0 }
    }

    fn push(&mut self, code: RepairCode, number: u32, symbol: &[u8], packet: CoveredPacket) {
        self.encoder.push(symbol);
        self.last = number;
        if self.packets.len() == code.covered() {
            self.packets.pop_front();
        }
        self.packets.push_back(packet);
        self.credit = match code {
            RepairCode::Block { packets, repairs, .. } => {
                let all = self.encoder.len() as u64 * u64::from(repairs) * u64::from(WHOLE);
                all.div_ceil(u64::from(packets)) as u32
            }
            RepairCode::Window { share, .. } => self.credit + share,
        };
    }

    /// Begins a new block.
    fn begin(&mut self) {
        self.encoder.begin();
        self.packets.clear();
        self.credit = 0;
    }
}
