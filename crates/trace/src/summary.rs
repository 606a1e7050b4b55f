//! What is said at the end of a run: to people as text, to machines as JSON.
//!
//! The same for simulated and for real time; what only one of them has is empty in the other.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;
use windfall_base::{Drops, Duration, Seed};
use windfall_network::{ElementId, LinkLedger, Network};

/// The account of a whole run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Summary {
    /// The version of the program.
    pub version: String,
    /// The seed of the run.
    pub seed: u64,
    /// The command that started it.
    pub command: String,
    /// How long it lasted, in seconds.
    pub seconds: f64,
    /// Each direction of each link.
    pub links: Vec<LinkSummary>,
    /// Each flow with a share of its own, at each interface that served it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flows: Vec<FlowSummary>,
    /// Where more was reserved than the link can keep at worst, because it was asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub overcommitted: Vec<Overcommitment>,
    /// Each station that dropped packets above its links.
    pub stations: Vec<StationSummary>,
    /// How punctual deliveries were; `None` in simulated time, which is never late.
    pub late: Option<LateSummary>,
    /// What the applications measured.
    pub applications: Vec<ApplicationSummary>,
}

/// The account of one direction of a link.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LinkSummary {
    /// Who sends to whom: `near→far`.
    pub name: String,
    /// Packets that entered at the sender's device.
    pub entered: u64,
    /// Packets that left at a receiver's device.
    pub delivered: u64,
    /// Of those delivered, packets marked as damaged.
    pub damaged: u64,
    /// Packets dropped, by reason.
    pub dropped: BTreeMap<&'static str, u64>,
    /// Packets on their way when the run ended.
    pub in_flight: u64,
    /// Frames with packets put on the medium, repetitions included.
    pub frames: u64,
    /// Frames that repeated a packet.
    pub retransmitted: u64,
    /// Frames without a packet: polls, acknowledgements.
    pub control_frames: u64,
    /// Bits that the air inverted.
    pub bits_inverted: u64,
    /// How long frames occupied the medium, in seconds.
    pub busy_seconds: f64,
    /// What the radio of the sender did; absent where there is none of 802.11.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub radio: Option<RadioSummary>,
    /// Whether every packet is accounted for.
    pub balances: bool,
}

/// How long a radio was in each state, and what that cost (S2.22).
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RadioSummary {
    /// Seconds in each state, by its name.
    pub seconds: BTreeMap<&'static str, f64>,
    /// Energy by the currents of a card.
    pub joules: f64,
    /// The same for each byte of the packets sent that were delivered; absent if none was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub joules_per_byte: Option<f64>,
}

/// What a flow had of a link (S3.29).
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FlowSummary {
    /// The flow.
    pub name: String,
    /// Who sends to whom.
    pub link: String,
    /// Air time spent on it, in seconds.
    pub effort_seconds: f64,
    /// The air time that what arrived would have taken without errors, in seconds.
    pub outcome_seconds: f64,
    /// Bytes of the packets that are known to have arrived.
    pub bytes: u64,
    /// The recent share of its effort that errors destroyed.
    pub error_rate: f64,
    /// Its outcome as a share of what it would be without errors (S3.25).
    pub fidelity: f64,
    /// `outcome` if extra effort makes up for the errors, `effort` if its power factor limits it.
    pub region: &'static str,
}

impl FlowSummary {
    /// The account of the flow `name` on `link`; `None` if it was never served.
    //= S3.25
    //= S3.30
    #[must_use]
    pub fn new(name: &str, link: &str, flow: &windfall_stack::FlowAccount) -> Option<Self> {
        let windfall_stack::FlowAccount { account, share, bytes, .. } = flow;
        let (effort, outcome) = (account.total.effort, account.total.outcome);
        (effort > 0.0).then(|| Self {
            name: name.to_owned(),
            link: link.to_owned(),
            effort_seconds: effort,
            outcome_seconds: outcome,
            bytes: *bytes,
            error_rate: account.error_rate(),
            fidelity: outcome / (outcome + account.lag).max(f64::MIN_POSITIVE),
            region: account.region(share.power_factor).name(),
        })
    }
}

/// Reserved flows that can take more than a whole link at worst (S3.46).
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Overcommitment {
    /// Who sends on which link.
    pub link: String,
    /// What they can take at worst, as a share of the link.
    pub worst: f64,
}

/// What a station dropped above its links; live, the kernel's counters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StationSummary {
    /// The station.
    pub name: String,
    /// Packets dropped, by reason.
    pub dropped: BTreeMap<String, u64>,
    /// The TCP congestion control of the station's kernel; `None` where no kernel stands there.
    pub congestion: Option<String>,
    /// How often each step of TCP's processing was taken, where our engine stands; steps that were
    /// not taken are left out.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tcp: BTreeMap<&'static str, u64>,
}

/// How far deliveries were behind their due time, for want of processor time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct LateSummary {
    /// Packets delivered.
    pub delivered: u64,
    /// Packets delivered late.
    pub late: u64,
    /// From which delay on a delivery counts as late, in seconds.
    pub punctual_seconds: f64,
    /// The worst delay, in seconds.
    pub worst_seconds: f64,
}

/// What one application measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ApplicationSummary {
    /// The application and where it ran.
    pub name: String,
    /// The measures by name, each with its unit in the name.
    pub measures: BTreeMap<&'static str, f64>,
}

/// More columns than this do not fit beside each other.
const COLUMNS: usize = 4;

impl Summary {
    /// Says where more was reserved than a link can keep at worst, and how much.
    pub fn add_overcommitted(&mut self, links: &[(String, f64)]) {
        let each = links.iter().map(|(link, worst)| (link.clone(), *worst));
        self.overcommitted.extend(each.map(|(link, worst)| Overcommitment { link, worst }));
    }

    /// Adds what the flows of `interface` had, by the names of the scenario's flows.
    pub fn add_flows(&mut self, network: &Network, interface: ElementId, names: &[String]) {
        if names.is_empty() {
            return;
        }
        let link = network.name(interface);
        let accounts = network.flows(interface);
        let all = core::iter::once("everything else").chain(names.iter().map(String::as_str));
        let summaries = all.zip(&accounts).filter_map(|(n, a)| FlowSummary::new(n, link, a));
        self.flows.extend(summaries);
    }

    /// An account to be filled, of a run with `seed` started by `command`.
    #[must_use]
    pub fn new(seed: Seed, command: impl Into<String>, duration: Duration) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            seed: seed.0,
            command: command.into(),
            seconds: duration.as_secs_f64(),
            ..Self::default()
        }
    }

    /// Whether every packet of every link is accounted for.
    #[must_use]
    pub fn balances(&self) -> bool {
        self.links.iter().all(|link| link.balances)
    }

    /// The account as one JSON object.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        // Strings, numbers and lists of them: there is nothing in it that JSON cannot say.
        serde_json::to_value(self).unwrap_or_default()
    }

    /// The account as text.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        for links in self.links.chunks(COLUMNS) {
            self.link_table(&mut out, links);
        }
        self.radio_lines(&mut out);
        for flow in &self.flows {
            let FlowSummary { name, link, region, .. } = flow;
            let _ = writeln!(
                out,
                "flow {name} on {link}: effort {} s, outcome {} s, {:.0} kB, fidelity {:.1} %, \
                 errors {:.1} %, {region} region",
                brief(flow.effort_seconds),
                brief(flow.outcome_seconds),
                flow.bytes as f64 / 1e3,
                100.0 * flow.fidelity,
                100.0 * flow.error_rate,
            );
        }
        for Overcommitment { link, worst } in &self.overcommitted {
            let percent = 100.0 * worst;
            let _ = writeln!(out, "overcommitted: {link} may need {percent:.1} % of the link");
        }
        for station in &self.stations {
            if !station.dropped.is_empty() {
                let drops = station.dropped.iter().map(|(name, n)| format!("{name} {n}"));
                let drops = drops.collect::<Vec<_>>().join(", ");
                // Writing to a string cannot fail.
                let _ = writeln!(out, "dropped above the link at {}: {drops}", station.name);
            }
        }
        let mut congestion = BTreeMap::<_, Vec<_>>::new();
        for station in &self.stations {
            if let Some(name) = &station.congestion {
                congestion.entry(name).or_default().push(station.name.as_str());
            }
        }
        for (name, stations) in congestion {
            let _ = writeln!(out, "TCP congestion control at {}: {name}", stations.join(", "));
        }
        for station in self.stations.iter().filter(|station| !station.tcp.is_empty()) {
            let steps =
                station.tcp.iter().map(|(name, n)| format!("{} {n}", name.replace('_', " ")));
            let steps = steps.collect::<Vec<_>>().join(", ");
            let _ = writeln!(out, "TCP at {}: {steps}", station.name);
        }
        for application in &self.applications {
            let measures = &application.measures;
            let measures = measures.iter().map(|(name, v)| format!("{name} {}", brief(*v)));
            let measures = measures.collect::<Vec<_>>().join(", ");
            let _ = writeln!(out, "{}: {measures}", application.name);
        }
        if let Some(late) = self.late {
            let _ = writeln!(
                out,
                "late deliveries: {} of {} by more than {} ms, worst {:.3} ms",
                late.late,
                late.delivered,
                late.punctual_seconds * 1e3,
                late.worst_seconds * 1e3
            );
        }
        if !self.balances() {
            out.push_str("the ledger does not add up: packets are missing from it\n");
        }
        let _ = writeln!(out, "{:.3} s, seed {}", self.seconds, self.seed);
        out
    }

    fn radio_lines(&self, out: &mut String) {
        for (name, radio) in self.links.iter().filter_map(|it| Some((&it.name, it.radio.as_ref()?)))
        {
            let states = radio.seconds.iter().map(|(state, s)| format!("{state} {} s", brief(*s)));
            let states = states.collect::<Vec<_>>().join(", ");
            let per_byte = radio
                .joules_per_byte
                .map(|joules| format!(", {} µJ for each byte delivered", brief(joules * 1e6)));
            let (joules, per_byte) = (brief(radio.joules), per_byte.unwrap_or_default());
            let _ = writeln!(out, "radio {name}: {states}; {joules} J{per_byte}");
        }
    }

    fn link_table(&self, out: &mut String, links: &[LinkSummary]) {
        let mut rows: Vec<(String, Vec<String>)> = Vec::new();
        let mut row = |name: &str, cell: &dyn Fn(&LinkSummary) -> String| {
            rows.push((name.to_owned(), links.iter().map(cell).collect()));
        };
        row("", &|link| link.name.clone());
        row("packets", &|link| link.entered.to_string());
        row("  delivered", &|link| link.delivered.to_string());
        if links.iter().any(|link| link.damaged > 0) {
            row("    damaged", &|link| link.damaged.to_string());
        }
        row("  dropped", &|link| link.dropped.values().sum::<u64>().to_string());
        let reasons: std::collections::BTreeSet<_> =
            links.iter().flat_map(|link| link.dropped.keys().copied()).collect();
        for reason in reasons {
            row(&format!("    {reason}"), &|link| {
                link.dropped.get(reason).copied().unwrap_or(0).to_string()
            });
        }
        row("  in flight", &|link| link.in_flight.to_string());
        row("frames", &|link| (link.frames + link.control_frames).to_string());
        row("  retransmitted", &|link| link.retransmitted.to_string());
        if links.iter().any(|link| link.control_frames > 0) {
            row("  control", &|link| link.control_frames.to_string());
        }
        row("bits inverted", &|link| link.bits_inverted.to_string());
        row("link busy", &|link| match self.seconds {
            s if s > 0.0 => format!("{:.1} %", 100.0 * link.busy_seconds / s),
            _ => "–".to_owned(),
        });
        write_rows(out, &rows);
    }
}

/// Writes names to the left and cells to the right, columns aligned.
fn write_rows(out: &mut String, rows: &[(String, Vec<String>)]) {
    let names = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let cells = rows.iter().flat_map(|(_, cells)| cells).map(|cell| cell.chars().count());
    let width = cells.max().unwrap_or(0).max(10);
    for (name, cells) in rows {
        let _ = write!(out, "{name:<names$}");
        for cell in cells {
            let _ = write!(out, "  {cell:>width$}");
        }
        out.push('\n');
    }
}

impl LinkSummary {
    /// The account of the direction `name` from its ledger.
    #[must_use]
    pub fn new(name: impl Into<String>, ledger: &LinkLedger) -> Self {
        Self {
            name: name.into(),
            entered: ledger.entered,
            delivered: ledger.delivered,
            damaged: ledger.damaged,
            dropped: named(&ledger.drops),
            in_flight: ledger.in_flight(),
            frames: ledger.frames,
            retransmitted: ledger.retransmissions,
            control_frames: ledger.control_frames,
            bits_inverted: ledger.bits_inverted,
            busy_seconds: ledger.busy.as_secs_f64(),
            radio: None,
            balances: ledger.balances(),
        }
    }
}

/// Drops by name, without those that did not occur.
fn named(drops: &Drops) -> BTreeMap<&'static str, u64> {
    drops.iter().map(|(reason, n)| (reason.name(), n)).collect()
}

/// A number with six significant digits, or whole; JSON has all of them.
fn brief(value: f64) -> String {
    if value.fract() == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let magnitude = value.abs().log10().floor() as i32;
    let text = format!("{value:.*}", (5 - magnitude).clamp(0, 12) as usize);
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

#[cfg(test)]
mod tests;
