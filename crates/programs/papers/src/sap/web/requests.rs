//! Requests of a file by one way, one after the other, in one run of the office.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use windfall_base::{Seed, Stream};
use windfall_energy::Card;
use windfall_live::end_with_this_process;
use windfall_mac::wifi::radio::State;

use super::super::office;
use crate::experiment::{ExperimentError, Scratch};

/// A way of a body from the server to the client.
pub(crate) struct Way {
    pub(crate) name: &'static str,
    /// The options with which `windfall get` asks for it.
    pub(super) options: &'static str,
    /// The profile of SAP at both ends.
    pub(super) profile: &'static str,
}

/// The attempts at a run that a busy machine ends early.
const ATTEMPTS: usize = 3;
/// The seconds after which a request is given up.
pub(super) const PATIENCE: u32 = 60;

/// Asks twice by the cable for what warms the server's cache, and then `$3` times by the radio,
/// with a pause of `$4` seconds after each.
const REQUESTS: &str = "set -f
    for i in 1 2; do $1 get -o warm $6 >warm.log || exit; done
    for i in $(seq $3); do
        timeout $7 $1 get --json $2 -o arrived $5 || echo '{\"url\": null}'
        sleep $4
    done";

/// A file, where it is asked for, and how often.
pub(super) struct Requests<'a> {
    pub(super) program: &'a Path,
    pub(super) way: &'a Way,
    pub(super) metres: f64,
    pub(super) mbps: u64,
    pub(super) bytes: usize,
    pub(super) count: usize,
    /// Seconds from the end of a request to the next one.
    pub(super) pause: f64,
    pub(super) seed: Seed,
}

/// A request and its reply.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fetch {
    /// Seconds until the body was there; infinity if it never was.
    pub(crate) seconds: f64,
    /// The share of bytes that are suspect or missing.
    pub(crate) damaged: f64,
    /// The body came over SAP.
    pub(crate) is_over_sap: bool,
    /// Joules of the radios of both stations in these seconds, by the currents of paper 002's card.
    pub(crate) joules: f64,
}

//= S0.44
/// Writes the office for two programs: the server stands where the moving station is, and the
/// client is its peer on the radio and on the cable.
fn scenario(metres: f64, mbps: u64) -> String {
    let (stations, rest) = office::SCENARIO.split_once("# The streamer").expect("there is one");
    let others = rest.split_once("# What the others send").expect("they do").1;
    let (_, others) = others.split_once('\n').expect("there are lines");
    let stations = stations
        .replace("duration = \"5s\"\n", "")
        .replace("\"moving\"", "\"far\"")
        .replace("\"fixed\"", "\"near\"")
        .replace("[12.2, 0.0]", &format!("[{metres:?}, 0.0]"))
        // The packets of the paper's TCP.
        .replace("mtu = 2296", "mtu = 1500")
        // A program that sends waits for its radio, and loses nothing before it.
        .replace("queue = 64", "queue = 2500")
        .replace("\"24Mbps\"", &format!("\"{mbps}Mbps\""))
        .replace("\"54Mbps\"", &format!("\"{mbps}Mbps\""));
    stations + others
}

impl Requests<'_> {
    /// Makes the requests again with the same seed if a run does not come to its end; returns what
    /// came of each.
    pub(super) fn run(&self) -> Result<Vec<Fetch>, ExperimentError> {
        (1..ATTEMPTS).fold(self.attempt(), |result, _| result.or_else(|_| self.attempt()))
    }

    fn attempt(&self) -> Result<Vec<Fetch>, ExperimentError> {
        let folder = Scratch::new()?;
        let file = |name: &str, bytes: &[u8]| {
            let path = folder.0.join(name);
            fs::write(&path, bytes).map_err(|source| ExperimentError::File { path, source })
        };
        file("office.toml", scenario(self.metres, self.mbps).as_bytes())?;
        let site = folder.0.join("site");
        fs::create_dir(&site)
            .map_err(|source| ExperimentError::File { path: site.clone(), source })?;
        file("site/random", &random(self.bytes, self.seed))?;
        let mut command = self.command();
        command.current_dir(&folder.0);
        let shown = format!("{command:?}").replace('"', "");
        let output = end_with_this_process(&mut command).stdin(Stdio::null()).output();
        let output =
            output.map_err(|source| ExperimentError::Start { command: shown.clone(), source })?;
        let [said, told] = [&output.stdout, &output.stderr].map(|it| String::from_utf8_lossy(it));
        let fetches = read(&said, &told);
        if output.status.success() && fetches.len() == self.count {
            return Ok(fetches);
        }
        let message = told.lines().last().unwrap_or("it said nothing").to_owned();
        Err(ExperimentError::Run { command: shown, message })
    }

    fn command(&self) -> Command {
        let program = self.program.display();
        let Way { options, profile, .. } = self.way;
        let mut command = Command::new(self.program);
        command.args(["run", "--json", "--scenario", "office.toml", "--wait-port", "8080"]);
        command.args(["--sysctl", "net.ipv4.tcp_congestion_control=cubic"]);
        command.args(["--seed", &self.seed.to_string(), "--far"]);
        command.arg(format!("exec {program} serve -q --profile {profile} site"));
        command.args(["--", "sh", "-c", REQUESTS, "sh"]).arg(self.program);
        command.arg(format!("--profile {profile} {options}"));
        command.args([self.count.to_string(), self.pause.to_string()]);
        command.args(["http://10.77.0.1:8080/random", "http://10.77.0.34:8080/random"]);
        command.arg(PATIENCE.to_string());
        command
    }
}

/// Reads the reports of `windfall get`, and the summary of `windfall run`.
fn read(reports: &str, summary: &str) -> Vec<Fetch> {
    let values = |text: &str| -> Vec<Value> {
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    };
    let mut fetches: Vec<Fetch> = values(reports).iter().filter_map(Fetch::read).collect();
    let sent = values(summary).iter().find_map(transmit_seconds).unwrap_or(f64::NAN);
    let card = Card::WAVELAN;
    let [listen, transmit] = [State::Listen, State::Transmit].map(|state| card.watts(state));
    // Only what both send is the file's: they listen to the office all the time.
    let more = (transmit - listen) * sent / fetches.len() as f64;
    for fetch in &mut fetches {
        fetch.joules = 2.0 * listen * fetch.seconds + more;
    }
    fetches
}

/// Returns how long the radios of both stations sent, by the summary of a run.
fn transmit_seconds(summary: &Value) -> Option<f64> {
    let links = summary.get("links")?.as_array()?.iter();
    let is_ours = |link: &&Value| {
        let name = link["name"].as_str().unwrap_or("");
        link["radio"].is_object() && (name.ends_with("/near") || name.ends_with("/far"))
    };
    let of = |link: &Value| link["radio"]["seconds"]["transmit"].as_f64().unwrap_or(0.0);
    Some(links.filter(is_ours).map(of).sum())
}

impl Fetch {
    /// Reads the report of `windfall get`; that of a request that failed names no address.
    fn read(report: &Value) -> Option<Self> {
        if report.get("url")?.is_null() {
            let seconds = f64::INFINITY;
            return Some(Self { seconds, damaged: f64::NAN, is_over_sap: false, joules: f64::NAN });
        }
        let number = |name: &str| report[name].as_f64();
        let damaged = number("suspect").zip(number("missing")).map_or(0.0, |(a, b)| a + b);
        Some(Self {
            seconds: number("seconds")?,
            damaged: damaged / number("bytes")?,
            is_over_sap: report["over"] == "sap",
            joules: f64::NAN,
        })
    }
}

/// Returns the paper's “randomized binary file”.
fn random(bytes: usize, seed: Seed) -> Vec<u8> {
    let mut stream = Stream::new(seed, "file");
    (0..bytes.div_ceil(8)).flat_map(|_| stream.bits().to_be_bytes()).take(bytes).collect()
}
