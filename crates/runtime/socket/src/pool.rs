//! A pool of buffers for long datagrams: an allocator returns blocks of this size to the system
//! each time, and fresh pages cost more than copying the data.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use crate::pages::Pages;

/// The size of a buffer: the longest datagram.
pub(crate) const LONG: usize = 1 << 16;
/// The length from which data get a buffer of their own; shorter ones would waste it.
pub(crate) const WORTH: usize = LONG / 2;
/// The maximum number of free buffers.
const MOST: usize = 128;

/// Free buffers of [`LONG`] bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pool(Arc<Mutex<Vec<Pages>>>);

impl Pool {
    fn lock(&self) -> MutexGuard<'_, Vec<Pages>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a buffer with unspecified contents.
    pub(crate) fn take(&self) -> io::Result<Pages> {
        let kept = self.lock().pop();
        kept.map_or_else(|| Pages::new(LONG), Ok)
    }

    /// Converts `pages` to shared bytes, which return to the pool when they are dropped.
    pub(crate) fn lend(&self, pages: Pages) -> Bytes {
        Bytes::from_owner(Loan { pages, pool: self.clone() })
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
    pages: Pages,
    pool: Pool,
}

impl AsRef<[u8]> for Loan {
    fn as_ref(&self) -> &[u8] {
        &self.pages
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        let mut kept = self.pool.lock();
        if kept.len() < MOST {
            kept.push(std::mem::take(&mut self.pages));
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
