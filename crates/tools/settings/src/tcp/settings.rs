//! The table of settings: name, what it takes, how it is set and read.

use core::any::Any;
use std::borrow::Cow;

use windfall_base::{ByteCount, Duration};
use windfall_tcp::{CongestionControl, Corruption, Keepalive, NotificationMode, TcpConfig};

use super::buffer::{buffer_size, buffer_text, size};
use super::congestion;
use super::kernel::{self, InLinux, InLinux::Cannot, InLinux::Told, KernelWay};
use super::parts::{ack_policy, ack_text, keepalive, kinds, kinds_text};
use super::{LEAST_MSS, TcpSettingsError};
use crate::value::{Choice, Value as _, alternatives, switch_of};

/// One setting of a TCP.
#[derive(Debug)]
pub struct TcpSetting {
    /// The name before `=`.
    pub name: &'static str,
    /// The purpose of the setting, in one line.
    pub help: &'static str,
    source: fn() -> &'static str,
    legal: fn() -> Cow<'static, str>,
    /// The field by which the row is found.
    field: fn(&TcpConfig) -> &dyn Any,
    set: fn(&mut TcpConfig, &str) -> Option<()>,
    text: fn(&TcpConfig) -> String,
    in_linux: InLinux,
}

impl TcpSetting {
    /// Returns the row of a field, such as `|it| &it.mss`; that of `corruption` has its mode.
    ///
    /// # Panics
    /// If the field is none that a row describes.
    #[must_use]
    pub fn row<F>(field: fn(&TcpConfig) -> &F) -> &'static Self {
        let config = TcpConfig::default();
        let place = core::ptr::from_ref(field(&config)).cast::<()>();
        let is_own = |row: &&Self| core::ptr::from_ref((row.field)(&config)).cast::<()>() == place;
        TCP_SETTINGS.iter().find(is_own).expect("a field that a row describes")
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

    /// Sets the setting.
    ///
    /// # Errors
    /// If it takes no such value; says which it takes.
    pub(super) fn try_set(
        &self,
        config: &mut TcpConfig,
        value: &str,
    ) -> Result<(), TcpSettingsError> {
        if self.set(config, value) {
            return Ok(());
        }
        let value = value.to_owned();
        Err(TcpSettingsError::Value { name: self.name, value, legal: self.legal() })
    }

    /// Returns the way in which a kernel is told of a value of the setting.
    ///
    /// # Errors
    /// If it takes no such value; says which it takes.
    pub fn kernel_way(&self, value: &str) -> Result<KernelWay, TcpSettingsError> {
        let mut config = TcpConfig::default();
        self.try_set(&mut config, value)?;
        Ok(match self.in_linux {
            Told(way) => way(&config),
            Cannot(reason) => KernelWay::Cannot(reason),
        })
    }

    /// Returns the requirement or the standard that asks for it; empty if none does.
    #[must_use]
    pub fn source(&self) -> &'static str {
        (self.source)()
    }

    /// Returns the values that may stand behind `=`, as an error message says it.
    #[must_use]
    pub fn legal(&self) -> Cow<'static, str> {
        (self.legal)()
    }

    /// The text of the setting's value, which sets it to the same again.
    #[must_use]
    pub fn text_of(&self, config: &TcpConfig) -> String {
        (self.text)(config)
    }
}

/// Two rows are the same if they have one name.
impl PartialEq for TcpSetting {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for TcpSetting {}

/// A setting whose value is on or off.
macro_rules! switch {
    ($name:literal, $about:expr, $($field:ident).+, $in_linux:expr) => {
        TcpSetting {
            name: $name,
            help: $about.0,
            source: || $about.1,
            legal: || "on or off".into(),
            field: |config| &config.$($field).+,
            set: |config, value| {
                config.$($field).+ = switch_of(value)?;
                Some(())
            },
            text: |config| config.$($field).+.text(),
            in_linux: $in_linux,
        }
    };
}

/// A setting whose value is one of the words of its type.
macro_rules! choice {
    ($name:literal, $about:expr, $($field:ident).+, $in_linux:expr) => {
        TcpSetting {
            name: $name,
            help: $about.0,
            source: || $about.1,
            legal: || choices_of(|config| &config.$($field).+).into(),
            field: |config| &config.$($field).+,
            set: |config, value| {
                config.$($field).+ = chosen(value)?;
                Some(())
            },
            text: |config| config.$($field).+.text(),
            in_linux: $in_linux,
        }
    };
}

/// A setting whose value is a number or a time in a range.
macro_rules! quantity {
    (
        $name:literal, $about:expr, $($field:ident).+, $range:expr, $legal:literal, $in_linux:expr
    ) => {
        TcpSetting {
            name: $name,
            help: $about.0,
            source: || $about.1,
            legal: || $legal.into(),
            field: |config| &config.$($field).+,
            set: |config, value| {
                config.$($field).+ = value.parse().ok().filter(|it| $range.contains(it))?;
                Some(())
            },
            text: |config| config.$($field).+.to_string(),
            in_linux: $in_linux,
        }
    };
}

/// A setting whose value is a size of a buffer that may grow.
macro_rules! buffer {
    ($name:literal, $about:expr, $field:ident, $in_linux:expr) => {
        TcpSetting {
            name: $name,
            help: $about.0,
            source: || $about.1,
            legal: || {
                "a size of 1kB to 1GB, such as 64KiB, or first and greatest size of a buffer \
                    that grows by itself, such as 1MiB:16MiB"
                    .into()
            },
            field: |config| &config.$field,
            set: |config, value| {
                config.$field = buffer_size(value)?;
                Some(())
            },
            text: |config| buffer_text(config.$field),
            in_linux: $in_linux,
        }
    };
}

/// From one nanosecond to an hour: what timers may wait.
const SPANS: core::ops::RangeInclusive<Duration> =
    Duration::from_nanos(1)..=Duration::from_secs(3600);
/// From zero to an hour: what delays may last.
const DELAYS: core::ops::RangeInclusive<Duration> = Duration::ZERO..=Duration::from_secs(3600);

/// Every setting, in the order of the table in `docs/reference/tcp-engine.md`.
pub static TCP_SETTINGS: &[TcpSetting] = &[
    quantity!(
        "mss",
        ("Greatest segment that is offered and sent", "RFC 9293, section 3.7.1; S2.12"),
        mss,
        (LEAST_MSS..=u16::MAX),
        "bytes of data and options, 88 to 65535",
        Told(kernel::mss)
    ),
    buffer!(
        "send-buffer",
        ("Bytes that are kept until they are acknowledged", "RFC 9293, section 3.9.1.2"),
        send_buffer,
        Cannot(kernel::COUNTS_MEMORY)
    ),
    buffer!(
        "receive-buffer",
        (
            "Bytes that are kept until they are read; the rest of it is the window",
            "RFC 9293, section 3.8.6"
        ),
        receive_buffer,
        Told(kernel::receive_buffer)
    ),
    TcpSetting {
        name: "memory",
        help: "Bytes that all connections of an endpoint may hold together",
        source: || "RFC 6429",
        legal: || "a size of 1kB to 1GB, such as 64KiB".into(),
        field: |config| &config.memory,
        set: |config, value| {
            config.memory = size(value)?;
            Some(())
        },
        text: |config| ByteCount(config.memory as u64).to_string(),
        in_linux: Cannot(kernel::ONE_LIMIT),
    },
    switch!(
        "timestamps",
        ("Offer and use the timestamps option", "RFC 7323; S2.2"),
        timestamps,
        Told(kernel::timestamps)
    ),
    choice!(
        "paws",
        (
            "Check for old duplicates before header prediction, after it, or not",
            "RFC 7323, section 5; S2.3, S2.8"
        ),
        paws,
        Cannot(kernel::NOTHING)
    ),
    switch!(
        "window-scale",
        ("Offer and use windows above 65535 bytes", "RFC 7323, section 2; S2.4"),
        window_scale,
        Told(kernel::window_scale)
    ),
    switch!(
        "sack",
        ("Offer and use selective acknowledgments, with D-SACK", "RFC 2018, 2883, 6675; S2.5"),
        sack,
        Told(kernel::sack)
    ),
    switch!(
        "ecn",
        ("Offer and use explicit congestion notification", "RFC 3168"),
        ecn,
        Told(kernel::ecn)
    ),
    switch!(
        "accurate-ecn",
        ("The same, and report each packet that was marked; falls back to ecn", "RFC 9768"),
        accurate_ecn,
        Cannot(kernel::RARE)
    ),
    switch!(
        "header-prediction",
        ("Process expected segments on a fast path, without the general checks", "S2.6"),
        prediction,
        Cannot(kernel::NOTHING)
    ),
    switch!(
        "template",
        ("Send by a header that was prepared", "S2.7"),
        template,
        Cannot(kernel::NOTHING)
    ),
    TcpSetting {
        name: "delayed-ack",
        help: "Time of acknowledgments: by segments, by time alone, or fewer the more traffic",
        source: || "RFC 9293, section 3.8.6.3; S2.10, S2.47",
        legal: || {
            "off, every[:SEGMENTS[:DELAY[:TICK]]], time[:INTERVAL] or traffic[:MOST[:DELAY]], \
                such as every:2:200ms, time:500ms, traffic:16"
                .into()
        },
        field: |config| &config.acks,
        set: |config, value| {
            config.acks = ack_policy(value)?;
            Some(())
        },
        text: |config| ack_text(config.acks),
        in_linux: Told(kernel::delayed_ack),
    },
    switch!(
        "ack-pushes",
        ("Acknowledge the last segment that a sender had (PSH) at once, as NetBSD 1.2", "S3.2"),
        ack_pushes,
        Cannot(kernel::NOTHING)
    ),
    switch!(
        "nagle",
        ("Hold a short segment back while data are unacknowledged", "RFC 9293, section 3.7.4"),
        nagle,
        Cannot(kernel::BY_TCP_NODELAY)
    ),
    quantity!(
        "initial-rto",
        (
            "Retransmission timeout before the first measurement of the round trip",
            "RFC 6298, section 2.1"
        ),
        timeout.initial,
        SPANS,
        "a time of up to 1h, such as 1s",
        Cannot(kernel::NOTHING)
    ),
    quantity!(
        "min-rto",
        ("Least retransmission timeout", "RFC 6298, section 2.4; S3.15"),
        timeout.minimum,
        SPANS,
        "a time of up to 1h, such as 200ms",
        Told(kernel::min_rto)
    ),
    quantity!(
        "max-rto",
        ("Greatest retransmission timeout", "RFC 6298, section 2.5"),
        timeout.maximum,
        SPANS,
        "a time of up to 1h, such as 60s",
        Cannot(kernel::NOTHING)
    ),
    quantity!(
        "tick",
        ("Interval of the clock that timers run by", "S3.15"),
        timeout.tick,
        DELAYS,
        "a time such as 500ms, or 0 for an exact clock",
        Cannot(kernel::NOTHING)
    ),
    choice!(
        "rto-in-ticks",
        ("Estimate the round trip in ticks, as 4.4BSD's Net/3 or NetBSD 1.2 did", "S3.15"),
        timeout.in_ticks,
        Cannot(kernel::NOTHING)
    ),
    TcpSetting {
        name: "congestion",
        help: "Congestion control",
        source: congestion::sources,
        legal: || alternatives(CongestionControl::BUILT_IN.iter().map(|it| it.name())).into(),
        field: |config| &config.congestion_control,
        set: |config, value| {
            config.congestion_control = CongestionControl::built_in(value)?;
            Some(())
        },
        text: |config| config.congestion_control.name().to_owned(),
        in_linux: Told(kernel::congestion),
    },
    switch!(
        "hystart",
        (
            "Leave the first slow start of CUBIC or Reno when round trips grow (HyStart++)",
            "RFC 9406"
        ),
        hystart,
        Cannot(kernel::NOTHING)
    ),
    switch!(
        "byte-counting",
        ("Open Reno's window by bytes; CUBIC always does, net3-reno never", "RFC 3465; S2.47"),
        byte_counting,
        Cannot(kernel::NOTHING)
    ),
    quantity!(
        "initial-window",
        ("Congestion window of a new connection", "RFC 6928"),
        initial_window,
        (1..=1000),
        "segments, 1 to 1000",
        Told(kernel::initial_window)
    ),
    choice!(
        "loss-recovery",
        ("Recovery from losses where SACK is not negotiated", "RFC 6582, 2001"),
        loss_recovery,
        Cannot(kernel::NOTHING)
    ),
    switch!(
        "rack",
        (
            "Notice losses by time and probe the tail (RACK-TLP), where SACK is negotiated",
            "RFC 8985"
        ),
        rack,
        Told(kernel::rack)
    ),
    switch!(
        "prr",
        (
            "Reduce in proportion to what arrives during recovery, where SACK is negotiated",
            "RFC 9937"
        ),
        prr,
        Cannot(kernel::NOTHING)
    ),
    switch!(
        "f-rto",
        ("Take a timeout back that proves spurious", "RFC 5682"),
        f_rto,
        Told(kernel::f_rto)
    ),
    switch!(
        "limited-transmit",
        ("Send new data on the first two duplicate acknowledgments", "RFC 3042"),
        limited_transmit,
        Cannot(kernel::NOTHING)
    ),
    switch!(
        "fast-retransmit",
        (
            "Retransmit on three duplicate acknowledgments; off over links that reorder",
            "RFC 5681, section 3.2; S2.46"
        ),
        fast_retransmit,
        Cannot(kernel::NOTHING)
    ),
    switch!(
        "fast-open",
        ("Carry data on the SYN with a cookie", "RFC 7413; S2.17"),
        fast_open,
        Told(kernel::fast_open)
    ),
    switch!(
        "pacing",
        (
            "Send at the pace of the congestion window instead of in bursts; bbr always does",
            "RFC 9002, section 7.7"
        ),
        pacing,
        Cannot(kernel::BY_SO_MAX_PACING_RATE)
    ),
    TcpSetting {
        name: "burst",
        help: "Greatest number of segments that leave in a row",
        source: || "S2.47",
        legal: || "off, or segments, 1 to 65535".into(),
        field: |config| &config.burst,
        set: |config, value| {
            config.burst = match value {
                "off" => None,
                number => Some(number.parse().ok().filter(|it| *it > 0)?),
            };
            Some(())
        },
        text: |config| config.burst.map_or_else(|| "off".into(), |burst| burst.to_string()),
        in_linux: Cannot(kernel::NOTHING),
    },
    TcpSetting {
        name: "keepalive",
        help: "Probe a silent peer; on is after two hours, then 9 times every 75 s",
        source: || "RFC 9293, section 3.8.4",
        legal: || "off, on, or IDLE[:INTERVAL[:PROBES]] such as 10s:1s:5, times from 1ms on".into(),
        field: |config| &config.keepalive,
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
        in_linux: Cannot(kernel::BY_SO_KEEPALIVE),
    },
    quantity!(
        "retries",
        (
            "Timeouts of a segment in a row until the connection is given up",
            "RFC 9293, section 3.8.3"
        ),
        retries,
        (0..=u8::MAX),
        "a number of timeouts, 0 to 255",
        Told(kernel::retries)
    ),
    quantity!(
        "syn-retries",
        ("Timeouts of a SYN until the attempt is given up", "RFC 9293, section 3.8.3"),
        syn_retries,
        (0..=u8::MAX),
        "a number of timeouts, 0 to 255",
        Told(kernel::syn_retries)
    ),
    quantity!(
        "time-wait",
        ("Time for which a closed connection is remembered", "RFC 9293, section 3.6"),
        time_wait,
        DELAYS,
        "a time of up to 1h, such as 60s",
        Cannot(kernel::NOTHING)
    ),
    quantity!(
        "fin-wait",
        ("Time for which the end of a peer is awaited after the close", "RFC 9293, section 3.6"),
        fin_wait,
        DELAYS,
        "a time of up to 1h, such as 60s",
        Cannot(kernel::NOTHING)
    ),
    TcpSetting {
        name: "corruption",
        help: "Notification of corruption, and the segments that it names",
        source: || "S4.1 to S4.12",
        legal: || "off, or both options on: draft-safe, paper or extended".into(),
        field: |config| &config.corruption.mode,
        set: |config, value| {
            let mode = match value {
                "off" => NotificationMode::default(),
                mode => chosen(mode)?,
            };
            let on = value != "off";
            config.corruption = Corruption { detect: on, notify: on, mode, ..config.corruption };
            Some(())
        },
        text: |config| {
            let Corruption { detect, notify, mode, .. } = config.corruption;
            let is_off = !detect && !notify && mode == NotificationMode::default();
            if is_off { "off".into() } else { mode.text() }
        },
        in_linux: Cannot(kernel::NOT_STANDARDISED),
    },
    switch!(
        "detect",
        ("Offer the corruption detection option alone", "S4.1, S4.7"),
        corruption.detect,
        Cannot(kernel::NOT_STANDARDISED)
    ),
    switch!(
        "notify",
        ("Offer the corruption notification option alone", "S4.3, S4.8"),
        corruption.notify,
        Cannot(kernel::NOT_STANDARDISED)
    ),
    switch!(
        "link-losses",
        ("Notify of segments, too, that the link counts as lost without a trace", "S4.27"),
        corruption.link_losses,
        Cannot(kernel::NOT_STANDARDISED)
    ),
    choice!(
        "packing",
        ("Layout of the corruption options", "S4.2"),
        corruption.packing,
        Cannot(kernel::NOT_STANDARDISED)
    ),
    TcpSetting {
        name: "kinds",
        help: "Option kinds of the corruption options",
        source: || "S4.1, S4.3; RFC 6994",
        legal: || {
            "the kinds of CDO and CNO such as 27:28, experimental, or \
                experimental:KIND:CDO:CNO with identifiers such as experimental:253:52492:50188"
                .into()
        },
        field: |config| &config.corruption.kinds,
        set: |config, value| {
            config.corruption.kinds = kinds(value)?;
            Some(())
        },
        text: |config| kinds_text(config.corruption.kinds),
        in_linux: Cannot(kernel::NOT_STANDARDISED),
    },
    choice!(
        "reaction",
        ("Reaction of the congestion window to a notification", "S4.5"),
        corruption.reaction,
        Cannot(kernel::NOT_STANDARDISED)
    ),
    switch!(
        "data-check",
        ("Add a CRC-32C over the data of each segment, if both ends want it", "RFC 9260, 6994"),
        data_check,
        Cannot(kernel::NOT_STANDARDISED)
    ),
    choice!(
        "manner",
        (
            "Do what the standards leave to systems as they recommend, or as a system does it",
            "RFC 9293, section 3.8.6"
        ),
        manner,
        Told(kernel::manner)
    ),
];

/// The value of a type that a word chooses.
fn chosen<T: Choice>(text: &str) -> Option<T> {
    T::CHOICES.iter().find(|(word, ..)| *word == text).map(|(_, value, _)| *value)
}

/// The words of the type of a field, as an error message lists them.
fn choices_of<T: Choice>(_field: fn(&TcpConfig) -> &T) -> String {
    alternatives(T::CHOICES.iter().map(|(word, ..)| *word))
}
