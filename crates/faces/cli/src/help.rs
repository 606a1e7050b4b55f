//! The help besides the options: the groups of commands, examples, and in its short form only the
//! common options.

use core::fmt::Write as _;

use crate::manual::EXAMPLES_HEADING;
use clap::builder::StyledStr;
use clap::{Arg, Command};

use crate::face::short_help;

/// The commands by what people do with them, in the order of the help and of the man page.
const GROUPS: &[(&str, &str)] = &[
    ("Run programs over a link", "run up exec link links tcp udplite"),
    ("Watch and change a run", "ls set top status down"),
    ("Simulate, and run many times", "sim sweep tune"),
    ("Record and inspect", "trace dump"),
    (
        "Send data that may arrive damaged (SAP is the protocol for it)",
        "get serve proxy gateway video camera image track stream sap",
    ),
    ("Papers", "reproduce wsim"),
    ("Start, and set up the shell", "demo doctor completions"),
];

/// Options that the short help lists beside those of the tables of settings, of commands that have
/// too many for a screen, and what it says of them in a line.
const COMMON: [(&str, &str); 10] = [
    ("far", "Run a command line at the far end"),
    ("help", ""),
    ("json", "Print the summary as JSON"),
    ("log", "Write every event to this file, as JSON lines"),
    ("net", "Let programs reach the host's network"),
    ("pcap", "Write the packets at every device here, as pcapng"),
    ("run", "Run this command, in real time, for each value and seed"),
    ("scenario", "Begin with the link of this scenario"),
    ("vary", "Key and its values: ber=1e-6..1e-3:log7, policy=bold,flex"),
    ("wait-port", "Start COMMAND when the far end listens on this port"),
];

/// More options than these do not fit a screen.
const SCREEN: usize = 24;

/// Examples of each command that does something, by its path.
const EXAMPLES: &[(&str, &[&str])] = &[
    (
        "run",
        &[
            "windfall run --rate 10Mbps --delay 20ms --ber 1e-5 -- ping -c 20 10.77.0.2",
            "windfall run --loss 2% --arq persistent --far 'iperf3 -s -1' -- iperf3 -c 10.77.0.2",
            "windfall run --link wifi-g --rate 54 --distance 12 --stations 5 -- ping 10.77.0.2",
            "windfall run --rate 2Mbps --uplink-loss 5% --generate",
            "windfall run --fault 'far:8000 limit 10kB' --far 'python3 -m http.server' \
             -- curl far:8000",
        ],
    ),
    (
        "up",
        &[
            "windfall up scenarios/examples/corruption-indoor.toml",
            "windfall up office.toml --name office --pcap captures",
            "windfall up -d office.toml",
        ],
    ),
    ("exec", &["windfall exec near -- ping -c 3 10.77.0.2", "windfall exec office near"]),
    (
        "set",
        &[
            "windfall set rate=1Mbps loss=5%",
            "windfall set office uplink loss=5% downlink delay=40ms over=2s",
            "windfall set office 'fault=far:80 reset 1s'",
        ],
    ),
    (
        "status",
        &[
            "windfall status office --follow",
            "windfall status --scenario",
            "windfall status --prometheus",
        ],
    ),
    ("top", &["windfall top office", "windfall top --web", "windfall top --once"]),
    ("ls", &["windfall ls", "windfall ls --json"]),
    ("down", &["windfall down office", "windfall down office lab", "windfall down --all"]),
    (
        "sim",
        &[
            "windfall sim spray.toml",
            "windfall sim spray.toml --arq none --duration 1s --json",
            "windfall sim spray.toml --ber 1e-4 --seed 8 --log events.jsonl",
        ],
    ),
    (
        "sweep",
        &[
            "windfall sweep spray.toml --vary ber=1e-6..1e-3:log7 --vary policy=bold,flex",
            "windfall sweep --run ./client --far ./server --wait-port 8000 --vary loss=0,2%,5%",
        ],
    ),
    ("links", &["windfall links", "windfall links wpt-3g", "windfall links --json"]),
    (
        "link",
        &[
            "windfall link --over serial:/dev/ttyUSB0,57600 -- ping -c 3 10.77.0.2",
            "windfall link --over serial:/dev/ttyUSB0,57600 --framing ppp-lite \
             --address 10.77.0.2 --peer 10.77.0.1",
            "windfall link --over udp::4444 --framing link --policy flex \
             --address 10.77.0.2 --peer 10.77.0.1",
        ],
    ),
    (
        "tcp forward",
        &[
            "windfall tcp forward 8080 10.77.0.2:80 -- curl http://127.0.0.1:8080/",
            "windfall tcp forward --tcp new-reno,min-rto=500ms engine:80 127.0.0.1:8080",
        ],
    ),
    (
        "tcp send",
        &[
            "windfall tcp send 10.77.0.2:5001 --bytes 5MB",
            "windfall tcp send --kernel --time 10s 10.77.0.2:5001",
        ],
    ),
    ("tcp receive", &["windfall tcp receive", "windfall tcp receive 5002 --check --json"]),
    (
        "tcp script",
        &[
            "windfall tcp script examples/tcp-scripts",
            "windfall tcp script --tcp sack,nagle=off --ignore push,window --json suite/*.pkt",
        ],
    ),
    ("tcp settings", &["windfall tcp settings", "windfall tcp settings net3-reno,sack=on"]),
    (
        "udplite",
        &[
            "windfall udplite -- python3 -m unittest -k UDPLITE test.test_socket",
            "windfall udplite --carrier udp -- ffmpeg -i udplite://127.0.0.1:5000 got.ts",
        ],
    ),
    ("sap keygen", &["windfall sap keygen", "windfall sap keygen camera.key"]),
    (
        "trace synth",
        &[
            "windfall trace synth --frames 1000 --loss 5% --ber 1e-4 -o office.trace",
            "windfall trace synth --bits 1000000 --bit-gemodel '1e-5 0.01 0.3 0' -o line.trace",
        ],
    ),
    ("trace show", &["windfall trace show office.trace", "windfall trace show --json -"]),
    ("trace fit", &["windfall trace fit office.trace"]),
    ("trace convert", &["windfall trace convert office.trace --to loss-list -o office.losses"]),
    (
        "trace record",
        &["windfall trace record --sent captures/near.pcapng --received captures/far.pcapng \
             -o ping.trace"],
    ),
    ("trace compare", &["windfall trace compare near/sent.bytes far/received.bytes"]),
    (
        "trace changes",
        &["windfall trace changes drive.csv --time Time --set 'rate=DL_bitrate:kbps' \
             -o drive.changes"],
    ),
    ("trace rates", &["windfall trace rates lte.json --for 60s -o lte.up"]),
    ("stream send", &["windfall stream send 10.77.0.2 --datagrams 500"]),
    ("stream receive", &["windfall stream receive", "windfall stream receive --over tcp --json"]),
    ("track send", &["windfall track send 10.77.0.2", "windfall track send 10.77.0.2 --over tcp"]),
    ("track receive", &["windfall track receive --json"]),
    ("image send", &["windfall image send 10.77.0.2 --file picture.jpg"]),
    ("image receive", &["windfall image receive --out arrived.jpg"]),
    ("camera send", &["windfall camera send 10.77.0.2 --over udplite --bit-rate 2Mbps"]),
    ("camera receive", &["windfall camera receive --over udplite --deadline 50ms --json"]),
    (
        "camera compare",
        &["windfall camera compare --link wifi-g --distance 13 --walk '5 60,10 13'"],
    ),
    ("serve", &["windfall serve pictures", "windfall serve pictures --port 80 --log access.log"]),
    (
        "get",
        &[
            "windfall get http://10.77.0.2:8080/picture.jpg",
            "windfall get --approx image/jpeg --repair intolerable --metadata \
             http://10.77.0.2:8080/picture.jpg",
            "windfall get --force-precise --json -o got http://10.77.0.2:8080/data",
        ],
    ),
    ("proxy", &["windfall proxy", "windfall proxy --port 8118 --rules web.toml"]),
    (
        "gateway",
        &[
            "windfall gateway http://127.0.0.1:80",
            "windfall gateway http://127.0.0.1:80 --port 8081 --log access.log",
        ],
    ),
    ("video", &["windfall video receive", "windfall video send talking-head 10.77.0.2"]),
    (
        "video send",
        &[
            "windfall video send talking-head 10.77.0.2 --protocol udplite",
            "windfall video send clip.mp4 127.0.0.1 --codec h264 --bit-rate 300000 --payload 1200",
        ],
    ),
    (
        "video receive",
        &[
            "windfall video receive --protocol udplite --compare talking-head --sheet sheet.svg",
            "windfall video receive --codec h264 --out arrived.264",
        ],
    ),
    ("wsim", &["windfall wsim talking-head bad.trace --out out/wsim"]),
    (
        "tune",
        &[
            "windfall tune gsm-bad",
            "windfall tune gsm-bad --application interactive --json",
            "windfall tune office.trace --rate 500kbps --deadline 50ms --loss 1% --damage 5%",
            "windfall tune laptops.toml --for joules --setting mss=500,1000 --setting timestamps",
        ],
    ),
    (
        "dump",
        &[
            "windfall dump run.log --measures",
            "windfall dump run.log --view run.html",
            "windfall dump",
        ],
    ),
    (
        "reproduce",
        &[
            "windfall reproduce --list",
            "windfall reproduce S3.fig5 S3.table1",
            "windfall reproduce S3 --out out/paper-003",
        ],
    ),
    ("demo", &["windfall demo", "windfall demo --ber 5e-5 --json --out out/demo"]),
    ("doctor", &["windfall doctor", "windfall doctor --json"]),
    ("completions", &["windfall completions bash", "windfall completions --man share/man/man1"]),
];

/// Adds the groups of commands and the examples of every command, and shortens the short help of
/// commands with many options.
pub(crate) fn complete(command: Command) -> Command {
    let template = template(&command);
    at(command, "").help_template(template)
}

/// Returns the help of the program as a template: clap lists commands, but in no groups.
fn template(program: &Command) -> StyledStr {
    let header = program.get_styles().get_header();
    let literal = program.get_styles().get_literal();
    let width = program.get_subcommands().map(|it| it.get_name().len()).max().unwrap_or_default();
    let mut text = String::from("{about}\n\n{usage-heading} {usage}\n\n");
    for (heading, names) in GROUPS {
        text += &format!("{header}{heading}:{header:#}\n");
        for command in names.split(' ').filter_map(|name| program.find_subcommand(name)) {
            let name = command.get_name();
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            text += &format!("  {literal}{name:width$}{literal:#}  {about}\n");
        }
        text += "\n";
    }
    text += &format!("{header}Options:{header:#}\n{{options}}\n\n");
    text += "`windfall COMMAND --help` describes a command, with examples.\n";
    let mut template = StyledStr::new();
    // Writing to memory cannot fail.
    let _ = template.write_str(&text);
    template
}

fn at(command: Command, path: &str) -> Command {
    let names: Vec<_> = command.get_subcommands().map(|it| it.get_name().to_owned()).collect();
    let command = names.iter().fold(command, |command, name| {
        let path = format!("{path} {name}").trim_start().to_owned();
        command.mut_subcommand(name, |it| at(it, &path))
    });
    let command = match path {
        "sim" | "up" => command.mut_args(of_the_scenario),
        _ => command,
    };
    let examples = EXAMPLES.iter().find(|(name, _)| *name == path);
    let Some((_, examples)) = examples else { return command };
    let examples = format!("{EXAMPLES_HEADING}  {}", examples.join("\n  "));
    let before = command.get_after_help().map(|it| format!("{it}\n\n")).unwrap_or_default();
    let command = command.after_long_help(format!("{before}{examples}"));
    if command.get_arguments().filter(|it| !it.is_hide_short_help_set()).count() <= SCREEN {
        return command;
    }
    let more = format!("`windfall {path} --help` has all options, and examples.");
    command.after_help(more).mut_args(|it| {
        let is_positional = it.is_positional();
        let long = it.get_long_help().or(it.get_help());
        let long = long.cloned().unwrap_or_default();
        let common = COMMON.iter().find(|(common, _)| *common == name(&it));
        match common.map(|(_, short)| *short).or(short_help(&name(&it))) {
            Some("") => it,
            Some(short) => it.help(short).long_help(long),
            None => it.hide_short_help(!is_positional),
        }
    })
}

/// Adds to the default of an option, in a command that reads a scenario, that the scenario comes
/// first.
fn of_the_scenario(argument: Arg) -> Arg {
    let default = " [default: ";
    let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
    match help.split_once(default) {
        Some((text, value)) if name(&argument) != "name" => {
            argument.help(format!("{text}{default}as the scenario says, or {value}"))
        }
        _ => argument,
    }
}

fn name(argument: &Arg) -> String {
    argument.get_long().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every command that does something, and its path.
    fn leaves(command: &Command, path: &str, found: &mut Vec<(String, Command)>) {
        for it in command.get_subcommands().filter(|it| !it.is_hide_set()) {
            let path = format!("{path} {}", it.get_name());
            if it.has_subcommands() {
                leaves(it, &path, found);
            } else {
                found.push((path.trim_start().to_owned(), it.clone()));
            }
        }
    }

    fn all() -> Vec<(String, Command)> {
        let mut found = Vec::new();
        leaves(&crate::command(), "", &mut found);
        found
    }

    /// The words of a line of the shell that has no quotes but single ones.
    fn words(line: &str) -> Vec<String> {
        let mut words = Vec::new();
        for (i, part) in line.split('\'').enumerate() {
            match i % 2 {
                0 => words.extend(part.split_whitespace().map(str::to_owned)),
                _ => words.push(part.to_owned()),
            }
        }
        words
    }

    #[test]
    fn every_command_is_in_one_group_of_the_help() {
        let program = crate::command();
        let visible = program.get_subcommands().filter(|it| !it.is_hide_set());
        let visible: Vec<_> = visible.map(Command::get_name).collect();
        let grouped: Vec<_> = GROUPS.iter().flat_map(|(_, names)| names.split(' ')).collect();
        assert_eq!(grouped, visible);
        let help = program.clone().render_long_help().to_string();
        for name in grouped {
            let lines = help.lines().filter(|line| line.split_whitespace().next() == Some(name));
            assert_eq!(lines.count(), 1, "{name}: {help}");
        }
        assert!(help.lines().all(|line| line.chars().count() <= 80), "{help}");
    }

    #[test]
    fn no_command_lists_more_than_twelve_options_without_a_heading() {
        for (path, command) in all() {
            let options = command.get_arguments().filter(|it| !it.is_positional());
            let shown = options.filter(|it| !it.is_hide_set() && it.get_help_heading().is_none());
            let names: Vec<_> = shown.map(name).collect();
            assert!(names.len() <= 12, "{path}: {names:?}");
        }
    }

    #[test]
    fn every_command_has_examples_that_are_right() {
        let mut paths: Vec<_> = all().into_iter().map(|(path, _)| path).collect();
        let mut named: Vec<_> = EXAMPLES.iter().map(|(path, _)| (*path).to_owned()).collect();
        paths.push("video".to_owned());
        paths.sort();
        named.sort();
        assert_eq!(named, paths);
        for (path, examples) in EXAMPLES {
            for line in *examples {
                assert!(line.starts_with(&format!("windfall {path}")), "{line}");
                let parsed = crate::command().try_get_matches_from(words(line));
                assert!(parsed.is_ok(), "{line}: {}", parsed.unwrap_err());
            }
        }
    }

    #[test]
    fn the_long_help_ends_with_the_examples() {
        for (path, mut command) in all() {
            let help = command.render_long_help().to_string();
            let (_, examples) = help.split_once("\nExamples:\n").expect(&path);
            assert!(examples.lines().all(|line| line.starts_with("  ")), "{path}: {examples}");
        }
    }

    #[test]
    fn the_short_help_fits_a_screen() {
        for (path, command) in all() {
            for width in [80, 100] {
                let text = command.clone().term_width(width).render_help().to_string();
                let lines = text.lines().count();
                assert!(lines <= 40, "{path}, {width} columns: {lines} lines\n{text}");
                assert!(text.lines().all(|line| line.chars().count() <= width), "{path}: {text}");
            }
        }
    }

    #[test]
    fn the_short_help_of_run_has_what_most_people_need() {
        let needed = "rate delay loss ber queue link distance arq policy far wait-port seed \
                      scenario net pcap log json";
        let run = all().into_iter().find(|(path, _)| path == "run").expect("there is one").1;
        let shows = |command: &Command, help: &str, option: &str| {
            help.lines().any(|line| line.split_whitespace().any(|word| word == option))
                || panic!("{}: {option} is not in\n{help}", command.get_name())
        };
        let short = run.clone().render_help().to_string();
        assert!(needed.split_whitespace().all(|it| shows(&run, &short, &format!("--{it}"))));
        let long = run.clone().render_long_help().to_string();
        let all = run.get_arguments().filter_map(Arg::get_long);
        for option in all {
            let found = long.contains(&format!("--{option} "))
                || long.contains(&format!("--{option}[="))
                || long.contains(&format!("--{option}\n"));
            assert!(found, "--{option} is not in the long help");
        }
    }

    #[test]
    fn what_a_scenario_says_has_no_other_default() {
        for (path, mut command) in all() {
            let help = format!("{}{}", command.render_help(), command.render_long_help());
            match path.as_str() {
                "sim" | "up" => {
                    assert!(!help.contains("[default: pipe]") && !help.contains("[default: 1]"));
                    assert!(help.contains("[default: as the scenario says, or pipe]"), "{help}");
                }
                "run" => assert!(help.contains("[default: pipe]") && help.contains("[default: 1]")),
                _ => {}
            }
        }
    }

    #[test]
    fn options_of_the_radio_alone_stand_under_its_heading() {
        for (path, command) in all() {
            let seed = command.get_arguments().find(|it| name(it) == "seed");
            let heading = seed.and_then(|it| it.get_help_heading()).unwrap_or_default();
            assert!(!heading.contains("802.11"), "{path}: --seed stands under {heading}");
        }
    }
}
