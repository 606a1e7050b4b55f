//! The worked example of the 802.11 standard: 100 octets at 36 Mb/s, and its SIGNAL field.

use windfall_fec::{ConvolutionalCode, Puncturing, SymbolInterleaver, Viterbi};

/// A field of the example as bits, in order of time.
fn field(name: &str, bits: usize) -> Vec<u8> {
    let text = include_str!("../../testdata/ofdm-36mbps-example.json");
    let start = text.find(&format!("\"{name}\"")).expect("the field is there");
    let value = text[start..].split('"').nth(3).expect("a string follows");
    let nibble = |digit: char| digit.to_digit(16).expect("hexadecimal");
    let all =
        value.chars().flat_map(|digit| (0..4).rev().map(move |i| (nibble(digit) >> i & 1) as u8));
    all.take(bits).collect()
}

#[test]
fn the_data_field_is_coded_punctured_and_interleaved_as_in_the_standard() {
    let scrambled = field("data_scrambled", 864);
    let mut coded = Vec::new();
    ConvolutionalCode::K7.encode(&scrambled, &mut coded);
    Puncturing::THREE_QUARTERS.puncture(&mut coded);
    assert_eq!(coded, field("data_coded_punctured", 1_152));
    let mut sent = Vec::new();
    SymbolInterleaver::new(4).interleave(&coded, &mut sent);
    assert_eq!(sent, field("data_interleaved", 1_152));

    let mut received = Vec::new();
    SymbolInterleaver::new(4).restore(&sent, &mut received);
    let soft: Vec<i8> = received.iter().map(|&bit| if bit == 1 { 99 } else { -99 }).collect();
    let mut restored = Vec::new();
    let mut bits = Vec::new();
    Puncturing::THREE_QUARTERS.restore(&soft, 2 * 864, &mut restored);
    Viterbi::k7().decode(&restored, false, &mut bits);
    assert_eq!(bits[..860], scrambled[..860]);
}

#[test]
fn the_signal_field_is_coded_and_interleaved_as_in_the_standard() {
    let mut coded = Vec::new();
    ConvolutionalCode::K7.encode(&field("signal", 24), &mut coded);
    assert_eq!(coded, field("signal_coded", 48));
    let mut sent = Vec::new();
    SymbolInterleaver::new(1).interleave(&coded, &mut sent);
    assert_eq!(sent, field("signal_interleaved", 48));
}
