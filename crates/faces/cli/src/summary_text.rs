//! The summary of a run as text for a terminal.

use std::os::fd::AsFd;

use windfall_base::text::visible;
use windfall_output::summary::Summary;

/// Returns the summary as text, as wide as the terminal that it is for.
pub(crate) fn to_text(summary: &Summary, terminal: &impl AsFd) -> String {
    let text = match rustix::termios::tcgetwinsize(terminal) {
        Ok(size) if size.ws_col > 0 => summary.to_text_within(size.ws_col.into()),
        _ => summary.to_text(),
    };
    visible(&text).into_owned()
}
