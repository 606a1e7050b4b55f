//! Changes of a link while a scenario runs.

use core::fmt;
use core::str::FromStr;

use toml::Spanned;
use windfall_base::{Duration, ParseUnitError};
use windfall_settings::{Setting, Settings, Value, check_unit, settings};

use crate::direction::{AppliesTo, Direction};
use crate::link::Link;
use crate::side::Side;
use crate::values::DURATIONS;

/// The time from one step of a gradual change to the next.
pub(crate) const STEP: Duration = Duration::from_millis(100);

settings! {
    /// A change of a pipe while a scenario runs; what is unset stays as it was.
    pub struct Change {
        /// Link that changes
        "link" link: String { value: "LINK", example: "air", unset: "the only pipe" }
        /// Time in which rate and delay move to their new values, in equal steps of at most 100 ms
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

    /// Returns what it says of one direction.
    pub(crate) fn of_side(&self, side: Side) -> Direction {
        let mut said = self.both.clone();
        said.overlay(match side {
            Side::Uplink => &self.uplink,
            Side::Downlink => &self.downlink,
        });
        said
    }

    pub(crate) fn is_of(&self, link: &Link) -> bool {
        match &self.link {
            Some(name) => *name.get_ref() == link.name(),
            None => link.kind().is_wire(),
        }
    }

    /// A change at this time, without any setting yet.
    #[must_use]
    pub fn begun_at(at: Duration) -> Self {
        Self { at: Spanned::new(0..0, at), ..Self::unset() }
    }

    /// Takes one clause of the text form; an error is the advice what to write instead.
    fn read(&mut self, clause: &str) -> Result<(), String> {
        let (name, value) = clause.split_once(' ').unwrap_or((clause, ""));
        let value = value.trim();
        match Side::named(name) {
            Some(side) => {
                let (setting, value) = value.split_once(' ').unwrap_or((value, ""));
                self.say(Some(side), setting, value.trim())
            }
            None => self.say(None, name, value),
        }
        .map_err(|advice| if advice.is_empty() { advice_of_text() } else { advice })
    }

    /// Says what the setting `name` becomes: of the uplink, of the downlink, or of both directions.
    /// The settings `link` and `over` are those of the change as a whole.
    ///
    /// # Errors
    /// Says what to write instead; empty if a change has no such setting.
    pub fn say(&mut self, side: Option<Side>, name: &str, value: &str) -> Result<(), String> {
        let twice = || Err(format!("{name} is given twice: remove one"));
        if let Some(own) = Self::TABLE.iter().find(|it| it.name == name && !it.is_required) {
            if own.is_set(self) {
                return twice();
            }
            return if side.is_none() { own.set(self, value) } else { Err(String::new()) };
        }
        let direction = match side {
            Some(Side::Uplink) => &mut self.uplink,
            Some(Side::Downlink) => &mut self.downlink,
            None => &mut self.both,
        };
        let setting = changeable().find(|it| it.name == name).ok_or_else(String::new)?;
        if setting.is_set(direction) {
            return twice();
        }
        setting.set(direction, value)
    }

    /// Reads the text form as it stands on a command line, where a time needs its unit.
    ///
    /// # Errors
    /// Says what to write instead.
    pub fn by_option(text: &str) -> Result<Self, String> {
        let (at, clauses) = text.split_once(':').unwrap_or((text, ""));
        check_unit(at)?;
        for clause in clauses.split(',').map(str::trim) {
            let (name, rest) = clause.split_once(' ').unwrap_or((clause, ""));
            let of_side = Side::named(name).map(|_| rest.split_once(' ').unwrap_or((rest, "")));
            let (name, value) = of_side.unwrap_or((name, rest));
            Self::check_units(name, value.trim())?;
        }
        text.parse().map_err(|error: ParseUnitError| error.to_string())
    }

    /// Checks that the times in the value of the setting `name` have their units, as they must on a
    /// command line.
    ///
    /// # Errors
    /// Says what to write instead.
    pub fn check_units(name: &str, value: &str) -> Result<(), String> {
        let own = Self::TABLE.iter().filter(|it| it.name == name).map(|it| it.units);
        let of_link = Direction::TABLE.iter().filter(|it| it.name == name).map(|it| it.units);
        own.chain(of_link).try_for_each(|check| check(value))
    }

    /// The names of the settings that a change may have, for one direction or both.
    pub fn names() -> impl Iterator<Item = &'static str> {
        changeable().map(|setting| setting.name)
    }
}

/// Returns the settings of a direction that may change.
fn changeable() -> impl Iterator<Item = &'static Setting<Direction>> {
    Direction::TABLE.iter().filter(|setting| may_change(setting))
}

pub(crate) fn may_change(setting: &Setting<Direction>) -> bool {
    let aspect = setting.metadata.as_ref();
    setting.is_live
        || matches!(aspect, Some(AppliesTo::Pipe | AppliesTo::Air | AppliesTo::Errors(_)))
}

fn advice_of_text() -> String {
    let names: Vec<&str> = Change::names().collect();
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
        let (at, clauses) = text.split_once(':').ok_or_else(|| fail(text, advice_of_text()))?;
        let at = Duration::parse(at.trim()).map_err(|advice| fail(at, advice))?;
        let mut change = Self::begun_at(at);
        for clause in clauses.split(',').map(str::trim).filter(|clause| !clause.is_empty()) {
            change.read(clause).map_err(|advice| fail(clause, advice))?;
        }
        Ok(change)
    }
}

impl fmt::Display for Change {
    /// Writes the form that [`from_str`](Self::from_str) reads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let own = Self::TABLE.iter().filter(|it| !it.is_required);
        let own = own.filter_map(|it| Some(format!("{} {}", it.name, it.text(self)?)));
        let sides = [("", &self.both), ("uplink ", &self.uplink), ("downlink ", &self.downlink)];
        let settings = sides.into_iter().flat_map(|(side, said)| {
            let set = Direction::TABLE.iter();
            set.filter_map(move |it| Some(format!("{side}{} {}", it.name, it.text(said)?)))
        });
        let clauses: Vec<String> = settings.chain(own).collect();
        write!(f, "{}: {}", self.at.get_ref(), clauses.join(", "))
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
