//! `windfall tcp settings`: each setting, its value and its range.

use std::io::Write;

use windfall_scenario::TcpSettings;

use crate::exit::{Completion, Result};
use crate::json;

/// List the settings of Windfall's TCP with their values
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Preset, and the settings that differ from it
    #[arg(default_value = "cubic")]
    settings: String,
    /// Print the settings as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result {
    let settings: TcpSettings = args.settings.parse()?;
    let mut out = std::io::stdout().lock();
    if args.json {
        let values =
            settings.values().map(|(setting, value)| (setting.name.to_owned(), value.into()));
        let values: serde_json::Map<_, serde_json::Value> = values.collect();
        let report = serde_json::json!({ "tcp": settings.to_string(), "settings": values });
        out.write_all(json::line(json::TCP_SETTINGS, report).as_bytes())?;
        return Ok(Completion::Success);
    }
    writeln!(out, "{settings}\n")?;
    for (setting, value) in settings.values() {
        writeln!(out, "{:17} {value:22} {}", setting.name, setting.help)?;
        writeln!(out, "{:40} {}", "", setting.legal())?;
    }
    Ok(Completion::Success)
}
