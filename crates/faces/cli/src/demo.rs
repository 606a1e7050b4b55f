//! `windfall demo`: the benefit of local retransmission, in half a minute.

use std::io::Write;
use std::path::PathBuf;

use windfall_base::{Duration, Probability, Seed};
use windfall_papers::experiment::{Finding, Verdict, page};
use windfall_papers::link::demo::Demo;
use windfall_scenario::DEFAULT_SEED;

use crate::exit::{Completion, Result};
use crate::progress;
use crate::reproduce::{as_json, make, write_all};
use crate::times::with_unit;

/// Bit error rate of the demonstration: about every ninth full packet is hit.
const DEFAULT_BER: f64 = 1e-5;

/// Show what retransmission and damaged delivery change
///
/// Curl moves a file across a bad link, without and with local retransmission. Then it moves a
/// picture: exactly, approximately, and with the damaged parts thrown away.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit codes: 0 retransmission made up for the errors, or the machine was too busy \
                  to tell; 1 it did not; 2 no transfer could be made."
)]
pub(crate) struct Args {
    /// File to move [default: one of 1 MB]
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Probability that the link inverts a bit, 0 to 1 [default: 1e-5]
    #[arg(long, value_name = "P")]
    ber: Option<Probability>,
    /// Time limit of one transfer [default: 30s, and longer for files over 2 MB]
    #[arg(long, value_name = "TIME", value_parser = positive_time)]
    limit: Option<Duration>,
    /// Directory for the page
    #[arg(long, value_name = "DIR", default_value = "out/demo")]
    out: PathBuf,
    /// Print the finding as JSON
    #[arg(long)]
    json: bool,
    /// Seed of all random draws [default: 1]
    #[arg(long, value_name = "NUMBER")]
    seed: Option<Seed>,
}

pub(crate) fn run(args: &Args) -> Result {
    let demo = Demo {
        program: std::env::current_exe()?,
        file: args.file.clone(),
        ber: args.ber.or(Probability::new(DEFAULT_BER)).unwrap_or(Probability::ZERO),
        seed: args.seed.unwrap_or(DEFAULT_SEED),
        limit: args.limit.map(Into::into),
    };
    make(&args.out)?;
    let bar = progress::spinner()?;
    let finding = demo.run(&|message| {
        bar.set_message(message.to_owned());
        bar.tick();
    })?;
    // Whoever brings a file asks for that alone.
    let show_pictures = args.file.is_none() && !args.json;
    let pictures = show_pictures.then(|| {
        demo.pictures(&args.out, &|message| {
            bar.set_message(message.to_owned());
            bar.tick();
        })
    });
    let pictures = pictures.transpose()?;
    bar.finish_and_clear();
    let findings = [finding];
    write_all(&args.out, &page::render("Windfall: a demonstration", &findings), &findings)?;
    if args.json {
        let json = as_json(findings.iter().map(Finding::to_json), &args.out);
        std::io::stdout().write_all(json.as_bytes())?;
    } else {
        if let Some((table, notes)) = pictures {
            let page = args.out.join("pictures.html");
            writeln!(std::io::stdout(), "{}\n{notes}\n\n{}\n", table.to_text(), page.display())?;
        }
        show(&findings[0], args)?;
    }
    Ok(if findings[0].is_as_recorded() { Completion::Success } else { Completion::Negative })
}

/// Reads a time above zero: curl takes 0 for no limit.
fn positive_time(text: &str) -> core::result::Result<Duration, String> {
    let time = with_unit(text)?;
    match time {
        Duration::ZERO => Err("a transfer takes longer than that: write a time such as 10s".into()),
        time => Ok(time),
    }
}

fn show(finding: &Finding, args: &Args) -> Result<()> {
    let mut out = std::io::stdout().lock();
    for (_, table) in &finding.tables {
        writeln!(out, "{}", table.to_text())?;
    }
    for claim in &finding.claims {
        let verdict = match claim.verdict() {
            Verdict::Reproduced => String::new(),
            verdict => format!(" [{verdict}]"),
        };
        writeln!(out, "{}: {}{verdict}", claim.statement, claim.measured())?;
    }
    writeln!(out, "\nTo repeat all of it: {}", finding.provenance.command)?;
    Ok(writeln!(out, "{}", args.out.join("index.html").display())?)
}
