//! The outcomes of the latest transmissions, from which ACKs are built.

use windfall_base::seq::Seq32;
use windfall_wire_link::pipe::{ACK_MAX_COUNT, Bitmap, KEPT_MAX_COUNT};

/// The number of transmissions that are remembered; a power of two.
const REMEMBERED: usize = 4_096;
/// A transmission number this far ahead of the newest one is invalid.
const FARTHEST: i32 = 1 << 28;

/// The outcomes of the latest transmissions, and the end of the part that was reported.
#[derive(Debug)]
pub(crate) struct History {
    /// The number after the newest transmission received.
    end: Seq32,
    /// Bit `n % REMEMBERED` is set if transmission `n` arrived undamaged.
    arrived: Box<[u64; REMEMBERED / 64]>,
    /// The transmissions that arrived damaged and are kept, at the same bits; `None` if they are
    /// not reported.
    kept: Option<Box<[u64; REMEMBERED / 64]>>,
    /// The ends of the last reports, oldest first. Each report covers the range of the two reports
    /// before it, so the loss of two consecutive ACKs does no harm.
    reported: [Seq32; 3],
}

impl History {
    /// Creates an empty history. If `tells_kept` is set, reports list packets that are kept
    /// damaged.
    pub(crate) fn new(tells_kept: bool) -> Self {
        let none = || Box::new([0; REMEMBERED / 64]);
        let kept = tells_kept.then(none);
        Self { end: Seq32(0), arrived: none(), kept, reported: [Seq32(0); 3] }
    }

    /// Records that transmission `order` was received, so all earlier ones have arrived or are
    /// lost. Returns `false` if the number is invalid.
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

    /// Records that transmission `order` arrived undamaged. If it was reported missing before, the
    /// next report covers it again.
    pub(crate) fn arrive(&mut self, order: Seq32) {
        if (1..=REMEMBERED as i32).contains(&self.end.distance_from(order)) {
            self.set(order, true);
            if order.is_before(self.reported[0]) {
                self.reported[0] = order;
            }
        }
    }

    /// Records that transmission `order` arrived damaged and is kept.
    pub(crate) fn keep(&mut self, order: Seq32) {
        let is_remembered = (1..=REMEMBERED as i32).contains(&self.end.distance_from(order));
        if let Some(kept) = self.kept.as_mut().filter(|_| is_remembered) {
            let (word, bit) = place(order);
            kept[word] |= bit;
        }
    }

    /// Returns the next report: its first transmission, the outcomes, the kept transmissions if
    /// they are reported, and `true` if more remains to be reported.
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
