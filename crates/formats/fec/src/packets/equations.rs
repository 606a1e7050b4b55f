//! What the repairs tell of the packets that are not right: equations over GF(256), kept reduced.

use super::{add_products, field};
use crate::lanes::{Instructions, LANES};

/// Damaged repairs that are kept; the oldest gives way.
const DAMAGED_REPAIRS: usize = 128;
/// Equations at most by which damaged packets are examined: three say which two bytes of a column
/// are wrong, and the others confirm it.
const EXAMINED: usize = 32;

/// Independent equations in reduced form.
///
/// Each has a *pivot*, a column that no other has. So one that determines a packet has no other
/// column, and what is to be determined is seen without any elimination. The pivot is a missing
/// packet wherever the equation has one; the others are all that is known of damaged packets
/// alone. A packet that leaves takes one equation along, and no knowledge of any other packet.
#[derive(Clone, Debug)]
pub(super) struct Equations {
    pub(super) instructions: Instructions,
    /// The columns of packets that have not come.
    is_missing: Vec<bool>,
    /// The column of the next damaged repair, among those of damaged repairs.
    next_error: usize,
    equations: Vec<Equation>,
    /// Something changed since [`is_changed`](Self::is_changed) was asked.
    is_changed: bool,
}

#[derive(Clone, Debug)]
struct Equation {
    /// The coefficients of all columns, and behind them the sum of the packets: what is done to
    /// one is done to both. The columns are those of the packets, then those of what is wrong with
    /// each damaged repair, which is one unknown more.
    terms: Vec<u8>,
    pivot: usize,
}

impl Equations {
    /// No equations, of `window` packets that follow one another.
    pub(super) fn new(window: usize) -> Self {
        // A power of two, so that the numbers of packets may wrap.
        let columns = window.next_power_of_two().max(LANES);
        Self {
            instructions: Instructions::detect(),
            is_missing: vec![true; columns],
            next_error: 0,
            equations: Vec::new(),
            is_changed: false,
        }
    }

    /// The column of a packet.
    pub(super) fn column(&self, number: u32) -> usize {
        number as usize % self.is_missing.len()
    }

    /// The number of coefficients; the sum stands behind them.
    pub(super) fn head(&self) -> usize {
        self.is_missing.len() + DAMAGED_REPAIRS
    }

    /// Tells whether an equation has a column.
    pub(super) fn has(&self, column: usize) -> bool {
        self.equations.iter().any(|it| it.terms[column] != 0)
    }

    /// The columns of damaged repairs.
    fn errors(&self) -> core::ops::Range<usize> {
        self.is_missing.len()..self.head()
    }

    /// The column of another damaged repair.
    pub(super) fn begin_error(&mut self) -> usize {
        let column = self.is_missing.len() + self.next_error;
        self.next_error = (self.next_error + 1) % DAMAGED_REPAIRS;
        self.forget(column);
        column
    }

    /// Takes an equation; returns `true` if it does not follow from the others.
    pub(super) fn insert(&mut self, mut terms: Vec<u8>) -> bool {
        let factor = |it: &Equation| quotient(terms[it.pivot], it.terms[it.pivot]);
        let others: Vec<(u8, &[u8])> = (self.equations.iter())
            .map(|it| (factor(it), &it.terms[..]))
            .filter(|(factor, _)| *factor != 0)
            .collect();
        add(self.instructions, &mut terms, &others);
        let Some(pivot) = self.best_pivot(&terms) else { return false };
        self.equations.push(Equation { terms, pivot });
        self.clear_others(self.equations.len() - 1);
        self.is_changed = true;
        true
    }

    /// A packet is right: it is subtracted from the equations.
    pub(super) fn know(&mut self, number: u32, packet: &[u8]) {
        self.subtract(self.column(number), packet);
    }

    /// Subtracts the error of a damaged repair that is known now, in whole lanes.
    pub(super) fn explain_error(&mut self, column: usize, wrong: &[u8]) {
        self.subtract(column, wrong);
    }

    /// Subtracts an unknown that is known now.
    fn subtract(&mut self, column: usize, value: &[u8]) {
        let head = self.head();
        for place in (0..self.equations.len()).rev() {
            let it = &mut self.equations[place];
            let factor = core::mem::take(&mut it.terms[column]);
            if factor == 0 {
                continue;
            }
            widen(&mut it.terms, head + value.len());
            add_products(self.instructions, &mut it.terms[head..], &[(factor, value)]);
            if it.pivot == column {
                self.choose_pivot(place);
            }
            self.is_changed = true;
        }
    }

    /// A copy of a packet has come, damaged.
    pub(super) fn set_damaged(&mut self, number: u32) {
        let column = self.column(number);
        self.is_changed |= self.equations.iter().any(|it| it.terms[column] != 0);
        if core::mem::take(&mut self.is_missing[column])
            && let Some(place) = self.equations.iter().position(|it| it.pivot == column)
        {
            self.choose_pivot(place);
        }
    }

    /// A packet leaves, and a later one has its column.
    pub(super) fn leave(&mut self, number: u32) {
        let column = self.column(number);
        self.forget(column);
        self.is_missing[column] = true;
    }

    /// Rids the equations of an unknown: one that has it is spent.
    fn forget(&mut self, column: usize) {
        let is_known = |it: &Equation| !self.is_missing.get(it.pivot).is_some_and(|it| *it);
        let having = (0..self.equations.len()).filter(|at| self.equations[*at].terms[column] != 0);
        // Not one of missing packets where the others may have none.
        let spent = having.max_by_key(|at| is_known(&self.equations[*at]));
        let Some(place) = spent else { return };
        self.equations[place].pivot = column;
        self.clear_others(place);
        self.equations.swap_remove(place);
        self.is_changed = true;
    }

    /// Asks once for each change.
    pub(super) fn is_changed(&mut self) -> bool {
        core::mem::take(&mut self.is_changed)
    }

    /// The packets that the equations determine, by their columns.
    pub(super) fn determined(&self) -> Vec<(usize, Vec<u8>)> {
        let columns = self.is_missing.len();
        let head = self.head();
        let is_alone = |it: &&Equation| {
            let (before, behind) = it.terms[..head].split_at(it.pivot);
            it.pivot < columns && is_zero(before) && is_zero(&behind[1..])
        };
        let packet = |it: &Equation| {
            let mut packet = vec![0; it.terms.len() - head];
            let factor = quotient(1, it.terms[it.pivot]);
            add_products(self.instructions, &mut packet, &[(factor, &it.terms[head..])]);
            (it.pivot, packet)
        };
        self.equations.iter().filter(is_alone).map(packet).collect()
    }

    /// The equations of damaged packets and repairs without any missing packet, or sums of them
    /// that have all columns, if they are many.
    pub(super) fn of_damaged(&mut self) -> Vec<Vec<u8>> {
        self.forget_idle_errors();
        let is_missing = |column: usize| self.is_missing.get(column).is_some_and(|it| *it);
        let free = self.equations.iter().filter(|it| !is_missing(it.pivot));
        let free: Vec<&[u8]> = free.map(|it| &it.terms[..]).collect();
        if free.len() <= EXAMINED {
            return free.into_iter().map(<[u8]>::to_vec).collect();
        }
        let sum = |row: usize| {
            // Rows of a Cauchy matrix: no few columns cancel.
            let factor = |place: usize| quotient(1, (255 - row) as u8 ^ place as u8);
            let terms: Vec<_> = (0..).map(factor).zip(free.iter().copied()).collect();
            let mut sum = Vec::new();
            add(self.instructions, &mut sum, &terms);
            sum
        };
        (0..EXAMINED).map(sum).collect()
    }

    /// Forgets equations that tell only of damaged repairs which no packet has to do with.
    fn forget_idle_errors(&mut self) {
        let columns = self.is_missing.len();
        let errors = self.errors();
        let mut of_use = [false; DAMAGED_REPAIRS];
        let mut is_kept = vec![false; self.equations.len()];
        loop {
            let before = is_kept.iter().filter(|it| **it).count();
            for (it, is_kept) in self.equations.iter().zip(&mut is_kept) {
                let errors = &it.terms[errors.clone()];
                *is_kept |= !is_zero(&it.terms[..columns])
                    || errors.iter().zip(&of_use).any(|(error, of_use)| *error != 0 && *of_use);
                if *is_kept {
                    of_use.iter_mut().zip(errors).for_each(|(to, error)| *to |= *error != 0);
                }
            }
            if is_kept.iter().filter(|it| **it).count() == before {
                break;
            }
        }
        let mut is_kept = is_kept.into_iter();
        self.equations.retain(|_| is_kept.next() == Some(true));
    }

    /// Gives an equation that lost its pivot another one; one without any column is dropped.
    fn choose_pivot(&mut self, place: usize) {
        match self.best_pivot(&self.equations[place].terms) {
            Some(pivot) => {
                self.equations[place].pivot = pivot;
                self.clear_others(place);
            }
            None => drop(self.equations.swap_remove(place)),
        }
    }

    /// The column of a missing packet, or else of a damaged one, or of a damaged repair.
    fn best_pivot(&self, terms: &[u8]) -> Option<usize> {
        let missing = self.is_missing.iter().zip(terms).position(|(it, term)| *it && *term != 0);
        missing.or_else(|| terms[..self.head()].iter().position(|term| *term != 0))
    }

    /// Rids all other equations of the pivot of one.
    fn clear_others(&mut self, place: usize) {
        let pivot = self.equations[place].pivot;
        let own = core::mem::take(&mut self.equations[place].terms);
        for it in self.equations.iter_mut().filter(|it| !it.terms.is_empty()) {
            let factor = quotient(it.terms[pivot], own[pivot]);
            if factor != 0 {
                add(self.instructions, &mut it.terms, &[(factor, &own)]);
            }
        }
        self.equations[place].terms = own;
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.equations.len()
    }
}

/// Adds to a sum terms that may be longer.
fn add(instructions: Instructions, to: &mut Vec<u8>, terms: &[(u8, &[u8])]) {
    widen(to, terms.iter().map(|(_, term)| term.len()).max().unwrap_or(0));
    add_products(instructions, to, terms);
}

/// Appends zeros up to `len` bytes, a number of whole lanes.
pub(super) fn widen(bytes: &mut Vec<u8>, len: usize) {
    debug_assert!(len.is_multiple_of(LANES));
    if bytes.len() < len {
        bytes.resize(len, 0);
    }
}

/// The quotient by a coefficient that is not zero.
fn quotient(of: u8, by: u8) -> u8 {
    field().div(of, by).unwrap_or(0)
}

fn is_zero(coefficients: &[u8]) -> bool {
    coefficients.iter().all(|it| *it == 0)
}
