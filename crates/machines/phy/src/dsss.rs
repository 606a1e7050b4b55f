//! The chain of 802.11b, bit by bit (802.11-2020, clauses 15 and 16): the scrambler that
//! synchronises itself, Barker spreading with DBPSK and DQPSK, complementary code keying.
//!
//! Chips are taken one by one through white noise. Barker symbols are despread and detected by the
//! change of phase; of CCK words the receiver takes the likeliest, knowing the phase. Bits are
//! bytes of value 0 or 1 in the order of transmission.

mod cck;
mod header;
mod scrambler;

use windfall_base::Stream;
use windfall_wire_link::ieee80211::PhyRate;

pub use cck::Words;
pub use header::{plcp_header, plcp_length};
pub use scrambler::{descramble, scramble};

use crate::noise::normal;

/// A point of the complex plane.
pub(crate) type Complex = (f64, f64);

/// Barker's sequence of eleven chips.
const BARKER: [f64; 11] = [1.0, -1.0, 1.0, 1.0, -1.0, 1.0, 1.0, 1.0, -1.0, -1.0, -1.0];

/// The modulation of one rate.
#[derive(Clone, Debug)]
pub struct Chain {
    kind: Kind,
    scrambled: Vec<u8>,
    received: Vec<u8>,
}

#[derive(Clone, Debug)]
enum Kind {
    /// Bits in a Barker symbol: 1 or 2.
    Barker(usize),
    Cck(Words),
}

impl Chain {
    /// The chain of a rate of 802.11b; `None` for those of OFDM.
    #[must_use]
    pub fn new(rate: PhyRate) -> Option<Self> {
        let kind = match rate {
            PhyRate::Dsss1 => Kind::Barker(1),
            PhyRate::Dsss2 => Kind::Barker(2),
            PhyRate::Cck5_5 => Kind::Cck(Words::new(4)?),
            PhyRate::Cck11 => Kind::Cck(Words::new(8)?),
            _ => return None,
        };
        Some(Self { kind, scrambled: Vec::new(), received: Vec::new() })
    }

    /// Bits in a symbol.
    #[must_use]
    pub const fn bits_per_symbol(&self) -> usize {
        match &self.kind {
            Kind::Barker(bits) => *bits,
            Kind::Cck(words) => words.bits(),
        }
    }

    /// Sends whole symbols of `bits`, scrambled, through white noise; returns the received ones.
    ///
    /// `snr` gives the ratio of powers in 22 MHz for each symbol by its number.
    pub fn transmit(
        &mut self,
        bits: &[u8],
        snr: impl Fn(usize) -> f64,
        noise: &mut Stream,
        received: &mut Vec<u8>,
    ) {
        self.scrambled.clear();
        scramble(bits, &mut self.scrambled);
        self.received.clear();
        // Noise in 22 MHz; a chip at 11 Mchip/s has twice the ratio, one half on each axis.
        let deviation = |symbol: usize| (0.25 / snr(symbol)).sqrt();
        match &self.kind {
            Kind::Barker(1) => barker::<1>(&self.scrambled, deviation, noise, &mut self.received),
            Kind::Barker(_) => barker::<2>(&self.scrambled, deviation, noise, &mut self.received),
            Kind::Cck(words) => {
                words.transmit(&self.scrambled, deviation, noise, &mut self.received);
            }
        }
        descramble(&self.received, received);
    }
}

/// The change of phase, in quarter turns, that two bits stand for, the first in time first.
const QUARTERS: [u8; 4] = [0, 1, 3, 2];

/// Quarter turns for the bits of a symbol (tables 15-2 and 15-3).
pub(crate) fn quarters(bits: &[u8]) -> u8 {
    match *bits {
        [a] => 2 * a,
        [a, b] => QUARTERS[usize::from(2 * a + b)],
        _ => 0,
    }
}

/// `point` turned by quarters.
pub(crate) const fn turned((re, im): Complex, quarters: u8) -> Complex {
    match quarters & 3 {
        0 => (re, im),
        1 => (-im, re),
        2 => (-re, -im),
        _ => (im, -re),
    }
}

/// Barker symbols of `BITS` bits, detected by the change of phase from one to the next.
fn barker<const BITS: usize>(
    bits: &[u8],
    deviation: impl Fn(usize) -> f64,
    noise: &mut Stream,
    received: &mut Vec<u8>,
) {
    let mut receive = |phase: u8, deviation: f64| {
        let symbol = turned((1.0, 0.0), phase);
        BARKER.iter().fold((0.0, 0.0), |sum: Complex, chip| {
            let chip_received = (
                chip * symbol.0 + deviation * normal(noise),
                chip * symbol.1 + deviation * normal(noise),
            );
            (sum.0 + chip * chip_received.0, sum.1 + chip * chip_received.1)
        })
    };
    let mut phase = 0;
    let mut before = receive(phase, deviation(0));
    for (symbol, bits) in bits.chunks_exact(BITS).enumerate() {
        phase = (phase + quarters(bits)) & 3;
        let now = receive(phase, deviation(symbol));
        let change = (now.0 * before.0 + now.1 * before.1, now.1 * before.0 - now.0 * before.1);
        before = now;
        match BITS {
            1 => received.push(u8::from(change.0 < 0.0)),
            _ => received.extend(dibit(change)),
        }
    }
}

/// The two bits of a change of phase, decided by the nearest quarter turn.
pub(crate) fn dibit((re, im): Complex) -> [u8; 2] {
    match (re.abs() >= im.abs(), re >= 0.0, im >= 0.0) {
        (true, true, _) => [0, 0],
        (true, false, _) => [1, 1],
        (false, _, true) => [0, 1],
        (false, _, false) => [1, 0],
    }
}

#[cfg(test)]
mod tests;
