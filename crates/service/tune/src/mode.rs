//! The modes of a link that are tried.

use crate::channel::TunedLink;

/// A mode of a link: what its two ends are set to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkMode {
    /// The name in tables.
    pub name: &'static str,
    /// The setting `arq`.
    pub arq: &'static str,
    /// The setting `policy`, where frames are coded.
    pub policy: Option<&'static str>,
    /// The setting `accept-damaged`; datagrams are then those of UDP-Lite.
    pub accept_damaged: bool,
}

const GSM: [LinkMode; 3] = [
    LinkMode { name: "transparent", arq: "none", policy: None, accept_damaged: false },
    LinkMode { name: "transparent, PPP Lite", arq: "none", policy: None, accept_damaged: true },
    LinkMode { name: "RLP", arq: "6", policy: None, accept_damaged: false },
];

const FRAMES: [LinkMode; 5] = [
    LinkMode { name: "no retransmission", arq: "none", policy: None, accept_damaged: false },
    LinkMode { name: "damage passed up", arq: "none", policy: None, accept_damaged: true },
    LinkMode { name: "3 retransmissions", arq: "3", policy: None, accept_damaged: false },
    LinkMode { name: "retransmission", arq: "persistent", policy: None, accept_damaged: false },
    LinkMode { name: "coded", arq: "persistent", policy: Some("flex"), accept_damaged: false },
];

impl LinkMode {
    /// The modes of a kind of link.
    #[must_use]
    pub const fn of(link: TunedLink) -> &'static [Self] {
        match link {
            TunedLink::Gsm => &GSM,
            TunedLink::Pipe | TunedLink::Wavelan => &FRAMES,
        }
    }

    /// Tells whether something is sent again.
    #[must_use]
    pub fn repeats(&self) -> bool {
        self.arq != "none"
    }

    /// The options of `windfall run` that choose it.
    #[must_use]
    pub fn options(&self) -> String {
        let mut text = format!("--arq {}", self.arq);
        if let Some(policy) = self.policy {
            text += &format!(" --policy {policy}");
        }
        if self.accept_damaged {
            text += " --accept-damaged";
        }
        text
    }
}
