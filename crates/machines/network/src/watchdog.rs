//! The watchdog: stops a network that keeps processing events while time does not advance.

use core::fmt;
use std::collections::BTreeMap;

use windfall_base::{Duration, Instant};

/// The default maximum of steps at one instant.
///
/// It takes some seconds. 100 MB over a link without transmission time take about a tenth of it.
const LIMIT: u64 = 1 << 23;
/// The span for a second limit, against time that advances too slowly: all instants within the span
/// may together take [`SHARE`] times as many steps as one instant.
const SPAN: Duration = Duration::from_millis(1);
/// The ratio of the two limits; see [`SPAN`].
const SHARE: u64 = 2;
/// The number of last steps before the limit for which the element is recorded.
const SAMPLE: u64 = 1 << 12;
/// The number of elements that a [`Stall`] names.
const NAMED: usize = 6;

/// A stall: simulated time does not advance, because of too many steps at one instant or within a
/// span.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stall {
    /// The instant, or the last instant of the span.
    pub at: Instant,
    /// The number of steps at the instant, or within the span.
    pub steps: u64,
    /// The names of the elements that took the last steps, the most active one first.
    pub elements: Vec<String>,
}

impl fmt::Display for Stall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at, steps, elements } = self;
        let seconds = (*at - Instant::START).as_secs_f64();
        let elements = elements.join(", ");
        write!(
            f,
            "time does not advance at {seconds:.9} s after {steps} steps, the last of them at \
             {elements}: give the links there a rate or a delay"
        )
    }
}

impl core::error::Error for Stall {}

/// Counts the steps of a network.
#[derive(Clone, Debug)]
pub(crate) struct Watchdog {
    at: Instant,
    /// The number of steps at this instant.
    steps: u64,
    /// The number of steps at all earlier instants.
    before: u64,
    /// The beginning of the span, and the number of steps before it.
    since: Instant,
    before_span: u64,
    limit: u64,
    /// The number of steps that this instant may take.
    allowed: u64,
    /// The number of last steps before the limit, by element.
    busy: BTreeMap<usize, u64>,
}

impl Default for Watchdog {
    fn default() -> Self {
        Self {
            at: Instant::START,
            steps: 0,
            before: 0,
            since: Instant::START,
            before_span: 0,
            limit: LIMIT,
            allowed: LIMIT,
            busy: BTreeMap::new(),
        }
    }
}

impl Watchdog {
    /// Sets the maximum number of steps at one instant.
    pub(crate) fn set_limit(&mut self, steps: u64) {
        self.limit = steps;
        self.allow();
    }

    /// Records the current time.
    #[inline]
    pub(crate) fn enter(&mut self, now: Instant) {
        if now != self.at {
            self.at = now;
            self.before += self.steps;
            self.steps = 0;
            if now >= self.since + SPAN {
                (self.since, self.before_span) = (now, self.before);
            }
            self.allow();
            // If time advances slowly, the last steps belong to many instants.
            if self.allowed == self.limit && !self.busy.is_empty() {
                self.busy.clear();
            }
        }
    }

    fn allow(&mut self) {
        let left = self.limit.saturating_mul(SHARE).saturating_sub(self.before - self.before_span);
        self.allowed = self.limit.min(left);
    }

    /// Counts a step; returns `false` if the step is not allowed.
    #[inline]
    pub(crate) fn step(&mut self) -> bool {
        let is_allowed = self.steps < self.allowed;
        self.steps += u64::from(is_allowed);
        is_allowed
    }

    /// Returns `true` close to the limit, where the element of each step is recorded.
    #[inline]
    pub(crate) fn is_watching(&self) -> bool {
        self.steps + SAMPLE > self.allowed
    }

    /// Records the element of the last counted step.
    pub(crate) fn note(&mut self, element: usize) {
        *self.busy.entry(element).or_default() += 1;
    }

    /// Returns the number of steps since the beginning.
    pub(crate) fn total(&self) -> u64 {
        self.before + self.steps
    }

    /// Returns the instant at which the limit was reached, if there is one.
    #[inline]
    pub(crate) fn stalled(&self) -> Option<Instant> {
        (self.steps >= self.allowed).then_some(self.at)
    }

    /// Describes a stall; `names` are the names of the elements.
    pub(crate) fn stall(&self, names: &[String]) -> Option<Stall> {
        let at = self.stalled()?;
        let mut busy: Vec<(u64, usize)> = self.busy.iter().map(|(at, n)| (*n, *at)).collect();
        busy.sort_unstable_by_key(|&(steps, element)| (core::cmp::Reverse(steps), element));
        let elements = busy.iter().take(NAMED).map(|&(_, element)| names[element].clone());
        let is_crawl = self.allowed < self.limit;
        let steps = if is_crawl { self.total() - self.before_span } else { self.steps };
        Some(Stall { at, steps, elements: elements.collect() })
    }
}
