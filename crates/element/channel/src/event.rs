//! What a medium reports: the fate of each frame at each receiver.

use windfall_base::{Instant, Port, Tag};

use crate::fate::FrameFate;

/// The fate of one frame at one receiver. It is the truth: no machine may see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MediumEvent {
    /// When the fate was sealed: the moment at which the frame arrives or would have arrived.
    pub at: Instant,
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
    /// The strength of the signal, in whole dBm as radiotap counts; radios know it.
    pub strength: Option<i8>,
    /// The fate of the air.
    pub fate: FrameFate,
}
