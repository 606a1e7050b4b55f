//! What clients ask for.

use serde_json::{Map, Value};
use windfall_base::nearest;
use windfall_output::strict_json;
use windfall_scenario::wifi::Radio;
use windfall_scenario::{Change, Direction, Link, RunSettings, Setting, Settings, Side};

use crate::fault_injection::PortFaults;
use crate::protocol::RunRequest;

/// A request to a run, checked.
#[derive(Clone, Debug, PartialEq)]
pub enum ControlRequest {
    /// Asks what is there, and how it fares.
    Status,
    /// Asks for the samples that were taken after a time, in seconds.
    Samples(f64),
    /// Asks for the scenario, with the changes so far.
    Scenario,
    /// Changes a link now.
    Set(Box<Change>),
    /// Sets the faults of a port of a station.
    Fault(PortFaults),
    /// Lets a program enter a station.
    Enter,
    /// Ends the run.
    End,
}

/// The requests by name, for errors.
const NAMES: [&str; 7] = ["status", "samples", "scenario", "set", "fault", "enter", "end"];

impl ControlRequest {
    /// Reads a request: a line of JSON.
    ///
    /// # Errors
    /// Says what to write instead.
    pub fn parse(line: &[u8]) -> Result<Self, String> {
        let value = strict_json::from_slice(line)
            .map_err(|error| format!("the request is no JSON object in one line: {error}"))?;
        let Value::Object(mut members) = value else {
            return Err("the request is no JSON object: write {\"do\":\"status\"}".to_owned());
        };
        let Some(Value::String(name)) = members.remove("do") else {
            return Err(format!("the request has no \"do\": add it, one of {}", known_names()));
        };
        let request = match name.as_str() {
            "status" => RunRequest::Status,
            "scenario" => RunRequest::Scenario,
            "enter" => RunRequest::Enter,
            "end" => RunRequest::End,
            "samples" => match members.remove("since").unwrap_or(Value::from(0)).as_f64() {
                Some(since) => RunRequest::Samples { since },
                None => return Err("\"since\" is no number of seconds".to_owned()),
            },
            "fault" => match members.remove("fault") {
                Some(Value::String(fault)) => RunRequest::Fault { fault },
                _ => {
                    let example = r#"add "fault": "far:80 reset 1s""#;
                    return Err(format!("there is no fault to set: {example}"));
                }
            },
            "set" => match members.remove("change") {
                Some(Value::Object(change)) => RunRequest::Set { change },
                _ => {
                    let example = r#"add "change": {"rate": "1Mbps"}"#;
                    return Err(format!("there is no table of what to change: {example}"));
                }
            },
            other => {
                return Err(format!("\"{other}\" is no request: use one of {}", known_names()));
            }
        };
        let request = Self::check(request)?;
        match members.keys().next() {
            Some(other) => {
                Err(format!("\"{other}\" is no member of the request {name}: remove it"))
            }
            None => Ok(request),
        }
    }

    /// Reads what a request says of settings and faults.
    fn check(request: RunRequest) -> Result<Self, String> {
        Ok(match request {
            RunRequest::Status => Self::Status,
            RunRequest::Samples { since } => Self::Samples(since),
            RunRequest::Scenario => Self::Scenario,
            RunRequest::Set { change } => Self::Set(Box::new(change_of(change)?)),
            RunRequest::Fault { fault } => Self::Fault(fault.parse()?),
            RunRequest::Enter => Self::Enter,
            RunRequest::End => Self::End,
        })
    }
}

/// Returns the names of all requests, for a message.
fn known_names() -> String {
    NAMES.join(", ")
}

/// Reads the table of a change: settings, and in `uplink` and `downlink` those of one direction.
fn change_of(members: Map<String, Value>) -> Result<Change, String> {
    let mut change = Change::begun_at(windfall_base::Duration::ZERO);
    for (name, value) in members {
        match (name.as_str(), value) {
            (side @ ("uplink" | "downlink"), Value::Object(own)) => {
                let side = Side::named(side);
                own.into_iter()
                    .try_for_each(|(name, value)| say(&mut change, side, &name, &value))?;
            }
            (name, value) => say(&mut change, None, name, &value)?,
        }
    }
    Ok(change)
}

fn say(change: &mut Change, side: Option<Side>, name: &str, value: &Value) -> Result<(), String> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        Value::Bool(is_on) => if *is_on { "on" } else { "off" }.to_owned(),
        _ => return Err(format!("{name}: write its value as text, such as \"5%\"")),
    };
    change.say(side, name, &text).map_err(|advice| match advice.as_str() {
        "" => unknown(name),
        advice => format!("{name}={text}: {advice}"),
    })
}

/// The members of a change that are about all of it.
const OF_WHOLE: [&str; 2] = ["over", "link"];

/// Says that a change has no such setting.
fn unknown(name: &str) -> String {
    if OF_WHOLE.contains(&name) {
        return format!("{name} is of the whole change: write it beside uplink and downlink");
    }
    for side in ["uplink", "downlink"] {
        let own = name.strip_prefix(side).and_then(|own| own.strip_prefix(['.', '-', '_']));
        let own = own.filter(|own| Change::names().chain(OF_WHOLE).any(|it| it == *own));
        if let Some(own) = own {
            if OF_WHOLE.contains(&own) {
                return unknown(own);
            }
            return format!(
                "{name} is no setting: write {own} behind the word {side}, as in \
                 \"{side} {own}=…\", in JSON inside the object {side:?}"
            );
        }
    }
    let names: Vec<&str> = Change::names().chain(OF_WHOLE).collect();
    let fix = nearest(name, names.iter().copied()).map_or_else(
        || format!("use one of {}", names.join(", ")),
        |it| format!("did you mean {it}?"),
    );
    if is_setting(name) {
        return format!("{name} cannot change while a link runs: {fix}");
    }
    format!("there is no setting {name}: {fix}")
}

/// Tells whether a scenario has such a setting, which a running link may not change.
fn is_setting(name: &str) -> bool {
    fn has<T: Settings>(name: &str) -> bool {
        T::TABLE.iter().any(|it| it.name == name || it.option() == name)
    }
    let tables = [has::<Direction>, has::<Link>, has::<Radio>, has::<RunSettings>, has::<Change>];
    tables.into_iter().any(|has| has(name))
}

/// Makes the request of the words `rate=1Mbps uplink loss=5%`: those behind `uplink` and
/// `downlink` are of that direction.
///
/// # Errors
/// Names the word that makes no sense, and the fix.
pub fn of_words<'a>(words: impl IntoIterator<Item = &'a str>) -> Result<RunRequest, String> {
    let words: Vec<&str> = words.into_iter().collect();
    if let [word] = words[..]
        && let Some(fault) = word.strip_prefix("fault=")
    {
        fault.parse::<PortFaults>()?;
        return Ok(RunRequest::Fault { fault: fault.to_owned() });
    }
    if words.iter().any(|word| word.starts_with("fault=")) {
        return Err("a fault is set alone: write windfall set RUN \"fault=far:80 reset 1s\"".into());
    }
    let mut change = Map::new();
    let mut side: Option<&str> = None;
    let mut is_bare = false;
    for word in words {
        if word == "uplink" || word == "downlink" {
            if let Some(side) = side.filter(|_| is_bare) {
                return Err(bare_side(side));
            }
            (side, is_bare) = (Some(word), true);
            continue;
        }
        is_bare = false;
        let Some((name, value)) = word.split_once('=') else {
            return Err(format!("{word} is no setting: write NAME=VALUE, such as rate=1Mbps"));
        };
        if let Some((value, next)) = value.split_once(',')
            && next.split_once('=').is_some_and(|(name, _)| is_setting(name.trim()))
        {
            return Err(format!("separate settings by spaces: {name}={value} {}", next.trim()));
        }
        let table = match side.filter(|_| !["over", "link"].contains(&name)) {
            None => &mut change,
            Some(side) => {
                let own = change.entry(side).or_insert_with(|| Map::new().into());
                own.as_object_mut().ok_or_else(|| format!("{side} is given twice: remove one"))?
            }
        };
        if table.insert(name.to_owned(), value.into()).is_some() {
            return Err(format!("{name} is given twice: remove one"));
        }
    }
    if let Some(side) = side.filter(|_| is_bare) {
        return Err(bare_side(side));
    }
    if change.is_empty() {
        return Err("there is nothing to set: add a setting, such as rate=1Mbps".to_owned());
    }
    Ok(RunRequest::Set { change })
}

/// Says that a side has no setting.
fn bare_side(side: &str) -> String {
    format!("{side} has no setting behind it: add one, or remove {side}")
}

/// Makes the name of a file in a word absolute, so that it is valid from every folder.
#[must_use]
pub fn placed(word: &str) -> String {
    let Some((name, value)) = word.split_once('=').filter(|(_, value)| !value.is_empty()) else {
        return word.to_owned();
    };
    let is_file = |it: &Setting<Direction>| it.name == name && it.names_file(value);
    let is_file = Direction::TABLE.iter().any(is_file);
    match std::path::absolute(value).ok().filter(|_| is_file) {
        Some(path) => format!("{name}={}", path.display()),
        None => word.to_owned(),
    }
}

#[cfg(test)]
mod tests;
