//! The files of policies for coded frames: tables of states, as `docs/reference/policy.md` has
//! them.

mod name;
mod radio;

use core::ops::Range;

use serde::Deserialize;
use toml::Spanned;
use windfall_link::policy::{Plan, PolicyTable, Sight, TableRule, TableState};
use windfall_wire_link::coded::{Level, MAX_BLOCKS};

use crate::fault::SettingFault;

pub use name::{POLICY_SUFFIX, PolicyName, UnknownPolicyName};
pub use radio::{configure_radio, only_on_a_radio};

/// The longest file that can be one: 32 states of 8 rules, with a line of remarks for each.
const LONGEST: usize = 128 * 1024;

/// The reason why a file is no policy, with its place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {message}")]
pub struct PolicyFileError {
    /// The name of the file.
    pub file: String,
    /// The line, counted from 1.
    pub line: usize,
    /// The value and the fix.
    pub message: String,
}

impl PolicyFileError {
    fn new(fault: SettingFault, file: &str, content: &str) -> Self {
        let line = fault.line(content);
        Self { file: file.to_owned(), line, message: fault.message }
    }
}

/// Reads the file of a policy; `file` is its name in messages.
///
/// # Errors
/// Names the line, the key and the fix of the first thing that is wrong.
pub fn parse_policy(file: &str, bytes: &[u8]) -> Result<PolicyTable, PolicyFileError> {
    let refused =
        |message: String| Err(PolicyFileError::new(SettingFault::at(0..0, message), file, ""));
    if bytes.len() > LONGEST {
        return refused(format!("it is longer than the {LONGEST} bytes that a policy may have"));
    }
    let Ok(content) = str::from_utf8(bytes) else { return refused("it is no text".to_owned()) };
    let read = toml::from_str(content).map_err(|error| {
        let message = error.message().lines().collect::<Vec<_>>().join("; ");
        let span = error.span().unwrap_or_default();
        let key = || key_before(content, span.start);
        let message = match message.strip_suffix("expected u8") {
            Some(found) => {
                let found = found.trim_end().trim_end_matches(',');
                format!("{}{found}: write a whole number from 0 to 255", key())
            }
            None if message == "wanted string or table" => {
                format!("{}it is no text: write one of its words in quotes", key())
            }
            None if message.starts_with("invalid type") => key() + &message,
            None => message,
        };
        SettingFault::at(span, message)
    });
    read.and_then(|it: PolicyFile| it.table())
        .map_err(|fault| PolicyFileError::new(fault, file, content))
}

/// Returns the key of the value at this place, for a message; nothing if there is none in its line.
fn key_before(content: &str, at: usize) -> String {
    let line = content.get(..at).and_then(|before| before.lines().next_back()).unwrap_or_default();
    let key = line.rsplit_once('=').map_or("", |(before, _)| before.trim_end());
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
    let key = key.rsplit(|letter| !is_part(letter)).next().unwrap_or_default();
    if key.is_empty() { String::new() } else { format!("{key}: ") }
}

/// The file as it stands.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct PolicyFile {
    #[serde(default)]
    state: Vec<Spanned<StateText>>,
}

/// The table of a state.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct StateText {
    name: Spanned<String>,
    blocks: Option<Spanned<u8>>,
    parity: Option<Spanned<u8>>,
    uncoded: Option<Spanned<bool>>,
    retransmit: Option<Spanned<Retransmit>>,
    last: Option<Spanned<String>>,
    #[serde(default)]
    rules: Vec<Spanned<RuleText>>,
}

/// The part of a frame that is sent again.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Retransmit {
    Blocks,
    Frame,
}

/// A rule of a state.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct RuleText {
    when: Spanned<When>,
    symbols: Option<Spanned<u8>>,
    at_least: Option<Spanned<u8>>,
    of: Option<Spanned<u8>>,
    to: Spanned<String>,
}

/// The frames that a rule counts.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum When {
    Lost,
    Cut,
    Failed,
    Bad,
    Good,
    Tight,
    Slack,
}

impl PolicyFile {
    fn table(&self) -> Result<PolicyTable, SettingFault> {
        let states: Vec<TableState> =
            self.state.iter().map(|it| self.state_of(it.get_ref())).collect::<Result<_, _>>()?;
        PolicyTable::new(states).map_err(|error| {
            let state = self.state.get(error.state);
            let place =
                state.map(|state| match error.rule.and_then(|at| state.get_ref().rules.get(at)) {
                    Some(rule) => (state, rule.get_ref().place(error.key).unwrap_or(rule.span())),
                    None => (state, state.get_ref().place(error.key).unwrap_or(state.span())),
                });
            match place {
                Some((state, span)) => {
                    let name = state.get_ref().name.get_ref();
                    let message = format!("state \"{name}\", {}: {}", error.key, error.problem);
                    SettingFault::at(span, message)
                }
                None => SettingFault::at(0..0, format!("{}: add [[state]]", error.problem)),
            }
        })
    }

    fn state_of(&self, state: &StateText) -> Result<TableState, SettingFault> {
        let name = &state.name;
        let first = self
            .state
            .iter()
            .map(|it| &it.get_ref().name)
            .find(|it| it.get_ref() == name.get_ref());
        if name.get_ref().is_empty() || first.is_some_and(|it| it.span() != name.span()) {
            let message = format!("name \"{}\": give each state one of its own", name.get_ref());
            return Err(SettingFault::at(name.span(), message));
        }
        let uncoded = state.uncoded.as_ref().is_some_and(|it| *it.get_ref());
        // Even parity = 0 would be blocks without parity, which is something else.
        if let Some(parity) = state.parity.as_ref().filter(|_| uncoded) {
            let message = "parity: an uncoded frame has no parity: remove one of them";
            let message = format!("state \"{}\", {message}", name.get_ref());
            return Err(SettingFault::at(parity.span(), message));
        }
        let blocks = if uncoded { 1 } else { MAX_BLOCKS as u8 };
        let blocks = state.blocks.as_ref().map_or(blocks, |it| *it.get_ref());
        let level = state.parity.as_ref().map_or(Ok(Level::NONE), level)?;
        let whole =
            state.retransmit.as_ref().is_some_and(|it| matches!(it.get_ref(), Retransmit::Frame));
        Ok(TableState {
            plan: Plan { blocks, level, whole, uncoded },
            last: state.last.as_ref().map(|last| self.find(last, "last")).transpose()?,
            rules: state
                .rules
                .iter()
                .map(|rule| self.rule_of(rule.get_ref()))
                .collect::<Result<_, _>>()?,
        })
    }

    fn rule_of(&self, rule: &RuleText) -> Result<TableRule, SettingFault> {
        let when = match (*rule.when.get_ref(), &rule.symbols) {
            (When::Tight, Some(symbols)) => Sight::Tight(*symbols.get_ref()),
            (When::Slack, Some(symbols)) => Sight::Slack(*symbols.get_ref()),
            (When::Tight | When::Slack, None) => {
                let message = "tight and slack need a number of corrected symbols: add symbols";
                return Err(SettingFault::at(rule.when.span(), message));
            }
            (_, Some(symbols)) => {
                let message = "symbols are counted by tight and slack alone: remove it";
                return Err(SettingFault::at(symbols.span(), message));
            }
            (When::Lost, None) => Sight::Lost,
            (When::Cut, None) => Sight::Cut,
            (When::Failed, None) => Sight::Failed,
            (When::Bad, None) => Sight::Bad,
            (When::Good, None) => Sight::Good,
        };
        // Unless the rule says otherwise, the frames are in a row.
        let [at_least, of] =
            [&rule.at_least, &rule.of].map(|it| it.as_ref().map(|it| *it.get_ref()));
        let at_least = at_least.unwrap_or(1);
        let of = of.unwrap_or(at_least);
        Ok(TableRule { when, at_least, of, to: self.find(&rule.to, "to")? })
    }

    /// Returns the place of the state of a name.
    fn find(&self, name: &Spanned<String>, key: &str) -> Result<usize, SettingFault> {
        let found = self.state.iter().position(|it| it.get_ref().name.get_ref() == name.get_ref());
        found.ok_or_else(|| {
            let message = format!("{key} \"{}\": there is no state of that name", name.get_ref());
            SettingFault::at(name.span(), message)
        })
    }
}

/// Returns the level with this number of bytes of parity.
fn level(parity: &Spanned<u8>) -> Result<Level, SettingFault> {
    let found = Level::all().find(|level| level.parity() == usize::from(*parity.get_ref()));
    found.ok_or_else(|| {
        let known: Vec<String> = Level::PARITY.iter().map(u8::to_string).collect();
        let message = format!("parity {}: use one of {}", parity.get_ref(), known.join(", "));
        SettingFault::at(parity.span(), message)
    })
}

impl StateText {
    /// Returns where the value of a key stands.
    fn place(&self, key: &str) -> Option<Range<usize>> {
        match key {
            "name" => Some(self.name.span()),
            "blocks" => self.blocks.as_ref().map(Spanned::span),
            "parity" => self.parity.as_ref().map(Spanned::span),
            "last" => self.last.as_ref().map(Spanned::span),
            _ => None,
        }
    }
}

impl RuleText {
    fn place(&self, key: &str) -> Option<Range<usize>> {
        match key {
            "when" => Some(self.when.span()),
            "symbols" => {
                self.symbols.as_ref().map_or_else(|| Some(self.when.span()), |it| Some(it.span()))
            }
            "at-least" => self.at_least.as_ref().map(Spanned::span),
            "of" => self.of.as_ref().map(Spanned::span),
            "to" => Some(self.to.span()),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
