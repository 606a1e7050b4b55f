//! What was seen of a run: its windows, as they came over the control socket.

use std::collections::VecDeque;

use serde_json::Value;
use windfall_output::series::CSV_HEAD;

/// The most windows that are kept of all directions and flows together: some hours.
const KEPT: usize = 100_000;

/// The windows of a run, oldest first.
#[derive(Debug, Default)]
pub(crate) struct History {
    /// The end of each window in seconds, and its sample as JSON.
    samples: VecDeque<(f64, Box<str>)>,
    last: f64,
}

impl History {
    /// The end of the last window, in seconds.
    pub(crate) fn last(&self) -> f64 {
        self.last
    }

    /// Takes the windows of a reply.
    pub(crate) fn take(&mut self, reply: &Value) {
        for sample in reply["samples"].as_array().into_iter().flatten() {
            let t = sample["t"].as_f64().unwrap_or_default();
            self.last = self.last.max(t);
            if self.samples.len() >= KEPT {
                self.samples.pop_front();
            }
            self.samples.push_back((t, sample.to_string().into()));
        }
    }

    /// The windows that ended after `since`, as a JSON array.
    pub(crate) fn to_json(&self, since: f64) -> String {
        let from = self.samples.partition_point(|(t, _)| *t <= since);
        let texts: Vec<&str> = self.samples.range(from..).map(|(_, text)| &**text).collect();
        format!("[{}]", texts.join(","))
    }

    /// All windows, in the columns of a series.
    pub(crate) fn to_csv(&self) -> String {
        let mut out = csv::Writer::from_writer(Vec::new());
        let names: Vec<&str> = CSV_HEAD.split(',').collect();
        // Writing to memory does not fail.
        let _ = out.write_record(&names);
        for (_, text) in &self.samples {
            let sample: Value = serde_json::from_str(text).unwrap_or_default();
            let _ = out.write_record(names.iter().map(|name| field(&sample, name)));
        }
        String::from_utf8(out.into_inner().unwrap_or_default()).unwrap_or_default()
    }
}

/// The value of a column; empty where the sample has none.
fn field(sample: &Value, name: &str) -> String {
    let drops = || sample["dropped"].as_object().into_iter().flatten();
    match name {
        "dropped" => drops().filter_map(|(_, count)| count.as_u64()).sum::<u64>().to_string(),
        "drops" => {
            let drops = drops().map(|(reason, count)| format!("{reason}:{count}"));
            drops.collect::<Vec<_>>().join(";")
        }
        _ => {
            let delay = name.strip_prefix("delay_").map(|quantile| &sample["delay"][quantile]);
            match delay.unwrap_or(&sample[name]) {
                Value::Null => String::new(),
                Value::String(text) => text.clone(),
                value => value.to_string(),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn sample(t: f64) -> Value {
        json!({
            "t": t, "seconds": 0.25, "link": "a,b/a", "rate_bps": 1000.0, "queue_packets": 2,
            "queue_bytes": 90, "delay": {"p50": 0.01, "p95": 0.02, "p99": 0.03, "max": 0.04},
            "entered": 9, "delivered": 7, "dropped": {"lost": 1, "queue-full": 1},
            "bits_inverted": 3, "frames": 8, "retransmitted": 0, "busy": 0.5,
        })
    }

    #[test]
    fn what_was_seen_is_exported_in_the_columns_of_a_series() {
        let mut history = History::default();
        history.take(&json!({ "samples": [sample(0.25), sample(0.5)] }));
        let text = history.to_csv();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], CSV_HEAD);
        assert_eq!(
            lines[2],
            "0.5,0.25,\"a,b/a\",,1000.0,2,90,0.01,0.02,0.03,0.04,9,7,2,lost:1;queue-full:1,\
             3,8,0,0.5"
        );
        assert_eq!(lines.len(), 3);
    }

    #[test]
    fn windows_are_read_from_a_time_on_and_the_oldest_go() {
        let mut history = History::default();
        for number in 1..=3 {
            history.take(&json!({ "samples": [sample(f64::from(number))] }));
        }
        let later: Value = serde_json::from_str(&history.to_json(1.0)).expect("JSON");
        let times: Vec<_> = later.as_array().expect("an array").iter().map(|it| &it["t"]).collect();
        assert_eq!(times, [2.0, 3.0]);
        assert!((history.last() - 3.0).abs() < 1e-9);
        let many: Vec<Value> = (0..KEPT).map(|_| json!({ "t": 9.0 })).collect();
        history.take(&json!({ "samples": many }));
        assert_eq!((history.samples.len(), history.to_json(9.0).as_str()), (KEPT, "[]"));
    }
}
