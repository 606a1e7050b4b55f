//! Busy flows of steady error rates: what the closed forms say of them, and what the scheduler
//! gives.

use core::ops::Range;

use windfall_base::{Seed, Stream};
use windfall_queue::share::{Demand, with_reservations};
use windfall_queue::{FlowConfig, Service};
use windfall_report::Estimate;

use super::slots::{Course, Flow, discipline};
use crate::experiment::{Context, ExperimentError, Extent, Figure};
use crate::link::losses::Deck;

/// Busy flows on one link.
#[derive(Clone, Debug, Default)]
pub(super) struct Mix {
    /// Flows with reservations; their weights are shares of the error-free link.
    pub(super) reserved: Vec<Demand>,
    /// The best-effort flows.
    pub(super) best_effort: Vec<Demand>,
}

impl Mix {
    /// Flows by their weights, power factors and error rates.
    pub(super) fn new(reserved: &[(f64, f64, f64)], best_effort: &[(f64, f64, f64)]) -> Self {
        let all = |flows: &[(f64, f64, f64)]| {
            let demand =
                |&(weight, power_factor, error_rate)| Demand { weight, power_factor, error_rate };
            flows.iter().map(demand).collect()
        };
        Self { reserved: all(reserved), best_effort: all(best_effort) }
    }

    /// All flows, those with reservations first.
    pub(super) fn flows(&self) -> impl Iterator<Item = &Demand> {
        self.reserved.iter().chain(&self.best_effort)
    }

    /// Returns the rate of each flow by the closed forms, as shares of the error-free link.
    pub(super) fn formula(&self) -> Vec<f64> {
        let (given, left) = with_reservations(&self.reserved, &self.best_effort, 1.0);
        given.into_iter().chain(left).collect()
    }

    /// Returns each flow's part of a link of slots by the scheduler, as shares of them, with each
    /// of several seeds.
    ///
    /// # Errors
    /// If a flow cannot be scheduled.
    pub(super) fn replicated(
        &self,
        figure: &Figure,
        context: &Context<'_>,
    ) -> Result<Scheduled, ExperimentError> {
        let slots = slots(context.extent);
        self.replicated_in(figure, context, 0..slots)
    }

    /// Does the same with each flow's part of the second half of the slots, when the beginning has
    /// no effect any more.
    ///
    /// # Errors
    /// If a flow cannot be scheduled.
    pub(super) fn settled(
        &self,
        figure: &Figure,
        context: &Context<'_>,
    ) -> Result<Scheduled, ExperimentError> {
        let slots = slots(context.extent);
        self.replicated_in(figure, context, slots / 2..slots)
    }

    fn replicated_in(
        &self,
        figure: &Figure,
        context: &Context<'_>,
        range: Range<usize>,
    ) -> Result<Scheduled, ExperimentError> {
        let run = |seed| self.scheduled(figure, context, seed, range.clone());
        let runs = context.replicate(runs(context.extent), run).into_iter();
        runs.collect::<Result<_, _>>().map(Scheduled)
    }

    /// Returns each flow's part of a range of slots by the scheduler, as shares of them.
    ///
    /// Of each hundred packets of a flow as many are lost as its error rate says, in random order,
    /// so that chance does not hide the work of the scheduler.
    ///
    /// # Errors
    /// If a flow cannot be scheduled.
    pub(super) fn scheduled(
        &self,
        figure: &Figure,
        context: &Context<'_>,
        seed: Seed,
        range: Range<usize>,
    ) -> Result<Vec<Service>, ExperimentError> {
        let flow = |(place, flow): (usize, &Demand)| {
            let Demand { weight, power_factor, .. } = *flow;
            let config = FlowConfig { weight, power_factor, reserved: place < self.reserved.len() };
            Flow { name: "", config, expected: weight }
        };
        let flows: Vec<Flow> = self.flows().enumerate().map(flow).collect();
        let mut decks: Vec<Deck> = self.flows().map(|flow| Deck::new(flow.error_rate)).collect();
        let mut random = Stream::new(seed, figure.name);
        let course =
            Course::run(figure.name, discipline(context), &flows, range.end, |flow, _| {
                !decks[flow].draw(&mut random)
            })?;
        let had = |flow| Service {
            effort: course.effort(flow, range.clone()),
            outcome: course.share(flow, range.clone()),
        };
        Ok((0..flows.len()).map(had).collect())
    }
}

/// The parts of each flow, with each seed.
pub(super) struct Scheduled(Vec<Vec<Service>>);

impl Scheduled {
    /// The mean of a value of each run.
    pub(super) fn mean(&self, of: impl Fn(&[Service]) -> f64) -> Estimate {
        Estimate::mean(&self.0.iter().map(|run| of(run)).collect::<Vec<_>>())
    }

    /// The outcome of one flow.
    pub(super) fn outcome(&self, flow: usize) -> Estimate {
        self.mean(|run| run[flow].outcome)
    }
}

/// Returns the number of slots that such flows are given with each seed.
pub(super) fn slots(extent: Extent) -> usize {
    match extent {
        Extent::Quick => 20_000,
        Extent::Paper => 200_000,
        Extent::Full => 2_000_000,
    }
}

/// Returns the number of seeds.
pub(super) fn runs(extent: Extent) -> usize {
    match extent {
        Extent::Quick => 3,
        Extent::Paper | Extent::Full => 10,
    }
}
