//! Files in small parts of which the front must be exact.

use std::sync::{Mutex, PoisonError};

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use windfall_media::{ProtectError, ProtectedArrival};

fn refuse(error: ProtectError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

//= S0.27
//= S1.55
/// Cuts a file (H.264, .npy or JPEG) into parts of at most `longest` bytes: pairs of bytes to send
/// and the number of those at the front that must be exact. Parts that are exact as a whole are to
/// be sent precisely.
#[pyfunction]
#[pyo3(signature = (data, longest=1200))]
pub(crate) fn protect<'py>(
    py: Python<'py>,
    data: PyBuffer<u8>,
    longest: usize,
) -> PyResult<Vec<(Bound<'py, PyBytes>, usize)>> {
    let data = data.to_vec(py)?;
    let parts = py.detach(|| windfall_media::protect(&data, longest)).map_err(refuse)?;
    Ok(parts.into_iter().map(|part| (PyBytes::new(py, &part.bytes), part.exact)).collect())
}

/// The parts of a file that have arrived, in any order.
#[pyclass(frozen, name = "Restorer", module = "windfall_sap")]
pub(crate) struct PyRestorer(Mutex<ProtectedArrival>);

impl PyRestorer {
    fn arrival(&self) -> std::sync::MutexGuard<'_, ProtectedArrival> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl PyRestorer {
    #[new]
    fn new() -> Self {
        Self(Mutex::new(ProtectedArrival::default()))
    }

    /// Takes a part: a message, or bytes.
    fn push(&self, py: Python<'_>, part: PyBuffer<u8>) -> PyResult<()> {
        self.arrival().push(&part.to_vec(py)?).map_err(refuse)
    }

    /// Returns the file that the parts make.
    fn restore<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let file = self.arrival().restore().map_err(refuse)?;
        Ok(PyBytes::new(py, &file.bytes))
    }

    /// The number of parts that have not arrived, as far as that is known.
    #[getter]
    fn missing(&self) -> usize {
        self.arrival().missing()
    }

    /// The numbers of the parts that arrived with damage.
    #[getter]
    fn damaged(&self) -> Vec<u32> {
        self.arrival().damaged().collect()
    }
}
