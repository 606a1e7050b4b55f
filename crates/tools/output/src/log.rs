//! The event log: one JSON object a line, described in `docs/reference/event-log.md`.

use std::io::{self, Write};

use serde::Serialize;
use windfall_base::{Check, Damage, Duration, Instant, PacketEvent, PacketEventKind, Seed};
use windfall_channel::FrameFate;
use windfall_network::{EventKind, NetworkEvent};
use windfall_stack::socket_api::MessageArrival;
use windfall_stack::{HostEvent, Period, RlpSight};
use windfall_wire_link::rlp::RlpControl;

/// The version of the format; grows when a name changes its meaning or goes.
pub const FORMAT: u32 = 1;

/// Writes the event log of a run.
#[derive(Debug)]
pub struct EventLog<W> {
    out: W,
    elements: Vec<String>,
}

/// The first line.
#[derive(Serialize)]
struct Header<'a> {
    ev: &'static str,
    t: f64,
    format: u32,
    version: &'static str,
    seed: u64,
    command: &'a str,
    elements: &'a [String],
}

/// Every other line; the fields that say nothing are left out.
#[derive(Default, Serialize)]
struct Line<'a> {
    ev: &'static str,
    t: f64,
    at: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    tag: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    len: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    flow: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    queue: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    attempt: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    copies: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kept: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    damage: Option<Known<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    medium: Option<Fate<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    radio: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<Content>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rlp: Option<RlpLine>,
    #[serde(skip_serializing_if = "Option::is_none")]
    change: Option<&'a serde_json::Value>,
}

/// A frame of RLP: its kind, its numbers, and whether it went or came before.
#[derive(Serialize)]
struct RlpLine {
    kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    ns: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nr: Option<u8>,
    command: bool,
    poll_final: bool,
    again: bool,
}

/// A message as its application knows it.
#[derive(Serialize)]
struct Content {
    number: u64,
    precise: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    age: Option<f64>,
    wrong_bytes: u64,
    missing: u64,
    marked: bool,
}

/// The damage to a packet as its receiver knows it.
#[derive(Serialize)]
struct Known<'a> {
    frame: &'static str,
    header: &'static str,
    missing: u32,
    corrected: u32,
    suspect: &'a [core::ops::Range<u32>],
}

/// The reception of a frame, and its errors.
#[derive(Serialize)]
struct Fate<'a> {
    from: u16,
    to: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    frame: Option<u64>,
    header: u32,
    began: f64,
    ended: f64,
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    duplicate: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    strength: Option<i8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    truncated: Option<u32>,
    #[serde(skip_serializing_if = "<[u32]>::is_empty")]
    inverted: &'a [u32],
}

impl<W: Write> EventLog<W> {
    /// Begins a log; `elements` names the elements of the network by number.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn new(out: W, seed: Seed, command: &str, elements: Vec<String>) -> io::Result<Self> {
        let mut log = Self { out, elements: Vec::new() };
        log.write(&Header {
            ev: "header",
            t: 0.0,
            format: FORMAT,
            version: env!("CARGO_PKG_VERSION"),
            seed: seed.0,
            command,
            elements: &elements,
        })?;
        log.elements = elements;
        Ok(log)
    }

    /// Adds an event. Packets at devices are not logged: captures hold them.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn record(&mut self, event: &NetworkEvent) -> io::Result<()> {
        let at = self.elements.get(event.element.0 as usize).map_or("", String::as_str);
        let line = Line { t: event.at.as_secs_f64(), at, ..Line::default() };
        let line = match &event.what {
            EventKind::Packet(event) => of_packet(event, line),
            EventKind::RtsFailed => Some(Line { ev: "rts.failed", ..line }),
            EventKind::Radio(period) => Some(of_radio(period, line)),
            EventKind::Rlp(sight) => Some(of_rlp(sight, line)),
            EventKind::Medium(event) => Some(of_medium(event, line)),
            EventKind::Host(event) => of_host(event, line),
            EventKind::Passage(_) => None,
        };
        line.map_or(Ok(()), |line| write_line(&mut self.out, &line))
    }

    /// Adds that the link `at` was changed from outside; `change` is a table of a scenario.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn changed(
        &mut self,
        now: Instant,
        at: &str,
        change: &serde_json::Value,
    ) -> io::Result<()> {
        let change = Some(change);
        self.write(&Line {
            ev: "link.changed",
            t: now.as_secs_f64(),
            at,
            change,
            ..Line::default()
        })
    }

    /// Hands all that is buffered on.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// The writer behind the log.
    pub fn into_inner(self) -> W {
        self.out
    }

    fn write(&mut self, line: &impl Serialize) -> io::Result<()> {
        write_line(&mut self.out, line)
    }
}

fn write_line(out: &mut impl Write, line: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, line)?;
    out.write_all(b"\n")
}

/// Logs what happened to a packet at an interface; a kind that has no name here is not logged.
fn of_packet<'a>(event: &'a PacketEvent, line: Line<'a>) -> Option<Line<'a>> {
    let line = Line { tag: event.tag.map(|tag| tag.0), ..line };
    Some(match &event.kind {
        PacketEventKind::Queued { flow, len, queue } => Line {
            ev: "packet.queued",
            flow: Some(flow.0),
            len: Some(*len),
            queue: Some(*queue),
            ..line
        },
        PacketEventKind::Marked => Line { ev: "packet.marked", ..line },
        PacketEventKind::Combined { copies } => {
            Line { ev: "packet.combined", copies: Some(*copies), ..line }
        }
        PacketEventKind::Repaired { .. } => Line { ev: "packet.repaired", ..line },
        PacketEventKind::Sent { attempt, len, kept } => Line {
            ev: "frame.sent",
            attempt: Some(*attempt),
            len: Some(*len),
            kept: Some(*kept),
            ..line
        },
        PacketEventKind::Acknowledged => Line { ev: "frame.acknowledged", ..line },
        PacketEventKind::Delivered { len, damage } => Line {
            ev: "packet.delivered",
            len: Some(*len),
            damage: damage.as_deref().map(known),
            ..line
        },
        PacketEventKind::Dropped(drop) => Line {
            ev: if event.tag.is_some() { "packet.dropped" } else { "frame.dropped" },
            kept: Some(drop.kept),
            reason: Some(drop.reason.name()),
            len: Some(drop.len),
            ..line
        },
        _ => return None,
    })
}

fn of_radio<'a>(period: &Period, line: Line<'a>) -> Line<'a> {
    Line {
        ev: "radio.state",
        radio: Some(period.state.name()),
        seconds: Some((period.ended - period.began).as_secs_f64()),
        ..line
    }
}

fn of_rlp<'a>(sight: &RlpSight, line: Line<'a>) -> Line<'a> {
    Line {
        ev: if sight.sent { "rlp.sent" } else { "rlp.received" },
        rlp: Some(rlp_line(sight)),
        ..line
    }
}

//= S1.31
fn rlp_line(sight: &RlpSight) -> RlpLine {
    let &RlpSight { command, poll_final, again, .. } = sight;
    let (kind, ns, nr) = match sight.control {
        RlpControl::Unnumbered(kind) => (format!("{kind:?}"), None, None),
        RlpControl::Supervisory { function, nr } => (format!("{function:?}"), None, Some(nr)),
        RlpControl::Information { function, ns, nr } => {
            (format!("i+{function:?}"), Some(ns), Some(nr))
        }
    };
    RlpLine { kind: kind.to_lowercase(), ns, nr, command, poll_final, again }
}

/// Logs the datagrams and messages of applications; events of the internet layer are not logged.
fn of_host<'a>(event: &'a HostEvent, line: Line<'a>) -> Option<Line<'a>> {
    let number = |tag: &Option<windfall_base::Tag>| tag.map(|tag| tag.0);
    match event {
        HostEvent::Sent { len, .. } => Some(Line { ev: "datagram.sent", len: Some(*len), ..line }),
        HostEvent::Delivered { tag, len, damage, .. } => Some(Line {
            ev: "datagram.delivered",
            tag: number(tag),
            len: Some(*len),
            damage: damage.is_damaged().then(|| known(damage)),
            ..line
        }),
        HostEvent::Dropped { tag, reason, len } => Some(Line {
            ev: "datagram.dropped",
            tag: number(tag),
            reason: Some(reason.name()),
            len: Some(*len),
            ..line
        }),
        HostEvent::Message { arrival, .. } => Some(Line {
            ev: "message.delivered",
            len: Some(arrival.len),
            message: Some(content(arrival)),
            ..line
        }),
        HostEvent::Internet(_) => None,
    }
}

fn of_medium<'a>(event: &'a windfall_channel::MediumEvent, line: Line<'a>) -> Line<'a> {
    let (ev, truncated, reason) = match &event.fate {
        FrameFate::Intact => ("medium.intact", None, None),
        FrameFate::Damaged { truncated, .. } => ("medium.damaged", *truncated, None),
        FrameFate::Lost => ("medium.lost", None, None),
        FrameFate::Collided => ("medium.collided", None, None),
        FrameFate::Missed(missed) => ("medium.missed", None, Some(missed.name())),
    };
    let seconds = |at: Instant| at.as_secs_f64();
    Line {
        ev,
        tag: event.tag.map(|tag| tag.0),
        len: Some(event.length as usize),
        kept: Some(event.kept),
        reason,
        medium: Some(Fate {
            from: event.from.0,
            to: event.to.0,
            frame: event.number,
            header: event.header,
            began: seconds(event.began),
            ended: seconds(event.ended),
            duplicate: event.duplicate,
            strength: event.strength,
            truncated,
            inverted: event.fate.inverted(),
        }),
        ..line
    }
}

fn content(arrival: &MessageArrival) -> Content {
    let MessageArrival { number, precise, age, wrong_bytes, missing, marked, .. } = *arrival;
    let age = age.map(Duration::as_secs_f64);
    Content { number, precise, age, wrong_bytes, missing, marked }
}

fn known(damage: &Damage) -> Known<'_> {
    Known {
        frame: check_name(damage.frame),
        header: check_name(damage.header),
        missing: damage.missing,
        corrected: damage.corrected,
        suspect: &damage.suspect,
    }
}

const fn check_name(check: Check) -> &'static str {
    match check {
        Check::Unchecked => "unchecked",
        Check::Good => "good",
        Check::Bad => "bad",
    }
}

#[cfg(test)]
mod tests;
