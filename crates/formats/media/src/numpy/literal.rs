//! Values as Python writes them: texts, numbers, tuples, lists and dictionaries.

/// The most values within each other.
pub(super) const DEEPEST: u8 = 32;

/// A value of one of the kinds that headers hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Literal {
    Text(String),
    Number(usize),
    /// `True`, `False`, `None`, and numbers that count nothing.
    Word,
    Tuple(Vec<Literal>),
    List(Vec<Literal>),
    Dictionary(Vec<(Literal, Literal)>),
}

impl Literal {
    /// Reads a text that is one value, white space apart.
    pub(super) fn parse(text: &[u8]) -> Option<Self> {
        let mut reader = Reader { rest: text };
        let value = reader.value(0)?;
        reader.skip();
        reader.rest.is_empty().then_some(value)
    }

    /// Returns the text, if it is one.
    pub(super) fn into_text(self) -> Option<String> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl Reader<'_> {
    /// Passes white space, comments and ends of lines that a backslash hides.
    fn skip(&mut self) {
        loop {
            match self.rest {
                [b' ' | b'\t' | b'\r' | b'\n' | 0x0c, rest @ ..]
                | [b'\\', b'\n' | b'\r', rest @ ..] => self.rest = rest,
                [b'#', ..] => {
                    let end = self.rest.iter().position(|byte| *byte == b'\n');
                    self.rest = &self.rest[end.unwrap_or(self.rest.len())..];
                }
                _ => return,
            }
        }
    }

    /// Takes a byte, behind white space.
    fn take(&mut self, wanted: u8) -> bool {
        self.skip();
        let rest = self.rest.split_first().filter(|(byte, _)| **byte == wanted);
        rest.inspect(|(_, rest)| self.rest = rest).is_some()
    }

    fn value(&mut self, depth: u8) -> Option<Literal> {
        if depth > DEEPEST {
            return None;
        }
        if self.take(b'{') {
            return self.dictionary(depth + 1);
        }
        if self.take(b'[') {
            return Some(Literal::List(self.items(b']', depth + 1)?.0));
        }
        if self.take(b'(') {
            let (mut items, has_comma) = self.items(b')', depth + 1)?;
            return match items.len() {
                // A value in parentheses.
                1 if !has_comma => items.pop(),
                _ => Some(Literal::Tuple(items)),
            };
        }
        if let Some(mut text) = self.text()? {
            // Texts that follow each other are one.
            while let Some(more) = self.text()? {
                text.push_str(&more);
            }
            return Some(Literal::Text(text));
        }
        self.word()
    }

    /// Reads up to `end`, and tells whether there was a comma.
    fn items(&mut self, end: u8, depth: u8) -> Option<(Vec<Literal>, bool)> {
        let mut items = Vec::new();
        let mut has_comma = false;
        loop {
            if self.take(end) {
                return Some((items, has_comma));
            }
            items.push(self.value(depth)?);
            let is_followed = self.take(b',');
            has_comma |= is_followed;
            if !is_followed {
                return self.take(end).then_some((items, has_comma));
            }
        }
    }

    fn dictionary(&mut self, depth: u8) -> Option<Literal> {
        let mut pairs = Vec::new();
        loop {
            if self.take(b'}') {
                return Some(Literal::Dictionary(pairs));
            }
            let key = self.value(depth)?;
            self.take(b':').then_some(())?;
            pairs.push((key, self.value(depth)?));
            if !self.take(b',') {
                return self.take(b'}').then_some(Literal::Dictionary(pairs));
            }
        }
    }

    /// Reads a text; `Some(None)` if there is none here, `None` if it has no end.
    #[expect(clippy::option_option, reason = "no text, and a broken one, are two things")]
    fn text(&mut self) -> Option<Option<String>> {
        self.skip();
        let prefix = self.rest.iter().take(2).take_while(|byte| b"uUbBrR".contains(byte)).count();
        let (letters, rest) = self.rest.split_at(prefix);
        let Some(quote @ (b'\'' | b'"')) = rest.first().copied() else { return Some(None) };
        let is_raw = letters.iter().any(|byte| byte.eq_ignore_ascii_case(&b'r'));
        let triple = [quote; 3];
        let mark = if rest.starts_with(&triple) { &triple[..] } else { &triple[..1] };
        let mut rest = &rest[mark.len()..];
        let mut bytes = Vec::new();
        loop {
            if let Some(behind) = rest.strip_prefix(mark) {
                self.rest = behind;
                // The first version of the format is written in Latin-1, the third in UTF-8.
                let text = String::from_utf8(bytes).unwrap_or_else(|error| {
                    error.into_bytes().into_iter().map(char::from).collect()
                });
                return Some(Some(text));
            }
            match rest {
                [b'\n', ..] if mark.len() == 1 => return None,
                [b'\\', _, behind @ ..] if is_raw => {
                    bytes.extend(&rest[..2]);
                    rest = behind;
                }
                [b'\\', b'\n', behind @ ..] => rest = behind,
                [b'\\', b'x', high, low, behind @ ..] => {
                    bytes.push((hex_digit(high)? << 4 | hex_digit(low)?) as u8);
                    rest = behind;
                }
                [b'\\', escaped, behind @ ..] => {
                    bytes.push(*escaped);
                    rest = behind;
                }
                [byte, behind @ ..] => {
                    bytes.push(*byte);
                    rest = behind;
                }
                [] => return None,
            }
        }
    }

    /// Reads a number or a word: Python 2 writes a long number with an L.
    fn word(&mut self) -> Option<Literal> {
        self.skip();
        let length = self
            .rest
            .iter()
            .take_while(|byte| byte.is_ascii_alphanumeric() || b"_-+.".contains(byte))
            .count();
        let (word, rest) = self.rest.split_at(length);
        self.rest = rest;
        let word: String = word.iter().map(|byte| char::from(*byte)).collect();
        match &word[..] {
            "True" | "False" | "None" => return Some(Literal::Word),
            _ => {}
        }
        let digits = word.trim_end_matches(['L', 'l']).replace('_', "");
        let number = match digits.get(..2) {
            Some("0x" | "0X") => usize::from_str_radix(&digits[2..], 16),
            Some("0o" | "0O") => usize::from_str_radix(&digits[2..], 8),
            Some("0b" | "0B") => usize::from_str_radix(&digits[2..], 2),
            _ => digits.parse(),
        };
        match number {
            Ok(number) => Some(Literal::Number(number)),
            Err(_) => word.parse::<f64>().ok().map(|_| Literal::Word),
        }
    }
}

/// Returns the value of a hexadecimal digit.
fn hex_digit(byte: &u8) -> Option<u32> {
    char::from(*byte).to_digit(16)
}
