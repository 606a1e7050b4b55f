use core::num::NonZeroU8;

use proptest::option::of;
use proptest::prelude::*;
use windfall_base::{ByteCount, Duration, Probability, Rate, Seed};
use windfall_channel::{BurstWindow, ByteRange, Chance, GilbertElliott, LossPattern};
use windfall_settings::value_if_set;

use super::{ScenarioOptions, without_span};
use crate::wifi::Radio;
use crate::{
    Arq, Direction, Discipline, FramePart, Link, LinkKind, Queue, QueueLength, RunSettings,
    Scenario, Settings, Side,
};

fn probability() -> impl Strategy<Value = Probability> {
    (0.0..=1.0).prop_map(|p| Probability::new(p).unwrap_or_default())
}

fn gemodel() -> impl Strategy<Value = GilbertElliott> {
    (probability(), probability(), probability(), probability())
        .prop_map(|(p, r, bad, good)| GilbertElliott { p, r, bad, good })
}

fn arq() -> impl Strategy<Value = Arq> {
    prop_oneof![Just(Arq::None), Just(Arq::Persistent), (0..255_u8).prop_map(Arq::after)]
}

fn queue() -> impl Strategy<Value = Queue> {
    let length =
        (of(1..1_000_u32), of(1..1_000_000_u64)).prop_map(|(packets, bytes)| QueueLength {
            packets: packets.and_then(std::num::NonZeroU32::new),
            bytes: bytes.map(ByteCount),
        });
    let discipline = proptest::sample::select(Discipline::BUILT_IN);
    let management = proptest::sample::select(windfall_queue::Management::ALL.to_vec());
    (of(discipline), of(length), of(1..1_000_u32), of(management))
        .prop_map(|(discipline, length, mark, management)| {
            let mark = mark.and_then(std::num::NonZeroU32::new);
            Queue { discipline, length, mark, management }
        })
        .prop_filter("says something", |queue| *queue != Queue::default())
}

fn rate() -> impl Strategy<Value = Rate> {
    (1..10_000_000_000_u64).prop_filter_map("zero", Rate::from_bps)
}

fn exposed() -> impl Strategy<Value = Vec<FramePart>> {
    proptest::sample::subsequence(
        vec![FramePart::Header, FramePart::Trailer, FramePart::Control],
        0..=3,
    )
}

prop_compose! {
    fn frame_damage()(
        loss in of(probability()),
        gemodel in of(gemodel()),
        burst in of((0..50_u64, 50..100_u64, 0..50_u64)),
        ber in of(probability()),
        bit_gemodel in of(gemodel()),
        window in of((probability(), 1..5000_u32, probability())),
        corrupt in of((probability(), probability())),
        truncate in of(probability()),
        range in of((0..60_u32, 100..200_u32)),
        expose in of(exposed()),
    ) -> Direction {
        // What finds no errors is refused.
        let is_bitwise = ber.is_some() || bit_gemodel.is_some() || window.is_some();
        let has_models = is_bitwise || loss.is_some() || gemodel.is_some();
        Direction {
            loss: loss.map(|loss| without_span(loss.into())),
            gemodel: gemodel.map(|it| without_span(Some(it))),
            burst: burst.map(|(burst, every, offset)| {
                without_span(LossPattern::new(burst, every, offset))
            }),
            ber: ber.map(without_span),
            bit_gemodel: bit_gemodel.map(|it| without_span(Some(it))),
            window: window.map(|(probability, bits, rate)| {
                without_span(Some(BurstWindow { probability, bits, rate }))
            }),
            corrupt: corrupt.map(|(probability, correlation)| {
                without_span(Chance { probability, correlation })
            }),
            truncate: truncate.map(without_span),
            range: range
                .filter(|_| is_bitwise)
                .map(|(start, end)| without_span(ByteRange::of_packet(start..end))),
            expose: expose.filter(|_| has_models).map(without_span),
            ..Direction::default()
        }
    }
}

prop_compose! {
    fn direction()(
        damage in frame_damage(),
        rate in of(rate()),
        rate_trace in of("[a-z]{1,8}\\.trace"),
        delay in of(0..3_600_000_000_000_u64),
        error_trace in of("[a-z \"\\\\]{1,8}"),
        arq in of(arq()),
        accept_damaged in of(any::<bool>()),
        queue in of(queue()),
    ) -> Direction {
        Direction {
            rate_trace: rate_trace.filter(|_| rate.is_none()).map(without_span),
            rate: rate.map(|rate| without_span(rate.into())),
            delay: delay.map(|n| without_span(Duration::from_nanos(n))),
            error_trace: error_trace.map(without_span),
            arq: arq.map(without_span),
            accept_damaged: accept_damaged.map(without_span),
            queue: queue.map(without_span),
            ..damage
        }
    }
}

prop_compose! {
    fn flags()(
        seed in of(any::<u64>()),
        duration in of(1..1_000_000_000_000_000_u64),
        mtu in of(68..=u16::MAX),
        both in direction(),
        uplink in direction(),
        downlink in direction(),
    ) -> ScenarioOptions {
        ScenarioOptions {
            run: RunSettings {
                seed: seed.map(Seed).map(without_span),
                duration: duration.map(Duration::from_nanos).map(without_span),
                ..RunSettings::unset()
            },
            link: Link {
                kind: Some(without_span(LinkKind::Pipe)),
                mtu: mtu.map(without_span),
                both,
                uplink,
                downlink,
                ..Link::unset()
            },
            ..ScenarioOptions::default()
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn options_and_the_text_they_generate_are_the_same_scenario(flags in flags()) {
        let scenario = flags.scenario();
        let text = scenario.to_toml();
        let read = Scenario::parse("generated.toml", &text);
        prop_assert_eq!(read, Ok(scenario), "{}", text);
    }
}

fn with(both: Direction) -> ScenarioOptions {
    ScenarioOptions { link: Link { both, ..Link::unset() }, ..ScenarioOptions::default() }
}

#[test]
fn an_option_for_both_directions_wins_over_the_file() {
    let arq = |arq| Direction { arq: Some(without_span(arq)), ..Direction::default() };
    let mut flags = with(arq(Arq::Persistent));
    flags.link.uplink = arq(Arq::None);
    let mut scenario = flags.scenario();
    with(arq(Arq::after(3))).apply(&mut scenario, ("", "")).expect("one link");
    for side in Side::BOTH {
        let direction = scenario.links[0].direction(side);
        assert_eq!(direction.arq, Some(without_span(Arq::after(3))));
    }
}

#[test]
fn a_rate_replaces_a_rate_trace() {
    let trace =
        Direction { rate_trace: Some(without_span("a".to_owned())), ..Direction::default() };
    let rate = Direction {
        rate: Rate::from_mbps(1).map(|rate| without_span(rate.into())),
        ..Direction::default()
    };
    let mut scenario = with(trace).scenario();
    with(rate.clone()).apply(&mut scenario, ("", "")).expect("one link");
    assert_eq!(scenario.links[0].direction(Side::Uplink), rate);
}

#[test]
fn options_for_a_link_need_one_link() {
    let mut scenario = ScenarioOptions::default().scenario();
    scenario.links.clear();
    let run = RunSettings { seed: Some(without_span(Seed(1))), ..RunSettings::unset() };
    assert!(
        ScenarioOptions { run, ..ScenarioOptions::default() }
            .apply(&mut scenario, ("", ""))
            .is_ok()
    );
    let mut flags = ScenarioOptions::default();
    flags.link.mtu = Some(without_span(1_000));
    let error = flags.apply(&mut scenario, ("", "")).expect_err("no link");
    assert!(error.to_string().contains("the scenario has 0"), "{error}");
}

#[test]
fn an_option_for_attempts_wins_over_the_other_one_of_a_file() {
    let kind = || Some(without_span(LinkKind::WifiG));
    let by_arq = Direction { arq: Some(without_span(Arq::after(3))), ..Direction::default() };
    let by_radio = Radio { attempts: Some(without_span(NonZeroU8::MIN)), ..Radio::unset() };
    let arq = ScenarioOptions {
        link: Link { kind: kind(), both: by_arq, ..Link::unset() },
        ..ScenarioOptions::default()
    };
    let radio = Link { kind: kind(), radio: by_radio, ..Link::unset() };
    let radio = ScenarioOptions { link: radio, ..ScenarioOptions::default() };
    let mut scenario = arq.scenario();
    radio.apply(&mut scenario, ("", "")).expect("attempts of the radio alone");
    assert_eq!(scenario.links[0].both.arq, None);
    arq.apply(&mut scenario, ("", "")).expect("arq alone");
    assert_eq!(scenario.links[0].radio.attempts, None);
}

#[test]
fn what_a_file_lacks_may_come_from_an_option() {
    let rate = Direction {
        rate: Rate::from_mbps(1).map(|rate| without_span(rate.into())),
        ..Direction::default()
    };
    let text = "format = 1\nstation = [{ name = \"near\" }, { name = \"far\" }]\n[[link]]\n\
                stations = [\"near\", \"far\"]\noverhead = 18\n";
    let applied = |options: &ScenarioOptions, text: &str| {
        let mut scenario = Scenario::read("a.toml", text).expect("the form of one");
        options.apply(&mut scenario, ("a.toml", text)).map_err(|error| error.to_string())
    };
    assert_eq!(applied(&with(rate.clone()), text), Ok(()));
    let lacking = "a.toml:5: overhead changes nothing here without rate = \"1Mbps\": add it";
    let error = applied(&ScenarioOptions::default(), text).expect_err("no rate");
    assert!(error.starts_with(lacking), "{error}");
    // A fault of an option stands in no file.
    let bucket = Some(without_span(Some("9B".parse().expect("a bucket"))));
    let error = applied(&with(Direction { bucket, ..rate }), text).expect_err("too small");
    assert!(error.starts_with("a bucket of 9B holds no packet"), "{error}");
}

#[test]
fn none_takes_away_a_code_or_a_policy_of_the_file_and_nothing_else() {
    let file = |key: &str| {
        format!(
            "format = 1\nstation = [{{ name = \"near\" }}, {{ name = \"far\" }}]\n[[link]]\n\
             stations = [\"near\", \"far\"]\nrate = \"1Mbps\"\n{key}\n"
        )
    };
    let taken_away = |option: &str, key: &str| {
        let setting = Direction::TABLE.iter().find(|it| it.name == option).expect("a setting");
        let mut direction = Direction::default();
        setting.set(&mut direction, "none").expect("none takes it away");
        let mut scenario = Scenario::read("a.toml", &file(key)).expect("a scenario");
        with(direction).apply(&mut scenario, ("", "")).expect("nothing excludes none");
        let mut none = |_: &str| Err(std::io::ErrorKind::NotFound.into());
        let topology = scenario.topology(0, ("", ""), &mut none);
        (scenario.links[0].direction(Side::Uplink), topology.is_ok())
    };
    for (option, key) in [("fec", "fec = \"8/12\""), ("policy", "policy = \"flex\"")] {
        let (direction, is_built) = taken_away(option, key);
        assert!(
            value_if_set(&direction.fec).is_none() && value_if_set(&direction.policy).is_none()
        );
        assert!(is_built, "{key}");
    }
    let (direction, _) = taken_away("fec", "policy = \"flex\"");
    assert!(value_if_set(&direction.policy).is_some(), "the policy of the file stays");
}
