//! System calls: a name, values, and what is returned.

use windfall_base::Duration;

use crate::packet_script::cursor::{Cursor, Read};

/// The most values that may stand within each other.
const DEPTH: usize = 16;

/// A system call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The name of the call.
    pub name: String,
    /// The arguments of the call.
    pub arguments: Vec<Argument>,
    /// The result of the call.
    pub returned: Returned,
    /// When it returns, where it blocks; from the same beginning as the time of the event.
    pub ends: Option<Duration>,
}

/// The result of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Returned {
    /// Any result, written `?`.
    Any,
    /// A number, and no error.
    Value(i64),
    /// A number, with the name of an error.
    Error(i64, String),
}

/// An argument, or a part of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// `...`
    Any,
    /// A whole number.
    Number(i64),
    /// A name, such as `SOCK_STREAM`.
    Name(String),
    /// A text in quotation marks.
    Text(String),
    /// Values joined by `|`.
    Or(Vec<Self>),
    /// Values in brackets.
    List(Vec<Self>),
    /// Values in braces, with the names of those that have one.
    Fields(Vec<(Option<String>, Self)>),
    /// A name with arguments, such as `htons(80)`.
    Applied(String, Vec<Self>),
}

impl Argument {
    /// Returns the number, if it is one.
    #[must_use]
    pub fn number(&self) -> Option<i64> {
        match self {
            Self::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// Returns the value of the field `name`.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&Self> {
        let Self::Fields(fields) = self else { return None };
        fields.iter().find(|(it, _)| it.as_deref() == Some(name)).map(|(_, value)| value)
    }
}

/// Reads a call behind its name.
pub(crate) fn read(cursor: &mut Cursor<'_>, name: &str, ends: Option<Duration>) -> Read<Call> {
    cursor.need("(")?;
    let arguments = values(cursor, ")", DEPTH)?;
    cursor.need("=")?;
    let returned = returned(cursor)?;
    Ok(Call { name: name.to_owned(), arguments, returned, ends })
}

fn returned(cursor: &mut Cursor<'_>) -> Read<Returned> {
    if cursor.take_spaced("?") {
        return Ok(Returned::Any);
    }
    let value = cursor.number()?;
    let mut after = cursor.clone();
    after.skip_space();
    let returned = if after.rest().starts_with('E') {
        *cursor = after;
        Returned::Error(value, cursor.name()?.to_owned())
    } else {
        Returned::Value(value)
    };
    if cursor.take_spaced("(") {
        // What the error or the flags mean, in words.
        cursor.take_until(")")?;
    }
    Ok(returned)
}

/// Reads values up to `end`.
fn values(cursor: &mut Cursor<'_>, end: &str, depth: usize) -> Read<Vec<Argument>> {
    let mut values = Vec::new();
    if cursor.take_spaced(end) {
        return Ok(values);
    }
    loop {
        values.push(value(cursor, depth)?);
        if cursor.take_spaced(end) {
            return Ok(values);
        }
        if !cursor.take(",") {
            return cursor.expected(&format!("\",\" or \"{end}\""));
        }
    }
}

fn value(cursor: &mut Cursor<'_>, depth: usize) -> Read<Argument> {
    let first = single(cursor, depth)?;
    if !cursor.take_spaced("|") {
        return Ok(first);
    }
    let mut parts = vec![first, single(cursor, depth)?];
    while cursor.take_spaced("|") {
        parts.push(single(cursor, depth)?);
    }
    Ok(Argument::Or(parts))
}

fn single(cursor: &mut Cursor<'_>, depth: usize) -> Read<Argument> {
    let Some(depth) = depth.checked_sub(1) else {
        return cursor.fail("values stand too deep within each other here".to_owned());
    };
    if cursor.take_spaced("...") {
        return Ok(Argument::Any);
    }
    if cursor.take("[") {
        return values(cursor, "]", depth).map(Argument::List);
    }
    if cursor.take("{") {
        return fields(cursor, depth).map(Argument::Fields);
    }
    if cursor.take("\"") {
        return Ok(Argument::Text(cursor.take_until("\"")?.to_owned()));
    }
    if cursor.rest().starts_with(|it: char| it.is_ascii_digit() || it == '-') {
        return cursor.number().map(Argument::Number);
    }
    let Ok(name) = cursor.name() else {
        return cursor.expected("a value");
    };
    let name = name.to_owned();
    if cursor.take_spaced("(") {
        return Ok(Argument::Applied(name, values(cursor, ")", depth)?));
    }
    Ok(Argument::Name(name))
}

/// Reads fields up to the closing brace; those of messages have a size behind their name.
fn fields(cursor: &mut Cursor<'_>, depth: usize) -> Read<Vec<(Option<String>, Argument)>> {
    let mut fields = Vec::new();
    while !cursor.take_spaced("}") {
        // A field may be named as in C, ".field = value".
        if !cursor.rest().starts_with("..") {
            cursor.take(".");
        }
        let first = value(cursor, depth)?;
        let name = match &first {
            Argument::Name(name) | Argument::Applied(name, _) => Some(name.clone()),
            _ => None,
        };
        let name = name.filter(|_| cursor.take_spaced("="));
        fields.push(if name.is_some() { (name, value(cursor, depth)?) } else { (None, first) });
        if !cursor.take_spaced(",") && !cursor.rest().starts_with('}') {
            return cursor.expected("\",\" or \"}\"");
        }
        cursor.skip_space();
    }
    Ok(fields)
}
