//! Scenarios of the figures, and what differs from them at one point of a figure.

use windfall_base::Duration;
use windfall_scenario::{
    Direction, Link, RunSettings, Scenario, ScenarioOptions, Settings, without_span,
};

use crate::experiment::error::ExperimentError;

/// The scenario `text` with the keys `uplink` for the direction from the first station, as TOML.
///
/// # Errors
/// If either makes no sense.
pub fn with(
    figure: &'static str,
    text: &str,
    uplink: &str,
    duration: Option<Duration>,
) -> Result<Scenario, ExperimentError> {
    let failed = |message: String| ExperimentError::Scenario { figure, message };
    let mut scenario = Scenario::parse(figure, text).map_err(|error| failed(error.to_string()))?;
    let uplink = Direction::parse(uplink).map_err(|error| failed(error.to_string()))?;
    let link = Link { uplink, ..Link::unset() };
    let run = RunSettings { duration: duration.map(without_span), ..RunSettings::unset() };
    let flags = ScenarioOptions { link, run, ..ScenarioOptions::default() };
    flags.apply(&mut scenario, ("", "")).map_err(|error| failed(error.to_string()))?;
    Ok(scenario)
}
