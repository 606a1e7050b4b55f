//! What is varied: `KEY=VALUES`, the values as a list or as a range in steps.

use windfall_scenario::Scenario;

use crate::error::SweepError;
use crate::keys::ScenarioKey;

/// The most values of a range.
const MOST_STEPS: u32 = 10_000;
/// Significant digits of the values between the ends of a range.
const DIGITS: usize = 6;

/// A key of the scenario, and the values that a sweep gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variation {
    /// The key that is varied.
    pub key: ScenarioKey,
    /// Its values as they are set, in their order, each once.
    pub values: Vec<String>,
}

impl Variation {
    /// Reads `KEY=VALUES` for a scenario.
    ///
    /// The values are a list with commas (with semicolons where a value itself has commas, behind
    /// the last too if it is the only one), or a range: `1e-6..1e-3:log7` are 7 values with equal
    /// ratios, `8m..40m:lin5` are 5 with equal distances.
    ///
    /// # Errors
    /// If it has another form, the scenario no such key, or the key no such value.
    pub fn parse(scenario: &Scenario, text: &str) -> Result<Self, SweepError> {
        let (key, values) = text.split_once('=').ok_or_else(|| SweepError::Form {
            text: text.to_owned(),
            fix: "write KEY=VALUES, such as link.ber=1e-6,1e-5".to_owned(),
        })?;
        let key = ScenarioKey::find(scenario, key.trim())?;
        let mut distinct: Vec<String> = Vec::new();
        for value in values_of(values.trim(), key.is_whole())? {
            if !distinct.contains(&value) {
                distinct.push(value);
            }
        }
        for value in &distinct {
            key.set(&mut scenario.clone(), value)?;
        }
        Ok(Self { key, values: distinct })
    }
}

/// Splits a list, or works out a range.
fn values_of(text: &str, is_whole: bool) -> Result<Vec<String>, SweepError> {
    let form = |fix: &str| SweepError::Form { text: text.to_owned(), fix: fix.to_owned() };
    if let Some((ends, steps)) = range_of(text) {
        return range(ends, steps, is_whole).map_err(|fix| form(&fix));
    }
    let (list, separator) = if text.contains(';') {
        (text.strip_suffix(';').unwrap_or(text), ';')
    } else {
        (text, ',')
    };
    let values: Vec<String> = list.split(separator).map(|it| it.trim().to_owned()).collect();
    if values.iter().any(String::is_empty) {
        return Err(form("a value is empty: write values with commas between them"));
    }
    Ok(values)
}

/// Returns the ends and the steps of a text that is a range: `1..9:lin5`.
fn range_of(text: &str) -> Option<((&str, &str), &str)> {
    let (ends, steps) = text.rsplit_once(':')?;
    let is_steps = steps.starts_with("log") || steps.starts_with("lin");
    Some((ends.split_once("..").filter(|_| is_steps)?, steps))
}

fn range((first, last): (&str, &str), steps: &str, is_whole: bool) -> Result<Vec<String>, String> {
    let (scale, count) = steps.split_at(3);
    let count: u32 = count
        .parse()
        .ok()
        .filter(|count| (2..=MOST_STEPS).contains(count))
        .ok_or_else(|| format!("write {scale}N with N from 2 to {MOST_STEPS}"))?;
    let (from, from_unit) = number(first.trim())?;
    let (to, unit) = number(last.trim())?;
    if !from_unit.is_empty() && from_unit != unit {
        let both = if unit.is_empty() { from_unit } else { unit };
        return Err(format!("its ends have different units: write both in {both}"));
    }
    let is_log = scale == "log";
    if is_log && (from <= 0.0 || to <= 0.0) {
        return Err("equal ratios need ends above 0: use lin".to_owned());
    }
    let value = |step: u32| {
        let share = f64::from(step) / f64::from(count - 1);
        let value = match step {
            0 => from,
            _ if step + 1 == count => to,
            _ if is_log => (from.ln() + (to.ln() - from.ln()) * share).exp(),
            _ => from + (to - from) * share,
        };
        format!("{}{unit}", written(if is_whole { value.round() } else { value }))
    };
    Ok((0..count).map(value).collect())
}

/// Splits a value into its number and its unit.
pub(crate) fn number(text: &str) -> Result<(f64, &str), String> {
    // An exponent belongs to the number, an `e` that begins a unit does not.
    let ends = (1..=text.len()).rev().filter(|end| text.is_char_boundary(*end));
    let parsed = ends.filter_map(|end| {
        let is_number = text[..end].bytes().all(|it| b"+-.eE0123456789".contains(&it));
        let number = text[..end].parse::<f64>().ok().filter(|it| is_number && it.is_finite())?;
        Some((number, text[end..].trim()))
    });
    let found = parsed.into_iter().next();
    found.ok_or_else(|| format!("\"{text}\" is no number: write a range such as 1e-6..1e-3:log7"))
}

/// Writes a number with six significant digits, without those that are zero.
fn written(value: f64) -> String {
    let exact: f64 = format!("{value:.*e}", DIGITS - 1).parse().unwrap_or(value);
    if exact == 0.0 || (1e-3..1e9).contains(&exact.abs()) {
        format!("{exact}")
    } else {
        format!("{exact:e}")
    }
}

#[cfg(test)]
mod tests;
