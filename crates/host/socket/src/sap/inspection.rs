//! Inspection of what a socket receives, outside of the connection's lock.
//!
//! A check of the application may take long, may send, and may wait for a lock that another thread
//! holds while it calls the socket, such as that of Python's interpreter. So a thread that has
//! taken a message from the connection inspects it after it has released the connection, and others
//! that receive wait for it: messages are judged in the order in which they came.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use windfall_sap::{Inspector, MessageCheck, Tolerance};

/// The inspector of a socket, and the new settings that apply from the next message on.
#[derive(Default)]
pub(super) struct Inspection {
    inspector: Mutex<Inspector>,
    /// Another thread waits for the inspector.
    awaited: AtomicBool,
    wanted: Mutex<Wanted>,
}

/// A new tolerance and a new check; each may be none.
#[derive(Default)]
struct Wanted {
    tolerance: Option<Option<Tolerance>>,
    check: Option<Option<MessageCheck>>,
}

impl Inspection {
    pub(super) fn set_tolerance(&self, tolerance: Option<Tolerance>) {
        self.wanted().tolerance = Some(tolerance);
    }

    pub(super) fn set_check(&self, check: Option<MessageCheck>) {
        let before = self.wanted().check.replace(check);
        // Dropping the old check may run code that waits for a lock, too.
        drop(before);
    }

    /// Takes the inspector; `None` while another thread has it, which notifies this one.
    pub(super) fn take(&self) -> Option<MutexGuard<'_, Inspector>> {
        self.try_take().or_else(|| {
            self.awaited.store(true, Ordering::SeqCst);
            self.try_take()
        })
    }

    fn try_take(&self) -> Option<MutexGuard<'_, Inspector>> {
        match self.inspector.try_lock() {
            Ok(inspector) => Some(inspector),
            Err(TryLockError::Poisoned(error)) => Some(error.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Gives the inspector back; returns whether a thread waits for it.
    pub(super) fn give_back(&self, inspector: MutexGuard<'_, Inspector>) -> bool {
        drop(inspector);
        self.awaited.swap(false, Ordering::SeqCst)
    }

    /// Returns whether a new tolerance or check waits to be used.
    pub(super) fn is_outdated(&self) -> bool {
        let wanted = self.wanted();
        wanted.tolerance.is_some() || wanted.check.is_some()
    }

    /// Uses the new tolerance and the new check from now on.
    pub(super) fn update(&self, inspector: &mut Inspector) {
        let Wanted { tolerance, check } = core::mem::take(&mut *self.wanted());
        tolerance.into_iter().for_each(|tolerance| inspector.set_tolerance(tolerance));
        check.into_iter().for_each(|check| inspector.set_check(check));
    }

    fn wanted(&self) -> MutexGuard<'_, Wanted> {
        self.wanted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
