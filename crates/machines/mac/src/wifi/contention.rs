//! The wait of a contending station while it receives only intact frames of others.

use windfall_base::Instant;

use super::access::Access;

/// The effect of received frames on a station, as long as all are for others.
#[derive(Clone, Debug)]
pub enum Rest {
    /// Nothing: it has nothing to send.
    Idle,
    /// Its slots stop and count on; it begins when they have run out.
    Contending(Contention),
}

/// The backoff of a station and its view of the medium, which it has lent.
///
/// Stations that contend for one medium hear the same frames. The holder of their contentions
/// applies each frame to all of them at once, without the stations. It returns them before a
/// station gets any other input, or when its attempt is due.
#[derive(Clone, Debug)]
pub struct Contention(pub(super) Access);

impl Contention {
    /// Returns when the station begins to send, if nothing is heard before.
    #[must_use]
    #[inline]
    pub fn attempt_at(&self) -> Option<Instant> {
        self.0.attempt_at()
    }

    /// The carrier of others appears. Returns `true` if the station can no longer be held back.
    #[must_use]
    #[inline]
    pub fn carrier_busy(&mut self, now: Instant) -> bool {
        // Slots that are left need no draw.
        self.0.carrier_busy(now, true, || 0);
        self.0.is_committed()
    }

    /// The carrier of others vanishes, with the end of a whole frame that began with `head` and was
    /// for another station.
    #[inline]
    pub fn carrier_idle(&mut self, now: Instant, head: [u8; 4]) {
        self.0.reception(true);
        self.0.reserve_by_head(now, head);
        self.0.carrier_idle(now);
    }
}
