//! The activity of a station in a run, and the energy that it took.

use windfall_base::Duration;
use windfall_mac::wifi::radio::{Airtime, State};
use windfall_tcp::Operations;

use crate::model::EnergyModel;
use crate::processor::ProcessorCost;

/// The work of a station in a run, as far as it takes energy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StationUsage {
    /// The time of its radios in each state; all of them have the card of the model.
    pub airtime: Airtime,
    /// The steps of its TCP.
    pub operations: Operations,
    /// The length of the run.
    pub span: Duration,
}

impl StationUsage {
    /// Returns the work since `earlier`, a moment of the same run.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let mut airtime = Airtime::default();
        for state in State::ALL {
            let time = self.airtime.of(state).saturating_sub(earlier.airtime.of(state));
            airtime.add(state, time);
        }
        Self {
            airtime,
            operations: self.operations.since(&earlier.operations),
            span: self.span.saturating_sub(earlier.span),
        }
    }
}

/// The energy of a station, in joules.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StationEnergy {
    /// The energy of its radios in each state, in the order of [`State::ALL`].
    pub radio: [f64; State::ALL.len()],
    /// The energy of everything that is there whether it sends or not.
    pub platform: f64,
    /// The energy of TCP's steps.
    pub processor: ProcessorCost,
}

impl StationEnergy {
    /// Returns the energy of the radios in all states.
    #[must_use]
    pub fn of_radio(&self) -> f64 {
        self.radio.iter().sum()
    }

    /// Returns the whole energy.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.of_radio() + self.platform + self.processor.total()
    }

    /// Returns the energy of each part with its name: the platform, the states of the radio, the
    /// kinds of steps.
    pub fn parts(&self) -> impl Iterator<Item = (&'static str, f64)> {
        let radio = State::ALL.map(State::name).into_iter().zip(self.radio);
        core::iter::once(("platform", self.platform)).chain(radio).chain(self.processor.parts())
    }
}

impl EnergyModel {
    //= S2.22
    //= S2.28
    /// Computes the energy of a station: the sum of I·V·t over the states of its radios, its
    /// platform, and its steps of TCP.
    #[must_use]
    pub fn energy(&self, usage: &StationUsage) -> StationEnergy {
        let of = |state| self.card.watts(state) * usage.airtime.of(state).as_secs_f64();
        StationEnergy {
            radio: State::ALL.map(of),
            platform: self.platform_watts * usage.span.as_secs_f64(),
            processor: self.processor.cost(&usage.operations, &self.system),
        }
    }

    //= S2.27
    /// Returns how long its battery lasts if the station goes on as in the run; `None` without a
    /// battery, or if nothing is drawn.
    #[must_use]
    pub fn lifetime(&self, usage: &StationUsage) -> Option<Duration> {
        self.battery?.lifetime(self.energy(usage).total() / usage.span.as_secs_f64())
    }
}

/// Joules for each byte that arrived; `None` if none did.
#[must_use]
pub fn joules_per_byte(joules: f64, delivered_bytes: u64) -> Option<f64> {
    (delivered_bytes > 0).then(|| joules / delivered_bytes as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::processor::Processor;
    use crate::{Battery, Card};

    fn usage() -> StationUsage {
        let mut airtime = Airtime::default();
        airtime.add(State::Transmit, Duration::from_secs(2));
        airtime.add(State::Listen, Duration::from_secs(8));
        let operations = Operations { segments_sent: 100, acks_received: 50, ..Default::default() };
        StationUsage { airtime, operations, span: Duration::from_secs(10) }
    }

    fn model() -> EnergyModel {
        EnergyModel {
            card: Card::WAVELAN,
            platform_watts: 3.0,
            processor: Processor::SHARES.times(0.02),
            battery: Some(Battery::new(10.0, 0.0).unwrap()),
            ..EnergyModel::named("test")
        }
    }

    //= S2.28
    #[test]
    fn the_energy_of_a_station_is_that_of_its_parts() {
        let energy = model().energy(&usage());
        assert!((energy.of_radio() - (2.0 * 1.4 + 8.0 * 0.9)).abs() < 1e-12);
        assert!((energy.platform - 30.0).abs() < 1e-12);
        assert!(energy.processor.interrupts > 0.0 && energy.processor.acknowledgments > 0.0);
        let parts: f64 = energy.parts().map(|(_, joules)| joules).sum();
        assert!((parts - energy.total()).abs() < 1e-9);
        let names: std::collections::BTreeSet<_> = energy.parts().map(|(name, _)| name).collect();
        assert_eq!(names.len(), energy.parts().count(), "no name stands for two parts");
    }

    //= S2.27
    #[test]
    fn a_battery_lasts_at_the_mean_power_of_the_run() {
        let model = model();
        let usage = usage();
        let watts = model.energy(&usage).total() / 10.0;
        let expected = 36_000.0 / watts;
        let lifetime = model.lifetime(&usage).unwrap().as_secs_f64();
        assert!((lifetime - expected).abs() < 1e-6, "{lifetime} {expected}");
        assert_eq!(EnergyModel { battery: None, ..model.clone() }.lifetime(&usage), None);
        assert_eq!(model.lifetime(&StationUsage::default()), None, "a run of no length");
    }

    #[test]
    fn the_work_since_a_moment_is_what_was_added() {
        let earlier = usage();
        let mut later = usage();
        assert_eq!(later.since(&earlier), StationUsage::default());
        later.airtime.add(State::Transmit, Duration::from_secs(3));
        later.operations.segments_sent += 7;
        later.span = Duration::from_secs(13);
        let since = later.since(&earlier);
        assert_eq!(since.airtime.of(State::Transmit), Duration::from_secs(3));
        assert_eq!((since.operations.segments_sent, since.operations.acks_received), (7, 0));
        assert_eq!(since.span, Duration::from_secs(3));
    }

    #[test]
    fn a_byte_costs_something_only_if_it_arrived() {
        assert_eq!(joules_per_byte(1.0, 0), None);
        assert_eq!(joules_per_byte(1.0, 4), Some(0.25));
    }
}
