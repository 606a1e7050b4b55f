use proptest::collection::{btree_set, vec};
use proptest::prelude::*;

use super::*;

mod patterns;

fn parities() -> impl Strategy<Value = usize> {
    prop_oneof![1_usize..=254, Just(16), Just(32), Just(74), Just(112)]
}

fn codeword(code: &ReedSolomon, data: &[u8]) -> Vec<u8> {
    let mut block = data.to_vec();
    block.resize(data.len() + code.parity(), 0);
    code.encode(&mut block).unwrap();
    block
}

/// A block and what may happen to it: places with what is added there, and erased places.
fn damage(max_errors: fn(usize) -> usize) -> impl Strategy<Value = Case> {
    parities()
        .prop_flat_map(|parity| (Just(parity), vec(any::<u8>(), 1..=255 - parity)))
        .prop_flat_map(move |(parity, data)| {
            let length = data.len() + parity;
            (Just(parity), Just(data), btree_set(0..length, 0..=max_errors(parity).min(length)))
        })
        .prop_flat_map(|(parity, data, places)| {
            let n = places.len();
            (Just(parity), Just(data), Just(places), vec(1..=255_u8, n..=n), any::<u16>())
        })
        .prop_map(|(parity, data, places, values, split)| Case {
            parity,
            data,
            damage: places.into_iter().zip(values).collect(),
            split,
        })
}

#[derive(Clone, Debug)]
struct Case {
    parity: usize,
    data: Vec<u8>,
    damage: Vec<(usize, u8)>,
    split: u16,
}

proptest! {
    //= S3.20
    #[test]
    fn every_mix_within_the_bound_is_corrected(case in damage(|parity| parity)) {
        let code = ReedSolomon::new(case.parity).unwrap();
        let good = codeword(&code, &case.data);
        let mut block = good.clone();
        // As many of the damaged places are errors as the rest, named as erased, leaves room for.
        let total = case.damage.len();
        let most = (case.parity - total).min(total);
        let errors = usize::from(case.split) % (most + 1);
        let errors = if total == 0 { 0 } else { errors };
        let erased = case.damage[errors..].iter();
        let erasures: Vec<u8> = erased.map(|(place, _)| *place as u8).collect();
        for (place, value) in &case.damage {
            block[*place] ^= value;
        }
        let corrected = code.decode(&mut block, &erasures).unwrap();
        prop_assert_eq!(block, good);
        prop_assert_eq!(corrected, Corrected { errors, erasures: total - errors });
    }

    #[test]
    fn all_instructions_give_the_same_bytes(case in damage(|parity| parity)) {
        let mut outcomes = Instructions::available().into_iter().map(|instructions| {
            let code = ReedSolomon::new(case.parity).unwrap().using(instructions).unwrap();
            let mut block = codeword(&code, &case.data);
            let encoded = block.clone();
            for (place, value) in &case.damage {
                block[*place] ^= value;
            }
            let outcome = code.decode(&mut block, &[]);
            (encoded, block, outcome)
        });
        let first = outcomes.next().unwrap();
        prop_assert!(outcomes.all(|other| other == first));
    }

    #[test]
    fn arbitrary_blocks_never_panic_and_success_is_a_codeword(
        parity in parities(),
        mut block in vec(any::<u8>(), 0..300),
        erasures in vec(any::<u8>(), 0..20),
    ) {
        let code = ReedSolomon::new(parity).unwrap();
        let before = block.clone();
        match code.decode(&mut block, &erasures) {
            Ok(_) => prop_assert_eq!(&codeword(&code, &block[..block.len() - parity]), &block),
            Err(_) => prop_assert_eq!(block, before),
        }
    }

    #[test]
    fn many_blocks_equal_one_by_one(
        parity in 1_usize..60,
        data in 1_usize..190,
        blocks in 1_usize..10,
        seed in any::<u64>(),
    ) {
        let code = ReedSolomon::new(parity).unwrap();
        let length = data + parity;
        let mut many: Vec<u8> = pseudorandom(seed).take(length * blocks).collect();
        let mut single = many.clone();
        code.encode_many(&mut many, length).unwrap();
        single.chunks_mut(length).for_each(|block| code.encode(block).unwrap());
        prop_assert_eq!(&many, &single);

        let places: Vec<usize> = pseudorandom(seed ^ 1).map(usize::from).take(blocks * 3).collect();
        for (i, place) in places.iter().enumerate() {
            let at = (i % blocks) * length + place % length;
            many[at] ^= 0x21;
            single[at] ^= 0x21;
        }
        let mut outcomes = Vec::new();
        code.decode_many(&mut many, length, |i, outcome| outcomes.push((i, outcome))).unwrap();
        let expected: Vec<_> =
            single.chunks_mut(length).map(|block| code.decode(block, &[])).enumerate().collect();
        prop_assert_eq!(outcomes, expected);
        prop_assert_eq!(many, single);
    }

    #[test]
    fn the_crate_fec_has_the_same_parity_and_corrects_ours(
        parity in prop_oneof![Just(2_usize), Just(16), Just(32), Just(74), Just(112)],
        parameters in prop_oneof![
            Just(Parameters::default()),
            Just(Parameters { first_root: 1, ..Parameters::default() }),
            Just(Parameters::CCSDS),
        ],
        seed in any::<u64>(),
    ) {
        let Parameters { polynomial, first_root, step } = parameters;
        let code = ReedSolomon::with(parameters, parity).unwrap();
        let data: Vec<u8> = pseudorandom(seed).take(255 - parity).collect();
        let ours = codeword(&code, &data);
        let mut theirs_encoder =
            fec::reed_solomon::Encoder::new(polynomial, first_root, step, parity);
        let mut theirs = vec![0; 255];
        theirs_encoder.encode(&data, &mut theirs).unwrap();
        prop_assert_eq!(&ours, &theirs);

        let mut damaged = ours.clone();
        for place in 0..parity / 2 {
            damaged[(place * 7 + seed as usize % 5) % 255] ^= 0x99;
        }
        let mut decoder = fec::reed_solomon::Decoder::new(polynomial, first_root, step, parity);
        let mut message = vec![0; 255 - parity];
        decoder.decode(&damaged, &mut message).unwrap();
        prop_assert_eq!(&message, &data);
        code.decode(&mut damaged, &[]).unwrap();
        prop_assert_eq!(damaged, ours);
    }
}

fn pseudorandom(seed: u64) -> impl Iterator<Item = u8> {
    let mut state = seed | 1;
    core::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 24) as u8
    })
}

#[test]
fn damage_beyond_the_bound_is_miscorrected_no_more_often_than_theory_says() {
    // McEliece and Swanson (1986): of the words with more errors than t, at most 1/t! decode
    // wrongly.
    for (parity, trials) in [(4_usize, 40_000_u32), (6, 40_000), (8, 40_000)] {
        let code = ReedSolomon::new(parity).unwrap();
        let t = parity / 2;
        let mut random = pseudorandom(parity as u64 * 77);
        let mut wrong = 0_u32;
        for _ in 0..trials {
            // A random word: its distance from every codeword is that of heavy damage.
            let mut block: Vec<u8> = random.by_ref().take(255).collect();
            wrong += u32::from(code.decode(&mut block, &[]).is_ok());
        }
        // The share of words within distance t of a codeword: Σ C(255, i) 255^i / 256^parity.
        let mut ball = 0.0;
        let mut binomial = 1.0;
        for i in 0..=t {
            ball += binomial * 255_f64.powi(i as i32);
            binomial *= (255 - i) as f64 / (i + 1) as f64;
        }
        let expected = ball / 256_f64.powi(parity as i32) * f64::from(trials);
        let sigma = expected.sqrt();
        assert!(
            (f64::from(wrong) - expected).abs() < 5.0 * sigma,
            "parity {parity}: {wrong} of {trials} decoded, expected {expected:.0} ± {sigma:.0}"
        );
    }
}

#[test]
fn one_error_too_many_is_seldom_taken_for_fewer() {
    // McEliece and Swanson (1986): whatever the number of errors beyond t, at most one in t! of
    // the words decodes, and then to a wrong codeword. At t + 1 errors it comes nearest to that.
    for (parity, trials) in [(2_usize, 4_000_u32), (4, 20_000), (6, 40_000), (10, 40_000)] {
        let code = ReedSolomon::new(parity).unwrap();
        let t = parity / 2;
        let mut random = pseudorandom(parity as u64 * 991);
        let good = codeword(&code, &random.by_ref().take(255 - parity).collect::<Vec<u8>>());
        let mut wrong = 0_u32;
        for _ in 0..trials {
            let mut block = good.clone();
            let mut places = std::collections::BTreeSet::new();
            while places.len() <= t {
                places.insert(usize::from(random.next().unwrap()) % 255);
            }
            for place in places {
                block[place] ^= 1 + random.next().unwrap() % 255;
            }
            let damaged = block.clone();
            match code.decode(&mut block, &[]) {
                Ok(_) => wrong += 1,
                Err(_) => assert_eq!(block, damaged),
            }
            assert_ne!(block, good);
        }
        let factorial: u32 = (1..=t as u32).product();
        let most = f64::from(trials) / f64::from(factorial);
        assert!(f64::from(wrong) <= most + 4.0 * most.sqrt(), "{wrong} of {trials}, t = {t}");
    }
}

#[test]
fn impossible_codes_and_blocks_are_refused() {
    assert_eq!(ReedSolomon::new(0).unwrap_err(), CodeError::Parity(0));
    assert_eq!(ReedSolomon::new(255).unwrap_err(), CodeError::Parity(255));
    let step = Parameters { step: 5, ..Parameters::default() };
    assert_eq!(ReedSolomon::with(step, 8).unwrap_err(), CodeError::Step(5));
    let code = ReedSolomon::new(8).unwrap();
    let length = |length| BlockError::Length { length, parity: 8 };
    assert_eq!(code.encode(&mut [0; 8]).unwrap_err(), length(8));
    assert_eq!(code.encode(&mut [0; 256]).unwrap_err(), length(256));
    let remainder = BlockError::Remainder { bytes: 50, block: 20 };
    assert_eq!(code.encode_many(&mut [0; 50], 20).unwrap_err(), remainder);
    let mut block = [1; 20];
    for erasures in [&[20_u8][..], &[3, 3], &[0, 1, 2, 3, 4, 5, 6, 7, 8]] {
        assert_eq!(code.decode(&mut block, erasures).unwrap_err(), Uncorrectable::Erasures);
    }
}

#[test]
fn a_code_says_what_it_is_and_what_does_the_work() {
    let code = ReedSolomon::new(8).unwrap().using(Instructions::Plain).unwrap();
    assert_eq!(format!("{code:?}"), "ReedSolomon { parity: 8, instructions: Plain, .. }");
    assert_eq!(format!("{:?}", code.field), "Field { .. }");
}
