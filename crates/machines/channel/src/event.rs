//! The reports of a medium: the fate of each frame at each receiver.

use std::collections::VecDeque;

use windfall_base::{Frame, Instant, Port, Tag};

use crate::fate::FrameFate;

/// The events that a medium has yet to yield, each with its time.
pub(crate) type Events = VecDeque<(Instant, MediumEvent)>;

/// The fate of one frame at one receiver. It is the truth: no machine may see it.
///
/// Its time is when the fate was sealed: the moment at which the frame arrives or would have
/// arrived; [`Medium::poll_event`](crate::Medium::poll_event) gives it beside the event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MediumEvent {
    /// The port of the sender.
    pub from: Port,
    /// The port of the receiver; a shared medium reports each receiver that could hear.
    pub to: Port,
    /// The frame's number in its direction, from 0; `None` for frames that the air ignores.
    pub number: Option<u64>,
    /// The name of the packet that the frame carried.
    pub tag: Option<Tag>,
    /// The sender keeps a copy, so that a loss decides nothing yet.
    pub kept: bool,
    /// The frame carried nothing of the packet, which it only named.
    pub names_only: bool,
    /// The frame was a repair of packets, none of which it carried.
    pub is_repair: bool,
    /// Length on the medium as it was sent, in bytes.
    pub length: u32,
    /// Bytes of the link header among them.
    pub header: u32,
    /// Bytes of the link trailer among them.
    pub trailer: u32,
    /// When the sender began to transmit.
    pub began: Instant,
    /// When the sender's last bit left it.
    pub ended: Instant,
    /// The path has made a copy of a frame: the event of the frame itself tells its fate.
    pub duplicate: bool,
    /// The strength of the signal, in whole dBm as radiotap counts; radios know it.
    pub strength: Option<i8>,
    /// The fate of the air.
    pub fate: FrameFate,
}

impl MediumEvent {
    /// Returns the fate of a frame on its way between two ports, which was sent in the time from
    /// the first instant to the second. The air gave its number and its fate; the strength is
    /// unknown.
    #[must_use]
    #[inline]
    pub fn new(
        facts: FrameFacts,
        (from, to): (Port, Port),
        (began, ended): (Instant, Instant),
        (number, fate): (Option<u64>, FrameFate),
    ) -> Self {
        let FrameFacts { tag, kept, names_only, is_repair, length, header, trailer } = facts;
        Self {
            from,
            to,
            number,
            tag,
            kept,
            names_only,
            is_repair,
            length,
            header,
            trailer,
            began,
            ended,
            duplicate: false,
            strength: None,
            fate,
        }
    }
}

/// The facts about a frame that outlast it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameFacts {
    /// The name of the packet that it carries.
    pub tag: Option<Tag>,
    /// Its sender keeps a copy.
    pub kept: bool,
    /// It carries nothing of the packet, which it only names.
    pub names_only: bool,
    /// It is a repair of packets, none of which it carries.
    pub is_repair: bool,
    /// Its length, in bytes.
    pub length: u32,
    /// Bytes of the link header among them.
    pub header: u32,
    /// Bytes of the link trailer among them.
    pub trailer: u32,
}

impl FrameFacts {
    /// Returns the facts about a frame as it is sent.
    #[must_use]
    #[inline]
    pub fn of(frame: &Frame) -> Self {
        Self {
            tag: frame.tag,
            kept: frame.kept,
            names_only: frame.names_only,
            is_repair: frame.covers.is_some(),
            length: frame.len() as u32,
            header: frame.header.len() as u32,
            trailer: frame.trailer.len() as u32,
        }
    }

    /// Returns `true` if the medium alone holds the packet while the frame is on its way.
    pub(crate) fn is_held(self) -> bool {
        self.tag.is_some() && !self.kept
    }
}
