//! Damaged segments, and the notifications of them (S4).
//!
//! The draft leaves much open; `docs/tcp.md` lists each decision with its reason. In short: control
//! bits of a damaged segment are not obeyed, its acknowledgment and marks are; a notification never
//! acknowledges what has not arrived (except in the paper's own mode, between two that know it); it
//! is not a duplicate acknowledgment, and it explains those that the damaged segment will cause.

use windfall_base::{DropReason, Instant};
use windfall_wire_net::TcpFlags;
use windfall_wire_net::tcp::Notification;

use super::Connection;
use crate::config::{Corruption, NotificationMode, Reaction};
use crate::segment::Segment;
use crate::sequence::number;

/// Damaged segments beyond a hole that are remembered.
const REMEMBERED: usize = 64;
/// Segments retransmitted on notification that are remembered.
const REPAIRS: usize = 64;

/// A damaged segment that the peer is to be notified of, by its positions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Notice {
    pub(super) start: u64,
    pub(super) end: u64,
}

/// a segment that is retransmitted because it arrived damaged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Repaired {
    start: u64,
    end: u64,
    noticed: Instant,
    sent: bool,
    /// Duplicate acknowledgments that the segments behind it will still cause.
    explains: u64,
}

impl Connection {
    /// Handles a segment whose checksum failed and whose detection option held (S4.8).
    //= S4.8
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
        if start == 0 || start >= self.receiver.edge.max(self.expected() + 1) {
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
                // More at once than there is room for wait for the retransmission timer.
                let notice = Notice { start: start.max(expected), end };
                let _ = self.receiver.notices.try_push(notice);
                self.owe_ack();
            }
        }
    }

    /// Notifies the peer of segments that the link says it has lost right before the one at `start`
    /// with `len` bytes.
    ///
    /// The link counts frames and does not know what was in them: that it was data of this stream
    /// shows in a hole there. As many segments at its end are named as frames are missing, each
    /// taken to be as long as a full one.
    //= S4.27
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

    /// Uses what the CRC covers: the acknowledgment, the marks, the timestamps. The window is not
    /// covered.
    fn use_covered_fields(&mut self, now: Instant, seg: &Segment, start: u64) {
        self.note_congestion(seg);
        if !seg.has_any(TcpFlags::ACK) {
            return;
        }
        if self.is_acceptable_ack(seg) {
            self.note_timestamp(now, seg, start);
        }
        // A count of marks is not covered whole, and comes again with the next segment.
        self.heed_marks(now, seg, false, 0);
        self.take_progress(now, seg);
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
            let _ = self.receiver.notices.try_push(Notice { start: next, end: range.end });
            self.owe_ack();
        }
    }

    /// Returns the next notification to put into an acknowledgment, and the position to
    /// acknowledge.
    //= S4.9
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

    /// Reads an acknowledgment with a notification: the position acknowledged, and the segment
    /// named.
    pub(super) fn read_notification(&self, seg: &Segment, ack: u64) -> (u64, Option<u64>) {
        let una = self.sender.una;
        let max = self.sender.max;
        let notification = seg.header.options.notification;
        let Some(notification) = notification.filter(|_| self.config.corruption.notify) else {
            return (ack, None);
        };
        match (notification, self.notification_mode()) {
            (Notification::Plain, NotificationMode::Paper) => {
                // It names the end of the damaged segment and acknowledges nothing.
                let named =
                    (una < ack && ack <= max).then(|| una.max(ack - self.sender.mss.min(ack)));
                (una, named)
            }
            (Notification::Plain, _) => (ack, Some(ack)),
            (Notification::Extended(seq), NotificationMode::Extended) => {
                (ack, self.locate_ack(seq))
            }
            (Notification::Extended(_), _) => (ack, None),
        }
    }

    /// Retransmits the segment at `start`, which the peer received damaged (S4.4, S4.10).
    //= S4.4
    //= S4.10
    pub(super) fn follow_notification(&mut self, now: Instant, start: u64, seg: &Segment) {
        let una = self.sender.una;
        let max = self.sender.max;
        let mss = self.sender.mss;
        if start < una || start >= max {
            return;
        }
        let round_trip = self.rtt.smoothed().unwrap_or_default();
        let is_known = |repair: &Repaired| {
            repair.start == start
                && (!repair.sent || now.saturating_since(repair.noticed) < round_trip)
        };
        if self.sender.repairs.iter().any(is_known) || self.sender.repairs.len() >= REPAIRS {
            return;
        }
        self.operations.notifications_received += 1;
        if una < start + mss {
            self.measure(now, start + 1, seg);
        }
        //= S4.5
        match self.config.corruption.reaction {
            Reaction::Ignore => {}
            Reaction::AsMark if una < self.sender.reduced_until => {}
            Reaction::AsMark => self.reduce_for_mark(now),
            Reaction::AsLoss => self.reduce(now),
        }
        let end = (start + mss).min(max);
        self.sender.repairs.retain(|repair| repair.start != start);
        let repair = Repaired { start, end, noticed: now, sent: false, explains: 0 };
        self.sender.repairs.push_back(repair);
    }

    /// Returns the next segment to send again on notification.
    pub(super) fn next_notified(&mut self) -> Option<core::ops::Range<u64>> {
        let una = self.sender.una;
        let max = self.sender.max;
        let mss = self.sender.mss;
        let repair = self.sender.repairs.iter_mut().find(|repair| !repair.sent)?;
        repair.sent = true;
        repair.explains = (max - repair.end).div_ceil(mss);
        Some(repair.start.max(una)..repair.end)
    }

    /// Returns whether a duplicate acknowledgment is the echo of a damaged segment already
    /// retransmitted.
    pub(super) fn is_explained(&mut self) -> bool {
        let una = self.sender.una;
        let covers = |repair: &&mut Repaired| repair.start <= una && una < repair.end;
        match self.sender.repairs.iter_mut().find(covers) {
            Some(repair) if repair.sent && repair.explains > 0 => {
                repair.explains -= 1;
                true
            }
            Some(repair) => !repair.sent,
            None => false,
        }
    }

    /// Forgets what has arrived at last.
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
