//! The bodies under way over SAP, by their client: where the memory is taken, a client that has
//! vanished loses a body, or else the client that has most of it loses its oldest one.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::Notify;
use windfall_bodies::TransferToken;
use windfall_socket::{Duration, SapSocket};

use crate::connection_limiter::client_at;

/// The time for which a client acknowledges nothing before it counts as vanished, where memory is
/// scarce: as long as before a closed port is believed.
const VANISHED: Duration = Duration::from_secs(2);

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

impl Body {
    /// Returns for how long the client has acknowledged nothing of its connection; `None` while it
    /// does.
    fn silence(&self) -> Option<Duration> {
        self.socket.upgrade()?.silence()
    }
}

impl Known {
    /// Takes out the body that gives way to one of `newcomer` that has `bytes` bytes: one of a
    /// client that has vanished, or else the oldest of the client with the most, if that has
    /// several, and more than the newcomer would have.
    fn giving_way(
        &mut self,
        newcomer: IpAddr,
        bytes: usize,
        silence: fn(&Body) -> Option<Duration>,
    ) -> Option<Body> {
        if let Some(silent) = self.take_silent(silence) {
            return Some(silent);
        }
        let held = |own: &BTreeMap<u64, Body>| own.values().map(|body| body.bytes).sum::<usize>();
        let would_have = bytes + self.clients.get(&newcomer).map_or(0, held);
        let others = self.clients.iter().filter(|(client, _)| **client != newcomer);
        let several = others.filter(|(_, own)| own.len() > 1);
        let (most, client) = several.map(|(client, own)| (held(own), *client)).max()?;
        let own = self.clients.get_mut(&client).filter(|_| most > would_have)?;
        own.pop_first().map(|(_, body)| body)
    }

    /// Takes out the body of the client that has been silent for longest, if one has vanished.
    fn take_silent(&mut self, silence: fn(&Body) -> Option<Duration>) -> Option<Body> {
        let all = self.clients.iter().flat_map(|(client, own)| {
            own.iter().map(move |(number, body)| (silence(body), *client, *number))
        });
        let vanished = all.filter(|(silence, ..)| *silence >= Some(VANISHED));
        let (_, client, number) = vanished.max()?;
        let own = self.clients.get_mut(&client)?;
        let body = own.remove(&number);
        if own.is_empty() {
            self.clients.remove(&client);
        }
        body
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
        self.known().giving_way(client_at(from), bytes, Body::silence)
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

    #[test]
    fn the_client_that_is_silent_for_longest_loses_its_body_however_few_it_has() {
        let all = Arc::new(UnderWay::default());
        let mut entries = Vec::new();
        // Each is silent for as many seconds as its name says.
        for (client, bytes, name) in [(1, 10, 3), (2, 300, 1), (2, 300, 0), (3, 10, 2), (3, 5, 9)] {
            entries.push(all.enter(at(client), bytes, [name; 16]));
        }
        let silence = |body: &Body| {
            let seconds = u64::from(body.token[0]);
            (seconds > 0).then(|| Duration::from_secs(seconds))
        };
        let giving = || {
            let body = all.known().giving_way(at(1), 100, silence);
            body.map(|it| it.token[0])
        };
        // Then the oldest of the client with the most, which may have lost a packet or two.
        assert_eq!([(); 5].map(|()| giving()), [Some(9), Some(3), Some(2), Some(1), None]);
        drop(entries);
        assert!(all.known().clients.is_empty());
    }
}
