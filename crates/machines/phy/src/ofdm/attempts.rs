//! A block that is sent until it is right: as it is, with what earlier attempts told added, or with
//! coded bits that no attempt has sent yet.
//!
//! No receiver of 802.11 does the last two across frames: its MAC header lies under the code, so it
//! does not know before decoding which frame it hears again, and SIGNAL has no room for that. So
//! this stands beside the chain, to measure what is lost by that.

use windfall_base::Stream;
use windfall_fec::{ConvolutionalCode, Redundancy};

use super::Chain;

/// The content of an attempt, and what of earlier ones the decoder keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repetition {
    /// All coded bits again, decoded by themselves.
    Alone,
    /// All coded bits again, whose soft values are added: Chase combining (D. Chase, 1985).
    Added,
    /// A share of the coded bits that were never sent, until all were: one of this number.
    Increments(usize),
}

/// The effort of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockDelivery {
    /// Attempts, of which the last was enough.
    pub attempts: usize,
    /// Coded bits on the carriers, filled up to whole symbols.
    pub sent: usize,
}

impl Chain {
    /// Sends `bits`, six zeros at their end, until they arrive, at most `most` times, at a mean
    /// ratio of signal to noise `snr`; `gain` gives the amplitude of each attempt, which the
    /// receiver knows. `None` if the last one was not enough either.
    pub fn deliver(
        &mut self,
        bits: &[u8],
        repetition: Repetition,
        most: usize,
        (snr, gain): (f64, impl Fn(usize) -> f64),
        noise: &mut Stream,
    ) -> Option<BlockDelivery> {
        let steps = if let Repetition::Increments(steps) = repetition { steps } else { 0 };
        let redundancy = Redundancy::new(self.puncturing, steps);
        let mut coded = Vec::new();
        ConvolutionalCode::K7.encode(bits, &mut coded);
        let mut soft = vec![0; coded.len()];
        let mut sent = Vec::new();
        let mut received = Vec::new();
        let mut total = 0;
        for attempt in 0..most {
            // Without steps every attempt is the first one again.
            sent.clear();
            redundancy.send(attempt, &coded, &mut sent);
            let values = self.carry(&mut sent, snr, gain(attempt), noise);
            total += sent.len();
            if repetition == Repetition::Alone {
                soft.fill(0);
            }
            redundancy.receive(attempt, &values, &mut soft);
            received.clear();
            self.viterbi.decode(&soft, true, &mut received);
            if received == bits {
                return Some(BlockDelivery { attempts: attempt + 1, sent: total });
            }
        }
        None
    }

    /// Sends coded bits, filled up to whole symbols, and returns their soft values.
    fn carry(&mut self, sent: &mut Vec<u8>, snr: f64, gain: f64, noise: &mut Stream) -> Vec<i8> {
        sent.resize(sent.len().next_multiple_of(self.interleaver.len()), 0);
        let mut turned = Vec::new();
        let mut soft = Vec::new();
        let mut values = Vec::new();
        self.interleaver.interleave(sent, &mut turned);
        let deviation = (0.5 / snr).sqrt();
        self.constellation.carry(&turned, &[gain], deviation, noise, &mut soft);
        self.interleaver.restore(&soft, &mut values);
        values
    }
}
