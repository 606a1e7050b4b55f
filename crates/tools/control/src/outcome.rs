//! What a run's kernels and programs came to, for its summary.

use windfall_live::RunOutcome;
use windfall_output::summary::{FailedProgram, StationSummary, named};
use windfall_scenario::Topology;

/// Returns the programs beside the command that failed.
#[must_use]
pub fn failed_programs(topology: &Topology, outcome: &RunOutcome) -> Vec<FailedProgram> {
    let failed = outcome.failed.iter().map(|failed| FailedProgram {
        station: topology
            .stations
            .get(failed.station)
            .map(|it| it.name.clone())
            .unwrap_or_default(),
        program: failed.line.clone(),
        status: failed.status,
    });
    failed.collect()
}

/// Returns the drops of each station, and the congestion control of its TCP.
#[must_use]
pub fn station_summaries(topology: &Topology, outcome: &RunOutcome) -> Vec<StationSummary> {
    let mut summaries: Vec<_> = (topology.stations.iter())
        .map(|station| StationSummary { name: station.name.clone(), ..StationSummary::default() })
        .collect();
    for (summary, drops) in summaries.iter_mut().zip(&outcome.drops) {
        summary.dropped_before = named(&drops.before);
        summary.dropped_after = named(&drops.after);
        summary.waiting = drops.waiting;
    }
    let kernels = summaries.iter_mut().zip(&topology.stations).zip(&outcome.counters);
    for ((summary, _), counters) in kernels.filter(|((_, station), _)| !station.simulated) {
        summary.congestion = counters.congestion().map(str::to_owned);
    }
    summaries
}
