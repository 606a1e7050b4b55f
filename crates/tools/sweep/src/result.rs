//! The result of a sweep: means with confidence intervals, as CSV, JSON and charts.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::{Value, json};
use windfall_output::parquet::{self, ParquetColumn, Values};
use windfall_report::{Axis, Chart, Estimate, Mark, Point, Provenance, Series, Table, number};

use windfall_base::Seed;
use windfall_scenario::DEFAULT_SEED;

use crate::grid::{Grid, SweepRun};
use crate::measures::{Measures, is_zero_where_absent};
use crate::store::RunStore;
use crate::values;

/// The format of the JSON object.
const FORMAT: &str = "windfall-sweep/1";
/// The most charts that are drawn where none is asked for.
const MOST_CHARTS: usize = 40;

/// The measures of all points of a sweep.
#[derive(Clone, Debug)]
pub struct SweepResult<'a> {
    grid: &'a Grid,
    /// Every run with its measures, if it has finished.
    runs: Vec<(&'a SweepRun, Option<&'a Measures>)>,
    /// For each point, the estimate of each measure.
    points: Vec<BTreeMap<String, PointMeasure>>,
}

/// A measure at one point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PointMeasure {
    /// Its mean over the seeds, with the interval of 95 % confidence.
    pub estimate: Estimate,
}

impl<'a> SweepResult<'a> {
    /// Sums up the runs that have finished.
    #[must_use]
    pub fn new(grid: &'a Grid, runs: &'a [SweepRun], store: &'a RunStore) -> Self {
        let runs: Vec<_> = runs.iter().map(|run| (run, store.get(run))).collect();
        let finished = runs.iter().filter_map(|(_, measures)| *measures);
        let names: BTreeSet<&String> = finished.flat_map(BTreeMap::keys).collect();
        let mut points = vec![BTreeMap::new(); grid.points.len()];
        let mut of_point: Vec<Vec<&Measures>> = vec![Vec::new(); grid.points.len()];
        for (run, measures) in &runs {
            of_point[run.point].extend(*measures);
        }
        for (point, own) in points.iter_mut().zip(&of_point) {
            for name in &names {
                let values = own.iter().filter_map(|it| value_of(it, name));
                let values: Vec<f64> = values.collect();
                if !values.is_empty() {
                    let estimate = Estimate::mean(&values);
                    point.insert((*name).clone(), PointMeasure { estimate });
                }
            }
        }
        Self { grid, runs, points }
    }

    /// Returns the measures of a point by name.
    #[must_use]
    pub fn point(&self, place: usize) -> Option<&BTreeMap<String, PointMeasure>> {
        self.points.get(place)
    }

    /// Returns the first of the seeds.
    #[must_use]
    pub fn first_seed(&self) -> Seed {
        self.grid.seeds.first().copied().unwrap_or(DEFAULT_SEED)
    }

    /// Returns the number of runs that have finished.
    #[must_use]
    pub fn finished(&self) -> usize {
        self.runs.iter().filter(|(_, measures)| measures.is_some()).count()
    }

    /// The names of all measures.
    fn names(&self) -> BTreeSet<&str> {
        self.points.iter().flatten().map(|(name, _)| name.as_str()).collect()
    }

    fn keys(&self) -> impl Iterator<Item = String> + '_ {
        self.grid.variations.iter().map(|it| it.key.text().to_owned())
    }

    /// Returns a row for each point and measure: the values, the measure, runs, mean, interval.
    #[must_use]
    pub fn long(&self) -> Table {
        let columns = ["measure", "runs", "mean", "low", "high"].map(str::to_owned);
        let mut table = Table::new(self.keys().chain(columns));
        for (point, measures) in self.grid.points.iter().zip(&self.points) {
            for (name, PointMeasure { estimate }) in measures {
                let numbers = [estimate.value, estimate.low, estimate.high].map(cell);
                let own = [name.clone(), estimate.runs.to_string()];
                table.push(point.values.iter().cloned().chain(own).chain(numbers));
            }
        }
        table
    }

    /// Returns a row for each point: the values, and of each measure the mean and its interval.
    #[must_use]
    pub fn wide(&self) -> Table {
        let names = self.names();
        let columns =
            names.iter().flat_map(|name| ["", " low", " high"].map(|end| format!("{name}{end}")));
        let mut table = Table::new(self.keys().chain(columns));
        for (point, measures) in self.grid.points.iter().zip(&self.points) {
            let cells = names.iter().flat_map(|name| match measures.get(*name) {
                Some(PointMeasure { estimate: it }) => [it.value, it.low, it.high].map(cell),
                None => [const { String::new() }; 3],
            });
            table.push(point.values.iter().cloned().chain(cells));
        }
        table
    }

    /// Returns a row for each run that has finished: the values, the seed, and each measure.
    #[must_use]
    pub fn each_run(&self) -> Table {
        let names = self.names();
        let own = names.iter().map(|name| (*name).to_owned());
        let mut table = Table::new(self.keys().chain(["seed".to_owned()]).chain(own));
        for (run, measures) in &self.runs {
            let Some(measures) = measures else { continue };
            let values = self.grid.points[run.point].values.iter().cloned();
            let cells =
                names.iter().map(|name| value_of(measures, name).map_or(String::new(), cell));
            table.push(values.chain([run.seed.to_string()]).chain(cells));
        }
        table
    }

    /// Returns the result as a line of JSON.
    #[must_use]
    pub fn to_json(&self, provenance: &Provenance) -> String {
        let variations = self.grid.variations.iter();
        let varied: Vec<Value> =
            variations.map(|it| json!({ "key": it.key.text(), "values": it.values })).collect();
        let points = self.grid.points.iter().zip(&self.points).map(|(point, measures)| {
            let values: serde_json::Map<_, _> =
                self.keys().zip(point.values.iter().map(|it| Value::from(it.as_str()))).collect();
            let measures: serde_json::Map<_, _> = measures
                .iter()
                .map(|(name, PointMeasure { estimate: it })| {
                    // An interval of one run has no ends.
                    let mean = it.value;
                    let low = it.low;
                    let high = it.high;
                    let runs = it.runs;
                    let members = json!({ "runs": runs, "mean": mean, "low": low, "high": high });
                    (name.clone(), members)
                })
                .collect();
            json!({ "values": values, "measures": measures })
        });
        let object = json!({
            "format": FORMAT,
            "version": provenance.version,
            "command": provenance.command,
            "seeds": self.grid.seeds.iter().map(|seed| seed.0).collect::<Vec<_>>(),
            "vary": varied,
            "runs": self.runs.len(),
            "finished": self.finished(),
            "points": points.collect::<Vec<_>>(),
        });
        format!("{object}\n")
    }

    /// Returns the files of the result by name: values as CSV and JSON, charts of `charted`.
    #[must_use]
    pub fn files(&self, charted: &[String], provenance: &Provenance) -> Vec<(String, String)> {
        let mut files = vec![
            ("sweep.csv".to_owned(), self.long().to_csv()),
            ("sweep-wide.csv".to_owned(), self.wide().to_csv()),
            ("runs.csv".to_owned(), self.each_run().to_csv()),
            ("sweep.json".to_owned(), self.to_json(provenance)),
        ];
        let mut taken = BTreeSet::new();
        for name in charted {
            // Names have slashes and blanks; two of them may look the same without.
            let plain = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' };
            let stem: String = name.chars().map(plain).collect();
            let free = (1..).map(|n| if n == 1 { stem.clone() } else { format!("{stem}-{n}") });
            let stem = free.filter(|it| !taken.contains(it)).take(1).last().unwrap_or(stem);
            taken.insert(stem.clone());
            files.push((format!("{stem}.svg"), self.chart(name).to_svg()));
        }
        files
    }

    /// Returns the tables of `sweep.csv` and `runs.csv` as Parquet files, by name; what is empty
    /// there is absent here.
    #[must_use]
    pub fn parquet_files(&self) -> [(&'static str, Vec<u8>); 2] {
        [
            ("sweep.parquet", parquet::file(&self.columns_of_points())),
            ("runs.parquet", parquet::file(&self.columns_of_runs())),
        ]
    }

    /// The columns of [`Self::long`].
    fn columns_of_points(&self) -> Vec<ParquetColumn> {
        let points = self.grid.points.iter().zip(&self.points);
        let rows: Vec<_> = points
            .flat_map(|(point, measures)| measures.iter().map(move |it| (point, it)))
            .collect();
        let column = |name: &str, values| ParquetColumn { name: name.to_owned(), values };
        let keys = self.keys().enumerate().map(|(place, key)| {
            let values = rows.iter().map(|(point, _)| point.values[place].clone());
            column(&key, Values::Text(values.collect()))
        });
        let mut columns: Vec<ParquetColumn> = keys.collect();
        let names = rows.iter().map(|(_, (name, _))| (*name).clone()).collect();
        columns.push(column("measure", Values::Text(names)));
        let runs = rows.iter().map(|(_, (_, it))| it.estimate.runs as u64).collect();
        columns.push(column("runs", Values::Whole(runs)));
        let mut number = |name: &str, of: fn(&Estimate) -> f64| {
            let values = rows.iter().map(|(_, (_, it))| finite(of(&it.estimate))).collect();
            columns.push(column(name, Values::Numbers(values)));
        };
        number("mean", |it| it.value);
        number("low", |it| it.low);
        number("high", |it| it.high);
        columns
    }

    /// The columns of [`Self::each_run`].
    fn columns_of_runs(&self) -> Vec<ParquetColumn> {
        let rows = self.runs.iter().filter_map(|(run, measures)| Some((*run, (*measures)?)));
        let rows: Vec<_> = rows.collect();
        let column = |name: &str, values| ParquetColumn { name: name.to_owned(), values };
        let keys = self.keys().enumerate().map(|(place, key)| {
            let values = rows.iter().map(|(run, _)| &self.grid.points[run.point].values[place]);
            column(&key, Values::Text(values.cloned().collect()))
        });
        let mut columns: Vec<ParquetColumn> = keys.collect();
        let seeds = rows.iter().map(|(run, _)| run.seed.0).collect();
        columns.push(column("seed", Values::Whole(seeds)));
        for name in self.names() {
            let value = |measures| value_of(measures, name).and_then(finite);
            let values = rows.iter().map(|(_, measures)| value(measures)).collect();
            columns.push(column(name, Values::Numbers(values)));
        }
        columns
    }

    /// Returns the measures to draw: those that match one of the patterns, in which
    /// `*` stands for any text; without patterns those of applications that differ between points,
    /// or all of them where nothing is varied.
    #[must_use]
    pub fn charted(&self, patterns: &[String]) -> Vec<String> {
        let names = self.names().into_iter().map(str::to_owned);
        match patterns {
            [_, ..] => names.filter(|name| patterns.iter().any(|it| matches(it, name))).collect(),
            [] => {
                let differs = |name: &String| {
                    let mut means = self.points.iter().map(|it| Some(it.get(name)?.estimate.value));
                    let first = means.next();
                    means.any(|it| Some(it) != first)
                };
                let of_apps = names.filter(|name| is_of_program(name));
                let is_alone = self.points.len() == 1;
                of_apps.filter(|it| is_alone || differs(it)).take(MOST_CHARTS).collect()
            }
        }
    }

    /// Returns the patterns that match no measure, if any run has finished.
    #[must_use]
    pub fn unmatched<'b>(&self, patterns: &'b [String]) -> Vec<&'b str> {
        let names = self.names();
        let is_known = |pattern: &str| names.iter().any(|name| matches(pattern, name));
        let patterns = patterns.iter().map(String::as_str);
        patterns.filter(|it| !names.is_empty() && !is_known(it)).collect()
    }

    /// Says which patterns show nothing, and why nothing is shown without any; `known` is the file
    /// with all measures. What is counted only where it happens may not have happened.
    #[must_use]
    pub fn remarks(&self, patterns: &[String], known: &Path) -> Vec<String> {
        let names = self.names();
        let known = known.display();
        let unmatched = |it: &str| format!("--chart {it}: no run has such a measure: see {known}");
        let mut remarks: Vec<_> = self.unmatched(patterns).into_iter().map(unmatched).collect();
        let is_shown = names.iter().any(|name| is_of_program(name));
        if patterns.is_empty() && !names.is_empty() && !is_shown {
            remarks.push(format!(
                "no application measures anything, so nothing is shown: add [[app]], or choose \
                 measures of {known} with --chart"
            ));
        }
        remarks
    }

    /// Draws a measure over the first key with numbers for values; the other keys are series.
    #[must_use]
    pub fn chart(&self, name: &str) -> Chart {
        let along = self.grid.variations.iter().position(|it| numbers(&it.values).is_some());
        let places = along.and_then(|place| numbers(&self.grid.variations[place].values));
        let mut series: BTreeMap<Vec<(usize, usize)>, Vec<Point>> = BTreeMap::new();
        for (number, (point, measures)) in self.grid.points.iter().zip(&self.points).enumerate() {
            let Some(PointMeasure { estimate }) = measures.get(name) else { continue };
            let place_of = |(place, value): (usize, &String)| {
                let values = &self.grid.variations[place].values;
                (place, values.iter().position(|it| it == value).unwrap_or(0))
            };
            let all: Vec<(usize, usize)> = point.values.iter().enumerate().map(place_of).collect();
            let x = match (along, &places) {
                (Some(along), Some(places)) => places[all[along].1],
                _ => number as f64,
            };
            let ends = (estimate.low, estimate.high);
            let spread = Some(ends).filter(|(low, high)| low.is_finite() && high.is_finite());
            let others = all.into_iter().filter(|(place, _)| along.is_some_and(|it| it != *place));
            let own = series.entry(others.collect()).or_default();
            own.push(Point { x, y: estimate.value, spread });
        }
        let named = |others: &[(usize, usize)]| {
            let variations = &self.grid.variations;
            let one = |(place, value): &(usize, usize)| {
                let it = &variations[*place];
                format!("{}={}", it.key.text(), it.values[*value])
            };
            others.iter().map(one).collect::<Vec<_>>().join(", ")
        };
        let series = series.into_iter().map(|(others, mut points)| {
            points.sort_by(|a, b| a.x.total_cmp(&b.x));
            let mark = if along.is_some() { Mark::LinePoints } else { Mark::Points };
            Series::new(named(&others), mark, points)
        });
        Chart {
            title: name.to_owned(),
            subtitle: format!("mean of {} seeds, interval of 95 %", self.grid.seeds.len()),
            x: self.axis(along, places.as_deref()),
            y: Axis::linear(name),
            series: series.collect(),
            rules: Vec::new(),
        }
    }

    fn axis(&self, along: Option<usize>, places: Option<&[f64]>) -> Axis {
        let (Some(along), Some(places)) = (along, places) else {
            let names = (0..self.grid.points.len()).map(|it| self.grid.name_of(it));
            return Axis::names("", names.collect());
        };
        let variation = &self.grid.variations[along];
        let unit = variation.values.first().and_then(|it| values::number(it).ok());
        let unit = unit.map(|it| it.1).filter(|unit| !unit.is_empty());
        let label = match unit {
            Some(unit) => format!("{} ({unit})", variation.key.text()),
            None => variation.key.text().to_owned(),
        };
        let low = places.iter().copied().fold(f64::INFINITY, f64::min);
        let high = places.iter().copied().fold(0.0, f64::max);
        // A decade and more reads better by ratios.
        if low > 0.0 && high / low >= 20.0 { Axis::log(label) } else { Axis::linear(label) }
    }

    /// Returns a row for each point with the means of some measures, for people; one for each
    /// measure where nothing is varied.
    #[must_use]
    pub fn shown(&self, names: &[String]) -> Table {
        if let ([point], []) = (&self.points[..], &self.grid.variations[..]) {
            let mut table = Table::new(["measure", "mean"].map(str::to_owned));
            for (name, measure) in names.iter().filter_map(|name| point.get_key_value(name)) {
                table.push([name.clone(), with_interval(&measure.estimate)]);
            }
            return table;
        }
        let mut table = Table::new(self.keys().chain(names.iter().cloned()));
        for (point, measures) in self.grid.points.iter().zip(&self.points) {
            let cells = names.iter().map(|name| match measures.get(name) {
                Some(PointMeasure { estimate }) => with_interval(estimate),
                None => String::new(),
            });
            table.push(point.values.iter().cloned().chain(cells));
        }
        table
    }
}

/// A value with half of its interval, which one run does not have.
fn with_interval(estimate: &Estimate) -> String {
    let half = (estimate.high - estimate.low) / 2.0;
    let value = number(estimate.value);
    if half.is_finite() { format!("{value} ± {}", number(half)) } else { value }
}

/// A measure of a run; a count that the run did not name is zero.
fn value_of(measures: &Measures, name: &str) -> Option<f64> {
    measures.get(name).copied().or_else(|| is_zero_where_absent(name).then_some(0.0))
}

/// A number as it reads back; the open end of an interval is an empty cell.
fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

fn cell(value: f64) -> String {
    if value.is_finite() { value.to_string() } else { String::new() }
}

/// The values as numbers, if all of them are, with one unit.
fn numbers(all: &[String]) -> Option<Vec<f64>> {
    let parsed: Option<Vec<(f64, &str)>> = all.iter().map(|it| values::number(it).ok()).collect();
    let parsed = parsed?;
    let unit = parsed.first()?.1;
    let is_plain = unit.chars().all(|it| it.is_alphabetic() || "%/".contains(it));
    let is_one = is_plain && parsed.iter().all(|it| it.1 == unit);
    is_one.then(|| parsed.into_iter().map(|it| it.0).collect())
}

/// Options that change where or how fast a result is made, with a value and without.
const SILENT: [&str; 2] = ["--jobs", "--out"];

/// Returns the words of a command line that decide the result.
pub fn words_that_matter(words: impl Iterator<Item = String>) -> impl Iterator<Item = String> {
    let mut is_value = false;
    words.filter(move |word| {
        let (name, _) = word.split_once('=').unwrap_or((word, ""));
        let is_silent = SILENT.contains(&name);
        let was_value = std::mem::replace(&mut is_value, is_silent && name == word);
        !was_value && !is_silent && word != "--json"
    })
}

/// Tells whether a name matches a pattern in which `*` stands for any text.
fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = name.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, between)) = parts.split_last() else { return rest.is_empty() };
    for part in between {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.len() >= last.len() && rest.ends_with(last)
}

/// Tells whether a measure is one of simulated applications or of a real program.
fn is_of_program(name: &str) -> bool {
    name.starts_with("applications.") || name.starts_with("program.")
}

#[cfg(test)]
mod tests;
