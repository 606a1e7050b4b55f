//! Path MTU discovery by ICMP and by probes: a report may be forged, and a router may send none
//! (RFC 1191, 4821, 8201, 8899).
//!
//! Sizes count the data of a segment and its options, as the option that names the segment size.

use core::ops::Range;

use windfall_base::seq::Seq32;
use windfall_base::{Duration, Instant};

use super::Connection;
use crate::config::LossRecovery;

/// The time after which it is probed whether a longer segment passes after all, if the network has
/// named the size.
const CONFIRM: Duration = Duration::from_secs(10);
/// The time until a longer segment is probed if long segments only seem to get lost.
const SEARCH: Duration = Duration::from_secs(1);
/// The time until a longer segment is probed after a lost probe: PMTU_RAISE_TIMER (RFC 8899,
/// section 5.1.1).
const RAISE: Duration = Duration::from_secs(600);
/// Timeouts in a row after which long segments are suspected of getting lost on their way.
const SUSPICION: u8 = 5;
/// The search ends when the largest size that passes and the smallest that does not are as close.
const PRECISION: u16 = 32;
/// Segments that must follow a probe before its loss can be detected.
const FOLLOWERS: u64 = 3;
/// The size that a path is first expected to carry if long segments get lost (RFC 8899, section
/// 5.1.2).
const BASE: u16 = 1200;

/// The search for the longest segment, once one was too long.
#[derive(Clone, Copy, Debug)]
pub(super) struct PathSearch {
    /// The least size that is known not to pass.
    fails: u16,
    /// The network has named the size, so that no other is looked for.
    is_named: bool,
    /// When to probe next.
    next_at: Instant,
    probe: Option<PathProbe>,
}

/// A probe: a segment that is longer than any that is known to pass.
#[derive(Clone, Copy, Debug)]
struct PathProbe {
    start: u64,
    end: u64,
    size: u16,
}

impl Connection {
    /// Returns the size of a segment in a packet of `mtu` bytes.
    const fn size_in(&self, mtu: u16) -> u16 {
        mtu.saturating_sub(if self.path.local.is_ipv4() { 40 } else { 60 })
    }

    /// Returns the size that every path carries, at the first report.
    const fn least_size(&self) -> u16 {
        self.size_in(if self.path.local.is_ipv4() { 576 } else { 1280 })
    }

    /// Returns the greatest size that both ends take.
    fn greatest_size(&self) -> u16 {
        self.sender.peer_mss.min(self.config.mss)
    }

    /// Handles an ICMP report that a packet of this end was too big and that the path MTU is `mtu`
    /// bytes (RFC 1191, 8201). Returns `false` if the sequence number that it quotes was not in
    /// flight: then the report is forged (RFC 5927, section 7).
    pub(crate) fn take_too_big(&mut self, now: Instant, seq: Seq32, mtu: u16) -> bool {
        if !self.has_in_flight(seq) {
            return false;
        }
        let least = self.least_size();
        // Over IPv4 a second report may go below the minimum that every host receives.
        let may_go_below =
            self.path.local.is_ipv4() && self.sender.path_mss.min(self.greatest_size()) <= least;
        let least = if may_go_below { self.size_in(68) } else { least };
        let size = self.size_in(mtu).max(least);
        if self.shorten(size, now.saturating_add(CONFIRM), true) {
            // Data in flight were dropped for their size, not by congestion: they are retransmitted
            // at once.
            self.recovery.forget_losses();
            self.sender.nxt = self.sender.una.max(1);
            self.sender.timed = None;
        }
        true
    }

    /// Lets segments have no more than `size`; returns whether they had.
    fn shorten(&mut self, size: u16, next_at: Instant, is_named: bool) -> bool {
        if size >= self.sender.path_mss.min(self.greatest_size()) {
            return false;
        }
        let search = PathSearch { fails: u16::MAX, is_named, next_at, probe: None };
        self.sender.search = Some(Box::new(search));
        self.set_path_size(size);
        true
    }

    fn set_path_size(&mut self, size: u16) {
        let before = self.sender.mss;
        self.sender.path_mss = size;
        self.size_segments();
        if self.sender.mss != before {
            self.congestion.set_mss(self.sender.mss);
        }
    }

    /// Suspects after many timeouts in a row that the path loses long segments without a word (RFC
    /// 4821, section 7.7).
    pub(super) fn suspect_path(&mut self, now: Instant) {
        let flow = self.flow();
        // Net/3 is older than searches of a path.
        let searches = self.config.loss_recovery != LossRecovery::Net3;
        let is_long = searches && flow.max - flow.una >= flow.mss;
        let size = match self.sender.attempts {
            SUSPICION => self.size_in(BASE).max(self.least_size()),
            attempts if attempts == SUSPICION + 2 => self.least_size(),
            _ => return,
        };
        if is_long {
            self.shorten(size, now.saturating_add(SEARCH), false);
        }
    }

    /// Returns the range of a probe, if one is due and may leave.
    pub(super) fn next_path_probe(&mut self, now: Instant, window: u64) -> Option<Range<u64>> {
        let size = {
            let search = self.sender.search.as_deref()?;
            if search.probe.is_some() || now < search.next_at {
                return None;
            }
            let most = self.greatest_size();
            let middle = u16::midpoint(self.sender.path_mss, search.fails);
            if search.fails > most { most } else { middle }
        };
        let flow = self.flow();
        let options = u64::from(self.sender.path_mss) - flow.mss;
        let len = u64::from(size).checked_sub(options)?;
        let end = flow.max + len;
        let fits =
            self.recovery.in_flight(&flow) + len <= window && end <= self.sender.snd_wnd_right;
        let follows = end + FOLLOWERS * flow.mss <= self.sender.data_end();
        if !fits || !follows || len <= flow.mss || flow.nxt < flow.max || !self.recovery.is_quiet()
        {
            return None;
        }
        let probe = PathProbe { start: flow.max, end, size };
        self.sender.search.as_deref_mut()?.probe = Some(probe);
        Some(probe.start..probe.end)
    }

    /// Looks whether the probe has arrived.
    pub(super) fn judge_path_probe(&mut self, now: Instant) {
        let Some(probe) = self.sender.search.as_deref().and_then(|search| search.probe) else {
            return;
        };
        if self.sender.una < probe.end && !self.recovery.is_reported(probe.start..probe.end) {
            return;
        }
        let is_done = probe.size >= self.greatest_size();
        self.set_path_size(probe.size);
        if let Some(search) = self.sender.search.as_deref_mut() {
            (search.probe, search.next_at) = (None, now);
            if search.fails.saturating_sub(probe.size) <= PRECISION {
                search.give_up(now);
            }
        }
        if is_done {
            self.sender.search = None;
        }
    }

    /// Takes the loss of `lost`, or of everything in flight; returns whether a probe explains it:
    /// then it was too long, and no sign of congestion (RFC 4821, section 7.4).
    pub(super) fn take_probe_loss(&mut self, now: Instant, lost: Range<u64>) -> bool {
        let path_mss = self.sender.path_mss;
        let Some(search) = self.sender.search.as_deref_mut() else { return false };
        let Some(probe) = search.probe.filter(|probe| probe.start < lost.end) else { return false };
        if probe.end <= lost.start {
            return false;
        }
        search.probe = None;
        search.fails = probe.size;
        search.next_at = now;
        if search.is_named || search.fails.saturating_sub(path_mss) <= PRECISION {
            search.give_up(now);
        }
        probe.start <= lost.start && lost.end <= probe.end
    }
}

impl PathSearch {
    /// Ends the search for now; the path may change.
    fn give_up(&mut self, now: Instant) {
        (self.fails, self.next_at) = (u16::MAX, now.saturating_add(RAISE));
    }
}
