//! A place in a text that is being read, and the error that names one.

use core::fmt;

/// A line and a column, both from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The number of the line.
    pub line: u32,
    /// The column, in characters.
    pub column: u32,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// Why a text is no script.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {what}")]
pub struct ScriptError {
    /// The place at which reading ended.
    pub place: Place,
    /// The description of what was expected there, and of what there is.
    pub what: String,
}

pub(crate) type Read<T> = Result<T, ScriptError>;

/// The longest piece of a text that an error shows.
const SHOWN: usize = 24;

#[derive(Clone, Debug)]
pub(crate) struct Cursor<'a> {
    text: &'a str,
    at: usize,
    /// The offset of the first byte of each line.
    lines: Vec<usize>,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let lines = core::iter::once(0).chain(ends.map(|(at, _)| at + 1)).collect();
        Self { text, at: 0, lines }
    }

    pub(crate) fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// Returns the text from `start` to here, without space around it.
    pub(crate) fn since(&self, start: usize) -> &'a str {
        self.text[start..self.at].trim()
    }

    pub(crate) fn place(&self) -> Place {
        let line = self.lines.partition_point(|start| *start <= self.at);
        let start = self.lines[line - 1];
        let column = self.text[start..self.at].chars().count() + 1;
        Place { line: line as u32, column: column as u32 }
    }

    /// Returns the error that `wanted` is expected here.
    pub(crate) fn expected<T>(&self, wanted: &str) -> Read<T> {
        let rest = self.rest().lines().next().unwrap_or("");
        let shown: String = rest.chars().take(SHOWN).collect();
        let found = match (self.rest().is_empty(), shown.is_empty()) {
            (true, _) => "the end of the script".to_owned(),
            (false, true) => "the end of the line".to_owned(),
            (false, false) => format!("{shown:?}"),
        };
        self.fail(format!("expected {wanted}, found {found}"))
    }

    pub(crate) fn fail<T>(&self, what: String) -> Read<T> {
        Err(ScriptError { place: self.place(), what })
    }

    /// Passes space and comments.
    pub(crate) fn skip_space(&mut self) {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start();
            self.at += rest.len() - trimmed.len();
            let comment = if trimmed.starts_with("//") {
                trimmed.find('\n').unwrap_or(trimmed.len())
            } else if trimmed.starts_with("/*") {
                trimmed.find("*/").map_or(trimmed.len(), |end| end + 2)
            } else {
                return;
            };
            self.at += comment;
        }
    }

    /// Passes `text`, if it is next.
    pub(crate) fn take(&mut self, text: &str) -> bool {
        let is_next = self.rest().starts_with(text);
        if is_next {
            self.at += text.len();
        }
        is_next
    }

    /// Passes space and then `text`, if it is next.
    pub(crate) fn take_spaced(&mut self, text: &str) -> bool {
        self.skip_space();
        self.take(text)
    }

    /// Passes space and then `text`.
    pub(crate) fn need(&mut self, text: &str) -> Read<()> {
        if self.take_spaced(text) { Ok(()) } else { self.expected(&format!("\"{text}\"")) }
    }

    /// Passes space and then the word `word`, if it is next.
    pub(crate) fn take_word(&mut self, word: &str) -> bool {
        self.skip_space();
        let is_next = self.peek_while(is_of_name) == word;
        if is_next {
            self.at += word.len();
        }
        is_next
    }

    pub(crate) fn peek_while(&self, wanted: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        &rest[..rest.find(|it| !wanted(it)).unwrap_or(rest.len())]
    }

    pub(crate) fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &'a str {
        let found = self.peek_while(wanted);
        self.at += found.len();
        found
    }

    /// Passes everything up to `end` and `end` itself; what is between.
    pub(crate) fn take_until(&mut self, end: &str) -> Read<&'a str> {
        let Some(found) = self.rest().find(end) else {
            return self.fail(format!("there is no \"{end}\" that ends what begins here"));
        };
        let text = &self.rest()[..found];
        self.at += found + end.len();
        Ok(text)
    }

    /// Reads a name.
    pub(crate) fn name(&mut self) -> Read<&'a str> {
        self.skip_space();
        let starts = |it: char| it.is_ascii_alphabetic() || it == '_';
        if !self.rest().starts_with(starts) {
            return self.expected("a name");
        }
        Ok(self.take_while(is_of_name))
    }

    /// Reads a whole number, decimal or hexadecimal, that may be negative.
    pub(crate) fn number(&mut self) -> Read<i64> {
        self.skip_space();
        let start = self.at;
        let negative = self.take("-");
        let value = if self.take("0x") {
            let digits = self.take_while(|it| it.is_ascii_hexdigit());
            u64::from_str_radix(digits, 16).ok().and_then(|it| i64::try_from(it).ok())
        } else {
            self.take_while(|it| it.is_ascii_digit()).parse().ok()
        };
        match value {
            Some(value) => Ok(if negative { -value } else { value }),
            None => {
                self.at = start;
                self.expected("a number")
            }
        }
    }

    /// Reads a number of a type that is narrower.
    pub(crate) fn narrow<T: TryFrom<i64>>(&mut self, what: &str) -> Read<T> {
        self.skip_space();
        let start = self.at;
        let value = self.number()?;
        T::try_from(value).or_else(|_| {
            self.at = start;
            self.expected(what)
        })
    }
}

pub(crate) fn is_of_name(it: char) -> bool {
    it.is_ascii_alphanumeric() || it == '_'
}
