//! Text that is put together when the program is compiled, from the names of a table.

/// A text of at most `N` bytes.
#[derive(Clone, Copy, Debug)]
pub struct ConstText<const N: usize> {
    bytes: [u8; N],
    len: usize,
}

impl<const N: usize> ConstText<N> {
    /// The empty text.
    pub const EMPTY: Self = Self { bytes: [0; N], len: 0 };

    /// Returns this text with `more` behind it.
    ///
    /// # Panics
    /// If it would have more than `N` bytes: in a constant the compiler says so.
    #[must_use]
    pub const fn with(mut self, more: &str) -> Self {
        let more = more.as_bytes();
        let mut at = 0;
        while at < more.len() {
            self.bytes[self.len] = more[at];
            self.len += 1;
            at += 1;
        }
        self
    }

    /// Returns this text with the name of number `at` of `count` behind it, and before that what
    /// separates it from the name before: a comma, or `last` before the last name.
    #[must_use]
    pub const fn with_item(self, (at, count): (usize, usize), name: &str, last: &str) -> Self {
        let separator = match at {
            0 => "",
            _ if at + 1 == count => last,
            _ => ", ",
        };
        self.with(separator).with(name)
    }

    /// Returns the text.
    #[must_use]
    pub const fn as_str(&self) -> &str {
        match core::str::from_utf8(self.bytes.split_at(self.len).0) {
            Ok(text) => text,
            // Whole texts alone were added.
            Err(_) => "",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_a_table_become_a_sentence() {
        const NAMES: [&str; 3] = ["a", "bc", "ü"];
        const TEXT: ConstText<32> = {
            let mut text = ConstText::EMPTY.with("use ");
            let mut at = 0;
            while at < NAMES.len() {
                text = text.with_item((at, NAMES.len()), NAMES[at], " or ");
                at += 1;
            }
            text
        };
        const WHOLE: &str = TEXT.as_str();
        assert_eq!(WHOLE, "use a, bc or ü");
        assert_eq!(ConstText::<0>::EMPTY.as_str(), "");
    }
}
