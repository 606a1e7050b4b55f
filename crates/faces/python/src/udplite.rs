//! UDP-Lite sockets.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyOSError, PyTimeoutError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use windfall_socket::{Carrier, Duration, ReceivedDatagram, UdpLiteSocket};

use crate::address::{self, Address};
use crate::failure::{Timeout, span};

/// The number of UDP-Lite among the protocols of IP, and the level of its options.
pub(crate) const PROTOCOL: i32 = 136;

/// A UDP-Lite socket over any carrier, with the methods of Python's own.
#[pyclass(frozen, name = "UdpLiteSocket", module = "windfall_sap")]
pub(crate) struct PyUdpLiteSocket {
    /// `None` once it is closed.
    socket: Mutex<Option<Arc<UdpLiteSocket>>>,
    timeout: Timeout,
}

/// Copies the bytes to send, which another thread might change meanwhile.
fn copied(data: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    PyBuffer::<u8>::get(data)?.to_vec(data.py())
}

impl PyUdpLiteSocket {
    fn open(&self) -> PyResult<Arc<UdpLiteSocket>> {
        let socket = self.socket.lock().unwrap_or_else(PoisonError::into_inner).clone();
        socket.ok_or_else(|| PyOSError::new_err((9, "the socket is closed")))
    }

    /// Tries a call until it need not wait, at most until the timeout.
    fn wait<T>(
        &self,
        py: Python<'_>,
        attempt: impl Fn(&UdpLiteSocket) -> io::Result<T>,
        ready: fn(&UdpLiteSocket, Option<Duration>) -> io::Result<bool>,
    ) -> PyResult<T> {
        let socket = self.open()?;
        let timeout = self.timeout.get();
        loop {
            match attempt(&socket) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && self.timeout.waits() => {
                }
                done => return Ok(done?),
            }
            if !py.detach(|| ready(&socket, timeout))? {
                return Err(PyTimeoutError::new_err("nothing came in time"));
            }
            py.check_signals()?;
        }
    }

    fn send_one(&self, py: Python<'_>, data: &[u8], to: SocketAddr) -> PyResult<usize> {
        self.wait(py, |socket| socket.send_to(data, to), UdpLiteSocket::wait_writable)?;
        Ok(data.len())
    }

    fn receive(&self, py: Python<'_>) -> PyResult<ReceivedDatagram> {
        let one = |socket: &UdpLiteSocket| {
            let mut arrivals = Vec::with_capacity(1);
            socket.receive_up_to(1, &mut arrivals)?;
            // A damaged one is dropped, and the next may have to be waited for.
            arrivals.pop().ok_or_else(|| io::ErrorKind::WouldBlock.into())
        };
        self.wait(py, one, UdpLiteSocket::wait_readable)
    }
}

#[pymethods]
impl PyUdpLiteSocket {
    //= S0.3
    /// Binds a socket over "kernel", "raw" or "udp", or over the first that this host permits.
    #[new]
    #[pyo3(signature = (address = None, carrier = None))]
    fn new(address: Option<Address>, carrier: Option<&str>) -> PyResult<Self> {
        let carrier = carrier.map(str::parse::<Carrier>).transpose();
        let carrier = carrier.map_err(|error| PyValueError::new_err(error.to_string()))?;
        let at = address.unwrap_or_else(Address::any).first()?;
        let socket = Mutex::new(Some(Arc::new(UdpLiteSocket::bind(at, carrier)?)));
        Ok(Self { socket, timeout: Timeout::default() })
    }

    /// Connects to a peer, once: only its datagrams are received from then on.
    fn connect(&self, address: Address) -> PyResult<()> {
        Ok(self.open()?.connect(address.first()?)?)
    }

    /// Sets an option of the level IPPROTO_UDPLITE: UDPLITE_SEND_CSCOV or UDPLITE_RECV_CSCOV.
    fn setsockopt(&self, level: i32, option: i32, value: i32) -> PyResult<()> {
        if level != PROTOCOL {
            let text = format!("level {level} is not IPPROTO_UDPLITE ({PROTOCOL})");
            return Err(PyValueError::new_err(text));
        }
        self.open()?
            .set_option(option, value)
            .map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// Sends one datagram to the peer; returns its length.
    fn send(&self, py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<usize> {
        let peer = self.open()?.peer();
        let to = peer.ok_or_else(|| PyOSError::new_err((107, "the socket is not connected")))?;
        self.send_one(py, &copied(data)?, to)
    }

    /// Sends one datagram to an address; returns its length.
    fn sendto(&self, py: Python<'_>, data: &Bound<'_, PyAny>, address: Address) -> PyResult<usize> {
        self.send_one(py, &copied(data)?, address.first()?)
    }

    /// Receives one datagram whose checksum is correct, at most `bufsize` bytes of it.
    #[pyo3(signature = (bufsize = 65535))]
    fn recv<'py>(&self, py: Python<'py>, bufsize: usize) -> PyResult<Bound<'py, PyBytes>> {
        let datagram = self.receive(py)?;
        Ok(PyBytes::new(py, &datagram.data[..datagram.data.len().min(bufsize)]))
    }

    /// Receives as `recv` does; returns the bytes and the address of the sender.
    #[pyo3(signature = (bufsize = 65535))]
    fn recvfrom<'py>(
        &self,
        py: Python<'py>,
        bufsize: usize,
    ) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyTuple>)> {
        let datagram = self.receive(py)?;
        let data = PyBytes::new(py, &datagram.data[..datagram.data.len().min(bufsize)]);
        Ok((data, address::tuple(py, datagram.from)?))
    }

    /// Sets the longest time that a call waits, in seconds; `None` is no limit, 0 does not wait.
    fn settimeout(&self, seconds: Option<f64>) -> PyResult<()> {
        self.timeout.set(span(seconds)?);
        Ok(())
    }

    /// Returns the longest time that a call waits, in seconds; `None` is no limit.
    fn gettimeout(&self) -> Option<f64> {
        self.timeout.seconds()
    }

    /// Lets calls wait without limit, or raise BlockingIOError instead of waiting.
    fn setblocking(&self, blocking: bool) {
        self.timeout.set_blocking(blocking);
    }

    /// Returns whether calls wait.
    fn getblocking(&self) -> bool {
        self.timeout.waits()
    }

    /// The carrier of the datagrams: "kernel", "raw" or "udp".
    #[getter]
    fn carrier(&self) -> PyResult<&'static str> {
        Ok(self.open()?.carrier().name())
    }

    /// Returns the local address.
    fn getsockname<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        address::tuple(py, self.open()?.local_addr())
    }

    /// Returns the address of the peer.
    fn getpeername<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let peer = self.open()?.peer();
        address::tuple(
            py,
            peer.ok_or_else(|| PyOSError::new_err((107, "the socket is not connected")))?,
        )
    }

    /// Returns the descriptor, which is readable while datagrams wait; -1 once it is closed.
    fn fileno(&self) -> i32 {
        self.open().map_or(-1, |socket| socket.as_fd().as_raw_fd())
    }

    /// Closes the socket.
    fn close(&self) {
        *self.socket.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    /// Closes the socket at the end of a `with` block.
    #[pyo3(signature = (*_error))]
    fn __exit__(&self, _error: &Bound<'_, PyTuple>) {
        self.close();
    }
}
