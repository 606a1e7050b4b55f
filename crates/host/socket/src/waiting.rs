//! Callers that wait while another one drives the endpoint: each is woken when its condition may
//! hold.
//!
//! A condition of its own for each caller: one for all would wake a thousand threads for one
//! message.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar};

use windfall_sap::ConnectionId;

/// An event that a caller waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Awaited {
    /// A connection that can be accepted.
    Accepted,
    /// A change of this connection.
    Connection(ConnectionId),
}

/// The callers that wait, and the number of those that ever did.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    callers: BTreeMap<(Awaited, u64), Arc<Condvar>>,
    entered: u64,
}

impl Waiting {
    /// Adds a caller; returns its place, and the condition that wakes it.
    pub(crate) fn enter(&mut self, awaited: Awaited) -> ((Awaited, u64), Arc<Condvar>) {
        self.entered += 1;
        let place = (awaited, self.entered);
        let woken = Arc::<Condvar>::default();
        self.callers.insert(place, Arc::clone(&woken));
        (place, woken)
    }

    /// Removes a caller.
    pub(crate) fn leave(&mut self, place: (Awaited, u64)) {
        self.callers.remove(&place);
    }

    /// Wakes the callers that wait for this.
    pub(crate) fn wake(&self, awaited: Awaited) {
        let those = self.callers.range((awaited, 0)..=(awaited, u64::MAX));
        those.for_each(|(_, woken)| woken.notify_one());
    }

    /// Wakes one caller, whatever it waits for.
    pub(crate) fn wake_any(&self) {
        self.callers.values().next_back().into_iter().for_each(|woken| woken.notify_one());
    }
}
