use clap::{ArgAction, CommandFactory, Parser};
use windfall_scenario::wifi::Radio;
use windfall_scenario::{Direction, Link, RunSettings, Scenario, ScenarioOptions, Settings};
use windfall_testkit::folder::Folder;

use super::*;

/// `windfall run`, as clap reads it.
#[derive(Debug, Parser)]
struct Run {
    #[command(flatten)]
    args: Args,
}

/// `windfall up`, as clap reads it.
#[derive(Debug, Parser)]
struct Up {
    #[command(flatten)]
    args: crate::up::Args,
}

/// The options that say nothing of the stations and the links between them: which programs run,
/// and what is written of the run.
const BESIDE: &[&str] = &[
    "apply",
    "far",
    "wait-port",
    "far-output",
    "far-may-fail",
    "net",
    "net-host-loopback",
    "as-root",
    "name",
    "scenario",
    "generate",
    "json",
    "log",
    "uplink-log",
    "downlink-log",
    "pcap",
    "record-errors",
    "series",
    "max-late",
    "must-act",
    "schedule-from",
    "lifeline",
    "fault",
    "publish",
    "reach",
    "netns-dir",
    "attach",
    "detach",
    "output",
    "is-detached",
    "series-interval",
    "summary",
    "quiet",
];

/// A value for each option that stands in no table of settings.
const SAMPLES: &[(&str, &str)] = &[
    ("flow", "video: dst port 5004"),
    ("like", "wpt-3g"),
    ("stations", "2"),
    ("change", "10s: rate 1Mbps"),
    ("changes", "changes.txt"),
];

/// An example of an option, and the options without which it may not stand.
type Sample = (String, Vec<String>);

/// The example of the setting of an option, and the setting that it needs, if a table has it.
fn example<T: Settings>(option: &str) -> Option<Sample> {
    let mut options = T::TABLE.iter().filter(|it| !it.is_required && !it.is_key_only);
    let setting = options.find(|setting| setting.option() == option)?;
    let needed = setting.needed().map(|it| format!("--{}={}", it.option(), it.example));
    Some((setting.example.to_owned(), needed.into_iter().collect()))
}

/// The sample of an option, with files in `folder`; those of one direction have those of both.
fn sample(option: &str, folder: &Folder) -> Sample {
    let plain = option.trim_start_matches("uplink-").trim_start_matches("downlink-");
    let of_tables = example::<Radio>(option).or_else(|| example::<RunSettings>(option));
    let of_tables = of_tables.or_else(|| example::<Link>(option));
    let own = || SAMPLES.iter().find(|(name, _)| *name == option).map(|(_, value)| *value);
    let own = || own().map(|value| (value.to_owned(), Vec::new()));
    let found = of_tables.or_else(|| example::<Direction>(plain)).or_else(own);
    let (value, mut base) = found.unwrap_or_else(|| {
        panic!("--{option} is new: let --generate carry it, and give it a sample here")
    });
    let beside: &[_] = match plain {
        "padded" => &["--policy=flex"],
        "combine" | "increments" => &["--arq=3"],
        "modem" => &["--link=gsm"],
        "jitter-table" => &["--jitter=2ms"],
        "slots-table" => &["--slots=distribution normal 20ms 5ms"],
        "loss-ecn" => &["--loss=1%"],
        "reorder" => &["--delay=10ms"],
        "overhead" | "cell" | "bucket" => &["--rate=1Mbps"],
        "range" | "expose" => &["--ber=1e-5"],
        "checksums" => &["--accept-damaged"],
        "overcommit" => &["--rate=1Mbps", "--flow=v: reserve 64kbps"],
        _ if option == "stations" || example::<Radio>(option).is_some() => &["--link=wifi-g"],
        _ => &[],
    };
    base.extend(beside.iter().map(|&word| word.to_owned()));
    match plain {
        "rate-trace" => (folder.write("rate.trace", "1\n2\n"), base),
        "once" => {
            base.push(format!("--rate-trace={}", folder.write("rate.trace", "1\n2\n")));
            (value, base)
        }
        "error-trace" => (folder.write("error.trace", WHOLE_TRACE), base),
        "jitter-table" | "slots-table" => (folder.write("jitter.dist", "-8192 0 8192\n"), base),
        "changes" => (folder.write("changes.txt", "10s: loss 5%\n"), base),
        _ => (value, base),
    }
}

/// An error trace of ten frames without errors.
const WHOLE_TRACE: &str = "{\"format\":\"windfall-error-trace\",\"version\":1}\n10\nend 10\n";

/// The options of a command that describe the run, as words of a command line.
fn describing<P: CommandFactory>(folder: &Folder) -> Vec<(Vec<String>, Vec<String>)> {
    let command = P::command();
    let options = command.get_arguments().filter_map(|argument| {
        let name = argument.get_long()?;
        if BESIDE.contains(&name) || name == "help" {
            return None;
        }
        let (value, base) = sample(name, folder);
        let word = match argument.get_action() {
            ArgAction::SetTrue => vec![format!("--{name}")],
            _ => vec![format!("--{name}={value}")],
        };
        Some((word, base))
    });
    options.collect()
}

/// The scenario of a command line, and the text that `--generate` prints for it.
type Describe<'a> = &'a dyn Fn(&[String]) -> (Scenario, String);

/// Holds that each option is in the text that is generated, and means the same when it is read.
fn assert_carried(options: &[(Vec<String>, Vec<String>)], describe: Describe<'_>, file: &Path) {
    assert!(options.len() > 70, "{} options", options.len());
    for (option, base) in options {
        let (without, _) = describe(base);
        let (scenario, text) = describe(&[base.clone(), option.clone()].concat());
        assert!(scenario != without, "{option:?} changes nothing");
        let read = Scenario::parse(&file.to_string_lossy(), &text);
        // The text also states defaults that depend on the link.
        assert_eq!(read, Ok(scenario.spelled_out()), "{option:?}: {text}");
    }
}

#[test]
fn what_run_generates_says_all_that_its_options_say() {
    let folder = Folder::new("generate-run");
    let describe = |words: &[String]| {
        let run = Run::try_parse_from([&["run".to_owned()], words].concat()).expect("options");
        let args = run.args;
        let loaded = args.link.load(None, args.live.settings()).expect("a scenario");
        let text = loaded.generated().expect("a text");
        (loaded.scenario, text)
    };
    assert_carried(&describing::<Run>(&folder), &describe, Path::new("generated.toml"));
}

#[test]
fn what_up_generates_says_all_that_its_options_say() {
    let folder = Folder::new("generate-up");
    let plain = windfall_scenario::ScenarioOptions::default().scenario().to_toml();
    let file = folder.write("plain.toml", plain);
    let describe = |words: &[String]| {
        let first = ["up".to_owned(), file.clone()];
        let up = Up::try_parse_from([&first[..], words].concat()).expect("options");
        let loaded = up.args.load().expect("a scenario");
        let text = loaded.generated().expect("a text");
        (loaded.scenario, text)
    };
    let mut options = describing::<Up>(&folder);
    // A scenario is a link already.
    options.retain(|(option, _)| !option.iter().any(|word| word.starts_with("--like")));
    assert_carried(&options, &describe, Path::new(&file));
}

#[test]
fn what_belongs_to_programs_stands_before_the_scenario() {
    let words = "run --far serve --wait-port 80 --far-output log --far-may-fail --net -- get it";
    let args = Run::try_parse_from(words.split(' ')).expect("options").args;
    let expected = "# beside this file: --far serve --wait-port 80 --far-output log \
                    --far-may-fail --net -- get it\n";
    assert_eq!(args.overrides_of_file(), expected);
    let plain = Run::try_parse_from(["run", "--loss", "1%"]).expect("options").args;
    assert_eq!(plain.overrides_of_file(), "");
}

#[test]
fn files_that_a_scenario_names_are_found_from_what_is_generated() {
    let folder = Folder::new("generate-files");
    let mut flags = ScenarioOptions::default();
    flags.link.downlink.error_trace =
        Some(windfall_scenario::without_span("beside.trace".to_owned()));
    folder.write("beside.trace", WHOLE_TRACE);
    let file = folder.write("there.toml", flags.scenario().to_toml());
    let words = ["run".to_owned(), "--scenario".to_owned(), file];
    let args = Run::try_parse_from(words).expect("options").args;
    let loaded =
        args.link.load(args.scenario.as_deref(), &RunSettings::unset()).expect("a scenario");
    let text = loaded.generated().expect("a text");
    let expected = folder.file("beside.trace");
    assert!(text.contains(&expected), "{text}");
}
