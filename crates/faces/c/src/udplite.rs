//! UDP-Lite sockets for C.

use std::ffi::{c_char, c_int, c_long, c_void};
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use windfall_rtp::ReceptionStatistics;
use windfall_socket::{Duration, ReceivedDatagram, UdpLiteSocket};

use crate::failure::{CallResult, Failure, LastError};
use crate::memory::{address_of, bytes_of, fill, hand_out, put_address, put_length};
use crate::options::carrier_of;

/// A UDP-Lite socket of the C interface.
pub struct LiteSocket {
    socket: UdpLiteSocket,
    /// The longest time that a call waits.
    timeout: Mutex<Option<Duration>>,
    pub(crate) error: LastError,
    pub(crate) counts: LiteCounts,
    /// The first source of RTP that was received, and the account of it.
    pub(crate) rtp: Mutex<Option<(u32, ReceptionStatistics)>>,
}

/// Datagrams, and their bytes behind the header.
#[derive(Default)]
pub(crate) struct LiteCounts {
    pub(crate) sent: AtomicU64,
    pub(crate) sent_bytes: AtomicU64,
    pub(crate) received: AtomicU64,
    pub(crate) received_bytes: AtomicU64,
    /// Datagrams that were no packets of RTP where those were asked for.
    pub(crate) refused: AtomicU64,
}

/// Resolves an address to the first that it stands for.
///
/// # Safety
/// `address` is null or a string that ends with a zero.
unsafe fn resolve(address: *const c_char, port: u16) -> CallResult<SocketAddr> {
    // SAFETY: as the caller promises.
    let address = unsafe { address_of(address, port) }?;
    address
        .to_socket_addrs()
        .ok()
        .and_then(|mut found| found.next())
        .ok_or_else(|| Failure::new(libc::ENXIO, format!("{address} is unknown")))
}

impl LiteSocket {
    /// Tries a call until it need not wait, at most until the timeout.
    fn wait<T>(
        &self,
        attempt: impl Fn() -> io::Result<T>,
        ready: impl Fn(Option<Duration>) -> io::Result<bool>,
    ) -> CallResult<T> {
        loop {
            let timeout = *self.timeout.lock().unwrap_or_else(PoisonError::into_inner);
            match attempt() {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                done => return Ok(done?),
            }
            if timeout.is_some_and(Duration::is_zero) || !ready(timeout)? {
                return Err(Failure::new(libc::EAGAIN, "nothing came in time"));
            }
        }
    }

    pub(crate) fn send(&self, data: &[u8], to: SocketAddr) -> CallResult<()> {
        self.wait(|| self.socket.send_to(data, to), |span| self.socket.wait_writable(span))?;
        self.counts.sent.fetch_add(1, Ordering::Relaxed);
        self.counts.sent_bytes.fetch_add(data.len() as u64, Ordering::Relaxed);
        Ok(())
    }

    /// Returns the peer of a connected socket.
    pub(crate) fn connected(&self) -> CallResult<SocketAddr> {
        self.socket
            .peer()
            .ok_or_else(|| Failure::new(libc::ENOTCONN, "the socket is not connected"))
    }

    /// Returns the number of datagrams that the socket has discarded.
    pub(crate) fn refused(&self) -> u64 {
        self.socket.drops().total()
    }

    pub(crate) fn receive(&self) -> CallResult<ReceivedDatagram> {
        let one = || {
            let mut arrivals = Vec::with_capacity(1);
            self.socket.receive_up_to(1, &mut arrivals)?;
            // A damaged one is dropped, and the next may have to be waited for.
            arrivals.pop().ok_or_else(|| io::ErrorKind::WouldBlock.into())
        };
        let received = self.wait(one, |span| self.socket.wait_readable(span))?;
        self.counts.received.fetch_add(1, Ordering::Relaxed);
        self.counts.received_bytes.fetch_add(received.data.len() as u64, Ordering::Relaxed);
        Ok(received)
    }
}

//= S0.3
/// Creates a UDP-Lite socket. See `sap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn udplite_socket(
    address: *const c_char,
    port: u16,
    carrier: *const c_char,
) -> *mut LiteSocket {
    // SAFETY: the caller passes strings that end with a zero, or null.
    let bound = unsafe { resolve(address, port).and_then(|at| Ok((at, carrier_of(carrier)?))) };
    let opened = bound.and_then(|(at, carrier)| Ok(UdpLiteSocket::bind(at, carrier)?));
    let opened = opened.map(|socket| {
        hand_out(LiteSocket {
            socket,
            timeout: Mutex::default(),
            error: LastError::default(),
            counts: LiteCounts::default(),
            rtp: Mutex::default(),
        })
    });
    LastError::default().report(opened, std::ptr::null_mut())
}

/// Connects to a peer. See `sap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn udplite_connect(
    sock: *mut LiteSocket,
    address: *const c_char,
    port: u16,
) -> c_int {
    let socket = socket!(sock, -1);
    // SAFETY: the caller passes a string that ends with a zero.
    let peer = unsafe { resolve(address, port) };
    let connected = peer.and_then(|peer| Ok(socket.socket.connect(peer)?));
    socket.error.report(connected.map(|()| 0), -1)
}

/// Sets an option by Linux's number. See `sap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn udplite_set_option(
    sock: *mut LiteSocket,
    name: c_int,
    value: c_int,
) -> c_int {
    let socket = socket!(sock, -1);
    let set = socket.socket.set_option(name, value).map_err(Failure::from);
    socket.error.report(set.map(|()| 0), -1)
}

/// Sets the longest time that a call waits. See `sap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn udplite_set_timeout(sock: *mut LiteSocket, milliseconds: c_int) -> c_int {
    let socket = socket!(sock, -1);
    let timeout = u64::try_from(milliseconds).ok().map(Duration::from_millis);
    *socket.timeout.lock().unwrap_or_else(PoisonError::into_inner) = timeout;
    0
}

/// Sends a datagram to the peer. See `sap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn udplite_send(
    sock: *mut LiteSocket,
    data: *const c_void,
    len: usize,
) -> c_long {
    let socket = socket!(sock, -1);
    let sent = socket.connected().and_then(|to| {
        // SAFETY: the caller passes `len` bytes that do not change during the call.
        socket.send(unsafe { bytes_of(data, len) }?, to)
    });
    socket.error.report(sent.map(|()| len as c_long), -1)
}

/// Sends a datagram to an address. See `sap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn udplite_sendto(
    sock: *mut LiteSocket,
    data: *const c_void,
    len: usize,
    address: *const c_char,
    port: u16,
) -> c_long {
    let socket = socket!(sock, -1);
    // SAFETY: the caller passes `len` bytes that do not change during the call, and a string that
    // ends with a zero.
    let sent = unsafe { resolve(address, port) }
        .and_then(|to| socket.send(unsafe { bytes_of(data, len) }?, to));
    socket.error.report(sent.map(|()| len as c_long), -1)
}

/// Receives a datagram. See `sap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn udplite_recvfrom(
    sock: *mut LiteSocket,
    data: *mut c_void,
    len: usize,
    address: *mut c_char,
    address_len: usize,
    port: *mut u16,
    length: *mut usize,
) -> c_long {
    let socket = socket!(sock, -1);
    let received = socket.receive().and_then(|datagram| {
        // SAFETY: the caller passes room for that many bytes, for a port and a length, or null.
        unsafe {
            put_address(datagram.from, address, address_len, port)?;
            put_length(length, datagram.data.len());
            Ok(fill(&datagram.data, data, len))
        }
    });
    socket.error.report(received, -1)
}

/// Returns the local port. See `sap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn udplite_port(sock: *const LiteSocket) -> u16 {
    socket!(sock, 0).socket.local_addr().port()
}

/// Returns the name of the carrier. See `sap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn udplite_carrier(sock: *const LiteSocket) -> *const c_char {
    let name = match socket!(sock, std::ptr::null()).socket.carrier() {
        windfall_socket::Carrier::Kernel => c"kernel",
        windfall_socket::Carrier::Raw => c"raw",
        windfall_socket::Carrier::Udp => c"udp",
    };
    name.as_ptr()
}

/// Returns the descriptor of the socket. See `sap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn udplite_fd(sock: *const LiteSocket) -> c_int {
    socket!(sock, -1).socket.as_fd().as_raw_fd()
}

/// Returns the description of the last error. See `sap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn udplite_strerror(sock: *const LiteSocket) -> *const c_char {
    socket!(sock, c"there is no socket".as_ptr()).error.text()
}

/// Closes and frees the socket. See `sap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn udplite_close(sock: *mut LiteSocket) -> c_int {
    if sock.is_null() {
        return 0;
    }
    // SAFETY: the pointer is one that `udplite_socket` returned, and no call uses it any more.
    drop(unsafe { Box::from_raw(sock) });
    0
}
