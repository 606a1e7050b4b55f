//! Limits on the number of connections by the address of their peer.
//!
//! A peer with a validated address is not refused because others hold all places. The oldest
//! half-open connection of the address with the most is dropped for it, or one that is not accepted
//! or whose peer does not respond.

use std::collections::{BTreeMap, BTreeSet};

use core::net::{IpAddr, Ipv6Addr, SocketAddr};

use windfall_base::Instant;

use crate::config::SapConfig;

/// One in this number of an address's places is open to peers whose address is not validated.
const UNPROVEN: usize = 4;

/// The progress of a connection, from its proposal to its acceptance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// It has not answered the accept.
    HalfOpen,
    /// The application has not accepted it.
    Waiting,
    Accepted,
}

const ALL: [Standing; 3] = [Standing::HalfOpen, Standing::Waiting, Standing::Accepted];

/// Connections of one standing, the oldest first.
type Queue = BTreeSet<(Instant, u32)>;

/// The connections of one address.
#[derive(Clone, Debug, Default)]
struct Taken([Queue; 3]);

impl Taken {
    fn unaccepted(&self) -> usize {
        self.0[Standing::HalfOpen as usize].len() + self.0[Standing::Waiting as usize].len()
    }

    fn all(&self) -> usize {
        self.0.iter().map(Queue::len).sum()
    }
}

/// A connection with a place.
#[derive(Clone, Copy, Debug)]
struct Member {
    owner: IpAddr,
    since: Instant,
    standing: Standing,
}

/// Why there is no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Full {
    /// The address whose connections are to be dropped.
    pub(super) owner: IpAddr,
    /// Accepted connections may be dropped too.
    pub(super) accepted_too: bool,
}

/// The connections of all addresses, half-open ones included, but not those that this end opened.
#[derive(Debug, Default)]
pub(super) struct AddressQuota {
    of: BTreeMap<IpAddr, Taken>,
    members: BTreeMap<u32, Member>,
    /// The addresses by the number of their connections: of those not accepted, and of all.
    most_unaccepted: BTreeSet<(usize, IpAddr)>,
    most: BTreeSet<(usize, IpAddr)>,
    /// The number of connections of each standing.
    counts: [usize; 3],
}

impl AddressQuota {
    /// Returns whether a peer at `from` may have another connection.
    #[cfg(test)]
    pub(super) fn has_room(&self, from: SocketAddr, config: &SapConfig) -> bool {
        self.obstacle(from, config).is_none()
    }

    /// Returns why a peer at `from` may have no other connection.
    pub(super) fn obstacle(&self, from: SocketAddr, config: &SapConfig) -> Option<Full> {
        let owner = owner(from.ip());
        let [half_open, waiting, accepted] = self.counts;
        let mine = self.taken(owner);
        let unaccepted = half_open + waiting;
        if mine.0 >= config.max_waiting_per_address {
            return Some(Full { owner, accepted_too: false });
        }
        if mine.1 >= config.max_per_address {
            return Some(Full { owner, accepted_too: true });
        }
        if half_open >= config.max_half_open || unaccepted >= config.max_waiting {
            let (_, owner) = *self.most_unaccepted.last()?;
            return Some(Full { owner, accepted_too: false });
        }
        if unaccepted + accepted >= config.max_connections {
            let (_, owner) = *self.most.last()?;
            return Some(Full { owner, accepted_too: true });
        }
        None
    }

    /// Returns the addresses that have connections, those with most of them first.
    pub(super) fn owners(&self) -> impl Iterator<Item = IpAddr> {
        self.most.iter().rev().map(|(_, owner)| *owner)
    }

    /// Returns the oldest half-open connection of the address that has most of those not accepted,
    /// if any of them is half open. It looks at no address all of whose connections are accepted.
    pub(super) fn oldest_half_open(&self) -> Option<u32> {
        if self.counts[Standing::HalfOpen as usize] == 0 {
            return None;
        }
        let mut owners = self.most_unaccepted.iter().rev();
        owners.find_map(|(_, owner)| self.oldest(*owner, Standing::HalfOpen).next()).map(|it| it.1)
    }

    /// Returns whether a peer at `from` must validate its address before it may have another
    /// connection. Otherwise an attacker could take all its places with spoofed pings.
    pub(super) fn is_crowded(&self, from: SocketAddr, config: &SapConfig) -> bool {
        let (unaccepted, _) = self.taken(owner(from.ip()));
        unaccepted >= config.max_waiting_per_address / UNPROVEN
    }

    /// Returns the number of connections of an address that were not accepted, and of all.
    fn taken(&self, owner: IpAddr) -> (usize, usize) {
        self.of.get(&owner).map_or((0, 0), |taken| (taken.unaccepted(), taken.all()))
    }

    /// Returns the connections of an address with this standing, the oldest first, and since when
    /// they have it.
    pub(super) fn oldest(
        &self,
        owner: IpAddr,
        standing: Standing,
    ) -> impl Iterator<Item = (Instant, u32)> {
        self.of.get(&owner).into_iter().flat_map(move |it| it.0[standing as usize].iter().copied())
    }

    /// Gives connection `id` a place.
    pub(super) fn acquire(&mut self, now: Instant, id: u32, from: SocketAddr) {
        let owner = owner(from.ip());
        self.insert(id, Member { owner, since: now, standing: Standing::HalfOpen });
    }

    /// Notes that the peer has answered the accept.
    pub(super) fn open(&mut self, now: Instant, id: u32) {
        if let Some(member) = self.remove(id) {
            self.insert(id, Member { since: now, standing: Standing::Waiting, ..member });
        }
    }

    /// Notes that the application has accepted a connection.
    pub(super) fn accept(&mut self, id: u32) {
        if let Some(member) = self.remove(id) {
            self.insert(id, Member { standing: Standing::Accepted, ..member });
        }
    }

    /// Counts a connection at the new address of its peer.
    pub(super) fn follow(&mut self, id: u32, to: SocketAddr) {
        if let Some(member) = self.remove(id) {
            self.insert(id, Member { owner: owner(to.ip()), ..member });
        }
    }

    /// Frees the place of a connection; returns whether it had one.
    pub(super) fn release(&mut self, id: u32) -> bool {
        self.remove(id).is_some()
    }

    fn insert(&mut self, id: u32, member: Member) {
        let Member { owner, since, standing } = member;
        self.members.insert(id, member);
        self.counts[standing as usize] += 1;
        self.change(owner, |taken| _ = taken.0[standing as usize].insert((since, id)));
    }

    fn remove(&mut self, id: u32) -> Option<Member> {
        let member = self.members.remove(&id)?;
        let Member { owner, since, standing } = member;
        self.counts[standing as usize] -= 1;
        self.change(owner, |taken| _ = taken.0[standing as usize].remove(&(since, id)));
        Some(member)
    }

    /// Changes what an address has, and its rank.
    fn change(&mut self, owner: IpAddr, change: impl FnOnce(&mut Taken)) {
        let taken = self.of.entry(owner).or_default();
        self.most_unaccepted.remove(&(taken.unaccepted(), owner));
        self.most.remove(&(taken.all(), owner));
        change(taken);
        if taken.unaccepted() > 0 {
            self.most_unaccepted.insert((taken.unaccepted(), owner));
        }
        if taken.all() > 0 {
            self.most.insert((taken.all(), owner));
        } else {
            self.of.remove(&owner);
        }
    }

    /// Returns whether no place is taken.
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        let ranks = self.most.is_empty() && self.most_unaccepted.is_empty();
        self.of.is_empty() && self.members.is_empty() && ranks && self.counts == [0; 3]
    }
}

impl Standing {
    /// Returns the standings whose connections may give way, in this order.
    pub(super) fn that_yield(accepted_too: bool) -> &'static [Self] {
        if accepted_too { &ALL } else { &ALL[..2] }
    }
}

/// Returns the owner of an address: a host may use any address of an IPv6 network of 64 bits.
fn owner(ip: IpAddr) -> IpAddr {
    match ip.to_canonical() {
        IpAddr::V6(ip) => Ipv6Addr::from_bits(ip.to_bits() & !u128::from(u64::MAX)).into(),
        v4 @ IpAddr::V4(_) => v4,
    }
}
