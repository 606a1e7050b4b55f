//! The man pages of a program, from the definitions of its options.

use std::io::{self, Write as _};

use clap::{Command, builder::Resettable};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

/// The heading above the examples, which stand at the end of the long help of a command.
pub(crate) const EXAMPLES_HEADING: &str = "Examples:\n";

/// Returns the name and the text of each page.
///
/// # Errors
/// Never: the text is written to memory.
pub(crate) fn pages(command: Command) -> io::Result<Vec<(String, Vec<u8>)>> {
    // `windfall help` has no page.
    let mut command = command.disable_help_subcommand(true);
    command.build();
    let mut found = Vec::new();
    let mut left = vec![command];
    while let Some(command) = left.pop() {
        left.extend(command.get_subcommands().filter(|it| !it.is_hide_set()).cloned());
        found.push(page(command)?);
    }
    Ok(found)
}

fn page(mut command: Command) -> io::Result<(String, Vec<u8>)> {
    let version = command.get_version().unwrap_or_default().to_owned();
    let ending = command.get_after_long_help().or(command.get_after_help());
    let ending = ending.map(ToString::to_string).unwrap_or_default();
    let usage = command.render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ").to_owned();
    let command = command
        .override_usage(usage)
        .version(Resettable::Reset)
        .after_help(Resettable::Reset)
        .after_long_help(Resettable::Reset)
        .mut_args(|it| {
            // The page would leave out what only the short help leaves out.
            let help = it.get_long_help().or(it.get_help()).cloned().unwrap_or_default();
            it.long_help(help)
        });
    let (number, date) = version_and_date(&version);
    let man = Man::new(command).date(date).source(format!("windfall {number}")).manual("Windfall");
    let mut text = Vec::new();
    man.render(&mut text)?;
    text.write_all(ending_of_page(&ending).as_bytes())?;
    Ok((man.get_filename(), text))
}

/// The parts of `0.1.0 (94344b4 2026-11-22)` that stand in the footer of a page.
fn version_and_date(version: &str) -> (&str, &str) {
    let (number, built) = version.split_once(" (").unwrap_or((version, ""));
    let date = built.trim_end_matches(')').rsplit(' ').next().unwrap_or_default();
    // Nothing at all would move the other parts of the footer to the left.
    (number, if date.starts_with("20") && date.contains('-') { date } else { "\"\"" })
}

/// Returns the end of a page: the exit status, and the examples as lines that can be copied.
fn ending_of_page(ending: &str) -> String {
    let (before, examples) = ending.split_once(EXAMPLES_HEADING).unwrap_or((ending, ""));
    let mut roff = Roff::new();
    if let Some(codes) = before.trim().strip_prefix("Exit codes: ") {
        roff.control("SH", ["EXIT STATUS"]).text([roman(codes)]);
    }
    if !examples.is_empty() {
        roff.control("SH", ["EXAMPLES"]).control("nf", []);
        for line in examples.lines().map(str::trim).filter(|line| !line.is_empty()) {
            roff.text([roman(line)]);
        }
        roff.control("fi", []);
    }
    // A plain apostrophe would be set as a closing quote, which no shell takes; the start of the
    // page defines the string.
    roff.to_roff().replace('\'', r"\*(Aq")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_footer_has_a_date_or_a_place_for_it() {
        assert_eq!(version_and_date("0.1.0 (94344b4 2026-11-22)"), ("0.1.0", "2026-11-22"));
        assert_eq!(version_and_date("0.1.0"), ("0.1.0", "\"\""));
        assert_eq!(version_and_date("0.1.0 (94344b4)"), ("0.1.0", "\"\""));
    }
}
