//! The state of a socket of the C interface.

use std::ffi::c_int;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use windfall_socket::{
    CloseReason, Duration, Mode, SapError, SapListener, SapOptions, SapSocket, Tolerance,
};

use crate::failure::{CallResult, Failure, LastError};

/// A socket of the C interface: new, listening or connected.
#[derive(Default)]
pub struct Socket {
    pub(crate) listener: OnceLock<SapListener>,
    pub(crate) socket: OnceLock<SapSocket>,
    readable: OnceLock<OwnedFd>,
    writable: OnceLock<OwnedFd>,
    settings: Mutex<Settings>,
    pub(crate) error: LastError,
}

/// The settings that a socket passes to its connection, a listener to those that it accepts.
#[derive(Clone, Default)]
pub(crate) struct Settings {
    pub(crate) mode: Mode,
    pub(crate) tolerance: Option<Tolerance>,
    pub(crate) stream: u16,
    pub(crate) timeout: Option<Duration>,
    pub(crate) linger: Option<Duration>,
    pub(crate) newest_first: bool,
    pub(crate) nonblocking: bool,
    pub(crate) options: SapOptions,
    /// A call is connecting or listening with the options.
    opening: bool,
    pub(crate) finished: bool,
    /// The reason for which the last attempt to connect failed.
    pub(crate) refused: Option<CloseReason>,
}

impl Settings {
    /// Applies what was set before a connection existed.
    fn apply(&self, socket: &SapSocket) -> CallResult<()> {
        socket.set_mode(self.mode.clone());
        socket.set_timeout(self.timeout);
        socket.set_newest_first(self.newest_first);
        self.linger.into_iter().for_each(|linger| socket.set_linger(linger));
        Ok(socket.set_tolerance(self.tolerance)?)
    }
}

impl Socket {
    pub(crate) fn settings(&self) -> MutexGuard<'_, Settings> {
        self.settings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the settings, and those of the connection if there is one.
    pub(crate) fn set(&self, set: impl FnOnce(&mut Settings)) -> CallResult<c_int> {
        let mut settings = self.settings();
        set(&mut settings);
        self.socket.get().map_or(Ok(()), |socket| settings.apply(socket)).map(|()| 0)
    }

    /// Opens a connection or a listener with the options, which must not change meanwhile, and
    /// keeps it. Fails before anything is opened if the socket is either already.
    pub(crate) fn open<T, K>(
        &self,
        open: impl FnOnce(SapOptions) -> Result<T, SapError>,
        keep: impl FnOnce(T) -> CallResult<K>,
    ) -> CallResult<K> {
        let options = {
            let mut settings = self.settings();
            self.check_new(&settings)?;
            settings.opening = true;
            settings.options
        };
        let kept = open(options).map_err(Failure::from).and_then(keep);
        let mut settings = self.settings();
        settings.opening = false;
        settings.refused = kept.as_ref().err().and_then(|failure| failure.ended);
        kept
    }

    /// Fails unless the socket is neither connected nor listens, nor is about to.
    fn check_new(&self, settings: &Settings) -> CallResult<()> {
        let (number, text) = if self.socket.get().is_some() {
            (libc::EISCONN, "the socket is connected already: it neither connects nor listens")
        } else if self.listener.get().is_some() {
            (libc::EINVAL, "the socket listens already: it neither connects nor listens again")
        } else if settings.opening {
            (libc::EALREADY, "another call connects or listens with this socket")
        } else {
            return Ok(());
        };
        Err(Failure::new(number, text))
    }

    /// Changes the options; fails when they can no longer take effect, so that a connection is
    /// never taken for encrypted when it is not.
    pub(crate) fn set_option(&self, set: impl FnOnce(&mut SapOptions)) -> CallResult<c_int> {
        let late = "this is set before sap_connect, sap_bind or sap_listen, and not after";
        let mut settings = self.settings();
        if self.socket.get().is_some() {
            let text = format!("the socket is connected: {late}");
            return Err(Failure::new(libc::EISCONN, text));
        }
        if self.listener.get().is_some() || settings.opening {
            let text = format!("the socket listens or connects: {late}");
            return Err(Failure::new(libc::EINVAL, text));
        }
        set(&mut settings.options);
        Ok(0)
    }

    pub(crate) fn connected(&self) -> CallResult<&SapSocket> {
        self.socket.get().ok_or_else(|| Failure::new(libc::ENOTCONN, "the socket is not connected"))
    }

    /// Makes this socket the end of a connection.
    pub(crate) fn keep(&self, socket: SapSocket) -> CallResult<c_int> {
        self.settings().apply(&socket)?;
        let kept = self.socket.set(socket).map(|()| 0);
        kept.map_err(|_| Failure::new(libc::EISCONN, "the socket is connected already"))
    }

    pub(crate) fn bind(&self, address: String) -> CallResult<&SapListener> {
        self.open(
            |options| options.listen(address),
            |listener| Ok(self.listener.get_or_init(|| listener)),
        )
    }

    pub(crate) fn accept(&self) -> CallResult<SapSocket> {
        let listener = self
            .listener
            .get()
            .ok_or_else(|| Failure::new(libc::EINVAL, "the socket does not listen"))?;
        let (timeout, nonblocking) = {
            let settings = self.settings();
            (settings.timeout, settings.nonblocking)
        };
        let accepted = match timeout {
            _ if nonblocking => listener.try_accept().ok_or(SapError::WouldBlock),
            Some(timeout) => listener.accept_timeout(timeout),
            None => listener.accept(),
        };
        Ok(accepted?.0)
    }

    /// Returns a socket of its own for an accepted connection, with the settings of this one.
    pub(crate) fn for_accepted(&self, accepted: SapSocket) -> CallResult<Self> {
        let settings = Settings { finished: false, opening: false, ..self.settings().clone() };
        let socket = Self { settings: Mutex::new(settings), ..Self::default() };
        socket.keep(accepted).map(|_| socket)
    }

    /// Returns the descriptor that is readable while a message, the end, or a connection waits.
    pub(crate) fn readable(&self) -> CallResult<c_int> {
        descriptor(&self.readable, || match (self.socket.get(), self.listener.get()) {
            (None, Some(listener)) => Ok(listener.readiness()?),
            _ => Ok(self.connected()?.readiness()?),
        })
    }

    /// Returns the descriptor that becomes readable when the send buffer has room again.
    pub(crate) fn writable(&self) -> CallResult<c_int> {
        descriptor(&self.writable, || Ok(self.connected()?.room()?))
    }
}

/// Returns the descriptor in `kept`, which `make` creates on the first call.
fn descriptor(
    kept: &OnceLock<OwnedFd>,
    make: impl FnOnce() -> CallResult<OwnedFd>,
) -> CallResult<c_int> {
    if let Some(made) = kept.get() {
        return Ok(made.as_raw_fd());
    }
    let made = make()?;
    Ok(kept.get_or_init(|| made).as_raw_fd())
}
