//! The ports where a client waits for calls of servers.

use std::net::{IpAddr, SocketAddr};
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use windfall_socket::{SapError, SapListener, SapOptions, SapSocket};

/// The time in which a server that has said that it called is there.
const CALLED: windfall_socket::Duration = windfall_socket::Duration::from_secs(5);

/// The listeners at ports of the system's choice that are kept.
const MOST_IDLE: usize = 16;

/// The listeners of a client. A socket outlives its transfer by some seconds, so that a port could
/// be bound again only later, and many bodies would take many descriptors; listeners are kept for
/// the next body.
#[derive(Clone, Default)]
pub(crate) struct CallPorts(Arc<Mutex<Ports>>);

#[derive(Default)]
struct Ports {
    idle: Vec<Arc<SapListener>>,
    /// The number of ports that have been tried.
    tried: u16,
}

/// A listener for the calls of one body at a time.
pub(crate) struct CallPort {
    listener: Arc<SapListener>,
    /// The client that keeps it for the next body.
    home: CallPorts,
    /// The port is of the user's choice.
    is_chosen: bool,
    is_called: AtomicBool,
}

impl CallPorts {
    //= S0.25
    /// Listens at a port where no other body is expected: of those from that of `address` on that
    /// have not been refused, or of the system's choice if `address` names none.
    ///
    /// # Errors
    /// If the port is taken by another program.
    pub(crate) fn listen(
        &self,
        options: &SapOptions,
        mut address: SocketAddr,
    ) -> Result<CallPort, SapError> {
        let mut ports = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let listener = match ports
            .idle
            .iter()
            .position(|it| it.local_addr().is_ok_and(|at| at.is_ipv4() == address.is_ipv4()))
        {
            Some(place) => ports.idle.swap_remove(place),
            None => {
                if address.port() > 0 {
                    address.set_port(address.port().saturating_add(ports.tried));
                    ports.tried += 1;
                }
                Arc::new(options.listen(address)?)
            }
        };
        let is_chosen = address.port() > 0;
        Ok(CallPort { listener, home: self.clone(), is_chosen, is_called: AtomicBool::new(false) })
    }
}

impl CallPort {
    /// Waits for the call of a server; those of other hosts are refused.
    pub(crate) fn accept(&self, server: IpAddr) -> Option<SapSocket> {
        loop {
            let (socket, from) = self.listener.accept_timeout(CALLED).ok()?;
            if from.ip().to_canonical() == server.to_canonical() {
                self.is_called.store(true, Ordering::Relaxed);
                return Some(socket);
            }
        }
    }
}

impl Deref for CallPort {
    type Target = SapListener;

    fn deref(&self) -> &SapListener {
        &self.listener
    }
}

impl Drop for CallPort {
    fn drop(&mut self) {
        let mut ports = self.home.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A call that comes late must not be taken for that of the next body.
        let is_clean = *self.is_called.get_mut() && ports.idle.len() < MOST_IDLE;
        if self.is_chosen || is_clean {
            ports.idle.push(Arc::clone(&self.listener));
        }
    }
}
