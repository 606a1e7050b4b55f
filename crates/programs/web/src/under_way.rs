//! The bodies under way over SAP, by their client: where the memory is taken, the client that has
//! most of it loses its oldest body.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::Notify;
use windfall_bodies::TransferToken;
use windfall_socket::SapSocket;

use crate::connection_limiter::client_at;

/// All bodies under way.
#[derive(Default)]
pub(crate) struct UnderWay {
    known: Mutex<Known>,
    /// Signals that one has ended.
    pub(crate) ended: Notify,
}

#[derive(Default)]
struct Known {
    next: u64,
    /// The bodies of each client, the oldest first.
    clients: BTreeMap<IpAddr, BTreeMap<u64, Body>>,
}

/// A body under way.
#[derive(Clone, Debug)]
pub(crate) struct Body {
    bytes: usize,
    /// The name by which the client may ask for it.
    pub(crate) token: TransferToken,
    /// The connection on which it travels, once it does.
    pub(crate) socket: Weak<SapSocket>,
}

impl Known {
    /// Takes out the body that gives way to one of `newcomer` that has `bytes` bytes: the oldest of
    /// the client with the most, if that has several, and more than the newcomer would have.
    fn giving_way(&mut self, newcomer: IpAddr, bytes: usize) -> Option<Body> {
        let held = |own: &BTreeMap<u64, Body>| own.values().map(|body| body.bytes).sum::<usize>();
        let would_have = bytes + self.clients.get(&newcomer).map_or(0, held);
        let others = self.clients.iter().filter(|(client, _)| **client != newcomer);
        let several = others.filter(|(_, own)| own.len() > 1);
        let (most, client) = several.map(|(client, own)| (held(own), *client)).max()?;
        let own = self.clients.get_mut(&client).filter(|_| most > would_have)?;
        own.pop_first().map(|(_, body)| body)
    }
}

impl UnderWay {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Enters a body of a client until what is returned is dropped.
    pub(crate) fn enter(
        self: &Arc<Self>,
        from: IpAddr,
        bytes: usize,
        token: TransferToken,
    ) -> Entry {
        let client = client_at(from);
        let mut known = self.known();
        known.next += 1;
        let number = known.next;
        let body = Body { bytes, token, socket: Weak::new() };
        known.clients.entry(client).or_default().insert(number, body);
        Entry { all: Arc::clone(self), client, number }
    }

    /// Takes out the body that gives way to one of a client that has `bytes` bytes.
    pub(crate) fn giving_way(&self, from: IpAddr, bytes: usize) -> Option<Body> {
        self.known().giving_way(client_at(from), bytes)
    }
}

/// The entry of a body under way.
pub(crate) struct Entry {
    all: Arc<UnderWay>,
    client: IpAddr,
    number: u64,
}

impl Entry {
    /// Notes the connection on which the body travels.
    pub(crate) fn travels_on(&self, socket: &Arc<SapSocket>) {
        let mut known = self.all.known();
        let own = known.clients.get_mut(&self.client);
        let body = own.and_then(|own| own.get_mut(&self.number));
        body.into_iter().for_each(|body| body.socket = Arc::downgrade(socket));
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        let mut known = self.all.known();
        if let Some(own) = known.clients.get_mut(&self.client) {
            own.remove(&self.number);
            if own.is_empty() {
                known.clients.remove(&self.client);
            }
        }
        drop(known);
        self.all.ended.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn at(last: u8) -> IpAddr {
        IpAddr::V4(Ipv4Addr::new(10, 0, 0, last))
    }

    #[test]
    fn the_client_that_has_most_loses_its_oldest_body_to_one_that_has_less() {
        let all = Arc::new(UnderWay::default());
        let mut entries = Vec::new();
        for (client, bytes, name) in [(1, 300, 1), (2, 900, 2), (1, 400, 3), (3, 300, 4)] {
            entries.push(all.enter(at(client), bytes, [name; 16]));
        }
        let giving = |client: u8, bytes| all.giving_way(at(client), bytes).map(|it| it.token[0]);
        // The one body of a client is its own, whatever it takes.
        assert_eq!(giving(4, 700), None, "it would have as much");
        assert_eq!(giving(3, 400), None, "with what it has");
        assert_eq!(giving(1, 1), None, "no client takes it from itself");
        assert_eq!(giving(4, 699), Some(1), "the oldest");
        assert_eq!(giving(4, 1), None, "one is left");
        drop(entries);
        assert!(all.known().clients.is_empty());
    }
}
