//! Links by the names of their settings.

use std::fmt::Display;

use windfall_base::{Seed, nearest};
use windfall_scenario::{ScenarioOptions, Setting, Settings, without_span};

use crate::error::SimError;
use crate::link::SimLink;

/// A link between the ends `near` and `far`, as its settings describe it; they have the names that
/// the options of `windfall sim` have.
///
/// ```
/// # use windfall_sim_link::SimSettings;
/// let link = SimSettings::new().rate("2Mbps").ber(1e-5).setting("queue", "20,mark:5").build();
/// assert!(link.is_ok());
/// let wrong = SimSettings::new().setting("delai", "20ms").build();
/// assert_eq!(wrong.unwrap_err().to_string(), "there is no setting delai: did you mean delay?");
/// ```
#[derive(Clone, Debug, Default)]
pub struct SimSettings {
    options: ScenarioOptions,
    /// The first setting that makes no sense.
    wrong: Option<SimError>,
}

/// Adds the methods for the settings that tests ask for most.
macro_rules! settings {
    ($($(#[doc = $help:literal])+ $name:ident)*) => {$(
        $(#[doc = $help])+
        #[must_use]
        pub fn $name(self, value: impl Display) -> Self {
            self.setting(stringify!($name), value)
        }
    )*};
}

impl SimSettings {
    /// Returns a link without limit, delay or errors.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    settings! {
        /// Sets the rate, such as `2Mbps`.
        rate
        /// Sets the file of a rate trace.
        rate_trace
        /// Sets the delay, such as `30ms`.
        delay
        /// Sets the jitter, such as `10ms normal`.
        jitter
        /// Sets the reordering, such as `1% 25%`.
        reorder
        /// Sets the probability that a packet is duplicated.
        duplicate
        /// Sets the probability that a frame is lost.
        loss
        /// Sets the bit error rate.
        ber
    }

    /// Sets the seed: the same seed and the same packets at the same times give the same
    /// deliveries.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.options.run.seed = Some(without_span(Seed(seed)));
        self
    }

    /// Passes damaged packets up, in place of dropping them.
    #[must_use]
    pub fn accept_damaged(self) -> Self {
        self.setting("accept-damaged", "on")
    }

    /// Sets a setting of the uplink, from near to far.
    #[must_use]
    pub fn uplink(self, name: &str, value: impl Display) -> Self {
        self.setting(&format!("uplink-{name}"), value)
    }

    /// Sets a setting of the downlink, from far to near.
    #[must_use]
    pub fn downlink(self, name: &str, value: impl Display) -> Self {
        self.setting(&format!("downlink-{name}"), value)
    }

    /// Sets a setting by its name, of both directions if it is one of directions.
    #[must_use]
    pub fn setting(mut self, name: &str, value: impl Display) -> Self {
        let name = name.replace('_', "-");
        let value = value.to_string();
        match self.set(&name, &value) {
            Err(error) if self.wrong.is_none() => self.wrong = Some(SimError::Setting(error)),
            _ => {}
        }
        self
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let ScenarioOptions { link, run, .. } = &mut self.options;
        let of_side = |side| name.strip_prefix(side);
        let mut names = Vec::new();
        let done = if let Some(name) = of_side("uplink-") {
            set_in(&mut link.uplink, name, value, &mut names)
        } else if let Some(name) = of_side("downlink-") {
            set_in(&mut link.downlink, name, value, &mut names)
        } else {
            set_in(&mut link.both, name, value, &mut names)
                .or_else(|| set_in(link, name, value, &mut names))
                .or_else(|| set_in(&mut link.radio, name, value, &mut names))
                .or_else(|| set_in(run, name, value, &mut names))
        };
        match done {
            Some(done) => done.map_err(|advice| format!("{name}={value}: {advice}")),
            None => {
                let bare = ["uplink-", "downlink-"].iter().find_map(|side| of_side(side));
                let fix = nearest(bare.unwrap_or(name), names.iter().copied()).map_or_else(
                    || format!("use one of {}", names.join(", ")),
                    |it| format!("did you mean {it}?"),
                );
                Err(format!("there is no setting {name}: {fix}"))
            }
        }
    }

    /// Returns the link.
    ///
    /// # Errors
    /// If a setting makes no sense, or a file that one names cannot be read.
    pub fn build(&self) -> Result<SimLink, SimError> {
        if let Some(wrong) = &self.wrong {
            return Err(wrong.clone());
        }
        SimLink::new(self.options.scenario())
    }
}

/// Sets a setting of an object; `None`, and its names added to `names`, if it has no such setting.
fn set_in<T: Settings>(
    object: &mut T,
    name: &str,
    value: &str,
    names: &mut Vec<&'static str>,
) -> Option<Result<(), String>> {
    let named = |it: &Setting<T>| if it.option.is_empty() { it.name } else { it.option };
    let mut options = T::TABLE.iter().filter(|it| !it.is_required && !it.is_key_only);
    let found = options.find(|it| named(it) == name);
    if found.is_none() {
        let options = T::TABLE.iter().filter(|it| !it.is_required && !it.is_key_only);
        names.extend(options.map(named));
    }
    found.map(|setting| setting.set(object, value))
}
