//! Replies as text: for people, and in the form that Prometheus reads.

use std::fmt::Write as _;

use serde_json::Value;

/// Returns the status of a run as text, a block for each direction.
#[must_use]
pub fn of_status(status: &Value) -> String {
    let mut out = String::new();
    let (name, seconds) = (text(status, "name"), number(status, "t"));
    // Writing to a string cannot fail.
    let _ = write!(out, "{name}: {seconds:.1} s, seed {}", status["seed"]);
    match status["changes"].as_u64().unwrap_or(0) {
        0 => out.push('\n'),
        1 => out.push_str(", changed once\n"),
        changes => drop(writeln!(out, ", changed {changes} times")),
    }
    for link in list(status, "links") {
        direction(&mut out, link);
    }
    for flow in list(status, "flows") {
        let (name, link) = (text(flow, "name"), text(flow, "link"));
        let offered = number(flow, "offered");
        let _ = write!(out, "flow {name} on {link}: {offered} packets came");
        if let Some(errors) = flow["error_rate"].as_f64() {
            let _ =
                write!(out, ", errors {:.1} %, {} region", 100.0 * errors, text(flow, "region"));
        }
        let _ = writeln!(out, "{}", recently(&flow["recent"]));
    }
    for fault in list(status, "faults") {
        let [connections, withheld] = ["connections", "withheld"].map(|it| number(fault, it));
        let text = text(fault, "fault");
        let _ =
            writeln!(out, "fault {text}: {connections} connections, {withheld} packets withheld");
    }
    let late = &status["lateness"];
    let (count, all) = (number(late, "late_deliveries"), number(late, "delivered"));
    let worst = 1e3 * number(late, "worst_seconds");
    let _ =
        writeln!(out, "late by more than 1 ms: {count} of {all} deliveries; worst {worst:.3} ms");
    if late["disturbed"] == true {
        let (pauses, paused) = (number(late, "pauses"), number(late, "paused_seconds"));
        let _ = writeln!(out, "disturbed: stood still {pauses} times, {paused:.3} s in all");
    }
    out
}

/// Returns a run of a list as a line of text.
#[must_use]
pub fn of_row(row: &Value) -> String {
    let name = text(row, "name");
    if row["answers"] != true {
        return format!("{name}  does not answer");
    }
    let stations: Vec<_> = list(row, "stations").filter_map(Value::as_str).collect();
    let (seconds, command) = (number(row, "seconds"), text(row, "command"));
    format!("{name}  {seconds:.0} s  {}  {command}", stations.join(","))
}

fn direction(out: &mut String, link: &Value) {
    let settings = link["settings"].as_object().into_iter().flatten();
    let settings: Vec<String> = settings
        .map(|(name, value)| format!("{name}={}", value.as_str().unwrap_or_default()))
        .collect();
    let settings = if settings.is_empty() { "no settings".to_owned() } else { settings.join(" ") };
    let _ = writeln!(out, "{} ({}): {settings}", text(link, "name"), text(link, "direction"));
    let queue = &link["queue"];
    let (packets, bytes) = (number(queue, "packets"), number(queue, "bytes"));
    let _ =
        writeln!(out, "  now{}; queue {packets} packets, {bytes} bytes", recently(&link["recent"]));
    let [entered, delivered, damaged] =
        ["entered", "delivered", "damaged"].map(|it| number(link, it));
    let _ = write!(out, "  packets {entered}: delivered {delivered}");
    if damaged > 0.0 {
        let _ = write!(out, " (damaged {damaged})");
    }
    for (reason, count) in link["dropped"].as_object().into_iter().flatten() {
        let _ = write!(out, ", {reason} {count}");
    }
    let _ = writeln!(out, ", in flight {}", number(link, "in_flight"));
    let [frames, again, bits] =
        ["frames", "retransmitted", "bits_inverted"].map(|it| number(link, it));
    let _ = writeln!(out, "  frames {frames}, retransmitted {again}; bits inverted {bits}");
}

/// Returns the rate, the loss and the delays of the last window.
fn recently(sample: &Value) -> String {
    if sample.is_null() {
        return String::new();
    }
    let rate = number(sample, "rate_bps") * 1e-6;
    let dropped: u64 =
        sample["dropped"].as_object().into_iter().flatten().filter_map(|it| it.1.as_u64()).sum();
    let mut text = format!(" {rate:.2} Mbps, {dropped} dropped");
    let delay = &sample["delay"];
    if !delay.is_null() {
        let [half, most, max] = ["p50", "p95", "max"].map(|it| 1e3 * number(delay, it));
        let _ = write!(text, ", delay {half:.2} ms (95 % {most:.2}, max {max:.2})");
    }
    text
}

/// A measure of each direction: its name for Prometheus, its kind, its meaning and its member.
const MEASURES: [(&str, &str, &str, &str); 10] = [
    ("packets_entered_total", "counter", "Packets that entered.", "entered"),
    ("packets_delivered_total", "counter", "Packets that were delivered.", "delivered"),
    ("bytes_delivered_total", "counter", "Bytes of packets delivered.", "delivered_bytes"),
    ("packets_damaged_total", "counter", "Packets delivered with damage.", "damaged"),
    ("frames_total", "counter", "Frames with packets.", "frames"),
    ("retransmissions_total", "counter", "Frames that retransmitted.", "retransmitted"),
    ("bits_inverted_total", "counter", "Bits that the air inverted.", "bits_inverted"),
    ("busy_seconds_total", "counter", "Time for which frames took the medium.", "busy_seconds"),
    ("packets_in_flight", "gauge", "Packets under way.", "in_flight"),
    ("packets_marked_total", "counter", "Packets that the queue marked.", "marked"),
];

/// Returns the status of runs in Prometheus' text format.
#[must_use]
pub fn prometheus(runs: &[Value]) -> String {
    let mut out = String::new();
    let mut family = |name: &str, kind: &str, help: &str, lines: Vec<(String, f64)>| {
        let _ = writeln!(out, "# HELP windfall_{name} {help}\n# TYPE windfall_{name} {kind}");
        for (labels, value) in lines {
            let _ = writeln!(out, "windfall_{name}{{{labels}}} {value}");
        }
    };
    let directions = || {
        let of_run = |run| list(run, "links").map(move |link| (labels(run, link), link));
        runs.iter().flat_map(of_run)
    };
    for (name, kind, help, member) in MEASURES {
        let lines = directions().map(|(labels, link)| (labels, number(link, member)));
        family(name, kind, help, lines.collect());
    }
    let drops = directions().flat_map(|(labels, link)| {
        let drops = link["dropped"].as_object().into_iter().flatten();
        drops.map(move |(reason, count)| {
            (format!("{labels},reason=\"{reason}\""), count.as_f64().unwrap_or(0.0))
        })
    });
    family("packets_dropped_total", "counter", "Packets dropped.", drops.collect());
    for member in ["packets", "bytes"] {
        let lines = directions().map(|(labels, link)| (labels, number(&link["queue"], member)));
        let (name, help) = (format!("queue_{member}"), "What waits for the link.");
        family(&name, "gauge", help, lines.collect());
    }
    let quantiles = [("0.5", "p50"), ("0.95", "p95"), ("0.99", "p99")];
    let delays = directions().flat_map(|(labels, link)| {
        let delay = &link["recent"]["delay"];
        let known = quantiles.into_iter().filter(|_| !delay.is_null());
        known.map(move |(quantile, member)| {
            (format!("{labels},quantile=\"{quantile}\""), number(delay, member))
        })
    });
    family("delay_seconds", "gauge", "Delays of the last window.", delays.collect());
    let of_run = |run: &Value| (format!("run={:?}", text(run, "name")), run["lateness"].clone());
    let late = || runs.iter().map(of_run);
    let worst = late().map(|(labels, late)| (labels, number(&late, "worst_seconds")));
    family("worst_lateness_seconds", "gauge", "The longest delay of the machine.", worst.collect());
    let late = late().map(|(labels, late)| (labels, number(&late, "late_deliveries")));
    family("late_deliveries_total", "counter", "Packets delivered late.", late.collect());
    out
}

/// The labels of a direction; names are quoted as Prometheus and Rust both do.
fn labels(run: &Value, link: &Value) -> String {
    let (run, link) = (text(run, "name"), text(link, "name"));
    let quoted = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("run=\"{}\",link=\"{}\"", quoted(run), quoted(link))
}

fn text<'a>(value: &'a Value, member: &str) -> &'a str {
    value[member].as_str().unwrap_or_default()
}

fn number(value: &Value, member: &str) -> f64 {
    value[member].as_f64().unwrap_or(0.0)
}

fn list<'a>(value: &'a Value, member: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    value[member].as_array().into_iter().flatten()
}
