//! The memory that the bodies of one program may take together.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;

/// The memory of all bodies that a client or a server holds at the same time.
///
/// What is charged is what is held: no message that announces a length takes any.
#[derive(Clone, Debug)]
pub struct BodyMemory(Arc<Account>);

#[derive(Debug)]
struct Account {
    limit: usize,
    held: AtomicUsize,
}

/// There is no memory left for a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the bodies that are under way take more than {limit} bytes of memory: raise --memory")]
pub struct MemorySpent {
    /// The bytes that all bodies may take.
    pub limit: usize,
}

impl Default for BodyMemory {
    /// Returns an account of 500 MB.
    fn default() -> Self {
        Self::new(500_000_000)
    }
}

impl BodyMemory {
    /// Makes an account of `limit` bytes.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self(Arc::new(Account { limit, held: AtomicUsize::new(0) }))
    }

    /// Returns the bytes that all bodies may take.
    #[must_use]
    pub fn limit(&self) -> usize {
        self.0.limit
    }

    /// Returns the bytes that are held now.
    #[must_use]
    pub fn held(&self) -> usize {
        self.0.held.load(Ordering::Relaxed)
    }

    /// Returns a share of this account that holds nothing yet.
    #[must_use]
    pub fn share(&self) -> HeldMemory {
        HeldMemory { memory: self.clone(), bytes: 0 }
    }
}

/// The part of an account that one body holds; dropping it gives the part back.
#[derive(Debug)]
pub struct HeldMemory {
    memory: BodyMemory,
    bytes: usize,
}

impl HeldMemory {
    /// Takes more bytes.
    ///
    /// # Errors
    /// If fewer are left; then none are taken.
    pub fn take(&mut self, bytes: usize) -> Result<(), MemorySpent> {
        let Account { limit, held } = &*self.memory.0;
        let taken = held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |held| {
            held.checked_add(bytes).filter(|held| held <= limit)
        });
        taken.map_err(|_| MemorySpent { limit: *limit })?;
        self.bytes += bytes;
        Ok(())
    }

    /// Returns the error of memory that is not there.
    pub(crate) fn spent(&self) -> MemorySpent {
        MemorySpent { limit: self.memory.limit() }
    }

    /// Gives bytes back that were taken.
    pub fn give_back(&mut self, bytes: usize) {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        self.memory.0.held.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Moves bytes of this share to one of their own.
    pub(crate) fn split(&mut self, bytes: usize) -> Self {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        Self { memory: self.memory.clone(), bytes }
    }

    /// Returns another share of the same account.
    #[must_use]
    pub(crate) fn another(&self) -> Self {
        self.memory.share()
    }

    /// Returns bytes that hold this share until the last copy of them is dropped.
    pub(crate) fn bind(self, bytes: impl AsRef<[u8]> + Send + 'static) -> Bytes {
        Bytes::from_owner(Bound { bytes, _memory: self })
    }
}

impl Drop for HeldMemory {
    fn drop(&mut self) {
        self.give_back(self.bytes);
    }
}

/// Bytes and the memory that they take.
struct Bound<B> {
    bytes: B,
    _memory: HeldMemory,
}

impl<B: AsRef<[u8]>> AsRef<[u8]> for Bound<B> {
    fn as_ref(&self) -> &[u8] {
        self.bytes.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_take_no_more_than_there_is_and_give_it_back() {
        let memory = BodyMemory::new(100);
        let mut one = memory.share();
        let mut other = memory.share();
        one.take(60).expect("room");
        assert_eq!(other.take(41), Err(MemorySpent { limit: 100 }));
        assert_eq!(other.take(usize::MAX), Err(MemorySpent { limit: 100 }));
        other.take(40).expect("room");
        one.give_back(10);
        assert_eq!(memory.held(), 90);
        let bytes = other.bind(vec![1, 2]);
        let copy = bytes.slice(1..);
        drop((one, bytes));
        assert_eq!((memory.held(), &copy[..]), (40, &[2][..]));
        drop(copy);
        assert_eq!(memory.held(), 0);
        let mut whole = memory.share();
        whole.take(100).expect("room");
        let part = whole.split(70);
        drop(whole);
        assert_eq!(memory.held(), 70);
        drop(part);
        assert_eq!(memory.held(), 0);
    }
}
