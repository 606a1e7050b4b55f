//! The places of connections, all of which may be taken: then one gives way to each newcomer.
//!
//! An idle connection goes first, the one that is idle for longest. If all are at work, the client
//! with the most connections loses the one whose request is under way for longest: whoever reads
//! slowly on all places would keep everybody else out.

use core::cmp::Reverse;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use hyper::body::{Body, Frame, SizeHint};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

/// The places of a server.
pub(crate) struct ConnectionLimiter {
    free: Arc<Semaphore>,
    connections: Arc<Connections>,
}

#[derive(Default)]
struct Connections {
    known: Mutex<Known>,
    one_more: Notify,
}

/// Signals that tell a connection to go, by a number that grows.
type ByNumber = BTreeMap<u64, Arc<Notify>>;

#[derive(Default)]
struct Known {
    next: u64,
    /// The connections of which no request is under way, the longest idle first.
    idle: ByNumber,
    /// Those at work, by their client, and the longest at work first.
    working: BTreeMap<IpAddr, ByNumber>,
}

impl Known {
    /// Takes out the connection that gives way to one of `newcomer`; `None` if each client has
    /// only one, and all are at work.
    fn giving_way(&mut self, newcomer: IpAddr) -> Option<Arc<Notify>> {
        if let Some((_, go)) = self.idle.pop_first() {
            return Some(go);
        }
        let all = self.working.iter().map(|(client, own)| {
            let count = own.len() + usize::from(*client == newcomer);
            let longest = own.keys().next().copied();
            (count, Reverse(longest), *client)
        });
        let (_, Reverse(longest), client) = all.filter(|(count, ..)| *count > 1).max()?;
        self.remove(client, longest?)
    }

    fn remove(&mut self, client: IpAddr, number: u64) -> Option<Arc<Notify>> {
        if let Some(go) = self.idle.remove(&number) {
            return Some(go);
        }
        let own = self.working.get_mut(&client)?;
        let go = own.remove(&number);
        if own.is_empty() {
            self.working.remove(&client);
        }
        go
    }
}

/// Returns what stands for the client at an address: a host has all of a network of 64 bits of
/// IPv6.
pub(crate) fn client_at(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6((address.to_bits() >> 64 << 64).into()),
        address => address,
    }
}

impl ConnectionLimiter {
    pub(crate) fn new(count: usize) -> Self {
        Self { free: Arc::new(Semaphore::new(count)), connections: Arc::default() }
    }

    /// Waits for a place for a client at `from`, for which another connection is sent away.
    pub(crate) async fn take(&self, from: IpAddr) -> Arc<Place> {
        let client = client_at(from);
        let free = || Arc::clone(&self.free).acquire_owned();
        let permit = tokio::select! {
            biased;
            permit = free() => permit,
            () = self.connections.send_one_away(client) => free().await,
        };
        let place = Place {
            _permit: permit.ok(),
            connections: Arc::clone(&self.connections),
            client,
            go: Arc::default(),
            number: Mutex::default(),
        };
        place.enter(false);
        Arc::new(place)
    }
}

impl Connections {
    async fn send_one_away(&self, newcomer: IpAddr) {
        loop {
            let one_more = self.one_more.notified();
            if let Some(go) = lock(&self.known).giving_way(newcomer) {
                return go.notify_one();
            }
            one_more.await;
        }
    }
}

/// The place of a connection.
pub(crate) struct Place {
    _permit: Option<OwnedSemaphorePermit>,
    connections: Arc<Connections>,
    client: IpAddr,
    go: Arc<Notify>,
    /// The number among those that may give way.
    number: Mutex<Option<u64>>,
}

impl Place {
    /// Waits until the connection is to go.
    pub(crate) async fn sent_away(&self) {
        self.go.notified().await;
    }

    /// A request is under way until what is returned is dropped.
    pub(crate) fn work(self: &Arc<Self>) -> Work {
        self.leave();
        self.enter(true);
        Work(Arc::clone(self))
    }

    fn enter(&self, is_working: bool) {
        let mut known = lock(&self.connections.known);
        let number = known.next;
        known.next += 1;
        let own = if is_working {
            known.working.entry(self.client).or_default()
        } else {
            &mut known.idle
        };
        own.insert(number, Arc::clone(&self.go));
        *lock(&self.number) = Some(number);
        self.connections.one_more.notify_one();
    }

    fn leave(&self) {
        if let Some(number) = lock(&self.number).take() {
            lock(&self.connections.known).remove(self.client, number);
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.leave();
    }
}

/// The work on a request.
pub(crate) struct Work(Arc<Place>);

impl Work {
    /// The work lasts until this body is sent.
    pub(crate) fn with<B>(self, body: B) -> Working<B> {
        Working { body, _work: self }
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        self.0.leave();
        self.0.enter(false);
    }
}

/// A body whose sending is work.
pub(crate) struct Working<B> {
    body: B,
    _work: Work,
}

impl<B: Body + Unpin> Body for Working<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    /// Tells whether a future is ready without waiting.
    async fn is_ready(future: impl Future) -> bool {
        tokio::select! {
            biased;
            _ = future => true,
            () = tokio::task::yield_now() => false,
        }
    }

    const ONE: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
    const OTHER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));
    const THIRD: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 3));

    #[tokio::test]
    async fn the_longest_idle_connection_gives_way_before_any_that_works() {
        let places = ConnectionLimiter::new(2);
        let first = places.take(ONE).await;
        let second = places.take(OTHER).await;
        let work = first.work();
        let third = tokio::spawn(async move { (places.take(THIRD).await, places) });
        second.sent_away().await;
        assert!(!is_ready(first.sent_away()).await);
        drop(second);
        let (third, places) = third.await.expect("a place");
        let working = third.work();
        // All work, each for another client: the next one waits until one is idle again.
        assert!(!is_ready(places.take(OTHER)).await);
        assert!(!is_ready(first.sent_away()).await);
        drop(work);
        assert!(!is_ready(places.take(OTHER)).await);
        first.sent_away().await;
        drop((first, working));
        assert!(is_ready(places.take(OTHER)).await);
    }

    #[tokio::test]
    async fn a_client_that_works_on_most_places_keeps_no_other_out() {
        let places = ConnectionLimiter::new(4);
        let own = places.take(OTHER).await;
        let of_other = own.work();
        let mut slow = Vec::new();
        for _ in 0..3 {
            let place = places.take(ONE).await;
            slow.push((place.work(), place));
        }
        for newcomer in [THIRD, ONE] {
            assert!(!is_ready(places.take(newcomer)).await);
            assert!(is_ready(slow[0].1.sent_away()).await, "it has worked for longest");
            drop(slow.remove(0));
            let place = places.take(newcomer).await;
            slow.push((place.work(), place));
        }
        assert!(!is_ready(own.sent_away()).await);
        drop(of_other);
    }

    #[test]
    fn a_network_of_64_bits_is_one_client() {
        let at = |text: &str| client_at(text.parse().expect("an address"));
        assert_eq!(at("2001:db8::1"), at("2001:db8::ffff:1:2:3"));
        assert_ne!(at("2001:db8::1"), at("2001:db8:0:1::1"));
        assert_eq!(at("::ffff:10.0.0.1"), ONE);
        assert_ne!(ONE, OTHER);
    }
}
