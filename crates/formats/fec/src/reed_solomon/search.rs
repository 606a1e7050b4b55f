//! The error locator of a sequence of syndromes.
//!
//! The algorithm of Berlekamp and Massey in the inversionless form of Sarwate and Shanbhag (2001).
//! One row of lanes holds the product of the syndromes with the locator so far, whose lowest term
//! is the discrepancy, and far enough behind it the locator itself. At each step the whole row
//! shifts down by one place, so that the next discrepancy stands in lane 0, and one multiplication
//! by a scalar updates product and locator alike. Rows stay in registers as far as there are any.

use crate::field::Field;
use crate::lanes::{LANES, Lanes, window, window_mut};

/// Room for the longest row: as many erasures as the most parity.
pub(super) const ROW: usize = 16 * LANES;

/// A row, before the first step or after the last.
pub(super) struct Search {
    /// The product of the syndromes with the locator of the erasures, without the terms that are
    /// below their number, and from `locator` on that locator.
    pub(super) row: [u8; ROW],
    /// The place at which the locator begins: beyond all that the product can reach.
    pub(super) locator: usize,
    /// The degree of the locator: the number of erasures.
    pub(super) erased: usize,
    /// Syndromes left to explain: the steps to take.
    pub(super) terms: usize,
}

/// The result of the search.
pub(super) struct Found<'a> {
    /// The locator of errors and erasures, up to a factor, without the zeros above it.
    pub(super) locator: &'a [u8],
    /// The terms of its product with the syndromes that lie beyond the syndromes, up to the same
    /// factor: as many as the locator's degree.
    pub(super) evaluator: &'a [u8],
    /// The degree of the locator.
    pub(super) degree: usize,
}

impl Search {
    /// `None` if no locator with at most half as many errors as syndromes explains them all.
    #[inline(always)]
    pub(super) fn run<L: Lanes>(&mut self, field: &Field) -> Option<Found<'_>> {
        match (self.locator + self.erased + 1).div_ceil(LANES) {
            1 => self.run_in::<L, 1>(field),
            2 => self.run_in::<L, 2>(field),
            3 | 4 => self.run_in::<L, 4>(field),
            5 | 6 => self.run_in::<L, 6>(field),
            _ => self.run_in::<L, 16>(field),
        }
    }

    /// The search in rows of `S` sets of lanes.
    #[inline(always)]
    fn run_in<L: Lanes, const S: usize>(&mut self, field: &Field) -> Option<Found<'_>> {
        let zero = L::load(&[0; LANES]);
        // Loops, since a closure would not be compiled for the instructions of its caller.
        let mut row = [zero; S];
        for (i, lanes) in row.iter_mut().enumerate() {
            *lanes = L::load(window(&self.row, i * LANES));
        }
        let mut old = row;
        let mut gamma = L::factor(field, 1);
        let mut errors = 0;
        let mut steps = 0;
        while steps < self.terms {
            let discrepancy = row[0].first();
            if discrepancy == 0 && leading_zeros(&row) >= self.terms - steps {
                break;
            }
            let mut shifted = [zero; S];
            for i in 0..S {
                shifted[i] = row[i].shift(if i + 1 < S { row[i + 1] } else { zero });
            }
            if discrepancy == 0 {
                row = shifted;
            } else {
                let delta = L::factor(field, discrepancy);
                for i in 0..S {
                    row[i] = shifted[i].times(gamma).xor(old[i].times(delta));
                }
                if 2 * errors <= steps {
                    (old, gamma) = (shifted, delta);
                    errors = steps + 1 - errors;
                    if 2 * errors > self.terms {
                        return None;
                    }
                }
            }
            steps += 1;
        }
        for (i, lanes) in row.iter().enumerate() {
            lanes.store(window_mut(&mut self.row, i * LANES));
        }
        let degree = errors + self.erased;
        let locator = &self.row[self.locator - steps..][..=degree];
        let evaluator = &self.row[self.terms - steps..][..degree];
        (locator[degree] != 0).then_some(Found { locator, evaluator, degree })
    }
}

/// Counts the zeros with which the row begins.
#[inline(always)]
fn leading_zeros<L: Lanes>(row: &[L]) -> usize {
    let mut count = 0;
    for lanes in row {
        let zeros = lanes.zeros().trailing_ones() as usize;
        count += zeros;
        if zeros < LANES {
            break;
        }
    }
    count
}
