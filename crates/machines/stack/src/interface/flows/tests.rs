use windfall_base::{Class, Seed};

use super::*;

fn flow(number: u16, weight: f64, reserve: Option<u64>) -> ScheduledFlow {
    let share = FlowConfig { weight, power_factor: 1.2, reserved: reserve.is_some() };
    ScheduledFlow { flow: FlowId(number), share, reserve: reserve.and_then(Rate::from_bps) }
}

fn queues(flows: &[ScheduledFlow]) -> Queues {
    queues_of(Discipline::ELF, flows)
}

fn queues_of(discipline: Discipline, flows: &[ScheduledFlow]) -> Queues {
    let limits = Limits::default();
    let random = Stream::new(Seed(0), "queue");
    Queues::new(&QueueConfig { discipline, limits, flows: flows.to_vec(), random }, 1)
}

fn packet(number: u16) -> Frame {
    let class = Class { flow: FlowId(number), ..Class::default() };
    Frame::packet(vec![0; 1_000]).with_class(class)
}

//= S3.33
/// Busy flows whose packets join while another is on the air do not make time pass twice.
#[test]
fn a_reservation_is_kept_whenever_packets_join() {
    let attempt = Duration::from_millis(10);
    // A fifth of 800 kb/s, which is what packets of 1000 bytes in 10 ms are.
    let flows = [flow(1, 0.2, Some(160_000)), flow(2, 1.0, None)];
    for joined in [0, 1, 5, 9] {
        let mut queues = queues(&flows);
        let mut books = InterfaceAccount::new(false);
        let mut now = Instant::START;
        for _ in 0..1_000 {
            let joins = now + Duration::from_millis(joined);
            assert!(
                [1, 2]
                    .iter()
                    .all(|flow| matches!(queues.push(joins, 0, packet(*flow)), Join::Joined))
            );
            now += attempt;
            let Some((ticket, _)) = queues.pull(now, 0, |_| Duration::ZERO, &mut books) else {
                panic!("all wait")
            };
            queues.charge(now, ticket, Attempt { count: 1, spent: attempt, brings: Some(attempt) });
            queues.credit(ticket, attempt);
            queues.done(ticket);
        }
        let bytes = queues.accounts()[1].bytes;
        assert!(bytes.abs_diff(200_000) <= 2_000, "{bytes} with packets {joined} ms later");
    }
}

//= S3.33
/// A rate is kept whatever the length of the other packets is, in every measure.
#[test]
fn a_reservation_is_a_rate_under_every_discipline() {
    // Packets of 100 bytes take 2 ms each, of which 40 in a second are 0.08 of the link.
    let flows = [flow(1, 0.08, Some(32_000)), flow(2, 1.0, None)];
    let kept = Discipline::BUILT_IN.iter().filter(|it| it.keeps_reservations());
    for (discipline, other) in kept.flat_map(|&it| [(it, 50), (it, 100), (it, 1_500)]) {
        let mut queues = queues_of(discipline, &flows);
        let mut books = InterfaceAccount::new(false);
        let mut now = Instant::START;
        while now < Instant::START + Duration::from_secs(20) {
            for (number, len) in [(1, 100), (2, other)] {
                let class = Class { flow: FlowId(number), ..Class::default() };
                // What does not fit waits for no one.
                _ = queues.push(now, 0, Frame::packet(vec![0; len]).with_class(class));
            }
            let Some((ticket, _)) = queues.pull(now, 0, |_| Duration::ZERO, &mut books) else {
                panic!("all wait")
            };
            let attempt = Duration::from_micros(1_000 + 10 * ticket.len as u64);
            now += attempt;
            queues.charge(now, ticket, Attempt { count: 1, spent: attempt, brings: Some(attempt) });
            queues.credit(ticket, attempt);
            queues.done(ticket);
        }
        let rate = queues.accounts()[1].bytes as f64 * 8.0 / 20.0;
        assert!((rate / 32_000.0 - 1.0).abs() < 0.03, "{discipline}, {other} bytes: {rate} b/s");
    }
}

//= S3.33
/// Time that no flow is charged for counts for a reservation, once.
#[test]
fn idle_time_counts_once() {
    let mut queues = queues(&[]);
    let at = |millis| Instant::START + Duration::from_millis(millis);
    let spent = Duration::from_millis(10);
    queues.pass(at(4), Duration::ZERO);
    queues.pass(at(10), spent);
    assert_eq!(queues.ahead, Duration::from_millis(4));
    queues.pass(at(13), Duration::ZERO);
    queues.pass(at(20), spent);
    assert_eq!(queues.ahead, Duration::from_millis(4));
    queues.pass(at(50), Duration::ZERO);
    assert_eq!(queues.ahead, Duration::ZERO);
}

#[test]
fn thousands_of_flows_share_by_weight() {
    let weight = |number: u16| f64::from(1 + number % 3);
    let flows: Vec<_> = (1..=3_000).map(|number| flow(number, weight(number), None)).collect();
    let mut queues = queues(&flows);
    let mut now = Instant::START;
    let mut books = InterfaceAccount::new(false);
    let attempt = Duration::from_millis(10);
    for flow in &flows {
        assert!(matches!(queues.push(now, 0, packet(flow.flow.0)), Join::Joined));
    }
    // Ten rounds, in each of which a flow has as many turns as its weight says.
    for _ in 0..10 * 2 * 3_000 {
        now += attempt;
        let Some((ticket, pulled)) = queues.pull(now, 0, |_| Duration::ZERO, &mut books) else {
            panic!("all wait")
        };
        assert!(matches!(queues.push(now, 0, pulled.frame), Join::Joined));
        queues.charge(now, ticket, Attempt { count: 1, spent: attempt, brings: Some(attempt) });
        queues.credit(ticket, attempt);
        queues.done(ticket);
    }
    for account in &queues.accounts()[1..] {
        let turns = account.bytes as f64 / 1_000.0;
        assert!((turns - 10.0 * weight(account.flow.0)).abs() <= 1.0, "{account:?}");
    }
}

#[test]
fn a_repair_is_no_packet_of_its_flow() {
    let mut queues = queues(&[flow(1, 1.0, None)]);
    let mut books = InterfaceAccount::new(false);
    let mut repair = packet(1);
    repair.covers = Some([].into());
    for frame in [packet(1), repair] {
        assert!(matches!(queues.push(Instant::START, 0, frame), Join::Joined));
    }
    while let Some((ticket, _)) = queues.pull(Instant::START, 0, |_| Duration::ZERO, &mut books) {
        queues.credit(ticket, Duration::from_millis(1));
        queues.done(ticket);
    }
    let account = &queues.accounts()[1];
    assert_eq!((account.offered, account.bytes), (1, 1_000));
}
