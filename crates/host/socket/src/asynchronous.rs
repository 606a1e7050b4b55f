//! Asynchronous SAP sockets for tokio, on top of the blocking ones and their descriptors.
//!
//! They need a runtime with I/O enabled. All futures are cancellation safe except [`connect`] and
//! [`close`](AsyncSapSocket::close), which continue in the background.
#![expect(unsafe_code, reason = "tokio wants to be promised that a descriptor stays open")]

use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use tokio::io::unix::AsyncFd;
use tokio::io::{Interest, Ready};
use tokio::task::spawn_blocking;
use windfall_sap::{Message, Mode, Received, SapSendError};

use crate::error::SapError;
use crate::sap::{SapListener, SapOptions, SapSocket};

fn watch(descriptor: OwnedFd) -> Result<AsyncFd<OwnedFd>, SapError> {
    // SAFETY: the descriptor is owned by what is made here, so it stays open and the same as long
    // as tokio waits for it.
    let watched = unsafe { AsyncFd::register_with_interest(descriptor, Interest::READABLE) };
    watched.map_err(|error| SapError::system("cannot wait for a descriptor")(error.into()))
}

/// Calls `found` whenever the descriptor is readable, until it returns a value.
async fn wait<T>(
    descriptor: &AsyncFd<OwnedFd>,
    mut found: impl FnMut() -> Result<Option<T>, SapError>,
) -> Result<T, SapError> {
    loop {
        if let Some(found) = found()? {
            return Ok(found);
        }
        let ready = descriptor.readable().await;
        let mut guard = ready.map_err(SapError::system("cannot wait for a descriptor"))?;
        // A signal raised from here on wakes the next turn; an earlier one is seen by `found`.
        guard.clear_ready_matching(Ready::READABLE);
    }
}

async fn in_background<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, SapError> + Send + 'static,
) -> Result<T, SapError> {
    let joined = spawn_blocking(work).await;
    joined.map_err(|error| SapError::system("a call was given up")(error.into()))?
}

/// Connects to a listener.
///
/// # Errors
/// As [`SapOptions::connect`].
pub async fn connect(to: SocketAddr, options: SapOptions) -> Result<AsyncSapSocket, SapError> {
    AsyncSapSocket::new(in_background(move || options.connect(to)).await?)
}

/// A listener that accepts connections.
pub struct AsyncSapListener {
    listener: SapListener,
    waiting: AsyncFd<OwnedFd>,
}

impl AsyncSapListener {
    /// Binds a listener to an address.
    ///
    /// # Errors
    /// As [`SapOptions::listen`].
    pub fn bind(on: SocketAddr, options: SapOptions) -> Result<Self, SapError> {
        let listener = options.listen(on)?;
        let waiting = watch(listener.readiness()?)?;
        Ok(Self { listener, waiting })
    }

    /// Returns the local address with its port.
    ///
    /// # Errors
    /// It never fails.
    pub fn local_addr(&self) -> Result<SocketAddr, SapError> {
        self.listener.local_addr()
    }

    /// Waits for the next connection.
    ///
    /// # Errors
    /// If the operating system reports an error.
    pub async fn accept(&self) -> Result<(AsyncSapSocket, SocketAddr), SapError> {
        let (socket, from) = wait(&self.waiting, || Ok(self.listener.try_accept())).await?;
        Ok((AsyncSapSocket::new(socket)?, from))
    }
}

/// A connection whose messages are precise or approximate; tasks may share it.
pub struct AsyncSapSocket {
    socket: Arc<SapSocket>,
    readable: AsyncFd<OwnedFd>,
    room: AsyncFd<OwnedFd>,
}

impl AsyncSapSocket {
    fn new(socket: SapSocket) -> Result<Self, SapError> {
        let readable = watch(socket.readiness()?)?;
        let room = watch(socket.room()?)?;
        Ok(Self { socket: Arc::new(socket), readable, room })
    }

    /// Returns the blocking socket, for calls that do not wait.
    #[must_use]
    pub fn get_ref(&self) -> &SapSocket {
        &self.socket
    }

    /// Sets the mode of the following messages.
    pub fn set_mode(&self, mode: Mode) {
        self.socket.set_mode(mode);
    }

    /// Sends a message in the socket's mode; waits while the send buffer is full.
    ///
    /// # Errors
    /// As [`SapSocket::send`].
    pub async fn send(&self, data: &[u8]) -> Result<(), SapError> {
        self.socket.check_length(data.len())?;
        self.send_message(&self.socket.message(data)).await
    }

    /// Sends a message in its own mode and stream; waits while the send buffer is full.
    ///
    /// # Errors
    /// As [`SapSocket::send`].
    pub async fn send_message(&self, message: &Message) -> Result<(), SapError> {
        wait(&self.room, || match self.socket.try_send(message) {
            Err(SapError::Send(SapSendError::Full)) => Ok(None),
            result => result.map(Some),
        })
        .await
    }

    /// Receives the next message; `None` once the peer has finished and all is read.
    ///
    /// # Errors
    /// As [`SapSocket::recv`].
    pub async fn recv(&self) -> Result<Option<Received>, SapError> {
        wait(&self.readable, || match self.socket.try_recv() {
            Err(SapError::WouldBlock) => Ok(None),
            result => result.map(Some),
        })
        .await
    }

    /// Closes the connection after the peer has acknowledged everything.
    ///
    /// # Errors
    /// As [`SapSocket::close`].
    pub async fn close(self) -> Result<(), SapError> {
        let socket = self.socket;
        in_background(move || socket.finish_or_abort()).await
    }
}
