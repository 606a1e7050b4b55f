use windfall_base::{Seed, Stream};

use super::*;
use crate::scheduler::Service;

/// One attempt takes so long, in seconds.
const ATTEMPT: f64 = 0.01;

/// Busy flows whose attempts fail at these rates: the outcome of each as a share of what it could
/// expect.
fn fidelities(discipline: Discipline, flows: &[(FlowConfig, f64)]) -> Vec<f64> {
    let mut scheduler = discipline.build();
    let mut expectations = Expectations::new(discipline);
    let mut had = vec![0.0; flows.len()];
    let mut now = Instant::START;
    for (flow, (config, _)) in flows.iter().enumerate() {
        scheduler.add(*config).unwrap();
        expectations.add(*config);
        scheduler.arrive(flow);
        expectations.arrive(now, flow, 1_000);
    }
    let mut random = Stream::new(Seed(1), "errors");
    for _ in 0..20_000 {
        let flow = scheduler.choose().unwrap();
        let arrived = random.unit() >= flows[flow].1;
        now = now.saturating_add(Duration::from_secs_f64(ATTEMPT));
        expectations.spend(flow, ATTEMPT, 1);
        if arrived {
            expectations.credit(flow, ATTEMPT);
            had[flow] += ATTEMPT;
        }
        let unit = if discipline.measure == Measure::AirTime { ATTEMPT } else { 1.0 };
        let outcome = if arrived { unit } else { 0.0 };
        scheduler.charge(flow, Service { effort: unit, outcome });
        if arrived {
            // The next packet waits already.
            expectations.arrive(now, flow, 1_000);
            scheduler.arrive(flow);
            expectations.depart(now, flow);
            scheduler.depart(flow);
        }
    }
    (0..flows.len()).map(|flow| had[flow] / expectations.expected(now, flow)).collect()
}

fn best_effort(weight: f64) -> FlowConfig {
    FlowConfig { weight, power_factor: 1.2, reserved: false }
}

//= S3.25
#[test]
fn a_flow_that_loses_half_has_half_under_every_discipline() {
    for &discipline in Discipline::BUILT_IN {
        let alone = fidelities(discipline, &[(best_effort(1.0), 0.5)]);
        // Five standard deviations of a share of 20 000.
        assert!((alone[0] - 0.5).abs() < 0.018, "{discipline}: {alone:?}");
        let clean = fidelities(discipline, &[(best_effort(1.0), 0.0)]);
        assert!((clean[0] - 1.0).abs() < 1e-6, "{discipline}: {clean:?}");
    }
}

//= S3.25
#[test]
fn beside_a_flow_without_errors_the_discipline_says_who_pays() {
    let flows = [(best_effort(1.0), 0.5), (best_effort(3.0), 0.0)];
    for discipline in [Discipline::WRR, Discipline::WFQ, Discipline::AIRTIME] {
        let found = fidelities(discipline, &flows);
        // Air time by weight, whatever comes of it.
        assert!((found[0] - 0.5).abs() < 0.04, "{discipline}: {found:?}");
        assert!((found[1] - 1.0).abs() < 0.02, "{discipline}: {found:?}");
    }
    for discipline in [Discipline::ELF, Discipline::ELF_PACKETS] {
        let found = fidelities(discipline, &flows);
        // Equation 1: 1.2 and 3 of 4.2 instead of 1 and 3 of 4.
        let [bad, good] = [1.2 / 4.2 * 0.5 / 0.25, 3.0 / 4.2 / 0.75];
        assert!((found[0] - bad).abs() < 0.04, "{discipline}: {found:?}");
        assert!((found[1] - good).abs() < 0.02, "{discipline}: {found:?}");
    }
    let fifo = fidelities(Discipline::FIFO, &flows);
    // Each packet of the first takes two attempts, and all wait for them.
    assert!((fifo[0] - fifo[1]).abs() < 0.01 && fifo[1] < 0.7, "{fifo:?}");
}

//= S3.25
#[test]
fn a_reserved_flow_within_its_power_factor_has_all() {
    let reserved = FlowConfig { weight: 0.2, power_factor: 3.0, reserved: true };
    let flows = [(reserved, 0.5), (best_effort(1.0), 0.0)];
    let elf = fidelities(Discipline::ELF, &flows);
    assert!((elf[0] - 1.0).abs() < 0.02, "{elf:?}");
    // It takes 0.4 of the link instead of 0.2.
    assert!((elf[1] - 0.75).abs() < 0.02, "{elf:?}");
    let fair = fidelities(Discipline::WFQ, &flows);
    assert!((fair[0] - 0.5).abs() < 0.05, "{fair:?}");
}

//= S3.25
#[test]
fn what_a_flow_asks_for_now_and_then_is_all_that_it_expects() {
    for &discipline in Discipline::BUILT_IN {
        let mut expectations = Expectations::new(discipline);
        expectations.add(best_effort(1.0));
        let mut now = Instant::START;
        for packet in 0..100 {
            now = now.saturating_add(Duration::from_secs(1));
            expectations.arrive(now, 0, 100);
            expectations.spend(0, ATTEMPT, 1);
            if packet % 4 == 0 {
                expectations.give_up(0);
            } else {
                // The second attempt.
                expectations.spend(0, ATTEMPT, 1);
                expectations.credit(0, ATTEMPT);
            }
            expectations.depart(now, 0);
        }
        // Retransmission costs it nothing; a packet that is given up does.
        let expected = expectations.expected(now, 0);
        assert!((expected - 100.0 * ATTEMPT).abs() < 1e-9, "{discipline}: {expected}");
    }
}

/// Flows that have had packets of these lengths for `millis`, in which the link has spent a second
/// on them in all: what each could expect of it.
fn expected(discipline: Discipline, flows: &[(FlowConfig, usize)], millis: u64) -> Vec<f64> {
    let mut expectations = Expectations::new(discipline);
    for (number, (config, bytes)) in flows.iter().enumerate() {
        expectations.add(*config);
        expectations.arrive(Instant::START, number, *bytes);
    }
    (0..100).for_each(|_| expectations.spend(0, ATTEMPT, 1));
    let now = Instant::START.saturating_add(Duration::from_millis(millis));
    (0..flows.len()).map(|flow| expectations.expected(now, flow)).collect()
}

fn assert_near(found: &[f64], expected: &[f64], what: &str) {
    let is_near = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-9;
    assert!(found.iter().zip(expected).all(is_near), "{what}: {found:?} for {expected:?}");
}

#[test]
fn flows_that_take_turns_by_packets_have_link_time_by_the_length_of_these() {
    let flows = [(best_effort(1.0), 1_500), (best_effort(1.0), 500), (best_effort(2.0), 1_000)];
    for discipline in [Discipline::WRR, Discipline::ELF_PACKETS] {
        assert_near(&expected(discipline, &flows, 2_000), &[0.375, 0.125, 0.5], "packets");
    }
    for discipline in [Discipline::WFQ, Discipline::AIRTIME, Discipline::ELF] {
        assert_near(&expected(discipline, &flows, 2_000), &[0.25, 0.25, 0.5], "time");
    }
    // The first has all, and in one queue no flow has a share before something arrives.
    assert_near(&expected(Discipline::PRIORITY, &flows, 2_000), &[1.0, 0.0, 0.0], "priority");
    assert_near(&expected(Discipline::FIFO, &flows, 2_000), &[1.0, 1.0, 1.0], "fifo");
}

#[test]
fn reserved_flows_expect_their_fraction_and_best_effort_the_rest() {
    let reserved = |weight| FlowConfig { weight, power_factor: 1.5, reserved: true };
    for discipline in [Discipline::ELF, Discipline::ELF_PACKETS] {
        let flows = [(reserved(0.2), 300), (best_effort(3.0), 700), (best_effort(1.0), 700)];
        assert_near(&expected(discipline, &flows, 2_000), &[0.2, 0.6, 0.2], "shared");
        // Without best effort they have the whole link, by their fractions.
        let flows = [(reserved(0.2), 300), (reserved(0.3), 700)];
        assert_near(&expected(discipline, &flows, 2_000), &[0.4, 0.6], "alone");
        // More than the link is promised: each has less, and best effort nothing.
        let flows = [(reserved(0.9), 300), (reserved(0.6), 300), (best_effort(1.0), 300)];
        assert_near(&expected(discipline, &flows, 2_000), &[0.6, 0.4, 0.0], "too much");
    }
}

#[test]
fn a_flow_is_busy_after_a_second_with_packets() {
    let flows = [(best_effort(1.0), 1_000)];
    for &discipline in Discipline::BUILT_IN {
        assert_near(&expected(discipline, &flows, 999), &[0.0], "it asked for one packet");
        assert_near(&expected(discipline, &flows, 1_000), &[1.0], "it could have had all");
    }
}

#[test]
fn a_fifo_divides_by_what_arrived_of_each_flow() {
    let mut expectations = Expectations::new(Discipline::FIFO);
    (0..2).for_each(|_| expectations.add(best_effort(1.0)));
    // What was before the flows had packets does not count.
    expectations.spend(0, 5.0, 1);
    expectations.credit(0, 5.0);
    let early = expectations.expected(Instant::START, 0);
    (0..2).for_each(|flow| expectations.arrive(Instant::START, flow, 1_000));
    (0..2).for_each(|flow| expectations.arrive(Instant::START, flow, 1_000));
    expectations.spend(0, 3.0, 2);
    expectations.credit(0, 1.0);
    expectations.spend(1, 5.0, 2);
    expectations.credit(1, 3.0);
    let now = Instant::START.saturating_add(Duration::from_secs(2));
    let found = [0, 1].map(|flow| expectations.expected(now, flow));
    // Of 8 s of link time a quarter and three quarters.
    assert_near(&found, &[early + 2.0, 6.0], "fifo");
    assert_near(&[early], &[5.0], "what came without a packet was asked for all the same");
}

#[test]
fn a_packet_that_is_given_up_counts_as_long_as_its_last_attempt() {
    let mut expectations = Expectations::new(Discipline::WFQ);
    expectations.add(best_effort(1.0));
    expectations.arrive(Instant::START, 0, 1_000);
    expectations.spend(0, 0.6, 3);
    expectations.give_up(0);
    assert_near(&[expectations.expected(Instant::START, 0)], &[0.2], "three attempts");
    // No attempt tells no length, and the last packet is gone: the earlier one counts.
    expectations.spend(0, 0.5, 0);
    expectations.depart(Instant::START, 0);
    expectations.give_up(0);
    assert_near(&[expectations.expected(Instant::START, 0)], &[0.4], "given up afterwards");
}
