use windfall_base::Frame;

use super::*;
use crate::air::{Air, AirConfig, Model};
use crate::fate::FrameFate;

/// The counts of a stretch of blocks.
#[derive(Debug, Default)]
struct Counts {
    blocks: u64,
    damaged: u64,
    inverted: u64,
    /// Runs of damaged blocks.
    runs: u64,
}

impl Counts {
    /// Counts `blocks` blocks of each of ten channels.
    fn of(config: GsmConfig, blocks: u64) -> Self {
        Self::of_channels(10, config, blocks)
    }

    /// Counts `blocks` blocks of each of `channels` channels.
    fn of_channels(channels: u64, config: GsmConfig, blocks: u64) -> Self {
        let mut counts = Self { blocks: channels * blocks, ..Self::default() };
        for seed in 0..channels {
            let mut channel = GsmBlocks::new(config, &mut Stream::new(Seed(seed), "channel"));
            let mut before = false;
            for number in 0..blocks {
                let mut bits = 0;
                channel.errors(number, |_| bits += 1);
                counts.damaged += u64::from(bits > 0);
                counts.inverted += bits;
                counts.runs += u64::from(bits > 0 && !before);
                before = bits > 0;
            }
        }
        counts
    }

    fn block_error_rate(&self) -> f64 {
        self.damaged as f64 / self.blocks as f64
    }
}

fn signal(csq: u8) -> SignalQuality {
    SignalQuality::new(csq).expect("a report")
}

//= S1.46
#[test]
fn a_report_stands_for_a_strength() {
    let strengths = [0, 4, 9, 15, 20, 31].map(|csq| signal(csq).strength().0);
    assert_eq!(strengths, [-113.0, -105.0, -95.0, -83.0, -73.0, -51.0]);
    assert_eq!(SignalQuality::new(32), None);
    let csq = |environment: GsmEnvironment| environment.config().signal.get();
    assert!((15..=20).contains(&csq(GsmEnvironment::StationaryGood)));
    assert!((4..=9).contains(&csq(GsmEnvironment::StationaryBad)));
}

//= S1.37
//= S1.43
#[test]
fn the_bad_stationary_channel_has_the_block_error_rate_of_the_paper() {
    let counts = Counts::of_channels(60, GsmEnvironment::StationaryBad.config(), 12_000);
    // Four minutes of one channel scatter by 0.4 %, so the mean of sixty by 0.05 %; three of these.
    let rate = counts.block_error_rate();
    assert!((rate - 0.0158).abs() < 0.0016, "{rate}");
    // Damage comes in runs of blocks, and a damaged block has a good part of its bits right.
    assert!(counts.damaged > 2 * counts.runs, "{counts:?}");
    let bits = counts.inverted as f64 / counts.damaged as f64;
    assert!((10.0..60.0).contains(&bits), "{bits}");
}

#[test]
fn the_other_environments_lie_between_it_and_a_perfect_channel() {
    let rate =
        |environment: GsmEnvironment| Counts::of(environment.config(), 3_000).block_error_rate();
    assert!(rate(GsmEnvironment::StationaryGood) < 1e-4);
    for environment in [GsmEnvironment::Walking, GsmEnvironment::Driving] {
        assert!((1e-3..0.05).contains(&rate(environment)), "{environment}");
    }
}

#[test]
fn a_burst_has_the_bit_error_rate_of_its_signal() {
    let config = GsmConfig { signal: signal(2), fading: Fading::None };
    let channel = GsmBlocks::new(config, &mut Stream::new(Seed(1), "channel"));
    let errors: u32 = (0..10_000)
        .map(|n| channel.receive(n).bits.iter().filter(|bit| **bit < 0).count() as u32)
        .sum();
    // 4 dB of signal over noise: half of erfc(√(0.68 · 2.51)) = 3.21 % of 1.14 million bits.
    let rate = f64::from(errors) / 1.14e6;
    assert!((rate - 0.0323).abs() < 0.0005, "{rate}");
}

#[test]
fn the_decoder_stays_within_the_sensitivity_that_the_standard_asks_for() {
    // 3GPP TS 45.005, table 1: at −102 dBm in a town at 50 km/h at most 0.5 % of the bits of
    // TCH/F9.6 are wrong; this is 1 dB less.
    let fading = Fading::Rayleigh { doppler: 42.0 };
    let counts = Counts::of(GsmConfig { signal: signal(5), fading }, 3_000);
    let rate = counts.inverted as f64 / (240 * counts.blocks) as f64;
    assert!(rate < 0.005 && rate > 1e-6, "{rate}");
}

#[test]
fn the_errors_of_a_block_follow_from_its_number_alone() {
    let channel = || {
        let mut stream = Stream::new(Seed(7), "channel");
        GsmBlocks::new(GsmEnvironment::Driving.config(), &mut stream)
    };
    let errors = |channel: &mut GsmBlocks, number| {
        let mut bits = Vec::new();
        channel.errors(number, |bit| bits.push(bit));
        bits
    };
    let mut forward = channel();
    let all: Vec<Vec<u32>> = (0..2_000).map(|number| errors(&mut forward, number)).collect();
    assert!(all.iter().any(|bits| !bits.is_empty()));
    let mut backward = channel();
    for number in (0..2_000).rev() {
        assert_eq!(errors(&mut backward, number), all[number as usize], "{number}");
    }
}

#[test]
fn as_a_model_of_the_air_it_fills_frames_with_blocks() {
    let judge = |len: usize, frames: usize| {
        let config = AirConfig::of(Model::Gsm(GsmEnvironment::StationaryBad.config()));
        let mut air = Air::new(&config, Seed(3), "gsm");
        let mut frame = Frame::packet(vec![0; len]);
        frame.tag = Some(windfall_base::Tag(1));
        let fates = (0..frames).map(|_| air.judge(&frame).1);
        let mut bits = Vec::new();
        for (number, fate) in fates.enumerate() {
            if let FrameFate::Damaged { truncated: None, inverted } = fate {
                bits.extend(inverted.iter().map(|bit| number * 8 * len + *bit as usize));
            }
        }
        bits
    };
    let blocks = judge(30, 9_000);
    assert!(!blocks.is_empty());
    assert_eq!(judge(300, 900), blocks);
    // A frame that ends inside a block leaves the rest of it empty.
    assert!(judge(31, 4_000).iter().all(|bit| bit % 248 < 248));
}

//= S1.37
#[test]
fn a_trace_has_a_block_for_each_20_ms_and_reads_back() {
    let trace = GsmEnvironment::StationaryBad.synthesize(Seed(2), 12_000);
    assert_eq!(trace.len(), 12_000);
    assert_eq!(trace.header().frame_length, Some(30));
    assert_eq!(trace.header().rate, Rate::from_bps(12_000));
    let again = ErrorTrace::from_bytes(trace.to_text().as_bytes()).expect("it was written here");
    assert_eq!(again, trace);
    let damaged = trace.entries().iter().filter(|it| matches!(it.fault, Fault::Damaged { .. }));
    let share = damaged.count() as f64 / 12_000.0;
    assert!((0.005..0.04).contains(&share), "{share}");
}

#[test]
fn a_block_leaves_the_interleaver_after_some_110_ms() {
    let delay = GsmBlocks::interleaving_delay();
    let span = |first| {
        GsmBlocks::time_of(first + BLOCK_BURSTS as u64).saturating_since(GsmBlocks::time_of(first))
    };
    for block in 0..30 {
        assert!(span(4 * block) <= delay, "{block}");
    }
    assert!((100..=115).contains(&delay.as_millis()), "{delay}");
    // 24 bursts of traffic in 120 ms.
    assert_eq!(GsmBlocks::time_of(24), Instant::from_nanos(120_000_000));
}
