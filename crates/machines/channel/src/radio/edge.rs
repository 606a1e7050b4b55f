//! The carrier as stations that contend are told of it: for all of them at once.

use std::sync::Arc;

use windfall_base::{Instant, Port};

use super::log::Ports;

/// A change of the carrier at the stations that [contend](crate::Medium::contend).
#[derive(Clone, Debug)]
pub enum Edge {
    /// The carrier of others appears at these stations.
    Busy(Instant, Readers),
    /// It vanishes with the end of a whole frame for another station, which began with these bytes.
    Idle(Instant, [u8; 4], Readers),
    /// The station at this port is told everything from here on.
    Stop(Port),
}

/// The stations that hear a frame alone and whole.
#[derive(Clone, Debug)]
pub struct Readers(pub(super) Arc<Ports>);

impl Readers {
    /// Returns `true` if the station at `port` is one of them.
    #[must_use]
    #[inline]
    pub fn contains(&self, port: Port) -> bool {
        self.0.contains(port.0)
    }
}
