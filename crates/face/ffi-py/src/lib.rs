//! SAP sockets for Python, a thin layer over `windfall_socket`.
//!
//! Calls that may wait release the interpreter's lock. Bytes are not copied: `send` keeps the
//! `bytes` object, and `memoryview(message)` shows the received data. The module `windfall_sap.aio`
//! is for asyncio; it uses `fileno`, `room` and the calls that do not wait.

#![expect(clippy::needless_pass_by_value, reason = "Python hands over values")]
#![expect(unsafe_code, reason = "Python's protocol of buffers hands over pointers")]

use std::ffi::c_int;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::OnceLock;

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{
    PyBlockingIOError, PyConnectionError, PyConnectionRefusedError, PyOSError, PyTimeoutError,
    PyValueError,
};
use pyo3::ffi::{self, c_str};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use windfall_socket::{
    Bytes, Carrier, CloseReason, Duration, Integrity, Message, MessageKind, Mode, Received,
    SapConfig, SapError, SapListener, SapOptions, SapSendError, SapSocket, SharedKey, Tolerance,
    UnfinishedReason,
};

/// Converts an error to a Python exception.
fn raise(error: SapError) -> PyErr {
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
            | CloseReason::Violation => PyConnectionError::new_err(text),
        },
        SapError::TimedOut | SapError::Unfinished { .. } => PyTimeoutError::new_err(text),
    }
}

/// Converts seconds to a duration; `None` is no limit.
fn span(seconds: Option<f64>) -> PyResult<Option<Duration>> {
    match seconds {
        Some(seconds) if !(0.0..=1e9).contains(&seconds) => {
            Err(PyValueError::new_err(format!("a timeout cannot be {seconds} seconds")))
        }
        seconds => Ok(seconds.map(Duration::from_secs_f64)),
    }
}

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
    Ok(SapOptions { config, carrier, key })
}

/// A received message, with `len` and as a buffer: `memoryview(message)`.
#[pyclass(frozen, name = "Message")]
struct PyMessage(Received);

#[pymethods]
impl PyMessage {
    /// Returns a copy of the bytes.
    #[getter]
    fn data<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.data)
    }

    /// Returns "precise", "approximate" or "repair".
    #[getter]
    fn kind(&self) -> &'static str {
        match self.0.kind {
            MessageKind::Precise => "precise",
            MessageKind::Approximate => "approximate",
            MessageKind::Repair => "repair",
        }
    }

    /// Returns the sequence number within the stream and kind; a gap is a loss.
    #[getter]
    fn number(&self) -> u32 {
        self.0.number
    }

    /// Returns the stream of the message.
    #[getter]
    fn stream(&self) -> u16 {
        self.0.stream
    }

    /// Returns the ranges, as (start, end), that are known to be exact.
    #[getter]
    fn exact(&self) -> Vec<(usize, usize)> {
        self.0.exact.iter().map(|range| (range.start, range.end)).collect()
    }

    /// Returns the ranges, as (start, end), that hold bit errors; `None` if no check covers them.
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

    /// Exposes the bytes without a copy; the view keeps the message alive.
    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        let data = &slf.get().0.data;
        let (start, len) = (data.as_ptr().cast_mut().cast(), data.len().cast_signed());
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

/// A connection whose messages are precise or approximate.
#[pyclass(frozen, name = "Socket")]
struct PySocket {
    socket: SapSocket,
    signal: OnceLock<OwnedFd>,
    room: OnceLock<OwnedFd>,
}

impl PySocket {
    fn new(socket: SapSocket) -> Self {
        Self { socket, signal: OnceLock::new(), room: OnceLock::new() }
    }

    /// Creates a message from a buffer; copies it only if it is mutable.
    fn message(&self, data: &Bound<'_, PyAny>, stream: u16) -> PyResult<Message> {
        let data = match data.cast::<PyBytes>() {
            Ok(bytes) => Bytes::from_owner(PyBackedBytes::from(bytes.clone())),
            Err(_) => {
                let buffer = PyBuffer::<u8>::get(data)?;
                self.socket.check_length(buffer.len_bytes()).map_err(raise)?;
                buffer.to_vec(data.py())?.into()
            }
        };
        Ok(Message { stream, ..self.socket.message_of(data) })
    }
}

/// Returns the descriptor in `kept`, which `make` creates on the first call.
fn descriptor(
    kept: &OnceLock<OwnedFd>,
    make: impl FnOnce() -> Result<OwnedFd, SapError>,
) -> PyResult<i32> {
    if let Some(made) = kept.get() {
        return Ok(made.as_raw_fd());
    }
    let made = make().map_err(raise)?;
    Ok(kept.get_or_init(|| made).as_raw_fd())
}

#[pymethods]
impl PySocket {
    /// Makes the following messages precise.
    fn set_precise(&self) {
        self.socket.set_mode(Mode::Precise);
    }

    /// Makes the following messages approximate, with `protected` exact bytes at the front.
    #[pyo3(signature = (protected = 0))]
    fn set_approximate(&self, protected: usize) {
        self.socket.set_mode(Mode::Approximate { protected });
    }

    /// Sets the longest time that a call waits, in seconds; `None` is no limit.
    fn settimeout(&self, seconds: Option<f64>) -> PyResult<()> {
        self.socket.set_timeout(span(seconds)?);
        Ok(())
    }

    /// Makes the following messages approximate, exact in these ranges, as (start, end).
    fn set_ranges(&self, ranges: Vec<(usize, usize)>) {
        let ranges = ranges.into_iter().map(|(start, end)| start..end).collect();
        self.socket.set_mode(Mode::Ranges(ranges));
    }

    /// Sets the damage that the application tolerates, in place of a mode: a bit error rate, loss,
    /// whether messages must keep their order, and the number of exact bytes at the front.
    //= S1.67
    #[pyo3(signature = (bit_errors = 0.0, loss = false, in_order = false, protected = 0))]
    fn set_tolerance(
        &self,
        bit_errors: f64,
        loss: bool,
        in_order: bool,
        protected: usize,
    ) -> PyResult<()> {
        let tolerance = Tolerance { bit_errors, loss, in_order, protected };
        self.socket.set_tolerance(Some(tolerance)).map_err(raise)
    }

    /// Sends one message, of `bytes` or any other object with a buffer, in a stream.
    #[pyo3(signature = (data, stream = 0))]
    fn send(&self, py: Python<'_>, data: &Bound<'_, PyAny>, stream: u16) -> PyResult<usize> {
        let message = self.message(data, stream)?;
        py.detach(|| self.socket.send_message(&message)).map_err(raise)?;
        Ok(message.data.len())
    }

    /// Sends without waiting; raises BlockingIOError if the send buffer is full.
    #[pyo3(signature = (data, stream = 0))]
    fn try_send(&self, data: &Bound<'_, PyAny>, stream: u16) -> PyResult<usize> {
        let message = self.message(data, stream)?;
        self.socket.try_send(&message).map_err(raise)?;
        Ok(message.data.len())
    }

    /// Receives the next message; `None` once the peer has finished.
    fn recv(&self, py: Python<'_>) -> PyResult<Option<PyMessage>> {
        let received = py.detach(|| self.socket.recv()).map_err(raise)?;
        Ok(received.map(PyMessage))
    }

    /// Receives without waiting; raises BlockingIOError if no message is there.
    fn try_recv(&self) -> PyResult<Option<PyMessage>> {
        Ok(self.socket.try_recv().map_err(raise)?.map(PyMessage))
    }

    /// Copies the next message into a writable buffer and returns its length; 0 at the end.
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

    /// Requests ranges, as (start, end), of an approximate message again.
    fn repair(&self, of: &PyMessage, ranges: Vec<(usize, usize)>) -> PyResult<()> {
        let ranges: Vec<_> = ranges.into_iter().map(|(start, end)| start..end).collect();
        self.socket.repair(&of.0, &ranges).map_err(raise)
    }

    /// Finishes this direction and waits until the peer has acknowledged everything, as long as
    /// there is progress and at most for the timeout.
    fn send_fin(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.socket.finish_and_wait()).map_err(raise)
    }

    /// Closes the connection after the peer has acknowledged everything.
    ///
    /// Waits as `send_fin` does. Without progress the connection is reset. When the timeout
    /// expires, delivery continues in the background while the program runs. A socket that is
    /// dropped without `close` does not wait: messages may be lost if the program ends.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.socket.finish_or_abort()).map_err(raise)
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    /// Closes the connection at the end of a `with` block.
    fn __exit__(
        &self,
        py: Python<'_>,
        _kind: &Bound<'_, PyAny>,
        _value: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        self.close(py)
    }

    /// Returns the longest message that the path carries now.
    #[getter]
    fn max_message(&self) -> usize {
        self.socket.max_message()
    }

    /// Returns the address and the port of the peer.
    fn getpeername(&self) -> (String, u16) {
        let peer = self.socket.peer_addr();
        (peer.ip().to_string(), peer.port())
    }

    /// Returns a descriptor that is readable while a message or the end can be received.
    fn fileno(&self) -> PyResult<i32> {
        descriptor(&self.signal, || self.socket.readiness())
    }

    /// Returns a descriptor that becomes readable when the send buffer has room again.
    fn room(&self) -> PyResult<i32> {
        descriptor(&self.room, || self.socket.room())
    }
}

/// A listener that accepts connections.
#[pyclass(frozen, name = "Listener")]
struct PyListener {
    listener: SapListener,
    signal: OnceLock<OwnedFd>,
}

#[pymethods]
impl PyListener {
    /// Waits for the next connection, at most for `timeout` seconds.
    #[pyo3(signature = (timeout = None))]
    fn accept(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<PySocket> {
        let timeout = span(timeout)?;
        let accepted = py.detach(|| match timeout {
            Some(timeout) => self.listener.accept_timeout(timeout),
            None => self.listener.accept(),
        });
        Ok(PySocket::new(accepted.map_err(raise)?.0))
    }

    /// Accepts without waiting; raises BlockingIOError if no connection is there.
    fn try_accept(&self) -> PyResult<PySocket> {
        let accepted = self.listener.try_accept();
        let none = || PyBlockingIOError::new_err("no connection waits");
        accepted.map(|(socket, _)| PySocket::new(socket)).ok_or_else(none)
    }

    /// Returns a descriptor that is readable while a connection can be accepted.
    fn fileno(&self) -> PyResult<i32> {
        descriptor(&self.signal, || self.listener.readiness())
    }

    /// Returns the local address and port.
    fn getsockname(&self) -> PyResult<(String, u16)> {
        let local = self.listener.local_addr().map_err(raise)?;
        Ok((local.ip().to_string(), local.port()))
    }
}

/// Connects to a listener; encrypted with `key`, 32 random bytes that both ends share.
#[pyfunction]
#[pyo3(signature = (host, port, key = None, profile = "standard", carrier = "udp"))]
fn connect(
    py: Python<'_>,
    host: &str,
    port: u16,
    key: Option<&[u8]>,
    profile: &str,
    carrier: &str,
) -> PyResult<PySocket> {
    let options = options(key, profile, carrier)?;
    let connected = py.detach(|| options.connect((host, port)));
    Ok(PySocket::new(connected.map_err(raise)?))
}

/// Listens; port 0 chooses a free one. With `key`, accepts only peers with the same key.
#[pyfunction]
#[pyo3(signature = (
    host = "127.0.0.1", port = 0, key = None, profile = "standard", carrier = "udp",
))]
fn listen(
    host: &str,
    port: u16,
    key: Option<&[u8]>,
    profile: &str,
    carrier: &str,
) -> PyResult<PyListener> {
    let listener = options(key, profile, carrier)?.listen((host, port)).map_err(raise)?;
    Ok(PyListener { listener, signal: OnceLock::new() })
}

/// SAP: sockets whose messages are precise or approximate.
#[pymodule]
fn windfall_sap(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyMessage>()?;
    module.add_class::<PySocket>()?;
    module.add_class::<PyListener>()?;
    module.add_function(wrap_pyfunction!(connect, module)?)?;
    module.add_function(wrap_pyfunction!(listen, module)?)?;
    let (py, name) = (module.py(), c"windfall_sap.aio");
    let aio = PyModule::from_code(py, c_str!(include_str!("aio.py")), c"aio.py", name)?;
    // Makes it importable by name, although it is no file.
    py.import("sys")?.getattr("modules")?.set_item("windfall_sap.aio", &aio)?;
    module.add("aio", aio)
}
