//! The ways in which the TCP of a Linux kernel is told of a setting, and where it cannot be.

use windfall_base::Duration;
use windfall_ip::RouteMetric;
use windfall_tcp::{AckPolicy, Manner, TcpConfig};

use super::settings::TcpSetting;
use super::{TcpSettingsError, find_setting};

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

/// Returns the way in which a kernel is told of a setting.
///
/// # Errors
/// If there is no such setting, or it takes no such value.
pub fn kernel_way(name: &str, value: &str) -> Result<KernelWay, TcpSettingsError> {
    let setting = find_setting(name)?;
    let mut config = TcpConfig::default();
    if !setting.set(&mut config, value) {
        let (name, value, legal) = (setting.name, value.to_owned(), setting.legal());
        return Err(TcpSettingsError::Value { name, value, legal });
    }
    Ok(way(setting, &config))
}

fn way(setting: &TcpSetting, config: &TcpConfig) -> KernelWay {
    let parameter = |key, value: u64| KernelWay::Parameter(key, value.to_string());
    match setting.name {
        "mss" => KernelWay::Route(RouteMetric::AdvMss(config.mss.into())),
        "delayed-ack" => acknowledgments(config.acks),
        "receive-buffer" => match u32::try_from(config.receive_buffer.most) {
            Ok(bytes) => KernelWay::Route(RouteMetric::Window(bytes)),
            Err(_) => KernelWay::Cannot("the kernel's windows end below this"),
        },
        "initial-window" => KernelWay::Route(RouteMetric::InitCwnd(config.initial_window.into())),
        "min-rto" => match config.timeout.minimum {
            time if time >= Duration::from_millis(1) => {
                KernelWay::Route(RouteMetric::RtoMin(Duration::from_millis(time.as_millis())))
            }
            _ => KernelWay::Cannot("the kernel counts in milliseconds"),
        },
        "congestion" => match config.congestion_control.linux_name() {
            Ok(name) => KernelWay::Route(RouteMetric::Congestion(name)),
            Err(reason) => KernelWay::Cannot(reason),
        },
        "sack" => parameter("net.ipv4.tcp_sack", config.sack.into()),
        "timestamps" => parameter("net.ipv4.tcp_timestamps", config.timestamps.into()),
        "window-scale" => parameter("net.ipv4.tcp_window_scaling", config.window_scale.into()),
        "ecn" => parameter("net.ipv4.tcp_ecn", config.ecn.into()),
        // By a client 1, by a server 2.
        "fast-open" => parameter("net.ipv4.tcp_fastopen", if config.fast_open { 3 } else { 0 }),
        "rack" => parameter("net.ipv4.tcp_recovery", config.rack.into()),
        "f-rto" => parameter("net.ipv4.tcp_frto", if config.f_rto { 2 } else { 0 }),
        "retries" => parameter("net.ipv4.tcp_retries2", config.retries.into()),
        "syn-retries" => parameter("net.ipv4.tcp_syn_retries", config.syn_retries.into()),
        "manner" if config.manner == Manner::LINUX => KernelWay::AsItIs,
        "manner" => KernelWay::Cannot("a kernel of Linux has the manner of Linux"),
        name => KernelWay::Cannot(reason(name)),
    }
}

fn acknowledgments(acks: AckPolicy) -> KernelWay {
    match acks {
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

/// The reason why no kernel is told of a setting.
fn reason(name: &str) -> &'static str {
    match name {
        "nagle" => "each program decides it for itself, by TCP_NODELAY",
        "keepalive" => "each program decides it for itself, by SO_KEEPALIVE",
        "pacing" => "each program decides it for itself, by SO_MAX_PACING_RATE",
        "send-buffer" => {
            "the kernel counts the memory, not the data: choose net.ipv4.tcp_wmem by --sysctl"
        }
        "memory" => "the kernel has one limit for all namespaces, net.ipv4.tcp_mem",
        "accurate-ecn" => "few kernels have it: choose net.ipv4.tcp_ecn=3 by --sysctl where it is",
        "corruption" | "detect" | "notify" | "link-losses" | "packing" | "kinds" | "reaction"
        | "data-check" => "no kernel has it, as it is not standardised",
        _ => "no metric of a route and no parameter of a namespace is about it",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::TCP_SETTINGS;

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
    fn every_setting_has_a_way_for_its_default() {
        for (setting, value) in crate::tcp::TcpSettings::default().values() {
            assert!(kernel_way(setting.name, &value).is_ok(), "{}={value}", setting.name);
        }
        assert_eq!(TCP_SETTINGS.len(), 47, "is a new setting one that kernels have?");
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
