//! The policy that estimates beside FLEX, in the same traces, and beside what could be reached.

use windfall_report::{Estimate, Table, statistics};
use windfall_scenario::{Environment, PolicyKind};

use super::coded::{self, Air, Cell};
use crate::experiment::{Band, Claim, Context, Extent};

/// Bytes of a sprayed packet with its frame check.
const STREAM: usize = 1_200;
/// The least ratio of the mean of the estimating policy to that of FLEX.
const CLEARLY: f64 = 1.02;
/// The ratio in a place that is no loss.
const NO_LOSS: f64 = 0.99;

fn rates(cells: &[Cell], place: Environment, policy: PolicyKind) -> Vec<f64> {
    coded::of(cells, place, policy).map_or_else(Vec::new, |cell| cell.udp.clone())
}

/// The estimating policy to FLEX in one place, trace by trace.
fn ratio(cells: &[Cell], place: Environment) -> Estimate {
    let [best, flex] = [PolicyKind::Best, PolicyKind::Flex].map(|it| rates(cells, place, it));
    let ratios = best.iter().zip(&flex).map(|(best, flex)| best / flex);
    Estimate::mean(&ratios.collect::<Vec<_>>())
}

//= S3.16
//= S3.45
/// That estimating beats FLEX on average, and loses nowhere.
pub(super) fn claims(cells: &[Cell]) -> Vec<Claim> {
    let sum = |policy: PolicyKind, trace: usize| -> f64 {
        let places = Environment::ALL.into_iter();
        places.filter_map(|place| rates(cells, place, policy).get(trace).copied()).sum()
    };
    let traces = cells.first().map_or(0, |cell| cell.udp.len());
    let overall =
        (0..traces).map(|trace| sum(PolicyKind::Best, trace) / sum(PolicyKind::Flex, trace));
    let nowhere = Claim::ours("S3.45", "and it loses nowhere");
    let no_loss = || Band::from(NO_LOSS, "no loss of more than 1 %: ours");
    vec![
        Claim::ours("S3.45", "a policy that estimates the air clearly beats FLEX on average")
            .compare(
                "UDP, mean over places to that of FLEX",
                Estimate::mean(&overall.collect::<Vec<_>>()),
                Band::from(CLEARLY, "clearly: ours"),
            ),
        Environment::ALL.into_iter().fold(nowhere, |claim, place| {
            claim.compare(place.to_string(), ratio(cells, place), no_loss())
        }),
    ]
}

/// Both policies, their ratio, and the bound.
pub(super) fn table(context: &Context<'_>, cells: &[Cell]) -> Table {
    let names = ["place", "flex KB/s", "best KB/s", "best / flex", "bound KB/s"];
    let mut table = Table::new(names);
    let traces = if context.extent == Extent::Quick { 1 } else { 4 };
    let bound = |place| {
        let bounds = context.replicate(traces, |seed| Air::new(place, seed).bound(STREAM));
        statistics::mean(&bounds).unwrap_or(f64::NAN)
    };
    let mean = |place, policy| statistics::mean(&rates(cells, place, policy)).unwrap_or(f64::NAN);
    // What the model of a frame's cost leaves out is the same everywhere: where nothing is damaged,
    // the bound is what full frames carry.
    let office = Environment::Office;
    let scale = mean(office, PolicyKind::Best) / bound(office);
    for place in Environment::ALL {
        let values = [
            mean(place, PolicyKind::Flex),
            mean(place, PolicyKind::Best),
            ratio(cells, place).value,
            bound(place) * scale,
        ];
        let values = values.map(|value| format!("{value:.2}"));
        table.push(core::iter::once(place.to_string()).chain(values));
    }
    table
}
