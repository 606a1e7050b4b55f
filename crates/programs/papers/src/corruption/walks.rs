//! The walks of paper 004 with two notebooks: one TCP transfer each, and what the air did to it.

use std::collections::BTreeMap;

use windfall_base::{Duration, Instant, Port, Seed};
use windfall_channel::{FrameFate, MediumEvent, Missed};
use windfall_network::{EventKind, Recording};
use windfall_scenario::sim::Simulation;
use windfall_scenario::{Scenario, TcpSettings, without_span};
use windfall_tcp::Operations;

use crate::experiment::ExperimentError;

/// The scenarios of the two walks (S4.13–S4.16, S4.30).
pub(crate) const INDOOR: &str =
    include_str!("../../../../../scenarios/examples/corruption-indoor.toml");
pub(crate) const OUTDOORS: &str =
    include_str!("../../../../../scenarios/examples/corruption-outdoors.toml");

/// Frames with more bytes than this carry data; the others are acknowledgments and beacons.
const DATA: u32 = 200;
/// Bytes of LLC/SNAP, of the IPv4 header, and of the TCP header without options.
const HEADERS: u32 = 8 + 20 + 20;

/// One transfer over a walk.
#[derive(Clone, Debug)]
pub(crate) struct Walk<'a> {
    /// The figure that it is for.
    pub(crate) figure: &'static str,
    /// The scenario, as TOML.
    pub(crate) scenario: &'a str,
    /// The settings of the TCP of both notebooks.
    pub(crate) tcp: &'static str,
    /// The link passes damaged frames up.
    pub(crate) accepts_damaged: bool,
    /// The seed of the air.
    pub(crate) seed: Seed,
    /// The length, where it is not that of the scenario.
    pub(crate) duration: Option<Duration>,
}

/// The counts of the data frames of a walk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Data frames that were sent: “Tx packets”.
    pub(crate) sent: u64,
    /// Of these, the ones that came to the receiver's driver: “Rx packets”.
    pub(crate) received: u64,
    /// Of those received, the ones with bit errors: “Corrupt packets”.
    pub(crate) corrupt: u64,
    /// Of those, the ones whose 802.11, IP and TCP headers are whole.
    pub(crate) header_whole: u64,
    /// Frames that no receiver noticed, or whose preamble or PLCP header was lost.
    pub(crate) unnoticed: u64,
}

impl Counts {
    /// Frames that were sent and did not come: “Lost packets”.
    pub(crate) const fn lost(&self) -> u64 {
        self.sent - self.received
    }

    /// Counts a frame; a link that does not pass damaged frames up loses them.
    fn count(&mut self, event: &MediumEvent, accepts_damaged: bool) {
        self.sent += 1;
        match &event.fate {
            FrameFate::Intact => self.received += 1,
            FrameFate::Damaged { truncated, inverted } if accepts_damaged => {
                self.received += 1;
                self.corrupt += 1;
                let headers = 8 * (event.header + HEADERS);
                let first = inverted.first().copied().into_iter().chain(*truncated).min();
                self.header_whole += u64::from(first.is_none_or(|bit| bit >= headers));
            }
            FrameFate::Lost | FrameFate::Missed(Missed::Preamble | Missed::Plcp) => {
                self.unnoticed += 1;
            }
            FrameFate::Damaged { .. } | FrameFate::Collided | FrameFate::Missed(_) => {}
        }
    }
}

/// One second of a walk.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Second {
    /// Bits of the stream that the receiver's program took in it, in Mb/s.
    pub(crate) rate: f64,
    /// The mean strength of the data frames in it, in dBm; absent where none was sent.
    pub(crate) strength: Option<f64>,
}

/// The result of a walk.
#[derive(Clone, Debug)]
pub(crate) struct Walked {
    pub(crate) counts: Counts,
    /// Damaged segments that the receiver's TCP could use: “Corrupt payload only”.
    pub(crate) usable: u64,
    /// Every second, from the first on.
    pub(crate) seconds: Vec<Second>,
}

impl Walk<'_> {
    /// Simulates the walk.
    ///
    /// # Errors
    /// If the scenario is wrong.
    pub(crate) fn run(&self) -> Result<Walked, ExperimentError> {
        let mut simulation = self.build()?;
        simulation.network_mut().record(Recording { events: true, packets: false });
        let mut counts = Counts::default();
        let mut strengths: BTreeMap<u64, (f64, u64)> = BTreeMap::new();
        let mut seconds = Vec::new();
        let mut now = Instant::START;
        let mut before = 0.0;
        while now < simulation.end() {
            now = now.saturating_add(Duration::from_secs(1)).min(simulation.end());
            let second = seconds.len() as u64;
            let ran = simulation.run(now, &mut |event| {
                if let EventKind::Medium(fate) = &event.what
                    && fate.from == Port(0)
                    && fate.length > DATA
                {
                    counts.count(fate, self.accepts_damaged);
                    if let Some(strength) = fate.strength {
                        let (sum, count) = strengths.entry(second).or_default();
                        *sum += f64::from(strength);
                        *count += 1;
                    }
                }
                Ok(())
            });
            ran.map_err(|error| self.failed(&error))?;
            let received = received(&simulation);
            let strength = strengths.get(&second).map(|(sum, count)| sum / *count as f64);
            seconds.push(Second { rate: 8e-6 * (received - before), strength });
            before = received;
        }
        let operations = operations(&simulation, 1);
        Ok(Walked { counts, usable: operations.damaged, seconds })
    }

    fn build(&self) -> Result<Simulation, ExperimentError> {
        let scenario = Scenario::parse(self.figure, self.scenario);
        let mut scenario = scenario.map_err(|error| self.failed(&error))?;
        let settings: TcpSettings = self.tcp.parse().map_err(|error| self.failed(&error))?;
        for station in &mut scenario.stations {
            station.tcp = Some(without_span(settings.clone()));
        }
        for link in &mut scenario.links {
            link.both.accept_damaged = Some(without_span(self.accepts_damaged));
        }
        if let Some(duration) = self.duration {
            scenario.run.duration = Some(without_span(duration));
        }
        let no_files = &mut |name: &str| {
            Err(std::io::Error::other(format!("the scenario must not name files: {name}")))
        };
        let topology = scenario.topology(0, (self.figure, self.scenario), no_files);
        let topology = topology.map_err(|error| self.failed(&error))?;
        Simulation::new(&topology, self.seed).map_err(|error| self.failed(&error))
    }

    fn failed(&self, error: &dyn std::fmt::Display) -> ExperimentError {
        ExperimentError::Scenario { figure: self.figure, message: error.to_string() }
    }
}

/// Returns the bytes that the receiver's program has taken.
fn received(simulation: &Simulation) -> f64 {
    let receiver = simulation.network().station(1);
    let reports = receiver.into_iter().flat_map(|it| it.reports(simulation.now()));
    let all = reports.flatten().filter(|(name, _)| *name == "received_bytes");
    all.map(|(_, bytes)| bytes.number()).sum()
}

/// Returns the operations of the TCP of a station.
pub(crate) fn operations(simulation: &Simulation, station: usize) -> Operations {
    let mut all = Operations::default();
    for connection in simulation.network().station(station).iter().flat_map(|it| it.connections()) {
        all += *connection.operations();
    }
    all
}

impl Walked {
    /// Mean rate, in Mb/s.
    pub(crate) fn rate(&self) -> f64 {
        let sum: f64 = self.seconds.iter().map(|second| second.rate).sum();
        sum / self.seconds.len() as f64
    }

    //= S4.23
    /// The mean distance of each high of the rate from the low that follows it, over the mean rate:
    /// the amplitude of its oscillation.
    pub(crate) fn oscillation(&self) -> f64 {
        let turns = self.turns();
        let swings: Vec<f64> = turns.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
        swings.iter().sum::<f64>() / swings.len().max(1) as f64 / self.rate()
    }

    //= S4.23
    /// The number of times in a minute that the rate turns from growing to falling or back.
    pub(crate) fn changes(&self) -> f64 {
        60.0 * self.turns().len().saturating_sub(2) as f64 / self.seconds.len() as f64
    }

    /// The rates of the first second, of each high and low, and of the last second.
    fn turns(&self) -> Vec<f64> {
        let mut turns: Vec<f64> = Vec::new();
        for rate in self.seconds.iter().map(|second| second.rate) {
            match turns[..] {
                [.., before, last] if (last - before) * (rate - last) >= 0.0 => {
                    // It goes on as before.
                    if let Some(end) = turns.last_mut() {
                        *end = rate;
                    }
                }
                _ => turns.push(rate),
            }
        }
        turns
    }

    /// Seconds in which nothing arrived.
    pub(crate) fn silent(&self) -> f64 {
        self.seconds.iter().filter(|second| second.rate == 0.0).count() as f64
    }

    //= S4.21
    /// Returns the rank correlation of rate and strength over spans of 20 s.
    pub(crate) fn follows(&self) -> f64 {
        let spans = self.seconds.chunks(20).filter_map(|span| {
            let strengths: Vec<f64> = span.iter().filter_map(|it| it.strength).collect();
            let rates: Vec<f64> = span.iter().map(|it| it.rate).collect();
            let mean = windfall_report::statistics::mean;
            Some((mean(&strengths)?, mean(&rates)?))
        });
        rank_correlation(&spans.collect::<Vec<_>>())
    }
}

/// Spearman's rank correlation, with the mean rank of equal values.
pub(crate) fn rank_correlation(pairs: &[(f64, f64)]) -> f64 {
    let ranks = |of: fn(&(f64, f64)) -> f64| -> Vec<f64> {
        let rank = |value: f64| {
            let below = pairs.iter().filter(|it| of(it) < value).count();
            let equal = pairs.iter().filter(|it| of(it) == value).count();
            below as f64 + equal as f64 / 2.0
        };
        pairs.iter().map(|it| rank(of(it))).collect()
    };
    let x = ranks(|it| it.0);
    let y = ranks(|it| it.1);
    let mean = pairs.len() as f64 / 2.0;
    let product = |a: &[f64], b: &[f64]| -> f64 {
        a.iter().zip(b).map(|(a, b)| (a - mean) * (b - mean)).sum()
    };
    product(&x, &y) / (product(&x, &x) * product(&y, &y)).sqrt()
}

#[cfg(test)]
mod tests;
