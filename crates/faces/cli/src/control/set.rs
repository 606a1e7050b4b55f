//! `windfall set`: changes a link while it runs.

use std::io::Write as _;

use serde_json::{Map, Value};
use windfall_base::text::visible;
use windfall_control::protocol::Changed;
use windfall_control::{ControlClient, request};
use windfall_scenario::Change;

use crate::exit::{CliError, Completion, Result};

/// Change a link while it runs
///
/// Prints the run, the time and the change.
///
/// The settings are those of `windfall run --change`. Either all of them take effect, or none. A
/// setting after the word `uplink` or `downlink` changes only that direction.
///
/// `fault="far:80 reset 1s"` sets the faults of connections to a port, as `--fault` does.
/// `fault="far:80 none"` clears them. The faults are down, reset, timeout TIME, slow-close TIME,
/// slice BYTES, limit BYTES, delay TIME and rate RATE. A time may follow reset and slice.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Name of the run, if several are active, and the new settings as SETTING=VALUE
    #[arg(required = true, value_name = "[RUN] [uplink|downlink] SETTING=VALUE")]
    words: Vec<String>,
    /// Print the answer as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result {
    let first = args.words.first().map(String::as_str);
    let is_name = |word: &&str| !word.contains('=') && !["uplink", "downlink"].contains(word);
    let name = first.filter(is_name);
    let words: Vec<String> = args
        .words
        .iter()
        .skip(usize::from(name.is_some()))
        .map(|word| request::placed(word))
        .collect();
    for (name, value) in words.iter().filter_map(|word| word.split_once('=')) {
        let refused = |advice| CliError::usage(format!("{name}={value}: {advice}"));
        Change::check_units(name, value).map_err(refused)?;
    }
    let request = request::of_words(words.iter().map(String::as_str)).map_err(CliError::usage)?;
    let mut client = ControlClient::connect(name).map_err(CliError::from)?;
    let heard = client.change(&request).map_err(|error| CliError::from(error).into_usage())?;
    if args.json {
        println!("{}", heard.json);
    } else {
        let Changed { at, change, .. } = &heard.answer;
        let text = format!("{}, at {at:.3} s: {}", client.name(), words_of(change, ""));
        // A reader that went away is no trouble: the change is made.
        let _ = writeln!(std::io::stdout(), "{}", visible(&text));
    }
    Ok(Completion::Success)
}

/// Returns the words of a change, behind that of its direction.
fn words_of(change: &Map<String, Value>, side: &str) -> String {
    let clause = |(name, value): (&String, &Value)| match value {
        Value::Object(own) => words_of(own, &format!("{name} ")),
        Value::String(text) => format!("{side}{name} {text}"),
        other => format!("{side}{name} {other}"),
    };
    let all = change.iter().filter(|(name, _)| *name != "at");
    all.map(clause).collect::<Vec<_>>().join(", ")
}
