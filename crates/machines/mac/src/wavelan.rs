//! Polling over a shared half-duplex medium, similar to the 802.11 point coordination function
//! (S3.2).
//!
//! The coordinator polls stations in turn. Both the poll and the response may carry a unit, and
//! each unit is acknowledged at once. A station acknowledges with a separate ACK frame. The
//! coordinator acknowledges with its next poll, or with a separate ACK frame if that poll carries a
//! unit. So an ACK is never lost together with a unit. A response begins at the end of the poll. If
//! none begins, the coordinator continues with its next turn.

mod coordinator;
mod responder;

use windfall_base::{DropReason, Duration, Frame, Outgoing, Rate, TransitTiming, TxVector};
use windfall_wire_link::HeaderError;
use windfall_wire_link::pipe::HeaderBytes;
use windfall_wire_link::wavelan::{Address, Feedback, Head, Kind, SHORT_LEN};

pub use coordinator::{Coordinator, Idle};
pub use responder::Responder;

/// The overhead of a frame, and the timeout of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WavelanTiming {
    /// Preamble, turn-around of the radio and software overhead, for each frame.
    pub per_frame: Duration,
    /// The time to copy each byte between host and radio.
    pub per_byte: Duration,
    /// The time after a poll within which the response must begin.
    pub patience: Duration,
}

/// The nominal rate of WaveLAN I (S3.2).
pub const WAVELAN_RATE: Rate = match Rate::from_mbps(2) {
    Some(rate) => rate,
    None => unreachable!(),
};

/// The length of the ACK of a packet, in bytes.
const ACK_LEN: usize = 9;
/// The bytes of an exchange beside the packet: head 5, link header 7, FCS 4, and the ACK.
const OVERHEAD: usize = 16 + ACK_LEN;

impl WavelanTiming {
    //= S3.2
    /// The timing of WaveLAN I with a software MAC (S3.2): at 2 Mb/s a packet of 1500 bytes takes
    /// 15.000 ms with its ACK, which is 0.8 Mb/s.
    ///
    /// The paper gives 2 Mb/s, 0.8 Mb/s and the causes of the difference. The division of the
    /// difference into overhead for each frame and for each byte is our choice. 250 µs cover
    /// preamble, turn-around and interrupt. 5.508 µs for each byte cover the copies over an 8-bit
    /// PCMCIA bus at both ends. A packet of 1500 bytes has 16 bytes of headers and frame check, and
    /// its ACK has 9 bytes: 2 · 0.25 ms + 1525 · (4 + 5.508) µs.
    pub const WAVELAN: Self = Self {
        per_frame: Duration::from_micros(250),
        per_byte: Duration::from_nanos(5_508),
        patience: Duration::from_micros(300),
    };

    /// Returns the time of a packet of `bytes` bytes with its ACK at `rate`, headers included,
    /// without losses.
    #[must_use]
    pub fn exchange(&self, rate: Rate, bytes: usize) -> Duration {
        let bytes = bytes + OVERHEAD;
        self.per_frame * 2 + self.per_byte * bytes as u64 + rate.time_of(bytes)
    }

    /// Returns the time of a poll and its response at `rate`, both without a unit.
    #[must_use]
    pub fn empty_poll(&self, rate: Rate) -> Duration {
        let bytes = 2 * SHORT_LEN;
        self.per_frame * 2 + self.per_byte * bytes as u64 + rate.time_of(bytes)
    }

    /// Returns the timing of units at `rate`, each with its ACK.
    #[must_use]
    pub fn passage(&self, rate: Rate) -> TransitTiming {
        let head = self.per_byte * SHORT_LEN as u64 + rate.time_of(SHORT_LEN);
        let turn = self.time_of(rate, ACK_LEN);
        let rate = Some(rate);
        let per_frame = self.per_frame + head;
        let per_byte = self.per_byte;
        TransitTiming { rate, per_frame, per_byte, turn, ..TransitTiming::default() }
    }

    /// Returns the time of a frame of `bytes` bytes at `rate`.
    #[must_use]
    pub fn time_of(&self, rate: Rate, bytes: usize) -> Duration {
        self.per_frame + self.per_byte * bytes as u64 + rate.time_of(bytes)
    }

    /// Adds the overhead to a frame.
    fn outgoing(&self, frame: Frame) -> Outgoing {
        let overhead = self.per_frame + self.per_byte * frame.len() as u64;
        Outgoing { frame, vector: TxVector { overhead, ..TxVector::default() } }
    }
}

/// Returns the length of an ACK frame in bytes.
fn ack_len(feedback: &Feedback) -> usize {
    let to = Address(0);
    let from = Address(0);
    let ack = Some((to, feedback.clone()));
    let head = Head { kind: Kind::Ack, to, from, unit: false, more: false, ack };
    with_head(&head, None).len()
}

/// Prepends `head` to a unit, or builds a frame that contains only `head`.
fn with_head(head: &Head, unit: Option<Frame>) -> Frame {
    let mut bytes = HeaderBytes::new();
    head.encode(&mut bytes);
    let mut frame = unit.unwrap_or_default();
    // The capacity is always sufficient: a link header is much shorter. Longer headers would be
    // truncated.
    let room = bytes.remaining_capacity();
    bytes.extend(frame.header.iter().copied().take(room));
    frame.header = bytes;
    frame
}

/// Removes the head of a frame.
fn split_head(frame: &mut Frame) -> Result<Head, DropReason> {
    match Head::parse(&frame.header) {
        Ok((head, len)) => {
            frame.header.drain(..len);
            Ok(head)
        }
        Err(HeaderError::Short { .. }) => Err(DropReason::Truncated),
        Err(HeaderError::Check | HeaderError::Kind(_)) => Err(DropReason::LinkHeader),
        Err(HeaderError::Field(_)) => Err(DropReason::Malformed),
    }
}

#[cfg(test)]
mod tests;
