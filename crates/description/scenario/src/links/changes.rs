//! The changes of a pipe while a scenario runs: what its path becomes, and when.

use windfall_base::{Duration, Instant, Rate, Seed};
use windfall_channel::{Line, PathConfig};

use crate::change::{Change, STEP};
use crate::error::Fault;
use crate::link::Link;
use crate::model::Scenario;
use crate::plan::Files;
use crate::settings::Settings;
use crate::values::Get;

/// Returns what a direction of a pipe, which begins as `first`, becomes, and when.
pub(super) fn of_path(
    (link, is_uplink): (&Link, bool),
    first: &PathConfig,
    scenario: &Scenario,
    files: &mut Files<'_, '_>,
    place: Seed,
) -> Result<Vec<(Instant, PathConfig)>, Fault> {
    let mut changes: Vec<&Change> =
        scenario.changes.iter().filter(|change| change.is_of(link)).collect();
    changes.sort_by_key(|change| *change.at.get_ref());
    let mut direction = link.direction(is_uplink);
    let mut steps: Vec<(Instant, PathConfig)> = Vec::new();
    for change in changes {
        direction.overlay(&change.both);
        direction.overlay(if is_uplink { &change.uplink } else { &change.downlink });
        let next = super::path(&direction, files, place)?;
        let at = Instant::START + *change.at.get_ref();
        // A change ends a gradual one that is not over.
        steps.truncate(steps.partition_point(|(earlier, _)| *earlier < at));
        let before = steps.last().map_or(first, |(_, path)| path).clone();
        let over = change.over.value().unwrap_or(Duration::ZERO);
        let count = (over.as_nanos() / STEP.as_nanos()).max(1);
        let gradual = (1..=count).map(|step| {
            let when = if count == 1 { over } else { STEP * step };
            (at + when, between(&before, &next, step as f64 / count as f64))
        });
        if over == Duration::ZERO {
            steps.push((at, next));
        } else {
            steps.push((at, between(&before, &next, 0.0)));
            steps.extend(gradual);
        }
    }
    Ok(steps)
}

/// Returns a path on its way from one state to the next, of which all but rate and delay counts.
fn between(before: &PathConfig, next: &PathConfig, share: f64) -> PathConfig {
    let mix = |from: u64, to: u64| from as f64 + (to as f64 - from as f64) * share;
    let delay = mix(before.delay.as_nanos(), next.delay.as_nanos());
    let line = match (&before.line, &next.line) {
        (Line::Rate(from), Line::Rate(to)) => {
            let rate = Rate::from_bps(mix(from.as_bps(), to.as_bps()).round() as u64);
            rate.map_or_else(|| next.line.clone(), Line::Rate)
        }
        _ => next.line.clone(),
    };
    PathConfig { line, delay: Duration::from_nanos(delay.round() as u64), ..next.clone() }
}
