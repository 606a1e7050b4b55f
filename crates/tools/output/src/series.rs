//! Series: what each direction of a link, and each flow, did in one window of time after another.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};
use windfall_base::{DropReason, Duration, Instant, PacketEvent, PacketEventKind, Tag};
use windfall_network::{ElementId, EventKind, Network, NetworkEvent, direction_of};

use crate::parquet::{self, ParquetColumn, Values};

/// The length of a window where none is chosen.
pub const INTERVAL: Duration = Duration::from_millis(100);
/// The most packets under way of which the time of entry is known.
const KNOWN: usize = 1 << 16;
/// The most delays that count for the quantiles of one window.
const DELAYS: usize = 1 << 17;

/// The counts of one direction of a link, or of one flow on it, in a window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sample {
    /// The end of the window, in seconds since the start of the run.
    pub t: f64,
    /// The length of the window, in seconds.
    pub seconds: f64,
    /// The link and its sender.
    pub link: String,
    /// The flow; absent for all packets of the direction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow: Option<String>,
    /// Bits per second of packets that were delivered.
    pub rate_bps: f64,
    /// Packets that wait for the link at the end of the window.
    pub queue_packets: u64,
    /// Their bytes; absent for a flow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_bytes: Option<u64>,
    /// Delays from device to device of what was delivered; absent if that is nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<Delays>,
    /// Packets that entered; of a flow those that joined the queue.
    pub entered: u64,
    /// Packets that were delivered.
    pub delivered: u64,
    /// Packets that were dropped, by reason.
    pub dropped: BTreeMap<Cow<'static, str>, u64>,
    /// Bits that the air inverted.
    pub bits_inverted: u64,
    /// Frames with packets, retransmissions included.
    pub frames: u64,
    /// Frames that retransmitted a packet.
    pub retransmitted: u64,
    /// The share of the window for which frames of the direction took the medium; absent for a
    /// flow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub busy: Option<f64>,
}

/// Quantiles of delays, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Delays {
    /// The delay that half of them keep.
    pub p50: f64,
    /// The delay that 95 of 100 keep.
    pub p95: f64,
    /// The delay that 99 of 100 keep.
    pub p99: f64,
    /// The longest of them.
    pub max: f64,
}

impl Delays {
    /// The quantiles of delays in nanoseconds, by the nearest rank; sorts them.
    fn of(delays: &mut [u64]) -> Option<Self> {
        delays.sort_unstable();
        let last = delays.len().checked_sub(1)?;
        let at = |percent: usize| {
            let rank = (delays.len() * percent).div_ceil(100).clamp(1, delays.len());
            delays[rank - 1] as f64 * 1e-9
        };
        Some(Self { p50: at(50), p95: at(95), p99: at(99), max: delays[last] as f64 * 1e-9 })
    }
}

/// The head of the comma-separated form of samples.
pub const CSV_HEAD: &str = "t,seconds,link,flow,rate_bps,queue_packets,queue_bytes,delay_p50,\
                            delay_p95,delay_p99,delay_max,entered,delivered,dropped,drops,\
                            bits_inverted,frames,retransmitted,busy";

impl Sample {
    /// Returns the packets dropped, for whatever reason.
    #[must_use]
    pub fn dropped_in_all(&self) -> u64 {
        self.dropped.values().sum()
    }

    /// The packets dropped by reason, `queue-full:3;lost:1`.
    fn drops(&self) -> String {
        let drops = self.dropped.iter().map(|(reason, count)| format!("{reason}:{count}"));
        drops.collect::<Vec<_>>().join(";")
    }

    /// The sample as a line under [`CSV_HEAD`], without its end.
    #[must_use]
    pub fn to_csv(&self) -> String {
        let quoted = |text: &str| {
            let plain = !text.contains(['"', ',', '\n', '\r']);
            if plain { text.to_owned() } else { format!("\"{}\"", text.replace('"', "\"\"")) }
        };
        let delay = self.delay.map_or_else(
            || ",,,".to_owned(),
            |Delays { p50, p95, p99, max }| format!("{p50:.9},{p95:.9},{p99:.9},{max:.9}"),
        );
        let fields = [
            format!("{:.9}", self.t),
            format!("{:.9}", self.seconds),
            quoted(&self.link),
            quoted(self.flow.as_deref().unwrap_or_default()),
            format!("{:.0}", self.rate_bps),
            self.queue_packets.to_string(),
            self.queue_bytes.map(|bytes| bytes.to_string()).unwrap_or_default(),
            delay,
            self.entered.to_string(),
            self.delivered.to_string(),
            self.dropped_in_all().to_string(),
            self.drops(),
            self.bits_inverted.to_string(),
            self.frames.to_string(),
            self.retransmitted.to_string(),
            self.busy.map(|share| format!("{share:.6}")).unwrap_or_default(),
        ];
        fields.join(",")
    }
}

/// Counts since the last window ended.
#[derive(Clone, Debug, Default)]
struct Counts {
    entered: u64,
    delivered: u64,
    bytes: u64,
    dropped: BTreeMap<&'static str, u64>,
    bits_inverted: u64,
    frames: u64,
    retransmitted: u64,
    busy: Duration,
    delays: Vec<u64>,
    /// Not of a window: packets that wait now.
    waiting: u64,
}

/// A packet that is under way.
#[derive(Clone, Copy, Debug)]
struct UnderWay {
    entered: Instant,
    flow: u16,
    waits: bool,
}

/// One direction of a link.
#[derive(Debug)]
struct DirectionMonitor {
    /// The ledger at the end of the last window.
    before: Counts,
    delays: Vec<u64>,
    flows: Vec<Counts>,
    under_way: BTreeMap<Tag, UnderWay>,
}

/// Watches a network, and sums up each window of time; it needs the network's events.
#[derive(Debug)]
pub struct Monitor {
    began: Instant,
    directions: Vec<DirectionMonitor>,
    /// The names of the flows, everything else first; none where the scenario has none.
    flows: Vec<String>,
}

impl Monitor {
    /// Watches a network from `now` on, whose scenario has these `flows`.
    #[must_use]
    pub fn new(now: Instant, network: &Network, flows: &[String]) -> Self {
        let mut names = Vec::new();
        if !flows.is_empty() {
            names.push("everything else".to_owned());
            names.extend_from_slice(flows);
        }
        let direction = |id| DirectionMonitor {
            before: of_ledger(network, id),
            delays: Vec::new(),
            flows: vec![Counts::default(); names.len()],
            under_way: BTreeMap::new(),
        };
        let directions = network.interfaces().map(direction).collect();
        Self { began: now, directions, flows: names }
    }

    /// Takes an event of the network.
    pub fn record(&mut self, event: &NetworkEvent) {
        match &event.what {
            EventKind::Packet(PacketEvent { tag: Some(tag), kind }) => {
                self.packet(event.at, *tag, kind);
            }
            EventKind::Medium(medium) => {
                let inverted = medium.fate.inverted().len() as u64;
                if let (Some(tag), 1.., false) = (medium.tag, inverted, medium.duplicate)
                    && let Some((_, flow)) = self.flow_of(tag)
                {
                    flow.bits_inverted += inverted;
                }
            }
            _ => return,
        }
        if let Some((tag, drop)) = event.what.packet_drop()
            && !drop.kept
            && drop.reason != DropReason::NotForUs
        {
            let reason = drop.reason.name();
            if let Some((packet, flow)) = self.flow_of(tag) {
                *flow.dropped.entry(reason).or_default() += 1;
                flow.waiting -= u64::from(packet.waits && flow.waiting > 0);
            }
            if let Some(direction) = self.directions.get_mut(direction_of(tag)) {
                direction.under_way.remove(&tag);
            }
        }
    }

    fn packet(&mut self, at: Instant, tag: Tag, event: &PacketEventKind) {
        let Some(direction) = self.directions.get_mut(direction_of(tag)) else { return };
        match event {
            PacketEventKind::Queued { flow, .. } => {
                if direction.under_way.len() >= KNOWN {
                    direction.under_way.pop_first();
                }
                let packet = UnderWay { entered: at, flow: flow.0, waits: true };
                direction.under_way.insert(tag, packet);
                if let Some(flow) = direction.flows.get_mut(usize::from(flow.0)) {
                    flow.entered += 1;
                    flow.waiting += 1;
                }
            }
            PacketEventKind::Sent { attempt, .. } => {
                let Some(packet) = direction.under_way.get_mut(&tag) else { return };
                let Some(flow) = direction.flows.get_mut(usize::from(packet.flow)) else { return };
                flow.frames += 1;
                flow.retransmitted += u64::from(*attempt > 1);
                let waited = core::mem::replace(&mut packet.waits, false);
                flow.waiting -= u64::from(waited && flow.waiting > 0);
            }
            PacketEventKind::Delivered { len, .. } => {
                let Some(packet) = direction.under_way.remove(&tag) else { return };
                let delay = at.saturating_since(packet.entered).as_nanos();
                let flow = direction.flows.get_mut(usize::from(packet.flow));
                for delays in [&mut direction.delays] {
                    if delays.len() < DELAYS {
                        delays.push(delay);
                    }
                }
                if let Some(flow) = flow {
                    flow.delivered += 1;
                    flow.bytes += *len as u64;
                    flow.delays.push(delay);
                }
            }
            _ => {}
        }
    }

    /// The packet of a tag, and the counts of its flow.
    fn flow_of(&mut self, tag: Tag) -> Option<(UnderWay, &mut Counts)> {
        let direction = self.directions.get_mut(direction_of(tag))?;
        let packet = *direction.under_way.get(&tag)?;
        Some((packet, direction.flows.get_mut(usize::from(packet.flow))?))
    }

    /// Ends the window at `now`, and returns what was in it: of each direction the whole, then its
    /// flows.
    pub fn sample(&mut self, now: Instant, network: &Network) -> Vec<Sample> {
        let seconds = now.saturating_since(self.began).as_secs_f64();
        self.began = now;
        let mut samples = Vec::new();
        for (id, direction) in network.interfaces().zip(&mut self.directions) {
            let name = network.name(id);
            let counts = of_ledger(network, id);
            let before = core::mem::replace(&mut direction.before, counts.clone());
            let mut whole = counts.since(&before);
            whole.delays = core::mem::take(&mut direction.delays);
            let (packets, bytes) = network.queue_len(id);
            whole.waiting = packets as u64;
            let window = Window { t: now.as_secs_f64(), seconds, link: name };
            let busy = Some(whole.busy.as_secs_f64() / seconds.max(1e-9));
            let bytes = Some(bytes as u64);
            let sample = window.sample(&mut whole, None);
            samples.push(Sample { queue_bytes: bytes, busy, ..sample });
            for (flow, counts) in self.flows.iter().zip(&mut direction.flows) {
                samples.push(window.sample(counts, Some(flow)));
                *counts = Counts { waiting: counts.waiting, ..Counts::default() };
            }
        }
        samples
    }
}

struct Window<'a> {
    t: f64,
    seconds: f64,
    link: &'a str,
}

impl Window<'_> {
    fn sample(&self, counts: &mut Counts, flow: Option<&str>) -> Sample {
        let rate = counts.bytes as f64 * 8.0 / self.seconds.max(1e-9);
        Sample {
            t: self.t,
            seconds: self.seconds,
            link: self.link.to_owned(),
            flow: flow.map(str::to_owned),
            rate_bps: rate,
            queue_packets: counts.waiting,
            queue_bytes: None,
            delay: Delays::of(&mut counts.delays),
            entered: counts.entered,
            delivered: counts.delivered,
            dropped: counts.dropped.iter().map(|(reason, n)| ((*reason).into(), *n)).collect(),
            bits_inverted: counts.bits_inverted,
            frames: counts.frames,
            retransmitted: counts.retransmitted,
            busy: None,
        }
    }
}

fn of_ledger(network: &Network, interface: ElementId) -> Counts {
    let ledger = network.ledger(interface);
    Counts {
        entered: ledger.entered,
        delivered: ledger.delivered,
        bytes: ledger.delivered_bytes,
        dropped: ledger.drops.iter().map(|(reason, count)| (reason.name(), count)).collect(),
        bits_inverted: ledger.bits_inverted,
        frames: ledger.packets.frames,
        retransmitted: ledger.packets.retransmissions,
        busy: ledger.busy,
        ..Counts::default()
    }
}

impl Counts {
    /// A packet that arrives after all takes its drop back, so that a count may go down.
    fn since(&self, before: &Self) -> Self {
        let dropped = self.dropped.iter().map(|(reason, count)| {
            (*reason, count.saturating_sub(before.dropped.get(reason).copied().unwrap_or(0)))
        });
        Self {
            entered: self.entered - before.entered,
            delivered: self.delivered - before.delivered,
            bytes: self.bytes - before.bytes,
            dropped: dropped.filter(|(_, count)| *count > 0).collect(),
            bits_inverted: self.bits_inverted - before.bits_inverted,
            frames: self.frames - before.frames,
            retransmitted: self.retransmitted - before.retransmitted,
            busy: self.busy.saturating_sub(before.busy),
            ..Self::default()
        }
    }
}

/// The form of a file of samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeriesFormat {
    /// Values with commas between, under [`CSV_HEAD`].
    Csv,
    /// A JSON object in each line.
    JsonLines,
    /// The columns of [`CSV_HEAD`] as Parquet, written at the end of the run.
    Parquet,
}

impl SeriesFormat {
    /// Returns the form that the name of a file asks for by its ending.
    #[must_use]
    pub fn of_file(path: &Path) -> Self {
        let extension = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
        match extension.as_str() {
            "json" | "jsonl" | "ndjson" => Self::JsonLines,
            "parquet" => Self::Parquet,
            _ => Self::Csv,
        }
    }
}

/// Writes the samples of a run to a file, one window after another.
pub struct SeriesFile<W> {
    out: W,
    format: SeriesFormat,
    interval: Duration,
    next: Instant,
    monitor: Monitor,
    /// The samples of a file that is written at the end.
    kept: Vec<Sample>,
}

impl<W: Write> SeriesFile<W> {
    /// Begins a file.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn new(
        mut out: W,
        format: SeriesFormat,
        interval: Duration,
        monitor: Monitor,
    ) -> io::Result<Self> {
        if format == SeriesFormat::Csv {
            writeln!(out, "{CSV_HEAD}")?;
        }
        let next = monitor.began + interval;
        Ok(Self { out, format, interval, next, monitor, kept: Vec::new() })
    }

    /// Takes an event of the network.
    pub fn record(&mut self, event: &NetworkEvent) {
        self.monitor.record(event);
    }

    /// The end of the present window.
    #[must_use]
    pub fn next(&self) -> Instant {
        self.next
    }

    /// Ends the window if it is time.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn advance(&mut self, now: Instant, network: &Network) -> io::Result<()> {
        if now < self.next {
            return Ok(());
        }
        // After a pause of the whole run there is one long window, and the next ends in time.
        let windows = (now - self.next).as_nanos() / self.interval.as_nanos().max(1) + 1;
        self.next += self.interval * windows;
        self.write(now, network)
    }

    /// Ends the last window, at the end of the run.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn finish(&mut self, now: Instant, network: &Network) -> io::Result<()> {
        if now > self.monitor.began {
            self.write(now, network)?;
        }
        if self.format == SeriesFormat::Parquet {
            self.out.write_all(&parquet::file(&columns(&self.kept)))?;
        }
        self.out.flush()
    }

    /// Hands all that is buffered on.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    fn write(&mut self, now: Instant, network: &Network) -> io::Result<()> {
        for sample in self.monitor.sample(now, network) {
            match self.format {
                SeriesFormat::Csv => writeln!(self.out, "{}", sample.to_csv())?,
                SeriesFormat::JsonLines => {
                    serde_json::to_writer(&mut self.out, &sample)?;
                    self.out.write_all(b"\n")?;
                }
                SeriesFormat::Parquet => self.kept.push(sample),
            }
        }
        Ok(())
    }
}

/// The samples as columns, with the names of [`CSV_HEAD`] in their order.
fn columns(samples: &[Sample]) -> Vec<ParquetColumn> {
    let numbers =
        |of: fn(&Sample) -> Option<f64>| Values::Numbers(samples.iter().map(of).collect());
    let whole = |of: fn(&Sample) -> u64| Values::Whole(samples.iter().map(of).collect());
    let text = |of: fn(&Sample) -> String| Values::Text(samples.iter().map(of).collect());
    let values = [
        numbers(|it| Some(it.t)),
        numbers(|it| Some(it.seconds)),
        text(|it| it.link.clone()),
        text(|it| it.flow.clone().unwrap_or_default()),
        numbers(|it| Some(it.rate_bps)),
        whole(|it| it.queue_packets),
        numbers(|it| it.queue_bytes.map(|bytes| bytes as f64)),
        numbers(|it| it.delay.map(|delay| delay.p50)),
        numbers(|it| it.delay.map(|delay| delay.p95)),
        numbers(|it| it.delay.map(|delay| delay.p99)),
        numbers(|it| it.delay.map(|delay| delay.max)),
        whole(|it| it.entered),
        whole(|it| it.delivered),
        whole(Sample::dropped_in_all),
        text(Sample::drops),
        whole(|it| it.bits_inverted),
        whole(|it| it.frames),
        whole(|it| it.retransmitted),
        numbers(|it| it.busy),
    ];
    let column = |(name, values): (&str, Values)| ParquetColumn { name: name.to_owned(), values };
    CSV_HEAD.split(',').zip(values).map(column).collect()
}

#[cfg(test)]
mod tests;
