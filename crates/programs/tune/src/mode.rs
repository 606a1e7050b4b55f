//! The modes of a link that are tried.

use windfall_base::Duration;

use crate::channel::TunedLink;

/// A mode of a link: what its two ends are set to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkMode {
    /// The name in tables.
    pub name: &'static str,
    /// The setting `arq`.
    pub arq: &'static str,
    /// Settings beside it that have a value, such as `policy`.
    pub values: &'static [(&'static str, &'static str)],
    /// Switches that are on, such as `combine`.
    pub switches: &'static [&'static str],
    /// Packets that are older than the application bears are not sent any more.
    pub has_lifetime: bool,
}

impl LinkMode {
    const fn new(name: &'static str, arq: &'static str) -> Self {
        Self { name, arq, values: &[], switches: &[], has_lifetime: false }
    }

    const fn with(self, values: &'static [(&'static str, &'static str)]) -> Self {
        Self { values, ..self }
    }

    const fn on(self, switches: &'static [&'static str]) -> Self {
        Self { switches, ..self }
    }

    const fn mortal(self) -> Self {
        Self { has_lifetime: true, ..self }
    }
}

/// The switch of damaged packets that are passed up.
const DAMAGED: &str = "accept-damaged";
/// The switch that only a pipe has.
const INCREMENTS: &str = "increments";
/// The code across packets: a third more of them.
const ACROSS: (&str, &str) = ("fec", "8/12");

const GSM: [LinkMode; 3] = [
    LinkMode::new("transparent", "none"),
    LinkMode::new("transparent, PPP Lite", "none").on(&[DAMAGED]),
    LinkMode::new("RLP", "6"),
];

const FRAMES: [LinkMode; 15] = [
    LinkMode::new("no retransmission", "none"),
    LinkMode::new("damage passed up", "none").on(&[DAMAGED]),
    LinkMode::new("code across packets", "none").with(&[ACROSS]),
    LinkMode::new("3 retransmissions", "3"),
    LinkMode::new("retransmission", "persistent"),
    LinkMode::new("retransmission, lifetime", "persistent").mortal(),
    LinkMode::new("copies combined", "persistent").on(&["combine"]),
    LinkMode::new("copies combined, lifetime", "persistent").on(&["combine"]).mortal(),
    LinkMode::new("increments", "persistent").on(&[INCREMENTS]),
    LinkMode::new("increments, lifetime", "persistent").on(&[INCREMENTS]).mortal(),
    LinkMode::new("increments, combined", "persistent").on(&["combine", INCREMENTS]),
    LinkMode::new("code and retransmission", "persistent").with(&[ACROSS]),
    LinkMode::new("coded", "persistent").with(&[("policy", "flex")]),
    LinkMode::new("coded, best", "persistent").with(&[("policy", "best")]),
    LinkMode::new("coded, best, lifetime", "persistent").with(&[("policy", "best")]).mortal(),
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
            (link == TunedLink::Pipe || !mode.switches.contains(&INCREMENTS))
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
        self.switches.contains(&DAMAGED)
    }

    /// Returns the age at which packets are not sent any more, if there is one.
    fn lifetime(&self, deadline: Option<Duration>) -> Option<Duration> {
        deadline.filter(|_| self.has_lifetime)
    }

    /// The options of `windfall run` that choose it.
    #[must_use]
    pub fn options(&self, deadline: Option<Duration>) -> String {
        let mut text = format!("--arq {}", self.arq);
        for (name, value) in self.values {
            text += &format!(" --{name} {value}");
        }
        for name in self.switches {
            text += &format!(" --{name}");
        }
        if let Some(lifetime) = self.lifetime(deadline) {
            text += &format!(" --flow 'data: lifetime {lifetime}'");
        }
        text
    }

    /// The keys of a link in a scenario that choose it.
    pub(crate) fn keys(&self) -> String {
        let mut text = format!("arq = \"{}\"\n", self.arq);
        for (name, value) in self.values {
            text += &format!("{name} = \"{value}\"\n");
        }
        for name in self.switches {
            text += &format!("{name} = true\n");
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
