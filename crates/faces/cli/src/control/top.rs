//! `windfall top`: the live view of a run.

use std::io::{IsTerminal as _, Write as _};
use std::time::Duration;

use windfall_control::{ControlClient, ControlError};
use windfall_view::terminal::{RunView, Screen};

use super::top_web;
use crate::exit::{CliError, Completion, Result, tell};
use crate::usage::whole;

/// The time from one look at the run to the next.
const TICK: Duration = Duration::from_millis(500);
/// The size of a view that is printed once.
const PAGE: (u16, u16) = (100, 40);

/// Watch a run live in the terminal or a browser
///
/// Shows rates, queues, delays and losses of the last minutes.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Name of the run, if several are active
    run: Option<String>,
    /// Print one view after half a second, and exit
    #[arg(long)]
    once: bool,
    /// Show the run in a browser instead. Prints the address of a page with charts, controls for
    /// the links, and an export
    #[arg(long, conflicts_with = "once")]
    web: bool,
    /// Port of the page on the loopback device, 1 to 65535 [default: a free port]
    #[arg(long, requires = "web", value_parser = whole(1..=u16::MAX))]
    port: Option<u16>,
}

pub(crate) fn run(args: &Args) -> Result {
    let mut client = ControlClient::connect(args.run.as_deref())?;
    if args.web {
        return top_web::run(client, args.port.unwrap_or(0));
    }
    let mut view = RunView::new(client.name());
    look(&mut client, &mut view)?;
    if args.once {
        Screen::wait(TICK);
        look(&mut client, &mut view)?;
        std::io::stdout().write_all(view.to_text(PAGE.0, PAGE.1).as_bytes())?;
        return Ok(Completion::Success);
    }
    if !std::io::stdout().is_terminal() {
        return Err(CliError::usage("the standard output is no terminal: add --once"));
    }
    let signals = windfall_live::Signals::take_over()?;
    let mut screen = Screen::open()?;
    loop {
        screen.draw(&view)?;
        if screen.is_left_within(TICK)? || signals.has_ending() {
            return Ok(Completion::Success);
        }
        if let Err(error) = look(&mut client, &mut view) {
            if client.has_ended() {
                drop(screen);
                tell(format!("{} has ended", client.name()));
                return Ok(Completion::Success);
            }
            view.set_notice(&format!("{error}; q quits"));
        }
    }
}

fn look(client: &mut ControlClient, view: &mut RunView) -> std::result::Result<(), ControlError> {
    view.take_status(client.status()?.answer);
    view.take_samples(client.samples(view.last())?);
    Ok(())
}
