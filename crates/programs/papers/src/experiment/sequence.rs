//! Time–sequence plots: what TCP sent and what was acknowledged, from a capture at the sender.

use bytes::Bytes;
use windfall_base::Instant;
use windfall_base::seq::Seq32;
use windfall_files::pcapng::Seen;
use windfall_files::pcapng::read::{CapturedPacket, ReadError, read};
use windfall_report::{Axis, Chart, Mark, Point, Series, Table};
use windfall_wire_net::{IpPacket, Protocol, TcpFlags, TcpPacket};

use crate::experiment::error::ExperimentError;
use crate::experiment::kernel::Transferred;

/// The data of one TCP connection over time, as its sender saw it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sequence {
    /// Segments with new data: seconds, and the first byte after them in kilobytes.
    pub sent: Vec<(f64, f64)>,
    /// Segments that send data again.
    pub retransmitted: Vec<(f64, f64)>,
    /// Acknowledgements, at the first byte that they do not cover.
    pub acknowledged: Vec<(f64, f64)>,
    /// When the retransmission timer fired, where that is known, and what was acknowledged then.
    pub timeouts: Vec<(f64, f64)>,
    /// Bytes of data sent, retransmissions included.
    pub bytes_sent: u64,
    /// Bytes of data sent more than once.
    pub bytes_retransmitted: u64,
}

/// One segment on its way.
struct Segment {
    at: Instant,
    seen: Seen,
    seq: Seq32,
    ack: Option<Seq32>,
    len: usize,
    syn: bool,
}

impl Sequence {
    /// Follows the first connection whose data leave the device of `capture`.
    ///
    /// # Errors
    /// If the capture cannot be read.
    pub fn of_capture(capture: &Bytes) -> Result<Self, ReadError> {
        Ok(Self::of_packets(&read(capture)?, &[]))
    }

    /// Follows the first connection whose data leave the device that saw `packets`, and whose
    /// retransmission timer fired at `timeouts`.
    pub fn of_packets(packets: &[CapturedPacket], timeouts: &[Instant]) -> Self {
        let segments: Vec<_> = packets.iter().filter_map(segment).collect();
        let first = segments.iter().find(|segment| segment.seen == Seen::Sent && segment.syn);
        let Some(first) = first else { return Self::default() };
        // The connection's own numbers begin after the SYN.
        let base = first.seq.next();
        let start = segments
            .iter()
            .find(|segment| segment.seen == Seen::Sent && segment.len > 0)
            .map_or(first.at, |segment| segment.at);
        let mut sequence = Self::default();
        let mut highest = 0;
        for segment in &segments {
            let seconds = segment.at.saturating_since(start).as_secs_f64();
            let place = |seq: Seq32| f64::from(seq.distance_from(base)) / 1e3;
            match segment.seen {
                Seen::Sent if segment.len > 0 => {
                    let end = segment.seq + segment.len as u32;
                    let reach = end.distance_from(base);
                    sequence.bytes_sent += segment.len as u64;
                    if reach > highest {
                        highest = reach;
                        sequence.sent.push((seconds, place(end)));
                    } else {
                        sequence.bytes_retransmitted += segment.len as u64;
                        sequence.retransmitted.push((seconds, place(end)));
                    }
                }
                Seen::Arrived if !segment.syn => {
                    if let Some(ack) = segment.ack {
                        sequence.acknowledged.push((seconds, place(ack)));
                    }
                }
                _ => {}
            }
        }
        let place = |at: &Instant| {
            let seconds = at.saturating_since(start).as_secs_f64();
            (seconds, sequence.acknowledged_by(seconds))
        };
        sequence.timeouts = timeouts.iter().map(place).collect();
        sequence
    }

    /// Follows the connection of a transfer that was captured.
    ///
    /// # Errors
    /// If there is no capture or it cannot be read.
    pub fn of_transfer(
        figure: &'static str,
        transferred: &Transferred,
    ) -> Result<Self, ExperimentError> {
        let failed = |message: String| ExperimentError::Scenario { figure, message };
        let capture = transferred.capture.as_ref();
        let capture = capture.ok_or_else(|| failed("nothing was captured".to_owned()))?;
        Self::of_capture(capture).map_err(|error| failed(error.to_string()))
    }

    /// The values of the plot.
    pub fn table(&self) -> Table {
        let mut table = Table::new(["time s", "what", "sequence kB"]);
        for (what, values) in [
            ("sent", &self.sent),
            ("sent again", &self.retransmitted),
            ("acknowledged", &self.acknowledged),
            ("timeout", &self.timeouts),
        ] {
            for (at, place) in values {
                table.push([format!("{at:.6}"), what.to_owned(), format!("{place:.3}")]);
            }
        }
        table
    }

    /// The plot: segments as dots, retransmissions and timeouts as marks, acknowledgements as a
    /// line of steps.
    pub fn chart(&self, title: &str, subtitle: &str) -> Chart {
        let series = [
            ("acknowledged", Mark::Line, &self.steps(), 5),
            ("sent", Mark::Dots, &self.sent, 0),
            ("sent again", Mark::Points, &self.retransmitted, 1),
            ("timeout", Mark::Points, &self.timeouts, 3),
        ];
        let series = series.into_iter().filter(|(_, _, values, _)| !values.is_empty());
        let series = series.map(|(name, mark, values, color)| {
            let points = values.iter().map(|(x, y)| Point::new(*x, *y)).collect();
            Series::new(name, mark, points).with_color(color)
        });
        Chart {
            title: title.to_owned(),
            subtitle: subtitle.to_owned(),
            x: Axis::linear("time (s)"),
            y: Axis::linear("sequence number (kB)"),
            series: series.collect(),
            rules: Vec::new(),
        }
    }

    /// The corners of the line of acknowledgements, which rises when one arrives.
    fn steps(&self) -> Vec<(f64, f64)> {
        let first = self.acknowledged.first().copied();
        let rises = self.acknowledged.windows(2).flat_map(|pair| [(pair[1].0, pair[0].1), pair[1]]);
        first.into_iter().chain(rises).collect()
    }

    /// The part between two moments, in seconds.
    pub fn between(&self, from: f64, to: f64) -> Self {
        let cut = |values: &[(f64, f64)]| {
            values.iter().copied().filter(|(at, _)| (from..=to).contains(at)).collect()
        };
        Self {
            sent: cut(&self.sent),
            retransmitted: cut(&self.retransmitted),
            acknowledged: cut(&self.acknowledged),
            timeouts: cut(&self.timeouts),
            ..*self
        }
    }

    /// Data acknowledged per second between two moments, in kilobytes.
    pub fn rate(&self, from: f64, to: f64) -> f64 {
        (self.acknowledged_by(to) - self.acknowledged_by(from)) / (to - from)
    }

    /// Kilobytes acknowledged at a moment.
    fn acknowledged_by(&self, moment: f64) -> f64 {
        let until = self.acknowledged.iter().take_while(|(at, _)| *at <= moment);
        until.map(|(_, place)| *place).fold(0.0, f64::max)
    }

    /// The share of the data sent that had been sent before.
    pub fn overlap(&self) -> f64 {
        self.bytes_retransmitted as f64 / self.bytes_sent.max(1) as f64
    }

    /// When the last acknowledgement arrived, in seconds.
    pub fn end(&self) -> f64 {
        self.acknowledged.last().map_or(0.0, |(at, _)| *at)
    }

    /// The times in which nothing was acknowledged: when each began and ended, in seconds.
    pub fn silences(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.acknowledged.windows(2).map(|pair| (pair[0].0, pair[1].0))
    }

    /// The longest time in which nothing was acknowledged.
    pub fn longest_silence(&self) -> Option<(f64, f64)> {
        self.silences().max_by(|a, b| (a.1 - a.0).total_cmp(&(b.1 - b.0)))
    }

    /// The silences of a second and more.
    pub fn pauses(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.silences().filter(|(from, to)| to - from >= 1.0)
    }

    /// The share of the time that went by in silences of a second and more.
    pub fn silent_share(&self) -> f64 {
        let silent = self.pauses().fold(0.0, |sum, (from, to)| sum + to - from);
        silent / self.end().max(f64::MIN_POSITIVE)
    }
}

/// Returns the data of the first connection that had arrived at the device, over time.
///
/// Seconds since the first packet of the connection, and kilobytes up to the highest byte.
///
/// # Errors
/// If the capture cannot be read.
pub fn received(capture: &Bytes) -> Result<Vec<(f64, f64)>, ReadError> {
    let packets = read(capture)?;
    let segments: Vec<_> = packets.iter().filter_map(segment).collect();
    let first = segments.iter().rfind(|segment| segment.seen == Seen::Sent && segment.syn);
    let answer = segments.iter().rfind(|segment| segment.seen == Seen::Arrived && segment.syn);
    let (Some(first), Some(answer)) = (first, answer) else { return Ok(Vec::new()) };
    let base = answer.seq.next();
    let mut highest = 0;
    let mut steps = vec![(0.0, 0.0)];
    for segment in segments.iter().filter(|s| s.seen == Seen::Arrived && s.len > 0) {
        let reach = (segment.seq + segment.len as u32).distance_from(base);
        if reach > highest && segment.at >= first.at {
            highest = reach;
            let seconds = segment.at.saturating_since(first.at).as_secs_f64();
            steps.push((seconds, f64::from(reach) / 1e3));
        }
    }
    Ok(steps)
}

fn segment(packet: &CapturedPacket) -> Option<Segment> {
    let carried = IpPacket::new(&packet.data).ok()?.carried().ok()?;
    if carried.protocol != Protocol::TCP || carried.fragment {
        return None;
    }
    let tcp = TcpPacket::new(carried.bytes).ok()?;
    let flags = tcp.flags();
    Some(Segment {
        at: packet.at,
        seen: packet.seen,
        seq: tcp.seq(),
        ack: flags.has(TcpFlags::ACK).then(|| tcp.ack()),
        len: carried.len.saturating_sub(tcp.header_len()),
        syn: flags.has(TcpFlags::SYN),
    })
}

#[cfg(test)]
mod tests;
