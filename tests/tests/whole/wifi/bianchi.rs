//! Saturation throughput against Bianchi's model, and against one with fewer assumptions.

use std::num::NonZeroU8;

use windfall_base::{Duration, Preamble, Seed, Stream};
use windfall_mac::wifi::{Config, EifsPolicy, Retries};
use windfall_tests::saturation::Cell;
use windfall_wire_link::ieee80211::timing::ACK_LEN;
use windfall_wire_link::ieee80211::{Phy, PhyRate, Timing};

/// Bytes of UDP payload, and of the whole frame.
const PAYLOAD: usize = 1_024;
const FRAME: usize = PAYLOAD + 28 + 8 + 24 + 4;

/// Times in microseconds.
struct Times {
    slot: f64,
    difs: f64,
    eifs: f64,
    data: f64,
    answer: f64,
    /// From the end of a frame to the conclusion that no answer comes.
    patience: f64,
}

impl Times {
    fn of(timing: Timing, data: PhyRate, answer: PhyRate) -> Self {
        let micros = |duration: Duration| duration.as_nanos() as f64 / 1e3;
        let sifs = micros(timing.sifs);
        let preamble = micros(answer.preamble_duration(Preamble::Long));
        Self {
            slot: micros(timing.slot),
            difs: micros(timing.difs()),
            eifs: micros(timing.eifs()),
            data: micros(data.frame_duration(Preamble::Long, FRAME)),
            answer: sifs + micros(answer.frame_duration(Preamble::Long, ACK_LEN)),
            patience: sifs + micros(timing.slot) + preamble,
        }
    }
}

/// Bianchi 2000, equations 7, 9, 10, 11 and 13: `stages` doublings of the window, no retry limit.
fn bianchi(stations: i32, timing: Timing, times: &Times) -> f64 {
    let window = f64::from(timing.cw_min) + 1.0;
    let stages = i32::from(((timing.cw_max + 1) / (timing.cw_min + 1)).ilog2() as u8);
    let attempts = |p: f64| {
        let doubled = 1.0 - 2.0 * p;
        2.0 * doubled / (doubled * (window + 1.0) + p * window * (1.0 - (2.0 * p).powi(stages)))
    };
    // The probability of a collision falls where the line of attempts crosses it.
    let mut low = 0.0;
    let mut high = 0.999;
    for _ in 0..60 {
        let p = f64::midpoint(low, high);
        let collides = 1.0 - (1.0 - attempts(p)).powi(stations - 1);
        if collides > p { low = p } else { high = p }
    }
    let tau = attempts(low);
    let some = 1.0 - (1.0 - tau).powi(stations);
    let one = f64::from(stations) * tau * (1.0 - tau).powi(stations - 1) / some;
    let success = times.data + times.answer + times.difs;
    let collision = times.data + times.difs;
    let mean = (1.0 - some) * times.slot + some * (one * success + (1.0 - one) * collision);
    some * one * PAYLOAD as f64 * 8.0 / mean
}

/// The throughput without Bianchi's assumptions, by drawing: countdowns that freeze, retry limits,
/// EIFS after a collision was heard, and the ACK timeout of the stations in it.
///
/// It knows no frames, no radio and no events: each station is the time at which it would begin.
fn refined(stations: usize, timing: Timing, times: &Times, limit: u32, exchanges: u32) -> f64 {
    let mut draw = Stream::new(Seed(1), "refined model");
    let mut stage = vec![0_u32; stations];
    let window = |stage: u32| {
        let doubled = (u64::from(timing.cw_min) + 1) << stage;
        doubled.min(u64::from(timing.cw_max) + 1)
    };
    // Slots that each station has left, and since when they count.
    let mut left: Vec<u64> = (0..stations).map(|_| draw.below(window(0))).collect();
    let mut from = vec![times.difs; stations];
    let mut now = 0.0;
    let mut arrived = 0_u64;
    for _ in 0..exchanges {
        let begins = |station: usize| from[station] + left[station] as f64 * times.slot;
        let first = (0..stations).map(begins).fold(f64::INFINITY, f64::min);
        // What begins within the turn-around of a radio is not noticed.
        let sends: Vec<bool> = (0..stations).map(|s| begins(s) <= first + 2.0).collect();
        let alone = sends.iter().filter(|sends| **sends).count() == 1;
        let end = first + times.data;
        let resumes = |gap: f64| if alone { end + times.answer + times.difs } else { end + gap };
        for station in 0..stations {
            if !sends[station] {
                let idle = ((first + 2.0 - from[station]) / times.slot).max(0.0) as u64;
                left[station] -= idle.min(left[station]);
                from[station] = resumes(times.eifs);
                continue;
            }
            stage[station] =
                if alone || stage[station] + 1 == limit { 0 } else { stage[station] + 1 };
            left[station] = draw.below(window(stage[station]));
            from[station] = resumes(times.patience + times.difs);
        }
        arrived += u64::from(alone);
        now = end;
    }
    arrived as f64 * PAYLOAD as f64 * 8.0 / now
}

fn compare(name: &str, stations: u16, measured: f64, model: f64) {
    let difference = measured / model - 1.0;
    println!(
        "{name}, {stations}: {measured:.4} Mb/s, model {model:.4}: {:+.2} %",
        difference * 100.0
    );
    assert!(difference.abs() <= 0.03, "{name}, {stations} stations: {:+.2} %", difference * 100.0);
}

#[test]
fn saturation_throughput_is_bianchis_under_his_assumptions() {
    let times = Times::of(Timing::B, PhyRate::Cck11, PhyRate::Dsss2);
    for stations in [1, 2, 3, 5, 7, 10, 15, 20] {
        let mut cell = Cell::new(Phy::B, stations, PAYLOAD, 3, |config: &mut Config| {
            let endless = NonZeroU8::MAX;
            config.retries = Retries { short: endless, long: endless };
            config.eifs = EifsPolicy::Never;
        });
        let goodput = cell.run(Duration::from_secs(20));
        let model = bianchi(i32::from(stations), Timing::B, &times);
        compare("Bianchi", stations, goodput.total_mbps(), model);
        assert!(goodput.fairness() > 0.98, "{stations}: {}", goodput.fairness());
    }
}

#[test]
fn saturation_throughput_is_the_refined_models_up_to_50_stations() {
    for (phy, timing, data, answer) in [
        (Phy::B, Timing::B, PhyRate::Cck11, PhyRate::Dsss2),
        (Phy::G, Timing::G_SHORT_SLOT, PhyRate::Ofdm54, PhyRate::Ofdm24),
    ] {
        let times = Times::of(timing, data, answer);
        for stations in [1, 2, 5, 10, 20, 35, 50] {
            // Of a collision on the ideal air no header can be read; the model keeps EIFS.
            let always = |config: &mut Config| config.eifs = EifsPolicy::Always;
            let mut cell = Cell::new(phy, stations, PAYLOAD, 4, always);
            let goodput = cell.run(Duration::from_secs(10));
            let model = refined(usize::from(stations), timing, &times, 7, 200_000);
            compare(&format!("refined, {phy:?}"), stations, goodput.total_mbps(), model);
        }
    }
}
