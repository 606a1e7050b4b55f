//! Ratios to a peer: two sides measured in turn in one run, and the quotient of each pair.
//!
//! Machines are shared and noisy, so a figure alone says little, and figures of two machines say
//! nothing together: what counts is the ratio, its median over the pairs and its extremes.

use std::hint::black_box;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Pairs of runs in one [`compare`].
const PAIRS: usize = 9;
/// The least time that one run of a side takes in [`compare`]; shorter work is repeated.
const LEAST: Duration = Duration::from_millis(4);

/// The outcome of runs in turn; a ratio above one means that we are better than the peer.
#[derive(Clone, Copy, Debug)]
pub struct Ratio {
    /// Our figure, the median.
    pub ours: f64,
    /// The peer's figure, the median.
    pub peer: f64,
    /// The median over the pairs.
    pub median: f64,
    /// The least and the greatest ratio of a pair.
    pub range: (f64, f64),
    /// Our processor time as part of the peer's, of all threads and in the system too: the median.
    pub work: f64,
}

/// A figure of one run and the seconds of processor time that it took.
type Run = (f64, f64);

/// Runs both sides in turn, `rounds` times; each returns a figure of which more is better.
///
/// A round of which one side returns `None` is left out; without any other, so is the ratio.
pub fn alternate(
    rounds: usize,
    mut ours: impl FnMut() -> Option<f64>,
    mut peer: impl FnMut() -> Option<f64>,
) -> Option<Ratio> {
    let pairs: Vec<(Run, Run)> =
        (0..rounds).filter_map(|_| Some((measured(&mut ours)?, measured(&mut peer)?))).collect();
    Ratio::new(&pairs, |ours, peer| ours / peer)
}

/// Runs two pieces of work in turn on this thread and compares their processor time in seconds.
///
/// Waiting for other processes is not counted.
pub fn compare<A, B>(mut ours: impl FnMut() -> A, mut peer: impl FnMut() -> B) -> Ratio {
    let mut ours = || drop(black_box(ours()));
    let mut peer = || drop(black_box(peer()));
    let our_repeats = repeats(&mut ours);
    let peer_repeats = repeats(&mut peer);
    let timed = |repeats, work: &mut dyn FnMut()| {
        let seconds = time(repeats, work);
        (seconds, seconds)
    };
    let pairs: Vec<(Run, Run)> = (0..PAIRS)
        .map(|_| (timed(our_repeats, &mut ours), timed(peer_repeats, &mut peer)))
        .collect();
    Ratio::new(&pairs, |ours, peer| peer / ours).expect("more than no pairs")
}

/// Tells whether the harness only lists the benchmarks, or runs them as tests: there is nothing to
/// measure then.
pub fn is_listed() -> bool {
    std::env::args().any(|argument| argument == "--test" || argument == "--list")
}

/// Tells whether `name` is to run: an argument is part of it, or there is none.
pub fn is_wanted(name: &str) -> bool {
    // A number is the value of an option such as `--sample-count 3`.
    let is_filter = |it: &String| !it.starts_with('-') && it.parse::<f64>().is_err();
    let mut filters = std::env::args().skip(1).filter(is_filter).peekable();
    filters.peek().is_none() || filters.any(|filter| name.contains(&filter))
}

impl Ratio {
    /// Forms the medians of pairs of runs, our run first.
    fn new(pairs: &[(Run, Run)], ratio: fn(f64, f64) -> f64) -> Option<Self> {
        let sorted = |of: &dyn Fn(&(Run, Run)) -> f64| {
            let mut values: Vec<f64> = pairs.iter().map(of).collect();
            values.sort_by(f64::total_cmp);
            values
        };
        let median = |of: &dyn Fn(&(Run, Run)) -> f64| sorted(of).get(pairs.len() / 2).copied();
        let ratios = sorted(&|(ours, peer)| ratio(ours.0, peer.0));
        Some(Self {
            ours: median(&|(ours, _)| ours.0)?,
            peer: median(&|(_, peer)| peer.0)?,
            median: *ratios.get(pairs.len() / 2)?,
            range: (*ratios.first()?, *ratios.last()?),
            work: median(&|(ours, peer)| ours.1 / peer.1)?,
        })
    }

    /// Returns the ratio for one of the `ours` and `peer` units of work that an execution holds.
    ///
    /// For times, of which less is better.
    #[must_use]
    pub fn per_unit(self, ours: usize, peer: usize) -> Self {
        let ours = ours as f64;
        let peer = peer as f64;
        let scale = ours / peer;
        Self {
            ours: self.ours / ours,
            peer: self.peer / peer,
            median: self.median * scale,
            range: (self.range.0 * scale, self.range.1 * scale),
            work: self.work / scale,
        }
    }

    /// Prints one line: both figures in `unit`, the ratio with its range, and the goal.
    pub fn print_figures(&self, name: &str, unit: &str, goal: f64) {
        let ours = self.ours;
        let peer = self.peer;
        self.print_line(name, &format!("{ours:>9.1} {unit}, peer {peer:>9.1} {unit}"), goal);
    }

    /// Prints the same line, and one with the processor time of this process on both sides.
    pub fn print(&self, name: &str, unit: &str, goal: f64) {
        self.print_figures(name, unit, goal);
        println!("{:<38} processor time {:.2} of the peer's", "", self.work);
    }

    /// Prints one line: both throughputs for `bytes` bytes an execution, the ratio, and the goal.
    pub fn print_throughput(&self, name: &str, bytes: usize, goal: f64) {
        let rate = |seconds: f64| bytes as f64 / seconds / 1e6;
        let ours = rate(self.ours);
        let peer = rate(self.peer);
        self.print_line(name, &format!("{ours:>9.1} MB/s, peer {peer:>9.1} MB/s"), goal);
    }

    /// Prints one line: both times, the ratio, and the goal.
    pub fn print_time(&self, name: &str, goal: f64) {
        let ours = self.ours * 1e9;
        let peer = self.peer * 1e9;
        self.print_line(name, &format!("{ours:>9.1} ns, peer {peer:>9.1} ns"), goal);
    }

    fn print_line(&self, name: &str, figures: &str, goal: f64) {
        let (low, high) = self.range;
        let verdict = if self.median >= goal { "reached" } else { "MISSED" };
        println!(
            "{name:<38} {figures}, ratio {:>8.2} ({low:.2}..{high:.2}), goal {goal:.2}: {verdict}",
            self.median
        );
    }
}

/// Returns the figure of `run`, and the processor time that all threads spent on it.
fn measured(run: &mut dyn FnMut() -> Option<f64>) -> Option<Run> {
    let before = processor_time(ClockId::ProcessCPUTime);
    let figure = run()?;
    Some((figure, (processor_time(ClockId::ProcessCPUTime) - before).as_secs_f64()))
}

fn repeats(work: &mut dyn FnMut()) -> u32 {
    let mut repeats = 1;
    while time(repeats, work) * f64::from(repeats) < LEAST.as_secs_f64() {
        repeats *= 2;
    }
    repeats
}

fn time(repeats: u32, work: &mut dyn FnMut()) -> f64 {
    let start = thread_time();
    for _ in 0..repeats {
        work();
    }
    (thread_time() - start).as_secs_f64() / f64::from(repeats)
}

/// Returns the processor time of this thread.
#[must_use]
pub fn thread_time() -> Duration {
    processor_time(ClockId::ThreadCPUTime)
}

/// Returns the processor time of this thread or this process.
fn processor_time(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}
