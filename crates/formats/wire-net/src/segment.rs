//! Large segments of a kernel's segmentation offload: cut into packets on the way out, merged on
//! the way in.
//!
//! A kernel that may leave the cutting to its device hands over up to 64 KiB of one flow at once
//! with one set of headers, and a [`Description`] in the layout of virtio (Virtual I/O Device
//! version 1.2, section 5.1.6). [`cut()`] makes real packets of it, which share its data;
//! [`Merger`] does the reverse for undamaged neighbours. In between, each packet goes its own way.

mod cut;
mod merge;

pub use cut::cut;
pub use merge::{Merged, Merger};

/// The offload work that the sender of a packet has left to the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Description {
    /// The transport checksum is to be completed.
    pub checksum: Option<OpenChecksum>,
    /// The packet is to be cut.
    pub cutting: Option<Cutting>,
}

/// A checksum whose field holds the sum over the pseudo-header and nothing else yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenChecksum {
    /// The start of the sum: the offset of the transport header in the packet, in bytes.
    pub start: u16,
    /// The field's place, in bytes from `start`.
    pub offset: u16,
}

/// The way in which a packet is to be cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cutting {
    /// The kind of packets to make.
    pub kind: OffloadKind,
    /// Bytes of data in each packet but the last.
    pub size: u16,
}

/// The kinds of packet that a large segment is cut into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OffloadKind {
    /// TCP over IPv4.
    TcpV4,
    /// TCP over IPv6.
    TcpV6,
    /// UDP datagrams over either.
    Udp,
}

/// An illegal description, or a segment that contradicts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SegmentError {
    /// A kind of cutting that was never asked for.
    #[error("segments of kind {0:#04x} were not asked for")]
    Kind(u8),
    /// The checksum lies outside the packet.
    #[error("a checksum at byte {at} lies outside a packet of {len} bytes")]
    Checksum {
        /// The offset of the checksum, in bytes.
        at: usize,
        /// The packet's length.
        len: usize,
    },
    /// The headers are not those of the kind that the description names, or are cut short.
    #[error("the headers are not those of a large segment")]
    Headers,
    /// Packets without data, or a segment whose checksum is not left open.
    #[error("the description does not say how to cut")]
    Cutting,
}

impl Description {
    /// Its length in front of a packet, in bytes.
    pub const LEN: usize = 10;

    const CHECKSUM: u8 = 1;
    const TCP_V4: u8 = 1;
    const TCP_V6: u8 = 4;
    const UDP: u8 = 5;

    /// Reads a description in little-endian order.
    ///
    /// # Errors
    /// If it names a kind of segment other than those of [`OffloadKind`].
    pub fn parse(bytes: &[u8; Self::LEN]) -> Result<Self, SegmentError> {
        let read_word = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let kind = match bytes[1] {
            0 => None,
            Self::TCP_V4 => Some(OffloadKind::TcpV4),
            Self::TCP_V6 => Some(OffloadKind::TcpV6),
            Self::UDP => Some(OffloadKind::Udp),
            other => return Err(SegmentError::Kind(other)),
        };
        let open = bytes[0] & Self::CHECKSUM != 0;
        Ok(Self {
            checksum: open.then(|| OpenChecksum { start: read_word(6), offset: read_word(8) }),
            cutting: kind.map(|kind| Cutting { kind, size: read_word(4) }),
        })
    }

    /// Writes the description; `headers` is the length of all headers of the packet, in bytes.
    #[must_use]
    pub fn emit(&self, headers: u16) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        let mut put = |at: usize, word: u16| {
            bytes[at..at + 2].copy_from_slice(&word.to_le_bytes());
        };
        put(2, headers);
        if let Some(cutting) = self.cutting {
            put(4, cutting.size);
        }
        if let Some(checksum) = self.checksum {
            put(6, checksum.start);
            put(8, checksum.offset);
        }
        bytes[0] = if self.checksum.is_some() { Self::CHECKSUM } else { 0 };
        bytes[1] = match self.cutting.map(|cutting| cutting.kind) {
            None => 0,
            Some(OffloadKind::TcpV4) => Self::TCP_V4,
            Some(OffloadKind::TcpV6) => Self::TCP_V6,
            Some(OffloadKind::Udp) => Self::UDP,
        };
        bytes
    }
}

#[cfg(test)]
mod tests;
