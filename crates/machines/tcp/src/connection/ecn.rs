//! Explicit congestion notification: negotiation, feedback, and the reaction to marks (RFC 3168;
//! RFC 9768, accurate ECN).
//!
//! With accurate ECN each end counts the packets that arrived marked, and sends the last three bits
//! of the count in every segment (ACE). The counters begin with 5, so that zero shows that a
//! middlebox has cleared the field.

use windfall_base::Instant;
use windfall_wire_net::{Ecn, TcpFlags};

use super::{Connection, TcpState};
use crate::segment::Segment;

/// The count of an end that has received no mark.
const FIRST: u16 = 5;
/// The most marks that a field of three bits can report at once.
const CYCLE: u64 = 7;
/// An end that answers more packets than this at once thins its acknowledgments out: a long step
/// is then no sign of acknowledgments that were lost.
const THINNED: u16 = 4;

/// The counts of accurate ECN in both directions.
#[derive(Clone, Copy, Debug)]
pub(super) struct AccurateEcn {
    /// The ECN field with which the peer's latest SYN, or its answer to this end's, arrived.
    opening: Ecn,
    /// The next acknowledgment reports that field in place of the count.
    pub(super) reflects: bool,
    /// Packets that arrived marked, and those of them that are not reported to the peer yet.
    received: u16,
    untold: u8,
    was_marked: bool,
    /// Packets of this end that arrived marked, by the peer's feedback.
    reported: u16,
    has_report: bool,
    /// Packets that an acknowledgment of the peer answers in the mean, in 64ths.
    stride: u16,
    /// Something on the path changes ECN fields, or clears ACE: new data are not ECN-capable then,
    /// and reports mean nothing.
    is_changed: bool,
    is_cleared: bool,
}

impl Default for AccurateEcn {
    fn default() -> Self {
        Self {
            opening: Ecn::NotCapable,
            reflects: false,
            received: FIRST,
            untold: 0,
            was_marked: false,
            reported: FIRST,
            has_report: false,
            stride: 0,
            is_changed: false,
            is_cleared: false,
        }
    }
}

impl AccurateEcn {
    /// Returns how many packets of `packets` that are acknowledged at once arrived marked: the
    /// least number that explains `ace`, or, if more might have passed unseen because
    /// acknowledgments were lost, the greatest (RFC 9768, section 3.2.2.5.2 and appendix A.2).
    fn count(&mut self, ace: u8, packets: u64) -> u64 {
        let least = u64::from(ace.wrapping_sub(self.reported as u8) & 7);
        self.note_stride(packets);
        if packets <= CYCLE || self.stride > THINNED * 64 {
            return least;
        }
        packets - ((packets - least) & CYCLE)
    }

    /// Learns from an acknowledgment that answers `packets` how many others answer.
    fn note_stride(&mut self, packets: u64) {
        if packets > 0 {
            let packets = packets.min(1 << 9) as u16;
            let before = if self.stride == 0 { packets * 64 } else { self.stride };
            self.stride = before - before / 64 + packets;
        }
    }
}

impl Connection {
    /// Returns the number of packets that arrived marked, modulo 65 536, where accurate ECN is in
    /// use.
    #[must_use]
    pub const fn received_marks(&self) -> u16 {
        self.receiver.accurate.received.wrapping_sub(FIRST)
    }

    /// Returns the number of packets of this end that arrived marked by the peer's feedback, modulo
    /// 65 536, if accurate ECN is in use.
    #[must_use]
    pub const fn reported_marks(&self) -> u16 {
        self.receiver.accurate.reported.wrapping_sub(FIRST)
    }

    /// Returns whether a SYN, or the answer to this end's, agrees on ECN, and on accurate ECN (RFC
    /// 3168, section 6.1.1; RFC 9768, table 2).
    pub(super) fn agrees_on_ecn(&self, syn: &Segment) -> (bool, bool) {
        let flags = syn.header.flags;
        let answers = flags.has(TcpFlags::ACK);
        let accurate = self.config.accurate_ecn && is_accurate(flags);
        let classic = if answers {
            flags.has(TcpFlags::ECE) && !flags.has(TcpFlags::CWR)
        } else {
            flags.has(TcpFlags::ECE | TcpFlags::CWR)
        };
        (accurate || (classic && (self.config.ecn || self.config.accurate_ecn)), accurate)
    }

    /// Returns the ECN flags of this end's SYN or SYN-ACK. A retransmission asks for less, in case
    /// the path drops such flags (RFC 9768, section 3.1.4).
    pub(super) fn opening_flags(&mut self) -> TcpFlags {
        let none = TcpFlags::NONE;
        let attempts = self.sender.attempts;
        if self.state == TcpState::SynReceived {
            if self.negotiated.accurate_ecn && attempts <= 1 {
                return none.reflecting(self.receiver.accurate.opening);
            }
            // The peer may read an answer without flags as a refusal.
            self.receiver.accurate.is_changed |= self.negotiated.accurate_ecn;
            let classic = self.negotiated.ecn && !self.negotiated.accurate_ecn;
            return if classic && attempts == 0 { TcpFlags::ECE } else { none };
        }
        if self.config.accurate_ecn {
            return if attempts <= 1 { TcpFlags::ACE } else { none };
        }
        let asks = self.config.ecn && attempts == 0;
        if asks { TcpFlags::ECE | TcpFlags::CWR } else { none }
    }

    /// Notes how a SYN of the peer arrived; marks of SYNs are not counted.
    pub(super) fn note_opening(&mut self, ecn: Ecn) {
        self.receiver.accurate.opening = ecn;
        self.receiver.accurate.was_marked = ecn == Ecn::Congested;
    }

    /// Takes a SYN that came again before the answer was acknowledged. One that asks for the other
    /// kind of ECN resets the connection: the ends could not know which of both is meant (RFC 9768,
    /// section 3.1.5).
    pub(super) fn take_repeated_syn(&mut self, syn: &Segment) {
        let flags = syn.header.flags;
        let accurate = self.negotiated.accurate_ecn;
        let classic = self.negotiated.ecn && !accurate;
        if (accurate && flags.ace() == 0b011)
            || (classic && self.config.accurate_ecn && is_accurate(flags))
        {
            return self.abort();
        }
        self.receiver.accurate.is_changed |= accurate && flags.ace() == 0;
        self.note_opening(syn.ecn);
    }

    /// Reads the feedback on this end's SYN in its answer, and the answer's own ECN field.
    pub(super) fn take_answer_marks(&mut self, now: Instant, seg: &mut Segment) {
        if self.negotiated.accurate_ecn && self.is_ack_of_syn(seg) {
            self.note_opening(seg.ecn);
            self.receiver.accurate.reflects = true;
            self.receiver.accurate.received += u16::from(seg.ecn == Ecn::Congested);
            self.take_reflection(now, seg);
            self.owe_ack();
        }
    }

    /// Reflects once more how an answer to this end's SYN arrived, since it came again.
    pub(super) fn reflect_again(&mut self, seg: &Segment) {
        if self.negotiated.accurate_ecn && seg.has_any(TcpFlags::SYN) && !self.passive {
            self.note_opening(seg.ecn);
            self.receiver.accurate.reflects = true;
        }
    }

    /// Takes the acknowledgment of this end's answer to a SYN (RFC 9768, table 4).
    pub(super) fn take_first_marks(&mut self, now: Instant, seg: &mut Segment) {
        let plain = seg.span() == 0 && seg.header.options.sack.is_empty();
        if !self.negotiated.accurate_ecn || !plain {
            return;
        }
        match seg.header.flags.ace() {
            0b000 => self.receiver.accurate.is_cleared = true,
            0b110 => self.receiver.accurate.reported += 1,
            _ => {}
        }
        self.take_reflection(now, seg);
    }

    /// Takes the peer's feedback on this end's SYN or SYN-ACK, which left as Not-ECT. The packet
    /// counter stays unchanged.
    fn take_reflection(&mut self, now: Instant, seg: &mut Segment) {
        let ace = seg.header.flags.ace();
        self.receiver.accurate.is_changed |= matches!(ace, 0b011 | 0b100 | 0b110);
        if ace == 0b110 {
            self.reduce_for_mark(now);
        }
        seg.header.flags = seg.header.flags.with_ace(self.receiver.accurate.reported as u8);
    }

    /// Returns the flags of the segment that header prediction waits for.
    pub(super) const fn predicted_flags(&self) -> TcpFlags {
        if self.negotiated.accurate_ecn {
            TcpFlags::ACK.with_ace(self.receiver.accurate.reported as u8)
        } else {
            TcpFlags::ACK
        }
    }

    /// Notes a segment without a mark that reports none, and returns whether that is certain: an
    /// acknowledgment of more packets than ACE can count is ambiguous.
    pub(super) fn note_unmarked(&mut self, acked: u64) -> bool {
        if !self.negotiated.accurate_ecn {
            return true;
        }
        self.receiver.accurate.was_marked = false;
        self.receiver.accurate.has_report = true;
        let packets = acked.div_ceil(self.sender.mss);
        if packets <= CYCLE {
            self.receiver.accurate.note_stride(packets);
        }
        packets <= CYCLE
    }

    /// Notes the mark of a segment that was accepted, or the peer's answer to earlier ones (RFC
    /// 3168, section 6.1.3; RFC 9768, section 3.2 and 3.2.2.5.1).
    pub(super) fn note_congestion(&mut self, seg: &Segment) {
        let marked = seg.ecn == Ecn::Congested;
        if !self.negotiated.accurate_ecn {
            let kept = self.receiver.congested && !seg.has_any(TcpFlags::CWR);
            self.receiver.congested = self.negotiated.ecn && (kept || marked);
            return;
        }
        let accurate = &mut self.receiver.accurate;
        let begins = marked && !accurate.was_marked && !seg.data.is_empty();
        accurate.was_marked = marked;
        accurate.received = accurate.received.wrapping_add(u16::from(marked));
        accurate.untold = accurate.untold.saturating_add(u8::from(marked));
        let untold = accurate.untold;
        let waits = self.receiver.unacked > 0 || !seg.data.is_empty();
        if marked && (begins || untold >= if waits { 2 } else { 3 }) {
            self.owe_ack();
        }
    }

    /// Returns the flags that report marks to the peer, in a segment with data or without.
    pub(super) fn marks_to_tell(&mut self) -> TcpFlags {
        if self.negotiated.accurate_ecn {
            self.receiver.accurate.untold = 0;
            return TcpFlags::NONE.with_ace(self.receiver.accurate.received as u8);
        }
        if self.receiver.congested { TcpFlags::ECE } else { TcpFlags::NONE }
    }

    /// Returns the flags of a bare acknowledgment: the first of an active end says how the answer
    /// to its SYN arrived (RFC 9768, table 3).
    pub(super) fn marks_in_ack(&mut self, has_sack: bool) -> TcpFlags {
        if !has_sack && core::mem::take(&mut self.receiver.accurate.reflects) {
            return TcpFlags::NONE.reflecting(self.receiver.accurate.opening);
        }
        self.marks_to_tell()
    }

    /// Returns the ECN field of new data.
    pub(super) const fn capability(&self) -> Ecn {
        let changed = self.receiver.accurate.is_changed || self.receiver.accurate.is_cleared;
        if self.negotiated.ecn && !changed { Ecn::Capable0 } else { Ecn::NotCapable }
    }

    /// Processes the feedback of a segment on marked packets of this end. With accurate ECN it
    /// counts if the segment is the `latest` of the peer; it has acknowledged `bytes`.
    pub(super) fn process_ecn_marks(
        &mut self,
        now: Instant,
        seg: &Segment,
        latest: bool,
        bytes: u64,
    ) {
        let mut marked = self.negotiated.ecn && seg.has_any(TcpFlags::ECE);
        if self.negotiated.accurate_ecn {
            if !latest {
                return;
            }
            let ace = seg.header.flags.ace();
            let is_first = !core::mem::replace(&mut self.receiver.accurate.has_report, true);
            self.receiver.accurate.is_cleared |= is_first && ace == 0;
            // Without SACK the end of a recovery acknowledges packets that duplicates have
            // reported.
            let counts = self.negotiated.sack || !self.recovery.is_active();
            let packets = if counts { bytes.div_ceil(self.sender.mss) } else { 0 };
            let count = self.receiver.accurate.count(ace, packets);
            self.receiver.accurate.reported =
                self.receiver.accurate.reported.wrapping_add(count as u16);
            marked = count > 0 && !self.receiver.accurate.is_cleared;
        }
        if marked && self.sender.una >= self.sender.reduced_until {
            self.reduce_for_mark(now);
        }
    }

    /// Returns whether a segment that acknowledges nothing new is younger than every one before, or
    /// the first after the handshake.
    pub(super) fn is_younger(&self, seg: &Segment, start: u64) -> bool {
        let stamps = seg.header.options.timestamps.filter(|_| self.negotiated.timestamps);
        let age = stamps.map(|it| it.value.wrapping_sub(self.receiver.recent));
        (seg.span() > 0 && !self.receiver.accurate.has_report)
            || start > self.sender.window_from.0
            || age.is_some_and(|age| (1..1 << 31).contains(&age))
    }

    /// Reduces the congestion window for a mark (RFC 3168, section 6.1.2).
    pub(super) fn reduce_for_mark(&mut self, now: Instant) {
        if !self.recovery.is_active() {
            let loss = self.loss(now);
            self.congestion.on_mark(&loss);
            self.recovery.forget_undo();
        }
        self.note_reduction();
    }
}

/// Returns whether the flags of a SYN, or of the answer to one, are those of accurate ECN; the
/// unused combinations count as such (RFC 9768, section 3.1.3).
pub(crate) const fn is_accurate(flags: TcpFlags) -> bool {
    if flags.has(TcpFlags::ACK) {
        matches!(flags.ace(), 0b010..=0b110)
    } else {
        !matches!(flags.ace(), 0b000 | 0b011)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_acknowledgment_of_more_than_seven_packets_may_hide_a_cycle_of_marks() {
        // RFC 9768, appendix A.2.1: the greatest number that the field of three bits explains.
        for (ace, packets, marks) in [
            (5, 1, 0),
            (6, 1, 1),
            (4, 7, 7),
            (5, 7, 0),
            (5, 8, 8),
            (6, 8, 1),
            (6, 9, 9),
            (0, 20, 19),
            (4, 20, 15),
        ] {
            let mut ecn = AccurateEcn { stride: 64, ..AccurateEcn::default() };
            assert_eq!(ecn.count(ace, packets), marks, "{ace} {packets}");
        }
    }

    #[test]
    fn a_peer_that_always_answers_many_packets_hides_none() {
        let mut ecn = AccurateEcn { stride: THINNED * 64 - 8, ..AccurateEcn::default() };
        assert_eq!(ecn.count(5, 8), 8, "four at once are not many");
        let mut ecn = AccurateEcn { stride: THINNED * 64, ..AccurateEcn::default() };
        assert_eq!(ecn.count(5, 8), 0);
        // The mean of the last 64 acknowledgments, which the first one sets.
        let mut ecn = AccurateEcn::default();
        ecn.note_stride(0);
        assert_eq!(ecn.stride, 0);
        ecn.note_stride(2);
        assert_eq!(ecn.stride, 128);
        ecn.note_stride(10);
        assert_eq!(ecn.stride, 128 - 2 + 10);
        (0..1_000).for_each(|_| ecn.note_stride(10_000));
        assert!((500 * 64..=513 * 64).contains(&ecn.stride), "{}", ecn.stride);
    }
}
