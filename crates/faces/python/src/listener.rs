//! Listeners, and connecting to them.

use std::os::fd::OwnedFd;
use std::sync::OnceLock;

use pyo3::exceptions::{PyBlockingIOError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use windfall_socket::{Carrier, SapConfig, SapListener, SapOptions, SharedKey};

use crate::address::{self, Address};
use crate::connection::{PySocket, descriptor};
use crate::failure::{Timeout, raise, span};

/// Builds the options of a profile and a carrier, given by name, with a pre-shared key.
fn options(key: Option<&[u8]>, profile: &str, carrier: &str) -> PyResult<SapOptions> {
    let wrong = |_| PyValueError::new_err("a key has 32 bytes");
    let key = key.map(|key| key.try_into().map(SharedKey::new).map_err(wrong)).transpose()?;
    let config = match profile {
        "standard" => SapConfig::standard(),
        "paper" => SapConfig::paper(),
        other => {
            let text = format!("{other:?} is no profile: write standard or paper");
            return Err(PyValueError::new_err(text));
        }
    };
    let carrier = carrier
        .parse::<Carrier>()
        .map(Some)
        .map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(SapOptions::default().with(|it| {
        it.config = config;
        it.carrier = carrier;
        it.key = key;
    }))
}

/// A connection and the address of its peer.
type Accepted<'py> = (PySocket, Bound<'py, PyTuple>);

/// A listener that accepts connections.
#[pyclass(frozen, name = "Listener", module = "windfall_sap")]
pub(crate) struct PyListener {
    listener: SapListener,
    timeout: Timeout,
    signal: OnceLock<OwnedFd>,
}

#[pymethods]
impl PyListener {
    /// Waits for the next connection; returns it and the address of its peer.
    fn accept<'py>(&self, py: Python<'py>) -> PyResult<Accepted<'py>> {
        if !self.timeout.waits() {
            return self.try_accept(py);
        }
        let timeout = self.timeout.get();
        let accepted = py.detach(|| match timeout {
            Some(timeout) => self.listener.accept_timeout(timeout),
            None => self.listener.accept(),
        });
        let (socket, from) = accepted.map_err(raise)?;
        Ok((PySocket::new(socket), address::tuple(py, from)?))
    }

    /// Accepts without waiting; raises BlockingIOError if no connection is there.
    fn try_accept<'py>(&self, py: Python<'py>) -> PyResult<Accepted<'py>> {
        let (socket, from) = self
            .listener
            .try_accept()
            .ok_or_else(|| PyBlockingIOError::new_err("no connection waits"))?;
        Ok((PySocket::new(socket), address::tuple(py, from)?))
    }

    /// Sets the longest time that `accept` waits, in seconds; `None` is no limit, 0 does not wait.
    fn settimeout(&self, seconds: Option<f64>) -> PyResult<()> {
        self.timeout.set(span(seconds)?);
        Ok(())
    }

    /// Returns the longest time that `accept` waits, in seconds; `None` is no limit.
    fn gettimeout(&self) -> Option<f64> {
        self.timeout.seconds()
    }

    /// Lets `accept` wait without limit, or raise BlockingIOError instead of waiting.
    fn setblocking(&self, blocking: bool) {
        self.timeout.set_blocking(blocking);
    }

    /// Returns whether `accept` waits.
    fn getblocking(&self) -> bool {
        self.timeout.waits()
    }

    /// Refuses connections from now on; accepted ones live on.
    fn close(&self, py: Python<'_>) {
        py.detach(|| self.listener.close());
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    /// Closes the listener at the end of a `with` block.
    #[pyo3(signature = (*_error))]
    fn __exit__(&self, py: Python<'_>, _error: &Bound<'_, PyTuple>) {
        self.close(py);
    }

    /// Returns a descriptor that is readable while a connection can be accepted.
    fn fileno(&self) -> PyResult<i32> {
        descriptor(&self.signal, || self.listener.readiness())
    }

    /// Returns the local address.
    fn getsockname<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        address::tuple(py, self.listener.local_addr().map_err(raise)?)
    }
}

/// Limits the memory of the messages that all sockets of this process hold, in bytes.
#[pyfunction]
pub(crate) fn limit_memory(limit: usize) {
    windfall_socket::limit_memory(limit);
}

/// Connects to a listener; encrypted with `key`, 32 random bytes that both ends share.
#[pyfunction]
#[pyo3(signature = (address, *, key = None, profile = "standard", carrier = "udp"))]
pub(crate) fn connect(
    py: Python<'_>,
    address: Address,
    key: Option<&[u8]>,
    profile: &str,
    carrier: &str,
) -> PyResult<PySocket> {
    let options = options(key, profile, carrier)?;
    let connected =
        py.detach(|| address.resolve().map(|addresses| options.connect(&addresses[..])))?;
    Ok(PySocket::new(connected.map_err(raise)?))
}

/// Listens; port 0 chooses a free one. With `key`, accepts only peers with the same key.
#[pyfunction]
#[pyo3(signature = (
    address = None, *, key = None, profile = "standard", carrier = "udp",
))]
pub(crate) fn listen(
    address: Option<Address>,
    key: Option<&[u8]>,
    profile: &str,
    carrier: &str,
) -> PyResult<PyListener> {
    let addresses = address.unwrap_or_else(Address::loopback).resolve()?;
    let listener = options(key, profile, carrier)?.listen(&addresses[..]).map_err(raise)?;
    Ok(PyListener { listener, timeout: Timeout::default(), signal: OnceLock::new() })
}
