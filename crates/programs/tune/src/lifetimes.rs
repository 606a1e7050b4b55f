//! Fits an energy model to two lifetimes that were measured: of a station that does nothing, and
//! of one that goes on as a scenario says (S2.25).

use std::str::FromStr;

use windfall_base::{Duration, Instant, Seed};
use windfall_energy::processor::Processor;
use windfall_energy::{Calibration, EnergyModel, StationUsage};
use windfall_report::number;
use windfall_scenario::Topology;
use windfall_scenario::sim::Simulation;

use crate::trial::TuneError;

/// The part of a run before what counts: what fills the buffers first is copied and summed, but
/// not sent.
pub(crate) const WARM_UP: u64 = 6;

/// The lifetimes of the battery of a station, as they were measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeasuredLifetimes {
    /// The lifetime without traffic.
    pub idle: Duration,
    /// The lifetime with the traffic of the scenario.
    pub sending: Duration,
}

impl FromStr for MeasuredLifetimes {
    type Err = String;

    /// Reads `idle=223min,sending=110min`, in any order.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut idle = None;
        let mut sending = None;
        for part in text.split(',') {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            let place = match key.trim() {
                "idle" => &mut idle,
                "sending" => &mut sending,
                other => return Err(format!("\"{other}\" is neither idle=TIME nor sending=TIME")),
            };
            let time: Duration = value.trim().parse().map_err(|error| format!("{key}: {error}"))?;
            if time == Duration::ZERO {
                return Err(format!("{key}=0: a battery lasts for some time, such as 110min"));
            }
            if place.replace(time).is_some() {
                return Err(format!("{key} is given twice: remove one"));
            }
        }
        match (idle, sending) {
            (Some(idle), Some(sending)) if sending < idle => Ok(Self { idle, sending }),
            (Some(idle), Some(sending)) => Err(format!(
                "idle={idle} is below sending={sending}: a battery lasts longer idle than sending"
            )),
            _ => Err("two lifetimes are needed: idle=223min,sending=110min".to_owned()),
        }
    }
}

/// A model fitted to two lifetimes, and the runs to which it was fitted.
#[derive(Clone, Debug, PartialEq)]
pub struct CalibratedModel {
    /// The name of the station.
    pub station: String,
    /// The model that it had.
    pub base: EnergyModel,
    /// That model with the fitted values.
    pub fitted: EnergyModel,
    /// The lifetimes to which it was fitted.
    pub lifetimes: MeasuredLifetimes,
    usage: StationUsage,
    bytes: u64,
}

impl CalibratedModel {
    //= S2.25
    /// Fits the model of the first station that has a battery, by the scenario with its traffic
    /// and the same without. The first sixth of each run does not count.
    ///
    /// # Errors
    /// If no station has a battery, or the lifetimes determine no model.
    pub fn fit(
        [idle, sending]: [&Topology; 2],
        lifetimes: MeasuredLifetimes,
        seed: Seed,
    ) -> Result<Self, TuneError> {
        let of_station = |(number, plan): (usize, &windfall_scenario::StationPlan)| {
            let model = plan.energy.as_ref().filter(|model| model.battery.is_some())?;
            Some((number, plan.name.clone(), model.clone()))
        };
        let found = sending.stations.iter().enumerate().find_map(of_station);
        let (number, station, base) = found.ok_or(TuneError::NoBattery)?;
        let (idle, _) = work(idle, number, seed)?;
        let (usage, bytes) = work(sending, number, seed)?;
        let model = if base.processor.cost(&usage.operations, &base.system).total() > 0.0 {
            base.clone()
        } else {
            EnergyModel { processor: Processor::SHARES, ..base.clone() }
        };
        let idle = Calibration { usage: idle, lifetime: lifetimes.idle };
        let busy = Calibration { usage, lifetime: lifetimes.sending };
        let fitted = model
            .calibrated(&idle, &busy)
            .map_err(|error| TuneError::Scenario(format!("{station}: {error}")))?;
        Ok(Self { station, base, fitted, lifetimes, usage, bytes })
    }

    /// Returns what is fitted, given and predicted in words, and the model as a file.
    #[must_use]
    pub fn to_text(&self) -> String {
        let Self { station, base, fitted, lifetimes, usage, bytes } = self;
        let energy = fitted.energy(usage);
        let share = |joules: f64| number(100.0 * joules / energy.total());
        let minutes = |time: Duration| number(time.as_secs_f64() / 60.0);
        let each = |joules: f64| match bytes {
            0 => "no byte was moved".to_owned(),
            bytes => format!("{} J/MB", number(1e6 * joules / *bytes as f64)),
        };
        format!(
            "# {station}: fitted so that it lasts {} min idle and {} min sending\n\
             # given: the battery, the radio, and the costs of TCP's steps among each other\n\
             # fitted: the platform and the scale of these costs\n\
             # predicted while it sends: platform {} %, radio {} %, TCP {} %; {}\n{}",
            minutes(lifetimes.idle),
            minutes(lifetimes.sending),
            share(energy.platform),
            share(energy.of_radio()),
            share(energy.processor.total()),
            each(energy.total()),
            model_toml(base, fitted),
        )
    }
}

/// Returns what is fitted as the file of a model that has the rest of its base.
fn model_toml(base: &EnergyModel, fitted: &EnergyModel) -> String {
    let it = &fitted.processor;
    let mut text = if base.name.ends_with(".toml") {
        format!("# into {}, in place of the same tables there\n", base.name.escape_debug())
    } else {
        format!("base = \"{}\"\n", base.name)
    };
    text += &format!("\n[platform]\nwatts = {}\n\n[processor]\n", fitted.platform_watts);
    for (key, joules) in [
        ("interrupt", it.interrupt),
        ("device-byte", it.device_byte),
        ("copied-byte", it.copied_byte),
        ("checksum-byte", it.checksum_byte),
        ("segment", it.segment),
        ("acknowledgment", it.acknowledgment),
        ("option", it.option),
    ] {
        text += &format!("{key} = {joules:e}\n");
    }
    text
}

/// Runs a scenario; returns what the station did after the warm-up, and the bytes of packets that
/// it moved.
fn work(topology: &Topology, number: usize, seed: Seed) -> Result<(StationUsage, u64), TuneError> {
    let failed = |message: String| TuneError::Scenario(message);
    let mut simulation =
        Simulation::new(topology, seed).map_err(|error| failed(error.to_string()))?;
    let moved = |simulation: &Simulation| {
        let network = simulation.network();
        let own = network.interfaces().filter(|it| network.station_of(*it) == number);
        let each = own.map(|it| network.ledger(it));
        each.map(|it| it.delivered_bytes + it.received_bytes).sum::<u64>()
    };
    let usage = |simulation: &Simulation| {
        windfall_output::totals::station_usage(simulation.network(), number, simulation.now())
    };
    let warm = Instant::START + (simulation.end() - Instant::START) / WARM_UP;
    simulation.run(warm, &mut |_| Ok(())).map_err(|error| failed(error.to_string()))?;
    let before = usage(&simulation);
    let bytes = moved(&simulation);
    simulation.finish();
    Ok((usage(&simulation).since(&before), moved(&simulation) - bytes))
}

#[cfg(test)]
mod tests;
