//! The standard output as whoever started the process has left it.

use std::sync::atomic::{AtomicBool, Ordering};

use rustix::io::fcntl_getfd;
use rustix::stdio::stdout;

static WAS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Looks before Rust's runtime, which opens /dev/null in the place of a closed standard output.
extern "C" fn look() {
    WAS_CLOSED.store(fcntl_getfd(stdout()).is_err(), Ordering::Relaxed);
}

// SAFETY: the C runtime calls what this section lists, once and before `main`. The function makes
// one system call and stores to an atomic, neither of which needs Rust's runtime.
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;

/// Returns whether the standard output was closed when the process began.
///
/// The runtime opens `/dev/null` in its place, so a write fails no more.
#[must_use]
pub fn standard_output_was_closed() -> bool {
    WAS_CLOSED.load(Ordering::Relaxed)
}
