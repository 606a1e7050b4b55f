//! netem-trace's models of delay and loss as changes of a link.

use std::fmt::Write as _;

use serde::Deserialize;
use windfall_base::Duration;
use windfall_files::traces::netem_trace::Time;

use crate::convert::read_config;

/// More changes than any sensible model has.
const MOST: usize = 100_000;

/// The names by which the configurations are known that become changes.
const NAMES: [&str; 6] = [
    "StaticDelayConfig",
    "RepeatedDelayPatternConfig",
    "StaticLossConfig",
    "RepeatedLossPatternConfig",
    "DelayPerPacketConfig",
    "DelayPerPacketPatternConfig",
];

/// Tells whether a text looks like a configuration of delay or loss.
#[must_use]
pub fn is_netem_model(text: &str) -> bool {
    NAMES.iter().any(|name| text.contains(name))
}

#[derive(Debug, Deserialize)]
#[expect(clippy::enum_variant_names, reason = "the names are those of the format")]
enum Config {
    StaticDelayConfig(StaticDelay),
    RepeatedDelayPatternConfig(Repeated),
    StaticLossConfig(StaticLoss),
    RepeatedLossPatternConfig(Repeated),
    StaticDelayPerPacketConfig(PerPacket),
    NormalizedDelayPerPacketConfig(PerPacket),
    UniformDelayPerPacketConfig(PerPacket),
    LogNormalizedDelayPerPacketConfig(serde::de::IgnoredAny),
    RepeatedDelayPerPacketPatternConfig(serde::de::IgnoredAny),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct StaticDelay {
    delay: Option<Time>,
    duration: Option<Time>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct StaticLoss {
    loss: Option<Vec<f64>>,
    duration: Option<Time>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Repeated {
    #[serde(default)]
    pattern: Vec<Config>,
    /// 0 repeats forever.
    #[serde(default)]
    count: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PerPacket {
    delay: Option<Time>,
    mean: Option<Time>,
    std_dev: Option<Time>,
    upper_bound: Option<Time>,
    lower_bound: Option<Time>,
    /// The packets that it is of; 0 for all.
    #[serde(default)]
    count: u64,
    /// The seed of its draws, which is ignored: a run has a seed of its own.
    #[serde(rename = "seed")]
    _seed: Option<u64>,
}

/// Reads a configuration of delay or loss, in JSON or TOML; returns the changes as lines of the
/// form `10s: delay 20ms`, of one direction where `side` is a word with a blank behind.
///
/// `length`: how long a pattern that repeats forever is repeated.
///
/// # Errors
/// If the text is no such configuration, repeats forever without a length, or says what no setting
/// of a link says.
pub fn changes_of_netem(
    text: &str,
    length: Option<Duration>,
    side: &str,
) -> Result<String, String> {
    let config: Config = read_config(text)?;
    let mut steps = Steps { all: Vec::new(), at: Duration::ZERO, length };
    steps.add(&config, true)?;
    let mut lines = String::new();
    let mut last = "";
    for (at, said) in &steps.all {
        if last != said {
            let said = said.replace(", ", &format!(", {side}"));
            let _ = writeln!(lines, "{at}: {side}{said}");
        }
        last = said;
    }
    if lines.is_empty() { Err("the model has no step that lasts".to_owned()) } else { Ok(lines) }
}

/// Settings, each from its time on.
struct Steps {
    all: Vec<(Duration, String)>,
    at: Duration,
    length: Option<Duration>,
}

impl Steps {
    fn add(&mut self, config: &Config, is_outermost: bool) -> Result<(), String> {
        match config {
            Config::StaticDelayConfig(StaticDelay { delay, duration }) => {
                let delay = delay.map_or(Duration::from_millis(10), |time| time.0);
                self.push(format!("delay {delay}"), *duration)
            }
            Config::StaticLossConfig(StaticLoss { loss, duration }) => {
                let default = vec![0.1, 0.2];
                let probability = match loss.as_ref().unwrap_or(&default)[..] {
                    [] => 0.0,
                    [one] => one,
                    _ => {
                        return Err(
                            "the loss depends on how many packets were lost before it, and \
                                    no change says that: make an error trace by windfall trace \
                                    convert --from netem-trace"
                                .to_owned(),
                        );
                    }
                };
                self.push(format!("loss {probability}"), *duration)
            }
            Config::RepeatedDelayPatternConfig(repeated)
            | Config::RepeatedLossPatternConfig(repeated) => self.repeat(repeated, is_outermost),
            Config::StaticDelayPerPacketConfig(packets) => {
                let delay = packets.delay.map_or(Duration::from_millis(10), |time| time.0);
                self.of_packets(packets, format!("delay {delay}"))
            }
            Config::NormalizedDelayPerPacketConfig(packets) => {
                let of = |time: Option<Time>, or| time.map_or(or, |time| time.0);
                let mean = of(packets.mean, Duration::from_millis(10));
                let deviation = of(packets.std_dev, Duration::ZERO);
                if packets.upper_bound.is_some()
                    || !of(packets.lower_bound, Duration::ZERO).is_zero()
                {
                    return Err("a normal delay with bounds above 0 is no setting of a link: \
                                remove upper_bound, and set lower_bound to 0"
                        .to_owned());
                }
                let jitter = format!("delay {mean}, jitter {deviation} normal, reorder 0");
                self.of_packets(packets, jitter)
            }
            Config::UniformDelayPerPacketConfig(packets) => {
                let of = |time: Option<Time>| time.map_or(Duration::ZERO, |time| time.0);
                let low = of(packets.lower_bound);
                let high = of(packets.upper_bound);
                if high < low {
                    return Err("upper_bound lies below lower_bound".to_owned());
                }
                let half = (high - low) / 2;
                let jitter = format!("delay {}, jitter {half}, reorder 0", low + half);
                self.of_packets(packets, jitter)
            }
            Config::LogNormalizedDelayPerPacketConfig(_) => {
                Err("no jitter of a link is log-normal: give its distribution as jitter-table"
                    .to_owned())
            }
            Config::RepeatedDelayPerPacketPatternConfig(_) => {
                Err("the pattern counts packets, and changes have times: use a pattern of \
                     StaticDelayConfig"
                    .to_owned())
            }
        }
    }

    fn of_packets(&mut self, packets: &PerPacket, said: String) -> Result<(), String> {
        if packets.count > 0 {
            let count = packets.count;
            return Err(format!(
                "the delay is that of {count} packets, and changes have times: set count to 0"
            ));
        }
        self.push(said, None)
    }

    fn repeat(&mut self, repeated: &Repeated, is_outermost: bool) -> Result<(), String> {
        let Repeated { pattern, count } = repeated;
        let end = match (count, self.length) {
            (0, _) if !is_outermost => {
                return Err("only the outermost pattern may repeat forever: give the inner one a \
                            count above 0"
                    .to_owned());
            }
            (0, None) => {
                return Err("the pattern repeats forever: say for how long by --for, such as \
                            --for 60s"
                    .to_owned());
            }
            (0, Some(length)) => Some(length),
            _ => None,
        };
        let mut round = 0;
        while end.map_or(round < *count, |end| self.at < end) {
            let before = self.at;
            for config in pattern {
                self.add(config, false)?;
            }
            if self.at == before {
                break;
            }
            round += 1;
        }
        if let Some(end) = end {
            self.all.retain(|(at, _)| *at < end);
        }
        Ok(())
    }

    fn push(&mut self, said: String, span: Option<Time>) -> Result<(), String> {
        if self.all.len() >= MOST {
            return Err(format!("the model has more than {MOST} steps: shorten it"));
        }
        let span = span.map_or(Duration::from_secs(1), |time| time.0);
        if !span.is_zero() {
            self.all.push((self.at, said));
            self.at = self.at.saturating_add(span);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, seconds: u64) -> Result<String, String> {
        let length = (seconds > 0).then(|| Duration::from_secs(seconds));
        changes_of_netem(text, length, "")
    }

    #[test]
    fn patterns_of_delay_and_loss_become_changes() {
        let delay = r#"{"RepeatedDelayPatternConfig":{"pattern":[
            {"StaticDelayConfig":{"delay":"10ms","duration":"1s"}},
            {"StaticDelayConfig":{"delay":"50ms","duration":"1s"}}],"count":0}}"#;
        assert_eq!(read(delay, 3), Ok("0s: delay 10ms\n1s: delay 50ms\n2s: delay 10ms\n".into()));
        let error = read(delay, 0).expect_err("for how long?");
        assert!(error.contains("--for 60s"), "{error}");
        let loss = "[RepeatedLossPatternConfig]\ncount = 2\n\
                    [[RepeatedLossPatternConfig.pattern]]\n\
                    [RepeatedLossPatternConfig.pattern.StaticLossConfig]\nloss = [0.0]\n\
                    duration = \"1s\"\n[[RepeatedLossPatternConfig.pattern]]\n\
                    [RepeatedLossPatternConfig.pattern.StaticLossConfig]\nloss = [0.5]\n\
                    duration = {secs = 0, nanos = 500000000}\n";
        let expected = "0s: loss 0\n1s: loss 0.5\n1.5s: loss 0\n2.5s: loss 0.5\n";
        assert_eq!(
            read(loss, 0).map(|it| it.replace("1500ms", "1.5s").replace("2500ms", "2.5s")),
            Ok(expected.into())
        );
        let down = changes_of_netem(delay, Some(Duration::from_secs(1)), "downlink ");
        assert_eq!(down, Ok("0s: downlink delay 10ms\n".into()));
    }

    #[test]
    fn delays_of_packets_are_jitter() {
        let normal = "[NormalizedDelayPerPacketConfig]\nmean = \"10ms\"\nstd_dev = \"5ms\"\n\
                      lower_bound = \"0ms\"\ncount = 0\nseed = 42\n";
        assert_eq!(read(normal, 0), Ok("0s: delay 10ms, jitter 5ms normal, reorder 0\n".into()));
        let uniform =
            r#"{"UniformDelayPerPacketConfig":{"lower_bound":"4ms","upper_bound":"10ms"}}"#;
        assert_eq!(read(uniform, 0), Ok("0s: delay 7ms, jitter 3ms, reorder 0\n".into()));
    }

    #[test]
    fn what_no_change_says_is_refused() {
        for (text, part) in [
            (r#"{"StaticLossConfig":{"loss":[0.1,0.2]}}"#, "trace convert"),
            (r#"{"LogNormalizedDelayPerPacketConfig":{}}"#, "log-normal"),
            (r#"{"StaticDelayPerPacketConfig":{"count":3}}"#, "that of 3 packets"),
            (r#"{"StaticDelayConfig":{"dely":"1s"}}"#, "dely"),
            ("[StaticDelayConfig]\ndelay = \"1 fortnight\"\n", "line 2"),
        ] {
            let error = read(text, 0).expect_err(text);
            assert!(error.contains(part), "{error}");
        }
    }
}
