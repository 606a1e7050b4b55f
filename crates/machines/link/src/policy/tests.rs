use windfall_base::{Duration, Seed, Stream};

use super::*;

const COST: Cost =
    Cost { per_frame: Duration::from_micros(900), per_byte: Duration::from_nanos(9_508) };

pub(super) const REQUEST: Request = Request {
    bytes: 1_504,
    packet: 1_200,
    time_left: None,
    is_scarce: false,
    round_trip: Duration::ZERO,
    tries_left: None,
    welcomes_damage: false,
    may_be_uncoded: false,
};

/// Lets a policy choose and report `frames` frames, all blocks of the same fate.
fn feed(policy: &mut dyn Policy, frames: usize, fate: impl Fn(Plan, u8) -> Fate) -> Plan {
    for _ in 0..frames {
        let plan = policy.plan(&REQUEST).unwrap();
        let fates: Vec<Fate> = (0..plan.blocks).map(|index| fate(plan, index)).collect();
        policy.learn(plan, carried(plan), Outcome::Report(&fates));
    }
    policy.plan(&REQUEST).unwrap()
}

/// Returns the bytes that a frame carries of a long packet.
fn carried(plan: Plan) -> usize {
    let coded = usize::from(plan.blocks) * plan.level.data();
    if plan.uncoded { REQUEST.bytes } else { REQUEST.bytes.min(coded) }
}

/// A block with `symbols` wrong symbols.
fn wrong(plan: Plan, symbols: usize) -> Fate {
    if plan.level.correctable() >= symbols { Fate::Good(symbols as u8) } else { Fate::Failed }
}

#[test]
fn names_are_read_as_they_are_written() {
    for kind in PolicyKind::ALL.into_iter().chain([PolicyKind::FlexWhole]) {
        assert_eq!(kind.to_string().parse(), Ok(kind));
    }
    let message = "brave".parse::<PolicyKind>().unwrap_err().to_string();
    assert_eq!(
        message,
        "policy \"brave\": write bold, light, robust, flex or best, or a file that ends in .toml"
    );
}

#[test]
fn policies_of_other_crates_are_told_apart_by_their_names() {
    let own = |name| PolicyChoice::Own(OwnPolicy { name, build: |_| Box::new(Flex::default()) });
    assert_eq!(own("one"), own("one"));
    assert_ne!(own("one"), own("other"));
    assert_ne!(own("flex"), PolicyChoice::Named(PolicyKind::Flex));
}

#[test]
fn flex_repeats_failed_blocks_or_whole_frames() {
    let repeats = |kind: PolicyKind| kind.build(COST).plan(&REQUEST).map(|plan| plan.whole);
    assert_eq!(repeats(PolicyKind::Flex), Some(false));
    assert_eq!(repeats(PolicyKind::FlexWhole), Some(true));
}

//= S3.21
#[test]
fn flex_adapts_size_and_parity_independently() {
    let mut flex = Flex::default();
    let coded = feed(&mut flex, 12, |plan, _| wrong(plan, 9));
    assert_eq!((coded.blocks, coded.level), (5, Level::correcting(9)));
    let short = feed(&mut flex, 6, |plan, index| match index {
        _ if plan.blocks > 1 && (index + 1) * 2 > plan.blocks => Fate::Missing,
        _ => Fate::Good(9),
    });
    assert_eq!((short.blocks, short.level), (1, Level::correcting(9)));
    let long = feed(&mut flex, 40, |plan, _| wrong(plan, 0));
    assert_eq!((long.blocks, long.level), (5, Level::NONE));
}

//= S3.21
#[test]
fn flex_responds_within_tens_of_milliseconds() {
    // Frames of five blocks take 13 ms. Three of them lead from no parity to the need of nine
    // symbols.
    let mut flex = Flex::default();
    let mut frames = 0;
    while flex.plan(&REQUEST).unwrap().level < Level::correcting(9) {
        feed(&mut flex, 1, |plan, _| wrong(plan, 9));
        frames += 1;
    }
    assert!(frames <= 3, "{frames}");
}

/// Frames of the same fates, one after the other; gives the blocks of each next one.
fn sizes(flex: &mut Flex, frames: usize, fates: &[Fate]) -> Vec<u8> {
    let next = |_| {
        let plan = flex.plan(&REQUEST).unwrap();
        flex.learn(plan, carried(plan), Outcome::Report(fates));
        flex.plan(&REQUEST).unwrap().blocks
    };
    (0..frames).map(next).collect()
}

const GOOD: Fate = Fate::Good(0);
const CUT: Fate = Fate::Missing;

//= S3.21
#[test]
fn flex_halves_frames_after_two_bad_cuts_and_lets_them_grow_after_four_good_ones() {
    let mut flex = Flex::default();
    // However long the link was good before.
    assert_eq!(sizes(&mut flex, 50, &[GOOD; 5]), [5; 50]);
    let half = [GOOD, GOOD, CUT, CUT, CUT];
    assert_eq!(sizes(&mut flex, 2, &half), [5, 2]);
    assert_eq!(sizes(&mut flex, 5, &[GOOD; 2]), [2, 2, 2, 3, 3]);
    // Less than half of a frame is not worth more overhead.
    assert_eq!(sizes(&mut flex, 8, &[GOOD, GOOD, CUT]), [3; 8]);
}

//= S3.21
#[test]
fn flex_keeps_frames_short_while_long_ones_are_cut() {
    let mut flex = Flex::default();
    let blocks = sizes(&mut flex, 40, &[GOOD, GOOD, CUT, CUT, CUT]);
    assert_eq!(blocks[..4], [5, 2, 2, 1]);
    assert_eq!(blocks[4..], [1; 36]);
}

//= S3.21
#[test]
fn flex_grows_when_frames_of_one_block_fare_no_better() {
    // Each that follows a cut and is cut lowers what short frames keep by a tenth; below two
    // thirds, after four, they are not worth their overhead.
    assert_eq!(sizes(&mut Flex::default(), 8, &[CUT]), [5, 2, 2, 1, 2, 3, 4, 5]);
}

//= S3.21
#[test]
fn flex_gives_up_parity_that_is_not_needed_any_more() {
    let mut flex = Flex::default();
    let strong = feed(&mut flex, 60, |plan, _| wrong(plan, 60));
    assert_eq!(strong.level, Level::correcting(60));
    let mut levels = Vec::new();
    for _ in 0..200 {
        levels.push(feed(&mut flex, 1, |plan, _| wrong(plan, 0)).level);
    }
    assert!(levels.is_sorted_by(|a, b| a >= b), "{levels:?}");
    assert_eq!(levels[20], Level::NONE, "{levels:?}");
}

//= S3.21
/// If half of the frames are damaged throughout, to repeat them costs less than parity in all of
/// them. The strongest parity is tried now and then, and no level between.
#[test]
fn parity_is_compared_with_repetition() {
    for (kind, most) in [(PolicyKind::Flex, 0.15), (PolicyKind::Best, 0.15)] {
        for symbols in [60, 70] {
            let mut policy = kind.build(COST);
            let mut random = Stream::new(Seed(5), "frames");
            let mut coded = 0;
            for frame in 0..2_000 {
                let plan = policy.plan(&REQUEST).unwrap();
                let is_damaged = random.unit() < 0.45;
                let fates =
                    vec![wrong(plan, if is_damaged { symbols } else { 0 }); plan.blocks.into()];
                policy.learn(plan, carried(plan), Outcome::Report(&fates));
                coded += u32::from(frame >= 200 && plan.level > Level::NONE);
            }
            let share = f64::from(coded) / 1_800.0;
            println!("{kind}, {symbols} symbols: {share} of the frames have parity");
            assert!(share < most, "{kind}, {symbols}: {share}");
        }
    }
}

/// Reports frames of which every fifth block is destroyed, whatever its parity; gives the
/// mean share of blocks that the levels leave for data.
fn destroyed(policy: &mut dyn Policy, frames: usize) -> f64 {
    let mut block = 0;
    let mut data = 0;
    for _ in 0..frames {
        let plan = policy.plan(&REQUEST).unwrap();
        let fates: Vec<Fate> = (0..plan.blocks)
            .map(|_| {
                block += 1;
                if block % 5 == 0 { Fate::Failed } else { Fate::Good(0) }
            })
            .collect();
        policy.learn(plan, carried(plan), Outcome::Report(&fates));
        data += plan.level.data();
    }
    data as f64 / (frames * Level::NONE.data()) as f64
}

//= S3.21
#[test]
fn a_block_that_no_code_could_have_saved_is_no_demand_for_parity() {
    for kind in [PolicyKind::Flex, PolicyKind::Best] {
        let mut policy = kind.build(COST);
        destroyed(&mut *policy, 40);
        let left = destroyed(&mut *policy, 400);
        assert!(left > 0.97, "{kind} leaves {left} for data");
        // If parity helps again, it returns.
        let plan = feed(&mut *policy, 40, |plan, _| wrong(plan, 20));
        assert_eq!(plan.level, Level::correcting(20), "{kind}");
    }
}

//= S3.21
#[test]
fn damage_beyond_any_code_costs_flex_no_more_than_a_few_per_cent() {
    // Half of the blocks are destroyed, and the others need LIGHT.
    let mut flex = Flex::default();
    let mut data = |frames| {
        let mut data = 0;
        for _ in 0..frames {
            let plan = flex.plan(&REQUEST).unwrap();
            let fates = [0, 9_000, 0, 9_000, 0].map(|symbols| wrong(plan, symbols + 4));
            flex.learn(plan, carried(plan), Outcome::Report(&fates));
            data += if plan.level < Level::LIGHT { 0 } else { plan.level.data() };
        }
        data as f64 / (frames * Level::LIGHT.data()) as f64
    };
    data(100);
    let share = data(1_000);
    assert!(share > 0.97, "{share}");
}

//= S3.21
#[test]
fn spells_that_no_code_mends_leave_level_and_length_alone() {
    // Thirty frames without a good block and thirty whose blocks need LIGHT, again and again.
    for kind in [PolicyKind::Flex, PolicyKind::Best] {
        let mut policy = kind.build(COST);
        let mut good = Vec::new();
        for turn in 0..1_800 {
            let plan = policy.plan(&REQUEST).unwrap();
            let is_spell = turn % 60 < 30;
            let fates = vec![wrong(plan, if is_spell { 9_000 } else { 4 }); plan.blocks.into()];
            policy.learn(plan, carried(plan), Outcome::Report(&fates));
            if turn >= 600 && !is_spell {
                good.push((plan.blocks, plan.level));
            }
        }
        let alike = good.iter().filter(|plan| **plan == (5, Level::LIGHT)).count();
        assert!(alike * 100 >= good.len() * 97, "{kind}: {alike} of {}", good.len());
    }
}

//= S3.21
#[test]
fn flex_spends_parity_on_every_fifth_block_of_long_frames() {
    // Twelve wrong symbols in one of five blocks: 26 bytes of parity in each cost a tenth.
    let fate = |plan: Plan, index| if index == 0 { wrong(plan, 12) } else { Fate::Good(0) };
    let plan = feed(&mut Flex::default(), 400, fate);
    assert_eq!(plan.level, Level::correcting(12));
}

//= S3.21
#[test]
fn flex_mends_the_cuts_of_short_frames_where_nearly_all_are_cut() {
    let mut flex = Flex::default();
    cut_anywhere(&mut flex, 0.95, 200);
    // A rest that fills less than a block has parity, and the long frames before it have none.
    assert_eq!(flex.plan(&REQUEST).unwrap().level, Level::NONE);
    let rest = flex.plan(&Request { bytes: 239, ..REQUEST }).unwrap();
    assert!(rest.level > Level::ROBUST, "{rest:?}");
    // The strongest would carry no more than 54 bytes of it.
    assert!(rest.level < Level::STRONGEST, "{rest:?}");
    // If no block is truncated, it has no parity.
    let mut flex = Flex::default();
    cut_anywhere(&mut flex, 0.0, 200);
    assert_eq!(flex.plan(&Request { bytes: 239, ..REQUEST }).unwrap().level, Level::NONE);
}

/// Reports frames of which a share is cut short anywhere, however long they are.
fn cut_anywhere(policy: &mut dyn Policy, share: f64, frames: usize) -> Vec<u8> {
    let mut random = Stream::new(Seed(4), "cuts");
    let mut blocks = Vec::new();
    for _ in 0..frames {
        let plan = policy.plan(&REQUEST).unwrap();
        // Five blocks of a packet of six, and the sixth in a frame of one block.
        for len in [plan.blocks, 1] {
            let cut = (random.unit() < share).then(|| random.below(len.into()) as u8);
            let fates: Vec<Fate> =
                (0..len)
                    .map(|at| {
                        if cut.is_some_and(|cut| at >= cut) { Fate::Missing } else { Fate::Good(0) }
                    })
                    .collect();
            policy.learn(plan, carried(plan), Outcome::Report(&fates));
        }
        blocks.push(plan.blocks);
    }
    blocks
}

//= S3.21
#[test]
fn frames_stay_long_where_short_ones_are_cut_as_often() {
    for kind in [PolicyKind::Flex, PolicyKind::Best] {
        let mut policy = kind.build(COST);
        cut_anywhere(&mut *policy, 0.5, 100);
        let blocks = cut_anywhere(&mut *policy, 0.5, 300);
        let mean = blocks.iter().map(|n| f64::from(*n)).sum::<f64>() / 300.0;
        assert!(mean > 4.5, "{kind}: {mean} blocks");
    }
}

/// Returns a request for which a frame may be uncoded.
const ANY: Request = Request { may_be_uncoded: true, ..REQUEST };

/// Plans one frame and reports what `fate` says of each block, or of the uncoded frame.
fn step(policy: &mut dyn Policy, fate: impl Fn(Plan) -> Fate) -> Plan {
    let plan = policy.plan(&ANY).unwrap();
    let fates = vec![fate(plan); usize::from(plan.blocks)];
    policy.learn(plan, carried(plan), Outcome::Report(&fates));
    plan
}

#[test]
fn best_leaves_frames_uncoded_while_the_link_is_clean_and_no_longer() {
    let mut best = Best::new(COST);
    for _ in 0..500 {
        step(&mut best, |_| Fate::Good(0));
    }
    assert!(best.plan(&ANY).unwrap().uncoded);
    // Where it must know which part is damaged, or has none that is in one piece, it is in blocks.
    assert!(!best.plan(&REQUEST).unwrap().uncoded);
    // Two frames of errors are enough, and a calm of some frames brings it back.
    let errors = |plan: Plan| if plan.uncoded { Fate::Failed } else { wrong(plan, 9) };
    step(&mut best, errors);
    step(&mut best, errors);
    let uncoded = (0..100).filter(|_| step(&mut best, errors).uncoded).count();
    assert_eq!(uncoded, 0);
    let calm = (0..200).filter(|_| step(&mut best, |_| Fate::Good(0)).uncoded).count();
    assert!(calm > 100, "{calm}");
}

#[test]
fn best_leaves_no_frames_uncoded_where_every_second_is_cut() {
    let mut best = Best::new(COST);
    let mut random = Stream::new(Seed(5), "cuts");
    let mut uncoded = 0;
    for frame in 0..600 {
        let plan = best.plan(&ANY).unwrap();
        // The cut is at a random place in the frame: the bytes before it have arrived.
        let cut = if random.unit() < 0.5 { random.unit() } else { 1.0 };
        let end = |block| f64::from(block + 1) / f64::from(plan.blocks);
        let fate = |block| if end(block) > cut { Fate::Missing } else { Fate::Good(0) };
        let fates: Vec<Fate> = (0..plan.blocks).map(fate).collect();
        best.learn(plan, carried(plan), Outcome::Report(&fates));
        uncoded += usize::from(frame > 100 && plan.uncoded);
    }
    assert_eq!(uncoded, 0);
}

#[test]
fn policies_of_the_paper_send_blocks() {
    for kind in [PolicyKind::Bold, PolicyKind::Light, PolicyKind::Robust, PolicyKind::Flex] {
        let mut policy = kind.build(COST);
        assert!((0..50).all(|_| !step(&mut *policy, |_| Fate::Good(0)).uncoded), "{kind}");
    }
}

#[test]
fn best_codes_no_more_than_pays() {
    for symbols in [0, 5, 9, 20, 30, 60] {
        let mut best = Best::new(COST);
        let plan = feed(&mut best, 200, |plan, _| wrong(plan, symbols));
        assert_eq!((plan.blocks, plan.level), (5, Level::correcting(symbols)), "{symbols}");
    }
}

#[test]
fn best_shrinks_only_when_what_is_cut_off_costs_more_than_the_frames() {
    let mut best = Best::new(COST);
    let plan = feed(&mut best, 200, |_, index| match index {
        0 => Fate::Good(0),
        _ => Fate::Missing,
    });
    assert!(plan.blocks <= 2, "{plan:?}");
    let mut best = Best::new(COST);
    let plan = feed(&mut best, 200, |_, index| match index {
        4 => Fate::Missing,
        _ => Fate::Good(0),
    });
    assert!(plan.blocks >= 4, "{plan:?}");
}

//= S3.16
//= S3.45
#[test]
fn best_gives_a_packet_that_is_almost_late_the_surest_frame() {
    let mut best = Best::new(COST);
    let mut turn = 0;
    let calm = feed(&mut best, 400, |plan, _| {
        // A fifth of all blocks are bad: strong parity for all of them would not pay.
        wrong(plan, if plan.blocks == 0 { 0 } else { 1 })
    });
    for _ in 0..400 {
        turn += 1;
        let plan = best.plan(&REQUEST).unwrap();
        let fate = wrong(plan, if turn % 12 == 0 { 40 } else { 1 });
        best.learn(plan, carried(plan), Outcome::Report(&[fate]));
    }
    let patient = best.plan(&Request { bytes: 150, ..REQUEST }).unwrap();
    let urgent = Request { bytes: 150, time_left: Some(Duration::from_millis(4)), ..REQUEST };
    let pressed = best.plan(&urgent).unwrap();
    assert!(pressed.level > patient.level.max(calm.level), "{pressed:?} {patient:?} {calm:?}");
}

//= S3.16
//= S3.45
#[test]
fn best_does_not_send_what_cannot_arrive_in_time() {
    let mut best = Best::new(COST);
    let left = |micros| Request { time_left: Some(Duration::from_micros(micros)), ..REQUEST };
    // A frame of one block takes more than three milliseconds.
    assert_eq!(best.plan(&Request { bytes: 253, ..left(3_000) }), None);
    assert!(best.plan(&Request { bytes: 253, ..left(4_000) }).is_some());
}

//= S3.45
#[test]
fn best_gives_the_last_attempt_more_parity() {
    let mut best = Best::new(COST);
    for turn in 0..400 {
        let plan = best.plan(&REQUEST).unwrap();
        best.learn(
            plan,
            carried(plan),
            Outcome::Report(&[wrong(plan, if turn % 9 == 0 { 20 } else { 0 })]),
        );
    }
    let with = |tries_left| Request { bytes: 200, tries_left, ..REQUEST };
    let level = |best: &mut Best, tries| best.plan(&with(tries)).unwrap().level;
    assert!(level(&mut best, Some(1)) > level(&mut best, None));
    assert!(level(&mut best, Some(9)) <= level(&mut best, Some(1)));
}

#[test]
fn best_finds_out_cheaply_when_a_spell_of_losses_is_over() {
    // A third of all frames are lost, four in a row.
    let mut best = Best::new(COST);
    let mut inside = Vec::new();
    let mut outside = Vec::new();
    for turn in 0..1_200 {
        let plan = best.plan(&REQUEST).unwrap();
        let is_lost = turn % 12 < 4;
        if turn > 600 {
            if best.was_lost { &mut inside } else { &mut outside }.push(plan.blocks);
        }
        let fates = vec![Fate::Good(0); usize::from(plan.blocks)];
        best.learn(
            plan,
            carried(plan),
            if is_lost { Outcome::Silence } else { Outcome::Report(&fates) },
        );
    }
    assert!(inside.iter().all(|blocks| *blocks == 1), "{inside:?}");
    assert!(outside.iter().all(|blocks| *blocks == 5), "{outside:?}");
}
