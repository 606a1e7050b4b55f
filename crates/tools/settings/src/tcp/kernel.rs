//! The ways in which the TCP of a Linux kernel is told of a setting, and where it cannot be.

use windfall_base::Duration;
use windfall_ip::RouteMetric;
use windfall_tcp::{AckPolicy, Manner, TcpConfig};

/// The way in which a kernel is told of the value of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KernelWay {
    /// It does so without being told.
    AsItIs,
    /// By a metric of the routes.
    Route(RouteMetric),
    /// By a parameter of the network namespace: its name with dots, and its value.
    Parameter(&'static str, String),
    /// It has no such thing; the reason.
    Cannot(&'static str),
}

/// The column of the table that says how a kernel is told of a setting.
#[derive(Clone, Copy, Debug)]
pub(super) enum InLinux {
    /// In the way that this returns.
    Told(fn(&TcpConfig) -> KernelWay),
    /// It is not; the reason.
    Cannot(&'static str),
}

pub(super) const NOTHING: &str = "no metric of a route and no parameter of a namespace is about it";
pub(super) const BY_TCP_NODELAY: &str = "each program decides it for itself, by TCP_NODELAY";
pub(super) const BY_SO_KEEPALIVE: &str = "each program decides it for itself, by SO_KEEPALIVE";
pub(super) const BY_SO_MAX_PACING_RATE: &str =
    "each program decides it for itself, by SO_MAX_PACING_RATE";
pub(super) const COUNTS_MEMORY: &str =
    "the kernel counts the memory, not the data: choose net.ipv4.tcp_wmem by --sysctl";
pub(super) const ONE_LIMIT: &str = "the kernel has one limit for all namespaces, net.ipv4.tcp_mem";
pub(super) const RARE: &str =
    "few kernels have it: choose net.ipv4.tcp_ecn=3 by --sysctl where it is";
pub(super) const NOT_STANDARDISED: &str = "no kernel has it, as it is not standardised";

fn parameter(key: &'static str, value: impl Into<u64>) -> KernelWay {
    KernelWay::Parameter(key, value.into().to_string())
}

pub(super) fn mss(config: &TcpConfig) -> KernelWay {
    KernelWay::Route(RouteMetric::AdvMss(config.mss.into()))
}

pub(super) fn receive_buffer(config: &TcpConfig) -> KernelWay {
    match u32::try_from(config.receive_buffer.most) {
        Ok(bytes) => KernelWay::Route(RouteMetric::Window(bytes)),
        Err(_) => KernelWay::Cannot("the kernel's windows end below this"),
    }
}

pub(super) fn initial_window(config: &TcpConfig) -> KernelWay {
    KernelWay::Route(RouteMetric::InitCwnd(config.initial_window.into()))
}

pub(super) fn min_rto(config: &TcpConfig) -> KernelWay {
    match config.timeout.minimum {
        time if time >= Duration::from_millis(1) => {
            KernelWay::Route(RouteMetric::RtoMin(Duration::from_millis(time.as_millis())))
        }
        _ => KernelWay::Cannot("the kernel counts in milliseconds"),
    }
}

pub(super) fn congestion(config: &TcpConfig) -> KernelWay {
    match config.congestion_control.linux_name() {
        Ok(name) => KernelWay::Route(RouteMetric::Congestion(name)),
        Err(reason) => KernelWay::Cannot(reason),
    }
}

pub(super) fn sack(config: &TcpConfig) -> KernelWay {
    parameter("net.ipv4.tcp_sack", config.sack)
}

pub(super) fn timestamps(config: &TcpConfig) -> KernelWay {
    parameter("net.ipv4.tcp_timestamps", config.timestamps)
}

pub(super) fn window_scale(config: &TcpConfig) -> KernelWay {
    parameter("net.ipv4.tcp_window_scaling", config.window_scale)
}

pub(super) fn ecn(config: &TcpConfig) -> KernelWay {
    parameter("net.ipv4.tcp_ecn", config.ecn)
}

pub(super) fn fast_open(config: &TcpConfig) -> KernelWay {
    // By a client 1, by a server 2.
    parameter("net.ipv4.tcp_fastopen", if config.fast_open { 3_u64 } else { 0 })
}

pub(super) fn rack(config: &TcpConfig) -> KernelWay {
    parameter("net.ipv4.tcp_recovery", config.rack)
}

pub(super) fn f_rto(config: &TcpConfig) -> KernelWay {
    parameter("net.ipv4.tcp_frto", if config.f_rto { 2_u64 } else { 0 })
}

pub(super) fn retries(config: &TcpConfig) -> KernelWay {
    parameter("net.ipv4.tcp_retries2", config.retries)
}

pub(super) fn syn_retries(config: &TcpConfig) -> KernelWay {
    parameter("net.ipv4.tcp_syn_retries", config.syn_retries)
}

pub(super) fn manner(config: &TcpConfig) -> KernelWay {
    if config.manner == Manner::LINUX {
        return KernelWay::AsItIs;
    }
    KernelWay::Cannot("a kernel of Linux has the manner of Linux")
}

pub(super) fn delayed_ack(config: &TcpConfig) -> KernelWay {
    match config.acks {
        AckPolicy::EverySegments { segments: 1, .. } => {
            KernelWay::Route(RouteMetric::QuickAck(true))
        }
        acks if acks == AckPolicy::default() => KernelWay::AsItIs,
        _ => KernelWay::Cannot(
            "the kernel acknowledges every second full segment at the latest, and never waits \
             beyond 200 ms",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::{TcpSetting, TcpSettings, TcpSettingsError};

    fn kernel_way(name: &str, value: &str) -> Result<KernelWay, TcpSettingsError> {
        TcpSetting::find(name)?.kernel_way(value)
    }

    fn text(name: &str, value: &str) -> String {
        match kernel_way(name, value).expect(name) {
            KernelWay::AsItIs => "as it is".to_owned(),
            KernelWay::Route(metric) => metric.to_string(),
            KernelWay::Parameter(key, value) => format!("{key}={value}"),
            KernelWay::Cannot(why) => format!("not: {why}"),
        }
    }

    #[test]
    fn what_a_kernel_can_do_is_a_metric_or_a_parameter() {
        for (name, value, expected) in [
            ("mss", "2256", "advmss 2256"),
            ("delayed-ack", "off", "quickack 1"),
            ("delayed-ack", "every:1", "quickack 1"),
            ("delayed-ack", "every:2:40ms", "as it is"),
            ("receive-buffer", "32KiB:64KiB", "window 65536"),
            ("initial-window", "3", "initcwnd 3"),
            ("min-rto", "300ms", "rto_min 300ms"),
            ("congestion", "bbr", "congctl bbr"),
            ("sack", "off", "net.ipv4.tcp_sack=0"),
            ("timestamps", "on", "net.ipv4.tcp_timestamps=1"),
            ("window-scale", "off", "net.ipv4.tcp_window_scaling=0"),
            ("ecn", "on", "net.ipv4.tcp_ecn=1"),
            ("fast-open", "on", "net.ipv4.tcp_fastopen=3"),
            ("rack", "off", "net.ipv4.tcp_recovery=0"),
            ("f-rto", "on", "net.ipv4.tcp_frto=2"),
            ("retries", "5", "net.ipv4.tcp_retries2=5"),
            ("syn-retries", "2", "net.ipv4.tcp_syn_retries=2"),
        ] {
            assert_eq!(text(name, value), expected, "{name}={value}");
        }
    }

    #[test]
    fn what_a_kernel_cannot_do_has_a_reason() {
        for (name, value, why) in [
            ("delayed-ack", "time:500ms", "never waits beyond 200 ms"),
            ("delayed-ack", "every:4:40ms", "every second full segment"),
            ("delayed-ack", "traffic:16", "every second full segment"),
            ("congestion", "net3-reno", "4.4BSD"),
            ("min-rto", "1us", "milliseconds"),
            ("nagle", "off", "TCP_NODELAY"),
            ("corruption", "paper", "not standardised"),
            ("prr", "off", "no parameter"),
            ("manner", "freebsd", "the manner of Linux"),
        ] {
            let text = text(name, value);
            assert!(text.starts_with("not: ") && text.contains(why), "{name}={value}: {text}");
        }
    }

    #[test]
    fn every_setting_has_a_way_for_its_default_or_a_reason() {
        for (setting, value) in TcpSettings::default().values() {
            let way = setting.kernel_way(&value).expect(setting.name);
            assert!(way != KernelWay::Cannot(""), "{}={value}", setting.name);
        }
    }

    #[test]
    fn wrong_names_and_values_are_named() {
        for (name, value, said) in [
            ("ms", "1460", "there is no TCP setting \"ms\": did you mean \"mss\"?"),
            ("mss", "7", "\"7\" is no value of the TCP setting mss: write bytes of data"),
            ("sack", "maybe", "\"maybe\" is no value of the TCP setting sack: write on or off"),
        ] {
            let error = kernel_way(name, value).expect_err(name).to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}
