//! Messages from the connection to the application, which are inspected on the way.

use std::ops::Range;
use std::sync::MutexGuard;

use windfall_base::{Duration, Instant};
use windfall_sap::{Inspector, Received};

use super::SapSocket;
use crate::driver::State;
use crate::error::SapError;

/// The result of a look at the connection.
enum Next<'a> {
    /// The call returns this.
    Outcome(Result<Option<Received>, SapError>),
    /// A message to be inspected first, or a new check or tolerance to be used.
    Inspect(MutexGuard<'a, Inspector>, Option<Received>),
}

impl SapSocket {
    /// Receives the next message; `None` once the peer has finished and all is read.
    ///
    /// # Errors
    /// If the connection has ended otherwise, the timeout expires, or a check fails.
    pub fn recv(&self) -> Result<Option<Received>, SapError> {
        self.recv_until(self.deadline())
    }

    /// Receives the next message, for which it waits at most for `span`, whatever the timeout of
    /// the other calls is.
    ///
    /// # Errors
    /// As [`recv`](Self::recv).
    pub fn recv_timeout(&self, span: Duration) -> Result<Option<Received>, SapError> {
        self.recv_until(Some(self.core.clock.now() + span))
    }

    fn recv_until(&self, deadline: Option<Instant>) -> Result<Option<Received>, SapError> {
        loop {
            match self.core.wait(self.awaited(), deadline, |state, now| self.next(state, now))? {
                Next::Outcome(outcome) => return outcome,
                Next::Inspect(inspector, received) => self.inspect(inspector, received)?,
            }
        }
    }

    /// Receives a message without waiting; `None` once the peer has finished and all is read.
    ///
    /// # Errors
    /// As [`recv`](Self::recv), and [`SapError::WouldBlock`] if no message is there.
    pub fn try_recv(&self) -> Result<Option<Received>, SapError> {
        loop {
            let mut state = self.core.lock();
            let next = self.next(&mut state, self.core.clock.now());
            self.core.flush(&mut state);
            drop(state);
            match next.unwrap_or(Next::Outcome(Err(SapError::WouldBlock))) {
                Next::Outcome(outcome) => return outcome,
                Next::Inspect(inspector, received) => self.inspect(inspector, received)?,
            }
        }
    }

    /// Looks for the next message; `None` if there is none yet, or another thread inspects one.
    fn next(&self, state: &mut State, now: Instant) -> Option<Next<'_>> {
        let mut inspector = self.inspection.take()?;
        if self.inspection.is_outdated() {
            return Some(Next::Inspect(inspector, None));
        }
        let mut received = inspector.pop();
        if received.is_none() {
            received = state.endpoint.receive(now, self.id);
            if received.is_some() && !inspector.is_idle() {
                return Some(Next::Inspect(inspector, received));
            }
        }
        let ended = state.connections.get(&self.id).is_none_or(|it| it.closed.is_some());
        if received.is_none() && ended {
            inspector.give_up();
            received = inspector.pop();
        }
        let more = inspector.is_ready() || state.endpoint.is_readable(self.id);
        let settled = inspector.is_empty();
        let status = state.connections.get_mut(&self.id)?;
        if !more && !status.finished && status.closed.is_none() {
            status.readable.lower();
        }
        let outcome = match received {
            Some(received) => Some(Ok(Some(received))),
            None if status.finished && settled => Some(Ok(None)),
            None => status.closed.map(|reason| Err(reason.into())),
        };
        outcome.map(Next::Outcome)
    }

    /// Inspects a message, and requests what is to be repaired.
    fn inspect(
        &self,
        mut inspector: MutexGuard<'_, Inspector>,
        received: Option<Received>,
    ) -> Result<(), SapError> {
        self.inspection.update(&mut inspector);
        let request = received.and_then(|received| inspector.push(received));
        let failed = inspector.take_failure();
        let is_awaited = self.inspection.give_back(inspector);
        if let Some(request) = request {
            let mut state = self.core.lock();
            let stream = request.stream;
            let number = request.number;
            // If the connection has ended, the receiving call reports it.
            let _ = state.endpoint.repair(self.id, stream, number, &request.ranges);
            self.core.flush(&mut state);
        }
        if is_awaited {
            // A thread that found the inspector in use is waiting by the time this lock is free.
            self.core.notify(&self.core.lock(), self.awaited());
        }
        if failed { Err(SapError::Check) } else { Ok(()) }
    }

    //= S0.56
    /// Requests `ranges` of an approximate message again; they arrive as messages of kind
    /// [`Repair`](crate::MessageKind::Repair).
    ///
    /// # Errors
    /// If the connection has ended.
    pub fn repair(&self, of: &Received, ranges: &[Range<usize>]) -> Result<(), SapError> {
        self.repair_number(of.stream, of.number, ranges)
    }

    /// Requests ranges of a message that is known by its number only, since it is missing.
    ///
    /// # Errors
    /// If the connection has ended.
    pub fn repair_number(
        &self,
        stream: u16,
        number: u32,
        ranges: &[Range<usize>],
    ) -> Result<(), SapError> {
        let mut state = self.core.lock();
        let result = state.endpoint.repair(self.id, stream, number, ranges);
        self.core.flush(&mut state);
        result.map_err(SapError::from)
    }
}
