//! The delivery rate (draft-ietf-ccwg-bbr, section 4.1): the data delivered between the sending of
//! a segment and its acknowledgment.

use std::collections::VecDeque;

use windfall_base::{Duration, Instant};

use super::flight::{Flight, Sent};

/// The state of the delivery when something left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Snapshot {
    pub left_at: Instant,
    pub delivered: u64,
    pub delivered_at: Instant,
    pub first_sent_at: Instant,
    /// In flight with it.
    pub in_flight: u64,
    pub lost: u64,
    pub is_app_limited: bool,
}

/// The counts of delivered and lost data.
#[derive(Clone, Debug)]
pub(super) struct Rates {
    pub(super) delivered: u64,
    delivered_at: Instant,
    first_sent_at: Instant,
    pub(super) lost: u64,
    /// Until this is delivered, the application limits the rate; 0 if it does not.
    limited_until: u64,
    /// The latest transmission that the acknowledgment at hand covers, and the bytes that it does.
    newest: Option<Sent>,
    /// The segment overtook earlier ones: its round trip is not that of the path.
    overtook: bool,
    pub(super) newly_delivered: u64,
    /// The state when each piece in flight left, and the number of the first of them: apart from
    /// the record of pieces, which every TCP keeps.
    snapshots: VecDeque<Snapshot>,
    first: u32,
}

/// The delivery-rate sample of one acknowledgment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    /// Bytes per second; 0 if the interval was too short.
    pub rate: f64,
    pub then: Snapshot,
    pub newly_delivered: u64,
    pub round_trip: Option<Duration>,
}

impl Rates {
    /// Begins with a rate that the application limits: nothing has filled the path yet.
    pub(super) fn new() -> Self {
        Self {
            delivered: 0,
            delivered_at: Instant::START,
            first_sent_at: Instant::START,
            lost: 0,
            limited_until: 1,
            newest: None,
            overtook: false,
            newly_delivered: 0,
            snapshots: VecDeque::new(),
            first: 0,
        }
    }

    /// Takes the picture for something of `len` bytes that leaves beside `in_flight` others;
    /// returns its number.
    pub(super) fn on_sent(&mut self, now: Instant, len: u64, in_flight: u64) -> u32 {
        if in_flight == 0 {
            (self.first_sent_at, self.delivered_at) = (now, now);
        }
        let it = Snapshot {
            left_at: now,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            in_flight: in_flight + len,
            lost: self.lost,
            is_app_limited: self.limited_until > 0,
        };
        match self.snapshots.back_mut() {
            Some(last) if (last.left_at, last.delivered) == (now, it.delivered) => *last = it,
            _ => self.snapshots.push_back(it),
        }
        self.first.wrapping_add(self.snapshots.len() as u32 - 1)
    }

    /// Returns the picture with a number.
    pub(super) fn snapshot(&self, number: u32) -> Option<Snapshot> {
        self.snapshots.get(number.wrapping_sub(self.first) as usize).copied()
    }

    /// Takes back every loss counted after the first `lost` bytes, from the snapshots too: segments
    /// in flight meanwhile are not judged by them.
    pub(super) fn take_back_losses(&mut self, lost: u64) {
        self.lost = self.lost.min(lost);
        self.snapshots.iter_mut().for_each(|it| it.lost = it.lost.min(lost));
    }

    /// Drops the snapshots of data that are no longer in flight.
    pub(super) fn release(&mut self, flight: &Flight) {
        let ages = flight.fronts().map(|sent| sent.then.wrapping_sub(self.first) as usize);
        let gone = ages.min().unwrap_or(usize::MAX).min(self.snapshots.len());
        self.snapshots.drain(..gone);
        self.first = self.first.wrapping_add(gone as u32);
    }

    /// Counts `len` delivered bytes, which `overtook` earlier ones or not.
    pub(super) fn on_arrival(
        &mut self,
        now: Instant,
        len: u64,
        sent: Option<Sent>,
        overtook: bool,
    ) {
        self.delivered += len;
        self.newly_delivered += len;
        self.delivered_at = now;
        if let Some(sent) = sent
            && self.newest.is_none_or(|newest| sent.is_after(&newest))
        {
            (self.newest, self.overtook) = (Some(sent), overtook);
        }
        if self.limited_until > 0 && self.delivered > self.limited_until {
            self.limited_until = 0;
        }
    }

    /// Notes that the application has nothing to send beyond `in_flight`.
    pub(super) fn note_app_limited(&mut self, in_flight: u64) {
        self.limited_until = (self.delivered + in_flight).max(1);
    }

    /// Returns the sample of the current acknowledgment; `least` is the minimum round trip.
    pub(super) fn sample(&mut self, now: Instant, least: Option<Duration>) -> Option<Sample> {
        let newly_delivered = core::mem::take(&mut self.newly_delivered);
        let sent = self.newest.take()?;
        let then = self.snapshot(sent.then)?;
        self.first_sent_at = self.first_sent_at.max(sent.at);
        let sending = sent.at.saturating_since(then.first_sent_at);
        let interval = sending.max(now.saturating_since(then.delivered_at));
        let is_long = interval > Duration::ZERO && least.is_none_or(|least| interval >= least);
        let delivered = (self.delivered - then.delivered) as f64;
        let rate = if is_long { delivered / interval.as_secs_f64() } else { 0.0 };
        let is_of_path = !sent.repeated && !self.overtook;
        let round_trip = is_of_path.then(|| now.saturating_since(sent.at));
        Some(Sample { rate, then, newly_delivered, round_trip })
    }
}
