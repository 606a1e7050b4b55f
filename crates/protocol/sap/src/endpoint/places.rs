//! The places that connections take, by the address of their peer.

use std::collections::BTreeMap;

use core::net::{IpAddr, Ipv6Addr, SocketAddr};

use crate::config::SapConfig;

/// One of this number of an address's places is for peers that have not proven it.
const UNPROVEN: usize = 4;

/// The connections of one address.
#[derive(Clone, Copy, Debug, Default)]
struct Taken {
    all: usize,
    /// Those that the application has not accepted.
    waiting: usize,
}

/// The connections of all addresses, half-open ones included, but not those that this end opened.
#[derive(Debug, Default)]
pub(super) struct Places {
    of: BTreeMap<IpAddr, Taken>,
    /// The address of each connection, and whether the application has not accepted it.
    members: BTreeMap<u32, (IpAddr, bool)>,
    waiting: usize,
}

impl Places {
    /// Returns whether a peer at `from` may have another connection.
    pub(super) fn has_room(&self, from: SocketAddr, config: &SapConfig) -> bool {
        let taken = self.of.get(&owner(from.ip())).copied().unwrap_or_default();
        taken.all < config.max_per_address
            && taken.waiting < config.max_waiting_per_address
            && self.waiting < config.max_waiting
    }

    /// Returns whether a peer at `from` must prove its address before it may have another one, so
    /// that others cannot take all places in its name.
    pub(super) fn is_crowded(&self, from: SocketAddr, config: &SapConfig) -> bool {
        let taken = self.of.get(&owner(from.ip())).copied().unwrap_or_default();
        taken.waiting >= config.max_waiting_per_address / UNPROVEN
    }

    /// Gives connection `id` a place.
    pub(super) fn enter(&mut self, id: u32, from: SocketAddr) {
        let owner = owner(from.ip());
        let taken = self.of.entry(owner).or_default();
        taken.all += 1;
        taken.waiting += 1;
        self.waiting += 1;
        self.members.insert(id, (owner, true));
    }

    /// Notes that the application has accepted a connection.
    pub(super) fn accept(&mut self, id: u32) {
        if let Some((owner, waits)) = self.members.get_mut(&id)
            && std::mem::take(waits)
        {
            self.waiting -= 1;
            self.of.entry(*owner).or_default().waiting -= 1;
        }
    }

    /// Counts a connection at the new address of its peer.
    pub(super) fn follow(&mut self, id: u32, to: SocketAddr) {
        let Some((_, waits)) = self.members.get(&id).copied() else { return };
        self.leave(id);
        self.enter(id, to);
        if !waits {
            self.accept(id);
        }
    }

    /// Frees the place of a connection.
    pub(super) fn leave(&mut self, id: u32) {
        self.accept(id);
        let Some((owner, _)) = self.members.remove(&id) else { return };
        let taken = self.of.entry(owner).or_default();
        taken.all -= 1;
        if taken.all == 0 {
            self.of.remove(&owner);
        }
    }

    /// Returns whether no place is taken.
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.of.is_empty() && self.members.is_empty() && self.waiting == 0
    }
}

/// Returns who an address belongs to: a host has any address of an IPv6 network of 64 bits.
fn owner(ip: IpAddr) -> IpAddr {
    match ip.to_canonical() {
        IpAddr::V6(ip) => Ipv6Addr::from_bits(ip.to_bits() & !u128::from(u64::MAX)).into(),
        v4 @ IpAddr::V4(_) => v4,
    }
}
