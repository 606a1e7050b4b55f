//! `windfall camera compare`: the stream across `windfall run`, once by each scheme.

use std::io::Write as _;
use std::path::PathBuf;

use windfall_base::Duration;
use windfall_papers::experiment::page;
use windfall_papers::video::comparison::{CameraComparison, CameraScheme};
use windfall_scenario::{RunSettings, Settings as _};

use super::StreamOptions;
use crate::exit::{CliError, Completion, Result};
use crate::options::LinkOptions;
use crate::record::command_line;
use crate::reproduce::{make, write_all};
use crate::times::with_unit;
use crate::usage::whole;
use crate::{VERSION, json, progress};

/// The time without another datagram after which a stream is over, beside the delay of the link.
const WAIT: Duration = Duration::from_secs(1);

/// Compare schemes of error control in a table and a page
///
/// Each scheme sends the same stream across a `windfall run` of its own.
#[derive(Debug, clap::Args)]
#[command(after_help = "Exit codes: 0 every stream was sent, 1 one could not be.")]
pub(crate) struct Args {
    /// Scheme to compare: none, arq, combine, increments, coded, joint, blocks, window,
    /// blocks-damaged, bare or sap. 'mine=udplite --fec 4/8' defines your own scheme. Repeat the
    /// option for more schemes [default: all that the link supports]
    #[arg(long = "scheme", value_name = "SCHEME", value_parser = CameraScheme::parse,
          help_heading = "Comparison")]
    schemes: Vec<CameraScheme>,
    /// Number of seeds, 1 to 1000. They count up from the seed of the run
    #[arg(long, value_name = "NUMBER", default_value_t = 1, help_heading = "Comparison",
          value_parser = whole(1..=1_000_u32))]
    seeds: u32,
    /// Age at which a datagram becomes useless
    #[arg(long, value_name = "TIME", default_value = "100ms", help_heading = "Comparison",
          value_parser = with_unit)]
    deadline: Duration,
    /// Time without a datagram, after the last picture, that ends the stream [default: 1 s more
    /// than the delay of the link]
    #[arg(long, value_name = "TIME", help_heading = "Comparison", value_parser = with_unit)]
    wait: Option<Duration>,
    /// Directory for the page, charts and values
    #[arg(long, value_name = "DIR", default_value = "out/camera", help_heading = "Comparison")]
    out: PathBuf,
    /// Start from this scenario file. It needs two stations, near and far
    #[arg(long, value_name = "FILE", help_heading = "Scenario")]
    scenario: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long, help_heading = "Comparison")]
    json: bool,
    #[command(flatten)]
    stream: StreamOptions,
    #[command(flatten)]
    link: LinkOptions,
}

pub(crate) fn run(args: &Args) -> Result {
    CameraScheme::tell_apart(&args.schemes).map_err(CliError::usage)?;
    let loaded = args.link.load(args.scenario.as_deref(), &RunSettings::unset())?;
    let scenario = loaded.base()?;
    if args.link.generate {
        std::io::stdout().write_all(scenario.as_bytes())?;
        return Ok(Completion::Success);
    }
    let all = if args.schemes.is_empty() { CameraScheme::all() } else { args.schemes.clone() };
    let comparison = CameraComparison {
        program: std::env::current_exe()?,
        scenario,
        plan: args.stream.plan()?,
        deadline: args.deadline,
        wait: args.wait.unwrap_or_else(|| loaded.delay().saturating_add(WAIT)),
        schemes: all,
        seeds: (loaded.seed(), args.seeds),
        command: command_line(),
        version: VERSION.to_owned(),
    };
    make(&args.out)?;
    let bar = progress::spinner()?;
    let compared = comparison.run(&|message| {
        bar.set_message(message.to_owned());
        bar.tick();
    })?;
    bar.finish_and_clear();
    let findings = [compared.finding()];
    let title = "Windfall: a camera's stream by scheme of error control";
    write_all(&args.out, &page::render(title, &findings), &findings)?;
    let page = args.out.join("index.html").display().to_string();
    let mut value = compared.to_json();
    let table = compared.table().to_text();
    value["page"] = page.as_str().into();
    json::print(args.json, json::CAMERA_COMPARISON, value, &format!("{table}\n{page}\n"))?;
    Ok(Completion::Success)
}
