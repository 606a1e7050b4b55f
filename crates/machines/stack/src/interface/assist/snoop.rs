//! A cache of segments before a lossy last hop, after Balakrishnan, Seshan, Amir and Katz (1995).
//!
//! The cache is at the end of the link nearer to the sender. It keeps segments towards the receiver
//! until they are acknowledged. If duplicate ACKs or a timeout indicate a loss on the link, the
//! cache retransmits the segment and suppresses the duplicate ACKs. The sender then neither
//! retransmits the segment nor reduces its window (S2.18, S2.46). If the sender retransmits a
//! segment itself, or the cache has never seen it, the duplicate ACKs pass.
//!
//! Leave the cache off if the link itself retransmits: both would retransmit the same loss.

use std::collections::{BTreeMap, VecDeque};

use windfall_base::seq::Seq32;
use windfall_base::{DropReason, Duration, Frame, Instant};
use windfall_tcp::{RttEstimator, TimeoutConfig};
use windfall_wire_net::tcp::{CorruptionKinds, MAX_HEADER_LEN};
use windfall_wire_net::{Addresses, IpPacket, Protocol, TcpFlags, TcpPacket, TcpRepr};

/// The bytes at the beginning of a packet that contain both headers.
const LOOKED_AT: usize = 60 + MAX_HEADER_LEN;
/// The number of retransmissions of a segment before it is left to the sender.
const REPETITIONS: u8 = 8;

/// The maximum number of duplicate ACKs that are expected after one loss.
const ECHOES: u32 = 8;

/// The limits of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnoopConfig {
    /// The maximum number of remembered streams; the one idle for the longest time is evicted
    /// first.
    pub streams: usize,
    /// The maximum number of cached segments of each stream; further ones are not cached.
    pub segments: usize,
    /// The minimum local retransmission timeout.
    pub patience: Duration,
}

impl Default for SnoopConfig {
    /// 64 streams of 512 segments, 20 ms.
    fn default() -> Self {
        Self { streams: 64, segments: 512, patience: Duration::from_millis(20) }
    }
}

/// One direction of a connection, named as its segments are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Name {
    addresses: Addresses,
    ports: (u16, u16),
}

/// A segment that is kept.
#[derive(Debug)]
struct Kept {
    start: Seq32,
    end: Seq32,
    frame: Frame,
    sent: Instant,
    repeated: u8,
    /// The sender has retransmitted the segment, so its recovery is left to both ends.
    given_up: bool,
}

/// The state of one stream.
#[derive(Debug)]
struct Stream {
    /// In the order of their numbers.
    kept: VecDeque<Kept>,
    /// The last acknowledgment and its window.
    acked: Option<(Seq32, u16)>,
    /// The oldest segment was retransmitted locally, and the duplicate ACKs are caused by its loss.
    repairing: bool,
    /// Segments sent twice over the link: each may cause one duplicate ACK that indicates no loss.
    echoes: u32,
    rtt: RttEstimator,
    patience: Duration,
    heard: Instant,
}

//= S2.18
//= S2.46
/// The cache of segments.
#[derive(Debug)]
pub(super) struct Snoop {
    config: SnoopConfig,
    streams: BTreeMap<Name, Stream>,
    repetitions: VecDeque<Frame>,
}

/// The fields of a segment.
struct Seen {
    name: Name,
    header: TcpRepr,
    len: u32,
}

impl Seen {
    fn read(frame: &Frame) -> Option<Self> {
        let bytes = frame.payload.prefix(LOOKED_AT);
        let packet = IpPacket::new(&bytes).ok()?;
        let carried = packet.carried().ok().filter(|carried| !carried.fragment)?;
        if carried.protocol != Protocol::TCP {
            return None;
        }
        let segment = TcpPacket::new(carried.bytes).ok()?;
        let header = TcpRepr::parse_lenient(&segment, &CorruptionKinds::default());
        let name =
            Name { addresses: packet.addresses(), ports: (header.src_port, header.dst_port) };
        let len = carried.len.saturating_sub(segment.header_len()) as u32;
        Some(Self { name, header, len })
    }

    /// The name of the other direction.
    fn reverse(&self) -> Option<Name> {
        let addresses = self.name.addresses;
        let ports = self.name.ports;
        let addresses = Addresses::new(addresses.dst(), addresses.src())?;
        Some(Name { addresses, ports: (ports.1, ports.0) })
    }

    fn has_any(&self, flags: TcpFlags) -> bool {
        self.header.flags.has_any(flags)
    }
}

impl Stream {
    fn new(config: &SnoopConfig, now: Instant) -> Self {
        let timeout = TimeoutConfig {
            initial: config.patience.max(Duration::from_millis(200)),
            minimum: config.patience,
            ..TimeoutConfig::default()
        };
        let rtt = RttEstimator::new(timeout);
        let kept = VecDeque::new();
        let patience = config.patience;
        Self { kept, acked: None, repairing: false, echoes: 0, rtt, patience, heard: now }
    }

    /// Caches a segment towards the receiver.
    fn keep(&mut self, now: Instant, seen: &Seen, frame: &Frame, most: usize) {
        let fin = u32::from(seen.has_any(TcpFlags::FIN));
        let start = seen.header.seq;
        let end = seen.header.seq + (seen.len + fin);
        if self.acked.is_some_and(|(acked, _)| !acked.is_before(end)) {
            self.echoes = (self.echoes + 1).min(ECHOES);
            return;
        }
        let at = self.kept.partition_point(|kept| kept.start.is_before(start));
        if let Some(known) = self.kept.get_mut(at).filter(|kept| kept.start == start) {
            known.given_up = true;
            return;
        }
        // The segment is older than later ones: the sender fills a hole that arose before this
        // link.
        let given_up = at < self.kept.len();
        if self.kept.len() < most {
            let frame = frame.clone();
            let kept = Kept { start, end, frame, sent: now, repeated: 0, given_up };
            self.kept.insert(at, kept);
        }
    }

    /// Processes an ACK; returns whether it is a duplicate to suppress.
    fn take_ack(&mut self, now: Instant, seen: &Seen, again: &mut VecDeque<Frame>) -> bool {
        let ack = seen.header.ack;
        let window = seen.header.window;
        let Some((acked, last_window)) = self.acked.filter(|(acked, _)| !acked.is_before(ack))
        else {
            self.acked = Some((ack, window));
            self.release(now, ack);
            self.repairing = false;
            return false;
        };
        if ack.is_before(acked) || seen.len > 0 || window != last_window {
            self.acked = Some((acked, if ack == acked { window } else { last_window }));
            return false;
        }
        let Some(first) = self.kept.front().filter(|first| first.start == ack) else {
            return false;
        };
        // A segment that was retransmitted often without success is left to the sender.
        if first.given_up || first.repeated >= REPETITIONS {
            return false;
        }
        if self.repairing {
            return true;
        }
        if self.echoes > 0 {
            self.echoes -= 1;
            return true;
        }
        // Duplicate ACKs cannot report the loss of a retransmission before a round trip has passed.
        let earliest = first.sent.saturating_add(self.rtt.least().unwrap_or_default());
        if now >= earliest {
            self.repeat_first(now, again);
        }
        now >= earliest
    }

    /// Drops acknowledged segments; the last of them gives an RTT sample of the link.
    fn release(&mut self, now: Instant, ack: Seq32) {
        let mut last = None;
        while let Some(kept) = self.kept.front().filter(|kept| !ack.is_before(kept.end)) {
            let once = kept.repeated == 0 && !kept.given_up;
            self.echoes = (self.echoes + u32::from(!once)).min(ECHOES);
            last = once.then_some(kept.sent);
            self.kept.pop_front();
        }
        if let Some(sent) = last {
            self.rtt.sample(now.saturating_since(sent), 1);
        }
    }

    /// Retransmits the oldest segment over the link.
    fn repeat_first(&mut self, now: Instant, again: &mut VecDeque<Frame>) {
        if let Some(first) = self.kept.front_mut() {
            self.repairing = true;
            (first.repeated, first.sent) = (first.repeated + 1, now);
            again.push_back(first.frame.clone());
        }
    }

    /// Returns when the local retransmission timer of the oldest segment expires.
    fn deadline(&self) -> Option<Instant> {
        let first = self.kept.front()?;
        let span = match first.repeated {
            0 => self.rtt.timeout(),
            // A local retransmission bypasses the queue, so the minimum round-trip time applies.
            n => self.rtt.least().map_or(self.rtt.timeout(), |least| {
                self.patience.max(least * 2).saturating_mul(1 << (n - 1))
            }),
        };
        // Segments after a hole that the sender must fill are not lost.
        let is_next = self.acked.is_none_or(|(acked, _)| acked == first.start);
        let waits = is_next && !first.given_up && first.repeated < REPETITIONS;
        waits.then(|| first.sent.saturating_add(span))
    }
}

impl Snoop {
    pub(super) fn new(config: SnoopConfig) -> Self {
        Self { config, streams: BTreeMap::new(), repetitions: VecDeque::new() }
    }

    pub(super) fn handle_packet(&mut self, now: Instant, frame: &Frame) {
        let Some(seen) = Seen::read(frame) else { return };
        if seen.has_any(TcpFlags::SYN | TcpFlags::RST) {
            self.forget(&seen);
        } else if seen.len > 0 || seen.has_any(TcpFlags::FIN) {
            let most = self.config.segments;
            self.stream(now, seen.name).keep(now, &seen, frame, most);
        }
    }

    pub(super) fn handle_delivery(
        &mut self,
        now: Instant,
        frame: &Frame,
    ) -> Result<(), DropReason> {
        if frame.damage.is_damaged() {
            return Ok(());
        }
        let Some(seen) = Seen::read(frame) else { return Ok(()) };
        if seen.has_any(TcpFlags::SYN | TcpFlags::RST) {
            self.forget(&seen);
            return Ok(());
        }
        // A corruption notification is no duplicate ACK, and in one mode no ACK at all.
        let counts = seen.has_any(TcpFlags::ACK) && seen.header.options.notification.is_none();
        let stream = seen.reverse().and_then(|name| self.streams.get_mut(&name));
        let Some(stream) = stream.filter(|_| counts) else { return Ok(()) };
        stream.heard = now;
        if stream.take_ack(now, &seen, &mut self.repetitions) && !seen.has_any(TcpFlags::FIN) {
            return Err(DropReason::TcpSuppressed);
        }
        Ok(())
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) {
        for stream in self.streams.values_mut() {
            if stream.deadline().is_some_and(|at| at <= now) {
                stream.repeat_first(now, &mut self.repetitions);
            }
        }
    }

    pub(super) fn poll_repetition(&mut self) -> Option<Frame> {
        self.repetitions.pop_front()
    }

    pub(super) fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        let deadlines = self.streams.values().filter_map(Stream::deadline);
        deadlines.min().map(|at| (at, "snoop repetition"))
    }

    fn forget(&mut self, seen: &Seen) {
        self.streams.remove(&seen.name);
        if let Some(name) = seen.reverse() {
            self.streams.remove(&name);
        }
    }

    /// Returns the stream of this name, or a new one; the stream idle for the longest time is
    /// evicted for it.
    fn stream(&mut self, now: Instant, name: Name) -> &mut Stream {
        if !self.streams.contains_key(&name) && self.streams.len() >= self.config.streams {
            let oldest = self.streams.iter().min_by_key(|(_, stream)| stream.heard);
            if let Some(oldest) = oldest.map(|(name, _)| *name) {
                self.streams.remove(&oldest);
            }
        }
        let config = &self.config;
        self.streams.entry(name).or_insert_with(|| Stream::new(config, now))
    }
}
