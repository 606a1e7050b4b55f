//! The settings of TCP and of the radio with which a scenario takes the least energy.
//!
//! [`EnergyTuning`] says what to look for; [`EnergyAdvice`] is what was found: the setting, its
//! saving with a confidence interval from seeds that the search has not seen, and how Linux is told
//! of it.

mod advice;
mod applied;
mod linux;
mod measure;
mod search;
mod tuned;

use core::str::FromStr;
use std::num::NonZeroUsize;

use serde::Serialize;
use windfall_base::Seed;
use windfall_scenario::{Scenario, Topology};

pub use advice::{EnergyAdvice, EnergySaving, SettingAdvice};
pub use applied::{AppliedSettings, KernelSetting};
pub use linux::LinuxAdvice;
pub use tuned::{SettingChoice, TunedSetting};

/// The goal at which a setting is to be best.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum EnergyGoal {
    /// The fewest joules of all stations that have a model, for each byte that an application
    /// received.
    #[default]
    Joules,
    /// The most bytes until the first battery is empty.
    Bytes,
    /// The longest time until then, with at least 95 % of the bytes a second of the scenario as it
    /// stands.
    Lifetime,
}

impl EnergyGoal {
    /// All goals, in the order of the help.
    pub const ALL: [Self; 3] = [Self::Joules, Self::Bytes, Self::Lifetime];

    /// Returns the name of the goal.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Joules => "joules",
            Self::Bytes => "bytes",
            Self::Lifetime => "lifetime",
        }
    }
}

impl FromStr for EnergyGoal {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names = Self::ALL.map(Self::name).join(", ");
        let goal = Self::ALL.into_iter().find(|goal| goal.name() == text);
        goal.ok_or_else(|| format!("there is no goal \"{text}\": {names}"))
    }
}

/// Builds a scenario as a run does.
pub type BuildScenario<'a> = dyn Fn(&Scenario) -> Result<Topology, String> + Sync + 'a;

/// A search for the setting that takes the least energy.
pub struct EnergyTuning<'a> {
    /// The scenario as it stands.
    pub scenario: &'a Scenario,
    /// Builds a scenario that was made of it.
    pub build: &'a BuildScenario<'a>,
    /// The goal of the search.
    pub goal: EnergyGoal,
    /// The settings to turn; none for all of them that the scenario has.
    pub settings: Vec<SettingChoice>,
    /// The number of seeds of the search, and of those that confirm what it found.
    pub seeds: usize,
    /// The simulations that go on at a time.
    pub jobs: NonZeroUsize,
}

impl EnergyTuning<'_> {
    /// The number of seeds that is enough for most scenarios.
    pub const SEEDS: usize = 5;

    /// Searches, and confirms what was found with seeds that the search has not seen. `progress` is
    /// told after each batch how many simulations have been made; it ends the search by `false`.
    ///
    /// # Errors
    /// If the scenario cannot run, no station has an energy model (or battery, where the goal needs
    /// one), no application receives anything, or `progress` ends it.
    pub fn run(
        &self,
        progress: &mut dyn FnMut(usize) -> bool,
    ) -> Result<EnergyAdvice, EnergyTuneError> {
        let settings = self.settings_to_tune()?;
        let mut search = search::Search::new(self, progress);
        search.check_base()?;
        let found = search.descend(&settings)?;
        advice::confirm(&mut search, &settings, &found)
    }

    /// The seeds of the search, or those that confirm.
    fn seeds(&self, of_confirmation: bool) -> Vec<Seed> {
        let first = self.scenario.seed().0;
        let skipped = if of_confirmation { self.seeds as u64 } else { 0 };
        (0..self.seeds as u64).map(|it| Seed(first.wrapping_add(skipped + it))).collect()
    }

    /// The settings that the scenario has, each with its values.
    fn settings_to_tune(&self) -> Result<Vec<(TunedSetting, Vec<String>)>, EnergyTuneError> {
        let mut settings: Vec<(TunedSetting, Vec<String>)> = Vec::new();
        if self.settings.is_empty() {
            let all = TunedSetting::ALL.into_iter().map(|it| (it, it.values(self.scenario)));
            settings.extend(all.filter(|(_, values)| !values.is_empty()));
            return Ok(settings);
        }
        for SettingChoice { setting, values } in &self.settings {
            let own =
                if values.is_empty() { setting.values(self.scenario) } else { values.clone() };
            if own.is_empty() || !setting.is_of(self.scenario) {
                return Err(EnergyTuneError::NoSuchSetting(setting.name()));
            }
            for value in values {
                let mut scenario = self.scenario.clone();
                let set = setting.set(&mut scenario, value);
                let built = set.and_then(|()| (self.build)(&scenario).map(|_| ()));
                built.map_err(|fix| EnergyTuneError::Value {
                    setting: setting.name(),
                    value: value.clone(),
                    fix,
                })?;
            }
            if settings.iter().any(|(other, _)| other == setting) {
                return Err(EnergyTuneError::Twice(setting.name()));
            }
            settings.push((*setting, own));
        }
        Ok(settings)
    }
}

/// A search that cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum EnergyTuneError {
    /// The scenario is refused, or does not run.
    #[error("{0}")]
    Scenario(String),
    /// No station has an energy model.
    #[error(
        "no station has an energy model: add --energy laptop-2000, or energy = \"laptop-2000\" to \
         the scenario"
    )]
    NoModel,
    /// The goal is that of a battery, and there is none.
    #[error(
        "no station has an energy model with a battery, which --for {0} is about: use --for \
         joules, or a model with a battery such as --energy laptop-2000"
    )]
    NoBattery(&'static str),
    /// Nothing arrived at an application.
    #[error(
        "no application received a byte: nothing to compare; give the scenario an application \
         that sends, such as kind = \"bulk\", or a longer duration"
    )]
    NothingReceived,
    /// A setting that the scenario does not have.
    #[error("the scenario has nothing that {0} could change: no link of 802.11 has it")]
    NoSuchSetting(&'static str),
    /// A setting that was named more than once.
    #[error("the setting {0} is given twice")]
    Twice(&'static str),
    /// A value that a setting does not take in this scenario.
    #[error("{setting}={value}: {fix}")]
    Value {
        /// The name of the setting.
        setting: &'static str,
        /// The value that is refused.
        value: String,
        /// The advice what to write.
        fix: String,
    },
    /// It was ended from outside.
    #[error("the search was interrupted")]
    Interrupted,
}

#[cfg(test)]
mod tests;
