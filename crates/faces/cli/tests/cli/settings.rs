//! Every setting of the tables is an option, with its key, its help and its range.

use std::process::{Command, Stdio};

use windfall_scenario::wifi::Radio;
use windfall_scenario::{AppliesTo, Direction, Link, RunKind, RunSettings, Setting, Settings};
use windfall_testkit::folder::Folder;

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
        let needed = setting.needed().map(|it| format!("--{}={}", it.option(), it.example));
        let needed: Vec<&str> = needed.iter().map(String::as_str).collect();
        let words = ["run", "--generate", &given];
        let (is_good, text) =
            windfall(&[&words, &needed[..], beside(setting.name), others].concat());
        if setting.is_file {
            assert!(!is_good && text.contains("No such file"), "{given}: {text}");
            continue;
        }
        assert!(is_good, "{given}: {text}");
        assert!(text.contains(&format!("{} = ", setting.name)), "{given}: {text}");
        let Some(range) = setting.range() else { continue };
        // A time needs a unit.
        let unit = setting.example.trim_start_matches(|it: char| it.is_ascii_digit() || it == '.');
        let unit = if ["s", "ms", "us", "ns"].contains(&unit) { "s" } else { "" };
        let (is_good, text) = windfall(&["run", "--generate", &format!("{option}=99999999{unit}")]);
        assert!(!is_good && text.contains(&range), "{option}: {text}");
    }
}

/// A rate trace in mahimahi's format that is there.
const RATE_TRACE: &str =
    concat!("--rate-trace=", env!("CARGO_MANIFEST_DIR"), "/tests/cli/settings/slots.up");

/// The options without which a setting of this name changes nothing, beside the one that its table
/// names.
fn beside(name: &str) -> &'static [&'static str] {
    match name {
        "padded" => &["--policy=flex"],
        "once" => &[RATE_TRACE],
        "combine" | "increments" => &["--arq=3"],
        "modem" => &["--link=gsm"],
        "jitter-table" => &["--jitter=2ms"],
        "slots-table" => &["--slots=distribution normal 20ms 5ms"],
        "loss-ecn" => &["--loss=1%"],
        "reorder" => &["--delay=10ms"],
        "overhead" | "cell" | "bucket" => &["--rate=10Mbps"],
        "range" | "expose" => &["--ber=1e-5"],
        "checksums" => &["--accept-damaged"],
        "overcommit" => &["--rate=1Mbps", "--flow=v: reserve 64kbps"],
        _ => &[],
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
fn every_setting_of_a_run_is_a_key_and_an_option_of_the_runs_that_have_it() {
    let help_of = |command: &str| windfall(&[command, "--help"]).1;
    let real = help_of("run");
    let simulated = help_of("sim");
    let scenario = Folder::new("settings-of-a-run");
    let file = scenario.write("plain.toml", windfall(&["run", "--generate"]).1);
    for setting in options::<RunSettings>() {
        let option = format!("--{}", setting.option());
        let has = |help: &str| {
            help.contains(&format!("{option} <")) || help.contains(&format!("{option}[="))
        };
        let is_simulated = setting.metadata == Some(RunKind::Simulated);
        let is_real = setting.metadata == Some(RunKind::RealTime);
        assert_eq!([has(&real), has(&simulated)], [!is_simulated, !is_real], "{option}");
        let given = format!("{option}={}", setting.example);
        let arguments: &[&str] =
            if is_simulated { &["sim", &file, "--generate"] } else { &["run", "--generate"] };
        let needed = beside(setting.name);
        let (is_good, text) = windfall(&[arguments, &[&given], needed].concat());
        assert!(is_good && text.contains(&format!("{} = ", setting.name)), "{given}: {text}");
    }
}

#[test]
fn kernel_parameters_are_given_one_by_one_and_none_is_lost() {
    let ports = "--sysctl=net.ipv4.ip_local_reserved_ports=8080,9148";
    let (_, text) = windfall(&["run", "--generate", ports, "--sysctl=net.ipv4.tcp_sack=0"]);
    let keys = "[\"net.ipv4.ip_local_reserved_ports=8080,9148\", \"net.ipv4.tcp_sack=0\"]";
    assert!(text.contains(&format!("sysctl = {keys}")), "{text}");
}

#[test]
fn every_error_model_makes_a_trace() {
    let (_, help) = windfall(&["trace", "synth", "--help"]);
    let is_model = |it: &&Setting<Direction>| matches!(it.metadata, Some(AppliesTo::Errors(_)));
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
