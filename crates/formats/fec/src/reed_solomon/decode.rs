//! From the remainder of a received block to the places and values of its errors.
//!
//! Syndromes of the remainder; from them the [search](super::search) makes the locator and the
//! evaluator; both at all places (Chien); values by Forney's formula. Erasures enter the search as
//! a locator to begin with.
//!
//! The places are taken three at a time, 85 apart: there the terms of a polynomial differ by cube
//! roots of unity only. Sums of every third term at the first 85 places therefore give the values
//! at all 255 by one multiplication more.

use arrayvec::ArrayVec;

use super::divide::REMAINDER;
use super::search::{Found, ROW, Search};
use super::{Corrected, MAX_BLOCK, Parameters, Uncorrectable};
use crate::field::Field;
use crate::lanes::{Instructions, LANES, Lanes, dispatch, window, window_mut};

/// Room for a polynomial of degree up to the parity, in whole lanes.
const POLYNOMIAL: usize = 256;
/// The distance of places at which terms differ by cube roots of unity only.
const THIRD: usize = MAX_BLOCK / 3;
/// The first third of the places, in whole lanes.
const PLACES: usize = THIRD.next_multiple_of(LANES);

type Polynomial = [u8; POLYNOMIAL];

/// Tables of powers for one set of roots.
pub(crate) struct Locating {
    parity: usize,
    /// The parity in whole lanes.
    stride: usize,
    /// β^(first_root + i)·j in row j, column i: what remainder symbol j adds to each syndrome.
    syndrome_rows: Vec<u8>,
    /// β^(−p·j) in row j, column p: what coefficient j adds at place p of the first third.
    place_rows: Vec<[u8; PLACES]>,
    /// β^(−85), a cube root of unity.
    cube_root: u8,
    /// β^(−(first_root + parity)·p) at each place p, the factor that Forney's formula leaves where
    /// the evaluator holds the terms beyond the syndromes.
    place_factors: Polynomial,
    /// The exponent of β, whose powers are the locators of the places.
    step: i64,
}

/// Places counted from the end of the block, and what to add there.
type Errors = ArrayVec<(u8, u8), MAX_BLOCK>;

impl Locating {
    pub(crate) fn new(field: &Field, parameters: Parameters, parity: usize) -> Self {
        let step = i64::from(parameters.step);
        let first_root = i64::from(parameters.first_root);
        let stride = parity.next_multiple_of(LANES);
        let mut syndrome_rows = vec![0; parity * stride];
        for (j, row) in syndrome_rows.chunks_exact_mut(stride).enumerate() {
            for (i, entry) in row[..parity].iter_mut().enumerate() {
                *entry = field.power(step * (first_root + i as i64) * j as i64);
            }
        }
        let entry = |p: usize, j: i64| field.power(-step * p as i64 * j);
        let place_rows =
            (0..=parity as i64).map(|j| core::array::from_fn(|p| entry(p, j))).collect();
        let place_factors = core::array::from_fn(|p| entry(p, first_root + parity as i64));
        let cube_root = entry(THIRD, 1);
        Self { parity, stride, syndrome_rows, place_rows, cube_root, place_factors, step }
    }

    /// Returns `true` if a block that leaves this remainder has no errors.
    #[inline]
    pub(crate) fn is_clean(&self, remainder: &[u8; REMAINDER]) -> bool {
        remainder[..self.stride].iter().fold(0, |any, symbol| any | symbol) == 0
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
        let mut erased = [0_u32; 8];
        for &place in erasures {
            let word = &mut erased[usize::from(place) / 32];
            let bit = 1 << (place % 32);
            if *word & bit != 0 || usize::from(place) >= length {
                return Err(Uncorrectable::Erasures);
            }
            *word |= bit;
        }
        if erasures.len() > self.parity {
            return Err(Uncorrectable::Erasures);
        }
        if self.is_clean(remainder) {
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
        for (place, value) in errors {
            let index = length - 1 - usize::from(place);
            block[index] ^= value;
            unnamed += usize::from(erased[index / 32] >> (index % 32) & 1 == 0);
        }
        Ok(Corrected { errors: unnamed, erasures: erasures.len() })
    }

    #[inline(always)]
    fn syndromes<L: Lanes>(
        &self,
        field: &Field,
        remainder: &[u8; REMAINDER],
        syndromes: &mut [u8; ROW],
    ) {
        // The remainder leads with its highest power; row j stands for the power j.
        for strip in (0..self.stride).step_by(LANES) {
            let mut sum = L::load(&[0; LANES]);
            let rows = self.syndrome_rows.chunks_exact(self.stride);
            for (&symbol, row) in remainder[..self.parity].iter().rev().zip(rows) {
                sum = sum.xor(L::load(window(row, strip)).times(L::factor(field, symbol)));
            }
            sum.store(window_mut(syndromes, strip));
        }
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

    /// The row from which the search begins.
    #[inline(always)]
    fn begin<L: Lanes>(
        &self,
        field: &Field,
        remainder: &[u8; REMAINDER],
        erasures: &[u8],
        length: usize,
    ) -> Search {
        let parity = self.parity;
        let erased = erasures.len();
        let terms = parity - erased;
        let mut search = Search { row: [0; ROW], locator: parity + terms / 2, erased, terms };
        self.syndromes::<L>(field, remainder, &mut search.row);
        if erased == 0 {
            search.row[search.locator] = 1;
            return search;
        }
        let locator = self.erasure_locator(field, erasures, length);
        let syndromes = search.row.first_chunk().expect("shorter than a row");
        let product = multiply::<L>(field, (&locator, erased), (syndromes, parity - 1));
        search.row[..parity].copy_from_slice(&product[erased..erased + parity]);
        search.row[search.locator..][..=erased].copy_from_slice(&locator[..=erased]);
        search
    }

    /// The sum of every `N`-th term from each of the first `N` on, at 32 places from `strip` on.
    #[inline(always)]
    fn sums<L: Lanes, const N: usize>(&self, field: &Field, terms: &[u8], strip: usize) -> [L; N] {
        let mut sums = [L::load(&[0; LANES]); N];
        for (terms, rows) in terms.chunks(N).zip(self.place_rows.chunks(N)) {
            for (i, (&factor, row)) in terms.iter().zip(rows).enumerate() {
                let row = L::load(window(row, strip));
                sums[i] = sums[i].xor(row.times(L::factor(field, factor)));
            }
        }
        sums
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
    let mut search = locating.begin::<L>(field, remainder, erasures, length);
    values::<L>(locating, field, &search.run::<L>(field)?, length)
}

/// The product of two polynomials of these degrees.
#[inline(always)]
fn multiply<L: Lanes>(
    field: &Field,
    a: (&Polynomial, usize),
    b: (&Polynomial, usize),
) -> [u8; 2 * POLYNOMIAL] {
    // Zeros around `b`, so that it can be read shifted by as many places as `a` has.
    let mut shifted = [0_u8; 3 * POLYNOMIAL];
    shifted[POLYNOMIAL..2 * POLYNOMIAL].copy_from_slice(b.0);
    let mut product = [0; 2 * POLYNOMIAL];
    for strip in (0..=a.1 + b.1).step_by(LANES) {
        let mut sum = L::load(&[0; LANES]);
        for (i, &coefficient) in a.0[..=a.1].iter().enumerate().take(strip + LANES) {
            let from = L::load(window(&shifted, POLYNOMIAL + strip - i));
            sum = sum.xor(from.times(L::factor(field, coefficient)));
        }
        sum.store(window_mut(&mut product, strip));
    }
    product
}

/// The roots of the locator and the values there; `None` if they are not as many in the block as
/// its degree.
#[inline(always)]
fn values<L: Lanes>(
    locating: &Locating,
    field: &Field,
    Found { locator, evaluator, degree }: &Found<'_>,
    length: usize,
) -> Option<Errors> {
    let mut errors = Errors::new();
    let mut roots = 0;
    let unity = L::factor(field, locating.cube_root);
    for strip in (0..THIRD).step_by(LANES) {
        // Every sixth term from each of the first six: odd and even ones stay apart.
        let sums = locating.sums::<L, 6>(field, locator, strip);
        let odd = at_thirds([sums[3], sums[1], sums[5]], unity);
        let even = at_thirds([sums[0], sums[4], sums[2]], unity);
        // The last lanes stand for places of the next third.
        let own = u32::MAX >> (LANES - (THIRD - strip).min(LANES));
        let mut zeros = [0; 3];
        for k in 0..3 {
            zeros[k] = even[k].xor(odd[k]).zeros() & own;
        }
        if zeros == [0; 3] {
            continue;
        }
        let omega = at_thirds(locating.sums::<L, 3>(field, evaluator, strip), unity);
        for k in (0..3).filter(|&k| zeros[k] != 0) {
            let mut odds = [0; LANES];
            let mut omegas = [0; LANES];
            odd[k].store(&mut odds);
            omega[k].store(&mut omegas);
            let mut left = zeros[k];
            while left != 0 {
                let i = left.trailing_zeros() as usize;
                left &= left - 1;
                let place = strip + i + k * THIRD;
                if place >= length {
                    return None;
                }
                roots += 1;
                // The odd half is x times the derivative, so what Forney's formula asks remains.
                let ratio = field.div(omegas[i], odds[i])?;
                let value = field.mul(ratio, locating.place_factors[place]);
                if value != 0 {
                    errors.push((place as u8, value));
                }
            }
        }
        if roots == *degree {
            return Some(errors);
        }
    }
    None
}

/// From sums of every third term at a place, beginning with the first, second and third, the
/// values there, 85 places on and 170 places on.
#[inline(always)]
fn at_thirds<L: Lanes>([a, b, c]: [L; 3], unity: L::Factor) -> [L; 3] {
    let turned = b.xor(c).times(unity);
    [a.xor(b.xor(c)), a.xor(c).xor(turned), a.xor(b).xor(turned)]
}
