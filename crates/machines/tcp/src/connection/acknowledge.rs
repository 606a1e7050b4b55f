//! Processing of acknowledgments: progress, losses, windows.

use windfall_base::{DropReason, Duration, Instant};
use windfall_congestion::{Acknowledged, Loss};
use windfall_wire_net::TcpFlags;

use super::{Awaited, Connection, TcpState};
use crate::config::LossRecovery;
use crate::event::Signals;
use crate::recovery::{
    Echo, ProbeAnswer, RecoveryProgress, SendSequence, TimeoutVerdict, reported_duplicate,
};
use crate::rtt::TickEstimation;
use crate::segment::Segment;
use crate::timers::Timer;

impl Connection {
    /// Handles the acknowledgment of a segment at `start` (RFC 9293, section 3.10.7.4; RFC 5961,
    /// section 5).
    pub(super) fn receive_ack(
        &mut self,
        now: Instant,
        seg: &Segment,
        start: u64,
    ) -> Result<(), DropReason> {
        let Some(ack) = self.locate_ack(seg.header.ack) else {
            self.challenge(now);
            return Err(DropReason::TcpAcknowledgment);
        };
        let (named, damaged) = self.read_notification(now, seg, ack);
        if !self.may_acknowledge(named) {
            if !self.config.manner.ignores_wrong_acks || named <= self.sender.max {
                self.challenge(now);
            }
            return Err(DropReason::TcpAcknowledgment);
        }
        let before = self.sender.una;
        let limited = self.is_limited();
        self.recovery.begin_account();
        let (reported, twice) = self.take_sack(now, seg, named);
        let below = self.recovery.reported_below(named);
        let arrived = named.saturating_sub(before).saturating_sub(below) + reported;
        let latest = named >= before && (arrived > 0 || self.is_younger(seg, start));
        self.process_ecn_marks(now, seg, latest, arrived);
        let raw_window = seg.header.window;
        let duplicate = self.is_duplicate(seg, named, reported);
        if named > self.sender.una {
            self.advance(now, named, seg, limited);
        } else if duplicate {
            self.take_duplicate(now);
        }
        if let Some(damaged) = damaged {
            self.follow_notification(now, damaged, seg);
        }
        self.judge_path_probe(now);
        let advanced = self.sender.una > before;
        self.measure_reported(advanced);
        self.take_back_reduction();
        self.take_window(raw_window, start, named);
        if self.recovery.is_timed() {
            let bare = !advanced && seg.data.is_empty() && reported == 0;
            self.judge_by_time(now, advanced, twice, bare);
        } else {
            self.judge_timeout(advanced, duplicate);
            self.recovery.settle(&self.flow(), advanced);
        }
        self.report_delivery_rate(now, limited);
        Ok(())
    }

    /// Takes the last reduction back if it has proved to be without need.
    fn take_back_reduction(&mut self) {
        let Some(spurious) = self.recovery.take_spurious(&self.flow()) else { return };
        if spurious.by_timeout {
            self.operations.spurious_timeouts += 1;
            // Resumes where the timeout came (RFC 4015, section 3.2, step 5). In the repair of an
            // earlier one, what lies beyond is lost and has not left again.
            self.sender.nxt = self.sender.nxt.max(spurious.snd_nxt);
        } else {
            self.operations.spurious_recoveries += 1;
        }
        self.operations.reductions -= spurious.reductions;
        self.congestion.on_spurious_loss();
    }

    /// Looks for losses by time, and for timeouts and probes without need, after an
    /// acknowledgment: it `advanced` or not, reported data that arrived `twice`, or was `bare`.
    fn judge_by_time(&mut self, now: Instant, advanced: bool, twice: bool, bare: bool) {
        let una = self.sender.una;
        if self.recovery.answer_probe(una, twice, bare) == ProbeAnswer::Repaired {
            self.reduce(now);
        }
        let flow = self.flow();
        let has_more = flow.nxt < self.sender.data_end() && flow.nxt < self.sender.snd_wnd_right;
        if self.recovery.detect_spurious_rto(&flow, advanced, has_more) {
            self.take_back_timeout();
        }
        self.notice_losses(now, advanced);
    }

    /// Looks for a timeout without need, where losses are not detected by time, after an
    /// acknowledgment that `advanced` or is a `duplicate`.
    fn judge_timeout(&mut self, advanced: bool, duplicate: bool) {
        let flow = self.flow();
        let has_more = flow.max < self.sender.data_end() && flow.max < self.sender.snd_wnd_right;
        match self.recovery.judge_timeout(&flow, advanced, duplicate, has_more) {
            TimeoutVerdict::None => {}
            TimeoutVerdict::Spurious => {
                self.take_back_timeout();
                self.sender.nxt = self.sender.max;
            }
            TimeoutVerdict::Right => self.sender.nxt = self.sender.una,
        }
    }

    /// Takes the reduction of a timeout back that F-RTO has found spurious.
    fn take_back_timeout(&mut self) {
        self.operations.spurious_timeouts += 1;
        self.operations.reductions -= 1;
        self.congestion.on_spurious_timeout();
    }

    /// Returns whether a segment that acknowledges up to `ack`, and by SACK `reported` bytes more,
    /// is a duplicate acknowledgment (RFC 5681, section 2).
    fn is_duplicate(&self, seg: &Segment, ack: u64, reported: u64) -> bool {
        let sender = &self.sender;
        let bare = seg.data.is_empty() && seg.header.window == sender.raw_window;
        let is_repeated = if self.negotiated.sack { reported > 0 } else { bare };
        is_repeated
            && ack == sender.una
            && ack < sender.max
            && seg.header.options.notification.is_none()
            && !seg.has_any(TcpFlags::FIN)
    }

    /// Begins a recovery if a loss is detected, and sets the timer for losses that may be detected
    /// soon.
    pub(super) fn notice_losses(&mut self, now: Instant, advanced: bool) {
        let flow = self.flow();
        let judged = self.recovery.judge(now, &flow, self.rtt.smoothed());
        if judged.begins && !self.is_damage_alone() {
            self.begin_recovery(now, &flow);
        }
        self.recovery.settle(&flow, advanced && !judged.found);
        if !self.timers.runs(Timer::Retransmit) {
            // Everything is acknowledged, or the window is closed and probes ask for it.
            return;
        }
        if let Some(at) = judged.again_at.filter(|at| *at < self.sender.timeout_at) {
            self.sender.awaited = Awaited::Reordering;
            self.timers.set(Timer::Retransmit, at);
        } else {
            self.watch_tail(now);
        }
    }

    /// Reduces the window for a loss and begins to repair it.
    fn begin_recovery(&mut self, now: Instant, flow: &SendSequence) {
        self.operations.fast_retransmits += 1;
        let lost = self.recovery.lost_extent(flow);
        let is_probe = self.take_probe_loss(now, lost);
        if !is_probe {
            self.reduce(now);
        }
        self.recovery.begin(flow, self.congestion.window());
        if is_probe {
            self.recovery.forget_undo();
        }
        self.sender.timed = None;
        self.restart_timeout(now);
    }

    /// Returns whether an honest peer can acknowledge `position` (RFC 5961, section 5.2).
    const fn may_acknowledge(&self, position: u64) -> bool {
        let sender = &self.sender;
        position <= sender.max && position + sender.max_snd_wnd >= sender.una
    }

    /// Returns whether an honest peer can have sent the acknowledgment of a segment.
    pub(super) fn is_acceptable_ack(&self, seg: &Segment) -> bool {
        self.locate_ack(seg.header.ack).is_some_and(|ack| self.may_acknowledge(ack))
    }

    /// Advances SND.UNA by the acknowledgment number of a discarded segment, and uses nothing else
    /// of it.
    pub(super) fn advance_una_only(&mut self, now: Instant, seg: &Segment) {
        if let Some(ack) = self.locate_ack(seg.header.ack)
            && ack > self.sender.una
            && ack <= self.sender.max
            && self.is_synchronised()
            && seg.header.options.notification.is_none()
        {
            self.advance(now, ack, seg, self.is_limited());
        }
    }

    //= S2.5
    /// Takes SACK blocks; returns how many bytes beyond `ack` they report for the first time, and
    /// whether they report a duplicate.
    fn take_sack(&mut self, now: Instant, seg: &Segment, ack: u64) -> (u64, bool) {
        let blocks = &seg.header.options.sack;
        if !self.negotiated.sack || blocks.is_empty() {
            return (0, false);
        }
        let echo = self.echo(now, seg);
        self.operations.sack_blocks += blocks.len() as u64;
        let origin = self.sender.origin;
        let una = self.sender.una;
        let locate = |seq| crate::sequence::position(origin, una, seq);
        // A SACK block below the segment's own acknowledgment number can only be a D-SACK (RFC
        // 2883).
        let flow = SendSequence { una: una.max(ack), ..self.flow() };
        let reported = self.recovery.on_sack(blocks, &flow, locate, &echo);
        self.operations.sack_refused += reported.refused;
        let is_duplicate = reported.duplicate.is_some();
        if let Some(duplicate) = reported.duplicate {
            self.operations.duplicates_reported += 1;
            self.recovery.on_duplicate_reported(&duplicate, &flow);
            self.recovery.explain(duplicate);
        }
        (reported.added, is_duplicate)
    }

    /// Returns the timestamp echo of an acknowledgment.
    pub(super) fn echo(&self, now: Instant, seg: &Segment) -> Echo {
        let timestamps = seg.header.options.timestamps.filter(|_| self.negotiated.timestamps);
        let age = timestamps.map(|it| self.clock(now).wrapping_sub(it.echo));
        Echo { now, age: age.filter(|age| *age < 1 << 31), least: self.rtt.least() }
    }

    /// Advances SND.UNA to `ack`. `limited` is whether the congestion window limited the data in
    /// flight before.
    pub(super) fn advance(&mut self, now: Instant, ack: u64, seg: &Segment, limited: bool) {
        let acked = ack - self.sender.una;
        let before = self.flow();
        // After a timeout, data that SACK had reported before do not open the window again.
        // Otherwise they do: on a path that reorders, SACK reports nearly everything first.
        let repairs_timeout = self.recovery.repairs_timeout(&before);
        let reported = match (self.config.manner.grows_by_most, self.negotiated.sack) {
            (false, _) if !repairs_timeout => 0,
            (true, false) => self.recovery.inflation().min(acked),
            _ => self.recovery.reported_below(ack),
        };
        let fresh = acked - reported;
        let measured = self.measure(now, ack, seg);
        let echo = self.echo(now, seg);
        self.sender.buffer.release(ack - 1);
        self.sender.una = ack;
        self.sender.nxt = self.sender.nxt.max(ack);
        self.sender.attempts = 0;
        self.forget_repairs();
        self.forget_habits();
        let flow = self.flow();
        match self.recovery.on_progress(acked, &flow, &echo) {
            // A SYN is no data: the window begins as it is (RFC 5681, section 3.1).
            RecoveryProgress::Normal if before.una == 0 => {}
            RecoveryProgress::Normal => {
                let rtt = self.rtt.smoothed();
                let una = ack;
                let next = flow.nxt;
                let sample = self.recovery.sample().or(measured);
                let ack = Acknowledged { now, bytes: fresh, rtt, limited, sample, una, next };
                self.congestion.on_acknowledged(&ack);
            }
            RecoveryProgress::Complete
                if self.config.loss_recovery == LossRecovery::NewReno && !self.negotiated.sack =>
            {
                // RFC 6582, section 3.2, step 3: no burst after recovery.
                self.congestion.limit((flow.max - flow.una).max(flow.mss) + flow.mss);
                self.congestion.on_recovered();
            }
            RecoveryProgress::Complete => self.congestion.on_recovered(),
            RecoveryProgress::Partial => {}
        }
        self.timers.stop(Timer::Persist);
        if self.sender.una == self.sender.max {
            self.timers.stop(Timer::Retransmit);
        } else if !self.recovery.keeps_timer() {
            self.restart_timeout(now);
        }
        if self.sender.capacity < self.config.send_buffer.most {
            self.grow_send_buffer();
        }
        let room = self.sender.capacity.saturating_sub(self.sender.buffer.len());
        if self.sender.wants_send_space && room >= self.sender.capacity / 3 {
            self.sender.wants_send_space = false;
            self.signals.raise(Signals::WRITABLE);
        }
        if self.sender.is_finished() {
            self.fin_acknowledged(now);
        }
    }

    /// Returns whether the congestion window limits the sender.
    pub(super) fn is_limited(&self) -> bool {
        if self.config.manner.grows_by_most {
            return self.is_limited_lately();
        }
        let flow = self.flow();
        self.recovery.in_flight(&flow) + flow.mss >= self.congestion.window()
    }

    //= S2.2
    /// Takes a round-trip measurement from the echo or from the segment that is timed (Karn);
    /// returns it.
    pub(super) fn measure(&mut self, now: Instant, ack: u64, seg: &Segment) -> Option<Duration> {
        let echo = seg.header.options.timestamps.filter(|_| self.negotiated.timestamps);
        // Many peers echo the first SYN even if they answer a later one. Only an echo of the last
        // SYN shows which one is answered (RFC 7323, section 4.1).
        let is_repeated = self.sender.una == 0 && self.operations.retransmissions > 0;
        let last = self.clock(self.sender.last_sent);
        if is_repeated && echo.is_some_and(|it| it.echo.wrapping_sub(last) >= 1 << 31) {
            return None;
        }
        let (measured, expected) = if let Some(position) = self.reported_twice(seg, ack) {
            // A duplicate is outside of the window: its acknowledgment echoes an older segment (RFC
            // 7323, section 5.3), perhaps one of before a timeout.
            let measured = self.rtt.between(self.recovery.left_at(position)?, now);
            if self.rtt.least().is_some_and(|least| measured < least) {
                return None;
            }
            (measured, 1)
        } else if let Some(timestamps) = echo {
            self.operations.timestamps += 1;
            let elapsed = self.clock(now).wrapping_sub(timestamps.echo);
            // An echo from the future, or of nothing, measures nothing.
            if timestamps.echo == 0 || elapsed >= 1 << 31 {
                return None;
            }
            let outstanding = self.sender.max - self.sender.una;
            let measured = Duration::from_millis(u64::from(elapsed.max(1)));
            (self.rtt.seen(now, measured), outstanding.div_ceil(2 * self.sender.mss))
        } else {
            let (_, at) = self.sender.timed.filter(|(timed, _)| *timed < ack)?;
            (self.rtt.between(at, now), 1)
        };
        if self.rtt.samples() == 0 {
            self.congestion.on_first_round_trip(measured);
        }
        self.rtt.sample(measured, expected);
        self.sender.timed = None;
        Some(measured)
    }

    /// Returns the start of the data that an acknowledgment up to `ack` reports as a duplicate and
    /// acknowledges for the first time.
    fn reported_twice(&self, seg: &Segment, ack: u64) -> Option<u64> {
        let blocks = Some(&seg.header.options.sack).filter(|_| self.negotiated.sack)?;
        let origin = self.sender.origin;
        let una = self.sender.una;
        let locate = |seq| crate::sequence::position(origin, una, seq);
        let flow = SendSequence { una: una.max(ack), ..self.flow() };
        let start = reported_duplicate(blocks, &flow, &locate).map(|range| range.start);
        start.filter(|start| (una..ack).contains(start))
    }

    /// Takes an RTT sample from data that SACK has reported. On a path that reorders, few
    /// acknowledgments advance SND.UNA, and these alone would follow a growing queue too slowly.
    fn measure_reported(&mut self, advanced: bool) {
        let measured = self.recovery.longest();
        let exact = self.config.timeout.in_ticks == TickEstimation::Off;
        if let Some(measured) = measured.filter(|_| exact && !advanced) {
            let outstanding = self.sender.max - self.sender.una;
            self.rtt.sample(measured, outstanding.div_ceil(self.sender.mss));
        }
    }

    /// Handles a duplicate acknowledgment: a segment arrived out of order.
    fn take_duplicate(&mut self, now: Instant) {
        //= S2.46
        if !self.config.fast_retransmit || self.is_explained() {
            return;
        }
        let flow = self.flow();
        if self.recovery.on_duplicate(&flow) {
            self.begin_recovery(now, &flow);
        }
    }

    /// Returns the state of the sender for a congestion controller.
    pub(super) fn loss(&self, now: Instant) -> Loss {
        // After a timeout, earlier segments count as lost and are no longer in flight.
        let outstanding = self.sender.nxt - self.sender.una;
        // FlightSize excludes segments of limited transmit (RFC 5681, section 3.2, step 2).
        let in_flight = outstanding.saturating_sub(self.recovery.inflation());
        let in_flight = in_flight.min(self.congestion.window());
        let in_network = self.recovery.in_flight(&self.flow());
        Loss { now, in_flight, in_network, offered: self.sender.window }
    }

    /// Reduces the congestion window for a loss.
    pub(super) fn reduce(&mut self, now: Instant) {
        let loss = self.loss(now);
        self.congestion.on_loss(&loss);
        self.recovery.forget_undo();
        self.note_reduction();
    }

    pub(super) fn note_reduction(&mut self) {
        self.operations.reductions += 1;
        self.sender.reduced_until = self.sender.max;
        self.sender.announce_reduction = self.negotiated.ecn && !self.negotiated.accurate_ecn;
    }

    /// Takes the peer's window (RFC 9293, section 3.10.7.4), from the latest segment alone, and
    /// from none that acknowledges less than is acknowledged: its window would end below that.
    fn take_window(&mut self, raw: u16, start: u64, ack: u64) {
        let (last_start, last_ack) = self.sender.window_from;
        let older = start < last_start || (start == last_start && ack < last_ack);
        if older || ack < self.sender.una {
            return;
        }
        self.sender.window_from = (start, ack);
        let window = u64::from(raw) << self.negotiated.send_shift;
        let edge = ack + window;
        // A probe beyond the window was taken, and the window is open again.
        let was_probed = self.sender.snd_wnd_right < ack && ack < edge;
        if was_probed {
            // The wait between probes is no measure of how long data may take.
            self.rtt.relax();
        }
        if edge > self.sender.snd_wnd_right && self.timers.runs(Timer::Persist) {
            // A probe that was not taken leaves again with the data.
            self.timers.stop(Timer::Persist);
            self.sender.nxt = self.sender.una;
            self.sender.attempts = 0;
            self.rtt.relax();
        }
        self.sender.raw_window = raw;
        self.sender.window = window;
        self.sender.max_snd_wnd = self.sender.max_snd_wnd.max(window);
        self.sender.snd_wnd_right = edge;
    }

    /// Notes where an acknowledgment taken by prediction leaves the window.
    pub(super) fn slide_window(&mut self, start: u64, ack: u64) {
        self.sender.window_from = (start, ack);
        self.sender.snd_wnd_right = ack + self.sender.window;
    }

    /// Returns whether this end may still get acknowledgments for data.
    pub(super) const fn is_synchronised(&self) -> bool {
        !matches!(self.state, TcpState::SynSent | TcpState::SynReceived | TcpState::Closed)
    }
}
