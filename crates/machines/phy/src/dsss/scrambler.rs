//! The scrambler that synchronises itself (802.11-2020, 15.2.4): 1 + z⁻⁴ + z⁻⁷.

/// Scrambles bits: each is added to the sent bits four and seven before it.
pub fn scramble(bits: &[u8], sent: &mut Vec<u8>) {
    let first = sent.len();
    for &bit in bits {
        let back = |n: usize| sent[first..].len().checked_sub(n).map_or(0, |i| sent[first + i]);
        let value = bit ^ back(4) ^ back(7);
        sent.push(value);
    }
}

/// Makes received bits plain; each wrong one damages itself and those four and seven after it.
pub fn descramble(received: &[u8], bits: &mut Vec<u8>) {
    let back = |i: usize, n: usize| i.checked_sub(n).map_or(0, |i| received[i]);
    let plain = |(i, bit): (usize, &u8)| bit ^ back(i, 4) ^ back(i, 7);
    bits.extend(received.iter().enumerate().map(plain));
}
