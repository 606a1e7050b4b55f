//! Options of a new socket: carrier, profile, key; and how it connects.

use std::net::{SocketAddr, ToSocketAddrs};
use std::time::Instant;

use windfall_base::Duration;
use windfall_sap::{CloseReason, SapConfig, SharedKey};

use super::SapSocket;
use crate::carrier::Carrier;
use crate::driver::{Handle, Status};
use crate::error::SapError;
use crate::udplite::UdpLiteSocket;

/// The longest SAP datagram that every IPv6 path carries (RFC 8200, section 5): 1280 bytes less the
/// headers of IPv6, UDP and UDP-Lite.
const BASE_V6: usize = 1280 - 40 - 8 - 8;

/// The time that a receiver which is started beside its sender may take to open its port, and the
/// time between two attempts to connect meanwhile.
const RECEIVER_START: Duration = Duration::from_secs(5);
const AGAIN: Duration = Duration::from_millis(50);

/// Options of a new socket.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct SapOptions {
    /// The profile and its parameters.
    pub config: SapConfig,
    /// The carrier of the datagrams; both ends must use the same wire format. Unset: UDP, which
    /// needs neither a privilege nor an old kernel.
    pub carrier: Option<Carrier>,
    /// The pre-shared key of an encrypted connection.
    pub key: Option<SharedKey>,
}

impl SapOptions {
    /// Returns the options with what `change` sets.
    ///
    /// Other crates cannot write out all fields, because later versions may have more.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// Returns the options of the paper profile over UDP.
    #[must_use]
    pub fn paper() -> Self {
        Self { config: SapConfig::paper(), ..Self::default() }
    }

    pub(super) fn bind(&self, local: SocketAddr) -> Result<UdpLiteSocket, SapError> {
        let carrier = self.carrier.unwrap_or(Carrier::Udp);
        UdpLiteSocket::bind(local, Some(carrier))
            .map_err(SapError::system(format!("cannot use {local} over carrier {carrier}")))
    }

    /// Starts an endpoint on `socket`, which accepts connections if it `listens`.
    pub(super) fn start(&self, socket: UdpLiteSocket, listens: bool) -> Result<Handle, SapError> {
        let mut config = self.config;
        if socket.local_addr().is_ipv6() {
            config.base_datagram = config.base_datagram.min(BASE_V6);
        }
        // Datagrams already in the socket are processed as soon as the endpoint is driven.
        Handle::new(socket, config, |endpoint| {
            self.key.into_iter().for_each(|key| endpoint.set_key(key));
            endpoint.listen(listens);
        })
    }

    /// Connects to the first of the addresses that answers.
    ///
    /// # Errors
    /// If none answers in time, or the operating system reports an error.
    pub fn connect(&self, to: impl ToSocketAddrs) -> Result<SapSocket, SapError> {
        let addresses = to.to_socket_addrs().map_err(SapError::Name)?;
        let mut last = SapError::Address("nothing".to_owned());
        for address in addresses {
            match self.connect_one(address) {
                Ok(socket) => return Ok(socket),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// Connects to a receiver which is started beside this end, and may open its port within five
    /// seconds.
    ///
    /// # Errors
    /// As [`SapOptions::connect`]; that the port is closed, after that time.
    #[expect(clippy::disallowed_methods, reason = "a receiver starts in real time")]
    pub fn connect_to_starting(&self, to: SocketAddr) -> Result<SapSocket, SapError> {
        let until = Instant::now() + std::time::Duration::from(RECEIVER_START);
        loop {
            match self.connect(to) {
                Err(SapError::Closed(CloseReason::PortClosed)) if Instant::now() < until => {
                    std::thread::sleep(AGAIN.into());
                }
                connected => return connected,
            }
        }
    }

    fn connect_one(&self, to: SocketAddr) -> Result<SapSocket, SapError> {
        if to.port() == 0 {
            return Err(SapError::Address(format!("{to} (port 0)")));
        }
        let any = if to.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
        let any = any.parse().map_err(|_| SapError::Address(any.to_owned()))?;
        let socket = self.bind(any)?;
        // Without a route the socket stays unconnected, and sending reports the error.
        let _ = socket.connect(to);
        connect_from(self.start(socket, false)?, to)
    }
}

/// Connects an endpoint to a peer, and waits until it has accepted.
pub(super) fn connect_from(core: Handle, to: SocketAddr) -> Result<SapSocket, SapError> {
    let id = {
        let mut state = core.lock();
        let id = state.endpoint.connect(core.clock.now(), to);
        state.connections.insert(id, Status::default());
        core.flush(&mut state);
        id
    };
    let socket = SapSocket::new(core, id, to);
    let outcome =
        socket.core.wait(socket.awaited(), None, |state, _| match state.connections.get(&id) {
            Some(status) if status.connected => Some(Ok(())),
            Some(Status { closed: Some(reason), .. }) => Some(Err(*reason)),
            Some(_) => None,
            None => Some(Err(CloseReason::Closed)),
        })?;
    outcome.map(|()| socket).map_err(SapError::from)
}
