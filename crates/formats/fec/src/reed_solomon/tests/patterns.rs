//! Every pattern of damage to short blocks, and single ones for each width of the work arrays.

use super::*;

/// The roots of the generator, by the definition.
fn roots(field: &Field, parameters: Parameters, parity: usize) -> Vec<u8> {
    let exponent = |i| i64::from(parameters.step) * (i64::from(parameters.first_root) + i);
    (0..parity as i64).map(|i| field.power(exponent(i))).collect()
}

/// Tells whether the block, a polynomial whose last byte is its constant term, has all the roots.
fn is_codeword(field: &Field, roots: &[u8], block: &[u8]) -> bool {
    let value = |root| block.iter().fold(0, |sum, &byte| field.mul(sum, root) ^ byte);
    roots.iter().all(|&root| value(root) == 0)
}

/// The one codeword that differs from `block` in one byte at most, by trying them all.
fn nearest(field: &Field, roots: &[u8], block: &[u8]) -> Option<Vec<u8>> {
    let tries = (0..block.len()).flat_map(|place| (0..=255).map(move |value| (place, value)));
    let mut others = tries.map(|(place, value)| {
        let mut other = block.to_vec();
        other[place] ^= value;
        other
    });
    others.find(|other| is_codeword(field, roots, other))
}

/// The code done by each of the instructions there are.
fn codes(parameters: Parameters, parity: usize) -> impl Iterator<Item = ReedSolomon> {
    Instructions::available().into_iter().map(move |instructions| {
        ReedSolomon::with(parameters, parity).unwrap().using(instructions).unwrap()
    })
}

//= S3.18
#[test]
fn a_block_with_its_parity_has_the_roots_of_the_generator() {
    for (parameters, parity) in [
        (Parameters::default(), 1),
        (Parameters { first_root: 1, ..Parameters::default() }, 7),
        (Parameters::CCSDS, 32),
        (Parameters::default(), 33),
        (Parameters::CCSDS, 65),
        (Parameters::default(), 97),
        (Parameters::default(), 129),
        (Parameters::default(), 254),
    ] {
        for code in codes(parameters, parity) {
            let roots = roots(&code.field, parameters, parity);
            // Whole steps of the division, one byte more, one less, and the longest.
            for data in [1, 7, 8, 9, 255 - parity].into_iter().filter(|data| data + parity <= 255) {
                let data: Vec<u8> = pseudorandom(data as u64 + 5).take(data).collect();
                let block = codeword(&code, &data);
                assert_eq!(block[..data.len()], data);
                assert!(is_codeword(&code.field, &roots, &block), "{code:?} {}", data.len());
            }
        }
    }
}

//= S3.20
#[test]
fn a_short_block_comes_back_from_every_pattern_within_the_bound() {
    const LENGTH: usize = 9;
    for code in codes(Parameters::default(), 4) {
        let good = codeword(&code, &[0x12, 0, 0xff, 7, 0x80]);
        for pattern in 0..3_usize.pow(LENGTH as u32) {
            // Each place is right, wrong, or wrong and named as erased.
            let kind = |place: usize| pattern / 3_usize.pow(place as u32) % 3;
            let count = |which| (0..LENGTH).filter(|&place| kind(place) == which).count();
            let errors = count(1);
            let erased = count(2);
            if 2 * errors + erased > 4 {
                continue;
            }
            let mut block = good.clone();
            let damaged = (0..LENGTH).filter(|&place| kind(place) != 0);
            damaged.for_each(|place| block[place] ^= (pattern * 7 + place) as u8 | 1);
            let erasures: Vec<u8> =
                (0..LENGTH).filter(|&place| kind(place) == 2).map(|place| place as u8).collect();
            let outcome = code.decode(&mut block, &erasures);
            assert_eq!(outcome, Ok(Corrected { errors, erasures: erased }), "{pattern}");
            assert_eq!(block, good);
        }
    }
}

//= S3.20
#[test]
fn of_the_words_with_two_errors_those_near_another_codeword_are_taken_for_it() {
    let parity = 2;
    for code in codes(Parameters::CCSDS, parity) {
        let roots = roots(&code.field, Parameters::CCSDS, parity);
        let good = codeword(&code, &[3, 0x55, 0xaa, 9]);
        let mut wrong = 0;
        for value in 1..60_u8 {
            let mut block = good.clone();
            let one = usize::from(value) % 6;
            let other = (usize::from(value) / 6 + 1) % 6;
            block[one] ^= value;
            block[other] ^= value.rotate_left(3) | u8::from(one == other);
            let expected = nearest(&code.field, &roots, &block);
            let before = block.clone();
            let outcome = code.decode(&mut block, &[]);
            wrong += u32::from(outcome.is_err());
            assert_eq!(outcome.is_ok(), expected.is_some(), "{value}");
            assert_eq!(block, expected.unwrap_or(before));
        }
        assert!(wrong > 10, "{wrong}");
    }
}

/// Every `step`-th place of a block, `count` of them.
fn places(length: usize, step: usize, count: usize) -> Vec<usize> {
    (0..count).map(|i| i * step % length).collect()
}

//= S3.20
#[test]
fn every_width_corrects_as_much_as_its_parity_allows() {
    for parity in [1, 2, 15, 16, 31, 32, 33, 43, 64, 65, 74, 86, 96, 112, 128, 129, 200, 254] {
        for code in codes(Parameters::default(), parity) {
            for length in [255, parity + 1] {
                let data: Vec<u8> = pseudorandom(parity as u64).take(length - parity).collect();
                let good = codeword(&code, &data);
                // Errors alone, erasures alone, and some of both.
                for erased in [0, parity, parity / 3] {
                    let errors = (parity - erased) / 2;
                    // No places twice: 7 and 255 have no common factor.
                    let step = if length == 255 { 7 } else { 1 };
                    let places = places(length, step, errors + erased);
                    let mut block = good.clone();
                    places.iter().for_each(|&place| block[place] ^= place as u8 | 1);
                    let erasures: Vec<u8> =
                        places[errors..].iter().map(|&place| place as u8).collect();
                    let outcome = code.decode(&mut block, &erasures);
                    let expected = Ok(Corrected { errors, erasures: erased });
                    assert_eq!(outcome, expected, "{code:?} length {length}");
                    assert_eq!(block, good);
                }
            }
        }
    }
}

#[test]
fn a_row_of_errors_too_long_is_reported_and_left() {
    for parity in [6, 16, 32, 64, 112] {
        for code in codes(Parameters::default(), parity) {
            let data: Vec<u8> = pseudorandom(3).take(100).collect();
            let mut block = codeword(&code, &data);
            block[20..=20 + parity / 2].iter_mut().for_each(|byte| *byte ^= 0x3c);
            let before = block.clone();
            assert_eq!(code.decode(&mut block, &[]), Err(Uncorrectable::TooManyErrors));
            assert_eq!(block, before);
        }
    }
}

#[test]
fn an_erased_place_that_was_right_counts_as_erased_and_stays() {
    let code = ReedSolomon::new(6).unwrap();
    assert_eq!((code.parity(), code.correctable()), (6, 3));
    let good = codeword(&code, &[1; 40]);
    let mut block = good.clone();
    // 33 and 1 stand in different words of the table of erased places, at the same bit.
    assert_eq!(code.decode(&mut block, &[33, 1]), Ok(Corrected { errors: 0, erasures: 2 }));
    block[5] ^= 1;
    assert_eq!(code.decode(&mut block, &[33, 1]), Ok(Corrected { errors: 1, erasures: 2 }));
    assert_eq!(block, good);
    assert_eq!(code.decode(&mut block, &[1, 33, 1]), Err(Uncorrectable::Erasures));
}

#[test]
fn blocks_side_by_side_are_as_if_each_were_alone() {
    for code in codes(Parameters::default(), 10) {
        let length = 30;
        for blocks in [1, 2, 5, 6, 12] {
            let mut many: Vec<u8> = pseudorandom(9).take(blocks * length).collect();
            let good: Vec<u8> =
                many.chunks(length).flat_map(|block| codeword(&code, &block[..20])).collect();
            code.encode_many(&mut many, length).unwrap();
            assert_eq!(many, good);
            // Block i has i % 6 errors.
            for (i, block) in many.chunks_mut(length).enumerate() {
                block[..i % 6].iter_mut().for_each(|byte| *byte ^= 0x40 | i as u8);
            }
            let mut outcomes = Vec::new();
            code.decode_many(&mut many, length, |i, outcome| outcomes.push((i, outcome))).unwrap();
            let expected: Vec<_> =
                (0..blocks).map(|i| (i, Ok(Corrected { errors: i % 6, erasures: 0 }))).collect();
            assert_eq!(outcomes, expected);
            assert_eq!(many, good);
        }
    }
}
