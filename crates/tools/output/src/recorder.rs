//! One observer for everything that a run leaves behind: event log, packet logs, captures, series,
//! error traces.
//!
//! Drivers give it each [`NetworkEvent`] of their network, in order; simulated and real time give
//! the same files.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Write};

use windfall_base::{
    DropReason, Instant, PacketDrop, PacketEvent, PacketEventKind, Payload, Port, Seed, Tag,
};
use windfall_channel::{FrameFate, Line, MediumConfig};
use windfall_files::traces::error_trace::TraceHeader;
use windfall_network::{ElementId, EventKind, Network, NetworkEvent, Passage, direction_of};
use windfall_wire_net::mark_congestion;

use windfall_files::pcapng::{Capture, Seen, damage_note};

use crate::log::EventLog;
use crate::packet_log::{PacketLog, PacketLogHeader};
use crate::series::SeriesFile;

/// Packets that have arrived and are kept to compare further copies with.
const ARRIVED: usize = 64;

/// A destination of a recorder.
pub type Out = Box<dyn Write + Send>;

/// The description of a run that all its files share.
#[derive(Clone, Debug)]
pub struct Run {
    /// The seed of the run.
    pub seed: Seed,
    /// The command that started it.
    pub command: String,
    /// The start of the run in nanoseconds since 1970; zero in simulated time.
    pub epoch: u64,
    /// The names of the network's elements, by number.
    pub elements: Vec<String>,
}

/// The error trace of one direction and where it goes.
struct ErrorFile {
    out: Out,
    taken: windfall_channel::Recorder,
}

impl ErrorFile {
    fn write(mut self) -> io::Result<()> {
        self.out.write_all(self.taken.finish().to_text().as_bytes())?;
        self.out.flush()
    }
}

/// Writes what happens to the files that were asked for.
pub struct RunRecorder {
    run: Run,
    log: Option<EventLog<Out>>,
    packet_logs: BTreeMap<usize, PacketLog<Out>>,
    captures: BTreeMap<ElementId, Capture<Out>>,
    /// Of the packets that were sent there and dropped.
    drop_captures: BTreeMap<ElementId, Capture<Out>>,
    series: Option<SeriesFile<Out>>,
    /// By medium, sender and receiver.
    errors: BTreeMap<(ElementId, Port, Port), ErrorFile>,
    /// Packets that entered at a captured device that were neither delivered nor dropped yet.
    under_way: BTreeMap<Tag, Payload>,
    /// The packets that arrived last, as they were sent: further copies of them may follow.
    arrived: VecDeque<(Tag, Payload)>,
    /// Damage to the last frame of each packet.
    damage: BTreeMap<Tag, FrameDamage>,
}

/// The damage that the air did to a frame with a packet.
struct FrameDamage {
    /// The inverted bits, counted from the first byte behind the link header.
    inverted: Vec<u32>,
    /// The bytes cut off the end.
    missing: u32,
    /// The bytes between link header and trailer.
    carried: usize,
}

impl core::fmt::Debug for RunRecorder {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("RunRecorder")
            .field("run", &self.run)
            .field("log", &self.log.is_some())
            .field("packet_logs", &self.packet_logs.keys())
            .field("captures", &self.captures.keys())
            .field("errors", &self.errors.keys())
            .finish_non_exhaustive()
    }
}

impl RunRecorder {
    /// A recorder that writes nothing yet.
    #[must_use]
    pub fn new(run: Run) -> Self {
        Self {
            run,
            log: None,
            packet_logs: BTreeMap::new(),
            captures: BTreeMap::new(),
            drop_captures: BTreeMap::new(),
            series: None,
            errors: BTreeMap::new(),
            under_way: BTreeMap::new(),
            arrived: VecDeque::new(),
            damage: BTreeMap::new(),
        }
    }

    /// Writes the event log to `out`, as JSON lines.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn log_to(&mut self, out: Out) -> io::Result<()> {
        let Run { seed, command, elements, .. } = &self.run;
        self.log = Some(EventLog::new(out, *seed, command, elements.clone())?);
        Ok(())
    }

    /// Writes what the interface `sender` sends to `out`, as a packet log in mahimahi's format.
    ///
    /// `direction` names the direction, such as `uplink`, `queue` the queue before the link;
    /// `line` says what the link could deliver.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn packet_log_to(
        &mut self,
        out: Out,
        sender: ElementId,
        direction: &str,
        queue: &str,
        line: Line,
    ) -> io::Result<()> {
        let header = PacketLogHeader {
            direction: direction.to_owned(),
            command: self.run.command.clone(),
            queue: queue.to_owned(),
            seed: self.run.seed.0,
            epoch_ms: self.run.epoch / 1_000_000,
        };
        self.packet_logs.insert(sender.0 as usize, PacketLog::new(out, &header, line)?);
        Ok(())
    }

    /// Writes the packets at the device of the interface `device` to `out`, as pcapng, and those
    /// of them that the link dropped to `dropped`.
    ///
    /// The network must be asked to report packets at its devices.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn capture_to(&mut self, out: Out, dropped: Out, device: ElementId) -> io::Result<()> {
        let Run { seed, command, epoch, .. } = &self.run;
        let comment = format!("seed {seed}\n{command}");
        let capture = Capture::new(out, self.name(device), *epoch, &comment)?;
        let drops = Capture::dropped(dropped, self.name(device), *epoch, &comment)?;
        self.captures.insert(device, capture);
        self.drop_captures.insert(device, drops);
        Ok(())
    }

    /// Writes samples to `out`, one for each direction and flow at the end of each window.
    pub fn series_to(&mut self, series: SeriesFile<Out>) {
        self.series = Some(series);
    }

    /// The end of the present window of the samples, if there are any.
    #[must_use]
    pub fn next_sample(&self) -> Option<Instant> {
        self.series.as_ref().map(SeriesFile::next)
    }

    /// Ends the window of the samples if it is time.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn advance(&mut self, now: Instant, network: &Network) -> io::Result<()> {
        self.series.as_mut().map_or(Ok(()), |series| series.advance(now, network))
    }

    /// Ends the last window of the samples, at the end of the run.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn finish_series(&mut self, now: Instant, network: &Network) -> io::Result<()> {
        self.series.as_mut().map_or(Ok(()), |series| series.finish(now, network))
    }

    /// Writes what the air of one direction did to `out` when the run ends, as an error trace.
    ///
    /// `path` is the medium with the ports of sender and receiver, `medium` its configuration.
    pub fn errors_to(&mut self, out: Out, path: (ElementId, Port, Port), medium: &MediumConfig) {
        let (_, from, to) = path;
        let header = TraceHeader {
            seed: Some(self.run.seed),
            rate: medium.rate(from),
            bit_order: medium.bit_order(),
            workload: self.run.command.clone(),
            ..TraceHeader::default()
        };
        let taken = windfall_channel::Recorder::new(header, medium.exposure(from, to));
        self.errors.insert(path, ErrorFile { out, taken });
    }

    /// Tells whether anything is recorded at all; if not, a network need not report.
    #[must_use]
    pub fn wants_events(&self) -> bool {
        self.log.is_some()
            || self.series.is_some()
            || !self.packet_logs.is_empty()
            || !self.captures.is_empty()
            || !self.errors.is_empty()
    }

    /// Tells whether the network must report packets at its devices.
    #[must_use]
    pub fn wants_packets(&self) -> bool {
        !self.captures.is_empty()
    }

    /// Takes one event.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn record(&mut self, event: &NetworkEvent) -> io::Result<()> {
        if let Some(log) = &mut self.log {
            log.record(event)?;
        }
        if let Some(series) = &mut self.series {
            series.record(event);
        }
        match &event.what {
            EventKind::Packet(PacketEvent { tag: Some(tag), kind }) => {
                self.packet(event.at, *tag, kind)?;
            }
            EventKind::Medium(medium) => {
                let path = (event.element, medium.from, medium.to);
                if let Some(errors) = self.errors.get_mut(&path) {
                    errors.taken.record(medium);
                }
                self.medium(event, medium)?;
            }
            EventKind::Passage(passage) => self.passage(event, passage)?,
            _ => {}
        }
        // On a shared medium every bystander reports such a drop; it is not the fate of the packet.
        match event.what.packet_drop() {
            Some((tag, drop)) if !drop.kept && drop.reason != DropReason::NotForUs => {
                self.dropped(event.at, tag, drop)
            }
            _ => Ok(()),
        }
    }

    /// Notes that the link of this name was changed from outside; `change` is a table of a
    /// scenario that says the same.
    ///
    /// # Errors
    /// If the event log cannot be written.
    pub fn note_change(
        &mut self,
        now: Instant,
        link: &str,
        change: &serde_json::Value,
    ) -> io::Result<()> {
        self.log.as_mut().map_or(Ok(()), |log| log.changed(now, link, change))
    }

    /// Hands on all that is buffered of the event log, the packet logs and the captures, so that
    /// other programs can read it.
    ///
    /// # Errors
    /// The first of the files that cannot be written; the others are.
    pub fn flush(&mut self) -> io::Result<()> {
        let log = self.log.as_mut().map(EventLog::flush);
        let packet_logs = self.packet_logs.values_mut().map(PacketLog::flush);
        let captures = self.captures.values_mut().chain(self.drop_captures.values_mut());
        let captures = captures.map(Capture::flush);
        let series = self.series.as_mut().map(SeriesFile::flush);
        first_failure(log.into_iter().chain(packet_logs).chain(captures).chain(series))
    }

    /// Hands all that is buffered on, and writes the error traces; call it once, when the run ends.
    ///
    /// # Errors
    /// The first of the files that cannot be written; the others are.
    pub fn finish(&mut self) -> io::Result<()> {
        let flushed = self.flush();
        let errors = core::mem::take(&mut self.errors);
        flushed.and(first_failure(errors.into_values().map(ErrorFile::write)))
    }

    fn name(&self, element: ElementId) -> &str {
        self.run.elements.get(element.0 as usize).map_or("", String::as_str)
    }

    fn packet(&mut self, at: Instant, tag: Tag, event: &PacketEventKind) -> io::Result<()> {
        match event {
            PacketEventKind::Queued { len, .. } => match self.packet_log_of(tag) {
                Some(log) => log.entered(at, tag, *len),
                None => Ok(()),
            },
            PacketEventKind::Delivered { len, .. } => match self.packet_log_of(tag) {
                Some(log) => log.delivered(at, tag, *len),
                None => Ok(()),
            },
            // What a queue or the medium has marked is no damage.
            PacketEventKind::Marked => {
                if let Some(payload) = self.under_way.get_mut(&tag)
                    && let Some(marked) = mark_congestion(payload)
                {
                    *payload = marked;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn medium(
        &mut self,
        event: &NetworkEvent,
        medium: &windfall_channel::MediumEvent,
    ) -> io::Result<()> {
        let Some(tag) = medium.tag else { return Ok(()) };
        match &medium.fate {
            FrameFate::Intact => {
                self.damage.remove(&tag);
            }
            FrameFate::Damaged { truncated, inverted } => {
                if let Some(log) = self.packet_log_of(tag)
                    && !inverted.is_empty()
                {
                    log.inverted(event.at, inverted.len())?;
                }
                if self.wants_packets() {
                    let missing =
                        truncated.map_or(0, |bit| medium.length - medium.length.min(bit / 8));
                    let inverted = behind_header(inverted, medium.header);
                    let carried = (medium.length - medium.header - medium.trailer) as usize;
                    self.damage.insert(tag, FrameDamage { inverted, missing, carried });
                }
            }
            FrameFate::Lost | FrameFate::Collided | FrameFate::Missed(_) => {}
        }
        Ok(())
    }

    fn passage(&mut self, event: &NetworkEvent, passage: &Passage) -> io::Result<()> {
        let Passage { arrived, tag, payload, .. } = passage;
        let mut note = String::new();
        if *arrived {
            if let Some(tag) = tag {
                self.damage.remove(tag);
                note = self.as_sent(*tag).map_or(note, |sent| difference(sent, payload));
            }
        } else if let Some(tag) = tag
            && self.captures.contains_key(&event.element)
        {
            self.under_way.insert(*tag, payload.clone());
        }
        let seen = if *arrived { Seen::Arrived } else { Seen::Sent };
        match self.captures.get_mut(&event.element) {
            Some(capture) => capture.packet(event.at, seen, *tag, payload, &note),
            None => Ok(()),
        }
    }

    /// The packet that arrives now as its sender's device gave it.
    fn as_sent(&mut self, tag: Tag) -> Option<&Payload> {
        if let Some(payload) = self.under_way.remove(&tag) {
            self.arrived.truncate(ARRIVED - 1);
            self.arrived.push_front((tag, payload));
        }
        self.arrived.iter().find(|(other, _)| *other == tag).map(|(_, payload)| payload)
    }

    /// Notes the end of a packet on its link; a second one is ignored.
    fn dropped(&mut self, at: Instant, tag: Tag, drop: PacketDrop) -> io::Result<()> {
        let PacketDrop { reason, len, .. } = drop;
        if let Some(log) = self.packet_log_of(tag) {
            if matches!(reason, DropReason::QueueFull | DropReason::TooBig) {
                log.refused(at, len)?;
            } else {
                log.dropped(at, tag)?;
            }
        }
        let damage = self.damage.remove(&tag);
        let Some(payload) = self.under_way.remove(&tag) else { return Ok(()) };
        let sender = ElementId(direction_of(tag) as u32);
        let Some(capture) = self.drop_captures.get_mut(&sender) else {
            return Ok(());
        };
        let mut note = format!("dropped: {reason}");
        // Frames that carry something else, such as a codeword or a fragment, say nothing of the
        // places in the packet.
        if let Some(damage) = damage.filter(|damage| damage.carried == payload.len()) {
            let inverted = within(&damage.inverted, payload.len());
            note = format!("{note}; {}", damage_note(&inverted, damage.missing));
        }
        capture.packet(at, Seen::Dropped, Some(tag), &payload, &note)
    }

    fn packet_log_of(&mut self, tag: Tag) -> Option<&mut PacketLog<Out>> {
        self.packet_logs.get_mut(&direction_of(tag))
    }
}

/// Takes every result, and gives back the first failure.
fn first_failure(results: impl Iterator<Item = io::Result<()>>) -> io::Result<()> {
    results.fold(Ok(()), io::Result::and)
}

/// The note on how a packet that arrived differs from the one that was sent; empty if it does not.
///
/// Only the bytes tell: a code may have mended what the air did to the frames, or have failed to.
fn difference(sent: &Payload, arrived: &Payload) -> String {
    if sent == arrived {
        return String::new();
    }
    let sent = sent.to_bytes();
    let arrived = arrived.to_bytes();
    let bytes = sent.iter().zip(&arrived).map(|(sent, arrived)| sent ^ arrived);
    let bits = bytes.flat_map(|byte| (0..8).map(move |bit| byte & (0x80 >> bit) != 0));
    let inverted: Vec<u32> = (0..).zip(bits).filter(|(_, is)| *is).map(|(at, _)| at).collect();
    damage_note(&inverted, sent.len().saturating_sub(arrived.len()) as u32)
}

/// Positions behind the link header of bits that were counted from its beginning.
fn behind_header(inverted: &[u32], header: u32) -> Vec<u32> {
    inverted.iter().filter_map(|bit| bit.checked_sub(header * 8)).collect()
}

/// The positions that lie within a packet, and not in the link trailer behind it.
fn within(inverted: &[u32], bytes: usize) -> Vec<u32> {
    inverted.iter().copied().filter(|bit| (*bit as usize) < bytes * 8).collect()
}

#[cfg(test)]
mod tests;
