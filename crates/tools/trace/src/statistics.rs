//! What a trace holds, in numbers and as a sketch of characters.

mod histogram;

use core::fmt::Write as _;

use serde::Serialize;
use windfall_files::traces::ErrorTrace;
use windfall_files::traces::error_trace::{Fault, Index};

pub use histogram::{Histogram, LengthClass};

/// Parts into which the course of a trace and the length of a frame are divided.
const BINS: usize = 64;
/// The block for which survival inside damaged frames is told, in bits: 32 bytes.
const BLOCK: u32 = 256;

/// The numbers of one trace.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Statistics {
    /// Statistics of the frames; absent in traces that count bits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frames: Option<FrameStatistics>,
    /// Statistics of the bits.
    pub bits: BitStatistics,
}

/// Statistics of the frames.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FrameStatistics {
    /// The number of frames.
    pub count: u64,
    /// Frames that were lost.
    pub lost: u64,
    /// Those that were cut short, whether bits were inverted too or not.
    pub truncated: u64,
    /// Those with inverted bits that arrived in their full length.
    pub corrupted: u64,
    /// Those that arrived as they were sent.
    pub whole: u64,
    /// Lost frames in a row.
    pub loss_bursts: Histogram,
    /// Frames in a row that did not arrive whole.
    pub fault_bursts: Histogram,
    /// Whole frames in a row between two that were not.
    pub gaps: Histogram,
    /// The share of lost frames over the course of the trace.
    pub loss_course: Vec<f64>,
    /// The share of frames that arrived damaged over the course of the trace.
    pub damage_course: Vec<f64>,
}

/// Statistics of the bits.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct BitStatistics {
    /// Bits that were inverted.
    pub inverted: u64,
    /// Bits that arrived: the denominator of `rate`; unknown without a frame length.
    pub arrived: Option<u64>,
    /// Inverted bits as a share of those that arrived.
    pub rate: Option<f64>,
    /// Inverted bits as a share of the bits of damaged frames.
    pub rate_in_damaged: Option<f64>,
    /// Inverted bits in a row.
    pub bursts: Histogram,
    /// Right bits between two inverted ones of the same frame.
    pub gaps: Histogram,
    /// From the first to the last inverted bit of a frame, as a share of the frame; the mean.
    pub span: Option<f64>,
    /// The expected `span` if the inverted bits of each frame lay anywhere in it.
    pub independent_span: Option<f64>,
    /// The share of blocks of 32 bytes that are whole in frames with inverted bits.
    pub surviving_blocks: Option<f64>,
    /// Inverted bits by their place in the frame, in equal parts; empty without a frame length.
    pub places: Vec<u64>,
}

impl Statistics {
    /// The numbers of `trace`.
    #[must_use]
    pub fn of(trace: &ErrorTrace) -> Self {
        match trace.header().index {
            Index::Bit => Self { frames: None, bits: BitStatistics::of_stream(trace) },
            Index::Frame => Self {
                frames: Some(FrameStatistics::of(trace)),
                bits: BitStatistics::of_frames(trace),
            },
        }
    }

    /// The numbers and a sketch, as text.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        if let Some(frames) = &self.frames {
            frames.write(&mut text);
        }
        self.bits.write(&mut text);
        text
    }
}

impl FrameStatistics {
    fn of(trace: &ErrorTrace) -> Self {
        let mut this = Self { count: trace.len(), whole: trace.len(), ..Self::default() };
        let mut courses = [vec![0_u64; BINS], vec![0_u64; BINS]];
        let mut burst: Option<(u64, u64)> = None;
        for entry in trace.entries() {
            let is_lost = entry.fault == Fault::Lost;
            this.whole -= entry.count;
            if let Fault::Damaged { truncated, inverted } = &entry.fault {
                this.truncated += u64::from(truncated.is_some());
                this.corrupted += u64::from(truncated.is_none() && !inverted.is_empty());
            }
            if is_lost {
                this.lost += entry.count;
                this.loss_bursts.add(entry.count);
            }
            burst = match burst {
                Some((start, end)) if end == entry.at => Some((start, end + entry.count)),
                Some((start, end)) => {
                    this.fault_bursts.add(end - start);
                    this.gaps.add(entry.at - end);
                    Some((entry.at, entry.at + entry.count))
                }
                None => Some((entry.at, entry.at + entry.count)),
            };
            spread(&mut courses[usize::from(!is_lost)], entry.at, entry.count, trace.len());
        }
        if let Some((start, end)) = burst {
            this.fault_bursts.add(end - start);
        }
        let [lost, damaged] = courses.map(|course| shares(&course, trace.len()));
        (this.loss_course, this.damage_course) = (lost, damaged);
        this
    }

    fn write(&self, text: &mut String) {
        let arrived = self.count - self.lost;
        let _ = writeln!(text, "frames        {:>12}", self.count);
        let parts = [
            ("  whole", self.whole, self.count, ""),
            ("  lost", self.lost, self.count, ""),
            ("  truncated", self.truncated, arrived, " of those not lost"),
            (
                "  corrupted",
                self.corrupted,
                arrived - self.truncated,
                " of those neither lost nor truncated",
            ),
        ];
        for (name, n, of, what) in parts {
            let share = n as f64 / of.max(1) as f64 * 100.0;
            let _ = writeln!(text, "{name:<13} {n:>12}  {share:.4} %{what}");
        }
        self.loss_bursts.write(text, "lost in a row", "frames");
        self.fault_bursts.write(text, "not whole in a row", "frames");
        self.gaps.write(text, "whole frames between faults", "frames");
        let _ = writeln!(text, "course, first to last frame (each column scaled to 100 %)");
        let _ = writeln!(text, "  lost     |{}|", sketch(&self.loss_course, 1.0));
        let _ = writeln!(text, "  damaged  |{}|", sketch(&self.damage_course, 1.0));
    }
}

impl BitStatistics {
    fn of_stream(trace: &ErrorTrace) -> Self {
        let mut this = Self { arrived: Some(trace.len()), ..Self::default() };
        let mut end = None;
        for entry in trace.entries() {
            this.inverted += entry.count;
            this.bursts.add(entry.count);
            if let Some(end) = end {
                this.gaps.add(entry.at - end);
            }
            end = Some(entry.at + entry.count);
        }
        this.rate = ratio(this.inverted, trace.len());
        this
    }

    fn of_frames(trace: &ErrorTrace) -> Self {
        let length = trace.header().frame_length.map(|bytes| bytes.saturating_mul(8));
        let mut this = Self::default();
        if length.is_some() {
            this.places = vec![0; BINS];
        }
        let mut missing = 0_u64;
        let mut bits_in_damaged = 0_u64;
        let mut spans = 0_u64;
        let mut corrupted = 0_u64;
        let mut blocks = 0_u64;
        let mut hit_blocks = 0_u64;
        let mut independent_spans = 0.0;
        for entry in trace.entries() {
            let whole = u64::from(length.unwrap_or(0));
            let Fault::Damaged { truncated, inverted } = &entry.fault else {
                missing = missing.saturating_add(whole.saturating_mul(entry.count));
                continue;
            };
            // Of a byte that is cut nothing is left.
            let cut = truncated.map(|cut| cut / 8 * 8);
            let arrived = cut.map_or(whole, |cut| whole.min(u64::from(cut)));
            let inverted =
                &inverted[..inverted.partition_point(|bit| cut.is_none_or(|c| *bit < c))];
            missing = missing.saturating_add(whole - arrived);
            bits_in_damaged += arrived;
            this.add_bits(inverted, length);
            if let (Some(first), Some(last)) = (inverted.first(), inverted.last()) {
                corrupted += 1;
                spans += u64::from(last - first + 1);
                // The mean range of n uniform draws is (n - 1) / (n + 1) of the whole.
                let bits = inverted.len() as f64;
                independent_spans += 1.0 + (bits - 1.0) / (bits + 1.0) * arrived as f64;
                blocks += arrived.div_ceil(u64::from(BLOCK));
                let mut hit: Vec<u32> = inverted.iter().map(|bit| bit / BLOCK).collect();
                hit.dedup();
                hit_blocks += hit.len() as u64;
            }
        }
        if let Some(length) = length {
            let sent = trace.len().saturating_mul(length.into());
            this.arrived = Some(sent.saturating_sub(missing));
            this.rate = this.arrived.and_then(|arrived| ratio(this.inverted, arrived));
            this.rate_in_damaged = ratio(this.inverted, bits_in_damaged);
            this.span = ratio(spans, corrupted * u64::from(length));
            let mean = independent_spans / (corrupted as f64 * f64::from(length));
            this.independent_span = (corrupted > 0).then_some(mean);
            this.surviving_blocks = ratio(blocks.saturating_sub(hit_blocks), blocks);
        }
        this
    }

    /// Adds the inverted bits of one frame.
    fn add_bits(&mut self, inverted: &[u32], length: Option<u32>) {
        self.inverted += inverted.len() as u64;
        let mut run = 0;
        for (i, &bit) in inverted.iter().enumerate() {
            run += 1;
            match inverted.get(i + 1) {
                Some(&next) if next == bit + 1 => {}
                next => {
                    self.bursts.add(run);
                    run = 0;
                    if let Some(&next) = next {
                        self.gaps.add(u64::from(next - bit - 1));
                    }
                }
            }
            if let Some(length) = length.filter(|&length| bit < length) {
                let bin = u64::from(bit) * BINS as u64 / u64::from(length);
                self.places[bin as usize] += 1;
            }
        }
    }

    fn write(&self, text: &mut String) {
        let _ = writeln!(text, "inverted bits {:>12}", self.inverted);
        match (self.arrived, self.rate) {
            (Some(arrived), Some(rate)) => {
                let _ = writeln!(text, "  of arrived  {arrived:>12}  bit error rate {rate:.3e}");
            }
            (Some(_), None) => {
                let _ = writeln!(text, "  of arrived  {:>12}  no bit arrived", 0);
            }
            (None, _) => {
                let _ =
                    writeln!(text, "  of arrived       unknown: the trace gives no frame length");
            }
        }
        if let Some(rate) = self.rate_in_damaged {
            let _ = writeln!(text, "  in damaged frames alone     bit error rate {rate:.3e}");
        }
        self.bursts.write(text, "inverted in a row", "bits");
        self.gaps.write(text, "intact bits between errors", "bits");
        if let (Some(span), Some(survive)) = (self.span, self.surviving_blocks) {
            let independent = self.independent_span.unwrap_or(span);
            let kind = if span < 0.5 * independent { "localised" } else { "frame-wide" };
            let _ = writeln!(
                text,
                "damage spans {:.1} % of a corrupted frame ({kind}: independent errors would span \
                 {:.1} %); {:.1} % of its 32-byte blocks are whole",
                span * 100.0,
                independent * 100.0,
                survive * 100.0
            );
        }
        let most = self.places.iter().copied().max().unwrap_or(0);
        if most > 0 {
            let heights: Vec<f64> = self.places.iter().map(|&n| n as f64).collect();
            let _ = writeln!(text, "inverted bits by place in the frame (highest: {most})");
            let _ = writeln!(text, "           |{}|", sketch(&heights, most as f64));
        }
    }
}

/// Adds `count` events from `at` on to the bins of a course of `length`.
fn spread(bins: &mut [u64], at: u64, count: u64, length: u64) {
    let bin_of = |place: u64| (u128::from(place) * BINS as u128 / u128::from(length)) as usize;
    let first = bin_of(at);
    let last = bin_of(at + count - 1);
    for (bin, sum) in bins.iter_mut().enumerate().take(last + 1).skip(first) {
        let begin = edge(bin, length).max(at);
        let end = edge(bin + 1, length).min(at + count);
        *sum += end.saturating_sub(begin);
    }
}

/// The first place of a bin.
fn edge(bin: usize, length: u64) -> u64 {
    (bin as u128 * u128::from(length)).div_ceil(BINS as u128) as u64
}

/// Each bin as a share of the places in it; bins without places repeat the one before.
fn shares(bins: &[u64], length: u64) -> Vec<f64> {
    let mut last = 0.0;
    let share = |(bin, &n): (usize, &u64)| {
        let places = edge(bin + 1, length) - edge(bin, length);
        if places > 0 {
            last = n as f64 / places as f64;
        }
        last
    };
    bins.iter().enumerate().map(share).collect()
}

fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// One character for each value, from a blank for 0 to a full block for `full`.
fn sketch(values: &[f64], full: f64) -> String {
    const LEVELS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    // Rounded up: what is there at all shows.
    values.iter().map(|value| LEVELS[((value / full * 8.0).ceil() as usize).min(8)]).collect()
}

#[cfg(test)]
mod tests;
