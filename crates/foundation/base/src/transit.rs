//! What a sender knows of the way that its frames take.

use crate::time::{Duration, Instant};
use crate::units::Rate;

/// The time that frames take from the beginning of their transmission to their arrival, as far as
/// their sender can know it: not what slots or other senders add.
///
/// A packet that could not arrive within its lifetime is not sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransitTiming {
    /// The rate at which bits leave; `None` if they leave at once, or at a rate that varies.
    pub rate: Option<Rate>,
    /// The time that each frame takes beside its bits.
    pub per_frame: Duration,
    /// The time that each byte of it takes beside its bits.
    pub per_byte: Duration,
    /// The bytes that a packet takes on the line beside its own; `None`: those of its frame.
    pub overhead: Option<u32>,
    /// Payload and header of the cells into which the line cuts what it carries, in bytes.
    pub cell: Option<[u16; 2]>,
    /// The time from the end of a frame to the beginning of the next of the same packet.
    pub turn: Duration,
    /// The time from the last bit of a frame at its sender to the same at its receiver, which
    /// hardly any frame exceeds.
    pub delay: Duration,
    /// The slots in which frames leave the line, if there are any. No packet is given up for what
    /// they add, but repairs make way for packets that would be late for them.
    pub slots: Option<SlotTiming>,
}

/// The time that slots may add to that of frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlotTiming {
    /// The time for which a frame waits for a slot, which hardly any exceeds.
    pub wait: Duration,
    /// The share of a slot's time that each frame takes, where a slot has room for a few.
    pub per_frame: Duration,
    /// The share of a slot's time that each byte takes.
    pub per_byte: Duration,
}

impl SlotTiming {
    /// The time of the slots that a frame of `bytes` bytes takes from others.
    #[must_use]
    pub fn share(&self, bytes: usize) -> Duration {
        self.per_frame.max(self.per_byte.saturating_mul(bytes as u64))
    }
}

/// The frames that carry a packet, or what is left of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FramesOfPacket {
    /// The number of the frames.
    pub count: usize,
    /// Bytes of the frames without headers and trailers.
    pub contents: usize,
    /// All bytes of the frames.
    pub bytes: usize,
}

impl FramesOfPacket {
    /// Nothing: only the delay is left.
    pub const NONE: Self = Self { count: 0, contents: 0, bytes: 0 };

    /// One frame that carries `packet` bytes and has `bytes` in all.
    #[must_use]
    pub const fn one(packet: usize, bytes: usize) -> Self {
        Self { count: 1, contents: packet, bytes }
    }
}

impl TransitTiming {
    /// The time until the last of some frames has arrived, if all do.
    #[must_use]
    pub fn time(&self, frames: FramesOfPacket) -> Duration {
        let FramesOfPacket { count, contents, bytes } = frames;
        let charged = self.overhead.map_or(bytes, |each| contents + count * each as usize);
        let charged = match self.cell {
            Some([payload, header]) if payload > 0 => {
                let payload = usize::from(payload);
                let header = usize::from(header);
                charged.div_ceil(payload) * (payload + header)
            }
            _ => charged,
        };
        let bits = self.rate.map_or(Duration::ZERO, |rate| rate.time_of(charged));
        let copied = self.per_byte.saturating_mul(bytes as u64);
        let each = self.per_frame.saturating_mul(count as u64);
        let turns = self.turn.saturating_mul(count.saturating_sub(1) as u64);
        [copied, each, turns, self.delay].into_iter().fold(bits, Duration::saturating_add)
    }

    /// The latest moment at which some frames can begin whose packet `expires` then; the start of
    /// all time if there is none.
    #[must_use]
    pub fn latest_start(&self, expires: Instant, frames: FramesOfPacket) -> Instant {
        let time = self.time(frames).as_nanos();
        Instant::from_nanos(expires.as_nanos().saturating_sub(time))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_is_that_of_the_bytes_on_the_line_and_the_delay() {
        let delay = Duration::from_millis(3);
        let passage = TransitTiming { rate: Rate::from_mbps(8), delay, ..TransitTiming::default() };
        let frame = FramesOfPacket::one(1_000, 1_009);
        let micros = |passage: TransitTiming| passage.time(frame).as_micros();
        assert_eq!(micros(passage), 1_009 + 3_000);
        assert_eq!(micros(TransitTiming { overhead: Some(38), ..passage }), 1_038 + 3_000);
        // 22 cells of 53 bytes.
        assert_eq!(micros(TransitTiming { cell: Some([48, 5]), ..passage }), 22 * 53 + 3_000);
        assert_eq!(micros(TransitTiming { rate: None, ..passage }), 3_000);
        let at = Instant::from_nanos(5_000_000);
        assert_eq!(passage.latest_start(at, frame), Instant::from_nanos(991_000));
        assert_eq!(passage.latest_start(Instant::START, frame), Instant::START);
    }

    #[test]
    fn several_frames_have_their_overheads_and_the_turns_between_them() {
        let micros = Duration::from_micros;
        let radio = TransitTiming {
            rate: Rate::from_mbps(8),
            per_frame: micros(250),
            per_byte: micros(2),
            turn: micros(400),
            ..TransitTiming::default()
        };
        let frames = FramesOfPacket { count: 3, contents: 1_000, bytes: 1_060 };
        assert_eq!(radio.time(frames), micros(3 * 250 + 3 * 1_060 + 2 * 400));
        let wire = TransitTiming { overhead: Some(10), ..radio };
        assert_eq!(wire.time(frames), micros(3 * 250 + 2 * 1_060 + 1_030 + 2 * 400));
    }
}
