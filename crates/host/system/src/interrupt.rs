//! Requests to end, for programs that sum up before they do.

use std::io;
use std::sync::atomic::{AtomicI32, Ordering};

use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};

/// The last signal that asked the process to end; 0 if there was none.
static NOTED: AtomicI32 = AtomicI32::new(0);

extern "C" fn note(signal: i32) {
    NOTED.store(signal, Ordering::Relaxed);
}

/// Makes the process note SIGINT, SIGTERM and SIGHUP from now on instead of ending by them.
///
/// SIGHUP stays ignored under `nohup`.
///
/// System calls go on: whoever waits looks at [`noted`] now and then.
///
/// # Errors
/// If the system refuses.
pub fn note_requests() -> io::Result<()> {
    let action = SigAction::new(SigHandler::Handler(note), SaFlags::SA_RESTART, SigSet::empty());
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        // SAFETY: the handler stores to an atomic and does nothing else.
        unsafe { sigaction(signal, &action) }?;
    }
    // SAFETY: as above; whoever started the process may have it ignored, and it stays so.
    let before = unsafe { sigaction(Signal::SIGHUP, &action) }?;
    if matches!(before.handler(), SigHandler::SigIgn) {
        // SAFETY: this installs what was there.
        unsafe { sigaction(Signal::SIGHUP, &before) }?;
    }
    Ok(())
}

/// Returns the signal that asked the process to end, if one did since [`note_requests`].
#[must_use]
pub fn noted() -> Option<i32> {
    Some(NOTED.load(Ordering::Relaxed)).filter(|signal| *signal != 0)
}
