//! The chain of 802.11a/g, bit by bit (802.11-2020, clause 17.3): scrambler, convolutional code,
//! puncturing, interleaver, constellation, and back by soft demapping and Viterbi.
//!
//! Carriers are taken one by one, each with its own ratio of signal to noise; synchronisation,
//! channel estimation and the transform between time and carriers are ideal. Bits are bytes of
//! value 0 or 1 in the order of transmission, which is least significant first within a byte.

mod attempts;
mod constellation;
mod effective;
mod field;
mod scrambler;

use windfall_base::Stream;
use windfall_fec::{ConvolutionalCode, Puncturing, SymbolInterleaver, Viterbi};
use windfall_wire_link::ieee80211::PhyRate;

pub use attempts::{BlockDelivery, Repetition};
pub use constellation::Constellation;
pub use effective::{Gains, effective_ratio, mapped, offsets};
pub use field::{data_field, psdu_of, signal_field};
pub use scrambler::{Scrambler, initial_state};

/// Carriers that carry data.
pub const CARRIERS: usize = 48;

/// Coder, interleaver and constellation of one rate, with their memory.
#[derive(Clone, Debug)]
pub struct Chain {
    bits_per_symbol: usize,
    puncturing: Puncturing,
    interleaver: SymbolInterleaver,
    constellation: Constellation,
    viterbi: Viterbi<64>,
    coded: Vec<u8>,
    sent: Vec<u8>,
    soft: Vec<i8>,
    ordered: Vec<i8>,
    restored: Vec<i8>,
}

impl Chain {
    /// The chain of an OFDM rate; `None` for the rates of 802.11b.
    #[must_use]
    pub fn new(rate: PhyRate) -> Option<Self> {
        let (constellation, puncturing) = match rate {
            PhyRate::Ofdm6 => (Constellation::Bpsk, Puncturing::HALF),
            PhyRate::Ofdm9 => (Constellation::Bpsk, Puncturing::THREE_QUARTERS),
            PhyRate::Ofdm12 => (Constellation::Qpsk, Puncturing::HALF),
            PhyRate::Ofdm18 => (Constellation::Qpsk, Puncturing::THREE_QUARTERS),
            PhyRate::Ofdm24 => (Constellation::Qam16, Puncturing::HALF),
            PhyRate::Ofdm36 => (Constellation::Qam16, Puncturing::THREE_QUARTERS),
            PhyRate::Ofdm48 => (Constellation::Qam64, Puncturing::TWO_THIRDS),
            PhyRate::Ofdm54 => (Constellation::Qam64, Puncturing::THREE_QUARTERS),
            _ => return None,
        };
        Some(Self {
            bits_per_symbol: rate.bits_per_symbol()? as usize,
            puncturing,
            interleaver: SymbolInterleaver::new(constellation.bits() as u16),
            constellation,
            viterbi: Viterbi::k7(),
            coded: Vec::new(),
            sent: Vec::new(),
            soft: Vec::new(),
            ordered: Vec::new(),
            restored: Vec::new(),
        })
    }

    /// Data bits in a symbol, N_DBPS.
    #[must_use]
    pub const fn bits_per_symbol(&self) -> usize {
        self.bits_per_symbol
    }

    /// Returns the constellation of the rate.
    #[must_use]
    pub const fn constellation(&self) -> Constellation {
        self.constellation
    }

    /// Codes, punctures and interleaves whole symbols of `bits`: what the carriers carry.
    pub fn encode(&mut self, bits: &[u8]) -> &[u8] {
        self.coded.clear();
        self.sent.clear();
        ConvolutionalCode::K7.encode(bits, &mut self.coded);
        self.puncturing.puncture(&mut self.coded);
        self.interleaver.interleave(&self.coded, &mut self.sent);
        &self.sent
    }

    /// Decodes soft values in the order of the carriers, −127 surely 0 to 127 surely 1.
    ///
    /// `ended` says that the coder ended with zeros in its register.
    pub fn decode(&mut self, soft: &[i8], ended: bool, bits: &mut Vec<u8>) {
        self.ordered.clear();
        self.restored.clear();
        self.interleaver.restore(soft, &mut self.ordered);
        let symbols = soft.len() / self.interleaver.len();
        let coded = 2 * symbols * self.bits_per_symbol;
        self.puncturing.restore(&self.ordered, coded, &mut self.restored);
        self.viterbi.decode(&self.restored, ended, bits);
    }

    /// Sends whole symbols of `bits` over carriers with the amplitudes `gains`, used cyclically,
    /// and white noise that stands for a mean ratio of `snr`, per symbol; gives what is received.
    ///
    /// `snr` gives the ratio for each symbol by its number. The receiver weighs carriers by their
    /// power and knows nothing of changes of the noise.
    pub fn transmit(
        &mut self,
        bits: &[u8],
        gains: &[f64],
        snr: impl Fn(usize) -> f64,
        noise: &mut Stream,
        received: &mut Vec<u8>,
    ) {
        self.encode(bits);
        let mut soft = core::mem::take(&mut self.soft);
        soft.clear();
        for (symbol, sent) in self.sent.chunks_exact(self.interleaver.len()).enumerate() {
            let deviation = (0.5 / snr(symbol)).sqrt();
            self.constellation.carry(sent, gains, deviation, noise, &mut soft);
        }
        self.decode(&soft, false, received);
        self.soft = soft;
    }
}

#[cfg(test)]
mod tests;
