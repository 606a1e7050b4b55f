//! Options of the command line, which say the same as a scenario with one link.

use toml::Spanned;
use windfall_base::{Duration, Seed};

use crate::error::ScenarioError;
use crate::flows::Flow;
use crate::model::{App, AppKind, Direction, FORMAT, Link, LinkKind, Scenario, Station};
use crate::values::{Sysctl, Target};
use crate::wireless::Radio;

/// The name of the station at the near end, which sends on the uplink.
pub const NEAR: &str = "near";
/// The name of the station at the far end.
pub const FAR: &str = "far";

/// The name of the station to which contenders send.
const SILENT: &str = "silent";

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
    /// TCP's congestion control in the kernels of the stations.
    pub tcp_congestion: Option<String>,
    /// Kernel parameters of the stations, beside those of the file.
    pub sysctl: Vec<Sysctl>,
    /// Options of the radio of an 802.11 link.
    pub radio: Radio,
    /// Simulated stations that contend for the medium all the time.
    pub contenders: u16,
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
        let mut link = Link::between(NEAR, FAR);
        self.apply_to(&mut link);
        let mut scenario = Scenario {
            format: unplaced(FORMAT),
            seed: self.seed,
            duration: self.duration.map(unplaced),
            stations: vec![station(NEAR), station(FAR)],
            links: vec![link],
            flows: self.flows.clone(),
            overcommit: self.overcommit,
            tcp_congestion: self.tcp_congestion.clone(),
            sysctl: self.sysctl.clone(),
            apps: Vec::new(),
        };
        self.crowd(&mut scenario);
        scenario
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
        if self.tcp_congestion.is_some() {
            scenario.tcp_congestion.clone_from(&self.tcp_congestion);
        }
        // Of several values of one parameter the last wins.
        scenario.sysctl.extend(self.sysctl.iter().cloned());
        let same = Self {
            seed: self.seed,
            duration: self.duration,
            flows: self.flows.clone(),
            overcommit: self.overcommit,
            tcp_congestion: self.tcp_congestion.clone(),
            sysctl: self.sysctl.clone(),
            ..Self::default()
        };
        if *self == same {
            return scenario.check();
        }
        match scenario.links.as_mut_slice() {
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
        scenario.check()
    }

    /// Adds the contenders to the only link: each always has a packet for a station that is silent.
    fn crowd(&self, scenario: &mut Scenario) {
        if self.contenders == 0 {
            return;
        }
        let [link] = scenario.links.as_mut_slice() else { return };
        let add = |link: &mut Link, stations: &mut Vec<Station>, name: &str| {
            link.stations.get_mut().push(unplaced(name.to_owned()));
            stations.push(Station { simulated: true, ..station(name) });
        };
        add(link, &mut scenario.stations, SILENT);
        for number in 1..=self.contenders {
            let name = format!("contender{number}");
            add(link, &mut scenario.stations, &name);
            let to = Some(unplaced(Target::Station(SILENT.to_owned())));
            scenario.apps.push(App { to, ..App::new(AppKind::Spray, &name) });
        }
        // A name of all stations would be long.
        link.name.get_or_insert(unplaced("cell".to_owned()));
        // The base station of two is the second, of more the first.
        link.base.get_or_insert(unplaced(FAR.to_owned()));
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
        link.radio.overlay(&self.radio);
        for (direction, flags) in
            [(&mut link.uplink, &self.uplink), (&mut link.downlink, &self.downlink)]
        {
            direction.silence(&self.both);
            direction.overlay(flags);
        }
    }
}

/// A station that says nothing but its name.
fn station(name: &str) -> Station {
    Station {
        name: unplaced(name.to_owned()),
        forward: false,
        simulated: false,
        radio: None,
        tcp: None,
        interfaces: Vec::new(),
        routes: Vec::new(),
    }
}

/// A value that stands in no file.
pub(crate) fn unplaced<T>(value: T) -> Spanned<T> {
    Spanned::new(0..0, value)
}

#[cfg(test)]
mod tests;
