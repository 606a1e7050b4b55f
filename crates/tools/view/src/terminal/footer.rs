//! Lines at the bottom of the terminal, below whatever programs write.
//!
//! The programs of a run write to the terminal by themselves, whenever they like. Their output
//! scrolls in a region that ends above the footer (DECSTBM), so the two never share a line and
//! nothing of the footer gets into the scrollback. Each change is one `write`, which the kernel
//! does not interleave with those of the programs.

use std::fmt::Write as _;
use std::io::{self, Write as _};

use windfall_base::text::visible;

/// The share of the terminal that the footer may take, as a divisor.
const SHARE: usize = 3;
/// The fewest rows of a terminal that has a footer.
const LEAST_ROWS: u16 = 4;

/// The position of the footer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Area {
    /// The terminal's rows.
    rows: u16,
    /// The terminal's columns.
    columns: u16,
    /// Rows of the footer, at the bottom.
    height: u16,
}

/// The footer of the terminal at the standard error.
#[derive(Debug, Default)]
pub(crate) struct Footer {
    /// Nothing has been drawn yet, or all is cleared, if `None`.
    place: Option<Area>,
}

impl Footer {
    /// Shows these lines, in place of those before.
    ///
    /// A process in the background leaves the terminal to those in the foreground.
    pub(crate) fn show(&mut self, lines: &[String]) {
        if is_in_background() {
            return;
        }
        let size = rustix::termios::tcgetwinsize(io::stderr());
        let Ok(size) = size else { return };
        if size.ws_row < LEAST_ROWS || size.ws_col == 0 {
            // A terminal that does not know its size, or has no room.
            return self.clear();
        }
        let height = lines.len().min(usize::from(size.ws_row) / SHARE) as u16;
        let place = Area { rows: size.ws_row, columns: size.ws_col, height };
        let mut text = String::new();
        if self.place != Some(place) {
            text.push_str(&reserve(self.place, place));
            self.place = Some(place);
        }
        text.push_str(&draw(place, lines));
        write(&text);
    }

    /// Removes it; the cursor stays where the programs left it.
    pub(crate) fn clear(&mut self) {
        if let Some(place) = self.place.take() {
            write(&release(place));
        }
    }
}

impl Drop for Footer {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Tells whether others have the terminal: this process goes on behind a shell.
fn is_in_background() -> bool {
    let foreground = rustix::termios::tcgetpgrp(io::stderr());
    foreground.is_ok_and(|group| group != rustix::process::getpgrp())
}

/// A terminal that is gone needs no footer.
fn write(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Makes room for a footer: what stands there scrolls up, and the cursor with it.
fn reserve(before: Option<Area>, place: Area) -> String {
    let mut text = match before {
        // Another size moves the rows, each terminal in its own way, but never the footer above
        // the cursor.
        Some(before) if (before.rows, before.columns) != (place.rows, place.columns) => {
            "\x1b7\x1b[r\x1b8\x1b[J".to_owned()
        }
        Some(before) => release(before),
        None => String::new(),
    };
    for _ in 0..place.height {
        // Index: down by a row in the same column, and at the bottom scroll.
        text.push_str("\x1bD");
    }
    let last = place.rows - place.height;
    // Up again, into what becomes the region. Setting it moves the cursor, so it is saved around.
    let _ = write!(text, "\x1b[{}A\x1b7\x1b[1;{last}r\x1b8", place.height);
    text
}

/// Writes the lines into their rows.
fn draw(place: Area, lines: &[String]) -> String {
    let mut text = "\x1b7".to_owned();
    let first = place.rows - place.height + 1;
    for (row, line) in (first..).zip(lines.iter().take(place.height.into())) {
        let width = usize::from(place.columns);
        // Names of links and flows may come from others.
        let line = visible(line);
        let plain = line.chars().filter(|c| !c.is_control());
        // What would touch the last column could wrap.
        let shown: String = plain.take(width.saturating_sub(1)).collect();
        let _ = write!(text, "\x1b[{row};1H\x1b[2K{shown}");
    }
    text.push_str("\x1b8");
    text
}

/// Erases the rows of the footer and lets the whole terminal scroll again.
fn release(place: Area) -> String {
    let first = place.rows - place.height + 1;
    let mut text = "\x1b7".to_owned();
    for row in first..=place.rows {
        let _ = write!(text, "\x1b[{row};1H\x1b[2K");
    }
    text.push_str("\x1b[r\x1b8");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: Area = Area { rows: 24, columns: 10, height: 2 };

    #[test]
    fn room_is_made_below_the_cursor_and_given_back() {
        assert_eq!(reserve(None, PLACE), "\x1bD\x1bD\x1b[2A\x1b7\x1b[1;22r\x1b8");
        assert_eq!(release(PLACE), "\x1b7\x1b[23;1H\x1b[2K\x1b[24;1H\x1b[2K\x1b[r\x1b8");
        assert!(reserve(Some(PLACE), Area { height: 3, ..PLACE }).starts_with(&release(PLACE)));
        let larger = reserve(Some(PLACE), Area { rows: 30, ..PLACE });
        assert!(larger.starts_with("\x1b7\x1b[r\x1b8\x1b[J\x1bD\x1bD\x1b[2A"), "{larger:?}");
    }

    #[test]
    fn a_line_never_wraps_nor_commands_the_terminal() {
        let lines = ["longer\n than the terminal".to_owned(), "b".into(), "c".into()];
        let expected = "\x1b7\x1b[23;1H\x1b[2Klonger th\x1b[24;1H\x1b[2Kb\x1b8";
        assert_eq!(draw(PLACE, &lines), expected);
        let lines = ["\x1b[2J".to_owned(), "a\u{202e}b".to_owned()];
        let expected = "\x1b7\x1b[23;1H\x1b[2K\\u{1b}[2J\x1b[24;1H\x1b[2Ka\\u{202e}\x1b8";
        assert_eq!(draw(PLACE, &lines), expected);
    }
}
