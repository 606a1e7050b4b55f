//! The memory that the messages of all SAP sockets of a process may take.

use std::sync::LazyLock;

use windfall_sap::{SapBudget, SapConfig};

use crate::system;

/// The size in bytes from which on a block is memory of its own of the system, and the free bytes
/// at the end of a heap from which on they go back to it.
const OWN_BLOCK: i32 = 256 << 10;

static PROCESS: LazyLock<SapBudget> =
    LazyLock::new(|| SapBudget::new(SapConfig::standard().memory_total));

/// Returns the budget of the process.
pub(crate) fn of_process() -> SapBudget {
    PROCESS.clone()
}

/// Limits the memory of the messages that all SAP sockets of this process hold, in both
/// directions, to `bytes`; 256 MB by default.
///
/// Once half of it is taken, each connection has an equal share of the other half: senders wait,
/// and what exceeds the share of a receiver is sent again later, or lost if it is approximate.
pub fn limit_memory(bytes: usize) {
    PROCESS.set_limit(bytes);
}

/// Gives large blocks back to the system as soon as they are freed.
///
/// The allocator of glibc would otherwise cut them out of its heaps once the first one was freed:
/// up to 32 MB each, and 64 MB of each heap stay free but kept.
pub fn give_freed_memory_back() {
    system::map_large_blocks(OWN_BLOCK);
}

/// Returns the memory that the messages of all SAP sockets of this process take, in bytes, and its
/// limit.
#[must_use]
pub fn memory() -> (usize, usize) {
    (PROCESS.held(), PROCESS.limit())
}
