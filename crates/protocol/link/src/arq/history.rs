//! Which of the latest transmissions arrived undamaged.

use windfall_base::seq::Seq32;
use windfall_wire_link::pipe::{ACK_MAX_COUNT, Bitmap};

/// Transmissions that are remembered; a power of two.
const REMEMBERED: usize = 4_096;
/// A transmission this far ahead of the newest is no transmission of our peer.
const FARTHEST: i32 = 1 << 28;

/// The fate of the latest transmissions, and what of it has been reported.
#[derive(Debug)]
pub(crate) struct History {
    /// The transmission after the newest that was heard of.
    end: Seq32,
    /// The fate of transmission `n` is bit `n % REMEMBERED`.
    arrived: Box<[u64; REMEMBERED / 64]>,
    /// Ends of the last reports, oldest first: each report reaches back over two others, so that
    /// two ACKs in a row may be lost without harm.
    reported: [Seq32; 3],
}

impl History {
    pub(crate) fn new() -> Self {
        Self { end: Seq32(0), arrived: Box::new([0; REMEMBERED / 64]), reported: [Seq32(0); 3] }
    }

    /// Notes that transmission `order` was heard, so that all before it have arrived or never will.
    /// Whether the number makes sense.
    pub(crate) fn hear(&mut self, order: Seq32) -> bool {
        let ahead = order.next().distance_from(self.end);
        if ahead > FARTHEST {
            return false;
        }
        // What was skipped counts as lost.
        for n in 0..(ahead.max(0) as usize).min(REMEMBERED) {
            self.set(order + (n as u32).wrapping_neg(), false);
        }
        if ahead > 0 {
            self.end = order.next();
        }
        true
    }

    /// Notes that transmission `order` arrived undamaged.
    pub(crate) fn arrive(&mut self, order: Seq32) {
        if (1..=REMEMBERED as i32).contains(&self.end.distance_from(order)) {
            self.set(order, true);
        }
    }

    /// The next report: its first transmission and the fates. Whether more remains to be reported.
    pub(crate) fn report(&mut self) -> (Seq32, Bitmap, bool) {
        let unreported = self.end.distance_from(self.reported[2]).max(0) as usize;
        let (first, count) = if unreported >= ACK_MAX_COUNT {
            let lost = unreported.saturating_sub(REMEMBERED) as u32;
            (self.reported[2] + lost, ACK_MAX_COUNT)
        } else {
            let back =
                (self.end.distance_from(self.reported[0]).max(0) as usize).min(ACK_MAX_COUNT);
            (self.end + (back as u32).wrapping_neg(), back)
        };
        let mut fates = Bitmap::default();
        for n in 0..count {
            fates.push(self.get(first + n as u32));
        }
        let end = first + count as u32;
        self.reported = [self.reported[1], self.reported[2], end];
        (first, fates, end != self.end)
    }

    fn set(&mut self, order: Seq32, arrived: bool) {
        let (word, bit) = place(order);
        self.arrived[word] = self.arrived[word] & !bit | if arrived { bit } else { 0 };
    }

    fn get(&self, order: Seq32) -> bool {
        let (word, bit) = place(order);
        self.arrived[word] & bit != 0
    }
}

const fn place(order: Seq32) -> (usize, u64) {
    let at = order.0 as usize % REMEMBERED;
    (at / 64, 1 << (at % 64))
}

#[cfg(test)]
mod tests;
