use windfall_base::{Seed, Stream};

use super::*;

/// Correlates the chips with the word, turned by `turn` quarters.
fn likeness(chips: &[Complex; 8], word: &[u8; 8], turn: u8) -> f64 {
    word.iter().zip(chips).map(|(turns, chip)| turned(*chip, 8 - turns - turn).0).sum()
}

#[test]
fn the_fast_transform_chooses_as_a_comparison_with_each_word() {
    let mut noise = Stream::new(Seed(1), "chips");
    for bits in [4, 8] {
        let words = Words::new(bits).unwrap();
        for _ in 0..1_000 {
            let chips = std::array::from_fn(|_| (normal(&mut noise), normal(&mut noise)));
            let (index, turn) = words.likeliest(&chips);
            let found = likeness(&chips, &words.words[index], turn);
            let all = words.words.iter().flat_map(|word| (0..4).map(move |turn| (word, turn)));
            let best =
                all.map(|(word, turn)| likeness(&chips, word, turn)).fold(f64::MIN, f64::max);
            assert!((found - best).abs() < 1e-9, "{bits} bits: {found}, the best is {best}");
        }
    }
}

/// The share of words at 5.5 Mb/s that are taken wrong when `disturb` adds to their chips.
fn wrong_words(count: usize, mut disturb: impl FnMut(&mut [Complex; 8], &mut Stream)) -> f64 {
    let words = Words::new(4).unwrap();
    let random = &mut Stream::new(Seed(2), "words");
    let wrong = (0..count).filter(|_| {
        let index = random.below(4) as usize;
        let turn = random.below(4) as u8;
        let mut chips = words.words[index].map(|turns| turned((1.0, 0.0), turns + turn));
        disturb(&mut chips, random);
        words.likeliest(&chips) != (index, turn)
    });
    wrong.count() as f64 / count as f64
}

#[test]
fn a_frame_of_equal_strength_disturbs_words_as_noise_a_third_stronger_does_or_more() {
    const WORDS: usize = 60_000;
    // A filter for chips passes half of white noise in 22 MHz.
    let white = |power: f64| {
        let deviation = (power / 4.0).sqrt();
        wrong_words(WORDS, |chips, random| {
            for (re, im) in chips {
                *re += deviation * normal(random);
                *im += deviation * normal(random);
            }
        })
    };
    let other = Words::new(4).unwrap();
    let mut passed = 0.0;
    // Each chip of the receiver meets two of the other frame, whose clock and phase are its own.
    let frame = wrong_words(WORDS, |chips, random| {
        let mut sent = Vec::with_capacity(24);
        for _ in 0..3 {
            let word = other.words[random.below(4) as usize];
            let turn = random.below(4) as u8;
            sent.extend(word.map(|turns| turned((1.0, 0.0), turns + turn)));
        }
        let late = random.unit();
        let first = random.below(8) as usize;
        let (sine, cosine) = (random.unit() * core::f64::consts::TAU).sin_cos();
        for (chip, pair) in chips.iter_mut().zip(sent[first..].windows(2)) {
            let re = (1.0 - late) * pair[0].0 + late * pair[1].0;
            let im = (1.0 - late) * pair[0].1 + late * pair[1].1;
            *chip = sum(*chip, (re * cosine - im * sine, re * sine + im * cosine));
            passed += re * re + im * im;
        }
    });
    let passed = passed / (8 * WORDS) as f64;
    // Neighbouring chips of a word are not wholly independent.
    assert!((passed - 2.0 / 3.0).abs() < 0.02, "{passed} of the power passes");
    let [as_strong, stronger] = [white(1.0), white(4.0 / 3.0)];
    println!("{frame} of the words wrong; in noise {as_strong}, a third stronger {stronger}");
    assert!(frame > stronger && stronger > 4.0 * as_strong, "{frame} {stronger} {as_strong}");
}
