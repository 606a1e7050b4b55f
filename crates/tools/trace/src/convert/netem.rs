//! netem-trace's loss configurations: the probability of a loss by how many went before it.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use windfall_base::{Duration, MemoryBudget, Seed, Stream};
use windfall_files::traces::ErrorTrace;
use windfall_files::traces::error_trace::Fault;
use windfall_files::traces::netem_trace::Time;

use super::{ConvertError, MAX_FRAMES, frame_trace, not_empty, stretches};

/// Losses in a row beyond which one probability stands for all.
const MAX_RUN: usize = 32;
/// The part of the memory that the text may take: its values take more than itself.
const TREE_PART: usize = 32;

/// The parameters that a loss configuration lacks to become a trace of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LossTiming {
    /// The time from one frame to the next.
    pub interval: Duration,
    /// The seed of what is drawn.
    pub seed: Seed,
}

#[derive(Deserialize)]
enum Config {
    StaticLossConfig {
        loss: Option<Vec<f64>>,
        duration: Option<Time>,
    },
    RepeatedLossPatternConfig {
        #[serde(default)]
        pattern: Vec<Config>,
        #[serde(default)]
        count: u64,
    },
}

/// Draws a trace from a loss configuration of netem-trace in JSON or TOML.
///
/// A pattern that repeats forever (count 0) is drawn once: the trace starts over at its end. Takes
/// from `budget` the memory that the trace keeps.
///
/// # Errors
/// If the text is no such configuration, or no frame falls into its duration, or the memory does
/// not suffice.
pub fn from_netem(
    text: &str,
    timing: LossTiming,
    budget: &mut MemoryBudget,
) -> Result<ErrorTrace, ConvertError> {
    budget.check(text.len().saturating_mul(TREE_PART))?;
    let config: Config = read_config(text).map_err(ConvertError::Whole)?;
    if timing.interval.is_zero() {
        return Err(ConvertError::Whole("the time between frames must be above 0".to_owned()));
    }
    let mut drawing = Drawing {
        trace: frame_trace("a loss pattern of netem-trace"),
        stream: Stream::new(timing.seed, "netem-trace"),
        interval: timing.interval,
        elapsed: Duration::ZERO,
        run: 0,
        budget,
    };
    drawing.draw(&config)?;
    drawing.budget.take(drawing.trace.memory())?;
    let mut header = drawing.trace.header().clone();
    header.seed = Some(timing.seed);
    not_empty(drawing.trace.with_header(header))
}

/// Reads a configuration of netem-trace in JSON or TOML.
pub(crate) fn read_config<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    if text.trim_start().starts_with('{') {
        serde_json::from_str(text).map_err(|error| format!("netem-trace in JSON: {error}"))
    } else {
        toml::from_str(text).map_err(|error| {
            let what = error.message().replace('\n', " ");
            let start = error.span().map_or(0, |span| span.start);
            let line = text.bytes().take(start).filter(|byte| *byte == b'\n').count() + 1;
            format!("netem-trace in TOML, line {line}: {what}")
        })
    }
}

struct Drawing<'a> {
    trace: ErrorTrace,
    stream: Stream,
    interval: Duration,
    /// The length of the patterns so far.
    elapsed: Duration,
    /// Losses in a row up to here.
    run: usize,
    budget: &'a mut MemoryBudget,
}

impl Drawing<'_> {
    fn draw(&mut self, config: &Config) -> Result<(), ConvertError> {
        match config {
            Config::StaticLossConfig { loss, duration } => {
                let default = vec![0.1, 0.2];
                let loss = loss.as_ref().unwrap_or(&default);
                if let Some(wrong) = loss.iter().find(|p| !(0.0..=1.0).contains(*p)) {
                    let fix = format!("netem-trace: the loss {wrong} must lie in 0..1");
                    return Err(ConvertError::Whole(fix));
                }
                let span = duration.map_or(Duration::from_secs(1), |time| time.0);
                self.elapsed = self.elapsed.saturating_add(span);
                self.frames(loss)
            }
            Config::RepeatedLossPatternConfig { pattern, count } => {
                for _ in 0..(*count).max(1) {
                    let before = self.elapsed;
                    for config in pattern {
                        self.draw(config)?;
                    }
                    if self.elapsed == before {
                        break;
                    }
                }
                Ok(())
            }
        }
    }

    /// Draws the frames up to the end of the pattern.
    fn frames(&mut self, loss: &[f64]) -> Result<(), ConvertError> {
        let end = self.elapsed.as_nanos() / self.interval.as_nanos();
        if end > MAX_FRAMES {
            let fix = format!("the pattern holds more than {MAX_FRAMES} frames: shorten it");
            return Err(ConvertError::Whole(fix));
        }
        while self.trace.len() < end {
            let p = loss.get(self.run).or(loss.last()).copied().unwrap_or(0.0);
            if self.stream.unit() < p {
                self.trace.push(Fault::Lost, 1);
                self.budget.check(self.trace.memory())?;
                self.run += 1;
            } else {
                self.trace.push_ok(1);
                self.run = 0;
            }
        }
        Ok(())
    }
}

/// Writes a loss configuration of netem-trace: how likely a loss is after none, one, two losses and
/// so on, as it was in `trace`; a frame that did not arrive whole counts as lost.
///
/// # Errors
/// If the trace counts bits.
pub fn to_netem(trace: &ErrorTrace, interval: Duration) -> Result<String, ConvertError> {
    let stretches = stretches(trace)?;
    // The frames after each number of losses in a row, and those of them that were lost too.
    let mut after = [0_u64; MAX_RUN];
    let mut lost = [0_u64; MAX_RUN];
    for (i, &(is_faulty, count)) in stretches.iter().enumerate() {
        if !is_faulty {
            // The first of them ended a burst, if there was one.
            after[0] += count - u64::from(i > 0);
            continue;
        }
        let last = MAX_RUN as u64 - 1;
        for run in 0..count.min(last) as usize {
            after[run] += 1;
            lost[run] += 1;
        }
        after[MAX_RUN - 1] += count.saturating_sub(last);
        lost[MAX_RUN - 1] += count.saturating_sub(last);
        if i + 1 < stretches.len() {
            after[(count as usize).min(MAX_RUN - 1)] += 1;
        }
    }
    let length = after.iter().rposition(|&n| n > 0).map_or(1, |last| last + 1);
    let loss: Vec<f64> =
        (0..length).map(|run| lost[run] as f64 / after[run].max(1) as f64).collect();
    let span = interval.saturating_mul(trace.len()).as_nanos();
    let duration = serde_json::json!({
        "secs": span / 1_000_000_000, "nanos": span % 1_000_000_000,
    });
    let config = serde_json::json!({"StaticLossConfig": {"loss": loss, "duration": duration}});
    Ok(format!("{config}\n"))
}
