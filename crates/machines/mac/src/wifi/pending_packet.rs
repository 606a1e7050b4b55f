//! One packet on its way: its fragments, its attempts, its limits.

use core::num::NonZeroU8;

use arrayvec::ArrayVec;
use windfall_base::{Check, Duration, Frame, Instant, Payload};
use windfall_wire_link::check::frame_check;
use windfall_wire_link::ieee80211::header::{DATA_HEADER, FCS_LEN, MAX_FRAGMENT};
use windfall_wire_link::ieee80211::{
    Code, Flags, Header, Increment, Kind, MacAddress, PhyRate, Report, snap,
};

use super::Packet;
use super::bss::Order;
use super::config::{Config, LEAST_FRAGMENT, WEP};
use super::extension::{CopyLength, SenderCode, put_parity};
use super::rate_control::Attempt;

/// The two high bits of an association identifier in frames.
const AID_MARK: u16 = 0xc000;

/// The packet that a station has in hand.
#[derive(Clone, Debug)]
pub(super) struct PendingPacket {
    packet: Frame,
    header: Header,
    snap: ArrayVec<u8, { snap::LEN }>,
    wep: bool,
    /// The association identifier in place of the duration of a PS-Poll.
    aid: u16,
    /// Bytes of the body in each fragment but the last.
    size: usize,
    /// The fragment under way.
    fragment: u8,
    /// Failed attempts that count against each limit.
    short: u8,
    long: u8,
    /// Failed attempts in all.
    failed: u8,
    /// Frames sent so far of the fragment under way.
    sent: u32,
    /// Attempts that failed at the fragments before it.
    failed_before: u32,
    /// Attempts in all, by the owner's wish.
    limit: Option<NonZeroU8>,
    expires: Option<Instant>,
    /// It has waited for more than half of its lifetime before its first attempt.
    is_scarce: bool,
    /// The air time of all attempts so far.
    pub(super) air: Duration,
    /// The rate of the exchange under way.
    pub(super) rate: PhyRate,
    /// The extension of the standard, for this packet.
    pub(super) coding: SenderCode,
    /// The station has transmitted the packet for the last time, and keeps it only to learn its
    /// fate.
    pub(super) given_away: bool,
}

impl PendingPacket {
    pub(super) fn new(order: impl Into<Order>, sequence: u16, config: &Config) -> Self {
        let Order { packet, kind, flags, third, aid } = order.into();
        let Packet { frame, to, ether_type, expires, source: _ } = packet;
        let is_packet = kind == Kind::Data;
        let wep = config.wep && is_packet;
        let header = Header {
            flags: flags.with(Flags::PROTECTED, wep),
            transmitter: config.address,
            third: third.unwrap_or(config.network),
            sequence,
            ..Header::new(kind, to)
        };
        let around = DATA_HEADER + FCS_LEN + if wep { 2 * WEP } else { 0 };
        let head = if is_packet { snap::LEN } else { 0 };
        let body = head + frame.payload.len();
        // Fragments have even lengths, and a group's packet is never cut.
        let room = (config.fragment_threshold.saturating_sub(around) & !1).max(snap::LEN);
        let least = body.div_ceil(usize::from(MAX_FRAGMENT) + 1);
        let is_damaged = frame.damage.frame == Check::Bad;
        // So is a frame without acknowledgment, because no fragment of it would be retransmitted.
        let uncut = to.is_group() || is_damaged || !is_packet || body <= room;
        let size = if uncut { body } else { room.max(least) };
        let limit = frame.class.attempts;
        let rate = config.lowest_basic_rate();
        // The check under a code would vouch for damage that is known.
        let code = config.coding.map(|code| if is_damaged { Code::NONE } else { code });
        let code = code.filter(|_| is_packet && !to.is_group());
        let snap = snap::encode(ether_type)[..head].iter().copied().collect();
        Self {
            packet: frame,
            header,
            snap,
            wep,
            aid,
            size,
            fragment: 0,
            short: 0,
            long: 0,
            failed: 0,
            sent: 0,
            failed_before: 0,
            limit,
            expires,
            is_scarce: false,
            air: Duration::ZERO,
            rate,
            coding: SenderCode::new(code),
            given_away: false,
        }
    }

    pub(super) fn to(&self) -> MacAddress {
        self.header.receiver
    }

    pub(super) fn packet(&self) -> &Frame {
        &self.packet
    }

    /// Returns `true` if it carries a packet, and is no frame of the station's own.
    pub(super) fn is_packet(&self) -> bool {
        self.header.kind == Kind::Data
    }

    pub(super) fn kind(&self) -> Kind {
        self.header.kind
    }

    /// Sets the clock in the first eight bytes of a beacon.
    pub(super) fn stamp(&mut self, micros: u64) {
        let mut body = self.packet.payload.to_bytes().to_vec();
        if let Some(clock) = body.first_chunk_mut() {
            *clock = micros.to_le_bytes();
        }
        self.packet.payload = body.into();
    }

    pub(super) fn is_group(&self) -> bool {
        self.header.receiver.is_group()
    }

    /// Returns `true` if its frame is not acknowledged: it is for a group, or its packet is known
    /// to be damaged.
    pub(super) fn is_unanswered(&self) -> bool {
        self.is_group() || self.is_damaged()
    }

    fn is_damaged(&self) -> bool {
        self.packet.damage.frame == Check::Bad
    }

    /// Returns `true` if the packet's lifetime has ended at `at`, the time of its arrival.
    pub(super) fn is_expired(&self, at: Instant) -> bool {
        self.expires.is_some_and(|expires| expires < at)
    }

    /// Returns `true` if the packet has a lifetime and its owner has set no limit of attempts.
    pub(super) fn has_lifetime(&self) -> bool {
        self.expires.is_some() && self.limit.is_none()
    }

    /// Attempts at the fragment under way so far.
    pub(super) fn sent(&self) -> u32 {
        self.sent
    }

    fn body_len(&self) -> usize {
        self.snap.len() + self.packet.payload.len()
    }

    /// Returns `true` if another fragment follows the one under way.
    pub(super) fn has_more(&self) -> bool {
        (usize::from(self.fragment) + 1) * self.size < self.body_len()
    }

    fn is_whole(&self) -> bool {
        self.size >= self.body_len()
    }

    fn range(&self, fragment: u8) -> core::ops::Range<usize> {
        let begin = usize::from(fragment) * self.size;
        begin..(begin + self.size).min(self.body_len())
    }

    fn frame_len(&self, fragment: u8) -> usize {
        let len = self.uncoded_len(fragment);
        len + self.coding.overhead(len) + FCS_LEN
    }

    /// Bytes of MAC header and body of a fragment.
    fn uncoded_len(&self, fragment: u8) -> usize {
        let wep = if self.wep { 2 * WEP } else { 0 };
        self.header.kind.header_len() + wep + self.range(fragment).len()
    }

    /// Returns `true` if its owner takes it damaged, which only a packet in one frame is passed up.
    pub(super) fn accepts_damaged(&self) -> bool {
        self.packet.class.accept_damaged == Some(true) && self.is_whole()
    }

    /// Returns the further parity that the next attempt carries; `None` if it carries a copy.
    pub(super) fn increment(&self) -> Option<Increment> {
        self.coding.increment(self.copy_len())
    }

    /// The lengths of a copy of the fragment under way.
    fn copy_len(&self) -> CopyLength {
        let header = self.header.kind.header_len();
        CopyLength { header, frame: self.frame_len(self.fragment) }
    }

    /// Records the receiver's report of an attempt that did not complete the packet.
    pub(super) fn on_report(&mut self, report: Report) {
        self.coding.on_report(report, self.copy_len());
    }

    /// Returns the facts for the rate control about the next attempt.
    pub(super) fn attempt(&self, now: Instant, config: &Config) -> Attempt {
        let left = match self.limit {
            Some(limit) => u32::from(limit.get().saturating_sub(self.failed)),
            None if self.expires.is_some() => u32::MAX,
            None => u32::from(config.retries.short.get().saturating_sub(self.short)),
        };
        let increment = self.increment();
        Attempt {
            number: self.sent + 1,
            len: self.attempted(),
            left: left.max(1),
            time: self.expires.map(|expires| expires.saturating_since(now)),
            is_scarce: self.is_scarce,
            accepts_damaged: self.accepts_damaged() && increment.is_none(),
            code: config.coding.filter(|_| self.coding.code.is_some() && increment.is_none()),
        }
    }

    /// Notes how long the packet has waited before its first attempt.
    pub(super) fn note_wait(&mut self, now: Instant) {
        let lifetime = self.packet.class.lifetime;
        self.is_scarce = self
            .expires
            .zip(lifetime)
            .is_some_and(|(expires, lifetime)| expires.saturating_since(now) < lifetime / 2);
    }

    /// Returns the facts for the rate control about the last attempt.
    pub(super) fn attempted(&self) -> usize {
        match self.coding.increment_len(self.copy_len()) {
            None => self.uncoded_len(self.fragment),
            Some(len) => len - FCS_LEN,
        }
    }

    /// Cuts a packet of which nothing was sent into `count` fragments of about equal length, unless
    /// they would be shorter than the standard allows.
    pub(super) fn cut(&mut self, count: usize) {
        let size = (self.body_len().div_ceil(count.max(1)) + 1) & !1;
        if size < self.size && size >= LEAST_FRAGMENT - DATA_HEADER - FCS_LEN {
            self.size = size;
        }
    }

    /// Attempts at the whole packet so far, of which the last arrived or not.
    pub(super) fn attempts(&self, arrived: bool) -> u32 {
        self.failed_before + u32::from(self.failed) + u32::from(arrived)
    }

    /// Bytes of the frames that carry it, one for each fragment.
    pub(super) fn frame_lens(&self) -> impl Iterator<Item = usize> {
        let count = self.body_len().div_ceil(self.size.max(1)).max(1);
        (0..count as u8).map(|fragment| self.frame_len(fragment))
    }

    /// Bytes of the frames of the fragments after the one in transmission.
    pub(super) fn later_lens(&self) -> impl Iterator<Item = usize> {
        self.frame_lens().skip(usize::from(self.fragment) + 1)
    }

    /// Bytes of the next frame of the fragment under way: a copy, or further parity.
    pub(super) fn len(&self) -> usize {
        let copy = self.copy_len();
        self.coding.increment_len(copy).unwrap_or(copy.frame)
    }

    /// Bytes of the frame after it, if there is one.
    pub(super) fn next_len(&self) -> Option<usize> {
        self.has_more().then(|| self.frame_len(self.fragment + 1))
    }

    //= S0.8
    /// Returns `true` if the next attempt is the only one, after which the packet is discarded.
    fn is_only_attempt(&self) -> bool {
        self.limit == Some(NonZeroU8::MIN) && self.is_whole()
    }

    /// The frame of the fragment under way, which reserves the medium for `duration` microseconds
    /// after it; counts it as sent.
    pub(super) fn build(&mut self, duration: u16) -> Frame {
        let repeated = self.sent > 0;
        self.sent += 1;
        let more = self.has_more();
        let flags = self.header.flags.with(Flags::MORE_FRAGMENTS, more);
        let flags = flags.with(Flags::RETRY, repeated);
        let duration = match self.header.kind {
            Kind::PsPoll => self.aid | AID_MARK,
            _ => duration,
        };
        let header = Header { flags, duration, fragment: self.fragment, ..self.header };
        let is_final = self.is_unanswered() || self.is_only_attempt();
        // A damaged packet that is passed on may still be whole at its first sender.
        let mut frame =
            Frame { tag: self.packet.tag, kept: !is_final || self.packet.kept, ..Frame::default() };
        if self.packet.covers.is_some() {
            frame.covers.clone_from(&self.packet.covers);
        }
        frame.set_expiry(self.expires);
        header.encode(&mut frame.header);
        if self.wep {
            frame.header.extend([0; WEP]);
        }
        self.put_body(&mut frame);
        self.coding.append(&mut frame);
        if self.wep {
            frame.trailer.extend([0; WEP]);
        }
        let [a, b, c, d] = frame.slices();
        let check = frame_check(&[a, b, c, d]);
        if let Some(increment) = self.increment() {
            frame.trailer.extend(check);
            put_parity(&mut frame, header.kind.header_len(), increment);
            return frame;
        }
        // A valid FCS would vouch for the damage: an invalid one reports it to the next receiver.
        let wrong = if self.is_damaged() { 0xff } else { 0 };
        frame.trailer.extend(check.map(|byte| byte ^ wrong));
        self.given_away |= is_final;
        frame
    }

    fn put_body(&self, frame: &mut Frame) {
        if self.is_whole() {
            frame.header.extend(self.snap.iter().copied());
            frame.payload = self.packet.payload.clone();
            return;
        }
        let range = self.range(self.fragment);
        let head = self.snap.len();
        frame.header.extend(self.snap.iter().copied().skip(range.start).take(range.len()));
        let (begin, end) = (range.start.max(head) - head, range.end.max(head) - head);
        frame.payload = Payload::from(self.packet.payload.slice(begin..end));
    }

    /// Completes the current fragment; returns whether another one follows.
    pub(super) fn advance(&mut self) -> bool {
        let more = self.has_more();
        if more {
            self.fragment += 1;
            self.failed_before += u32::from(self.failed);
            (self.short, self.long, self.failed) = (0, 0, 0);
            self.coding.begin_fragment();
            self.sent = 0;
        }
        more
    }

    /// The medium has been granted: failed requests no longer count (802.11-2007, 9.2.5.3).
    pub(super) fn granted(&mut self) {
        self.short = 0;
    }

    /// Counts a failed attempt of a frame of `len` bytes; returns whether it was the last.
    pub(super) fn fail(&mut self, len: usize, config: &Config) -> bool {
        let counter = if len > config.rts_threshold { &mut self.long } else { &mut self.short };
        *counter = counter.saturating_add(1);
        self.failed = self.failed.saturating_add(1);
        match self.limit {
            Some(limit) => self.failed >= limit.get(),
            None => {
                self.short >= config.retries.short.get() || self.long >= config.retries.long.get()
            }
        }
    }
}
