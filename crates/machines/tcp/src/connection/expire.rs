//! The timers of a connection and their expiry.

use windfall_base::{Duration, Instant};

use super::{Awaited, Connection, Due, TcpState};
use crate::event::TcpError;
use crate::timers::Timer;

/// The longest that a peer may hold an acknowledgment back (RFC 8985, section 7.2).
const MOST_DELAY: Duration = Duration::from_millis(200);

/// The least time after which a probe of the tail leaves.
const LEAST_WAIT: Duration = Duration::from_millis(1);

impl Connection {
    /// Fires every timer due at `now`; a spurious call changes nothing.
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some(timer) = self.timers.take_due(now) {
            match timer {
                Timer::Retransmit => self.expire_wait(now),
                Timer::Persist => self.expire_persist(now),
                Timer::DelayedAck => self.receiver.due = Due::Now,
                Timer::Keepalive => self.expire_silence(now),
                Timer::Pacing => {
                    self.sender.burst_left = self.config.burst.unwrap_or(u16::MAX);
                }
                Timer::Linger => self.end(None),
            }
        }
    }

    /// Handles the end of the wait for an acknowledgment.
    fn expire_wait(&mut self, now: Instant) {
        match self.sender.awaited {
            Awaited::Acknowledgment => self.expire_retransmission(now),
            Awaited::Reordering => {
                self.restart_timeout(now);
                self.notice_losses(now, false);
            }
            Awaited::Tail => {
                self.operations.tail_probes += 1;
                self.sender.tail_probe = true;
                self.set_timeout(self.rtt.deadline(now));
            }
        }
    }

    /// Restarts the retransmission timer (RFC 6298, section 5).
    pub(super) fn restart_timeout(&mut self, now: Instant) {
        self.set_timeout(self.rtt.deadline(now));
        self.watch_tail(now);
    }

    fn set_timeout(&mut self, at: Instant) {
        (self.sender.awaited, self.sender.timeout_at) = (Awaited::Acknowledgment, at);
        self.timers.set(Timer::Retransmit, at);
    }

    /// Arms the timer for a tail loss probe, if one may be scheduled (RFC 8985, section 7.2).
    pub(super) fn watch_tail(&mut self, now: Instant) {
        let flow = self.flow();
        if !self.recovery.may_probe(&flow) {
            if self.sender.awaited != Awaited::Acknowledgment {
                self.set_timeout(self.sender.timeout_at);
            }
            return;
        }
        let Some(round_trip) = self.rtt.smoothed() else { return };
        // A single segment may wait for an acknowledgment that is held back.
        let held_back = if flow.max - flow.una <= flow.mss { MOST_DELAY } else { Duration::ZERO };
        // A clock that ticks may measure nothing.
        let wait = (round_trip * 2).max(LEAST_WAIT).saturating_add(held_back);
        self.sender.awaited = Awaited::Tail;
        let at = now.saturating_add(wait).min(self.sender.timeout_at);
        self.timers.set(Timer::Retransmit, at);
    }

    /// Handles the retransmission timer (RFC 6298, section 5; RFC 5681, section 3.1).
    fn expire_retransmission(&mut self, now: Instant) {
        let opening = matches!(self.state, TcpState::SynSent | TcpState::SynReceived);
        let most = if opening { self.config.syn_retries } else { self.config.retries };
        if self.sender.attempts >= most {
            self.give_up();
            return;
        }
        let first = self.sender.attempts == 0;
        self.sender.attempts += 1;
        self.sender.timed = None;
        self.rtt.back_off();
        if opening {
            self.sender.nxt = 0;
            return;
        }
        self.operations.timeouts += 1;
        self.sender.repairs.clear();
        self.take_probe_loss(now, self.sender.una..self.sender.max);
        self.suspect_path(now);
        let flow = self.flow();
        let loss = self.loss(now);
        if self.sender.snd_wnd_right <= self.sender.una || !self.recovery.is_timed() {
            self.recovery.forget_losses();
            self.sender.nxt = self.sender.una;
        }
        if self.sender.snd_wnd_right <= self.sender.una {
            // The window closed meanwhile: that is no loss; ask for it instead.
            self.sender.probe = self.sender.una < self.sender.data_end();
            if self.sender.probe {
                return;
            }
        }
        self.congestion.on_timeout(&loss, first);
        self.note_reduction();
        let may_be_spurious = self.config.f_rto && self.recovery.may_begin_basic_frto(&flow);
        self.recovery.on_timeout(now, &flow, self.rtt.smoothed(), first);
        if may_be_spurious {
            self.recovery.begin_basic_frto();
        }
        self.set_timeout(self.rtt.deadline(now));
    }

    /// Probes a window that is still zero, or too small for the waiting data.
    fn expire_persist(&mut self, _now: Instant) {
        let orphan = self.receiver.abandoned;
        if self.sender.attempts >= self.config.retries && (orphan || !self.was_heard()) {
            self.give_up();
            return;
        }
        self.sender.attempts = self.sender.attempts.saturating_add(1);
        self.rtt.back_off();
        self.sender.nxt = self.sender.una;
        self.sender.probe = true;
    }

    /// Returns whether the peer has answered since the last probe.
    fn was_heard(&self) -> bool {
        self.heard >= self.sender.last_sent
    }

    /// Probes a silent peer (RFC 9293, section 3.8.4).
    fn expire_silence(&mut self, now: Instant) {
        let Some(keepalive) = self.config.keepalive else {
            return;
        };
        let due = self.heard.saturating_add(keepalive.idle);
        if now < due {
            self.timers.set(Timer::Keepalive, due);
            return;
        }
        if self.probes >= keepalive.probes {
            self.give_up();
            return;
        }
        if self.is_synchronised() && self.sender.una == self.sender.max {
            self.probes += 1;
            self.sender.probe = true;
        }
        self.timers.set(Timer::Keepalive, now.saturating_add(keepalive.interval));
    }

    /// Starts the keep-alive timer, if keep-alives are enabled (RFC 9293, section 3.8.4).
    pub(super) fn watch_silence(&mut self, now: Instant) {
        if let Some(keepalive) = self.config.keepalive {
            self.timers.set(Timer::Keepalive, now.saturating_add(keepalive.idle));
        }
    }

    /// Ends the connection: the peer does not answer.
    fn give_up(&mut self) {
        if self.is_synchronised() {
            self.reset_peer();
        }
        self.end(Some(TcpError::TimedOut));
    }
}
