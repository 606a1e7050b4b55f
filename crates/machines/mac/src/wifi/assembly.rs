//! Duplicate detection and defragmentation.

use std::collections::{BTreeMap, VecDeque};

use bytes::BytesMut;
use windfall_base::frame::MAX_HEADER;
use windfall_base::{DropReason, Duration, Frame, Instant, Payload};
use windfall_wire_link::ieee80211::{Flags, Header, MacAddress, snap};

use super::event::DcfEvent;

/// The time for which an incomplete packet is kept (aMaxReceiveLifetime: 512 units of 1024 µs).
const LIFETIME: Duration = Duration::from_micros(512 * 1024);

/// The modulus of sequence numbers.
const NUMBERS: u16 = 4_096;

/// The number of damaged packets whose sequence numbers are remembered.
const DAMAGED: usize = 16;

/// The duplicate detection cache, the packets in reassembly, and the last damaged packets.
#[derive(Clone, Debug, Default)]
pub(super) struct Assembly {
    /// The last frame of each sender: its sequence and fragment numbers.
    last: BTreeMap<MacAddress, (u16, u8)>,
    parts: BTreeMap<MacAddress, Parts>,
    /// The sender and sequence number of the last damaged packets, oldest first. Both come from
    /// damaged frames, so they may be wrong.
    damaged: VecDeque<(MacAddress, u16)>,
}

/// The fragments of a packet received so far.
#[derive(Clone, Debug)]
struct Parts {
    sequence: u16,
    /// The fragment number that is expected next.
    next: u8,
    bytes: BytesMut,
    /// The first fragment, without its payload.
    frame: Frame,
    expires: Instant,
}

impl Assembly {
    /// Records an intact frame, and returns `true` if it repeats the last frame of its sender.
    pub(super) fn has_come_before(&mut self, header: &Header) -> bool {
        let number = (header.sequence, header.fragment);
        let before = self.last.insert(header.transmitter, number);
        header.flags.has(Flags::RETRY) && before == Some(number)
    }

    /// Returns `true` if a frame repeats the last intact frame of its sender.
    pub(super) fn has_come(&self, header: &Header) -> bool {
        self.last.get(&header.transmitter) == Some(&(header.sequence, header.fragment))
    }

    //= S4.27
    /// Returns the number of sequence numbers between the last intact frame of the sender and this
    /// one. Returns 0 for the first frame of a sender, and for frames older than the last.
    pub(super) fn lost_before(&self, header: &Header) -> u16 {
        let last = self.last.get(&header.transmitter);
        let ahead = last.map_or(0, |(last, _)| header.sequence.wrapping_sub(*last) % NUMBERS);
        if ahead < NUMBERS / 2 { ahead.saturating_sub(1) } else { 0 }
    }

    /// Records a damaged packet, and returns `true` if a copy was received before, damaged or
    /// intact.
    pub(super) fn has_damage_before(&mut self, header: &Header) -> bool {
        let packet = (header.transmitter, header.sequence);
        let last = self.last.get(&packet.0).map(|(sequence, _)| *sequence);
        let known = last == Some(packet.1) || self.damaged.contains(&packet);
        if known {
            return header.flags.has(Flags::RETRY);
        }
        if self.damaged.len() == DAMAGED {
            self.damaged.pop_front();
        }
        self.damaged.push_back(packet);
        false
    }

    /// Takes the body of an intact data frame; returns `true` if `body` is now a complete packet.
    ///
    /// # Errors
    /// If the frame is a duplicate, or its earlier fragments are missing.
    pub(super) fn take(
        &mut self,
        now: Instant,
        header: &Header,
        body: &mut Frame,
    ) -> Result<bool, DropReason> {
        let from = header.transmitter;
        let number = (header.sequence, header.fragment);
        if self.has_come_before(header) {
            return Err(DropReason::Duplicate);
        }
        let more = header.flags.has(Flags::MORE_FRAGMENTS);
        if header.fragment == 0 {
            if more {
                self.begin(now, header, body);
            }
            return Ok(!more);
        }
        let parts = self.parts.get_mut(&from).filter(|it| (it.sequence, it.next) == number);
        let parts = parts.ok_or(DropReason::Reassembly)?;
        parts.next = parts.next.wrapping_add(1);
        add(&mut parts.bytes, body);
        if more {
            return Ok(false);
        }
        if let Some(parts) = self.parts.remove(&from) {
            *body = parts.packet();
        }
        Ok(true)
    }

    fn begin(&mut self, now: Instant, header: &Header, body: &mut Frame) {
        let mut bytes = BytesMut::new();
        add(&mut bytes, body);
        let mut frame = core::mem::take(body);
        frame.header.clear();
        frame.payload = Payload::default();
        let expires = now + LIFETIME;
        let parts = Parts { sequence: header.sequence, next: 1, bytes, frame, expires };
        // Replaces the fragments of an earlier packet: its sender has given it up, and reports the
        // drop.
        self.parts.insert(header.transmitter, parts);
    }

    /// Returns `true` if no packet is in reassembly.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Returns when the oldest incomplete packet expires.
    #[inline]
    pub(super) fn next_expiry(&self) -> Option<Instant> {
        // Iterating over nothing takes longer than seeing that there is nothing.
        if self.parts.is_empty() {
            return None;
        }
        self.parts.values().map(|parts| parts.expires).min()
    }

    /// Drops incomplete packets that have expired.
    #[inline]
    pub(super) fn expire(&mut self, now: Instant, events: &mut VecDeque<DcfEvent>) {
        if !self.parts.is_empty() {
            self.give_up(now, events);
        }
    }

    fn give_up(&mut self, now: Instant, events: &mut VecDeque<DcfEvent>) {
        self.parts.retain(|_, parts| {
            if parts.expires <= now {
                let tag = parts.frame.tag;
                let len = parts.bytes.len();
                // Its sender has or had a copy, and reports the outcome.
                events.push_back(DcfEvent::discarded(tag, true, DropReason::Reassembly, len));
            }
            parts.expires > now
        });
    }
}

impl Parts {
    /// Returns the complete packet, with its LLC/SNAP header in the frame's header.
    fn packet(self) -> Frame {
        let mut bytes = self.bytes.freeze();
        let head = bytes.split_to(bytes.len().min(snap::LEN));
        let mut frame = self.frame;
        frame.header.extend(head.iter().copied().take(MAX_HEADER));
        frame.payload = Payload::from(bytes);
        frame
    }
}

fn add(bytes: &mut BytesMut, body: &Frame) {
    for slice in body.slices() {
        bytes.extend_from_slice(slice);
    }
}
