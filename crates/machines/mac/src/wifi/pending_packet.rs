//! The packet in transmission: its fragments, attempts and retry limits.

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

/// The two most significant bits of the AID field, which the standard sets to 1.
const AID_MARK: u16 = 0xc000;

/// The packet that the station is transmitting, or a management or control frame of its own.
#[derive(Clone, Debug)]
pub(super) struct PendingPacket {
    packet: Frame,
    header: Header,
    snap: ArrayVec<u8, { snap::LEN }>,
    wep: bool,
    /// The AID, which replaces the Duration in a PS-Poll.
    aid: u16,
    /// The body length of each fragment except the last.
    size: usize,
    /// The number of the current fragment.
    fragment: u8,
    /// The retry counters of the packet, SRC and LRC.
    short: u8,
    long: u8,
    /// The number of failed attempts of the current fragment.
    failed: u8,
    /// The number of transmissions of the current fragment.
    sent: u32,
    /// The number of failed attempts of the fragments before it.
    failed_before: u32,
    /// The limit of attempts that the packet's owner has set, in place of the retry limits.
    limit: Option<NonZeroU8>,
    expires: Option<Instant>,
    /// The packet waited for more than half of its lifetime before its first attempt.
    is_scarce: bool,
    /// The air time of all attempts so far.
    pub(super) air: Duration,
    /// The rate of the current exchange.
    pub(super) rate: PhyRate,
    /// The sender's half of the extension beyond the standard.
    pub(super) coding: SenderCode,
    /// The station has transmitted the packet for the last time, and keeps it only until the
    /// outcome is known.
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
        // Fragments have even lengths, and group-addressed packets are never fragmented.
        let room = (config.fragment_threshold.saturating_sub(around) & !1).max(snap::LEN);
        let least = body.div_ceil(usize::from(MAX_FRAGMENT) + 1);
        let is_damaged = frame.damage.frame == Check::Bad;
        // A frame without acknowledgement is not fragmented either: no fragment would be
        // retransmitted.
        let uncut = to.is_group() || is_damaged || !is_packet || body <= room;
        let size = if uncut { body } else { room.max(least) };
        let limit = frame.class.attempts;
        let rate = config.lowest_basic_rate();
        // The CRC of a code would vouch for a packet that is known to be damaged.
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

    /// Returns `true` for a packet from above, `false` for a management or control frame.
    pub(super) fn is_packet(&self) -> bool {
        self.header.kind == Kind::Data
    }

    pub(super) fn kind(&self) -> Kind {
        self.header.kind
    }

    /// Sets the timestamp of a beacon.
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

    /// Returns `true` if the frame is not acknowledged: it is group-addressed, or its packet is
    /// known to be damaged.
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

    /// Returns the number of transmissions of the current fragment.
    pub(super) fn sent(&self) -> u32 {
        self.sent
    }

    fn body_len(&self) -> usize {
        self.snap.len() + self.packet.payload.len()
    }

    /// Returns `true` if another fragment follows the current one.
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

    /// Returns the length of MAC header, WEP and body of a fragment.
    fn uncoded_len(&self, fragment: u8) -> usize {
        let wep = if self.wep { 2 * WEP } else { 0 };
        self.header.kind.header_len() + wep + self.range(fragment).len()
    }

    /// Returns `true` if the owner accepts a damaged packet. Only unfragmented packets are passed
    /// up damaged.
    pub(super) fn accepts_damaged(&self) -> bool {
        self.packet.class.accept_damaged == Some(true) && self.is_whole()
    }

    /// Returns the increment of parity that the next attempt carries; `None` if it carries a copy.
    pub(super) fn increment(&self) -> Option<Increment> {
        self.coding.increment(self.copy_len())
    }

    /// Returns the lengths of a copy of the current fragment.
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

    /// Records whether the packet waited for more than half of its lifetime before its first
    /// attempt.
    pub(super) fn note_wait(&mut self, now: Instant) {
        let lifetime = self.packet.class.lifetime;
        self.is_scarce = self
            .expires
            .zip(lifetime)
            .is_some_and(|(expires, lifetime)| expires.saturating_since(now) < lifetime / 2);
    }

    /// Returns the bytes of MAC header and body of the last attempt, for the rate control.
    pub(super) fn attempted(&self) -> usize {
        match self.coding.increment_len(self.copy_len()) {
            None => self.uncoded_len(self.fragment),
            Some(len) => len - FCS_LEN,
        }
    }

    /// Fragments a packet into `count` fragments of about equal length, unless they would be
    /// shorter than the standard allows. Called before the first attempt.
    pub(super) fn cut(&mut self, count: usize) {
        let size = (self.body_len().div_ceil(count.max(1)) + 1) & !1;
        if size < self.size && size >= LEAST_FRAGMENT - DATA_HEADER - FCS_LEN {
            self.size = size;
        }
    }

    /// Returns the number of attempts at the packet so far, including the last one if it `arrived`.
    pub(super) fn attempts(&self, arrived: bool) -> u32 {
        self.failed_before + u32::from(self.failed) + u32::from(arrived)
    }

    /// Returns the lengths of the packet's frames, one for each fragment.
    pub(super) fn frame_lens(&self) -> impl Iterator<Item = usize> {
        let count = self.body_len().div_ceil(self.size.max(1)).max(1);
        (0..count as u8).map(|fragment| self.frame_len(fragment))
    }

    /// Returns the lengths of the frames after the current fragment.
    pub(super) fn later_lens(&self) -> impl Iterator<Item = usize> {
        self.frame_lens().skip(usize::from(self.fragment) + 1)
    }

    /// Returns the length of the next frame of the current fragment: a copy, or an increment of
    /// parity.
    pub(super) fn len(&self) -> usize {
        let copy = self.copy_len();
        self.coding.increment_len(copy).unwrap_or(copy.frame)
    }

    /// Returns the length of the frame of the next fragment, if there is one.
    pub(super) fn next_len(&self) -> Option<usize> {
        self.has_more().then(|| self.frame_len(self.fragment + 1))
    }

    //= S0.8
    /// Returns `true` if the packet is discarded after the next attempt whether or not it arrives.
    fn is_only_attempt(&self) -> bool {
        self.limit == Some(NonZeroU8::MIN) && self.is_whole()
    }

    /// Builds the frame of the current fragment, with `duration` in microseconds in its Duration
    /// field, and counts it as sent.
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
        // A damaged packet that is relayed may still be undamaged at its original source.
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
        // A valid FCS would vouch for the damaged packet. The inverted FCS tells the receiver of
        // the damage.
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
        let begin = range.start.max(head) - head;
        let end = range.end.max(head) - head;
        frame.payload = Payload::from(self.packet.payload.slice(begin..end));
    }

    /// Completes the current fragment; returns `true` if another one follows.
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

    /// Resets the short retry counter: a CTS arrived (802.11-2007, 9.2.5.3).
    pub(super) fn granted(&mut self) {
        self.short = 0;
    }

    /// Counts a failed attempt of a frame of `len` bytes; returns `true` if no attempt is left.
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
