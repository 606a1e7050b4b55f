//! The backoff of a contending station while it receives only intact frames for other stations.

use windfall_base::Instant;

use super::access::Access;

/// The effect of received frames on a station, as long as all are for other stations.
#[derive(Clone, Debug)]
pub enum Rest {
    /// Not at all: the station has nothing to send.
    Idle,
    /// Its backoff is suspended while the medium is busy. It transmits when the backoff ends.
    Contending(Contention),
}

/// The backoff of a station and its view of the medium, which the station has lent.
///
/// Stations that contend for one medium receive the same frames. The holder of their contentions
/// applies each frame to all of them at once, without calling the stations. It returns a contention
/// before its station gets any other input, and when its attempt is due.
#[derive(Clone, Debug)]
pub struct Contention(pub(super) Access);

impl Contention {
    /// Returns when the station transmits if the medium stays idle until then.
    #[must_use]
    #[inline]
    pub fn attempt_at(&self) -> Option<Instant> {
        self.0.attempt_at()
    }

    /// Suspends the backoff: another station begins to transmit. Returns `true` if the station is
    /// already committed to transmit, so the two collide.
    #[must_use]
    #[inline]
    pub fn carrier_busy(&mut self, now: Instant) -> bool {
        // The backoff is already drawn.
        self.0.carrier_busy(now, true, || 0);
        self.0.is_committed()
    }

    /// Resumes the backoff: an intact frame for another station has ended. `head` holds the first
    /// bytes of that frame, which carry its Duration field.
    #[inline]
    pub fn carrier_idle(&mut self, now: Instant, head: [u8; 4]) {
        self.0.reception(true);
        self.0.reserve_by_head(now, head);
        self.0.carrier_idle(now);
    }
}
