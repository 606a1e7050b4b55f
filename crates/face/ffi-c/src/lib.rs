//! libsap: the functions of `sap.h`, a thin layer over [`windfall_socket`].
//!
//! `sap.h` documents each function. Every pointer argument is one that `sap_socket` returned, or
//! memory of the caller with the stated length.
#![expect(unsafe_code, reason = "C hands over pointers")]
#![expect(clippy::missing_safety_doc, reason = "the header states the conditions")]

use std::alloc::{Layout, alloc};
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int, c_long, c_void};
use std::io::ErrorKind;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::{Mutex, OnceLock, PoisonError};

use windfall_socket::{
    Carrier, CloseReason, Duration, Integrity, Message, MessageKind, Mode, Received, SapConfig,
    SapError, SapListener, SapOptions, SapSendError, SapSocket, SharedKey, Tolerance,
    UnfinishedReason,
};

/// A socket of the C interface: new, listening or connected.
#[derive(Default)]
pub struct Socket {
    listener: OnceLock<SapListener>,
    socket: OnceLock<SapSocket>,
    fd: OnceLock<OwnedFd>,
    settings: Mutex<Settings>,
}

#[derive(Default)]
struct Settings {
    mode: Mode,
    tolerance: Option<Tolerance>,
    stream: u16,
    timeout: Option<Duration>,
    options: SapOptions,
    /// The number of calls that are connecting or listening with the options.
    opening: usize,
    finished: bool,
    error: Option<CString>,
}

thread_local! {
    /// The last text that `sap_strerror` returned to this thread; no other thread can free it.
    static EXPLANATION: RefCell<CString> = RefCell::default();
}

/// The properties of a message in the layout of `sap.h`.
#[derive(Default)]
#[repr(C)]
pub struct Info {
    kind: c_int,
    integrity: c_int,
    number: u32,
    stream: u16,
    exact: usize,
    suspect_start: usize,
    suspect_end: usize,
}

impl Info {
    fn of(message: &Received) -> Self {
        let kind = match message.kind {
            MessageKind::Precise => 0,
            MessageKind::Approximate => 1,
            MessageKind::Repair => 2,
        };
        let (integrity, suspect) = match &message.integrity {
            Integrity::Intact => (0, 0..0),
            Integrity::Unknown => (1, 0..0),
            Integrity::Suspect(ranges) => {
                let start = ranges.first().map_or(0, |range| range.start);
                (2, start..ranges.last().map_or(start, |range| range.end))
            }
        };
        let exact = message.exact.first().filter(|range| range.start == 0);
        Self {
            kind,
            integrity,
            number: message.number,
            stream: message.stream,
            exact: exact.map_or(0, |range| range.end),
            suspect_start: suspect.start,
            suspect_end: suspect.end,
        }
    }
}

/// The result of a call, or an errno and a description.
type CallResult<T> = Result<T, (c_int, String)>;

fn set_errno(number: c_int) {
    // SAFETY: the address of this thread's errno is always writable.
    unsafe { *libc::__errno_location() = number };
}

/// Converts an error to an errno and a description.
fn explain(error: &SapError) -> (c_int, String) {
    let number = match error {
        SapError::System { source, .. } => source.raw_os_error().unwrap_or(libc::EIO),
        SapError::Name(source) if source.kind() == ErrorKind::InvalidInput => libc::EINVAL,
        SapError::Name(source) => source.raw_os_error().unwrap_or(libc::ENXIO),
        SapError::Send(SapSendError::TooLong { .. }) => libc::EMSGSIZE,
        SapError::Send(SapSendError::Full) | SapError::WouldBlock => libc::EAGAIN,
        SapError::Send(SapSendError::Finished) => libc::EPIPE,
        SapError::Send(SapSendError::NotOpen) => libc::ENOTCONN,
        SapError::Send(_) | SapError::Address(_) => libc::EINVAL,
        SapError::Closed(reason)
        | SapError::Unfinished { reason: UnfinishedReason::Closed(reason), .. } => match reason {
            CloseReason::Refused(_) | CloseReason::PortClosed => libc::ECONNREFUSED,
            CloseReason::NoAnswer | CloseReason::TimedOut => libc::ETIMEDOUT,
            CloseReason::Unreachable => libc::EHOSTUNREACH,
            CloseReason::Closed | CloseReason::ClosedByPeer => libc::ECONNRESET,
            CloseReason::Violation => libc::EPROTO,
        },
        SapError::TimedOut | SapError::Unfinished { .. } => libc::ETIMEDOUT,
    };
    (number, error.to_string())
}

impl Socket {
    fn settings(&self) -> std::sync::MutexGuard<'_, Settings> {
        self.settings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a connection or a listener with the options, which must not change meanwhile.
    fn open<T>(&self, open: impl FnOnce(SapOptions) -> CallResult<T>) -> CallResult<T> {
        let options = {
            let mut settings = self.settings();
            settings.opening += 1;
            settings.options
        };
        let opened = open(options);
        self.settings().opening -= 1;
        opened
    }

    /// Changes the options; fails when they can no longer take effect, so that a connection is
    /// never taken for encrypted when it is not.
    fn set_option(&self, set: impl FnOnce(&mut SapOptions)) -> CallResult<c_int> {
        let late = "this is set before sap_connect, sap_bind or sap_listen, and not after";
        let mut settings = self.settings();
        if self.socket.get().is_some() {
            return Err((libc::EISCONN, format!("the socket is connected: {late}")));
        }
        if self.listener.get().is_some() || settings.opening > 0 {
            return Err((libc::EINVAL, format!("the socket listens or connects: {late}")));
        }
        set(&mut settings.options);
        Ok(0)
    }

    fn connected(&self) -> CallResult<&SapSocket> {
        self.socket.get().ok_or_else(|| (libc::ENOTCONN, "the socket is not connected".to_owned()))
    }

    /// Stores the description of an error, sets errno, and returns `failed`.
    fn report<T>(&self, outcome: CallResult<T>, failed: T) -> T {
        outcome.unwrap_or_else(|(number, text)| {
            self.settings().error = CString::new(text).ok();
            set_errno(number);
            failed
        })
    }

    fn keep(&self, socket: SapSocket) -> CallResult<c_int> {
        let settings = self.settings();
        socket.set_mode(settings.mode.clone());
        socket.set_timeout(settings.timeout);
        socket.set_tolerance(settings.tolerance).map_err(|error| explain(&error))?;
        drop(settings);
        let kept = self.socket.set(socket).map(|()| 0);
        kept.map_err(|_| (libc::EISCONN, "the socket is connected already".to_owned()))
    }

    fn bind(&self, address: String) -> CallResult<c_int> {
        self.open(|options| {
            let listener = options.listen(address).map_err(|error| explain(&error))?;
            let kept = self.listener.set(listener).map(|()| 0);
            kept.map_err(|_| (libc::EINVAL, "the socket listens already".to_owned()))
        })
    }

    fn accept(&self) -> CallResult<c_int> {
        let not_listening = || (libc::EINVAL, "the socket does not listen".to_owned());
        let listener = self.listener.get().ok_or_else(not_listening)?;
        let timeout = self.settings().timeout;
        let accepted = match timeout {
            Some(timeout) => listener.accept_timeout(timeout),
            None => listener.accept(),
        };
        self.keep(accepted.map_err(|error| explain(&error))?.0)
    }
}

/// Formats an address and its port for the system's resolver.
///
/// # Safety
/// `address` is null or a string that ends with a zero.
unsafe fn address_of(address: *const c_char, port: u16) -> CallResult<String> {
    if address.is_null() {
        return Ok(format!("0.0.0.0:{port}"));
    }
    // SAFETY: the caller passes a string that ends with a zero.
    let text = unsafe { CStr::from_ptr(address) }.to_str();
    let text = text.map_err(|_| (libc::EINVAL, "the address is no text".to_owned()))?;
    Ok(if text.contains(':') { format!("[{text}]:{port}") } else { format!("{text}:{port}") })
}

/// Dereferences a pointer that `sap_socket` returned.
macro_rules! socket {
    ($sock:expr, $failed:expr) => {
        // SAFETY: the pointer is null or one that `sap_socket` returned and `sap_close` did not
        // free.
        match unsafe { $sock.as_ref() } {
            Some(socket) => socket,
            None => {
                set_errno(libc::EINVAL);
                return $failed;
            }
        }
    };
}

/// Creates a socket in precise mode. See `sap.h`.
//= S0.16
#[unsafe(no_mangle)]
pub extern "C" fn sap_socket() -> *mut Socket {
    // A box would abort the program without memory.
    // SAFETY: the layout of a socket is not of size zero.
    let socket = unsafe { alloc(Layout::new::<Socket>()) }.cast::<Socket>();
    if !socket.is_null() {
        // SAFETY: the memory has the layout of a box and is not initialized yet.
        unsafe { socket.write(Socket::default()) };
    }
    socket
}

/// Connects to a listener. See `sap.h`.
//= S0.18
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sap_connect(
    sock: *mut Socket,
    address: *const c_char,
    port: u16,
) -> c_int {
    let socket = socket!(sock, -1);
    if address.is_null() {
        let error = (libc::EINVAL, "there is no address to connect to".to_owned());
        return socket.report(Err(error), -1);
    }
    // SAFETY: the caller passes a string that ends with a zero.
    let outcome = unsafe { address_of(address, port) }.and_then(|address| {
        socket.open(|options| {
            let connected = options.connect(address).map_err(|error| explain(&error));
            socket.keep(connected?)
        })
    });
    socket.report(outcome, -1)
}

/// Listens without waiting. See `sap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sap_bind(sock: *mut Socket, address: *const c_char, port: u16) -> c_int {
    let socket = socket!(sock, -1);
    // SAFETY: the caller passes a string that ends with a zero, or null.
    let address = unsafe { address_of(address, port) };
    socket.report(address.and_then(|address| socket.bind(address)), -1)
}

/// Waits for a connection to a bound socket. See `sap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sap_accept(sock: *mut Socket) -> c_int {
    let socket = socket!(sock, -1);
    socket.report(socket.accept(), -1)
}

/// Listens and waits for one connection. See `sap.h`.
//= S0.20
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sap_listen(sock: *mut Socket, address: *const c_char, port: u16) -> c_int {
    let socket = socket!(sock, -1);
    // SAFETY: the caller passes a string that ends with a zero, or null.
    let address = unsafe { address_of(address, port) };
    let outcome = address.and_then(|address| socket.bind(address)).and_then(|_| socket.accept());
    socket.report(outcome, -1)
}

/// Returns the local port. See `sap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sap_port(sock: *const Socket) -> u16 {
    let socket = socket!(sock, 0);
    let listening = socket.listener.get().and_then(|listener| listener.local_addr().ok());
    let connected = socket.socket.get().map(SapSocket::local_addr);
    listening.or(connected).map_or(0, |address| address.port())
}

/// Sets the mode of the following messages. See `sap.h`.
//= S0.17
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sap_set_mode(sock: *mut Socket, mode: c_int, protected: usize) -> c_int {
    let socket = socket!(sock, -1);
    let mode = match mode {
        0 => Mode::Precise,
        1 => Mode::Approximate { protected },
        other => {
            let error = (libc::EINVAL, format!("{other} is neither SAP_PRECISE nor SAP_APPROX"));
            return socket.report(Err(error), -1);
        }
    };
    if let Some(open) = socket.socket.get() {
        open.set_mode(mode.clone());
    }
    socket.settings().mode = mode;
    0
}

/// Sets the longest time that a call waits. See `sap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sap_set_timeout(sock: *mut Socket, milliseconds: c_int) -> c_int {
    let socket = socket!(sock, -1);
    let timeout = u64::try_from(milliseconds).ok().map(Duration::from_millis);
    if let Some(open) = socket.socket.get() {
        open.set_timeout(timeout);
    }
    socket.settings().timeout = timeout;
    0
}

/// Sets the pre-shared key. See `sap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sap_set_key(sock: *mut Socket, key: *const [u8; 32]) -> c_int {
    let socket = socket!(sock, -1);
    // SAFETY: the pointer is null or points to 32 bytes that do not change during the call.
    let key = unsafe { key.as_ref() }.copied().map(SharedKey::new);
    socket.report(socket.set_option(|options| options.key = key), -1)
}

/// Sets the profile of the protocol. See `sap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sap_set_profile(sock: *mut Socket, profile: c_int) -> c_int {
    let socket = socket!(sock, -1);
    let config = match profile {
        0 => Ok(SapConfig::standard()),
        1 => Ok(SapConfig::paper()),
        other => Err((libc::EINVAL, format!("{other} is neither SAP_STANDARD nor SAP_PAPER"))),
    };
    let set = config.and_then(|config| socket.set_option(|options| options.config = config));
    socket.report(set, -1)
}

/// Sets the carrier of the datagrams. See `sap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sap_set_carrier(sock: *mut Socket, name: *const c_char) -> c_int {
    let socket = socket!(sock, -1);
    let carrier = if name.is_null() {
        Ok(None)
    } else {
        // SAFETY: the caller passes a string that ends with a zero.
        let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
        name.parse::<Carrier>().map(Some).map_err(|error| (libc::EINVAL, error.to_string()))
    };
    let set = carrier.and_then(|carrier| socket.set_option(|options| options.carrier = carrier));
    socket.report(set, -1)
}

/// Sets the stream of the following messages. See `sap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sap_set_stream(sock: *mut Socket, stream: u16) -> c_int {
    let socket = socket!(sock, -1);
    socket.settings().stream = stream;
    0
}

/// Sets the damage that the application tolerates. See `sap.h`.
//= S1.67
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sap_set_tolerance(
    sock: *mut Socket,
    bit_errors: f64,
    loss: c_int,
    in_order: c_int,
    protected: usize,
) -> c_int {
    let socket = socket!(sock, -1);
    let tolerance = Tolerance { bit_errors, loss: loss != 0, in_order: in_order != 0, protected };
    let set = tolerance.validated().map_err(SapError::from).and_then(|tolerance| {
        let open = socket.socket.get();
        open.map_or(Ok(()), |open| open.set_tolerance(Some(tolerance)))
    });
    let set = set.map(|()| socket.settings().tolerance = Some(tolerance));
    socket.report(set.map(|()| 0).map_err(|error| explain(&error)), -1)
}

/// Requests a range of a message again. See `sap.h`.
//= S0.56
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sap_repair(
    sock: *mut Socket,
    number: u32,
    start: usize,
    end: usize,
) -> c_int {
    let socket = socket!(sock, -1);
    let range = start..end;
    let asked = socket.connected().and_then(|open| {
        let stream = socket.settings().stream;
        let ranges = std::slice::from_ref(&range);
        open.repair_number(stream, number, ranges).map_err(|error| explain(&error))
    });
    socket.report(asked.map(|()| 0), -1)
}

/// Sends one message. See `sap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sap_send(sock: *mut Socket, data: *const c_void, len: usize) -> c_long {
    let socket = socket!(sock, -1);
    if data.is_null() && len > 0 {
        return socket.report(Err((libc::EFAULT, "there are no data".to_owned())), -1);
    }
    if isize::try_from(len).is_err() {
        let error = format!("{len} bytes are more than any memory holds: send a shorter message");
        return socket.report(Err((libc::EMSGSIZE, error)), -1);
    }
    let data: &[u8] = match len {
        0 => &[],
        // SAFETY: the caller passes `len` bytes that do not change during the call.
        _ => unsafe { std::slice::from_raw_parts(data.cast(), len) },
    };
    let stream = socket.settings().stream;
    let sent = socket.connected().and_then(|open| {
        open.check_length(len).map_err(|error| explain(&error))?;
        let message = Message { stream, ..open.message(data) };
        open.send_message(&message).map_err(|error| explain(&error))
    });
    socket.report(sent.map(|()| len as c_long), -1)
}

/// Receives one message. See `sap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sap_recv(
    sock: *mut Socket,
    data: *mut c_void,
    len: usize,
    info: *mut Info,
) -> c_long {
    let socket = socket!(sock, -1);
    let received = socket.connected().and_then(|open| open.recv().map_err(|error| explain(&error)));
    let message = match received {
        Ok(Some(message)) => message,
        Ok(None) => {
            socket.settings().finished = true;
            return 0;
        }
        Err(error) => return socket.report(Err(error), -1),
    };
    let count = message.data.len().min(len);
    if count > 0 && !data.is_null() {
        // SAFETY: the caller passes a buffer of `len` bytes, and `count` is at most that; a message
        // never lies in the caller's memory.
        unsafe { std::ptr::copy_nonoverlapping(message.data.as_ptr(), data.cast(), count) };
    }
    // SAFETY: the pointer is null or points to a structure of the caller that may be written.
    if let Some(info) = unsafe { info.as_mut() } {
        *info = Info::of(&message);
    }
    message.data.len() as c_long
}

/// Returns whether the peer has finished and all is read. See `sap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sap_is_finished(sock: *const Socket) -> c_int {
    let socket = socket!(sock, 1);
    socket.settings().finished.into()
}

/// Finishes this direction and waits for the acknowledgement. See `sap.h`.
//= S0.19
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sap_send_fin(sock: *mut Socket) -> c_int {
    let socket = socket!(sock, -1);
    let outcome =
        socket.connected().and_then(|open| open.finish_and_wait().map_err(|error| explain(&error)));
    socket.report(outcome.map(|()| 0), -1)
}

/// Returns a descriptor for polling. See `sap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sap_fd(sock: *mut Socket) -> c_int {
    let socket = socket!(sock, -1);
    if let Some(fd) = socket.fd.get() {
        return fd.as_raw_fd();
    }
    let made =
        socket.connected().and_then(|open| open.readiness().map_err(|error| explain(&error)));
    socket.report(made.map(|fd| socket.fd.get_or_init(|| fd).as_raw_fd()), -1)
}

/// Returns the length of the longest message. See `sap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sap_max_message(sock: *const Socket) -> usize {
    let socket = socket!(sock, 0);
    socket.socket.get().map_or(0, SapSocket::max_message)
}

/// Returns the description of the last error. See `sap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sap_strerror(sock: *const Socket) -> *const c_char {
    let socket = socket!(sock, c"there is no socket".as_ptr());
    let text = socket.settings().error.clone().unwrap_or_default();
    let kept = EXPLANATION.try_with(|explanation| {
        *explanation.borrow_mut() = text;
        explanation.borrow().as_ptr()
    });
    // A thread that is ending has no thread-local memory.
    kept.unwrap_or_else(|_| c"the thread ends".as_ptr())
}

/// Closes the connection and frees the socket. See `sap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sap_close(sock: *mut Socket) -> c_int {
    if sock.is_null() {
        return 0;
    }
    // SAFETY: the pointer is one that `sap_socket` returned, and no other call uses it any more.
    let socket = unsafe { Box::from_raw(sock) };
    let closed = socket.socket.get().map_or(Ok(()), SapSocket::finish_or_abort);
    drop(socket);
    match closed {
        Ok(()) => 0,
        Err(error) => {
            set_errno(explain(&error).0);
            -1
        }
    }
}
