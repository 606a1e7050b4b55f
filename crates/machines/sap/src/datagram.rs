//! Received datagrams, and datagrams to send.

use core::net::SocketAddr;

use bytes::Bytes;
use windfall_base::Check;

/// The metadata of a received datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatagramMeta {
    /// The address of the sender.
    pub from: SocketAddr,
    /// The UDP-Lite checksum is correct over the bytes that it covers.
    pub covered_intact: bool,
    /// The result of the check sequence of the frame in which it arrived; if that is
    /// [`Check::Bad`], an approximate message without block checks is suspect.
    pub frame: Check,
    /// The checksum covers neither addresses nor ports. The answer should use the same form.
    pub unbound: bool,
    /// The system's own checksum covered the whole datagram, so the form of `unbound` is unknown.
    pub whole: bool,
    /// The length of the buffer that the datagram shares with others; 0 if it has its own.
    pub buffer: usize,
}

impl DatagramMeta {
    /// Describes a datagram with a correct checksum. The frame check is unknown.
    #[must_use]
    pub const fn new(from: SocketAddr) -> Self {
        let frame = Check::Unchecked;
        Self { from, covered_intact: true, frame, unbound: false, whole: false, buffer: 0 }
    }
}

/// The longest datagram in a frame of 802.11 (the MSDU of IEEE 802.11-2016, 9.2.4.7.1).
pub(crate) const LONGEST_FRAME: usize = 2304;

/// A datagram to send: the payload of a UDP-Lite datagram, in consecutive slices.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OutgoingDatagram {
    /// The destination of the datagram.
    pub to: SocketAddr,
    /// The bytes of the payload.
    pub parts: [Bytes; 3],
    /// The number of bytes that must be exact; the checksum coverage is 8 more. All bytes: full
    /// coverage.
    pub exact: usize,
    /// The checksum covers neither addresses nor ports, if the carrier has such a form, so that
    /// address translators may change them.
    pub unbound: bool,
    /// The system's own checksum, which hardware can compute, may cover the whole datagram: as far
    /// as is known, no link on the path delivers damaged datagrams.
    pub whole: bool,
}

impl OutgoingDatagram {
    /// Returns the length in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.parts.iter().map(Bytes::len).sum()
    }

    /// Returns whether it has no bytes, which never happens.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the bytes in one slice.
    #[must_use]
    pub fn to_bytes(&self) -> Bytes {
        self.parts.concat().into()
    }

    /// Returns the UDP-Lite coverage; 0 means full coverage (S0.3).
    #[must_use]
    pub fn coverage(&self) -> u16 {
        let covered = windfall_wire_net::udplite::HEADER_LEN + self.exact;
        if self.exact == self.len() { 0 } else { u16::try_from(covered).unwrap_or(0) }
    }
}
