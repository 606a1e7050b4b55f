//! The schemes side by side: a table, a page, JSON.

use serde_json::{Value, json};
use windfall_report::{Axis, Chart, Estimate, Mark, Point, Provenance, Series, Table, number};

use super::{CameraComparison, CameraScheme, ComparedScheme, SchemeRun};
use crate::experiment::{Extent, Finding, Verdict, VerdictRecord};

/// The outcomes of all schemes.
#[derive(Clone, Debug)]
pub struct ComparedSchemes {
    schemes: Vec<ComparedScheme>,
    method: String,
    provenance: Provenance,
}

/// A column: its head, the value of a run, and what it is where nothing arrived.
type Column = (&'static str, fn(&SchemeRun) -> Option<f64>);

/// The measures of the table.
const COLUMNS: [Column; 7] = [
    ("usable bytes %", |run| Some(100.0 * run.number("usable").unwrap_or(0.0))),
    ("whole pictures %", |run| {
        let share = |whole: f64| Some(100.0 * whole / run.number("pictures")?);
        run.number("whole_pictures").map_or(Some(0.0), share)
    }),
    ("delay, median ms", |run| Some(1e3 * run.number("delay_median_seconds")?)),
    ("95 % ms", |run| Some(1e3 * run.number("delay_95_seconds")?)),
    ("99 % ms", |run| Some(1e3 * run.number("delay_99_seconds")?)),
    ("sending % of the time", |run| Some(100.0 * run.busy?)),
    ("disturbed by the machine %", |run| Some(100.0 * run.disturbed)),
];

impl ComparedSchemes {
    pub(super) fn new(of: &CameraComparison, schemes: Vec<ComparedScheme>) -> Self {
        let runs = of.seeds.1;
        let method = format!(
            "{} datagrams in {} s, each picture's at its instant, across windfall run in real \
             time, {runs} time(s) by each scheme with the same seeds. Usable are bytes that arrive \
             right, in datagrams marked as damaged too, within {} ms of the instant of their \
             picture. Delays are those of datagrams that arrive, from that instant on, until none \
             has come for {} s after the last picture.",
            of.plan.stream.count,
            number(of.plan.length().as_secs_f64()),
            number(1e3 * of.deadline.as_secs_f64()),
            number(of.wait.as_secs_f64()),
        );
        let version = of.version.clone();
        let command = of.command.clone();
        let provenance = Provenance { version, seed: of.seeds.0, command };
        Self { schemes, method, provenance }
    }

    /// Returns the table: a row for each scheme.
    #[must_use]
    pub fn table(&self) -> Table {
        let heads = COLUMNS.iter().map(|(head, _)| *head);
        let mut table =
            Table::new(["scheme"].into_iter().chain(heads).chain(["protocol, options"]));
        for compared in &self.schemes {
            let cells = COLUMNS.iter().map(|(_, of)| {
                if compared.is_there() { cell(&compared.runs, *of) } else { "–".to_owned() }
            });
            let name = [compared.scheme.name.clone()].into_iter();
            table.push(name.chain(cells).chain([remark(compared)]));
        }
        table
    }

    /// Returns schemes, runs and means as JSON.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let schemes = self.schemes.iter().map(|ComparedScheme { scheme, scenario, runs }| {
            let runs = runs.iter().map(|run| {
                json!({
                    "seed": run.seed.0, "report": run.report, "busy": run.busy,
                    "disturbed": run.disturbed,
                })
            });
            json!({
                "name": scheme.name, "protocol": scheme.protocol, "options": scheme.options,
                "scenario": scenario.as_ref().ok(), "refused": scenario.as_ref().err(),
                "runs": runs.collect::<Vec<_>>(),
            })
        });
        json!({
            "schemes": schemes.collect::<Vec<_>>(), "version": self.provenance.version,
            "seed": self.provenance.seed, "command": self.provenance.command,
        })
    }

    /// Returns the comparison as a finding without claims, for a page.
    #[must_use]
    pub fn finding(&self) -> Finding {
        Finding {
            figure: "camera",
            title: "A camera's stream by each scheme of error control".to_owned(),
            method: self.method.clone(),
            inputs: Vec::new(),
            claims: Vec::new(),
            record: VerdictRecord::with_seeds(Verdict::NotComparable, 1),
            extent: Extent::Paper,
            charts: vec![("", self.usable()), ("delay", self.delay())],
            tables: vec![("", self.table())],
            provenance: self.provenance.clone(),
        }
    }

    /// The schemes that ran.
    fn measured(&self) -> impl Iterator<Item = (&CameraScheme, &[SchemeRun])> {
        let ran = self.schemes.iter().filter(|it| it.is_there());
        ran.map(|it| (&it.scheme, &*it.runs))
    }

    fn usable(&self) -> Chart {
        let bars = |(_, of): Column| {
            let points = self.measured().enumerate().filter_map(|(place, (_, runs))| {
                Point::of(place as f64, &runs.iter().filter_map(of).collect::<Vec<_>>())
            });
            points.collect()
        };
        let [usable, whole] = [("usable bytes", 0), ("whole pictures", 1)]
            .map(|(name, column)| Series::new(name, Mark::Bars, bars(COLUMNS[column])));
        Chart {
            title: "Usable bytes and whole pictures".to_owned(),
            subtitle: "mean and range of all seeds".to_owned(),
            x: self.names(),
            y: Axis::linear("share (%)").from_zero(),
            series: vec![usable, whole],
            rules: Vec::new(),
        }
    }

    fn delay(&self) -> Chart {
        let points = |(_, of): Column| {
            let points = self.measured().enumerate().filter_map(|(place, (_, runs))| {
                Point::of(place as f64, &runs.iter().filter_map(of).collect::<Vec<_>>())
            });
            points.collect()
        };
        let series = [("median", 2), ("95 %", 3), ("99 %", 4)]
            .map(|(name, column)| Series::new(name, Mark::Points, points(COLUMNS[column])));
        Chart {
            title: "Delay of datagrams that arrive".to_owned(),
            subtitle: "from the instant of the picture; mean and range of all seeds".to_owned(),
            x: self.names(),
            y: Axis::log("delay (ms)"),
            series: series.into(),
            rules: Vec::new(),
        }
    }

    fn names(&self) -> Axis {
        Axis::names("", self.measured().map(|(scheme, _)| scheme.name.clone()).collect())
    }
}

/// Returns the mean of all runs with its interval; a dash if a run has no such value.
fn cell(runs: &[SchemeRun], of: fn(&SchemeRun) -> Option<f64>) -> String {
    let values: Option<Vec<f64>> = runs.iter().map(of).collect();
    match values.as_deref() {
        None | Some([]) => "–".to_owned(),
        Some([one]) => number(*one),
        Some(several) => {
            let mean = Estimate::mean(several);
            format!("{} ± {}", number(mean.value), number(mean.high - mean.value))
        }
    }
}

fn remark(compared: &ComparedScheme) -> String {
    match &compared.scenario {
        Err(why) => format!("{}: {why}", compared.scheme.shown()),
        Ok(_) => compared.scheme.shown(),
    }
}
