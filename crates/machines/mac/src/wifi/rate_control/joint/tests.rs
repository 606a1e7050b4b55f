use windfall_base::{Duration, Seed};
use windfall_wire_link::ieee80211::{Code, MacAddress, Phy};

use super::record::{CODES, Fate};
use super::*;
use crate::wifi::Config;

fn joint(coding: Option<Code>) -> Joint {
    let address = MacAddress::of_station(1);
    let config = Config { rate_control: JOINT, coding, ..Config::new(address, Phy::G) };
    Joint::new(&config.rates(config.phy))
}

fn attempt(code: Option<Code>) -> Attempt {
    Attempt { number: 1, len: 1532, left: 7, code, ..Attempt::default() }
}

/// The symbols that the worst block of a frame needs at a rate; `None` if no code suffices.
type Air = fn(PhyRate, &mut Stream) -> Option<u8>;

/// Sends packets of one attempt each, and returns the share of the last half at each choice, and of
/// those that arrived.
fn send(
    joint: &mut Joint,
    code: Option<Code>,
    air: Air,
    signal: Option<i8>,
) -> (Vec<(RateChoice, usize)>, f64) {
    let draw = &mut Stream::new(Seed(3), "joint");
    let mut used: Vec<(RateChoice, usize)> = Vec::new();
    let mut arrivals = 0;
    for packet in 0..4_000_u64 {
        let now = Instant::START + Duration::from_millis(packet);
        let choice = joint.choose(now, &attempt(code), draw).expect("it has no lifetime");
        let needed = air(choice.rate, draw);
        let correctable = choice.code.map_or(0, |code| code.parity() / 2);
        let corrected = needed.filter(|it| usize::from(*it) <= correctable);
        let report = signal.map(|signal| Report {
            corrected,
            combined: false,
            wanted: None,
            signal: Some(signal),
        });
        let arrived = corrected.is_some();
        joint.on_outcome(&AttemptOutcome {
            choice,
            len: 1532,
            arrived,
            report,
            collides: Probability::ZERO,
        });
        if packet >= 2_000 {
            arrivals += usize::from(arrived);
            match used.iter_mut().find(|it| it.0 == choice) {
                Some(it) => it.1 += 1,
                None => used.push((choice, 1)),
            }
        }
    }
    used.sort_by_key(|it| core::cmp::Reverse(it.1));
    (used, arrivals as f64 / 2_000.0)
}

const CODED: Option<Code> = Some(Code::NONE);

#[test]
fn on_a_clean_path_frames_go_at_the_highest_rate_without_parity() {
    let (used, arrive) = send(&mut joint(CODED), CODED, |_, _| Some(0), Some(-50));
    let best = RateChoice { rate: PhyRate::Ofdm54, code: CODED };
    assert_eq!(used[0].0, best);
    assert!(used[0].1 > 1_990 && arrive > 0.99, "{used:?}");
}

#[test]
fn the_first_frames_go_as_over_a_long_path_until_the_receiver_reports() {
    let draw = &mut Stream::new(Seed(1), "joint");
    let signal = Some(-50);
    let corrected = Some(0);
    for left in [1, 2] {
        let mut joint = joint(CODED);
        let attempt = Attempt { left, ..attempt(CODED) };
        let mut next = |joint: &mut Joint| joint.choose(Instant::START, &attempt, draw);
        let first = next(&mut joint).expect("it has no lifetime");
        let parity = first.code.map_or(0, Code::parity);
        assert!(first.rate <= PhyRate::Ofdm12 && parity >= 32, "{first:?}");
        let report = Report { corrected, combined: false, wanted: None, signal };
        let outcome = AttemptOutcome {
            choice: first,
            len: 1532,
            arrived: true,
            report: None,
            collides: Probability::ZERO,
        };
        joint.on_outcome(&AttemptOutcome { report: Some(report), ..outcome });
        let second = next(&mut joint).expect("it has no lifetime");
        assert_eq!(second.rate, PhyRate::Ofdm54);
    }
}

#[test]
fn a_report_without_a_signal_leaves_the_assumed_signal_alone() {
    let mut joint = joint(CODED);
    joint.signal.report(-88);
    let choice = RateChoice { rate: PhyRate::Ofdm12, code: Code::of_parity(16) };
    let report = Report { corrected: Some(0), combined: false, wanted: None, signal: None };
    let outcome = AttemptOutcome {
        choice,
        len: 1532,
        arrived: true,
        report: Some(report),
        collides: Probability::ZERO,
    };
    joint.on_outcome(&outcome);
    assert_eq!(joint.signal.dbm(), -88);
}

#[test]
fn a_rate_that_little_parity_saves_is_better_than_a_slower_one() {
    // At 48 and 54 Mb/s the worst block of every frame has five wrong symbols.
    let air: Air = |rate, _| Some(if rate >= PhyRate::Ofdm48 { 5 } else { 0 });
    let (used, arrive) = send(&mut joint(CODED), CODED, air, Some(-65));
    // 54 Mb/s with 16 symbols of parity takes less time than 36 Mb/s without.
    let best = RateChoice { rate: PhyRate::Ofdm54, code: Code::of_parity(16) };
    assert_eq!(used[0].0, best, "{used:?}");
    assert!(used[0].1 > 1_900 && arrive > 0.97, "{used:?} {arrive}");
    // Where every frame needs the strongest code there, 48 Mb/s is better.
    let air: Air = |rate, _| Some(if rate == PhyRate::Ofdm54 { 30 } else { 0 });
    let (used, _) = send(&mut joint(CODED), CODED, air, Some(-65));
    assert_eq!(used[0].0, RateChoice { rate: PhyRate::Ofdm48, code: CODED }, "{used:?}");
}

#[test]
fn without_reports_rates_alone_are_chosen() {
    let air: Air = |rate, draw| {
        let lost = Probability::new(0.5).is_some_and(|share| draw.chance(share));
        (rate <= PhyRate::Ofdm24 && !lost).then_some(0)
    };
    let (used, _) = send(&mut joint(None), None, air, None);
    assert_eq!(used[0].0, RateChoice { rate: PhyRate::Ofdm24, code: None }, "{used:?}");
    assert!(used[0].1 > 1_700, "{used:?}");
}

#[test]
fn trials_waste_about_a_hundredth_of_the_air_time() {
    let air: Air = |rate, _| (rate <= PhyRate::Ofdm12).then_some(0);
    let (used, arrive) = send(&mut joint(CODED), CODED, air, Some(-60));
    assert_eq!(used[0].0.rate, PhyRate::Ofdm12, "{used:?}");
    // A trial takes less time than a frame at 12 Mb/s, so that more of the frames than of the time
    // are trials: at 24 Mb/s a little more than half as long.
    assert!(arrive > 0.95, "{arrive}");
}

#[test]
fn a_signal_that_was_known_before_is_known_again() {
    let mut joint = joint(CODED);
    let draw = &mut Stream::new(Seed(3), "joint");
    let far: Air = |rate, _| (rate <= PhyRate::Ofdm6).then_some(0);
    let near: Air = |rate, _| (rate <= PhyRate::Ofdm24).then_some(0);
    send(&mut joint, CODED, near, Some(-80));
    send(&mut joint, CODED, far, Some(-90));
    joint.signal.report(-80);
    joint.credit = 0.0;
    let choice = joint.choose(Instant::START, &attempt(CODED), draw).expect("a choice");
    assert_eq!(choice.rate, PhyRate::Ofdm24);
    joint.signal.report(-90);
    let choice = joint.choose(Instant::START, &attempt(CODED), draw).expect("a choice");
    assert_eq!(choice.rate, PhyRate::Ofdm6);
}

#[test]
fn attempts_that_nothing_answers_lower_the_signal_and_reports_set_it() {
    let mut joint = joint(CODED);
    let choice = RateChoice { rate: PhyRate::Ofdm54, code: CODED };
    let silence = AttemptOutcome {
        choice,
        len: 1532,
        arrived: false,
        report: None,
        collides: Probability::ZERO,
    };
    (0..5).for_each(|_| joint.on_outcome(&silence));
    assert_eq!(joint.signal.dbm(), -70 - 15);
    joint.on_outcome(&AttemptOutcome {
        report: Some(Report { corrected: None, combined: false, wanted: None, signal: Some(-88) }),
        ..silence
    });
    assert_eq!(joint.signal.dbm(), -88);
    joint.on_outcome(&silence);
    assert_eq!(joint.signal.dbm(), -89);
    // The signal is below the need of the lowest rate, so the rate control begins again.
    let lowest = (0..99).map(|_| {
        joint.on_outcome(&silence);
        joint.signal.dbm()
    });
    let signals: Vec<i32> = lowest.collect();
    assert!(signals.iter().all(|signal| *signal > -98), "{signals:?}");
    assert!(signals.iter().filter(|signal| **signal == -88).count() > 10, "{signals:?}");
}

#[test]
fn a_packet_with_little_time_goes_by_the_surest_way_and_one_with_too_little_not_at_all() {
    let mut joint = joint(CODED);
    let draw = &mut Stream::new(Seed(3), "joint");
    // Seven in ten frames arrive at 54 Mb/s, and all frames at 18 Mb/s.
    let air: Air = |rate, draw| match rate {
        PhyRate::Ofdm54 => draw.chance(Probability::new(0.7).unwrap()).then_some(0),
        _ => (rate <= PhyRate::Ofdm18).then_some(0),
    };
    send(&mut joint, CODED, air, Some(-60));
    joint.credit = 0.0;
    let with = |left, micros| Attempt {
        left,
        time: Some(Duration::from_micros(micros)),
        ..attempt(CODED)
    };
    let mut rate = |attempt| joint.choose(Instant::START, &attempt, draw).map(|it| it.rate);
    assert_eq!(rate(with(u32::MAX, 100_000)), Some(PhyRate::Ofdm54));
    // One attempt at 18 Mb/s takes 700 µs, and two at 54 Mb/s do not deliver as surely.
    assert_eq!(rate(with(u32::MAX, 750)), Some(PhyRate::Ofdm18));
    assert_eq!(rate(with(1, 100_000)), Some(PhyRate::Ofdm18));
    assert_eq!(rate(with(u32::MAX, 300)), Some(PhyRate::Ofdm54));
    assert_eq!(rate(with(u32::MAX, 200)), None);
}

#[test]
fn an_owner_who_takes_damage_gets_faster_frames_where_damage_is_heard() {
    let mut joint = joint(CODED);
    let draw = &mut Stream::new(Seed(3), "joint");
    // At 54 Mb/s every frame arrives damaged beyond any code.
    let air: Air = |rate, _| (rate <= PhyRate::Ofdm9).then_some(0);
    send(&mut joint, CODED, air, Some(-60));
    joint.credit = 0.0;
    let mut rate = |accepts_damaged| {
        let attempt = Attempt { accepts_damaged, ..attempt(CODED) };
        joint.choose(Instant::START, &attempt, draw).map(|it| it.rate)
    };
    assert_eq!(rate(false), Some(PhyRate::Ofdm9));
    assert!(rate(true) > Some(PhyRate::Ofdm12), "half of 54 Mb/s is more than all of 9");
}

#[test]
fn long_packets_are_cut_where_frames_of_their_length_fail() {
    let mut joint = joint(None);
    // Frames of 1532 bytes fail in 19 of 20 attempts even at the lowest rate, so that of a quarter
    // of the length about half arrive.
    for _ in 0..200 {
        for place in 0..joint.setup.rates.len() {
            let choice = RateChoice { rate: joint.setup.rates[place], code: None };
            (0..20).for_each(|number| {
                let arrived = place == 0 && number == 0;
                joint.on_outcome(&AttemptOutcome {
                    choice,
                    len: 1532,
                    arrived,
                    report: None,
                    collides: Probability::ZERO,
                });
            });
        }
    }
    assert_eq!(joint.fragments(Instant::START, &attempt(None)), 4);
    let clean = RateChoice { rate: PhyRate::Ofdm54, code: None };
    (0..200).for_each(|_| {
        joint.on_outcome(&AttemptOutcome {
            choice: clean,
            len: 1532,
            arrived: true,
            report: None,
            collides: Probability::ZERO,
        });
    });
    assert_eq!(joint.fragments(Instant::START, &attempt(None)), 1);
}

#[test]
fn the_need_of_parity_is_learned_from_frames_that_had_enough_and_that_had_too_little() {
    let mut record = Record::default();
    // Of frames with the strongest code half need none, a quarter the first, a quarter the third.
    for _ in 0..100 {
        for needed in [0, 1, 0, 3] {
            record.record(CODES - 1, Fate::Needed(needed), 1000.0, 1.0);
        }
    }
    let presumed = [0.5; CODES];
    let found = record.shares(&presumed, Prior::default(), 1000.0, false).whole;
    for (found, right) in found.iter().zip([0.5, 0.75, 0.75, 1.0, 1.0]) {
        // The memory of 40 frames has a pattern of four, and the prior counts as one frame.
        assert!((found - right).abs() < 0.06, "{found} for {right}");
    }
    // Failed uncoded frames do not change the estimates of codes.
    let before = record.saved[1] / record.tried[1];
    (0..50).for_each(|_| record.record(0, Fate::Damaged, 1000.0, 1.0));
    assert_eq!(record.saved[1] / record.tried[1], before);
    assert!(record.shares(&presumed, Prior::default(), 1000.0, false).whole[0] < 0.2);
    // Hope is the greater the less is known.
    let hope = record.shares(&presumed, Prior::default(), 1000.0, true).whole;
    assert!(hope[0] < 0.25 && hope[CODES - 1] > 0.99, "{hope:?}");
    assert_eq!(
        Record::default().shares(&presumed, Prior::default(), 1000.0, true).damaged,
        [0.0; CODES]
    );
}

#[test]
fn twice_the_length_is_damaged_twice_and_missed_once() {
    let mut record = Record::default();
    for _ in 0..200 {
        record.record(1, Fate::Needed(1), 1000.0, 1.0);
        record.record(1, Fate::Damaged, 1000.0, 1.0);
        record.record(1, Fate::Missed, 1000.0, 1.0);
    }
    assert!(
        (record.missed(true, Prior::default()) - 1.0 / 3.0).abs() < 0.03,
        "{}",
        record.missed(true, Prior::default())
    );
    let [short, long] =
        [1000.0, 2000.0].map(|len| record.shares(&[0.0; CODES], Prior::default(), len, false));
    let noticed = 1.0 - record.missed(true, Prior::default());
    let [once, twice] = [short, long].map(|it| it.whole[1] / noticed);
    assert!((once * once - twice).abs() < 1e-9 && (once - 0.5).abs() < 0.05, "{once} {twice}");
    assert!((short.whole[1] + short.damaged[1] - noticed).abs() < 1e-9);
    // Without data on frames without parity, the share of frames with parity is used.
    assert!(
        (record.missed(false, Prior::default()) - record.missed(true, Prior::default())).abs()
            < 1e-9
    );
}

#[test]
fn hope_takes_few_silences_for_accidents() {
    let mut record = Record::default();
    record.record(1, Fate::Missed, 1000.0, 1.0);
    let noticed = |record: &Record, is_optimistic| {
        let shares = record.shares(&[0.5; CODES], Prior::default(), 1000.0, is_optimistic);
        shares.whole[1] + shares.damaged[1]
    };
    assert!(noticed(&record, false) < 0.5 && noticed(&record, true) > 0.75);
    (0..200).for_each(|_| record.record(1, Fate::Missed, 1000.0, 1.0));
    assert!(noticed(&record, true) < 0.1);
}

#[test]
fn an_old_silence_noted_at_a_signal_nearby_does_not_keep_a_rate_from_trials() {
    let mut joint = joint(CODED);
    let place = |rate: PhyRate| joint.setup.rates.iter().position(|other| *other == rate);
    let fast = place(PhyRate::Ofdm12).expect("a rate of 802.11g");
    // Silences lower the assumed signal, so the last of them is noted where no frames go later.
    joint.records[Joint::index(-93)][fast].record(2, Fate::Missed, 1532.0, 1.0);
    joint.signal.report(-92);
    let choice = RateChoice { rate: PhyRate::Ofdm9, code: Code::of_parity(16) };
    let report =
        Some(Report { corrected: Some(4), combined: false, wanted: None, signal: Some(-92) });
    let arrival =
        AttemptOutcome { choice, len: 1532, arrived: true, report, collides: Probability::ZERO };
    (0..1_000).for_each(|_| joint.on_outcome(&arrival));
    let draw = &mut Stream::new(Seed(3), "joint");
    let tried = (0..200).filter(|_| {
        let choice = joint.choose(Instant::START, &attempt(CODED), draw).expect("a choice");
        choice.rate > PhyRate::Ofdm9
    });
    assert!(tried.count() > 0);
}

#[test]
fn a_silence_that_is_usual_leaves_the_signal_alone() {
    let mut joint = joint(CODED);
    let choice = RateChoice { rate: PhyRate::Ofdm12, code: Code::of_parity(16) };
    let heard = Report { corrected: Some(4), combined: false, wanted: None, signal: Some(-80) };
    let silence = AttemptOutcome {
        choice,
        len: 1532,
        arrived: false,
        report: None,
        collides: Probability::ZERO,
    };
    let arrival = AttemptOutcome { arrived: true, report: Some(heard), ..silence };
    for _ in 0..100 {
        joint.on_outcome(&silence);
        (0..4).for_each(|_| joint.on_outcome(&arrival));
    }
    joint.on_outcome(&silence);
    assert_eq!(joint.signal.dbm(), -80);
    (0..3).for_each(|_| joint.on_outcome(&silence));
    assert!(joint.signal.dbm() < -80, "four in a row are rare");
}

/// Packets of one attempt at the signal `dbm`, of which others in the same slot hide `hidden` and
/// the own rate nothing; returns the outcomes.
fn crowded(joint: &mut Joint, hidden: f64, known: f64) -> Vec<RateChoice> {
    let draw = &mut Stream::new(Seed(7), "crowd");
    let report = Report { corrected: Some(0), combined: false, wanted: None, signal: Some(-60) };
    let collides = Probability::new(known).expect("a chance");
    let hide = Probability::new(hidden).expect("a chance");
    let mut choices = Vec::new();
    for packet in 0..3_000_u64 {
        let now = Instant::START + Duration::from_millis(packet);
        let choice = joint.choose(now, &attempt(CODED), draw).expect("it has no lifetime");
        let arrived = !draw.chance(hide);
        let report = arrived.then_some(report);
        joint.on_outcome(&AttemptOutcome { choice, len: 1532, arrived, report, collides });
        choices.push(choice);
    }
    choices
}

#[test]
fn collisions_that_the_station_knows_of_leave_the_highest_rate_the_best() {
    for (hidden, known) in [(0.3, 0.3), (0.45, 0.3)] {
        let choices = crowded(&mut joint(CODED), hidden, known);
        let fast = choices[1_000..].iter().filter(|it| it.rate == PhyRate::Ofdm54);
        assert!(fast.count() > 1_900, "{hidden} hidden, {known} known");
    }
}

#[test]
fn a_silence_counts_by_the_chance_that_it_was_no_collision() {
    let choice = RateChoice { rate: PhyRate::Ofdm54, code: CODED };
    let missed = |known: f64| {
        let mut joint = joint(CODED);
        let collides = Probability::new(known).expect("a chance");
        let report =
            Report { corrected: Some(0), combined: false, wanted: None, signal: Some(-60) };
        let silence = AttemptOutcome { choice, len: 1532, arrived: false, report: None, collides };
        let arrival = AttemptOutcome { arrived: true, report: Some(report), ..silence };
        for packet in 0..2_000 {
            joint.on_outcome(if packet * 3 % 10 < 3 { &silence } else { &arrival });
            joint.signal.reset_to_reported();
        }
        let place = joint.setup.rates.len() - 1;
        let (record, prior) = joint.known()[place];
        record.missed(false, prior)
    };
    assert!((missed(0.0) - 0.3).abs() < 0.05, "{}", missed(0.0));
    // Of a hundred frames 15 collide, and of the 85 others 15 are missed.
    assert!((missed(0.15) - 0.176).abs() < 0.05, "{}", missed(0.15));
    assert!(missed(0.3) < 0.05, "{}", missed(0.3));
}

#[test]
fn trials_are_of_higher_rates_or_of_stronger_codes() {
    let mut joint = joint(CODED);
    let draw = &mut Stream::new(Seed(3), "joint");
    let air: Air = |rate, _| (rate <= PhyRate::Ofdm24).then_some(0);
    send(&mut joint, CODED, air, Some(-70));
    joint.credit = 1.0;
    let forgotten = |record: &mut Record| (0..1_500).for_each(|_| record.fade());
    joint.records.iter_mut().flat_map(|rates| &mut rates[5..]).for_each(forgotten);
    let candidates = joint.candidates(&attempt(CODED), false);
    let of_24 = |it: &&Candidate| it.place == 4 && it.code == Code::NONE;
    let best = *candidates.iter().find(of_24).expect("24 Mb/s without parity");
    let trials: Vec<Candidate> =
        (0..500).filter_map(|_| joint.trial(&best, &attempt(CODED), draw)).collect();
    assert!(trials.len() > 10, "{best:?}");
    let is_one = |it: &Candidate| (it.place, it.code) > (best.place, best.code);
    assert!(trials.iter().all(is_one), "{best:?} {trials:?}");
}

#[test]
fn a_packet_is_delivered_by_as_many_attempts_as_fit_into_its_lifetime() {
    let second = Duration::from_secs(1);
    let of = |time: Option<Duration>| {
        let attempt = Attempt { left: 7, time, ..Attempt::default() };
        // Each attempt takes two seconds, the first of which is its frame.
        candidate::delivers(&attempt, 0.5, [2.0, 1.0])
    };
    assert_eq!(of(Some(second / 2)), 0.0, "no frame ends in time");
    assert_eq!(of(Some(second)), 0.5, "one ends exactly in time");
    assert_eq!(of(Some(second * 3)), 0.75);
    assert_eq!(of(None), 1.0 - 0.5_f64.powi(7));
}

#[test]
fn a_packet_costs_least_if_each_answered_frame_delivers_it() {
    let of = |success: f64, noticed: f64| candidate::Candidate {
        place: 0,
        code: Code::NONE,
        success,
        noticed,
        seconds: 1e-3,
        wait: 1e-4,
        delivers: success,
        delivery_upper_bound: noticed,
    };
    assert_eq!(of(0.4, 0.8).least_cost(), of(0.8, 0.8).cost());
    assert!(of(0.4, 0.8).least_cost() < of(0.4, 0.8).cost());
    assert_eq!(of(1.0, 1.0).least_cost(), 1e-3);
}

#[test]
fn frames_at_a_signal_nearby_count_the_less_the_more_the_own_signal_has() {
    let mut joint = joint(CODED);
    let here = Joint::index(joint.signal.dbm());
    let learn = |joint: &mut Joint, at: usize| {
        joint.records[at][0].record(0, Fate::Needed(0), 1_532.0, 1.0);
    };
    (0..8).for_each(|_| learn(&mut joint, here + 1));
    let nearby = joint.records[here + 1][0].known();
    // A decibel halves their weight, and so do eight frames of the own signal.
    assert!((joint.around(0).known() - nearby / 2.0).abs() < 1e-9);
    (0..9).for_each(|_| learn(&mut joint, here));
    let own = joint.records[here][0].known();
    let expected = own + nearby / 2.0 / (1.0 + own / record::HALF_WEIGHT_FRAMES);
    assert!((joint.around(0).known() - expected).abs() < 1e-9);
}

#[test]
fn a_trial_that_is_not_answered_costs_its_air_time_which_all_frames_earn() {
    let mut joint = joint(CODED);
    let choice = RateChoice { rate: PhyRate::Ofdm54, code: CODED };
    joint.is_trial = true;
    let seconds = joint.seconds(joint.setup.rates.len() - 1, CODED, 1_532);
    let before = joint.credit;
    let collides = Probability::ZERO;
    joint.on_outcome(&AttemptOutcome {
        choice,
        len: 1_532,
        arrived: false,
        report: None,
        collides,
    });
    let spent = before - joint.credit;
    assert!((spent - seconds).abs() < 1e-9, "{spent} of {seconds}");
    // Each frame earns a hundredth of its air time.
    joint.is_trial = false;
    let before = joint.credit;
    joint.on_outcome(&AttemptOutcome { choice, len: 1_532, arrived: true, report: None, collides });
    let earned = joint.credit - before;
    assert!((earned - WASTE * seconds).abs() < 1e-12, "{earned} of {seconds}");
}

#[test]
fn frames_with_parity_and_without_are_missed_apart() {
    let mut record = Record::default();
    (0..50).for_each(|_| record.record(1, Fate::Missed, 1_000.0, 1.0));
    (0..50).for_each(|_| record.record(0, Fate::Needed(0), 1_000.0, 1.0));
    let [without, with] = [false, true].map(|coded| record.missed(coded, Prior::default()));
    assert!(without < 0.1 && with > 0.9, "{without} {with}");
    let shares = record.shares(&[0.5; CODES], Prior::default(), 1_000.0, false);
    let noticed: Vec<f64> = shares.whole.iter().zip(shares.damaged).map(|(a, b)| a + b).collect();
    assert!((noticed[0] - (1.0 - without)).abs() < 1e-9);
    assert!(noticed[1..].iter().all(|it| (it - (1.0 - with)).abs() < 1e-9));
}

#[test]
fn the_common_share_of_silences_weighs_by_the_odds_that_the_signal_suffices() {
    let mut joint = joint(CODED);
    joint.collides = 0.2;
    joint.signal.report(-85);
    let mut weak = 0;
    for (place, (_, prior)) in joint.known().into_iter().enumerate() {
        let suffices = joint.presumed(place)[CODES - 1];
        let odds = suffices / (1.0 - suffices);
        assert!((prior.weight - (1.0 + 1_000.0 * 0.2 * odds)).abs() < 1e-6, "{place}");
        weak += u32::from(suffices < 0.5);
    }
    assert!(weak > 0 && weak < joint.setup.rates.len() as u32);
}

#[test]
fn a_rate_without_a_known_length_is_that_of_long_frames() {
    let mut joint = joint(None);
    let draw = &mut Stream::new(Seed(3), "joint");
    let air: Air = |rate, draw| {
        let lost = Probability::new(0.5).is_some_and(|share| draw.chance(share));
        (rate <= PhyRate::Ofdm12 || rate == PhyRate::Ofdm18 && !lost).then_some(0)
    };
    send(&mut joint, None, air, None);
    joint.credit = 0.0;
    let mut choose = |joint: &mut Joint, len| {
        let attempt = Attempt { len, ..attempt(None) };
        joint.choose(Instant::START, &attempt, draw).expect("it has no lifetime").rate
    };
    // Frames of a few bytes hardly ever fail.
    assert!(choose(&mut joint, 0) > PhyRate::Ofdm12);
    assert_eq!(choose(&mut joint, 1_500), PhyRate::Ofdm12);
    assert_eq!(joint.rate(Instant::START, 1, draw), PhyRate::Ofdm12);
}

#[test]
fn silences_that_were_as_frequent_before_do_not_lower_the_signal() {
    let mut joint = joint(CODED);
    // Every second frame is not answered, and the signal stays as it was.
    for _ in 0..300 {
        joint.signal.miss(0.02);
        joint.signal.report(-60);
    }
    (0..4).for_each(|_| joint.signal.miss(0.02));
    assert_eq!(joint.signal.dbm(), -60, "one series in sixteen is as long");
    joint.signal.miss(0.02);
    assert_eq!(joint.signal.dbm(), -61);
}
