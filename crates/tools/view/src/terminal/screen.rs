//! The terminal while it shows the view of a run: given back as it was, whatever ends that.

use std::io;
use std::time::Duration;

use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyModifiers};

use crate::terminal::top::RunView;

/// The terminal at the standard output.
#[derive(Debug)]
pub struct Screen {
    terminal: DefaultTerminal,
}

impl Screen {
    /// Takes the terminal over.
    ///
    /// # Errors
    /// If there is none.
    pub fn open() -> io::Result<Self> {
        Ok(Self { terminal: ratatui::try_init()? })
    }

    /// Shows a view.
    ///
    /// # Errors
    /// If the terminal is gone.
    pub fn draw(&mut self, view: &RunView) -> io::Result<()> {
        self.terminal.draw(|frame| view.draw(frame)).map(drop)
    }

    /// Waits for this long; returns `true` if the user leaves before.
    ///
    /// # Errors
    /// If the terminal is gone.
    pub fn is_left_within(&self, span: Duration) -> io::Result<bool> {
        if !event::poll(span)? {
            return Ok(false);
        }
        let Event::Key(key) = event::read()? else { return Ok(false) };
        let is_interrupt =
            key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL);
        Ok(is_interrupt || matches!(key.code, KeyCode::Char('q') | KeyCode::Esc))
    }

    /// Waits for this long.
    #[expect(clippy::disallowed_methods, reason = "a person watches a run in real time")]
    pub fn wait(span: Duration) {
        std::thread::sleep(span);
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        ratatui::restore();
    }
}
