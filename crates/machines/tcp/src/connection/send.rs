//! Transmission: repairs, new data, probes, acknowledgments, one segment at a time.

use core::ops::Range;

use windfall_base::Instant;
use windfall_wire_net::{TcpFlags, TcpOptions};

use super::{Awaited, Connection, Due, TcpState};
use crate::segment::TcpTransmit;
use crate::timers::Timer;

/// A segment that may be sent, before it is decided whether it should be.
struct Candidate {
    range: Range<u64>,
    fin: bool,
}

impl Connection {
    /// Yields the next segment to send; call until `None`.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<TcpTransmit> {
        if let Some(seq) = self.sender.reset.take() {
            return Some(self.write_reset(now, seq));
        }
        match self.state {
            TcpState::Closed => return None,
            TcpState::SynSent | TcpState::SynReceived if self.awaits_data() => return None,
            TcpState::SynSent | TcpState::SynReceived if self.sender.nxt == 0 => {
                return Some(self.send_syn(now));
            }
            TcpState::SynSent => return None,
            TcpState::SynReceived if !self.sends_early() => return self.send_ack(now),
            _ => {}
        }
        // News that a data segment has no room for go ahead on their own.
        let news = self.receiver.buffer.has_holes()
            || !self.receiver.duplicate.is_empty()
            || self.receiver.accurate.reflects
            || !self.receiver.notices.is_empty();
        if self.receiver.due == Due::Now && news {
            return self.send_ack(now);
        }
        let sent = self.send_data(now).or_else(|| self.send_probe(now));
        let sent = sent.or_else(|| self.send_ack(now));
        if sent.is_none() {
            self.note_app_limited();
            self.watch_window(now);
        }
        sent
    }

    fn send_ack(&mut self, now: Instant) -> Option<TcpTransmit> {
        (self.receiver.due == Due::Now).then(|| self.write_ack(now))
    }

    /// Makes a data segment or FIN, if one may leave.
    fn send_data(&mut self, now: Instant) -> Option<TcpTransmit> {
        if self.sender.una == self.sender.data_end() && !self.sender.finished {
            return None;
        }
        self.restart_after_idle(now);
        if self.is_held_back(now) {
            return None;
        }
        if let Some(range) = self.next_notified(now) {
            self.note_repair(now);
            return Some(self.send_range(now, range, true));
        }
        if let Some(range) = self.next_of_tail() {
            return Some(self.send_range(now, range, false));
        }
        let flow = self.flow();
        let window = self.recovery.window(self.congestion.window());
        if let Some(range) = self.recovery.next_repair(&flow, window) {
            return Some(self.send_range(now, range, true));
        }
        if self.sender.burst_left == 0 {
            return None;
        }
        if let Some(range) = self.next_of_trial() {
            self.count_burst(now);
            return Some(self.send_range(now, range, false));
        }
        if let Some(range) = self.next_path_probe(now, window) {
            self.count_burst(now);
            return Some(self.send_range(now, range, false));
        }
        if let Some(candidate) = self.candidate(window)
            && self.should_send(&candidate)
        {
            let Candidate { range, fin } = candidate;
            let range = range.start..range.end + u64::from(fin);
            self.count_burst(now);
            return Some(self.send_range(now, range, false));
        }
        let range = if self.recovery.end_trial() {
            self.recovery.next_repair(&flow, window)
        } else {
            self.recovery.next_doubtful(&flow, window)
        };
        Some(self.send_range(now, range?, true))
    }

    /// Returns the data of a tail loss probe: new data, or else the last segment again (RFC 8985,
    /// section 7.3).
    fn next_of_tail(&mut self) -> Option<Range<u64>> {
        if !core::mem::take(&mut self.sender.tail_probe) {
            return None;
        }
        let flow = self.flow();
        let fresh = self.sender.data_end().min(self.sender.snd_wnd_right).min(flow.max + flow.mss);
        let range = if fresh > flow.max {
            flow.max..fresh
        } else {
            flow.max.saturating_sub(flow.mss).max(flow.una).max(self.start_of_fin())..flow.max
        };
        self.recovery.on_probe(&range, range.start < flow.max);
        (!range.is_empty()).then_some(range)
    }

    /// Returns the new data whose acknowledgment shows whether a timeout was spurious, whatever the
    /// congestion window is (RFC 5682, section 2.1, step 2b).
    fn next_of_trial(&mut self) -> Option<Range<u64>> {
        let flow = self.flow();
        if !self.recovery.tries_new_data(&flow) {
            return None;
        }
        let end = self.sender.data_end().min(self.sender.snd_wnd_right).min(flow.max + flow.mss);
        let candidate = Candidate { range: flow.max..end, fin: false };
        if !candidate.range.is_empty() && self.should_send(&candidate) {
            return Some(candidate.range);
        }
        self.recovery.end_basic_trial(&flow);
        None
    }

    /// Returns the data that the windows allow from SND.NXT on.
    fn candidate(&mut self, window: u64) -> Option<Candidate> {
        let sender = &mut self.sender;
        sender.nxt = self.recovery.skip(sender.nxt).min(sender.max.max(sender.nxt));
        let nxt = sender.nxt;
        let end = sender.data_end();
        if nxt > end || (nxt == end && !sender.finished) {
            return None;
        }
        let flow = self.flow();
        // A SYN takes a sequence number and no room.
        let data = self.recovery.in_flight(&flow).saturating_sub(u64::from(flow.una == 0));
        let congestion = window.saturating_sub(data);
        let offered = self.sender.snd_wnd_right.saturating_sub(nxt);
        let mut len = (end - nxt).min(flow.mss).min(offered).min(congestion);
        if nxt < flow.max
            && let Some(hole_end) = self.recovery.hole_end(nxt)
        {
            len = len.min(hole_end - nxt);
        }
        if let Some(record_end) = self.record_end(nxt) {
            len = len.min(record_end - nxt);
        }
        let fin = self.sender.finished && nxt + len == end;
        (len > 0 || fin).then_some(Candidate { range: nxt..nxt + len, fin })
    }

    /// Avoids silly windows, and applies Nagle's algorithm (RFC 9293, section 3.8.6.2.1 and 3.7.4).
    fn should_send(&self, candidate: &Candidate) -> bool {
        let Candidate { range, fin } = candidate;
        let len = range.end - range.start;
        let sender = &self.sender;
        let all = range.end == sender.data_end();
        // A SYN that is not acknowledged yet is no data.
        let idle = sender.una.max(1) == sender.max;
        if self.is_corked() && range.end == sender.data_end() && len < sender.mss && !*fin {
            return false;
        }
        len >= sender.mss
            || *fin
            || (self.ends_record(range.end) && (idle || !self.config.nagle))
            || range.start < sender.max
            || (all && (idle || !self.config.nagle))
            || (len > 0 && len >= sender.max_snd_wnd / 2)
    }

    /// Sends the positions of `range`, FIN included where it reaches that far.
    fn send_range(&mut self, now: Instant, mut range: Range<u64>, repair: bool) -> TcpTransmit {
        if let Some(record_end) = self.record_end(range.start) {
            range.end = range.end.min(record_end);
        }
        let end = self.sender.data_end();
        let stream = range.start - 1..(range.end - 1).min(end - 1);
        let (data, copied) = self.sender.buffer.slice(stream);
        if copied {
            self.operations.copied_bytes += data.len() as u64;
        }
        let mut flags = TcpFlags::NONE;
        if range.end > end {
            if range.start == end {
                self.note_fin_alone();
            }
            flags |= TcpFlags::FIN;
        }
        let by_writes = self.config.manner.pushes_writes;
        if !by_writes && range.end >= end && !data.is_empty() {
            flags |= TcpFlags::PSH;
        }
        let repeated = range.start < self.sender.max;
        if repeated {
            self.operations.retransmissions += 1;
            self.sender.timed = None;
        } else if self.sender.timed.is_none() {
            self.sender.timed = Some((range.start, now));
        }
        let flow = self.flow();
        self.recovery.on_sent(now, &range, &flow, repair);
        self.note_pace(now, range.end - range.start);
        self.sender.nxt = self.sender.nxt.max(range.end);
        self.sender.max = self.sender.max.max(range.end);
        self.sender.last_sent = now;
        self.timers.stop(Timer::Persist);
        if !self.timers.runs(Timer::Retransmit) {
            self.restart_timeout(now);
        } else if !repeated && self.sender.awaited == Awaited::Tail {
            self.watch_tail(now);
        }
        if by_writes && !data.is_empty() {
            let follows = !repair && !repeated && self.follows(now, &range);
            if self.is_pushed(range.end.min(end), follows) {
                flags |= TcpFlags::PSH;
            }
        }
        self.note_flight();
        self.note_answer(now);
        self.write_data(now, &range, flags, data, !repeated)
    }

    /// Returns whether the next segment leaves together with a full one.
    fn follows(&mut self, now: Instant, range: &Range<u64>) -> bool {
        let window = self.recovery.window(self.congestion.window());
        range.end - range.start >= self.sender.mss
            && !self.is_held_back(now)
            && self.sender.burst_left > 0
            && self.candidate(window).is_some_and(|next| {
                next.range.start == range.end && !next.range.is_empty() && self.should_send(&next)
            })
    }

    /// Restarts the window after a pause longer than a timeout, when it is no measure of the path
    /// (RFC 5681, 4.1).
    fn restart_after_idle(&mut self, now: Instant) {
        let sender = &self.sender;
        let idle = now.saturating_since(sender.last_sent);
        let keeps = self.config.manner.keeps_idle_window;
        if !keeps && sender.una == sender.max && sender.max > 1 && idle > self.rtt.timeout() {
            self.congestion.on_idle();
            self.sender.last_sent = now;
        }
    }

    //= S2.47
    /// Counts a segment against the burst; segments beyond it are paced (S2.47).
    fn count_burst(&mut self, now: Instant) {
        let Some(burst) = self.config.burst else {
            return;
        };
        self.sender.burst_left = self.sender.burst_left.saturating_sub(1);
        if self.sender.burst_left == 0 {
            let round_trip = self.rtt.smoothed().unwrap_or_default();
            let share = u64::from(burst) * self.sender.mss;
            let window = self.congestion.window().max(share);
            let gap = round_trip.saturating_mul(share) / window;
            let gap = gap.max(windfall_base::Duration::from_micros(1));
            self.timers.set(Timer::Pacing, now.saturating_add(gap));
        }
    }

    /// Makes a window probe or keepalive (RFC 9293, section 3.8.4 and 3.8.6.1).
    fn send_probe(&mut self, now: Instant) -> Option<TcpTransmit> {
        if !core::mem::take(&mut self.sender.probe) {
            return None;
        }
        self.operations.probes += 1;
        let una = self.sender.una;
        let is_bare = self.config.manner.probes_without_data && self.sender.snd_wnd_right <= una;
        if una < self.sender.data_end() && is_bare {
            self.set_persist(now);
        } else if una < self.sender.data_end() {
            // Sends what fits into a window smaller than a segment, or one byte into a zero window:
            // the answer reports the window (RFC 9293, section 3.8.6.1).
            let offered = self.sender.snd_wnd_right.saturating_sub(una).clamp(1, self.sender.mss);
            let end = (una + offered).min(self.sender.data_end());
            self.note_push(end);
            let transmit = self.send_range(now, una..end, true);
            self.timers.stop(Timer::Retransmit);
            self.set_persist(now);
            return Some(transmit);
        }
        let options = TcpOptions {
            timestamps: self.negotiated.timestamps.then(|| windfall_wire_net::tcp::Timestamps {
                value: self.clock(now),
                echo: self.receiver.recent,
            }),
            ..TcpOptions::default()
        };
        let before = self.sender.nxt.saturating_sub(1);
        let flags = TcpFlags::ACK | self.marks_to_tell();
        Some(self.write_segment(before, flags, &options, bytes::Bytes::new()))
    }

    /// Sets the persist timer if data wait and no acknowledgment is to be expected.
    fn watch_window(&mut self, now: Instant) {
        let sender = &self.sender;
        let waiting = sender.nxt < sender.data_end() || (sender.finished && !sender.is_finished());
        if waiting
            && sender.una == sender.nxt
            && self.is_synchronised()
            && self.state != TcpState::TimeWait
            && !self.timers.runs(Timer::Retransmit)
            && !self.timers.runs(Timer::Persist)
            && !self.timers.runs(Timer::Pacing)
        {
            self.set_persist(now);
        }
    }

    pub(super) fn set_persist(&mut self, now: Instant) {
        self.timers.set(Timer::Persist, self.rtt.deadline(now));
    }
}
