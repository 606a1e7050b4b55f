//! A frame: shared bytes, what is known of their damage, and what its owner asks of the layers.

use core::num::NonZeroU8;
use core::ops::{Deref, DerefMut, Range};
use std::sync::Arc;

use arrayvec::ArrayVec;
use bytes::{Buf as _, Bytes, BytesMut};

use crate::damage::Damage;
use crate::time::{Duration, Instant};
use crate::units::Rate;

/// The longest link header, in bytes.
pub const MAX_HEADER: usize = 60;
/// The longest link trailer, in bytes.
pub const MAX_TRAILER: usize = 8;

/// The name of a packet in events, ledgers and captures; no protocol ever reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag(pub u64);

/// The flow to which a packet belongs on its interface; 0 is the flow of everything else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub u16);

/// The requests of a flow's owner to the layers below; every field is unset by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Class {
    /// The flow, as the classifier named it.
    pub flow: FlowId,
    /// Attempts in all on each link; the link's own choice if `None`.
    pub attempts: Option<NonZeroU8>,
    /// Hand the payload up even when the frame check fails; the link's own choice if `None`.
    pub accept_damaged: Option<bool>,
    /// Worthless after so long on one link.
    pub lifetime: Option<Duration>,
    /// Hand its packets up as they arrive, in whatever order.
    pub unordered: bool,
    /// Its packets and those of other flows do not wait for each other where a link keeps an order.
    pub own_order: bool,
    /// The effect of a medium on its next frame.
    pub picked: Picked,
    /// The rate at which to send it, where the link has several; the link's own choice if `None`.
    pub rate: Option<Rate>,
}

/// The effect of a medium on the next frame of a packet that was picked from its flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Picked {
    /// The medium loses the frame.
    pub lose: bool,
    /// The medium inverts a bit of it.
    pub damage: bool,
    /// The frame arrives twice.
    pub copy: bool,
}

impl Picked {
    /// Nothing is to happen.
    pub const NONE: Self = Self { lose: false, damage: false, copy: false };
}

impl Class {
    /// Nothing is asked for.
    pub const NONE: Self = Self {
        flow: FlowId(0),
        attempts: None,
        accept_damaged: None,
        lifetime: None,
        unordered: false,
        own_order: false,
        picked: Picked::NONE,
        rate: None,
    };
}

/// A packet as the layers below see it: opaque bytes in one or two shared slices.
///
/// Two slices let a large segment of a device be cut into packets without copying its data: the
/// first holds the headers written anew for each packet, the second a slice of the common data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Payload(Slices);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Slices {
    One(Bytes),
    /// Neither is empty. They are shared together, so that a copy counts one reference.
    Two(Arc<[Bytes; 2]>),
}

impl Payload {
    /// A payload in two slices.
    #[must_use]
    pub fn new(head: Bytes, body: Bytes) -> Self {
        if body.is_empty() {
            return head.into();
        }
        if head.is_empty() {
            return body.into();
        }
        Self(Slices::Two(Arc::new([head, body])))
    }

    /// Its length in bytes.
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        match &self.0 {
            Slices::One(bytes) => bytes.len(),
            Slices::Two(both) => both[0].len() + both[1].len(),
        }
    }

    /// Returns `true` if it has no bytes.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        matches!(&self.0, Slices::One(bytes) if bytes.is_empty())
    }

    /// The two slices in order; the second is empty if there is only one.
    #[must_use]
    #[inline]
    pub fn slices(&self) -> [&[u8]; 2] {
        match &self.0 {
            Slices::One(bytes) => [bytes, &[]],
            Slices::Two(both) => [&both[0], &both[1]],
        }
    }

    /// The two slices as shared bytes; the second is empty if there is only one.
    #[must_use]
    pub fn into_parts(self) -> (Bytes, Bytes) {
        match self.0 {
            Slices::One(bytes) => (bytes, Bytes::new()),
            Slices::Two(both) => Arc::unwrap_or_clone(both).into(),
        }
    }

    /// The second slice as shared bytes, without the first; empty if there is only one.
    #[must_use]
    pub fn into_body(self) -> Bytes {
        match self.0 {
            Slices::One(_) => Bytes::new(),
            Slices::Two(both) => both[1].clone(),
        }
    }

    /// The bytes in one slice; copies only if there are two.
    #[must_use]
    pub fn to_bytes(&self) -> Bytes {
        match &self.0 {
            Slices::One(bytes) => bytes.clone(),
            Slices::Two(both) => both.concat().into(),
        }
    }

    /// The first `n` bytes in one slice, or fewer if there are fewer.
    #[must_use]
    pub fn prefix(&self, n: usize) -> Bytes {
        self.slice(0..n.min(self.len()))
    }

    /// The bytes of `range` in one slice; copies only if they lie in both.
    ///
    /// # Panics
    /// If the range reaches beyond the end.
    #[must_use]
    pub fn slice(&self, range: Range<usize>) -> Bytes {
        let [head, body] = match &self.0 {
            Slices::One(bytes) => return bytes.slice(range),
            Slices::Two(both) => &**both,
        };
        let cut = head.len();
        if range.end <= cut {
            head.slice(range)
        } else if range.start >= cut {
            body.slice(range.start - cut..range.end - cut)
        } else {
            [&head[range.start..], &body[..range.end - cut]].concat().into()
        }
    }

    /// Removes the first `len` bytes; in place if the payload is not shared and they lie before
    /// the end of the first slice.
    pub fn advance(&mut self, len: usize) {
        match &mut self.0 {
            Slices::One(bytes) => bytes.advance(len.min(bytes.len())),
            Slices::Two(both) => {
                if let Some([head, _]) = Arc::get_mut(both).filter(|both| len < both[0].len()) {
                    return head.advance(len);
                }
                let [head, body] = &**both;
                let rest = len.saturating_sub(head.len()).min(body.len());
                *self = Self::new(head.slice(len.min(head.len())..), body.slice(rest..));
            }
        }
    }

    /// Cuts everything after the first `len` bytes.
    pub fn truncate(&mut self, len: usize) {
        match &mut self.0 {
            Slices::One(bytes) => bytes.truncate(len),
            Slices::Two(both) if len >= both[0].len() + both[1].len() => {}
            Slices::Two(both) => {
                let [head, body] = &**both;
                let end = len.saturating_sub(head.len());
                *self = Self::new(head.slice(..len.min(head.len())), body.slice(..end));
            }
        }
    }
}

impl Default for Payload {
    /// Returns a payload without bytes.
    fn default() -> Self {
        Bytes::new().into()
    }
}

impl From<Bytes> for Payload {
    fn from(bytes: Bytes) -> Self {
        Self(Slices::One(bytes))
    }
}

impl From<Vec<u8>> for Payload {
    fn from(bytes: Vec<u8>) -> Self {
        Bytes::from(bytes).into()
    }
}

/// The mark of congestion (ECN) that a frame brings or may be given.
///
/// A medium knows no headers: whoever sends the frame tells it that the packet may be marked, and
/// whoever receives it writes the mark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Congestion {
    /// Its packet cannot be marked, or nothing was asked.
    #[default]
    Unmarkable,
    /// Its packet can be marked.
    Markable,
    /// Its packet is to be marked.
    Marked,
}

/// Bytes on their way between nodes: link header, payload, link trailer.
///
/// On a device port the header and the trailer are empty and the payload is a bare IP packet. A
/// frame is moved many times, so that it holds only the fields that every packet needs; it
/// dereferences to the [others](FrameParts), which are stored when one of them is first set.
#[derive(Clone, Debug, Default)]
pub struct Frame {
    /// The packet that the link carries, opaque to it.
    pub payload: Payload,
    /// The packet's name in events; `None` for frames that carry no packet, such as link ACKs.
    pub tag: Option<Tag>,
    /// The sender keeps a copy and will repeat it: the loss of this one decides nothing yet.
    pub kept: bool,
    /// The frame carries nothing of the packet `tag`, whose name it only repeats to the receiver.
    pub names_only: bool,
    /// Tells whether its packet is to be marked, or could be.
    pub congestion: Congestion,
    /// The fields that a bare packet leaves at their defaults; `None` if all are.
    pub parts: Option<Box<FrameParts>>,
}

/// The fields of a [`Frame`] that a bare packet leaves at their defaults.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FrameParts {
    /// The bytes that the link put before the payload.
    pub header: ArrayVec<u8, MAX_HEADER>,
    /// The bytes that the link put after the payload, such as a frame check sequence.
    pub trailer: ArrayVec<u8, MAX_TRAILER>,
    /// The findings of the layers so far about its damage.
    pub damage: Damage,
    /// The requests of its owner.
    pub class: Class,
    /// The last moment at which its packet is of use to the owner, on this link. As `tag` is, it is
    /// no part of the bytes: a real receiver would see the time that a packet bears, such as that
    /// of RTP, and leave the packet unused.
    pub expires: Option<Instant>,
    /// The packets that a repair of a code across packets covers, in their order, for events and
    /// ledgers as `tag` is; `None` of other frames.
    pub covers: Option<Arc<[CoveredPacket]>>,
}

/// A packet that a repair of a code across packets covers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CoveredPacket {
    /// The name of the packet.
    pub tag: Option<Tag>,
    /// The last moment at which the packet is of use.
    pub expires: Option<Instant>,
}

/// The parts of a bare packet.
static BARE: FrameParts = FrameParts {
    header: ArrayVec::new_const(),
    trailer: ArrayVec::new_const(),
    damage: Damage::NONE,
    class: Class::NONE,
    expires: None,
    covers: None,
};

impl Deref for Frame {
    type Target = FrameParts;

    #[inline]
    fn deref(&self) -> &FrameParts {
        self.parts.as_deref().unwrap_or(&BARE)
    }
}

impl DerefMut for Frame {
    #[inline]
    fn deref_mut(&mut self) -> &mut FrameParts {
        self.parts.get_or_insert_default()
    }
}

impl PartialEq for Frame {
    /// Parts at their defaults are equal, stored or not.
    fn eq(&self, other: &Self) -> bool {
        let all = |frame: &Self| (frame.tag, frame.kept, frame.names_only, frame.congestion);
        all(self) == all(other) && self.payload == other.payload && **self == **other
    }
}

impl Eq for Frame {}

impl Frame {
    /// A frame that is nothing but a packet.
    pub fn packet(payload: impl Into<Payload>) -> Self {
        Self { payload: payload.into(), ..Self::default() }
    }

    /// A frame of a link without a packet: a header, and a trailer behind it.
    #[must_use]
    pub fn control(header: ArrayVec<u8, MAX_HEADER>, trailer: ArrayVec<u8, MAX_TRAILER>) -> Self {
        let parts = FrameParts { header, trailer, ..FrameParts::default() };
        Self { parts: Some(Box::new(parts)), ..Self::default() }
    }

    /// The frame with these requests of its owner.
    #[must_use]
    pub fn with_class(mut self, class: Class) -> Self {
        self.set_class(class);
        self
    }

    /// Sets the requests of its owner.
    pub fn set_class(&mut self, class: Class) {
        // What is at its default needs no place.
        if self.parts.is_some() || class != Class::NONE {
            self.class = class;
        }
    }

    /// Sets the last moment at which its packet is of use.
    pub fn set_expiry(&mut self, expires: Option<Instant>) {
        // What is at its default needs no place.
        if self.expires != expires {
            self.expires = expires;
        }
    }

    /// Tells whether its packet is of no use any more at `now`.
    #[must_use]
    pub fn is_late(&self, now: Instant) -> bool {
        self.expires.is_some_and(|expires| expires < now)
    }

    /// Its length on the medium, in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.header.len() + self.payload.len() + self.trailer.len()
    }

    /// Returns `true` if it has no bytes at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Its bytes in the order of transmission, in up to four slices.
    #[must_use]
    pub fn slices(&self) -> [&[u8]; 4] {
        let FrameParts { header, trailer, .. } = &**self;
        let [head, body] = self.payload.slices();
        [header, head, body, trailer]
    }

    /// A copy of its bytes in the order of transmission.
    #[must_use]
    pub fn to_vec(&self) -> Vec<u8> {
        self.slices().concat()
    }

    /// Inverts bits of the whole frame.
    ///
    /// Bit 0 is the most significant bit of the first byte of the header; positions beyond the end
    /// are ignored. Bytes shared with other holders are copied first.
    pub fn invert(&mut self, mut bits: &[u32]) {
        let mut end = 0;
        let ends = self.slices().map(|slice| {
            end += slice.len() as u32 * 8;
            end
        });
        // The payload is shared with other holders of the packet, so damage needs a copy.
        let mut copies = [None::<BytesMut>, None];
        while let Some(first) = bits.first() {
            let Some(part) = ends.iter().position(|end| first < end) else {
                bits = &bits[1..];
                continue;
            };
            let begin = part.checked_sub(1).map_or(0, |before| ends[before]);
            let bytes: &mut [u8] = match part {
                0 => &mut self.header,
                1 | 2 => copies[part - 1]
                    .get_or_insert_with(|| BytesMut::from(self.payload.slices()[part - 1])),
                _ => &mut self.trailer,
            };
            bits = &bits[invert_run(bytes, begin, bits)..];
        }
        if copies.iter().all(Option::is_none) {
            return;
        }
        let (head, body) = core::mem::take(&mut self.payload).into_parts();
        let [new_head, new_body] = copies.map(|copy| copy.map(BytesMut::freeze));
        self.payload = Payload::new(new_head.unwrap_or(head), new_body.unwrap_or(body));
    }

    /// Cuts everything after the first `bytes` bytes of the whole frame.
    pub fn truncate(&mut self, bytes: usize) {
        let header = self.header.len();
        let payload = header + self.payload.len();
        self.payload.truncate(bytes.saturating_sub(header));
        if let Some(parts) = &mut self.parts {
            parts.trailer.truncate(bytes.saturating_sub(payload));
            parts.header.truncate(bytes);
        }
    }
}

/// Inverts bits of `bytes`, the first of which has number `begin`, until one is not among them;
/// tells how many.
fn invert_run(bytes: &mut [u8], begin: u32, bits: &[u32]) -> usize {
    let end = bytes.len() as u32 * 8;
    let mut invert = |base: u32, wrong: u64| {
        // The most significant bit of a byte has the lowest number.
        let wrong = wrong.reverse_bits().to_be_bytes();
        bytes.iter_mut().skip(base as usize / 8).zip(wrong).for_each(|(byte, it)| *byte ^= it);
    };
    // Gathered word by word: a store for each bit would wait for the one before.
    let mut run = 0;
    let mut base = 0;
    let mut wrong = 0_u64;
    let mut room = end.min(64);
    for bit in bits {
        let mut at = bit.wrapping_sub(begin + base);
        if at >= room {
            let place = bit.wrapping_sub(begin);
            if place >= end {
                break;
            }
            invert(base, wrong);
            (base, at, wrong) = (place & !63, place % 64, 0);
            room = (end - base).min(64);
        }
        wrong ^= 1 << at;
        run += 1;
    }
    invert(base, wrong);
    run
}

#[cfg(test)]
mod tests;
