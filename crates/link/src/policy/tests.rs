use windfall_base::Duration;

use super::*;

const COST: Cost =
    Cost { per_frame: Duration::from_micros(900), per_byte: Duration::from_nanos(9_508) };

const REQUEST: Request = Request { bytes: 1_504, time_left: None, welcomes_damage: false };

/// Lets a policy choose and report so many frames, all blocks of the same fate.
fn feed(policy: &mut dyn Policy, frames: usize, fate: impl Fn(Plan, u8) -> Fate) -> Plan {
    for _ in 0..frames {
        let plan = policy.plan(&REQUEST);
        let fates: Vec<Fate> = (0..plan.blocks).map(|index| fate(plan, index)).collect();
        policy.learn(plan, Outcome::Report(&fates));
    }
    policy.plan(&REQUEST)
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
    while flex.plan(&REQUEST).level < Level::correcting(9) {
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
        let plan = best.plan(&REQUEST);
        let fate = wrong(plan, if turn % 12 == 0 { 40 } else { 1 });
        best.learn(plan, Outcome::Report(&[fate]));
    }
    let patient = best.plan(&Request { bytes: 200, ..REQUEST });
    let urgent = Request { bytes: 200, time_left: Some(Duration::from_millis(4)), ..REQUEST };
    assert!(best.plan(&urgent).level > patient.level.max(calm.level));
}
