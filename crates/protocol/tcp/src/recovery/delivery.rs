//! The rate of delivery (draft-ietf-ccwg-bbr, section 4.1): what was delivered between the sending
//! of something and its acknowledgment.

use windfall_base::{Duration, Instant};

use super::flight::{Sent, Snapshot};

/// The account of what is delivered and lost.
#[derive(Clone, Debug, Default)]
pub(super) struct Rates {
    pub(super) delivered: u64,
    delivered_at: Instant,
    first_sent_at: Instant,
    pub(super) lost: u64,
    /// Until this is delivered, the application limits the rate; 0 if it does not.
    limited_until: u64,
    /// The latest transmission that the acknowledgment at hand covers, and the bytes that it does.
    newest: Option<Sent>,
    pub(super) newly_delivered: u64,
}

/// The rate that an acknowledgment tells of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    /// Bytes per second; 0 if the time was too short to tell.
    pub rate: f64,
    pub then: Snapshot,
    pub newly_delivered: u64,
    pub round_trip: Option<Duration>,
}

impl Rates {
    /// Takes the picture for something of `len` bytes that leaves beside `in_flight` others.
    pub(super) fn on_sent(&mut self, now: Instant, len: u64, in_flight: u64) -> Snapshot {
        if in_flight == 0 {
            (self.first_sent_at, self.delivered_at) = (now, now);
        }
        Snapshot {
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            in_flight: in_flight + len,
            lost: self.lost,
            is_app_limited: self.limited_until > 0,
        }
    }

    pub(super) fn on_arrival(&mut self, now: Instant, len: u64, sent: Option<Sent>) {
        self.delivered += len;
        self.newly_delivered += len;
        self.delivered_at = now;
        if let Some(sent) = sent
            && self.newest.is_none_or(|newest| sent.is_after(&newest))
        {
            self.newest = Some(sent);
        }
        if self.limited_until > 0 && self.delivered > self.limited_until {
            self.limited_until = 0;
        }
    }

    /// Notes that the application has nothing to send beyond `in_flight`.
    pub(super) fn note_app_limited(&mut self, in_flight: u64) {
        self.limited_until = (self.delivered + in_flight).max(1);
    }

    /// Returns what the acknowledgment at hand says; `least` is the least round trip.
    pub(super) fn sample(&mut self, now: Instant, least: Option<Duration>) -> Option<Sample> {
        let newly_delivered = core::mem::take(&mut self.newly_delivered);
        let sent = self.newest.take()?;
        let then = sent.then;
        self.first_sent_at = self.first_sent_at.max(sent.at);
        let sending = sent.at.saturating_since(then.first_sent_at);
        let interval = sending.max(now.saturating_since(then.delivered_at));
        let is_long = interval > Duration::ZERO && least.is_none_or(|least| interval >= least);
        let delivered = (self.delivered - then.delivered) as f64;
        let rate = if is_long { delivered / interval.as_secs_f64() } else { 0.0 };
        let round_trip = (!sent.repeated).then(|| now.saturating_since(sent.at));
        Some(Sample { rate, then, newly_delivered, round_trip })
    }
}
