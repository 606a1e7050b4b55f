//! SAP sockets for Python, a thin layer over `windfall_socket`.
//!
//! Calls that may wait release the interpreter's lock. For asyncio there is `fileno`, which can be
//! read while a message waits: `loop.add_reader(sock.fileno(), …)`, and `try_recv`.

#![expect(clippy::needless_pass_by_value, reason = "Python hands over values")]

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::OnceLock;

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{
    PyBlockingIOError, PyConnectionError, PyConnectionRefusedError, PyOSError, PyTimeoutError,
    PyValueError,
};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use windfall_socket::{
    CloseReason, Duration, Error, Integrity, Key, Kind, Message, Mode, Options, Received,
    SapListener, SapSocket, SendError,
};

/// The exception that fits an error best.
fn raise(error: Error) -> PyErr {
    let text = error.to_string();
    match error {
        Error::System { source, .. } => match source.raw_os_error() {
            Some(number) => PyOSError::new_err((number, text)),
            None => PyOSError::new_err(text),
        },
        Error::Send(SendError::Full) => PyBlockingIOError::new_err(text),
        Error::Send(SendError::NotOpen | SendError::Finished) => PyConnectionError::new_err(text),
        Error::Send(_) | Error::Address(_) => PyValueError::new_err(text),
        Error::TimedOut | Error::Closed(CloseReason::NoAnswer | CloseReason::TimedOut) => {
            PyTimeoutError::new_err(text)
        }
        Error::Closed(CloseReason::Refused(_)) => PyConnectionRefusedError::new_err(text),
        Error::Closed(_) => PyConnectionError::new_err(text),
    }
}

/// A span of time from Python's seconds, where `None` is without limit.
fn span(seconds: Option<f64>) -> PyResult<Option<Duration>> {
    match seconds {
        Some(seconds) if !(0.0..=1e9).contains(&seconds) => {
            Err(PyValueError::new_err(format!("a timeout cannot be {seconds} seconds")))
        }
        seconds => Ok(seconds.map(Duration::from_secs_f64)),
    }
}

/// Options with the key that both ends share, if there is one.
fn options(key: Option<&[u8]>) -> PyResult<Options> {
    let wrong = |_| PyValueError::new_err("a key has 32 bytes");
    let key = key.map(|key| key.try_into().map(Key::new).map_err(wrong)).transpose()?;
    Ok(Options { key, ..Options::default() })
}

/// A message that arrived. It supports the buffer protocol through `data`, and `len`.
#[pyclass(frozen, name = "Message")]
struct PyMessage(Received);

#[pymethods]
impl PyMessage {
    /// The bytes.
    #[getter]
    fn data<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.data)
    }

    /// "precise", "approximate" or "repair".
    #[getter]
    fn kind(&self) -> &'static str {
        match self.0.kind {
            Kind::Precise => "precise",
            Kind::Approximate => "approximate",
            Kind::Repair => "repair",
        }
    }

    /// Its number among those of its stream and kind; a gap is loss.
    #[getter]
    fn number(&self) -> u32 {
        self.0.number
    }

    /// The stream.
    #[getter]
    fn stream(&self) -> u16 {
        self.0.stream
    }

    /// The ranges, as (start, end), that are certainly exact.
    #[getter]
    fn exact(&self) -> Vec<(usize, usize)> {
        self.0.exact.iter().map(|range| (range.start, range.end)).collect()
    }

    /// The ranges, as (start, end), that hold wrong bits; `None` if nobody checked.
    #[getter]
    fn suspect(&self) -> Option<Vec<(usize, usize)>> {
        match &self.0.integrity {
            Integrity::Intact => Some(Vec::new()),
            Integrity::Unknown => None,
            Integrity::Suspect(ranges) => {
                Some(ranges.iter().map(|range| (range.start, range.end)).collect())
            }
        }
    }

    fn __len__(&self) -> usize {
        self.0.data.len()
    }

    fn __repr__(&self) -> String {
        format!("<Message {} {} of {} bytes>", self.kind(), self.0.number, self.0.data.len())
    }
}

/// A connection whose messages are precise or approximate.
#[pyclass(frozen, name = "Socket")]
struct PySocket {
    socket: SapSocket,
    signal: OnceLock<OwnedFd>,
}

impl PySocket {
    fn new(socket: SapSocket) -> Self {
        Self { socket, signal: OnceLock::new() }
    }
}

#[pymethods]
impl PySocket {
    /// Makes the next messages precise.
    fn set_precise(&self) {
        self.socket.set_mode(Mode::Precise);
    }

    /// Makes the next messages approximate, their first `protected` bytes exact.
    #[pyo3(signature = (protected = 0))]
    fn set_approximate(&self, protected: usize) {
        self.socket.set_mode(Mode::Approximate { protected });
    }

    /// How long calls may wait, in seconds; `None` without limit.
    fn settimeout(&self, seconds: Option<f64>) -> PyResult<()> {
        self.socket.set_timeout(span(seconds)?);
        Ok(())
    }

    /// Sends one message: any object with a buffer of bytes.
    fn send(&self, py: Python<'_>, data: PyBuffer<u8>) -> PyResult<usize> {
        let data = data.to_vec(py)?;
        let len = data.len();
        let message = Message::new(self.socket.mode(), data);
        py.detach(|| self.socket.send_message(&message)).map_err(raise)?;
        Ok(len)
    }

    /// The next message; `None` once the other end has finished.
    fn recv(&self, py: Python<'_>) -> PyResult<Option<PyMessage>> {
        let received = py.detach(|| self.socket.recv()).map_err(raise)?;
        Ok(received.map(PyMessage))
    }

    /// As `recv`; raises BlockingIOError if nothing is there.
    fn try_recv(&self) -> PyResult<Option<PyMessage>> {
        match self.socket.try_recv().map_err(raise)? {
            Some(received) => Ok(received.map(PyMessage)),
            None => Err(PyBlockingIOError::new_err("no message is there")),
        }
    }

    /// Copies the next message into a writable buffer and gives its length; 0 at the end.
    fn recv_into(&self, py: Python<'_>, buffer: PyBuffer<u8>) -> PyResult<usize> {
        let Some(received) = py.detach(|| self.socket.recv()).map_err(raise)? else { return Ok(0) };
        let cells = buffer
            .as_mut_slice(py)
            .ok_or_else(|| PyValueError::new_err("the buffer cannot be written to in one piece"))?;
        for (cell, byte) in cells.iter().zip(&received.data) {
            cell.set(*byte);
        }
        Ok(received.data.len().min(cells.len()))
    }

    /// Asks for ranges, as (start, end), of an approximate message again.
    fn repair(&self, of: &PyMessage, ranges: Vec<(usize, usize)>) -> PyResult<()> {
        let ranges: Vec<_> = ranges.into_iter().map(|(start, end)| start..end).collect();
        self.socket.repair(&of.0, &ranges).map_err(raise)
    }

    /// Says that nothing more will be sent, and waits until the other end knows.
    fn send_fin(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.socket.finish_and_wait()).map_err(raise)
    }

    /// The longest message that the path carries now.
    #[getter]
    fn max_message(&self) -> usize {
        self.socket.max_message()
    }

    /// The address and the port of the other end.
    fn getpeername(&self) -> (String, u16) {
        let peer = self.socket.peer_addr();
        (peer.ip().to_string(), peer.port())
    }

    /// A descriptor that can be read while a message waits, or the end.
    fn fileno(&self) -> PyResult<i32> {
        if let Some(signal) = self.signal.get() {
            return Ok(signal.as_raw_fd());
        }
        let made = self.socket.readiness().map_err(raise)?;
        Ok(self.signal.get_or_init(|| made).as_raw_fd())
    }
}

/// A socket that takes connections.
#[pyclass(frozen, name = "Listener")]
struct PyListener(SapListener);

#[pymethods]
impl PyListener {
    /// Waits for the next connection, at most for `timeout` seconds.
    #[pyo3(signature = (timeout = None))]
    fn accept(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<PySocket> {
        let timeout = span(timeout)?;
        let accepted = py.detach(|| match timeout {
            Some(timeout) => self.0.accept_timeout(timeout),
            None => self.0.accept(),
        });
        Ok(PySocket::new(accepted.map_err(raise)?.0))
    }

    /// The address and the port where it listens.
    fn getsockname(&self) -> PyResult<(String, u16)> {
        let local = self.0.local_addr().map_err(raise)?;
        Ok((local.ip().to_string(), local.port()))
    }
}

/// Connects to a listener; encrypted with `key`, 32 random bytes that both ends share.
#[pyfunction]
#[pyo3(signature = (host, port, key = None))]
fn connect(py: Python<'_>, host: &str, port: u16, key: Option<&[u8]>) -> PyResult<PySocket> {
    let options = options(key)?;
    let connected = py.detach(|| options.connect((host, port)));
    Ok(PySocket::new(connected.map_err(raise)?))
}

/// Listens; port 0 takes a free one. With `key`, takes only those who share it.
#[pyfunction]
#[pyo3(signature = (host = "127.0.0.1", port = 0, key = None))]
fn listen(host: &str, port: u16, key: Option<&[u8]>) -> PyResult<PyListener> {
    options(key)?.listen((host, port)).map(PyListener).map_err(raise)
}

/// SAP: sockets whose messages are precise or approximate.
#[pymodule]
fn windfall_sap(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyMessage>()?;
    module.add_class::<PySocket>()?;
    module.add_class::<PyListener>()?;
    module.add_function(wrap_pyfunction!(connect, module)?)?;
    module.add_function(wrap_pyfunction!(listen, module)?)
}
