//! One pass of expectation and maximisation over a row of steps.
//!
//! A step with a given outcome is a 2 × 2 matrix over the states; the likelihood of a row is the
//! product of its matrices. Beside each matrix go its derivatives by six counts (how often the
//! chain went from which state to which, and was wrong in which); products obey the product rule.
//! What the counts are on average, given the row, is then the derivative of the product over the
//! product itself. Powers of one matrix by squaring make stretches of equal steps cheap.

use windfall_channel::GilbertElliott;

use super::steps::Steps;

/// Counts: good→bad, good→good, wrong in good; bad→good, bad→bad, wrong in bad.
const COUNTS: usize = 6;

/// The four parameters as plain numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Chain {
    pub(super) p: f64,
    pub(super) r: f64,
    pub(super) bad: f64,
    pub(super) good: f64,
}

type Matrix = [[f64; 2]; 2];

/// A number of equal steps: their matrix, its derivatives, and the logarithm of what both were
/// divided by.
#[derive(Clone, Copy)]
struct Stretch {
    weight: Matrix,
    counts: [Matrix; COUNTS],
    scale: f64,
}

/// The sums over the row so far, by the state it ends in.
struct Forward {
    weight: [f64; 2],
    counts: [[f64; 2]; COUNTS],
    scale: f64,
}

impl Chain {
    pub(super) fn of(model: &GilbertElliott) -> Self {
        Self { p: model.p.get(), r: model.r.get(), bad: model.bad.get(), good: model.good.get() }
    }

    /// The chain that one gets if errors with at most `join` right steps between them are bursts.
    pub(super) fn of_bursts(steps: &Steps, join: u64) -> Self {
        let mut bursts = 0.0;
        let mut inside = 0.0;
        let mut wrong_inside = 0.0;
        for (i, &(right, wrong)) in steps.runs.iter().enumerate().filter(|(_, run)| run.1 > 0) {
            if i > 0 && right <= join && bursts > 0.0 {
                inside += right as f64;
            } else {
                bursts += 1.0;
            }
            inside += wrong as f64;
            wrong_inside += wrong as f64;
        }
        let outside = (steps.count as f64 - inside).max(1.0);
        // A lone error may as well be one of the good state: never start at a rate of zero there.
        let good = if join == 0 { 0.0 } else { (bursts / 4.0 / outside).min(0.5) };
        Self {
            p: (bursts / outside).min(1.0),
            r: (bursts / inside).min(1.0),
            bad: wrong_inside / inside,
            good,
        }
    }

    /// The parameters that make the average counts, given `steps`, most likely; and the logarithm
    /// of the likelihood of the present ones.
    pub(super) fn improved(&self, steps: &Steps) -> (Self, f64) {
        let forward = self.run(steps);
        let total = forward.weight[0] + forward.weight[1];
        let counts = forward.counts.map(|by_state| (by_state[0] + by_state[1]) / total);
        let [to_bad, stay_good, wrong_good, to_good, stay_bad, wrong_bad] = counts;
        let better = Self {
            p: ratio_or(to_bad, to_bad + stay_good, self.p),
            r: ratio_or(to_good, to_good + stay_bad, self.r),
            bad: ratio_or(wrong_bad, to_good + stay_bad, self.bad),
            good: ratio_or(wrong_good, to_bad + stay_good, self.good),
        };
        (better, forward.scale + total.ln())
    }

    fn run(&self, steps: &Steps) -> Forward {
        let sum = self.p + self.r;
        let bad = if sum > 0.0 { self.p / sum } else { 0.5 };
        let mut forward =
            Forward { weight: [1.0 - bad, bad], counts: [[0.0; 2]; COUNTS], scale: 0.0 };
        let longest = |side: fn(&(u64, u64)) -> u64| steps.runs.iter().map(side).max().unwrap_or(0);
        let right = self.step(false).powers(longest(|run| run.0));
        let wrong = self.step(true).powers(longest(|run| run.1));
        for &(good, bad) in &steps.runs {
            forward.extend(&right, good);
            forward.extend(&wrong, bad);
        }
        forward
    }

    /// One step with this outcome: the state decides on the error, then changes.
    fn step(&self, is_wrong: bool) -> Stretch {
        let rate = |rate: f64| if is_wrong { rate } else { 1.0 - rate };
        let good = rate(self.good);
        let bad = rate(self.bad);
        let weight = [[good * (1.0 - self.p), good * self.p], [bad * self.r, bad * (1.0 - self.r)]];
        let [[stay_good, to_bad], [to_good, stay_bad]] = weight;
        let none = [[0.0; 2]; 2];
        let wrong = |row: Matrix| if is_wrong { row } else { none };
        let counts = [
            [[0.0, to_bad], [0.0, 0.0]],
            [[stay_good, 0.0], [0.0, 0.0]],
            wrong([weight[0], [0.0, 0.0]]),
            [[0.0, 0.0], [to_good, 0.0]],
            [[0.0, 0.0], [0.0, stay_bad]],
            wrong([[0.0, 0.0], weight[1]]),
        ];
        Stretch { weight, counts, scale: 0.0 }
    }
}

/// Returns a part of a whole as a share, or the old share of nothing.
fn ratio_or(part: f64, whole: f64, old: f64) -> f64 {
    if whole > 0.0 { (part / whole).clamp(0.0, 1.0) } else { old }
}

impl Stretch {
    /// Itself, squared, squared again and so on: enough for stretches up to `longest`.
    fn powers(self, longest: u64) -> Vec<Self> {
        let squares = core::iter::successors(Some(self), |last| Some(last.squared()));
        squares.take((u64::BITS - longest.leading_zeros()) as usize).collect()
    }

    fn squared(&self) -> Self {
        let weight = product(&self.weight, &self.weight);
        let counts = self.counts.map(|count| {
            let a = product(&count, &self.weight);
            let b = product(&self.weight, &count);
            [[a[0][0] + b[0][0], a[0][1] + b[0][1]], [a[1][0] + b[1][0], a[1][1] + b[1][1]]]
        });
        let most = weight.iter().flatten().fold(f64::MIN_POSITIVE, |most, &x| most.max(x));
        let divide = |m: Matrix| m.map(|row| row.map(|x| x / most));
        Self {
            weight: divide(weight),
            counts: counts.map(divide),
            scale: 2.0 * self.scale + most.ln(),
        }
    }
}

impl Forward {
    /// Appends `length` equal steps, given by their powers.
    fn extend(&mut self, powers: &[Stretch], length: u64) {
        for (bit, stretch) in powers.iter().enumerate() {
            if length >> bit & 1 == 0 {
                continue;
            }
            for (count, by) in self.counts.iter_mut().zip(&stretch.counts) {
                let a = apply(count, &stretch.weight);
                let b = apply(&self.weight, by);
                *count = [a[0] + b[0], a[1] + b[1]];
            }
            self.weight = apply(&self.weight, &stretch.weight);
            let sum = (self.weight[0] + self.weight[1]).max(f64::MIN_POSITIVE);
            self.weight = self.weight.map(|x| x / sum);
            self.counts = self.counts.map(|count| count.map(|x| x / sum));
            self.scale += stretch.scale + sum.ln();
        }
    }
}

/// The logarithm of the likelihood of `steps`.
pub(super) fn log_likelihood(chain: &Chain, steps: &Steps) -> f64 {
    let forward = chain.run(steps);
    forward.scale + (forward.weight[0] + forward.weight[1]).ln()
}

fn product(a: &Matrix, b: &Matrix) -> Matrix {
    [apply(&a[0], b), apply(&a[1], b)]
}

fn apply(row: &[f64; 2], m: &Matrix) -> [f64; 2] {
    [row[0] * m[0][0] + row[1] * m[1][0], row[0] * m[0][1] + row[1] * m[1][1]]
}
