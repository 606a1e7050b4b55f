//! Where errors lie within the words that a receiver of 802.11b decides on.

use super::*;
use crate::dsss::scramble;

/// The statistics of the errors of frames in front of the descrambler.
#[derive(Debug, Default)]
struct Words {
    /// The bit errors at each place of a word.
    places: Vec<f64>,
    /// Events behind the descrambler, and the bytes that they hit.
    events: f64,
    bytes: f64,
    /// The sum of the squares of an event's bit errors at each place.
    squares: f64,
}

impl Words {
    fn new(rate: PhyRate) -> Self {
        Self { places: vec![0.0; word(rate) as usize], ..Self::default() }
    }

    fn take(&mut self, rate: PhyRate, bits: u64, places: &[u64]) {
        for event in events(places, word(rate), guard(rate)) {
            let begin = event[0] / 8 * 8;
            // Scrambling the errors again takes back what the descrambler has done to them.
            let last = event[event.len() - 1].min(bits - 1);
            let wrong: Vec<u8> =
                (begin..=last).map(|place| u8::from(event.contains(&place))).collect();
            let mut before = Vec::new();
            scramble(&wrong, &mut before);
            let mut counts = vec![0.0; self.places.len()];
            for (place, _) in before.iter().enumerate().filter(|(_, wrong)| **wrong == 1) {
                counts[place % self.places.len()] += 1.0;
            }
            self.squares += counts.iter().map(|count| count * count).sum::<f64>();
            for (sum, count) in self.places.iter_mut().zip(counts) {
                *sum += count;
            }
        }
        // Cut as the independent chain's were.
        for event in events(places, 1, 15) {
            let mut bytes: Vec<u64> = event.iter().map(|place| place / 8).collect();
            bytes.dedup();
            self.bytes += bytes.len() as f64;
            self.events += 1.0;
        }
    }

    fn of_chain(rate: PhyRate, snr: f64, frames: usize) -> Self {
        let mut source = Source::new(rate);
        let mut random = Stream::new(Seed(5), "words");
        let mut words = Self::new(rate);
        for _ in 0..frames {
            let mut places = Vec::new();
            let bits = source.pass(snr, &mut random, 0, &mut places);
            // What the end of a block cuts off cannot be taken back.
            words.take(rate, bits, &places[..places.partition_point(|place| place + 32 < bits)]);
        }
        words
    }

    fn of_table(rate: PhyRate, snr: f64, frames: u64) -> Self {
        let mut sampler = Sampler::new(Tables::shipped(), rate);
        let random = Stream::new(Seed(6), "words");
        let mut words = Self::new(rate);
        for frame in 0..frames {
            let mut places = Vec::new();
            sampler.sample_hits([(12_000, snr)], &mut random.at(frame), |bit| {
                places.push(u64::from(bit));
                true
            });
            words.take(rate, 12_600, &places);
        }
        words
    }

    fn total(&self) -> f64 {
        self.places.iter().sum()
    }

    /// The variance of a count over that of independent errors: those of an event come together.
    fn spread(&self) -> f64 {
        self.squares / self.total()
    }
}

/// χ² of two histograms of which one bit more or less means `spread` of them.
fn chi_square(a: &[f64], b: &[f64], spread: f64) -> f64 {
    let (m, n): (f64, f64) = (a.iter().sum(), b.iter().sum());
    a.iter()
        .zip(b)
        .map(|(a, b)| {
            let share = (a + b) / (m + n);
            (a / m - b / n).powi(2) / (share * spread * (1.0 / m + 1.0 / n))
        })
        .sum()
}

/// The bit errors at the eight places of the words of 11 Mb/s, by a chain that shares nothing with
/// this one, and the bytes that one of its events hits.
const INDEPENDENT: [f64; 8] = [508.0, 442.0, 264.0, 508.0, 233.0, 463.0, 246.0, 479.0];
const INDEPENDENT_BYTES: f64 = 2.29;

#[test]
fn errors_of_802_11b_keep_to_code_words() {
    // χ² at a level of 0.1 %, for 1, 3 and 7 degrees of freedom.
    for (rate, decibels, furthest) in [
        (PhyRate::Dsss2, -3.0, 10.8),
        (PhyRate::Cck5_5, -1.0, 16.3),
        (PhyRate::Cck11, 2.0, 24.3),
        // Between two points of the table.
        (PhyRate::Cck11, 1.3, 24.3),
    ] {
        let snr = crate::decibel::ratio(decibels);
        let chain = Words::of_chain(rate, snr, 120);
        let mut table = Words::of_table(rate, snr, 600);
        let bytes = [&chain, &table].map(|words| words.bytes / words.events);
        // The bytes of an event deviate by about half of one.
        let error = 4.0 * 0.5 / chain.events.sqrt() + 0.02 * bytes[0];
        assert!((bytes[0] - bytes[1]).abs() < error, "{rate}: bytes of an event {bytes:?}");
        // 256 events stand for all, so that more draws from them say no more.
        let events = 256.0_f64.min(table.events);
        table.places.iter_mut().for_each(|count| *count *= events / table.events);
        let found = chi_square(&chain.places, &table.places, chain.spread());
        assert!(found < furthest, "{rate} at {decibels} dB: places are {found} apart");
        if rate == PhyRate::Cck11 {
            let found = chi_square(&INDEPENDENT, &table.places, chain.spread());
            assert!(found < furthest, "{rate}: {found} apart from an independent chain");
        }
        if decibels == 2.0 {
            assert!((bytes[1] - INDEPENDENT_BYTES).abs() < error, "{rate}: {bytes:?}");
        }
    }
}
