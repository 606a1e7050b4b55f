//! The account of a flow on a link.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

use serde::{Deserialize, Serialize};
use windfall_network::FlowLedger;
use windfall_stack::FlowAccount;

use super::brief;

/// Effort and outcome of a flow on a link (S3.29).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FlowSummary {
    /// Name of the flow.
    pub name: String,
    /// The link and its sender.
    pub link: String,
    /// Air time spent on it, in seconds; `None` if it waits among the packets of other flows.
    pub effort_seconds: Option<f64>,
    /// The air time that what arrived would have taken without errors, in seconds; this and the
    /// other members that need it are `None` where the link does not learn what arrives.
    pub outcome_seconds: Option<f64>,
    /// Packets of it that came, those that a full queue refused included.
    pub offered: u64,
    /// Bytes of the packets that are known to have arrived.
    pub bytes: Option<u64>,
    /// The recent share of its effort that errors destroyed.
    pub error_rate: Option<f64>,
    /// Its outcome as a share of what it could expect without errors (S3.25).
    pub fidelity: Option<f64>,
    /// `outcome` if extra effort makes up for the errors, `effort` if its power factor limits it.
    pub region: Option<Cow<'static, str>>,
    /// The outcome of its packets; absent unless it has impairments of its own.
    #[serde(flatten)]
    pub packets: Option<FlowPackets>,
}

/// The outcome of the packets of a flow that has impairments of its own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FlowPackets {
    /// Packets that left at a receiver's device.
    pub delivered: u64,
    /// Of those delivered, packets of which every copy was marked as damaged.
    pub damaged: u64,
    /// Packets dropped, by reason.
    pub dropped: BTreeMap<Cow<'static, str>, u64>,
    /// Packets on their way when the run ended.
    pub in_flight: u64,
}

impl FlowPackets {
    fn new(ledger: &FlowLedger) -> Self {
        Self {
            delivered: ledger.delivered,
            damaged: ledger.damaged,
            dropped: ledger.drops.iter().map(|(reason, n)| (reason.name().into(), n)).collect(),
            in_flight: ledger.in_flight(),
        }
    }
}

impl fmt::Display for FlowPackets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { delivered, damaged, dropped, in_flight } = self;
        write!(f, "{delivered} delivered")?;
        if *damaged > 0 {
            write!(f, " ({damaged} damaged)")?;
        }
        write!(f, ", {} dropped", dropped.values().sum::<u64>())?;
        if !dropped.is_empty() {
            let reasons = dropped.iter().map(|(reason, n)| format!("{reason} {n}"));
            write!(f, " ({})", reasons.collect::<Vec<_>>().join(", "))?;
        }
        if *in_flight > 0 {
            write!(f, ", {in_flight} in flight")?;
        }
        Ok(())
    }
}

impl FlowSummary {
    /// The account of the flow `name` on `link`, from that of its queue and that of its packets;
    /// `None` if none of its packets came.
    #[must_use]
    pub fn new(
        name: &str,
        link: &str,
        queue: Option<&FlowAccount>,
        packets: Option<&FlowLedger>,
    ) -> Option<Self> {
        let packets = packets.filter(|ledger| ledger.entered > 0);
        let summary = match (queue, packets) {
            (Some(queue), _) => Self::of_queue(name, link, queue)?,
            (None, ledger) => Self {
                name: name.to_owned(),
                link: link.to_owned(),
                offered: ledger?.entered,
                ..Self::default()
            },
        };
        Some(Self { packets: packets.map(FlowPackets::new), ..summary })
    }

    //= S3.25
    //= S3.30
    /// The account of a flow that has a queue of its own.
    fn of_queue(name: &str, link: &str, flow: &FlowAccount) -> Option<Self> {
        let FlowAccount { account, share, expected, bytes, offered, .. } = flow;
        let learned = !flow.outcome_unknown;
        let effort = account.total.effort;
        let outcome = account.total.outcome;
        (*offered > 0).then(|| Self {
            name: name.to_owned(),
            link: link.to_owned(),
            effort_seconds: Some(effort),
            outcome_seconds: learned.then_some(outcome),
            offered: *offered,
            bytes: learned.then_some(*bytes),
            error_rate: learned.then(|| account.error_rate()),
            fidelity: (learned && *expected > 0.0).then(|| outcome / expected),
            region: learned.then(|| account.region(share.power_factor).name().into()),
            packets: None,
        })
    }

    /// Returns what came of its effort, as text; `None` if the link does not learn that.
    fn success(&self) -> Option<String> {
        let Self { outcome_seconds, bytes, error_rate, .. } = *self;
        let fidelity = self.fidelity.map(|it| format!("fidelity {:.1} %, ", 100.0 * it));
        Some(format!(
            "outcome {} s, {:.0} kB, {}errors {:.1} %, {} region",
            brief(outcome_seconds?),
            bytes? as f64 / 1e3,
            fidelity.unwrap_or_default(),
            100.0 * error_rate?,
            self.region.as_ref()?,
        ))
    }

    /// Writes the lines of the text.
    pub(super) fn lines(&self, out: &mut String) {
        let Self { name, link, .. } = self;
        let offered = match self.offered {
            1 => "1 packet".to_owned(),
            offered => format!("{offered} packets"),
        };
        // Writing to a string cannot fail.
        if let Some(packets) = &self.packets {
            let _ = writeln!(out, "flow {name} on {link}: {offered}, {packets}");
        }
        let Some(effort) = self.effort_seconds else { return };
        if effort <= 0.0 {
            let _ = writeln!(out, "flow {name} on {link}: never served, {offered} came");
            return;
        }
        let effort = brief(effort);
        let success = self.success().unwrap_or_else(|| "outcome unknown".to_owned());
        let _ = writeln!(out, "flow {name} on {link}: effort {effort} s, {success}");
    }
}
