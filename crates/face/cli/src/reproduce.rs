//! `windfall reproduce`: a paper's figures beside the measurements of this program.

mod unseen;

use std::io::Write;
use std::path::{Path, PathBuf};

use windfall_base::Seed;
use windfall_experiment::figure::select;
use windfall_experiment::{Basis, ClaimSource, Context, Extent, Figure, Finding, page};
use windfall_report::Table;
use windfall_scenario::DEFAULT_SEED;

use crate::exit::{CliError, Completion, Result};
use crate::usage::whole;
use crate::{json, progress};

/// The figures of all papers.
const PAPERS: [&[Figure]; 5] = [
    windfall_reproduce_sap::FIGURES,
    windfall_reproduce_video::FIGURES,
    windfall_reproduce_energy::FIGURES,
    windfall_reproduce_link::FIGURES,
    windfall_reproduce_corruption::FIGURES,
];

/// Reproduce a paper's figures: its claims, the measurements, and the verdicts
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit codes: 0 all verdicts are those on record (with --mutate: all have changed; \
                  with --unseen: 19 of 20 seeds confirm each), 1 one is not, 2 could not run."
)]
pub(crate) struct Args {
    /// Figures such as S3.fig5 or S3.fig*, papers such as S3, or all [default: all]
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// List the figures and do nothing else
    #[arg(long)]
    list: bool,
    /// Measure less than the paper did: shows only what would contradict the verdicts on record
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// Measure more than the paper did
    #[arg(long)]
    full: bool,
    /// Break the mechanism that each figure is about; its verdict must change
    #[arg(long)]
    mutate: bool,
    /// Measure with this many other seeds, and count those that confirm the verdicts on record
    #[arg(long, value_name = "SEEDS", conflicts_with = "mutate",
          value_parser = whole(1..=1_000_000_usize))]
    unseen: Option<usize>,
    /// Write figures, values and the page into this directory
    #[arg(long, value_name = "DIR", default_value = "out/reproduce")]
    out: PathBuf,
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
    // Minutes of measuring must not end at a directory that cannot be made.
    make(&args.out)?;
    let mut findings = Vec::new();
    let mut failures = Vec::new();
    for figure in figures {
        (context.progress)(figure.name);
        let written = findings.len();
        match figure.run(&context) {
            Ok(finding) => findings.push(finding),
            Err(error) => failures.push(format!("{}: {}", figure.name, CliError::from(error))),
        }
        // Whoever ends this early keeps what is measured.
        let page = page::render("What the papers say", &findings);
        write_all(&args.out, &page, &findings[written..])?;
    }
    bar.finish_and_clear();
    show(&findings, args)?;
    if !failures.is_empty() {
        return Err(CliError::new(failures.join("\nwindfall: ")));
    }
    let succeeded = |finding: &Finding| finding.is_as_recorded() != args.mutate;
    let all = findings.iter().all(succeeded);
    Ok(if all { Completion::Success } else { Completion::Negative })
}

impl Args {
    fn extent(&self) -> Extent {
        match (self.quick, self.full) {
            (true, _) => Extent::Quick,
            (_, true) => Extent::Full,
            _ => Extent::Paper,
        }
    }
}

fn list(figures: &[&Figure], as_json: bool) -> Result {
    let basis = |figure: &Figure| match figure.basis {
        Basis::Simulated => "simulated time",
        Basis::Both => "simulated and real time",
        Basis::RealTime => "real time",
    };
    let mut out = std::io::stdout().lock();
    if as_json {
        let list = figures.iter().map(|figure| {
            serde_json::json!({
                "figure": figure.name,
                "title": figure.title,
                "basis": basis(figure),
                "recorded": figure.record.verdict,
                "extent": figure.record.extent,
                "seeds": figure.record.seeds,
                "mutation": figure.mutation,
            })
        });
        let report = serde_json::json!({ "figures": list.collect::<serde_json::Value>() });
        out.write_all(json::line(json::FIGURES, report).as_bytes())?;
        return Ok(Completion::Success);
    }
    let mut table = Table::new(["figure", "shows", "measured in", "verdict", "extent", "seeds"]);
    for figure in figures {
        let record = figure.record;
        let verdict = record.verdict.to_string();
        let extent = record.extent.to_string();
        let seeds = record.seeds_as_text();
        table.push([figure.name, figure.title, basis(figure), &verdict, &extent, &seeds]);
    }
    out.write_all(table.to_text().as_bytes())?;
    Ok(Completion::Success)
}

/// Writes figures and values, and the page over all.
pub(crate) fn write_all(directory: &Path, page: &str, findings: &[Finding]) -> Result<()> {
    make(directory)?;
    let page = ("index.html".to_owned(), page.to_owned());
    for (name, text) in findings.iter().flat_map(Finding::files).chain([page]) {
        let path = directory.join(name);
        windfall_files::write(&path, text.as_bytes()).map_err(|error| cannot(&path, &error))?;
    }
    Ok(())
}

fn make(directory: &Path) -> Result<()> {
    windfall_files::make_folder(directory).map_err(|error| cannot(directory, &error))
}

pub(crate) fn cannot(path: &Path, error: &std::io::Error) -> CliError {
    CliError::new(format!("cannot write {}: {error}; choose another with --out", path.display()))
}

/// Returns the findings and the name of their page.
pub(crate) fn as_json(findings: &[Finding], directory: &Path) -> String {
    let list: serde_json::Value = findings.iter().map(Finding::to_json).collect();
    let page = directory.join("index.html").display().to_string();
    json::line(json::FINDINGS, serde_json::json!({ "findings": list, "page": page }))
}

fn show(findings: &[Finding], args: &Args) -> Result<()> {
    let mut out = std::io::stdout().lock();
    if args.json {
        return Ok(out.write_all(as_json(findings, &args.out).as_bytes())?);
    }
    for finding in findings {
        show_finding(&mut out, finding)?;
    }
    if !findings.is_empty() {
        writeln!(out, "{}", args.out.join("index.html").display())?;
    }
    Ok(())
}

fn show_finding(out: &mut impl Write, finding: &Finding) -> Result<()> {
    writeln!(out, "{}: {}\n", finding.figure, finding.title)?;
    for claim in &finding.claims {
        let (says, quote) = match claim.source {
            ClaimSource::Paper(quote) => ("paper says ", format!("; {quote}")),
            ClaimSource::Ours => ("we say     ", String::new()),
        };
        writeln!(out, "  {says}  {} ({}{quote})", claim.statement, claim.requirement)?;
        writeln!(out, "  we measured  {}", claim.measured())?;
        writeln!(out, "  verdict      {}", claim.verdict_of(finding.extent))?;
        if !claim.reason.is_empty() {
            writeln!(out, "  since        {}", claim.reason)?;
        }
        writeln!(out)?;
    }
    if !finding.is_as_recorded() {
        writeln!(out, "  Verdict on record: {}\n", finding.record.verdict)?;
    }
    Ok(())
}
