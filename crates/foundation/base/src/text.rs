//! Text that others chose, made safe to show.

use std::borrow::Cow;

/// Returns `text` with every character that could steer a terminal, or turn the order of what
/// follows, written as an escape. Line ends and tabs stay.
#[must_use]
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(steers) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        if steers(character) {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    Cow::Owned(shown)
}

fn steers(character: char) -> bool {
    let turns = matches!(
        character,
        '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    turns || (character.is_control() && !matches!(character, '\n' | '\t'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_a_terminal_is_written_out() {
        assert!(matches!(visible("near-far/näher\n\t✓"), Cow::Borrowed(_)));
        assert_eq!(
            visible("a\u{1b}]0;b\u{7}\r\u{9b}\u{202e}c"),
            "a\\u{1b}]0;b\\u{7}\\r\\u{9b}\\u{202e}c"
        );
    }
}
