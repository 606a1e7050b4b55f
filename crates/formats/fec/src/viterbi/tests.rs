use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::convolutional::Puncturing;

fn surely(coded: &[u8]) -> Vec<i8> {
    coded.iter().map(|&bit| if bit == 1 { 64 } else { -64 }).collect()
}

fn decode<const S: usize>(mut viterbi: Viterbi<S>, soft: &[i8], ended: bool) -> Vec<u8> {
    let mut bits = Vec::new();
    viterbi.decode(soft, ended, &mut bits);
    bits
}

proptest! {
    #[test]
    fn what_was_encoded_comes_back(bits in vec(0..2_u8, 0..400), ended in any::<bool>()) {
        let mut bits = bits;
        if ended {
            bits.extend([0; 6]);
        }
        for puncturing in [Puncturing::HALF, Puncturing::TWO_THIRDS, Puncturing::THREE_QUARTERS] {
            // Without a tail the last bits of a punctured code are not decided.
            let certain = if ended || puncturing == Puncturing::HALF { 0 } else { 12 };
            let mut coded = Vec::new();
            ConvolutionalCode::K7.encode(&bits, &mut coded);
            let all = coded.len();
            puncturing.puncture(&mut coded);
            let mut soft = Vec::new();
            puncturing.restore(&surely(&coded), all, &mut soft);
            let back = decode(Viterbi::k7(), &soft, ended);
            let end = bits.len().saturating_sub(certain);
            prop_assert_eq!(&back[..end], &bits[..end]);
        }
        let mut coded = Vec::new();
        ConvolutionalCode::GSM.encode(&bits, &mut coded);
        prop_assert_eq!(decode(Viterbi::gsm(), &surely(&coded), ended), bits);
    }

    #[test]
    fn four_wrong_bits_far_apart_are_put_right(
        bits in vec(0..2_u8, 200..300),
        shift in 0..20_usize,
    ) {
        let mut coded = Vec::new();
        ConvolutionalCode::K7.encode(&bits, &mut coded);
        let mut soft = surely(&coded);
        // The free distance is 10: any four errors within reach of one another are corrected.
        for i in 0..4 {
            soft[100 + shift + 3 * i] *= -1;
        }
        prop_assert_eq!(decode(Viterbi::k7(), &soft, false), bits);
    }

    #[test]
    fn arbitrary_values_never_panic(soft in vec(any::<i8>(), 0..2_000), ended in any::<bool>()) {
        prop_assert_eq!(decode(Viterbi::k7(), &soft, ended).len(), soft.len() / 2);
        prop_assert_eq!(decode(Viterbi::gsm(), &soft, ended).len(), soft.len() / 2);
    }
}

/// Normal deviates by the polar method, from a small generator.
fn noise(mut state: u64) -> impl FnMut() -> f64 {
    move || loop {
        let mut unit = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
        };
        let u = unit();
        let v = unit();
        let square = u * u + v * v;
        if square > 0.0 && square < 1.0 {
            return u * (-2.0 * square.ln() / square).sqrt();
        }
    }
}

#[test]
fn the_bit_error_rate_lies_below_the_union_bound_and_near_it() {
    // BPSK at an Eb/N0 of 3.5 dB. Weights of K = 7, rate 1/2: 36, 211, 1404, 11633, 77433 at
    // distances 10, 12, 14, 16, 18 (Conan 1984); each adds c · Q(√(d · Eb/N0)).
    let ratio = 10_f64.powf(0.35);
    let q = |x: f64| {
        // Abramowitz and Stegun 26.2.17: absolute error below 7.5e-8, so relative to use from the
        // continued fraction, which is exact enough beyond x = 3.
        (-x * x / 2.0).exp()
            / (x + 1.0 / (x + 2.0 / (x + 3.0 / (x + 4.0 / x))))
            / (2.0 * core::f64::consts::PI).sqrt()
    };
    let spectrum =
        [(10.0, 36.0), (12.0, 211.0), (14.0, 1_404.0), (16.0, 11_633.0), (18.0, 77_433.0)];
    let bound: f64 = spectrum.iter().map(|(d, c)| c * q((d * ratio).sqrt())).sum();

    let mut normal = noise(5);
    let sigma = (1.0 / ratio).sqrt();
    let mut wrong = 0_u32;
    let mut total = 0_u32;
    let mut viterbi = Viterbi::k7();
    for block in 0..150_u32 {
        let bits: Vec<u8> = (0..8_000_u32)
            .map(|i| (i.wrapping_mul(2_654_435_761).wrapping_add(block * 977) >> 13 & 1) as u8)
            .collect();
        let mut coded = Vec::new();
        ConvolutionalCode::K7.encode(&bits, &mut coded);
        let soft: Vec<i8> = coded
            .iter()
            .map(|&bit| {
                let received = f64::from(2 * i32::from(bit) - 1) + sigma * normal();
                (received * 40.0).clamp(-127.0, 127.0) as i8
            })
            .collect();
        let mut back = Vec::new();
        viterbi.decode(&soft, false, &mut back);
        wrong += back.iter().zip(&bits).filter(|(a, b)| a != b).count() as u32;
        total += bits.len() as u32;
    }
    let rate = f64::from(wrong) / f64::from(total);
    // About 40 error events of three bits each: a factor of two is five sigma.
    assert!(rate < 1.5 * bound && rate > bound / 4.0, "{rate:e} against the bound {bound:e}");
}
