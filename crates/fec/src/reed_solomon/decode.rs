//! From the remainder of a received block to the places and values of its errors.
//!
//! Syndromes of the remainder; the error locator by the algorithm of Berlekamp and Massey in the
//! inversionless form of Sarwate and Shanbhag (2001), which updates all discrepancies to come
//! instead of computing each by a dot product, and so runs in lanes; both halves of the locator at
//! 32 places at once (Chien); values by Forney's formula. Erasures enter as a locator of their own,
//! with syndromes modified accordingly.

use core::ops::Range;

use super::divide::REMAINDER;
use super::{Corrected, MAX_BLOCK, Parameters, Uncorrectable};
use crate::field::Field;
use crate::lanes::{Instructions, LANES, Lanes, dispatch, window, window_mut};

/// Room for a polynomial of degree up to the parity, in whole lanes.
const POLYNOMIAL: usize = 256;
/// Room for one row of the locator search, and a set of lanes to spare.
const SEARCH: usize = 256 + LANES;

type Polynomial = [u8; POLYNOMIAL];

/// Tables of powers for one set of roots.
pub(crate) struct Locating {
    parity: usize,
    /// The parity in whole lanes.
    stride: usize,
    /// β^(first_root + i)·j in row j, column i: what remainder symbol j adds to each syndrome.
    syndrome_rows: Vec<u8>,
    /// β^(−p·j) in row j, column p: what coefficient j adds at each place p.
    place_rows: Vec<Polynomial>,
    /// β^(−first_root·p) at each place p, the factor that Forney's formula leaves.
    place_factors: Polynomial,
    /// The exponent of β, whose powers are the locators of the places.
    step: i64,
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
        let place_factors = row(first_root);
        Self { parity, stride, syndrome_rows, place_rows, place_factors, step }
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
        if remainder[..self.stride] == [0; REMAINDER][..self.stride] {
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
        // The remainder leads with its highest power; row j stands for the power j.
        for strip in (0..self.stride).step_by(LANES) {
            let mut sum = L::load(&[0; LANES]);
            let rows = self.syndrome_rows.chunks_exact(self.stride);
            for (&symbol, row) in remainder[..self.parity].iter().rev().zip(rows) {
                sum = sum.xor(L::load(window(row, strip)).times(L::factor(field, symbol)));
            }
            sum.store(window_mut(&mut syndromes, strip));
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
    let (locator, degree) = if erased == 0 {
        search::<L>(field, &syndromes[..parity])?
    } else {
        let erasure_locator = locating.erasure_locator(field, erasures, length);
        let modified = multiply::<L>(field, &erasure_locator, erased, &syndromes, parity);
        let (unknown, degree) = search::<L>(field, &modified[erased..parity])?;
        let degree = degree + erased;
        (multiply::<L>(field, &unknown, degree - erased, &erasure_locator, degree + 1), degree)
    };
    // The locator explains every syndrome, so the evaluator has a lower degree than the locator.
    let mut evaluator = multiply::<L>(field, &locator, degree, &syndromes, degree);
    evaluator[degree..].fill(0);
    values::<L>(locating, field, &locator, &evaluator, degree, length)
}

/// The error locator of a sequence of syndromes, up to a factor, and its degree.
///
/// `None` if no locator of at most half as many terms explains them all. Row `discrepancies` is the
/// product of the syndromes with the locator so far: all that is to come stands in it already.
#[inline(always)]
fn search<L: Lanes>(field: &Field, syndromes: &[u8]) -> Option<(Polynomial, usize)> {
    let (terms, half) = (syndromes.len(), syndromes.len() / 2);
    let mut discrepancies = [0_u8; SEARCH];
    discrepancies[..terms].copy_from_slice(syndromes);
    let mut locator = [0_u8; SEARCH];
    locator[0] = 1;
    // The helpers shift by one place at every step: instead of moving, they are read from further
    // left. They start just beyond `terms` places of zeros.
    let (mut old_discrepancies, mut old_locator) = ([0_u8; 2 * SEARCH], [0_u8; 2 * SEARCH]);
    old_discrepancies[SEARCH..SEARCH + terms].copy_from_slice(syndromes);
    old_locator[SEARCH] = 1;
    let (mut base, mut gamma, mut degree) = (SEARCH, 1_u8, 0_usize);
    for step in 0..terms {
        let discrepancy = discrepancies[step];
        base -= 1;
        if discrepancy == 0 {
            if discrepancies[step..terms].iter().all(|&symbol| symbol == 0) {
                break;
            }
            continue;
        }
        let renew = 2 * degree <= step;
        let factors = (L::factor(field, gamma), L::factor(field, discrepancy));
        let first = step / LANES * LANES;
        update::<L>(&mut discrepancies, &mut old_discrepancies, base, factors, renew, first..terms);
        update::<L>(&mut locator, &mut old_locator, base, factors, renew, 0..half + 1);
        if renew {
            (gamma, degree) = (discrepancy, step + 1 - degree);
        }
    }
    let found = (degree <= half && locator[degree] != 0).then_some(degree)?;
    locator[degree + 1..].fill(0);
    Some((*locator.first_chunk().expect("longer"), found))
}

/// `new = γ · new − δ · old`, and, if the helper is renewed, `old = new` as it was before.
#[inline(always)]
fn update<L: Lanes>(
    new: &mut [u8; SEARCH],
    old: &mut [u8; 2 * SEARCH],
    base: usize,
    (gamma, discrepancy): (L::Factor, L::Factor),
    renew: bool,
    range: Range<usize>,
) {
    for at in range.step_by(LANES) {
        let before = L::load(window(new, at));
        let helper = L::load(window(old, base + at));
        before.times(gamma).xor(helper.times(discrepancy)).store(window_mut(new, at));
        if renew {
            before.store(window_mut(old, base + at));
        }
    }
}

/// The first `terms` terms of the product of two polynomials; `degree` is that of `a`.
#[inline(always)]
fn multiply<L: Lanes>(
    field: &Field,
    a: &Polynomial,
    degree: usize,
    b: &Polynomial,
    terms: usize,
) -> Polynomial {
    let width = terms.next_multiple_of(LANES);
    // Zeros before `b`, so that it can be read shifted right by as many places as `a` has.
    let mut shifted = [0_u8; 2 * POLYNOMIAL];
    shifted[POLYNOMIAL..POLYNOMIAL + width].copy_from_slice(&b[..width]);
    let mut product = [0; POLYNOMIAL];
    for strip in (0..width).step_by(LANES) {
        let mut sum = L::load(&[0; LANES]);
        for (i, &coefficient) in a[..=degree].iter().enumerate().take(strip + LANES) {
            let from = L::load(window(&shifted, POLYNOMIAL + strip - i));
            sum = sum.xor(from.times(L::factor(field, coefficient)));
        }
        sum.store(window_mut(&mut product, strip));
    }
    product
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
    let mut errors = Errors { count: 0, places: [0; MAX_BLOCK], values: [0; MAX_BLOCK] };
    let mut roots = 0;
    let rows = &locating.place_rows[..=degree];
    for strip in (0..length).step_by(LANES) {
        let (mut even, mut odd) = (L::load(&[0; LANES]), L::load(&[0; LANES]));
        let factors = locator.as_chunks::<2>().0;
        let (pairs, last) = rows.as_chunks::<2>();
        for (pair, factors) in pairs.iter().zip(factors) {
            even = even.xor(term::<L>(field, &pair[0], strip, factors[0]));
            odd = odd.xor(term::<L>(field, &pair[1], strip, factors[1]));
        }
        for row in last {
            even = even.xor(term::<L>(field, row, strip, locator[degree]));
        }
        let (mut sums, mut odds, mut omegas) = ([0; LANES], [0; LANES], [0; LANES]);
        even.xor(odd).store(&mut sums);
        if !has_zero(&sums) {
            continue;
        }
        odd.store(&mut odds);
        let mut omega = L::load(&[0; LANES]);
        for (row, &factor) in rows.iter().zip(&evaluator[..degree]) {
            omega = omega.xor(term::<L>(field, row, strip, factor));
        }
        omega.store(&mut omegas);
        for i in (0..LANES.min(length - strip)).filter(|&i| sums[i] == 0) {
            roots += 1;
            let place = strip + i;
            // The odd half is x times the derivative, so what Forney's formula asks remains.
            let ratio = field.div(omegas[i], odds[i])?;
            let value = field.mul(ratio, locating.place_factors[place]);
            if value != 0 {
                errors.places[errors.count] = place as u8;
                errors.values[errors.count] = value;
                errors.count += 1;
            }
        }
        if roots == degree {
            return Some(errors);
        }
    }
    None
}

/// What one coefficient adds at the 32 places from `strip` on.
#[inline(always)]
fn term<L: Lanes>(field: &Field, row: &Polynomial, strip: usize, factor: u8) -> L {
    L::load(window(row, strip)).times(L::factor(field, factor))
}

/// Whether any of the bytes is zero.
#[inline(always)]
fn has_zero(bytes: &[u8; LANES]) -> bool {
    bytes.iter().fold(false, |any, &byte| any | (byte == 0))
}
