use windfall_base::{Seed, Stream};

use super::*;

/// How much the chips are like the word, turned so many times by a quarter.
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
