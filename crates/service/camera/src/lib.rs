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
use windfall_live::interrupt;

pub use arrivals::{CameraArrivals, CameraReport};
pub use error::CameraError;
pub use plan::{CameraHeader, CameraPlan};
pub use socket::CameraProtocol;

use socket::{CameraReceiver, CameraSender};

/// The time after the last picture for which a receiver takes late datagrams.
const LATE: Duration = Duration::from_millis(1_000);
/// The time after the last picture after which a sender ends: the receiver has reported by then.
const LINGER: Duration = Duration::from_millis(1_500);
/// The time between two checks for a signal while a receiver waits.
const POLL: Duration = Duration::from_millis(50);

/// Sends all pictures of a plan at their times, and waits until a receiver has taken late ones.
///
/// # Errors
/// If the socket cannot be opened or fails.
pub fn send(
    protocol: CameraProtocol,
    plan: &CameraPlan,
    to: SocketAddr,
) -> Result<(), CameraError> {
    let mut sender = CameraSender::connect(protocol, to)?;
    let (began, of_day) = (Instant::now(), nanos_of_day());
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
    wait_until(plan.length() + LINGER);
    sender.close();
    Ok(())
}

/// Receives one stream until a second after its last picture, its end, or a signal, and reports.
///
/// `deadline` is the age from which on a datagram is of no use; `announce` is called with the
/// address when the receiver waits there.
///
/// # Errors
/// If the socket cannot be opened or fails, or nothing of a stream arrived.
pub fn receive(
    protocol: CameraProtocol,
    on: SocketAddr,
    deadline: Duration,
    announce: impl FnOnce(SocketAddr),
) -> Result<CameraReport, CameraError> {
    interrupt::note_requests().map_err(CameraError::Socket)?;
    let mut receiver = CameraReceiver::listen(protocol, on)?;
    announce(receiver.local_addr()?);
    let (mut arrivals, mut datagrams) = (CameraArrivals::new(deadline), Vec::new());
    while interrupt::noted().is_none() {
        let goes_on = receiver.receive(POLL, &mut datagrams)?;
        let now = nanos_of_day();
        for datagram in datagrams.drain(..) {
            arrivals.take(now, &datagram);
        }
        if !goes_on || arrivals.end().is_some_and(|end| now >= end + LATE.as_nanos()) {
            break;
        }
    }
    arrivals.report().ok_or(CameraError::Nothing)
}

/// Returns the nanoseconds since 1970 by the clock of the system.
fn nanos_of_day() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
