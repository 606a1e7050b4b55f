//! Division by the generator polynomial: the parity of a block, and the remainder of a received
//! one.
//!
//! Long division, eight bytes a step: each of the eight leading bytes selects, from a table of its
//! own, what it leaves behind when it is divided away, and the eight rows are added to the bytes
//! that follow. Five blocks, a frame's, go side by side, because each step waits for the one
//! before.
//!
//! A block alone, with parity for half a set of lanes, goes another way that waits for nothing:
//! each byte times the remainder of its place, all summed up. Its tables are small as well. So does
//! every block where one instruction does 32 such products.

#[cfg(target_arch = "x86_64")]
use super::products::Products;
use super::{MAX_BLOCK, Parameters};
use crate::field::Field;
use crate::lanes::{Instructions, LANES, Lanes, Plain, add_product, dispatch};

/// Bytes divided away at each step.
const STEP: usize = 8;
/// Blocks divided in the same loop.
pub(crate) const SIDE_BY_SIDE: usize = 5;
/// Room for a block, the leading zeros that fill its first step, and the last row's overhang.
const WORK: usize = (MAX_BLOCK + STEP) + REMAINDER + LANES;
/// Room for a remainder in whole lanes.
pub(crate) const REMAINDER: usize = 256;

/// A remainder for each block of a group.
pub(crate) type Remainders = [[u8; REMAINDER]; SIDE_BY_SIDE];

/// Up to five blocks of one length, which are divided side by side.
#[derive(Clone, Copy)]
pub(crate) struct Group<'a> {
    pub(crate) blocks: &'a [u8],
    pub(crate) length: usize,
}

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

/// The most parity whose nibbles find room in one set of lanes.
const NARROW: usize = LANES / 2;

/// The remainder of a 1 at each place of the data, the last place last: its low nibbles, then its
/// high ones.
type Places = [[u8; LANES]; MAX_BLOCK];

/// The tables of one generator polynomial.
pub(crate) struct Division {
    parity: usize,
    table: Table,
    /// For a block alone, if the parity is narrow.
    places: Option<Box<Places>>,
    /// For processors that multiply whole lanes: they need no other table.
    #[cfg(target_arch = "x86_64")]
    products: Option<Products>,
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
        let places = (parity <= NARROW).then(|| places(field, &generator));
        Self {
            parity,
            table,
            places,
            #[cfg(target_arch = "x86_64")]
            products: Products::new(field, parity, remainders(field, &generator)),
        }
    }

    pub(crate) fn encode(&self, field: &Field, instructions: Instructions, block: &mut [u8]) {
        let data = block.len() - self.parity;
        let (data, parity) = block.split_at_mut(data);
        let mut remainder = [[0; REMAINDER]];
        self.divide_one(field, instructions, [data], &mut remainder);
        parity.copy_from_slice(&remainder[0][..self.parity]);
    }

    pub(crate) fn encode_many(
        &self,
        field: &Field,
        instructions: Instructions,
        blocks: &mut [u8],
        length: usize,
    ) {
        let mut remainders = [[0; REMAINDER]; SIDE_BY_SIDE];
        for group in blocks.chunks_mut(length * SIDE_BY_SIDE) {
            self.divide_group(
                field,
                instructions,
                Group { blocks: group, length },
                &mut remainders,
            );
            for (block, remainder) in group.chunks_exact_mut(length).zip(&remainders) {
                block[length - self.parity..].copy_from_slice(&remainder[..self.parity]);
            }
        }
    }

    /// The remainder of a received block; all zero if and only if it is a codeword.
    pub(crate) fn remainder(
        &self,
        field: &Field,
        instructions: Instructions,
        block: &[u8],
    ) -> [u8; REMAINDER] {
        let (data, parity) = block.split_at(block.len() - self.parity);
        let mut remainder = [[0; REMAINDER]];
        self.divide_one(field, instructions, [data], &mut remainder);
        let [mut remainder] = remainder;
        add(&mut remainder, parity);
        remainder
    }

    /// The remainders of received blocks.
    pub(crate) fn remainders(
        &self,
        field: &Field,
        instructions: Instructions,
        group: Group<'_>,
        remainders: &mut Remainders,
    ) {
        self.divide_group(field, instructions, group, remainders);
        for (block, remainder) in group.blocks.chunks_exact(group.length).zip(remainders) {
            add(remainder, &block[group.length - self.parity..]);
        }
    }

    /// The remainders of data · x^parity of the blocks of a group.
    fn divide_group(
        &self,
        field: &Field,
        instructions: Instructions,
        Group { blocks, length }: Group<'_>,
        remainders: &mut Remainders,
    ) {
        let data = length - self.parity;
        let count = blocks.len() / length;
        #[cfg(target_arch = "x86_64")]
        if let Some(products) = self.products(instructions) {
            for (block, remainder) in blocks.chunks_exact(length).zip(remainders) {
                products.remainder(&block[..data], remainder);
            }
            return;
        }
        if count < 2 {
            return self.divide_one(
                field,
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
        field: &Field,
        instructions: Instructions,
        data: [&[u8]; 1],
        remainders: &mut [[u8; REMAINDER]; 1],
    ) {
        #[cfg(target_arch = "x86_64")]
        if let Some(products) = self.products(instructions) {
            return products.remainder(data[0], &mut remainders[0]);
        }
        // Without vectors the look-ups would go byte by byte.
        if let Some(places) = self.places.as_deref().filter(|_| instructions != Instructions::Plain)
        {
            let ([data], [remainder]) = (data, remainders);
            return dispatch!(
                instructions,
                sum(field: &Field, places: &Places, data: &[u8], remainder: &mut [u8; REMAINDER])
                    -> ()
            );
        }
        let table = &self.table;
        dispatch!(
            instructions,
            one(table: &Table, data: [&[u8]; 1], remainders: &mut [[u8; REMAINDER]; 1]) -> ()
        );
    }

    /// The tables of products, where they are to be used.
    #[cfg(target_arch = "x86_64")]
    fn products(&self, instructions: Instructions) -> Option<&Products> {
        self.products.as_ref().filter(|_| instructions == Instructions::Gfni)
    }

    fn divide_five(
        &self,
        instructions: Instructions,
        data: [&[u8]; SIDE_BY_SIDE],
        remainders: &mut Remainders,
    ) {
        let table = &self.table;
        dispatch!(
            instructions,
            five(
                table: &Table,
                data: [&[u8]; SIDE_BY_SIDE],
                remainders: &mut Remainders,
            ) -> ()
        );
    }
}

#[inline(always)]
fn one<L: Lanes>(table: &Table, data: [&[u8]; 1], remainders: &mut [[u8; REMAINDER]; 1]) {
    by_width::<L, 1>(table, data, remainders);
}

#[inline(always)]
fn five<L: Lanes>(table: &Table, data: [&[u8]; SIDE_BY_SIDE], remainders: &mut Remainders) {
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
#[inline(always)]
fn divide<L: Lanes, const S: usize, const N: usize>(
    rows: &Rows<S>,
    data: [&[u8]; N],
    remainders: &mut [[u8; REMAINDER]; N],
) {
    let length = data[0].len();
    // Leading zeros change nothing and make the length a whole number of steps.
    let end = length.next_multiple_of(STEP);
    let mut work = [[0_u8; WORK]; N];
    for (work, data) in work.iter_mut().zip(data) {
        work[end - length..end].copy_from_slice(data);
    }
    for at in (0..end).step_by(STEP) {
        for work in &mut work {
            let (lead, rest) = work[at..].split_at_mut(STEP);
            let lead: [u8; STEP] = (&*lead).try_into().expect("STEP bytes");
            let rows: [&[[u8; LANES]; S]; STEP] =
                core::array::from_fn(|place| &rows[place * 256 + usize::from(lead[place])]);
            let rest = &mut rest.as_chunks_mut::<LANES>().0[..S];
            for (strip, onto) in rest.iter_mut().enumerate() {
                let pair = |i: usize| L::load(&rows[i][strip]).xor(L::load(&rows[i + 1][strip]));
                let all = pair(0).xor(pair(2)).xor(pair(4).xor(pair(6)));
                L::load(onto).xor(all).store(onto);
            }
        }
    }
    for (work, remainder) in work.iter().zip(remainders) {
        remainder[..S * LANES].copy_from_slice(&work[end..end + S * LANES]);
    }
}

/// Adds up the remainders of each byte of the data.
#[inline(always)]
fn sum<L: Lanes>(field: &Field, places: &Places, data: &[u8], remainder: &mut [u8; REMAINDER]) {
    let mut sums = [L::load(&[0; LANES]); 4];
    let places = &places[MAX_BLOCK - data.len()..];
    for (data, places) in data.chunks(4).zip(places.chunks(4)) {
        for ((sum, byte), place) in sums.iter_mut().zip(data).zip(places) {
            *sum = sum.xor(L::look_up(field.nibbles(*byte), place));
        }
    }
    let [a, b, c, d] = sums;
    let mut parts = [0; LANES];
    a.xor(b).xor(c.xor(d)).store(&mut parts);
    let (low, high) = parts.split_at(NARROW);
    for ((remainder, low), high) in remainder.iter_mut().zip(low).zip(high) {
        *remainder = low ^ high;
    }
}

/// Computes the remainder of a 1 at each place of the data.
fn places(field: &Field, generator: &[u8]) -> Box<Places> {
    let mut places = Box::new([[0; LANES]; MAX_BLOCK]);
    for (place, remainder) in places.iter_mut().rev().zip(remainders(field, generator)) {
        for (i, element) in remainder.iter().enumerate() {
            (place[i], place[NARROW + i]) = (element & 0xf, element >> 4);
        }
    }
    places
}

/// Yields the remainder of a 1 at each place of the data, the last place first.
fn remainders(field: &Field, generator: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    core::iter::successors(Some(generator.to_vec()), move |remainder| {
        let mut next = remainder.clone();
        times_x(field, generator, &mut next);
        Some(next)
    })
}

/// Multiplies a remainder by x and divides again.
fn times_x(field: &Field, generator: &[u8], left: &mut [u8]) {
    let lead = left[0];
    left.rotate_left(1);
    left[generator.len() - 1] = 0;
    for (left, coefficient) in left.iter_mut().zip(generator) {
        *left ^= field.mul(lead, *coefficient);
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
        times_x(field, generator, &mut one.as_flattened_mut()[..parity]);
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
