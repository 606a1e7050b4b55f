//! A frame: shared bytes, what is known of their damage, and what its owner asks of the layers.

use core::num::NonZeroU8;
use core::ops::Range;

use arrayvec::ArrayVec;
use bytes::{Bytes, BytesMut};

use crate::damage::Damage;
use crate::time::Duration;
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
    /// The rate at which to send it, where the link has several; the link's own choice if `None`.
    pub rate: Option<Rate>,
}

/// A packet as the layers below see it: opaque bytes in one or two shared slices.
///
/// Two slices let a large segment of a device be cut into packets without copying its data: `head`
/// holds the headers written anew for each packet, `body` a slice of the common data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Payload {
    head: Bytes,
    body: Bytes,
}

impl Payload {
    /// A payload in two slices.
    #[must_use]
    pub fn new(head: Bytes, body: Bytes) -> Self {
        Self { head, body }
    }

    /// Its length in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.head.len() + self.body.len()
    }

    /// Returns `true` if it has no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The two slices in order; either may be empty.
    #[must_use]
    pub fn slices(&self) -> [&[u8]; 2] {
        [&self.head, &self.body]
    }

    /// The two slices as shared bytes.
    #[must_use]
    pub fn into_parts(self) -> (Bytes, Bytes) {
        (self.head, self.body)
    }

    /// The bytes in one slice; copies only if both slices hold some.
    #[must_use]
    pub fn to_bytes(&self) -> Bytes {
        match (self.head.is_empty(), self.body.is_empty()) {
            (_, true) => self.head.clone(),
            (true, _) => self.body.clone(),
            _ => [&self.head[..], &self.body[..]].concat().into(),
        }
    }

    /// The first `n` bytes in one slice, or fewer if there are fewer.
    #[must_use]
    pub fn prefix(&self, n: usize) -> Bytes {
        if n <= self.head.len() { self.head.slice(..n) } else { self.slice(0..n.min(self.len())) }
    }

    /// The bytes of `range` in one slice.
    ///
    /// # Panics
    /// If the range reaches beyond the end.
    #[must_use]
    pub fn slice(&self, range: Range<usize>) -> Bytes {
        let cut = self.head.len();
        if range.end <= cut {
            self.head.slice(range)
        } else if range.start >= cut {
            self.body.slice(range.start - cut..range.end - cut)
        } else {
            [&self.head[range.start..], &self.body[..range.end - cut]].concat().into()
        }
    }

    /// Cuts everything after the first `len` bytes.
    pub fn truncate(&mut self, len: usize) {
        self.body.truncate(len.saturating_sub(self.head.len()));
        self.head.truncate(len);
    }
}

impl From<Bytes> for Payload {
    fn from(bytes: Bytes) -> Self {
        Self { head: bytes, body: Bytes::new() }
    }
}

impl From<Vec<u8>> for Payload {
    fn from(bytes: Vec<u8>) -> Self {
        Bytes::from(bytes).into()
    }
}

/// Bytes on their way between nodes: link header, payload, link trailer.
///
/// On a device port the header and the trailer are empty and the payload is a bare IP packet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// The bytes that the link put before the payload.
    pub header: ArrayVec<u8, MAX_HEADER>,
    /// The packet that the link carries, opaque to it.
    pub payload: Payload,
    /// The bytes that the link put after the payload, such as a frame check sequence.
    pub trailer: ArrayVec<u8, MAX_TRAILER>,
    /// The findings of the layers so far about its damage.
    pub damage: Damage,
    /// The requests of its owner.
    pub class: Class,
    /// The packet's name in events; `None` for frames that carry no packet, such as link ACKs.
    pub tag: Option<Tag>,
    /// The sender keeps a copy and will repeat it: the loss of this one decides nothing yet.
    pub kept: bool,
}

impl Frame {
    /// A frame that is nothing but a packet.
    pub fn packet(payload: impl Into<Payload>) -> Self {
        Self { payload: payload.into(), ..Self::default() }
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
        let [head, body] = self.payload.slices();
        [&self.header, head, body, &self.trailer]
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
                1 => copies[0].get_or_insert_with(|| BytesMut::from(&self.payload.head[..])),
                2 => copies[1].get_or_insert_with(|| BytesMut::from(&self.payload.body[..])),
                _ => &mut self.trailer,
            };
            bits = &bits[invert_run(bytes, begin, bits)..];
        }
        let [head, body] = copies;
        if let Some(head) = head {
            self.payload.head = head.freeze();
        }
        if let Some(body) = body {
            self.payload.body = body.freeze();
        }
    }

    /// Cuts everything after the first `bytes` bytes of the whole frame.
    pub fn truncate(&mut self, bytes: usize) {
        let header = self.header.len();
        let payload = header + self.payload.len();
        self.trailer.truncate(bytes.saturating_sub(payload));
        self.payload.truncate(bytes.saturating_sub(header));
        self.header.truncate(bytes);
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
    let (mut run, mut base, mut wrong) = (0, 0, 0_u64);
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
