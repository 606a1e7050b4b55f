//! Conditions of scripts: lines between `#ifdef NAME` and `#endif` that hold for some systems only.

use std::borrow::Cow;

use crate::packet_script::cursor::{Place, Read, ScriptError};

/// The names that are defined: the behaviour of the standards, and of no system in particular.
const DEFINED: [&str; 1] = ["STANDARD"];

/// One condition that is open.
struct Open {
    place: Place,
    /// The lines around it hold.
    outer: bool,
    /// The lines of the present branch hold.
    holds: bool,
    has_else: bool,
}

/// Leaves the lines out whose conditions do not hold; line numbers stay as they are.
pub(crate) fn select(text: &str) -> Read<Cow<'_, str>> {
    let is_directive = |line: &str| directive(line).is_some();
    if !text.lines().any(is_directive) {
        return Ok(text.into());
    }
    let mut open: Vec<Open> = Vec::new();
    let mut selected = String::with_capacity(text.len());
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let place = Place { line: number as u32 + 1, column: 1 };
        let fail = |what: &str| Err(ScriptError { place, what: what.to_owned() });
        let holds = open.last().is_none_or(|it| it.holds);
        let Some((word, name)) = directive(line) else {
            selected.push_str(if holds { line } else { "\n" });
            continue;
        };
        match (word, open.last_mut()) {
            ("#ifdef" | "#ifndef", _) if name.is_empty() => {
                return fail("expected a name behind the condition");
            }
            ("#ifdef" | "#ifndef", _) => {
                let is_true = DEFINED.contains(&name) == (word == "#ifdef");
                open.push(Open { place, outer: holds, holds: holds && is_true, has_else: false });
            }
            ("#else", Some(it)) if !it.has_else => {
                it.holds = it.outer && !it.holds;
                it.has_else = true;
            }
            ("#else", _) => {
                return fail("there is no condition that this \"#else\" belongs to");
            }
            (_, Some(_)) => drop(open.pop()),
            (_, None) => return fail("there is no condition that this \"#endif\" ends"),
        }
        selected.push('\n');
    }
    match open.last() {
        None => Ok(selected.into()),
        Some(Open { place, .. }) => {
            let what = "there is no \"#endif\" that ends this condition".to_owned();
            Err(ScriptError { place: *place, what })
        }
    }
}

/// Returns the word of a line that is a condition, and the name behind it.
fn directive(line: &str) -> Option<(&str, &str)> {
    let mut words = line.split_whitespace();
    let word = words.next()?;
    let is_one = ["#ifdef", "#ifndef", "#else", "#endif"].contains(&word);
    is_one.then(|| (word, words.next().unwrap_or("")))
}
