//! The wall clock of senders and receivers.
#![expect(clippy::disallowed_methods, reason = "video is sent and received in real time")]

use std::time::SystemTime;

use windfall_base::{Duration, Instant};
use windfall_rtp::VIDEO_CLOCK;

/// Seconds from 1900, where the time of NTP begins, to 1970.
const NTP_EPOCH: u64 = 2_208_988_800;

/// A clock that starts with its program, and the time of day of that start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VideoTime {
    start: std::time::Instant,
    of_day: std::time::Duration,
}

impl VideoTime {
    pub(crate) fn start() -> Self {
        let of_day = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        Self { start: std::time::Instant::now(), of_day: of_day.unwrap_or_default() }
    }

    pub(crate) fn now(&self) -> Instant {
        Instant::START + Duration::from(self.start.elapsed())
    }

    /// Waits until an instant of this clock.
    pub(crate) fn sleep_until(&self, at: Instant) {
        let span = at.saturating_since(self.now());
        std::thread::sleep(std::time::Duration::from_nanos(span.as_nanos()));
    }

    /// The time of day of an instant, in the format of NTP.
    pub(crate) fn ntp(&self, at: Instant) -> u64 {
        let nanos = self.of_day.as_nanos() as u64 + at.as_nanos();
        let seconds = nanos / 1_000_000_000 + NTP_EPOCH;
        let fraction = ((nanos % 1_000_000_000) << 32) / 1_000_000_000;
        seconds << 32 | fraction
    }
}

/// The ticks of the clock of RTP at an instant.
pub(crate) fn ticks(at: Instant) -> u32 {
    (at.as_nanos() / 1_000 * u64::from(VIDEO_CLOCK) / 1_000_000) as u32
}
