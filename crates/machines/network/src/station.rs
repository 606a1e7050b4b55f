//! A simulated station: a host and its applications, as one node.

use core::ops::Range;
use std::collections::VecDeque;
use std::fmt;

use windfall_base::{Input, Instant, Ledger, Node, Outgoing, Port, Seed, earlier};
use windfall_stack::socket_api::{Application, Measured};
use windfall_stack::{AppId, Host, HostConfig, HostEvent};

/// A host with its applications; port *i* is the device of its *i*-th interface.
///
/// Host and applications exchange events and commands in `poll_transmit`. Each of them is drained
/// before it gets the next input, as the contract of [`Node`] requires.
///
/// It uses the devices of a simulated station, or those of any other node that carry bare IP
/// packets.
pub struct SimulatedStation {
    host: Host,
    apps: Vec<Box<dyn Application>>,
    /// The applications that may have commands, by index.
    commanding: Range<usize>,
    /// The applications whose timers have not been checked since the last timeout.
    waking: Range<usize>,
    /// The messages that applications have received, as events.
    messages: VecDeque<HostEvent>,
}

impl fmt::Debug for SimulatedStation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimulatedStation")
            .field("host", &self.host)
            .field("apps", &self.apps.len())
            .finish_non_exhaustive()
    }
}

impl SimulatedStation {
    /// Creates a station. Its applications begin at once, or when their timers fire.
    #[must_use]
    pub fn new(host: HostConfig, apps: Vec<Box<dyn Application>>, seed: Seed) -> Self {
        let commanding = 0..apps.len();
        let host = Host::new(host, seed);
        let messages = VecDeque::new();
        Self { host, apps, commanding, waking: 0..0, messages }
    }

    /// Yields the events of the host; call it until it returns `None`.
    pub fn poll_event(&mut self) -> Option<HostEvent> {
        self.host.poll_event().or_else(|| self.messages.pop_front())
    }

    /// Returns the ledger of the host.
    #[must_use]
    pub fn ledger(&self) -> Ledger {
        self.host.ledger()
    }

    /// Returns the TCP connections of the host.
    pub fn connections(&self) -> impl Iterator<Item = &windfall_tcp::Connection> {
        self.host.connections()
    }

    /// Returns the number of TCP processing steps, including those of closed connections.
    #[must_use]
    pub fn tcp_operations(&self) -> windfall_tcp::Operations {
        self.host.tcp_operations()
    }

    /// Returns the measurements of each application at `now`.
    pub fn reports(
        &self,
        now: Instant,
    ) -> impl Iterator<Item = Vec<(&'static str, Measured)>> + '_ {
        self.apps.iter().map(move |app| app.report(now))
    }

    /// Passes the next command to the host, or the next event to an application. Returns `false` if
    /// there is none.
    fn exchange(&mut self, now: Instant) -> bool {
        while !self.commanding.is_empty() {
            let number = self.commanding.start;
            let app = &mut self.apps[number];
            let id = AppId(number as u16);
            if let Some(command) = app.poll_command(now) {
                self.host.handle_command(now, id, command);
                return true;
            }
            let arrivals = core::iter::from_fn(|| app.poll_message());
            self.messages.extend(arrivals.map(|arrival| HostEvent::Message { app: id, arrival }));
            self.commanding.start += 1;
        }
        if let Some((AppId(number), event)) = self.host.poll_socket_event() {
            let number = usize::from(number);
            if let Some(app) = self.apps.get_mut(number) {
                app.handle_event(now, event);
                self.commanding = number..number + 1;
            }
            return true;
        }
        self.wake_app(now)
    }

    /// Handles the timer of the next application that is due. Returns `false` if none is due.
    fn wake_app(&mut self, now: Instant) -> bool {
        let Self { apps, waking, .. } = self;
        let is_due = |number: &usize| apps[*number].poll_timeout().is_some_and(|(at, _)| at <= now);
        let Some(number) = waking.find(is_due) else { return false };
        apps[number].handle_timeout(now);
        self.commanding = number..number + 1;
        true
    }
}

impl Node for SimulatedStation {
    fn handle_input(&mut self, now: Instant, port: Port, input: Input) {
        self.host.handle_input(now, port, input);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.host.handle_timeout(now);
        self.waking = 0..self.apps.len();
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<(Port, Outgoing)> {
        loop {
            let output = self.host.poll_transmit(now);
            if output.is_some() || !self.exchange(now) {
                return output;
            }
        }
    }

    fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        let apps = self.apps.iter().filter_map(|app| app.poll_timeout());
        earlier(apps.min_by_key(|(at, _)| *at), self.host.poll_timeout())
    }
}
