//! Options of the command line, which say the same as a scenario with one link.

use toml::Spanned;
use windfall_settings::Settings;

use crate::app::{App, AppKind};
use crate::change::Change;
use crate::check;
use crate::error::ScenarioError;
use crate::flows::Flow;
use crate::link::Link;
use crate::model::{FORMAT, RunSettings, Scenario};
use crate::station::Station;
use crate::values::Target;

/// The name of the station at the near end, which sends on the uplink.
pub const NEAR: &str = "near";
/// The name of the station at the far end.
pub const FAR: &str = "far";

/// The name of the station to which contenders send.
const RECEIVER: &str = "contender-sink";

/// The file in which a scenario was read, and its text, for messages; both empty if in none.
type Place<'a> = (&'a str, &'a str);

/// The options of the command line that describe a scenario; what is unset changes nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct ScenarioOptions {
    /// The settings of the run; kernel parameters count beside those of the file.
    pub run: RunSettings,
    /// Flows with a share or impairments of their own, beside those of the file.
    pub flows: Vec<Flow>,
    /// Changes of the link while it runs, beside those of the file.
    pub changes: Vec<Change>,
    /// Simulated stations that contend for the medium all the time.
    pub contenders: u16,
    /// The settings of the link, its radio and its directions; its stations are not used.
    pub link: Link,
}

impl Default for ScenarioOptions {
    fn default() -> Self {
        Self {
            run: RunSettings::unset(),
            flows: Vec::new(),
            changes: Vec::new(),
            contenders: 0,
            link: Link::unset(),
        }
    }
}

impl ScenarioOptions {
    /// The scenario of two stations, near and far, and one link that is as the options say.
    #[must_use]
    pub fn scenario(&self) -> Scenario {
        let mut link = Link::between(NEAR, FAR);
        self.apply_to(&mut link);
        let mut scenario = Scenario {
            format: without_span(FORMAT),
            run: self.run.clone(),
            stations: vec![Station::named(NEAR), Station::named(FAR)],
            links: vec![link],
            flows: self.flows.clone(),
            changes: self.changes.clone(),
            apps: Vec::new(),
        };
        self.crowd(&mut scenario);
        scenario
    }

    /// Changes `scenario` as the options say, which win over what the file says, and checks that
    /// everything in it then can be.
    ///
    /// # Errors
    /// If options describe a link and the scenario has not exactly one. Otherwise names the value
    /// and the fix of the first thing that is wrong, with its line if it stands in the file.
    pub fn apply(&self, scenario: &mut Scenario, place: Place<'_>) -> Result<(), ScenarioError> {
        scenario.run.extend(&self.run);
        scenario.flows.extend(self.flows.iter().cloned());
        scenario.changes.extend(self.changes.iter().cloned());
        let is_of_link = self.contenders > 0 || !self.link.is_unset();
        match scenario.links.as_mut_slice() {
            _ if !is_of_link => {}
            [link] => {
                self.apply_to(link);
                self.crowd(scenario);
            }
            links => {
                return Err(ScenarioError::nowhere(format!(
                    "the options describe one link, and the scenario has {}: \
                     put the changes into the scenario",
                    links.len()
                )));
            }
        }
        check::scenario(scenario)
            .map_err(|fault| ScenarioError::in_file_or_options(fault, place.0, place.1))
    }

    /// Adds the contenders to the only link: each always has a packet for a station that never
    /// sends.
    fn crowd(&self, scenario: &mut Scenario) {
        if self.contenders == 0 {
            return;
        }
        let [link] = scenario.links.as_mut_slice() else { return };
        let add = |link: &mut Link, stations: &mut Vec<Station>, name: &str| {
            link.stations.get_mut().push(without_span(name.to_owned()));
            stations.push(Station { simulated: Some(without_span(true)), ..Station::named(name) });
        };
        add(link, &mut scenario.stations, RECEIVER);
        for number in 1..=self.contenders {
            let name = format!("contender{number}");
            add(link, &mut scenario.stations, &name);
            let to = Some(without_span(Target::Station(RECEIVER.to_owned())));
            scenario.apps.push(App { to, ..App::new(AppKind::Spray, &name) });
        }
        // A name of all stations would be long.
        link.name.get_or_insert(without_span("cell".to_owned()));
        // The base station of two is the second, of more the first.
        link.base.get_or_insert(without_span(FAR.to_owned()));
    }

    /// Drops the limits of attempts of a radio for which the options have another.
    fn settle_attempts(&self, link: &mut Link) {
        let Link { both, uplink, downlink, radio, .. } = &self.link;
        if [both, uplink, downlink].into_iter().any(|it| it.arq.is_some()) {
            link.radio.clear_attempts();
        }
        if radio.attempts_set().is_some() {
            for direction in [&mut link.both, &mut link.uplink, &mut link.downlink] {
                direction.arq = None;
            }
        }
    }

    /// Changes a link as the options say; they win over the settings of its directions too.
    pub fn apply_to(&self, link: &mut Link) {
        let options = &self.link;
        self.settle_attempts(link);
        link.overlay(options);
        link.radio.overlay(&options.radio);
        link.both.overlay(&options.both);
        // An option for both directions also wins over what the file says of one of them.
        link.uplink.clear(&options.both);
        link.downlink.clear(&options.both);
        link.uplink.overlay(&options.uplink);
        link.downlink.overlay(&options.downlink);
    }
}

/// A value that has no place in a file.
#[must_use]
pub fn without_span<T>(value: T) -> Spanned<T> {
    Spanned::new(0..0, value)
}

#[cfg(test)]
mod tests;
