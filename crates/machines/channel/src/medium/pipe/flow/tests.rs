use proptest::prelude::*;
use windfall_base::{Class, Input, Port, Probability, Tag};

use super::*;
use crate::medium::{Line, PipeMediumConfig};
use crate::{AirConfig, Medium, MediumConfig, Model};

const VOICE: FlowId = FlowId(1);

fn probability(p: f64) -> Probability {
    Probability::new(p).expect("a probability")
}

/// A frame of 200 bytes of the flow.
fn frame(number: u64, flow: FlowId) -> Frame {
    let frame = Frame { tag: Some(Tag(number)), ..Frame::packet(vec![0; 200]) };
    frame.with_class(Class { flow, ..Class::NONE })
}

/// A path at 8 Mb/s with losses, bit errors and jitter of its own, and `flows`.
fn path(flows: Vec<FlowPathConfig>) -> PathConfig {
    let models = vec![Model::Loss(probability(0.1)), Model::BitErrors(probability(1e-4))];
    PathConfig {
        line: Line::Rate("8Mbps".parse().expect("a rate")),
        delay: Duration::from_millis(5),
        jitter: Some("1ms".parse().expect("a jitter")),
        air: AirConfig { models, ..AirConfig::default() },
        flows,
        ..PathConfig::default()
    }
}

fn voice(way: PathConfig) -> Vec<FlowPathConfig> {
    vec![FlowPathConfig { flow: VOICE, name: "voice".to_owned(), way }]
}

/// The outcome of a frame: its number, the time of its fate, a copy or not, its fate.
type Outcome = (u64, Instant, bool, FrameFate);

/// Sends frames of the flows, one each millisecond, and returns the outcome of each.
fn outcomes(forward: PathConfig, seed: u64, flows: &[FlowId]) -> Vec<Outcome> {
    let config = PipeMediumConfig { forward, backward: PathConfig::default() };
    let mut medium = Medium::new(MediumConfig::Pipe(Box::new(config)), Seed(seed), "m");
    let mut outcomes = Vec::new();
    let mut sends = (0..).zip(flows).peekable();
    loop {
        let next = sends.peek().map(|(number, _)| Instant::START + Duration::from_millis(*number));
        let due = medium.poll_timeout().map(|(at, _)| at);
        let Some(now) = next.into_iter().chain(due).min() else { return outcomes };
        while let Some((_, input)) = medium.poll_reception(now) {
            assert!(matches!(input, Input::Frame(..) | Input::TransmissionDone));
        }
        while let Some((at, event)) = medium.poll_event() {
            outcomes.push((event.tag.expect("a packet").0, at, event.duplicate, event.fate));
        }
        if let Some((number, flow)) = sends.next_if(|_| next == Some(now)) {
            medium.handle_transmit(now, Port(0), frame(number, *flow).into());
        }
    }
}

/// The outcomes of frames that belong to no flow.
fn of_others(outcomes: Vec<Outcome>, flows: &[FlowId]) -> Vec<Outcome> {
    outcomes.into_iter().filter(|it| flows[it.0 as usize] != VOICE).collect()
}

fn everything() -> PathConfig {
    let models = vec![
        Model::Loss(probability(0.3)),
        Model::BitErrors(probability(1e-3)),
        Model::Corruption(probability(0.2).into()),
    ];
    PathConfig {
        delay: Duration::from_millis(30),
        jitter: Some("20ms".parse().expect("a jitter")),
        reorder: Some("10%".parse().expect("a reordering")),
        duplicate: Some("20%".parse().expect("a chance")),
        onoff: Some("20ms 20ms".parse().expect("an interruption")),
        air: AirConfig { models, ..AirConfig::default() },
        ..PathConfig::default()
    }
}

proptest! {
    #[test]
    fn frames_of_other_flows_fare_the_same_with_and_without_it(
        seed: u64,
        flows in prop::collection::vec(0_u16..3, 1..150),
    ) {
        let flows: Vec<FlowId> = flows.into_iter().map(FlowId).collect();
        let without = outcomes(path(Vec::new()), seed, &flows);
        let with = outcomes(path(voice(everything())), seed, &flows);
        prop_assert_eq!(of_others(with, &flows), of_others(without, &flows));
    }
}

#[test]
fn a_flow_is_lost_and_delayed_on_top_of_the_path() {
    let delay = Duration::from_millis(30);
    let air = AirConfig::of(Model::Loss(probability(0.5)));
    let flows = vec![VOICE; 2000];
    let without = outcomes(path(Vec::new()), 1, &flows);
    let with = outcomes(path(voice(PathConfig { delay, air, ..PathConfig::default() })), 1, &flows);
    let pairs = || without.iter().zip(&with);
    assert!(pairs().all(|(before, after)| after.1 == before.1 + delay));
    assert!(pairs().all(|(before, after)| after.3 == before.3 || after.3 == FrameFate::Lost));
    let arrived = with.iter().filter(|it| it.3.arrives()).count();
    // 0.9 · 0.5 of 2000, and four deviations.
    assert!((arrived as f64 - 900.0).abs() < 4.0 * 22.3, "{arrived}");
}

#[test]
fn copies_of_the_path_and_of_the_flow_both_come_later_by_the_delay_of_the_flow() {
    let duplicate = Some("1".parse().expect("a chance"));
    let delay = Duration::from_millis(30);
    let way = PathConfig { duplicate, delay, ..PathConfig::default() };
    let forward = PathConfig { duplicate, flows: voice(way), ..PathConfig::default() };
    let arrived = outcomes(forward, 1, &[VOICE, FlowId(0)]);
    let told: Vec<_> = arrived.iter().map(|it| (it.0, it.1.as_micros() / 1000, it.2)).collect();
    assert_eq!(told, [(1, 1, false), (1, 1, true), (0, 30, false), (0, 30, true), (0, 30, true)]);
}

#[test]
fn a_repair_belongs_to_the_flow_of_its_packets_and_a_frame_without_any_to_none() {
    let way =
        PathConfig { air: AirConfig::of(Model::Loss(Probability::ONE)), ..PathConfig::default() };
    let mut flows = FlowPaths::new(&voice(way), Instant::START, Seed(1), "m");
    assert!(flows.of(&frame(1, VOICE)).is_some());
    assert!(flows.of(&frame(1, FlowId(2))).is_none());
    assert!(flows.of(&Frame { tag: None, ..frame(1, VOICE) }).is_none());
    let mut repair = Frame { tag: None, ..frame(1, VOICE) };
    repair.covers = Some([].into());
    assert!(flows.of(&repair).is_some());
}

#[test]
fn what_is_picked_happens_to_that_frame_alone() {
    let of = |picked: Picked| {
        let class = Class { flow: VOICE, picked, ..Class::NONE };
        let mut flows = FlowPaths::new(&voice(PathConfig::default()), Instant::START, Seed(1), "m");
        let frame = frame(1, FlowId(0)).with_class(class);
        let flow = flows.of(&frame).expect("its flow");
        let fate = flow.judge(&frame, FrameFate::Intact);
        let Arrivals { copies, .. } = flow.next(&frame, Instant::START, None, 200);
        (fate, copies.iter().flatten().count())
    };
    assert_eq!(of(Picked::NONE), (FrameFate::Intact, 0));
    assert_eq!(of(Picked { lose: true, ..Picked::NONE }), (FrameFate::Lost, 0));
    assert_eq!(of(Picked { copy: true, ..Picked::NONE }), (FrameFate::Intact, 1));
    let (fate, copies) = of(Picked { damage: true, ..Picked::NONE });
    assert_eq!((fate.inverted().len(), copies), (1, 0));
}

#[test]
fn a_change_of_the_path_leaves_the_draws_of_the_flow_as_they_were() {
    let air = AirConfig::of(Model::Loss(probability(0.5)));
    let way = PathConfig { air, ..PathConfig::default() };
    let before = path(voice(way));
    let later = PathConfig { delay: Duration::from_millis(9), ..before.clone() };
    let changes = vec![(Instant::START + Duration::from_millis(50), later)];
    let flows = [VOICE; 100];
    let changed = outcomes(PathConfig { changes, ..before.clone() }, 1, &flows);
    let fates = |outcomes: Vec<Outcome>| {
        let mut all: Vec<_> = outcomes.into_iter().map(|it| (it.0, it.3)).collect();
        all.sort_by_key(|it| it.0);
        all
    };
    assert_eq!(fates(changed), fates(outcomes(before, 1, &flows)));
}

#[test]
fn a_changed_flow_continues_from_its_state() {
    let of = |delay: u64| PathConfig {
        delay: Duration::from_millis(delay),
        air: AirConfig::of(Model::Loss(probability(0.5))),
        ..PathConfig::default()
    };
    let before = path(voice(of(1)));
    let later = path(voice(of(20)));
    let changes = vec![(Instant::START + Duration::from_millis(50), later)];
    let flows = [VOICE; 100];
    let changed = outcomes(PathConfig { changes, ..before.clone() }, 1, &flows);
    let unchanged = outcomes(before, 1, &flows);
    for ((number, at, _, fate), (_, other, _, other_fate)) in changed.iter().zip(&unchanged) {
        let added = Duration::from_millis(if *number < 50 { 0 } else { 19 });
        assert_eq!((*at, fate), (*other + added, other_fate), "{number}");
    }
}
