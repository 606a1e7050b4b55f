//! The clients of a port, of which the one that has been idle for longest gives way to a new one.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use tokio::sync::Notify;

/// The clients of a port, at most a fixed number.
#[derive(Debug)]
pub(crate) struct Clients(Rc<RefCell<State>>);

#[derive(Debug)]
struct State {
    most: usize,
    /// The number of the next use.
    next: u64,
    /// The signal that sends each client away, by the number of its last use: the longest idle
    /// first.
    used: BTreeMap<u64, Rc<Notify>>,
}

/// The place of a client; dropping it frees the place.
#[derive(Debug)]
pub(crate) struct ClientPlace {
    clients: Clients,
    go: Rc<Notify>,
    used: std::cell::Cell<u64>,
}

impl Clone for Clients {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

impl Clients {
    pub(crate) fn new(most: usize) -> Self {
        Self(Rc::new(RefCell::new(State { most, next: 0, used: BTreeMap::new() })))
    }

    /// Returns a place for one more client; also tells whether another one was sent away for it.
    pub(crate) fn enter(&self) -> (ClientPlace, bool) {
        let is_full = self.0.borrow().used.len() >= self.0.borrow().most;
        let has_evicted = is_full && self.evict();
        let clients = self.clone();
        let go = Rc::default();
        let place = ClientPlace { clients, go, used: u64::MAX.into() };
        place.touch();
        (place, has_evicted)
    }

    /// Tells the client that has been idle for longest to go; returns whether there is one.
    pub(crate) fn evict(&self) -> bool {
        let oldest = self.0.borrow_mut().used.pop_first();
        oldest.inspect(|(_, go)| go.notify_one()).is_some()
    }
}

impl ClientPlace {
    /// Notes that the client was active just now.
    pub(crate) fn touch(&self) {
        let mut state = self.clients.0.borrow_mut();
        let was_there = state.used.remove(&self.used.get()).is_some();
        // A client that was told to go gets no new place.
        if was_there || self.used.get() == u64::MAX {
            self.used.set(state.next);
            state.used.insert(self.used.get(), Rc::clone(&self.go));
            state.next += 1;
        }
    }

    /// Waits until the client has to make room for another.
    pub(crate) async fn sent_away(&self) {
        self.go.notified().await;
    }
}

impl Drop for ClientPlace {
    fn drop(&mut self) {
        self.clients.0.borrow_mut().used.remove(&self.used.get());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_idle_client_gives_way() {
        let clients = Clients::new(2);
        let (first, none) = clients.enter();
        let (second, _) = clients.enter();
        first.touch();
        let (_third, evicted) = clients.enter();
        assert_eq!((none, evicted), (false, true));
        assert_eq!(clients.0.borrow().used.len(), 2);
        second.touch();
        assert_eq!(clients.0.borrow().used.len(), 2, "the second one has gone");
        drop(first);
        assert!(!clients.enter().1);
    }
}
