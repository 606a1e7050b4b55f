//! Options of the command line, which say the same as a scenario with one link.

use toml::Spanned;
use windfall_base::{Duration, Seed};

use crate::error::ScenarioError;
use crate::flows::Flow;
use crate::model::{Direction, FORMAT, Link, LinkKind, Scenario, Station};

/// The name of the station at the near end, which sends on the uplink.
pub const NEAR: &str = "near";
/// The name of the station at the far end.
pub const FAR: &str = "far";

/// What the options of the command line say about a link; every field silent by default.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Flags {
    /// The seed.
    pub seed: Option<Seed>,
    /// How long a simulation runs.
    pub duration: Option<Duration>,
    /// What kind of link.
    pub kind: Option<LinkKind>,
    /// The longest packet, in bytes.
    pub mtu: Option<u16>,
    /// Flows with a share of their own, beside those of the file.
    pub flows: Vec<Flow>,
    /// Admit reservations that a link cannot keep at worst.
    pub overcommit: bool,
    /// Options of both directions.
    pub both: Direction,
    /// Options of the direction from near to far.
    pub uplink: Direction,
    /// Options of the direction from far to near.
    pub downlink: Direction,
}

impl Flags {
    /// The scenario of two stations, near and far, and one link that is as the options say.
    #[must_use]
    pub fn scenario(&self) -> Scenario {
        let station = |name: &str| Station {
            name: unplaced(name.to_owned()),
            forward: false,
            tcp: None,
            interfaces: Vec::new(),
            routes: Vec::new(),
        };
        let mut link = Link::between(NEAR, FAR);
        self.apply_to(&mut link);
        Scenario {
            format: unplaced(FORMAT),
            seed: self.seed,
            duration: self.duration.map(unplaced),
            stations: vec![station(NEAR), station(FAR)],
            links: vec![link],
            flows: self.flows.clone(),
            overcommit: self.overcommit,
            apps: Vec::new(),
        }
    }

    /// Changes `scenario` as the options say; they win over what the file says.
    ///
    /// # Errors
    /// If options describe a link and the scenario has not exactly one.
    pub fn apply(&self, scenario: &mut Scenario) -> Result<(), ScenarioError> {
        if self.seed.is_some() {
            scenario.seed = self.seed;
        }
        if let Some(duration) = self.duration {
            scenario.duration = Some(unplaced(duration));
        }
        scenario.flows.extend(self.flows.iter().cloned());
        scenario.overcommit |= self.overcommit;
        let same = Self {
            seed: self.seed,
            duration: self.duration,
            flows: self.flows.clone(),
            overcommit: self.overcommit,
            ..Self::default()
        };
        if *self == same {
            return scenario.check();
        }
        match scenario.links.as_mut_slice() {
            [link] => self.apply_to(link),
            links => {
                return Err(ScenarioError::nowhere(format!(
                    "the options describe one link, and the scenario has {}: \
                     put the changes into the scenario",
                    links.len()
                )));
            }
        }
        scenario.check()
    }

    fn apply_to(&self, link: &mut Link) {
        if let Some(kind) = self.kind {
            link.kind = Some(unplaced(kind));
        }
        if let Some(mtu) = self.mtu {
            link.mtu = Some(unplaced(mtu));
        }
        // An option for both directions also wins over what the file says of one of them.
        let mut both = link.both();
        both.overlay(&self.both);
        link.set_both(&both);
        for (direction, flags) in
            [(&mut link.uplink, &self.uplink), (&mut link.downlink, &self.downlink)]
        {
            direction.silence(&self.both);
            direction.overlay(flags);
        }
    }
}

/// A value that stands in no file.
pub(crate) fn unplaced<T>(value: T) -> Spanned<T> {
    Spanned::new(0..0, value)
}

#[cfg(test)]
mod tests;
