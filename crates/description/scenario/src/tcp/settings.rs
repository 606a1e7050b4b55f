//! The table of settings: name, what it takes, how it is set and read.

use core::fmt::Display;
use core::str::FromStr;

use windfall_base::{ByteCount, Duration};
use windfall_tcp::{
    AckPolicy, CongestionControl, Corruption, Keepalive, LossRecovery, NotificationMode, Paws,
    Reaction, TcpConfig,
};
use windfall_wire_net::tcp::{CorruptionKinds, Packing};

use super::{LARGEST_WINDOW, LEAST_MSS};

/// One setting of a TCP.
#[derive(Debug)]
pub struct TcpSetting {
    /// The name before `=`.
    pub name: &'static str,
    /// The values that may stand behind `=`, as an error message says it.
    pub legal: &'static str,
    set: fn(&mut TcpConfig, &str) -> Option<()>,
    text: fn(&TcpConfig) -> String,
}

impl TcpSetting {
    /// Sets the setting; `false` if it takes no such value.
    pub(super) fn set(&self, config: &mut TcpConfig, value: &str) -> bool {
        let mut changed = config.clone();
        let done = (self.set)(&mut changed, value).is_some();
        if done {
            *config = changed;
        }
        done
    }

    /// The text of the setting's value, which sets it to the same again.
    #[must_use]
    pub fn text_of(&self, config: &TcpConfig) -> String {
        (self.text)(config)
    }
}

/// A setting whose value is on or off.
macro_rules! switch {
    ($name:literal, $($field:ident).+) => {
        TcpSetting {
            name: $name,
            legal: "on or off",
            set: |config, value| {
                config.$($field).+ = word(value, &[("on", true), ("off", false)])?;
                Some(())
            },
            text: |config| if config.$($field).+ { "on".into() } else { "off".into() },
        }
    };
}

/// A setting whose value is one of some words.
macro_rules! choice {
    ($name:literal, $($field:ident).+, $legal:literal, $words:expr) => {
        TcpSetting {
            name: $name,
            legal: $legal,
            set: |config, value| {
                config.$($field).+ = word(value, &$words)?;
                Some(())
            },
            text: |config| name_of(&config.$($field).+, &$words),
        }
    };
}

/// A setting whose value is a number or a time in a range.
macro_rules! quantity {
    ($name:literal, $($field:ident).+, $range:expr, $legal:literal) => {
        TcpSetting {
            name: $name,
            legal: $legal,
            set: |config, value| {
                config.$($field).+ = value.parse().ok().filter(|it| $range.contains(it))?;
                Some(())
            },
            text: |config| config.$($field).+.to_string(),
        }
    };
}

/// A setting whose value is a size of a buffer.
macro_rules! buffer {
    ($name:literal, $field:ident) => {
        TcpSetting {
            name: $name,
            legal: "a size of 1kB to 1GB, such as 64KiB",
            set: |config, value| {
                let ByteCount(bytes) = value.parse().ok()?;
                let bytes = usize::try_from(bytes).ok()?;
                config.$field = Some(bytes).filter(|it| (1000..=LARGEST_WINDOW).contains(it))?;
                Some(())
            },
            text: |config| ByteCount(config.$field as u64).to_string(),
        }
    };
}

const PAWS: [(&str, Paws); 3] =
    [("before", Paws::BeforePrediction), ("after", Paws::AfterPrediction), ("off", Paws::Off)];
const CONGESTION_CONTROLS: [(&str, CongestionControl); 3] = [
    ("cubic", CongestionControl::Cubic),
    ("reno", CongestionControl::Reno),
    ("net3-reno", CongestionControl::Net3Reno),
];
const RECOVERIES: [(&str, LossRecovery); 3] = [
    ("new-reno", LossRecovery::NewReno),
    ("net3", LossRecovery::Net3),
    ("sack", LossRecovery::Sack),
];
const MODES: [(&str, NotificationMode); 3] = [
    ("draft-safe", NotificationMode::DraftSafe),
    ("paper", NotificationMode::Paper),
    ("extended", NotificationMode::Extended),
];
const PACKINGS: [(&str, Packing); 2] = [("packed", Packing::Packed), ("aligned", Packing::Aligned)];
const REACTIONS: [(&str, Reaction); 3] =
    [("ignore", Reaction::Ignore), ("as-mark", Reaction::AsMark), ("as-loss", Reaction::AsLoss)];
/// From one nanosecond to an hour: what timers may wait.
const SPANS: core::ops::RangeInclusive<Duration> =
    Duration::from_nanos(1)..=Duration::from_secs(3600);
/// The same, or at once.
const DELAYS: core::ops::RangeInclusive<Duration> = Duration::ZERO..=Duration::from_secs(3600);

/// Every setting, in the order of the table in `docs/tcp.md`.
pub static TCP_SETTINGS: [TcpSetting; 38] = [
    quantity!("mss", mss, (LEAST_MSS..=u16::MAX), "bytes of data and options, 88 to 65535"),
    buffer!("send-buffer", send_buffer),
    buffer!("receive-buffer", receive_buffer),
    buffer!("memory", memory),
    switch!("timestamps", timestamps),
    choice!("paws", paws, "before, after or off", PAWS),
    switch!("window-scale", window_scale),
    switch!("sack", sack),
    switch!("ecn", ecn),
    switch!("header-prediction", prediction),
    switch!("template", template),
    TcpSetting {
        name: "delayed-ack",
        legal: "off, every[:SEGMENTS[:DELAY[:TICK]]], time[:INTERVAL] or traffic[:MOST[:DELAY]], \
                such as every:2:200ms, time:500ms, traffic:16",
        set: |config, value| {
            config.acks = ack_policy(value)?;
            Some(())
        },
        text: |config| ack_text(config.acks),
    },
    switch!("nagle", nagle),
    quantity!("initial-rto", timeout.initial, SPANS, "a time of up to 1h, such as 1s"),
    quantity!("min-rto", timeout.minimum, SPANS, "a time of up to 1h, such as 200ms"),
    quantity!("max-rto", timeout.maximum, SPANS, "a time of up to 1h, such as 60s"),
    quantity!("tick", timeout.tick, DELAYS, "a time such as 500ms, or 0 for an exact clock"),
    switch!("rto-in-ticks", timeout.in_ticks),
    choice!("congestion", congestion_control, "cubic, reno or net3-reno", CONGESTION_CONTROLS),
    switch!("byte-counting", byte_counting),
    quantity!("initial-window", initial_window, (1..=1000), "segments, 1 to 1000"),
    choice!("loss-recovery", loss_recovery, "new-reno, net3 or sack", RECOVERIES),
    switch!("limited-transmit", limited_transmit),
    switch!("fast-retransmit", fast_retransmit),
    switch!("fast-open", fast_open),
    TcpSetting {
        name: "burst",
        legal: "off, or segments, 1 to 65535",
        set: |config, value| {
            config.burst = match value {
                "off" => None,
                number => Some(number.parse().ok().filter(|it| *it > 0)?),
            };
            Some(())
        },
        text: |config| config.burst.map_or_else(|| "off".into(), |burst| burst.to_string()),
    },
    TcpSetting {
        name: "keepalive",
        legal: "off, on, or IDLE[:INTERVAL[:PROBES]] such as 10s:1s:5",
        set: |config, value| {
            config.keepalive = match value {
                "off" => None,
                "on" => Some(Keepalive::default()),
                parts => Some(keepalive(parts)?),
            };
            Some(())
        },
        text: |config| {
            config.keepalive.map_or_else(
                || "off".into(),
                |it| format!("{}:{}:{}", it.idle, it.interval, it.probes),
            )
        },
    },
    quantity!("retries", retries, (0..=u8::MAX), "how many timeouts, 0 to 255"),
    quantity!("syn-retries", syn_retries, (0..=u8::MAX), "how many timeouts, 0 to 255"),
    quantity!("time-wait", time_wait, DELAYS, "a time of up to 1h, such as 60s"),
    quantity!("fin-wait", fin_wait, DELAYS, "a time of up to 1h, such as 60s"),
    TcpSetting {
        name: "corruption",
        legal: "off, or both options on: draft-safe, paper or extended",
        set: |config, value| {
            let mode = match value {
                "off" => NotificationMode::default(),
                mode => word(mode, &MODES)?,
            };
            let on = value != "off";
            config.corruption = Corruption { detect: on, notify: on, mode, ..config.corruption };
            Some(())
        },
        text: |config| {
            let Corruption { detect, notify, mode, .. } = config.corruption;
            let is_off = !detect && !notify && mode == NotificationMode::default();
            if is_off { "off".into() } else { name_of(&mode, &MODES) }
        },
    },
    switch!("detect", corruption.detect),
    switch!("notify", corruption.notify),
    choice!("packing", corruption.packing, "packed or aligned", PACKINGS),
    TcpSetting {
        name: "kinds",
        legal: "the kinds of CDO and CNO such as 27:28, experimental, or \
                experimental:KIND:CDO:CNO with identifiers such as experimental:253:52492:50188",
        set: |config, value| {
            config.corruption.kinds = kinds(value)?;
            Some(())
        },
        text: |config| kinds_text(config.corruption.kinds),
    },
    choice!("reaction", corruption.reaction, "ignore, as-mark or as-loss", REACTIONS),
    switch!("data-check", data_check),
];

/// The value that a word stands for.
fn word<T: Copy>(text: &str, words: &[(&str, T)]) -> Option<T> {
    words.iter().find(|(name, _)| *name == text).map(|(_, value)| *value)
}

/// The word that stands for a value; every value has one.
fn name_of<T: PartialEq>(value: &T, words: &[(&'static str, T)]) -> String {
    words.iter().find(|(_, it)| it == value).map_or("", |(name, _)| name).to_owned()
}

/// The next part of a value, `silent` if there is none; `None` if it makes no sense.
fn part<'a, T: FromStr>(parts: &mut impl Iterator<Item = &'a str>, silent: T) -> Option<T> {
    parts.next().map_or(Some(silent), |text| text.parse().ok())
}

/// Values with colons between them.
fn joined(parts: &[&dyn Display]) -> String {
    parts.iter().map(ToString::to_string).collect::<Vec<_>>().join(":")
}

fn ack_policy(text: &str) -> Option<AckPolicy> {
    let (name, rest) = text.split_once(':').map_or((text, None), |(name, rest)| (name, Some(rest)));
    let mut parts = rest.into_iter().flat_map(|rest| rest.split(':'));
    let (short, long) = (Duration::from_millis(40), Duration::from_millis(500));
    let policy = match name {
        "off" => AckPolicy::EverySegments { segments: 1, delay: short, tick: Duration::ZERO },
        "every" => AckPolicy::EverySegments {
            segments: part(&mut parts, 2).filter(|it| *it > 0)?,
            delay: part(&mut parts, short)?,
            tick: part(&mut parts, Duration::ZERO)?,
        },
        "time" => AckPolicy::TimeOnly { interval: part(&mut parts, long)? },
        "traffic" => AckPolicy::ByTraffic {
            most: part(&mut parts, 16).filter(|it| *it > 0)?,
            delay: part(&mut parts, short)?,
        },
        _ => return None,
    };
    parts.next().is_none().then_some(policy)
}

fn ack_text(policy: AckPolicy) -> String {
    match policy {
        AckPolicy::EverySegments { segments, delay, tick } => {
            joined(&[&"every", &segments, &delay, &tick])
        }
        AckPolicy::TimeOnly { interval } => joined(&[&"time", &interval]),
        AckPolicy::ByTraffic { most, delay } => joined(&[&"traffic", &most, &delay]),
    }
}

fn keepalive(text: &str) -> Option<Keepalive> {
    let mut parts = text.split(':');
    let silent = Keepalive::default();
    let keepalive = Keepalive {
        idle: part(&mut parts, silent.idle).filter(|it| *it > Duration::ZERO)?,
        interval: part(&mut parts, silent.interval).filter(|it| *it > Duration::ZERO)?,
        probes: part(&mut parts, silent.probes)?,
    };
    parts.next().is_none().then_some(keepalive)
}

fn kinds(text: &str) -> Option<CorruptionKinds> {
    let parts: Vec<&str> = text.split(':').collect();
    match parts[..] {
        ["experimental"] => Some(CorruptionKinds::EXPERIMENTAL),
        ["experimental", kind, detection, notification] => Some(CorruptionKinds::Experimental {
            kind: kind.parse().ok().filter(|it| matches!(it, 253 | 254))?,
            detection: detection.parse().ok()?,
            notification: notification.parse().ok().filter(|_| detection != notification)?,
        }),
        [detection, notification] => {
            // 0 and 1 end and pad the options, 2 to 5 and 8 are those of the engine itself.
            let kind = |text: &str| text.parse().ok().filter(|it| !matches!(it, 0..=5 | 8));
            let (detection, notification) = (kind(detection)?, kind(notification)?);
            let differ = detection != notification;
            differ.then_some(CorruptionKinds::Assigned { detection, notification })
        }
        _ => None,
    }
}

fn kinds_text(kinds: CorruptionKinds) -> String {
    match kinds {
        CorruptionKinds::Assigned { detection, notification } => {
            joined(&[&detection, &notification])
        }
        CorruptionKinds::Experimental { kind, detection, notification } => {
            joined(&[&"experimental", &kind, &detection, &notification])
        }
    }
}
