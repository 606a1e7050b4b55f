//! `windfall links`: the links that have names.

use std::io::Write;

use windfall_base::{Duration, Rate};
use windfall_scenario::{NamedLink, named_link, named_links};

use crate::exit::{CliError, Completion, Result};
use crate::json;

/// List the links that have names, such as wpt-lte, or show one
#[derive(Debug, clap::Args)]
#[command(after_help = "Use a link with --like NAME in run, up and sweep --run.")]
pub(crate) struct Args {
    /// Show this link: its source, what it leaves out, and its scenario
    name: Option<String>,
    /// Print the links as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result {
    let named = |name: &String| named_link(name).map_err(CliError::usage);
    let shown = args.name.as_ref().map(named).transpose()?;
    let mut out = std::io::stdout().lock();
    if args.json {
        let links = shown.map_or(named_links(), std::slice::from_ref);
        let links: Vec<_> = links.iter().map(in_json).collect();
        let text = json::line(json::LINKS, serde_json::json!({ "links": links }));
        out.write_all(text.as_bytes())?;
        return Ok(Completion::Success);
    }
    match shown {
        Some(link) => write!(out, "{}", one(link))?,
        None => {
            writeln!(out, "{}", row(["name", "round trip", "down", "up", "models"]))?;
            for link in named_links() {
                let cells = [rtt(link), rate(link.figures.down), rate(link.figures.up)];
                let [rtt, down, up] = cells.each_ref().map(String::as_str);
                writeln!(out, "{}", row([&link.name, rtt, down, up, &link.title]))?;
            }
        }
    }
    Ok(Completion::Success)
}

fn in_json(link: &NamedLink) -> serde_json::Value {
    let figures = &link.figures;
    serde_json::json!({
        "name": link.name,
        "title": link.title,
        "source": link.source,
        "lacks": link.lacks,
        "rtt_seconds": figures.rtt.map(Duration::as_secs_f64),
        "rtt_min_seconds": figures.least_rtt.map(Duration::as_secs_f64),
        "rtt_max_seconds": figures.most_rtt.map(Duration::as_secs_f64),
        "down_bps": figures.down.map(Rate::as_bps),
        "up_bps": figures.up.map(Rate::as_bps),
        "scenario": link.scenario(),
    })
}

fn row([name, rtt, down, up, title]: [&str; 5]) -> String {
    format!("{name:<18} {rtt:>10} {down:>13} {up:>10}  {title}")
}

fn rtt(link: &NamedLink) -> String {
    link.figures.rtt.map_or_else(String::new, milliseconds)
}

fn milliseconds(time: Duration) -> String {
    format!("{} ms", time.as_secs_f64() * 1e3)
}

fn rate(rate: Option<Rate>) -> String {
    let Some(bps) = rate.map(|rate| rate.as_bps() as f64) else { return String::new() };
    match bps {
        1e6.. => format!("{} Mb/s", bps / 1e6),
        1e3.. => format!("{} kb/s", bps / 1e3),
        _ => format!("{bps} b/s"),
    }
}

/// Returns the text about one link.
fn one(link: &NamedLink) -> String {
    let NamedLink { name, title, source, lacks, figures, .. } = link;
    let rtt = match (figures.least_rtt, figures.most_rtt, figures.rtt) {
        (Some(least), Some(most), _) => {
            format!("{} to {}", milliseconds(least), milliseconds(most))
        }
        (_, _, Some(rtt)) => milliseconds(rtt),
        _ => "no figure".to_owned(),
    };
    let down = rate(figures.down);
    let up = rate(figures.up);
    let scenario = link.scenario();
    format!(
        "{name}: {title}\n\
         source:     {source}\n\
         lacks:      {lacks}\n\
         round trip: {rtt}\n\
         down, up:   {down}, {up}\n\n\
         {scenario}"
    )
}
