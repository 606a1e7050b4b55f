use core::net::Ipv4Addr;
use std::sync::Arc;

use bytes::Bytes;
use proptest::collection::vec;
use proptest::prelude::*;
use windfall_base::{Instant, Port, Probability, Tag};

use windfall_files::traces::ErrorTrace;
use windfall_files::traces::error_trace::{Fault, Origin, TraceHeader};
use windfall_wire_net::{Addresses, Ipv4Repr, Protocol, UdpRepr};

use super::*;
use crate::{FrameFacts, MediumEvent, Recorder};

mod laws;

fn packet(bytes: usize) -> Frame {
    Frame { tag: Some(Tag(1)), ..Frame::packet(Bytes::from(vec![0x5a; bytes])) }
}

fn p(value: f64) -> Probability {
    Probability::new(value).expect("a probability")
}

fn air(model: Model) -> Air {
    Air::new(&AirConfig::of(model), Seed(1), "link/0-1")
}

//= S3.8
#[test]
fn a_pattern_loses_the_same_frames_of_every_window() {
    let mut air = air(Model::LossPattern("5/6".parse().expect("a pattern")));
    let fates: Vec<bool> = (0..12).map(|_| air.judge(&packet(10)).1.arrives()).collect();
    let window = [false, false, false, false, false, true];
    assert_eq!(fates, [window, window].concat());
}

//= S3.6
//= S3.13
#[test]
fn a_pattern_may_begin_anywhere_in_the_window() {
    let late: LossPattern = "100/500+400".parse().expect("a pattern");
    let lost: Vec<u64> = (0..1000).filter(|&n| late.loses(n)).collect();
    assert_eq!(lost, (400..500).chain(900..1000).collect::<Vec<u64>>());
    let across = LossPattern::new(3, 10, 8).expect("a pattern");
    assert_eq!((0..10).filter(|&n| across.loses(n)).collect::<Vec<u64>>(), [0, 8, 9]);
    assert_eq!(late.to_string().parse(), Ok(late));
}

#[test]
fn what_would_be_lost_is_marked_where_it_can_be() {
    let markable = Frame { congestion: Congestion::Markable, ..packet(100) };
    for (seed, text) in (1..=10).flat_map(|seed| [(seed, "loss"), (seed, "gemodel")]) {
        let model = match text {
            "loss" => Model::Loss(p(0.1)),
            _ => Model::FrameBursts("5% 30%".parse().expect("a chain")),
        };
        let made = |marks: bool| {
            let config = AirConfig { marks, ..AirConfig::of(model.clone()) };
            Air::new(&config, Seed(seed), "link/0-1")
        };
        let [mut loses, mut marks, mut cannot] = [made(false), made(true), made(true)];
        let mut marked = 0;
        for _ in 0..1_000 {
            let is_lost = !loses.judge(&markable).1.arrives();
            assert!(!loses.has_marked());
            assert_eq!(marks.judge(&markable).1, FrameFate::Intact, "{text}, seed {seed}");
            assert_eq!(marks.has_marked(), is_lost, "{text}, seed {seed}");
            assert_eq!(!cannot.judge(&packet(100)).1.arrives(), is_lost);
            assert!(!cannot.has_marked());
            marked += u64::from(is_lost);
        }
        assert!(marked > 20, "{text}, seed {seed}: {marked}");
    }
    // Damage is none that a mark could stand for.
    let models = vec![Model::Truncation(Truncation { probability: p(1.0), least: 0 })];
    let mut air =
        Air::new(&AirConfig { models, marks: true, ..AirConfig::default() }, Seed(1), "a");
    assert!(matches!(air.judge(&markable).1, FrameFate::Damaged { .. }) && !air.has_marked());
}

#[test]
fn impossible_models_are_refused_with_the_fix() {
    let pattern = "7/6".parse::<LossPattern>().expect_err("too long").to_string();
    assert!(pattern.contains("\"7/6\" is not a burst pattern: the burst must fit"), "{pattern}");
    assert!("5".parse::<LossPattern>().is_err() && "5/0".parse::<LossPattern>().is_err());
    let chain = "120%".parse::<GilbertElliott>().expect_err("too likely").to_string();
    assert!(chain.contains("0%..100%"), "{chain}");
    assert!("1% 2% 3% 4% 5%".parse::<GilbertElliott>().is_err());
    assert!("".parse::<GilbertElliott>().is_err());
    let window = "10% 25.5 1".parse::<BurstWindow>().expect_err("half a bit").to_string();
    assert!(window.contains("the length is a whole number of bits"), "{window}");
    let window = "10% 0 5%".parse::<BurstWindow>().expect_err("no bit").to_string();
    assert!(window.contains("no bit lies in a window of 0 bits"), "{window}");
    assert!(
        "10% 256".parse::<BurstWindow>().is_err() && "10% 256 2".parse::<BurstWindow>().is_err()
    );
}

#[test]
fn a_window_is_written_as_its_three_fields() {
    let window: BurstWindow = "10%, 256, 5%".parse().expect("a window");
    assert_eq!(window, BurstWindow { probability: p(0.1), bits: 256, rate: p(0.05) });
    assert_eq!(window.to_string().parse(), Ok(window));
}

#[test]
fn the_words_of_netem_have_netems_defaults() {
    let chain: GilbertElliott = "1%".parse().expect("a model");
    assert_eq!(chain, GilbertElliott { p: p(0.01), r: p(0.99), bad: p(1.0), good: p(0.0) });
    let full: GilbertElliott = "1% 10% 70% 0.1%".parse().expect("a model");
    assert_eq!(full, GilbertElliott { p: p(0.01), r: p(0.1), bad: p(0.7), good: p(0.001) });
    assert_eq!(full.to_string().parse(), Ok(full));
}

#[test]
fn control_frames_headers_and_trailers_are_spared_by_default() {
    let mut frame = packet(2);
    frame.header.try_extend_from_slice(&[0; 3]).expect("room");
    frame.trailer.try_extend_from_slice(&[0; 4]).expect("room");
    let certain = AirConfig::of(Model::BitErrors(Probability::ONE));
    let mut sparing = Air::new(&certain, Seed(1), "a");
    let (number, fate) = sparing.judge(&frame);
    assert_eq!(number, Some(0));
    assert_eq!(fate.inverted(), (24..40).collect::<Vec<u32>>());
    let mut ruthless = Air::new(&AirConfig { exposure: Exposure::ALL, ..certain }, Seed(1), "a");
    assert_eq!(ruthless.judge(&frame).1.inverted(), (0..72).collect::<Vec<u32>>());
    frame.tag = None;
    assert_eq!(sparing.judge(&frame), (None, FrameFate::Intact));
    assert_eq!(ruthless.judge(&frame).0, Some(1));
}

#[test]
fn a_range_confines_the_damage() {
    let config = AirConfig {
        range: Some(ByteRange::of_packet(4..6)),
        ..AirConfig::of(Model::BitErrors(Probability::ONE))
    };
    let mut air = Air::new(&config, Seed(1), "a");
    assert_eq!(air.judge(&packet(9)).1.inverted(), (32..48).collect::<Vec<u32>>());
    assert_eq!(air.judge(&packet(5)).1.inverted(), (32..40).collect::<Vec<u32>>());
    assert_eq!(air.judge(&packet(3)).1, FrameFate::Intact);
}

/// A frame with a header of three bytes around a UDP datagram of IPv4 with `data` bytes.
fn datagram(data: usize) -> Frame {
    let addresses = Addresses::V4 { src: Ipv4Addr::LOCALHOST, dst: Ipv4Addr::LOCALHOST };
    let data = vec![0x5a; data];
    let mut bytes = vec![0; 28];
    let ip = Ipv4Repr::new(Ipv4Addr::LOCALHOST, Ipv4Addr::LOCALHOST, Protocol::UDP, 8 + data.len());
    ip.expect("it fits").emit(&mut bytes);
    let udp = UdpRepr { src_port: 1, dst_port: 2 };
    udp.emit(&mut bytes[20..], &addresses, &data).expect("it fits");
    let mut frame = Frame { tag: Some(Tag(1)), ..Frame::packet([bytes, data].concat()) };
    frame.header.try_extend_from_slice(&[0; 3]).expect("room");
    frame
}

#[test]
fn the_headers_of_a_packet_are_spared_where_only_its_payload_may_be_hit() {
    let certain = AirConfig::of(Model::BitErrors(Probability::ONE));
    let inverted = |range: &str, frame: &Frame| {
        let range = Some(range.parse().expect("a range"));
        let fate = Air::new(&AirConfig { range, ..certain.clone() }, Seed(1), "a").judge(frame).1;
        fate.inverted().to_vec()
    };
    let frame = datagram(10);
    assert_eq!(inverted("payload", &frame), (31 * 8..41 * 8).collect::<Vec<u32>>());
    assert_eq!(inverted("payload 4..6", &frame), (35 * 8..37 * 8).collect::<Vec<u32>>());
    assert_eq!(inverted("28..", &frame), (31 * 8..41 * 8).collect::<Vec<u32>>());
    assert!(inverted("payload", &datagram(0)).is_empty());
    // A frame without headers that can be read is all payload.
    assert_eq!(inverted("payload", &packet(2)), (0..16).collect::<Vec<u32>>());
}

#[test]
fn a_trace_hits_no_header_that_is_spared() {
    let inverted: Vec<u32> = (0..400).collect();
    let header = TraceHeader { origin: Origin::Payload, ..TraceHeader::default() };
    let mut trace = ErrorTrace::new(header);
    trace.push(Fault::Damaged { truncated: None, inverted: inverted.into() }, 1);
    let config = AirConfig {
        range: Some(ByteRange::PAYLOAD),
        ..AirConfig::of(Model::Replay(Arc::new(trace)))
    };
    let fate = Air::new(&config, Seed(1), "a").judge(&datagram(10)).1;
    assert_eq!(fate.inverted(), (31 * 8..41 * 8).collect::<Vec<u32>>());
}

#[test]
fn a_bit_hit_twice_is_whole_again() {
    let models = vec![Model::BitErrors(Probability::ONE), Model::BitErrors(Probability::ONE)];
    let config = AirConfig { models, ..AirConfig::default() };
    assert_eq!(Air::new(&config, Seed(1), "a").judge(&packet(9)).1, FrameFate::Intact);
}

/// Returns whether a chain hits the frames after a change from the first parameters to the second.
fn hits_after_change(model: fn(&str) -> Model, texts: [&str; 2], seed: u64) -> bool {
    let [moving, still] = texts.map(|text| AirConfig::of(model(text)));
    let mut air = Air::new(&moving, Seed(seed), "a");
    (0..50).for_each(|_| _ = air.judge(&packet(9)));
    air.change(&still, Seed(seed), "a");
    let hits: Vec<bool> = (0..20).map(|_| air.judge(&packet(9)).1 != FrameFate::Intact).collect();
    assert!(hits.windows(2).all(|it| it[0] == it[1]), "{still:?}: it has left its state");
    hits[0]
}

#[test]
fn a_chain_whose_probabilities_change_stays_in_its_state() {
    let frames: fn(&str) -> Model = |text| Model::FrameBursts(text.parse().expect("a chain"));
    let bits: fn(&str) -> Model = |text| Model::BitBursts(text.parse().expect("a chain"));
    let losses: fn(&str) -> Model =
        |text| Model::Listed(ListedModel::parse(loss_states::LOSS_STATES, text).expect("a chain"));
    // No step leaves a state of the second chain.
    let elliott = ["30% 30% 100% 0", "0 0 100% 0"];
    for (model, texts) in [(frames, elliott), (bits, elliott), (losses, ["30% 30%", "0 0"])] {
        let hit = (0..20).filter(|seed| hits_after_change(model, texts, *seed)).count();
        assert!((3..18).contains(&hit), "{texts:?}: {hit} of 20 were in the bad state");
    }
}

#[test]
fn an_undamaged_frame_keeps_sharing_its_bytes() {
    let bytes = Bytes::from(vec![1; 1500]);
    let frame = Frame { tag: Some(Tag(1)), ..Frame::packet(bytes.clone()) };
    let (_, fate) = air(Model::BitErrors(p(1e-9))).judge(&frame);
    let mut copy = frame.clone();
    fate.apply(&mut copy);
    assert_eq!(copy.payload.to_bytes().as_ptr(), bytes.as_ptr());
}

/// Any model, with parameters that make it act often.
fn model() -> impl Strategy<Value = Model> {
    let share = || (0.0..0.5_f64).prop_map(p);
    let chain = || {
        (0.0..0.3_f64, 0.01..1.0_f64, 0.0..1.0_f64, 0.0..0.1_f64).prop_map(
            |(up, down, bad, good)| GilbertElliott {
                p: p(up),
                r: p(down),
                bad: p(bad),
                good: p(good),
            },
        )
    };
    prop_oneof![
        share().prop_map(Model::Loss),
        proptest::sample::select(ErrorModelKind::BUILT_IN)
            .prop_map(|kind| ListedModel::parse(kind, kind.example).expect(kind.name))
            .prop_map(Model::Listed),
        (1_u64..5, 5_u64..9, 0_u64..5).prop_map(|(burst, every, offset)| {
            Model::LossPattern(LossPattern::new(burst, every, offset).expect("it fits"))
        }),
        (0.0..0.01_f64).prop_map(|rate| Model::BitErrors(p(rate))),
        chain().prop_map(Model::FrameBursts),
        chain().prop_map(Model::BitBursts),
        (share(), 0_u32..600, share()).prop_map(|(probability, bits, rate)| Model::BurstWindow(
            BurstWindow { probability, bits, rate }
        )),
        (share(), 0_u32..100)
            .prop_map(|(probability, least)| Model::Truncation(Truncation { probability, least })),
    ]
}

fn config() -> impl Strategy<Value = AirConfig> {
    let exposure = any::<[bool; 3]>().prop_map(|[header, trailer, control]| Exposure {
        header,
        trailer,
        control,
    });
    let range = prop_oneof![
        Just(None),
        (any::<bool>(), 0_u32..50, 0_u32..200).prop_map(|(of_payload, a, b)| {
            let origin = if of_payload { RangeOrigin::Payload } else { RangeOrigin::Packet };
            Some(ByteRange { origin, bytes: a..a + b })
        })
    ];
    (vec(model(), 0..4), exposure, range).prop_map(|(models, exposure, range)| AirConfig {
        models,
        exposure,
        range,
        marks: false,
    })
}

/// Frames with headers and trailers of many lengths, some of them without a packet.
fn frames() -> impl Strategy<Value = Vec<Frame>> {
    let frame = (0_usize..40, 0_usize..200, 0_usize..8, 0..4).prop_map(
        |(header, payload, trailer, kind)| {
            let mut frame = packet(payload);
            frame.header.try_extend_from_slice(&[1; 40][..header]).expect("room");
            frame.trailer.try_extend_from_slice(&[2; 8][..trailer]).expect("room");
            frame.tag = (kind > 0).then_some(Tag(1));
            frame
        },
    );
    vec(frame, 1..40)
}

fn carry(air: &mut Air, frame: &Frame) -> (Option<u64>, FrameFate, Option<Frame>) {
    let (number, fate) = air.judge(frame);
    let mut arrived = frame.clone();
    fate.apply(&mut arrived);
    let arrived = fate.arrives().then_some(arrived);
    (number, fate, arrived)
}

proptest! {
    #[test]
    fn a_change_of_something_else_leaves_the_models_as_they_were(
        config in config(), frames in frames(), after in 0_usize..20, seed: u64,
    ) {
        let mut still = Air::new(&config, Seed(seed), "a");
        let mut changed = still.clone();
        for (number, frame) in frames.iter().enumerate() {
            if number == after {
                changed.change(&config, Seed(seed), "a");
            }
            prop_assert_eq!(still.judge(frame), changed.judge(frame));
        }
    }

    //= S3.3
    #[test]
    fn a_recorded_air_replays_exactly(config in config(), frames in frames(), seed: u64) {
        let mut air = Air::new(&config, Seed(seed), "a");
        let mut recorder = Recorder::new(Default::default(), config.exposure);
        let mut arrived = Vec::new();
        for frame in &frames {
            let (number, fate, result) = carry(&mut air, frame);
            arrived.push(result);
            let facts = FrameFacts::of(frame);
            let time = (Instant::START, Instant::START);
            let path = (Port(0), Port(1));
            recorder.record(&MediumEvent::new(facts, path, time, (number, fate)));
        }
        let trace = recorder.finish();
        prop_assume!(!trace.is_empty());
        let trace = ErrorTrace::from_bytes(&trace.to_gzip()).expect("what is written is read");
        let models = vec![Model::Replay(Arc::new(trace))];
        let config = AirConfig { models, exposure: config.exposure, range: None, marks: false };
        let mut replay = Air::new(&config, Seed(0), "b");
        for (frame, arrived) in frames.iter().zip(arrived) {
            prop_assert_eq!(carry(&mut replay, frame).2, arrived);
        }
    }

    #[test]
    fn verdicts_are_in_order_and_inside(config in config(), frames in frames(), seed: u64) {
        let mut air = Air::new(&config, Seed(seed), "a");
        for frame in &frames {
            if let (_, FrameFate::Damaged { truncated, inverted }) = air.judge(frame) {
                let end = truncated.unwrap_or(frame.len() as u32 * 8);
                prop_assert!(truncated.is_some() || !inverted.is_empty());
                prop_assert!(inverted.is_sorted_by(|a, b| a < b));
                prop_assert!(inverted.last().is_none_or(|&bit| bit < end));
                prop_assert!(end <= frame.len() as u32 * 8);
            }
        }
    }

    /// Frames before it are of no matter to a frame, as far as no chain remembers them.
    #[test]
    fn damage_follows_from_the_number_alone(rate in 0.0..0.1_f64, lengths in vec(0_usize..90, 5)) {
        let models = vec![
            Model::Loss(p(0.2)),
            Model::BitErrors(p(rate)),
            Model::BurstWindow(BurstWindow { probability: p(0.5), bits: 9, rate: p(0.5) }),
            Model::Truncation(Truncation { probability: p(0.3), least: 2 }),
        ];
        let config = AirConfig { models, ..AirConfig::default() };
        let mut one = Air::new(&config, Seed(3), "a");
        let mut other = one.clone();
        for length in lengths {
            one.judge(&packet(length));
            other.judge(&packet(0));
        }
        prop_assert_eq!(one.judge(&packet(100)), other.judge(&packet(100)));
    }
}

/// The fates on many frames under `models`.
fn fates(models: &[Model]) -> Vec<FrameFate> {
    let config = AirConfig { models: models.to_vec(), ..AirConfig::default() };
    let mut air = Air::new(&config, Seed(9), "link/0-1");
    (0..2_000).map(|_| air.judge(&packet(200)).1).collect()
}

#[test]
fn a_model_more_changes_nothing_of_what_the_others_do() {
    let bits = Model::BitErrors(p(1e-3));
    let alone = fates(core::slice::from_ref(&bits));
    let others = [
        Model::Loss(p(0.2)),
        Model::LossPattern(LossPattern::new(2, 10, 0).unwrap()),
        Model::FrameBursts("5% 30%".parse().unwrap()),
    ];
    for other in others {
        let lost = fates(core::slice::from_ref(&other));
        for models in [[other.clone(), bits.clone()], [bits.clone(), other.clone()]] {
            for (both, (alone, lost)) in fates(&models).iter().zip(alone.iter().zip(&lost)) {
                let due = if lost.arrives() { alone } else { &FrameFate::Lost };
                assert_eq!(both, due, "{models:?}");
            }
        }
    }
    // Two of a kind draw independently, and one bit as netem's corrupt is a kind of its own.
    let window = BurstWindow { probability: p(0.5), bits: 1, rate: Probability::ONE };
    let window = Model::BurstWindow(window);
    let corrupt = Model::Corruption(p(0.5).into());
    assert_ne!(fates(core::slice::from_ref(&window)), fates(core::slice::from_ref(&corrupt)));
    let hit = |models: &[Model]| fates(models).iter().map(|v| v.inverted().len()).sum::<usize>();
    let twice = hit(&[corrupt.clone(), corrupt]);
    assert!((1_900..2_100).contains(&twice), "{twice} of 2000 expected, 0 if both were alike");
}

#[test]
fn single_bits_are_inverted_by_a_share_with_a_correlation() {
    const COUNT: usize = 100_000;
    for (text, share, rho) in [("30%", 0.3, 0.0), ("10% 50%", 0.1, 0.5), ("50% 90%", 0.5, 0.9)] {
        let mut air = air(Model::Corruption(text.parse().expect("a chance")));
        let hits: Vec<Vec<u32>> =
            (0..COUNT).map(|_| air.judge(&packet(10)).1.inverted().to_vec()).collect();
        assert!(hits.iter().all(|bits| bits.len() <= 1), "{text}");
        let mean = hits.iter().flatten().count() as f64 / COUNT as f64;
        let both = hits.windows(2).filter(|it| it.iter().all(|bits| !bits.is_empty())).count();
        let found = (both as f64 / COUNT as f64 - mean * mean) / (mean - mean * mean);
        // Four standard deviations of the mean of events that are correlated in this way.
        let deviation = (share * (1.0 - share) / COUNT as f64 * (1.0 + rho) / (1.0 - rho)).sqrt();
        assert!((mean - share).abs() < 4.0 * deviation, "{text}: {mean}");
        assert!((found - rho).abs() < 0.02, "{text}: {found}");
        for half in [0..40, 40..80] {
            let there = hits.iter().flatten().filter(|bit| half.contains(*bit)).count() as f64;
            let of = hits.iter().flatten().count() as f64;
            assert!((there / of - 0.5).abs() < 4.0 * (0.25 / of).sqrt(), "{text}: {half:?}");
        }
    }
}

#[test]
fn models_say_what_they_do_in_the_long_run() {
    assert_eq!("5/100+95".parse::<LossPattern>().expect("a pattern").loss_rate(), 0.05);
    // A tenth of the steps are bad; of those every second is an error, of others one in 100.
    let chain: GilbertElliott = "1% 9% 50% 1%".parse().expect("a chain");
    assert!((chain.error_rate() - 0.059).abs() < 1e-12, "{}", chain.error_rate());
    assert!("1/9223372036854775807".parse::<LossPattern>().is_ok());
    let long = "1/9223372036854775808".parse::<LossPattern>().expect_err("too long").to_string();
    assert!(long.contains("use a shorter window"), "{long}");
}

/// The fate of air that does to its first frame what both traces say; 10 bytes.
fn replayed(faults: [Fault; 2]) -> FrameFate {
    let model = |fault: Fault| {
        let mut trace = ErrorTrace::new(TraceHeader::default());
        trace.push(fault, 1);
        Model::Replay(Arc::new(trace))
    };
    let config = AirConfig { models: faults.map(model).to_vec(), ..AirConfig::default() };
    let mut air = Air::new(&config, Seed(1), "link/0-1");
    assert_eq!(air.next_number(), 0);
    let (number, fate) = air.judge(&packet(10));
    assert_eq!((number, air.next_number()), (Some(0), 1));
    fate
}

#[test]
fn a_bit_hit_twice_is_whole_again_and_nothing_is_left_of_a_byte_that_is_cut() {
    let inverted = |bits: &[u32]| Fault::Damaged { truncated: None, inverted: bits.into() };
    assert_eq!(replayed([inverted(&[5]), inverted(&[5])]), FrameFate::Intact);
    let one = FrameFate::Damaged { truncated: None, inverted: vec![3, 7] };
    assert_eq!(replayed([inverted(&[3, 5]), inverted(&[5, 7])]), one);
    let cut = Fault::Damaged { truncated: Some(20), inverted: [].into() };
    let left = FrameFate::Damaged { truncated: Some(20), inverted: vec![3, 15] };
    assert_eq!(replayed([inverted(&[3, 15, 16, 18, 30]), cut]), left);
    let mut frame = packet(10);
    left.apply(&mut frame);
    assert_eq!(frame.len(), 2);
}

#[test]
fn an_air_that_spares_nothing_hits_header_packet_and_trailer_each_in_its_place() {
    let models = vec![Model::BitErrors(Probability::ONE)];
    let config = AirConfig { models, exposure: crate::Exposure::ALL, ..AirConfig::default() };
    let mut frame = packet(10);
    frame.header.extend([1, 2, 3]);
    frame.trailer.extend([4, 5]);
    let fate = Air::new(&config, Seed(1), "link/0-1").judge(&frame).1;
    let all = FrameFate::Damaged { truncated: None, inverted: (0..15 * 8).collect() };
    assert_eq!(fate, all);
}

#[test]
fn what_one_model_loses_no_other_brings_back() {
    let lost = Model::LossPattern("1/1".parse().expect("a pattern"));
    let kept = [
        Model::Loss(Probability::ZERO),
        Model::LossPattern("0/1".parse().expect("a pattern")),
        Model::BitErrors(Probability::ONE),
    ];
    for other in kept {
        for models in [[lost.clone(), other.clone()], [other, lost.clone()]] {
            let config = AirConfig { models: models.to_vec(), ..AirConfig::default() };
            let mut air = Air::new(&config, Seed(1), "link/0-1");
            assert_eq!(air.judge(&packet(10)).1, FrameFate::Lost);
        }
    }
}
