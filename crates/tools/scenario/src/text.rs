//! Scenario files: TOML to [`Scenario`] and back, with the line of whatever is wrong.

use crate::app::App;
use crate::change::may_change;
use crate::check;
use crate::direction::Direction;
use crate::error::{ScenarioError, SettingFault, shortened};
use crate::flags::without_span;
use crate::flows::Flow;
use crate::link::{Link, LinkKind};
use crate::model::{FORMAT, RunSettings, Scenario};
use crate::side::Side;
use crate::station::{Station, StationInterface};
use crate::wifi::{Radio, StationRadio};
use windfall_base::nearest;
use windfall_link::Arq;
use windfall_settings::document::FormError;
use windfall_settings::{Setting, Settings, table, value_if_set};

impl Scenario {
    /// Reads the `text` of the file called `file`, and checks that everything in it can be.
    ///
    /// # Errors
    /// Names the file, the line, the value and the fix of the first thing that is wrong.
    pub fn parse(file: &str, text: &str) -> Result<Self, ScenarioError> {
        let scenario = Self::read(file, text)?;
        check::scenario(&scenario).map_err(|fault| ScenarioError::in_file(fault, file, text))?;
        Ok(scenario)
    }

    /// Reads the same, of which options may yet change what cannot be: checks the form alone.
    ///
    /// # Errors
    /// Names the file, the line, the value and the fix of the first value that is none.
    pub fn read(file: &str, text: &str) -> Result<Self, ScenarioError> {
        table::parse(text)
            .map_err(|error| ScenarioError::in_file(fault_of(error, text), file, text))
    }

    /// Checks a scenario that comes from no file.
    ///
    /// # Errors
    /// Names the value and the fix of the first thing that is wrong.
    pub fn check(&self) -> Result<(), ScenarioError> {
        check::scenario(self).map_err(|fault| ScenarioError::nowhere(fault.message))
    }

    /// Writes the scenario as the text of a file, which reads back as the same scenario.
    #[must_use]
    pub fn to_toml(&self) -> String {
        // Every type of the model has a TOML form: strings, numbers, arrays, tables.
        toml::to_string(self).unwrap_or_default()
    }

    /// Writes out `arq` where it is unset, because its default depends on the kind of link.
    #[must_use]
    pub fn spelled_out(mut self) -> Self {
        for link in &mut self.links {
            let is_coded = {
                let policies = Side::BOTH.map(|side| link.direction(side).policy);
                policies.iter().any(|policy| value_if_set(policy).is_some())
            };
            let arq = match link.kind() {
                LinkKind::Wavelan => Arq::Persistent,
                LinkKind::Pipe if is_coded => Arq::Persistent,
                LinkKind::Pipe | LinkKind::Gsm => Arq::None,
                // A radio has limits of its own, for short frames and for long ones.
                LinkKind::WifiB | LinkKind::WifiG => continue,
            };
            link.both.arq.get_or_insert(without_span(arq));
        }
        self
    }
}

impl Direction {
    /// Reads the settings of a direction from the `text` of a table in a scenario file.
    ///
    /// # Errors
    /// Names the value and the fix of the first thing that is wrong.
    pub fn parse(text: &str) -> Result<Self, ScenarioError> {
        table::parse(text).map_err(|error| ScenarioError::nowhere(fault_of(error, text).message))
    }
}

/// The fault that serde found, in our words where its own do not name the fix.
fn fault_of(error: FormError, text: &str) -> SettingFault {
    let FormError { message, span } = error;
    let message = message.trim();
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    let value = span.clone().and_then(|span| text.get(span)).unwrap_or_default().trim();
    let key = span.as_ref().and_then(|span| key_before(text, span.start));
    let message = match (quoted.split_first(), message) {
        (Some((word, known)), m) if m.starts_with("unknown field") => {
            let before = span.as_ref().and_then(|span| text.get(..span.start)).unwrap_or_default();
            let fix = suggestion(word, &taken(known, before), "keys");
            format!("unknown key \"{word}\": {fix}")
        }
        (Some((word, known)), m) if m.starts_with("unknown variant") => {
            let fix = suggestion(word, known, "words");
            let place = key.map(|key| format!(" for {key}")).unwrap_or_default();
            format!("unknown word \"{word}\"{place}: {fix}")
        }
        (Some((word, _)), m) if m.starts_with("missing field") => match *word {
            "format" => format!("the key \"format\" is missing: write `format = {FORMAT}` first"),
            word => format!("the key \"{word}\" is missing here: add it"),
        },
        (_, m) if m.starts_with("invalid type: map, expected a sequence") && is_header(value) => {
            format!("there may be several: write [{value}]")
        }
        (_, m) if m.starts_with("invalid type") || m.starts_with("invalid value") => {
            let expected = m.rsplit_once("expected ").map_or(m, |(_, expected)| expected);
            let expected = match key {
                Some("format") => format!("{FORMAT}, without quotes"),
                _ => key.and_then(in_file).unwrap_or_else(|| in_words(expected)),
            };
            format!("{} is not allowed here: write {expected}", shortened(value))
        }
        (_, m) if m.starts_with("duplicate key") => {
            format!("the key {} is given twice: remove one", shortened(value))
        }
        (_, m) if m.starts_with("string values must be quoted") => {
            let expected = key.and_then(in_file).unwrap_or_else(|| format!("\"{value}\""));
            format!("{} is not allowed here: write {expected}", shortened(value))
        }
        (_, m) => m.lines().collect::<Vec<_>>().join("; "),
    };
    SettingFault { span, message }
}

/// Returns those of the keys that the table takes which begins in this text: a change has not all
/// that directions have.
fn taken<'a>(known: &[&'a str], before: &str) -> Vec<&'a str> {
    let header = before.lines().rev().find(|line| line.starts_with('[')).unwrap_or_default();
    let is_change = header.starts_with("[[change]]") || header.starts_with("[change.");
    let is_foreign =
        |key: &str| Direction::TABLE.iter().any(|it| it.name == key && !may_change(it));
    known.iter().copied().filter(|key| !is_change || !is_foreign(key)).collect()
}

/// Returns whether the text is the header of a table: `[link]`.
fn is_header(text: &str) -> bool {
    let name = text.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
    name.is_some_and(|it| !it.is_empty() && it.bytes().all(|byte| byte.is_ascii_lowercase()))
}

/// The key on the same line, if the value that begins at `start` is all of its value.
fn key_before(text: &str, start: usize) -> Option<&str> {
    let line = text.get(..start)?.lines().next_back()?;
    let path = line.trim_end().strip_suffix('=')?.trim();
    // A key may stand behind the names of its tables, or in a table within the line.
    let key = path.rsplit(['.', '{', ',', ' ']).next().unwrap_or_default().trim_matches('"');
    (!key.is_empty()).then_some(key)
}

/// Returns what to write for a key, if its setting says more than its type.
fn in_file(key: &str) -> Option<String> {
    fn find<T: Settings>(key: &str) -> Option<String> {
        T::TABLE.iter().filter(|setting| setting.name == key).find_map(Setting::in_file)
    }
    let of_links = [find::<Link>, find::<Direction>, find::<Radio>];
    let of_stations = [find::<Station>, find::<StationInterface>, find::<StationRadio>];
    let others = [find::<RunSettings>, find::<Flow>, find::<App>];
    [of_links, of_stations, others].into_iter().flatten().find_map(|find| find(key))
}

/// The value that serde expects, in words of the scenario and not of Rust.
fn in_words(expected: &str) -> String {
    let whole = |most: u64| format!("a whole number from 0 to {most}");
    match expected {
        "u8" => whole(u8::MAX.into()),
        "u16" => whole(u16::MAX.into()),
        "u32" => whole(u32::MAX.into()),
        "u64" | "usize" => "a whole number of 0 or more".to_owned(),
        "i8" | "i16" | "i32" | "i64" | "integer" | "an integer" => "a whole number".to_owned(),
        "a nonzero u8" => "a whole number from 1 to 255".to_owned(),
        "a nonzero u16" => "a whole number from 1 to 65535".to_owned(),
        "f32" | "f64" | "floating point number" => "a number".to_owned(),
        "bool" | "a boolean" => "true or false".to_owned(),
        "a string" | "string" | "str" => "text in quotes".to_owned(),
        "a sequence" => "a list in brackets".to_owned(),
        "a map" => "a table".to_owned(),
        other if other.starts_with("struct ") || other.starts_with("internally tagged") => {
            "a table".to_owned()
        }
        other => other.to_owned(),
    }
}

/// Keys that had another name, and the name that they have.
const RENAMED: [(&str, &str); 3] =
    [("extended-gap", "eifs"), ("long-slot", "slot"), ("short-preamble", "preamble")];

fn suggestion(word: &str, known: &[&str], what: &str) -> String {
    let renamed = RENAMED.iter().find(|(old, new)| *old == word && known.contains(new));
    match renamed.map(|(_, new)| *new).or_else(|| nearest(word, known.iter().copied())) {
        Some(name) => format!("did you mean \"{name}\"?"),
        None => format!("the {what} allowed here are {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests;
