//! A log as rows: what each layer did, when, and with which bytes.

use std::collections::BTreeMap;

use windfall_base::{MemoryBudget, OverBudget};
use windfall_report::Table;

use crate::layers::event::LogLine;

/// The version of the format that is read.
const FORMAT: u32 = 1;
/// Characters in a frame of RLP.
const RLP_CHARACTERS: u64 = 24;
/// Frames of RLP are numbered from 0 to one less.
const RLP_MODULUS: i64 = 62;
/// The bits of a tag that count the packets of an interface.
const TAG_BITS: u32 = 40;

/// A layer of the stack, the uppermost first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLayer {
    /// Datagrams of applications; in simulations only.
    Application,
    /// Packets of RTP; where a capture tells of them.
    Rtp,
    /// Packets at the devices.
    Ip,
    /// Frames of RLP.
    Rlp,
    /// Frames on a medium, such as radio blocks.
    Block,
}

impl LogLayer {
    /// The layers in their order, the uppermost first.
    pub const ALL: [Self; 5] = [Self::Application, Self::Rtp, Self::Ip, Self::Rlp, Self::Block];

    /// The name in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Application => "application",
            Self::Rtp => "rtp",
            Self::Ip => "ip",
            Self::Rlp => "rlp",
            Self::Block => "block",
        }
    }
}

/// An event in the life of something of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// It was sent, or put into the queue.
    Sent,
    /// It was sent again.
    Again,
    /// It came to its receiver undamaged.
    Arrived,
    /// It arrived with damage.
    Damaged,
    /// It was lost or discarded.
    Lost,
}

impl Act {
    /// The name in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sent => "sent",
            Self::Again => "again",
            Self::Arrived => "arrived",
            Self::Damaged => "damaged",
            Self::Lost => "lost",
        }
    }
}

//= S1.30
//= S1.31
/// One thing that happened at one layer.
#[derive(Clone, Debug, PartialEq)]
pub struct LayerRow {
    /// Seconds since the start of the run.
    pub time: f64,
    /// The layer at which it happened.
    pub layer: LogLayer,
    /// The element that tells of it.
    pub at: String,
    /// The direction: the place among the elements of the interface that sends; none where the
    /// log does not tell.
    pub sender: Option<usize>,
    /// The event itself.
    pub act: Act,
    /// The number that the layer gave it.
    pub number: Option<u64>,
    /// Its length in bytes.
    pub len: usize,
    /// The bytes of the layer that were sent in this direction before it.
    pub position: Option<u64>,
    /// The kind of frame, or the reason of a loss.
    pub note: String,
    /// The name of its packet.
    pub tag: Option<u64>,
}

/// The reason for which a file is no event log.
#[derive(Debug, thiserror::Error)]
pub enum LayerError {
    /// A line is none of a log.
    #[error("line {number} is no event: {source}; write a log with --log FILE")]
    Line {
        /// The number of the line, from 1.
        number: usize,
        /// The fault in it.
        source: serde_json::Error,
    },
    /// It does not begin as a log does.
    #[error("the first line is no header of an event log; write a log with --log FILE")]
    NoHeader,
    /// It is of another version.
    #[error("the log has format {0}; this program reads format {FORMAT}")]
    Format(u32),
    /// There is not enough memory for it.
    #[error(transparent)]
    TooLong(#[from] OverBudget),
}

/// The times of the rows to show, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogWindow {
    /// The first of them.
    pub begin: f64,
    /// The last of them.
    pub end: f64,
}

impl LogWindow {
    /// The whole of a run.
    pub const ALL: Self = Self { begin: f64::NEG_INFINITY, end: f64::INFINITY };

    /// Tells whether a time lies within.
    #[must_use]
    pub fn contains(&self, time: f64) -> bool {
        (self.begin..=self.end).contains(&time)
    }
}

/// The events of a run by layer, in the order of time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LayerLog {
    /// The elements of the network by name, interfaces as `LINK/STATION`.
    pub elements: Vec<String>,
    /// The events, a row for each.
    pub rows: Vec<LayerRow>,
    /// The number of the last line, from 1, if it was cut short and left out, as of a run that was
    /// ended.
    pub cut: Option<usize>,
}

/// The counts of each direction so far.
#[derive(Default)]
struct Counts {
    elements: Vec<String>,
    /// Bytes of packets.
    packets: BTreeMap<usize, u64>,
    /// The position of each packet under way.
    positions: BTreeMap<u64, u64>,
    /// Datagrams of each station and their bytes.
    datagrams: BTreeMap<String, (u64, u64)>,
    /// The number of the last frame of RLP, sent and received, counted on.
    rlp: BTreeMap<(String, bool), i64>,
}

impl LayerLog {
    /// Reads an event log.
    ///
    /// # Errors
    /// If it is none, or of another format, or too long for `budget`.
    pub fn read(text: &str, budget: &mut MemoryBudget) -> Result<Self, LayerError> {
        let mut log = Self::default();
        let mut counts = Counts::default();
        let mut lines = text.lines().enumerate().peekable();
        while let Some((at, line)) = lines.next() {
            let is_end = lines.peek().is_none() && !text.ends_with('\n') && at > 0;
            let line: LogLine = match serde_json::from_str(line) {
                Ok(line) => line,
                Err(_) if is_end => {
                    log.cut = Some(at + 1);
                    break;
                }
                Err(source) => return Err(LayerError::Line { number: at + 1, source }),
            };
            if at == 0 {
                let header = line.format.filter(|_| line.ev == "header");
                match header.ok_or(LayerError::NoHeader)? {
                    FORMAT => counts.elements = line.elements,
                    other => return Err(LayerError::Format(other)),
                }
                continue;
            }
            log.rows.extend(counts.row(&line));
            log.rows.extend(counts.lost_packet(&line));
            budget.check(log.rows.capacity() * 2 * size_of::<LayerRow>())?;
        }
        if text.is_empty() {
            return Err(LayerError::NoHeader);
        }
        Ok(Self { elements: counts.elements, ..log })
    }

    /// Returns the place of an interface among the elements, of which the others are media and
    /// stations.
    ///
    /// # Errors
    /// A message with those that there are, if it is none of them.
    pub fn interface(&self, name: &str) -> Result<usize, String> {
        let interfaces = self.elements.iter().enumerate().filter(|(_, it)| it.contains('/'));
        let found = interfaces.clone().find(|(_, it)| *it == name);
        found.map(|(place, _)| place).ok_or_else(|| {
            let known: Vec<_> = interfaces.map(|(_, it)| it.as_str()).collect();
            format!("the log has no interface {name}: choose from {}", known.join(", "))
        })
    }

    /// Tells why there is no row of these layers in a window, if there is none.
    #[must_use]
    pub fn why_empty(&self, layers: &[LogLayer], window: LogWindow) -> Option<String> {
        let of_layers = || self.rows.iter().filter(|row| layers.contains(&row.layer));
        if of_layers().any(|row| window.contains(row.time)) {
            return None;
        }
        let times = || of_layers().map(|row| row.time);
        let Some(last) = times().reduce(f64::max) else {
            let each = layers.iter().map(|layer| match layer {
                LogLayer::Application => {
                    "datagrams of applications are in the logs of `windfall sim` alone"
                }
                LogLayer::Rtp => {
                    "packets of RTP come from the captures of a run: add --captures DIR"
                }
                LogLayer::Ip => "no packet entered a link",
                LogLayer::Rlp => "frames of RLP are on links of kind gsm with an arq",
                LogLayer::Block => "no frame crossed a medium",
            });
            return Some(each.collect::<Vec<_>>().join("; "));
        };
        let first = times().fold(last, f64::min);
        Some(format!("there are events from {first:.3} s to {last:.3} s, none in this part"))
    }

    //= S1.30
    //= S1.31
    /// Returns the rows of some layers within a window as a table.
    #[must_use]
    pub fn table(&self, layers: &[LogLayer], window: LogWindow) -> Table {
        let columns = ["time", "layer", "at", "what", "number", "bytes", "position", "note"];
        let mut table = Table::new(columns);
        for row in &self.rows {
            if !layers.contains(&row.layer) || !window.contains(row.time) {
                continue;
            }
            table.push([
                format!("{:.6}", row.time),
                row.layer.name().to_owned(),
                row.at.clone(),
                row.act.name().to_owned(),
                number_or_nothing(row.number),
                row.len.to_string(),
                number_or_nothing(row.position),
                row.note.clone(),
            ]);
        }
        table
    }
}

/// Returns a number as text, and no text without one.
fn number_or_nothing(value: Option<u64>) -> String {
    value.map_or_else(String::new, |it| it.to_string())
}

impl Counts {
    fn row(&mut self, line: &LogLine) -> Option<LayerRow> {
        let act = match line.ev.as_str() {
            "datagram.sent" | "packet.queued" | "rlp.sent" => Act::Sent,
            "medium.intact" | "rlp.received" => Act::Arrived,
            "datagram.delivered" | "packet.delivered" if line.damage.is_some() => Act::Damaged,
            "datagram.delivered" | "packet.delivered" => Act::Arrived,
            "medium.damaged" => Act::Damaged,
            "medium.lost" | "medium.collided" | "medium.missed" => Act::Lost,
            "packet.dropped" if !line.kept => Act::Lost,
            _ => return None,
        };
        let row = LayerRow {
            time: line.t,
            layer: LogLayer::Ip,
            at: line.at.clone(),
            sender: line.tag.map(|tag| (tag >> TAG_BITS) as usize),
            act,
            number: line.tag.map(|tag| tag & ((1 << TAG_BITS) - 1)),
            len: line.len,
            position: None,
            note: line.reason.clone(),
            tag: line.tag,
        };
        Some(match line.ev.split('.').next()? {
            "datagram" => self.datagram(row),
            "packet" => self.packet(row),
            "rlp" => self.frame(row, line)?,
            _ => self.block(row, line)?,
        })
    }

    /// The packet that ends with a frame that the medium loses, of which no station reports.
    fn lost_packet(&self, line: &LogLine) -> Option<LayerRow> {
        let is_lost =
            matches!(line.ev.as_str(), "medium.lost" | "medium.collided" | "medium.missed");
        let tag = line.tag.filter(|_| is_lost && !line.kept)?;
        let position = Some(*self.positions.get(&tag)?);
        Some(LayerRow {
            time: line.t,
            layer: LogLayer::Ip,
            at: line.at.clone(),
            sender: Some((tag >> TAG_BITS) as usize),
            act: Act::Lost,
            number: Some(tag & ((1 << TAG_BITS) - 1)),
            len: line.len,
            position,
            note: line.reason.clone(),
            tag: Some(tag),
        })
    }

    fn datagram(&mut self, row: LayerRow) -> LayerRow {
        let row = LayerRow { layer: LogLayer::Application, number: None, ..row };
        if row.act != Act::Sent {
            return row;
        }
        let sender = self
            .elements
            .iter()
            .position(|name| name.split_once('/').is_some_and(|(_, it)| it == row.at));
        let (number, before) = self.datagrams.entry(row.at.clone()).or_default();
        let row = LayerRow { sender, number: Some(*number), position: Some(*before), ..row };
        *number += 1;
        *before = before.saturating_add(row.len as u64);
        row
    }

    fn packet(&mut self, row: LayerRow) -> LayerRow {
        let Some((tag, sender)) = row.tag.zip(row.sender) else { return row };
        if row.act != Act::Sent {
            return LayerRow { position: self.positions.remove(&tag), ..row };
        }
        let before = self.packets.entry(sender).or_default();
        let position = *before;
        *before = before.saturating_add(row.len as u64);
        self.positions.insert(tag, position);
        LayerRow { position: Some(position), ..row }
    }

    /// The interfaces of a link, in the order of its ports.
    fn ends<'a>(&'a self, link: &'a str) -> impl Iterator<Item = (usize, &'a String)> {
        let is_end = move |name: &str| name.split_once('/').is_some_and(|(it, _)| it == link);
        self.elements.iter().enumerate().filter(move |(_, name)| is_end(name))
    }

    //= S1.31
    fn frame(&mut self, row: LayerRow, line: &LogLine) -> Option<LayerRow> {
        let rlp = line.rlp.as_ref()?;
        let is_sent = row.act == Act::Sent;
        let act = if rlp.again && is_sent { Act::Again } else { row.act };
        let link = row.at.split('/').next()?;
        // A circuit has two ends: what arrives at one was sent by the other.
        let sender = self.ends(link).find(|(_, name)| (**name == row.at) == is_sent);
        let sender = sender.map(|(place, _)| place);
        let position = rlp.ns.map(|ns| {
            let last = self.rlp.entry((row.at.clone(), is_sent)).or_default();
            let step = (i64::from(ns) - *last).rem_euclid(RLP_MODULUS);
            let number = *last + if step > RLP_MODULUS / 2 { step - RLP_MODULUS } else { step };
            *last = (*last).max(number);
            number.max(0) as u64 * RLP_CHARACTERS
        });
        let len = if rlp.ns.is_some() { RLP_CHARACTERS as usize } else { 0 };
        let number = rlp.ns.map(u64::from);
        let note = rlp.text();
        Some(LayerRow { layer: LogLayer::Rlp, sender, act, number, len, position, note, ..row })
    }

    fn block(&self, row: LayerRow, line: &LogLine) -> Option<LayerRow> {
        let medium = line.medium.as_ref()?;
        let note = match medium.inverted.len() {
            0 => row.note.clone(),
            bits => format!("{bits} bits inverted"),
        };
        let sender = self.ends(&row.at).nth(usize::from(medium.from)).map(|(place, _)| place);
        Some(LayerRow { layer: LogLayer::Block, sender, number: medium.frame, note, ..row })
    }
}

#[cfg(test)]
mod tests;
