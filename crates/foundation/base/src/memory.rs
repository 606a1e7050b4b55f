//! How much memory reading what a user gives may take.

use std::io::{self, Read};

/// The environment variable that sets the limit, as a size such as `1GB`.
pub const MEMORY_VARIABLE: &str = "WINDFALL_MEMORY";

/// Something would take more memory than allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "it takes more than the limit of {} MB of memory: split it, or set {MEMORY_VARIABLE} \
     to more, such as {MEMORY_VARIABLE}={}MB", .limit / 1_000_000, (.limit / 1_000_000).max(1) * 8
)]
pub struct OverBudget {
    /// The limit, in bytes.
    pub limit: usize,
}

impl From<OverBudget> for io::Error {
    fn from(error: OverBudget) -> Self {
        Self::new(io::ErrorKind::FileTooLarge, error)
    }
}

/// The memory that reading what a user gives may take, and how much of it is left.
///
/// Readers take from it what they keep, and give back what they free.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryBudget {
    limit: usize,
    left: usize,
}

impl Default for MemoryBudget {
    /// Returns a budget of 128 MB.
    fn default() -> Self {
        Self::new(128_000_000)
    }
}

impl MemoryBudget {
    /// A budget of `limit` bytes, all of them left.
    #[must_use]
    pub const fn new(limit: usize) -> Self {
        Self { limit, left: limit }
    }

    /// The bytes that are left.
    #[must_use]
    pub const fn left(&self) -> usize {
        self.left
    }

    /// Takes `bytes` bytes.
    ///
    /// # Errors
    /// If fewer are left; then none are taken.
    pub const fn take(&mut self, bytes: usize) -> Result<(), OverBudget> {
        match self.left.checked_sub(bytes) {
            Some(left) => self.left = left,
            None => return Err(OverBudget { limit: self.limit }),
        }
        Ok(())
    }

    /// Gives back `bytes` bytes that were taken.
    pub const fn give_back(&mut self, bytes: usize) {
        self.left = self.left.saturating_add(bytes);
        if self.left > self.limit {
            self.left = self.limit;
        }
    }

    /// Says whether `bytes` bytes could be taken.
    ///
    /// # Errors
    /// If fewer are left.
    pub const fn check(&self, bytes: usize) -> Result<(), OverBudget> {
        if bytes > self.left { Err(OverBudget { limit: self.limit }) } else { Ok(()) }
    }

    /// Reads `input` to its end and takes the bytes that it has, at most one in `part` of those
    /// that are left: the others are for what is made of them.
    ///
    /// # Errors
    /// If it has more, or cannot be read.
    pub fn read(&mut self, input: impl Read, part: usize) -> io::Result<Vec<u8>> {
        let most = self.left / part.max(1);
        let mut bytes = Vec::new();
        input.take(most as u64 + 1).read_to_end(&mut bytes)?;
        if bytes.len() > most {
            return Err(OverBudget { limit: self.limit }.into());
        }
        self.take(bytes.len())?;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endless_input_is_refused_with_the_limit_and_the_variable() {
        let mut budget = MemoryBudget::default();
        let error = budget.read(io::repeat(0), 4).expect_err("it never ends");
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
        let said = error.to_string();
        assert!(said.contains("128 MB") && said.contains("WINDFALL_MEMORY=1024MB"), "{said}");
        assert_eq!(budget, MemoryBudget::default(), "nothing is kept of it");
    }

    #[test]
    fn what_is_kept_is_taken_and_what_is_freed_comes_back() {
        let mut budget = MemoryBudget::new(100);
        assert_eq!(budget.read(&[7; 50][..], 2).expect("it fits").len(), 50);
        assert!(budget.read(&[7; 26][..], 2).is_err(), "half of 50 are left");
        assert_eq!(budget.take(51), Err(OverBudget { limit: 100 }));
        assert_eq!((budget.take(50), budget.left()), (Ok(()), 0));
        assert!(budget.check(1).is_err());
        budget.give_back(60);
        assert_eq!((budget.left(), budget.check(60)), (60, Ok(())));
        budget.give_back(60);
        assert_eq!(budget.left(), 100, "never more than the limit");
    }
}
