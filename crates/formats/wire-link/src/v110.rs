//! Rate adaption of V.110, and its shorter form on the radio (3GPP TS 44.021).
//!
//! | octet | 1 | 2 … 7 | 8 |
//! |---|---|---|---|
//! | 0 | 0 | 0 | 0 |
//! | 1 | 1 | D1 … D6 | S1 |
//! | 2 | 1 | D7 … D12 | X |
//! | 3 | 1 | D13 … D18 | S3 |
//! | 4 | 1 | D19 … D24 | S4 |
//! | 5 | 1 | E1 … E6 | E7 |
//! | 6 | 1 | D25 … D30 | S6 |
//! | 7 | 1 | D31 … D36 | X |
//! | 8 | 1 | D37 … D42 | S8 |
//! | 9 | 1 | D43 … D48 | S9 |
//!
//! Octet 0 and the bits 1 are for synchronisation. Without them 63 bits are left, as a TRAU frame
//! carries them, and without E1 to E3 the 60 bits that the radio carries.

/// Bits of a frame.
pub const V110_BITS: usize = 80;
/// Bits of a frame without those of synchronisation.
pub const V110_BARE_BITS: usize = 63;
/// Bits of a frame on the radio.
pub const V110_RADIO_BITS: usize = 60;
/// Data bits of a frame.
pub const V110_DATA_BITS: usize = 48;

/// A frame, each bit a byte of value 0 or 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct V110Frame {
    /// D1 … D48.
    pub data: [u8; V110_DATA_BITS],
    /// E1 … E7: rate, clock, multiframe.
    pub e: [u8; 7],
    /// S1, S3, S4, S6, S8, S9: the state of the line in the direction of data.
    pub s: [u8; 6],
    /// X of octet 2 and X of octet 7: flow control.
    pub x: [u8; 2],
}

impl Default for V110Frame {
    /// The frame of an idle line at 9.6 kb/s: all ones, E1 to E3 by the rate.
    fn default() -> Self {
        Self { data: [1; V110_DATA_BITS], e: [0, 1, 1, 1, 1, 1, 1], s: [0; 6], x: [0; 2] }
    }
}

/// The bits behind D6, D12, … D24 and D30, … D48: (true, n) for S number n, (false, n) for X.
const STATUS: [(bool, usize); 8] =
    [(true, 0), (false, 0), (true, 1), (true, 2), (true, 3), (false, 1), (true, 4), (true, 5)];

impl V110Frame {
    /// The 63 bits without synchronisation, in the order of sending.
    #[must_use]
    pub fn bare(&self) -> [u8; V110_BARE_BITS] {
        let mut bits = [0; V110_BARE_BITS];
        for (group, (is_s, number)) in STATUS.into_iter().enumerate() {
            let start = 7 * (group + usize::from(group >= 4));
            bits[start..start + 6].copy_from_slice(&self.data[6 * group..6 * group + 6]);
            bits[start + 6] = if is_s { self.s[number] } else { self.x[number] };
        }
        bits[28..35].copy_from_slice(&self.e);
        bits
    }

    /// The frame of 63 bits without synchronisation; any value but 0 counts as 1.
    #[must_use]
    pub fn from_bare(bits: &[u8; V110_BARE_BITS]) -> Self {
        let bit = |at: usize| u8::from(bits[at] != 0);
        let mut frame = Self::default();
        for (group, (is_s, number)) in STATUS.into_iter().enumerate() {
            let start = 7 * (group + usize::from(group >= 4));
            (0..6).for_each(|i| frame.data[6 * group + i] = bit(start + i));
            let place = if is_s { &mut frame.s[number] } else { &mut frame.x[number] };
            *place = bit(start + 6);
        }
        frame.e = core::array::from_fn(|i| bit(28 + i));
        frame
    }

    /// The 80 bits in the order of sending.
    #[must_use]
    pub fn encode(&self) -> [u8; V110_BITS] {
        let bare = self.bare();
        core::array::from_fn(|i| match (i / 8, i % 8) {
            (0, _) => 0,
            (_, 0) => 1,
            (octet, bit) => bare[7 * (octet - 1) + bit - 1],
        })
    }

    /// Reads the 80 bits of a frame; `None` if a bit of synchronisation differs.
    #[must_use]
    pub fn parse(bits: &[u8; V110_BITS]) -> Option<Self> {
        let synchronised = (0..V110_BITS).all(|i| match (i / 8, i % 8) {
            (0, _) => bits[i] == 0,
            (_, 0) => bits[i] != 0,
            _ => true,
        });
        let bare = core::array::from_fn(|i| bits[8 * (i / 7 + 1) + i % 7 + 1]);
        synchronised.then(|| Self::from_bare(&bare))
    }

    /// The 60 bits of the radio: those without synchronisation and without E1 to E3.
    #[must_use]
    pub fn to_radio(&self) -> [u8; V110_RADIO_BITS] {
        let bare = self.bare();
        core::array::from_fn(|i| bare[if i < 28 { i } else { i + 3 }])
    }

    /// The frame of 60 bits of the radio; E1 to E3 come from the rate, which the call has agreed.
    #[must_use]
    pub fn from_radio(bits: &[u8; V110_RADIO_BITS], rate: [u8; 3]) -> Self {
        Self::from_bare(&core::array::from_fn(|i| match i {
            0..28 => bits[i],
            28..31 => rate[i - 28],
            _ => bits[i - 3],
        }))
    }
}

/// The place at which a frame begins in a stream of bits, each a byte of value 0 or 1.
///
/// `frames` of them in a row have to be there.
#[must_use]
pub fn find_v110(bits: &[u8], frames: usize) -> Option<usize> {
    let last = bits.len().checked_sub(V110_BITS * frames.max(1))?;
    (0..=last).find(|&start| {
        let all = bits[start..].as_chunks::<V110_BITS>().0;
        all[..frames.max(1)].iter().all(|frame| V110Frame::parse(frame).is_some())
    })
}

#[cfg(test)]
mod tests;
