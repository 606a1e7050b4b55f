//! A word that stands where none may: the command without its `--`, or a value in several words.

use clap::{Arg, Command};

use super::shell_quoted;
use crate::face::has_words;

/// Returns advice about the stray `word` among all `words`, to be printed after it.
pub(super) fn advice(
    word: &str,
    command: &Command,
    words: &[String],
    runs_programs: bool,
) -> Option<String> {
    if let Some(option) = word.strip_prefix(['–', '—']) {
        return Some(format!(": options begin with two plain hyphens: --{option}"));
    }
    let place = place_of(word, command, words);
    let (before, after) = words.split_at(place);
    if let Some(advice) = of_value(before, after, command) {
        return Some(advice);
    }
    if !runs_programs {
        return None;
    }
    if after.iter().any(|it| it == "--") {
        return Some(" before --: the command to run comes after it".to_owned());
    }
    let quoted = |words: &[String]| words.iter().map(|it| shell_quoted(it)).collect::<Vec<_>>();
    let line = [quoted(before), vec!["--".to_owned()], quoted(after)].concat().join(" ");
    Some(format!(": write -- before the command to run: windfall {line}"))
}

/// Returns the position where the word stands by itself, and not as the value of an option.
fn place_of(word: &str, command: &Command, words: &[String]) -> usize {
    let is_value = |at: usize| {
        let option = at.checked_sub(1).and_then(|before| option(command, &words[before]));
        option.is_some_and(takes_next_word)
    };
    let mut places = (0..words.len()).filter(|&at| words[at] == word && !is_value(at));
    places.next().unwrap_or(words.len())
}

/// The option that a word is, if it carries no value itself.
fn option<'a>(command: &'a Command, word: &str) -> Option<&'a Arg> {
    let name = word.strip_prefix("--")?;
    command.get_arguments().find(|it| it.get_long() == Some(name))
}

fn takes_next_word(option: &Arg) -> bool {
    option.get_action().takes_values() && !option.is_require_equals_set()
}

/// Advice about a stray word that belongs to the option before it.
fn of_value(before: &[String], after: &[String], command: &Command) -> Option<String> {
    let (last, earlier) = before.split_last()?;
    let stray = after.first()?;
    if let Some(option) = option(command, last) {
        let is_state = matches!(stray.as_str(), "on" | "off");
        let is_meant = option.is_require_equals_set() && is_state;
        return is_meant.then(|| format!(": write {last}={stray}"));
    }
    if !looks_like_value(stray) {
        return None;
    }
    let (name, first) = match last.split_once('=') {
        Some((name, first)) => (name, first),
        None => (earlier.last()?.as_str(), last.as_str()),
    };
    let option = option(command, name).filter(|it| takes_next_word(it))?;
    let long = option.get_long()?;
    if !has_words(long) && long != "flow" {
        return Some(format!(": {name} takes one value, and has {first}; remove one of them"));
    }
    let more = after.iter().take_while(|it| looks_like_value(it)).map(String::as_str);
    let value = [first].into_iter().chain(more).collect::<Vec<_>>().join(" ");
    Some(format!(": quote a value that has spaces: {name} \"{value}\""))
}

/// Tells whether a word is rather a number than a program.
fn looks_like_value(word: &str) -> bool {
    word.trim_start_matches(['.', '+']).starts_with(|it: char| it.is_ascii_digit())
}
