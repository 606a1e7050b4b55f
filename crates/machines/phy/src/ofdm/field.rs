//! The SIGNAL and DATA fields (802.11-2020, 17.3.4 and 17.3.5).

use windfall_wire_link::ieee80211::PhyRate;

use super::scrambler::{Scrambler, initial_state};

/// Bits of SERVICE, the first seven of which set the descrambler.
const SERVICE: usize = 16;
/// Zeros that bring the coder back to its beginning.
const TAIL: usize = 6;

/// The 24 bits of SIGNAL before coding; `None` for rates that have none, or beyond 4095 bytes.
#[must_use]
pub fn signal_field(rate: PhyRate, bytes: usize) -> Option<[u8; 24]> {
    let code: [u8; 4] = match rate {
        PhyRate::Ofdm6 => [1, 1, 0, 1],
        PhyRate::Ofdm9 => [1, 1, 1, 1],
        PhyRate::Ofdm12 => [0, 1, 0, 1],
        PhyRate::Ofdm18 => [0, 1, 1, 1],
        PhyRate::Ofdm24 => [1, 0, 0, 1],
        PhyRate::Ofdm36 => [1, 0, 1, 1],
        PhyRate::Ofdm48 => [0, 0, 0, 1],
        PhyRate::Ofdm54 => [0, 0, 1, 1],
        _ => return None,
    };
    let mut bits = [0; 24];
    bits[..4].copy_from_slice(&code);
    for (i, bit) in bits[5..17].iter_mut().enumerate() {
        *bit = (bytes >> i & 1) as u8;
    }
    bits[17] = bits[..17].iter().fold(0, |parity, bit| parity ^ bit);
    (bytes < 4096).then_some(bits)
}

/// The bits of DATA before coding: SERVICE, the frame, tail and padding to whole symbols,
/// scrambled from `state`, and the tail set to zeros again.
#[must_use]
pub fn data_field(psdu: &[u8], bits_per_symbol: usize, state: u8) -> Vec<u8> {
    let mut bits = vec![0; SERVICE];
    bits.extend(psdu.iter().flat_map(|byte| (0..8).map(move |i| byte >> i & 1)));
    let tail = bits.len();
    bits.resize((tail + TAIL).next_multiple_of(bits_per_symbol), 0);
    Scrambler::new(state).scramble(&mut bits);
    bits[tail..tail + TAIL].fill(0);
    bits
}

/// The frame of `bytes` bytes in received bits of DATA; shorter if there are fewer.
#[must_use]
pub fn psdu_of(received: &[u8], bytes: usize) -> Vec<u8> {
    let Some(first) = received.first_chunk::<7>() else { return Vec::new() };
    let mut bits = received.to_vec();
    Scrambler::new(initial_state(*first)).scramble(&mut bits);
    let frame = bits.get(SERVICE..).unwrap_or_default();
    let byte = |bits: &[u8]| bits.iter().rev().fold(0, |byte, bit| byte << 1 | bit);
    frame.chunks_exact(8).take(bytes).map(byte).collect()
}
