//! Interleaved comparisons: what every benchmark in `benches/` that has a peer prints.
//!
//! Machines are shared and noisy, so a figure alone says little: the two sides run in turn, and the
//! ratio of each pair is what counts. The median over the pairs is printed, with the extremes. Time
//! is what the processor gave to this thread, so that waiting for other processes is not counted.

pub mod checksum;

use std::hint::black_box;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Pairs of runs in one comparison.
const PAIRS: usize = 9;
/// The least time that one run of a side takes; shorter work is repeated.
const LEAST: Duration = Duration::from_millis(4);

/// The measurements of a comparison.
#[derive(Clone, Copy, Debug)]
pub struct Comparison {
    /// Our time for one execution, the median, in seconds.
    pub ours: f64,
    /// The peer's time for one execution, the median, in seconds.
    pub peer: f64,
    /// The factor by which we are faster: the median over pairs.
    pub ratio: f64,
    /// The least and the greatest ratio of a pair.
    pub range: (f64, f64),
}

/// Runs `ours` and `peer` in turn and returns the medians.
pub fn compare<A, B>(mut ours: impl FnMut() -> A, mut peer: impl FnMut() -> B) -> Comparison {
    let mut ours = || drop(black_box(ours()));
    let mut peer = || drop(black_box(peer()));
    let (our_repeats, peer_repeats) = (repeats(&mut ours), repeats(&mut peer));
    let pairs: Vec<(f64, f64)> =
        (0..PAIRS).map(|_| (time(our_repeats, &mut ours), time(peer_repeats, &mut peer))).collect();
    let sorted = |of: fn(&(f64, f64)) -> f64| {
        let mut values: Vec<f64> = pairs.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        values
    };
    let ratios = sorted(|(ours, peer)| peer / ours);
    Comparison {
        ours: sorted(|pair| pair.0)[PAIRS / 2],
        peer: sorted(|pair| pair.1)[PAIRS / 2],
        ratio: ratios[PAIRS / 2],
        range: (ratios[0], ratios[PAIRS - 1]),
    }
}

impl Comparison {
    /// Prints one line: both throughputs for `bytes` bytes an execution, the ratio, and the goal.
    pub fn print_throughput(&self, name: &str, bytes: usize, goal: f64) {
        let rate = |seconds: f64| bytes as f64 / seconds / 1e6;
        let (ours, peer) = (rate(self.ours), rate(self.peer));
        self.print(name, &format!("{ours:>9.1} MB/s, peer {peer:>9.1} MB/s"), goal);
    }

    /// Prints one line: both times, the ratio, and the goal.
    pub fn print_time(&self, name: &str, goal: f64) {
        let (ours, peer) = (self.ours * 1e9, self.peer * 1e9);
        self.print(name, &format!("{ours:>9.1} ns, peer {peer:>9.1} ns"), goal);
    }

    fn print(&self, name: &str, figures: &str, goal: f64) {
        let (low, high) = self.range;
        let verdict = if self.ratio >= goal { "reached" } else { "MISSED" };
        println!(
            "{name:<38} {figures}, ratio {:>8.2} ({low:.2}..{high:.2}), goal {goal}: {verdict}",
            self.ratio
        );
    }
}

fn repeats(work: &mut dyn FnMut()) -> u32 {
    let mut repeats = 1;
    while time(repeats, work) * f64::from(repeats) < LEAST.as_secs_f64() {
        repeats *= 2;
    }
    repeats
}

fn time(repeats: u32, work: &mut dyn FnMut()) -> f64 {
    let start = processor_time();
    for _ in 0..repeats {
        work();
    }
    (processor_time() - start).as_secs_f64() / f64::from(repeats)
}

/// Returns the processor time of this thread.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}
