//! Losses of an exact rate, in random order, and error traces of them.

use std::fmt::Write as _;

use windfall_base::Stream;

/// Losses of an exact rate, in whole per cent, in random order.
pub(crate) struct Deck {
    rate: f64,
    left: f64,
    bad: f64,
}

impl Deck {
    pub(crate) fn new(rate: f64) -> Self {
        Self { rate, left: 0.0, bad: 0.0 }
    }

    /// Draws whether the next packet is lost.
    pub(crate) fn draw(&mut self, random: &mut Stream) -> bool {
        if self.left < 1.0 {
            (self.left, self.bad) = (100.0, (100.0 * self.rate).round());
        }
        let lost = random.unit() * self.left < self.bad;
        self.left -= 1.0;
        self.bad -= f64::from(u8::from(lost));
        lost
    }
}

/// An error trace that loses as many of each hundred frames as each of `losses` says, for `frames`
/// frames each, and none in as many frames after them.
pub(crate) fn trace(losses: &[f64], frames: u64, random: &mut Stream) -> String {
    let mut text =
        "{\"format\":\"windfall-error-trace\",\"version\":1,\"unit\":\"frame\"}\n".to_owned();
    let mut whole = 0_u64;
    for &rate in losses {
        let mut deck = Deck::new(rate);
        for _ in 0..frames {
            if !deck.draw(random) {
                whole += 1;
                continue;
            }
            if whole > 0 {
                // Writing to a string cannot fail.
                let _ = writeln!(text, "{whole}");
            }
            text.push_str("l 1\n");
            whole = 0;
        }
    }
    // An experiment ends before its trace begins again.
    let _ = writeln!(text, "{}\nend {}", whole + frames, frames * (losses.len() as u64 + 1));
    text
}

#[cfg(test)]
mod tests {
    use windfall_base::Seed;

    use super::*;

    #[test]
    fn of_each_hundred_packets_as_many_are_lost_as_was_said() {
        let mut random = Stream::new(Seed(1), "deck");
        for percent in [0_u32, 1, 37, 99, 100] {
            let mut deck = Deck::new(f64::from(percent) / 100.0);
            for _ in 0..20 {
                let lost = (0..100).filter(|_| deck.draw(&mut random)).count();
                assert_eq!(lost, percent as usize);
            }
        }
    }
}
