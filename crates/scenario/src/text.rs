//! Scenario files: TOML to [`Scenario`] and back, with the line of whatever is wrong.

use crate::check;
use crate::error::{Fault, ScenarioError, nearest};
use crate::model::{FORMAT, Scenario};

impl Scenario {
    /// Reads the `text` of the file called `file`, and checks that everything in it can be.
    ///
    /// # Errors
    /// Names the file, the line, the value and the fix of the first thing that is wrong.
    pub fn parse(file: &str, text: &str) -> Result<Self, ScenarioError> {
        let scenario: Self =
            toml::from_str(text).map_err(|error| fault_of(&error, text).in_file(file, text))?;
        check::scenario(&scenario).map_err(|fault| fault.in_file(file, text))?;
        Ok(scenario)
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
}

/// What serde found wrong, in our words where its own do not name the fix.
fn fault_of(error: &toml::de::Error, text: &str) -> Fault {
    let message = error.message().trim();
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    let span = error.span();
    let value = span.clone().and_then(|span| text.get(span)).unwrap_or_default().trim();
    let message = match (quoted.split_first(), message) {
        (Some((word, known)), m) if m.starts_with("unknown field") => {
            let fix = suggestion(word, known, "keys");
            format!("unknown key \"{word}\": {fix}")
        }
        (Some((word, known)), m) if m.starts_with("unknown variant") => {
            let fix = suggestion(word, known, "words");
            format!("unknown word \"{word}\": {fix}")
        }
        (Some((word, _)), m) if m.starts_with("missing field") => match *word {
            "format" => format!("the key \"format\" is missing: write `format = {FORMAT}` first"),
            word => format!("the key \"{word}\" is missing here: add it"),
        },
        (_, m) if m.starts_with("invalid type") || m.starts_with("invalid value") => {
            let expected = m.rsplit_once("expected ").map_or(m, |(_, expected)| expected);
            format!("{} is not allowed here: write {expected}", shortened(value))
        }
        (_, m) => m.lines().collect::<Vec<_>>().join("; "),
    };
    Fault { span, message }
}

fn suggestion(word: &str, known: &[&str], what: &str) -> String {
    match nearest(word, known.iter().copied()) {
        Some(name) => format!("did you mean \"{name}\"?"),
        None => format!("the {what} allowed here are {}", known.join(", ")),
    }
}

/// The first line of a value, cut to a length that fits a message.
fn shortened(value: &str) -> String {
    let line = value.lines().next().unwrap_or_default();
    if line.chars().count() <= 40 {
        line.to_owned()
    } else {
        line.chars().take(37).chain("...".chars()).collect()
    }
}

#[cfg(test)]
mod tests;
