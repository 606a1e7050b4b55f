//! The part of libconfig's syntax that wmediumd's configurations use: settings, groups, lists,
//! arrays, strings, numbers, and comments of three kinds.

use core::fmt;

use windfall_files::traces::LineError;

/// Groups and lists within each other beyond which a file is refused.
const DEPTH: usize = 16;

/// A value of a setting.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    /// A number, or a switch as 0 or 1.
    Number(f64),
    Text(String),
    List(Vec<Value>),
    Group(Group),
}

/// Settings by their names, in their order.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Group(Vec<(String, Value)>);

impl fmt::Display for Value {
    /// Writes it as in a file.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => write!(f, "\"{text}\""),
            Self::List(values) => {
                let values: Vec<_> = values.iter().map(Self::to_string).collect();
                write!(f, "({})", values.join(", "))
            }
            Self::Group(_) => write!(f, "{{ ... }}"),
        }
    }
}

impl Group {
    /// Reads a file.
    ///
    /// # Errors
    /// If it is not of this syntax; names the line.
    pub(super) fn parse(text: &str) -> Result<Self, LineError> {
        let mut reader = Reader { text, at: 0 };
        let group = reader.settings(0)?;
        match reader.peek()? {
            None => Ok(group),
            Some(_) => Err(reader.error("closes what was never opened: remove it")),
        }
    }

    /// Returns the settings of the file and of its groups, such as `model.type`.
    pub(super) fn paths(&self) -> Vec<String> {
        let of = |(name, value): &(String, Value)| match value {
            Value::Group(group) => group.paths().iter().map(|it| format!("{name}.{it}")).collect(),
            _ => vec![name.clone()],
        };
        self.0.iter().flat_map(of).collect()
    }

    /// Returns the value of a setting, such as `model.type`.
    pub(super) fn get(&self, path: &str) -> Option<&Value> {
        let (name, rest) = path.split_once('.').map_or((path, None), |(a, b)| (a, Some(b)));
        let (_, value) = self.0.iter().find(|(it, _)| it == name)?;
        match (rest, value) {
            (None, value) => Some(value),
            (Some(rest), Value::Group(group)) => group.get(rest),
            (Some(_), _) => None,
        }
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    /// The error at the line that is being read.
    fn error(&self, fix: &'static str) -> LineError {
        let before = &self.text[..self.at];
        let line = before.matches('\n').count();
        LineError::new(line, self.text.lines().nth(line).unwrap_or_default().trim(), fix)
    }

    /// Skips blanks and comments; returns the character that follows.
    fn peek(&mut self) -> Result<Option<char>, LineError> {
        loop {
            let rest = self.rest();
            let blanks = rest.len() - rest.trim_start().len();
            self.at += blanks;
            let rest = self.rest();
            let length = if rest.starts_with('#') || rest.starts_with("//") {
                rest.find('\n').unwrap_or(rest.len())
            } else if rest.starts_with("/*") {
                let end = rest.find("*/");
                end.ok_or_else(|| self.error("begins a comment without an end: add */"))? + 2
            } else {
                return Ok(rest.chars().next());
            };
            self.at += length;
        }
    }

    /// Takes a character if it comes next.
    fn take(&mut self, wanted: char) -> Result<bool, LineError> {
        let is_there = self.peek()? == Some(wanted);
        self.at += if is_there { wanted.len_utf8() } else { 0 };
        Ok(is_there)
    }

    /// Takes a word: a name, a number or a switch.
    fn word(&mut self) -> String {
        let rest = self.rest();
        let length = rest
            .find(|c: char| !(c.is_ascii_alphanumeric() || "_-+.*".contains(c)))
            .unwrap_or(rest.len());
        let word = rest[..length].to_owned();
        self.at += length;
        word
    }

    fn settings(&mut self, depth: usize) -> Result<Group, LineError> {
        let mut all = Vec::new();
        while self.peek()?.is_some_and(|c| c != '}') {
            let name = self.word();
            if name.is_empty() {
                return Err(self.error("has no setting where one should be: write name = value;"));
            }
            if !(self.take('=')? || self.take(':')?) {
                return Err(self.error("lacks the value of a setting: write name = value;"));
            }
            let value = self.value(depth)?;
            all.push((name, value));
            let _ = self.take(';')? || self.take(',')?;
        }
        Ok(Group(all))
    }

    fn value(&mut self, depth: usize) -> Result<Value, LineError> {
        if depth > DEPTH {
            return Err(self.error("nests groups and lists too deeply"));
        }
        match self.peek()? {
            Some('{') => {
                self.at += 1;
                let group = self.settings(depth + 1)?;
                if !self.take('}')? {
                    return Err(self.error("ends within a group: add }"));
                }
                Ok(Value::Group(group))
            }
            Some('(') => self.list(')', depth),
            Some('[') => self.list(']', depth),
            Some('"') => self.string(),
            _ => self.scalar(),
        }
    }

    fn list(&mut self, end: char, depth: usize) -> Result<Value, LineError> {
        self.at += 1;
        let mut all = Vec::new();
        while !self.take(end)? {
            all.push(self.value(depth + 1)?);
            if !self.take(',')? && self.peek()? != Some(end) {
                return Err(self.error("lacks a comma or the end of a list"));
            }
        }
        Ok(Value::List(all))
    }

    /// Takes a text; those that follow each other are one.
    fn string(&mut self) -> Result<Value, LineError> {
        let mut text = String::new();
        while self.peek()? == Some('"') {
            let inside = &self.rest()[1..];
            let end = inside.find('"').filter(|end| !inside[..*end].contains('\n'));
            let end = end.ok_or_else(|| self.error("begins a text without an end: add \""))?;
            text.push_str(&inside[..end]);
            self.at += end + 2;
        }
        Ok(Value::Text(text))
    }

    fn scalar(&mut self) -> Result<Value, LineError> {
        let start = self.at;
        let word = self.word();
        let number = match word.to_ascii_lowercase().as_str() {
            "true" => Some(1.0),
            "false" => Some(0.0),
            other => number(other),
        };
        self.at = if number.is_some() { self.at } else { start };
        number.map(Value::Number).ok_or_else(|| self.error("has no number, text or list here"))
    }
}

/// Reads a number in small letters: `0x1f`, `0b11` and `0o17` are whole numbers of other bases, and
/// a whole number may end with `l` or `ll` for its size.
fn number(word: &str) -> Option<f64> {
    let short = word.strip_suffix('l').map_or(word, |it| it.strip_suffix('l').unwrap_or(it));
    for (prefix, base) in [("0x", 16), ("0b", 2), ("0o", 8)] {
        if let Some(digits) = short.strip_prefix(prefix) {
            let number = u64::from_str_radix(digits, base).ok();
            return number.filter(|_| !digits.starts_with('+')).map(|it| it as f64);
        }
    }
    let is_whole = short.parse::<i64>().is_ok();
    let number = if is_whole { short } else { word }.parse::<f64>().ok();
    number.filter(|it| it.is_finite())
}
