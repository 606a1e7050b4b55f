//! The paper's simulation of its scheduler: busy flows on a link of packet slots (S3.39).

use windfall_base::{Probability, Seed, Stream};
use windfall_queue::{Discipline, FlowConfig, FlowError, Service};
use windfall_report::{Axis, Chart, Mark, Point, Series, Table};

use crate::experiment::{Context, ExperimentError, ExperimentInput};

/// A flow of the simulation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flow {
    pub(super) name: &'static str,
    pub(super) config: FlowConfig,
    /// The share of the error-free link that it may expect.
    pub(super) expected: f64,
}

/// The flow of each slot, and its outcome.
#[derive(Clone, Debug, Default)]
pub(super) struct Course {
    /// The flow of each slot, and whether it delivered.
    slots: Vec<(usize, bool)>,
}

impl Course {
    /// Runs `slots` slots; `delivers(flow, slot)` says whether the flow's packet arrives.
    ///
    /// # Errors
    /// If a flow cannot be scheduled.
    pub(super) fn run(
        figure: &'static str,
        discipline: Discipline,
        flows: &[Flow],
        slots: usize,
        mut delivers: impl FnMut(usize, usize) -> bool,
    ) -> Result<Self, ExperimentError> {
        let failed =
            |error: FlowError| ExperimentError::Scenario { figure, message: error.to_string() };
        let mut scheduler = discipline.build();
        for flow in flows {
            let index = scheduler.add(flow.config).map_err(failed)?;
            scheduler.arrive(index);
        }
        let mut course = Self::default();
        for slot in 0..slots {
            let Some(flow) = scheduler.choose() else { break };
            let success = delivers(flow, slot);
            let outcome = f64::from(u8::from(success));
            scheduler.charge(flow, Service { effort: 1.0, outcome });
            course.slots.push((flow, success));
        }
        Ok(course)
    }

    /// Slots that delivered for `flow` among those of `range`, as a share of the range.
    pub(super) fn share(&self, flow: usize, range: core::ops::Range<usize>) -> f64 {
        let slots = &self.slots[range];
        let good = slots.iter().filter(|(own, success)| *own == flow && *success).count();
        good as f64 / slots.len().max(1) as f64
    }

    /// The slots of `flow` among those of `range`, as a share of the range.
    pub(super) fn effort(&self, flow: usize, range: core::ops::Range<usize>) -> f64 {
        let slots = &self.slots[range];
        let own = slots.iter().filter(|slot| slot.0 == flow).count();
        own as f64 / slots.len().max(1) as f64
    }

    /// The fidelity of a flow in each window of `window` slots, `step` slots apart.
    pub(super) fn fidelity(
        &self,
        flow: usize,
        expected: f64,
        window: usize,
        step: usize,
    ) -> Vec<Point> {
        let starts = (0..=self.slots.len().saturating_sub(window)).step_by(step);
        let value = |start: usize| self.share(flow, start..start + window) / expected;
        starts.map(|start| Point::new((start + window) as f64, 100.0 * value(start))).collect()
    }

    /// The share of all slots that delivered in each window of `window` slots, one after the other.
    pub(super) fn links(&self, window: usize) -> Vec<f64> {
        let good = |slots: &[(usize, bool)]| slots.iter().filter(|slot| slot.1).count() as f64;
        self.slots.chunks_exact(window).map(|slots| good(slots) / window as f64).collect()
    }

    //= S3.49
    /// The share of each flow and of the link as a whole in each `window` slots, one after the
    /// other.
    pub(super) fn table(&self, flows: &[Flow], window: usize) -> Table {
        let names = flows.iter().map(|flow| format!("{} (%)", flow.name));
        let columns = core::iter::once("slots up to".to_owned()).chain(names);
        let mut table = Table::new(columns.chain(["link (%)".to_owned()]));
        for end in (window..=self.slots.len()).step_by(window) {
            let range = end - window..end;
            let had: Vec<f64> = (0..flows.len()).map(|i| self.share(i, range.clone())).collect();
            let link: f64 = had.iter().sum();
            let each = had.iter().zip(flows).map(|(had, flow)| had / flow.expected);
            let values = each.chain([link]).map(|value| format!("{:.2}", 100.0 * value));
            table.push([end.to_string()].into_iter().chain(values));
        }
        table
    }

    /// The chart of all flows and of the link as a whole, as means over `window` slots, or over
    /// more where a flow expects fewer than fifty of them.
    pub(super) fn chart(&self, title: &str, flows: &[Flow], window: usize) -> Chart {
        let step = window / 8;
        let mut series: Vec<Series> = flows
            .iter()
            .enumerate()
            .map(|(index, flow)| {
                let window = window.max((50.0 / flow.expected).ceil() as usize);
                let points = self.fidelity(index, flow.expected, window, step);
                Series::new(flow.name, Mark::Line, points)
            })
            .collect();
        let starts = (0..=self.slots.len().saturating_sub(window)).step_by(step);
        let link = starts.map(|start| {
            let slots = &self.slots[start..start + window];
            let good = slots.iter().filter(|(_, success)| *success).count();
            Point::new((start + window) as f64, 100.0 * good as f64 / window as f64)
        });
        series.push(Series::new("link", Mark::Dashed, link.collect()));
        Chart {
            title: title.to_owned(),
            subtitle: format!("means over {window} slots, or fifty packets"),
            x: Axis::linear("slot"),
            y: Axis::linear("throughput (% of that without errors)").from_zero(),
            series,
            rules: Vec::new(),
        }
    }
}

/// The discipline of an experiment in slots: ELF, or what a mutated run puts in its place.
pub(super) fn discipline(context: &Context<'_>) -> Discipline {
    if context.is_mutated { Discipline::WRR } else { Discipline::ELF_PACKETS }
}

/// The mutation of these experiments.
pub(super) const MUTATION: &str = "weighted round robin in place of ELF";

/// The flows as inputs, with what the paper says of each.
pub(super) fn inputs(flows: &[Flow], section: &'static str) -> Vec<ExperimentInput> {
    let input = |flow: &Flow| {
        let Flow { name, config, expected } = flow;
        let value =
            format!("{:.1} % of the link, power factor {}", 100.0 * expected, config.power_factor);
        ExperimentInput::given(*name, value, section)
    };
    flows.iter().map(input).collect()
}

/// Draws losses of a given rate for each slot.
pub(super) struct Losses(Stream);

impl Losses {
    pub(super) fn new(seed: Seed, name: &str) -> Self {
        Self(Stream::new(seed, name))
    }

    /// Draws whether the packet of this slot arrives at error rate `rate`.
    pub(super) fn pass(&self, slot: usize, rate: f64) -> bool {
        let rate = Probability::new(rate).map_or(0.0, Probability::get);
        self.0.unit_at(slot as u64) >= rate
    }
}

/// A reserved flow.
pub(super) fn reserved(name: &'static str, weight: f64, power_factor: f64) -> Flow {
    Flow { name, config: FlowConfig { weight, power_factor, reserved: true }, expected: weight }
}

/// A best-effort flow of weight 1 that may expect `expected` of the link.
pub(super) fn best_effort(name: &'static str, power_factor: f64, expected: f64) -> Flow {
    let config = FlowConfig { weight: 1.0, power_factor, reserved: false };
    Flow { name, config, expected }
}
