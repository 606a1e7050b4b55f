//! Timeouts: loss, retransmission, keepalive, idle and close.

use windfall_base::{Duration, Instant};

use super::{Connection, FinState, State};
use crate::error::CloseReason;
use crate::event::SapEvent;
use crate::sent::{Load, SentPacket};
use crate::timeouts::PROBES;

/// The longest interval between retransmissions, unless the timeout itself is longer.
pub(super) const LONGEST: Duration = Duration::from_secs(2);
/// The minimum number of retransmission intervals within the patience with queues.
const ATTEMPTS: u64 = 10;

impl Connection {
    /// Returns the time of the next timeout and its cause.
    pub(crate) fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        let connecting = match &self.state {
            State::Closed => return self.reset.map(|_| (self.heard_at, "reset")),
            State::Connecting(connecting) => {
                let end = (connecting.deadline, "give up the ping");
                return Some((connecting.due, "ping").min(end));
            }
            State::Open => None,
        };
        let times = [
            connecting,
            self.ack.due.map(|at| (at, "acknowledge")),
            self.loss_at.map(|at| (at, "count as lost")),
            self.retransmission().map(|at| (at, "retransmission")),
            self.path.pace_at.map(|at| (at, "pace")),
            self.path.mtu.due().map(|at| (at, "try the path")),
            self.deadline.map(|at| (at, "close")),
            self.parts_due().map(|at| (at, "missing parts")),
            self.ending.map(|ending| (ending.due, "the end")),
            self.migration_due().map(|at| (at, "follow the peer")),
            self.keepalive().map(|at| (at, "keep alive")),
            Some((self.heard_at + self.config.idle_timeout, "idle")),
        ];
        times.into_iter().flatten().min()
    }

    /// Returns the time at which unacknowledged packets are retransmitted.
    fn retransmission(&self) -> Option<Instant> {
        let backoff = if self.config.adaptive_timeout { self.path.timeouts.backoff() } else { 1 };
        let last = self.sent.last_at()?;
        // The peer reports an approximate message later than it acknowledges a precise one.
        let usual = self.report_within().filter(|_| self.sent.is_last_approximate());
        let least = usual.unwrap_or(self.timeout());
        // Backoff must leave several attempts within the patience, so that a single loss does not
        // decide.
        let patience = Some(self.outbox.patience).filter(|it| *it > Duration::ZERO);
        let longest = patience.map_or(LONGEST, |it| LONGEST.min(it / ATTEMPTS)).max(least);
        Some(last + (least * backoff).min(longest))
    }

    fn keepalive(&self) -> Option<Instant> {
        Some(self.heard_at.max(self.asked_at) + self.config.keepalive?)
    }

    /// Performs the actions that are due at `now`.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        let due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        if let State::Connecting(connecting) = &self.state {
            if connecting.deadline <= now {
                self.end(CloseReason::NoAnswer);
            }
            return;
        }
        if self.state == State::Closed {
            return;
        }
        if self.heard_at + self.config.idle_timeout <= now {
            self.end(CloseReason::TimedOut);
            return;
        }
        let limit = self.config.silence_timeout;
        if limit.is_some_and(|limit| self.silence(now).is_some_and(|span| span >= limit)) {
            self.end(CloseReason::TimedOut);
            return;
        }
        if due(self.deadline) {
            if self.peer_finished && self.has_said_all() {
                self.end(CloseReason::Closed);
            } else {
                self.abort(CloseReason::TimedOut);
            }
            return;
        }
        self.follow_if_due(now);
        if due(self.parts_due()) {
            self.deliver_partial(Some(now));
        }
        if due(self.ending.map(|ending| ending.due)) {
            self.report_end(now);
            if self.state == State::Closed {
                return;
            }
        }
        if due(self.loss_at) {
            self.detect_loss(now, self.sent.in_flight());
        }
        if due(self.retransmission()) {
            self.handle_retransmission_timeout(now);
        }
        if self.path.mtu.has_shrunk(now) {
            self.shrink(now);
        }
        if due(self.path.pace_at) {
            self.path.pace_at = None;
        }
        if due(self.keepalive()) {
            self.probe_due = true;
            self.asked_at = now;
        }
    }

    /// Handles the expiry of the retransmission timer.
    fn handle_retransmission_timeout(&mut self, now: Instant) {
        self.path.timeouts.on_timeout();
        if self.path.timeouts.begins_silence() {
            self.events.push_back(SapEvent::Silent);
        }
        // A timeout alone does not prove a loss: the packets may wait in a long queue. So only some
        // are retransmitted as probes (RFC 9002, section 6.2). All packets are given up once they
        // may exceed the path MTU.
        let all = self.path.timeouts.may_be_too_long() || !self.config.congestion_control;
        let count = if all { usize::MAX } else { PROBES as usize };
        // A closed receive window stops long datagrams as well.
        let has_room = self.peer_room >= self.path.size();
        let falls_back =
            self.path.timeouts.shows_black_hole() && has_room && self.config.path_discovery;
        if falls_back {
            self.path.mtu.fall_back(now);
            self.path.congestion.set_size(self.path.size());
        }
        let lost = self.sent.give_up(count);
        if self.path.timeouts.shows_congestion() && self.config.congestion_control {
            self.path.congestion.collapse(now, lost.iter().map(|packet| packet.number).collect());
        }
        for packet in lost {
            self.note_size(now, &packet);
            self.queue_again(now, packet);
        }
        if falls_back {
            self.recut();
            self.refit();
        }
        self.sent.restart_timer(now);
        // A probe also asks about messages that may be given up (RFC 9002, section 6.2.4), but only
        // after the path MTU is settled: an answer would hide the loss of long datagrams.
        let may_end =
            self.outbox.patience > Duration::ZERO && self.path.timeouts.has_reduced_size();
        if may_end || self.is_flushed() && self.sending != FinState::Pending {
            self.probe_due = true;
        }
    }

    /// Reports the size of a lost packet to path MTU discovery.
    pub(super) fn note_size(&mut self, now: Instant, packet: &SentPacket) {
        if !matches!(packet.load, Load::MtuProbe(_)) {
            self.path.mtu.on_loss(now, packet.size, self.timeout());
        }
    }

    /// Reduces the path MTU, because longer datagrams no longer arrive.
    pub(super) fn shrink(&mut self, now: Instant) {
        self.path.mtu.fall_back(now);
        self.path.congestion.set_size(self.path.size());
        let size = self.path.size();
        // All precise messages are segmented again, in their order.
        let is_cut = |it: &SentPacket| {
            it.size > size || matches!(it.load, Load::Precise(_) | Load::MtuProbe(_))
        };
        let lost = self.sent.give_up_if(is_cut);
        lost.into_iter().for_each(|packet| self.queue_again(now, packet));
        self.recut();
        self.refit();
        self.events.push_back(SapEvent::PathSize);
    }
}
