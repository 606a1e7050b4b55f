use windfall_base::Duration;

use super::*;

const COST: Cost =
    Cost { per_frame: Duration::from_micros(900), per_byte: Duration::from_nanos(9_508) };

const REQUEST: Request =
    Request { bytes: 1_504, time_left: None, tries_left: None, welcomes_damage: false };

/// Lets a policy choose and report so many frames, all blocks of the same fate.
fn feed(policy: &mut dyn Policy, frames: usize, fate: impl Fn(Plan, u8) -> Fate) -> Plan {
    for _ in 0..frames {
        let plan = policy.plan(&REQUEST).unwrap();
        let fates: Vec<Fate> = (0..plan.blocks).map(|index| fate(plan, index)).collect();
        policy.learn(plan, Outcome::Report(&fates));
    }
    policy.plan(&REQUEST).unwrap()
}

/// A block with so many wrong symbols.
fn wrong(plan: Plan, symbols: usize) -> Fate {
    if plan.level.correctable() >= symbols { Fate::Good(symbols as u8) } else { Fate::Failed }
}

#[test]
fn names_are_read_as_they_are_written() {
    for kind in Kind::ALL {
        assert_eq!(kind.to_string().parse(), Ok(kind));
    }
    let message = "brave".parse::<Kind>().unwrap_err().to_string();
    assert_eq!(message, "policy \"brave\": write bold, light, robust, flex or best");
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
    // Frames of five blocks take 13 ms. From no parity at all to what nine symbols need: three.
    let mut flex = Flex::default();
    let mut frames = 0;
    while flex.plan(&REQUEST).unwrap().level < Level::correcting(9) {
        feed(&mut flex, 1, |plan, _| wrong(plan, 9));
        frames += 1;
    }
    assert!(frames <= 3, "{frames}");
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
        best.learn(plan, Outcome::Report(&[fate]));
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
        best.learn(plan, Outcome::Report(&[wrong(plan, if turn % 9 == 0 { 20 } else { 0 })]));
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
    let (mut inside, mut outside) = (Vec::new(), Vec::new());
    for turn in 0..1_200 {
        let plan = best.plan(&REQUEST).unwrap();
        let is_lost = turn % 12 < 4;
        if turn > 600 {
            if best.was_lost { &mut inside } else { &mut outside }.push(plan.blocks);
        }
        let fates = vec![Fate::Good(0); usize::from(plan.blocks)];
        best.learn(plan, if is_lost { Outcome::Silence } else { Outcome::Report(&fates) });
    }
    assert!(inside.iter().all(|blocks| *blocks == 1), "{inside:?}");
    assert!(outside.iter().all(|blocks| *blocks == 5), "{outside:?}");
}
