use super::*;
use crate::policy::tests::REQUEST;

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

/// The prospect of a packet of 1000 bytes, or 2000 if there is a rest, whose frame of 1000 takes
/// 10 ms and brings all that it carries with `all`, where every frame after an arrived and after a
/// lost one is lost with `loss`.
fn prospect(loss: [f64; 2], all: f64, rest: f64, millis: u64, tries: Option<u32>) -> Prospect {
    let request = Request {
        bytes: if rest > 0.0 { 2_000 } else { 1_000 },
        packet: 1_000,
        tries_left: tries,
        ..REQUEST
    };
    prospect_of(&request, loss, all, rest, millis)
}

/// As `prospect`, for another request.
fn prospect_of(request: &Request, loss: [f64; 2], all: f64, rest: f64, millis: u64) -> Prospect {
    let mut best = best();
    for (estimate, value) in best.loss.iter_mut().zip(loss) {
        estimate.value = value;
    }
    let bytes = 0.0;
    let carries = 1_000;
    let seconds = 0.01;
    // As long as four blocks.
    let good = all.powf(0.25);
    let kept = all;
    let promise = Candidate { plan: UNCODED, bytes, seconds, carries, all, good, kept, rest };
    best.prospect(&promise, request, millis as f64 / 1e3)
}

//= S3.45
#[test]
fn a_packet_is_complete_if_one_of_its_attempts_arrives_in_time() {
    let complete = |loss, millis, tries| prospect(loss, 1.0, 0.0, millis, tries).complete;
    close(complete([0.2, 0.2], 10, None), 0.8);
    close(complete([0.2, 0.2], 29, None), 0.96);
    // After a loss the next is lost more often.
    close(complete([0.2, 0.5], 29, None), 0.9);
    close(complete([0.2, 0.5], 31, None), 0.95);
    // The shorter of the two limits counts.
    close(complete([0.2, 0.5], 31, Some(1)), 0.8);
    close(complete([0.2, 0.5], 9, Some(7)), 0.0);
}

#[test]
fn a_round_trip_passes_before_the_next_attempt() {
    let round_trip = Duration::from_millis(5);
    let request = Request { bytes: 1_000, packet: 1_000, round_trip, ..REQUEST };
    let complete = |millis| prospect_of(&request, [0.2, 0.2], 1.0, 0.0, millis).complete;
    close(complete(24), 0.8);
    close(complete(26), 0.96);
    close(complete(41), 0.992);
}

#[test]
fn the_rest_of_a_packet_needs_its_time_too() {
    let complete = |millis| prospect([0.0, 0.0], 0.9, 0.01, millis, None).complete;
    close(complete(19), 0.0);
    // Both frames must arrive whole. With time for another frame, that one delivers the failed
    // parts.
    close(complete(20), 0.81);
    close(complete(31), 0.81 + 0.19 * 0.9);
}

#[test]
fn the_air_of_a_packet_counts_attempts_rest_and_repairs() {
    let seconds = |all, rest, millis| prospect([0.2, 0.5], all, rest, millis, None).seconds;
    close(seconds(1.0, 0.0, 10), 0.01);
    // A second attempt in one of five cases, a third in one of ten.
    close(seconds(1.0, 0.0, 21), 0.012);
    close(seconds(1.0, 0.0, 31), 0.013);
    // The rest and the retransmissions follow if one of two attempts arrived: 9 of 10.
    close(seconds(0.75, 0.0, 21), 0.012 + 0.9 * 0.25 * COST.of(1_002).as_secs_f64());
    // One in five frames of the rest is lost, and after a lost frame every second one.
    close(seconds(1.0, 0.008, 33), 0.012 + 0.9 * 0.008 * 1.4);
}

#[test]
fn a_packet_that_is_not_worth_its_air_is_dropped_while_others_wait_and_lowers_the_price() {
    let mut best = best();
    best.loss.iter_mut().for_each(|loss| loss.value = 0.9);
    let mut request = Request {
        bytes: 253,
        packet: 253,
        time_left: Some(Duration::from_millis(4)),
        is_scarce: true,
        round_trip: Duration::ZERO,
        tries_left: None,
        welcomes_damage: false,
        may_be_uncoded: false,
    };
    let dropped = (0..100).take_while(|_| best.plan(&request).is_none()).count();
    assert!((10..90).contains(&dropped), "{dropped}");
    let mut best = Best::new(COST);
    best.loss.iter_mut().for_each(|loss| loss.value = 0.9);
    request.is_scarce = false;
    assert!(best.plan(&request).is_some());
}

#[test]
fn what_is_left_of_a_packet_is_priced_at_what_it_takes() {
    let seconds = |bytes: usize| 900e-6 + bytes as f64 * 9_508e-9;
    let mut best = best();
    // As if the link had reached half of its throughput.
    best.gained.1 *= 2.0;
    let request = Request { bytes: 1_265, packet: 1_265, ..REQUEST };
    let price = best.price(&request);
    // All of it at the present rate; a single byte costs hardly less than a block.
    let all = 1_265.0 * best.gained.1 / best.gained.0;
    assert!(all >= seconds(1_265 + 5 * 2));
    close(price(1_265.0), all);
    close(price(253.0), all * seconds(253 + 2) / seconds(1_265 + 5 * 2));
    close(price(1.0), all * seconds(1 + 2) / seconds(1_265 + 5 * 2));
    close(price(0.0), 0.0);
}

#[test]
fn what_no_level_saves_counts_as_lost() {
    let mut best = best();
    best.hopeless.value = 0.4;
    let promise = best.promise(253, coded(1, Level::NONE), 0.5, 0.0);
    close(promise.all, 0.3);
    close(promise.bytes, 0.3 * 253.0);
    close(promise.kept, 0.3);
}

#[test]
fn on_clean_air_a_frame_promises_all_that_it_carries_for_its_air_time() {
    let seconds = |bytes: usize| 900e-6 + bytes as f64 * 9_508e-9;
    // 1 504 bytes: five blocks of 253 carry 1 265 of them, with a check of 2 bytes in each.
    let promise = best().promise(1_504, coded(5, Level::NONE), 1.0, 0.0);
    close(promise.bytes, 1_265.0);
    close(promise.seconds, seconds(1_265 + 5 * 2));
    close(promise.all, 1.0);
    close(promise.rest, seconds(239 + 2));
    // Their rest, and no more blocks than it needs, with 74 bytes of parity in each.
    let promise = best().promise(239, coded(5, Level::ROBUST), 1.0, 0.0);
    close(promise.bytes, 239.0);
    close(promise.seconds, seconds(239 + 2 * (2 + 74)));
    close(promise.rest, 0.0);
    // Ten blocks need two frames of five, and one more byte needs three frames.
    let rest = |bytes| best().promise(bytes, coded(5, Level::NONE), 1.0, 0.0).rest;
    close(rest(2_530), seconds(1_265 + 5 * 2));
    close(rest(2_531), seconds(1_265 + 5 * 2) + seconds(1 + 2));
    // Uncoded: all bytes in one frame, with one check.
    let promise = best().promise(1_504, UNCODED, 1.0, 0.0);
    close(promise.bytes, 1_504.0);
    close(promise.seconds, seconds(1_504 + 2));
    close(promise.rest, 0.0);
}

#[test]
fn a_frame_comes_whole_if_all_its_blocks_do() {
    // Of blocks with a chance of 0.9 each: three, and as many as an uncoded frame is long.
    let promise = best().promise(700, coded(5, Level::NONE), 0.9, 0.0);
    close(promise.all, 0.729);
    close(promise.bytes, 630.0);
    close(promise.kept, 0.9);
    let promise = best().promise(700, UNCODED, 0.9, 0.0);
    close(promise.all, 0.729);
    close(promise.bytes, 700.0 * 0.729);
}

#[test]
fn the_failed_bytes_of_a_frame_are_those_of_frames_that_do_not_come_whole() {
    // A tenth of 1 265 bytes, all of which are in the 41 of 100 frames with a failed block.
    let promise = best().promise(1_265, coded(5, Level::NONE), 0.9, 0.0);
    assert_eq!(Best::failing(&promise, 0.59), (309, 2));
    // At least a block fails, or all of a shorter frame; and no more than the frame carries.
    assert_eq!(Best::failing(&promise, 0.01), (253, 1));
    assert_eq!(Best::failing(&promise, 0.95), (1_265, 5));
    let promise = best().promise(100, coded(5, Level::NONE), 0.9, 0.0);
    assert_eq!(Best::failing(&promise, 0.1), (100, 1));
    let promise = best().promise(1_265, UNCODED, 0.9, 0.0);
    assert_eq!(Best::failing(&promise, 0.59), (1_265, 1));
}

#[test]
fn a_frame_after_a_lost_one_is_taken_to_be_lost_as_often_as_such_were() {
    let mut best = best();
    let request = Request { bytes: 506, ..REQUEST };
    for _ in 0..2 {
        let plan = best.plan(&request).expect("there is no deadline");
        best.learn(plan, 506, Outcome::Silence);
    }
    // One loss after a received frame, and one after a lost frame: a third each with the prior.
    let [_, _, lost] = best.lost(&request);
    let promise = best.promise(506, coded(2, Level::NONE), 1.0, lost);
    close(promise.all, 2.0 / 3.0);
    close(promise.bytes, 506.0 * 2.0 / 3.0);
    let promise = best.promise(506, UNCODED, 1.0, lost);
    close(promise.all, 2.0 / 3.0);
}

#[test]
fn a_loss_tells_the_less_of_the_next_frame_the_more_are_under_way() {
    let mut best = best();
    (best.loss[0].value, best.loss[1].value) = (0.2, 0.8);
    best.was_lost = true;
    let request = Request { packet: 1_000, ..REQUEST };
    let lost = |frames: u64| {
        let round_trip = COST.of(1_000).saturating_mul(frames);
        best.lost(&Request { round_trip, ..request })
    };
    assert_eq!(lost(0), [0.2, 0.8, 0.8]);
    // Half of all frames are lost, and each frame in between leaves 0.6 of the correlation.
    close(lost(2)[2], 0.5 + 0.36 * 0.3);
    close(lost(2)[1], 0.5 + 0.36 * 0.3);
    close(lost(40)[2], 0.5);
    close(lost(40)[0], 0.2);
}

#[test]
fn each_frame_of_a_packet_may_be_late() {
    let complete = |rest, tries| prospect([0.5, 0.5], 1.0, rest, 900, tries).complete;
    close(complete(0.0, Some(2)), 0.75);
    close(complete(0.01, Some(2)), 0.75 * 0.75);
    assert!(complete(0.01, None) > 0.999);
}

/// Sends packets of 1028 bytes, as many as there is air for, each with time for some frames; a
/// frame is damaged with a chance, then of each of its bytes a share. Gives the packets that are
/// complete in time for each second of air.
fn in_time(policy: &mut dyn Policy, damaged: f64, wrong: f64) -> f64 {
    let mut random = windfall_base::Stream::new(windfall_base::Seed(7), "timed");
    let mut complete = 0;
    let mut air = 0.0;
    while air < 60.0 {
        let mut left = 1_028;
        let mut time = 0.12;
        while left > 0 {
            let request = Request {
                bytes: left,
                packet: 1_028,
                time_left: Some(Duration::from_secs_f64(time)),
                may_be_uncoded: true,
                ..REQUEST
            };
            let Some(plan) = policy.plan(&request) else { break };
            let data = if plan.uncoded { left } else { plan.level.data() };
            let blocks = left.div_ceil(data).min(plan.blocks.into());
            let carried = left.min(blocks * data);
            let sent = carried + blocks * (BLOCK_CHECK + plan.level.parity());
            let seconds = COST.of(sent).as_secs_f64();
            air += seconds;
            time -= seconds;
            if time < 0.0 {
                break;
            }
            let is_damaged = random.unit() < damaged;
            let fate = |block: usize| {
                let len = (carried - block * data).min(data) + BLOCK_CHECK + plan.level.parity();
                let symbols = if is_damaged { (len as f64 * wrong).round() as usize } else { 0 };
                let is_good = symbols <= plan.level.correctable();
                if is_good { Fate::Good(symbols as u8) } else { Fate::Failed }
            };
            let fates: Vec<Fate> = (0..blocks).map(fate).collect();
            policy.learn(plan, carried, Outcome::Report(&fates));
            let len = |block: usize| (carried - block * data).min(data);
            let taken = (0..blocks).filter(|block| fates[*block].is_taken());
            let taken: usize = taken.map(len).sum();
            left -= if plan.whole && taken < carried { 0 } else { taken };
        }
        complete += u32::from(left == 0);
    }
    f64::from(complete) / air
}

//= S3.45
#[test]
fn with_a_lifetime_levels_are_compared_by_the_packets_that_arrive_for_the_air() {
    use crate::policy::PolicyKind;
    // Half of the frames beyond weak parity, nearly all, and all but a few bytes of each.
    for (damaged, wrong) in [(0.5, 0.25), (0.7, 0.33), (0.6, 0.25), (0.3, 0.15), (1.0, 0.1)] {
        let fixed = [PolicyKind::Bold, PolicyKind::Light, PolicyKind::Robust]
            .map(|kind| in_time(&mut *kind.build(COST), damaged, wrong));
        let most = fixed.into_iter().fold(0.0, f64::max);
        let found = in_time(&mut best(), damaged, wrong);
        println!("{damaged} {wrong}: {found:.2} of {fixed:.2?} in a second");
        assert!(found >= 0.95 * most, "{damaged}, {wrong}: {found}, {most} by a fixed policy");
    }
}

#[test]
fn parity_makes_up_for_its_share_of_the_cuts() {
    // Every third frame is cut: by frame anywhere, by place in the second of two blocks.
    let mut best = best();
    let level = Level::ROBUST;
    best.cuts.learn(Level::NONE, 253, &[Fate::Good(0), Fate::Missing]);
    best.cuts.learn(Level::NONE, 253, &[Fate::Good(0), Fate::Good(0)]);
    let reached = best.cuts.reached(2);
    let promise = best.promise(2 * level.data(), coded(2, level), 1.0, 0.0);
    let mended = 74.0 / 255.0;
    let first = reached[0] + (1.0 - reached[0]) * mended;
    let second = reached[1] + (reached[0] - reached[1]) * mended;
    close(promise.all, second);
    close(promise.bytes, level.data() as f64 * (first + second));
    close(best.unharmed(coded(2, level), 1.0, 2 * level.data()), second);
    close(best.unharmed(UNCODED, 1.0, 2 * Level::NONE.data()), reached[1]);
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
    // Uncoded and complete.
    let before = best.gained;
    best.learn_worth(UNCODED, 400, &[Fate::Good(0)]);
    close(best.gained.0, 0.99 * before.0 + 400.0);
    close(best.gained.1, 0.99 * before.1 + COST.of(402).as_secs_f64());
}

#[test]
fn the_blocks_of_a_frame_that_was_not_cut_are_learned_from_uncoded_ones_too() {
    // An uncoded frame of 700 bytes counts as one of three blocks, the last of 194 bytes.
    let [mut uncoded, mut blocks] = [best(), best()];
    for best in [&mut uncoded, &mut blocks] {
        best.cuts.learn(Level::NONE, 253, &[Fate::Good(0), Fate::Missing, Fate::Missing]);
        best.cuts.learn(Level::NONE, 253, &[Fate::Good(0); 3]);
    }
    uncoded.learn_uncoded(700, &[Fate::Good(0)]);
    let three = [Fate::Good(0); 3];
    blocks.cuts.learn(Level::NONE, 194, &three);
    blocks.learn_blocks(Level::NONE, &three, 700);
    assert_eq!(uncoded.cuts.reached(3), blocks.cuts.reached(3));
    assert_eq!(uncoded.survival(), blocks.survival());
}

#[test]
fn the_worst_block_of_a_frame_says_what_the_next_one_needs() {
    let mut best = best();
    let level = Level::correcting(20);
    best.learn_blocks(level, &[Fate::Good(0), Fate::Good(9), Fate::Good(0)], 3 * level.data());
    assert_eq!(best.last, Level::correcting(9));
    best.learn_blocks(level, &[Fate::Good(0), Fate::Failed], 2 * level.data());
    assert_eq!(best.last, level.stronger());
    // What was cut off teaches nothing.
    best.learn_blocks(level, &[Fate::Missing], level.data());
    assert_eq!(best.last, level.stronger());
}

#[test]
fn a_frame_that_can_just_arrive_is_sent() {
    let request = |time_left| Request {
        bytes: 253,
        packet: 253,
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

/// Sends packets of 1028 bytes whose frames have one attempt, of which 30 % have a window of 500
/// bytes with a share of their symbols wrong; gives the share that is complete, and its air in
/// that of frames of five blocks.
fn in_one_attempt(policy: &mut dyn Policy, wrong: f64) -> (f64, f64) {
    let mut random = windfall_base::Stream::new(windfall_base::Seed(3), "windows");
    let mut complete = 0;
    let mut air = 0.0;
    let packets = 3_000;
    for _ in 0..packets {
        let mut left = 1_028;
        let mut is_complete = true;
        while left > 0 && is_complete {
            let tries_left = Some(1);
            let request =
                Request { bytes: left, packet: 1_028, tries_left, may_be_uncoded: true, ..REQUEST };
            let plan = policy.plan(&request).unwrap();
            let data = if plan.uncoded { left } else { plan.level.data() };
            let blocks = left.div_ceil(data).min(plan.blocks.into());
            let carried = left.min(blocks * data);
            let len =
                |at: usize| (carried - at * data).min(data) + BLOCK_CHECK + plan.level.parity();
            let sent: usize = (0..blocks).map(len).sum();
            let is_damaged = random.unit() < 0.3;
            let begin = random.below((sent.saturating_sub(500) + 1) as u64) as usize;
            let mut at = 0;
            let fates: Vec<Fate> = (0..blocks)
                .map(|block| {
                    let first = at;
                    let end = at + len(block);
                    at = end;
                    let inside = end.min(begin + 500).saturating_sub(first.max(begin));
                    let symbols =
                        if is_damaged { (inside as f64 * wrong).round() as usize } else { 0 };
                    if symbols <= plan.level.correctable() {
                        Fate::Good(symbols as u8)
                    } else {
                        Fate::Failed
                    }
                })
                .collect();
            policy.learn(plan, carried, Outcome::Report(&fates));
            is_complete = fates.iter().all(|fate| fate.is_taken());
            left -= carried;
            air += COST.of(sent).as_secs_f64();
        }
        complete += u32::from(is_complete);
    }
    let one = COST.of(1_028 + 5 * BLOCK_CHECK).as_secs_f64();
    (f64::from(complete) / f64::from(packets), air / f64::from(packets) / one)
}

//= S3.45
#[test]
fn with_one_attempt_parity_that_saves_blocks_and_no_packets_is_not_paid() {
    for wrong in [0.2, 0.39, 0.5] {
        let (bold, _) = in_one_attempt(&mut *crate::policy::PolicyKind::Bold.build(COST), wrong);
        let (best, air) = in_one_attempt(&mut best(), wrong);
        println!("{wrong}: bold {bold:.3}, best {best:.3} for {air:.2} of the air");
        assert!(best >= 0.95 * bold, "{wrong}: {best}, {bold} by BOLD");
        assert!(air < 1.1 + 2.0 * (best - bold).max(0.0), "{wrong}: {air}");
    }
}

#[test]
fn a_probe_that_is_due_has_all_blocks_and_the_strongest_parity_once() {
    let mut best = best();
    best.trials.learn(Level::NONE, &[Fate::Failed], false, 8.0);
    let request = Request { may_be_uncoded: true, ..REQUEST };
    let all = MAX_BLOCKS as u8;
    assert_eq!(best.plan(&request), Some(coded(all, Level::STRONGEST)));
    assert!(best.plan(&request).is_some_and(|plan| plan.level == Level::NONE));
}
