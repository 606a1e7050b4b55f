//! The watchdog: stops a network in which things keep happening and time does not advance.

use core::fmt;
use std::collections::BTreeMap;

use windfall_base::{Duration, Instant};

/// Steps at one instant before the network counts as stalled, unless told otherwise.
///
/// Some seconds of work: 100 MB over a link that takes no time are about a tenth of it.
const LIMIT: u64 = 1 << 23;
/// Time that crawls has not advanced either: in so short a span of it, all instants together may
/// take [`SHARE`] times as many steps as one of them.
const SPAN: Duration = Duration::from_millis(1);
/// The share of a limit; see [`SPAN`].
const SHARE: u64 = 2;
/// The last steps before the limit, of which it is noted where they happen.
const SAMPLE: u64 = 1 << 12;
/// Elements that a [`Stall`] names.
const NAMED: usize = 6;

/// Simulated time does not advance: too much happens at one instant, or at instants close together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stall {
    /// The instant, or the last of them.
    pub at: Instant,
    /// Steps taken at it, or at all of them.
    pub steps: u64,
    /// The names of the elements that took the last steps, the busiest first.
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
    /// Steps at this instant.
    steps: u64,
    /// Steps at all earlier instants.
    before: u64,
    /// When the span began, and the steps before it.
    since: Instant,
    before_span: u64,
    limit: u64,
    /// Steps that this instant may take.
    allowed: u64,
    /// The elements of the last steps before the limit, with their counts.
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
    /// Sets how many steps one instant may take.
    pub(crate) fn set_limit(&mut self, steps: u64) {
        self.limit = steps;
        self.allow();
    }

    /// Notes the time.
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
            // Where time crawls, the last steps are those of many instants.
            if self.allowed == self.limit && !self.busy.is_empty() {
                self.busy.clear();
            }
        }
    }

    fn allow(&mut self) {
        let left = self.limit.saturating_mul(SHARE).saturating_sub(self.before - self.before_span);
        self.allowed = self.limit.min(left);
    }

    /// Counts a step; false if it may not be taken.
    #[inline]
    pub(crate) fn step(&mut self) -> bool {
        let is_allowed = self.steps < self.allowed;
        self.steps += u64::from(is_allowed);
        is_allowed
    }

    /// Returns `true` near the limit, where the element of each step is to be noted.
    #[inline]
    pub(crate) fn is_watching(&self) -> bool {
        self.steps + SAMPLE > self.allowed
    }

    /// Notes the element of the step that was counted last.
    pub(crate) fn note(&mut self, element: usize) {
        *self.busy.entry(element).or_default() += 1;
    }

    /// The steps taken since the beginning.
    pub(crate) fn total(&self) -> u64 {
        self.before + self.steps
    }

    /// The instant that takes more steps than allowed, if there is one.
    #[inline]
    pub(crate) fn stalled(&self) -> Option<Instant> {
        (self.steps >= self.allowed).then_some(self.at)
    }

    /// Describes a stall at the instant, where elements have these names.
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
