//! Conditions as descriptors, for programs that poll.

use std::io;
use std::os::fd::OwnedFd;

use rustix::event::{EventfdFlags, eventfd};

use crate::error::SapError;

/// A condition, and its descriptor once one was requested.
#[derive(Debug, Default)]
pub(crate) struct Signal(Option<OwnedFd>);

impl Signal {
    /// Signals that the condition holds.
    pub(crate) fn raise(&self) {
        if let Some(signal) = &self.0 {
            // A full counter signals as well.
            let _ = rustix::io::write(signal, &1_u64.to_ne_bytes());
        }
    }

    /// Signals that the condition no longer holds.
    pub(crate) fn lower(&self) {
        if let Some(signal) = &self.0 {
            let _ = rustix::io::read(signal, &mut [0; 8]);
        }
    }

    /// Returns the descriptor, which is readable at once if the condition `holds`.
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
