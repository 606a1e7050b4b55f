//! The end of an engine: what its connections still carry is delivered.

use windfall_base::{Duration, Instant};
use windfall_stack::socket_api::{SocketCommand, SocketId};
use windfall_tcp::{Connection, TcpState};

use super::{APP, CarriedConnection, Departure, Engine, Interruption};
use crate::error::Result;
use crate::tcp::kernel_table::KernelTable;

/// An engine that drains gives up after this time without progress.
const PATIENCE: Duration = Duration::from_secs(60);
/// The time after which an engine that drains looks again at what the kernel has delivered: the
/// kernel does not tell when a socket's last byte is acknowledged.
const DRAIN_CHECK: Duration = Duration::from_millis(50);
/// The time for which a peer that filled the window must be silent, while an engine drains, before
/// its open connection is reset: more of what its program has left behind may be on the way.
const QUIET: Duration = Duration::from_secs(2);

impl Engine {
    /// Takes no more connections, and delivers what those carry that one end has closed, and what
    /// the engine has acknowledged of the others before it resets them. A signal, or a minute
    /// without progress, resets what is left; a connection that neither end closes has a minute.
    ///
    /// # Errors
    /// If the device is gone.
    pub fn drain(&mut self) -> Result<()> {
        self.stop_listening();
        if let Some(command) = self.command.take() {
            let _ = self.driver.clock_mut().unwatch(command);
        }
        let table = KernelTable::read();
        for socket in self.sockets() {
            if self.undelivered(socket) == 0 && !self.is_closing(socket, &table) {
                self.leave(socket, Departure::Interrupted);
            }
        }
        let mut progress = None;
        let begun = self.now();
        let mut limit = begun;
        let mut next_check = begun;
        while !self.carried.is_empty() {
            let now = self.now();
            if now >= next_check {
                next_check = now.saturating_add(DRAIN_CHECK);
                self.leave_open(now, now.saturating_since(begun) >= PATIENCE);
            }
            let latest = Some(self.progress());
            if latest != progress {
                (progress, limit) = (latest, now.saturating_add(PATIENCE));
            }
            if now >= limit {
                break;
            }
            if let Some(Interruption::Signal(_)) = self.turn(Some(next_check.min(limit)))? {
                break;
            }
            self.leave_half_closed();
        }
        self.abort()?;
        self.linger()
    }

    /// Takes the connections of programs that have left already, and no others.
    fn stop_listening(&mut self) {
        for name in self.listeners.keys().copied().collect::<Vec<_>>() {
            self.admit(name);
        }
        for (listener, _) in std::mem::take(&mut self.listeners).into_values() {
            let _ = self.driver.clock_mut().unwatch(listener);
        }
        for socket in std::mem::take(&mut self.offers).into_keys() {
            self.command(SocketCommand::Close { socket });
        }
    }

    /// Tells whether one end has closed its direction, so that only delivery is left to do.
    fn is_closing(&self, socket: SocketId, table: &KernelTable) -> bool {
        let Some(carried) = self.carried.get(&socket) else { return false };
        let splice = &carried.splice;
        let connection = self.driver.node().connection(APP, socket);
        splice.finished
            || splice.end.is_closed_by_program(table)
            || connection.is_some_and(Connection::peer_has_finished)
    }

    /// Returns a number that changes whenever a byte has got on.
    fn progress(&self) -> u64 {
        let of_one = |(socket, carried): (&SocketId, &CarriedConnection)| {
            let connection = self.driver.node().connection(APP, *socket);
            let acknowledged = connection.map_or(0, Connection::acknowledged);
            acknowledged + carried.splice.sent + carried.splice.delivered()
        };
        self.carried.iter().map(of_one).sum::<u64>() + self.carried.len() as u64
    }

    /// While draining, lets go of connections that neither end has closed: of those whose data have
    /// been delivered for a while, or of all.
    fn leave_open(&mut self, now: Instant, all: bool) {
        let mut table = None;
        for socket in self.sockets() {
            let is_delivered = self.undelivered(socket) == 0;
            let Some(CarriedConnection { times, .. }) = self.carried.get_mut(&socket) else {
                continue;
            };
            if !is_delivered {
                times.undelivered = now;
            }
            let quiet_since = times.last.max(times.undelivered);
            if (all || now.saturating_since(quiet_since) >= QUIET)
                && !self.is_closing(socket, table.get_or_insert_with(KernelTable::read))
            {
                self.leave(socket, Departure::Interrupted);
            }
        }
    }

    /// While draining, lets go of connections whose closed direction is delivered: no program is
    /// left to serve the other.
    fn leave_half_closed(&mut self) {
        let mut table = None;
        for socket in self.sockets() {
            let Some(CarriedConnection { splice, .. }) = self.carried.get(&socket) else {
                continue;
            };
            let connection = self.driver.node().connection(APP, socket);
            let state = connection.map(Connection::state);
            if splice.finished && state == Some(TcpState::FinWait2) && !splice.peer_finished {
                let table = table.get_or_insert_with(KernelTable::read);
                if !splice.awaits_answer(table) {
                    self.leave(socket, Departure::InOrder);
                } else if self.undelivered(socket) == 0 {
                    self.leave(socket, Departure::Interrupted);
                }
            } else if splice.told
                && !splice.finished
                && splice.undelivered() == 0
                && !splice.end.is_closed_by_program(table.get_or_insert_with(KernelTable::read))
            {
                self.leave(socket, Departure::Interrupted);
            }
        }
    }
}
