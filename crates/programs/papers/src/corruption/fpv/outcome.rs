//! The outcome for the video, and its delays.

use windfall_base::Instant;

use super::air::{AIR_TIME, BYTES, INTERVAL};

/// The sums over a stream.
#[derive(Clone, Debug, Default)]
pub(super) struct Outcome {
    pub(super) packets: u64,
    /// Bytes of video passed up right, also in packets that are marked as damaged.
    pub(super) right: u64,
    /// Bytes passed up wrong in packets that nothing marks.
    pub(super) wrong: u64,
    pub(super) code_words: u64,
    pub(super) decoded: u64,
    pub(super) blocks: u64,
    /// Blocks that were decoded to something else than was sent, unnoticed.
    pub(super) poisoned: u64,
    /// From the time at which a packet was there to the one at which it was passed up, in ms.
    pub(super) delays: Vec<f64>,
}

impl Outcome {
    /// Counts a block that is one code word.
    pub(super) fn decoded(&mut self, is_decoded: bool, is_poisoned: bool) {
        self.code_words += 1;
        self.blocks += 1;
        self.decoded += u64::from(is_decoded);
        self.poisoned += u64::from(is_poisoned);
    }

    /// Counts a packet, by its place in the block: what of it is right, and wrong and not marked.
    pub(super) fn packet(
        &mut self,
        clock: &mut Clock,
        place: usize,
        ready: Instant,
        right: usize,
        wrong: usize,
    ) {
        let made = clock.made(place);
        // Packets keep their order: one that comes early waits for those before it.
        clock.released = clock.released.max(ready);
        self.packets += 1;
        self.right += right as u64;
        self.wrong += wrong as u64;
        if right > 0 {
            self.delays.push(1e3 * clock.released.saturating_since(made).as_secs_f64());
        }
    }

    /// Returns the share of the bytes of video that were passed up right.
    pub(super) fn usable(&self) -> f64 {
        self.right as f64 / (self.packets.max(1) * BYTES as u64) as f64
    }

    pub(super) fn unmarked(&self) -> f64 {
        self.wrong as f64 / (self.packets.max(1) * BYTES as u64) as f64
    }

    pub(super) fn decoded_share(&self) -> f64 {
        self.decoded as f64 / self.code_words.max(1) as f64
    }

    pub(super) fn poisoned_share(&self) -> f64 {
        self.poisoned as f64 / self.blocks.max(1) as f64
    }

    /// Returns the delay below which a share of the packets lies that were passed up.
    pub(super) fn delay(&self, share: f64) -> f64 {
        let mut sorted = self.delays.clone();
        sorted.sort_by(f64::total_cmp);
        let place = (share * sorted.len() as f64).ceil() as usize;
        sorted.get(place.max(1) - 1).copied().unwrap_or(f64::INFINITY)
    }
}

/// The times of a block: its packets as they are made, and its repairs behind the last.
#[derive(Clone, Debug)]
pub(super) struct Clock {
    /// The packets before the block.
    before: u64,
    of_block: u64,
    /// The time at which the last packet was passed up.
    released: Instant,
}

impl Default for Clock {
    fn default() -> Self {
        Self { before: 0, of_block: 0, released: Instant::START }
    }
}

impl Clock {
    /// Begins a block, and returns the time at which its last repair is there.
    pub(super) fn block(&mut self, packets: usize, frames: usize) -> Instant {
        self.before += core::mem::replace(&mut self.of_block, packets as u64);
        let repairs = AIR_TIME.saturating_mul((frames - packets) as u64);
        self.arrival(packets - 1) + repairs
    }

    /// Returns the time at which a packet of the block was made.
    fn made(&self, place: usize) -> Instant {
        let number = self.before + place as u64;
        Instant::START + INTERVAL.saturating_mul(number)
    }

    /// Returns the time at which a packet of the block arrives.
    pub(super) fn arrival(&self, place: usize) -> Instant {
        self.made(place) + AIR_TIME
    }
}
