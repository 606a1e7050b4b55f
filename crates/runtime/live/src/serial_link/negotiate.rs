//! Talking over a line before there is a device for packets.

use std::io;
use std::net::Ipv4Addr;
use std::os::fd::AsFd as _;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use windfall_base::{Frame, Input, Instant, Node as _, RxVector};
use windfall_ppp::PppEvent;
use windfall_stack::{DEVICE, MEDIUM, SerialEnd, SerialEvent};

use crate::clock::SystemClock;
use crate::driver::Clock as _;
use crate::line::{ModemCall, OpenLine, READ};
use crate::session::Signals;

/// Looks at the clock at least this often, in milliseconds.
const HEARTBEAT: u16 = 100;

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
    let mut buffer = vec![0; READ];
    let mut unwritten: Vec<u8> = Vec::new();
    end.open(clock.now());
    loop {
        let now = clock.now();
        end.handle_timeout(now);
        while let Some((port, outgoing)) = end.poll_transmit(now) {
            if port == MEDIUM {
                unwritten.extend(outgoing.frame.to_vec());
            } else {
                debug_assert_eq!(port, DEVICE, "there are two ports");
            }
        }
        let mut up = None;
        while let Some(event) = end.poll_event() {
            if let SerialEvent::Ppp(PppEvent::Ipv4Up { local, peer }) = event {
                up = Some(Negotiated::Up { local, peer });
            }
            tell(event);
        }
        while !unwritten.is_empty()
            && let Some(count) = line.write(&unwritten)?
        {
            unwritten.drain(..count);
        }
        if let Some(up) = up.filter(|_| unwritten.is_empty()) {
            return Ok(up);
        }
        if signals.take().is_some() {
            return Ok(Negotiated::Interrupted);
        }
        if until.is_some_and(|until| until <= now) {
            return Ok(Negotiated::TimedOut);
        }
        wait(line, signals, end.poll_timeout().map(|(at, _)| at), now)?;
        while let Some(count) = line.read(&mut buffer)? {
            let now = clock.now();
            let bytes = Frame::packet(buffer[..count].to_vec());
            end.handle_input(now, MEDIUM, Input::Frame(bytes, RxVector::wired(now)));
        }
    }
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
        while !unwritten.is_empty()
            && let Some(count) = line.write(&unwritten)?
        {
            unwritten.drain(..count);
        }
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
    let timeout = PollTimeout::from(HEARTBEAT.min(u16::try_from(millis).unwrap_or(HEARTBEAT)));
    let mut fds = [
        PollFd::new(line.as_fd(), PollFlags::POLLIN),
        PollFd::new(signals.as_fd(), PollFlags::POLLIN),
    ];
    match poll(&mut fds, timeout) {
        Ok(_) | Err(nix::errno::Errno::EINTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
