//! The rate of the encoder, by what comes back from the receiver.

use windfall_base::Duration;
use windfall_media::YuvPicture;

use crate::error::VideoError;
use crate::ffmpeg::{EncodeConfig, encode};

/// The rates that are chosen from, as shares of the highest.
const SHARES: [f64; 5] = [1.0, 0.7, 0.5, 0.35, 0.25];
/// The least rate of an encoder, in b/s.
const LEAST: u32 = 1_000;
/// The share of lost packets that a channel may have without being too slow.
const LOSS: f64 = 0.05;
/// The time by which a round trip may exceed the shortest: the line keeps nothing for longer.
const QUEUE: Duration = Duration::from_millis(400);
/// Good reports before the rate is raised, at first and at most.
const PATIENCE: [u32; 2] = [4, 32];
/// Reports after a change that still tell of what was before it.
const SETTLING: u32 = 1;

//= S1.57
/// Chooses one of several rates by the reports of the receiver (RFC 3550, section 6.4).
///
/// Loss above 5 %, a round trip that has grown by more than 0.4 s, and silence lower the rate by a
/// step, a round trip that has grown by more than 1.2 s by two. Four good reports in a row raise
/// it; where that was too much, the next trial waits twice as long.
#[derive(Clone, Debug, PartialEq)]
pub struct EncoderRateControl {
    step: usize,
    good: u32,
    patience: u32,
    settling: u32,
    is_trial: bool,
    shortest: Option<Duration>,
}

impl Default for EncoderRateControl {
    fn default() -> Self {
        let [patience, _] = PATIENCE;
        Self { step: 0, good: 0, patience, settling: 0, is_trial: false, shortest: None }
    }
}

impl EncoderRateControl {
    /// The rate to code at, in b/s, if the highest is `highest`.
    #[must_use]
    pub fn rate(&self, highest: u32) -> u32 {
        ((f64::from(highest) * SHARES[self.step]) as u32).max(LEAST.min(highest))
    }

    /// Takes a report: the share of packets lost since the last one, and the round trip of the
    /// report that it answers.
    pub fn handle_report(&mut self, loss: f64, round_trip: Duration) {
        let shortest = self.shortest.map_or(round_trip, |it| it.min(round_trip));
        self.shortest = Some(shortest);
        if round_trip > shortest + QUEUE * 3 {
            self.lower(2);
        } else if loss > LOSS || round_trip > shortest + QUEUE {
            self.lower(1);
        } else {
            self.note_good();
        }
    }

    /// Takes note that no report came although one was due.
    pub fn handle_silence(&mut self) {
        self.lower(1);
    }

    fn lower(&mut self, steps: usize) {
        self.good = 0;
        if self.settling > 0 {
            self.settling -= 1;
            return;
        }
        if self.is_trial {
            let [_, most] = PATIENCE;
            self.patience = (2 * self.patience).min(most);
            self.is_trial = false;
        }
        let lowest = SHARES.len() - 1;
        if self.step < lowest {
            self.step = (self.step + steps).min(lowest);
            self.settling = SETTLING;
        }
    }

    fn note_good(&mut self) {
        self.settling = 0;
        self.good += 1;
        if self.good < self.patience {
            return;
        }
        self.good = 0;
        // The last trial has lasted.
        self.is_trial = self.step > 0;
        self.step = self.step.saturating_sub(1);
    }
}

/// A clip that is coded while it is sent.
#[derive(Clone, Debug)]
pub struct AdaptiveClip<'a> {
    /// The pictures before coding.
    pub original: &'a [YuvPicture],
    /// The settings of the encoder, with the highest rate.
    pub config: EncodeConfig,
}

impl AdaptiveClip<'_> {
    //= S1.57
    /// Codes the pictures from one on at a rate, as many as from a key picture to the next.
    ///
    /// # Errors
    /// If ffmpeg or its encoder is missing.
    pub fn encode(&self, first: usize, bit_rate: u32) -> Result<Vec<Vec<u8>>, VideoError> {
        let rest = self.original.get(first..).unwrap_or_default();
        let chunk = &rest[..rest.len().min(self.config.key_interval.max(1) as usize)];
        Ok(encode(&EncodeConfig { bit_rate, ..self.config }, chunk)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn rates(control: &mut EncoderRateControl, reports: &[(f64, u64)]) -> Vec<u32> {
        reports
            .iter()
            .map(|&(loss, time)| {
                control.handle_report(loss, MS(time));
                control.rate(10_000)
            })
            .collect()
    }

    //= S1.57
    #[test]
    fn loss_delay_and_silence_lower_the_rate_a_step_at_a_time() {
        let mut control = EncoderRateControl::default();
        // Of two bad reports in a row the second tells of the time before the change.
        let reports = [(0.0, 300), (0.2, 300), (0.2, 300), (0.2, 300), (0.04, 699)];
        assert_eq!(rates(&mut control, &reports), [10_000, 7_000, 7_000, 5_000, 5_000]);
        assert_eq!(rates(&mut control, &[(0.0, 701)]), [3_500]);
        control.handle_silence();
        control.handle_silence();
        assert_eq!(control.rate(10_000), 2_500);
        let mut late = EncoderRateControl::default();
        assert_eq!(rates(&mut late, &[(0.0, 300), (0.0, 1_600)]), [10_000, 5_000]);
        (0..10).for_each(|_| control.handle_silence());
        assert_eq!(
            (control.rate(10_000), control.rate(2_000), control.rate(500)),
            (2_500, 1_000, 500)
        );
    }

    //= S1.57
    #[test]
    fn good_reports_raise_the_rate_and_a_trial_that_fails_waits_longer() {
        let mut control = EncoderRateControl::default();
        rates(&mut control, &[(0.0, 300), (0.2, 300)]);
        let good = [(0.0, 300); 4];
        assert_eq!(rates(&mut control, &good), [7_000, 7_000, 7_000, 10_000]);
        assert_eq!(rates(&mut control, &[(0.0, 900)]), [7_000]);
        // Eight instead of four.
        assert_eq!(rates(&mut control, &[(0.0, 300); 8])[6..], [7_000, 10_000]);
        assert_eq!(rates(&mut control, &[(0.0, 300); 50])[49], 10_000);
    }
}
