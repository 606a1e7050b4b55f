//! The clock of a socket.

use windfall_base::{Duration, Instant};

/// The clock of a socket, which starts with it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock(std::time::Instant);

impl Clock {
    #[expect(clippy::disallowed_methods, reason = "sockets live in real time")]
    pub(crate) fn new() -> Self {
        Self(std::time::Instant::now())
    }

    pub(crate) fn now(self) -> Instant {
        Instant::START + Duration::from(self.0.elapsed())
    }
}
