//! Connections.

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::OnceLock;

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyTuple};
use windfall_socket::{Bytes, Duration, Message, Mode, Received, SapError, SapSocket, Tolerance};

use crate::address;
use crate::check::Raised;
use crate::failure::{Timeout, name, raise, span};
use crate::message::PyMessage;

/// A connection whose messages are precise or approximate.
#[pyclass(frozen, name = "Socket", module = "windfall_sap")]
pub(crate) struct PySocket {
    socket: SapSocket,
    timeout: Timeout,
    raised: Raised,
    signal: OnceLock<OwnedFd>,
    room: OnceLock<OwnedFd>,
}

impl PySocket {
    pub(crate) fn new(socket: SapSocket) -> Self {
        Self {
            socket,
            timeout: Timeout::default(),
            raised: Raised::default(),
            signal: OnceLock::new(),
            room: OnceLock::new(),
        }
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

    /// Receives as the timeout says.
    fn next(&self, py: Python<'_>) -> PyResult<Option<Received>> {
        let waits = self.timeout.waits();
        let received =
            if waits { py.detach(|| self.socket.recv()) } else { self.socket.try_recv() };
        received.map_err(|error| self.raised.by(error))
    }

    fn apply_timeout(&self) {
        self.socket.set_timeout(self.timeout.get());
    }
}

/// Returns the descriptor in `kept`, which `make` creates on the first call.
pub(crate) fn descriptor(
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

    /// Makes the following messages approximate, exact in these ranges, as (start, end).
    fn set_ranges(&self, ranges: Vec<(usize, usize)>) {
        let ranges = ranges.into_iter().map(|(start, end)| start..end).collect();
        self.socket.set_mode(Mode::Ranges(ranges));
    }

    //= S1.67
    /// Sets the damage that the application tolerates, in place of a mode: a bit error rate, loss,
    /// whether messages must keep their order, and the number of exact bytes at the front.
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

    //= S0.26
    /// Sets the function that decides on each approximate message before it is received; `None`
    /// removes it. It returns True to accept the message, False to drop it, or the ranges, as
    /// (start, end), that are to be sent again first. The call that receives raises its exceptions.
    fn set_check(&self, check: Option<Py<PyAny>>) {
        self.socket.set_check(check.map(|check| self.raised.check(check)));
    }

    /// Sends and receives approximate messages newest first: `send` drops the oldest that wait
    /// instead of waiting for room, and `recv` returns the newest that has arrived.
    #[pyo3(signature = (on = true))]
    fn set_newest_first(&self, on: bool) {
        self.socket.set_newest_first(on);
    }

    /// Sets how long `close` and `send_fin` wait without progress, in seconds; 60 by default.
    fn set_linger(&self, seconds: f64) -> PyResult<()> {
        span(Some(seconds))?.into_iter().for_each(|linger| self.socket.set_linger(linger));
        Ok(())
    }

    /// Sets the longest time that a call waits, in seconds; `None` is no limit, 0 does not wait.
    fn settimeout(&self, seconds: Option<f64>) -> PyResult<()> {
        self.timeout.set(span(seconds)?);
        self.apply_timeout();
        Ok(())
    }

    /// Returns the longest time that a call waits, in seconds; `None` is no limit.
    fn gettimeout(&self) -> Option<f64> {
        self.timeout.seconds()
    }

    /// Lets calls wait without limit, or raise BlockingIOError instead of waiting.
    fn setblocking(&self, blocking: bool) {
        self.timeout.set_blocking(blocking);
        self.apply_timeout();
    }

    /// Returns whether calls wait.
    fn getblocking(&self) -> bool {
        self.timeout.waits()
    }

    /// Sends one message, of `bytes` or any other object with a buffer, in a stream.
    #[pyo3(signature = (data, stream = 0))]
    fn send(&self, py: Python<'_>, data: &Bound<'_, PyAny>, stream: u16) -> PyResult<usize> {
        let message = self.message(data, stream)?;
        if self.timeout.waits() {
            py.detach(|| self.socket.send_message(&message)).map_err(raise)?;
        } else {
            self.socket.try_send(&message).map_err(raise)?;
        }
        Ok(message.data.len())
    }

    /// Sends several messages in a stream, which takes less time than one by one.
    #[pyo3(signature = (messages, stream = 0))]
    fn send_messages(
        &self,
        py: Python<'_>,
        messages: Vec<Bound<'_, PyAny>>,
        stream: u16,
    ) -> PyResult<()> {
        let messages = messages.iter().map(|data| self.message(data, stream));
        let messages = messages.collect::<PyResult<Vec<_>>>()?;
        py.detach(|| self.socket.send_messages(&messages)).map_err(raise)
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
        Ok(self.next(py)?.map(PyMessage))
    }

    /// Receives without waiting; raises BlockingIOError if no message is there.
    fn try_recv(&self) -> PyResult<Option<PyMessage>> {
        let received = self.socket.try_recv().map_err(|error| self.raised.by(error))?;
        Ok(received.map(PyMessage))
    }

    /// Copies the next message into a writable buffer and returns its length; 0 at the end.
    fn recv_into(&self, py: Python<'_>, buffer: PyBuffer<u8>) -> PyResult<usize> {
        let Some(received) = self.next(py)? else { return Ok(0) };
        let cells = buffer
            .as_mut_slice(py)
            .ok_or_else(|| PyValueError::new_err("the buffer cannot be written to in one piece"))?;
        for (cell, byte) in cells.iter().zip(&received.data) {
            cell.set(*byte);
        }
        Ok(received.data.len().min(cells.len()))
    }

    /// Iterates over the messages until the peer has finished.
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<PyMessage>> {
        self.recv(py)
    }

    /// Requests ranges, as (start, end), of an approximate message again.
    fn repair(&self, of: &PyMessage, ranges: Vec<(usize, usize)>) -> PyResult<()> {
        let ranges: Vec<_> = ranges.into_iter().map(|(start, end)| start..end).collect();
        self.socket.repair(&of.0, &ranges).map_err(raise)
    }

    /// Waits until everything precise is acknowledged and everything else sent.
    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.socket.flush()).map_err(raise)
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
    #[pyo3(signature = (*_error))]
    fn __exit__(&self, py: Python<'_>, _error: &Bound<'_, PyTuple>) -> PyResult<()> {
        self.close(py)
    }

    /// The length of the longest message.
    #[getter]
    fn max_message(&self) -> usize {
        self.socket.max_message()
    }

    /// The length of the longest message that goes in one datagram now; it may grow.
    #[getter]
    fn max_whole(&self) -> usize {
        self.socket.max_whole()
    }

    /// For how many seconds the peer has been silent although data wait for its answer; `None`
    /// while it answers.
    #[getter]
    fn silence(&self) -> Option<f64> {
        self.socket.silence().map(Duration::as_secs_f64)
    }

    /// The smoothed round-trip time in seconds; `None` until it is known.
    #[getter]
    fn round_trip(&self) -> Option<f64> {
        self.socket.round_trip().map(Duration::as_secs_f64)
    }

    /// Why the connection has ended: "closed", "closed-by-peer", "silent", "refused",
    /// "unreachable", "port-closed", "violation" or "displaced"; `None` while it has not.
    #[getter]
    fn close_reason(&self) -> Option<&'static str> {
        self.socket.close_reason().map(name)
    }

    /// Returns the address of the peer, which changes if the peer moves.
    fn getpeername<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        address::tuple(py, self.socket.peer_addr())
    }

    /// Returns the local address.
    fn getsockname<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        address::tuple(py, self.socket.local_addr())
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
