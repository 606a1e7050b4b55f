//! The display of a run on the terminal: its links in one line, each flow in one more.

use std::collections::BTreeMap;

use windfall_base::{Duration, Instant};
use windfall_network::{ElementId, Network};

use crate::terminal::footer::Footer;

/// The time between two updates.
const TICK: Duration = Duration::from_millis(500);
/// The most flows that are shown: the first that were served.
const FLOWS: usize = 16;

/// The lines. They are redrawn in place, and gone when the run ends.
#[derive(Debug)]
pub struct Status {
    footer: Footer,
    flows: Vec<FlowLine>,
    /// The names of the flows, by their numbers; number 0 is everything else.
    names: Vec<String>,
    next: Instant,
    last: Instant,
    /// Bytes delivered, packets entered and packets dropped at the last look, by direction.
    before: BTreeMap<ElementId, (u64, u64, u64)>,
}

/// A flow at one interface.
#[derive(Debug)]
struct FlowLine {
    place: (ElementId, usize),
    text: String,
    /// Bytes that have arrived and air time spent at the last look.
    before: (u64, f64),
}

impl Status {
    /// Lines of a run with these `flows`; nothing is shown yet.
    #[must_use]
    pub fn new(flows: &[String]) -> Self {
        let mut names = Vec::new();
        if !flows.is_empty() {
            names.push("everything else".to_owned());
            names.extend_from_slice(flows);
        }
        Self {
            footer: Footer::default(),
            flows: Vec::new(),
            names,
            next: Instant::START + TICK,
            last: Instant::START,
            before: BTreeMap::new(),
        }
    }

    /// When it wants to be shown again.
    #[must_use]
    pub fn wakeup(&self) -> Instant {
        self.next
    }

    /// Leaves the terminal as it was.
    pub fn clear(&mut self) {
        self.footer.clear();
    }

    /// Redraws the lines if it is time.
    pub fn show(&mut self, now: Instant, network: &Network) {
        if now < self.next {
            return;
        }
        let span = (now - self.last).as_secs_f64().max(1e-9);
        self.last = now;
        self.next = now + TICK;
        let mut lines = vec![self.links(span, network)];
        for interface in network.interfaces() {
            self.update_flows(span, network, interface);
        }
        lines.extend(self.flows.iter().map(|flow| flow.text.clone()));
        self.footer.show(&lines);
    }

    /// Rate, loss and queue of each direction.
    fn links(&mut self, span: f64, network: &Network) -> String {
        let mut parts = Vec::new();
        for id in network.interfaces() {
            let ledger = network.ledger(id);
            let (bytes, entered, dropped) =
                (ledger.delivered_bytes, ledger.entered, ledger.drops.total());
            let before = self.before.insert(id, (bytes, entered, dropped)).unwrap_or_default();
            let rate = (bytes - before.0) as f64 * 8e-6 / span;
            // A packet that arrives after all takes its drop back.
            let lost = 100.0 * dropped.saturating_sub(before.2) as f64;
            let loss = lost / (entered - before.1).max(1) as f64;
            let (queued, _) = network.queue_len(id);
            let name = network.name(id);
            parts.push(format!("{name} {rate:.2} Mbps, {loss:.1} % lost, {queued} queued"));
        }
        parts.join("  ")
    }

    /// Rate, effort, error rate and region of each flow of an interface.
    fn update_flows(&mut self, span: f64, network: &Network, interface: ElementId) {
        if self.names.is_empty() {
            return;
        }
        for (number, (name, flow)) in self.names.iter().zip(network.flows(interface)).enumerate() {
            let place = (interface, number);
            let effort = flow.account.total.effort;
            let known = self.flows.iter().position(|line| line.place == place);
            if known.is_none() && (effort <= 0.0 || self.flows.len() >= FLOWS) {
                continue;
            }
            let known = known.unwrap_or_else(|| {
                self.flows.push(FlowLine { place, text: String::new(), before: (0, 0.0) });
                self.flows.len() - 1
            });
            let FlowLine { text, before, .. } = &mut self.flows[known];
            let rate = (flow.bytes - before.0) as f64 * 8e-6 / span;
            let share = 100.0 * (effort - before.1) / span;
            *before = (flow.bytes, effort);
            let link = network.name(interface);
            let errors = if flow.outcome_unknown {
                "errors unknown".to_owned()
            } else {
                let region = flow.account.region(flow.share.power_factor).name();
                format!("errors {:.0} %, {region} region", 100.0 * flow.account.error_rate())
            };
            *text = format!("{name} {link} {rate:.2} Mbps, effort {share:.0} %, {errors}");
        }
    }
}
