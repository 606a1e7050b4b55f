use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use proptest::collection::vec;
use proptest::prelude::*;
use windfall_base::{Duration, Failure, FlowId, Frame, Probability, Rate, RxVector, Tag, TxVector};
use windfall_wire_link::wavelan::{Address, Head, Kind};

use windfall_files::traces::error_trace::Fault;
use windfall_files::traces::{ErrorTrace, RateTrace};

use super::*;
use crate::{Addressing, Air, AirConfig, FrameFate, Model};

const MBPS_8: u64 = 8;

fn packet(bytes: usize) -> Outgoing {
    Outgoing::from(Frame { tag: Some(Tag(1)), ..Frame::packet(Bytes::from(vec![7; bytes])) })
}

fn rate(mbps: u64) -> Rate {
    Rate::from_mbps(mbps).expect("a rate")
}

fn micros(n: u64) -> Instant {
    Instant::from_nanos(n * 1000)
}

/// A readable line for what a station gets.
fn line(at: Instant, port: Port, input: &Input) -> String {
    let what = match input {
        Input::Frame(frame, RxVector { began, .. }) => {
            format!("frame of {} from {}", frame.len(), began.as_micros())
        }
        Input::CarrierBusy => "busy".to_owned(),
        Input::CarrierIdle => "idle".to_owned(),
        Input::ReceptionFailed(Failure::Header) => "failed".to_owned(),
        Input::ReceptionFailed(_) => "noise".to_owned(),
        Input::Overheard(_) => "overheard".to_owned(),
        Input::TransmissionDone => "done".to_owned(),
        Input::CarrierPassed(time) => format!("passed {time}"),
    };
    format!("{} {}: {what}", at.as_micros(), port.0)
}

/// Sends each frame at its time (in µs), and writes down what the stations get.
fn timeline(medium: &mut Medium, sends: &[(u64, u16, usize)]) -> Vec<String> {
    let mut lines = Vec::new();
    let mut sends = sends.iter().peekable();
    let mut now = Instant::START;
    loop {
        while let Some((port, input)) = medium.poll_reception(now) {
            lines.push(line(now, port, &input));
        }
        let due = medium.poll_timeout().map(|(due, _)| due);
        let next = sends.peek().map(|send| micros(send.0));
        now = match (due, next) {
            (Some(due), Some(next)) => due.min(next),
            (due, next) => match due.or(next) {
                Some(at) => at,
                None => return lines,
            },
        };
        if let Some(&(_, port, bytes)) = sends.next_if(|send| micros(send.0) == now) {
            medium.handle_transmit(now, Port(port), packet(bytes));
        }
    }
}

fn pipe(forward: PathConfig) -> Medium {
    let config = PipeMediumConfig { forward, backward: PathConfig::default() };
    Medium::new(MediumConfig::Pipe(Box::new(config)), Seed(1), "m")
}

#[test]
fn a_pipe_takes_air_time_and_delay() {
    let forward = PathConfig {
        line: Line::Rate(rate(MBPS_8)),
        delay: Duration::from_millis(5),
        ..PathConfig::default()
    };
    let lines = timeline(&mut pipe(forward), &[(0, 0, 1000), (1000, 0, 500), (1200, 1, 9)]);
    assert_eq!(
        lines,
        [
            "1000 0: done",
            "1200 1: done",
            "1200 0: frame of 9 from 1200",
            "1500 0: done",
            "6000 1: frame of 1000 from 5000",
            "6500 1: frame of 500 from 6000",
        ]
    );
}

#[test]
fn a_frame_given_too_early_waits_for_the_line() {
    let path = PathConfig { line: Line::Rate(rate(MBPS_8)), ..PathConfig::default() };
    let mut medium = pipe(path);
    medium.handle_transmit(Instant::START, Port(0), packet(1000));
    medium.handle_transmit(Instant::START, Port(0), packet(1000));
    assert_eq!(medium.held(), 2);
    let lines = timeline(&mut medium, &[]);
    let expected = ["1000 0: done", "1000 1: frame of 1000 from 0", "2000 0: done"];
    assert_eq!(lines[..3], expected);
    assert_eq!(medium.held(), 0);
}

#[test]
fn a_rate_trace_drives_a_pipe() {
    let trace: RateTrace = "1\n2\n4\n".parse().expect("a trace");
    let mut medium = pipe(PathConfig { line: Line::Trace(trace), ..PathConfig::default() });
    let lines = timeline(&mut medium, &[(0, 0, 1500), (1000, 0, 3000), (4100, 0, 1)]);
    let done: Vec<_> = lines.iter().filter(|line| line.ends_with("done")).collect();
    assert_eq!(done, ["1000 0: done", "4000 0: done", "5000 0: done"]);
}

#[test]
fn frames_behind_a_rate_trace_and_its_slots_keep_their_order_and_none_is_lost() {
    let after = PathConfig { line: Line::Rate(rate(MBPS_8)), ..PathConfig::default() };
    let forward = PathConfig {
        line: Line::Trace("1\n20\n".parse().expect("a trace")),
        slot: Some("50ms".parse().expect("slots")),
        changes: vec![(micros(10_000), after)],
        ..PathConfig::default()
    };
    let sends: Vec<_> = (0..12).map(|it| (it * 3_000, 0, 1000 + it as usize)).collect();
    let mut medium = pipe(forward);
    let lines = timeline(&mut medium, &sends);
    let arrived = lines.iter().filter_map(|line| line.split_once("frame of "));
    let lengths = arrived.filter_map(|(_, rest)| rest.split(' ').next()?.parse::<usize>().ok());
    assert_eq!(lengths.collect::<Vec<_>>(), (1000..1012).collect::<Vec<_>>(), "{lines:?}");
    let done = lines.iter().filter(|line| line.ends_with("done")).count();
    assert_eq!((done, medium.held()), (12, 0), "{lines:?}");
}

#[test]
fn nothing_arrives_after_the_end_of_a_trace_that_is_used_once() {
    let trace: RateTrace = "1\n2\n4\n".parse().expect("a trace");
    let mut medium = pipe(PathConfig { line: Line::Trace(trace.once()), ..PathConfig::default() });
    let lines = timeline(&mut medium, &[(0, 0, 1500), (1000, 0, 3000), (4100, 0, 1)]);
    let arrived: Vec<_> = lines.iter().filter(|line| line.contains("frame")).collect();
    assert_eq!(arrived, ["1000 1: frame of 1500 from 0", "4000 1: frame of 3000 from 1000"]);
    let fates: Vec<_> = std::iter::from_fn(|| medium.poll_event()).map(|(_, it)| it.fate).collect();
    assert_eq!(fates.last(), Some(&FrameFate::Lost));
    assert_eq!(medium.held(), 0);
}

#[test]
fn a_lost_frame_is_reported_when_it_would_have_arrived() {
    let mut medium = pipe(PathConfig {
        delay: Duration::from_millis(5),
        air: AirConfig::of(Model::Loss(Probability::ONE)),
        ..PathConfig::default()
    });
    assert_eq!(timeline(&mut medium, &[(0, 0, 100)]), ["0 0: done"]);
    let (at, event) = medium.poll_event().expect("an event");
    assert_eq!((at, event.number, event.tag), (micros(5000), Some(0), Some(Tag(1))));
    assert_eq!((event.length, event.fate), (100, FrameFate::Lost));
}

fn shared(ports: u16, hearing: Hearing) -> Medium {
    let config = WavelanMediumConfig { hearing, ..WavelanMediumConfig::new(ports, rate(MBPS_8)) };
    Medium::new(MediumConfig::Wavelan(config), Seed(1), "m")
}

#[test]
fn everybody_hears_a_shared_medium() {
    let lines = timeline(&mut shared(3, Hearing::All), &[(0, 1, 1000)]);
    assert_eq!(
        lines,
        [
            "0 0: busy",
            "0 2: busy",
            "1000 1: done",
            "1000 0: frame of 1000 from 0",
            "1000 0: idle",
            "1000 2: frame of 1000 from 0",
            "1000 2: idle",
        ]
    );
}

#[test]
fn the_air_time_holds_what_the_sender_asks() {
    let mut medium = shared(2, Hearing::All);
    let vector = TxVector {
        rate: Some(rate(80)),
        overhead: Duration::from_micros(50),
        ..TxVector::default()
    };
    medium.handle_transmit(Instant::START, Port(0), Outgoing { vector, ..packet(1000) });
    let lines = timeline(&mut medium, &[]);
    assert!(lines.contains(&"150 1: frame of 1000 from 0".to_owned()), "{lines:?}");
}

#[test]
fn frames_that_overlap_collide() {
    let mut medium = shared(3, Hearing::All);
    let lines = timeline(&mut medium, &[(0, 0, 1000), (900, 1, 1000)]);
    assert_eq!(
        lines,
        [
            "0 1: busy",
            "0 2: busy",
            "900 0: busy",
            "1000 0: done",
            "1000 1: failed",
            "1000 1: idle",
            "1900 1: done",
            "1900 0: failed",
            "1900 0: idle",
            "1900 2: failed",
            "1900 2: idle",
        ]
    );
    let mut collisions = 0;
    while let Some((_, event)) = medium.poll_event() {
        assert_eq!(event.fate, FrameFate::Collided);
        collisions += 1;
    }
    assert_eq!(collisions, 4);
}

#[test]
fn frames_that_touch_do_not_collide() {
    let lines = timeline(&mut shared(2, Hearing::All), &[(0, 0, 1000), (1000, 1, 1000)]);
    let frames = lines.iter().filter(|line| line.contains("frame")).count();
    assert_eq!(frames, 2, "{lines:?}");
}

#[test]
fn hidden_stations_collide_only_where_both_are_heard() {
    // 0 and 2 do not hear each other; 1 hears both and 3 hears only 2.
    let pairs = [(0, 1), (1, 0), (2, 1), (1, 2), (2, 3)].map(|(a, b)| (Port(a), Port(b)));
    let mut medium = shared(4, Hearing::Pairs(BTreeSet::from(pairs)));
    let lines = timeline(&mut medium, &[(0, 0, 1000), (500, 2, 1000)]);
    assert_eq!(
        lines,
        [
            "0 1: busy",
            "500 3: busy",
            "1000 0: done",
            "1500 2: done",
            "1500 1: failed",
            "1500 1: idle",
            "1500 3: frame of 1000 from 500",
            "1500 3: idle",
        ]
    );
}

#[test]
fn an_address_in_the_air_has_its_own_weather() {
    let loss = AirConfig::of(Model::Loss(Probability::ONE));
    let mut config = WavelanMediumConfig::new(3, rate(MBPS_8));
    config.paths.insert((Port(0), Port(2)), loss);
    let mut medium = Medium::new(MediumConfig::Wavelan(config), Seed(1), "m");
    let lines = timeline(&mut medium, &[(0, 0, 1000)]);
    assert!(lines.contains(&"1000 1: frame of 1000 from 0".to_owned()));
    assert!(!lines.iter().any(|line| line.contains("2: frame")), "{lines:?}");
}

/// A packet of a polled medium from port 0 to another.
fn polled(to: u16, bytes: usize) -> Outgoing {
    let head = Head {
        kind: Kind::Poll,
        to: Address(to as u8 + 1),
        from: Address(1),
        unit: true,
        more: false,
        ack: None,
    };
    let mut outgoing = packet(bytes);
    head.encode(&mut outgoing.frame.header);
    outgoing
}

/// Verdicts and numbers at port 2 of frames from port 0 to it, among `others` to port 1.
fn at_two(model: &Model, others: usize) -> Vec<(Option<u64>, FrameFate)> {
    let mut config = WavelanMediumConfig::new(3, rate(MBPS_8));
    config.addressing = Addressing::Polled;
    config.paths.insert((Port(0), Port(2)), AirConfig::of(model.clone()));
    let mut medium = Medium::new(MediumConfig::Wavelan(config), Seed(1), "m");
    let mut fates = Vec::new();
    for number in 0..200 {
        for to in core::iter::repeat_n(1, others).chain([2]) {
            let now = Instant::START + Duration::from_millis(number * 100);
            medium.handle_transmit(now, Port(0), polled(to, 100));
            let then = now + Duration::from_millis(50);
            while medium.poll_reception(then).is_some() {}
            while let Some((_, event)) = medium.poll_event() {
                if event.to == Port(2) && to == 2 {
                    fates.push((event.number, event.fate));
                } else if event.to == Port(2) {
                    assert_eq!(event.number, None, "it is not for this station");
                }
            }
        }
    }
    fates
}

#[test]
fn packets_for_other_stations_take_no_numbers_of_a_path() {
    let trace = {
        let air = AirConfig::of(Model::Loss(Probability::new(0.4).expect("a probability")));
        let mut air = Air::new(&air, Seed(3), "t");
        let mut trace = ErrorTrace::default();
        for _ in 0..40 {
            match air.judge(&packet(100).frame).1 {
                FrameFate::Lost => trace.push(Fault::Lost, 1),
                _ => trace.push_ok(1),
            }
        }
        trace
    };
    let models = [
        Model::Loss(Probability::new(0.3).expect("a probability")),
        Model::FrameBursts("10% 30%".parse().expect("a chain")),
        Model::BitErrors(Probability::new(1e-3).expect("a probability")),
        Model::Replay(Arc::new(trace)),
    ];
    for model in models {
        let alone = at_two(&model, 0);
        assert_eq!(alone.len(), 200);
        assert!(alone.iter().any(|(_, fate)| *fate != FrameFate::Intact));
        assert_eq!(at_two(&model, 3), alone, "{model:?}");
    }
}

/// The times at which frames arrive that leave every 100 µs, and whether they are copies.
fn arrivals(path: PathConfig, count: u64) -> Vec<(u64, bool, u64)> {
    let pipe = PipeMediumConfig { forward: path, ..PipeMediumConfig::default() };
    let mut medium = Medium::new(MediumConfig::Pipe(Box::new(pipe)), Seed(9), "m");
    for number in 0..count {
        let frame = Frame { tag: Some(Tag(number)), ..Frame::packet(vec![0; 81]) };
        medium.handle_transmit(micros(100 * number), Port(0), frame.into());
    }
    let mut arrived = Vec::new();
    while let Some((due, _)) = medium.poll_timeout() {
        while medium.poll_reception(due).is_some() {}
        while let Some((at, event)) = medium.poll_event() {
            arrived.push((at.as_micros(), event.duplicate, event.tag.expect("a packet").0));
        }
    }
    arrived
}

fn way(jitter: &str, reorder: &str, duplicate: &str) -> PathConfig {
    PathConfig {
        delay: Duration::from_millis(5),
        jitter: (!jitter.is_empty()).then(|| jitter.parse().expect("a jitter")),
        reorder: (!reorder.is_empty()).then(|| reorder.parse().expect("a reordering")),
        duplicate: (!duplicate.is_empty()).then(|| duplicate.parse().expect("a chance")),
        ..PathConfig::default()
    }
}

#[test]
fn jitter_keeps_the_order_of_frames_unless_they_may_overtake() {
    let kept = arrivals(way("2ms", "", ""), 2000);
    assert!(kept.is_sorted_by_key(|(_, _, tag)| *tag));
    let delay = |&(at, _, tag): &(u64, bool, u64)| at - 100 * tag;
    assert!(kept.iter().map(delay).all(|delay| (3000..=7000).contains(&delay)));
    assert!(kept.iter().map(delay).collect::<BTreeSet<_>>().len() > 500);
    let free = arrivals(way("2ms", "0", ""), 2000);
    let overtaken = free.windows(2).filter(|it| it[0].2 > it[1].2).count();
    assert!(overtaken > 500, "{overtaken}");
    assert!(free.is_sorted_by_key(|(at, ..)| *at));
}

#[test]
fn a_frame_that_overtakes_takes_no_delay() {
    let arrived = arrivals(way("", "25% gap 5", ""), 4000);
    let delays: Vec<u64> = arrived.iter().map(|(at, _, tag)| at - 100 * tag).collect();
    assert!(delays.iter().all(|delay| [0, 5000].contains(delay)));
    let share = delays.iter().filter(|delay| **delay == 0).count() as f64 / 4000.0;
    assert!((share - 0.125).abs() < 0.02, "{share}");
}

#[test]
fn copies_follow_their_frame_and_only_what_arrives_has_one() {
    let half = Probability::new(0.5).expect("a probability");
    let air = AirConfig::of(Model::Loss(half));
    let arrived = arrivals(PathConfig { air, ..way("1ms", "", "30%") }, 4000);
    let copies = arrived.iter().filter(|(_, duplicate, _)| *duplicate).count();
    assert_eq!(arrived.len() - copies, 4000, "each frame has its own event");
    // Of the half that arrives; four deviations.
    assert!((copies as f64 - 600.0).abs() < 4.0 * 22.0, "{copies}");
    let copied = arrived.iter().enumerate().filter(|(_, (_, duplicate, _))| *duplicate);
    for (at, (_, _, tag)) in copied {
        assert!(arrived[..at].iter().any(|(_, _, other)| other == tag), "{tag}");
    }
}

#[test]
fn a_copy_has_no_number_of_its_own() {
    let always = PathConfig { duplicate: Some("1".parse().expect("a chance")), ..way("", "", "") };
    let mut medium = pipe(always);
    for at in [0, 100] {
        medium.handle_transmit(micros(at), Port(0), packet(10));
    }
    timeline(&mut medium, &[]);
    let events = core::iter::from_fn(|| medium.poll_event());
    let told: Vec<_> = events.map(|(_, event)| (event.duplicate, event.number)).collect();
    assert_eq!(told, [(false, Some(0)), (true, None), (false, Some(1)), (true, None)]);
}

#[test]
fn a_path_changes_at_its_times_and_keeps_the_numbers_of_its_frames() {
    let half = AirConfig::of(Model::Loss(Probability::new(0.5).expect("a probability")));
    let before = PathConfig { air: half, ..way("", "", "") };
    let slow = PathConfig { delay: Duration::from_millis(20), ..before.clone() };
    let mut changes = Vec::new();
    let changed = |changes: &[(Instant, PathConfig)]| {
        arrivals(PathConfig { changes: changes.to_vec(), ..before.clone() }, 1000)
    };
    let unchanged = changed(&changes);
    changes.push((micros(50_000), slow));
    let later = changed(&changes);
    let delay = |&(at, _, tag): &(u64, bool, u64)| at - 100 * tag;
    assert!(later.iter().all(|it| delay(it) == if it.2 < 500 { 5_000 } else { 20_000 }));
    let tags = |of: &[(u64, bool, u64)]| of.iter().map(|it| it.2).collect::<Vec<_>>();
    assert_eq!(tags(&later), tags(&unchanged));
    // A shorter delay lets no frame overtake those before it.
    changes.push((micros(60_000), before.clone()));
    let back = changed(&changes);
    assert!(back.is_sorted_by_key(|it| it.2));
    assert!(back.iter().rev().take(100).all(|it| delay(it) == 5_000));
}

#[test]
fn a_frame_on_the_line_goes_on_at_the_new_rate_and_the_next_one_waits_for_it() {
    let at_mbps = |mbps: u64| PathConfig {
        line: Rate::from_mbps(mbps).map_or(Line::Paused, Line::Rate),
        ..PathConfig::default()
    };
    // Half of the first frame leaves in 500 us, the other half after the pause in as long.
    let changes = vec![(micros(500), at_mbps(0)), (micros(9_000), at_mbps(8))];
    let mut medium = pipe(PathConfig { changes, ..at_mbps(8) });
    let lines = timeline(&mut medium, &[(0, 0, 1000), (1, 0, 1000)]);
    let expected = [
        "9500 0: done",
        "9500 1: frame of 1000 from 0",
        "10500 0: done",
        "10500 1: frame of 1000 from 9500",
    ];
    assert_eq!(lines, expected);
    assert_eq!(medium.held(), 0);
}

#[test]
fn a_change_from_outside_meets_the_frame_on_the_line() {
    let path = |mbps: u64| PathConfig { line: Line::Rate(rate(mbps)), ..PathConfig::default() };
    let mut medium = pipe(path(8));
    medium.handle_transmit(Instant::START, Port(0), packet(1000));
    assert_eq!(medium.poll_timeout(), Some((micros(1_000), "transmission done")));
    let forward = PathConfig { changes: vec![(micros(500), path(80))], ..path(8) };
    let config = PipeMediumConfig { forward, ..PipeMediumConfig::default() };
    assert!(medium.change(micros(500), &MediumConfig::Pipe(Box::new(config))));
    assert_eq!(timeline(&mut medium, &[])[0], "550 0: done");
}

#[test]
fn a_change_from_outside_leaves_what_was_due_before_it() {
    let path = |mbps: u64| PathConfig { line: Line::Rate(rate(mbps)), ..PathConfig::default() };
    let mut medium = pipe(PathConfig { changes: vec![(micros(500), path(80))], ..path(8) });
    medium.handle_transmit(Instant::START, Port(0), packet(1000));
    // Nothing has asked the path for news since 500 us.
    let config = PipeMediumConfig { forward: path(8), ..PipeMediumConfig::default() };
    assert!(medium.change(micros(520), &MediumConfig::Pipe(Box::new(config))));
    assert_eq!(timeline(&mut medium, &[])[0], "550 0: done");
}

#[test]
fn a_path_tells_which_of_its_states_a_frame_has_met() {
    let path = |mbps: u64| PathConfig { line: Line::Rate(rate(mbps)), ..PathConfig::default() };
    let changes = [500, 1_000, 2_000].map(|at| (micros(at), path(at)));
    let mut medium = pipe(PathConfig { changes: changes.to_vec(), ..path(8) });
    timeline(&mut medium, &[(600, 0, 10), (700, 0, 10), (2_100, 0, 10)]);
    assert_eq!(medium.met(Port(0)), [micros(500), micros(2_000)]);
    assert_eq!(medium.met(Port(1)), [], "nothing was sent this way");
    assert_eq!(medium.met(Port(2)), [], "there is no such way");
}

#[test]
fn overhead_and_cells_say_what_a_packet_takes_on_the_line() {
    let time = |overhead: Option<u32>, cell: Option<&str>| {
        let cell = cell.map(|text| text.parse().expect("a cell"));
        let path = PathConfig { line: Line::Rate(rate(MBPS_8)), overhead, cell, ..way("", "", "") };
        let pipe = PipeMediumConfig { forward: path, ..PipeMediumConfig::default() };
        let mut medium = Medium::new(MediumConfig::Pipe(Box::new(pipe)), Seed(9), "m");
        let mut frame = Frame { tag: Some(Tag(1)), ..Frame::packet(vec![0; 981]) };
        frame.header = [0; 15].into_iter().collect();
        frame.trailer = [0; 4].into_iter().collect();
        medium.handle_transmit(Instant::START, Port(0), frame.into());
        medium.poll_timeout().expect("it is on its way").0.as_micros()
    };
    // 1 byte takes 1 µs.
    assert_eq!((time(None, None), time(Some(0), None), time(Some(18), None)), (1000, 981, 999));
    // 981 bytes are 21 cells of 48, and 1000 as well.
    assert_eq!((time(Some(0), Some("48+5")), time(None, Some("48+5"))), (21 * 53, 21 * 53));
    for wrong in ["48", "0+5", "a+b", "", "70000+1"] {
        assert!(wrong.parse::<crate::Cell>().is_err(), "{wrong}");
    }
}

fn any_medium() -> impl Strategy<Value = MediumConfig> {
    let air = (0.0..0.5_f64, 0.0..0.01_f64).prop_map(|(loss, ber)| AirConfig {
        models: vec![
            Model::Loss(Probability::new(loss).expect("a probability")),
            Model::BitErrors(Probability::new(ber).expect("a probability")),
        ],
        ..AirConfig::default()
    });
    let line = prop_oneof![
        Just(Line::Instant),
        (1_u64..20).prop_map(|mbps| Line::Rate(rate(mbps))),
        Just(Line::Trace("1\n2\n2\n7".parse().expect("a trace"))),
        Just(Line::Paused),
    ];
    let changes = vec((0_u64..40_000, line.clone()), 0..4);
    let jitter = prop_oneof![Just(None), Just(Some("2ms")), Just(Some("1ms 50% pareto"))];
    let reorder = prop_oneof![Just(None), Just(Some("0")), Just(Some("30% gap 2"))];
    let duplicate = prop_oneof![Just(None), Just(Some("40% 20%"))];
    let cell = prop_oneof![Just(None), Just(Some("48+5"))];
    let bucket = prop_oneof![Just(None), Just(Some("3kB")), Just(Some("3kB 10Mbps"))];
    let onoff = prop_oneof![Just(None), Just(Some("3ms 2ms"))];
    let slot = prop_oneof![Just(None), Just(Some("1ms 3ms packets 2"))];
    let overhead = proptest::option::of(0_u32..100);
    let has_flow = proptest::bool::ANY;
    let way = (jitter, reorder, duplicate, cell, overhead, bucket, onoff, slot, changes, has_flow);
    let path = (line, 0_u64..4000, air.clone(), way).prop_map(|(line, delay, air, way)| {
        let (jitter, reorder, duplicate, cell, overhead, bucket, onoff, slot, changes, has_flow) =
            way;
        let mut path = PathConfig {
            line,
            bucket: bucket.map(|text| text.parse().expect("a bucket")),
            onoff: onoff.map(|text| text.parse().expect("two times")),
            slot: slot.map(|text| text.parse().expect("a slot")),
            delay: Duration::from_micros(delay),
            jitter: jitter.map(|text| text.parse().expect("a jitter")),
            reorder: reorder.map(|text| text.parse().expect("a reordering")),
            duplicate: duplicate.map(|text| text.parse().expect("a chance")),
            overhead,
            cell: cell.map(|text| text.parse().expect("a cell")),
            air,
            flows: Vec::new(),
            changes: Vec::new(),
        };
        if has_flow {
            // Frames without a class are those of flow 0.
            let flow = FlowId::default();
            let flow = FlowPathConfig { flow, name: "all".to_owned(), way: path.clone() };
            path.flows.push(flow);
        }
        let mut changes: Vec<_> = changes
            .into_iter()
            .map(|(at, line)| (micros(at), PathConfig { line, ..path.clone() }))
            .collect();
        changes.sort_by_key(|(at, _)| *at);
        // In the end everything leaves.
        changes.push((micros(50_000), PathConfig { line: Line::Instant, ..path.clone() }));
        PathConfig { changes, ..path }
    });
    let pairs = proptest::collection::btree_set((0_u16..4, 0_u16..4), 0..12)
        .prop_map(|pairs| pairs.into_iter().map(|(a, b)| (Port(a), Port(b))).collect());
    let hearing = prop_oneof![Just(Hearing::All), pairs.prop_map(Hearing::Pairs)];
    prop_oneof![
        (path.clone(), path).prop_map(|(forward, backward)| MediumConfig::Pipe(Box::new(
            PipeMediumConfig { forward, backward }
        ))),
        (1_u16..4, hearing, air).prop_map(|(ports, hearing, air)| {
            let config = WavelanMediumConfig::new(ports, rate(MBPS_8));
            MediumConfig::Wavelan(WavelanMediumConfig { hearing, air: vec![air], ..config })
        }),
    ]
}

proptest! {
    /// The laws of the contract, for whatever is sent whenever: the wake-up of a drained medium
    /// lies in the future, a spurious timeout changes nothing, the same calls give the same
    /// results, each transmission ends once, and every frame is reported once for each receiver.
    #[test]
    fn media_keep_the_contract(
        config in any_medium(), seed: u64,
        sends in vec((0_u64..3000, 0_u16..4, 0_usize..2000), 1..30),
    ) {
        let mut medium = Medium::new(config.clone(), Seed(seed), "m");
        let mut twin = Medium::new(config, Seed(seed), "m");
        let ports = medium.ports();
        let mut at = 0;
        let mut sent = 0;
        let mut done = 0;
        let mut arrived = 0;
        let mut steps: Vec<(Instant, Option<(u16, usize)>)> = Vec::new();
        for (gap, port, bytes) in sends {
            at += gap;
            steps.push((micros(at), Some((port, bytes))));
        }
        steps.reverse();
        let mut now = Instant::START;
        let mut last_event = Instant::START;
        let mut reported = 0;
        loop {
            twin.handle_timeout(now);
            while let Some((port, input)) = medium.poll_reception(now) {
                let same = twin.poll_reception(now).map(|(port, input)| line(now, port, &input));
                prop_assert_eq!(same, Some(line(now, port, &input)));
                done += u32::from(matches!(input, Input::TransmissionDone));
                arrived += u32::from(matches!(input, Input::Frame(..)));
            }
            prop_assert!(twin.poll_reception(now).is_none());
            while let Some((at, event)) = medium.poll_event() {
                prop_assert!(at >= last_event && event.began <= event.ended);
                last_event = at;
                reported += 1;
                arrived -= u32::from(event.fate.arrives());
                prop_assert_eq!(twin.poll_event(), Some((at, event)));
            }
            prop_assert_eq!(arrived, 0);
            let due = medium.poll_timeout().map(|(due, _)| due);
            prop_assert!(due.is_none_or(|due| due > now));
            match (due, steps.last()) {
                (Some(due), Some(&(next, _))) if due < next => now = due,
                (_, Some(_)) => {
                    let (next, send) = steps.pop().expect("one is left");
                    now = next;
                    if let Some((port, bytes)) = send {
                        medium.handle_transmit(now, Port(port), packet(bytes));
                        twin.handle_transmit(now, Port(port), packet(bytes));
                        sent += u32::from(port < ports);
                    }
                }
                (Some(due), None) => now = due,
                (None, None) => break,
            }
        }
        prop_assert_eq!((done, medium.held()), (sent, 0));
        // A frame arrives at every station, or with a copy of the path and one of its flow.
        prop_assert!(reported <= sent * u32::from(ports.max(3)));
    }
}

/// One medium of each kind with two ports or three.
fn each_kind() -> [MediumConfig; 3] {
    let line = |mbps| PathConfig { line: Line::Rate(rate(mbps)), ..PathConfig::default() };
    let lossy = PathConfig { air: AirConfig::of(Model::Loss(Probability::ONE)), ..line(2) };
    let station = |x| crate::radio::RadioStation::at(crate::radio::Position::new(x, 0.0));
    let radio = crate::radio::RadioConfig::new([0.0, 1.0, 2.0].map(station).to_vec());
    [
        MediumConfig::Pipe(Box::new(PipeMediumConfig { forward: line(MBPS_8), backward: lossy })),
        MediumConfig::Wavelan(WavelanMediumConfig::new(3, rate(MBPS_8))),
        MediumConfig::Wifi(Box::new(radio)),
    ]
}

#[test]
fn a_configuration_says_who_is_joined_and_how() {
    let [pipe, shared, radio] = each_kind();
    for (config, ports) in [(&pipe, 2), (&shared, 3), (&radio, 3)] {
        assert_eq!(config.ports(), ports);
        assert_eq!(Medium::new(config.clone(), Seed(1), "m").ports(), ports);
    }
    let lossy = AirConfig::of(Model::Loss(Probability::ONE));
    assert_eq!(pipe.air(Port(0), Port(1)), Some(&AirConfig::default()));
    assert_eq!(pipe.air(Port(1), Port(0)), Some(&lossy));
    assert_eq!([(0, 0), (1, 1), (0, 2)].map(|(a, b)| pipe.air(Port(a), Port(b))), [None; 3]);
    assert_eq!(radio.air(Port(0), Port(1)), None);
    let rates = |config: &MediumConfig| [0, 1].map(|port| config.rate(Port(port)));
    assert_eq!(rates(&pipe), [Some(rate(8)), Some(rate(2))]);
    assert_eq!(rates(&shared), [Some(rate(8)); 2]);
    assert_eq!(rates(&radio), [None; 2], "it has several");
    let instant = MediumConfig::Pipe(Box::default());
    assert_eq!(rates(&instant), [None; 2]);
    let lines = |config: &MediumConfig| [0, 1].map(|port| config.line(Port(port)));
    assert_eq!(lines(&pipe), [Line::Rate(rate(8)), Line::Rate(rate(2))]);
    assert_eq!(lines(&shared), [Line::Instant, Line::Instant]);
}

#[test]
fn a_medium_holds_the_packets_that_no_sender_keeps() {
    for config in each_kind() {
        for (is_named, kept, held) in [(true, false, 1), (true, true, 0), (false, false, 0)] {
            let mut medium = Medium::new(config.clone(), Seed(1), "m");
            let mut outgoing = packet(100);
            outgoing.frame.tag = outgoing.frame.tag.filter(|_| is_named);
            outgoing.frame.kept = kept;
            medium.handle_transmit(Instant::START, Port(0), outgoing);
            assert_eq!(medium.held(), held, "{config:?}");
            timeline(&mut medium, &[]);
            assert_eq!(medium.held(), 0, "{config:?}");
        }
    }
}
