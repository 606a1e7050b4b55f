//! `windfall completions`: shell completions and man pages from the definitions of the options.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::exit::{CliError, Completion, Result};

/// Print shell completions, or write the man pages
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Shell to print completions for
    #[arg(required_unless_present = "man")]
    shell: Option<clap_complete::Shell>,
    /// Write the man pages into this directory instead, one per command
    #[arg(long, value_name = "DIR", conflicts_with = "shell")]
    man: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result {
    if let Some(dir) = &args.man {
        write_pages(dir).map_err(|error| {
            CliError::new(format!("cannot write man pages into {}: {error}", dir.display()))
        })?;
    }
    if let Some(shell) = args.shell {
        // Generated in memory first: a closed pipe is no reason to panic.
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut crate::command(), "windfall", &mut script);
        std::io::stdout().write_all(&script)?;
    }
    Ok(Completion::Success)
}

fn write_pages(directory: &Path) -> io::Result<()> {
    windfall_system::files::make_folder(directory)?;
    for (name, page) in crate::manual::pages(crate::command())? {
        windfall_system::files::write(&directory.join(name), &page)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::manual::pages;

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
            for option in lines.windows(3).filter(|it| it[0] == ".TP") {
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
        let start = ".TH windfall-run 1 ";
        let end = format!(" \"windfall {number}\" Windfall");
        assert!(head.starts_with(start) && head.ends_with(&end), "{head}");
        let date = &head[start.len()..head.len() - end.len()];
        assert!(!date.is_empty() && !date.contains(' '), "{head}");
    }
}
