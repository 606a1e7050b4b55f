//! The finite field of 256 elements, by tables.

/// Why a polynomial gives no field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:#x} is not a primitive polynomial of degree 8: \
     use one such as 0x11d (common) or 0x187 (CCSDS)"
)]
pub struct FieldError(pub u16);

/// A linear map of bytes: the bits of a byte that add up to each bit, that of bit 7 first.
pub(crate) type Matrix = [u8; 8];

/// Returns the matrix of a linear map.
pub(crate) fn matrix(map: impl Fn(u8) -> u8) -> Matrix {
    core::array::from_fn(|row| {
        let bit = 7 - row;
        (0..8).fold(0, |mask, from| mask | (map(1 << from) >> bit & 1) << from)
    })
}

/// GF(256) under one primitive polynomial, with the element 2 as its generator.
#[derive(Clone)]
pub struct Field {
    /// Powers of the generator, twice over, so that sums of two logarithms need no reduction.
    exp: [u8; 512],
    log: [u8; 256],
    /// For each factor, its products with the low nibbles 0..16 and with the high nibbles.
    nibbles: Box<[[u8; 32]; 256]>,
    /// The product with each factor, as a linear map.
    matrices: Box<[Matrix; 256]>,
}

impl Field {
    /// The field under `polynomial`, whose bit 8 is the leading term, such as 0x11d.
    ///
    /// # Errors
    /// If the powers of 2 under the polynomial do not run through all 255 non-zero elements.
    pub fn new(polynomial: u16) -> Result<Self, FieldError> {
        if !(0x100..0x200).contains(&polynomial) {
            return Err(FieldError(polynomial));
        }
        let mut exp = [0_u8; 512];
        let mut log = [0_u8; 256];
        let mut element = 1_u16;
        for power in 0..255 {
            if power > 0 && element == 1 {
                return Err(FieldError(polynomial));
            }
            exp[power] = element as u8;
            exp[power + 255] = element as u8;
            log[usize::from(element)] = power as u8;
            element <<= 1;
            if element & 0x100 != 0 {
                element ^= polynomial;
            }
        }
        if element != 1 {
            return Err(FieldError(polynomial));
        }
        let nibbles = Box::new([[0; 32]; 256]);
        let matrices = Box::new([[0; 8]; 256]);
        let mut field = Self { exp, log, nibbles, matrices };
        for factor in 0..=255_u8 {
            for nibble in 0..16_u8 {
                let low = field.mul(factor, nibble);
                let high = field.mul(factor, nibble << 4);
                field.nibbles[usize::from(factor)][usize::from(nibble)] = low;
                field.nibbles[usize::from(factor)][usize::from(nibble) + 16] = high;
            }
            field.matrices[usize::from(factor)] = matrix(|element| field.mul(factor, element));
        }
        Ok(field)
    }

    /// The product of two elements.
    #[inline]
    #[must_use]
    pub fn mul(&self, a: u8, b: u8) -> u8 {
        if a == 0 || b == 0 {
            return 0;
        }
        self.exp[usize::from(self.log[usize::from(a)]) + usize::from(self.log[usize::from(b)])]
    }

    /// The quotient `a / b`; `None` for a division by zero.
    #[inline]
    #[must_use]
    pub fn div(&self, a: u8, b: u8) -> Option<u8> {
        if b == 0 {
            return None;
        }
        if a == 0 {
            return Some(0);
        }
        let difference =
            255 + usize::from(self.log[usize::from(a)]) - usize::from(self.log[usize::from(b)]);
        Some(self.exp[difference])
    }

    /// The generator raised to `power`, which may be any integer.
    #[inline]
    #[must_use]
    pub fn power(&self, power: i64) -> u8 {
        self.exp[power.rem_euclid(255) as usize]
    }

    /// Products of `factor` with the sixteen low nibbles, then with the sixteen high ones.
    #[inline]
    pub(crate) fn nibbles(&self, factor: u8) -> &[u8; 32] {
        &self.nibbles[usize::from(factor)]
    }

    /// The product with `factor` as a linear map.
    #[inline]
    pub(crate) fn matrix(&self, factor: u8) -> Matrix {
        self.matrices[usize::from(factor)]
    }
}

impl core::fmt::Debug for Field {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Field").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_field_obeys_its_axioms() {
        let field = Field::new(0x11d).unwrap();
        for a in 0..=255_u8 {
            assert_eq!(field.mul(a, 1), a);
            assert_eq!(field.mul(a, 0), 0);
            for b in 1..=255_u8 {
                let product = field.mul(a, b);
                assert_eq!(product, field.mul(b, a));
                assert_eq!(field.div(product, b), Some(a));
                let third = a.wrapping_mul(7) ^ 0x35;
                assert_eq!(field.mul(a ^ third, b), product ^ field.mul(third, b));
            }
        }
        assert_eq!(field.div(1, 0), None);
    }

    #[test]
    fn products_agree_with_long_multiplication() {
        let field = Field::new(0x187).unwrap();
        for a in 0..=255_u16 {
            for b in 0..=255_u16 {
                let mut product = (0..8).fold(0_u16, |sum, i| sum ^ ((a << i) * ((b >> i) & 1)));
                for i in (8..16).rev() {
                    if product >> i & 1 == 1 {
                        product ^= 0x187 << (i - 8);
                    }
                }
                assert_eq!(u16::from(field.mul(a as u8, b as u8)), product);
            }
        }
    }

    #[test]
    fn polynomials_that_give_no_field_are_refused() {
        // 0x11b is irreducible, yet 2 does not generate the field.
        for polynomial in [0, 0xff, 0x100, 0x11b, 0x11c, 0x200, 0xffff] {
            assert_eq!(Field::new(polynomial).unwrap_err(), FieldError(polynomial));
        }
    }
}
