//! Errors as errno and text.

use std::cell::RefCell;
use std::ffi::{CString, c_char, c_int};
use std::io::{self, ErrorKind};
use std::sync::{Mutex, PoisonError};

use windfall_socket::{CloseReason, Reason, SapError, SapSendError, UnfinishedReason};

thread_local! {
    /// The last text that a function returned to this thread; no other thread can free it.
    static EXPLANATION: RefCell<CString> = RefCell::default();
    /// The last failure in this thread of a function that takes no socket.
    static WITHOUT_SOCKET: LastError = LastError::default();
}

/// The result of a call, or an errno, a description, and the end of the connection that caused it.
pub(crate) type CallResult<T> = Result<T, Failure>;

/// An error of a call.
pub(crate) struct Failure {
    number: c_int,
    text: String,
    pub(crate) ended: Option<CloseReason>,
}

impl Failure {
    pub(crate) fn new(number: c_int, text: impl Into<String>) -> Self {
        Self { number, text: text.into(), ended: None }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        let number = match error.kind() {
            ErrorKind::InvalidInput => libc::EINVAL,
            ErrorKind::WouldBlock => libc::EAGAIN,
            _ => error.raw_os_error().unwrap_or(libc::EIO),
        };
        Self::new(number, error.to_string())
    }
}

impl From<SapError> for Failure {
    fn from(error: SapError) -> Self {
        let ended = match &error {
            SapError::Closed(reason)
            | SapError::Unfinished { reason: UnfinishedReason::Closed(reason), .. } => {
                Some(*reason)
            }
            _ => None,
        };
        Self { number: errno_of(&error, ended), text: error.to_string(), ended }
    }
}

fn errno_of(error: &SapError, ended: Option<CloseReason>) -> c_int {
    match error {
        SapError::System { source, .. } => source.raw_os_error().unwrap_or(libc::EIO),
        SapError::Name(source) if source.kind() == ErrorKind::InvalidInput => libc::EINVAL,
        SapError::Name(source) => source.raw_os_error().unwrap_or(libc::ENXIO),
        SapError::Send(SapSendError::TooLong { .. }) => libc::EMSGSIZE,
        SapError::Send(SapSendError::Full) | SapError::WouldBlock => libc::EAGAIN,
        SapError::Send(SapSendError::Finished) => libc::EPIPE,
        SapError::Check => libc::ECANCELED,
        SapError::Send(SapSendError::NotOpen) => libc::ENOTCONN,
        SapError::Send(_) | SapError::Address(_) => libc::EINVAL,
        SapError::Closed(_) | SapError::TimedOut | SapError::Unfinished { .. } => match ended {
            // The end that has another key can then be told from one that is not there.
            Some(CloseReason::Refused(Reason::Key)) => libc::EKEYREJECTED,
            Some(CloseReason::Refused(_) | CloseReason::PortClosed) => libc::ECONNREFUSED,
            Some(CloseReason::Unreachable) => libc::EHOSTUNREACH,
            Some(CloseReason::Closed | CloseReason::ClosedByPeer) => libc::ECONNRESET,
            Some(CloseReason::Violation | CloseReason::StreamLimit) => libc::EPROTO,
            Some(CloseReason::Displaced) => libc::ECONNABORTED,
            Some(CloseReason::NoAnswer | CloseReason::TimedOut) | None => libc::ETIMEDOUT,
        },
        _ => libc::EIO,
    }
}

pub(crate) fn set_errno(number: c_int) {
    // SAFETY: the address of this thread's errno is always writable.
    unsafe { *libc::__errno_location() = number };
}

/// The description of a socket's last error.
#[derive(Default)]
pub(crate) struct LastError(Mutex<Option<CString>>);

impl LastError {
    /// Stores the description of an error, sets errno, and returns `failed`.
    pub(crate) fn report<T>(&self, outcome: CallResult<T>, failed: T) -> T {
        outcome.unwrap_or_else(|failure| {
            let text = CString::new(failure.text).ok();
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = text;
            set_errno(failure.number);
            failed
        })
    }

    fn is_set(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Returns the description in memory of the calling thread.
    pub(crate) fn text(&self) -> *const c_char {
        let text = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let kept = EXPLANATION.try_with(|explanation| {
            *explanation.borrow_mut() = text.unwrap_or_default();
            explanation.borrow().as_ptr()
        });
        // A thread that is ending has no thread-local memory.
        kept.unwrap_or_else(|_| c"the thread ends".as_ptr())
    }
}

/// Stores the description of a failure for which there is no socket, sets errno, and returns
/// `failed`.
pub(crate) fn report_without_socket<T>(outcome: CallResult<T>, failed: T) -> T {
    outcome.unwrap_or_else(|failure| {
        let number = failure.number;
        // A thread that is ending has no thread-local memory.
        let _ = WITHOUT_SOCKET.try_with(|last| last.report(Err(failure), ()));
        set_errno(number);
        failed
    })
}

/// Returns the description of the last failure without a socket.
pub(crate) fn text_without_socket() -> *const c_char {
    let none = c"there is no socket".as_ptr();
    WITHOUT_SOCKET.try_with(|last| if last.is_set() { last.text() } else { none }).unwrap_or(none)
}

/// Sets the errno of a failure for which no socket is left.
pub(crate) fn status(outcome: CallResult<()>) -> c_int {
    match outcome {
        Ok(()) => 0,
        Err(failure) => {
            set_errno(failure.number);
            -1
        }
    }
}
