//! Section 4.3 with a web server: `windfall serve` and `windfall get` in the office, in real time.

pub(crate) mod fig5;
pub(crate) mod table1;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use windfall_base::{Seed, Stream};
use windfall_experiment::{Context, ExperimentError, Extent, Scratch};
use windfall_live::end_with_this_process;

use super::bulk::{DISTANCES, TABLE, Times};
use super::office;

/// A way of a body from the server to the client.
pub(super) struct Way {
    pub(super) name: &'static str,
    /// The options of `windfall get`.
    options: &'static str,
}

/// The ways in the order of [`super::bulk::PROTOCOLS`].
pub(super) const WAYS: [Way; 3] = [
    Way { name: "SAP, approximate", options: "--approx */* --profile paper" },
    Way { name: "TCP", options: "" },
    Way { name: "SAP, precise", options: "--force-precise --profile paper" },
];
/// The indexes of the ways in the order of the paper's requests.
const ORDER: [usize; 3] = [1, 2, 0];
/// The mutation of these figures.
pub(super) const MUTATION: &str = "approximate bodies are asked for as precise ones";
/// The attempts at a run that a busy machine ends early.
const ATTEMPTS: usize = 3;
/// The seconds after which a request is given up.
const PATIENCE: u32 = 60;

/// Asks twice by the cable for what warms the server's cache, and then `$3` times by the radio,
/// with a pause of `$4` seconds after each.
const REQUESTS: &str = "set -f
    for i in 1 2; do $1 get -o warm $6 >warm.log || exit; done
    for i in $(seq $3); do
        timeout $7 $1 get --json $2 -o arrived $5 || echo '{\"url\": null}'
        sleep $4
    done";

/// Requests by one way, one after the other.
struct Requests<'a> {
    program: &'a Path,
    way: &'a Way,
    metres: f64,
    mbps: u64,
    series: Series,
    seed: Seed,
}

/// A request and its reply.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fetch {
    /// Seconds until the body was there; infinity if it never was.
    pub(super) seconds: f64,
    /// The share of bytes that are suspect or missing.
    pub(super) damaged: f64,
    /// The body came over SAP.
    pub(super) is_over_sap: bool,
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
    /// Makes the requests; returns what came of each.
    fn run(&self) -> Result<Vec<Fetch>, ExperimentError> {
        let folder = Scratch::new()?;
        let file = |name: &str, bytes: &[u8]| {
            let path = folder.0.join(name);
            fs::write(&path, bytes).map_err(|source| ExperimentError::File { path, source })
        };
        file("office.toml", scenario(self.metres, self.mbps).as_bytes())?;
        let site = folder.0.join("site");
        fs::create_dir(&site)
            .map_err(|source| ExperimentError::File { path: site.clone(), source })?;
        file("site/random", &random(self.series.bytes, self.seed))?;
        let program = self.program.display();
        let mut command = Command::new(self.program);
        command.current_dir(&folder.0);
        command.args(["run", "--json", "--scenario", "office.toml", "--wait-port", "8080"]);
        command.args(["--sysctl", "net.ipv4.tcp_congestion_control=cubic"]);
        command.args(["--seed", &self.seed.to_string(), "--far"]);
        // A program waits for its radio: the device has room for a file.
        command.arg(format!(
            "ip link set dev wf0 txqueuelen 4000; exec {program} serve -q --profile paper site"
        ));
        command.args(["--", "sh", "-c", REQUESTS, "sh"]).arg(self.program).arg(self.way.options);
        command.args([self.series.count.to_string(), self.series.pause.to_string()]);
        command.args(["http://10.77.0.1:8080/random", "http://10.77.0.34:8080/random"]);
        command.arg(PATIENCE.to_string());
        let shown = format!("{command:?}").replace('"', "");
        let output = end_with_this_process(&mut command).stdin(Stdio::null()).output();
        let output =
            output.map_err(|source| ExperimentError::Start { command: shown.clone(), source })?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let fetches: Vec<Fetch> = said.lines().filter_map(Fetch::read).collect();
        if output.status.success() && fetches.len() == self.series.count {
            return Ok(fetches);
        }
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        let message = told.lines().last().unwrap_or("it said nothing").to_owned();
        Err(ExperimentError::Run { command: shown, message })
    }

    /// Makes them again with the same seed if a run does not come to its end.
    fn run_patiently(&self) -> Result<Vec<Fetch>, ExperimentError> {
        (1..ATTEMPTS).fold(self.run(), |result, _| result.or_else(|_| self.run()))
    }
}

impl Fetch {
    /// Reads the report of `windfall get`; that of a request that failed names no address.
    fn read(line: &str) -> Option<Self> {
        let report: Value = serde_json::from_str(line).ok()?;
        if report.get("url")?.is_null() {
            let seconds = f64::INFINITY;
            return Some(Self { seconds, damaged: f64::NAN, is_over_sap: false });
        }
        let number = |name: &str| report[name].as_f64();
        let damaged = number("suspect").zip(number("missing")).map_or(0.0, |(a, b)| a + b);
        let is_over_sap = report["over"] == "sap";
        Some(Self { seconds: number("seconds")?, damaged: damaged / number("bytes")?, is_over_sap })
    }
}

/// Returns the paper's “randomized binary file”.
fn random(bytes: usize, seed: Seed) -> Vec<u8> {
    let mut stream = Stream::new(seed, "file");
    (0..bytes.div_ceil(8)).flat_map(|_| stream.bits().to_be_bytes()).take(bytes).collect()
}

/// The length of the file of Table 1 and Figure 5, and how often it is asked for at each distance
/// in how many runs.
struct Workload {
    bytes: usize,
    runs: usize,
    /// Requests of each run by each way, and beyond the paper's distances.
    requests: [usize; 2],
    pause: f64,
}

const fn workload(extent: Extent) -> Workload {
    match extent {
        Extent::Quick => Workload { bytes: 200_000, runs: 1, requests: [1; 2], pause: 0.0 },
        Extent::Paper => Workload { bytes: 2_000_000, runs: 20, requests: [5, 1], pause: 1.0 },
        Extent::Full => Workload { bytes: 2_000_000, runs: 40, requests: [10, 2], pause: 1.0 },
    }
}

/// The requests at all distances.
pub(super) struct Measured {
    /// The replies of all runs by way and then by distance.
    fetches: Vec<Vec<Vec<Fetch>>>,
}

impl Measured {
    /// Returns the seconds in the shape of the simulated figures: the first requests of all, then
    /// the second ones, and so on; NaN where there were fewer.
    pub(super) fn times(&self) -> Vec<Times> {
        let most = self.fetches.iter().flatten().map(Vec::len).max().unwrap_or(0);
        let seconds = |fetches: &Vec<Fetch>, request: usize| {
            fetches.get(request).map_or(f64::NAN, |fetch| fetch.seconds)
        };
        let of = |request: usize| -> Times {
            let row = |way: &Vec<Vec<Fetch>>| way.iter().map(|it| seconds(it, request)).collect();
            self.fetches.iter().map(row).collect()
        };
        (0..most).map(of).collect()
    }

    /// Returns the replies by a way at a distance, both by their index.
    pub(super) fn at(&self, way: usize, at: usize) -> &[Fetch] {
        &self.fetches[way][at]
    }

    /// Asks for the file at all distances; the same for all figures of a process.
    pub(super) fn of(context: &Context<'_>) -> Result<Arc<Self>, ExperimentError> {
        type Known = BTreeMap<(u64, String, bool), Arc<Measured>>;
        static KNOWN: Mutex<Known> = Mutex::new(BTreeMap::new());
        let key = (context.seed.0, context.extent.to_string(), context.is_mutated);
        // Two figures at the same time measure one after the other.
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(measured) = known.get(&key) {
            return Ok(Arc::clone(measured));
        }
        let measured = Arc::new(Self::measure(context)?);
        known.insert(key, Arc::clone(&measured));
        Ok(measured)
    }

    fn measure(context: &Context<'_>) -> Result<Self, ExperimentError> {
        let load = workload(context.extent);
        let runs = context.replicate(load.runs, |seed| -> Result<_, ExperimentError> {
            let mut fetches = vec![vec![Vec::new(); DISTANCES.len()]; WAYS.len()];
            for (at, &metres) in DISTANCES.iter().enumerate() {
                for way in ORDER {
                    let beyond = at >= TABLE.len();
                    let count = load.requests[usize::from(beyond)];
                    let series = Series { bytes: load.bytes, count, pause: load.pause };
                    fetches[way][at] = fetch(context, way, (metres, 54), series, seed)?;
                }
            }
            Ok(fetches)
        });
        let mut fetches = vec![vec![Vec::new(); DISTANCES.len()]; WAYS.len()];
        for run in runs {
            for (all, way) in fetches.iter_mut().zip(run?) {
                all.iter_mut().zip(way).for_each(|(all, one)| all.extend(one));
            }
        }
        Ok(Self { fetches })
    }
}

/// A file and how often it is asked for.
#[derive(Clone, Copy)]
struct Series {
    bytes: usize,
    count: usize,
    /// Seconds from the end of a request to the next one.
    pause: f64,
}

/// Asks for a file by a way, at a distance and a rate; the mutation makes approximate ways precise.
fn fetch(
    context: &Context<'_>,
    way: usize,
    (metres, mbps): (f64, u64),
    series: Series,
    seed: Seed,
) -> Result<Vec<Fetch>, ExperimentError> {
    (context.progress)(&format!("{metres} m, {mbps} Mb/s, {}", WAYS[way].name));
    let precise = Way { options: "--force-precise --profile paper", ..WAYS[way] };
    let is_broken = context.is_mutated && WAYS[way].options.contains("approx");
    let way = if is_broken { &precise } else { &WAYS[way] };
    Requests { program: &context.program, way, metres, mbps, series, seed }.run_patiently()
}

/// The conditions that both figures have in common.
pub(super) fn method(extent: Extent) -> String {
    let Workload { bytes, runs, requests: [paper, beyond], pause } = workload(extent);
    format!(
        "A file of {:.1} MB, random bytes, from windfall serve to windfall get in two network \
         namespaces over windfall run: real sockets and the kernel's TCP (CUBIC), in real time. At \
         each distance up to 10 m {runs} runs of {paper} requests over TCP, then for precise SAP, \
         then for approximate SAP, in the paper's profile, a pause of {pause} s after each; at \
         12.2 m {beyond} by each way. Two requests by \
         the cable come first, so that the file is in the server's cache. The time is that of the \
         client, from before it connects until the file is there. The paper's harness takes the \
         end of the request as the beginning, and the sender's FIN as the end. Both stations send \
         at 54 Mb/s, packets of 1500 bytes. A request without a reply after {PATIENCE} s counts as \
         infinitely long. {}",
        bytes as f64 / 1e6,
        office::DESCRIPTION
    )
}
