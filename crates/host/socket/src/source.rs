//! The source addresses that the routing table of the operating system selects.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::Mutex;

/// The maximum number of destinations that are remembered.
const REMEMBERED: usize = 1024;

/// The source addresses of a socket that is bound to all addresses.
///
/// The pseudo header of the checksum contains the source address.
#[derive(Debug, Default)]
pub(crate) struct Sources(Mutex<BTreeMap<Destination, IpAddr>>);

/// An address, with its interface if it is link-local.
type Destination = (IpAddr, u32);

impl Sources {
    /// Returns the source address of packets to `to`.
    pub(crate) fn of(&self, to: SocketAddr) -> io::Result<IpAddr> {
        let mut known = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let scope = match to {
            SocketAddr::V4(_) => 0,
            SocketAddr::V6(to) => to.scope_id(),
        };
        let destination = (to.ip(), scope);
        if let Some(source) = known.get(&destination) {
            return Ok(*source);
        }
        let source = routed(to)?;
        if known.len() >= REMEMBERED {
            known.clear();
        }
        known.insert(destination, source);
        Ok(source)
    }

    /// Returns whether the source address of packets to `to` now differs from `known`.
    pub(crate) fn has_changed(&self, to: SocketAddr, known: IpAddr) -> bool {
        self.forget();
        routed(to).is_ok_and(|source| source != known)
    }

    /// Forgets all addresses, since a route may have changed.
    pub(crate) fn forget(&self) {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clear();
    }
}

/// Looks up the source address of packets to `to`.
fn routed(to: SocketAddr) -> io::Result<IpAddr> {
    let any: IpAddr = match to {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    // Connecting a UDP socket sends nothing, but looks up the route.
    let probe = UdpSocket::bind((any, 0))?;
    probe.connect(to)?;
    Ok(probe.local_addr()?.ip())
}
