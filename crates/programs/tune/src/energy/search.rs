//! The search: one setting after the other, every value with the same seeds.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use windfall_base::Seed;
use windfall_report::Estimate;
use windfall_scenario::Scenario;

use super::measure::{Taken, measure};
use super::tuned::TunedSetting;
use super::{EnergyGoal, EnergyTuneError, EnergyTuning};

/// The values of the settings that differ from the scenario.
pub(super) type Choice = BTreeMap<TunedSetting, String>;

/// The seeds after which a value that is clearly worse is left.
const FIRST_SEEDS: usize = 3;
/// The rounds through all settings at most.
const ROUNDS: usize = 3;
/// A value must save this share to be worth a change.
const LEAST_SAVING: f64 = 0.001;
/// The share of the bytes a second that the longest lifetime must keep.
const LEAST_GOODPUT: f64 = 0.95;

/// A search that goes on.
pub(super) struct Search<'a, 'b> {
    pub(super) tuning: &'a EnergyTuning<'a>,
    progress: &'b mut dyn FnMut(usize) -> bool,
    /// The outcome of each run; `Err` where the choice cannot run.
    taken: BTreeMap<(Choice, u64), Result<Taken, String>>,
    /// The simulations that were made.
    pub(super) made: usize,
    /// The values that cannot run, with the reason.
    pub(super) refused: BTreeMap<(TunedSetting, String), String>,
}

impl<'a, 'b> Search<'a, 'b> {
    pub(super) fn new(
        tuning: &'a EnergyTuning<'a>,
        progress: &'b mut dyn FnMut(usize) -> bool,
    ) -> Self {
        Self { tuning, progress, taken: BTreeMap::new(), made: 0, refused: BTreeMap::new() }
    }

    /// Holds that the scenario as it stands can be compared with others.
    pub(super) fn check_base(&mut self) -> Result<(), EnergyTuneError> {
        let topology = (self.tuning.build)(self.tuning.scenario);
        let topology = topology.map_err(EnergyTuneError::Scenario)?;
        let models = || topology.stations.iter().filter_map(|it| it.energy.as_ref());
        if models().next().is_none() {
            return Err(EnergyTuneError::NoModel);
        }
        let goal = self.tuning.goal;
        if goal != EnergyGoal::Joules && models().all(|model| model.battery.is_none()) {
            return Err(EnergyTuneError::NoBattery(goal.name()));
        }
        let base = Choice::new();
        let seeds = self.tuning.seeds(false);
        self.make(core::slice::from_ref(&base), &seeds)?;
        for seed in seeds {
            match &self.taken[&(base.clone(), seed.0)] {
                Err(message) => return Err(EnergyTuneError::Scenario(message.clone())),
                Ok(taken) if taken.bytes <= 0.0 => return Err(EnergyTuneError::NothingReceived),
                Ok(_) => {}
            }
        }
        Ok(())
    }

    /// Goes through the settings until no value of any saves more.
    pub(super) fn descend(
        &mut self,
        settings: &[(TunedSetting, Vec<String>)],
    ) -> Result<Choice, EnergyTuneError> {
        let mut best = Choice::new();
        for _ in 0..ROUNDS {
            let before = best.clone();
            for (setting, values) in settings {
                best = self.turn(&best, *setting, values)?;
            }
            if best == before {
                break;
            }
        }
        Ok(best)
    }

    /// Returns the best value of one setting, where the others stay.
    fn turn(
        &mut self,
        from: &Choice,
        setting: TunedSetting,
        values: &[String],
    ) -> Result<Choice, EnergyTuneError> {
        let own = setting.current(self.tuning.scenario);
        let mut others: Vec<Choice> = Vec::new();
        for value in values.iter().chain([&own]) {
            let mut choice = from.clone();
            if *value == own {
                choice.remove(&setting);
            } else {
                choice.insert(setting, value.clone());
            }
            if choice != *from && !others.contains(&choice) {
                others.push(choice);
            }
        }
        let seeds = self.tuning.seeds(false);
        let first = &seeds[..FIRST_SEEDS.min(seeds.len())];
        self.make(core::slice::from_ref(from), &seeds)?;
        self.make(&others, first)?;
        self.note_refused(setting, &others, first);
        let is_worse = |estimate: Estimate| estimate.low >= 1.0 || estimate.value >= 1.05;
        others.retain(|it| self.cost_ratio(it, from, first).is_some_and(|ratio| !is_worse(ratio)));
        self.make(&others, &seeds)?;
        let mut best = (from.clone(), 1.0 - LEAST_SAVING);
        for choice in others {
            if let Some(ratio) = self.cost_ratio(&choice, from, &seeds)
                && (ratio.high < 1.0 || seeds.len() == 1)
                && ratio.value < best.1
                && self.keeps_goodput(&choice, &seeds)
            {
                best = (choice, ratio.value);
            }
        }
        Ok(best.0)
    }

    /// Keeps the reason why a value cannot run.
    fn note_refused(&mut self, setting: TunedSetting, choices: &[Choice], seeds: &[Seed]) {
        for choice in choices {
            let run = seeds.first().and_then(|seed| self.taken.get(&(choice.clone(), seed.0)));
            if let (Some(Err(message)), Some(value)) = (run, choice.get(&setting)) {
                self.refused.insert((setting, value.clone()), message.clone());
            }
        }
    }

    /// Tells whether a choice that is to last long still sends what the scenario sends.
    fn keeps_goodput(&self, choice: &Choice, seeds: &[Seed]) -> bool {
        let goodput = |taken: &Taken| taken.bytes / taken.seconds;
        let kept = self.ratio(choice, &Choice::new(), seeds, goodput);
        self.tuning.goal != EnergyGoal::Lifetime
            || kept.is_some_and(|ratio| ratio.value >= LEAST_GOODPUT)
    }

    /// The cost of one choice as a multiple of that of another, with the same seeds.
    fn cost_ratio(&self, of: &Choice, to: &Choice, seeds: &[Seed]) -> Option<Estimate> {
        let goal = self.tuning.goal;
        self.ratio(of, to, seeds, |taken| cost(taken, goal))
    }

    /// A measure of one choice as a multiple of that of another, with the same seeds.
    pub(super) fn ratio(
        &self,
        of: &Choice,
        to: &Choice,
        seeds: &[Seed],
        measure: impl Fn(&Taken) -> f64,
    ) -> Option<Estimate> {
        let [of, to] = [self.values(of, seeds, &measure)?, self.values(to, seeds, &measure)?];
        let ratios: Vec<f64> = of.iter().zip(&to).map(|(of, to)| of / to).collect();
        ratios
            .iter()
            .all(|it| it.is_finite() && *it > 0.0)
            .then(|| Estimate::geometric_mean(&ratios))
    }

    /// A measure of a choice with each seed; `None` where it cannot run.
    pub(super) fn values(
        &self,
        choice: &Choice,
        seeds: &[Seed],
        measure: impl Fn(&Taken) -> f64,
    ) -> Option<Vec<f64>> {
        let taken = |seed: &Seed| self.taken.get(&(choice.clone(), seed.0))?.as_ref().ok();
        seeds.iter().map(|seed| taken(seed).map(&measure)).collect()
    }

    /// Makes the runs that are missing, several at a time.
    pub(super) fn make(
        &mut self,
        choices: &[Choice],
        seeds: &[Seed],
    ) -> Result<(), EnergyTuneError> {
        let all = choices.iter().flat_map(|it| seeds.iter().map(move |seed| (it.clone(), seed.0)));
        let missing: Vec<_> = all.filter(|run| !self.taken.contains_key(run)).collect();
        let tuning = self.tuning;
        for batch in missing.chunks(tuning.jobs.get()) {
            if !(self.progress)(self.made) {
                return Err(EnergyTuneError::Interrupted);
            }
            let outcomes = at_once(batch, |(choice, seed)| {
                let topology = (tuning.build)(&changed(tuning.scenario, choice)?)?;
                measure(&topology, Seed(*seed))
            });
            self.made += batch.len();
            self.taken.extend(batch.iter().cloned().zip(outcomes));
        }
        Ok(())
    }
}

/// The cost of a run by a goal: the less, the better.
pub(super) fn cost(taken: &Taken, goal: EnergyGoal) -> f64 {
    let lifetime = taken.lifetime.unwrap_or(f64::NAN);
    match goal {
        EnergyGoal::Joules => taken.joules / taken.bytes,
        EnergyGoal::Bytes => taken.seconds / (taken.bytes * lifetime),
        EnergyGoal::Lifetime => 1.0 / lifetime,
    }
}

/// The scenario with a choice.
pub(super) fn changed(scenario: &Scenario, choice: &Choice) -> Result<Scenario, String> {
    let mut scenario = scenario.clone();
    for (setting, value) in choice {
        setting.set(&mut scenario, value)?;
    }
    Ok(scenario)
}

/// Does the work of all items at once, each in a thread of its own; the outcomes are in the order
/// of the items.
fn at_once<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    if let [one] = items {
        return vec![work(one)];
    }
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    thread::scope(|scope| {
        let turn = || {
            while let Some((place, item)) = {
                let place = next.fetch_add(1, Ordering::Relaxed);
                items.get(place).map(|item| (place, item))
            } {
                let outcome = work(item);
                if let Ok(mut done) = done.lock() {
                    done.push((place, outcome));
                }
            }
        };
        // This thread does what the system has no other threads for.
        for _ in 1..items.len() {
            if thread::Builder::new().spawn_scoped(scope, turn).is_err() {
                break;
            }
        }
        turn();
    });
    let mut done = done.into_inner().unwrap_or_default();
    done.sort_by_key(|(place, _)| *place);
    done.into_iter().map(|(_, outcome)| outcome).collect()
}
