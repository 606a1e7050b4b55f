//! The end of a connection, which waits until everything precise has arrived.

use windfall_sap::CloseReason;

use super::SapSocket;
use crate::driver::State;
use crate::error::{SapError, UnfinishedReason};

impl SapSocket {
    /// Finishes this direction; messages can still be received.
    pub fn finish(&self) {
        let mut state = self.core.lock();
        state.endpoint.finish(self.id);
        self.core.flush(&mut state);
    }

    /// Waits until all precise messages are acknowledged and all others are sent.
    ///
    /// # Errors
    /// If the connection ends before, or the timeout expires.
    pub fn flush(&self) -> Result<(), SapError> {
        let outcome = self.core.wait(self.awaited(), self.deadline(), |state, _| {
            let closed = state.connections.get(&self.id).and_then(|status| status.closed);
            match closed {
                Some(reason) => Some(Err(reason)),
                None => state.endpoint.is_flushed(self.id).then_some(Ok(())),
            }
        })?;
        outcome.map_err(SapError::from)
    }

    /// Waits until the approximate messages that were passed on before have been sent, whether they
    /// arrive or not, so that a message sent afterwards is behind them on the path.
    ///
    /// # Errors
    /// If the connection ends before, or the timeout expires.
    pub fn wait_until_sent(&self) -> Result<(), SapError> {
        let (queued, _) = self.core.lock().endpoint.approximate_progress(self.id);
        let outcome = self.core.wait(self.awaited(), self.deadline(), |state, _| {
            let closed = state.connections.get(&self.id).and_then(|status| status.closed);
            let (_, sent) = state.endpoint.approximate_progress(self.id);
            match closed {
                Some(reason) => Some(Err(reason)),
                None => (sent >= queued).then_some(Ok(())),
            }
        })?;
        outcome.map_err(SapError::from)
    }

    /// Returns whether the peer reports the approximate messages that arrive: not in the paper
    /// profile.
    #[must_use]
    pub fn is_reported(&self) -> bool {
        self.core.lock().endpoint.report_within(self.id).is_some()
    }

    /// Waits until each retransmittable approximate message of a stream
    /// ([`set_lateness`](Self::set_lateness)) has arrived or was given up. Returns whether all
    /// arrived. The answer resets the count of the stream.
    ///
    /// # Errors
    /// If the connection ends before, or the timeout expires.
    pub fn wait_until_settled(&self, stream: u16) -> Result<bool, SapError> {
        let outcome = self.core.wait(self.awaited(), self.deadline(), |state, _| {
            let closed = state.connections.get(&self.id).and_then(|status| status.closed);
            match closed {
                Some(reason) => Some(Err(reason)),
                None => state.endpoint.take_fate(self.id, stream).map(Ok),
            }
        })?;
        outcome.map_err(SapError::from)
    }

    //= S0.19
    /// Finishes this direction and waits until the peer has acknowledged everything.
    ///
    /// It waits as long as there is progress, that is while messages are acknowledged or sent for
    /// the first time, and at most for the socket's timeout, if one is set.
    ///
    /// # Errors
    /// [`SapError::Unfinished`] if the peer has not acknowledged the end, with what it may lack.
    pub fn finish_and_wait(&self) -> Result<(), SapError> {
        self.finish();
        let timeout = self.deadline();
        let mut stalled = self.core.clock.now() + self.core.lock().endpoint.linger(self.id);
        let reason = loop {
            let until = timeout.map_or(stalled, |timeout| timeout.min(stalled));
            match self.core.wait(self.awaited(), Some(until), |state, _| self.finished(state)) {
                Ok(Ok(())) => return Ok(()),
                Ok(Err(reason)) => break UnfinishedReason::Closed(reason),
                Err(SapError::TimedOut) if until < stalled => break UnfinishedReason::TimedOut,
                Err(SapError::TimedOut) => {}
                Err(error) => return Err(error),
            }
            match self.core.lock().endpoint.gives_up_at(self.id) {
                Some(later) if later > stalled => stalled = later,
                _ => break UnfinishedReason::Stalled,
            }
        };
        let left = self.core.lock().endpoint.undelivered(self.id);
        Err(SapError::Unfinished { left, here: self.local_addr(), there: self.peer, reason })
    }

    /// Returns whether the peer has acknowledged the FIN, or the reason for which it never will.
    fn finished(&self, state: &State) -> Option<Result<(), CloseReason>> {
        let closed = state.connections.get(&self.id).and_then(|status| status.closed);
        let has_all = || state.endpoint.undelivered(self.id).messages == 0;
        match closed {
            Some(CloseReason::Closed) => Some(Ok(())),
            // The peer has received everything. Only its last acknowledgement was lost, and it may
            // have ended already.
            Some(CloseReason::ClosedByPeer | CloseReason::PortClosed) if has_all() => Some(Ok(())),
            Some(reason) => Some(Err(reason)),
            None => state.endpoint.is_finished(self.id).then_some(Ok(())),
        }
    }

    /// Closes the connection after the peer has acknowledged everything.
    ///
    /// It waits as [`finish_and_wait`](Self::finish_and_wait) does. After the time of
    /// [`set_linger`](Self::set_linger) without progress the connection is reset. When the socket's
    /// timeout expires, delivery continues in the background while the program runs.
    ///
    /// # Errors
    /// As [`finish_and_wait`](Self::finish_and_wait).
    pub fn close(self) -> Result<(), SapError> {
        self.finish_or_abort()
    }

    /// Resets the connection at once: calls that wait for it end with an error, and undelivered
    /// messages are lost.
    pub fn reset(&self) {
        let mut state = self.core.lock();
        state.endpoint.abort(self.id, CloseReason::Closed);
        self.core.flush(&mut state);
        self.core.notify(&state, self.awaited());
    }

    /// Waits as [`close`](Self::close) does, while others may still hold the socket.
    ///
    /// # Errors
    /// As [`finish_and_wait`](Self::finish_and_wait).
    pub fn finish_or_abort(&self) -> Result<(), SapError> {
        self.finish_and_wait().inspect_err(|error| {
            if !matches!(error, SapError::Unfinished { reason: UnfinishedReason::TimedOut, .. }) {
                let mut state = self.core.lock();
                state.endpoint.abort(self.id, CloseReason::TimedOut);
                self.core.flush(&mut state);
            }
        })
    }
}
