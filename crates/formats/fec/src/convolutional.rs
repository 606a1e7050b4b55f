//! Convolutional codes of rate 1/2, and puncturing to higher rates.
//!
//! Bits are bytes of value 0 or 1. The encoder starts with a register of zeros; who wants it to end
//! there too appends as many zeros as it has memory.

/// A code of rate 1/2: each bit gives two, each the parity of some of the latest bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConvolutionalCode {
    constraint: u32,
    generators: [u32; 2],
}

impl ConvolutionalCode {
    /// The code of 802.11 and many others: constraint length 7, generators 133 and 171 (octal).
    pub const K7: Self = Self { constraint: 7, generators: [0o133, 0o171] };
    /// The code of GSM's data channels (3GPP TS 45.003, section 3.3): constraint length 5,
    /// 1 + D³ + D⁴ and 1 + D + D³ + D⁴.
    pub const GSM: Self = Self { constraint: 5, generators: [0b10011, 0b11011] };

    /// Bits that decide the next two besides the newest one.
    #[must_use]
    pub const fn memory(self) -> u32 {
        self.constraint - 1
    }

    /// The two coded bits when the newest bit stands above `memory` older ones in `register`.
    #[must_use]
    pub(crate) const fn output(self, register: u32) -> [u8; 2] {
        let [a, b] = self.generators;
        [((register & a).count_ones() & 1) as u8, ((register & b).count_ones() & 1) as u8]
    }

    /// Encodes `bits`, two for each, into `coded`.
    pub fn encode(self, bits: &[u8], coded: &mut Vec<u8>) {
        coded.reserve(2 * bits.len());
        let mut register = 0;
        for &bit in bits {
            register = register >> 1 | u32::from(bit & 1) << self.memory();
            coded.extend(self.output(register));
        }
    }
}

/// Which coded bits are sent; repeats along the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Puncturing(&'static [bool]);

impl Puncturing {
    /// All are sent: rate 1/2.
    pub const HALF: Self = Self(&[true]);
    /// Three of four are sent: rate 2/3 (802.11-2020, figure 17-9).
    pub const TWO_THIRDS: Self = Self(&[true, true, true, false]);
    /// Four of six are sent: rate 3/4 (802.11-2020, figure 17-9).
    pub const THREE_QUARTERS: Self = Self(&[true, true, true, false, false, true]);

    /// Drops the coded bits that are not sent.
    pub fn puncture(self, coded: &mut Vec<u8>) {
        let mut sent = self.0.iter().cycle();
        coded.retain(|_| *sent.next().expect("it repeats"));
    }

    /// Puts zeros, which say nothing, where coded bits were not sent; `coded` counts all of them.
    ///
    /// Values that are missing at the end count as not sent.
    pub fn restore(self, received: &[i8], coded: usize, soft: &mut Vec<i8>) {
        let mut received = received.iter().copied();
        let sent = self.0.iter().cycle().take(coded);
        soft.extend(sent.map(|&sent| if sent { received.next().unwrap_or(0) } else { 0 }));
    }
}

/// Rate-compatible puncturing: which coded bits each attempt at a block sends.
///
/// The first attempt sends what a puncturing lets through, each further one an even share of the
/// bits that were never sent, and when all were, it begins anew. What a receiver knows of a coded
/// bit is the sum over all attempts that sent it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Redundancy {
    first: Puncturing,
    steps: usize,
}

impl Redundancy {
    /// `steps` attempts share what `first` holds back; none if it holds nothing back.
    #[must_use]
    pub fn new(first: Puncturing, steps: usize) -> Self {
        let is_whole = first.0.iter().all(|sent| *sent);
        Self { first, steps: if is_whole { 0 } else { steps } }
    }

    /// Tells of each coded bit whether attempt number `attempt` sends it, from 0 on.
    fn sends(self, attempt: usize) -> impl Iterator<Item = bool> {
        let part = attempt % (self.steps + 1);
        let mut held_back = 0;
        self.first.0.iter().cycle().map(move |sent| {
            if *sent {
                return part == 0;
            }
            held_back += 1;
            self.steps > 0 && part == 1 + (held_back - 1) % self.steps
        })
    }

    /// Appends the coded bits that attempt number `attempt` sends.
    pub fn send(self, attempt: usize, coded: &[u8], sent: &mut Vec<u8>) {
        let all = coded.iter().zip(self.sends(attempt));
        sent.extend(all.filter(|(_, sends)| *sends).map(|(bit, _)| *bit));
    }

    /// Adds what was received of attempt number `attempt` to the soft values of all coded bits;
    /// values that are missing at the end count as not received.
    pub fn receive(self, attempt: usize, received: &[i8], soft: &mut [i8]) {
        let places = soft.iter_mut().zip(self.sends(attempt)).filter(|(_, sends)| *sends);
        places.zip(received).for_each(|((sum, _), value)| {
            // A decoder takes values from −127 on.
            *sum = sum.saturating_add(*value).max(-127);
        });
    }
}

#[cfg(test)]
mod tests;
