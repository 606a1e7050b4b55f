//! Changes of a link while a scenario runs.

use core::str::FromStr;

use toml::Spanned;
use windfall_base::{Duration, ParseUnitError};

use crate::direction::{Aspect, Direction};
use crate::link::{Link, LinkKind};
use crate::settings::{Setting, Settings, settings};
use crate::value::Value;
use crate::values::DURATIONS;

/// The time from one step of a gradual change to the next.
pub(crate) const STEP: Duration = Duration::from_millis(100);
/// The settings of the wire, beside those of a pipe alone and of the air.
const OF_THE_WIRE: [&str; 3] = ["rate", "rate-trace", "delay"];

settings! {
    /// A change of a pipe while a scenario runs; what is unset stays as it was.
    pub struct Change {
        /// Link that changes
        "link" link: String { value: "LINK", example: "air", unset: "the only pipe" }
        /// Time in which rate and delay move to their new values, in steps of 100 ms
        "over" over: Duration [DURATIONS] { value: "TIME", example: "5s", unset: "at once" }
    }
    required {
        /// Time of the change, from the start of the run
        "at" at: Duration { value: "TIME", example: "10s" }
    }
    parts {
        /// The changes of the uplink alone.
        "uplink" uplink: Direction
        /// The changes of the downlink alone.
        "downlink" downlink: Direction
    }
    inline {
        /// The changes of both directions.
        both: Direction
    }
}

impl Change {
    /// Returns what it says of directions, to change it.
    pub fn directions_mut(&mut self) -> impl Iterator<Item = &mut Direction> {
        [&mut self.both, &mut self.uplink, &mut self.downlink].into_iter()
    }

    pub(crate) fn directions(&self) -> [&Direction; 3] {
        [&self.both, &self.uplink, &self.downlink]
    }

    pub(crate) fn is_of(&self, link: &Link) -> bool {
        match &self.link {
            Some(name) => *name.get_ref() == link.name(),
            None => link.kind() == LinkKind::Pipe,
        }
    }

    /// Takes one clause of the text form; an error is the advice what to write instead.
    fn read(&mut self, clause: &str) -> Result<(), String> {
        let (name, value) = clause.split_once(' ').unwrap_or((clause, ""));
        let value = value.trim();
        let direction = match name {
            "uplink" => &mut self.uplink,
            "downlink" => &mut self.downlink,
            "link" | "over" => {
                let own = Self::TABLE.iter().find(|it| it.name == name);
                return own.map_or_else(|| Err(advice()), |own| own.set(self, value));
            }
            _ => &mut self.both,
        };
        let is_side = ["uplink", "downlink"].contains(&name);
        let (name, value) =
            if is_side { value.split_once(' ').unwrap_or((value, "")) } else { (name, value) };
        let setting = changeable().find(|it| it.name == name).ok_or_else(advice)?;
        if setting.is_set(direction) {
            return Err(format!("{name} stands twice: remove one"));
        }
        setting.set(direction, value.trim())
    }
}

/// Returns the settings of a direction that may change.
fn changeable() -> impl Iterator<Item = &'static Setting<Direction>> {
    Direction::TABLE.iter().filter(|setting| may_change(setting))
}

pub(crate) fn may_change(setting: &Setting<Direction>) -> bool {
    let aspect = setting.particular.as_ref();
    OF_THE_WIRE.contains(&setting.name)
        || matches!(aspect, Some(Aspect::Pipe | Aspect::Air | Aspect::Errors(_)))
}

fn advice() -> String {
    let names: Vec<&str> = changeable().map(|setting| setting.name).collect();
    format!(
        "write TIME: settings with commas between, such as 10s: rate 1Mbps, uplink loss 5%; they \
         are over, link, {}",
        names.join(", ")
    )
}

impl FromStr for Change {
    type Err = ParseUnitError;

    /// Reads `TIME: SETTING VALUE, …`, such as `10s: rate 1Mbps, uplink loss 5%, over 2s`.
    fn from_str(text: &str) -> Result<Self, ParseUnitError> {
        let fail = |part: &str, advice: String| ParseUnitError::new("change", part, advice);
        let (at, clauses) = text.split_once(':').ok_or_else(|| fail(text, advice()))?;
        let at = Duration::parse(at.trim()).map_err(|advice| fail(at, advice))?;
        let mut change = Self { at: Spanned::new(0..0, at), ..Self::unset() };
        for clause in clauses.split(',').map(str::trim).filter(|clause| !clause.is_empty()) {
            change.read(clause).map_err(|advice| fail(clause, advice))?;
        }
        Ok(change)
    }
}

impl Change {
    /// Reads a file of changes: one in each line, in their text form; empty lines and lines that
    /// begin with `#` are ignored.
    ///
    /// # Errors
    /// Of the first line that is no change, with its number.
    pub fn read_all(text: &str) -> Result<Vec<Self>, String> {
        let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line.trim()));
        lines
            .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
            .map(|(at, line)| line.parse().map_err(|error| format!("line {at}: {error}")))
            .collect()
    }
}

#[cfg(test)]
mod tests;
