//! The modes of a link that are tried.

use windfall_base::Duration;
use windfall_scenario::{Direction, Settings as _};

use crate::channel::TunedLink;

/// A mode of a link: what its two ends are set to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkMode {
    /// The name in tables.
    pub name: &'static str,
    /// The setting `arq`.
    pub arq: &'static str,
    /// Settings beside it that have a value, such as `policy`.
    pub values: &'static [(ModeSetting, &'static str)],
    /// Switches that are on, such as `combine`.
    pub switches: &'static [ModeSetting],
    /// Packets that are older than the application bears are not sent any more.
    pub has_lifetime: bool,
}

/// A setting of a direction that makes a mode, beside `arq`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModeSetting {
    /// The switch of damaged packets that are passed up.
    AcceptDamaged,
    /// The switch of copies that are combined.
    Combine,
    /// The switch that only a pipe has.
    Increments,
    /// The code across packets.
    Fec,
    /// The parity of coded frames.
    Policy,
}

impl ModeSetting {
    /// Returns the name of the setting.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::AcceptDamaged => Direction::row(|it| &it.accept_damaged).name,
            Self::Combine => Direction::row(|it| &it.combine).name,
            Self::Increments => Direction::row(|it| &it.increments).name,
            Self::Fec => Direction::row(|it| &it.fec).name,
            Self::Policy => Direction::row(|it| &it.policy).name,
        }
    }
}

impl LinkMode {
    const fn new(name: &'static str, arq: &'static str) -> Self {
        Self { name, arq, values: &[], switches: &[], has_lifetime: false }
    }

    const fn with(self, values: &'static [(ModeSetting, &'static str)]) -> Self {
        Self { values, ..self }
    }

    const fn on(self, switches: &'static [ModeSetting]) -> Self {
        Self { switches, ..self }
    }

    const fn mortal(self) -> Self {
        Self { has_lifetime: true, ..self }
    }
}

/// The code across packets: a third more of them.
const ACROSS: (ModeSetting, &str) = (ModeSetting::Fec, "8/12");

const GSM: [LinkMode; 3] = [
    LinkMode::new("transparent", "none"),
    LinkMode::new("transparent, PPP Lite", "none").on(&[ModeSetting::AcceptDamaged]),
    LinkMode::new("RLP", "6"),
];

const FRAMES: [LinkMode; 15] = [
    LinkMode::new("no retransmission", "none"),
    LinkMode::new("damage passed up", "none").on(&[ModeSetting::AcceptDamaged]),
    LinkMode::new("code across packets", "none").with(&[ACROSS]),
    LinkMode::new("3 retransmissions", "3"),
    LinkMode::new("retransmission", "persistent"),
    LinkMode::new("retransmission, lifetime", "persistent").mortal(),
    LinkMode::new("copies combined", "persistent").on(&[ModeSetting::Combine]),
    LinkMode::new("copies combined, lifetime", "persistent").on(&[ModeSetting::Combine]).mortal(),
    LinkMode::new("increments", "persistent").on(&[ModeSetting::Increments]),
    LinkMode::new("increments, lifetime", "persistent").on(&[ModeSetting::Increments]).mortal(),
    LinkMode::new("increments, combined", "persistent")
        .on(&[ModeSetting::Combine, ModeSetting::Increments]),
    LinkMode::new("code and retransmission", "persistent").with(&[ACROSS]),
    LinkMode::new("coded", "persistent").with(&[(ModeSetting::Policy, "flex")]),
    LinkMode::new("coded, best", "persistent").with(&[(ModeSetting::Policy, "best")]),
    LinkMode::new("coded, best, lifetime", "persistent")
        .with(&[(ModeSetting::Policy, "best")])
        .mortal(),
];

impl LinkMode {
    /// The modes of a kind of link, for an application with a deadline or without one.
    #[must_use]
    pub fn of(link: TunedLink, deadline: Option<Duration>) -> Vec<Self> {
        let all: &[Self] = match link {
            TunedLink::Gsm => &GSM,
            TunedLink::Pipe | TunedLink::Wavelan => &FRAMES,
        };
        let fits = |mode: &&Self| {
            (link == TunedLink::Pipe || !mode.switches.contains(&ModeSetting::Increments))
                && (deadline.is_some() || !mode.has_lifetime)
        };
        all.iter().filter(fits).copied().collect()
    }

    /// Tells whether something is sent again.
    #[must_use]
    pub fn repeats(&self) -> bool {
        self.arq != "none"
    }

    /// Tells whether damaged packets are passed up; datagrams are then those of UDP-Lite.
    #[must_use]
    pub fn accepts_damaged(&self) -> bool {
        self.switches.contains(&ModeSetting::AcceptDamaged)
    }

    /// Returns the age at which packets are not sent any more, if there is one.
    fn lifetime(&self, deadline: Option<Duration>) -> Option<Duration> {
        deadline.filter(|_| self.has_lifetime)
    }

    /// The options of `windfall run` that choose it.
    #[must_use]
    pub fn options(&self, deadline: Option<Duration>) -> String {
        let mut text = format!("--arq {}", self.arq);
        for (setting, value) in self.values {
            text += &format!(" --{} {value}", setting.name());
        }
        for setting in self.switches {
            text += &format!(" --{}", setting.name());
        }
        if let Some(lifetime) = self.lifetime(deadline) {
            text += &format!(" --flow 'data: lifetime {lifetime}'");
        }
        text
    }

    /// The keys of a link in a scenario that choose it.
    pub(crate) fn keys(&self) -> String {
        let mut text = format!("arq = \"{}\"\n", self.arq);
        for (setting, value) in self.values {
            text += &format!("{} = \"{value}\"\n", setting.name());
        }
        for setting in self.switches {
            text += &format!("{} = true\n", setting.name());
        }
        text
    }

    /// The flow of a scenario that belongs to it, if one does.
    pub(crate) fn flow(&self, deadline: Option<Duration>) -> String {
        self.lifetime(deadline).map_or_else(String::new, |lifetime| {
            format!("[[flow]]\nname = \"data\"\nlifetime = \"{lifetime}\"\n")
        })
    }
}
