//! Checks of messages that are functions of Python.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use windfall_socket::{Decision, MessageCheck, Received, SapError};

use crate::failure::raise;
use crate::message::PyMessage;

/// The exception that the check of a socket has raised, for the call that receives.
#[derive(Clone, Default)]
pub(crate) struct Raised(Arc<Mutex<Option<PyErr>>>);

impl Raised {
    /// Returns a check that calls a function.
    pub(crate) fn check(&self, function: Py<PyAny>) -> MessageCheck {
        let raised = self.clone();
        Box::new(move |message| {
            let decision = Python::attach(|py| judge(function.bind(py), message));
            decision.unwrap_or_else(|error| {
                raised.0.lock().unwrap_or_else(PoisonError::into_inner).replace(error);
                Decision::Fail
            })
        })
    }

    /// Returns the exception of a call that failed; that of the check if it was the check.
    pub(crate) fn by(&self, error: SapError) -> PyErr {
        let raised = match error {
            SapError::Check => self.0.lock().unwrap_or_else(PoisonError::into_inner).take(),
            _ => None,
        };
        raised.unwrap_or_else(|| raise(error))
    }
}

/// Asks the function of the application.
fn judge(function: &Bound<'_, PyAny>, message: &Received) -> PyResult<Decision> {
    let answer = function.call1((PyMessage(message.clone()),))?;
    if let Ok(accepts) = answer.extract::<bool>() {
        return Ok(if accepts { Decision::Accept } else { Decision::Discard });
    }
    let ranges: Vec<(usize, usize)> = answer.extract().map_err(|_| {
        let fix = "return True, False or a list of ranges, as (start, end)";
        PyTypeError::new_err(format!("a check returned {answer:?}: {fix}"))
    })?;
    let len = message.data.len();
    if let Some((start, end)) = ranges.iter().find(|(start, end)| start >= end || *end > len) {
        let text = format!("a check asked for ({start}, {end}) of a message of {len} bytes");
        return Err(PyValueError::new_err(text));
    }
    Ok(Decision::Repair(ranges.into_iter().map(|(start, end)| start..end).collect()))
}
