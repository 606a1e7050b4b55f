//! The internet checksum against the naive loop of 16-bit words, in the same run.
//!
//! Goal: at 1500 bytes at least 20 times as fast.

use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use windfall_wire_net::checksum::{Sum, checksum};

const LENGTHS: [usize; 5] = [20, 64, 576, 1500, 65_000];

fn main() {
    divan::main();
}

/// RFC 1071 as one would write it down: one word at a time, the carry folded at once.
fn naive(bytes: &[u8]) -> u16 {
    let mut sum = 0_u32;
    let mut at = 0;
    while at + 1 < bytes.len() {
        sum += u32::from(bytes[at]) << 8 | u32::from(bytes[at + 1]);
        sum = (sum & 0xffff) + (sum >> 16);
        at += 2;
    }
    if at < bytes.len() {
        sum += u32::from(bytes[at]) << 8;
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

fn data(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 7 + 3) as u8).collect()
}

#[divan::bench(args = LENGTHS)]
fn loop_of_words(bencher: Bencher<'_, '_>, len: usize) {
    let bytes = data(len);
    bencher.counter(BytesCount::new(len)).bench_local(|| naive(black_box(&bytes)));
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
