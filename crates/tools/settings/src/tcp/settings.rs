//! The table of settings: name, what it takes, how it is set and read.

use core::fmt::Display;
use core::str::FromStr;

use windfall_base::{ByteCount, Duration};
use windfall_tcp::{
    AckPolicy, CongestionControl, Corruption, Keepalive, NotificationMode, TcpConfig,
};
use windfall_wire_net::tcp::CorruptionKinds;

use super::LEAST_MSS;
use super::buffer::{buffer_size, buffer_text, size};
use super::congestion;
use super::kernel::{self, InLinux, KernelWay};
use super::words::{ESTIMATIONS, MANNERS, MODES, PACKINGS, PAWS, REACTIONS, RECOVERIES, SWITCH};

/// One setting of a TCP.
#[derive(Debug)]
pub struct TcpSetting {
    /// The name before `=`.
    pub name: &'static str,
    /// The purpose of the setting, in one line.
    pub help: &'static str,
    source: fn() -> &'static str,
    legal: fn() -> &'static str,
    set: fn(&mut TcpConfig, &str) -> Option<()>,
    text: fn(&TcpConfig) -> String,
    pub(super) in_linux: InLinux,
}

impl TcpSetting {
    /// Adds the way in which a kernel is told of it.
    const fn in_linux(self, way: fn(&TcpConfig) -> KernelWay) -> Self {
        Self { in_linux: InLinux::Told(way), ..self }
    }

    /// Adds the reason why no kernel is told of it.
    const fn not_in_linux(self, reason: &'static str) -> Self {
        Self { in_linux: InLinux::Cannot(reason), ..self }
    }

    /// Sets the setting; `false` if it takes no such value.
    pub(super) fn set(&self, config: &mut TcpConfig, value: &str) -> bool {
        let mut changed = config.clone();
        let done = (self.set)(&mut changed, value).is_some();
        if done {
            *config = changed;
        }
        done
    }

    /// Returns the requirement or the standard that asks for it; empty if none does.
    #[must_use]
    pub fn source(&self) -> &'static str {
        (self.source)()
    }

    /// Returns the values that may stand behind `=`, as an error message says it.
    #[must_use]
    pub fn legal(&self) -> &'static str {
        (self.legal)()
    }

    /// The text of the setting's value, which sets it to the same again.
    #[must_use]
    pub fn text_of(&self, config: &TcpConfig) -> String {
        (self.text)(config)
    }
}

/// A setting whose value is on or off.
macro_rules! switch {
    ($name:literal, $about:expr, $($field:ident).+) => {
        TcpSetting {
            name: $name,
            help: $about.0,
            source: || $about.1,
            legal: || "on or off",
            set: |config, value| {
                config.$($field).+ = word(value, &SWITCH)?;
                Some(())
            },
            text: |config| name_of(&config.$($field).+, &SWITCH),
            in_linux: InLinux::NOTHING,
        }
    };
}

/// A setting whose value is one of some words.
macro_rules! choice {
    ($name:literal, $about:expr, $($field:ident).+, $legal:literal, $words:expr) => {
        TcpSetting {
            name: $name,
            help: $about.0,
            source: || $about.1,
            legal: || $legal,
            set: |config, value| {
                config.$($field).+ = word(value, &$words)?;
                Some(())
            },
            text: |config| name_of(&config.$($field).+, &$words),
            in_linux: InLinux::NOTHING,
        }
    };
}

/// A setting whose value is a number or a time in a range.
macro_rules! quantity {
    ($name:literal, $about:expr, $($field:ident).+, $range:expr, $legal:literal) => {
        TcpSetting {
            name: $name,
            help: $about.0,
            source: || $about.1,
            legal: || $legal,
            set: |config, value| {
                config.$($field).+ = value.parse().ok().filter(|it| $range.contains(it))?;
                Some(())
            },
            text: |config| config.$($field).+.to_string(),
            in_linux: InLinux::NOTHING,
        }
    };
}

/// A setting whose value is a size of a buffer that may grow.
macro_rules! buffer {
    ($name:literal, $about:expr, $field:ident) => {
        TcpSetting {
            name: $name,
            help: $about.0,
            source: || $about.1,
            legal: || {
                "a size of 1kB to 1GB, such as 64KiB, or first and greatest size of a buffer \
                    that grows by itself, such as 1MiB:16MiB"
            },
            set: |config, value| {
                config.$field = buffer_size(value)?;
                Some(())
            },
            text: |config| buffer_text(config.$field),
            in_linux: InLinux::NOTHING,
        }
    };
}

/// From one nanosecond to an hour: what timers may wait.
const SPANS: core::ops::RangeInclusive<Duration> =
    Duration::from_nanos(1)..=Duration::from_secs(3600);
/// From zero to an hour: what delays may last.
const DELAYS: core::ops::RangeInclusive<Duration> = Duration::ZERO..=Duration::from_secs(3600);

/// Every setting, in the order of the table in `docs/tcp.md`.
pub static TCP_SETTINGS: [TcpSetting; 47] = [
    quantity!(
        "mss",
        ("Greatest segment that is offered and sent", "RFC 9293, section 3.7.1; S2.12"),
        mss,
        (LEAST_MSS..=u16::MAX),
        "bytes of data and options, 88 to 65535"
    )
    .in_linux(kernel::mss),
    buffer!(
        "send-buffer",
        ("Bytes that are kept until they are acknowledged", "RFC 9293, section 3.9.1.2"),
        send_buffer
    )
    .not_in_linux(kernel::COUNTS_MEMORY),
    buffer!(
        "receive-buffer",
        (
            "Bytes that are kept until they are read; the rest of it is the window",
            "RFC 9293, section 3.8.6"
        ),
        receive_buffer
    )
    .in_linux(kernel::receive_buffer),
    TcpSetting {
        name: "memory",
        help: "Bytes that all connections of an endpoint may hold together",
        source: || "RFC 6429",
        legal: || "a size of 1kB to 1GB, such as 64KiB",
        set: |config, value| {
            config.memory = size(value)?;
            Some(())
        },
        text: |config| ByteCount(config.memory as u64).to_string(),
        in_linux: InLinux::Cannot(kernel::ONE_LIMIT),
    },
    switch!("timestamps", ("Offer and use the timestamps option", "RFC 7323; S2.2"), timestamps)
        .in_linux(kernel::timestamps),
    choice!(
        "paws",
        (
            "Check for old duplicates before header prediction, after it, or not",
            "RFC 7323, section 5; S2.3, S2.8"
        ),
        paws,
        "before, after or off",
        PAWS
    ),
    switch!(
        "window-scale",
        ("Offer and use windows above 65535 bytes", "RFC 7323, section 2; S2.4"),
        window_scale
    )
    .in_linux(kernel::window_scale),
    switch!(
        "sack",
        ("Offer and use selective acknowledgments, with D-SACK", "RFC 2018, 2883, 6675; S2.5"),
        sack
    )
    .in_linux(kernel::sack),
    switch!("ecn", ("Offer and use explicit congestion notification", "RFC 3168"), ecn)
        .in_linux(kernel::ecn),
    switch!(
        "accurate-ecn",
        ("The same, and report each packet that was marked; falls back to ecn", "RFC 9768"),
        accurate_ecn
    )
    .not_in_linux(kernel::RARE),
    switch!(
        "header-prediction",
        ("Process expected segments on a fast path, without the general checks", "S2.6"),
        prediction
    ),
    switch!("template", ("Send by a header that was prepared", "S2.7"), template),
    TcpSetting {
        name: "delayed-ack",
        help: "Time of acknowledgments: by segments, by time alone, or fewer the more traffic",
        source: || "RFC 9293, section 3.8.6.3; S2.10, S2.47",
        legal: || {
            "off, every[:SEGMENTS[:DELAY[:TICK]]], time[:INTERVAL] or traffic[:MOST[:DELAY]], \
                such as every:2:200ms, time:500ms, traffic:16"
        },
        set: |config, value| {
            config.acks = ack_policy(value)?;
            Some(())
        },
        text: |config| ack_text(config.acks),
        in_linux: InLinux::Told(kernel::delayed_ack),
    },
    switch!(
        "ack-pushes",
        ("Acknowledge the last segment that a sender had (PSH) at once, as NetBSD 1.2", "S3.2"),
        ack_pushes
    ),
    switch!(
        "nagle",
        ("Hold a short segment back while data are unacknowledged", "RFC 9293, section 3.7.4"),
        nagle
    )
    .not_in_linux(kernel::BY_TCP_NODELAY),
    quantity!(
        "initial-rto",
        (
            "Retransmission timeout before the first measurement of the round trip",
            "RFC 6298, section 2.1"
        ),
        timeout.initial,
        SPANS,
        "a time of up to 1h, such as 1s"
    ),
    quantity!(
        "min-rto",
        ("Least retransmission timeout", "RFC 6298, section 2.4; S3.15"),
        timeout.minimum,
        SPANS,
        "a time of up to 1h, such as 200ms"
    )
    .in_linux(kernel::min_rto),
    quantity!(
        "max-rto",
        ("Greatest retransmission timeout", "RFC 6298, section 2.5"),
        timeout.maximum,
        SPANS,
        "a time of up to 1h, such as 60s"
    ),
    quantity!(
        "tick",
        ("Interval of the clock that timers run by", "S3.15"),
        timeout.tick,
        DELAYS,
        "a time such as 500ms, or 0 for an exact clock"
    ),
    choice!(
        "rto-in-ticks",
        ("Estimate the round trip in ticks, as 4.4BSD's Net/3 or NetBSD 1.2 did", "S3.15"),
        timeout.in_ticks,
        "off, net3 or netbsd",
        ESTIMATIONS
    ),
    TcpSetting {
        name: "congestion",
        help: "Congestion control",
        source: congestion::sources,
        legal: congestion::words,
        set: |config, value| {
            config.congestion_control = CongestionControl::built_in(value)?;
            Some(())
        },
        text: |config| config.congestion_control.name().to_owned(),
        in_linux: InLinux::Told(kernel::congestion),
    },
    switch!(
        "hystart",
        (
            "Leave the first slow start of CUBIC or Reno when round trips grow (HyStart++)",
            "RFC 9406"
        ),
        hystart
    ),
    switch!(
        "byte-counting",
        ("Open Reno's window by bytes; CUBIC always does, net3-reno never", "RFC 3465; S2.47"),
        byte_counting
    ),
    quantity!(
        "initial-window",
        ("Congestion window of a new connection", "RFC 6928"),
        initial_window,
        (1..=1000),
        "segments, 1 to 1000"
    )
    .in_linux(kernel::initial_window),
    choice!(
        "loss-recovery",
        ("Recovery from losses where SACK is not negotiated", "RFC 6582, 2001"),
        loss_recovery,
        "new-reno, net3 or sack",
        RECOVERIES
    ),
    switch!(
        "rack",
        (
            "Notice losses by time and probe the tail (RACK-TLP), where SACK is negotiated",
            "RFC 8985"
        ),
        rack
    )
    .in_linux(kernel::rack),
    switch!(
        "prr",
        (
            "Reduce in proportion to what arrives during recovery, where SACK is negotiated",
            "RFC 9937"
        ),
        prr
    ),
    switch!(
        "f-rto",
        ("Take a timeout back that proves spurious, where RACK is in use", "RFC 5682"),
        f_rto
    )
    .in_linux(kernel::f_rto),
    switch!(
        "limited-transmit",
        ("Send new data on the first two duplicate acknowledgments", "RFC 3042"),
        limited_transmit
    ),
    switch!(
        "fast-retransmit",
        (
            "Retransmit on three duplicate acknowledgments; off over links that reorder",
            "RFC 5681, section 3.2; S2.46"
        ),
        fast_retransmit
    ),
    switch!("fast-open", ("Carry data on the SYN with a cookie", "RFC 7413; S2.17"), fast_open)
        .in_linux(kernel::fast_open),
    switch!(
        "pacing",
        (
            "Send at the pace of the congestion window instead of in bursts; bbr always does",
            "RFC 9002, section 7.7"
        ),
        pacing
    )
    .not_in_linux(kernel::BY_SO_MAX_PACING_RATE),
    TcpSetting {
        name: "burst",
        help: "Greatest number of segments that leave in a row",
        source: || "S2.47",
        legal: || "off, or segments, 1 to 65535",
        set: |config, value| {
            config.burst = match value {
                "off" => None,
                number => Some(number.parse().ok().filter(|it| *it > 0)?),
            };
            Some(())
        },
        text: |config| config.burst.map_or_else(|| "off".into(), |burst| burst.to_string()),
        in_linux: InLinux::NOTHING,
    },
    TcpSetting {
        name: "keepalive",
        help: "Probe a silent peer; on is after two hours, then 9 times every 75 s",
        source: || "RFC 9293, section 3.8.4",
        legal: || "off, on, or IDLE[:INTERVAL[:PROBES]] such as 10s:1s:5, times from 1ms on",
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
        in_linux: InLinux::Cannot(kernel::BY_SO_KEEPALIVE),
    },
    quantity!(
        "retries",
        (
            "Timeouts of a segment in a row until the connection is given up",
            "RFC 9293, section 3.8.3"
        ),
        retries,
        (0..=u8::MAX),
        "a number of timeouts, 0 to 255"
    )
    .in_linux(kernel::retries),
    quantity!(
        "syn-retries",
        ("Timeouts of a SYN until the attempt is given up", "RFC 9293, section 3.8.3"),
        syn_retries,
        (0..=u8::MAX),
        "a number of timeouts, 0 to 255"
    )
    .in_linux(kernel::syn_retries),
    quantity!(
        "time-wait",
        ("Time for which a closed connection is remembered", "RFC 9293, section 3.6"),
        time_wait,
        DELAYS,
        "a time of up to 1h, such as 60s"
    ),
    quantity!(
        "fin-wait",
        ("Time for which the end of a peer is awaited after the close", "RFC 9293, section 3.6"),
        fin_wait,
        DELAYS,
        "a time of up to 1h, such as 60s"
    ),
    TcpSetting {
        name: "corruption",
        help: "Notification of corruption, and the segments that it names",
        source: || "S4.1 to S4.12",
        legal: || "off, or both options on: draft-safe, paper or extended",
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
        in_linux: InLinux::Cannot(kernel::NOT_STANDARDISED),
    },
    switch!(
        "detect",
        ("Offer the corruption detection option alone", "S4.1, S4.7"),
        corruption.detect
    )
    .not_in_linux(kernel::NOT_STANDARDISED),
    switch!(
        "notify",
        ("Offer the corruption notification option alone", "S4.3, S4.8"),
        corruption.notify
    )
    .not_in_linux(kernel::NOT_STANDARDISED),
    switch!(
        "link-losses",
        ("Notify of segments, too, that the link counts as lost without a trace", "S4.27"),
        corruption.link_losses
    )
    .not_in_linux(kernel::NOT_STANDARDISED),
    choice!(
        "packing",
        ("Layout of the corruption options", "S4.2"),
        corruption.packing,
        "packed or aligned",
        PACKINGS
    )
    .not_in_linux(kernel::NOT_STANDARDISED),
    TcpSetting {
        name: "kinds",
        help: "Option kinds of the corruption options",
        source: || "S4.1, S4.3; RFC 6994",
        legal: || {
            "the kinds of CDO and CNO such as 27:28, experimental, or \
                experimental:KIND:CDO:CNO with identifiers such as experimental:253:52492:50188"
        },
        set: |config, value| {
            config.corruption.kinds = kinds(value)?;
            Some(())
        },
        text: |config| kinds_text(config.corruption.kinds),
        in_linux: InLinux::Cannot(kernel::NOT_STANDARDISED),
    },
    choice!(
        "reaction",
        ("Reaction of the congestion window to a notification", "S4.5"),
        corruption.reaction,
        "ignore, as-mark or as-loss",
        REACTIONS
    )
    .not_in_linux(kernel::NOT_STANDARDISED),
    switch!(
        "data-check",
        ("Add a CRC-32C over the data of each segment, if both ends want it", "RFC 9260, 6994"),
        data_check
    )
    .not_in_linux(kernel::NOT_STANDARDISED),
    choice!(
        "manner",
        (
            "Do what the standards leave to systems as they recommend, or as a system does it",
            "RFC 9293, section 3.8.6"
        ),
        manner,
        "standard, linux or freebsd",
        MANNERS
    )
    .in_linux(kernel::manner),
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

fn ack_text(policy: AckPolicy) -> String {
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

fn keepalive(text: &str) -> Option<Keepalive> {
    let mut parts = text.split(':');
    let silent = Keepalive::default();
    let keepalive = Keepalive {
        idle: part(&mut parts, silent.idle).filter(|it| *it >= SHORTEST)?,
        interval: part(&mut parts, silent.interval).filter(|it| *it >= SHORTEST)?,
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
            let detection = kind(detection)?;
            let notification = kind(notification)?;
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
