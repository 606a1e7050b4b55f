//! The command line as people type it: arguments that clap would misread, and its errors in plain
//! words.

mod stray;

use core::fmt::Display;
use core::ops::RangeInclusive;
use core::str::FromStr;
use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use windfall_base::nearest;
use windfall_scenario::wifi::Radio;
use windfall_scenario::{Direction, Settings as _};

/// Arguments in which a negative number that follows an option is its value, not an option.
pub(crate) fn with_negative_numbers(
    arguments: impl Iterator<Item = OsString>,
) -> impl Iterator<Item = OsString> {
    let mut joined: Vec<OsString> = Vec::new();
    let mut is_of_command = false;
    for argument in arguments {
        is_of_command |= argument == "--";
        let previous = joined.last_mut().filter(|_| !is_of_command);
        match previous.filter(|it| is_bare_option(it) && is_negative_number(&argument)) {
            Some(option) => {
                option.push("=");
                option.push(argument);
            }
            None => joined.push(argument),
        }
    }
    joined.into_iter()
}

fn is_bare_option(text: &OsString) -> bool {
    text.to_str().is_some_and(|text| text.starts_with("--") && !text.contains('='))
}

fn is_negative_number(text: &OsString) -> bool {
    let digits = text.to_str().and_then(|text| text.strip_prefix('-')).unwrap_or_default();
    digits.trim_start_matches('.').starts_with(|c: char| c.is_ascii_digit())
}

/// A parser of whole numbers that says which are allowed.
pub(crate) fn whole<T>(
    range: RangeInclusive<T>,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync
where
    T: FromStr + PartialOrd + Display + Clone + Send + Sync,
{
    move |text| match text.parse::<T>() {
        Ok(number) if range.contains(&number) => Ok(number),
        _ => Err(format!("use a whole number from {} to {}", range.start(), range.end())),
    }
}

/// A parser of numbers that need not be whole.
pub(crate) fn real(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
    number.ok_or_else(|| "use a number, such as 3 or 0.5".to_owned())
}

/// Quotes a word for a shell, if it needs that.
pub(crate) fn shell_quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_@%+=:,./-".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Returns the error of the arguments `words` and the fix, in one line.
pub(crate) fn explain(error: &clap::Error, command: &clap::Command, words: &[String]) -> String {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let (path, command) = subcommand(command, words);
    if error.kind() == ErrorKind::UnknownArgument {
        match text(ContextKind::InvalidArg) {
            Some(option) if option.starts_with("--duration") && ["run", "up"].contains(&&*path) => {
                let instead = match path.as_str() {
                    "run" => "a run lasts as long as its command: write -- timeout 5 COMMAND",
                    _ => "the stations are up until interrupted: write timeout 5 windfall up …",
                };
                return format!(
                    "`windfall {path}` has no --duration: {instead}, or simulate with \
                     `windfall sim FILE --duration 5s`"
                );
            }
            Some(option) if instead_of(option, error, command).is_some() => {
                let instead = instead_of(option, error, command).unwrap_or_default();
                return format!("unexpected argument '{option}' found; tip: write {instead}");
            }
            // An option of the program behind a station, where the program stands for the station.
            Some(option) if path == "exec" && option.starts_with('-') => {
                let program = words.get(2).filter(|word| !word.starts_with('-'));
                let advice =
                    program.and_then(|program| stray::advice(program, command, words, true));
                if let (Some(program), Some(advice)) = (program, advice) {
                    return format!("unexpected argument '{program}'{advice}");
                }
            }
            Some(word) if !word.starts_with('-') => {
                let runs_programs = ["run", "exec", "tcp forward"].contains(&path.as_str());
                if let Some(advice) = stray::advice(word, command, words, runs_programs) {
                    return format!("unexpected argument '{word}'{advice}");
                }
            }
            _ => {}
        }
    }
    in_one_line(&error.render().to_string())
}

/// Returns what to write for an option that other programs have, or that had another name, where
/// the command has such an option. A name that is only like one counts where `error` has no advice.
fn instead_of(option: &str, error: &clap::Error, command: &clap::Command) -> Option<String> {
    let known = [
        ("packet-loss", Direction::row(|it| &it.loss).option(), ""),
        ("latency", Direction::row(|it| &it.delay).option(), ""),
        ("bandwidth", Direction::row(|it| &it.rate).option(), ""),
        ("limit", Direction::row(|it| &it.queue).option(), ""),
        ("trace", Direction::row(|it| &it.rate_trace).option(), ""),
        ("corrupt-range", Direction::row(|it| &it.range).option(), ""),
        ("long-slot", Radio::row(|it| &it.slot).option(), " long"),
        ("short-preamble", Radio::row(|it| &it.preamble).option(), " short"),
    ];
    let name = option.strip_prefix("--")?;
    let prefix = ["uplink-", "downlink-"].into_iter().find(|it| name.starts_with(it)).unwrap_or("");
    let name = &name[prefix.len()..];
    let like = error.get(ContextKind::SuggestedArg).is_none();
    let like = like.then(|| nearest(name, known.iter().map(|(old, ..)| *old))).flatten();
    let is_meant = |old: &str| name.starts_with(old) || like == Some(old);
    let (_, option, value) = known.into_iter().find(|(old, ..)| is_meant(old))?;
    let option = format!("{prefix}{option}");
    let has_it = |it: &clap::Arg| it.get_long() == Some(&option);
    command.get_arguments().any(has_it).then(|| format!("--{option}{value}"))
}

/// The subcommand that the first words name, and its path.
fn subcommand<'a>(command: &'a clap::Command, words: &[String]) -> (String, &'a clap::Command) {
    let mut at = command;
    let mut path = Vec::new();
    for word in words.iter().filter(|word| !word.starts_with('-')) {
        let Some(next) = at.find_subcommand(word) else { break };
        path.push(next.get_name());
        at = next;
    }
    (path.join(" "), at)
}

/// Returns the error and, where clap knows one, the fix, without the usage.
fn in_one_line(rendered: &str) -> String {
    let paragraphs = rendered.split("\n\n").map(|paragraph| {
        // That a wrong option could be a value is no help.
        let lines = paragraph.lines().map(str::trim).filter(|it| !it.starts_with("tip: to pass"));
        lines.collect::<Vec<_>>().join(" ")
    });
    let told = paragraphs
        .filter(|it| !it.is_empty() && !it.starts_with("Usage:") && !it.starts_with("For more"));
    told.collect::<Vec<_>>().join("; ").trim_start_matches("error: ").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_usage_is_told_in_one_line() {
        let rendered = "error: unexpected argument '--lss' found\n\n  tip: a similar argument \
                        exists: '--loss'\n\nUsage: windfall run\n\nFor more information, try \
                        '--help'.\n";
        assert_eq!(
            in_one_line(rendered),
            "unexpected argument '--lss' found; tip: a similar argument exists: '--loss'"
        );
    }

    #[test]
    fn a_negative_number_belongs_to_the_option_before_it() {
        let joined = |line: &str| {
            let words = line.split(' ').map(OsString::from);
            let words = with_negative_numbers(words).map(|it| it.into_string().unwrap());
            words.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(joined("run --delay -5ms --loss -.1"), "run --delay=-5ms --loss=-.1");
        assert_eq!(joined("run --delay=1 -5 -q"), "run --delay=1 -5 -q");
        assert_eq!(joined("run -- head --lines -5"), "run -- head --lines -5");
    }

    #[test]
    fn numbers_out_of_range_are_refused_in_words() {
        assert_eq!(whole(68..=65_535_u16)("1500"), Ok(1500));
        for text in ["67", "70000", "-1", "x", "1.5"] {
            assert_eq!(
                whole(68..=65_535_u16)(text),
                Err("use a whole number from 68 to 65535".to_owned())
            );
        }
        assert!(real("nan").is_err() && real("x").is_err());
        assert_eq!(real("-3.5"), Ok(-3.5));
    }
}
