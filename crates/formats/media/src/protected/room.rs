//! The room for a restored file: nothing is taken because a head says so.

use super::ProtectError;

/// The bytes of a file that are made at most for each byte that arrived: no part chooses how much
/// is filled up.
const MADE: usize = 8;

/// The room for a file, which grows with what arrived of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    /// The bytes of the parts that arrived.
    pub(super) arrived: usize,
    /// The bytes that are kept at most.
    pub(super) most: usize,
}

impl Room {
    /// Checks that a file may take `whole` bytes, before it takes any.
    pub(super) const fn check(self, whole: usize) -> Result<(), ProtectError> {
        if whole > self.arrived.saturating_mul(MADE) {
            return Err(ProtectError::Incomplete { arrived: self.arrived, whole });
        }
        self.check_memory(whole)
    }

    /// Checks that the memory for a file is not too much.
    pub(super) const fn check_memory(self, bytes: usize) -> Result<(), ProtectError> {
        if bytes > self.most { Err(ProtectError::Memory(self.most)) } else { Ok(()) }
    }
}
