use proptest::prelude::*;
use windfall_base::Duration;
use windfall_tcp::{AckPolicy, CongestionControl, LossRecovery, NotificationMode, Paws, Reaction};

use super::{TCP_SETTINGS, TcpPreset, TcpSetting, TcpSettings};

fn config(text: &str) -> windfall_tcp::TcpConfig {
    text.parse::<TcpSettings>().expect(text).config().clone()
}

fn error(text: &str) -> String {
    text.parse::<TcpSettings>().expect_err(text).to_string()
}

/// Legal values of each setting; the second differs from the default of every preset.
fn values(setting: &str) -> Vec<&'static str> {
    let values: &[&str] = match setting {
        "mss" => &["1460", "536", "2256"],
        "send-buffer" | "receive-buffer" => &["1MiB", "48KiB", "48KiB:1MiB"],
        "memory" => &["1MiB", "48KiB"],
        "paws" => &["before", "after", "off"],
        "delayed-ack" => {
            &["every", "off", "every:4:10ms:200ms", "time", "time:1s", "traffic", "traffic:8:1ms"]
        }
        "initial-rto" | "min-rto" | "time-wait" | "fin-wait" => &["1s", "300ms", "1ns"],
        "max-rto" => &["60s", "1h"],
        "tick" => &["0", "100ms"],
        "rto-in-ticks" => &["off", "net3", "netbsd"],
        "congestion" => return CongestionControl::BUILT_IN.iter().map(|it| it.name()).collect(),
        "initial-window" => &["10", "3"],
        "loss-recovery" => &["new-reno", "net3", "sack"],
        "burst" => &["off", "7"],
        "keepalive" => &["off", "10s:1s:5", "on", "3s"],
        "retries" | "syn-retries" => &["15", "3"],
        "corruption" => &["off", "paper", "draft-safe", "extended"],
        "packing" => &["packed", "aligned"],
        "kinds" => &["27:28", "200:201", "experimental", "experimental:254:1:2"],
        "manner" => &["standard", "linux", "freebsd"],
        "reaction" => &["as-mark", "ignore", "as-loss"],
        _ => &["on", "off"],
    };
    values.to_vec()
}

#[test]
fn a_set_and_its_exceptions_become_settings() {
    let config = config("new-reno, min-rto=500ms ,paws=after,delayed-ack=time:300ms,");
    assert_eq!(
        (config.congestion_control, config.loss_recovery, config.sack),
        (CongestionControl::RENO, LossRecovery::NewReno, false)
    );
    assert_eq!(config.timeout.minimum, Duration::from_millis(500));
    assert_eq!(config.paws, Paws::AfterPrediction);
    assert_eq!(config.acks, AckPolicy::TimeOnly { interval: Duration::from_millis(300) });
}

/// Counts the fields of a structure by its debugging text, where each begins a line.
fn fields(value: &impl core::fmt::Debug) -> usize {
    let text = format!("{value:#?}");
    let own = text.lines().filter_map(|line| line.strip_prefix("    "));
    own.filter(|line| line.starts_with(|c: char| c.is_ascii_lowercase())).count()
}

/// A field that is added to the configuration fails this until it has a setting.
#[test]
fn every_field_has_a_setting() {
    let config = config("");
    let plain = fields(&config) - 2;
    // One for each field; `corruption` is that of the mode, and sets two others at once.
    let settings = plain + fields(&config.timeout) + fields(&config.corruption);
    assert_eq!(TCP_SETTINGS.len(), settings);
}

#[test]
fn a_row_is_found_by_its_field() {
    assert_eq!(TcpSetting::row(|it| &it.mss).name, "mss");
    assert_eq!(TcpSetting::row(|it| &it.timeout.minimum).name, "min-rto");
    assert_eq!(TcpSetting::row(|it| &it.corruption.detect).name, "detect");
    assert_eq!(TcpSetting::row(|it| &it.corruption.mode).name, "corruption");
}

#[test]
fn silence_is_the_default() {
    for text in ["", "cubic", " , "] {
        assert_eq!(config(text), windfall_tcp::TcpConfig::default(), "{text:?}");
    }
    assert_eq!(config("net3-reno"), windfall_tcp::TcpConfig::net3_reno());
    assert_eq!(config("netbsd-1.2"), windfall_tcp::TcpConfig::netbsd_1_2());
    assert_eq!(config("sack"), windfall_tcp::TcpConfig::new_reno());
}

#[test]
fn corruption_turns_both_options_and_each_can_be_turned_back() {
    let corruption = config("corruption=extended, notify=off, reaction=ignore").corruption;
    assert!(corruption.detect && !corruption.notify);
    assert_eq!(corruption.mode, NotificationMode::Extended);
    assert_eq!(corruption.reaction, Reaction::Ignore);
}

#[test]
fn errors_name_the_value_and_what_is_legal() {
    assert_eq!(
        error("sack=maybe"),
        "\"maybe\" is no value of the TCP setting sack: write on or off"
    );
    assert_eq!(
        error("min-roto=1s"),
        "there is no TCP setting \"min-roto\": did you mean \"min-rto\"?"
    );
    assert!(error("colour=red").ends_with("manner"), "{}", error("colour=red"));
    for (word, name) in [
        ("law=reno", "congestion"),
        ("congestion-control=reno", "congestion"),
        ("repair=net3", "loss-recovery"),
    ] {
        assert!(error(word).ends_with(&format!("did you mean \"{name}\"?")), "{}", error(word));
    }
    let names = "write one of cubic, sack, new-reno, reno, net3-reno, netbsd-1.2, energy-saving, \
                 or NAME=VALUE";
    assert!(error("vegas").ends_with(names), "{}", error("vegas"));
    assert!(error("timestamps").ends_with("write timestamps=on or off"));
    assert!(error("sack=on, reno").contains("write it first"));
    assert!(error("rto-in-ticks=net3").contains("tick=500ms"));
    assert!(error("min-rto=2s, max-rto=1s").contains("longer"));
    for text in ["mss=20", "mss=70000", "receive-buffer=2GB", "burst=0", "kinds=27:27", "kinds=2:3"]
    {
        assert!(error(text).contains("write"), "{text}");
    }
}

#[test]
fn every_setting_has_two_values_and_both_are_kept() {
    for setting in TCP_SETTINGS {
        for value in values(setting.name) {
            let mut settings = TcpSettings::default();
            assert!(setting.set(&mut settings.config, value), "{}={value}", setting.name);
            let text = setting.text_of(&settings.config);
            let mut again = settings.clone();
            assert!(setting.set(&mut again.config, &text), "{}={text}", setting.name);
            assert_eq!(again, settings, "{}={value} and {text}", setting.name);
        }
        let distinct = values(setting.name).into_iter().map(|value| {
            let mut settings = TcpSettings::default();
            setting.set(&mut settings.config, value);
            format!("{:?}", settings.config)
        });
        let distinct: std::collections::BTreeSet<_> = distinct.collect();
        assert_eq!(distinct.len(), values(setting.name).len(), "{}", setting.name);
    }
}

proptest! {
    #[test]
    fn settings_read_back_as_they_were_written(
        preset in 0..TcpPreset::ALL.len(),
        picks in prop::collection::vec((0..TCP_SETTINGS.len(), 0..8_usize), 0..12),
    ) {
        let mut text = TcpPreset::ALL[preset].name().to_owned();
        for (setting, value) in picks {
            let name = TCP_SETTINGS[setting].name;
            let values = values(name);
            text += &format!(", {name}={}", values[value % values.len()]);
        }
        let Ok(settings) = text.parse::<TcpSettings>() else { return Ok(()) };
        prop_assert_eq!(settings.to_string().parse(), Ok(settings));
    }

    #[test]
    fn any_text_is_read_or_refused(text in ".{0,60}", value in "[a-z0-9:.=, -]{0,20}") {
        let _ = text.parse::<TcpSettings>();
        for setting in TCP_SETTINGS {
            let _ = format!("{}={value}", setting.name).parse::<TcpSettings>();
        }
    }
}
