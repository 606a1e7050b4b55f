//! Scripts of packets in the style of packetdrill: what arrives, what must leave, and when.
//!
//! A script plays the peer of a connection against a [`Subject`]. Each line has a time and
//! either a command to the subject, a segment that arrives (`<`) or one that must leave (`>`):
//!
//! ```text
//! set sack off                                    # before everything: settings of the subject
//! 0.000 connect                                   # seconds; +0.1 is after the line before
//! 0.000 > S 0:0(0) win 65535 <mss 1460>
//! 0.010 < S. 0:0(0) ack 1 win 65535 <mss 1460>
//! 0.010 > . 1:1(0) ack 1
//! 0.020 < . 1:1001(1000) ack 1 win 65535 <cdo> damaged ! tcp-damaged
//! 0.020 > . 1:1(0) ack 1 <cno>
//! ```
//!
//! - Flags are tcpdump's letters, `-` for none; numbers count from the first of their direction.
//! - Options are `mss N`, `wscale N`, `sackOK`, `TS val A ecr B` (of the subject's clock from its
//!   first value on; `TS` alone fits any), `sack A:B C:D`, `cdo`, `cno`, `cno N`, `FO`, `FO HEX`,
//!   and `raw HEX` for everything else.
//! - `ect0`, `ect1` and `ce` are the marks of the IP header.
//! - `damaged` inverts a bit behind the checksum, `corrupted` one of the detection option too,
//!   `cut N` takes bytes away. `! NAME` gives the reason for which an arriving segment must be
//!   discarded.
//! - Of a segment that leaves everything is compared but a window that is not written. Its checksum
//!   and its data are checked, and what is not in the script must not leave.

mod clock;
mod segment;

use core::fmt;
use std::path::Path;

use bytes::Bytes;
use windfall_base::Instant;
use windfall_wire_net::{Addresses, Ecn};

pub use segment::{Segment, byte};

use clock::Clock;
use segment::{Numbers, SegmentError};

/// The addresses and ports of the subject and of the script, which plays the peer.
pub const SUBJECT: &str = "192.0.2.1:40000";
/// The address of the peer.
pub const PEER: &str = "192.0.2.2:80";

/// The implementation that a script is played against.
pub trait Subject {
    /// Changes a setting, before anything else happens.
    ///
    /// # Errors
    /// The setting or the value is unknown.
    fn configure(&mut self, name: &str, value: &str) -> Result<(), String>;

    /// Does what a line asks, or checks what it expects.
    ///
    /// # Errors
    /// The command is unknown, or what was expected is not so.
    fn command(&mut self, now: Instant, words: &[&str]) -> Result<(), String>;

    /// Takes a segment.
    ///
    /// # Errors
    /// The name of the reason for which it was discarded.
    fn handle_segment(&mut self, now: Instant, packet: &Packet) -> Result<(), &'static str>;

    /// Fires every timer due at `now`.
    fn handle_timeout(&mut self, now: Instant);

    /// Yields the next segment to send.
    fn poll_transmit(&mut self, now: Instant) -> Option<Packet>;

    /// Says when to call `handle_timeout` next.
    fn poll_timeout(&self) -> Option<Instant>;
}

/// A TCP segment as it is on the wire, with what its IP header says of it.
#[derive(Clone, Debug)]
pub struct Packet {
    /// From whom and to whom.
    pub addresses: Addresses,
    /// The ECN field.
    pub ecn: Ecn,
    /// Bytes that the IP header promises and that are not here.
    pub missing: u32,
    /// Header and data.
    pub bytes: Bytes,
}

/// Why a script failed: the place, what was expected, what was there, and what came before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The line, from 1.
    pub line: usize,
    /// The description of the failure.
    pub what: String,
    /// The last things that happened.
    pub before: Vec<String>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)?;
        for (number, line) in self.before.iter().enumerate() {
            let lead = if number == 0 { "before it:" } else { "          " };
            write!(f, "\n{lead} {line}")?;
        }
        Ok(())
    }
}

/// Plays the script in the file `path` against `subject`.
///
/// # Panics
/// If the file cannot be read, or something does not happen as it says.
pub fn play(path: &Path, subject: &mut impl Subject) {
    let Ok(text) = std::fs::read_to_string(path) else {
        panic!("cannot read {}", path.display());
    };
    if let Err(failure) = run(&text, subject) {
        panic!("{}, {failure}", path.display());
    }
}

/// Plays a script against `subject`.
///
/// # Errors
/// The first line that is no script, or that does not happen.
pub fn run(text: &str, subject: &mut impl Subject) -> Result<(), Failure> {
    let mut player = Player::new(subject);
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or("").trim();
        player.line = number + 1;
        let played = if line.is_empty() { Ok(()) } else { player.play(line) };
        played.map_err(|what| player.fail(what))?;
    }
    player.be_silent(player.clock.now).map_err(|what| player.fail(what))
}

/// The number of last lines that a failure shows.
const SHOWN: usize = 8;

struct Player<'a, S> {
    subject: &'a mut S,
    clock: Clock,
    numbers: Numbers,
    line: usize,
    happened: Vec<String>,
}

impl<'a, S: Subject> Player<'a, S> {
    fn new(subject: &'a mut S) -> Self {
        let clock = Clock::default();
        Self { subject, clock, numbers: Numbers::default(), line: 0, happened: Vec::new() }
    }

    fn fail(&self, what: String) -> Failure {
        let from = self.happened.len().saturating_sub(SHOWN);
        Failure { line: self.line, what, before: self.happened[from..].to_vec() }
    }

    fn play(&mut self, line: &str) -> Result<(), String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let ["set", name, value] = words[..] {
            return match name {
                "peer-start" => self.numbers.set_peer(value),
                _ => self.subject.configure(name, value),
            };
        }
        let (time, rest) = line.split_once(char::is_whitespace).ok_or_else(|| {
            format!("\"{line}\" is a time without anything to do; write e.g. `0.1 write 1000`")
        })?;
        let at = self.clock.read(time)?;
        let rest = rest.trim();
        match rest.strip_prefix(['<', '>']) {
            Some(segment) if rest.starts_with('<') => self.arrive(at, segment.trim()),
            Some(segment) => self.expect(at, segment.trim()),
            None => {
                self.be_silent(at)?;
                self.happened.push(format!("{at} {rest}"));
                self.subject.command(at, &words[1..])
            }
        }
    }

    /// Lets time pass until `to`, in which nothing may leave.
    fn be_silent(&mut self, to: Instant) -> Result<(), String> {
        loop {
            if let Some(packet) = self.subject.poll_transmit(self.clock.now) {
                let got = self.read(&packet)?;
                return Err(format!("nothing was expected to leave, and at {got} left"));
            }
            match self.subject.poll_timeout().filter(|next| *next < to) {
                Some(next) => self.wake(next),
                None => break,
            }
        }
        self.clock.now = to;
        Ok(())
    }

    fn wake(&mut self, at: Instant) {
        self.clock.now = self.clock.now.max(at);
        self.subject.handle_timeout(self.clock.now);
    }

    fn arrive(&mut self, at: Instant, text: &str) -> Result<(), String> {
        let segment: Segment = text.parse().map_err(|error: SegmentError| error.to_string())?;
        self.be_silent(at)?;
        self.happened.push(format!("{at} < {segment}"));
        let packet = self.numbers.write(&segment)?;
        let result = self.subject.handle_segment(at, &packet);
        match (result, segment.refused.as_deref()) {
            (Ok(()), None) => Ok(()),
            (Err(found), Some(wanted)) if found == wanted => Ok(()),
            (Ok(()), Some(wanted)) => {
                Err(format!("expected to be discarded as {wanted}, and was taken"))
            }
            (Err(found), None) => Err(format!("expected to be taken, and discarded as {found}")),
            (Err(found), Some(wanted)) => {
                Err(format!("expected to be discarded as {wanted}, and was as {found}"))
            }
        }
    }

    fn expect(&mut self, at: Instant, text: &str) -> Result<(), String> {
        let wanted: Segment = text.parse().map_err(|error: SegmentError| error.to_string())?;
        let packet = loop {
            if let Some(packet) = self.subject.poll_transmit(self.clock.now) {
                break packet;
            }
            match self.subject.poll_timeout().filter(|next| self.clock.is_due(*next, at)) {
                Some(next) => self.wake(next),
                None => {
                    let next = self.subject.poll_timeout();
                    let next = next.map_or("there is no wake-up".to_owned(), |next| {
                        format!("the next wake-up is at {next}")
                    });
                    return Err(format!("expected {at} > {wanted}\nand nothing left; {next}"));
                }
            }
        };
        let found = self.read(&packet)?;
        let mut differs = wanted.differences(&found.segment);
        if !self.clock.is_at(at) {
            differs.insert(0, "time");
        }
        if differs.is_empty() {
            self.happened.push(found.to_string());
            return Ok(());
        }
        let differs = differs.join(", ");
        Err(format!("what left differs in {differs}:\nexpected {at} > {wanted}\ngot      {found}"))
    }

    fn read(&mut self, packet: &Packet) -> Result<Left, String> {
        let segment = self.numbers.read(packet)?;
        Ok(Left { at: self.clock.now, segment })
    }
}

/// A segment that left.
struct Left {
    at: Instant,
    segment: Segment,
}

impl fmt::Display for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} > {}", self.at, self.segment)
    }
}

#[cfg(test)]
mod tests;
