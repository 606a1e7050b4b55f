//! Streamer: datagrams whose every bit the receiver knows, and their evaluation.
//!
//! Pure: the faces send and receive. Datagram *n* of a stream with seed *s* is the 32-bit number
//! *s + n* passed through a hash that gives 32 unbiased bits (S0.33). The paper does not say how
//! one word fills a datagram; here word *w* is a hash of the hash of *s + n*, combined with *w*.

use core::ops::Range;
use std::collections::BTreeMap;

/// The parameters that both ends share, sent precisely before the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamPlan {
    /// The counter of the first datagram.
    pub seed: u32,
    /// The number of datagrams.
    pub count: u32,
    /// The length of each, in bytes.
    pub size: u32,
}

impl StreamPlan {
    /// The length of the written plan, in bytes.
    pub const LEN: usize = 12;
    /// The most datagrams of a stream.
    pub const MAX_COUNT: u32 = 100_000_000;
    /// The longest datagram, in bytes.
    pub const MAX_SIZE: u32 = 65_000;

    /// Writes the plan: three numbers in network order.
    #[must_use]
    pub fn to_bytes(self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        for (to, number) in bytes.chunks_mut(4).zip([self.seed, self.count, self.size]) {
            to.copy_from_slice(&number.to_be_bytes());
        }
        bytes
    }

    /// Reads a plan; `None` if it is none that a sender would write.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let bytes: [u8; Self::LEN] = bytes.try_into().ok()?;
        let word = |at: Range<usize>| {
            bytes[at].iter().fold(0_u32, |number, byte| number << 8 | u32::from(*byte))
        };
        let plan = Self { seed: word(0..4), count: word(4..8), size: word(8..12) };
        let is_bounded = (1..=Self::MAX_COUNT).contains(&plan.count)
            && (1..=Self::MAX_SIZE).contains(&plan.size);
        is_bounded.then_some(plan)
    }

    //= S0.33
    /// Datagram `number` of the stream.
    #[must_use]
    pub fn datagram(&self, number: u32) -> Vec<u8> {
        let base = hash(self.seed.wrapping_add(number));
        let words = (0..self.size.div_ceil(4)).map(|word| hash(base ^ word.wrapping_mul(STEP)));
        let mut bytes: Vec<u8> = words.flat_map(u32::to_be_bytes).collect();
        bytes.truncate(self.size as usize);
        bytes
    }
}

/// An odd number whose multiples spread over all words.
const STEP: u32 = 0x9e37_79b9;

/// The finaliser of MurmurHash3: a permutation in which each input bit flips half of the output.
const fn hash(mut word: u32) -> u32 {
    word ^= word >> 16;
    word = word.wrapping_mul(0x85eb_ca6b);
    word ^= word >> 13;
    word = word.wrapping_mul(0xc2b2_ae35);
    word ^ word >> 16
}

/// Bytes that it takes to keep the number of a datagram that arrived.
const ENTRY: usize = 32;

/// The arrivals of a stream, compared with the sent datagrams.
#[derive(Clone, Debug)]
pub struct Comparison {
    plan: StreamPlan,
    /// The inverted bits of each datagram that arrived: the sender does not choose how much memory
    /// those take that never come.
    arrived: BTreeMap<u32, Box<[u32]>>,
    wrong_bits: u64,
    last: Option<u32>,
    reordered: u64,
    repeated: u64,
    foreign: u64,
}

/// The figures of a stream (S0.32, S0.36, S0.58).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figures {
    /// The datagrams that were sent.
    pub sent: u64,
    /// Datagrams that arrived, each counted once.
    pub arrived: u64,
    /// Those of them with bit errors.
    pub damaged: u64,
    /// Datagrams that never arrived.
    pub lost: u64,
    /// Datagrams that arrived after a later one.
    pub reordered: u64,
    /// Datagrams that arrived again.
    pub repeated: u64,
    /// Datagrams that are of no stream like this.
    pub foreign: u64,
    /// The number of bit errors.
    pub wrong_bits: u64,
    /// Bit errors as a share of all bits that arrived.
    pub bit_error_rate: f64,
    /// Bit errors as a share of the bits of damaged datagrams (S0.35).
    pub bit_error_rate_damaged: f64,
    /// Right bits as a share of all that arrived (S0.36).
    pub correct_bits: f64,
    /// Datagrams that did not arrive, as a share: the loss if damage is accepted (S0.37).
    pub loss: f64,
    /// Datagrams that did not arrive whole, as a share: the loss if it is not.
    pub loss_or_damage: f64,
}

impl Comparison {
    /// A comparison with the stream of `plan`.
    #[must_use]
    pub fn new(plan: StreamPlan) -> Self {
        let arrived = BTreeMap::new();
        let wrong_bits = 0;
        Self { plan, arrived, wrong_bits, last: None, reordered: 0, repeated: 0, foreign: 0 }
    }

    //= S0.32
    /// Takes a datagram that arrived as number `number`.
    pub fn take(&mut self, number: u32, data: &[u8]) {
        if self.arrived.contains_key(&number) {
            self.repeated += 1;
            return;
        }
        if number >= self.plan.count || data.len() != self.plan.size as usize {
            self.foreign += 1;
            return;
        }
        self.reordered += u64::from(self.last.is_some_and(|last| number < last));
        self.last = self.last.max(Some(number));
        let mut wrong = Vec::new();
        for (at, (sent, got)) in self.plan.datagram(number).iter().zip(data).enumerate() {
            let difference = sent ^ got;
            let bits = (0..8).filter(|bit| difference & 0x80 >> bit != 0);
            wrong.extend(bits.map(|bit| 8 * at as u32 + bit));
        }
        self.wrong_bits += wrong.len() as u64;
        self.arrived.insert(number, wrong.into());
    }

    /// The inverted bits of each datagram, in the order in which they were sent; `None` if it did
    /// not arrive.
    pub fn fates(&self) -> impl Iterator<Item = Option<&[u32]>> {
        (0..self.plan.count).map(|number| self.arrived.get(&number).map(|bits| &**bits))
    }

    /// About how many bytes of memory the comparison takes.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.arrived.len() * ENTRY + self.wrong_bits as usize * size_of::<u32>()
    }

    /// The figures so far.
    #[must_use]
    pub fn figures(&self) -> Figures {
        let sent = u64::from(self.plan.count);
        let arrived = self.arrived.len() as u64;
        let damaged = self.arrived.values().filter(|bits| !bits.is_empty()).count() as u64;
        let wrong_bits = self.wrong_bits;
        let bits = 8 * u64::from(self.plan.size);
        Figures {
            sent,
            arrived,
            damaged,
            lost: sent - arrived,
            reordered: self.reordered,
            repeated: self.repeated,
            foreign: self.foreign,
            wrong_bits,
            bit_error_rate: share(wrong_bits, arrived * bits),
            bit_error_rate_damaged: share(wrong_bits, damaged * bits),
            correct_bits: share(arrived * bits - wrong_bits, arrived * bits),
            loss: share(sent - arrived, sent),
            loss_or_damage: share(sent - arrived + damaged, sent),
        }
    }
}

/// Returns a part as a share of all, zero of nothing.
fn share(part: u64, all: u64) -> f64 {
    if all == 0 { 0.0 } else { part as f64 / all as f64 }
}

#[cfg(test)]
mod tests;
