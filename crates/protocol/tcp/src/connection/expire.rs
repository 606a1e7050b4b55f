//! What happens when time runs out.

use windfall_base::Instant;

use super::{Connection, Due, TcpState};
use crate::event::TcpError;
use crate::timers::Timer;

impl Connection {
    /// Fires every timer due at `now`; a spurious call changes nothing.
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some(timer) = self.timers.take_due(now) {
            match timer {
                Timer::Retransmit => self.expire_retransmission(now),
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

    /// Handles the retransmission timer: nothing came back for what was sent (RFC 6298, section 5;
    /// RFC 5681, section 3.1).
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
        let flow = self.flow();
        let loss = self.loss(now);
        self.sender.nxt = self.sender.una;
        if self.sender.edge <= self.sender.una {
            // The window closed meanwhile: that is no loss; ask for it instead.
            self.sender.probe = self.sender.una < self.sender.data_end();
            if self.sender.probe {
                return;
            }
        }
        self.congestion.on_timeout(&loss, first);
        self.note_reduction();
        self.recovery.on_timeout(&flow);
        self.timers.set(Timer::Retransmit, self.rtt.deadline(now));
    }

    /// Probes a window that is still closed, or too small for what waits.
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

    /// Begins to watch for silence, where that is wanted.
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
