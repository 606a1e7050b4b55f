//! Flows in the order of their levels, at a cost that does not grow with their number.
//!
//! A monotone radix queue: levels are whole ticks, and none that is put in lies below the one that
//! was looked at last, the *floor*. A flow waits in the bucket of the highest digit (of six bits)
//! in which its level differs from the floor. When that digit's turn comes, its bucket is spread
//! over the digits below. So a flow is moved at most once for each digit of the distance by which
//! its level rose, however many others there are. A bit for each bucket tells which are in use.
//! Flows of equal levels stay in the order in which they came.

/// Bits of a digit: as many buckets as a word has bits.
const DIGIT: u32 = 6;
const BUCKETS: usize = 1 << DIGIT;
const DIGITS: usize = u64::BITS.div_ceil(DIGIT) as usize;
/// Stands for no flow.
const NONE: u32 = u32::MAX;

/// The position of a flow: its level, its neighbours in a bucket, and the bucket.
#[derive(Clone, Copy, Debug)]
struct Place {
    level: u64,
    before: u32,
    behind: u32,
    bucket: u32,
}

/// First and last flow of a bucket.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    first: u32,
    last: u32,
}

/// Flows by level, lowest first.
///
/// Commands: `insert`, `remove`, `first`; their cost depends on how far levels rise, not on how
/// many flows there are. What is put in must not lie below both the bound and the lowest level at
/// the last look.
#[derive(Clone, Debug)]
pub(crate) struct Levels {
    floor: u64,
    /// Which buckets of each digit are in use.
    used: [u64; DIGITS],
    /// Bucket `b` of digit `d` at `d * BUCKETS + b`.
    buckets: Vec<Bucket>,
    places: Vec<Place>,
}

impl Levels {
    pub(crate) fn new() -> Self {
        let empty = Bucket { first: NONE, last: NONE };
        Self {
            floor: 0,
            used: [0; DIGITS],
            buckets: vec![empty; DIGITS * BUCKETS],
            places: Vec::new(),
        }
    }

    /// Puts a flow in that is not there; a level below the floor counts as the floor.
    pub(crate) fn insert(&mut self, flow: usize, level: u64) {
        if self.places.len() <= flow {
            let none = Place { level: 0, before: NONE, behind: NONE, bucket: NONE };
            self.places.resize(flow + 1, none);
        }
        self.places[flow].level = level.max(self.floor);
        self.append(flow as u32);
    }

    /// Takes a flow out, if it is there.
    pub(crate) fn remove(&mut self, flow: usize) {
        let Some(place) = self.places.get_mut(flow) else { return };
        let Place { before, behind, bucket, .. } = *place;
        if bucket == NONE {
            return;
        }
        place.bucket = NONE;
        let list = &mut self.buckets[bucket as usize];
        match before {
            NONE => list.first = behind,
            before => self.places[before as usize].behind = behind,
        }
        match behind {
            NONE => list.last = before,
            behind => self.places[behind as usize].before = before,
        }
        if list.first == NONE {
            self.used[bucket as usize / BUCKETS] &= !(1 << (bucket as usize % BUCKETS));
        }
    }

    /// The flow of the lowest level, if that is at most `bound`.
    pub(crate) fn first(&mut self, bound: u64) -> Option<usize> {
        loop {
            let (digit, bucket) = self.lowest()?;
            let start = self.start(digit, bucket);
            if start > bound {
                return None;
            }
            if digit == 0 {
                return Some(self.buckets[bucket].first as usize);
            }
            self.spread(digit, bucket, start);
        }
    }

    /// A flow whose level is among the lowest, whatever it is: one of the first bucket in use.
    pub(crate) fn near(&self) -> Option<usize> {
        let (digit, bucket) = self.lowest()?;
        Some(self.buckets[digit * BUCKETS + bucket].first as usize)
    }

    /// The lowest bucket in use, by its digit and number.
    fn lowest(&self) -> Option<(usize, usize)> {
        let digit = self.used.iter().position(|used| *used != 0)?;
        Some((digit, self.used[digit].trailing_zeros() as usize))
    }

    /// The least level that a bucket can hold: the floor with this digit, followed by zeros.
    fn start(&self, digit: usize, bucket: usize) -> u64 {
        let low = digit as u32 * DIGIT;
        let above = self.floor.checked_shr(low + DIGIT).unwrap_or(0);
        ((above << DIGIT) | bucket as u64) << low
    }

    /// Raises the floor to the start of a bucket and spreads its flows over the digits below.
    fn spread(&mut self, digit: usize, bucket: usize, start: u64) {
        self.floor = start;
        self.used[digit] &= !(1 << bucket);
        let list = &mut self.buckets[digit * BUCKETS + bucket];
        let mut flow = core::mem::replace(list, Bucket { first: NONE, last: NONE }).first;
        while flow != NONE {
            let behind = self.places[flow as usize].behind;
            self.append(flow);
            flow = behind;
        }
    }

    /// Puts a flow at the end of the bucket that its level belongs to.
    fn append(&mut self, flow: u32) {
        let level = self.places[flow as usize].level;
        let differing = (level ^ self.floor) | 1;
        let digit = (differing.ilog2() / DIGIT) as usize;
        let number = (level >> (digit as u32 * DIGIT)) as usize % BUCKETS;
        self.used[digit] |= 1 << number;
        let bucket = digit * BUCKETS + number;
        let list = &mut self.buckets[bucket];
        let before = core::mem::replace(&mut list.last, flow);
        match before {
            NONE => list.first = flow,
            before => self.places[before as usize].behind = flow,
        }
        self.places[flow as usize] = Place { level, before, behind: NONE, bucket: bucket as u32 };
    }
}

#[cfg(test)]
mod tests;
