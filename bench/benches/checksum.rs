//! The internet checksum against the naive loop of 16-bit words, in the same run.
//!
//! Goal: at 1500 bytes at least 20 times as fast. Beside it the ways of paper 002 (S2.15): words
//! of 16, 32 and 64 bits in the machine's byte order, in network order (0), and with a copy.

use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use windfall_bench::{checksum as words, compare};
use windfall_wire_net::checksum::{Sum, checksum};

const LENGTHS: [usize; 5] = [20, 64, 576, 1500, 65_000];

/// Bytes beyond every cache.
const LARGE: usize = 64 << 20;

fn main() {
    let bytes = data(1500);
    let sum = || checksum(black_box(&bytes));
    let naive = || words::in_network_order(black_box(&bytes));
    compare(sum, naive).print_throughput("checksum of 1500 bytes", bytes.len(), 20.0);
    // Two buffers: with one, the peer would find its copy in our cache.
    let large = data(LARGE);
    let mut ours = vec![0; LARGE];
    let mut theirs = vec![0; LARGE];
    let together = || {
        let mut sum = Sum::new();
        sum.copy(black_box(&mut ours), black_box(&large));
        sum.checksum()
    };
    let apart = || {
        theirs.copy_from_slice(black_box(&large));
        checksum(black_box(&theirs))
    };
    compare(together, apart).print_throughput("copy with checksum, 64 MiB", LARGE, 1.0);
    divan::main();
}

fn data(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 7 + 3) as u8).collect()
}

/// The sum alone, by plain loops.
#[divan::bench(args = LENGTHS, consts = [0, 16, 32, 64])]
fn words<const BITS: usize>(bencher: Bencher<'_, '_>, len: usize) {
    let bytes = data(len);
    let sum = match BITS {
        16 => words::of_16,
        32 => words::of_32,
        64 => words::of_64,
        _ => words::in_network_order,
    };
    bencher.counter(BytesCount::new(len)).bench_local(|| sum(black_box(&bytes)));
}

/// The sum in the loop that copies, by plain loops.
#[divan::bench(args = LENGTHS, consts = [16, 32, 64])]
fn words_with_copy<const BITS: usize>(bencher: Bencher<'_, '_>, len: usize) {
    let bytes = data(len);
    let mut copy = vec![0; len];
    let sum = match BITS {
        16 => words::copy_of_16,
        32 => words::copy_of_32,
        _ => words::copy_of_64,
    };
    bencher
        .counter(BytesCount::new(len))
        .bench_local(|| sum(black_box(&mut copy), black_box(&bytes)));
}

/// A copy and then a sum over it, by plain loops.
#[divan::bench(args = LENGTHS, consts = [16, 32, 64])]
fn copy_then_words<const BITS: usize>(bencher: Bencher<'_, '_>, len: usize) {
    let bytes = data(len);
    let mut copy = vec![0; len];
    let sum = match BITS {
        16 => words::of_16,
        32 => words::of_32,
        _ => words::of_64,
    };
    bencher.counter(BytesCount::new(len)).bench_local(|| {
        copy.copy_from_slice(black_box(&bytes));
        sum(black_box(&copy))
    });
}

#[divan::bench(args = LENGTHS)]
fn lanes(bencher: Bencher<'_, '_>, len: usize) {
    let bytes = data(len);
    bencher.counter(BytesCount::new(len)).bench_local(|| checksum(black_box(&bytes)));
}

#[divan::bench(args = LENGTHS)]
fn lanes_across_an_odd_seam(bencher: Bencher<'_, '_>, len: usize) {
    let bytes = data(len);
    let seam = (len / 2) | 1;
    bencher.counter(BytesCount::new(len)).bench_local(|| {
        let mut sum = Sum::new();
        sum.add(black_box(&bytes[..seam]));
        sum.add(black_box(&bytes[seam..]));
        sum.checksum()
    });
}

#[divan::bench(args = LENGTHS)]
fn lanes_with_copy(bencher: Bencher<'_, '_>, len: usize) {
    let bytes = data(len);
    let mut copy = vec![0; len];
    bencher.counter(BytesCount::new(len)).bench_local(|| {
        let mut sum = Sum::new();
        sum.copy(black_box(&mut copy), black_box(&bytes));
        sum.checksum()
    });
}

#[divan::bench(args = LENGTHS)]
fn copy_then_lanes(bencher: Bencher<'_, '_>, len: usize) {
    let bytes = data(len);
    let mut copy = vec![0; len];
    bencher.counter(BytesCount::new(len)).bench_local(|| {
        copy.copy_from_slice(black_box(&bytes));
        checksum(black_box(&copy))
    });
}
