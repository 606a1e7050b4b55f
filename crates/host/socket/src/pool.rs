//! A pool of buffers for long datagrams. An allocator would return blocks of this size to the
//! system each time, and faulting in fresh pages costs more than copying the data.
//!
//! Buffers are mapped, so that clearing the pool returns them to the system at once. An allocator
//! might keep them, and a thousand idle sockets would hold a thousand buffers.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use memmap2::MmapMut;

/// The size of a buffer: the longest datagram.
pub(crate) const LONG: usize = 1 << 16;
/// The length from which on data get a pooled buffer; shorter data would waste it.
pub(crate) const WORTH: usize = LONG / 2;
/// The maximum number of free buffers.
const MOST: usize = 128;

/// Free buffers of [`LONG`] bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pool(Arc<Mutex<Vec<MmapMut>>>);

impl Pool {
    fn lock(&self) -> MutexGuard<'_, Vec<MmapMut>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a buffer with unspecified contents.
    pub(crate) fn take(&self) -> io::Result<MmapMut> {
        let kept = self.lock().pop();
        kept.map_or_else(|| MmapMut::map_anon(LONG), Ok)
    }

    /// Converts `pages` to shared bytes, which return to the pool when they are dropped.
    pub(crate) fn lend(&self, pages: MmapMut) -> Bytes {
        Bytes::from_owner(Loan { pages: Some(pages), pool: self.clone() })
    }

    /// Returns a copy of `data`.
    pub(crate) fn copy(&self, data: &[u8]) -> Bytes {
        if (WORTH..=LONG).contains(&data.len())
            && let Ok(mut pages) = self.take()
        {
            pages[..data.len()].copy_from_slice(data);
            return self.lend(pages).slice(..data.len());
        }
        Bytes::copy_from_slice(data)
    }

    /// Returns the memory of free buffers to the system.
    pub(crate) fn clear(&self) {
        *self.lock() = Vec::new();
    }
}

/// A buffer in use.
struct Loan {
    /// Present until it is dropped.
    pages: Option<MmapMut>,
    pool: Pool,
}

impl AsRef<[u8]> for Loan {
    fn as_ref(&self) -> &[u8] {
        self.pages.as_deref().unwrap_or_default()
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        let mut kept = self.pool.lock();
        if kept.len() < MOST {
            kept.extend(self.pages.take());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_data_are_copied_into_buffers_that_come_back() {
        let pool = Pool::default();
        for len in [0, 10, WORTH - 1, WORTH, 65_400, LONG, LONG + 1] {
            let data: Vec<u8> = (0..len).map(|at| (at % 251) as u8).collect();
            let copy = pool.copy(&data);
            assert_eq!(copy, data);
            let part = copy.slice(len / 2..);
            drop(copy);
            assert_eq!(part, data[len / 2..]);
        }
        assert_eq!(pool.lock().len(), 1, "one was enough for all");
        pool.clear();
        assert!(pool.lock().is_empty());
    }

    #[test]
    fn no_more_are_kept_than_allowed() {
        let pool = Pool::default();
        let lent: Vec<Bytes> = (0..MOST + 5).map(|_| pool.copy(&[1; WORTH])).collect();
        drop(lent);
        assert_eq!(pool.lock().len(), MOST);
    }
}
