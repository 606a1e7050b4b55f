//! The summary at the end of a run: text for people, JSON for programs.
//!
//! Simulated and real time share one form; what only one of them has is empty in the other.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

use serde::{Deserialize, Serialize};
use windfall_base::{Drops, Duration, FlowId, Seed};
use windfall_network::{ElementId, LinkLedger, Network};
use windfall_stack::FlowAccount;

mod application;
mod applied;
mod energy;
mod flow;
mod lateness;
mod ports;
mod rows;

pub use application::ApplicationSummary;
use application::measure;
pub use applied::AppliedSetting;
pub use energy::{EnergySummary, StationEnergySummary};
pub use flow::{FlowPackets, FlowSummary};
pub use lateness::LatenessSummary;
pub use ports::PortSummary;
use rows::{width_of, write_rows};

/// The format of the JSON summary; the number grows when a member changes its meaning or
/// goes.
pub const FORMAT: &str = "windfall-summary/2";

/// The summary of a whole run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Summary {
    /// The version of the program.
    pub version: String,
    /// The seed of the run.
    pub seed: u64,
    /// The command that started it.
    pub command: String,
    /// Length of the run, in seconds.
    pub seconds: f64,
    /// Intended length, in seconds, if a signal or an error ended the run before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interrupted_of_seconds: Option<f64>,
    /// Each direction of each link.
    pub links: Vec<LinkSummary>,
    /// Each flow with a share of its own, at each interface to which packets of it came.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flows: Vec<FlowSummary>,
    /// Flows of which no packet came anywhere: their rules match nothing, perhaps.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unused_flows: Vec<String>,
    /// Changes of links and faults of connections that never acted, as their options write them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub never_acted: Vec<String>,
    /// Interfaces with more reserved than the link can keep at worst, because it was asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub overcommitted: Vec<Overcommitment>,
    /// Energy of all radios; absent without radios of 802.11.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub energy: Option<EnergySummary>,
    /// The drops and the TCP of each station.
    pub stations: Vec<StationSummary>,
    /// Settings of TCP of which the kernels of the stations were told, or could not be.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub applied: Vec<AppliedSetting>,
    /// Ports that lead into the run and out of it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<PortSummary>,
    /// Programs beside the command that failed by themselves.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<FailedProgram>,
    /// Delays of the machine; `None` in simulated time, which is never late.
    pub lateness: Option<LatenessSummary>,
    /// Measures of the applications.
    pub applications: Vec<ApplicationSummary>,
}

/// The ledger of one direction of a link.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LinkSummary {
    /// The link and its sender: `air/near`.
    pub name: String,
    /// Packets that entered at the sender's device.
    pub entered: u64,
    /// Packets that left at a receiver's device.
    pub delivered: u64,
    /// Of those delivered, packets of which every copy was marked as damaged.
    pub damaged: u64,
    /// Further deliveries of packets that had been delivered before.
    #[serde(skip_serializing_if = "is_zero")]
    pub copies: u64,
    /// Packets that the queue, or the link in place of losing them, marked (ECN).
    #[serde(skip_serializing_if = "is_zero")]
    pub marked: u64,
    /// Packets that were made whole from damaged copies.
    #[serde(skip_serializing_if = "is_zero")]
    pub combined: u64,
    /// Packets that were made from repairs, or put right by them.
    #[serde(skip_serializing_if = "is_zero")]
    pub repaired: u64,
    /// Packets dropped, by reason.
    pub dropped: BTreeMap<Cow<'static, str>, u64>,
    /// Packets on their way when the run ended.
    pub in_flight: u64,
    /// Of those, packets that have not come, and that a receiver may make from repairs yet.
    #[serde(skip_serializing_if = "is_zero")]
    pub awaiting_repair: u64,
    /// Frames with packets put on the medium, retransmissions included.
    pub frames: u64,
    /// Frames that retransmitted a packet.
    pub retransmitted: u64,
    /// Frames without a packet: polls, acknowledgements.
    pub control_frames: u64,
    /// Requests to send of 802.11 that no CTS answered.
    pub rts_failed: u64,
    /// Bits that the channel inverted.
    pub bits_inverted: u64,
    /// Time for which frames occupied the medium, in seconds.
    pub busy_seconds: f64,
    /// States and energy of the sender's radio; absent where there is none of 802.11.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub radio: Option<RadioSummary>,
    /// True if every packet is accounted for.
    pub balances: bool,
}

/// Time of a radio in each state, and its energy (S2.22).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RadioSummary {
    /// Seconds in each state, by its name.
    pub seconds: BTreeMap<Cow<'static, str>, f64>,
    /// Energy by the currents of a card.
    pub joules: f64,
    /// The main role of the station: `sender`, `receiver`, or `bystander` if it was neither.
    pub role: Cow<'static, str>,
    /// Bytes of packets that it sent and that were delivered, and of those that it received.
    pub bytes_moved: u64,
    /// Its energy for each of them; absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub joules_per_byte: Option<f64>,
}

/// Reserved flows that can take more than a whole link at worst (S3.46).
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Overcommitment {
    /// The link and its sender.
    pub link: String,
    /// Their greatest need, as a share of the link.
    pub worst: f64,
}

/// The packets that a station dropped; in real time, its kernel and its devices.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct StationSummary {
    /// Name of the station.
    pub name: String,
    /// Packets that its programs sent and that were dropped before they entered a link, by reason.
    pub dropped_before: BTreeMap<&'static str, u64>,
    /// Packets that left a link and were dropped before they reached a program, by reason; in
    /// simulated time, those for which its host knew no route too.
    pub dropped_after: BTreeMap<&'static str, u64>,
    /// Packets that waited on its devices when the run ended.
    pub waiting: u64,
    /// The TCP congestion control of the station's kernel; `None` where no kernel stands there.
    pub congestion: Option<String>,
    /// Counts of the steps of TCP's processing, where our engine stands; steps that were
    /// not taken are left out.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tcp: BTreeMap<&'static str, u64>,
    /// The energy of the station; absent unless the scenario names a model of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub energy: Option<StationEnergySummary>,
}

/// A program beside the command that ended with another status than 0 before it was told to end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FailedProgram {
    /// Name of the station.
    pub station: String,
    /// The program, as it was given.
    pub program: String,
    /// Its exit status, as a shell gives it: 128 + N if signal N ended it.
    pub status: u8,
}

impl fmt::Display for FailedProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { station, program, status } = self;
        // Names come from users, and go to a terminal.
        write!(f, "failed at {station}: \"{}\" ended with {status}", program.escape_debug())
    }
}

/// More columns than this are not read beside each other.
const COLUMNS: usize = 4;
/// The width of a page that is no terminal, in characters.
const PAGE: usize = 80;

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
        let queues: BTreeMap<FlowId, &FlowAccount> =
            accounts.iter().map(|account| (account.flow, account)).collect();
        let (ledger, _) = network.open_ledger(interface);
        let all = core::iter::once("everything else").chain(names.iter().map(String::as_str));
        for (flow, name) in (0..=u16::MAX).map(FlowId).zip(all) {
            let queue = queues.get(&flow).copied();
            self.flows.extend(FlowSummary::new(name, link, queue, ledger.flow(flow)));
        }
        let is_used = |name: &String| self.flows.iter().any(|flow| flow.name == *name);
        self.unused_flows = names.iter().filter(|name| !is_used(name)).cloned().collect();
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

    /// Adds up the energy of the radios, when links and applications are entered; `delivered` is
    /// the bytes of packets that were delivered.
    pub fn add_energy(&mut self, delivered: u64) {
        let radios: Vec<f64> =
            self.links.iter().filter_map(|link| Some(link.radio.as_ref()?.joules)).collect();
        if radios.is_empty() {
            return;
        }
        let measures = self.applications.iter().flat_map(|it| &it.measures);
        let received =
            measures.filter(|(name, _)| **name == "received_bytes").map(|it| it.1.number());
        let payload = received.sum::<f64>() as u64;
        let bytes = if payload > 0 { payload } else { delivered };
        let joules = radios.iter().sum();
        self.energy = Some(EnergySummary {
            joules,
            bytes,
            is_payload: payload > 0,
            joules_per_byte: (bytes > 0).then(|| joules / bytes as f64),
        });
    }

    /// Tells whether every packet of every link is accounted for.
    #[must_use]
    pub fn balances(&self) -> bool {
        self.links.iter().all(|link| link.balances)
    }

    /// The account as one JSON object, whose `format` is [`FORMAT`].
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        // Strings, numbers and lists of them: there is nothing in it that JSON cannot say.
        let mut account = serde_json::to_value(self).unwrap_or_default();
        if let Some(members) = account.as_object_mut() {
            members.insert("format".to_owned(), FORMAT.into());
        }
        account
    }

    /// A line for each flow on each link to which packets of it came.
    fn flow_lines(&self, out: &mut String) {
        for name in &self.unused_flows {
            let _ = writeln!(out, "flow {name}: no packets");
        }
        for what in &self.never_acted {
            let _ = writeln!(out, "{what}: never acted");
        }
        for flow in &self.flows {
            flow.lines(out);
        }
    }

    /// The account as text, as wide as a page.
    #[must_use]
    pub fn to_text(&self) -> String {
        self.to_text_within(PAGE)
    }

    /// The account as text whose tables are at most `width` characters wide, if a single column
    /// fits in that.
    #[must_use]
    pub fn to_text_within(&self, width: usize) -> String {
        let mut out = String::new();
        self.link_tables(&mut out, width);
        self.radio_lines(&mut out);
        self.flow_lines(&mut out);
        for Overcommitment { link, worst } in &self.overcommitted {
            let percent = 100.0 * worst;
            let _ = writeln!(out, "overcommitted: {link} may need {percent:.1} % of the link");
        }
        for station in &self.stations {
            station.drop_lines(&mut out);
        }
        let mut congestion = BTreeMap::<_, Vec<_>>::new();
        for station in &self.stations {
            if let Some(name) = &station.congestion {
                congestion.entry(name).or_default().push(station.name.as_str());
            }
        }
        for (name, stations) in congestion {
            let at = match stations.len() {
                n if n == self.stations.len() && n > COLUMNS => format!("all {n} stations"),
                _ => stations.join(", "),
            };
            let _ = writeln!(out, "TCP congestion control at {at}: {name}");
        }
        for applied in &self.applied {
            let _ = writeln!(out, "{applied}");
        }
        for station in self.stations.iter().filter(|station| !station.tcp.is_empty()) {
            let steps = station.tcp.iter().map(|(name, n)| format!("{} {n}", tcp_step(name)));
            let steps = steps.collect::<Vec<_>>().join(", ");
            let _ = writeln!(out, "TCP at {}: {steps}", station.name);
        }
        for station in &self.stations {
            if let Some(energy) = &station.energy {
                let _ = writeln!(out, "energy of {} {energy}", station.name);
            }
        }
        // A port that carried all that came has no line.
        for port in self.ports.iter().filter(|port| !port.dropped.is_empty()) {
            let _ = writeln!(out, "{port}");
        }
        for failed in &self.failed {
            let _ = writeln!(out, "{failed}");
        }
        for application in &self.applications {
            let measures = &application.measures;
            let numbers = measures.iter().map(|(name, measured)| (name, measured.number()));
            let shown = numbers.filter(|(_, number)| *number != 0.0);
            let shown: Vec<_> = shown.map(|(name, number)| measure(name, number)).collect();
            let _ = writeln!(out, "{}: {}", application.name, shown.join(", "));
        }
        if let Some(lateness) = self.lateness {
            lateness.lines(&mut out);
        }
        if !self.balances() {
            out.push_str("the ledger does not add up: packets are missing from it\n");
        }
        let interrupted = self.interrupted_of_seconds;
        let interrupted = interrupted.map(|whole| format!(" of {whole:.3} s, interrupted"));
        let interrupted = interrupted.unwrap_or_default();
        let _ = writeln!(out, "{:.3} s{interrupted}, seed {}", self.seconds, self.seed);
        out
    }

    fn radio_lines(&self, out: &mut String) {
        let shown = self.shown().into_iter();
        for (name, radio) in shown.filter_map(|it| Some((&it.name, it.radio.as_ref()?))) {
            let states = radio.seconds.iter().map(|(state, s)| format!("{state} {} s", brief(*s)));
            let states = states.collect::<Vec<_>>().join(", ");
            let per_byte = radio
                .joules_per_byte
                .map(|joules| format!(", {} µJ for each byte moved", brief(joules * 1e6)));
            let joules = brief(radio.joules);
            let per_byte = per_byte.unwrap_or_default();
            let role = &radio.role;
            let _ = writeln!(out, "radio {name} ({role}): {states}; {joules} J{per_byte}");
        }
        if let Some(EnergySummary { joules, is_payload, joules_per_byte: Some(each), .. }) =
            self.energy
        {
            let of = if is_payload { "payload" } else { "packets" };
            let joules = brief(joules);
            let each = brief(each * 1e6);
            let _ =
                writeln!(out, "all radios: {joules} J, {each} µJ for each byte of {of} delivered");
        }
    }

    /// The directions that have something to show: where there are many, those that did something.
    fn shown(&self) -> Vec<&LinkSummary> {
        let few = self.links.len() <= COLUMNS;
        self.links.iter().filter(|link| few || !link.is_idle()).collect()
    }

    fn link_tables(&self, out: &mut String, width: usize) {
        let mut rest = &*self.shown();
        let mut columns = COLUMNS;
        while !rest.is_empty() {
            let rows = self.link_rows(&rest[..columns.min(rest.len())]);
            if columns > 1 && width_of(&rows) > width {
                columns -= 1;
                continue;
            }
            write_rows(out, &rows);
            rest = &rest[columns.min(rest.len())..];
        }
        let shown = self.shown();
        let idle: Vec<_> = (self.links.iter())
            .filter(|link| !shown.iter().any(|it| it.name == link.name))
            .map(|link| link.name.as_str())
            .collect();
        if !idle.is_empty() {
            // Writing to a string cannot fail.
            let _ = writeln!(out, "nothing was sent on {}", idle.join(", "));
        }
    }

    fn link_rows(&self, links: &[&LinkSummary]) -> Vec<(String, Vec<String>)> {
        let mut rows: Vec<(String, Vec<String>)> = Vec::new();
        let mut row = |name: &str, cell: &dyn Fn(&LinkSummary) -> String| {
            rows.push((name.to_owned(), links.iter().map(|link| cell(link)).collect()));
        };
        row("", &|link| link.name.clone());
        row("packets", &|link| link.entered.to_string());
        row("  delivered", &|link| link.delivered.to_string());
        if links.iter().any(|link| link.damaged > 0) {
            row("    damaged", &|link| link.damaged.to_string());
        }
        if links.iter().any(|link| link.copies > 0) {
            row("    again", &|link| link.copies.to_string());
        }
        if links.iter().any(|link| link.marked > 0) {
            row("  marked (ECN)", &|link| link.marked.to_string());
        }
        if links.iter().any(|link| link.combined > 0) {
            row("  combined", &|link| link.combined.to_string());
        }
        if links.iter().any(|link| link.repaired > 0) {
            row("  repaired", &|link| link.repaired.to_string());
        }
        row("  dropped", &|link| link.dropped.values().sum::<u64>().to_string());
        let reasons: std::collections::BTreeSet<_> =
            links.iter().flat_map(|link| link.dropped.keys()).collect();
        for reason in reasons {
            row(&format!("    {reason}"), &|link| {
                link.dropped.get(reason).copied().unwrap_or(0).to_string()
            });
        }
        row("  in flight", &|link| link.in_flight.to_string());
        if links.iter().any(|link| link.awaiting_repair > 0) {
            row("    await repair", &|link| link.awaiting_repair.to_string());
        }
        row("frames", &|link| (link.frames + link.control_frames).to_string());
        row("  retransmitted", &|link| link.retransmitted.to_string());
        if links.iter().any(|link| link.control_frames > 0) {
            row("  control", &|link| link.control_frames.to_string());
        }
        if links.iter().any(|link| link.rts_failed > 0) {
            row("  RTS without CTS", &|link| link.rts_failed.to_string());
        }
        row("bits inverted", &|link| link.bits_inverted.to_string());
        row("link busy", &|link| match self.seconds {
            s if s > 0.0 => format!("{:.1} %", 100.0 * link.busy_seconds / s),
            _ => "–".to_owned(),
        });
        rows
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the attribute of serde passes it so")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl LinkSummary {
    /// Tells whether nothing crossed the link or was lost on it.
    fn is_idle(&self) -> bool {
        let frames = self.frames + self.control_frames;
        frames == 0 && self.delivered == 0 && self.dropped.is_empty()
    }

    /// The account of the direction `name` from its ledger.
    #[must_use]
    pub fn new(name: impl Into<String>, ledger: &LinkLedger) -> Self {
        Self {
            name: name.into(),
            entered: ledger.entered,
            delivered: ledger.delivered,
            damaged: ledger.damaged,
            copies: ledger.copies,
            marked: ledger.packets.marked,
            combined: ledger.packets.combined,
            repaired: ledger.packets.repaired,
            dropped: ledger.drops.iter().map(|(reason, n)| (reason.name().into(), n)).collect(),
            in_flight: ledger.in_flight(),
            awaiting_repair: 0,
            frames: ledger.packets.frames,
            retransmitted: ledger.packets.retransmissions,
            control_frames: ledger.control_frames,
            rts_failed: ledger.rts_failed,
            bits_inverted: ledger.bits_inverted,
            busy_seconds: ledger.busy.as_secs_f64(),
            radio: None,
            balances: ledger.balances(),
        }
    }
}

impl StationSummary {
    /// A line for each side of the links on which the station dropped packets.
    fn drop_lines(&self, out: &mut String) {
        let sides = [("before", &self.dropped_before), ("after", &self.dropped_after)];
        for (side, drops) in sides.into_iter().filter(|(_, drops)| !drops.is_empty()) {
            let drops = drops.iter().map(|(name, n)| format!("{name} {n}"));
            let drops = drops.collect::<Vec<_>>().join(", ");
            // Writing to a string cannot fail.
            let _ = writeln!(out, "dropped {side} the link at {}: {drops}", self.name);
        }
    }
}

/// Returns drops by name, without those that did not occur.
#[must_use]
pub fn named(drops: &Drops) -> BTreeMap<&'static str, u64> {
    drops.iter().map(|(reason, n)| (reason.name(), n)).collect()
}

/// Returns the name of a step of TCP's processing in words.
#[must_use]
pub fn tcp_step(name: &str) -> String {
    match name {
        "keys_compared" => "connection keys compared".to_owned(),
        "lookups" => "connection lookups".to_owned(),
        "paws_checks" => "timestamp checks (PAWS)".to_owned(),
        "predicted_data" => "data segments by header prediction".to_owned(),
        "predicted_acks" => "ACKs by header prediction".to_owned(),
        "mispredicted" => "header prediction misses".to_owned(),
        "templates" => "headers from a template".to_owned(),
        "headers" => "headers written in full".to_owned(),
        "sack_blocks" => "SACK blocks".to_owned(),
        "sack_refused" => "SACK blocks refused".to_owned(),
        "acks_sent" => "ACKs sent".to_owned(),
        "acks_received" => "ACKs received".to_owned(),
        name => name.replace('_', " "),
    }
}

/// A number with six significant digits, or whole; JSON has all of them.
fn brief(value: f64) -> String {
    if value.fract() == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let magnitude = value.abs().log10().floor() as i32;
    let text = format!("{value:.*}", (5 - magnitude).clamp(0, 12) as usize);
    if text.contains('.') {
        return text.trim_end_matches('0').trim_end_matches('.').to_owned();
    }
    text
}

#[cfg(test)]
mod tests;
