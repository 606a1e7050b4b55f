use super::*;
use crate::decibel::ratio;
use windfall_base::Seed;

/// A field of the standard's example, as bytes.
fn example(name: &str) -> Vec<u8> {
    let text = include_str!("../../testdata/ofdm-36mbps-example.json");
    let start = text.find(&format!("\"{name}\"")).expect("the field is there");
    let value = text[start..].split('"').nth(3).expect("a string follows");
    let digit = |i: usize| u8::from_str_radix(&value[2 * i..2 * i + 2], 16).expect("hexadecimal");
    (0..value.len() / 2).map(digit).collect()
}

/// A field of the standard's example as bits, most significant first.
fn bits(name: &str, count: usize) -> Vec<u8> {
    let bits = example(name).into_iter().flat_map(|byte| (0..8).rev().map(move |i| byte >> i & 1));
    bits.take(count).collect()
}

fn surely(bits: &[u8]) -> Vec<i8> {
    bits.iter().map(|&bit| if bit == 1 { 90 } else { -90 }).collect()
}

#[test]
fn the_scrambler_has_the_sequence_of_the_standard() {
    let mut scrambler = Scrambler::new(0b101_1101);
    let sequence: Vec<u8> = (0..127).map(|_| scrambler.bit()).collect();
    assert_eq!(sequence, bits("lfsr127", 127));
    assert!((0..127).all(|_| sequence.contains(&scrambler.bit())));
    for state in 1..128 {
        let mut scrambler = Scrambler::new(state);
        assert_eq!(initial_state(core::array::from_fn(|_| scrambler.bit())), state);
    }
}

#[test]
fn a_frame_of_100_bytes_at_36_mbps_is_that_of_the_standard_bit_for_bit() {
    let psdu = example("psdu");
    let mut chain = Chain::new(PhyRate::Ofdm36).expect("a rate of OFDM");
    let data = data_field(&psdu, chain.bits_per_symbol(), 0b101_1101);
    assert_eq!(data, bits("data_scrambled", 864));
    let sent = chain.encode(&data).to_vec();
    assert_eq!(sent, bits("data_interleaved", 1_152));
    let mut received = Vec::new();
    chain.decode(&surely(&sent), false, &mut received);
    assert_eq!(psdu_of(&received, 100), psdu);
}

#[test]
fn its_signal_field_is_that_of_the_standard_bit_for_bit() {
    let signal = signal_field(PhyRate::Ofdm36, 100).expect("a rate of OFDM");
    assert_eq!(signal.to_vec(), bits("signal", 24));
    let mut chain = Chain::new(PhyRate::Ofdm6).expect("a rate of OFDM");
    let sent = chain.encode(&signal).to_vec();
    assert_eq!(sent, bits("signal_interleaved", 48));
    let mut received = Vec::new();
    chain.decode(&surely(&sent), true, &mut received);
    assert_eq!(received, signal);
    assert_eq!(signal_field(PhyRate::Cck11, 100), None);
    assert_eq!(signal_field(PhyRate::Ofdm6, 4_096), None);
}

#[test]
fn a_wrong_descrambler_makes_noise_of_a_frame() {
    let psdu = vec![0x55; 400];
    let mut data = data_field(&psdu, 216, 77);
    data[3] ^= 1;
    let wrong = psdu_of(&data, 400);
    let bits: u32 = wrong.iter().zip(&psdu).map(|(a, b)| (a ^ b).count_ones()).sum();
    assert!((1_400..1_800).contains(&bits), "{bits} of 3200");
}

/// The share of bits that arrive wrong.
fn error_rate(rate: PhyRate, snr: f64, symbols: usize, rounds: usize) -> f64 {
    let mut chain = Chain::new(rate).expect("a rate of OFDM");
    let mut random = Stream::new(Seed(7), "chain");
    let mut wrong = 0;
    let mut received = Vec::new();
    let count = symbols * chain.bits_per_symbol();
    // The last symbol is not counted: nothing comes behind it by which to decide.
    let counted = count - chain.bits_per_symbol();
    for _ in 0..rounds {
        let data: Vec<u8> = (0..count).map(|_| (random.bits() & 1) as u8).collect();
        received.clear();
        chain.transmit(&data, &[1.0], |_| snr, &mut random, &mut received);
        wrong += received.iter().zip(&data[..counted]).filter(|(a, b)| a != b).count();
    }
    wrong as f64 / (counted * rounds) as f64
}

#[test]
fn coded_bits_fail_as_the_union_bound_says() {
    // Information weights of the code at each distance (Conan 1984; Haccoun and Bégin 1989), and
    // Pb ≤ Σ c Q(√(2 d γ)) for soft decisions, γ being the energy of a coded bit over N₀.
    let half = (1.0, 10.0, 2.0, &[36.0, 211.0, 1_404.0, 11_633.0, 77_433.0, 502_690.0][..]);
    let three_quarters =
        (3.0, 5.0, 1.0, &[42.0, 201.0, 1_492.0, 10_469.0, 62_935.0, 379_644.0][..]);
    for (rate, decibels, (entering, first, step, weights)) in [
        (PhyRate::Ofdm6, 0.5, half),
        (PhyRate::Ofdm9, 3.5, three_quarters),
        (PhyRate::Ofdm12, 3.5, half),
        (PhyRate::Ofdm18, 6.5, three_quarters),
    ] {
        let bits_per_carrier =
            if matches!(rate, PhyRate::Ofdm6 | PhyRate::Ofdm9) { 1.0 } else { 2.0 };
        let gamma = ratio(decibels) / bits_per_carrier;
        let term = |(i, weight): (usize, &f64)| {
            weight * crate::formula::q((2.0 * (first + step * i as f64) * gamma).sqrt())
        };
        let bound: f64 = weights.iter().enumerate().map(term).sum::<f64>() / entering;
        let found = error_rate(rate, ratio(decibels), 120, 300);
        println!("{rate}: {found:e} {bound:e}");
        // The bound is one; soft values of eight bits cost next to nothing.
        assert!(found < 1.3 * bound && found > 0.3 * bound, "{rate}: {found:e} {bound:e}");
    }
}
