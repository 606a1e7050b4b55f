//! `windfall reproduce`: a paper's figures beside the measurements of this program.

use std::io::Write;
use std::path::{Path, PathBuf};

use windfall_base::Seed;
use windfall_experiment::figure::select;
use windfall_experiment::{Basis, Context, Extent, Figure, Finding, page};
use windfall_report::Table;
use windfall_scenario::DEFAULT_SEED;

use crate::exit::{CliError, Completion, Result};
use crate::{files, json, progress};

/// The figures of all papers.
const PAPERS: [&[Figure]; 4] = [
    windfall_reproduce_sap::FIGURES,
    windfall_reproduce_energy::FIGURES,
    windfall_reproduce_link::FIGURES,
    windfall_reproduce_corruption::FIGURES,
];

/// Reproduce a paper's figures: its claims, the measurements, and the verdicts
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit codes: 0 all verdicts are as expected, 1 one is not, 2 could not run."
)]
pub(crate) struct Args {
    /// Figures such as S3.fig5 or S3.fig*, papers such as S3, or all [default: all]
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// List the figures and do nothing else
    #[arg(long)]
    list: bool,
    /// Measure less than the paper did, but enough for the verdicts
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// Measure more than the paper did
    #[arg(long)]
    full: bool,
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
    let figures = select(PAPERS.into_iter().flatten(), &args.ids)?;
    if args.list {
        return list(&figures, args.json);
    }
    let bar = progress::spinner()?;
    let context = Context {
        extent: args.extent(),
        seed: args.seed.unwrap_or(DEFAULT_SEED),
        program: std::env::current_exe()?,
        progress: &|message| {
            bar.set_message(message.to_owned());
            bar.tick();
        },
    };
    // Minutes of measuring must not end at a directory that cannot be made.
    make(&args.out)?;
    let mut findings = Vec::new();
    let mut failures = Vec::new();
    for figure in figures {
        (context.progress)(figure.name);
        match figure.run(&context) {
            Ok(finding) => findings.push(finding),
            Err(error) => failures.push(format!("{}: {}", figure.name, CliError::from(error))),
        }
    }
    bar.finish_and_clear();
    write_all(&args.out, &page::render("What the papers say", &findings), &findings)?;
    show(&findings, args)?;
    if !failures.is_empty() {
        return Err(CliError::new(failures.join("\nwindfall: ")));
    }
    let as_expected = findings.iter().all(Finding::is_as_expected);
    Ok(if as_expected { Completion::Success } else { Completion::Negative })
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
                "expected": figure.expected,
            })
        });
        let report = serde_json::json!({ "figures": list.collect::<serde_json::Value>() });
        out.write_all(json::line(json::FIGURES, report).as_bytes())?;
        return Ok(Completion::Success);
    }
    let mut table = Table::new(["figure", "shows", "measured in", "expected verdict"]);
    for figure in figures {
        table.push([figure.name, figure.title, basis(figure), &figure.expected.to_string()]);
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
        files::write(&path, text.as_bytes()).map_err(|error| cannot(&path, &error))?;
    }
    Ok(())
}

fn make(directory: &Path) -> Result<()> {
    files::make_folder(directory).map_err(|error| cannot(directory, &error))
}

fn cannot(path: &Path, error: &std::io::Error) -> CliError {
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
        writeln!(out, "{}: {}\n", finding.figure, finding.title)?;
        for claim in &finding.claims {
            writeln!(out, "  paper says   {} ({})", claim.paper, claim.requirement)?;
            writeln!(out, "  we measured  {}", claim.measured)?;
            writeln!(out, "  verdict      {}\n", claim.verdict)?;
        }
        if !finding.is_as_expected() {
            writeln!(out, "  Expected verdict: {}\n", finding.expected)?;
        }
    }
    if !findings.is_empty() {
        writeln!(out, "{}", args.out.join("index.html").display())?;
    }
    Ok(())
}
