//! The state of the path to the peer's address. It begins anew after a move to another host (RFC
//! 9000, section 9.4).

use core::net::IpAddr;

use windfall_base::{Duration, Instant};

use crate::collisions::Collisions;
use crate::config::SapConfig;
use crate::congestion::Congestion;
use crate::pacer::Pacer;
use crate::path_mtu::PathMtu;
use crate::reordering::Reordering;
use crate::rtt::Rtt;
use crate::timeouts::Timeouts;
use crate::trust::Trust;

/// The estimates of one path, and the state of the mechanisms that depend on them.
#[derive(Debug)]
pub(crate) struct PathState {
    pub(crate) mtu: PathMtu,
    /// The duration of the handshake, from its first packet to the answer.
    pub(crate) handshake: Option<Duration>,
    pub(crate) rtt: Rtt,
    pub(crate) reordering: Reordering,
    pub(crate) congestion: Congestion,
    pub(crate) pacer: Pacer,
    /// The time at which pacing permits the next packet.
    pub(crate) pace_at: Option<Instant>,
    pub(crate) collisions: Collisions,
    pub(crate) timeouts: Timeouts,
    /// The evidence that links of the path deliver damaged datagrams.
    pub(crate) trust: Trust,
}

impl PathState {
    /// Creates the state of an unknown path to `peer`.
    pub(crate) fn new(peer: IpAddr, config: &SapConfig) -> Self {
        let mtu = PathMtu::new(peer, config.base_datagram, config.max_datagram);
        Self::with_mtu(mtu, config.base_datagram, config)
    }

    /// Creates the state of a path of which only the path MTU is known; `size` is that of the first
    /// datagrams.
    fn with_mtu(mtu: PathMtu, size: usize, config: &SapConfig) -> Self {
        Self {
            mtu,
            handshake: None,
            rtt: Rtt::default(),
            reordering: Reordering::default(),
            congestion: Congestion::new(size, config.controller),
            pacer: Pacer::default(),
            pace_at: None,
            collisions: Collisions::default(),
            timeouts: Timeouts::default(),
            trust: Trust::default(),
        }
    }

    /// Begins anew after the peer has moved to another host, at `peer`.
    pub(crate) fn restart(&mut self, now: Instant, peer: IpAddr, config: &SapConfig) {
        let mut mtu = self.mtu;
        mtu.restart(now, peer, config.path_discovery);
        *self = Self::with_mtu(mtu, mtu.size(), config);
    }

    /// Notes that only the port of the peer has changed: the path may lead through another
    /// translator of addresses, but its links are most likely the same.
    pub(crate) fn change_port(&mut self) {
        self.timeouts = Timeouts::default();
        self.trust = Trust::default();
    }

    /// Returns the largest datagram that is known to arrive.
    pub(crate) fn size(&self) -> usize {
        self.mtu.size()
    }

    /// Returns the retransmission timeout.
    pub(crate) fn timeout(&self, config: &SapConfig) -> Duration {
        let measured = self.rtt.timeout(config.ack_delay);
        match measured.filter(|_| config.adaptive_timeout) {
            Some(timeout) => (timeout + self.extra().unwrap_or_default()).max(config.min_timeout),
            None => config.initial_timeout.max(self.handshake_timeout(config)),
        }
    }

    /// Returns the timeout before the first sample. The handshake's duration is that of a round
    /// trip, or more if its first packet was lost (RFC 6298, section 2.2, without the variation,
    /// since a datagram that was lost must not wait longer than a ping).
    fn handshake_timeout(&self, config: &SapConfig) -> Duration {
        match self.handshake {
            Some(span) if config.adaptive_timeout => span * 2,
            _ => Duration::ZERO,
        }
    }

    /// Returns how much later than usual a reordered packet may arrive; `None` if packets arrive in
    /// order.
    pub(crate) fn extra(&self) -> Option<Duration> {
        self.reordering.extra(self.rtt.smoothed()?)
    }

    /// Returns whether the window limits a sender with these bytes in flight: half of it is in use.
    pub(crate) fn is_limited(&self, in_flight: usize) -> bool {
        in_flight * 2 >= self.congestion.window()
    }

    /// Returns whether the congestion window and the pacer permit a datagram of `size` bytes while
    /// `in_flight` bytes are in flight.
    pub(crate) fn may_send(&mut self, now: Instant, in_flight: usize, size: usize) -> bool {
        if self.timeouts.permits_probe() {
            return true;
        }
        self.pace_at = None;
        if in_flight > 0 && in_flight + size > self.congestion.window() {
            return false;
        }
        let Some(rate) = self.rate() else { return true };
        self.pacer.refill(now, rate, self.size());
        self.pace_at = self.pacer.wait(rate).map(|wait| now + wait);
        self.pace_at.is_none()
    }

    /// Returns the pacing rate in bytes per second, somewhat above window per round trip; `None`
    /// before a round-trip sample.
    fn rate(&self) -> Option<f64> {
        let round = self.rtt.smoothed()?.as_secs_f64().max(1e-6);
        let gain = if self.congestion.is_starting() { 2.0 } else { 1.25 };
        Some(gain * self.congestion.window() as f64 / round)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const HERE: IpAddr = IpAddr::V4(core::net::Ipv4Addr::LOCALHOST);

    /// Returns the state of a path that has been used and does not answer any more.
    fn used(config: &SapConfig) -> PathState {
        let now = Instant::START;
        let mut path = PathState::new(HERE, config);
        path.handshake = Some(Duration::from_millis(40));
        path.rtt.learn(now, Duration::from_millis(30), Duration::ZERO);
        path.reordering.observe(Duration::from_millis(3));
        path.pacer.refill(now, 1e6, 1232);
        path.pacer.spend(1 << 20);
        assert!(!path.may_send(now, 0, 1232) && path.pace_at.is_some());
        path.collisions.on_loss(true);
        path.timeouts.on_timeout();
        path.congestion.collapse(now, BTreeSet::new());
        path.trust.on_damage();
        path
    }

    #[test]
    fn a_datagram_that_exceeds_the_window_is_sent_only_if_nothing_is_in_flight() {
        let mut path = PathState::new(HERE, &SapConfig::standard());
        let window = path.congestion.window();
        for (in_flight, size, may_be_sent) in [
            (window - 100, 100, true),
            (window - 99, 100, false),
            (0, window + 1, true),
            (1, window, false),
        ] {
            let permitted = path.may_send(Instant::START, in_flight, size);
            assert_eq!(permitted, may_be_sent, "{size} bytes beside {in_flight}");
        }
    }

    #[test]
    fn another_host_begins_with_nothing_of_the_old_path() {
        let config = SapConfig::standard();
        let mut path = used(&config);
        path.restart(Instant::START, HERE, &config);
        let mut fresh = PathState::new(HERE, &config);
        fresh.mtu.search(Instant::START);
        assert_eq!(format!("{path:?}"), format!("{fresh:?}"));
    }

    #[test]
    fn another_port_of_the_same_host_keeps_what_the_links_have_shown() {
        let config = SapConfig::standard();
        let mut path = used(&config);
        path.change_port();
        assert!(path.rtt.smoothed().is_some() && path.pace_at.is_some());
        assert!(!path.timeouts.permits_probe() && !path.trust.is_broken());
    }
}
