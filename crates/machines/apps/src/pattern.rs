//! The contents of test datagrams: every bit follows from a seed and a number.
//!
//! A datagram begins with the low 32 bits of its number and their complement, and goes on with
//! random bytes that start at a place of their own for each number. So a receiver with the seed
//! knows each bit beforehand, sees when the number itself is damaged, and finds it again by the
//! rest.

use arrayvec::ArrayVec;
use bytes::{Bytes, BytesMut};
use windfall_base::{Seed, Stream};

/// Bytes of the number and its complement at the beginning of a datagram.
const NUMBER: usize = 8;
/// Random bytes before they repeat; a power of two.
const PERIOD: usize = 4096;
/// Numbers that are tried when the one in a datagram is damaged.
const TRIED: u64 = 256;
/// Bytes that are compared with each of them at first.
const BEGINNING: usize = 128;

/// The differences between a datagram as sent and as received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wrong {
    /// Bits that differ.
    pub bits: u64,
    /// Bytes with such bits.
    pub bytes: u64,
}

/// The contents of all datagrams of one seed.
#[derive(Clone, Debug)]
pub struct Pattern {
    /// Two periods, so that as much as one of them can be read from anywhere in one piece.
    random: Vec<u8>,
}

impl Pattern {
    /// The pattern of `seed`, the same for every sender and receiver of a run.
    #[must_use]
    pub fn new(seed: Seed) -> Self {
        let mut stream = Stream::new(seed, "apps/pattern");
        let words = (0..PERIOD / 8).flat_map(|_| stream.bits().to_le_bytes());
        let random: Vec<u8> = words.collect();
        Self { random: random.repeat(2) }
    }

    /// The content of datagram `number`, `len` bytes long.
    #[must_use]
    pub fn datagram(&self, number: u64, len: usize) -> Bytes {
        let mut bytes = BytesMut::with_capacity(len);
        self.append(number, len, &mut bytes);
        bytes.freeze()
    }

    /// Puts the content of datagram `number`, `len` bytes long, behind `bytes`.
    pub fn append(&self, number: u64, len: usize, bytes: &mut BytesMut) {
        let end = bytes.len() + len;
        bytes.extend_from_slice(header(number, len).as_slice());
        let from = start(number);
        while bytes.len() < end {
            let more = (end - bytes.len()).min(PERIOD);
            bytes.extend_from_slice(&self.random[from..from + more]);
        }
    }

    /// Compares `data`, received as datagram `number`, with the sent bytes.
    #[must_use]
    pub fn check(&self, number: u64, data: &[u8]) -> Wrong {
        let mut wrong = Wrong::default();
        self.compare(number, data, |here, there| {
            for (a, b) in here.iter().zip(there) {
                wrong.bits += u64::from((a ^ b).count_ones());
                wrong.bytes += u64::from(a != b);
            }
        });
        wrong
    }

    /// The number of a datagram of which `expected` would be the next; `None` if it is none of
    /// these.
    ///
    /// The number that it states counts if the rest agrees, or else that number near the expected
    /// one whose content is the most alike. Random bits differ in half of all places; up to a
    /// quarter passes for damage.
    #[must_use]
    pub fn number_of(&self, expected: u64, data: &[u8]) -> Option<u64> {
        if let Some(stated) = stated(expected, data).filter(|stated| self.is_alike(*stated, data)) {
            return Some(stated);
        }
        // The beginning nearly always tells; a burst that hit just there leaves the whole.
        let beginning = &data[..data.len().min(BEGINNING)];
        self.nearest(expected, beginning).or_else(|| self.nearest(expected, data))
    }

    /// The number near `expected` whose content is most like `data`, if it is alike at all.
    fn nearest(&self, expected: u64, data: &[u8]) -> Option<u64> {
        let near = expected.saturating_sub(TRIED / 4)..expected.saturating_add(TRIED);
        let best = near.min_by_key(|number| self.check(*number, data).bits)?;
        self.is_alike(best, data).then_some(best)
    }

    fn is_alike(&self, number: u64, data: &[u8]) -> bool {
        self.check(number, data).bits <= data.len() as u64 * 2
    }

    /// Gives `differing` each stretch of `data` with what should be there, if the two differ.
    fn compare(&self, number: u64, data: &[u8], mut differing: impl FnMut(&[u8], &[u8])) {
        let (stated, random) = data.split_at(data.len().min(NUMBER));
        let expected = header(number, data.len());
        if stated != expected.as_slice() {
            differing(stated, expected.as_slice());
        }
        let from = start(number);
        for stretch in random.chunks(PERIOD) {
            let expected = &self.random[from..from + stretch.len()];
            if stretch != expected {
                differing(stretch, expected);
            }
        }
    }
}

/// Returns the place in the random bytes at which a datagram begins: far apart for close numbers.
fn start(number: u64) -> usize {
    (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 52) as usize
}

/// The beginning of a datagram of `len` bytes; a short one states as much of its number as fits.
fn header(number: u64, len: usize) -> ArrayVec<u8, NUMBER> {
    if len < NUMBER {
        return number.to_be_bytes()[NUMBER - len..].iter().copied().collect();
    }
    let low = number as u32;
    (u64::from(low) << 32 | u64::from(!low)).to_be_bytes().into()
}

/// The number nearest to `expected` of which `data` state the end; `None` if they contradict
/// themselves.
fn stated(expected: u64, data: &[u8]) -> Option<u64> {
    let (low, bits) = match data.get(..NUMBER) {
        Some(both) => {
            let low = big_endian(&both[..4]);
            let complement = big_endian(&both[4..]);
            (low ^ complement == 0xffff_ffff).then_some((low, 32))?
        }
        None => (big_endian(data), 8 * data.len() as u32),
    };
    let span = 1_u64 << bits;
    let ahead = low.wrapping_sub(expected) & (span - 1);
    let behind = span - ahead;
    // Ahead rather than behind if both are as near, or if there is nothing so far behind.
    let number = if ahead <= behind || behind > expected {
        expected.wrapping_add(ahead)
    } else {
        expected - behind
    };
    Some(number)
}

/// Returns the number that bytes in network order form.
fn big_endian(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0_u64, |word, byte| word << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests;
