//! The PLCP header of 802.11b (802.11-2020, 16.2.3).

use windfall_wire_link::ieee80211::PhyRate;

/// The 48 bits of the PLCP header in the order of transmission: SIGNAL, SERVICE, LENGTH, CRC-16;
/// `None` for the rates of OFDM, or for frames too long to say.
#[must_use]
pub fn plcp_header(rate: PhyRate, bytes: usize) -> Option<[u8; 48]> {
    if rate.is_ofdm() {
        return None;
    }
    let signal = u16::from(rate.half_megabits()) * 5;
    let microseconds = (bytes * 16).div_ceil(usize::from(rate.half_megabits()));
    let length = u16::try_from(microseconds).ok()?;
    // At 11 Mb/s two lengths can last as long; one bit says that it is the shorter one.
    let longer = microseconds * usize::from(rate.half_megabits()) / 16 != bytes;
    let service = if rate == PhyRate::Cck11 && longer { 0x80 } else { 0 };
    let mut bits = [0; 48];
    let fields = u64::from(signal) | service << 8 | u64::from(length) << 16;
    for (i, bit) in bits[..32].iter_mut().enumerate() {
        *bit = (fields >> i & 1) as u8;
    }
    let check = crc(&bits[..32]);
    for (i, bit) in bits[32..].iter_mut().enumerate() {
        *bit = (check >> (15 - i) & 1) as u8;
    }
    Some(bits)
}

/// The rate and the length in bytes that a header tells; `None` if its check fails or there is no
/// such rate.
#[must_use]
pub fn plcp_length(header: &[u8; 48]) -> Option<(PhyRate, usize)> {
    let number = |bits: &[u8]| bits.iter().rev().fold(0_u16, |n, bit| n << 1 | u16::from(*bit));
    let check = header[32..].iter().fold(0_u16, |n, bit| n << 1 | u16::from(*bit));
    if crc(&header[..32]) != check {
        return None;
    }
    let units = u8::try_from(number(&header[..8]) / 5).ok()?;
    let rate = PhyRate::from_half_megabits(units).filter(|rate| !rate.is_ofdm())?;
    let longest = usize::from(number(&header[16..32])) * usize::from(units) / 16;
    Some((rate, longest.saturating_sub(usize::from(header[15]))))
}

/// The complement of the remainder of x¹⁶ + x¹² + x⁵ + 1, from a register of ones.
fn crc(bits: &[u8]) -> u16 {
    let step = |register: u16, bit: &u8| {
        let feedback = register >> 15 ^ u16::from(*bit);
        register << 1 ^ if feedback == 1 { 0x1021 } else { 0 }
    };
    !bits.iter().fold(0xffff, step)
}
