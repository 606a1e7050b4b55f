//! The memory that the messages of all SAP sockets of a process may take.

use std::sync::LazyLock;

use windfall_sap::{SapBudget, SapConfig};

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

/// Returns the memory that the messages of all SAP sockets of this process take, in bytes, and its
/// limit.
#[must_use]
pub fn memory() -> (usize, usize) {
    (PROCESS.held(), PROCESS.limit())
}
