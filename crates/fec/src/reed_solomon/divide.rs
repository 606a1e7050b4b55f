//! Division by the generator polynomial: the parity of a block, and the remainder of a received one.
//!
//! Long division, eight bytes a step: each of the eight leading bytes selects, from a table of its
//! own, what it leaves behind when it is divided away, and the eight rows are added to the bytes that
//! follow. Four blocks go side by side, because each step waits for the one before.

use super::{MAX_BLOCK, Parameters};
use crate::field::Field;
use crate::lanes::{Instructions, LANES, Lanes, add_product, dispatch, window, window_mut};

/// Bytes divided away at each step.
const STEP: usize = 8;
/// Blocks divided in the same loop.
pub(crate) const SIDE_BY_SIDE: usize = 4;
/// Room for a block, the leading zeros that fill its first step, and the last row's overhang.
const WORK: usize = (MAX_BLOCK + STEP) + REMAINDER + LANES;
/// Room for a remainder in whole lanes.
pub(crate) const REMAINDER: usize = 256;

/// The tables of one generator polynomial.
pub(crate) struct Division {
    parity: usize,
    /// Bytes in a row: the parity in whole lanes.
    stride: usize,
    /// Rows by place in the step (0 leads) and value of the byte there.
    rows: Vec<u8>,
}

impl Division {
    pub(crate) fn new(field: &Field, parameters: Parameters, parity: usize) -> Self {
        let generator = generator(field, parameters, parity);
        let stride = parity.next_multiple_of(LANES);
        // What x^parity leaves behind, then x^(parity + 1), and so on: the last place first.
        let mut one = vec![0; stride];
        one[..parity].copy_from_slice(&generator);
        let mut rows = vec![0; STEP * 256 * stride];
        for place in (0..STEP).rev() {
            for value in 0..=255 {
                let start = (place * 256 + usize::from(value)) * stride;
                add_product::<crate::lanes::Plain>(
                    field,
                    &mut rows[start..start + stride],
                    value,
                    &one,
                );
            }
            let lead = one[0];
            one.copy_within(1..parity, 0);
            one[parity - 1] = 0;
            for (rest, coefficient) in one.iter_mut().zip(&generator) {
                *rest ^= field.mul(lead, *coefficient);
            }
        }
        Self { parity, stride, rows }
    }

    pub(crate) fn encode(&self, instructions: Instructions, block: &mut [u8]) {
        let data = block.len() - self.parity;
        let (data, parity) = block.split_at_mut(data);
        let [remainder] = self.divide_one(instructions, [data]);
        parity.copy_from_slice(&remainder[..self.parity]);
    }

    pub(crate) fn encode_many(&self, instructions: Instructions, blocks: &mut [u8], length: usize) {
        for four in blocks.chunks_mut(length * SIDE_BY_SIDE) {
            let remainders = self.divide_group(instructions, four, length);
            for (block, remainder) in four.chunks_exact_mut(length).zip(&remainders) {
                block[length - self.parity..].copy_from_slice(&remainder[..self.parity]);
            }
        }
    }

    /// The remainder of a received block; all zero if and only if it is a codeword.
    pub(crate) fn remainder(&self, instructions: Instructions, block: &[u8]) -> [u8; REMAINDER] {
        let (data, parity) = block.split_at(block.len() - self.parity);
        let [mut remainder] = self.divide_one(instructions, [data]);
        add(&mut remainder, parity);
        remainder
    }

    /// The remainders of up to four received blocks of `length` bytes.
    pub(crate) fn remainders(
        &self,
        instructions: Instructions,
        blocks: &[u8],
        length: usize,
    ) -> [[u8; REMAINDER]; SIDE_BY_SIDE] {
        let mut remainders = self.divide_group(instructions, blocks, length);
        for (block, remainder) in blocks.chunks_exact(length).zip(&mut remainders) {
            add(remainder, &block[length - self.parity..]);
        }
        remainders
    }

    /// The remainders of data · x^parity of up to four blocks.
    fn divide_group(
        &self,
        instructions: Instructions,
        blocks: &[u8],
        length: usize,
    ) -> [[u8; REMAINDER]; SIDE_BY_SIDE] {
        let data = length - self.parity;
        if blocks.len() == length * SIDE_BY_SIDE {
            let four = core::array::from_fn(|i| &blocks[i * length..i * length + data]);
            return self.divide_four(instructions, four);
        }
        let mut remainders = [[0; REMAINDER]; SIDE_BY_SIDE];
        for (block, remainder) in blocks.chunks_exact(length).zip(&mut remainders) {
            [*remainder] = self.divide_one(instructions, [&block[..data]]);
        }
        remainders
    }

    fn divide_one(&self, instructions: Instructions, data: [&[u8]; 1]) -> [[u8; REMAINDER]; 1] {
        let division = self;
        dispatch!(instructions, one(division: &Division, data: [&[u8]; 1]) -> [[u8; REMAINDER]; 1])
    }

    fn divide_four(
        &self,
        instructions: Instructions,
        data: [&[u8]; SIDE_BY_SIDE],
    ) -> [[u8; REMAINDER]; SIDE_BY_SIDE] {
        let division = self;
        dispatch!(
            instructions,
            four(
                division: &Division,
                data: [&[u8]; SIDE_BY_SIDE],
            ) -> [[u8; REMAINDER]; SIDE_BY_SIDE]
        )
    }
}

#[inline(always)]
fn one<L: Lanes>(division: &Division, data: [&[u8]; 1]) -> [[u8; REMAINDER]; 1] {
    divide::<L, 1>(division, data)
}

#[inline(always)]
fn four<L: Lanes>(
    division: &Division,
    data: [&[u8]; SIDE_BY_SIDE],
) -> [[u8; REMAINDER]; SIDE_BY_SIDE] {
    divide::<L, SIDE_BY_SIDE>(division, data)
}

/// Divides data of equal lengths by the generator.
#[inline(always)]
fn divide<L: Lanes, const N: usize>(division: &Division, data: [&[u8]; N]) -> [[u8; REMAINDER]; N] {
    let length = data[0].len();
    // Leading zeros change nothing and make the length a whole number of steps.
    let end = length.next_multiple_of(STEP);
    let mut work = [[0_u8; WORK]; N];
    for (work, data) in work.iter_mut().zip(data) {
        work[end - length..end].copy_from_slice(data);
    }
    let stride = division.stride;
    for at in (0..end).step_by(STEP) {
        for work in &mut work {
            let lead: [u8; STEP] = work[at..at + STEP].try_into().expect("STEP bytes");
            let rows: [&[u8]; STEP] = core::array::from_fn(|place| {
                let start = (place * 256 + usize::from(lead[place])) * stride;
                &division.rows[start..start + stride]
            });
            for strip in (0..stride).step_by(LANES) {
                let sum = |i: usize| L::load(window(rows[i], strip));
                let pairs = [0, 2, 4, 6].map(|i| sum(i).xor(sum(i + 1)));
                let all = pairs[0].xor(pairs[1]).xor(pairs[2].xor(pairs[3]));
                let onto = window_mut(work, at + STEP + strip);
                L::load(onto).xor(all).store(onto);
            }
        }
    }
    work.map(|work| work[end..end + REMAINDER].try_into().expect("REMAINDER bytes"))
}

fn add(remainder: &mut [u8; REMAINDER], parity: &[u8]) {
    for (remainder, parity) in remainder.iter_mut().zip(parity) {
        *remainder ^= parity;
    }
}

/// The coefficients of the generator polynomial below its leading one, the highest first.
fn generator(field: &Field, parameters: Parameters, parity: usize) -> Vec<u8> {
    let mut coefficients = vec![1_u8];
    for i in 0..parity as i64 {
        let root = field.power(i64::from(parameters.step) * (i64::from(parameters.first_root) + i));
        coefficients.push(0);
        for place in (1..coefficients.len()).rev() {
            coefficients[place] ^= field.mul(root, coefficients[place - 1]);
        }
    }
    coefficients.split_off(1)
}
