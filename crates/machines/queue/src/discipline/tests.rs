use proptest::prelude::*;

use super::*;
use crate::scheduler::{FlowConfig, FlowError, Service};

fn flow(weight: f64) -> FlowConfig {
    FlowConfig { weight, power_factor: 1.5, reserved: false }
}

/// Busy flows of these weights, and the effort that each had when `total` was spent; an attempt of
/// flow *i* costs `costs[i]`.
fn shares(discipline: Discipline, weights: &[f64], costs: &[f64], total: f64) -> Vec<f64> {
    let mut scheduler = discipline.build();
    for &weight in weights {
        let flow = scheduler.add(flow(weight)).unwrap();
        scheduler.arrive(flow);
    }
    let mut spent = vec![0.0; weights.len()];
    while spent.iter().sum::<f64>() < total {
        let flow = scheduler.choose().expect("all are busy");
        let effort = costs[flow];
        scheduler.charge(flow, Service { effort, outcome: effort });
        spent[flow] += effort;
        // The next packet comes before the head is gone.
        scheduler.arrive(flow);
        scheduler.depart(flow);
    }
    let sum: f64 = spent.iter().sum();
    spent.iter().map(|spent| spent / sum).collect()
}

/// Seconds of 10 ms attempts until two best-effort flows share alike again, after one of them lost
/// everything for `dead` seconds.
fn recovery(discipline: Discipline, dead: f64) -> f64 {
    let mut scheduler = discipline.build();
    for _ in 0..2 {
        let config = FlowConfig { weight: 1.0, power_factor: 1.2, reserved: false };
        let flow = scheduler.add(config).unwrap();
        scheduler.arrive(flow);
    }
    let turn = |scheduler: &mut dyn Scheduler, is_dead: bool| {
        let flow = scheduler.choose().expect("both are busy");
        let outcome = if flow == 0 && is_dead { 0.0 } else { 0.01 };
        scheduler.charge(flow, Service { effort: 0.01, outcome });
        flow
    };
    let turns = |seconds: f64| (seconds * 100.0) as usize;
    for _ in 0..turns(dead) {
        turn(&mut *scheduler, true);
    }
    // The flow gets extra time while it is owed some: seconds with more than half for it.
    let owed = |_: &usize| {
        let first = (0..100).filter(|_| turn(&mut *scheduler, false) == 0).count();
        first > 52
    };
    (0..100_000).take_while(owed).count() as f64
}

//= S3.42
#[test]
fn after_a_path_was_dead_for_minutes_the_others_pay_for_less_than_two() {
    let brief = recovery(Discipline::ELF, 10.0);
    let long = recovery(Discipline::ELF, 600.0);
    assert!((20.0..70.0).contains(&brief), "a spell of seconds is made good: {brief}");
    assert!(long < 120.0, "{long} seconds");
    // The paper's own scheduler makes everything good.
    let slots = recovery(Discipline::ELF_PACKETS, 600.0);
    assert!(slots > 1_000.0, "{slots}");
}

//= S3.38
#[test]
fn fair_disciplines_share_effort_by_weight() {
    let weights = [1.0, 2.0, 5.0];
    for (discipline, costs) in [
        (Discipline::WRR, [1.0, 1.0, 1.0]),
        (Discipline::ELF_PACKETS, [1.0, 1.0, 1.0]),
        (Discipline::WFQ, [1_500.0, 40.0, 700.0]),
        (Discipline::AIRTIME, [0.015, 0.001, 0.004]),
        (Discipline::ELF, [0.015, 0.001, 0.004]),
    ] {
        let total = 40_000.0 * costs[0];
        let shares = shares(discipline, &weights, &costs, total);
        for (share, weight) in shares.iter().zip(weights) {
            assert!((share - weight / 8.0).abs() < 0.01, "{discipline}: {shares:?}");
        }
    }
}

/// The share of turns that each flow has while all of `busy` are.
fn shares_of(scheduler: &mut dyn Scheduler, busy: &[usize]) -> [f64; 4] {
    busy.iter().for_each(|flow| scheduler.arrive(*flow));
    let mut shares = [0.0; 4];
    turns(scheduler, &[1.0; 4], 8_000).into_iter().for_each(|flow| shares[flow] += 1.0 / 8_000.0);
    busy.iter().for_each(|flow| scheduler.depart(*flow));
    shares
}

//= S3.33
#[test]
fn reserved_flows_come_first_where_reservations_are_kept() {
    for discipline in Discipline::BUILT_IN.iter().filter(|it| it.keeps_reservations()) {
        let mut scheduler = discipline.build();
        let reserve = |weight| FlowConfig { weight, power_factor: 1.0, reserved: true };
        for config in [flow(1.0), reserve(0.5), flow(3.0), reserve(0.1)] {
            scheduler.add(config).unwrap();
        }
        for (busy, expected) in [
            (&[0, 1, 2, 3][..], [0.1, 0.5, 0.3, 0.1]),
            (&[0, 2, 3], [0.225, 0.0, 0.675, 0.1]),
            (&[0, 1], [0.5, 0.5, 0.0, 0.0]),
            // What no other flow wants goes to the one that does.
            (&[1], [0.0, 1.0, 0.0, 0.0]),
        ] {
            let shares = shares_of(&mut *scheduler, busy);
            let is_near = |(share, expected): (&f64, f64)| (share - expected).abs() < 0.005;
            assert!(shares.iter().zip(expected).all(is_near), "{discipline} {busy:?}: {shares:?}");
        }
    }
    let kept = Discipline::BUILT_IN.iter().map(|it| it.keeps_reservations());
    assert_eq!(kept.collect::<Vec<_>>(), [false, true, true, false, true, true, true]);
}

#[test]
fn packets_leave_a_fifo_as_they_came() {
    let mut fifo = Discipline::FIFO.build();
    for weight in [1.0, 9.0] {
        fifo.add(flow(weight)).unwrap();
    }
    let order = [0, 1, 1, 0, 1];
    order.iter().for_each(|flow| fifo.arrive(*flow));
    let served = order.map(|_| {
        let flow = fifo.choose().expect("packets are left");
        fifo.charge(flow, Service { effort: 1.0, outcome: 0.0 });
        fifo.depart(flow);
        flow
    });
    assert_eq!(served, order);
    assert_eq!(fifo.choose(), None);
}

#[test]
fn whoever_was_added_first_has_priority() {
    let mut priority = Discipline::PRIORITY.build();
    for _ in 0..3 {
        priority.add(flow(1.0)).unwrap();
    }
    priority.arrive(2);
    priority.arrive(2);
    assert_eq!(priority.choose(), Some(2));
    priority.arrive(0);
    assert_eq!(priority.choose(), Some(0));
    priority.depart(0);
    priority.depart(0);
    assert_eq!(priority.choose(), Some(2));
}

/// Whom a scheduler serves in the next turns, all flows staying busy; an attempt of flow *i* costs
/// `costs[i]`.
fn turns(scheduler: &mut dyn Scheduler, costs: &[f64], turns: usize) -> Vec<usize> {
    let serve = |_| {
        let flow = scheduler.choose().expect("all are busy");
        let effort = costs[flow];
        scheduler.charge(flow, Service { effort, outcome: effort });
        flow
    };
    (0..turns).map(serve).collect()
}

#[test]
fn in_a_round_each_flow_has_what_its_weight_says() {
    let mut wrr = Discipline::WRR.build();
    for weight in [1.0, 2.0, 100.0, 200.0] {
        wrr.add(flow(weight)).unwrap();
    }
    wrr.arrive(0);
    assert_eq!(turns(&mut *wrr, &[1.0; 4], 3), [0, 0, 0]);
    // Who joins has its share in the next round, no more and no less.
    wrr.arrive(1);
    assert_eq!(turns(&mut *wrr, &[1.0; 4], 6), [1, 1, 0, 1, 1, 0]);

    // Rounds are as short as the least weight allows: an attempt, not one for each unit of weight.
    let mut wrr = Discipline::WRR.build();
    for weight in [100.0, 200.0] {
        let flow = wrr.add(flow(weight)).unwrap();
        wrr.arrive(flow);
    }
    assert_eq!(turns(&mut *wrr, &[1.0; 2], 6), [0, 1, 1, 0, 1, 1]);
}

#[test]
fn a_costly_attempt_is_paid_off_in_rounds_as_short_as_before() {
    for cost in [2.0, 8.0] {
        let mut drr = Discipline::WRR.build();
        for weight in [0.5, 1.0, 1.0] {
            let flow = drr.add(flow(weight)).unwrap();
            drr.arrive(flow);
        }
        let costs = [cost, 1.0, 1.0];
        let served = turns(&mut *drr, &costs, 3_400);
        let effort = [0, 1, 2]
            .map(|flow| costs[flow] * served.iter().filter(|it| **it == flow).count() as f64);
        assert!((effort[1] / effort[0] - 2.0).abs() < 0.02, "{cost}: {effort:?}");
        assert!((effort[1] - effort[2]).abs() <= 2.0, "{cost}: {effort:?}");
        assert!(served.chunk_by(|a, b| a == b).all(|run| run.len() <= 2), "{cost}: {served:?}");
    }
}

#[test]
fn only_effort_limited_fairness_knows_lag() {
    for &discipline in Discipline::BUILT_IN {
        let mut scheduler = discipline.build();
        let flow = scheduler.add(flow(1.0)).unwrap();
        scheduler.arrive(flow);
        scheduler.charge(flow, Service { effort: 3.0, outcome: 0.0 });
        // At a power factor of 1.5, or of 1 where it means nothing.
        let lag = match discipline.name {
            "elf" | "elf-packets" => 2.0,
            "wfq" => 3.0,
            _ => 0.0,
        };
        assert!((scheduler.lag(flow) - lag).abs() < 1e-12, "{discipline}");
    }
}

//= S3.29
/// Air-time fairness is blind to outcome where effort-limited fairness makes up for errors.
#[test]
fn only_effort_limited_fairness_makes_up_for_errors() {
    let efforts = |discipline: Discipline| {
        let mut scheduler = discipline.build();
        for _ in 0..2 {
            let flow = scheduler.add(flow(1.0)).unwrap();
            scheduler.arrive(flow);
        }
        let mut efforts = [0.0_f64; 2];
        for _ in 0..20_000 {
            let flow = scheduler.choose().expect("both are busy");
            // One in four attempts of the first is lost, and its power factor is 1.5.
            let outcome = f64::from(u8::from(flow == 1 || efforts[0] % 4.0 > 0.0)) * 0.01;
            scheduler.charge(flow, Service { effort: 0.01, outcome });
            efforts[flow] += 1.0;
        }
        efforts[0] / efforts[1]
    };
    assert!((efforts(Discipline::AIRTIME) - 1.0).abs() < 0.01);
    assert!((efforts(Discipline::WFQ) - 1.0).abs() < 0.01);
    assert!((efforts(Discipline::ELF) - 4.0 / 3.0).abs() < 0.05);
}

#[test]
fn names_are_read_and_unknown_ones_refused() {
    for &discipline in Discipline::BUILT_IN {
        assert_eq!(discipline.name.parse(), Ok(discipline));
        assert_eq!(discipline.to_string(), discipline.name);
    }
    assert!("lottery".parse::<Discipline>().unwrap_err().to_string().contains("lottery"));
}

#[test]
fn impossible_flows_are_refused_by_every_discipline() {
    for &discipline in Discipline::BUILT_IN {
        let mut scheduler = discipline.build();
        for weight in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(matches!(scheduler.add(flow(weight)), Err(FlowError::Weight(_))));
        }
        for power_factor in [0.5, f64::NAN, f64::NEG_INFINITY] {
            let config = FlowConfig { power_factor, ..flow(1.0) };
            assert!(matches!(scheduler.add(config), Err(FlowError::PowerFactor(_))));
        }
        let limitless = FlowConfig { power_factor: f64::INFINITY, ..flow(1.0) };
        assert_eq!(scheduler.add(limitless), Ok(0));
    }
}

proptest! {
    /// Whatever happens, a flow with packets is found, and one without is not.
    #[test]
    fn the_chosen_flow_has_packets(
        which in 0..Discipline::BUILT_IN.len(),
        steps in prop::collection::vec((0_usize..5, 0_u8..5, 0.0..2.0), 1..200),
    ) {
        let mut scheduler = Discipline::BUILT_IN[which].build();
        let mut packets = [0_u32; 5];
        for index in 0..5 {
            let reserved = index == 4;
            scheduler.add(FlowConfig { reserved, ..flow(0.1 + f64::from(index)) }).unwrap();
        }
        for (flow, what, effort) in steps {
            match what {
                0 | 1 => {
                    scheduler.arrive(flow);
                    packets[flow] += 1;
                }
                2 => scheduler.charge(flow, Service { effort, outcome: effort / 2.0 }),
                3 => scheduler.pass(effort),
                _ => {
                    scheduler.depart(flow);
                    packets[flow] = packets[flow].saturating_sub(1);
                }
            }
            match scheduler.choose() {
                Some(flow) => prop_assert!(packets[flow] > 0),
                None => prop_assert_eq!(packets.iter().sum::<u32>(), 0),
            }
            prop_assert_eq!(scheduler.choose(), scheduler.choose());
        }
    }
}
