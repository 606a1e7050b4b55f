//! The ports where a client waits for calls of servers.

use std::net::{IpAddr, SocketAddr};
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};

use windfall_socket::{SapError, SapListener, SapOptions, SapSocket};

/// The time in which a server that has said that it called is there.
const CALLED: windfall_socket::Duration = windfall_socket::Duration::from_secs(5);

/// The listeners of a client at ports of its user's choice. A socket outlives its transfer by some
/// seconds, so that one port can be bound again only later; listeners are kept for the next body.
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
    home: Option<CallPorts>,
}

impl CallPorts {
    /// Listens at `address`, at a port of the system's choice if it names none; otherwise at the
    /// first port from there on where no other body is expected, and that has not been refused.
    ///
    /// # Errors
    /// If the port is taken by another program.
    //= S0.25
    pub(crate) fn listen(
        &self,
        options: &SapOptions,
        mut address: SocketAddr,
    ) -> Result<CallPort, SapError> {
        if address.port() == 0 {
            return Ok(CallPort { listener: Arc::new(options.listen(address)?), home: None });
        }
        let mut ports = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = |it: &Arc<SapListener>| {
            it.local_addr().is_ok_and(|at| at.is_ipv4() == address.is_ipv4())
        };
        let listener = match ports.idle.iter().position(fits) {
            Some(place) => ports.idle.swap_remove(place),
            None => {
                address.set_port(address.port().saturating_add(ports.tried));
                ports.tried += 1;
                Arc::new(options.listen(address)?)
            }
        };
        Ok(CallPort { listener, home: Some(self.clone()) })
    }
}

impl CallPort {
    /// Waits for the call of a server; those of other hosts are refused.
    pub(crate) fn accept(&self, server: IpAddr) -> Option<SapSocket> {
        loop {
            let (socket, from) = self.listener.accept_timeout(CALLED).ok()?;
            if from.ip().to_canonical() == server.to_canonical() {
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
        if let Some(home) = &self.home {
            let mut ports = home.0.lock().unwrap_or_else(PoisonError::into_inner);
            ports.idle.push(Arc::clone(&self.listener));
        }
    }
}
