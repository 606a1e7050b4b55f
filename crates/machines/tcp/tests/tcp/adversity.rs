//! Any loss, duplication, reordering and damage: the exact stream arrives, or the connection says
//! that it failed.

use std::net::SocketAddr;

use proptest::prelude::*;
use windfall_base::{Duration, Seed, Stream};
use windfall_tcp::{
    AckPolicy, BufferSize, CongestionControl, Corruption, LossRecovery, NotificationMode, Paws,
    Reaction, TcpConfig, TcpEvent, TimeoutConfig,
};
use windfall_wire_net::tcp::{CorruptionKinds, Packing};

use crate::pair::*;

/// Shares of packets, in per mille, that meet each fate.
#[derive(Clone, Copy, Debug)]
struct Weather {
    lost: u64,
    twice: u64,
    late: u64,
    damaged: u64,
    cut: u64,
    marked: u64,
}

fn any_weather() -> impl Strategy<Value = Weather> {
    (0_u64..150, 0_u64..100, 0_u64..200, 0_u64..200, 0_u64..60, 0_u64..100).prop_map(
        |(lost, twice, late, damaged, cut, marked)| Weather {
            lost,
            twice,
            late,
            damaged,
            cut,
            marked,
        },
    )
}

fn any_corruption() -> impl Strategy<Value = Corruption> {
    let modes = [NotificationMode::DraftSafe, NotificationMode::Paper, NotificationMode::Extended];
    let reactions = [Reaction::Ignore, Reaction::AsMark, Reaction::AsLoss];
    let on = (0_usize..3, 0_usize..3, any::<bool>(), any::<bool>()).prop_map(
        move |(mode, reaction, aligned, experimental)| Corruption {
            packing: if aligned { Packing::Aligned } else { Packing::Packed },
            kinds: if experimental {
                CorruptionKinds::EXPERIMENTAL
            } else {
                CorruptionKinds::default()
            },
            reaction: reactions[reaction],
            ..Corruption::on(modes[mode])
        },
    );
    prop_oneof![Just(Corruption::default()), on]
}

fn any_acks() -> impl Strategy<Value = AckPolicy> {
    let every = |segments, delay, tick| AckPolicy::EverySegments {
        segments,
        delay: ms(delay),
        tick: ms(tick),
    };
    prop_oneof![
        Just(AckPolicy::default()),
        Just(every(1, 40, 0)),
        Just(every(2, 200, 200)),
        Just(every(5, 100, 0)),
        Just(AckPolicy::TimeOnly { interval: ms(500) }),
        Just(AckPolicy::ByTraffic { most: 8, delay: ms(100) }),
    ]
}

fn any_timeout() -> impl Strategy<Value = TimeoutConfig> {
    prop_oneof![
        Just(TimeoutConfig::default()),
        Just(TcpConfig::net3_reno().timeout),
        Just(TimeoutConfig { minimum: ms(10), ..TimeoutConfig::default() }),
        Just(TimeoutConfig { minimum: ms(1_000), tick: ms(500), ..TimeoutConfig::default() }),
    ]
}

/// Every setting at once; those of damage are set by the caller for both ends.
fn any_config() -> impl Strategy<Value = TcpConfig> {
    let pace = (
        prop::sample::select(CongestionControl::BUILT_IN),
        prop_oneof![Just(LossRecovery::Net3), Just(LossRecovery::NewReno)],
        prop_oneof![Just(None), Just(Some(4))],
        prop_oneof![Just(1_u16), Just(10)],
        any_timeout(),
    );
    let paws =
        prop_oneof![Just(Paws::BeforePrediction), Just(Paws::AfterPrediction), Just(Paws::Off)];
    let buffer = || prop_oneof![Just(4_000_usize), Just(16 << 10), Just(300_000)];
    let grows = BufferSize { initial: 8_000, most: 100_000 };
    let receive_buffer = prop_oneof![buffer().prop_map(BufferSize::from), Just(grows)];
    let mss = prop_oneof![Just(88_u16), Just(536), Just(1460), Just(8960)];
    (any::<[bool; 17]>(), pace, any_acks(), paws, mss, buffer(), receive_buffer).prop_map(
        |(on, pace, acks, paws, mss, send_buffer, receive_buffer)| {
            let (congestion_control, loss_recovery, burst, initial_window, timeout) = pace;
            TcpConfig::default().with(|it| {
                it.timestamps = on[0];
                it.window_scale = on[1];
                it.sack = on[2];
                it.ecn = on[3];
                it.prediction = on[4];
                it.template = on[5];
                it.nagle = on[6];
                it.limited_transmit = on[7];
                it.fast_retransmit = on[8];
                it.fast_open = on[9];
                it.byte_counting = on[10];
                it.rack = on[11];
                it.prr = on[12];
                it.f_rto = on[13];
                it.hystart = on[14];
                it.pacing = on[15];
                it.accurate_ecn = on[16];
                it.congestion_control = congestion_control;
                it.loss_recovery = loss_recovery;
                it.burst = burst;
                it.initial_window = initial_window;
                it.timeout = timeout;
                it.acks = acks;
                it.paws = paws;
                it.mss = mss;
                it.send_buffer = send_buffer.into();
                it.receive_buffer = receive_buffer;
            })
        },
    )
}

/// Two ends that differ in everything, over either family. They agree on how damage is told: the
/// paper's mode and the kinds of the options are understood by those alone that have them too. One
/// of them may do without.
fn any_ends() -> impl Strategy<Value = Ends> {
    (any_config(), any_config(), any_corruption(), 0_usize..3, any::<bool>()).prop_map(
        |(near, far, corruption, without, v6)| {
            let ends = [near, far];
            let mut ends = ends.map(|config| config.with(|it| it.corruption = corruption));
            if let Some(config) = ends.get_mut(without) {
                config.corruption = Corruption::default();
            }
            let addresses = if v6 {
                ["[fd00::1]:40000", "[fd00::2]:5001"].map(|text| text.parse().unwrap())
            } else {
                [address(NEAR), address(FAR)]
            };
            Ends { configs: ends, addresses }
        },
    )
}

#[derive(Clone, Debug)]
struct Ends {
    configs: [TcpConfig; 2],
    addresses: [SocketAddr; 2],
}

/// Sends both ways through the weather; says whether everything arrived and was closed well.
fn weather_the_storm(ends: Ends, weather: Weather, seed: u64, len: usize) -> bool {
    let [near, far] = ends.configs;
    let mut pair = Pair::between(ends.addresses, near, far);
    let stream = Stream::new(Seed(seed), "weather");
    let mut count = 0;
    pair.fate = Box::new(move |seen| {
        count += 1;
        let mut draw = stream.at(count);
        let mut happens = |share: u64| draw.below(1_000) < share;
        let mut fate = Fate {
            lost: happens(weather.lost),
            twice: happens(weather.twice),
            mark: happens(weather.marked) && seen.ecn.bits() != 0,
            ..Fate::default()
        };
        let (late, damaged, cut) =
            (happens(weather.late), happens(weather.damaged), happens(weather.cut));
        if late {
            fate.late = Duration::from_micros(draw.below(60_000));
        }
        if damaged {
            // A burst within 15 bits, which the checksum always notices; others it can miss.
            let first = draw.below((seen.len as u64 + 20) * 8) as u32;
            let mut offsets: Vec<u32> = (0..4).map(|_| draw.below(15) as u32).collect();
            offsets.sort_unstable();
            offsets.dedup();
            fate.bits = offsets.into_iter().map(|offset| first + offset).collect();
        }
        if cut {
            fate.cut = draw.below(seen.len as u64 + 1) as usize;
        }
        fate
    });
    pair.connect();
    for end in [NEAR, FAR] {
        pair.ends[end].finishes = true;
        pair.ends[end].outgoing = pattern(end, len);
    }
    // In the worst weather small segments wait for one timeout of a minute after another.
    pair.run_for(Duration::from_secs(500_000));
    let failed = |end: usize| {
        pair.ends[end].events.iter().any(|event| matches!(event, TcpEvent::Closed(Some(_))))
    };
    let mut whole = true;
    for end in [NEAR, FAR] {
        let found = &pair.ends[end].incoming;
        let sent = pattern(1 - end, len);
        assert!(found.len() <= len && found[..] == sent[..found.len()], "end {end} misread");
        whole &= found.len() == len;
        let ended = pair.ends[end].events.iter().any(|event| matches!(event, TcpEvent::Closed(_)));
        assert!(
            ended,
            "end {end} hangs: {:?} {:#?}",
            pair.connection(end),
            pair.timeline.iter().rev().take(40).rev().collect::<Vec<_>>()
        );
        assert!(pair.connection(end).held_bytes() == 0);
    }
    assert!(whole || failed(NEAR) || failed(FAR), "data missing without an error");
    whole
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]
    #[test]
    fn the_exact_stream_arrives_or_the_connection_fails(
        ends in any_ends(),
        weather in any_weather(),
        seed in any::<u64>(),
        len in 1_usize..120_000
    ) {
        weather_the_storm(ends, weather, seed, len);
    }

    #[test]
    fn fair_weather_always_delivers(
        ends in any_ends(), seed in any::<u64>(), len in 1_usize..120_000
    ) {
        let weather =
            Weather { lost: 20, twice: 20, late: 50, damaged: 20, cut: 5, marked: 20 };
        prop_assert!(weather_the_storm(ends, weather, seed, len));
    }
}
