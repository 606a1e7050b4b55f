//! What is too long for the paths to hosts: the path MTU belongs to a path, of which the address of
//! its end is all that is known (RFC 8201, section 5.2).

use std::collections::BTreeMap;

use core::net::IpAddr;

use windfall_base::Instant;

use crate::path_mtu::TooLong;

/// The number of hosts that are remembered.
const HOSTS: usize = 1024;

/// The results of the connections' searches, by the peer's address.
#[derive(Debug, Default)]
pub(super) struct PathMtus(BTreeMap<IpAddr, TooLong>);

impl PathMtus {
    /// Returns what is too long for the path to `host`, unless it may pass again.
    pub(super) fn get(&self, now: Instant, host: IpAddr) -> Option<TooLong> {
        self.0.get(&host.to_canonical()).copied().filter(|known| known.until > now)
    }

    /// Remembers what is too long for the path to `host`, in place of what will pass again first.
    pub(super) fn insert(&mut self, host: IpAddr, found: TooLong) {
        self.0.insert(host.to_canonical(), found);
        if self.0.len() > HOSTS {
            let oldest = self.0.iter().min_by_key(|(_, known)| known.until).map(|(host, _)| *host);
            oldest.and_then(|oldest| self.0.remove(&oldest));
        }
    }
}

#[cfg(test)]
mod tests {
    use windfall_base::Duration;

    use super::*;

    #[test]
    fn a_host_is_remembered_until_its_time_or_until_too_many_are_newer() {
        let host = |at: usize| IpAddr::from((at as u32).to_be_bytes());
        let after = |at: usize| Instant::START + Duration::from_secs(at as u64);
        let mut mtus = PathMtus::default();
        for at in 1..=HOSTS {
            mtus.insert(host(at), TooLong { size: at, until: after(at) });
        }
        let first = TooLong { size: 1, until: after(1) };
        assert_eq!(mtus.get(Instant::START, host(1)), Some(first));
        let mapped = IpAddr::V6(core::net::Ipv4Addr::from(1).to_ipv6_mapped());
        assert_eq!(mtus.get(Instant::START, mapped), Some(first));
        assert_eq!(mtus.get(after(1), host(1)), None, "it may pass again");
        mtus.insert(host(0), TooLong { size: 9, until: after(9) });
        assert_eq!(mtus.get(Instant::START, host(1)), None, "it was the oldest");
        assert!(mtus.get(Instant::START, host(2)).is_some());
    }
}
