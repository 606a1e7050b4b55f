//! Every setting of the tables is an option, with its key, its help and its range.

use std::process::{Command, Stdio};

use windfall_scenario::wireless::Radio;
use windfall_scenario::{Aspect, Direction, Link, Setting, Settings};

fn windfall(arguments: &[&str]) -> (bool, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_windfall"));
    let output = command.args(arguments).stdin(Stdio::null()).output().expect("it runs");
    let text = if output.status.success() { output.stdout } else { output.stderr };
    (output.status.success(), String::from_utf8(text).expect("text"))
}

/// The settings of a table that are options.
fn options<T: Settings>() -> impl Iterator<Item = &'static Setting<T>> {
    T::TABLE.iter().filter(|setting| !setting.is_required && !setting.is_key_only)
}

/// Gives each option its example beside `others`: the scenario must have its key.
fn check<T: Settings>(prefix: &str, others: &[&str], help: &str) {
    for setting in options::<T>() {
        let option = format!("--{prefix}{}", setting.option());
        assert!(help.contains(&format!("{option} <")) || help.contains(&format!("{option}[=")));
        assert!(!prefix.is_empty() || words(help).contains(&words(setting.help())), "{option}");
        let given = format!("{option}={}", setting.example);
        let others = if setting.name == "padded" { &["--policy=flex"] } else { others };
        let (is_good, text) = windfall(&[&["run", "--generate", &given], others].concat());
        assert!(is_good, "{given}: {text}");
        assert!(text.contains(&format!("{} = ", setting.name)), "{given}: {text}");
        let Some(range) = setting.range() else { continue };
        let (is_good, text) = windfall(&["run", "--generate", &format!("{option}=99999999")]);
        assert!(!is_good && text.contains(&range), "{option}: {text}");
    }
}

/// The words of a text, however it is cut into lines.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn every_setting_of_a_link_is_an_option_and_a_key() {
    let (_, help) = windfall(&["run", "--help"]);
    check::<Link>("", &[], &help);
    for prefix in ["", "uplink-", "downlink-"] {
        check::<Direction>(prefix, &[], &help);
    }
    check::<Radio>("", &["--link=wifi-g"], &help);
}

#[test]
fn every_error_model_makes_a_trace() {
    let (_, help) = windfall(&["trace", "synth", "--help"]);
    let is_model = |it: &&Setting<Direction>| matches!(it.particular, Some(Aspect::Errors(_)));
    for setting in options::<Direction>().filter(is_model) {
        let given = format!("--{}={}", setting.option(), setting.example);
        assert!(help.contains(&format!("--{} <", setting.option())), "{given}");
        let (is_good, trace) = windfall(&["trace", "synth", "--frames=3000", &given]);
        assert!(is_good, "{given}: {trace}");
        assert!(trace.lines().count() > 3, "{given} hits no frame: {trace}");
    }
    let (is_good, text) = windfall(&["trace", "synth", "--environment=office", "--ber=1e-4"]);
    assert!(!is_good && text.contains("cannot be used with"), "{text}");
}
