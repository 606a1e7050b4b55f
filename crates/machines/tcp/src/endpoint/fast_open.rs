//! Cookies that prove an address: which the servers have given us, and which we give (RFC 7413).

use std::collections::{BTreeMap, VecDeque};

use core::net::{IpAddr, SocketAddr};

use windfall_base::seq::Seq32;
use windfall_base::{Duration, Instant};
use windfall_wire_net::TcpFlags;
use windfall_wire_net::tcp::FastOpenCookie;

use crate::config::TcpConfig;
use crate::connection::SocketPair;
use crate::connection::fast_open::{FastOpen, cookie_of};
use crate::segment::Segment;
use crate::siphash::SipKey;

/// Servers whose cookies are remembered.
const SERVERS: usize = 256;
/// Paths whose refusals are remembered, and the time for which they are.
const REFUSALS: usize = 256;
const REFUSED: Duration = Duration::from_secs(3600);
/// SYNs with data that are remembered, so that a late copy of one is not taken for another.
const TAKEN: usize = 1024;

/// The cookies of an endpoint.
#[derive(Debug, Default)]
pub(super) struct FastOpens {
    /// By the server's address, with the segment size that it named.
    known: BTreeMap<IpAddr, (FastOpenCookie, u16)>,
    /// Until when a path does without, by this end's address and the server's address and port: a
    /// server, or something on the way to it, did not answer such a SYN or left its data aside
    /// (RFC 7413, section 4.1.3.1).
    refused: BTreeMap<(IpAddr, SocketAddr), Instant>,
    taken: VecDeque<(SocketPair, Seq32)>,
}

/// Returns the Fast Open cookie of `client`, which only a holder of `secret` can compute.
fn cookie(secret: &SipKey, client: IpAddr) -> FastOpenCookie {
    let words = match client {
        IpAddr::V4(v4) => [4, 0, u64::from(v4.to_bits())],
        IpAddr::V6(v6) => [6, (v6.to_bits() >> 64) as u64, v6.to_bits() as u64],
    };
    cookie_of(secret.hash(&words))
}

impl FastOpens {
    /// Decides how to open a connection on `path`.
    pub(super) fn towards(&self, config: &TcpConfig, now: Instant, path: &SocketPair) -> FastOpen {
        let refused = self.refused.get(&(path.local.ip(), path.remote));
        if !config.fast_open || refused.is_some_and(|until| now < *until) {
            return FastOpen::Off;
        }
        match self.known.get(&path.remote.ip()) {
            Some((_, size)) if config.manner.sends_without_cookie => {
                FastOpen::Ready(FastOpenCookie::new(), *size)
            }
            Some((cookie, size)) if !cookie.is_empty() => FastOpen::Ready(cookie.clone(), *size),
            None if config.manner.sends_without_cookie => {
                FastOpen::Ready(FastOpenCookie::new(), config.mss)
            }
            _ => FastOpen::Ask(FastOpenCookie::new()),
        }
    }

    /// Caches the cookie in a SYN-ACK for the next connection.
    pub(super) fn learn(&mut self, path: &SocketPair, granted: (FastOpenCookie, u16)) {
        if self.known.len() >= SERVERS {
            self.known.pop_first();
        }
        self.known.insert(path.remote.ip(), granted);
    }

    /// Notes the segment size that a server whose cookie is known names now.
    pub(super) fn note_size(&mut self, path: &SocketPair, named: u16) {
        if self.known.len() < SERVERS {
            let unknown = || (FastOpenCookie::new(), named);
            self.known.entry(path.remote.ip()).or_insert_with(unknown).1 = named;
        }
    }

    /// Notes that a SYN for fast open was refused on `path`.
    pub(super) fn refuse(&mut self, now: Instant, path: &SocketPair) {
        if self.refused.len() >= REFUSALS {
            self.refused.retain(|_, until| now < *until);
        }
        if self.refused.len() >= REFUSALS {
            self.refused.pop_first();
        }
        let until = now.saturating_add(REFUSED);
        self.refused.insert((path.local.ip(), path.remote), until);
    }

    //= S2.17
    /// Decides how to answer a SYN to a listener, and whether to take its data.
    ///
    /// A copy of a SYN whose data were taken before is answered as an ordinary one (RFC 7413,
    /// section 2.1, leaves this to the application).
    pub(super) fn judge(
        &mut self,
        config: &TcpConfig,
        secret: &SipKey,
        path: &SocketPair,
        syn: &Segment,
    ) -> (FastOpen, bool) {
        let asked = syn.header.options.fast_open.as_ref().filter(|_| config.fast_open);
        let manner = &config.manner;
        let made = cookie(secret, path.remote.ip());
        match asked {
            _ if config.fast_open && manner.takes_without_cookie && !syn.data.is_empty() => {}
            None => return (FastOpen::Off, false),
            Some(shown) if *shown != made => return (FastOpen::Ask(made), false),
            Some(_) => {}
        }
        let mark = (*path, syn.header.seq);
        let is_enough = manner.opens_fast_without_data || !syn.data.is_empty();
        let fits = is_enough && !syn.has_any(TcpFlags::FIN) && syn.missing == 0;
        if !fits || self.taken.contains(&mark) {
            return (FastOpen::Off, false);
        }
        if self.taken.len() >= TAKEN {
            self.taken.pop_front();
        }
        self.taken.push_back(mark);
        (FastOpen::Early, true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(server: u32, port: u16) -> SocketPair {
        let remote = SocketAddr::new(core::net::Ipv4Addr::from_bits(server).into(), port);
        SocketPair::new("10.0.0.1:40000".parse().unwrap(), remote).unwrap()
    }

    fn config() -> TcpConfig {
        TcpConfig { fast_open: true, ..TcpConfig::default() }
    }

    #[test]
    fn a_cookie_proves_one_address_to_one_secret() {
        // RFC 7413, section 4.1.2.
        let addresses = ["10.0.0.1", "10.0.0.2", "::a00:1", "2001:db8::1", "2001:db8:1::1"];
        let all = addresses.map(|it| cookie(&SipKey([1, 2]), it.parse().unwrap()));
        for (number, one) in all.iter().enumerate() {
            assert_eq!(one.len(), 8);
            assert!(all[..number].iter().all(|other| other != one), "{}", addresses[number]);
        }
        let again = addresses.map(|it| cookie(&SipKey([1, 2]), it.parse().unwrap()));
        assert_eq!(all, again);
        let other = addresses.map(|it| cookie(&SipKey([1, 3]), it.parse().unwrap()));
        assert!(all.iter().zip(&other).all(|(one, other)| one != other));
    }

    #[test]
    fn a_refusal_holds_for_an_hour_for_one_path() {
        // RFC 7413, section 4.1.3.1.
        let mut known = FastOpens::default();
        let after = |seconds| Instant::START.saturating_add(Duration::from_secs(seconds));
        let cookie = FastOpenCookie::from_iter([7; 8]);
        known.learn(&path(1, 80), (cookie.clone(), 1_300));
        let ready = FastOpen::Ready(cookie, 1_300);
        let towards = |known: &FastOpens, seconds, port| {
            known.towards(&config(), after(seconds), &path(1, port))
        };
        assert_eq!(towards(&known, 0, 80), ready);
        known.refuse(after(10), &path(1, 80));
        assert_eq!(towards(&known, 10, 80), FastOpen::Off);
        assert_eq!(towards(&known, 3_609, 80), FastOpen::Off);
        assert_eq!(towards(&known, 3_610, 80), ready);
        assert_eq!(towards(&known, 10, 81), ready, "another port");
        let off = TcpConfig { fast_open: false, ..config() };
        assert_eq!(known.towards(&off, after(0), &path(1, 80)), FastOpen::Off);
        let ask = FastOpen::Ask(FastOpenCookie::new());
        assert_eq!(known.towards(&config(), after(0), &path(2, 80)), ask);
    }

    #[test]
    fn what_is_remembered_of_servers_and_refusals_is_limited() {
        let mut known = FastOpens::default();
        for server in 0..SERVERS as u32 + 5 {
            known.learn(&path(server, 80), (FastOpenCookie::from_iter([1; 8]), 1_000));
        }
        assert_eq!(known.known.len(), SERVERS);
        assert!(known.known.contains_key(&path(SERVERS as u32 + 4, 80).remote.ip()));
        let at = |seconds| Instant::START.saturating_add(Duration::from_secs(seconds));
        for server in 0..REFUSALS as u32 {
            known.refuse(at(if server < 10 { 0 } else { 100 }), &path(server, 80));
        }
        assert_eq!(known.refused.len(), REFUSALS);
        // The ten that are over make room first, and then the lowest one.
        known.refuse(at(3_600), &path(1_000, 80));
        assert_eq!(known.refused.len(), REFUSALS - 9);
        (0..9).for_each(|server| known.refuse(at(3_600), &path(2_000 + server, 80)));
        assert_eq!(known.refused.len(), REFUSALS);
        known.refuse(at(3_600), &path(3_000, 80));
        assert_eq!(known.refused.len(), REFUSALS);
        assert_eq!(known.towards(&config(), at(3_600), &path(3_000, 80)), FastOpen::Off);
    }

    #[test]
    fn the_size_that_a_server_names_now_replaces_the_one_before() {
        let mut known = FastOpens::default();
        known.learn(&path(1, 80), (FastOpenCookie::from_iter([1; 8]), 1_000));
        known.note_size(&path(1, 80), 1_200);
        known.note_size(&path(2, 80), 1_100);
        assert_eq!(known.known[&path(1, 80).remote.ip()].1, 1_200);
        assert_eq!(known.known[&path(2, 80).remote.ip()], (FastOpenCookie::new(), 1_100));
        // A size alone is no cookie.
        let ask = FastOpen::Ask(FastOpenCookie::new());
        assert_eq!(known.towards(&config(), Instant::START, &path(2, 80)), ask);
    }
}
