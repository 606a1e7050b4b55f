//! The bytes of a line as a device of the event loop.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::BytesMut;
use nix::errno::Errno;
use windfall_base::{Frame, Payload};

use super::READ;
use crate::driver::Device;
use crate::system;

/// Reads in a row, so that the other devices get their turn.
const MOST_READS: usize = 16;

/// Our end of a [`LinePump`](super::LinePump): each message is some bytes of the line; an empty one
/// says that the line was gone and is there again.
#[derive(Debug)]
pub struct LineDevice {
    socket: OwnedFd,
    buffer: BytesMut,
    lost: Arc<AtomicU64>,
}

impl LineDevice {
    pub(super) fn new(socket: OwnedFd) -> Self {
        Self { socket, buffer: BytesMut::new(), lost: Arc::default() }
    }

    /// The frames for which the line had no room, counted on.
    #[must_use]
    pub fn lost(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.lost)
    }
}

impl Device for LineDevice {
    fn receive(&mut self, packets: &mut Vec<Payload>) -> io::Result<()> {
        for _ in 0..MOST_READS {
            self.buffer.reserve(READ);
            match system::read(&self.socket, &mut self.buffer) {
                Ok(_) => packets.push(self.buffer.split().freeze().into()),
                Err(Errno::EAGAIN) => break,
                Err(Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn send(&mut self, frame: Frame) -> io::Result<()> {
        // The line is paced by whoever sends; what finds no room all the same is lost.
        match system::retry(|| nix::unistd::write(&self.socket, &frame.to_vec())) {
            Ok(_) => Ok(()),
            Err(Errno::EAGAIN | Errno::EPIPE) => {
                self.lost.fetch_add(1, Ordering::Relaxed);
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl AsFd for LineDevice {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
