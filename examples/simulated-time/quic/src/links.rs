//! The links that seeds are spread over.

use windfall_sim_link::{SimError, SimLink, SimSettings};

/// A kind of link.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// The name of the kind.
    pub name: &'static str,
    settings: fn(SimSettings) -> SimSettings,
}

/// The rate trace of the examples, made up like one of LTE.
const LTE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../lte.json");

/// The kinds; a seed has the one of its remainder.
pub const KINDS: [Kind; 5] = [
    Kind { name: "jitter", settings: |it| it.rate("20Mbps").delay("20ms").jitter("10ms normal") },
    Kind { name: "reordering", settings: |it| it.rate("20Mbps").delay("30ms").reorder("5% 25%") },
    Kind { name: "loss", settings: |it| it.rate("20Mbps").delay("15ms").loss("3%") },
    Kind {
        name: "damage",
        settings: |it| it.rate("20Mbps").delay("15ms").ber("1e-5").accept_damaged(),
    },
    Kind {
        name: "lte",
        settings: |it| {
            let it = it.rate_trace(LTE).delay("30ms").jitter("5ms normal").reorder("1% 25%");
            it.loss("0.5%").ber("1e-6").accept_damaged().setting("queue", "100,mark:3")
        },
    },
];

impl Kind {
    /// Returns such a link.
    ///
    /// # Errors
    /// If the rate trace is not there.
    pub fn link(&self, seed: u64) -> Result<SimLink, SimError> {
        (self.settings)(SimSettings::new()).seed(seed).build()
    }
}
