//! Busy flows of steady error rates: what the closed forms say of them, and what the scheduler
//! gives.

use windfall_base::Stream;
use windfall_experiment::{Context, ExperimentError, Extent, Figure};
use windfall_queue::share::{Demand, with_reservations};
use windfall_queue::{FlowConfig, Service};

use super::slots::{Course, Flow};

/// Busy flows on one link.
#[derive(Clone, Debug, Default)]
pub(super) struct Mix {
    /// Flows with reservations; their weights are shares of the error-free link.
    pub(super) reserved: Vec<Demand>,
    /// The best-effort flows.
    pub(super) best_effort: Vec<Demand>,
}

/// A flow by its weight, power factor and error rate.
pub(super) fn demand((weight, power_factor, error_rate): (f64, f64, f64)) -> Demand {
    Demand { weight, power_factor, error_rate }
}

impl Mix {
    /// Flows by their weights, power factors and error rates.
    pub(super) fn new(reserved: &[(f64, f64, f64)], best_effort: &[(f64, f64, f64)]) -> Self {
        let all = |flows: &[(f64, f64, f64)]| flows.iter().copied().map(demand).collect();
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

    /// Returns each flow's part of `slots` slots by the scheduler, as shares of them.
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
        slots: usize,
    ) -> Result<Vec<Service>, ExperimentError> {
        let flow = |(place, flow): (usize, &Demand)| {
            let Demand { weight, power_factor, .. } = *flow;
            let config = FlowConfig { weight, power_factor, reserved: place < self.reserved.len() };
            Flow { name: "", config, expected: weight }
        };
        let flows: Vec<Flow> = self.flows().enumerate().map(flow).collect();
        let mut decks: Vec<Deck> = self.flows().map(|flow| Deck::new(flow.error_rate)).collect();
        let mut random = Stream::new(context.seed, figure.name);
        let course =
            Course::run(figure.name, &flows, slots, |flow, _| !decks[flow].draw(&mut random))?;
        let had =
            |flow| Service { effort: course.effort(flow), outcome: course.share(flow, 0..slots) };
        Ok((0..flows.len()).map(had).collect())
    }
}

/// Returns the number of slots that such flows are given.
pub(super) fn slots(extent: Extent) -> usize {
    match extent {
        Extent::Quick => 200_000,
        Extent::Paper => 1_000_000,
        Extent::Full => 10_000_000,
    }
}

/// Losses of an exact rate, in whole per cent, in random order.
pub(super) struct Deck {
    rate: f64,
    left: f64,
    bad: f64,
}

impl Deck {
    pub(super) fn new(rate: f64) -> Self {
        Self { rate, left: 0.0, bad: 0.0 }
    }

    /// Draws whether the next packet is lost.
    pub(super) fn draw(&mut self, random: &mut Stream) -> bool {
        if self.left < 1.0 {
            (self.left, self.bad) = (100.0, (100.0 * self.rate).round());
        }
        let lost = random.unit() * self.left < self.bad;
        self.left -= 1.0;
        self.bad -= f64::from(u8::from(lost));
        lost
    }
}

#[cfg(test)]
mod tests {
    use windfall_base::Seed;

    use super::*;

    #[test]
    fn of_each_hundred_packets_as_many_are_lost_as_was_said() {
        let mut random = Stream::new(Seed(1), "deck");
        for percent in [0_u32, 1, 37, 99, 100] {
            let mut deck = Deck::new(f64::from(percent) / 100.0);
            for _ in 0..20 {
                let lost = (0..100).filter(|_| deck.draw(&mut random)).count();
                assert_eq!(lost, percent as usize);
            }
        }
    }
}
