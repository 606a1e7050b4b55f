//! Damaged segments, and the notifications of them (S4).
//!
//! The draft leaves much open; `docs/reference/tcp-engine.md` lists each decision with its reason.
//! In short:
//! - Of a damaged segment, the acknowledgment and the marks are obeyed, the control bits are not.
//! - A notification acknowledges nothing that has not arrived, although in the paper's mode its
//!   number is the end of the damaged segment.
//! - It is not a duplicate acknowledgment, and it explains those that the damaged segment causes.

use windfall_base::seq::Seq32;
use windfall_base::{DropReason, Duration, Instant};
use windfall_wire_net::TcpFlags;
use windfall_wire_net::tcp::Notification;

use super::{Connection, Sender};
use crate::config::{Corruption, NotificationMode, Reaction};
use crate::recovery::is_older;
use crate::segment::Segment;
use crate::sequence::number;

/// Damaged segments beyond a hole that are remembered.
const REMEMBERED: usize = 64;
/// Segments retransmitted on notification that are remembered.
const REPAIRS: usize = 1024;
/// Notifications that may wait to be sent.
const NOTICES: usize = 64;

/// The lower acknowledgments that show without timestamps that a notification has not overtaken
/// them, as three duplicates show a loss (RFC 5681, section 3.2).
const OVERTAKEN: u8 = 3;

/// A damaged segment that the peer is to be notified of, by its positions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Notice {
    pub(super) start: u64,
    pub(super) end: u64,
}

/// A segment that is retransmitted because it arrived damaged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Repaired {
    start: u64,
    end: u64,
    /// When it left again, if it did.
    sent_at: Option<Instant>,
    /// Duplicate acknowledgments that the segments sent after it will still cause.
    explains: u64,
}

/// The positions that the peer's plain notifications name, detected from its acknowledgments:
/// nothing is negotiated.
#[derive(Clone, Debug)]
pub(super) struct PeerReports {
    /// The end of the damaged segment, as in the paper's mode, and not its beginning.
    by_end: bool,
    /// The highest acknowledgment with a notification since the last without one.
    claimed: Option<Box<Claim>>,
    /// The lower acknowledgments since, without timestamps.
    lower: u8,
}

/// An acknowledgment, by its number and by what shows when the peer sent it.
#[derive(Clone, Copy, Debug)]
struct Claim {
    ack: u64,
    at: Instant,
    /// The peer's timestamp, if timestamps are negotiated.
    stamp: Option<Seq32>,
}

impl Claim {
    /// Returns whether the timestamps show that the peer sent it after `earlier`; `None` without
    /// timestamps.
    fn is_after(&self, earlier: &Self) -> Option<bool> {
        Some(earlier.stamp?.is_before(self.stamp?))
    }
}

impl PeerReports {
    /// Presumes the mode of this end.
    pub(super) fn new(mode: NotificationMode) -> Self {
        Self { by_end: mode == NotificationMode::Paper, claimed: None, lower: 0 }
    }

    /// Takes a notification of the next byte expected, which no end of a damaged segment is;
    /// returns whether that was read otherwise before.
    fn note_next(&mut self) -> bool {
        let was_by_end = self.by_end;
        if was_by_end {
            *self = Self { by_end: false, claimed: None, lower: 0 };
        }
        was_by_end
    }

    /// Takes an acknowledgment with a notification; the ones after it show what its number means.
    fn note_claimed(&mut self, claim: Claim) {
        // The copy of a segment left after the first notification that named its end.
        let is_later = self.claimed.as_ref().is_none_or(|claimed| {
            claimed.ack < claim.ack || (claimed.ack == claim.ack && !self.by_end)
        });
        if is_later {
            self.claimed = Some(Box::new(claim));
            self.lower = 0;
        }
    }

    /// Handles an acknowledgment without a notification while everything below `una` is
    /// acknowledged; returns whether it shows that an earlier one with a notification was read
    /// otherwise than the peer meant it.
    ///
    /// A lower one shows that the notification named the end of its segment. On a path that
    /// reorders, it may have been sent before the notification. Its timestamp shows that. Without
    /// timestamps the third one counts, or one that comes `reordering` later.
    ///
    /// Another one shows that the segment before the number had arrived, if it comes within
    /// `reordering`. After that a copy may have arrived since.
    fn note_acknowledged(&mut self, una: u64, ack: &Claim, reordering: Duration) -> bool {
        let Some(claimed) = self.claimed.as_ref().filter(|_| ack.ack >= una) else { return false };
        let was_by_end = self.by_end;
        let is_lower = ack.ack < claimed.ack;
        let is_late = ack.at.saturating_since(claimed.at) >= reordering;
        if is_lower && !was_by_end {
            self.lower = self.lower.saturating_add(1);
            if !ack.is_after(claimed).unwrap_or(is_late || self.lower >= OVERTAKEN) {
                return false;
            }
        }
        self.by_end = is_lower || (was_by_end && is_late);
        self.claimed = None;
        self.by_end != was_by_end
    }
}

impl Connection {
    //= S4.8
    /// Handles a segment whose checksum failed and whose detection option held (S4.8).
    pub(super) fn receive_damaged(
        &mut self,
        now: Instant,
        seg: &mut Segment,
    ) -> Result<(), DropReason> {
        self.operations.damaged += 1;
        if !self.config.corruption.notify {
            return Err(DropReason::TcpChecksum);
        }
        if seg.has_any(TcpFlags::SYN | TcpFlags::RST) || !self.is_synchronised() {
            return Err(DropReason::TcpDamaged);
        }
        let start = self.locate(seg.header.seq).ok_or(DropReason::TcpSequence)?;
        self.check_timestamp(now, seg, start)?;
        let end = start + seg.data.len() as u64 + u64::from(seg.missing);
        if start == 0 || start >= self.receiver.rcv_wnd_right.max(self.expected() + 1) {
            return Err(DropReason::TcpSequence);
        }
        self.use_covered_fields(now, seg, start);
        if end <= self.expected() {
            if end > start {
                self.owe_ack();
            }
            return Err(DropReason::TcpDamaged);
        }
        self.notify_of(Notice { start, end });
        Err(DropReason::TcpDamaged)
    }

    /// Promises a notification of a segment, at once or when the stream reaches it.
    fn notify_of(&mut self, Notice { start, end }: Notice) {
        let expected = self.expected();
        match self.notification_mode() {
            NotificationMode::DraftSafe if start > expected => {
                // Naming it would acknowledge the hole before it: it is named when its turn comes.
                if self.receiver.damaged.len() < REMEMBERED {
                    self.receiver.damaged.insert(start..end);
                }
            }
            _ => {
                self.announce(Notice { start: start.max(expected), end });
            }
        }
    }

    /// Lets the next acknowledgment carry a notification. More at once than there is room for wait
    /// for the retransmission timer.
    fn announce(&mut self, notice: Notice) {
        if self.receiver.notices.len() < NOTICES {
            self.receiver.notices.push(notice);
        }
        self.owe_ack();
    }

    //= S4.27
    /// Notifies the peer of segments that the link says it has lost right before the one at `start`
    /// with `len` bytes.
    ///
    /// The link counts frames and does not know their contents. A hole in the stream shows that
    /// they carried its data. As many segments at the end of the hole are named as frames are
    /// missing, each presumed to be full-sized.
    pub(super) fn notice_lost(&mut self, frames: u16, start: u64, len: u64) {
        let Corruption { notify, link_losses, .. } = self.config.corruption;
        if frames == 0 || !notify || !link_losses {
            return;
        }
        let before = self.receiver.buffer.end_before(start.saturating_sub(1)) + 1;
        let full = self.receiver.full.max(len).max(1);
        let segments = (start.saturating_sub(before)).div_ceil(full).min(u64::from(frames));
        for number in (1..=segments).rev() {
            let from = start.saturating_sub(number * full).max(before);
            self.notify_of(Notice { start: from, end: (from + full).min(start) });
        }
    }

    /// Uses the fields that the CRC covers: the acknowledgment, the marks, the timestamps. The
    /// window is not covered.
    fn use_covered_fields(&mut self, now: Instant, seg: &Segment, start: u64) {
        self.note_congestion(seg);
        if !seg.has_any(TcpFlags::ACK) {
            return;
        }
        if self.is_acceptable_ack(seg) {
            self.note_timestamp(now, seg, start);
        }
        // A count of marks is not covered whole, and comes again with the next segment.
        self.process_ecn_marks(now, seg, false, 0);
        self.advance_una_only(now, seg);
    }

    /// Returns the mode that both ends can follow.
    pub(super) fn notification_mode(&self) -> NotificationMode {
        match self.config.corruption.mode {
            NotificationMode::Extended if !self.negotiated.extended_notification => {
                NotificationMode::DraftSafe
            }
            mode => mode,
        }
    }

    /// Notifies the peer of a segment that arrived damaged earlier and that the stream has now
    /// reached.
    pub(super) fn notice_reached(&mut self) {
        if self.receiver.damaged.is_empty() {
            return;
        }
        let next = self.expected();
        self.receiver.damaged.remove(0..next);
        if let Some(range) = self.receiver.damaged.containing(next) {
            self.announce(Notice { start: next, end: range.end });
        }
    }

    //= S4.9
    /// Returns the next notification to put into an acknowledgment, and the position to
    /// acknowledge.
    pub(super) fn take_notice(&mut self) -> Option<(Notification, u64)> {
        let mode = self.notification_mode();
        while !self.receiver.notices.is_empty() {
            let notice = self.receiver.notices.remove(0);
            let next = self.expected();
            if notice.end <= next {
                continue;
            }
            let answer = match mode {
                NotificationMode::DraftSafe if notice.start != next => continue,
                NotificationMode::DraftSafe => (Notification::Plain, next),
                NotificationMode::Paper => (Notification::Plain, notice.end),
                NotificationMode::Extended => {
                    let seq = number(self.receiver.origin, notice.start);
                    (Notification::Extended(seq), next)
                }
            };
            self.operations.notifications_sent += 1;
            return Some(answer);
        }
        None
    }

    /// Reads an acknowledgment, perhaps with a notification: the position acknowledged, and the
    /// segment named.
    pub(super) fn read_notification(
        &mut self,
        now: Instant,
        seg: &Segment,
        ack: u64,
    ) -> (u64, Option<u64>) {
        let una = self.sender.una;
        let timestamps = seg.header.options.timestamps.filter(|_| self.negotiated.timestamps);
        let claim = Claim { ack, at: now, stamp: timestamps.map(|it| Seq32(it.value)) };
        let Some(notification) = seg.header.options.notification else {
            let reordering = self.shortest_round_trip() / 4;
            if self.sender.reports.note_acknowledged(una, &claim, reordering) {
                self.count_foreign();
            }
            return (ack, None);
        };
        match (notification, self.notification_mode()) {
            // A notification that cannot be read may not acknowledge the segment it names.
            _ if !self.config.corruption.notify => (una.min(ack), None),
            (Notification::Plain, _) => self.read_plain(claim),
            (Notification::Extended(seq), NotificationMode::Extended) => {
                (ack, self.locate_ack(seq))
            }
            (Notification::Extended(_), _) => (ack, None),
        }
    }

    /// Reads a notification that names its segment by the acknowledgment number alone. It
    /// acknowledges nothing, because the peer may be in a mode in which it names the missing
    /// segment.
    fn read_plain(&mut self, claim: Claim) -> (u64, Option<u64>) {
        let ack = claim.ack;
        let Sender { una, max, mss, ref mut reports, .. } = self.sender;
        let is_new = ack == una && reports.note_next();
        let is_ahead = una < ack && ack <= max;
        if is_ahead {
            reports.note_claimed(claim);
        }
        let by_end = reports.by_end;
        if is_new {
            self.count_foreign();
        }
        if by_end {
            // It names the end of the damaged segment and acknowledges nothing.
            let named = is_ahead.then(|| una.max(ack - mss.min(ack)));
            return (una, named);
        }
        (una.min(ack), Some(ack))
    }

    /// Counts a notification that has shown what the peer names, if this end names another thing.
    fn count_foreign(&mut self) {
        let names_ends = self.config.corruption.mode == NotificationMode::Paper;
        let is_foreign = self.sender.reports.by_end != names_ends;
        self.operations.foreign_notifications += u64::from(is_foreign);
    }

    /// Returns whether a report on the segment at `start` must be about an earlier copy of it than
    /// the last: that one has not left, or less than a round trip ago.
    fn is_under_way(&self, now: Instant, start: u64, seg: &Segment) -> bool {
        let covers = |repair: &&Repaired| repair.start <= start && start < repair.end;
        let repair = self.sender.repairs.iter().find(covers);
        let repaired_at = match repair.map(|repair| repair.sent_at) {
            Some(None) => return true,
            Some(sent_at) => sent_at,
            None => None,
        };
        let Some(sent_at) = self.recovery.left_at(start).max(repaired_at) else { return false };
        if now.saturating_since(sent_at) >= self.shortest_round_trip() {
            return false;
        }
        // The timestamp of the next segment expected comes back with the report on it.
        let echo = self.echo(now, seg);
        start > self.sender.una || echo.age.is_none() || is_older(&echo, sent_at)
    }

    /// Returns a time that no round trip is shorter than.
    fn shortest_round_trip(&self) -> Duration {
        let least = self.rtt.least().unwrap_or_default();
        // Timestamps count whole milliseconds.
        let error = if self.negotiated.timestamps { 1_000_000 } else { 0 };
        Duration::from_nanos(least.as_nanos().saturating_sub(error))
    }

    //= S4.4
    //= S4.10
    /// Retransmits the segment at `start`, which the peer received damaged (S4.4, S4.10), once for
    /// each report of a copy.
    pub(super) fn follow_notification(&mut self, now: Instant, start: u64, seg: &Segment) {
        let una = self.sender.una;
        let max = self.sender.max;
        let mss = self.sender.mss;
        if start < una || start >= max || self.is_under_way(now, start, seg) {
            return;
        }
        self.operations.notifications_received += 1;
        // The timestamp that comes back is that of the next segment expected.
        if start == una {
            self.measure(now, start + 1, seg);
        }
        let end = (start + mss).min(max);
        //= S4.5
        match self.config.corruption.reaction {
            Reaction::Ignore => self.recovery.explain_damage(start..end),
            Reaction::AsMark if una < self.sender.reduced_until => {}
            Reaction::AsMark => self.reduce_for_mark(now),
            Reaction::AsLoss => self.reduce(now),
        }
        self.sender.repairs.retain(|repair| !(repair.start..repair.end).contains(&start));
        if self.sender.repairs.len() >= REPAIRS {
            self.sender.repairs.remove(0);
        }
        let repair = Repaired { start, end, sent_at: None, explains: 0 };
        self.sender.repairs.push(repair);
    }

    //= S4.5
    /// Returns whether everything that seems lost is known to have arrived damaged, which is no
    /// reason to reduce the window.
    pub(super) fn is_damage_alone(&self) -> bool {
        let repairs = &self.sender.repairs;
        let waiting = repairs.iter().filter(|repair| repair.sent_at.is_none());
        self.config.corruption.reaction == Reaction::Ignore
            && !repairs.is_empty()
            && self.recovery.is_lost_within(waiting.map(|repair| repair.start..repair.end))
    }

    /// Returns the next segment to send again on notification.
    pub(super) fn next_notified(&mut self, now: Instant) -> Option<core::ops::Range<u64>> {
        let una = self.sender.una;
        let max = self.sender.max;
        let mss = self.sender.mss;
        let repair = self.sender.repairs.iter_mut().find(|repair| repair.sent_at.is_none())?;
        repair.sent_at = Some(now);
        repair.explains = (max - repair.end).div_ceil(mss);
        Some(repair.start.max(una)..repair.end)
    }

    /// Returns whether a duplicate acknowledgment is the echo of a damaged segment already
    /// retransmitted.
    pub(super) fn is_explained(&mut self) -> bool {
        let una = self.sender.una;
        let covers = |repair: &&mut Repaired| repair.start <= una && una < repair.end;
        match self.sender.repairs.iter_mut().find(covers) {
            Some(repair) if repair.sent_at.is_some() && repair.explains > 0 => {
                repair.explains -= 1;
                true
            }
            Some(repair) => repair.sent_at.is_none(),
            None => false,
        }
    }

    /// Drops the records of repaired segments.
    pub(super) fn forget_repairs(&mut self) {
        let una = self.sender.una;
        if !self.sender.repairs.is_empty() {
            self.sender.repairs.retain(|repair| repair.end > una);
        }
    }

    /// Restarts the timer after a retransmission.
    pub(super) fn note_repair(&mut self, now: Instant) {
        self.sender.timed = None;
        self.restart_timeout(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An acknowledgment that comes at that millisecond.
    fn acknowledgment(ack: u64, ms: u64, stamp: Option<u32>) -> Claim {
        let at = Instant::START.saturating_add(Duration::from_millis(ms));
        Claim { ack, at, stamp: stamp.map(Seq32) }
    }

    #[test]
    fn a_lower_acknowledgment_shows_the_mode_of_the_peer_if_it_was_sent_after_the_notification() {
        //= S4.9
        let reordering = Duration::from_millis(10);
        let shows = |ms, stamp| {
            let mut reports = PeerReports::new(NotificationMode::DraftSafe);
            reports.note_claimed(acknowledgment(3_001, 100, stamp));
            [0, 1].map(|later| {
                let lower = acknowledgment(2_001, ms, stamp.map(|it| it.wrapping_add(later)));
                reports.clone().note_acknowledged(1, &lower, reordering)
            })
        };
        assert_eq!(shows(101, Some(u32::MAX)), [false, true], "by timestamps, which wrap");
        assert_eq!(shows(200, Some(5)), [false, true], "by timestamps, whatever the time");
        assert_eq!(shows(109, None), [false, false], "by time");
        assert_eq!(shows(110, None), [true, true], "by time");
        let mut reports = PeerReports::new(NotificationMode::DraftSafe);
        reports.note_claimed(acknowledgment(3_001, 100, None));
        let lower = acknowledgment(2_001, 101, None);
        let thrice = [(); 3].map(|()| reports.note_acknowledged(1, &lower, reordering));
        assert_eq!(thrice, [false, false, true], "by number");
    }

    #[test]
    fn an_acknowledgment_before_a_copy_can_arrive_shows_that_the_peer_names_beginnings() {
        //= S4.9
        let reordering = Duration::from_millis(10);
        let shows = |ack, ms| {
            let mut reports = PeerReports::new(NotificationMode::Paper);
            reports.note_claimed(acknowledgment(3_001, 100, None));
            let is_new = reports.note_acknowledged(1, &acknowledgment(ack, ms, None), reordering);
            (is_new, reports.by_end)
        };
        assert_eq!(shows(3_001, 109), (true, false));
        assert_eq!(shows(4_001, 109), (true, false));
        assert_eq!(shows(3_001, 110), (false, true), "a copy may have arrived");
        assert_eq!(shows(2_001, 109), (false, true), "the named segment is missing");
    }

    #[test]
    fn an_acknowledgment_that_was_overtaken_settles_nothing() {
        let mut reports = PeerReports::new(NotificationMode::DraftSafe);
        reports.note_claimed(acknowledgment(3_001, 100, Some(7)));
        for (ack, stamp, foreign) in [(2_001, 6, false), (1_001, 7, false), (2_001, 8, true)] {
            let ack = acknowledgment(ack, 101, Some(stamp));
            assert_eq!(reports.note_acknowledged(1, &ack, Duration::ZERO), foreign, "{ack:?}");
        }
    }
}
