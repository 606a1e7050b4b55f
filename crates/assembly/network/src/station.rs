//! A station: a host and the applications on it, as one node.

use std::collections::VecDeque;
use std::fmt;

use windfall_base::{App, Input, Instant, Ledger, Node, Outgoing, Port, Seed, earlier};
use windfall_stack::{AppId, Host, HostConfig, HostEvent};

/// A host with its applications; port *i* is the device of its *i*-th interface.
///
/// It is what stands behind the devices of a simulated station, and may stand behind any other
/// node's devices that carry bare IP packets.
pub struct Station {
    host: Host,
    apps: Vec<Box<dyn App>>,
    outputs: VecDeque<(Port, Outgoing)>,
}

impl fmt::Debug for Station {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Station")
            .field("host", &self.host)
            .field("apps", &self.apps.len())
            .finish_non_exhaustive()
    }
}

impl Station {
    /// A station at the start of the run; the applications begin at once or when their timers say.
    #[must_use]
    pub fn new(host: HostConfig, apps: Vec<Box<dyn App>>, seed: Seed) -> Self {
        let mut station = Self { host: Host::new(host, seed), apps, outputs: VecDeque::new() };
        for number in 0..station.apps.len() {
            station.obey(Instant::START, number);
        }
        station.settle(Instant::START);
        station
    }

    /// Yields what happened in the host; call until `None`.
    pub fn poll_event(&mut self) -> Option<HostEvent> {
        self.host.poll_event()
    }

    /// The account of the host.
    #[must_use]
    pub fn ledger(&self) -> Ledger {
        let mut ledger = self.host.ledger();
        // What waits here has left the host and not yet the station.
        ledger.given -= self.outputs.len() as u64;
        ledger.held += self.outputs.len() as u64;
        ledger
    }

    /// The TCP connections of the host.
    pub fn connections(&self) -> impl Iterator<Item = &windfall_tcp::Connection> {
        self.host.connections()
    }

    /// The steps of TCP's processing taken so far, by connections that are gone too.
    #[must_use]
    pub fn tcp_operations(&self) -> windfall_tcp::Operations {
        self.host.tcp_operations()
    }

    /// What each application has measured.
    pub fn reports(&self) -> impl Iterator<Item = Vec<(&'static str, f64)>> + '_ {
        self.apps.iter().map(|app| app.report())
    }

    /// Carries events and commands between host and applications until both are silent.
    fn settle(&mut self, now: Instant) {
        self.collect(now);
        while let Some((AppId(number), event)) = self.host.poll_socket_event() {
            let number = usize::from(number);
            if let Some(app) = self.apps.get_mut(number) {
                app.handle_event(now, event);
                self.obey(now, number);
            }
        }
    }

    /// Does what an application asks.
    fn obey(&mut self, now: Instant, number: usize) {
        while let Some(command) = self.apps[number].poll_command(now) {
            self.host.handle_command(now, AppId(number as u16), command);
            self.collect(now);
        }
    }

    /// Takes what the host has to send.
    fn collect(&mut self, now: Instant) {
        while let Some(output) = self.host.poll_transmit(now) {
            self.outputs.push_back(output);
        }
    }
}

impl Node for Station {
    fn handle_input(&mut self, now: Instant, port: Port, input: Input) {
        self.host.handle_input(now, port, input);
        self.settle(now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.host.handle_timeout(now);
        self.settle(now);
        for number in 0..self.apps.len() {
            if self.apps[number].poll_timeout().is_some_and(|(at, _)| at <= now) {
                self.apps[number].handle_timeout(now);
                self.obey(now, number);
                self.settle(now);
            }
        }
    }

    fn poll_transmit(&mut self, _now: Instant) -> Option<(Port, Outgoing)> {
        self.outputs.pop_front()
    }

    fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        let apps = self.apps.iter().filter_map(|app| app.poll_timeout());
        earlier(apps.min_by_key(|(at, _)| *at), self.host.poll_timeout())
    }
}
