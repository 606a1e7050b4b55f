//! The remainder of a block as products of its bytes with what a 1 at each place leaves, for
//! processors that multiply 32 elements by 32 others at once.
//!
//! They do so in the field under 0x11b only. All fields of 256 elements are alike, so that data
//! goes there by a linear map, and remainders come back by its inverse.
#![expect(unsafe_code, reason = "only a processor with these instructions may come here")]

use super::MAX_BLOCK;
use crate::field::{Field, Matrix, matrix};
use crate::lanes::{Gfni, Instructions, LANES, Lanes, window, window_mut};

/// Room for a block in whole lanes.
const PLACES: usize = MAX_BLOCK.next_multiple_of(LANES);
/// Parity symbols that are summed up together: as many as find room in registers.
const TOGETHER: usize = 8;

/// A byte for each place of a block, the last place last; what lies before a block is zero.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Places([u8; PLACES]);

/// The remainders of a 1 at each place of the data, by parity symbol.
pub(super) struct Products {
    /// The way to the field under 0x11b.
    to: Matrix,
    /// The way back.
    from: Matrix,
    /// By parity symbol and place; rows of zeros stand for symbols that there are not.
    rows: Vec<[Places; TOGETHER]>,
}

impl Products {
    /// The tables from the `remainders` of a 1 at each place, the last place first; `None` if this
    /// processor has no use for them.
    pub(super) fn new(
        field: &Field,
        parity: usize,
        remainders: impl Iterator<Item = Vec<u8>>,
    ) -> Option<Self> {
        if Instructions::detect() != Instructions::Gfni {
            return None;
        }
        let (to, back) = isomorphism(field);
        let mut rows = vec![[Places([0; PLACES]); TOGETHER]; parity.div_ceil(TOGETHER)];
        for (place, remainder) in (0..PLACES).rev().zip(remainders) {
            for (symbol, element) in remainder.into_iter().enumerate() {
                rows[symbol / TOGETHER][symbol % TOGETHER].0[place] = to[usize::from(element)];
            }
        }
        let map = |table: [u8; 256]| matrix(|element| table[usize::from(element)]);
        Some(Self { to: map(to), from: map(back), rows })
    }

    /// The remainder of data · x^parity; more than the parity symbols may be written, zeros.
    pub(super) fn remainder(&self, data: &[u8], remainder: &mut [u8]) {
        // SAFETY: there are such tables only where the processor has GFNI and AVX2.
        unsafe { self.sum(data, remainder) }
    }

    #[target_feature(enable = "avx2,gfni")]
    fn sum(&self, data: &[u8], remainder: &mut [u8]) {
        let mut bytes = Places([0; PLACES]);
        bytes.0[PLACES - data.len()..].copy_from_slice(data);
        let first = (PLACES - data.len()) / LANES;
        for set in &mut bytes.0.as_chunks_mut().0[first..] {
            Gfni::load(set).map(self.to).store(set);
        }
        for (rows, symbols) in self.rows.iter().zip(remainder.as_chunks_mut().0) {
            let mut sums = [Gfni::load(&[0; LANES]); TOGETHER];
            for set in first..PLACES / LANES {
                let elements = Gfni::load(window(&bytes.0, set * LANES));
                for (sum, row) in sums.iter_mut().zip(rows) {
                    *sum = sum.xor(elements.product(Gfni::load(window(&row.0, set * LANES))));
                }
            }
            *symbols = Gfni::sums(sums);
        }
        for strip in (0..self.rows.len() * TOGETHER).step_by(LANES) {
            let strip = window_mut(remainder, strip);
            Gfni::load(strip).map(self.from).store(strip);
        }
    }
}

/// The image of each element in the field under 0x11b, and the element of each image.
///
/// The element 2 goes to a root of the polynomial under which `field` stands.
fn isomorphism(field: &Field) -> ([u8; 256], [u8; 256]) {
    let eighth = field.power(8);
    let powers = |root| {
        let mut powers = [1; 9];
        for power in 1..9 {
            powers[power] = product(powers[power - 1], root);
        }
        powers
    };
    let image = |powers: &[u8; 9], element: u8| {
        (0..8).filter(|bit| element >> bit & 1 == 1).fold(0, |sum, bit| sum ^ powers[bit])
    };
    let all = (2..=255).map(powers);
    let powers = all.into_iter().find(|powers| powers[8] == image(powers, eighth));
    let powers = powers.expect("every field of 256 elements has a root of each of its polynomials");
    let mut to = [0; 256];
    let mut back = [0; 256];
    for element in 0..=255 {
        let image = image(&powers, element);
        to[usize::from(element)] = image;
        back[usize::from(image)] = element;
    }
    (to, back)
}

/// The product of two elements of the field under 0x11b.
fn product(a: u8, b: u8) -> u8 {
    let mut product = 0;
    let mut a = a;
    for bit in 0..8 {
        if b >> bit & 1 == 1 {
            product ^= a;
        }
        a = a << 1 ^ if a & 0x80 == 0 { 0 } else { 0x1b };
    }
    product
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_under_0x11b_are_those_of_the_standard() {
        // FIPS 197, section 4.2.
        assert_eq!(product(0x57, 0x83), 0xc1);
        assert_eq!(product(0x57, 0x13), 0xfe);
        assert_eq!([product(0, 9), product(1, 9)], [0, 9]);
    }

    #[test]
    fn a_product_is_that_of_the_images_in_the_other_field() {
        let field = Field::new(0x11d).expect("the polynomial is primitive");
        let (to, back) = isomorphism(&field);
        for (a, b) in (0..=255).flat_map(|a| (0..=255).map(move |b| (a, b))) {
            let image = product(to[usize::from(a)], to[usize::from(b)]);
            assert_eq!(back[usize::from(image)], field.mul(a, b), "{a} {b}");
        }
    }
}
