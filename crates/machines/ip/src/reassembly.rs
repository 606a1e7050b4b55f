//! Reassembly of fragments, in bounded memory and time (RFC 1122, 8200, 5722).

use std::collections::{BTreeMap, BTreeSet};

use bytes::{Bytes, BytesMut};
use windfall_base::{Check, Damage, Duration, Instant, Tag};
use windfall_wire_net::{Addresses, Protocol};

/// The longest data that fragments may add up to, in bytes.
const MAX_DATA: usize = 65_535;
/// The cost of keeping a fragment, or the key of a packet, besides its data, in bytes.
const OVERHEAD: usize = 128;

/// The fields that identify the fragments of one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FragmentKey {
    /// Source and destination.
    pub addresses: Addresses,
    /// The protocol, over IPv4; over IPv6 each fragment has its own and the first one's counts.
    pub protocol: Option<Protocol>,
    /// The name that the fragments share.
    pub identification: u32,
}

/// A single fragment of a packet.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    /// The offset of its data, in bytes.
    pub offset: usize,
    /// Set if more fragments follow.
    pub more: bool,
    /// The protocol of the whole packet, according to this fragment.
    pub protocol: Protocol,
    /// The headers before the data, without the fragment header.
    pub header: Bytes,
    /// The data of the fragment.
    pub data: Bytes,
    /// The known damage of the data; suspect ranges count from their beginning.
    pub damage: Damage,
    /// The fragment's name.
    pub tag: Option<Tag>,
}

/// A packet whose fragments are all there.
#[derive(Clone, Debug)]
pub(crate) struct Whole {
    /// The protocol of the packet.
    pub protocol: Protocol,
    /// The headers of its first fragment.
    pub header: Bytes,
    /// The data of all.
    pub data: Bytes,
    /// The known damage of the data.
    pub damage: Damage,
    /// The number of fragments that it arrived in.
    pub fragments: usize,
}

/// Fragments given up.
#[derive(Clone, Debug)]
pub(crate) struct Abandoned {
    /// The fragments, in the order of their offsets.
    pub pieces: Vec<Piece>,
}

/// The outcome of inserting a fragment.
#[derive(Clone, Debug)]
pub(crate) enum ReassemblyOutcome {
    /// It waits for others.
    Held,
    /// It completes its packet.
    Complete(Whole),
    /// It was there already.
    Duplicate,
    /// It overlaps or contradicts others, so all fragments of its packet are dropped, and so will
    /// be later ones (RFC 5722, section 4).
    Contradiction(Abandoned),
    /// It is not the last fragment, but its length is no multiple of eight.
    OddLength,
    /// It reaches beyond the longest packet that there can be.
    TooLong,
}

#[derive(Debug)]
struct Assembly {
    deadline: Instant,
    pieces: BTreeMap<usize, Piece>,
    /// The bytes of data that have arrived.
    have: usize,
    /// The length of the whole data, known after the last fragment has arrived.
    total: Option<usize>,
    /// Fragments overlapped or contradicted each other; all fragments of this packet are dropped
    /// until its time is over.
    poisoned: bool,
}

/// The fragments that wait for others.
#[derive(Debug)]
pub(crate) struct Reassembler {
    timeout: Duration,
    capacity: usize,
    used: usize,
    held: usize,
    assemblies: BTreeMap<FragmentKey, Assembly>,
    deadlines: BTreeSet<(Instant, FragmentKey)>,
}

impl Reassembler {
    /// Creates a reassembler that waits `timeout` from the first fragment of a packet on, and keeps
    /// at most `capacity` bytes; the oldest incomplete packet is evicted first.
    #[must_use]
    pub(crate) fn new(timeout: Duration, capacity: usize) -> Self {
        Self {
            timeout,
            capacity,
            used: 0,
            held: 0,
            assemblies: BTreeMap::new(),
            deadlines: BTreeSet::new(),
        }
    }

    /// Fragments that wait.
    #[must_use]
    pub(crate) fn held(&self) -> usize {
        self.held
    }

    /// Returns when the next packet is given up.
    #[must_use]
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.deadlines.first().map(|(deadline, _)| *deadline)
    }

    /// Takes a fragment.
    pub(crate) fn insert(
        &mut self,
        now: Instant,
        key: FragmentKey,
        piece: Piece,
    ) -> ReassemblyOutcome {
        let end = piece.offset + piece.data.len();
        if piece.more && (piece.data.is_empty() || !piece.data.len().is_multiple_of(8)) {
            return ReassemblyOutcome::OddLength;
        }
        if end > MAX_DATA {
            return ReassemblyOutcome::TooLong;
        }
        let deadline = now.saturating_add(self.timeout);
        let deadlines = &mut self.deadlines;
        let used = &mut self.used;
        let assembly = self.assemblies.entry(key).or_insert_with(|| {
            deadlines.insert((deadline, key));
            *used += OVERHEAD;
            Assembly { deadline, pieces: BTreeMap::new(), have: 0, total: None, poisoned: false }
        });
        match assembly.fit(&piece) {
            Fit::Duplicate => return ReassemblyOutcome::Duplicate,
            Fit::Contradiction => {
                assembly.poisoned = true;
                assembly.have = 0;
                let pieces = core::mem::take(&mut assembly.pieces);
                return ReassemblyOutcome::Contradiction(self.release(pieces));
            }
            Fit::Good => {}
        }
        self.used += OVERHEAD + piece.data.len();
        self.held += 1;
        if assembly.add(piece) {
            return self.complete(key);
        }
        ReassemblyOutcome::Held
    }

    /// Abandons the oldest incomplete packet, if its time is over or memory is needed; call until
    /// `None`.
    pub(crate) fn abandon(&mut self, now: Instant) -> Option<Abandoned> {
        let (deadline, key) = *self.deadlines.first()?;
        if now < deadline && self.used <= self.capacity {
            return None;
        }
        self.deadlines.pop_first();
        let assembly = self.assemblies.remove(&key)?;
        self.used -= OVERHEAD;
        Some(self.release(assembly.pieces))
    }

    fn release(&mut self, pieces: BTreeMap<usize, Piece>) -> Abandoned {
        let pieces: Vec<_> = pieces.into_values().collect();
        self.held -= pieces.len();
        self.used -= pieces.iter().map(|piece| OVERHEAD + piece.data.len()).sum::<usize>();
        Abandoned { pieces }
    }

    fn complete(&mut self, key: FragmentKey) -> ReassemblyOutcome {
        let Some(assembly) = self.assemblies.remove(&key) else { return ReassemblyOutcome::Held };
        self.deadlines.remove(&(assembly.deadline, key));
        self.used -= OVERHEAD;
        let mut data = BytesMut::with_capacity(assembly.have);
        let mut damage = Damage { frame: Check::Good, ..Damage::default() };
        let pieces = self.release(assembly.pieces).pieces;
        let fragments = pieces.len();
        let mut protocol = Protocol::NO_NEXT_HEADER;
        let mut header = Bytes::new();
        for piece in pieces {
            join(&mut damage, &piece);
            data.extend_from_slice(&piece.data);
            if piece.offset == 0 {
                (protocol, header) = (piece.protocol, piece.header);
            }
        }
        ReassemblyOutcome::Complete(Whole {
            protocol,
            header,
            data: data.freeze(),
            damage,
            fragments,
        })
    }
}

/// Adds the known damage of one piece to that of the whole.
fn join(damage: &mut Damage, piece: &Piece) {
    let from = piece.offset as u32;
    let len = piece.data.len() as u32;
    damage.frame = match (damage.frame, piece.damage.frame) {
        (Check::Bad, _) | (_, Check::Bad) => Check::Bad,
        (Check::Unchecked, _) | (_, Check::Unchecked) => Check::Unchecked,
        (Check::Good, Check::Good) => Check::Good,
    };
    damage.corrected += piece.damage.corrected;
    if piece.damage.suspect.is_empty() && piece.damage.frame == Check::Bad {
        damage.suspect.push(from..from + len);
    }
    let ranges = piece.damage.suspect.iter();
    damage
        .suspect
        .extend(ranges.map(|range| from + range.start.min(len)..from + range.end.min(len)));
}

enum Fit {
    Good,
    Duplicate,
    Contradiction,
}

impl Assembly {
    /// Compares a fragment with those that have arrived.
    fn fit(&self, piece: &Piece) -> Fit {
        let end = piece.offset + piece.data.len();
        if self.poisoned {
            return Fit::Contradiction;
        }
        if let Some(there) = self.pieces.get(&piece.offset)
            && there.data.len() == piece.data.len()
            && there.more == piece.more
        {
            return Fit::Duplicate;
        }
        let before = self.pieces.range(..=piece.offset).next_back();
        let overlaps_before = before
            .is_some_and(|(at, there)| at + there.data.len() > piece.offset || *at == piece.offset);
        let after = self.pieces.range(piece.offset..).next();
        let overlaps_after = after.is_some_and(|(at, _)| end > *at);
        let furthest = self.pieces.last_key_value();
        let furthest = furthest.map_or(0, |(at, there)| at + there.data.len());
        let beyond = match (self.total, piece.more) {
            (Some(total), true) => end > total,
            (Some(total), false) => end != total,
            (None, true) => false,
            (None, false) => furthest > end,
        };
        if overlaps_before || overlaps_after || beyond {
            return Fit::Contradiction;
        }
        Fit::Good
    }

    /// Adds a fragment that fits; returns whether all are there.
    fn add(&mut self, piece: Piece) -> bool {
        self.have += piece.data.len();
        if !piece.more {
            self.total = Some(piece.offset + piece.data.len());
        }
        self.pieces.insert(piece.offset, piece);
        self.total == Some(self.have)
    }
}

#[cfg(test)]
mod tests;
