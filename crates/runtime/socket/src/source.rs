//! The source addresses that the operating system chooses.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::Mutex;

/// The maximum number of destinations that are remembered.
const REMEMBERED: usize = 1024;

/// The source addresses of a socket that is bound to all addresses.
///
/// They are part of the pseudo header, so the checksum needs them.
#[derive(Debug, Default)]
pub(crate) struct Sources(Mutex<BTreeMap<IpAddr, IpAddr>>);

impl Sources {
    /// Returns the source address of packets to `to`.
    pub(crate) fn of(&self, to: SocketAddr) -> io::Result<IpAddr> {
        let mut known = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(source) = known.get(&to.ip()) {
            return Ok(*source);
        }
        let any: IpAddr = match to {
            SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        // Connecting a UDP socket sends nothing, but looks up the route.
        let probe = UdpSocket::bind((any, 0))?;
        probe.connect(to)?;
        let source = probe.local_addr()?.ip();
        if known.len() >= REMEMBERED {
            known.clear();
        }
        known.insert(to.ip(), source);
        Ok(source)
    }

    /// Forgets all addresses, since a route may have changed.
    pub(crate) fn forget(&self) {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clear();
    }
}
