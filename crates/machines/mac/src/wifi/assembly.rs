//! Duplicates and fragments.

use std::collections::{BTreeMap, VecDeque};

use bytes::BytesMut;
use windfall_base::frame::MAX_HEADER;
use windfall_base::{DropReason, Duration, Frame, Instant, Payload};
use windfall_wire_link::ieee80211::{Flags, Header, MacAddress, snap};

use super::event::DcfEvent;

/// The lifetime of fragments without the rest (aMaxReceiveLifetime: 512 units of 1024 µs).
const LIFETIME: Duration = Duration::from_micros(512 * 1024);

/// The modulus of sequence numbers.
const NUMBERS: u16 = 4_096;

/// Damaged packets that a station remembers.
const DAMAGED: usize = 16;

/// The memory of a station of those that send to it.
#[derive(Clone, Debug, Default)]
pub(super) struct Assembly {
    /// The last frame of each sender: its sequence and fragment numbers.
    last: BTreeMap<MacAddress, (u16, u8)>,
    parts: BTreeMap<MacAddress, Parts>,
    /// The sender and the sequence number of the last damaged packets, oldest first: as far as
    /// their headers were right.
    damaged: VecDeque<(MacAddress, u16)>,
}

/// The fragments of a packet so far.
#[derive(Clone, Debug)]
struct Parts {
    sequence: u16,
    /// The fragment number that is expected next.
    next: u8,
    bytes: BytesMut,
    /// The first fragment without its bytes.
    frame: Frame,
    expires: Instant,
}

impl Assembly {
    /// Records an intact frame, and returns whether it is a duplicate of its sender's last one.
    pub(super) fn has_come_before(&mut self, header: &Header) -> bool {
        let number = (header.sequence, header.fragment);
        let before = self.last.insert(header.transmitter, number);
        header.flags.has(Flags::RETRY) && before == Some(number)
    }

    /// Returns `true` if a frame is the last one of its sender that was whole.
    pub(super) fn has_come(&self, header: &Header) -> bool {
        self.last.get(&header.transmitter) == Some(&(header.sequence, header.fragment))
    }

    /// Returns the number of frames of its sender between the last one that was whole and this one;
    /// 0 if none of it has come, or if it is one of those before.
    //= S4.27
    pub(super) fn lost_before(&self, header: &Header) -> u16 {
        let last = self.last.get(&header.transmitter);
        let ahead = last.map_or(0, |(last, _)| header.sequence.wrapping_sub(*last) % NUMBERS);
        if ahead < NUMBERS / 2 { ahead.saturating_sub(1) } else { 0 }
    }

    /// Records a damaged packet, and returns whether it is another copy of one that came before,
    /// damaged or whole.
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

    /// Takes the body of an intact data frame; returns whether it is a packet, or completes one
    /// with the fragments before it.
    ///
    /// # Errors
    /// Why it is of no use.
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

    /// Returns `true` if no fragments wait for the rest.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// When the oldest fragments become useless.
    #[inline]
    pub(super) fn next_expiry(&self) -> Option<Instant> {
        // Iterating over nothing takes longer than seeing that there is nothing.
        if self.parts.is_empty() {
            return None;
        }
        self.parts.values().map(|parts| parts.expires).min()
    }

    /// Forgets fragments that waited too long.
    #[inline]
    pub(super) fn expire(&mut self, now: Instant, events: &mut VecDeque<DcfEvent>) {
        if !self.parts.is_empty() {
            self.give_up(now, events);
        }
    }

    fn give_up(&mut self, now: Instant, events: &mut VecDeque<DcfEvent>) {
        self.parts.retain(|_, parts| {
            if parts.expires <= now {
                let (tag, len) = (parts.frame.tag, parts.bytes.len());
                // Its sender has or had a copy, and decides.
                events.push_back(DcfEvent::discarded(tag, true, DropReason::Reassembly, len));
            }
            parts.expires > now
        });
    }
}

impl Parts {
    /// The whole packet, its LLC/SNAP header in the header again.
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
