//! Which descriptor is a socket of UDP-Lite.

use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, Ordering};

use libc::{c_int, c_uint};

use crate::lite::{Ends, Lite, UNSET};
use crate::system;

/// Descriptors above are never sockets of UDP-Lite; the system's usual limit is far below.
const DESCRIPTORS: usize = 1 << 20;

static TABLE: [AtomicPtr<Lite>; DESCRIPTORS] = [const { AtomicPtr::new(null_mut()) }; DESCRIPTORS];

/// The last of all sockets that ever were.
static ALL: AtomicPtr<Lite> = AtomicPtr::new(null_mut());

fn slot(fd: c_int) -> Option<&'static AtomicPtr<Lite>> {
    TABLE.get(usize::try_from(fd).ok()?)
}

/// Returns the socket that pointers of this module lead to.
fn deref(lite: *mut Lite) -> Option<&'static Lite> {
    // SAFETY: pointers here are null or of a socket that is never freed.
    unsafe { lite.as_ref() }
}

/// Returns the socket of UDP-Lite behind a descriptor.
pub(crate) fn find(fd: c_int) -> Option<&'static Lite> {
    deref(slot(fd)?.load(Ordering::Acquire))
}

/// Makes a descriptor a socket of UDP-Lite; `false` if its number is too high.
pub(crate) fn insert(fd: c_int, is_raw: bool, is_v6: bool) -> bool {
    let Some(slot) = slot(fd) else { return false };
    let lite = reuse().unwrap_or_else(add);
    lite.is_raw.store(is_raw, Ordering::Relaxed);
    lite.is_v6.store(is_v6, Ordering::Relaxed);
    slot.store(core::ptr::from_ref(lite).cast_mut(), Ordering::Release);
    true
}

/// Takes a socket that no descriptor leads to any more.
fn reuse() -> Option<&'static Lite> {
    let mut lite = deref(ALL.load(Ordering::Acquire));
    while let Some(found) = lite {
        if found.users.compare_exchange(0, 1, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
            found.holder.store(UNSET, Ordering::Relaxed);
            found.send_coverage.store(0, Ordering::Relaxed);
            found.least_coverage.store(UNSET, Ordering::Relaxed);
            found.wants_destination.store(false, Ordering::Relaxed);
            *found.ends() = Ends::default();
            return Some(found);
        }
        lite = deref(found.next.load(Ordering::Acquire));
    }
    None
}

fn add() -> &'static Lite {
    let lite: &'static Lite = Box::leak(Box::new(Lite::new()));
    let pointer = core::ptr::from_ref(lite).cast_mut();
    let mut last = ALL.load(Ordering::Acquire);
    loop {
        lite.next.store(last, Ordering::Release);
        match ALL.compare_exchange_weak(last, pointer, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => return lite,
            Err(other) => last = other,
        }
    }
}

/// Lets `fd`, unless it is a failure, lead to the same socket; returns it.
pub(crate) fn share(lite: &'static Lite, fd: c_int) -> c_int {
    if let Some(slot) = slot(fd) {
        lite.users.fetch_add(1, Ordering::AcqRel);
        slot.store(core::ptr::from_ref(lite).cast_mut(), Ordering::Release);
    }
    fd
}

/// Lets a descriptor lead to no socket.
pub(crate) fn forget(fd: c_int) {
    let Some(slot) = slot(fd) else { return };
    let Some(lite) = deref(slot.swap(null_mut(), Ordering::AcqRel)) else { return };
    let holder = lite.holder.load(Ordering::Relaxed);
    if lite.users.load(Ordering::Acquire) == 1 && holder >= 0 {
        system::close(holder);
    }
    lite.users.fetch_sub(1, Ordering::AcqRel);
}

pub(crate) fn forget_range(first: c_uint, last: c_uint) {
    for (fd, slot) in TABLE.iter().enumerate().take((last as usize).saturating_add(1)) {
        if fd >= first as usize && !slot.load(Ordering::Relaxed).is_null() {
            forget(fd as c_int);
        }
    }
}
