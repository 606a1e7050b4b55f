//! The life of a socket: from `sap_socket` to `sap_close`.

use std::ffi::{c_char, c_int};

use windfall_socket::{CloseReason, SapListener, SapOptions, SapSocket};

use crate::failure::{Failure, status, text_without_socket};
use crate::memory::{address_of, hand_out, put_address};
use crate::socket::Socket;

//= S0.16
/// Creates a socket in precise mode. See `sap.h`.
#[unsafe(no_mangle)]
pub extern "C" fn sap_socket() -> *mut Socket {
    hand_out(Socket::default())
}

//= S0.18
/// Connects to a listener. See `sap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sap_connect(
    sock: *mut Socket,
    address: *const c_char,
    port: u16,
) -> c_int {
    let socket = socket!(sock, -1);
    if address.is_null() {
        let failure = Failure::new(libc::EINVAL, "there is no address to connect to");
        return socket.error.report(Err(failure), -1);
    }
    // SAFETY: the caller passes a string that ends with a zero.
    let address = unsafe { address_of(address, port) };
    let connected = address.and_then(|address| {
        let timeout = socket.settings().timeout;
        let connect = |mut options: SapOptions| {
            let longest = options.config.connect_timeout;
            options.config.connect_timeout = timeout.map_or(longest, |it| it.min(longest));
            options.connect(address)
        };
        socket.open(connect, |connected| socket.keep(connected))
    });
    socket.error.report(connected, -1)
}

/// Listens without waiting. See `sap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sap_bind(sock: *mut Socket, address: *const c_char, port: u16) -> c_int {
    let socket = socket!(sock, -1);
    // SAFETY: the caller passes a string that ends with a zero, or null.
    let address = unsafe { address_of(address, port) };
    socket.error.report(address.and_then(|address| socket.bind(address)).map(|_| 0), -1)
}

//= S0.20
/// Waits for a connection to a bound socket. See `sap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sap_accept(sock: *mut Socket) -> *mut Socket {
    let socket = socket!(sock, std::ptr::null_mut());
    let accepted = socket.accept().and_then(|accepted| socket.for_accepted(accepted));
    socket.error.report(accepted.map(hand_out), std::ptr::null_mut())
}

//= S0.20
/// Listens and waits for one connection. See `sap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sap_listen(sock: *mut Socket, address: *const c_char, port: u16) -> c_int {
    let socket = socket!(sock, -1);
    // SAFETY: the caller passes a string that ends with a zero, or null.
    let address = unsafe { address_of(address, port) };
    let outcome = address.and_then(|address| {
        let listener = socket.bind(address)?;
        let accepted = socket.accept()?;
        // Others are refused instead of waiting for an accept that never comes.
        listener.close();
        socket.keep(accepted)
    });
    socket.error.report(outcome, -1)
}

/// Returns the local port. See `sap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sap_port(sock: *const Socket) -> u16 {
    let socket = socket!(sock, 0);
    let listening = socket.listener.get().and_then(|listener| listener.local_addr().ok());
    let connected = socket.socket.get().map(SapSocket::local_addr);
    listening.or(connected).map_or(0, |address| address.port())
}

/// Stores the address of the peer. See `sap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sap_peer(
    sock: *const Socket,
    address: *mut c_char,
    len: usize,
    port: *mut u16,
) -> c_int {
    let socket = socket!(sock, -1);
    let peer = socket.connected().map(SapSocket::peer_addr);
    // SAFETY: the caller passes room for `len` bytes and for a port, or null.
    let put = peer.and_then(|peer| unsafe { put_address(peer, address, len, port) });
    socket.error.report(put, -1)
}

/// Returns why the connection has ended. See `sap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sap_close_reason(sock: *const Socket) -> c_int {
    let socket = socket!(sock, 0);
    let ended = socket.socket.get().and_then(SapSocket::close_reason);
    match ended.or_else(|| socket.settings().refused) {
        None => 0,
        Some(CloseReason::Closed) => 1,
        Some(CloseReason::ClosedByPeer) => 2,
        Some(CloseReason::NoAnswer) => 3,
        Some(CloseReason::TimedOut) => 4,
        Some(CloseReason::Refused(_)) => 5,
        Some(CloseReason::Unreachable) => 6,
        Some(CloseReason::PortClosed) => 7,
        Some(CloseReason::Violation | CloseReason::StreamLimit) => 8,
        Some(CloseReason::Displaced) => 9,
    }
}

//= S0.19
/// Finishes this direction and waits for the acknowledgement. See `sap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sap_send_fin(sock: *mut Socket) -> c_int {
    let socket = socket!(sock, -1);
    let outcome = socket.connected().and_then(|open| Ok(open.finish_and_wait()?));
    socket.error.report(outcome.map(|()| 0), -1)
}

/// Returns a descriptor for polling. See `sap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sap_fd(sock: *mut Socket) -> c_int {
    let socket = socket!(sock, -1);
    socket.error.report(socket.readable(), -1)
}

/// Returns a descriptor for polling for room. See `sap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sap_room_fd(sock: *mut Socket) -> c_int {
    let socket = socket!(sock, -1);
    socket.error.report(socket.writable(), -1)
}

/// Returns the description of the last error. See `sap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sap_strerror(sock: *const Socket) -> *const c_char {
    if sock.is_null() {
        return text_without_socket();
    }
    socket!(sock, c"there is no socket".as_ptr()).error.text()
}

/// Closes the connection or the listener, and frees the socket. See `sap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sap_close(sock: *mut Socket) -> c_int {
    if sock.is_null() {
        return 0;
    }
    // SAFETY: the pointer is one that a function of `sap.h` returned, and no other call uses it any
    // more.
    let socket = unsafe { Box::from_raw(sock) };
    socket.listener.get().map(SapListener::close);
    let closed = socket.socket.get().map_or(Ok(()), SapSocket::finish_or_abort);
    drop(socket);
    status(closed.map_err(Failure::from))
}
