//! The bytes that went into a serial line beside those that came out of it.

use serde::Serialize;

/// Bytes that agree behind a place for the two sides to be aligned there again, of [`WINDOW`].
const AGREE: usize = 7;
const WINDOW: usize = 8;
/// The most bytes on either side that a place of damage is taken to have.
const NEAR: usize = 32;
/// The most bytes in a row that are taken to be missing, or inserted.
const FAR: usize = 1 << 16;

/// A comparison of the bytes of the two ends of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ByteComparison {
    /// The bytes that were sent.
    pub sent: usize,
    /// The bytes that were received.
    pub received: usize,
    /// The bytes that arrived as they were sent.
    pub intact: usize,
    /// The bytes that arrived with bit errors.
    pub damaged: usize,
    /// The bit errors in them.
    pub bit_errors: usize,
    /// The bytes that did not arrive.
    pub missing: usize,
    /// The places at which bytes did not arrive.
    pub gaps: usize,
    /// The bytes that were not sent.
    pub inserted: usize,
    /// The most bytes in a row that arrived intact.
    pub longest_intact: usize,
}

impl ByteComparison {
    //= S1.33
    /// Compares the bytes of the two sides. Where they differ they are aligned again at the nearest
    /// place behind which most bytes agree: a byte is taken as damaged where that suffices, and
    /// else as missing or inserted. What cannot be aligned any more is missing, and inserted.
    #[must_use]
    pub fn of(sent: &[u8], received: &[u8]) -> Self {
        let mut found = Self { sent: sent.len(), received: received.len(), ..Self::default() };
        let mut at = 0;
        let mut there = 0;
        let mut run = 0;
        while at < sent.len() || there < received.len() {
            let same = sent[at..].iter().zip(&received[there..]).take_while(|(a, b)| a == b);
            let same = same.count();
            (at, there, run) = (at + same, there + same, run + same);
            found.intact += same;
            found.longest_intact = found.longest_intact.max(run);
            if at == sent.len() && there == received.len() {
                break;
            }
            run = 0;
            let (skipped, read) = place(&sent[at..], &received[there..]);
            found.add(&sent[at..at + skipped], &received[there..there + read]);
            (at, there) = (at + skipped, there + read);
        }
        found
    }

    /// Counts a place of damage: the bytes that were sent there, and those that came.
    fn add(&mut self, sent: &[u8], received: &[u8]) {
        for (one, other) in sent.iter().zip(received) {
            let bits = (one ^ other).count_ones() as usize;
            self.bit_errors += bits;
            self.damaged += usize::from(bits > 0);
            self.intact += usize::from(bits == 0);
        }
        let missing = sent.len().saturating_sub(received.len());
        self.missing += missing;
        self.gaps += usize::from(missing > 0);
        self.inserted += received.len().saturating_sub(sent.len());
    }

    /// Returns the bit error rate of the bytes that arrived in their place.
    #[must_use]
    pub fn bit_error_rate(&self) -> f64 {
        let arrived = 8 * (self.intact + self.damaged);
        if arrived == 0 { 0.0 } else { self.bit_errors as f64 / arrived as f64 }
    }

    /// Returns the comparison in a few lines.
    #[must_use]
    pub fn to_text(&self) -> String {
        let Self { sent, received, intact, damaged, bit_errors, missing, gaps, .. } = *self;
        let inserted = self.inserted;
        let longest = self.longest_intact;
        let rate = self.bit_error_rate();
        format!(
            "{sent} bytes sent, {received} received\n\
             {intact:>9} intact, at most {longest} in a row\n\
             {damaged:>9} damaged, with {bit_errors} bit errors: bit error rate {rate:.2e}\n\
             {missing:>9} missing, in {gaps} places\n\
             {inserted:>9} inserted\n"
        )
    }
}

/// Returns how many bytes of each side belong to a place of damage at their beginning.
fn place(sent: &[u8], received: &[u8]) -> (usize, usize) {
    let agree = |skipped: usize, read: usize| {
        let (Some(one), Some(other)) = (sent.get(skipped..), received.get(read..)) else {
            return false;
        };
        let length = one.len().min(other.len()).min(WINDOW);
        let same = one.iter().zip(other).take(WINDOW).filter(|(a, b)| a == b).count();
        // At the end of either side there is less to go by.
        let needed = if length == WINDOW { AGREE } else { length };
        let is_end = one.is_empty() && other.is_empty();
        is_end || length > 0 && one[0] == other[0] && same >= needed
    };
    for most in 1..=NEAR {
        // A byte with bit errors first: it shifts nothing.
        let pairs = (0..most).rev().flat_map(|less| [(most, less), (less, most)]);
        if let Some(found) = [(most, most)].into_iter().chain(pairs).find(|it| agree(it.0, it.1)) {
            return found;
        }
    }
    let counts = NEAR + 1..=FAR.min(sent.len().max(received.len()));
    let mut far = counts.flat_map(|count| [(count, 0), (0, count)]);
    far.find(|it| agree(it.0, it.1)).unwrap_or((sent.len(), received.len()))
}

#[cfg(test)]
mod tests;
