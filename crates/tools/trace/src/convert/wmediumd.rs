//! Configurations of wmediumd: stations, and between each two of them the probability of an error
//! or the ratio of signal to noise.

mod config;

use windfall_base::{MemoryBudget, Probability, Rate, Seed};
use windfall_channel::{AirConfig, Model};
use windfall_files::traces::ErrorTrace;
use windfall_files::traces::error_trace::{TraceHeader, Unit};

use self::config::{Group, Value};
use super::{ConvertError, success_of};
use crate::synthesize_frames;

/// The ratio of paths that the file leaves unset, in dB.
const DEFAULT_SNR: f64 = 30.0;
/// The part of the memory that the text may take: its values take more than itself.
const TREE_PART: usize = 32;
/// More stations than any medium has.
const MAX_STATIONS: usize = 4096;

/// The settings of a configuration that are used.
const KNOWN: [&str; 6] = [
    "ifaces.count",
    "ifaces.ids",
    "ifaces.links",
    "model.type",
    "model.default_prob",
    "model.links",
];

/// The frames that a trace is made of, which a configuration does not say.
#[derive(Clone, Debug, PartialEq)]
pub struct MediumFrames {
    /// The sender and the receiver: numbers from 0, or MAC addresses.
    pub path: (String, String),
    /// The number of frames.
    pub count: u64,
    /// Their length in bytes, where the ratio of signal to noise decides.
    pub length: u32,
    /// Their rate, one of 802.11b/g, where the ratio of signal to noise decides.
    pub rate: Rate,
    /// The seed of what is drawn.
    pub seed: Seed,
}

/// Draws the trace of one path from a configuration of wmediumd.
///
/// Takes from `budget` the memory that the trace keeps. A link that is listed in one direction
/// alone counts for both, as in wmediumd. A ratio of signal to noise becomes a probability by the
/// formulas of `windfall_phy`, not by those of wmediumd.
///
/// # Errors
/// If the text is no such configuration, has no such station, or computes its links from positions;
/// or the memory does not suffice.
pub fn from_wmediumd(
    text: &str,
    frames: &MediumFrames,
    budget: &mut MemoryBudget,
) -> Result<ErrorTrace, ConvertError> {
    budget.check(text.len().saturating_mul(TREE_PART))?;
    let medium = Medium::read(&Group::parse(text)?)?;
    let from = medium.station(&frames.path.0)?;
    let to = medium.station(&frames.path.1)?;
    if from == to {
        return Err(whole("a path leads from one station to another: name two".to_owned()));
    }
    let probability = medium.error_probability(from, to, frames)?;
    let probability = Probability::new(probability)
        .ok_or_else(|| whole(format!("{probability} is no probability of an error")))?;
    let model = AirConfig::of(Model::Loss(probability));
    let workload = format!(
        "converted from a configuration of wmediumd, {} to {}, error probability {probability}",
        medium.stations[from], medium.stations[to]
    );
    let trace = synthesize_frames(&model, frames.seed, frames.count, frames.length, &workload);
    let rate = (!medium.is_prob).then_some(frames.rate);
    let header = TraceHeader { unit: Unit::Frame, rate, ..trace.header().clone() };
    let trace = trace.with_header(header);
    budget.take(trace.memory())?;
    Ok(trace)
}

fn whole(message: String) -> ConvertError {
    ConvertError::Whole(message)
}

/// Refuses settings that would change the frames and are not known here.
fn refuse_unknown(file: &Group) -> Result<(), ConvertError> {
    // Both are off at 0, the value that wmediumd has without them.
    let is_off = |path: &str| {
        ["ifaces.enable_interference", "model.fading_coefficient"].contains(&path)
            && file.get(path) == Some(&Value::Number(0.0))
    };
    let unknown = file.paths().into_iter().find(|it| !KNOWN.contains(&&**it) && !is_off(it));
    unknown.map_or(Ok(()), |path| {
        let known = KNOWN.join(", ");
        Err(whole(format!(
            "{path} is not used here, and may change what is lost: remove it; used are {known}"
        )))
    })
}

/// The stations of a medium and what is said of the paths between them.
#[derive(Debug)]
struct Medium {
    stations: Vec<String>,
    /// Paths have probabilities of an error; otherwise ratios of signal to noise, in dB.
    is_prob: bool,
    /// The value of paths that are not listed.
    default: f64,
    /// From, to, and the value of the path.
    paths: Vec<(usize, usize, f64)>,
}

impl Medium {
    fn read(file: &Group) -> Result<Self, ConvertError> {
        let Some(Value::List(ids)) = file.get("ifaces.ids") else {
            let fix = "the file has no ifaces.ids: write ifaces : { ids = [\"MAC\", …]; };";
            return Err(whole(fix.to_owned()));
        };
        let id = |value: &Value| match value {
            Value::Text(text) => Ok(text.to_ascii_lowercase()),
            other => Err(whole(format!("{other} in ifaces.ids is no text"))),
        };
        let stations = ids.iter().map(id).collect::<Result<Vec<_>, _>>()?;
        if stations.len() > MAX_STATIONS {
            return Err(whole(format!("more than {MAX_STATIONS} stations")));
        }
        let count = Value::Number(stations.len() as f64);
        if let Some(said) = file.get("ifaces.count").filter(|said| **said != count) {
            let fix = "remove it, or list as many";
            return Err(whole(format!(
                "ifaces.count is {said}, and ifaces.ids has {count}: {fix}"
            )));
        }
        // As in wmediumd, links of ifaces are ratios, and a model counts only without them.
        let of_ifaces = file.get("ifaces.links");
        let kind = match file.get("model.type").filter(|_| of_ifaces.is_none()) {
            None => "snr",
            Some(Value::Text(kind)) => kind.as_str(),
            Some(other) => return Err(whole(format!("model.type {other} is no text"))),
        };
        let is_prob = match kind {
            "snr" => false,
            "prob" => true,
            "path_loss" => {
                let fix = "model.type \"path_loss\" computes links from positions: make a scenario \
                           of kind wifi-g with radio.position, or list the links as snr or prob";
                return Err(whole(fix.to_owned()));
            }
            other => return Err(whole(format!("model.type {other:?} is neither snr nor prob"))),
        };
        refuse_unknown(file)?;
        let default = match file.get("model.default_prob").filter(|_| is_prob) {
            Some(Value::Number(number)) => *number,
            _ if is_prob => 0.0,
            _ => DEFAULT_SNR,
        };
        let mut medium = Self { stations, is_prob, default, paths: Vec::new() };
        match of_ifaces.or_else(|| file.get("model.links")) {
            None => {}
            Some(Value::List(links)) => {
                let paths = links.iter().map(|link| medium.path(link));
                medium.paths = paths.collect::<Result<_, _>>()?;
            }
            Some(_) => return Err(whole("links are no list: write ( (0, 1, 0.1) )".to_owned())),
        }
        Ok(medium)
    }

    fn path(&self, link: &Value) -> Result<(usize, usize, f64), ConvertError> {
        let count = self.stations.len() as f64;
        let index = |number: f64| {
            (number >= 0.0 && number < count && number.fract() == 0.0).then_some(number as usize)
        };
        let read = match link {
            Value::List(parts) => match parts[..] {
                [Value::Number(from), Value::Number(to), Value::Number(value)] => {
                    index(from).zip(index(to)).map(|(from, to)| (from, to, value))
                }
                _ => None,
            },
            _ => None,
        };
        read.filter(|(_, _, value)| !self.is_prob || (0.0..=1.0).contains(value)).ok_or_else(|| {
            let value = if self.is_prob { "probability 0..1" } else { "dB" };
            whole(format!(
                "{link} is no link of {count} stations: write (FROM, TO, VALUE), numbers from 0 \
                 and a {value}"
            ))
        })
    }

    fn station(&self, name: &str) -> Result<usize, ConvertError> {
        let by_number = name.parse::<usize>().ok().filter(|number| *number < self.stations.len());
        let wanted = name.to_ascii_lowercase();
        by_number.or_else(|| self.stations.iter().position(|it| *it == wanted)).ok_or_else(|| {
            let known = self.stations.iter().take(8).cloned().collect::<Vec<_>>().join(", ");
            whole(format!(
                "no station is called {name:?}: name one of {known}, or a number below {}",
                self.stations.len()
            ))
        })
    }

    /// Returns what is said of a path: the last that is listed, that of the way back if only that
    /// is, or the default.
    fn value(&self, from: usize, to: usize) -> f64 {
        let listed = |from, to| {
            let mut all = self.paths.iter().rev();
            all.find(|path| (path.0, path.1) == (from, to)).map(|path| path.2)
        };
        listed(from, to).or_else(|| listed(to, from)).unwrap_or(self.default)
    }

    fn error_probability(
        &self,
        from: usize,
        to: usize,
        frames: &MediumFrames,
    ) -> Result<f64, ConvertError> {
        let value = self.value(from, to);
        if self.is_prob {
            return Ok(value);
        }
        Ok(1.0 - success_of(frames.rate, value, frames.length)?)
    }
}
