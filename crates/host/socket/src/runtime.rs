//! Runtimes for asynchronous programs.

use std::io;
use std::os::unix::net::UnixStream;

use tokio::runtime::{Builder, Runtime};

/// The pairs of descriptors that must be free for a runtime to start.
const SPARE: usize = 3;

/// Creates a single-threaded runtime, which starts even if the system has no threads left.
///
/// # Errors
/// If the system has no descriptors left, for which tokio itself would panic.
pub fn make_runtime() -> io::Result<Runtime> {
    let spare: Vec<_> = (0..SPARE).map(|_| UnixStream::pair()).collect::<io::Result<_>>()?;
    drop(spare);
    Builder::new_current_thread().enable_all().build()
}
