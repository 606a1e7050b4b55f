//! Errors as Python exceptions, and timeouts as Python gives them.

use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::{
    PyBlockingIOError, PyConnectionError, PyConnectionRefusedError, PyOSError, PyRuntimeError,
    PyTimeoutError, PyValueError,
};
use pyo3::prelude::*;
use windfall_socket::{CloseReason, Duration, SapError, SapSendError, UnfinishedReason};

/// Converts an error to a Python exception.
pub(crate) fn raise(error: SapError) -> PyErr {
    let text = error.to_string();
    match error {
        SapError::System { source, .. } => match source.raw_os_error() {
            Some(number) => PyOSError::new_err((number, text)),
            None => PyOSError::new_err(text),
        },
        SapError::Name(source) if source.raw_os_error().is_none() => PyOSError::new_err(text),
        SapError::Name(source) => PyOSError::new_err((source.raw_os_error(), text)),
        SapError::Send(SapSendError::Full) | SapError::WouldBlock => {
            PyBlockingIOError::new_err(text)
        }
        SapError::Send(SapSendError::NotOpen | SapSendError::Finished) => {
            PyConnectionError::new_err(text)
        }
        SapError::Send(_) | SapError::Address(_) => PyValueError::new_err(text),
        SapError::Closed(reason)
        | SapError::Unfinished { reason: UnfinishedReason::Closed(reason), .. } => match reason {
            CloseReason::NoAnswer | CloseReason::TimedOut => PyTimeoutError::new_err(text),
            CloseReason::Refused(_) | CloseReason::PortClosed => {
                PyConnectionRefusedError::new_err(text)
            }
            CloseReason::Unreachable
            | CloseReason::Closed
            | CloseReason::ClosedByPeer
            | CloseReason::Violation
            | CloseReason::StreamLimit
            | CloseReason::Displaced => PyConnectionError::new_err(text),
        },
        SapError::TimedOut | SapError::Unfinished { .. } => PyTimeoutError::new_err(text),
        // A check of the caller failed, or a later version has another kind of error.
        _ => PyRuntimeError::new_err(text),
    }
}

/// Returns the name of a reason for which a connection has ended.
pub(crate) fn name(reason: CloseReason) -> &'static str {
    match reason {
        CloseReason::Closed => "closed",
        CloseReason::ClosedByPeer => "closed-by-peer",
        CloseReason::NoAnswer => "no-answer",
        CloseReason::TimedOut => "silent",
        CloseReason::Refused(_) => "refused",
        CloseReason::Unreachable => "unreachable",
        CloseReason::PortClosed => "port-closed",
        CloseReason::Violation | CloseReason::StreamLimit => "violation",
        CloseReason::Displaced => "displaced",
    }
}

/// Converts seconds to a duration; `None` is no limit.
pub(crate) fn span(seconds: Option<f64>) -> PyResult<Option<Duration>> {
    match seconds {
        Some(seconds) if !(0.0..=1e9).contains(&seconds) => {
            Err(PyValueError::new_err(format!("a timeout cannot be {seconds} seconds")))
        }
        seconds => Ok(seconds.map(Duration::from_secs_f64)),
    }
}

/// The longest time that a call waits; zero for calls that do not wait.
#[derive(Default)]
pub(crate) struct Timeout(Mutex<Option<Duration>>);

impl Timeout {
    pub(crate) fn get(&self) -> Option<Duration> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the timeout in seconds.
    pub(crate) fn seconds(&self) -> Option<f64> {
        self.get().map(Duration::as_secs_f64)
    }

    /// Returns whether calls wait.
    pub(crate) fn waits(&self) -> bool {
        self.get() != Some(Duration::ZERO)
    }

    pub(crate) fn set(&self, timeout: Option<Duration>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = timeout;
    }

    /// Sets it as `setblocking` does: without limit, or zero.
    pub(crate) fn set_blocking(&self, blocking: bool) {
        self.set((!blocking).then_some(Duration::ZERO));
    }
}
