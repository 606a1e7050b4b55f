//! The frame-synchronous scrambler (802.11-2020, 17.3.5.5): x⁷ + x⁴ + 1.

/// A generator of the scrambling sequence, whose period is 127.
#[derive(Clone, Copy, Debug)]
pub struct Scrambler {
    /// x⁷ in the highest of seven bits, x¹ in the lowest.
    state: u8,
}

impl Scrambler {
    /// The generator from a state of seven bits, x⁷ the highest; no sender uses 0.
    #[must_use]
    pub const fn new(state: u8) -> Self {
        Self { state: state & 0x7f }
    }

    /// The next bit of the sequence.
    #[inline]
    pub const fn bit(&mut self) -> u8 {
        let bit = (self.state >> 6 ^ self.state >> 3) & 1;
        self.state = (self.state << 1 | bit) & 0x7f;
        bit
    }

    /// Scrambles bits, or makes them plain again.
    pub fn scramble(&mut self, bits: &mut [u8]) {
        for bit in bits {
            *bit ^= self.bit();
        }
    }
}

/// The state in which the sender began, from the first seven received bits: those of SERVICE that
/// are sent as zeros, so that the sequence itself is seen.
#[must_use]
pub fn initial_state(received: [u8; 7]) -> u8 {
    let wanted = |state: &u8| {
        let mut scrambler = Scrambler::new(*state);
        received.iter().all(|bit| *bit == scrambler.bit())
    };
    (0..128).find(wanted).unwrap_or(0)
}
