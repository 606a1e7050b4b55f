//! The capacity of a queue.

use crate::management::Management;

/// The capacity of a queue, and its management. A packet that would exceed `packets` or
/// `bytes` is refused, or takes the place of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The largest number of packets.
    pub packets: usize,
    /// Bytes of the packets, without link headers.
    pub bytes: usize,
    /// The number of packets from which on one that joins them is to be marked: a step of the
    /// length at that moment (RFC 8257, section 3.1), not of a mean.
    pub mark: usize,
    /// The way in which it keeps itself short.
    pub management: Management,
}

impl Default for Limits {
    /// 1 000 packets, as Linux gives a device, no limit in bytes, no marks, drops at the tail.
    fn default() -> Self {
        let management = Management::DropTail;
        Self { packets: 1_000, bytes: usize::MAX, mark: usize::MAX, management }
    }
}

impl Limits {
    /// Tells whether a packet of `len` bytes fits beside others.
    pub(crate) fn have_room(&self, packets: usize, bytes: usize, len: usize) -> bool {
        packets < self.packets && bytes.saturating_add(len) <= self.bytes
    }

    /// Tells whether a packet of `len` bytes fits into the empty queue.
    pub(crate) fn can_hold(&self, len: usize) -> bool {
        self.have_room(0, 0, len)
    }
}
