//! The path MTU estimates of each destination (RFC 1191, RFC 8201).

use std::collections::{BTreeMap, VecDeque};

use core::net::IpAddr;

use windfall_base::{Duration, Instant};
use windfall_wire_net::{Protocol, ipv4, ipv6};

/// The time that a learned value holds before a longer packet is tried again (RFC 1191, section
/// 6.3).
pub(crate) const LIFETIME: Duration = Duration::from_secs(600);
/// The number of destinations that are remembered; the one that expires first is dropped first.
const CAPACITY: usize = 1024;
/// The least MTU that the first report about a path of IPv4 may set: the length that every host
/// must receive (RFC 791).
const LEAST_AT_ONCE: usize = 576;
/// Packets that were sent lately and are remembered.
const REMEMBERED: usize = 1024;
/// The bytes of the payload that every ICMP error quotes (RFC 792).
const QUOTED: usize = 8;
/// The plateau table, for routers that do not state their MTU (RFC 1191, section 7).
const PLATEAUS: [usize; 11] =
    [65_535, 32_000, 17_914, 8_166, 4_352, 2_002, 1_492, 1_006, 508, 296, 68];

/// The path MTUs that routers have reported.
#[derive(Clone, Debug, Default)]
pub(crate) struct PathMtus {
    known: BTreeMap<IpAddr, (usize, Instant)>,
}

impl PathMtus {
    /// Returns the longest packet for `destination` that is known to pass, in bytes; `link` if
    /// nothing is.
    #[must_use]
    pub(crate) fn get(&self, now: Instant, destination: IpAddr, link: usize) -> usize {
        // The table is nearly always empty, and no lookup is needed.
        if self.known.is_empty() {
            return link;
        }
        match self.known.get(&destination) {
            Some((mtu, expires)) if now < *expires => link.min(*mtu),
            _ => link,
        }
    }

    /// Processes the report that a packet of `len` bytes to `destination` was too long for a link
    /// of `mtu` bytes; 0 if unstated. Returns the new path MTU if it is smaller than before.
    ///
    /// A message never raises an estimate, and never lowers it below the minimum MTU of a link.
    /// Over IPv4 it takes two messages to go below what every host receives.
    pub(crate) fn learn(
        &mut self,
        now: Instant,
        destination: IpAddr,
        mtu: usize,
        len: usize,
    ) -> Option<usize> {
        let least = least_of(destination);
        let told = if mtu == 0 {
            PLATEAUS.into_iter().find(|plateau| *plateau < len).unwrap_or(least)
        } else if mtu < least && destination.is_ipv6() {
            // RFC 8201, section 4: such a message is to be discarded.
            return None;
        } else {
            mtu
        };
        // A limit that did not hinder the packet in question is not evidence.
        if told >= len {
            return None;
        }
        let known = self.get(now, destination, usize::MAX);
        let told = told.max(if known > LEAST_AT_ONCE { LEAST_AT_ONCE.max(least) } else { least });
        if told >= known {
            return None;
        }
        self.make_room(destination);
        self.known.insert(destination, (told, now.saturating_add(LIFETIME)));
        Some(told)
    }

    fn make_room(&mut self, destination: IpAddr) {
        if self.known.len() < CAPACITY || self.known.contains_key(&destination) {
            return;
        }
        let first = self.known.iter().min_by_key(|(_, (_, expires))| *expires);
        if let Some(address) = first.map(|(address, _)| *address) {
            self.known.remove(&address);
        }
    }
}

/// Returns the minimum MTU of a link, in bytes.
const fn least_of(destination: IpAddr) -> usize {
    if destination.is_ipv4() { ipv4::MIN_MTU } else { ipv6::MIN_MTU }
}

/// The packets sent lately that may exceed the MTU of a path, by the bytes that a report of one
/// must quote: an attacker off the path cannot know them (RFC 5927, section 7).
#[derive(Clone, Debug, Default)]
pub(crate) struct SentLately {
    packets: VecDeque<(IpAddr, Protocol, [u8; QUOTED])>,
}

impl SentLately {
    /// Remembers a packet of `len` bytes that carries `content`, if a path may be too narrow for
    /// it.
    pub(crate) fn note(
        &mut self,
        destination: IpAddr,
        protocol: Protocol,
        content: &[u8],
        len: usize,
    ) {
        if let Some(&beginning) = content.first_chunk()
            && len > least_of(destination)
        {
            if self.packets.len() >= REMEMBERED {
                self.packets.pop_front();
            }
            self.packets.push_back((destination, protocol, beginning));
        }
    }

    /// Returns whether such a packet was sent.
    pub(crate) fn contains(&self, destination: IpAddr, protocol: Protocol, content: &[u8]) -> bool {
        content
            .first_chunk()
            .is_some_and(|&beginning| self.packets.contains(&(destination, protocol, beginning)))
    }
}

#[cfg(test)]
mod tests;
