//! Talking over a line before there is a device for packets.

use std::io;
use std::net::Ipv4Addr;
use std::os::fd::AsFd as _;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use windfall_base::{Duration, Frame, Input, Instant, Node as _, RxVector};
use windfall_circuit::ppp::PppEvent;
use windfall_stack::{DEVICE, MEDIUM, SerialEnd, SerialEvent};

use windfall_live::line::{OpenLine, READ};

use windfall_live::{Clock as _, Signals, SystemClock};

use crate::modem::ModemCall;

/// Looks at the clock at least this often, in milliseconds.
const HEARTBEAT: u16 = 100;
/// The time from one look at the line to the next.
const PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 1_000_000 };
/// The time for which the peer may take leave.
const FAREWELL: Duration = Duration::from_secs(2);

/// The end of a negotiation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Negotiated {
    /// IPv4 can be sent.
    Up {
        /// The address of this end.
        local: Ipv4Addr,
        /// The address of the peer, if it told one.
        peer: Option<Ipv4Addr>,
    },
    /// A signal came.
    Interrupted,
    /// The time is over.
    TimedOut,
}

/// An end of PPP that talks over a line before or after there is a device.
struct Talk<'a> {
    line: &'a mut OpenLine,
    end: &'a mut SerialEnd,
    unwritten: Vec<u8>,
}

impl Talk<'_> {
    /// Writes what the end has to say, as far as the line has room.
    fn say(&mut self, now: Instant) -> io::Result<()> {
        self.end.handle_timeout(now);
        while let Some((port, outgoing)) = self.end.poll_transmit(now) {
            if port == MEDIUM {
                self.unwritten.extend(outgoing.frame.to_vec());
            } else {
                debug_assert_eq!(port, DEVICE, "there are two ports");
            }
        }
        self.line.write_waiting(&mut self.unwritten)
    }

    /// Reads what the peer has said.
    fn hear(&mut self, clock: &mut SystemClock) -> io::Result<()> {
        let mut buffer = [0; READ];
        while let Some(count) = self.line.read(&mut buffer)? {
            let now = clock.now();
            let bytes = Frame::packet(buffer[..count].to_vec());
            self.end.handle_input(now, MEDIUM, Input::Frame(bytes, RxVector::wired(now)));
        }
        Ok(())
    }
}

/// Talks over `line` until PPP has brought up IPv4, a signal comes, or it is `until`.
///
/// # Errors
/// If the line is gone.
pub(super) fn negotiate(
    line: &mut OpenLine,
    end: &mut SerialEnd,
    clock: &mut SystemClock,
    signals: &Signals,
    until: Option<Instant>,
    mut tell: impl FnMut(SerialEvent),
) -> io::Result<Negotiated> {
    end.open(clock.now());
    let mut talk = Talk { line, end, unwritten: Vec::new() };
    let mut up = None;
    loop {
        let now = clock.now();
        talk.say(now)?;
        while let Some(event) = talk.end.poll_event() {
            if let SerialEvent::Ppp(PppEvent::Ipv4Up { local, peer }) = event {
                up = Some(Negotiated::Up { local, peer });
            }
            tell(event);
        }
        // The peer comes up by what is still to be written.
        if let Some(up) = up.filter(|_| talk.unwritten.is_empty()) {
            return Ok(up);
        }
        if signals.take().is_some() {
            return Ok(Negotiated::Interrupted);
        }
        if until.is_some_and(|until| until <= now) {
            return Ok(Negotiated::TimedOut);
        }
        wait(talk.line, signals, talk.end.poll_timeout().map(|(at, _)| at), now)?;
        talk.hear(clock)?;
    }
}

/// Closes PPP, for as long as the peer needs to confirm it, [`FAREWELL`] at most.
///
/// # Errors
/// If the line is gone.
pub(super) fn close(
    line: &mut OpenLine,
    end: &mut SerialEnd,
    clock: &mut SystemClock,
) -> io::Result<()> {
    let until = clock.now() + FAREWELL;
    end.close(clock.now());
    let mut talk = Talk { line, end, unwritten: Vec::new() };
    while clock.now() < until {
        talk.say(clock.now())?;
        let mut events = std::iter::from_fn(|| talk.end.poll_event());
        if events.any(|event| event == SerialEvent::Ppp(PppEvent::Finished)) {
            break;
        }
        let _ = poll(&mut [], Some(&PAUSE));
        talk.hear(clock)?;
    }
    Ok(())
}

/// Calls by the modem on `line`; `None` if it has not answered at `until`, or a signal came.
///
/// # Errors
/// If the line is gone, or the modem refuses a command.
pub(super) fn dial(
    line: &mut OpenLine,
    call: &mut ModemCall,
    clock: &mut SystemClock,
    signals: &Signals,
    until: Option<Instant>,
) -> io::Result<Option<String>> {
    let mut unwritten = call.take_line();
    loop {
        line.write_waiting(&mut unwritten)?;
        if let Some(outcome) = call.outcome() {
            return outcome.clone().map(Some).map_err(io::Error::other);
        }
        let now = clock.now();
        if signals.take().is_some() || until.is_some_and(|until| until <= now) {
            return Ok(None);
        }
        wait(line, signals, until, now)?;
        // Byte by byte, so that none of the peer's is taken; a modem's answers are short.
        let mut byte = [0];
        while call.outcome().is_none() && line.read(&mut byte)?.is_some() {
            call.handle_line(&byte);
        }
        unwritten.extend(call.take_line());
    }
}

fn wait(line: &OpenLine, signals: &Signals, due: Option<Instant>, now: Instant) -> io::Result<()> {
    let millis = due.map_or(u64::MAX, |due| due.saturating_since(now).as_nanos() / 1_000_000 + 1);
    let millis = i64::from(HEARTBEAT.min(u16::try_from(millis).unwrap_or(HEARTBEAT)));
    let timeout = Timespec { tv_sec: millis / 1000, tv_nsec: millis % 1000 * 1_000_000 };
    let mut fds = [
        PollFd::from_borrowed_fd(line.as_fd(), PollFlags::IN),
        PollFd::from_borrowed_fd(signals.as_fd(), PollFlags::IN),
    ];
    match poll(&mut fds, Some(&timeout)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
