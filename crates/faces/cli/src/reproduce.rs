//! `windfall reproduce`: a paper's figures beside the measurements of this program.

mod unseen;

use std::io::{Error, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::thread::available_parallelism;

use serde_json::Value;
use windfall_base::Seed;
use windfall_papers::experiment::campaign::{KEPT, PAGE};
use windfall_papers::experiment::figure::{self, select};
use windfall_papers::experiment::{
    Campaign, Context, Extent, Figure, Finding, ShownFinding, junit,
};
use windfall_scenario::DEFAULT_SEED;
use windfall_system::as_caller;
use windfall_system::files::UsedFiles;

use crate::exit::{CliError, Completion, Result};
use crate::usage::whole;
use crate::{input, json, progress};

/// The figures of all papers.
const PAPERS: [&[Figure]; 5] = [
    windfall_papers::sap::FIGURES,
    windfall_papers::video::FIGURES,
    windfall_papers::energy::FIGURES,
    windfall_papers::link::FIGURES,
    windfall_papers::corruption::FIGURES,
];

/// Reproduce the figures of the papers
///
/// Prints each claim, the measurements and the verdict.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit codes: 0 all verdicts are those on record (with --mutate: all have changed; \
                  with --unseen: 19 of 20 seeds confirm each), 1 one is not, 2 could not run."
)]
pub(crate) struct Args {
    /// Figures such as S3.fig5 or S3.fig*, papers such as S3, or all [default: all]
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// List the figures, and exit
    #[arg(long)]
    list: bool,
    /// Measure less than the paper did. This only shows what contradicts the recorded verdicts
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// Measure more than the paper did
    #[arg(long)]
    full: bool,
    /// Break the mechanism behind each figure. Each verdict must then change
    #[arg(long)]
    mutate: bool,
    /// Measure with this many other seeds, and count those that confirm the recorded verdicts
    #[arg(long, value_name = "SEEDS", conflicts_with = "mutate",
          value_parser = whole(1..=1_000_000_usize))]
    unseen: Option<usize>,
    /// Number of parallel experiments, 1 to 1024. Experiments in real time run alone [default: one
    /// per core]
    #[arg(long, value_name = "NUMBER", conflicts_with = "unseen",
          value_parser = whole(1..=1_024_usize))]
    jobs: Option<usize>,
    /// Directory for figures, values and the page. An interrupted run continues there
    #[arg(long, value_name = "DIR", default_value = "out/reproduce")]
    out: PathBuf,
    /// Also write the page to this file
    #[arg(long, value_name = "FILE", conflicts_with = "unseen")]
    page: Option<PathBuf>,
    /// Write a JUnit report to this file, with one test case per claim. A claim fails if its
    /// verdict is not the recorded one
    #[arg(long, value_name = "FILE", conflicts_with = "unseen")]
    junit: Option<PathBuf>,
    /// Print the findings as JSON
    #[arg(long)]
    json: bool,
    /// Seed of all random draws [default: 1]
    #[arg(long, value_name = "NUMBER")]
    seed: Option<Seed>,
}

pub(crate) fn run(args: &Args) -> Result {
    let mut figures = select(PAPERS.into_iter().flatten(), &args.ids)?;
    if args.list {
        return list(&figures, args.json);
    }
    // Minutes of measuring must not end at a file that cannot be written.
    let mut used = UsedFiles::default();
    for (option, path) in [("--page", &args.page), ("--junit", &args.junit)] {
        let written = path.iter().try_for_each(|path| used.write_at_end(option, path));
        written.map_err(CliError::usage)?;
    }
    let bar = progress::spinner()?;
    let context = Context {
        extent: args.extent(),
        seed: args.seed.unwrap_or(DEFAULT_SEED),
        is_mutated: args.mutate,
        program: std::env::current_exe()?,
        progress: &|message| {
            bar.set_message(message.to_owned());
            bar.tick();
        },
    };
    if let Some(count) = args.unseen {
        return unseen::run(&figures, &context, count, args.json);
    }
    if args.mutate {
        figures.retain(|figure| figure.mutation.is_some());
    }
    make(&args.out)?;
    let kept = args.out.join(KEPT);
    let found = as_caller(&kept, || std::fs::read_to_string(&kept)).unwrap_or_default();
    let write = |name: &str, text: &str| {
        if let Some(page) = args.page.as_ref().filter(|_| name == PAGE) {
            let placed = windfall_system::files::replace(page, text.as_bytes());
            let named = |it: Error| Error::new(it.kind(), format!("{}: {it}", page.display()));
            placed.map_err(named)?;
        }
        windfall_system::files::replace(&args.out.join(name), text.as_bytes())
    };
    let jobs = args.jobs.and_then(NonZeroUsize::new).or_else(|| available_parallelism().ok());
    let campaign = Campaign {
        figures: &figures,
        context: &context,
        jobs: jobs.unwrap_or(NonZeroUsize::MIN),
        kept: &found,
        command: &args.command(),
        write: &write,
        elapsed: &|| bar.elapsed(),
    };
    let result = campaign.run().map_err(|error| cannot(&args.out, &error))?;
    // It has ended: the next one measures anew.
    let _ = std::fs::remove_file(kept);
    bar.finish_and_clear();
    show(&result.findings, args)?;
    if let Some(path) = &args.junit {
        let report = junit::report(&result.findings, &result.failures, args.mutate);
        let written = windfall_system::files::replace(path, report.as_bytes());
        written.map_err(|error| input::cannot_write(path, &error))?;
    }
    if !result.failures.is_empty() {
        return Err(CliError::new(result.failures.join("\nwindfall: ")));
    }
    let all = result.findings.iter().all(|it| it.is_as_recorded != args.mutate);
    Ok(if all { Completion::Success } else { Completion::Negative })
}

impl Args {
    /// The command line that measures the same again.
    fn command(&self) -> String {
        let ids = if self.ids.is_empty() { "all".to_owned() } else { self.ids.join(" ") };
        let seed = self.seed.map(|seed| format!(" --seed {seed}"));
        let page = self.page.as_ref().map(|page| format!(" --page {}", page.display()));
        let flags = [(self.quick, " --quick"), (self.full, " --full"), (self.mutate, " --mutate")];
        let flags = flags.into_iter().filter(|(is_set, _)| *is_set).map(|(_, flag)| flag);
        let rest = flags.chain(seed.as_deref()).chain(page.as_deref()).collect::<String>();
        format!("windfall reproduce {ids}{rest}")
    }

    fn extent(&self) -> Extent {
        match (self.quick, self.full) {
            (true, _) => Extent::Quick,
            (_, true) => Extent::Full,
            _ => Extent::Paper,
        }
    }
}

fn list(figures: &[&Figure], as_json: bool) -> Result {
    let text = if as_json {
        json::line(json::FIGURES, figure::list_json(figures))
    } else {
        figure::list_table(figures).to_text()
    };
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(Completion::Success)
}

/// Writes figures and values, and the page over all.
pub(crate) fn write_all(directory: &Path, page: &str, findings: &[Finding]) -> Result<()> {
    make(directory)?;
    let page = ("index.html".to_owned(), page.to_owned());
    for (name, text) in findings.iter().flat_map(Finding::files).chain([page]) {
        let path = directory.join(name);
        windfall_system::files::write(&path, text.as_bytes())
            .map_err(|error| cannot(&path, &error))?;
    }
    Ok(())
}

pub(crate) fn make(directory: &Path) -> Result<()> {
    windfall_system::files::make_folder(directory).map_err(|error| cannot(directory, &error))
}

pub(crate) fn cannot(path: &Path, error: &Error) -> CliError {
    CliError::usage(format!("cannot write {}: {error}; choose another with --out", path.display()))
}

/// Returns the findings and the name of their page.
pub(crate) fn as_json(findings: impl Iterator<Item = Value>, directory: &Path) -> String {
    let page = directory.join("index.html").display().to_string();
    let findings: Value = findings.collect();
    json::line(json::FINDINGS, serde_json::json!({ "findings": findings, "page": page }))
}

fn show(findings: &[ShownFinding], args: &Args) -> Result<()> {
    let mut out = std::io::stdout().lock();
    if args.json {
        let list = findings.iter().map(|finding| finding.json.clone());
        return Ok(out.write_all(as_json(list, &args.out).as_bytes())?);
    }
    for finding in findings {
        out.write_all(finding.text.as_bytes())?;
    }
    if !findings.is_empty() {
        writeln!(out, "{}", args.out.join("index.html").display())?;
    }
    Ok(())
}
