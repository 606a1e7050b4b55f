//! netem-trace's bandwidth configurations, in JSON or TOML, with or without its `human` spelling.

use serde::Deserialize;
use windfall_base::{Duration, Rate, Seed, Stream};

use super::{RateTrace, RateTraceError};
use crate::traces::netem_trace::{Time, quantities};

/// More steps than any sensible trace has; beyond them a pattern is refused.
const MAX_STEPS: usize = 1_000_000;

/// The refusal of a configuration of several tables, or of none.
const ONE_TABLE: &str = "a configuration is one table, such as [TraceBwConfig] or [StaticBwConfig]";

impl RateTrace {
    /// Reads a bandwidth configuration of netem-trace in JSON.
    ///
    /// A finite pattern starts over when it ends. Normal distributions have netem-trace's law, but
    /// not its numbers, since those are its generator's.
    ///
    /// # Errors
    /// If the text is no such configuration, or has no step that lasts.
    pub fn from_netem_json(text: &str) -> Result<Self, RateTraceError> {
        let config: Config = serde_json::from_str(text)
            .map_err(|error| RateTraceError::Whole(format!("netem-trace in JSON: {error}")))?;
        config.into_trace()
    }

    /// Reads a bandwidth configuration of netem-trace in TOML.
    ///
    /// # Errors
    /// As [`from_netem_json`](Self::from_netem_json).
    pub fn from_netem_toml(text: &str) -> Result<Self, RateTraceError> {
        let config: Config = toml::from_str(text).map_err(|error| {
            let start = error.span().map_or(0, |span| span.start);
            let line = text.bytes().take(start).filter(|&byte| byte == b'\n').count() + 1;
            let what = match error.message() {
                m if m.starts_with("wanted exactly 1 element") => ONE_TABLE.to_owned(),
                m => m.replace('\n', " "),
            };
            RateTraceError::Whole(format!("netem-trace in TOML, line {line}: {what}"))
        })?;
        config.into_trace()
    }
}

#[derive(Deserialize)]
#[expect(clippy::enum_variant_names, reason = "the names are those of the format")]
enum Config {
    StaticBwConfig(Static),
    NormalizedBwConfig(Normalized),
    SawtoothBwConfig(Sawtooth),
    RepeatedBwPatternConfig(Repeated),
    TraceBwConfig(Trace),
}

/// Rates for times, in the form of version 0.4, and in that before.
#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "a pattern: a list of times, each with a list of bandwidths, such as \
                 {\"pattern\": [[\"25ms\", [\"1Mbps\", \"2Mbps\"]]]}"
)]
enum Trace {
    Table(TraceTable),
    List(Vec<(Time, Vec<Bandwidth>)>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TraceTable {
    pattern: Vec<(Time, Vec<Bandwidth>)>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Static {
    bw: Option<Bandwidth>,
    duration: Option<Time>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Normalized {
    mean: Option<Bandwidth>,
    std_dev: Option<Bandwidth>,
    upper_bound: Option<Bandwidth>,
    lower_bound: Option<Bandwidth>,
    duration: Option<Time>,
    step: Option<Time>,
    seed: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sawtooth {
    bottom: Option<Bandwidth>,
    top: Option<Bandwidth>,
    interval: Option<Time>,
    duty_ratio: Option<f64>,
    duration: Option<Time>,
    step: Option<Time>,
    seed: Option<u64>,
    std_dev: Option<Bandwidth>,
    upper_noise_bound: Option<Bandwidth>,
    lower_noise_bound: Option<Bandwidth>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Repeated {
    #[serde(default)]
    pattern: Vec<Config>,
    /// 0 repeats forever.
    #[serde(default)]
    count: u64,
}

/// A bandwidth in bits per second: `{gbps, bps}`, a text such as `2Mbps 500kbps`, or Mb/s.
#[derive(Clone, Copy, Deserialize)]
#[serde(try_from = "RawBandwidth")]
struct Bandwidth(f64);

#[derive(Deserialize)]
#[serde(untagged, expecting = "a bandwidth such as \"12Mbps\" or {\"gbps\": 0, \"bps\": 12000000}")]
enum RawBandwidth {
    Parts { gbps: u64, bps: u32 },
    Text(String),
    Mbps(f64),
}

impl TryFrom<RawBandwidth> for Bandwidth {
    type Error = String;

    fn try_from(raw: RawBandwidth) -> Result<Self, String> {
        let bps = match raw {
            RawBandwidth::Parts { gbps, bps } => gbps as f64 * 1e9 + f64::from(bps),
            RawBandwidth::Mbps(mbps) => {
                let bps = mbps * 1e6;
                if !bps.is_finite() {
                    return Err(format!("{mbps:?} Mb/s is no bandwidth: use 0 to 1000 Tbps"));
                }
                bps
            }
            RawBandwidth::Text(text) => parse_bandwidth(&text)
                .map_err(|fix| format!("\"{text}\" is no bandwidth: {fix}"))?,
        };
        if (0.0..=1e15).contains(&bps) {
            Ok(Self(bps))
        } else {
            Err(format!("{bps} bps is no bandwidth: use 0 to 1000 Tbps"))
        }
    }
}

/// Reads `2Mbps 500kbps`. The case of letters does not matter, except of the B of bytes.
///
/// # Errors
/// Says what to write instead.
fn parse_bandwidth(text: &str) -> Result<f64, String> {
    let units = || "write bps, kbps, Mbps, Gbps or Tbps".to_owned();
    let mut sum = 0.0;
    for (number, unit) in quantities(text).ok_or_else(units)? {
        if let Some(fix) = Rate::fix_of_bytes(&format!("{number}{unit}")) {
            return Err(fix);
        }
        sum += number * bits_of_unit(unit).ok_or_else(units)?;
    }
    Ok(sum)
}

/// Returns the bits per second of a unit such as `kbps`.
fn bits_of_unit(unit: &str) -> Option<f64> {
    let unit = unit.to_ascii_lowercase();
    let prefix = ["bps", "bit/s", "b/s", "bit"].iter().find_map(|it| unit.strip_suffix(it))?;
    match prefix {
        "" => Some(1.0),
        "k" => Some(1e3),
        "m" => Some(1e6),
        "g" => Some(1e9),
        "t" => Some(1e12),
        _ => None,
    }
}

/// Steps of a rate in bits per second and its time.
type Steps = Vec<(f64, Duration)>;

impl Config {
    fn into_trace(self) -> Result<RateTrace, RateTraceError> {
        let mut steps = Steps::new();
        match &self {
            // The trace starts over by itself, so one round stands for all.
            Self::RepeatedBwPatternConfig(Repeated { pattern, count: 0 }) => {
                for config in pattern {
                    config.expand(&mut steps)?;
                }
            }
            config => config.expand(&mut steps)?,
        }
        RateTrace::from_steps(
            steps.into_iter().map(|(bps, span)| (Rate::from_bps(bps.round() as u64), span)),
        )
    }

    fn expand(&self, steps: &mut Steps) -> Result<(), RateTraceError> {
        match self {
            Self::StaticBwConfig(config) => {
                push(steps, config.bw.map_or(12e6, |bw| bw.0), time(config.duration, 1000))
            }
            Self::NormalizedBwConfig(config) => config.expand(steps),
            Self::SawtoothBwConfig(config) => config.expand(steps),
            Self::RepeatedBwPatternConfig(Repeated { pattern, count }) => {
                if *count == 0 {
                    let fix = "netem-trace: only the outermost pattern may repeat forever: give \
                               the inner one a count above 0";
                    return Err(RateTraceError::Whole(fix.to_owned()));
                }
                for _ in 0..*count {
                    let before = steps.len();
                    for config in pattern {
                        config.expand(steps)?;
                    }
                    if steps.len() == before {
                        break;
                    }
                }
                Ok(())
            }
            Self::TraceBwConfig(Trace::List(list) | Trace::Table(TraceTable { pattern: list })) => {
                for (span, rates) in list {
                    for rate in rates {
                        push(steps, rate.0, span.0)?;
                    }
                }
                Ok(())
            }
        }
    }
}

impl Normalized {
    fn expand(&self, steps: &mut Steps) -> Result<(), RateTraceError> {
        let mut noise = Noise::new(self.seed, self.std_dev);
        let mean = self.mean.map_or(12e6, |bw| bw.0);
        let low = self.lower_bound.map_or(0.0, |bw| bw.0);
        let high = self.upper_bound.map_or(f64::INFINITY, |bw| bw.0);
        if low > high {
            let fix = format!(
                "netem-trace: the lower_bound, {low} bps, lies above the upper_bound, {high} bps"
            );
            return Err(RateTraceError::Whole(fix));
        }
        in_steps(time(self.duration, 1000), time(self.step, 1), |span| {
            push(steps, (mean + noise.draw()).max(low).min(high), span)
        })
    }
}

impl Sawtooth {
    fn expand(&self, steps: &mut Steps) -> Result<(), RateTraceError> {
        let bottom = self.bottom.map_or(0.0, |bw| bw.0);
        let top = self.top.map_or(12e6, |bw| bw.0);
        let duty = self.duty_ratio.unwrap_or(0.5);
        let interval = time(self.interval, 1000).as_secs_f64();
        if bottom > top || !(0.0..=1.0).contains(&duty) || interval == 0.0 {
            let fix = format!(
                "netem-trace: a sawtooth needs bottom <= top, duty_ratio in 0..1 and an interval \
                 above 0: it has {bottom} bps, {top} bps, {duty} and {interval} s"
            );
            return Err(RateTraceError::Whole(fix));
        }
        let mut noise = Noise::new(self.seed, self.std_dev);
        let low = -self.lower_noise_bound.map_or(f64::INFINITY, |bw| bw.0);
        let high = self.upper_noise_bound.map_or(f64::INFINITY, |bw| bw.0);
        let turn = interval * duty;
        let mut place = 0.0;
        in_steps(time(self.duration, 1000), time(self.step, 1), |span| {
            let share =
                if place < turn { place / turn } else { 1.0 - (place - turn) / (interval - turn) };
            let rate = bottom + (top - bottom) * share + noise.draw().max(low).min(high);
            place += span.as_secs_f64();
            // Rounded sums of steps end a hair before or after the interval.
            if place >= interval - 1e-9 {
                place = (place - interval).max(0.0);
            }
            push(steps, rate.max(0.0), span)
        })
    }
}

/// Normally distributed deviations.
struct Noise {
    stream: Stream,
    deviation: f64,
}

impl Noise {
    fn new(seed: Option<u64>, deviation: Option<Bandwidth>) -> Self {
        let stream = Stream::new(Seed(seed.unwrap_or(42)), "netem-trace");
        Self { stream, deviation: deviation.map_or(0.0, |bw| bw.0) }
    }

    /// One deviation, by Box and Muller.
    fn draw(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.stream.unit()).ln()).sqrt();
        let angle = core::f64::consts::TAU * self.stream.unit();
        self.deviation * radius * angle.cos()
    }
}

fn time(given: Option<Time>, millis: u64) -> Duration {
    given.map_or(Duration::from_millis(millis), |time| time.0)
}

/// Calls `f` with each step that `whole` consists of.
fn in_steps(
    whole: Duration,
    step: Duration,
    mut f: impl FnMut(Duration) -> Result<(), RateTraceError>,
) -> Result<(), RateTraceError> {
    if step.is_zero() {
        let fix = "netem-trace: a step of 0s never ends: make it longer";
        return Err(RateTraceError::Whole(fix.to_owned()));
    }
    let mut left = whole;
    while !left.is_zero() {
        let span = step.min(left);
        f(span)?;
        left -= span;
    }
    Ok(())
}

fn push(steps: &mut Steps, bps: f64, span: Duration) -> Result<(), RateTraceError> {
    if steps.len() == MAX_STEPS {
        let fix = format!("netem-trace: the pattern has more than {MAX_STEPS} steps: shorten it");
        return Err(RateTraceError::Whole(fix));
    }
    steps.push((bps, span));
    Ok(())
}
