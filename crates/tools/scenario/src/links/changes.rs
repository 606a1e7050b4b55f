//! The changes of a pipe while a scenario runs: what its path becomes, and when.

use windfall_base::{Duration, Instant, Rate, Seed};
use windfall_channel::{Line, PathConfig};
use windfall_settings::{Get, Settings};

use crate::change::{Change, STEP};
use crate::direction::Direction;
use crate::error::SettingFault;
use crate::link::Link;
use crate::model::Scenario;
use crate::plan::Files;
use crate::side::Side;

/// The states of a path, each from its time on.
type Steps = Vec<(Instant, PathConfig)>;

/// Returns what a direction of a pipe, which begins as `first`, becomes, and when.
pub(super) fn of_path(
    (link, side): (&Link, Side),
    first: &PathConfig,
    scenario: &Scenario,
    files: &mut Files<'_, '_>,
    trace_salt: Seed,
) -> Result<Steps, SettingFault> {
    let mut changes: Vec<&Change> =
        scenario.changes.iter().filter(|change| change.is_of(link)).collect();
    changes.sort_by_key(|change| *change.at.get_ref());
    let mut direction = link.direction(side);
    let mut steps = Steps::new();
    for change in changes {
        let said = change.of_side(side);
        if said.is_unset() {
            continue;
        }
        let had_rate = direction.has_constant_rate();
        direction.overlay(&said);
        check((&direction, link.mtu()), (change, &said), had_rate)?;
        let next = super::path(&direction, &scenario.flows, files, trace_salt)?;
        apply(&mut steps, first, &next, (change, &said));
    }
    Ok(steps)
}

/// Adds a change to the states of a path. What it does not say goes on as it is, also where it
/// changes gradually.
fn apply(steps: &mut Steps, first: &PathConfig, next: &PathConfig, (change, said): Said<'_>) {
    let at = Instant::START + *change.at.get_ref();
    let before = state_at(steps, at).unwrap_or(first).clone();
    let rest = steps.split_off(steps.partition_point(|(earlier, _)| *earlier < at));
    let own = gradual(&before, next, at, change.over.value().unwrap_or(Duration::ZERO));
    let mut times: Vec<Instant> = own.iter().chain(&rest).map(|(time, _)| *time).collect();
    times.sort_unstable();
    times.dedup();
    let says_rate = said.rate.is_some() || said.rate_trace.is_some() || said.once.is_some();
    for time in times {
        let [own, kept] = [&own, &rest].map(|steps| state_at(steps, time).unwrap_or(&before));
        let line = if says_rate { own } else { kept }.line.clone();
        let delay = if said.delay.is_some() { own } else { kept }.delay;
        let state = PathConfig { line, delay, ..next.clone() };
        // A state that is no other one must draw no other numbers.
        if steps.last().map_or(first, |(_, last)| last) != &state {
            steps.push((time, state));
        }
    }
}

/// A change, and what it says of one direction.
type Said<'a> = (&'a Change, &'a Direction);

/// Returns the last of the states that is reached at a time.
fn state_at(steps: &Steps, time: Instant) -> Option<&PathConfig> {
    steps[..steps.partition_point(|(at, _)| *at <= time)].last().map(|(_, path)| path)
}

/// Returns the states from one to the next, of which the first is at `at`.
fn gradual(before: &PathConfig, next: &PathConfig, at: Instant, over: Duration) -> Steps {
    if over == Duration::ZERO {
        return vec![(at, next.clone())];
    }
    let count = over.as_nanos().div_ceil(STEP.as_nanos());
    let step = |number: u64| {
        let share = u128::from(over.as_nanos()) * u128::from(number) / u128::from(count);
        let when = Duration::from_nanos(share as u64);
        (at + when, between(before, next, number as f64 / count as f64))
    };
    (0..=count).map(step).collect()
}

/// Refuses settings of a change that have no effect with all that holds then.
fn check(
    (direction, mtu): (&Direction, u16),
    (change, said): Said<'_>,
    had_rate: bool,
) -> Result<(), SettingFault> {
    crate::effect::check_bucket(direction, mtu)?;
    if change.over.is_some() && said.rate.is_some() && !had_rate {
        let message = "over changes nothing here without a rate before: add it, or remove over";
        return Err(SettingFault::at(change.at.span(), message));
    }
    if change.over.is_some() && said.rate.is_some() && !direction.has_constant_rate() {
        let message =
            "over changes nothing here, since no rate leads to rate = \"none\": remove it";
        return Err(SettingFault::at(change.at.span(), message));
    }
    crate::effect::needs(said, core::slice::from_ref(direction), Some(&change.at.span()))
}

/// Returns a path on its way from one state to the next, of which all but rate and delay counts.
fn between(before: &PathConfig, next: &PathConfig, share: f64) -> PathConfig {
    let mix = |from: u64, to: u64| from as f64 + (to as f64 - from as f64) * share;
    let delay = mix(before.delay.as_nanos(), next.delay.as_nanos());
    let line = match (bps(&before.line), bps(&next.line)) {
        (Some(from), Some(to)) => {
            Rate::from_bps(mix(from, to).round() as u64).map_or(Line::Paused, Line::Rate)
        }
        _ => next.line.clone(),
    };
    PathConfig { line, delay: Duration::from_nanos(delay.round() as u64), ..next.clone() }
}

/// Returns the bits that a line of a constant rate carries in a second.
fn bps(line: &Line) -> Option<u64> {
    match line {
        Line::Rate(rate) => Some(rate.as_bps()),
        Line::Paused => Some(0),
        Line::Instant | Line::Trace(_) => None,
    }
}
