//! The accounts of an endpoint: memory held and operations done.

use super::TcpEndpoint;
use crate::lookup::LookupCounts;
use crate::operations::Operations;

impl TcpEndpoint {
    /// Returns the number of entries besides the data of its connections, in tables and queues,
    /// which stay bounded by the connections that were open at once.
    #[must_use]
    pub fn held_entries(&self) -> usize {
        let queues = self.ready.len() + self.has_events_queue.len() + self.replies.len();
        self.slots.len() + self.wakeups.len() + queues
    }

    /// Returns the number of connections, dying ones included.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.table.len()
    }

    /// Returns whether there are no connections.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// Returns the cost of finding connections (S2.14).
    #[must_use]
    pub const fn lookup_counts(&self) -> &LookupCounts {
        self.table.counts()
    }

    /// Returns the steps of processing taken so far, for connections that are gone too.
    #[must_use]
    pub fn operations(&self) -> Operations {
        self.connections().fold(self.past, |mut sum, connection| {
            sum += *connection.operations();
            sum
        })
    }

    /// Returns the number of SYNs answered without memory.
    #[must_use]
    pub const fn cookies_sent(&self) -> u64 {
        self.cookies
    }
}
