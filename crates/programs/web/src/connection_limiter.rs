//! The places of connections: where all are taken, the one that is idle for longest gives way.

use core::pin::Pin;
use core::task::{Context, Poll};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use hyper::body::{Body, Frame, SizeHint};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

/// The places of a server.
pub(crate) struct ConnectionLimiter {
    free: Arc<Semaphore>,
    idle: Arc<Idle>,
}

/// The connections of which no request is under way.
#[derive(Default)]
struct Idle {
    /// The next number, and what to tell each of them to go, the longest idle first.
    waiting: Mutex<(u64, BTreeMap<u64, Arc<Notify>>)>,
    one_more: Notify,
}

impl ConnectionLimiter {
    pub(crate) fn new(count: usize) -> Self {
        Self { free: Arc::new(Semaphore::new(count)), idle: Arc::default() }
    }

    /// Waits for a place, for which an idle connection is sent away.
    pub(crate) async fn take(&self) -> Arc<Place> {
        let free = || Arc::clone(&self.free).acquire_owned();
        let permit = tokio::select! {
            biased;
            permit = free() => permit,
            () = self.idle.send_one_away() => free().await,
        };
        let place = Place {
            _permit: permit.ok(),
            idle: Arc::clone(&self.idle),
            go: Arc::default(),
            number: Mutex::default(),
        };
        place.rest();
        Arc::new(place)
    }
}

impl Idle {
    async fn send_one_away(&self) {
        loop {
            let one_more = self.one_more.notified();
            if let Some((_, go)) = lock(&self.waiting).1.pop_first() {
                return go.notify_one();
            }
            one_more.await;
        }
    }
}

/// The place of a connection.
pub(crate) struct Place {
    _permit: Option<OwnedSemaphorePermit>,
    idle: Arc<Idle>,
    go: Arc<Notify>,
    /// The number among those that are idle.
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
        Work(Arc::clone(self))
    }

    fn rest(&self) {
        let mut waiting = lock(&self.idle.waiting);
        let number = waiting.0;
        waiting.0 += 1;
        waiting.1.insert(number, Arc::clone(&self.go));
        *lock(&self.number) = Some(number);
        self.idle.one_more.notify_one();
    }

    fn leave(&self) {
        if let Some(number) = lock(&self.number).take() {
            lock(&self.idle.waiting).1.remove(&number);
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
        self.0.rest();
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
    use super::*;

    /// Tells whether a future is ready without waiting.
    async fn is_ready(future: impl Future) -> bool {
        tokio::select! {
            biased;
            _ = future => true,
            () = tokio::task::yield_now() => false,
        }
    }

    #[tokio::test]
    async fn the_longest_idle_connection_gives_way_and_none_that_works() {
        let places = ConnectionLimiter::new(2);
        let first = places.take().await;
        let second = places.take().await;
        let work = first.work();
        let third = tokio::spawn(async move { (places.take().await, places) });
        second.sent_away().await;
        assert!(!is_ready(first.sent_away()).await);
        drop(second);
        let (third, places) = third.await.expect("a place");
        let working = third.work();
        // All work: the next one waits until one is idle again.
        assert!(!is_ready(places.take()).await);
        drop(work);
        assert!(!is_ready(places.take()).await);
        first.sent_away().await;
        drop((first, working));
        assert!(is_ready(places.take()).await);
    }
}
