//! What concerns all connections to an address: errors of the operating system and damaged headers
//! tell no connection id.

use core::net::SocketAddr;

use windfall_base::{Duration, Instant};

use super::{ConnectionId, SapEndpoint};
use crate::connection::Connection;
use crate::error::CloseReason;

/// The time without a response of the peer after which a report of a closed port is believed: ICMP
/// is not authenticated.
const REFUSED: Duration = Duration::from_secs(2);

impl SapEndpoint {
    /// Ends the connection attempts to `address`, which the operating system reports as
    /// unreachable.
    pub fn handle_unreachable(&mut self, address: SocketAddr) {
        let mut ids = self.ids_at(address);
        ids.retain(|id| !self.is_open(ConnectionId(*id)));
        ids.into_iter().for_each(|id| self.abort(ConnectionId(id), CloseReason::Unreachable));
    }

    /// Handles the error `EMSGSIZE` of the operating system: a datagram of `size` bytes to
    /// `address` exceeds the MTU of the interface. The search for the path MTU skips such sizes.
    /// Ends the connection attempts that send no shorter datagrams.
    pub fn handle_too_long(&mut self, address: SocketAddr, size: usize) {
        for id in self.ids_at(address) {
            let Some(connection) = self.connections.get_mut(&id) else { continue };
            if !connection.is_open() && size <= connection.least_path_mtu() {
                self.abort(ConnectionId(id), CloseReason::Unreachable);
            } else if connection.refuse_size(size) {
                self.touch(id);
            }
        }
    }

    /// Handles the error `ECONNREFUSED` of the operating system: the port at `address` is closed.
    /// Ends connection attempts to it, and connections whose peer has not responded for long.
    pub fn handle_refused(&mut self, now: Instant, address: SocketAddr) {
        let is_gone =
            |it: &Connection| !it.is_open() || it.silence(now).is_some_and(|span| span >= REFUSED);
        let mut ids = self.ids_at(address);
        ids.retain(|id| self.connections.get(id).is_some_and(|it| is_gone(it)));
        ids.into_iter().for_each(|id| self.abort(ConnectionId(id), CloseReason::PortClosed));
    }

    /// Returns the connections whose peer is at `address`.
    fn ids_at(&self, address: SocketAddr) -> Vec<u32> {
        let all = self.by_address.range((address, 0)..=(address, u32::MAX));
        all.map(|(_, id)| *id).collect()
    }

    /// Notes that a datagram with a damaged header came from `from`. It shows all connections of
    /// that address that their path delivers damage. But it belongs to one of them, so it explains
    /// a missing packet only if there is only one: another one would take a loss by congestion for
    /// damage.
    pub(super) fn note_damage(&mut self, from: SocketAddr) {
        let mut ids = self.ids_at(from);
        ids.retain(|id| self.connections.get(id).is_some_and(|it| !it.is_closed()));
        let is_only_one = ids.len() == 1;
        for id in ids {
            let connection = self.connections.get_mut(&id);
            connection.into_iter().for_each(|it| it.note_damage(is_only_one));
        }
    }
}
