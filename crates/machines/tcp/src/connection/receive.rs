//! Segments in full: everything that header prediction did not take (RFC 9293, section 3.10.7.4).

use core::num::NonZeroU64;

use windfall_base::{DropReason, Duration, Instant};
use windfall_wire_net::TcpFlags;

use super::{Connection, Due, Reset, TcpState};
use crate::config::{AckPolicy, Paws};
use crate::event::{Signals, TcpError};
use crate::segment::Segment;
use crate::timers::Timer;

/// The time for which a timestamp is worth comparing with (RFC 7323, section 5.5).
const STALE: Duration = Duration::from_secs(24 * 24 * 3600);

impl Connection {
    /// Takes a segment in any state but the first.
    pub(super) fn receive(&mut self, now: Instant, seg: &mut Segment) -> Result<(), DropReason> {
        let start = self.locate(seg.header.seq).ok_or(DropReason::TcpSequence)?;
        // With H1 first, header prediction has been through this already.
        if self.config.paws != Paws::BeforePrediction || !self.prediction_applies() {
            self.check_timestamp(now, seg, start)?;
        }
        let start = self.trim_syn(now, seg, start);
        self.check_sequence(now, seg, start)?;
        if seg.has_any(TcpFlags::RST) {
            return self.receive_reset(now, start);
        }
        if seg.has_any(TcpFlags::SYN) {
            return self.receive_blind_syn(now);
        }
        if !seg.has_any(TcpFlags::ACK) {
            return Err(DropReason::TcpAcknowledgment);
        }
        if self.state == TcpState::SynReceived {
            self.complete_opening(now, seg, start)?;
            if let Some(mut syn) = self.receiver.syn.take() {
                self.place(now, &mut syn, 1)?;
            }
        }
        if seg.span() == 0 {
            self.operations.acks_received += 1;
        }
        self.receive_ack(now, seg, start)?;
        // Only now is the segment acceptable (RFC 5961, section 5.2): the timestamp of a forged one
        // would make every honest segment look old.
        self.note_timestamp(now, seg, start);
        self.note_congestion(seg);
        self.place(now, seg, start)
    }

    //= S2.3
    /// Checks that there is a timestamp, if negotiated (RFC 7323, section 3.2), and that it is not
    /// of a segment from before the numbers wrapped (section 5; step H1).
    pub(super) fn check_timestamp(
        &mut self,
        now: Instant,
        seg: &Segment,
        start: u64,
    ) -> Result<(), DropReason> {
        if !self.negotiated.timestamps || seg.has_any(TcpFlags::RST) {
            return Ok(());
        }
        if seg.header.options.timestamps.is_none() && self.config.manner.takes_missing_timestamps {
            return Ok(());
        }
        let Some(timestamps) = seg.header.options.timestamps else {
            // RFC 7323, section 3.2: dropped in silence. A SYN is challenged all the same, or a
            // peer that has lost the connection would never know (RFC 9293, section 3.5.1).
            let dropped = Err(DropReason::TcpOldTimestamp);
            return if seg.has_any(TcpFlags::SYN) { Ok(()) } else { dropped };
        };
        if self.config.paws == Paws::Off {
            return Ok(());
        }
        self.operations.paws_checks += 1;
        let age = self.receiver.recent.wrapping_sub(timestamps.value);
        if age == 0 || age >= 1 << 31 {
            return Ok(());
        }
        if now.saturating_since(self.receiver.recent_at) > STALE && start == self.expected() {
            return Ok(());
        }
        if self.is_overtaken_ack(seg, start, age) {
            return Ok(());
        }
        // An original that its retransmission has overtaken is reported as a duplicate all the
        // same, so that its sender learns that nothing was lost (RFC 2883).
        let end = start + seg.data.len() as u64;
        if start < end && end <= self.expected() && self.is_recent(start) {
            self.report_duplicate(start..end);
            self.owe_ack();
        } else {
            self.challenge(now);
        }
        Err(DropReason::TcpOldTimestamp)
    }

    /// Returns whether the window held the position `start` lately, so that it may have been sent
    /// again.
    fn is_recent(&self, start: u64) -> bool {
        start + self.receiver.buffer.capacity() as u64 >= self.expected()
    }

    /// Returns whether a segment is an acknowledgment that a later one, by `age` milliseconds, has
    /// overtaken: it carries nothing that could be old, and its reports count. Its window does not.
    fn is_overtaken_ack(&self, seg: &Segment, start: u64, age: u32) -> bool {
        let (_, last_ack) = self.sender.window_from;
        let ack = self.locate_ack(seg.header.ack);
        let is_harmless = ack.is_some_and(|ack| {
            ack < last_ack || (ack == last_ack && seg.header.window == self.sender.raw_window)
        });
        let recent = Duration::from_millis(u64::from(age)) <= self.rtt.timeout();
        let is_bare = seg.header.flags - TcpFlags::PSH - TcpFlags::ACE == TcpFlags::ACK;
        is_bare && seg.span() == 0 && start == self.expected() && is_harmless && recent
    }

    /// Notes the timestamp to echo: of the segment that reaches the last acknowledgment (RFC 7323,
    /// section 4.3). A copy of the segment acknowledged last counts too: if that acknowledgment was
    /// lost, the next one must not echo the first copy.
    pub(super) fn note_timestamp(&mut self, now: Instant, seg: &Segment, start: u64) {
        let acked = self.receiver.acked;
        let end = start + seg.span();
        if let Some(timestamps) = seg.header.options.timestamps
            && self.negotiated.timestamps
            && (start..=end).contains(&acked)
            && timestamps.value.wrapping_sub(self.receiver.recent) < 1 << 31
        {
            self.operations.timestamps += 1;
            self.receiver.recent = timestamps.value;
            self.receiver.recent_at = now;
            self.receiver.echo = timestamps.echo;
        }
    }

    /// Cuts a retransmitted SYN off the segment, so that both ends may open at once.
    fn trim_syn(&mut self, now: Instant, seg: &mut Segment, start: u64) -> u64 {
        if self.state == TcpState::SynReceived && start == 0 && seg.has_any(TcpFlags::SYN) {
            let answers = seg.has_any(TcpFlags::ACK);
            if answers {
                seg.header.flags = seg.header.flags - TcpFlags::SYN;
                self.take_answer_marks(now, seg);
                return 1;
            }
        }
        start
    }

    /// Checks that the segment lies in the window (RFC 9293, section 3.4, and 3.8.6.1 for probes).
    fn check_sequence(
        &mut self,
        now: Instant,
        seg: &mut Segment,
        start: u64,
    ) -> Result<(), DropReason> {
        let next = self.expected();
        let span = seg.span();
        let edge = self.accepted_edge(next);
        if start + span < next || (start + span == next && span > 0) {
            if !seg.has_any(TcpFlags::RST) {
                self.answer_duplicate(now, seg, start);
            }
            return Err(DropReason::Duplicate);
        }
        // A segment without data is acceptable at the right edge of a full window; a reset there is
        // outside it (RFC 5961, section 3.2).
        let reset = seg.has_any(TcpFlags::RST);
        if start > next && (start > edge || (start == edge && (span > 0 || reset))) {
            if !reset {
                self.challenge(now);
            }
            return Err(DropReason::TcpSequence);
        }
        if start == next && edge == next && span > 0 {
            // A probe of a zero window: its acknowledgment counts, its data do not.
            seg.data.clear();
            seg.header.flags = seg.header.flags - TcpFlags::FIN;
            self.owe_ack();
        }
        Ok(())
    }

    /// Returns the right edge of acceptable data: that of the advertised window, or of the buffer,
    /// which may have more room than the window field can express.
    fn accepted_edge(&self, next: u64) -> u64 {
        let edge = self.receiver.rcv_wnd_right.max(next);
        let is_whole = match self.state {
            TcpState::SynReceived => !self.passive,
            state => state != TcpState::TimeWait,
        };
        if self.config.manner.whole_segments && is_whole && !self.receiver.is_pressed {
            edge.max(next + self.receiver.buffer.window() as u64)
        } else {
            edge
        }
    }

    /// Answers a segment that has arrived before, and takes its acknowledgment: a peer whose FIN
    /// crossed this one's may acknowledge it with nothing else than the FIN sent again.
    fn answer_duplicate(&mut self, now: Instant, seg: &Segment, start: u64) {
        let recent = self.is_recent(start);
        if self.state == TcpState::SynReceived && seg.has_any(TcpFlags::SYN) {
            // The answer to the SYN was lost: give it again, with the echo of the later SYN.
            self.take_repeated_syn(seg);
            self.note_timestamp(now, seg, start);
            self.sender.nxt = 0;
        } else if recent && !seg.has_any(TcpFlags::SYN) {
            self.reflect_again(seg);
            self.owe_ack();
        } else if recent {
            self.reflect_again(seg);
            self.owe_ack();
            self.receiver.is_challenge = true;
        } else {
            self.challenge(now);
        }
        self.report_duplicate(start.max(1)..start + seg.data.len() as u64);
        if recent && seg.has_any(TcpFlags::ACK) && !seg.has_any(TcpFlags::SYN) {
            if self.is_acceptable_ack(seg) {
                self.note_timestamp(now, seg, start);
            }
            self.advance_una_only(now, seg);
        }
        if self.state == TcpState::TimeWait {
            let linger = self.config.time_wait;
            self.timers.set(Timer::Linger, self.heard.saturating_add(linger));
        }
    }

    pub(super) fn report_duplicate(&mut self, range: core::ops::Range<u64>) {
        if self.negotiated.sack && range.start < range.end {
            self.receiver.duplicate = range;
        }
    }

    /// Handles a reset in the window: obeyed only when it is exactly next (RFC 5961, section 3).
    fn receive_reset(&mut self, now: Instant, start: u64) -> Result<(), DropReason> {
        if start != self.expected() && !self.config.manner.obeys_blind_resets {
            self.challenge(now);
            return Err(DropReason::TcpBlind);
        }
        if self.state == TcpState::TimeWait {
            // A stray reset must not end the wait (RFC 1337).
            return Err(DropReason::TcpBlind);
        }
        let opening = self.state == TcpState::SynReceived;
        if !self.config.manner.keeps_data_at_reset {
            self.receiver.buffer.discard();
        }
        // A program that has accepted the connection already sees it end.
        let opening = opening && !self.passive;
        self.end(Some(if opening { TcpError::Refused } else { TcpError::Reset }));
        Ok(())
    }

    /// Handles a SYN in the window: a challenge ACK (RFC 5961, section 4), or a reset as in RFC
    /// 793.
    fn receive_blind_syn(&mut self, now: Instant) -> Result<(), DropReason> {
        if self.config.manner.obeys_blind_syns {
            self.reset_peer();
            self.receiver.buffer.discard();
            self.end(Some(TcpError::Reset));
            return Ok(());
        }
        self.challenge(now);
        Err(DropReason::TcpBlind)
    }

    /// Returns the third segment of the opening.
    fn complete_opening(
        &mut self,
        now: Instant,
        seg: &mut Segment,
        start: u64,
    ) -> Result<(), DropReason> {
        if !self.is_ack_of_syn(seg) {
            self.sender.reset = Some(Reset { seq: seg.header.ack, ends: false });
            return Err(DropReason::TcpAcknowledgment);
        }
        self.acknowledge_syn(now, seg, 1);
        self.take_first_marks(now, seg);
        let window = u64::from(seg.header.window) << self.negotiated.send_shift;
        self.sender.window_from = (start, 1);
        (self.sender.raw_window, self.sender.window) = (seg.header.window, window);
        self.sender.max_snd_wnd = self.sender.max_snd_wnd.max(window);
        self.sender.snd_wnd_right = 1 + window;
        Ok(())
    }

    /// Takes the data and FIN of a segment.
    pub(super) fn place(
        &mut self,
        now: Instant,
        seg: &mut Segment,
        start: u64,
    ) -> Result<(), DropReason> {
        if matches!(self.state, TcpState::Closed | TcpState::SynSent) {
            return Ok(());
        }
        let data = core::mem::take(&mut seg.data);
        let end = start + data.len() as u64;
        let fin = seg.has_any(TcpFlags::FIN);
        let receives = matches!(
            self.state,
            TcpState::SynReceived | TcpState::Established | TcpState::FinWait1 | TcpState::FinWait2
        );
        if !receives {
            if self.state == TcpState::TimeWait && (fin || end > start) {
                self.owe_ack();
            }
            return Ok(());
        }
        let mut placed = Ok(());
        if !data.is_empty() {
            self.operations.data_received += 1;
            if self.receiver.abandoned && end > self.expected() {
                // The application will not read this (RFC 9293, section 3.10.7.4; RFC 2525, 2.16).
                self.abort();
                return Err(DropReason::NoListener);
            }
            self.notice_lost(seg.lost_before, start, data.len() as u64);
            placed = self.place_data(now, &data, start);
            // Duplicate data are trimmed; a FIN after them may be new.
            if placed.is_err_and(|reason| reason != DropReason::Duplicate) {
                return placed;
            }
            if placed.is_ok() {
                self.answer_push(seg);
            }
        }
        if fin && self.receiver.fin.is_none() {
            placed = Ok(());
            self.receiver.fin = NonZeroU64::new(end);
            if end > self.expected() {
                self.owe_ack();
            }
        }
        if self.receiver.fin.is_some_and(|fin| fin.get() == self.expected())
            && !self.receiver.finished
        {
            self.take_fin(now);
        }
        placed
    }

    fn place_data(
        &mut self,
        now: Instant,
        data: &bytes::Bytes,
        start: u64,
    ) -> Result<(), DropReason> {
        let end = start + data.len() as u64;
        if start == 0 || self.receiver.fin.is_some_and(|fin| end > fin.get()) {
            return Err(DropReason::TcpSequence);
        }
        let len = data.len() as u64;
        let had_holes = self.receiver.buffer.has_holes();
        let placed = self.receiver.buffer.insert(start - 1, data);
        self.operations.copied_bytes += placed.copied;
        if let Some(duplicate) = placed.duplicate.clone() {
            self.report_duplicate(duplicate.start + 1..duplicate.end + 1);
        }
        self.note_size(len);
        if placed.advanced > 0 {
            self.signals.raise(Signals::READABLE);
            self.notice_reached();
        }
        let irregular = had_holes || self.receiver.buffer.has_holes();
        if irregular || placed.duplicate.is_some() || placed.refused > 0 {
            (self.receiver.stride, self.receiver.in_order) = (2, 0);
            self.owe_ack();
        } else {
            self.schedule_ack(now, placed.advanced);
        }
        if placed.advanced + placed.kept == 0 {
            return Err(match placed.refused {
                0 => DropReason::Duplicate,
                _ => DropReason::ReceiveBuffer,
            });
        }
        Ok(())
    }

    /// Acknowledges the last segment that the peer had at once, where that is wanted.
    pub(super) fn answer_push(&mut self, seg: &Segment) {
        if self.config.ack_pushes && seg.has_any(TcpFlags::PSH) {
            self.owe_ack();
        }
    }

    /// Learns the length of the peer's full-sized segments. A segment longer than the negotiated
    /// MSS was merged from several on its way.
    pub(super) fn note_size(&mut self, len: u64) {
        if len <= u64::from(self.config.mss) {
            self.receiver.full = self.receiver.full.max(len);
        }
    }

    //= S2.10
    //= S2.47
    /// Decides when to acknowledge data that came in order (RFC 9293, section 3.8.6.3).
    pub(super) fn schedule_ack(&mut self, now: Instant, len: u64) {
        let is_quick = self.is_quick(now);
        let receiver = &mut self.receiver;
        receiver.unacked += len;
        receiver.waiting = receiver.waiting.saturating_add(1);
        let (segments, delay, tick) = match self.config.acks {
            AckPolicy::EverySegments { segments, delay, tick } => (Some(segments), delay, tick),
            AckPolicy::TimeOnly { interval } => (None, interval, Duration::ZERO),
            AckPolicy::ByTraffic { most, delay } => {
                receiver.in_order += 1;
                if receiver.in_order > 8 * u32::from(receiver.stride) {
                    receiver.stride = (receiver.stride + 1).min(most.max(2));
                    receiver.in_order = 0;
                }
                (Some(receiver.stride), delay, Duration::ZERO)
            }
        };
        let counts = self.config.manner.counts_segments;
        let is_enough = |n: u16| {
            let by_number = counts && receiver.waiting >= n;
            by_number || receiver.unacked >= u64::from(n) * receiver.full
        };
        if is_quick || segments.is_some_and(is_enough) {
            self.owe_ack();
        } else if receiver.due == Due::Nothing {
            receiver.due = Due::Later;
            let exact = now.saturating_add(delay);
            // A ticking clock acknowledges at its next tick, however near (4.4BSD).
            let ticks = now.as_nanos().checked_div(tick.as_nanos());
            let next = ticks.map(|n| Instant::from_nanos((n + 1).saturating_mul(tick.as_nanos())));
            self.timers.set(Timer::DelayedAck, next.map_or(exact, |next| next.min(exact)));
        }
    }
}
