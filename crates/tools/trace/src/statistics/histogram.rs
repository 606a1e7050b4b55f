//! Lengths in classes that double.

use core::fmt::Write as _;

use serde::Serialize;

/// Counts of lengths, in classes 0, 1, 2–3, 4–7 and so on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Histogram {
    /// The number of lengths.
    pub count: u64,
    /// The sum of the lengths.
    pub sum: u64,
    /// The greatest length.
    pub longest: u64,
    /// The classes that occur, ascending.
    pub classes: Vec<LengthClass>,
}

/// A class of lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LengthClass {
    /// The least length.
    pub from: u64,
    /// The greatest length.
    pub to: u64,
    /// The number of lengths in the class.
    pub count: u64,
}

impl Histogram {
    /// Adds one length.
    pub fn add(&mut self, length: u64) {
        self.count += 1;
        self.sum = self.sum.saturating_add(length);
        self.longest = self.longest.max(length);
        let from = if length == 0 { 0 } else { 1 << length.ilog2() };
        match self.classes.binary_search_by_key(&from, |class| class.from) {
            Ok(i) => self.classes[i].count += 1,
            Err(i) => {
                let to = if from == 0 { 0 } else { from + (from - 1) };
                self.classes.insert(i, LengthClass { from, to, count: 1 });
            }
        }
    }

    /// The mean length; 0 if there is none.
    #[must_use]
    pub fn mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum as f64 / self.count as f64 }
    }

    /// Writes it as lines of text, with a bar for each class.
    pub(super) fn write(&self, text: &mut String, name: &str, unit: &str) {
        if self.count == 0 {
            return;
        }
        let count = if self.count == 1 { "once".into() } else { format!("{} times", self.count) };
        let _ = writeln!(
            text,
            "{name}: {count}, {:.2} {unit} on average, {} at most",
            self.mean(),
            self.longest
        );
        let most = self.classes.iter().map(|class| class.count).max().unwrap_or(1);
        for LengthClass { from, to, count } in &self.classes {
            let bar = "#".repeat((*count as f64 / most as f64 * 40.0).ceil() as usize);
            let range = if from == to { from.to_string() } else { format!("{from}-{to}") };
            let _ = writeln!(text, "  {range:>15} {count:>10} {bar}");
        }
    }
}
