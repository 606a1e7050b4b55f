//! One connection of the engine and its far side: what came from the one goes to the other.

use std::collections::VecDeque;
use std::io;

use bytes::Bytes;
use windfall_base::Instant;
use windfall_stack::socket_api::{SocketCommand, SocketId};

use super::end::{End, Read};
use super::kernel_table::KernelTable;

/// With this number of bytes waiting for the far side, the engine's stream is paused.
const MOST: usize = 1 << 20;
/// With this number, it goes on.
const FEW: usize = 256 << 10;

/// A connection of the engine and its far side.
#[derive(Debug)]
pub(super) struct Splice {
    pub(super) end: End,
    /// The engine's connection stands, and its buffer has room.
    pub(super) connected: bool,
    pub(super) granted: bool,
    /// The end has sent its last byte, and the engine knows.
    pub(super) finished: bool,
    /// Data that came by the engine and found no room at the end yet.
    pending: VecDeque<Bytes>,
    waiting: usize,
    paused: bool,
    /// The engine's peer has sent its last byte, and the end knows.
    pub(super) peer_finished: bool,
    pub(super) told: bool,
    /// The kernel counts a FIN among what the end has not acknowledged.
    sent_fin: bool,
    /// Bytes from the end to the engine, and from the engine to the end.
    pub(super) sent: u64,
    pub(super) received: u64,
}

impl Splice {
    pub(super) const fn new(end: End, connected: bool) -> Self {
        Self {
            end,
            connected,
            granted: true,
            finished: false,
            pending: VecDeque::new(),
            waiting: 0,
            paused: false,
            peer_finished: false,
            told: false,
            sent_fin: false,
            sent: 0,
            received: 0,
        }
    }

    /// Takes what came by the engine.
    pub(super) fn take(&mut self, data: Bytes) {
        self.waiting += data.len();
        self.received += data.len() as u64;
        self.pending.push_back(data);
    }

    /// Moves what can be moved; gives back what to ask of the engine. Call until `None`.
    ///
    /// # Errors
    /// If the end fails; nothing more can be moved then.
    pub(super) fn step(
        &mut self,
        now: Instant,
        socket: SocketId,
        buffer: &mut Vec<u8>,
    ) -> io::Result<Option<SocketCommand>> {
        self.waiting -= self.end.write(&mut self.pending)?;
        if self.paused && self.waiting <= FEW {
            self.paused = false;
            return Ok(Some(SocketCommand::Resume { socket }));
        }
        if !self.paused && self.waiting >= MOST {
            self.paused = true;
            return Ok(Some(SocketCommand::Pause { socket }));
        }
        if self.peer_finished && !self.told && self.waiting == 0 {
            self.told = true;
            self.sent_fin = self.end.finish();
        }
        // Who only receives finishes last, as programs do.
        let is_silent = self.end.only_receives() && !self.told;
        if !self.connected || !self.granted || self.finished || is_silent {
            return Ok(None);
        }
        match self.end.read(now, buffer)? {
            Read::Data(data) => {
                self.granted = false;
                self.sent += data.len() as u64;
                let to = ([0; 4], 0).into();
                Ok(Some(SocketCommand::Send { socket, to, data }))
            }
            Read::End => {
                self.finished = true;
                Ok(Some(SocketCommand::Finish { socket }))
            }
            Read::Nothing => Ok(None),
        }
    }

    /// Returns the bytes from the engine that the end has not acknowledged.
    pub(super) fn undelivered(&self) -> u64 {
        let waiting = self.waiting as u64;
        let unacknowledged = self.end.unacknowledged().saturating_sub(u64::from(self.sent_fin));
        // The SYN of a connection that was refused counts too.
        waiting + unacknowledged.min(self.received - waiting)
    }

    /// Returns the bytes that the end has taken.
    pub(super) fn delivered(&self) -> u64 {
        self.received - self.undelivered()
    }

    /// Tells whether the program behind the end waits for an answer: it has closed its direction,
    /// and still has the socket open.
    pub(super) fn awaits_answer(&self, table: &KernelTable) -> bool {
        self.finished && !self.peer_finished && self.end.has_program(table)
    }

    /// Returns the bytes that were sent by an end which then closed in order, and which did not
    /// reach the other: only the record can tell of them. `table` is asked if there was an error.
    pub(super) fn lost(&self, acknowledged: u64, table: Option<&KernelTable>) -> u64 {
        let outstanding = self.sent.saturating_sub(acknowledged);
        if self.finished || self.end.is_bulk() {
            return outstanding;
        }
        let closed = table.filter(|table| self.end.is_closed_by_program(table));
        closed.map_or(0, |table| outstanding + self.end.waiting(table))
    }

    /// Tells whether both directions have come to their end.
    pub(super) const fn is_over(&self) -> bool {
        self.finished && self.told
    }
}

#[cfg(test)]
mod tests;
