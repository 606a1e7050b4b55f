//! Finds the connection of a segment by addresses and ports, in three ways that can be compared
//! (S2.14).

use core::net::IpAddr;

/// The two ends of a connection as its host sees them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionKey {
    /// The host's own address.
    pub local: IpAddr,
    /// The address of the peer.
    pub remote: IpAddr,
    /// The host's own port.
    pub local_port: u16,
    /// The port of the peer.
    pub remote_port: u16,
}

impl ConnectionKey {
    /// Returns a hash that needs the secret to be foreseen. Every segment needs it, so it takes a
    /// multiplication for each word instead of the rounds of SipHash.
    fn hash(&self, secret: [u64; 2]) -> u64 {
        let ports = u64::from(self.local_port) << 16 | u64::from(self.remote_port);
        let mix = |sum: u64, word: u64| {
            let product = u128::from(sum ^ word) * 0x9e37_79b9_7f4a_7c15;
            (product as u64) ^ (product >> 64) as u64
        };
        let split = |address: IpAddr| match address {
            IpAddr::V4(v4) => [0, u64::from(v4.to_bits())],
            IpAddr::V6(v6) => [(v6.to_bits() >> 64) as u64, v6.to_bits() as u64],
        };
        let words = [split(self.local), split(self.remote)];
        let sum = words.into_iter().flatten().fold(secret[0] ^ ports, mix);
        mix(sum, secret[1])
    }
}

/// Ways to find a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Lookup {
    /// A list, and a memory of the last connection found, as in 4.3BSD.
    OneEntry,
    /// A list, and a memory of the last *n* connections found, the latest first.
    Recent(usize),
    /// Chains by hash, each with the last one found in front.
    #[default]
    Hashed,
}

/// The cost of lookups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LookupCounts {
    /// The number of lookups.
    pub lookups: u64,
    /// Lookups that a cache answered: the one entry, the recent ones, the front of a chain.
    pub remembered: u64,
    /// Keys compared in all.
    pub compared: u64,
}

//= S2.14
/// Connections by key.
#[derive(Clone, Debug)]
pub struct ConnectionTable {
    kind: Lookup,
    secret: [u64; 2],
    /// One chain, or as many as the hash selects from; the latest entry last.
    chains: Vec<Vec<(ConnectionKey, u32)>>,
    recent: Vec<(ConnectionKey, u32)>,
    len: usize,
    counts: LookupCounts,
}

impl ConnectionTable {
    /// Creates an empty table; `secret` keeps outsiders from filling one chain.
    #[must_use]
    pub fn new(kind: Lookup, secret: [u64; 2]) -> Self {
        let chains = if kind == Lookup::Hashed { 16 } else { 1 };
        Self {
            kind,
            secret,
            chains: vec![Vec::new(); chains],
            recent: Vec::new(),
            len: 0,
            counts: LookupCounts::default(),
        }
    }

    fn chain(&self, key: &ConnectionKey) -> usize {
        match self.chains.len() {
            1 => 0,
            n => key.hash(self.secret) as usize & (n - 1),
        }
    }

    /// Adds a connection; the key must be new.
    pub fn insert(&mut self, key: ConnectionKey, slot: u32) {
        if self.kind == Lookup::Hashed && self.len >= self.chains.len() * 2 {
            self.grow();
        }
        let chain = self.chain(&key);
        self.chains[chain].push((key, slot));
        self.len += 1;
    }

    fn grow(&mut self) {
        let longer = vec![Vec::new(); self.chains.len() * 4];
        let chains = core::mem::replace(&mut self.chains, longer);
        for (key, slot) in chains.into_iter().flatten() {
            let chain = self.chain(&key);
            self.chains[chain].push((key, slot));
        }
    }

    /// Finds a connection.
    pub fn find(&mut self, key: &ConnectionKey) -> Option<u32> {
        self.counts.lookups += 1;
        if let Some(at) = self.recent.iter().position(|(known, _)| known == key) {
            self.counts.remembered += 1;
            self.counts.compared += at as u64 + 1;
            self.recent[..=at].rotate_right(1);
            return Some(self.recent[0].1);
        }
        self.counts.compared += self.recent.len() as u64;
        let chain = self.chain(key);
        let entries = &mut self.chains[chain];
        let Some(from_end) = entries.iter().rev().position(|(known, _)| known == key) else {
            self.counts.compared += entries.len() as u64;
            return None;
        };
        self.counts.compared += from_end as u64 + 1;
        let at = entries.len() - 1 - from_end;
        let found = entries[at];
        let memory = match self.kind {
            Lookup::OneEntry => 1,
            Lookup::Recent(n) => n,
            Lookup::Hashed => {
                self.counts.remembered += u64::from(from_end == 0);
                let last = entries.len() - 1;
                entries.swap(at, last);
                return Some(found.1);
            }
        };
        self.recent.truncate(memory.saturating_sub(1));
        self.recent.insert(0, found);
        Some(found.1)
    }

    /// Removes a connection.
    pub fn remove(&mut self, key: &ConnectionKey) {
        self.recent.retain(|(known, _)| known != key);
        let chain = self.chain(key);
        let entries = &mut self.chains[chain];
        if let Some(at) = entries.iter().position(|(known, _)| known == key) {
            entries.swap_remove(at);
            self.len -= 1;
        }
    }

    /// Finds a connection without counting or remembering it.
    #[must_use]
    pub fn peek(&self, key: &ConnectionKey) -> Option<u32> {
        let mut chain = self.chains[self.chain(key)].iter();
        chain.find(|(known, _)| known == key).map(|(_, slot)| *slot)
    }

    /// Returns the number of connections.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Returns whether the table is empty.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the cost of all lookups so far.
    #[must_use]
    pub const fn counts(&self) -> &LookupCounts {
        &self.counts
    }
}

#[cfg(test)]
mod tests;
