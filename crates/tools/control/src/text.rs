//! Replies as text: for people, and in the form that Prometheus reads.

use std::fmt::Write as _;

use windfall_output::series::Sample;

use crate::RunRow;
use crate::protocol::{LinkStatus, RunStatus};

/// Returns the status of a run as text, a block for each direction.
#[must_use]
pub fn of_status(status: &RunStatus) -> String {
    let mut out = String::new();
    let RunStatus { name, t, seed, .. } = status;
    // Writing to a string cannot fail.
    let _ = write!(out, "{name}: {t:.1} s, seed {seed}");
    match status.changes {
        0 => out.push('\n'),
        1 => out.push_str(", changed once\n"),
        changes => drop(writeln!(out, ", changed {changes} times")),
    }
    for link in &status.links {
        direction(&mut out, link);
    }
    for flow in &status.flows {
        let summary = &flow.summary;
        let name = &summary.name;
        let link = &summary.link;
        let offered = summary.offered;
        let _ = write!(out, "flow {name} on {link}: {offered} packets came");
        if let Some(packets) = &summary.packets {
            let _ = write!(out, ", {packets}");
        }
        if let Some(errors) = summary.error_rate {
            let region = summary.region.as_deref().unwrap_or_default();
            let _ = write!(out, ", errors {:.1} %, {region} region", 100.0 * errors);
        }
        let _ = writeln!(out, "{}", recently(flow.recent.as_ref()));
    }
    for fault in &status.faults {
        let connections = fault.connections;
        let withheld = fault.withheld;
        let text = &fault.fault;
        let _ =
            writeln!(out, "fault {text}: {connections} connections, {withheld} packets withheld");
    }
    let late = &status.lateness;
    let count = late.late_deliveries;
    let all = late.delivered;
    let worst = 1e3 * late.worst_seconds;
    let _ =
        writeln!(out, "late by more than 1 ms: {count} of {all} deliveries; worst {worst:.3} ms");
    if late.disturbed {
        let pauses = late.pauses;
        let paused = late.paused_seconds;
        let _ = writeln!(out, "disturbed: stood still {pauses} times, {paused:.3} s in all");
    }
    out
}

/// Returns a run of a list as a line of text.
#[must_use]
pub fn of_row(row: &RunRow) -> String {
    let name = &row.name;
    if !row.answers {
        return format!("{name}  does not answer");
    }
    let seconds = row.seconds.unwrap_or_default();
    let command = row.command.as_deref().unwrap_or_default();
    format!("{name}  {seconds:.0} s  {}  {command}", row.stations.join(","))
}

fn direction(out: &mut String, link: &LinkStatus) {
    let settings = link.settings.iter().map(|(name, value)| format!("{name}={value}"));
    let settings: Vec<String> = settings.collect();
    let settings = if settings.is_empty() { "no settings".to_owned() } else { settings.join(" ") };
    let LinkStatus { summary, direction, queue, recent, .. } = link;
    let _ = writeln!(out, "{} ({direction}): {settings}", summary.name);
    let recent = recently(recent.as_ref());
    let _ = writeln!(out, "  now{recent}; queue {} packets, {} bytes", queue.packets, queue.bytes);
    let _ = write!(out, "  packets {}: delivered {}", summary.entered, summary.delivered);
    if summary.damaged > 0 {
        let _ = write!(out, " (damaged {})", summary.damaged);
    }
    for (reason, count) in &summary.dropped {
        let _ = write!(out, ", {reason} {count}");
    }
    let _ = writeln!(out, ", in flight {}", summary.in_flight);
    let frames = summary.frames;
    let again = summary.retransmitted;
    let bits = summary.bits_inverted;
    let _ = writeln!(out, "  frames {frames}, retransmitted {again}; bits inverted {bits}");
}

/// Returns the rate, the loss and the delays of the last window.
fn recently(sample: Option<&Sample>) -> String {
    let Some(sample) = sample else { return String::new() };
    let rate = sample.rate_bps * 1e-6;
    let dropped = sample.dropped_in_all();
    let mut text = format!(" {rate:.2} Mbps, {dropped} dropped");
    if let Some(delay) = sample.delay {
        let [half, most, max] = [delay.p50, delay.p95, delay.max].map(|it| 1e3 * it);
        let _ = write!(text, ", delay {half:.2} ms (95 % {most:.2}, max {max:.2})");
    }
    text
}

/// A measure of each direction: its name for Prometheus, its kind, its meaning and its value.
type Measure = (&'static str, &'static str, &'static str, fn(&LinkStatus) -> f64);

/// The measures of each direction.
const MEASURES: [Measure; 10] = [
    ("packets_entered_total", "counter", "Packets that entered.", |it| it.summary.entered as f64),
    ("packets_delivered_total", "counter", "Packets that were delivered.", |it| {
        it.summary.delivered as f64
    }),
    ("bytes_delivered_total", "counter", "Bytes of packets delivered.", |it| {
        it.delivered_bytes as f64
    }),
    ("packets_damaged_total", "counter", "Packets delivered with damage.", |it| {
        it.summary.damaged as f64
    }),
    ("frames_total", "counter", "Frames with packets.", |it| it.summary.frames as f64),
    ("retransmissions_total", "counter", "Frames that retransmitted.", |it| {
        it.summary.retransmitted as f64
    }),
    ("bits_inverted_total", "counter", "Bits that the air inverted.", |it| {
        it.summary.bits_inverted as f64
    }),
    ("busy_seconds_total", "counter", "Time for which frames took the medium.", |it| {
        it.summary.busy_seconds
    }),
    ("packets_in_flight", "gauge", "Packets under way.", |it| it.summary.in_flight as f64),
    ("packets_marked_total", "counter", "Packets that the queue marked.", |it| {
        it.summary.marked as f64
    }),
];

/// Returns the status of runs in Prometheus' text format.
#[must_use]
pub fn prometheus(runs: &[RunStatus]) -> String {
    let mut out = String::new();
    let mut family = |name: &str, kind: &str, help: &str, lines: Vec<(String, f64)>| {
        let _ = writeln!(out, "# HELP windfall_{name} {help}\n# TYPE windfall_{name} {kind}");
        for (labels, value) in lines {
            let _ = writeln!(out, "windfall_{name}{{{labels}}} {value}");
        }
    };
    let directions = || {
        let pairs = runs.iter().flat_map(|run| run.links.iter().map(move |link| (run, link)));
        pairs.map(|(run, link)| (labels(run, link), link))
    };
    for (name, kind, help, value) in MEASURES {
        let lines = directions().map(|(labels, link)| (labels, value(link)));
        family(name, kind, help, lines.collect());
    }
    let drops = directions().flat_map(|(labels, link)| {
        let drops = link.summary.dropped.iter();
        drops.map(move |(reason, count)| (format!("{labels},reason=\"{reason}\""), *count as f64))
    });
    family("packets_dropped_total", "counter", "Packets dropped.", drops.collect());
    let help = "What waits for the link.";
    let packets = directions().map(|(labels, link)| (labels, link.queue.packets as f64));
    family("queue_packets", "gauge", help, packets.collect());
    let bytes = directions().map(|(labels, link)| (labels, link.queue.bytes as f64));
    family("queue_bytes", "gauge", help, bytes.collect());
    let delays = directions().flat_map(|(labels, link)| {
        let delay = link.recent.as_ref().and_then(|sample| sample.delay);
        let known = delay.map(|it| [("0.5", it.p50), ("0.95", it.p95), ("0.99", it.p99)]);
        known
            .into_iter()
            .flatten()
            .map(move |(quantile, delay)| (format!("{labels},quantile=\"{quantile}\""), delay))
    });
    family("delay_seconds", "gauge", "Delays of the last window.", delays.collect());
    let late = || runs.iter().map(|run| (format!("run={:?}", run.name), run.lateness));
    let worst = late().map(|(labels, late)| (labels, late.worst_seconds));
    family("worst_lateness_seconds", "gauge", "The longest delay of the machine.", worst.collect());
    let late = late().map(|(labels, late)| (labels, late.late_deliveries as f64));
    family("late_deliveries_total", "counter", "Packets delivered late.", late.collect());
    out
}

/// The labels of a direction; names are quoted as Prometheus and Rust both do.
fn labels(run: &RunStatus, link: &LinkStatus) -> String {
    format!("run=\"{}\",link=\"{}\"", escape(&run.name), escape(&link.summary.name))
}

/// Escapes the value of a label as OpenMetrics does.
fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
