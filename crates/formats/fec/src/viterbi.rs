//! The Viterbi decoder: the most likely bits behind a noisy convolutional code.

use crate::convolutional::ConvolutionalCode;

/// The steps after which the path metrics are brought back to the middle of their range.
const NORMALISE: usize = 32;

/// A decoder for codes of 2^memory = `STATES` states; keeps its memory from call to call.
///
/// Soft values run from −127, surely a 0, to 127, surely a 1; 0 is an erasure. Between
/// normalisations metrics grow by at most 32 · 254, and no state falls further behind the best than
/// the memory times 254: an `i16` holds both.
#[derive(Clone, Debug)]
pub struct Viterbi<const STATES: usize> {
    /// For each pair of predecessors, what a 0 after the even one makes of the two soft values: ±1.
    signs: [[i16; STATES]; 2],
    /// For each step and state, whether the better way there came from the odd predecessor.
    choices: Vec<[u8; STATES]>,
}

impl Viterbi<64> {
    /// The decoder of [`ConvolutionalCode::K7`].
    #[must_use]
    pub fn k7() -> Self {
        Self::new(ConvolutionalCode::K7)
    }
}

impl Viterbi<16> {
    /// The decoder of [`ConvolutionalCode::GSM`].
    #[must_use]
    pub fn gsm() -> Self {
        Self::new(ConvolutionalCode::GSM)
    }
}

impl<const STATES: usize> Viterbi<STATES> {
    fn new(code: ConvolutionalCode) -> Self {
        debug_assert_eq!(STATES, 1 << code.memory());
        let sign = |which: usize| {
            core::array::from_fn(|pair| {
                2 * i16::from(code.output(2 * (pair % (STATES / 2)) as u32)[which]) - 1
            })
        };
        Self { signs: [sign(0), sign(1)], choices: Vec::new() }
    }

    /// Decodes one bit for each two soft values; the encoder began with zeros in its register.
    ///
    /// `ended` says that it also ended so, as after a tail of zeros; otherwise the best end is
    /// taken. The tail bits are among the result. An odd soft value at the end is ignored.
    pub fn decode(&mut self, soft: &[i8], ended: bool, bits: &mut Vec<u8>) {
        let steps = soft.as_chunks::<2>().0;
        self.choices.clear();
        self.choices.reserve(steps.len());
        // No other state than 0 is possible at first; far enough behind to lose every comparison.
        let mut metrics = [i16::MIN / 4; STATES];
        metrics[0] = 0;
        for (step, &[a, b]) in steps.iter().enumerate() {
            let (next, choices) = self.step(&metrics, i16::from(a), i16::from(b));
            metrics = next;
            self.choices.push(choices);
            if step % NORMALISE == NORMALISE - 1 {
                let best = metrics.iter().copied().fold(i16::MIN, i16::max);
                metrics = metrics.map(|metric| (metric - best).max(i16::MIN / 4));
            }
        }
        let best = (0..STATES).max_by_key(|&state| metrics[state]).unwrap_or(0);
        self.trace_back(if ended { 0 } else { best }, bits);
    }

    /// One step of all states: state s + b · STATES/2 follows on 2s and 2s + 1 by the bit b.
    ///
    /// Both generators of the codes here begin and end with 1. So the odd predecessor, and likewise
    /// the other bit, inverts both coded bits, and one sum serves four branches.
    #[inline]
    fn step(&self, metrics: &[i16; STATES], a: i16, b: i16) -> ([i16; STATES], [u8; STATES]) {
        let mut gains = [0_i16; STATES];
        let mut even = [0_i16; STATES];
        let mut odd = [0_i16; STATES];
        let signs = self.signs[0].iter().zip(&self.signs[1]);
        for (gain, (sign_a, sign_b)) in gains.iter_mut().zip(signs) {
            *gain = sign_a * a + sign_b * b;
        }
        let pairs = metrics.as_chunks::<2>().0;
        for (pair, (even, odd)) in pairs.iter().zip(even.iter_mut().zip(&mut odd)) {
            (*even, *odd) = (pair[0], pair[1]);
        }
        // Whole arrays in plain loops, so that the compiler can use vectors.
        let half = STATES / 2;
        let mut next = [0; STATES];
        let mut choices = [0; STATES];
        for s in 0..half {
            let from_even = even[s] + gains[s];
            let from_odd = odd[s] - gains[s];
            next[s] = from_even.max(from_odd);
            choices[s] = u8::from(from_odd > from_even);
        }
        for s in 0..half {
            let from_even = even[s] - gains[s];
            let from_odd = odd[s] + gains[s];
            next[half + s] = from_even.max(from_odd);
            choices[half + s] = u8::from(from_odd > from_even);
        }
        (next, choices)
    }

    fn trace_back(&self, end: usize, bits: &mut Vec<u8>) {
        let first = bits.len();
        bits.resize(first + self.choices.len(), 0);
        let mut state = end;
        for (bit, choices) in bits[first..].iter_mut().zip(&self.choices).rev() {
            *bit = u8::from(state >= STATES / 2);
            state = (2 * state) % STATES + usize::from(choices[state]);
        }
    }
}

#[cfg(test)]
mod tests;
