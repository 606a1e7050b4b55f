//! SAP sockets for programs that await: the blocking ones behind descriptors that tokio waits for.
//!
//! All of it runs on a runtime with I/O enabled. Futures that are dropped lose no message, but for
//! [`connect`] and [`close`](SapSocket::close), which go on in the background.
#![expect(unsafe_code, reason = "tokio wants to be promised that a descriptor stays open")]

use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use tokio::io::unix::AsyncFd;
use tokio::io::{Interest, Ready};
use tokio::task::spawn_blocking;
use windfall_sap::{Message, Mode, Received, SapSendError};

use crate::error::SapError;
use crate::sap::{SapListener as Listener, SapOptions, SapSocket as Socket};

fn watch(descriptor: OwnedFd) -> Result<AsyncFd<OwnedFd>, SapError> {
    // SAFETY: the descriptor is owned by what is made here, so it stays open and the same as long
    // as tokio waits for it.
    let watched = unsafe { AsyncFd::register_with_interest(descriptor, Interest::READABLE) };
    watched.map_err(|error| SapError::system("cannot wait for a descriptor")(error.into()))
}

/// Asks `found` again whenever the descriptor can be read, until it gives something.
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
        // What is raised from here on wakes the next turn; what was raised before, it finds.
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
pub async fn connect(to: SocketAddr, options: SapOptions) -> Result<SapSocket, SapError> {
    SapSocket::new(in_background(move || options.connect(to)).await?)
}

/// A socket that takes connections.
pub struct SapListener {
    listener: Listener,
    waiting: AsyncFd<OwnedFd>,
}

impl SapListener {
    /// Listens.
    ///
    /// # Errors
    /// As [`SapOptions::listen`].
    pub fn bind(on: SocketAddr, options: SapOptions) -> Result<Self, SapError> {
        let listener = options.listen(on)?;
        let waiting = watch(listener.readiness()?)?;
        Ok(Self { listener, waiting })
    }

    /// Where it listens, the port known.
    ///
    /// # Errors
    /// None yet.
    pub fn local_addr(&self) -> Result<SocketAddr, SapError> {
        self.listener.local_addr()
    }

    /// Waits for the next connection.
    ///
    /// # Errors
    /// If the system refuses.
    pub async fn accept(&self) -> Result<(SapSocket, SocketAddr), SapError> {
        let (socket, from) = wait(&self.waiting, || Ok(self.listener.try_accept())).await?;
        Ok((SapSocket::new(socket)?, from))
    }
}

/// A connection whose messages are precise or approximate; tasks may share it.
pub struct SapSocket {
    socket: Arc<Socket>,
    readable: AsyncFd<OwnedFd>,
    room: AsyncFd<OwnedFd>,
}

impl SapSocket {
    fn new(socket: Socket) -> Result<Self, SapError> {
        let (readable, room) = (watch(socket.readiness()?)?, watch(socket.room()?)?);
        Ok(Self { socket: Arc::new(socket), readable, room })
    }

    /// The blocking socket, for everything that does not wait.
    #[must_use]
    pub fn get_ref(&self) -> &Socket {
        &self.socket
    }

    /// Says how the next messages travel.
    pub fn set_mode(&self, mode: Mode) {
        self.socket.set_mode(mode);
    }

    /// Sends a message in the socket's mode; waits while the send buffer is full.
    ///
    /// # Errors
    /// As [`Socket::send`].
    pub async fn send(&self, data: &[u8]) -> Result<(), SapError> {
        self.socket.check_length(data.len())?;
        self.send_message(&self.socket.message(data)).await
    }

    /// Sends a message that says itself how it travels; waits while the send buffer is full.
    ///
    /// # Errors
    /// As [`Socket::send`].
    pub async fn send_message(&self, message: &Message) -> Result<(), SapError> {
        wait(&self.room, || match self.socket.try_send(message) {
            Err(SapError::Send(SapSendError::Full)) => Ok(None),
            result => result.map(Some),
        })
        .await
    }

    /// Waits for the next message; `None` once the other end has finished and all is read.
    ///
    /// # Errors
    /// As [`Socket::recv`].
    pub async fn recv(&self) -> Result<Option<Received>, SapError> {
        wait(&self.readable, || match self.socket.try_recv() {
            Err(SapError::WouldBlock) => Ok(None),
            result => result.map(Some),
        })
        .await
    }

    /// Says that nothing more will be sent, and waits until the other end knows.
    ///
    /// # Errors
    /// As [`Socket::close`].
    pub async fn close(self) -> Result<(), SapError> {
        let socket = self.socket;
        in_background(move || socket.finish_or_abort()).await
    }
}
