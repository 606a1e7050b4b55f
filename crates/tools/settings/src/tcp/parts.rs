//! The values that have several parts, with colons between them.

use core::fmt::Display;
use core::str::FromStr;

use windfall_base::Duration;
use windfall_tcp::{AckPolicy, Keepalive};
use windfall_wire_net::tcp::CorruptionKinds;

/// The next part of a value, `silent` if there is none; `None` if it makes no sense.
fn part<'a, T: FromStr>(parts: &mut impl Iterator<Item = &'a str>, silent: T) -> Option<T> {
    parts.next().map_or(Some(silent), |text| text.parse().ok())
}

/// Values with colons between them.
fn joined(parts: &[&dyn Display]) -> String {
    parts.iter().map(ToString::to_string).collect::<Vec<_>>().join(":")
}

pub(super) fn ack_policy(text: &str) -> Option<AckPolicy> {
    let (name, rest) = text.split_once(':').map_or((text, None), |(name, rest)| (name, Some(rest)));
    let mut parts = rest.into_iter().flat_map(|rest| rest.split(':'));
    let short = Duration::from_millis(40);
    let long = Duration::from_millis(500);
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

pub(super) fn ack_text(policy: AckPolicy) -> String {
    match policy {
        AckPolicy::EverySegments { segments, delay, tick } => {
            joined(&[&"every", &segments, &delay, &tick])
        }
        AckPolicy::TimeOnly { interval } => joined(&[&"time", &interval]),
        AckPolicy::ByTraffic { most, delay } => joined(&[&"traffic", &most, &delay]),
    }
}

/// The shortest silence before a probe: shorter ones would only flood the path.
const SHORTEST: Duration = Duration::from_millis(1);

pub(super) fn keepalive(text: &str) -> Option<Keepalive> {
    let mut parts = text.split(':');
    let silent = Keepalive::default();
    let keepalive = Keepalive {
        idle: part(&mut parts, silent.idle).filter(|it| *it >= SHORTEST)?,
        interval: part(&mut parts, silent.interval).filter(|it| *it >= SHORTEST)?,
        probes: part(&mut parts, silent.probes)?,
    };
    parts.next().is_none().then_some(keepalive)
}

pub(super) fn kinds(text: &str) -> Option<CorruptionKinds> {
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
            let detection = kind(detection)?;
            let notification = kind(notification)?;
            let differ = detection != notification;
            differ.then_some(CorruptionKinds::Assigned { detection, notification })
        }
        _ => None,
    }
}

pub(super) fn kinds_text(kinds: CorruptionKinds) -> String {
    match kinds {
        CorruptionKinds::Assigned { detection, notification } => {
            joined(&[&detection, &notification])
        }
        CorruptionKinds::Experimental { kind, detection, notification } => {
            joined(&[&"experimental", &kind, &detection, &notification])
        }
    }
}
