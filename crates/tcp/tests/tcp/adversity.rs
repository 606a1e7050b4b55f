//! Any loss, repetition, reordering and damage: the exact stream arrives, or the connection says
//! that it failed.

use proptest::prelude::*;
use windfall_base::{Duration, Seed, Stream};
use windfall_tcp::config::{Corruption, NotificationMode, Reaction, Repair};
use windfall_tcp::congestion::Law;
use windfall_tcp::{Config, Event};
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

fn any_config() -> impl Strategy<Value = Config> {
    let corruption = prop_oneof![
        Just(Corruption::default()),
        (0_usize..3, 0_usize..3, any::<bool>(), any::<bool>()).prop_map(
            |(mode, reaction, aligned, experimental)| Corruption {
                packing: if aligned { Packing::Aligned } else { Packing::Packed },
                kinds: if experimental {
                    CorruptionKinds::EXPERIMENTAL
                } else {
                    CorruptionKinds::default()
                },
                reaction: [Reaction::Ignore, Reaction::AsMark, Reaction::AsLoss][reaction],
                ..Corruption::on(
                    [
                        NotificationMode::DraftSafe,
                        NotificationMode::Paper,
                        NotificationMode::Extended
                    ][mode]
                )
            }
        )
    ];
    let buffers = prop_oneof![Just(4_000_usize), Just(16 << 10), Just(300_000)];
    (
        any::<[bool; 10]>(),
        prop_oneof![Just(Law::Net3Reno), Just(Law::Reno), Just(Law::Cubic)],
        prop_oneof![Just(Repair::Net3), Just(Repair::NewReno)],
        prop_oneof![Just(None), Just(Some(4))],
        prop_oneof![Just(536_u16), Just(1460)],
        buffers,
        corruption,
    )
        .prop_map(|(on, law, repair, burst, mss, buffer, corruption)| Config {
            timestamps: on[0],
            window_scale: on[1],
            sack: on[2],
            ecn: on[3],
            prediction: on[4],
            template: on[5],
            nagle: on[6],
            limited_transmit: on[7],
            fast_retransmit: on[8],
            fast_open: on[9],
            law,
            repair,
            burst,
            mss,
            send_buffer: buffer,
            receive_buffer: buffer,
            corruption,
            ..Config::default()
        })
}

/// Sends both ways through the weather; says whether everything arrived and was closed well.
fn weather_the_storm(config: &Config, weather: Weather, seed: u64, len: usize) -> bool {
    let mut pair = Pair::new(config.clone(), config.clone());
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
    pair.run_for(Duration::from_secs(20_000));
    let failed = |end: usize| {
        pair.ends[end].events.iter().any(|event| matches!(event, Event::Closed(Some(_))))
    };
    let mut whole = true;
    for end in [NEAR, FAR] {
        let (found, sent) = (&pair.ends[end].incoming, pattern(1 - end, len));
        assert!(found.len() <= len && found[..] == sent[..found.len()], "end {end} misread");
        whole &= found.len() == len;
        let ended = pair.ends[end].events.iter().any(|event| matches!(event, Event::Closed(_)));
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
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]
    #[test]
    fn the_exact_stream_arrives_or_the_connection_fails(
        config in any_config(),
        weather in any_weather(),
        seed in any::<u64>(),
        len in 1_usize..120_000
    ) {
        weather_the_storm(&config, weather, seed, len);
    }

    #[test]
    fn fair_weather_always_delivers(
        config in any_config(), seed in any::<u64>(), len in 1_usize..120_000
    ) {
        let weather =
            Weather { lost: 20, twice: 20, late: 50, damaged: 20, cut: 5, marked: 20 };
        prop_assert!(weather_the_storm(&config, weather, seed, len));
    }
}
