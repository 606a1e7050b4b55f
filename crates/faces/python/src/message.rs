//! Received messages.

use std::ffi::c_int;
use std::ops::Range;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use windfall_socket::{Integrity, MessageKind, Received};

/// A received message, with `len` and as a buffer: `memoryview(message)`.
#[pyclass(frozen, name = "Message", module = "windfall_sap")]
pub(crate) struct PyMessage(pub(crate) Received);

fn pairs(ranges: &[Range<usize>]) -> Vec<(usize, usize)> {
    ranges.iter().map(|range| (range.start, range.end)).collect()
}

#[pymethods]
impl PyMessage {
    /// A copy of the bytes.
    #[getter]
    fn data<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.data)
    }

    /// "precise", "approximate" or "repair".
    #[getter]
    fn kind(&self) -> &'static str {
        match self.0.kind {
            MessageKind::Precise => "precise",
            MessageKind::Approximate => "approximate",
            MessageKind::Repair => "repair",
        }
    }

    /// The sequence number within the stream and kind; a gap is a loss.
    #[getter]
    fn number(&self) -> u32 {
        self.0.number
    }

    /// The stream of the message.
    #[getter]
    fn stream(&self) -> u16 {
        self.0.stream
    }

    /// The ranges, as (start, end), that are known to be exact.
    #[getter]
    fn exact(&self) -> Vec<(usize, usize)> {
        pairs(&self.0.exact)
    }

    /// The ranges, as (start, end), that hold bit errors; `None` if no check covers them.
    #[getter]
    fn suspect(&self) -> Option<Vec<(usize, usize)>> {
        match &self.0.integrity {
            Integrity::Intact => Some(Vec::new()),
            Integrity::Unknown => None,
            Integrity::Suspect(ranges) => Some(pairs(ranges)),
        }
    }

    /// The ranges, as (start, end), that did not arrive, and are zeros.
    #[getter]
    fn missing(&self) -> Vec<(usize, usize)> {
        pairs(&self.0.missing)
    }

    /// Exposes the bytes without a copy; the view keeps the message alive.
    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        let data = &slf.get().0.data;
        let start = data.as_ptr().cast_mut().cast();
        let len = data.len().cast_signed();
        // SAFETY: Python passes a view that may be written; the bytes live unchanged as long as the
        // message, which the view holds, and the view is marked as read-only.
        match unsafe { ffi::PyBuffer_FillInfo(view, slf.as_ptr(), start, len, 1, flags) } {
            0 => Ok(()),
            _ => Err(PyErr::fetch(slf.py())),
        }
    }

    fn __len__(&self) -> usize {
        self.0.data.len()
    }

    fn __repr__(&self) -> String {
        format!("<Message {} {} of {} bytes>", self.kind(), self.0.number, self.0.data.len())
    }
}
