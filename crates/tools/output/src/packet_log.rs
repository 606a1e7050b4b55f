//! The packet log of one direction of a link in mahimahi's format, with `c` for inverted bits.
//!
//! Times are whole milliseconds since the start of the run:
//!
//! | line | what happened |
//! |---|---|
//! | `T + BYTES` | a packet entered at the sender's device |
//! | `T # 1500` | an opportunity to deliver 1500 bytes (links with a rate or a rate trace) |
//! | `T - BYTES DELAY` | a packet left at the receiver's device, DELAY ms after it had entered |
//! | `T d PACKETS BYTES` | packets were dropped |
//! | `T c BITS` | the channel inverted BITS bits of a frame |

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::iter::Peekable;

use windfall_base::{Instant, Tag};
use windfall_channel::{Line, Opportunities};
use windfall_files::traces::rate_trace::OPPORTUNITY;

/// The comment lines at the start of the log.
#[derive(Clone, Debug, Default)]
pub struct PacketLogHeader {
    /// The direction: `uplink`, `downlink`, or who sends to whom.
    pub direction: String,
    /// The command that started the run.
    pub command: String,
    /// The queue before the link, such as `droptail [packets=50]`.
    pub queue: String,
    /// The seed of the run.
    pub seed: u64,
    /// The start of the run in milliseconds since 1970; zero in simulated time.
    pub epoch_ms: u64,
}

/// Writes the log of one direction.
#[derive(Debug)]
pub struct PacketLog<W> {
    out: W,
    /// When the link could deliver, and the next such moment.
    opportunities: Peekable<Opportunities>,
    /// When each packet under way had entered, and its bytes.
    entered: BTreeMap<Tag, (Instant, usize)>,
}

impl<W: Write> PacketLog<W> {
    /// Begins a log; `line` says what the link could deliver.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn new(mut out: W, header: &PacketLogHeader, line: Line) -> io::Result<Self> {
        let PacketLogHeader { direction, command, queue, seed, epoch_ms } = header;
        let version = env!("CARGO_PKG_VERSION");
        // A line break would end the comment.
        let command = command.replace(['\r', '\n'], " ");
        writeln!(out, "# windfall {version} ({direction})")?;
        writeln!(out, "# command line: {command}")?;
        writeln!(out, "# queue: {queue}")?;
        writeln!(out, "# seed: {seed}")?;
        writeln!(out, "# init timestamp: {epoch_ms}")?;
        writeln!(out, "# base timestamp: 0")?;
        let opportunities = Opportunities::new(line).peekable();
        Ok(Self { out, opportunities, entered: BTreeMap::new() })
    }

    /// Notes that a packet entered at the sender's device.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn entered(&mut self, at: Instant, tag: Tag, bytes: usize) -> io::Result<()> {
        self.catch_up(at)?;
        self.entered.insert(tag, (at, bytes));
        writeln!(self.out, "{} + {bytes}", millis(at))
    }

    /// Notes that a packet left at the receiver's device.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn delivered(&mut self, at: Instant, tag: Tag, bytes: usize) -> io::Result<()> {
        self.catch_up(at)?;
        let (entered, _) = self.entered.remove(&tag).unwrap_or((at, bytes));
        let delay = at.saturating_since(entered).as_millis();
        writeln!(self.out, "{} - {bytes} {delay}", millis(at))
    }

    /// Notes that a packet under way was dropped for good; of others nothing is written.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn dropped(&mut self, at: Instant, tag: Tag) -> io::Result<()> {
        self.catch_up(at)?;
        match self.entered.remove(&tag) {
            Some((_, bytes)) => writeln!(self.out, "{} d 1 {bytes}", millis(at)),
            None => Ok(()),
        }
    }

    /// Notes that a packet was dropped on entering: the queue was full, the packet too long.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn refused(&mut self, at: Instant, bytes: usize) -> io::Result<()> {
        self.catch_up(at)?;
        let at = millis(at);
        writeln!(self.out, "{at} + {bytes}\n{at} d 1 {bytes}")
    }

    /// Notes that the channel inverted `bits` bits of a frame.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn inverted(&mut self, at: Instant, bits: usize) -> io::Result<()> {
        self.catch_up(at)?;
        writeln!(self.out, "{} c {bits}", millis(at))
    }

    /// Writes the opportunities up to `now`.
    fn catch_up(&mut self, now: Instant) -> io::Result<()> {
        while let Some(at) = self.opportunities.next_if(|at| *at <= now) {
            writeln!(self.out, "{} # {OPPORTUNITY}", millis(at))?;
        }
        Ok(())
    }

    /// Hands all that is buffered on.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// The writer behind the log.
    pub fn into_inner(self) -> W {
        self.out
    }
}

fn millis(at: Instant) -> u64 {
    at.as_nanos() / 1_000_000
}

#[cfg(test)]
mod tests;
