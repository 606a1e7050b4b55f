//! Bit errors by skip sampling against one draw per bit, alternately in one run.
//!
//! Prints medians over interleaved rounds, also of the ratio, and fails below the goals. Three
//! columns: the naive loop, the sampler that inverts bits of a buffer in place as the loop does,
//! and the whole air, which judges shared frames and copies those that it damages.

use std::hint::black_box;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use windfall_base::{Frame, Probability, Seed, Stream, Tag};
use windfall_channel::{Air, AirConfig, Gaps, Model};

const FRAME: usize = 1500;
const ROUNDS: usize = 15;
/// Frames of the naive loop in each round.
const NAIVE: u32 = 200;

fn main() -> ExitCode {
    println!("bit errors in frames of {FRAME} bytes; times are per frame");
    println!("     BER      naive    sampler   ratio  (goal)    air, shared frames   ratio");
    let mut is_met = true;
    for (rate, goal) in [(1e-5, 1000.0), (1e-3, 45.0), (5e-3, 20.0)] {
        let rate = Probability::new(rate).expect("a probability");
        let mut naive = Naive::new(rate);
        let mut skip = Skip::new(rate);
        let mut air = Shared::new(rate);
        // About as long as the naive loop takes, so that all are disturbed alike.
        let many = NAIVE * goal as u32;
        // All three in each round, so that a slow moment of the machine meets all of them.
        let rounds: [[f64; 3]; ROUNDS] = std::array::from_fn(|_| {
            [time(NAIVE, || naive.frame()), time(many, || skip.frame()), time(many, || air.frame())]
        });
        let [naive, skip, air] = [0, 1, 2].map(|column| median(rounds.map(|round| round[column])));
        let ratio = median(rounds.map(|[naive, skip, _]| naive / skip));
        let whole = median(rounds.map(|[naive, _, air]| naive / air));
        is_met &= ratio >= goal;
        println!(
            "{:>8} {naive:>8.0}ns {skip:>8.1}ns {ratio:>7.0}  ({goal:>4}) {air:>16.1}ns \
             {whole:>9.0}",
            rate.to_string(),
        );
    }
    if is_met { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// One draw per bit.
struct Naive {
    rate: Probability,
    stream: Stream,
    bytes: Vec<u8>,
}

impl Naive {
    fn new(rate: Probability) -> Self {
        Self { rate, stream: Stream::new(Seed(1), "naive"), bytes: vec![0; FRAME] }
    }

    fn frame(&mut self) {
        for byte in &mut self.bytes {
            for bit in 0..8 {
                if self.stream.chance(self.rate) {
                    *byte ^= 0x80 >> bit;
                }
            }
        }
        black_box(&mut self.bytes);
    }
}

/// One draw per error, in place.
struct Skip {
    gaps: Gaps,
    stream: Stream,
    number: u64,
    bytes: Vec<u8>,
}

impl Skip {
    fn new(rate: Probability) -> Self {
        let stream = Stream::new(Seed(1), "skip");
        Self { gaps: Gaps::new(rate), stream, number: 0, bytes: vec![0; FRAME] }
    }

    fn frame(&mut self) {
        self.number += 1;
        let bytes = &mut self.bytes;
        self.gaps.strike_at(&self.stream, self.number, FRAME as u32 * 8, |bit| {
            bytes[bit as usize / 8] ^= 0x80 >> (bit % 8);
        });
        black_box(&mut self.bytes);
    }
}

/// As a medium does it: shared frames, copied when they are damaged.
struct Shared {
    air: Air,
    frame: Frame,
}

impl Shared {
    fn new(rate: Probability) -> Self {
        let config = AirConfig::of(Model::BitErrors(rate));
        let frame = Frame { tag: Some(Tag(0)), ..Frame::packet(vec![0; FRAME]) };
        Self { air: Air::new(&config, Seed(1), "air"), frame }
    }

    fn frame(&mut self) {
        let mut frame = black_box(&self.frame).clone();
        self.air.judge(&frame).1.apply(&mut frame);
        black_box(frame);
    }
}

/// Nanoseconds that one call of `f` takes, over `n` calls.
#[expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]
fn time(n: u32, mut f: impl FnMut()) -> f64 {
    let start = Instant::now();
    for _ in 0..n {
        f();
    }
    let taken: Duration = start.elapsed();
    taken.as_nanos() as f64 / f64::from(n)
}

fn median(mut times: [f64; ROUNDS]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[ROUNDS / 2]
}
