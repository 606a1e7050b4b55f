//! From text to a script.

use core::str::FromStr;

use windfall_base::Duration;

use crate::packet_script::cursor::{Cursor, Read};
use crate::packet_script::{
    Action, Event, PacketDirection, Script, ScriptError, ScriptOption, When, call, condition,
    packet,
};

impl FromStr for Script {
    type Err = ScriptError;

    fn from_str(text: &str) -> Result<Self, ScriptError> {
        let text = condition::select(text)?;
        let mut cursor = Cursor::new(&text);
        let mut script = Self::default();
        cursor.skip_space();
        // Options stand at the beginning; some scripts have one later, which holds from there on.
        while !cursor.rest().is_empty() {
            if cursor.rest().starts_with("--") {
                script.options.push(option(&mut cursor)?);
                cursor.skip_space();
                continue;
            }
            script.events.push(event(&mut cursor)?);
            cursor.skip_space();
        }
        Ok(script)
    }
}

fn option(cursor: &mut Cursor<'_>) -> Read<ScriptOption> {
    let place = cursor.place();
    cursor.need("--")?;
    let name = cursor.name()?.to_owned();
    let mut value = String::new();
    if cursor.take("=") {
        let found = if cursor.take("\"") {
            cursor.take_until("\"")?
        } else {
            cursor.take_while(|it| !it.is_whitespace())
        };
        found.clone_into(&mut value);
    }
    Ok(ScriptOption { place, name, value })
}

fn event(cursor: &mut Cursor<'_>) -> Read<Event> {
    let place = cursor.place();
    let time = time(cursor)?;
    let ends = if cursor.take_spaced("...") { Some(seconds(cursor)?) } else { None };
    cursor.skip_space();
    let start = cursor.at();
    let action = action(cursor, ends)?;
    Ok(Event { place, time, action, text: cursor.since(start).to_owned() })
}

fn action(cursor: &mut Cursor<'_>, ends: Option<Duration>) -> Read<Action> {
    for (mark, direction) in [("<", PacketDirection::Inbound), (">", PacketDirection::Outbound)] {
        if cursor.take(mark) {
            return Ok(Action::Packet(direction, packet::read(cursor)?));
        }
    }
    if cursor.take("`") {
        return Ok(Action::Shell(cursor.take_until("`")?.to_owned()));
    }
    if cursor.take("%{") {
        return Ok(Action::Code(cursor.take_until("}%")?.to_owned()));
    }
    match cursor.name() {
        Ok(name) => Ok(Action::Call(call::read(cursor, name, ends)?)),
        Err(_) => cursor.expected("a packet, a system call, `a command` or %{ code }%"),
    }
}

fn time(cursor: &mut Cursor<'_>) -> Read<When> {
    if cursor.take("*") {
        return Ok(When::Any);
    }
    let relative = cursor.take("+");
    if !relative && !cursor.rest().starts_with(|it: char| it.is_ascii_digit() || it == '.') {
        return Ok(When::Now);
    }
    let from = seconds(cursor)?;
    let mut until = None;
    if cursor.take_spaced("~") {
        cursor.take_spaced("+");
        until = Some(seconds(cursor)?);
    }
    Ok(When::At { relative, from, until })
}

/// Reads seconds with at most nine decimals.
fn seconds(cursor: &mut Cursor<'_>) -> Read<Duration> {
    cursor.skip_space();
    let start = cursor.clone();
    let is_digit = |it: char| it.is_ascii_digit();
    let whole = cursor.take_while(is_digit);
    let mut after = cursor.clone();
    let mut fraction = "";
    // Not the first of the three dots between the times of a blocking call.
    if after.take(".") && !after.rest().starts_with('.') {
        fraction = after.take_while(is_digit);
        *cursor = after;
    }
    let nanos = || {
        let padded: u64 = format!("{fraction:0<9}").parse().ok()?;
        let seconds: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
        seconds.checked_mul(1_000_000_000)?.checked_add(padded)
    };
    match nanos() {
        Some(nanos) if !(whole.is_empty() && fraction.is_empty()) && fraction.len() <= 9 => {
            Ok(Duration::from_nanos(nanos))
        }
        _ => start.expected("a time in seconds, with at most nine decimals"),
    }
}

#[cfg(test)]
mod tests;
