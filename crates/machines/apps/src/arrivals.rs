//! The numbers of datagrams as they arrive: which are new, late, double, and how many are missing.

/// Numbers behind the highest that are remembered one by one.
const WINDOW: u64 = 1024;
const WORDS: usize = (WINDOW / 64) as usize;

/// The place of an arrival in the order of the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrivalOrder {
    /// The next one, or one further ahead.
    Ahead,
    /// One that others have overtaken.
    Late,
    /// One that has been there already.
    Duplicate,
}

/// Which numbers have arrived, in bounded memory.
#[derive(Clone, Debug, Default)]
pub struct Arrivals {
    /// The number after the highest that arrived.
    next: u64,
    /// Bit *n* mod [`WINDOW`] tells whether *n* arrived, for the last [`WINDOW`] numbers.
    seen: [u64; WORDS],
    distinct: u64,
}

impl Arrivals {
    /// The number after the highest that arrived.
    #[must_use]
    pub const fn next(&self) -> u64 {
        self.next
    }

    /// Returns the number of different ones that arrived.
    #[must_use]
    pub const fn distinct(&self) -> u64 {
        self.distinct
    }

    /// Returns the number of those below the highest one that have not arrived.
    #[must_use]
    pub const fn missing(&self) -> u64 {
        self.next - self.distinct
    }

    /// Takes note of one. What is further back than is remembered counts as late, never as double.
    pub fn note(&mut self, number: u64) -> ArrivalOrder {
        if number >= self.next {
            self.advance(number);
            self.distinct += 1;
            return ArrivalOrder::Ahead;
        }
        if self.next - number <= WINDOW {
            let (word, bit) = place(number);
            if self.seen[word] & bit != 0 {
                return ArrivalOrder::Duplicate;
            }
            self.seen[word] |= bit;
        }
        self.distinct = (self.distinct + 1).min(self.next);
        ArrivalOrder::Late
    }

    /// Moves the window so that `number` is its last, and marks it.
    fn advance(&mut self, number: u64) {
        if number - self.next >= WINDOW {
            self.seen = [0; WORDS];
        } else {
            for skipped in self.next..number {
                let (word, bit) = place(skipped);
                self.seen[word] &= !bit;
            }
        }
        let (word, bit) = place(number);
        self.seen[word] |= bit;
        self.next = number.saturating_add(1);
    }
}

fn place(number: u64) -> (usize, u64) {
    ((number % WINDOW / 64) as usize, 1 << (number % 64))
}

#[cfg(test)]
mod tests;
