//! Consecutive retransmission timeouts, and the number of them from which each conclusion is drawn.

/// The packets that a timeout retransmits as probes, and may send beyond the congestion window: the
/// loss of one of them is tolerated (RFC 9002, sections 6.2.4 and 7.5).
pub(crate) const PROBES: u32 = 2;
/// Congestion persists. With the backoff, the second timeout expires three of them after the last
/// packet, which is kPersistentCongestionThreshold (RFC 9002, section 7.6.1).
const PERSISTENT_CONGESTION: u32 = 2;
/// The peer counts as unresponsive, and the path as suspect (R1 of RFC 1122, section 4.2.3.5).
const SILENT: u32 = 3;
/// A black hole is suspected: datagrams may have become too long for the path (RFC 8899, section
/// 4.3; full-stop timeout of RFC 4821, section 7.7). Later than [`SILENT`], because a smaller path
/// MTU costs more than a warning.
const BLACK_HOLE: u32 = 4;
/// The base size passes no better, so the path may carry less than that (MIN_PLPMTU of RFC 8899,
/// section 5.1.2). The base size has had as many timeouts as the size before.
const BASE_FAILED: u32 = 2 * BLACK_HOLE;
/// The maximum number of doublings of the timeout, so that it stays computable. A limit of seconds
/// applies before (RFC 6298, section 2.5).
const DOUBLINGS: u32 = 8;

/// The timeouts since the last acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Timeouts {
    /// pto_count of RFC 9002.
    count: u32,
    /// The number of probes that may still be sent beyond the congestion window.
    credit: u32,
}

impl Timeouts {
    /// Counts a timeout, which permits probes.
    pub(crate) fn on_timeout(&mut self) {
        self.count += 1;
        self.credit = PROBES;
    }

    /// Notes that the peer has answered; returns whether it was silent before.
    pub(crate) fn on_answer(&mut self) -> bool {
        core::mem::take(&mut self.count) >= SILENT
    }

    /// Notes that a packet was sent.
    pub(crate) fn on_send(&mut self) {
        self.credit = self.credit.saturating_sub(1);
    }

    /// Returns whether a probe may be sent, whatever the congestion window permits.
    pub(crate) fn permits_probe(&self) -> bool {
        self.credit > 0
    }

    /// Returns the factor of the next timeout.
    pub(crate) fn backoff(&self) -> u64 {
        1 << self.count.min(DOUBLINGS)
    }

    /// Returns whether this timeout shows persistent congestion.
    pub(crate) fn shows_congestion(&self) -> bool {
        self.count == PERSISTENT_CONGESTION
    }

    /// Returns whether the peer falls silent with this timeout.
    pub(crate) fn begins_silence(&self) -> bool {
        self.count == SILENT
    }

    /// Returns whether the peer is silent.
    pub(crate) fn is_silent(&self) -> bool {
        self.count >= SILENT
    }

    /// Returns whether the path MTU must be reduced with this timeout.
    pub(crate) fn shows_black_hole(&self) -> bool {
        [BLACK_HOLE, BASE_FAILED].contains(&self.count)
    }

    /// Returns whether packets in flight may exceed the path MTU, so that all are given up.
    pub(crate) fn may_be_too_long(&self) -> bool {
        self.count >= BLACK_HOLE
    }

    /// Returns whether the path MTU was reduced before this timeout.
    pub(crate) fn has_reduced_size(&self) -> bool {
        self.count > BLACK_HOLE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_conclusion_has_its_number_of_timeouts() {
        let mut timeouts = Timeouts::default();
        let mut shown = Vec::new();
        for count in 1..=10 {
            timeouts.on_timeout();
            let conclusions = [
                (timeouts.shows_congestion(), "congestion"),
                (timeouts.begins_silence(), "silence"),
                (timeouts.shows_black_hole(), "black hole"),
            ];
            shown.extend(conclusions.iter().filter(|it| it.0).map(|it| (count, it.1)));
        }
        let expected = [(2, "congestion"), (3, "silence"), (4, "black hole"), (8, "black hole")];
        assert_eq!(shown, expected);
        assert!(timeouts.is_silent() && timeouts.may_be_too_long() && timeouts.has_reduced_size());
        assert_eq!(timeouts.backoff(), 256);
        assert!(timeouts.on_answer() && !timeouts.on_answer());
        assert_eq!(timeouts.backoff(), 1);
    }

    #[test]
    fn a_timeout_permits_two_probes() {
        let mut timeouts = Timeouts::default();
        assert!(!timeouts.permits_probe());
        timeouts.on_timeout();
        timeouts.on_timeout();
        for permitted in [true, true, false] {
            assert_eq!(timeouts.permits_probe(), permitted);
            timeouts.on_send();
        }
    }
}
