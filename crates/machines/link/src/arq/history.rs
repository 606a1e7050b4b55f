//! Which of the latest transmissions arrived undamaged.

use windfall_base::seq::Seq32;
use windfall_wire_link::pipe::{ACK_MAX_COUNT, Bitmap, KEPT_MAX_COUNT};

/// Transmissions that are remembered; a power of two.
const REMEMBERED: usize = 4_096;
/// A transmission this far ahead of the newest is no transmission of our peer.
const FARTHEST: i32 = 1 << 28;

/// The fate of the latest transmissions, and the part of it that was reported.
#[derive(Debug)]
pub(crate) struct History {
    /// The transmission after the newest one received.
    end: Seq32,
    /// The fate of transmission `n` is bit `n % REMEMBERED`.
    arrived: Box<[u64; REMEMBERED / 64]>,
    /// The transmissions that arrived damaged and are kept, at the same bits, if reports name them.
    kept: Option<Box<[u64; REMEMBERED / 64]>>,
    /// Ends of the last reports, oldest first: each report reaches back over two others, so that
    /// two ACKs in a row may be lost without harm.
    reported: [Seq32; 3],
}

impl History {
    /// An empty history; `tells_kept` is whether reports list packets that are kept damaged.
    pub(crate) fn new(tells_kept: bool) -> Self {
        let none = || Box::new([0; REMEMBERED / 64]);
        let kept = tells_kept.then(none);
        Self { end: Seq32(0), arrived: none(), kept, reported: [Seq32(0); 3] }
    }

    /// Notes that transmission `order` was heard, so that all before it have arrived or never will.
    /// Whether the number makes sense.
    pub(crate) fn hear(&mut self, order: Seq32) -> bool {
        let ahead = order.next().distance_from(self.end);
        if ahead > FARTHEST {
            return false;
        }
        // Skipped transmissions count as lost.
        for n in 0..(ahead.max(0) as usize).min(REMEMBERED) {
            self.set(order + (n as u32).wrapping_neg(), false);
        }
        if ahead > 0 {
            self.end = order.next();
        }
        true
    }

    /// Notes that transmission `order` arrived undamaged. If it was reported missing, the next
    /// report reaches back to it.
    pub(crate) fn arrive(&mut self, order: Seq32) {
        if (1..=REMEMBERED as i32).contains(&self.end.distance_from(order)) {
            self.set(order, true);
            if order.is_before(self.reported[0]) {
                self.reported[0] = order;
            }
        }
    }

    /// Notes that transmission `order` came damaged and is kept.
    pub(crate) fn keep(&mut self, order: Seq32) {
        let is_remembered = (1..=REMEMBERED as i32).contains(&self.end.distance_from(order));
        if let Some(kept) = self.kept.as_mut().filter(|_| is_remembered) {
            let (word, bit) = place(order);
            kept[word] |= bit;
        }
    }

    /// The next report: its first transmission, the fates, and those that are kept, if it tells of
    /// them. Whether more remains to be reported.
    pub(crate) fn report(&mut self) -> (Seq32, Bitmap, Option<Bitmap>, bool) {
        let most = if self.kept.is_some() { KEPT_MAX_COUNT } else { ACK_MAX_COUNT };
        let unreported = self.end.distance_from(self.reported[2]).max(0) as usize;
        let (first, count) = if unreported >= most {
            let lost = unreported.saturating_sub(REMEMBERED) as u32;
            (self.reported[2] + lost, most)
        } else {
            let back = (self.end.distance_from(self.reported[0]).max(0) as usize).min(most);
            (self.end + (back as u32).wrapping_neg(), back)
        };
        let told = |bits: &[u64; REMEMBERED / 64]| {
            let mut told = Bitmap::default();
            for n in 0..count {
                let (word, bit) = place(first + n as u32);
                told.push(bits[word] & bit != 0);
            }
            told
        };
        let fates = told(&self.arrived);
        let kept = self.kept.as_deref().map(told);
        let end = first + count as u32;
        self.reported = [self.reported[1], self.reported[2], end];
        (first, fates, kept, end != self.end)
    }

    fn set(&mut self, order: Seq32, arrived: bool) {
        let (word, bit) = place(order);
        self.arrived[word] = self.arrived[word] & !bit | if arrived { bit } else { 0 };
        if let Some(kept) = &mut self.kept {
            kept[word] &= !bit;
        }
    }
}

const fn place(order: Seq32) -> (usize, u64) {
    let at = order.0 as usize % REMEMBERED;
    (at / 64, 1 << (at % 64))
}

#[cfg(test)]
mod tests;
