//! TCP over the same radio without link-level error control: what coding and retransmission
//! recover.

use windfall_report::{Estimate, Table, statistics};
use windfall_scenario::{Environment, PolicyKind};

use super::coded::{self, Air, Cell};
use crate::experiment::{Band, Claim, Context, ExperimentError};

/// The share of what TCP has in the office that is left where it is seriously challenged, and where
/// it is essentially unable to operate.
const CHALLENGED: f64 = 0.5;
const UNABLE: f64 = 0.1;
/// The share of the office's throughput whose recovery is significant.
const SIGNIFICANT: f64 = 0.25;
/// The places of harsh errors.
const HARSH: [Environment; 3] = [Environment::Adjacent, Environment::Table, Environment::Walls];

/// The throughput of each transfer in each place, in KB/s; 0 of one that does not end.
pub(super) struct Baseline(Vec<(Environment, Vec<f64>)>);

impl Baseline {
    fn of(&self, place: Environment) -> &[f64] {
        self.0.iter().find(|row| row.0 == place).map_or(&[], |row| &row.1)
    }
}

/// Transfers in every place.
///
/// # Errors
/// If the scenario is wrong.
pub(super) fn transfers(
    context: &Context<'_>,
    figure: &'static str,
) -> Result<Baseline, ExperimentError> {
    let of = |place| {
        (context.progress)(&format!("no error control in {place}"));
        let rates = context.replicate(coded::traces(context), |seed| {
            Ok(coded::bare(figure, Air::new(place, seed))?.rate)
        });
        Ok((place, rates.into_iter().collect::<Result<_, _>>()?))
    };
    Environment::ALL.into_iter().map(of).collect::<Result<_, _>>().map(Baseline)
}

//= S3.22
/// Judges the throughput that is left without error control, and that it recovers.
pub(super) fn claims(baseline: &Baseline, cells: &[Cell]) -> [Claim; 2] {
    let office = statistics::mean(baseline.of(Environment::Office)).unwrap_or(f64::NAN);
    let shares = |rates: &[f64]| -> Vec<f64> { rates.iter().map(|rate| rate / office).collect() };
    let left = |place| Estimate::mean(&shares(baseline.of(place)));
    let without = Claim::paper(
        "S3.22",
        "section 4: “standard TCP without link-level error control would be seriously challenged \
         by the ‘walking’ trace and essentially unable to operate in environments represented by \
         the other three traces”",
        "without link-level error control walking challenges TCP, and the worse places stop it",
    )
    .compare(
        "walking, of the office",
        left(Environment::Walking),
        Band::to(CHALLENGED, "seriously challenged: half is lost, ours"),
    );
    let without = HARSH.into_iter().fold(without, |claim, place| {
        claim.compare(place.to_string(), left(place), Band::to(UNABLE, "a tenth: ours"))
    });
    let recovers = Claim::paper(
        "S3.22",
        "section 4: “link-level error control recovers significant throughput in even harsh error \
         conditions”",
        "error control recovers significant throughput in harsh places",
    );
    let recovers = HARSH.into_iter().fold(recovers, |claim, place| {
        let flex = coded::of(cells, place, PolicyKind::Flex).map_or(&[][..], |cell| &cell.tcp);
        let pairs = flex.iter().zip(baseline.of(place));
        let gains: Vec<f64> = pairs.map(|(with, without)| (with - without) / office).collect();
        claim.compare(
            format!("FLEX in {place}, more than without, of the office"),
            Estimate::mean(&gains),
            Band::from(SIGNIFICANT, "significant: a quarter, ours"),
        )
    });
    [without, recovers]
}

/// The throughput that is left in each place.
pub(super) fn table(baseline: &Baseline) -> Table {
    let mut table = Table::new(["place", "TCP KB/s without error control", "completed"]);
    for (place, rates) in &baseline.0 {
        let completed = rates.iter().filter(|rate| **rate > 0.0).count();
        table.push([
            place.to_string(),
            format!("{:.2}", statistics::mean(rates).unwrap_or(f64::NAN)),
            format!("{completed} of {}", rates.len()),
        ]);
    }
    table
}
