use super::air::{LOST, is_wrong};
use super::*;

const SEED: Seed = Seed(7);
const PACKETS: usize = 3_600;
const HEADER_BYTES: i32 = air::HEADER as i32;

fn air(spread: Spread, damaged: f64) -> Air {
    Air { spread, damaged, stream: Stream::new(SEED, spread.name()) }
}

/// The probability that at least `least` of `all` succeed, each with probability `each`.
fn at_least(least: usize, all: usize, each: f64) -> f64 {
    let mut shares = vec![1.0];
    for _ in 0..all {
        let mut next = vec![0.0; shares.len() + 1];
        for (successes, share) in shares.iter().enumerate() {
            next[successes] += share * (1.0 - each);
            next[successes + 1] += share * each;
        }
        shares = next;
    }
    shares[least..].iter().sum()
}

/// Fails unless a share of independent trials lies within four standard deviations.
fn assert_share(found: f64, expected: f64, trials: usize) {
    let deviation = (expected * (1.0 - expected) / trials as f64).sqrt();
    assert!((found - expected).abs() < 4.0 * deviation, "{found} for {expected}, ±{deviation}");
}

/// A frame that is neither lost nor damaged.
fn whole(damaged: f64) -> f64 {
    1.0 - (1.0 + LOST) * damaged
}

#[test]
fn a_code_of_erasures_decodes_as_the_binomial_says() {
    for (damaged, (k, n)) in [(0.1, (8, 12)), (0.2, (8, 12)), (0.3, (8, 12)), (0.1, (8, 10))] {
        let blocks = PACKETS / k;
        let outcome = blocks::dropping(&air(Spread::Bursts, damaged), k, n, blocks);
        let good = whole(damaged);
        assert_share(outcome.decoded_share(), at_least(k, n, good), blocks);
        let usable = good + (1.0 - good) * at_least(k, n - 1, good);
        // Packets of a block share their fate: the trials are blocks.
        assert_share(outcome.usable(), usable, blocks);
        assert_eq!((outcome.poisoned, outcome.wrong), (0, 0));
    }
}

#[test]
fn sub_blocks_decode_as_the_binomial_of_those_that_pass() {
    let (damaged, (k, n)) = (0.3, (8, 10));
    let blocks = PACKETS / k;
    let outcome = blocks::sub_blocks(&air(Spread::AllOver, damaged), k, n, blocks);
    let survives = (1.0 - air::ALL_OVER).powi((blocks::SUB_BLOCK + blocks::CHECK) as i32);
    let passes = whole(damaged) + damaged * survives;
    assert_share(outcome.decoded_share(), at_least(k, n, passes), blocks);
}

#[test]
fn what_is_trusted_is_decoded_if_enough_headers_arrive_and_poisons_what_lacked() {
    let (damaged, (k, n)) = (0.2, (8, 10));
    let blocks = PACKETS / k;
    let outcome = blocks::trusting(&air(Spread::AllOver, damaged), k, n, blocks);
    let headed = (1.0 - air::ALL_OVER).powi(HEADER_BYTES);
    let arrives = whole(damaged) + damaged * headed;
    assert_share(outcome.decoded_share(), at_least(k, n, arrives), blocks);
    assert!(outcome.poisoned_share() > 0.2 && outcome.unmarked() > 0.0, "{outcome:?}");
}

#[test]
fn our_blocks_without_damaged_frames_decode_as_the_binomial_says() {
    let damaged = 0.1;
    let of_block = 9;
    let repairs = 2;
    let code = Code::Block(of_block, repairs);
    let outcome = ours::code_across(&air(Spread::Bursts, damaged), code, PACKETS, false);
    let good = whole(damaged);
    let all = of_block + repairs;
    let usable = good + (1.0 - good) * at_least(of_block, all - 1, good);
    assert_share(outcome.usable(), usable, PACKETS / of_block);
    let with = ours::code_across(&air(Spread::Bursts, damaged), code, PACKETS, true);
    assert!(with.usable() > outcome.usable() && with.wrong == 0, "{with:?}");
}

#[test]
fn a_clean_air_brings_everything_at_once() {
    for spread in Spread::ALL {
        for way in (0..BUDGETS.len()).flat_map(schemes) {
            let outcome = way.send(&air(spread, 0.0), 360, false);
            assert!((outcome.usable() - 1.0).abs() < 1e-12, "{way:?}: {outcome:?}");
            assert!((outcome.delay(1.0) - 0.25).abs() < 1e-9, "{way:?}: {}", outcome.delay(1.0));
        }
    }
}

#[test]
fn both_kinds_of_damage_leave_as_many_sub_blocks() {
    const LEN: usize = 1_120;
    let [bursts, all_over] = Spread::ALL.map(|spread| {
        let air = air(spread, 0.5);
        let mut lost = 0;
        let mut damaged = 0;
        let mut right = 0;
        for number in 0..4_000 {
            let Some(added) = air.frame(number, LEN) else {
                lost += 1;
                continue;
            };
            damaged += usize::from(is_wrong(&added));
            right += added.chunks(32).filter(|part| !is_wrong(part)).count();
        }
        assert_share(f64::from(lost) / 4e3, LOST * 0.5, 4_000);
        assert_share(damaged as f64 / 4e3, 0.5, 4_000);
        right as f64 / (damaged * LEN / 32) as f64
    });
    assert!((bursts - all_over).abs() < 0.03, "{bursts} and {all_over}");
}

#[test]
fn the_budgets_are_equal() {
    let frame = |payload: usize| air::HEADER + payload;
    let checks = air::BYTES / blocks::SUB_BLOCK * blocks::CHECK;
    for budget in 0..BUDGETS.len() {
        let each = schemes(budget).into_iter().take(ON_TOP).map(|scheme| {
            let (frames, bytes) = match scheme.way {
                Way::Dropping(code) | Way::Trusting(code) => {
                    (code.1 as f64 / code.0 as f64, frame(air::BYTES))
                }
                Way::SubBlocks((k, n)) => (n as f64 / k as f64, frame(air::BYTES + checks)),
                Way::Ours(Code::Block(of_block, repairs)) => {
                    (1.0 + repairs as f64 / of_block as f64, frame(air::BYTES + TRAILER_LEN))
                }
                Way::Ours(Code::Window(_, share, _)) => {
                    (1.0 + share, frame(air::BYTES + TRAILER_LEN))
                }
            };
            frames * bytes as f64 / frame(air::BYTES) as f64
        });
        let each: Vec<f64> = each.collect();
        assert!(each.iter().all(|it| (it - each[0]).abs() < 0.01 * each[0]), "{each:?}");
    }
}

//= S0.66
#[test]
fn the_verdicts_are_those_on_record_and_others_without_damaged_frames() {
    let run = |is_mutated| {
        let context = Context { is_mutated, ..Context::simulated(Extent::Quick, Seed(1)) };
        FIGURE.run(&context).unwrap()
    };
    let measured = run(false);
    assert!(measured.is_as_recorded(), "{}", measured.to_text());
    let rows = Spread::ALL.len() * BUDGETS.len() * DAMAGED.len() * schemes(0).len();
    assert_eq!(measured.tables[0].1.rows().len(), rows);
    let mutated = run(true);
    assert!(!mutated.is_as_recorded(), "{}", mutated.to_text());
}
