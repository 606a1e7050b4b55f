//! Reed–Solomon codes over GF(256), systematic, for errors and erasures (S3.18–S3.21).

mod decode;
mod divide;
#[cfg(target_arch = "x86_64")]
mod products;
mod search;

use crate::field::{Field, FieldError};
use crate::lanes::Instructions;

/// The longest block, in symbols of one byte.
pub(crate) const MAX_BLOCK: usize = 255;

/// Which of the many Reed–Solomon codes: the field and the roots of the generator polynomial.
///
/// The generator has the roots α^(step · (first_root + i)), i = 0 … parity − 1, where α = 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// The primitive polynomial of the field, with bit 8 as its leading term.
    pub polynomial: u16,
    /// The exponent of the first root, in steps.
    pub first_root: u8,
    /// The distance between roots, prime to 255.
    pub step: u8,
}

impl Default for Parameters {
    /// The field 0x11d and the roots 1, α, α², …
    fn default() -> Self {
        Self { polynomial: 0x11d, first_root: 0, step: 1 }
    }
}

impl Parameters {
    /// The code of CCSDS 131.0 in the conventional basis, with 32 parity symbols.
    pub const CCSDS: Self = Self { polynomial: 0x187, first_root: 112, step: 11 };
}

/// Why there is no such code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CodeError {
    /// The polynomial gives no field.
    #[error(transparent)]
    Field(#[from] FieldError),
    /// The number of parity symbols is out of range.
    #[error("{0} parity symbols: a block of 255 can hold 1 to 254")]
    Parity(usize),
    /// The roots are not distinct.
    #[error("step {0} between roots: it must be prime to 255, such as 1, 2 or 11")]
    Step(u8),
}

/// Why a block cannot be one of this code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BlockError {
    /// The block is too short or too long.
    #[error(
        "a block of {length} bytes: with {parity} parity symbols it holds {} to 255",
        parity + 1
    )]
    Length {
        /// Its length in bytes.
        length: usize,
        /// The parity symbols of the code.
        parity: usize,
    },
    /// The bytes do not divide into blocks of the stated length.
    #[error("{bytes} bytes are no whole number of blocks of {block} bytes")]
    Remainder {
        /// The number of bytes given.
        bytes: usize,
        /// Bytes in a block.
        block: usize,
    },
}

/// The corrections made in a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Corrected {
    /// The wrong symbols at places that were not given as erasures.
    pub errors: usize,
    /// Symbols filled in at the places named as erased, wrong ones or not.
    pub erasures: usize,
}

/// The block could not be corrected; its bytes are as they were received.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Uncorrectable {
    /// The damage exceeds what the code can correct.
    #[error("more symbols are wrong than the parity can correct")]
    TooManyErrors,
    /// More places are named as erased than there are parity symbols, or one twice or outside.
    #[error("the erased places are too many, repeated, or outside the block")]
    Erasures,
    /// The block is not of this code.
    #[error(transparent)]
    Block(#[from] BlockError),
}

/// A Reed–Solomon code with a fixed number of parity symbols and blocks of any length up to 255.
///
/// Building one computes tables of up to 600 KB: keep it.
pub struct ReedSolomon {
    parity: usize,
    instructions: Instructions,
    division: divide::Division,
    locating: decode::Locating,
    field: Field,
}

impl ReedSolomon {
    /// The code with `parity` parity symbols, in the field 0x11d with the roots 1, α, α², …
    ///
    /// # Errors
    /// If `parity` is not in 1..=254.
    pub fn new(parity: usize) -> Result<Self, CodeError> {
        Self::with(Parameters::default(), parity)
    }

    /// The code with the given field and roots.
    ///
    /// # Errors
    /// If the field does not exist, the roots coincide, or `parity` is not in 1..=254.
    pub fn with(parameters: Parameters, parity: usize) -> Result<Self, CodeError> {
        if !(1..MAX_BLOCK).contains(&parity) {
            return Err(CodeError::Parity(parity));
        }
        let step = parameters.step;
        if step == 0 || [3, 5, 17].iter().any(|factor| step.is_multiple_of(*factor)) {
            return Err(CodeError::Step(step));
        }
        let field = Field::new(parameters.polynomial)?;
        let division = divide::Division::new(&field, parameters, parity);
        let locating = decode::Locating::new(&field, parameters, parity);
        let instructions = Instructions::detect();
        Ok(Self { parity, instructions, division, locating, field })
    }

    /// Selects other instructions for the code; `None` if this processor does not have them.
    #[must_use]
    pub fn using(self, instructions: Instructions) -> Option<Self> {
        Instructions::available().contains(&instructions).then_some(Self { instructions, ..self })
    }

    /// Parity symbols in each block.
    #[must_use]
    pub fn parity(&self) -> usize {
        self.parity
    }

    /// Errors that each block can have and still be corrected, without erasures.
    #[must_use]
    pub fn correctable(&self) -> usize {
        self.parity / 2
    }

    /// Writes the parity of one block into its last bytes; what comes before is the data.
    ///
    /// # Errors
    /// If the block cannot hold the parity and a byte of data, or is longer than 255.
    pub fn encode(&self, block: &mut [u8]) -> Result<(), BlockError> {
        self.check(block.len())?;
        self.division.encode(&self.field, self.instructions, block);
        Ok(())
    }

    /// Writes the parity of many blocks of `length` bytes that lie one behind the other.
    ///
    /// # Errors
    /// If a block of this length is none of this code, or the bytes are no whole number of blocks.
    pub fn encode_many(&self, blocks: &mut [u8], length: usize) -> Result<(), BlockError> {
        self.check_many(blocks.len(), length)?;
        self.division.encode_many(&self.field, self.instructions, blocks, length);
        Ok(())
    }

    /// Corrects one block in place; `erasures` names places whose bytes are worthless.
    ///
    /// Corrects any *e* errors and *f* erasures with 2*e* + *f* ≤ parity. Beyond that the block is
    /// reported and left as it was, but for the rare damage that lies near another codeword.
    ///
    /// # Errors
    /// If the block cannot be corrected or is none of this code.
    pub fn decode(&self, block: &mut [u8], erasures: &[u8]) -> Result<Corrected, Uncorrectable> {
        self.check(block.len())?;
        let remainder = self.division.remainder(&self.field, self.instructions, block);
        self.locating.correct(&self.field, self.instructions, &remainder, block, erasures)
    }

    /// Corrects many blocks of `length` bytes in place; returns the outcome of each.
    ///
    /// # Errors
    /// If a block of this length is none of this code, or the bytes are no whole number of blocks.
    pub fn decode_many(
        &self,
        blocks: &mut [u8],
        length: usize,
        mut report: impl FnMut(usize, Result<Corrected, Uncorrectable>),
    ) -> Result<(), BlockError> {
        self.check_many(blocks.len(), length)?;
        let mut remainders = [[0; divide::REMAINDER]; divide::SIDE_BY_SIDE];
        for (group, side_by_side) in blocks.chunks_mut(length * divide::SIDE_BY_SIDE).enumerate() {
            let blocks = divide::Group { blocks: side_by_side, length };
            self.division.remainders(&self.field, self.instructions, blocks, &mut remainders);
            for (i, block) in side_by_side.chunks_exact_mut(length).enumerate() {
                let number = group * divide::SIDE_BY_SIDE + i;
                if self.locating.is_clean(&remainders[i]) {
                    report(number, Ok(Corrected::default()));
                    continue;
                }
                let outcome = self.locating.correct(
                    &self.field,
                    self.instructions,
                    &remainders[i],
                    block,
                    &[],
                );
                report(number, outcome);
            }
        }
        Ok(())
    }

    fn check(&self, length: usize) -> Result<(), BlockError> {
        if length <= self.parity || length > MAX_BLOCK {
            return Err(BlockError::Length { length, parity: self.parity });
        }
        Ok(())
    }

    fn check_many(&self, bytes: usize, length: usize) -> Result<(), BlockError> {
        self.check(length)?;
        if !bytes.is_multiple_of(length) {
            return Err(BlockError::Remainder { bytes, block: length });
        }
        Ok(())
    }
}

impl core::fmt::Debug for ReedSolomon {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let mut debug = f.debug_struct("ReedSolomon");
        debug.field("parity", &self.parity).field("instructions", &self.instructions);
        debug.finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
