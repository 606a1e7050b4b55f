//! Closing: half, whole, at once, and by reset (RFC 9293, section 3.6 and 3.10.4).

use windfall_base::Instant;

use super::{Connection, Reset, TcpState};
use crate::event::{Signals, TcpError};
use crate::sequence::number;
use crate::timers::Timer;

impl Connection {
    /// Closes the sending direction: FIN follows the written data; receiving continues.
    pub fn shutdown(&mut self) {
        if self.sender.finished || self.state == TcpState::Closed {
            return;
        }
        self.sender.finished = true;
        match self.state {
            TcpState::SynSent if self.sender.max == 0 && self.sender.buffer.is_empty() => {
                self.end(None);
            }
            TcpState::SynSent | TcpState::SynReceived => {}
            _ => self.finish_sending(),
        }
    }

    /// Returns the state after this end has decided to finish.
    pub(super) fn finish_sending(&mut self) {
        match self.state {
            TcpState::Established => self.state = TcpState::FinWait1,
            TcpState::CloseWait => self.state = TcpState::LastAck,
            _ => {}
        }
    }

    /// Closes the connection: written data are still sent, but nothing more is read.
    ///
    /// Data that were not read, or that arrive later, reset the connection, because the peer must
    /// not take them for delivered (RFC 2525, 2.16 and 2.17). In SYN-SENT there is no connection to
    /// finish: it is deleted with the data in the send buffer (RFC 9293, section 3.10.4).
    pub fn close(&mut self, now: Instant) {
        self.receiver.abandoned = true;
        if self.state == TcpState::SynSent {
            self.end(None);
            return;
        }
        if self.receiver.buffer.readable() > 0 {
            self.abort();
            return;
        }
        self.shutdown();
        if self.state == TcpState::FinWait2 {
            self.timers.set(Timer::Linger, now.saturating_add(self.config.fin_wait));
        }
    }

    /// Ends the connection at once, with a reset.
    pub fn abort(&mut self) {
        self.receiver.abandoned = true;
        let opened = self.state != TcpState::Closed && self.sender.max > 0;
        if opened && !matches!(self.state, TcpState::SynSent | TcpState::TimeWait) {
            self.reset_peer();
        }
        self.end(Some(TcpError::Aborted));
    }

    /// Ends the connection for the memory that its buffers hold; its owner learns of it as of an
    /// abort.
    pub(crate) fn give_memory_back(&mut self) {
        if self.is_synchronised() {
            self.reset_peer();
        }
        self.receiver.buffer.discard();
        self.end(Some(TcpError::Aborted));
    }

    /// Sends a reset: this connection is over.
    pub(super) fn reset_peer(&mut self) {
        // A probe beyond a closed window was not taken, and there a reset would be ignored.
        let position = self.sender.nxt.min(self.sender.snd_wnd_right.max(self.sender.una));
        let seq = number(self.sender.origin, position);
        self.sender.reset = Some(Reset { seq, ends: true });
    }

    /// Ends the connection, with an error or without.
    pub(super) fn end(&mut self, error: Option<TcpError>) {
        if self.state == TcpState::Closed {
            return;
        }
        let unheard_of = self.passive && self.state == TcpState::SynReceived && !self.sends_early();
        self.state = TcpState::Closed;
        self.error = error;
        self.timers.stop_all();
        self.sender.buffer.release(u64::MAX);
        self.sender.repairs.clear();
        if error.is_some() && self.receiver.abandoned {
            self.receiver.buffer.discard();
        }
        if unheard_of {
            // A connection that was never accepted has no owner that could release it.
            self.receiver.abandoned = true;
        } else {
            self.signals.raise(Signals::CLOSED);
        }
    }

    /// Takes the peer's FIN, which has come in its turn.
    pub(super) fn take_fin(&mut self, now: Instant) {
        self.receiver.finished = true;
        self.receiver.fin = None;
        self.signals.raise(Signals::FINISHED);
        self.owe_ack();
        match self.state {
            TcpState::SynReceived | TcpState::Established => self.state = TcpState::CloseWait,
            TcpState::FinWait1 if self.sender.is_finished() => self.wait_out(now),
            TcpState::FinWait1 => self.state = TcpState::Closing,
            TcpState::FinWait2 => self.wait_out(now),
            _ => {}
        }
    }

    /// This end's FIN is acknowledged.
    pub(super) fn fin_acknowledged(&mut self, now: Instant) {
        match self.state {
            TcpState::FinWait1 => {
                self.state = TcpState::FinWait2;
                if self.receiver.abandoned {
                    self.timers.set(Timer::Linger, now.saturating_add(self.config.fin_wait));
                }
            }
            TcpState::Closing => self.wait_out(now),
            TcpState::LastAck => self.end(None),
            _ => {}
        }
    }

    /// Waits until no old segment can be left (RFC 9293, section 3.6.1).
    pub(super) fn wait_out(&mut self, now: Instant) {
        self.state = TcpState::TimeWait;
        self.timers.stop_all();
        self.timers.set(Timer::Linger, now.saturating_add(self.config.time_wait));
    }
}
