//! Delay, time between arrivals, loss and throughput of each direction (S1.34).

use std::collections::{BTreeMap, BTreeSet};

use windfall_report::{Table, number, statistics};

use crate::layers::log::{Act, LayerLog, LogLayer, LogWindow};

//= S1.30
//= S1.34
/// The measures of the packets of one direction.
#[derive(Clone, Debug, PartialEq)]
pub struct LayerMeasures {
    /// The interface that sends.
    pub sender: String,
    /// The packets that entered in the window.
    pub entered: usize,
    /// Those of them that arrived, damaged or not.
    pub arrived: usize,
    /// Those of them that were lost; the rest was under way at the end of the log.
    pub lost: usize,
    /// The times from entering to arriving, in seconds.
    pub delays: Vec<f64>,
    /// The times from one arrival to the next, in seconds.
    pub gaps: Vec<f64>,
    /// Bytes of packets that arrived.
    pub bytes: u64,
    /// The time from the first arrival to the last, in seconds.
    pub seconds: f64,
}

impl LayerMeasures {
    /// The share of decided packets that were lost; `None` if none was decided.
    #[must_use]
    pub fn loss(&self) -> Option<f64> {
        let decided = self.arrived + self.lost;
        (decided > 0).then(|| self.lost as f64 / decided as f64)
    }

    /// Bytes behind the first packet that arrived, in kb/s; `None` below two packets.
    #[must_use]
    pub fn throughput(&self) -> Option<f64> {
        (self.seconds > 0.0).then(|| 8e-3 * self.bytes as f64 / self.seconds)
    }
}

impl LayerLog {
    //= S1.34
    /// Measures the packets of each direction that enter within a window.
    #[must_use]
    pub fn measures(&self, window: LogWindow) -> Vec<LayerMeasures> {
        let mut all: BTreeMap<usize, (LayerMeasures, Option<f64>)> = BTreeMap::new();
        let mut entered: BTreeMap<u64, f64> = BTreeMap::new();
        // A packet was delivered if that is reported at all, whatever else is.
        let arrived = self.rows.iter().filter(|row| {
            row.layer == LogLayer::Ip && matches!(row.act, Act::Arrived | Act::Damaged)
        });
        let delivered: BTreeSet<u64> = arrived.filter_map(|row| row.tag).collect();
        for row in self.rows.iter().filter(|row| row.layer == LogLayer::Ip) {
            let Some((tag, sender)) = row.tag.zip(row.sender) else { continue };
            let (it, last) = all.entry(sender).or_insert_with(|| (self.unmeasured(sender), None));
            match row.act {
                Act::Sent if window.contains(row.time) => {
                    entered.insert(tag, row.time);
                    it.entered += 1;
                }
                Act::Arrived | Act::Damaged => {
                    let Some(since) = entered.remove(&tag) else { continue };
                    it.arrived += 1;
                    it.delays.push(row.time - since);
                    if let Some(last) = last.replace(row.time) {
                        it.gaps.push(row.time - last);
                        it.seconds += row.time - last;
                        it.bytes = it.bytes.saturating_add(row.len as u64);
                    }
                }
                Act::Lost if !delivered.contains(&tag) => {
                    it.lost += usize::from(entered.remove(&tag).is_some());
                }
                _ => {}
            }
        }
        all.into_values().map(|(it, _)| it).filter(|it| it.entered > 0).collect()
    }

    fn unmeasured(&self, sender: usize) -> LayerMeasures {
        LayerMeasures {
            sender: self.elements.get(sender).cloned().unwrap_or_default(),
            entered: 0,
            arrived: 0,
            lost: 0,
            delays: Vec::new(),
            gaps: Vec::new(),
            bytes: 0,
            seconds: 0.0,
        }
    }

    /// Returns the measures as a table, a row for each direction; deviations are those of packets.
    #[must_use]
    pub fn measures_table(&self, window: LogWindow) -> Table {
        let mut table = Table::new([
            "sender",
            "packets",
            "arrived",
            "lost",
            "loss %",
            "delay s",
            "deviation",
            "between arrivals s",
            "deviation",
            "kb/s",
        ]);
        for it in self.measures(window) {
            let deviation =
                |values: &[f64]| number_or_dash(statistics::variance(values).map(f64::sqrt));
            table.push([
                it.sender.clone(),
                it.entered.to_string(),
                it.arrived.to_string(),
                it.lost.to_string(),
                number_or_dash(it.loss().map(|loss| 100.0 * loss)),
                number_or_dash(statistics::mean(&it.delays)),
                deviation(&it.delays),
                number_or_dash(statistics::mean(&it.gaps)),
                deviation(&it.gaps),
                number_or_dash(it.throughput()),
            ]);
        }
        table
    }
}

/// Returns a number as text, and a dash without one.
fn number_or_dash(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_owned(), number)
}
