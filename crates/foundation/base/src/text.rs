//! Text that others chose, made safe to show, and numbers of a length that fits a message.

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

/// Returns a noun behind the article that its first letter asks for.
#[must_use]
pub fn with_article(noun: &str) -> String {
    let article =
        if noun.starts_with(['a', 'e', 'i', 'o', 'u', 'A', 'E', 'I', 'O']) { "an" } else { "a" };
    format!("{article} {noun}")
}

/// Returns the text of a number, which reads back as the same; of a very large or a very small one
/// with an exponent, not with all its digits.
#[must_use]
pub fn number_text(number: f64) -> String {
    if number == 0.0 || (1e-6..1e16).contains(&number.abs()) {
        number.to_string()
    } else {
        format!("{number:e}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_short_and_read_back() {
        let cases = [
            (0.0, "0"),
            (-0.5, "-0.5"),
            (1e-6, "0.000001"),
            (1e-7, "1e-7"),
            (123456.0, "123456"),
            (1e308, "1e308"),
            (-5e-324, "-5e-324"),
            (f64::INFINITY, "inf"),
        ];
        for (number, text) in cases {
            assert_eq!(number_text(number), text);
            assert_eq!(text.parse(), Ok(number));
        }
    }

    #[test]
    fn what_steers_a_terminal_is_written_out() {
        assert!(matches!(visible("near-far/näher\n\t✓"), Cow::Borrowed(_)));
        assert_eq!(
            visible("a\u{1b}]0;b\u{7}\r\u{9b}\u{202e}c"),
            "a\\u{1b}]0;b\\u{7}\\r\\u{9b}\\u{202e}c"
        );
    }
}
