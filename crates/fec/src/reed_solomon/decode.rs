//! From the remainder of a received block to the places and values of its errors.
//!
//! Syndromes of the remainder; the error locator by the reformulated inversionless algorithm of
//! Berlekamp and Massey (Sarwate and Shanbhag, 2001), whose inner loop has no dot product and so runs
//! in lanes; both halves of the locator at all 255 places at once (Chien); values by Forney's formula.
//! Erasures enter as a locator of their own, with syndromes modified accordingly.

use super::divide::REMAINDER;
use super::{Corrected, MAX_BLOCK, Parameters, Uncorrectable};
use crate::field::Field;
use crate::lanes::{Instructions, LANES, Lanes, add_product, dispatch, window, window_mut};

/// Room for a polynomial of degree up to the parity, in whole lanes.
const POLYNOMIAL: usize = 256;
/// Room for the state of the locator search: three half-parities and one, and a set of lanes to spare.
const SEARCH: usize = 3 * 128 + 2 * LANES;

type Polynomial = [u8; POLYNOMIAL];

/// Tables of powers for one set of roots.
pub(crate) struct Locating {
    parity: usize,
    /// The parity in whole lanes.
    stride: usize,
    /// β^(first_root + i)·j in row j, column i: what remainder symbol j adds to each syndrome.
    syndrome_rows: Vec<u8>,
    /// β^(−p·j) in row j, column p: what coefficient j adds at each place p.
    place_rows: Vec<[u8; POLYNOMIAL]>,
    step: i64,
    first_root: i64,
}

/// What the search found: places counted from the end of the block, and what to add there.
struct Errors {
    count: usize,
    places: [u8; MAX_BLOCK],
    values: [u8; MAX_BLOCK],
}

impl Locating {
    pub(crate) fn new(field: &Field, parameters: Parameters, parity: usize) -> Self {
        let (step, first_root) = (i64::from(parameters.step), i64::from(parameters.first_root));
        let stride = parity.next_multiple_of(LANES);
        let mut syndrome_rows = vec![0; parity * stride];
        for (j, row) in syndrome_rows.chunks_exact_mut(stride).enumerate() {
            for (i, entry) in row[..parity].iter_mut().enumerate() {
                *entry = field.power(step * (first_root + i as i64) * j as i64);
            }
        }
        let row = |j: i64| core::array::from_fn(|p| field.power(-step * p as i64 * j));
        let place_rows = (0..=parity as i64).map(row).collect();
        Self { parity, stride, syndrome_rows, place_rows, step, first_root }
    }

    /// Corrects `block`, whose division left `remainder`.
    pub(crate) fn correct(
        &self,
        field: &Field,
        instructions: Instructions,
        remainder: &[u8; REMAINDER],
        block: &mut [u8],
        erasures: &[u8],
    ) -> Result<Corrected, Uncorrectable> {
        let length = block.len();
        let mut erased = [false; MAX_BLOCK];
        for &place in erasures {
            match erased.get_mut(usize::from(place)) {
                Some(seen) if !*seen && usize::from(place) < length => *seen = true,
                _ => return Err(Uncorrectable::Erasures),
            }
        }
        if erasures.len() > self.parity {
            return Err(Uncorrectable::Erasures);
        }
        if remainder[..self.parity].iter().all(|&symbol| symbol == 0) {
            return Ok(Corrected { errors: 0, erasures: erasures.len() });
        }
        let locating = self;
        let errors = dispatch!(
            instructions,
            find(
                locating: &Locating,
                field: &Field,
                remainder: &[u8; REMAINDER],
                erasures: &[u8],
                length: usize,
            ) -> Option<Errors>
        );
        let errors = errors.ok_or(Uncorrectable::TooManyErrors)?;
        let mut unnamed = 0;
        for (&place, &value) in errors.places.iter().zip(&errors.values).take(errors.count) {
            let index = length - 1 - usize::from(place);
            block[index] ^= value;
            unnamed += usize::from(!erased[index]);
        }
        Ok(Corrected { errors: unnamed, erasures: erasures.len() })
    }

    #[inline(always)]
    fn syndromes<L: Lanes>(&self, field: &Field, remainder: &[u8; REMAINDER]) -> Polynomial {
        let mut syndromes = [0; POLYNOMIAL];
        let rows = self.syndrome_rows.chunks_exact(self.stride);
        // The remainder leads with its highest power; row j stands for the power j.
        for (&symbol, row) in remainder[..self.parity].iter().rev().zip(rows) {
            add_product::<L>(field, &mut syndromes[..self.stride], symbol, row);
        }
        syndromes
    }

    /// Π (1 − X x) over the erased places.
    fn erasure_locator(&self, field: &Field, erasures: &[u8], length: usize) -> Polynomial {
        let mut locator = [0; POLYNOMIAL];
        locator[0] = 1;
        for (degree, &index) in erasures.iter().enumerate() {
            let place = (length - 1 - usize::from(index)) as i64;
            let root = field.power(self.step * place);
            for i in (0..=degree).rev() {
                locator[i + 1] ^= field.mul(root, locator[i]);
            }
        }
        locator
    }
}

/// Finds the errors, or sees that there are too many.
#[inline(always)]
fn find<L: Lanes>(
    locating: &Locating,
    field: &Field,
    remainder: &[u8; REMAINDER],
    erasures: &[u8],
    length: usize,
) -> Option<Errors> {
    let (parity, erased) = (locating.parity, erasures.len());
    let syndromes = locating.syndromes::<L>(field, remainder);
    let locator = if erased == 0 {
        search::<L>(field, &syndromes[..parity])
    } else {
        let erasure_locator = locating.erasure_locator(field, erasures, length);
        let modified = multiply::<L>(field, &erasure_locator, erased, &syndromes);
        let unknown = search::<L>(field, &modified[erased..parity]);
        multiply::<L>(field, &unknown, degree(&unknown), &erasure_locator)
    };
    let degree = degree(&locator);
    if locator[0] == 0 || degree > parity {
        return None;
    }
    let mut evaluator = multiply::<L>(field, &locator, degree, &syndromes);
    // If the locator explains every syndrome, the evaluator has a lower degree than the locator.
    if evaluator[degree..parity].iter().any(|&coefficient| coefficient != 0) {
        return None;
    }
    evaluator[degree..].fill(0);
    values::<L>(locating, field, &locator, &evaluator, degree, length)
}

/// The error locator of a sequence of syndromes, up to a factor.
#[inline(always)]
fn search<L: Lanes>(field: &Field, syndromes: &[u8]) -> Polynomial {
    let half = syndromes.len() / 2;
    let mut delta = [0_u8; SEARCH];
    delta[..2 * half].copy_from_slice(&syndromes[..2 * half]);
    delta[3 * half] = 1;
    let mut theta = delta;
    let (mut gamma, mut balance) = (1_u8, 0_i32);
    let used = (3 * half + 1).next_multiple_of(LANES);
    for _ in 0..2 * half {
        let discrepancy = delta[0];
        let renew = discrepancy != 0 && balance >= 0;
        let (by_gamma, by_discrepancy) = (L::factor(field, gamma), L::factor(field, discrepancy));
        for at in (0..used).step_by(LANES) {
            let shifted = L::load(window(&delta, at + 1));
            let old = L::load(window(&theta, at));
            let sum = shifted.times(by_gamma).xor(old.times(by_discrepancy));
            sum.store(window_mut(&mut delta, at));
            if renew {
                shifted.store(window_mut(&mut theta, at));
            }
        }
        if renew {
            gamma = discrepancy;
            balance = -balance - 1;
        } else {
            balance += 1;
        }
    }
    let mut locator = [0; POLYNOMIAL];
    locator[..=half].copy_from_slice(&delta[half..=2 * half]);
    locator
}

/// The product of two polynomials below x^256; `degree` is that of `a`.
#[inline(always)]
fn multiply<L: Lanes>(field: &Field, a: &Polynomial, degree: usize, b: &Polynomial) -> Polynomial {
    let mut wide = [0_u8; 2 * POLYNOMIAL];
    for (i, &coefficient) in a[..=degree].iter().enumerate() {
        add_product::<L>(field, &mut wide[i..i + POLYNOMIAL], coefficient, b);
    }
    wide[..POLYNOMIAL].try_into().expect("half of it")
}

fn degree(polynomial: &Polynomial) -> usize {
    polynomial.iter().rposition(|&coefficient| coefficient != 0).unwrap_or(0)
}

/// The roots of the locator and the values there; `None` if they are not `degree` in the block.
#[inline(always)]
fn values<L: Lanes>(
    locating: &Locating,
    field: &Field,
    locator: &Polynomial,
    evaluator: &Polynomial,
    degree: usize,
    length: usize,
) -> Option<Errors> {
    let used = length.next_multiple_of(LANES);
    let (mut even, mut odd, mut omega) = ([0; POLYNOMIAL], [0; POLYNOMIAL], [0; POLYNOMIAL]);
    for (j, row) in locating.place_rows[..=degree].iter().enumerate() {
        let half = if j % 2 == 0 { &mut even } else { &mut odd };
        add_product::<L>(field, &mut half[..used], locator[j], &row[..used]);
        add_product::<L>(field, &mut omega[..used], evaluator[j], &row[..used]);
    }
    let mut errors = Errors { count: 0, places: [0; MAX_BLOCK], values: [0; MAX_BLOCK] };
    let mut roots = 0;
    for place in 0..length {
        if even[place] != odd[place] {
            continue;
        }
        roots += 1;
        // The odd half is x times the derivative, so what Forney's formula asks remains.
        let ratio = field.div(omega[place], odd[place])?;
        let shift = field.power(-locating.step * locating.first_root * place as i64);
        let value = field.mul(ratio, shift);
        if value != 0 {
            errors.places[errors.count] = place as u8;
            errors.values[errors.count] = value;
            errors.count += 1;
        }
    }
    (roots == degree).then_some(errors)
}
