use super::*;

/// The WaveLAN of paper 003: 842 kb/s.
const COST: Cost =
    Cost { per_frame: Duration::from_micros(900), per_byte: Duration::from_nanos(9_508) };

fn best() -> Best {
    Best::new(COST)
}

fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-9 * expected.max(1.0), "{found}, not {expected}");
}

fn coded(blocks: u8, level: Level) -> Plan {
    Plan { blocks, level, whole: false, uncoded: false }
}

const UNCODED: Plan = Plan { blocks: 1, level: Level::NONE, whole: false, uncoded: true };

/// The probability that a packet of `frames` frames is complete in time.
fn saves(frames: usize, all: f64, millis: Option<u64>, tries: Option<u32>) -> f64 {
    let promise = Promise { plan: UNCODED, bytes: 0.0, seconds: 0.01, frames, all };
    promise.saves(&Request {
        bytes: 1_000,
        time_left: millis.map(Duration::from_millis),
        is_scarce: false,
        round_trip: Duration::ZERO,
        tries_left: tries,
        welcomes_damage: false,
        may_be_uncoded: false,
    })
}

//= S3.45
#[test]
fn a_packet_is_saved_if_enough_of_its_chances_succeed() {
    // Frames of 10 ms: one of two, two of three, three of four.
    close(saves(1, 0.9, Some(20), None), 0.99);
    close(saves(2, 0.5, Some(39), None), 0.5);
    close(saves(3, 0.8, None, Some(4)), 4.0 * 0.512 * 0.2 + 0.4096);
    // The shorter of the two limits counts.
    close(saves(1, 0.9, Some(25), Some(1)), 0.9);
    close(saves(1, 0.9, Some(10), Some(7)), 0.9);
    // Just as many chances as frames: all must succeed; with fewer there is no hope.
    close(saves(3, 0.8, None, Some(3)), 0.512);
    close(saves(3, 0.8, None, Some(2)), 0.0);
    close(saves(3, 1.0, None, Some(2)), 0.0);
    close(saves(2, 1.0, Some(20), None), 1.0);
    close(saves(2, 0.0, Some(200), None), 0.0);
}

#[test]
fn a_frame_completes_a_packet_only_if_it_carries_the_rest_of_it() {
    let promise = |frames| Promise { plan: UNCODED, bytes: 9.0, seconds: 1.0, frames, all: 0.7 };
    close(promise(1).completes(), 0.7);
    close(promise(2).completes(), 0.0);
}

#[test]
fn on_clean_air_a_frame_promises_all_that_it_carries_for_its_air_time() {
    let seconds = |bytes: usize| 900e-6 + bytes as f64 * 9_508e-9;
    // 1 504 bytes: five blocks of 253 carry 1 265 of them, with a check of 2 bytes in each.
    let promise = best().promise(1_504, coded(5, Level::NONE), 1.0);
    close(promise.bytes, 1_265.0);
    close(promise.seconds, seconds(1_265 + 5 * 2));
    close(promise.all, 1.0);
    assert_eq!(promise.frames, 2);
    // Their rest, and no more blocks than it needs, with 74 bytes of parity in each.
    let promise = best().promise(239, coded(5, Level::ROBUST), 1.0);
    close(promise.bytes, 239.0);
    close(promise.seconds, seconds(239 + 2 * (2 + 74)));
    assert_eq!(promise.frames, 1);
    // Of ten blocks two frames of five; of one more byte three.
    let frames = |bytes| best().promise(bytes, coded(5, Level::NONE), 1.0).frames;
    assert_eq!((frames(2_530), frames(2_531)), (2, 3));
    // Uncoded: all at once, with one check.
    let promise = best().promise(1_504, UNCODED, 1.0);
    close(promise.bytes, 1_504.0);
    close(promise.seconds, seconds(1_504 + 2));
    assert_eq!(promise.frames, 1);
}

#[test]
fn a_frame_comes_whole_if_all_its_blocks_do() {
    // Of blocks with a chance of 0.9 each: three, and as many as an uncoded frame is long.
    let promise = best().promise(700, coded(5, Level::NONE), 0.9);
    close(promise.all, 0.729);
    close(promise.bytes, 630.0);
    let promise = best().promise(700, UNCODED, 0.9);
    close(promise.all, 0.729);
    close(promise.bytes, 700.0 * 0.729);
}

#[test]
fn a_frame_after_a_lost_one_is_taken_to_be_lost_as_often_as_such_were() {
    let mut best = best();
    let request = Request {
        bytes: 506,
        time_left: None,
        is_scarce: false,
        round_trip: Duration::ZERO,
        tries_left: None,
        welcomes_damage: false,
        may_be_uncoded: false,
    };
    for _ in 0..2 {
        let plan = best.plan(&request).expect("there is no deadline");
        best.learn(plan, 506, Outcome::Silence);
    }
    // One after a frame that was not lost, one after one that was: a third each with the prior.
    let promise = best.promise(506, coded(2, Level::NONE), 1.0);
    close(promise.all, 2.0 / 3.0);
    close(promise.bytes, 506.0 * 2.0 / 3.0);
    let promise = best.promise(506, UNCODED, 1.0);
    close(promise.all, 2.0 / 3.0);
}

#[test]
fn parity_makes_up_for_its_share_of_the_cuts() {
    // Every third frame is cut: by frame anywhere, by place in the second of two blocks.
    let mut best = best();
    let level = Level::ROBUST;
    best.cuts.learn(Level::NONE, 253, &[Fate::Good(0), Fate::Missing]);
    best.cuts.learn(Level::NONE, 253, &[Fate::Good(0), Fate::Good(0)]);
    let reached = best.cuts.reached(2);
    let promise = best.promise(2 * level.data(), coded(2, level), 1.0);
    let mended = 74.0 / 255.0;
    let first = reached[0] + (1.0 - reached[0]) * mended;
    let second = reached[1] + (reached[0] - reached[1]) * mended;
    close(promise.all, second);
    close(promise.bytes, level.data() as f64 * (first + second));
}

#[test]
fn what_a_frame_gained_and_cost_is_the_price_of_air_time() {
    // 400 bytes in two blocks, of which the second, of 147 bytes, arrives.
    let mut best = best();
    let before = best.gained;
    best.learn_worth(coded(5, Level::NONE), 400, &[Fate::Failed, Fate::Good(3)]);
    close(best.gained.0, 0.99 * before.0 + 147.0);
    close(best.gained.1, 0.99 * before.1 + COST.of(400 + 2 * 2).as_secs_f64());
    // One block of 179 bytes with parity, of a longer packet, and damaged but welcome.
    let before = best.gained;
    best.learn_worth(coded(1, Level::ROBUST), 179, &[Fate::Damaged]);
    close(best.gained.0, 0.99 * before.0 + 179.0);
    close(best.gained.1, 0.99 * before.1 + COST.of(255).as_secs_f64());
    // Uncoded, and all of it there.
    let before = best.gained;
    best.learn_worth(UNCODED, 400, &[Fate::Good(0)]);
    close(best.gained.0, 0.99 * before.0 + 400.0);
    close(best.gained.1, 0.99 * before.1 + COST.of(402).as_secs_f64());
}

#[test]
fn the_blocks_of_a_frame_that_was_not_cut_are_learned_from_uncoded_ones_too() {
    // An uncoded frame of 700 bytes tells as much as one of three blocks, the last of 194 bytes.
    let [mut uncoded, mut blocks] = [best(), best()];
    for best in [&mut uncoded, &mut blocks] {
        best.cuts.learn(Level::NONE, 253, &[Fate::Good(0), Fate::Missing, Fate::Missing]);
        best.cuts.learn(Level::NONE, 253, &[Fate::Good(0); 3]);
    }
    uncoded.learn_uncoded(700, &[Fate::Good(0)]);
    let three = [Fate::Good(0); 3];
    blocks.cuts.learn(Level::NONE, 194, &three);
    blocks.learn_blocks(Level::NONE, &three);
    assert_eq!(uncoded.cuts.reached(3), blocks.cuts.reached(3));
    assert_eq!(uncoded.survival(), blocks.survival());
}

#[test]
fn the_worst_block_of_a_frame_says_what_the_next_one_needs() {
    let mut best = best();
    let level = Level::correcting(20);
    best.learn_blocks(level, &[Fate::Good(0), Fate::Good(9), Fate::Good(0)]);
    assert_eq!(best.last, Level::correcting(9));
    best.learn_blocks(level, &[Fate::Good(0), Fate::Failed]);
    assert_eq!(best.last, level.stronger());
    // What was cut off teaches nothing.
    best.learn_blocks(level, &[Fate::Missing]);
    assert_eq!(best.last, level.stronger());
}

#[test]
fn a_frame_that_can_just_arrive_is_sent() {
    let request = |time_left| Request {
        bytes: 253,
        time_left: Some(time_left),
        is_scarce: false,
        round_trip: Duration::ZERO,
        tries_left: None,
        welcomes_damage: false,
        may_be_uncoded: false,
    };
    let needed = COST.of(255);
    assert!(best().plan(&request(needed)).is_some());
    assert!(best().plan(&request(needed - Duration::from_nanos(1))).is_none());
}
