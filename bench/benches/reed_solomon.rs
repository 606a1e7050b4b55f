//! Reed–Solomon against the crates `reed-solomon` and `fec`, in turn in one run: encoding, clean
//! blocks, and every number of errors that can be corrected. The crate `gf256` is slower than the
//! faster of these two at each of the sizes.

use windfall_bench::compare;
use windfall_fec::{Instructions, ReedSolomon};

const BLOCKS: usize = 64;

fn main() {
    println!("instructions: {:?}", Instructions::detect());
    for (parity, encode_goal) in [(16, 15.0), (32, 30.0), (74, 22.0), (112, 30.0)] {
        let code = ReedSolomon::new(parity).expect("a code");
        let data = 255 - parity;
        let mut blocks: Vec<u8> = (0..255 * BLOCKS).map(|i| (i * 31 % 251) as u8).collect();
        encode(&code, &mut blocks, encode_goal);
        clean(&code, &mut blocks);
        for errors in 1..=parity / 2 {
            dirty(&code, &blocks, errors, data);
        }
    }
}

/// Encoding, against the fastest of the peers at this parity.
fn encode(code: &ReedSolomon, blocks: &mut [u8], goal: f64) {
    let data = 255 - code.parity();
    let messages: Vec<Vec<u8>> = blocks.chunks(255).map(|block| block[..data].to_vec()).collect();
    let mut fec = fec::reed_solomon::Encoder::new(0x11d, 0, 1, code.parity());
    let small = reed_solomon::Encoder::new(code.parity());
    let mut block = [0; 255];
    let bytes = data * BLOCKS;
    let by_fec = compare(
        || code.encode_many(blocks, 255),
        || messages.iter().for_each(|message| assert!(fec.encode(message, &mut block).is_ok())),
    );
    let by_small = compare(
        || code.encode_many(blocks, 255),
        || messages.iter().map(|message| small.encode(message)[254]).fold(0, |a, b| a ^ b),
    );
    let best = if by_fec.peer < by_small.peer { by_fec } else { by_small };
    best.print_throughput(&format!("encode k={data}"), bytes, goal);
}

/// Decoding blocks without errors, against our own encoding.
fn clean(code: &ReedSolomon, blocks: &mut [u8]) {
    let data = 255 - code.parity();
    let mut copy = blocks.to_vec();
    code.encode_many(&mut copy, 255).expect("whole blocks");
    let mut other = copy.clone();
    let ratio = compare(
        || code.decode_many(&mut copy, 255, |_, outcome| assert!(outcome.is_ok())),
        || code.encode_many(&mut other, 255),
    );
    ratio.print_throughput(&format!("decode clean k={data} (peer: encode)"), data * BLOCKS, 0.9);
}

/// Decodes blocks with a number of errors, against the crate `fec`.
fn dirty(code: &ReedSolomon, blocks: &[u8], errors: usize, data: usize) {
    let mut damaged = blocks.to_vec();
    code.encode_many(&mut damaged, 255).expect("whole blocks");
    for (i, block) in damaged.chunks_mut(255).enumerate() {
        for error in 0..errors {
            block[(i * 13 + error * 254 / errors) % 255] ^= 0x5a;
        }
    }
    let mut work = damaged.clone();
    let mut fec = fec::reed_solomon::Decoder::new(0x11d, 0, 1, code.parity());
    let mut message = vec![0; data];
    let ratio = compare(
        || {
            work.copy_from_slice(&damaged);
            code.decode_many(&mut work, 255, |_, outcome| {
                assert_eq!(outcome.unwrap().errors, errors);
            })
        },
        || damaged.chunks(255).for_each(|block| assert!(fec.decode(block, &mut message).is_ok())),
    );
    ratio.print_throughput(&format!("decode k={data}, {errors} errors"), data * BLOCKS, 10.0);
}
