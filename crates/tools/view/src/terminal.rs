//! The display of a run on a terminal.
//!
//! - [`Status`]: the lines below the output of a run's programs.
//! - [`RunView`]: a run as others see it, drawn on a [`Screen`] or once as text.

mod footer;
mod screen;
mod status;
mod top;

pub use screen::Screen;
pub use status::Status;
pub use top::RunView;
