//! Error traces: what an air did, frame by frame or bit by bit, to be kept, shown and replayed.
//!
//! The file format is described in `docs/reference/error-trace.md`.

mod text;

use serde::{Deserialize, Serialize};
use windfall_base::{Rate, Seed};

pub use text::ErrorTraceError;

/// The version of the format of most traces. The fields that it does not know need [`NEWEST`].
pub const VERSION: u32 = 1;
/// The newest version of the format that this program reads and writes: that with a bit order.
pub const NEWEST: u32 = 2;

/// The unit of the events of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// Which bits were inverted.
    #[default]
    Bit,
    /// Only which frames did not arrive whole.
    Frame,
}

/// The unit of the positions of events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Index {
    /// Frames; each event is the fate of one.
    #[default]
    Frame,
    /// Bits of one long stream, whatever the frames in it.
    Bit,
}

/// The place of bit 0 of a damaged frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// At the first bit of the packet that the frame carries.
    #[default]
    Payload,
    /// At the first bit of the link header.
    Frame,
}

/// Which frames a trace counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Counted {
    /// Those that carry a packet.
    #[default]
    Packets,
    /// All, also link ACKs and polls.
    All,
}

/// The order in which the bits of a byte are numbered, and were sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BitOrder {
    /// The most significant bit first.
    #[default]
    Msb,
    /// The least significant bit first, as 802.11 sends.
    Lsb,
}

impl BitOrder {
    /// Renumbers ascending positions of bits, of which the most significant of a byte comes first,
    /// to those of this order, or back; the result ascends.
    #[must_use]
    pub fn renumber(self, mut bits: Vec<u32>) -> Vec<u32> {
        if self == Self::Lsb {
            bits.iter_mut().for_each(|bit| *bit ^= 7);
            bits.chunk_by_mut(|a, b| a / 8 == b / 8).for_each(<[u32]>::reverse);
        }
        bits
    }
}

/// The header of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TraceHeader {
    /// The seed of the run or model it came from, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<Seed>,
    /// The rate at which the frames were sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// The unit of the events.
    pub unit: Unit,
    /// The unit of the positions.
    pub index: Index,
    /// The place of bit 0 of a frame.
    pub origin: Origin,
    /// The numbering of the bits of a byte.
    #[serde(skip_serializing_if = "is_default")]
    pub bit_order: BitOrder,
    /// Which frames are counted.
    pub frames: Counted,
    /// The length of the frames, in bytes from `origin`, where all had the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frame_length: Option<u32>,
    /// The traffic while the trace was taken, and its channel or model.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub workload: String,
}

fn is_default(order: &BitOrder) -> bool {
    *order == BitOrder::default()
}

impl TraceHeader {
    /// Returns the least version of the format that has all that the header says.
    #[must_use]
    pub fn version(&self) -> u32 {
        if is_default(&self.bit_order) { VERSION } else { NEWEST }
    }
}

/// The effect on a frame, or on a stretch of bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The frame did not arrive.
    Lost,
    /// The frame arrived damaged; bits count from the header's `origin`.
    Damaged {
        /// The first bit that is missing.
        truncated: Option<u32>,
        /// The inverted bits, ascending.
        inverted: Box<[u32]>,
    },
    /// The bit was inverted (traces with [`Index::Bit`] only).
    Inverted,
}

/// A fault and where it lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The first frame or bit, from 0.
    pub at: u64,
    /// The number in a row; always 1 for [`Fault::Damaged`].
    pub count: u64,
    /// The effect on them.
    pub fault: Fault,
}

/// An error trace: a header, and the faults in a known number of frames or bits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErrorTrace {
    header: TraceHeader,
    length: u64,
    entries: Vec<Entry>,
    /// The bits that damaged frames list, all together.
    listed: usize,
}

impl ErrorTrace {
    /// A trace of nothing, to be extended.
    #[must_use]
    pub fn new(header: TraceHeader) -> Self {
        Self { header, length: 0, entries: Vec::new(), listed: 0 }
    }

    /// Returns the header of the trace.
    #[must_use]
    pub fn header(&self) -> &TraceHeader {
        &self.header
    }

    /// Replaces the header and keeps the index.
    #[must_use]
    pub fn with_header(self, mut header: TraceHeader) -> Self {
        header.index = self.header.index;
        Self { header, ..self }
    }

    /// Returns the number of frames or bits that it covers.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.length
    }

    /// Returns `true` if it covers nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The faults, in order.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The memory that it takes, in bytes.
    #[must_use]
    pub fn memory(&self) -> usize {
        // An allocator keeps some bytes beside each list of bits.
        let each = size_of::<Entry>() + 2 * size_of::<usize>();
        self.entries.capacity() * each + self.listed * size_of::<u32>()
    }

    /// Appends `count` frames or bits without a fault.
    pub fn push_ok(&mut self, count: u64) {
        self.length = self.length.saturating_add(count);
    }

    /// Appends `count` times the same fault; a damaged frame counts once.
    ///
    /// A fault that is empty, or does not fit the trace's index, is appended as none.
    pub fn push(&mut self, fault: Fault, count: u64) {
        let is_bits = self.header.index == Index::Bit;
        let fits = match &fault {
            Fault::Inverted => is_bits,
            Fault::Lost => !is_bits,
            Fault::Damaged { truncated, inverted } => {
                !is_bits && (truncated.is_some() || !inverted.is_empty())
            }
        };
        let at = self.length;
        let count = if matches!(fault, Fault::Damaged { .. }) { 1 } else { count };
        self.push_ok(count);
        let count = self.length - at;
        if !fits || count == 0 {
            return;
        }
        if let Some(last) = self.entries.last_mut()
            && last.at + last.count == at
            && last.fault == fault
            && !matches!(fault, Fault::Damaged { .. })
        {
            last.count += count;
        } else {
            if let Fault::Damaged { inverted, .. } = &fault {
                self.listed += inverted.len();
            }
            self.entries.push(Entry { at, count, fault });
        }
    }

    /// Returns the effect on the frame or bit of this number; the trace starts over at its end.
    #[must_use]
    pub fn fault(&self, number: u64) -> Option<&Fault> {
        let place = number.checked_rem(self.length)?;
        let next = self.entries.partition_point(|entry| entry.at <= place);
        let entry = &self.entries[next.checked_sub(1)?];
        (place < entry.at + entry.count).then_some(&entry.fault)
    }

    /// Calls `hit` with each inverted bit of `start..start + count`, counted from `start`, in a
    /// trace with [`Index::Bit`]; the trace starts over at its end.
    pub fn sample_hits(&self, start: u64, count: u32, mut hit: impl FnMut(u32)) {
        if self.length == 0 || self.entries.is_empty() {
            return;
        }
        let mut place = start % self.length;
        let mut done = 0_u64;
        while done < u64::from(count) {
            let end = self.length.min(place + u64::from(count) - done);
            let first = self.entries.partition_point(|entry| entry.at + entry.count <= place);
            for entry in self.entries[first..].iter().take_while(|entry| entry.at < end) {
                let until = end.min(entry.at + entry.count);
                for bit in entry.at.max(place)..until {
                    hit((done + bit - place) as u32);
                }
            }
            done += end - place;
            place = 0;
        }
    }
}

#[cfg(test)]
mod tests;
