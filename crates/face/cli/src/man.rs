//! The man pages, from the definitions of the options.

use std::io::{self, Write as _};
use std::path::Path;

use clap::{Command, builder::Resettable};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

use crate::help::EXAMPLES_HEADING;

/// Writes one page for each command into a folder, which is made if need be.
pub(crate) fn write_all(directory: &Path) -> io::Result<()> {
    windfall_files::make_folder(directory)?;
    for (name, page) in pages(crate::command())? {
        windfall_files::write(&directory.join(name), &page)?;
    }
    Ok(())
}

/// The name and the text of each page.
fn pages(command: Command) -> io::Result<Vec<(String, Vec<u8>)>> {
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

    fn all() -> Vec<(String, String)> {
        let text = |(name, page)| (name, String::from_utf8(page).expect("text"));
        pages(crate::command()).expect("written to memory").into_iter().map(text).collect()
    }

    #[test]
    fn every_option_of_every_page_has_text() {
        let pages = all();
        assert!(pages.iter().any(|(name, _)| name == "windfall-tcp-forward.1"));
        for (name, page) in pages {
            let lines: Vec<_> = page.lines().collect();
            let options = lines.windows(3).filter(|it| it[0] == ".TP");
            for option in options {
                let has_text = !option[2].is_empty() && !option[2].starts_with('.');
                assert!(has_text, "{name}: {option:?}");
            }
        }
    }

    #[test]
    fn the_page_of_run_is_short_at_the_top_and_its_examples_can_be_copied() {
        let (_, page) = all().into_iter().find(|(name, _)| name == "windfall-run.1").expect("one");
        let (_, synopsis) = page.split_once(".SH SYNOPSIS\n").expect("a synopsis");
        let synopsis = synopsis.lines().next().expect("a line");
        assert_eq!(synopsis, r"\fBwindfall run\fR [OPTIONS] [\-\- <COMMAND>...]");
        let (_, examples) = page.split_once(".SH EXAMPLES\n.nf\nwindfall run ").expect("examples");
        assert!(examples.contains(r"\*(Aqiperf3 \-s \-1\*(Aq") && examples.ends_with("\n.fi\n"));
        let head = page.lines().find(|line| line.starts_with(".TH")).expect("a head");
        let number = env!("CARGO_PKG_VERSION");
        let (start, end) = (".TH windfall-run 1 ", format!(" \"windfall {number}\" Windfall"));
        assert!(head.starts_with(start) && head.ends_with(&end), "{head}");
        let date = &head[start.len()..head.len() - end.len()];
        assert!(!date.is_empty() && !date.contains(' '), "{head}");
    }

    #[test]
    fn the_footer_has_a_date_or_a_place_for_it() {
        assert_eq!(version_and_date("0.1.0 (94344b4 2026-11-22)"), ("0.1.0", "2026-11-22"));
        assert_eq!(version_and_date("0.1.0"), ("0.1.0", "\"\""));
        assert_eq!(version_and_date("0.1.0 (94344b4)"), ("0.1.0", "\"\""));
    }
}
