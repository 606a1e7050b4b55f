//! Descriptors that can be read while something holds, for programs that wait for many things.

use std::io;
use std::os::fd::OwnedFd;

use rustix::event::{EventfdFlags, eventfd};

use crate::error::SapError;

/// A condition, and the descriptor that tells of it once somebody has asked for one.
#[derive(Debug, Default)]
pub(crate) struct Signal(Option<OwnedFd>);

impl Signal {
    /// It holds.
    pub(crate) fn raise(&self) {
        if let Some(signal) = &self.0 {
            // A full counter tells it as well.
            let _ = rustix::io::write(signal, &1_u64.to_ne_bytes());
        }
    }

    /// It holds no more.
    pub(crate) fn lower(&self) {
        if let Some(signal) = &self.0 {
            let _ = rustix::io::read(signal, &mut [0; 8]);
        }
    }

    /// The descriptor, which can be read at once if the condition `holds`.
    pub(crate) fn share(&mut self, holds: bool) -> Result<OwnedFd, SapError> {
        let cannot = |error: io::Error| SapError::system("cannot make an event descriptor")(error);
        if self.0.is_none() {
            let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
            self.0 = Some(eventfd(0, flags).map_err(|error| cannot(error.into()))?);
        }
        if holds {
            self.raise();
        }
        let signal = self.0.as_ref().map(OwnedFd::try_clone);
        signal.unwrap_or_else(|| Err(io::ErrorKind::Unsupported.into())).map_err(cannot)
    }
}
