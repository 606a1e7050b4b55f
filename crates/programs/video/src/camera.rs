//! The stream of a camera whose every bit the receiver knows, in real time.
//!
//! - [`CameraPlan`]: pictures at a fixed rate, each of several datagrams.
//! - [`send`], [`receive`]: both ends, over [UDP, UDP-Lite or SAP](CameraProtocol).
//! - [`CameraReport`]: bytes that arrived right and in time, and delays.
#![expect(clippy::disallowed_methods, reason = "pictures are sent and timed in real time")]

mod arrivals;
mod error;
mod plan;
mod socket;

use std::net::SocketAddr;
use std::time::{Instant, SystemTime};

use windfall_base::Duration;
use windfall_system::interrupt;

pub use arrivals::{CameraArrivals, CameraEnd, CameraReport};
pub use error::CameraError;
pub use plan::{CameraHeader, CameraPlan};
pub use socket::CameraProtocol;

use socket::{CameraReceiver, CameraSender};

/// The most datagrams that are read once a receiver could end: strangers must not keep it.
const MOST_WAITING: usize = 100_000;
/// The time in which a socket hands over what it holds.
const AT_ONCE: Duration = Duration::from_millis(1);
/// The time between two checks for a signal while a receiver waits.
const POLL: Duration = Duration::from_millis(50);

/// Sends all pictures of a plan at their times, and stays for `wait` after the last: a link that
/// ends with this program delivers late ones meanwhile.
///
/// # Errors
/// If the socket cannot be opened or fails.
pub fn send(
    protocol: CameraProtocol,
    plan: &CameraPlan,
    to: SocketAddr,
    wait: Duration,
) -> Result<(), CameraError> {
    let mut sender = CameraSender::connect(protocol, to)?;
    let began = Instant::now();
    let of_day = nanos_of_day();
    let wait_until = |due: Duration| {
        std::thread::sleep(std::time::Duration::from(due).saturating_sub(began.elapsed()));
    };
    for number in 0..plan.stream.count {
        if number % plan.per_picture == 0 {
            wait_until(plan.due(number));
        }
        let header = CameraHeader { plan: *plan, began: of_day, number };
        sender.send(&header.datagram())?;
    }
    wait_until(plan.length().saturating_add(wait));
    sender.close();
    Ok(())
}

/// The stream that a receiver listens to, and the time for which it does.
#[derive(Clone, Copy, Debug)]
pub struct CameraListening {
    /// The protocol of the stream.
    pub protocol: CameraProtocol,
    /// The address to listen on.
    pub on: SocketAddr,
    /// The age from which on a datagram is of no use.
    pub deadline: Duration,
    /// The time without another datagram, after the last picture was due, after which it ends.
    pub wait: Duration,
}

/// The events that a receiver tells of before its report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CameraNews {
    /// It waits at this address.
    Waiting(SocketAddr),
    /// The first datagram has come, of a stream of this number.
    Begun(u32),
}

/// Receives one stream until all of it has come, nothing more comes, its end, or a signal, and
/// reports.
///
/// # Errors
/// If the socket cannot be opened or fails, the clock of the sender is another, or nothing of a
/// stream arrived.
pub fn receive(
    listening: &CameraListening,
    announce: &mut dyn FnMut(CameraNews),
) -> Result<CameraReport, CameraError> {
    interrupt::note_requests().map_err(CameraError::Socket)?;
    let mut receiver = CameraReceiver::listen(listening.protocol, listening.on)?;
    announce(CameraNews::Waiting(receiver.local_addr()?));
    let mut arrivals = CameraArrivals::new(listening.deadline, listening.wait);
    let mut datagrams = Vec::new();
    let mut read = 0;
    let ended = loop {
        let is_stopped = interrupt::noted().is_some();
        let span = if is_stopped { AT_ONCE } else { POLL };
        let goes_on = receiver.receive(span, &mut datagrams)?;
        let now = nanos_of_day();
        let had_begun = arrivals.announced().is_some();
        let is_idle = datagrams.is_empty();
        let mut is_news = false;
        read += datagrams.len();
        for datagram in datagrams.drain(..) {
            is_news |= arrivals.take(now, &datagram)?;
        }
        if let Some(count) = arrivals.announced().filter(|_| !had_begun) {
            announce(CameraNews::Begun(count));
        }
        let ended = match (goes_on, is_stopped) {
            (false, _) => break CameraEnd::Closed,
            (true, true) => Some(CameraEnd::Signal),
            (true, false) => arrivals.ended(now),
        };
        if ended.is_none() || is_news && !is_stopped {
            read = 0;
        }
        // What waits in the socket has arrived, and is read first.
        if let Some(ended) = ended.filter(|_| is_idle || read > MOST_WAITING) {
            break ended;
        }
    };
    arrivals.report(ended).ok_or_else(|| arrivals.failure())
}

/// Returns the nanoseconds since 1970 by the clock of the system.
fn nanos_of_day() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
