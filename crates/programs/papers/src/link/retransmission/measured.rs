//! Transfers by the kernel's TCP, for Figures 1 to 7.

use windfall_base::Seed;

use super::bursts::{BUFFER, Burst, Runs};
use crate::experiment::kernel::{self, Transfer, Transferred};
use crate::experiment::{Context, ExperimentError};

/// Makes `runs` transfers for each of `bursts`; the results are in the order of the bursts.
pub(super) fn sweep(
    context: &Context<'_>,
    figure: &'static str,
    scenario: &'static str,
    bursts: &[Burst],
    runs: &Runs,
) -> Result<Vec<Vec<Transferred>>, ExperimentError> {
    let transfers: Vec<_> = bursts
        .iter()
        .flat_map(|burst| (0..runs.each).map(move |run| (burst, run)))
        .map(|(burst, run)| Transfer {
            figure,
            scenario,
            uplink: burst.toml(),
            bytes: runs.bytes,
            buffer: BUFFER,
            seed: Seed(context.seed.0.wrapping_add(run)),
            capture: false,
        })
        .collect();
    let done = kernel::all(context, &transfers)?;
    Ok(done.chunks(runs.each as usize).map(<[Transferred]>::to_vec).collect())
}

/// One transfer with a capture at the sender.
pub(super) fn captured(
    context: &Context<'_>,
    figure: &'static str,
    scenario: &'static str,
    burst: Burst,
    bytes: u64,
) -> Result<Transferred, ExperimentError> {
    let uplink = burst.toml();
    let seed = context.seed;
    let buffer = BUFFER;
    let transfer = Transfer { figure, scenario, uplink, bytes, buffer, seed, capture: true };
    let mut done = kernel::all(context, &[transfer])?;
    done.pop()
        .ok_or_else(|| ExperimentError::Scenario { figure, message: "nothing was run".to_owned() })
}
