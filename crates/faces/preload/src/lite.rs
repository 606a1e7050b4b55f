//! The state of a socket of UDP-Lite.

use core::net::{IpAddr, SocketAddr};
use core::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU16, AtomicU32, AtomicUsize};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// `UDPLITE_RECV_CSCOV`: the least coverage to accept.
pub(crate) const RECEIVE_COVERAGE: libc::c_int = 11;
/// The value of an option that was never set.
pub(crate) const UNSET: i32 = -1;

/// A socket, which several descriptors may share.
///
/// It is never freed, so that a thread may still look at it while another closes the descriptor;
/// the next socket takes its place.
#[derive(Debug)]
pub(crate) struct Lite {
    /// Descriptors that lead here; free for another socket if none does.
    pub(crate) users: AtomicUsize,
    /// The next of all.
    pub(crate) next: AtomicPtr<Lite>,
    /// A raw socket of protocol 136 is below, not one of UDP.
    pub(crate) is_raw: AtomicBool,
    pub(crate) is_v6: AtomicBool,
    /// The silent socket that keeps the port of a raw one.
    pub(crate) holder: AtomicI32,
    /// Datagrams received, copies of which the silent socket gets.
    pub(crate) copies: AtomicU32,
    /// The coverage to send; 0 is full.
    pub(crate) send_coverage: AtomicU16,
    /// The least coverage to accept.
    pub(crate) least_coverage: AtomicI32,
    /// The program asked for the destinations of datagrams itself.
    pub(crate) wants_destination: AtomicBool,
    ends: Mutex<Ends>,
}

/// The addresses of a socket, as far as they are known.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ends {
    pub(crate) local: Option<SocketAddr>,
    pub(crate) peer: Option<SocketAddr>,
    /// The last destination, and the source address that the system takes for it.
    pub(crate) route: Option<(IpAddr, IpAddr)>,
}

impl Lite {
    pub(crate) fn new() -> Self {
        Self {
            users: AtomicUsize::new(1),
            next: AtomicPtr::default(),
            is_raw: AtomicBool::new(false),
            is_v6: AtomicBool::new(false),
            holder: AtomicI32::new(UNSET),
            copies: AtomicU32::new(0),
            send_coverage: AtomicU16::new(0),
            least_coverage: AtomicI32::new(UNSET),
            wants_destination: AtomicBool::new(false),
            ends: Mutex::new(Ends::default()),
        }
    }

    pub(crate) fn ends(&self) -> MutexGuard<'_, Ends> {
        self.ends.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
