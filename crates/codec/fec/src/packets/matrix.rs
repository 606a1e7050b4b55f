//! Equations over GF(256), solved by elimination.

use super::field;

/// Coefficients of equations, and the sums of the given equations that each row has become.
#[derive(Clone, Debug)]
pub(super) struct Matrix {
    rows: Vec<Row>,
}

/// A sum of the given equations.
#[derive(Clone, Debug)]
pub(super) struct Row {
    /// The coefficient of each unknown.
    pub(super) unknowns: Vec<u8>,
    /// The factor of each given equation in the sum.
    pub(super) factors: Vec<u8>,
}

impl Matrix {
    /// Equations with these coefficients of the unknowns.
    pub(super) fn new(equations: Vec<Vec<u8>>) -> Self {
        let count = equations.len();
        let rows = equations.into_iter().enumerate().map(|(place, unknowns)| {
            let mut factors = vec![0; count];
            factors[place] = 1;
            Row { unknowns, factors }
        });
        Self { rows: rows.collect() }
    }

    /// Brings the rows into reduced echelon form, as far as the first `unknowns` go; returns the
    /// number of rows with a leading unknown, which stand first.
    pub(super) fn reduce(&mut self, unknowns: usize) -> usize {
        let mut rank = 0;
        for column in 0..unknowns {
            let Some(pivot) =
                (rank..self.rows.len()).find(|row| self.rows[*row].unknowns[column] != 0)
            else {
                continue;
            };
            self.rows.swap(rank, pivot);
            let Some(inverse) = field().div(1, self.rows[rank].unknowns[column]) else { continue };
            self.rows[rank].scale(inverse);
            let leading = self.rows[rank].clone();
            for (place, row) in self.rows.iter_mut().enumerate() {
                let factor = row.unknowns[column];
                if place != rank && factor != 0 {
                    row.add(&leading, factor);
                }
            }
            rank += 1;
        }
        rank
    }

    /// Returns the rows.
    pub(super) fn rows(&self) -> &[Row] {
        &self.rows
    }
}

impl Row {
    fn scale(&mut self, factor: u8) {
        let both = self.unknowns.iter_mut().chain(&mut self.factors);
        both.for_each(|value| *value = field().mul(*value, factor));
    }

    fn add(&mut self, other: &Self, factor: u8) {
        let others = other.unknowns.iter().chain(&other.factors);
        for (value, other) in self.unknowns.iter_mut().chain(&mut self.factors).zip(others) {
            *value ^= field().mul(*other, factor);
        }
    }

    /// Returns the only unknown of the row, if it has just one.
    pub(super) fn only_unknown(&self) -> Option<usize> {
        let mut there = self.unknowns.iter().enumerate().filter(|(_, value)| **value != 0);
        let (place, _) = there.next()?;
        there.next().is_none().then_some(place)
    }
}
