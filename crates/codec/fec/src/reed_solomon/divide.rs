//! Division by the generator polynomial: the parity of a block, and the remainder of a received
//! one.
//!
//! Long division, eight bytes a step: each of the eight leading bytes selects, from a table of its
//! own, what it leaves behind when it is divided away, and the eight rows are added to the bytes
//! that follow. Five blocks, a frame's, go side by side, because each step waits for the one
//! before.

use super::Parameters;
use crate::field::Field;
use crate::lanes::{Instructions, LANES, Lanes, Plain, add_product, dispatch};

/// Bytes divided away at each step.
const STEP: usize = 8;
/// Blocks divided in the same loop.
pub(crate) const SIDE_BY_SIDE: usize = 5;
/// Room for a remainder in whole lanes.
pub(crate) const REMAINDER: usize = 256;

/// One row for each place in the step (0 leads) and value of the byte there, in `S` sets of lanes.
type Rows<const S: usize> = [[[u8; LANES]; S]; STEP * 256];

/// Rows as wide as the parity needs; a width known when compiling spares the bounds checks.
enum Table {
    W1(Box<Rows<1>>),
    W2(Box<Rows<2>>),
    W3(Box<Rows<3>>),
    W4(Box<Rows<4>>),
    W8(Box<Rows<8>>),
}

/// The tables of one generator polynomial.
pub(crate) struct Division {
    parity: usize,
    table: Table,
}

impl Division {
    pub(crate) fn new(field: &Field, parameters: Parameters, parity: usize) -> Self {
        let generator = generator(field, parameters, parity);
        let table = match parity.div_ceil(LANES) {
            1 => Table::W1(rows(field, &generator)),
            2 => Table::W2(rows(field, &generator)),
            3 => Table::W3(rows(field, &generator)),
            4 => Table::W4(rows(field, &generator)),
            _ => Table::W8(rows(field, &generator)),
        };
        Self { parity, table }
    }

    pub(crate) fn encode(&self, instructions: Instructions, block: &mut [u8]) {
        let data = block.len() - self.parity;
        let (data, parity) = block.split_at_mut(data);
        let mut remainder = [[0; REMAINDER]];
        self.divide_one(instructions, [data], &mut remainder);
        parity.copy_from_slice(&remainder[0][..self.parity]);
    }

    pub(crate) fn encode_many(&self, instructions: Instructions, blocks: &mut [u8], length: usize) {
        let mut remainders = [[0; REMAINDER]; SIDE_BY_SIDE];
        for group in blocks.chunks_mut(length * SIDE_BY_SIDE) {
            self.divide_group(instructions, group, length, &mut remainders);
            for (block, remainder) in group.chunks_exact_mut(length).zip(&remainders) {
                block[length - self.parity..].copy_from_slice(&remainder[..self.parity]);
            }
        }
    }

    /// The remainder of a received block; all zero if and only if it is a codeword.
    pub(crate) fn remainder(&self, instructions: Instructions, block: &[u8]) -> [u8; REMAINDER] {
        let (data, parity) = block.split_at(block.len() - self.parity);
        let mut remainder = [[0; REMAINDER]];
        self.divide_one(instructions, [data], &mut remainder);
        let [mut remainder] = remainder;
        add(&mut remainder, parity);
        remainder
    }

    /// The remainders of up to five received blocks of `length` bytes.
    pub(crate) fn remainders(
        &self,
        instructions: Instructions,
        blocks: &[u8],
        length: usize,
        remainders: &mut [[u8; REMAINDER]; SIDE_BY_SIDE],
    ) {
        self.divide_group(instructions, blocks, length, remainders);
        for (block, remainder) in blocks.chunks_exact(length).zip(remainders) {
            add(remainder, &block[length - self.parity..]);
        }
    }

    /// The remainders of data · x^parity of up to five blocks.
    fn divide_group(
        &self,
        instructions: Instructions,
        blocks: &[u8],
        length: usize,
        remainders: &mut [[u8; REMAINDER]; SIDE_BY_SIDE],
    ) {
        let data = length - self.parity;
        let count = blocks.len() / length;
        if count < 2 {
            return self.divide_one(
                instructions,
                [&blocks[..data]],
                remainders.first_chunk_mut().expect("room for one"),
            );
        }
        // Two take as long as five: the places of those that are missing repeat the last.
        let block = |i: usize| &blocks[i.min(count - 1) * length..][..data];
        self.divide_five(instructions, core::array::from_fn(block), remainders);
    }

    fn divide_one(
        &self,
        instructions: Instructions,
        data: [&[u8]; 1],
        remainders: &mut [[u8; REMAINDER]; 1],
    ) {
        let table = &self.table;
        dispatch!(
            instructions,
            one(table: &Table, data: [&[u8]; 1], remainders: &mut [[u8; REMAINDER]; 1]) -> ()
        );
    }

    fn divide_five(
        &self,
        instructions: Instructions,
        data: [&[u8]; SIDE_BY_SIDE],
        remainders: &mut [[u8; REMAINDER]; SIDE_BY_SIDE],
    ) {
        let table = &self.table;
        dispatch!(
            instructions,
            five(
                table: &Table,
                data: [&[u8]; SIDE_BY_SIDE],
                remainders: &mut [[u8; REMAINDER]; SIDE_BY_SIDE],
            ) -> ()
        );
    }
}

#[inline(always)]
fn one<L: Lanes>(table: &Table, data: [&[u8]; 1], remainders: &mut [[u8; REMAINDER]; 1]) {
    by_width::<L, 1>(table, data, remainders);
}

#[inline(always)]
fn five<L: Lanes>(
    table: &Table,
    data: [&[u8]; SIDE_BY_SIDE],
    remainders: &mut [[u8; REMAINDER]; SIDE_BY_SIDE],
) {
    by_width::<L, SIDE_BY_SIDE>(table, data, remainders);
}

#[inline(always)]
fn by_width<L: Lanes, const N: usize>(
    table: &Table,
    data: [&[u8]; N],
    remainders: &mut [[u8; REMAINDER]; N],
) {
    match table {
        Table::W1(rows) => divide::<L, 1, N>(rows, data, remainders),
        Table::W2(rows) => divide::<L, 2, N>(rows, data, remainders),
        Table::W3(rows) => divide::<L, 3, N>(rows, data, remainders),
        Table::W4(rows) => divide::<L, 4, N>(rows, data, remainders),
        Table::W8(rows) => divide::<L, 8, N>(rows, data, remainders),
    }
}

/// Divides data of equal lengths by the generator.
///
/// What is left so far stays in registers: memory that was just written in other pieces than it is
/// read would be waited for.
#[inline(always)]
fn divide<L: Lanes, const S: usize, const N: usize>(
    rows: &Rows<S>,
    data: [&[u8]; N],
    remainders: &mut [[u8; REMAINDER]; N],
) {
    let zero = L::load(&[0; LANES]);
    let mut left = [[zero; S]; N];
    // The first step is short: leading zeros change nothing.
    let (steps, rest) = (data[0].len() / STEP, data[0].len() % STEP);
    if rest > 0 {
        for (left, data) in left.iter_mut().zip(data) {
            let mut lead = [0; STEP];
            lead[STEP - rest..].copy_from_slice(&data[..rest]);
            step(rows, left, lead);
        }
    }
    let data = data.map(|data| &data[rest..].as_chunks::<STEP>().0[..steps]);
    for at in 0..steps {
        for (left, data) in left.iter_mut().zip(data) {
            step(rows, left, data[at]);
        }
    }
    for (left, remainder) in left.iter().zip(remainders) {
        for (left, remainder) in left.iter().zip(remainder.as_chunks_mut::<LANES>().0) {
            left.store(remainder);
        }
    }
}

/// Divides the next bytes away.
#[inline(always)]
fn step<L: Lanes, const S: usize>(rows: &Rows<S>, left: &mut [L; S], next: [u8; STEP]) {
    let lead = u64::from_le_bytes(left[0].lead()) ^ u64::from_le_bytes(next);
    let rows: [&[[u8; LANES]; S]; STEP] =
        core::array::from_fn(|place| &rows[place * 256 + usize::from((lead >> (8 * place)) as u8)]);
    for strip in 0..S {
        let following = left.get(strip + 1).copied().unwrap_or(L::load(&[0; LANES]));
        let pair = |i: usize| L::load(&rows[i][strip]).xor(L::load(&rows[i + 1][strip]));
        let all = pair(0).xor(pair(2)).xor(pair(4).xor(pair(6)));
        left[strip] = left[strip].advance(following).xor(all);
    }
}

/// Computes the remainder that each value at each place of a step leaves.
fn rows<const S: usize>(field: &Field, generator: &[u8]) -> Box<Rows<S>> {
    let parity = generator.len();
    let mut rows = vec![[[0; LANES]; S]; STEP * 256];
    // What x^parity leaves behind, then x^(parity + 1), and so on: the last place first.
    let mut one = [[0; LANES]; S];
    one.as_flattened_mut()[..parity].copy_from_slice(generator);
    for place in (0..STEP).rev() {
        for value in 0..=255 {
            let row = &mut rows[place * 256 + usize::from(value)];
            add_product::<Plain>(field, row.as_flattened_mut(), value, one.as_flattened());
        }
        let one = &mut one.as_flattened_mut()[..parity];
        let lead = one[0];
        one.copy_within(1.., 0);
        one[parity - 1] = 0;
        for (rest, coefficient) in one.iter_mut().zip(generator) {
            *rest ^= field.mul(lead, *coefficient);
        }
    }
    rows.into_boxed_slice().try_into().expect("STEP * 256 rows")
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
