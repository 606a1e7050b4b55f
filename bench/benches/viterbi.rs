//! The Viterbi decoder of 802.11a/g against that of the crate `fec`, in turn in one run.

use windfall_bench::compare;
use windfall_fec::{ConvolutionalCode, Viterbi};

const BITS: usize = 12_000;

fn main() {
    let bits: Vec<u8> = (0..BITS).map(|i| (i * i / 7 % 2) as u8).collect();
    let mut coded = Vec::new();
    ConvolutionalCode::K7.encode(&bits, &mut coded);
    let soft: Vec<i8> = coded.iter().map(|&bit| if bit == 1 { 100 } else { -100 }).collect();
    let mut viterbi = Viterbi::k7();
    let mut ours = Vec::new();
    // Their soft values run from 0, surely a 0, to 255; their message is in bytes.
    let theirs: Vec<u8> = soft.iter().map(|&value| (i16::from(value) + 128) as u8).collect();
    let mut decoder = fec::convolutional::Decoder::new(2, 7, &[0o133, 0o171]);
    let mut message = vec![0; BITS / 8];
    let ratio = compare(
        || {
            ours.clear();
            viterbi.decode(&soft, false, &mut ours);
        },
        || decoder.decode_soft(&theirs, &mut message).is_ok(),
    );
    assert!(ours == bits, "the decoder is wrong");
    ratio.print_throughput("viterbi K=7", BITS / 8, 1.0);
    println!("{:.1} Mb/s, goal 20 Mb/s for the whole chain", BITS as f64 / ratio.ours / 1e6);
}
