//! Memory that is returned to the system as soon as it is not needed: an allocator would keep it,
//! and a thousand idle sockets would hold a thousand buffers.
#![expect(unsafe_code, reason = "pages come from the system as a pointer")]

use std::io;
use std::ops::{Deref, DerefMut};
use std::ptr::{NonNull, null_mut};

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

/// Pages of memory, initially zero.
#[derive(Debug)]
pub(crate) struct Pages {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: the pages belong to this value alone, as those of a boxed slice.
unsafe impl Send for Pages {}

// SAFETY: a shared reference gives read access only.
unsafe impl Sync for Pages {}

impl Default for Pages {
    /// Returns an empty value.
    fn default() -> Self {
        Self { start: NonNull::dangling(), len: 0 }
    }
}

impl Pages {
    /// Maps `len` bytes of memory, at least one.
    pub(crate) fn new(len: usize) -> io::Result<Self> {
        let (access, kind) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
        // SAFETY: no address is asked for, so no memory that is in use changes.
        let start = unsafe { mmap_anonymous(null_mut(), len, access, kind) }?;
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { start, len })
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        if self.len > 0 {
            // SAFETY: these are the pages that `new` mapped, and no reference to them remains. A
            // failure would leave them mapped, which is harmless.
            let _ = unsafe { munmap(self.start.as_ptr().cast(), self.len) };
        }
    }
}

impl Deref for Pages {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the pages are mapped, readable, zero or written to, and as many as `len` says.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl DerefMut for Pages {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`, and writable; the borrow is the only one.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_can_be_had_written_to_and_given_back() {
        assert!(Pages::default().is_empty());
        for len in [1, 5_000, 100_000] {
            let mut pages = Pages::new(len).expect("there is memory");
            assert_eq!(pages.len(), len);
            pages.fill(7);
            assert!(pages.iter().all(|byte| *byte == 7));
        }
    }
}
