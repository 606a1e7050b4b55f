//! The composite node: connected interfaces, media and stations, and the loop that runs them.

mod accounts;
mod contention;
mod media;

use std::collections::VecDeque;

use windfall_base::{Frame, Input, Instant, Node, Outgoing, Port, RxVector, Seed};
use windfall_channel::{Medium, MediumConfig};
use windfall_stack::{Airtime, DEVICE, Interface, InterfaceEvent, MEDIUM, Rest};

use crate::ElementId;
use crate::agenda::Agenda;
use crate::config::{BuildError, EndConfig, LinkConfig, NetworkConfig, StationConfig};
use crate::event::{EventKind, NetworkEvent, Passage, Recording};
use crate::ledger::{LinkLedger, direction_of, tag_of};
use crate::station::SimulatedStation;
use crate::watchdog::{Stall, Watchdog};
use contention::Contenders;

/// Interfaces, media and stations in one node. [`Port`]`(i)` is the i-th device without a host.
///
/// It has the methods of [`Node`], `poll_event` for the events that [`Recording`] selects, and
/// getters. Devices are numbered in the order of the links and their ends. Events at the same
/// instant are processed in a fixed order. The consequences of earlier events come first, then the
/// timers of interfaces, media and stations, in this order.
#[derive(Debug)]
pub struct Network {
    interfaces: Vec<Slot>,
    media: Vec<MediumSlot>,
    stations: Vec<StationSlot>,
    names: Vec<String>,
    /// The interface behind each port.
    devices: Vec<usize>,
    agenda: Agenda,
    /// Interfaces whose wake-ups in the agenda may be out of date.
    touched: Vec<usize>,
    /// Media whose earliest attempt of the contenders may be out of date.
    changed: Vec<usize>,
    /// Media at which interfaces contend that have lent their contentions.
    contended_media: Vec<usize>,
    /// Frames that interfaces have put on their media at this instant, in order.
    work: VecDeque<(usize, Outgoing)>,
    /// Packets for stations, delivered after the links have finished this instant.
    arrivals: VecDeque<(usize, Port, Input)>,
    /// Packets from stations to their interfaces, taken one by one after the arrivals.
    departures: VecDeque<(usize, Frame)>,
    outputs: VecDeque<(Port, Outgoing)>,
    events: VecDeque<NetworkEvent>,
    recording: Recording,
    watchdog: Watchdog,
    /// Set after every element was polled for frames at the start.
    begun: bool,
}

/// An interface and its connections.
#[derive(Debug)]
struct Slot {
    interface: Interface,
    medium: usize,
    medium_port: Port,
    station: usize,
    behind: DeviceUser,
    ledger: LinkLedger,
    /// The beginning of the last transmission counted as air time.
    counted: Option<Instant>,
    /// The interface is in [`Network::touched`].
    touched: bool,
    /// The medium knows that the interface has nothing to do.
    resting: bool,
    /// The index of the contention that the interface has lent, among those of its medium.
    contends: Option<usize>,
    /// The transmission timing that the interface was given.
    passage: Option<windfall_base::TransitTiming>,
}

/// The user of an interface's device.
#[derive(Clone, Copy, Debug)]
enum DeviceUser {
    /// The driver, at this port of the network.
    Port(Port),
    /// The host, at this port of the interface's station.
    Station(Port),
}

/// A station; `None` if the driver provides its host.
#[derive(Debug)]
struct StationSlot {
    station: Option<SimulatedStation>,
    /// The interface at each of its ports.
    interfaces: Vec<usize>,
}

#[derive(Debug)]
struct MediumSlot {
    medium: Medium,
    /// The interface at each port.
    ends: Vec<usize>,
    contenders: Contenders,
}

impl Network {
    /// Builds the network of a run with `seed`.
    ///
    /// # Errors
    /// If the configuration refers to an element that does not exist, or stations could not read
    /// each other's frames.
    pub fn build(config: &NetworkConfig, seed: Seed) -> Result<Self, BuildError> {
        let mut network = Self {
            interfaces: Vec::new(),
            media: Vec::new(),
            stations: Vec::new(),
            names: Vec::new(),
            devices: Vec::new(),
            agenda: Agenda::new(0),
            touched: Vec::new(),
            changed: Vec::new(),
            contended_media: Vec::new(),
            work: VecDeque::new(),
            arrivals: VecDeque::new(),
            departures: VecDeque::new(),
            outputs: VecDeque::new(),
            events: VecDeque::new(),
            recording: Recording::default(),
            watchdog: Watchdog::default(),
            begun: false,
        };
        for StationConfig { name, host } in &config.stations {
            let station = host.as_ref().map(|setup| setup.build(seed, name));
            network.stations.push(StationSlot { station, interfaces: Vec::new() });
        }
        for link in &config.links {
            network.add_link(config, link, seed)?;
        }
        let devices = network.devices.len();
        if devices > usize::from(u16::MAX) + 1 {
            return Err(BuildError::TooManyDevices { devices });
        }
        network.names.extend(config.links.iter().map(|link| link.name.clone()));
        network.names.extend(config.stations.iter().map(|station| station.name.clone()));
        network.agenda = Agenda::new(network.names.len());
        // Applications open their sockets before the first packet arrives. The events of hosts are
        // kept until the network runs, because recording is not configured yet.
        (0..network.stations.len())
            .for_each(|index| network.take_departures(Instant::START, index));
        // Polls every element once, because some have frames to send at the start.
        for index in 0..network.names.len() {
            network.agenda.set(ElementId(index as u32), Some(Instant::START));
        }
        Ok(network)
    }

    fn add_link(
        &mut self,
        config: &NetworkConfig,
        link: &LinkConfig,
        seed: Seed,
    ) -> Result<(), BuildError> {
        let medium = Medium::new(link.medium.clone(), seed, &link.name);
        if usize::from(medium.ports()) != link.ends.len() {
            return Err(BuildError::Ends {
                link: link.name.clone(),
                ends: link.ends.len(),
                ports: medium.ports(),
            });
        }
        let mut ends = Vec::new();
        for (medium_port, EndConfig { station, interface }) in (0..).map(Port).zip(&link.ends) {
            let Some(owner) = config.stations.get(*station) else {
                return Err(BuildError::NoStation {
                    link: link.name.clone(),
                    station: *station,
                    stations: config.stations.len(),
                });
            };
            let name = format!("{}/{}", link.name, owner.name);
            // The ledgers are kept from the events of the interfaces, so these are always recorded.
            let interface = windfall_stack::InterfaceConfig { observe: true, ..interface.clone() };
            let index = self.interfaces.len();
            ends.push(index);
            let StationSlot { station: host, interfaces } = &mut self.stations[*station];
            let behind = match host {
                Some(_) => DeviceUser::Station(Port(interfaces.len() as u16)),
                None => {
                    self.devices.push(index);
                    DeviceUser::Port(Port((self.devices.len() - 1) as u16))
                }
            };
            interfaces.push(index);
            let ledger = LinkLedger::of_flows(&interface.counted);
            self.interfaces.push(Slot {
                interface: Interface::new(interface, seed, &name),
                medium: self.media.len(),
                medium_port,
                station: *station,
                behind,
                ledger,
                counted: None,
                touched: false,
                resting: false,
                contends: None,
                passage: None,
            });
            self.names.push(name);
        }
        link.check_coding(&config.stations)?;
        let all = ends.clone();
        self.media.push(MediumSlot { medium, ends, contenders: Contenders::default() });
        all.into_iter().for_each(|index| self.tell_passage(index));
        Ok(())
    }

    /// Selects the events that [`poll_event`](Self::poll_event) yields from now on; initially none.
    pub fn record(&mut self, recording: Recording) {
        self.recording = recording;
    }

    /// Yields the events, oldest first; call it until it returns `None`.
    #[inline]
    pub fn poll_event(&mut self) -> Option<NetworkEvent> {
        self.events.pop_front()
    }

    /// Returns the name of an element: `link/station` for an interface, `link` for a medium, and
    /// the station's name for a station.
    ///
    /// # Panics
    /// If the network has no such element.
    #[must_use]
    pub fn name(&self, element: ElementId) -> &str {
        &self.names[element.0 as usize]
    }

    /// Returns every element, in order.
    pub fn elements(&self) -> impl Iterator<Item = ElementId> + use<> {
        (0..self.names.len() as u32).map(ElementId)
    }

    /// Returns the interfaces, in the order of the links and their ends.
    pub fn interfaces(&self) -> impl Iterator<Item = ElementId> + use<> {
        (0..self.interfaces.len() as u32).map(ElementId)
    }

    /// Returns the interface behind a port of the network.
    #[must_use]
    pub fn interface_at(&self, port: Port) -> Option<ElementId> {
        self.devices.get(usize::from(port.0)).map(|index| ElementId(*index as u32))
    }

    /// Returns the index of an interface's station in the configuration.
    ///
    /// # Panics
    /// If the element is no interface.
    #[must_use]
    pub fn station_of(&self, interface: ElementId) -> usize {
        self.interfaces[interface.0 as usize].station
    }

    /// Returns the outcomes of the packets that an interface took from its device.
    ///
    /// # Panics
    /// If the element is no interface.
    #[must_use]
    pub fn ledger(&self, interface: ElementId) -> &LinkLedger {
        &self.interfaces[interface.0 as usize].ledger
    }

    /// Returns the same outcomes while receivers wait for repairs: packets that may still be
    /// restored are not lost. The second value is the number of such packets.
    ///
    /// # Panics
    /// If the element is no interface.
    #[must_use]
    pub fn open_ledger(&self, interface: ElementId) -> (LinkLedger, u64) {
        let mut ledger = self.ledger(interface).clone();
        let awaited = self.interfaces.iter().flat_map(|it| it.interface.awaited());
        let own = awaited.filter(|tag| direction_of(*tag) == interface.0 as usize);
        let open = own.filter(|tag| ledger.reopen(*tag)).count();
        (ledger, open as u64)
    }

    /// Returns a station by its index in the configuration; `None` if it has no host here.
    #[must_use]
    pub fn station(&self, index: usize) -> Option<&SimulatedStation> {
        self.stations.get(index)?.station.as_ref()
    }

    /// Returns the share of the link that each flow of an interface has had, everything else first.
    ///
    /// # Panics
    /// If the element is no interface.
    #[must_use]
    pub fn flows(&self, interface: ElementId) -> Vec<windfall_stack::FlowAccount> {
        self.interfaces[interface.0 as usize].interface.flows()
    }

    /// Returns the time of an interface's radio in each state, up to `now`; `None` where there
    /// is no 802.11 radio.
    ///
    /// # Panics
    /// If the element is no interface.
    #[must_use]
    pub fn airtime(&self, interface: ElementId, now: Instant) -> Option<Airtime> {
        let Slot { interface, medium, medium_port, .. } = &self.interfaces[interface.0 as usize];
        let mut airtime = interface.airtime(now)?;
        let untold = self.media[*medium].medium.untold(*medium_port, now);
        airtime.overhear(untold);
        Some(airtime)
    }

    /// Returns the packets, and their bytes, that wait at an interface for its link.
    ///
    /// # Panics
    /// If the element is no interface.
    #[must_use]
    pub fn queue_len(&self, interface: ElementId) -> (usize, usize) {
        self.interfaces[interface.0 as usize].interface.queue_len()
    }

    /// Returns the times of those path changes, including the beginning, after which a frame was
    /// sent before the next change. Only a pipe has such changes.
    #[must_use]
    pub fn changes_met(&self, link: usize, end: usize) -> &[Instant] {
        self.media.get(link).map_or(&[], |slot| slot.medium.met(Port(end as u16)))
    }

    /// Replaces the future changes of a link by those of `medium`, from `now` on. Returns `false`
    /// if there is no such link or it cannot change.
    pub fn change_link(&mut self, now: Instant, link: usize, medium: &MediumConfig) -> bool {
        let changes = self.media.get_mut(link).is_some_and(|it| it.medium.change(now, medium));
        if changes {
            // A frame in transmission may now end at another time.
            self.note_wake_up(link);
        }
        changes
    }

    /// Returns when the next event happens; [`poll_timeout`](Node::poll_timeout) also returns its
    /// cause.
    #[must_use]
    #[inline]
    pub fn next_event(&self) -> Option<Instant> {
        // An event that the watchdog stopped is still due.
        self.watchdog.stalled().or_else(|| self.agenda.next().map(|(at, _)| at))
    }

    /// Sets the maximum number of steps at one instant, after which the network counts as stalled.
    /// The limit within a millisecond is twice as large.
    pub fn limit_steps_per_instant(&mut self, steps: u64) {
        self.watchdog.set_limit(steps);
    }

    /// Returns the number of steps: frames sent, packets passed on, and elements woken.
    #[must_use]
    #[inline]
    pub fn steps(&self) -> u64 {
        self.watchdog.total()
    }

    /// Returns the elements involved if the network is stalled: it takes too many steps at one
    /// instant or within a millisecond.
    ///
    /// A stalled network processes no further events of that instant. It continues at later
    /// instants.
    #[must_use]
    #[inline]
    pub fn stall(&self) -> Option<Stall> {
        self.watchdog.stalled()?;
        self.watchdog.stall(&self.names)
    }

    /// Processes everything that is due at `now`, with its consequences.
    fn run(&mut self, now: Instant) {
        if !core::mem::replace(&mut self.begun, true) {
            (0..self.stations.len()).for_each(|index| self.take_host_events(now, index));
        }
        self.watchdog.enter(now);
        self.end_due_contentions(now);
        loop {
            let is_allowed = self.transmit(now);
            self.enter_wake_ups(now);
            if !is_allowed {
                return;
            }
            let due = self.agenda.next().filter(|(due, _)| *due <= now).map(|(_, element)| element);
            if !self.watchdog.step() {
                return;
            }
            if self.watchdog.is_watching() {
                self.watchdog.note(self.next_place(due));
            }
            // Devices are processed after the links at each instant, as with a driver between them.
            if let Some(element) = due.filter(|element| !self.is_station(*element)) {
                self.wake(now, element);
            } else if let Some(arrival) = self.arrivals.pop_front() {
                self.arrive(now, arrival.0, arrival.1, arrival.2);
            } else if let Some((index, frame)) = self.departures.pop_front() {
                self.enter(now, index, frame, RxVector::wired(now));
            } else if let Some(element) = due {
                self.wake(now, element);
            } else {
                return;
            }
        }
    }

    /// Puts the frames of interfaces on their media. Returns `false` if the network is stalled.
    fn transmit(&mut self, now: Instant) -> bool {
        while let Some((index, _)) = self.work.front() {
            let index = *index;
            if !self.watchdog.step() {
                return false;
            }
            if self.watchdog.is_watching() {
                self.watchdog.note(index);
            }
            let Some((_, outgoing)) = self.work.pop_front() else { break };
            let Slot { medium, medium_port, .. } = self.interfaces[index];
            self.media[medium].medium.handle_transmit(now, medium_port, outgoing);
            self.tell_passage(index);
            self.drain_medium(now, medium);
        }
        true
    }

    /// Tells an interface the part of the transmission timing that a sender can know, if it has
    /// changed.
    #[inline]
    fn tell_passage(&mut self, index: usize) {
        let slot = &mut self.interfaces[index];
        let passage = self.media[slot.medium].medium.passage(slot.medium_port);
        if slot.passage != passage {
            slot.passage = passage;
            slot.interface.set_passage(passage.unwrap_or_default());
        }
    }

    /// Returns the element that takes the next step; `due` if nothing else remains before it.
    #[cold]
    fn next_place(&self, due: Option<ElementId>) -> usize {
        let station = |index: usize| self.interfaces.len() + self.media.len() + index;
        match (due, self.arrivals.front(), self.departures.front()) {
            (Some(element), ..) if !self.is_station(element) => element.0 as usize,
            (_, Some((index, ..)), _) => station(*index),
            (_, None, Some((index, _))) => *index,
            (due, None, None) => due.map_or(0, |element| element.0 as usize),
        }
    }

    fn is_station(&self, element: ElementId) -> bool {
        element.0 as usize >= self.interfaces.len() + self.media.len()
    }

    /// Delivers a packet to a station.
    #[inline]
    fn arrive(&mut self, now: Instant, index: usize, port: Port, input: Input) {
        if let Some(station) = &mut self.stations[index].station {
            station.handle_input(now, port, input);
            self.drain_station(now, index);
        }
    }

    /// Enters the wake-ups of touched interfaces into the agenda.
    #[inline]
    fn enter_wake_ups(&mut self, now: Instant) {
        while let Some(index) = self.touched.pop() {
            self.enter_wake_up(now, index);
        }
        self.enter_attempts();
    }

    fn enter_wake_up(&mut self, now: Instant, index: usize) {
        let slot = &mut self.interfaces[index];
        slot.touched = false;
        let medium = &mut self.media[slot.medium].medium;
        let rest = slot.interface.rest();
        if let Some(Rest::Contending(contention)) = rest {
            let is_due = contention.attempt_at().is_some_and(|at| at <= now);
            if !is_due && medium.contend(slot.medium_port) {
                return self.begin_contention(index, contention);
            }
        } else if rest.is_some() && !slot.resting {
            slot.resting = true;
            medium.rest(slot.medium_port);
        }
        let wake_up = slot.interface.poll_timeout().map(|(at, _)| at);
        self.agenda.set(ElementId(index as u32), wake_up);
    }

    /// Handles the timer of an element.
    fn wake(&mut self, now: Instant, element: ElementId) {
        let index = element.0 as usize;
        if index < self.interfaces.len() {
            self.stop_rest(index);
            self.interfaces[index].interface.handle_timeout(now);
            self.drain_interface(now, index);
            return;
        }
        let index = index - self.interfaces.len();
        if index < self.media.len() {
            self.media[index].medium.handle_timeout(now);
            self.drain_medium(now, index);
            return;
        }
        let index = index - self.media.len();
        if let Some(station) = &mut self.stations[index].station {
            station.handle_timeout(now);
        }
        self.drain_station(now, index);
    }

    /// Takes the frames and events of an interface.
    fn drain_interface(&mut self, now: Instant, index: usize) {
        let slot = &mut self.interfaces[index];
        if !slot.touched {
            slot.touched = true;
            self.touched.push(index);
        }
        while let Some((port, outgoing)) = slot.interface.poll_transmit(now) {
            if port == MEDIUM {
                self.work.push_back((index, outgoing));
                continue;
            }
            if self.recording.packets {
                self.events.push_back(passage(now, index, true, &outgoing.frame));
            }
            match slot.behind {
                DeviceUser::Port(port) => self.outputs.push_back((port, outgoing)),
                DeviceUser::Station(port) => {
                    let input = Input::Frame(outgoing.frame, RxVector::wired(now));
                    self.arrivals.push_back((slot.station, port, input));
                }
            }
        }
        while let Some(event) = self.interfaces[index].interface.poll_event() {
            self.take_interface_event(now, index, event);
        }
    }

    /// Enters an event of an interface into the ledgers, and records it.
    fn take_interface_event(&mut self, now: Instant, index: usize, event: InterfaceEvent) {
        self.account_interface(index, &event);
        if self.recording.events {
            let element = ElementId(index as u32);
            let what = event.into();
            self.events.push_back(NetworkEvent { at: now, element, what });
        }
    }

    fn drain_station(&mut self, now: Instant, index: usize) {
        self.take_departures(now, index);
        self.take_host_events(now, index);
    }

    fn element_of_station(&self, index: usize) -> ElementId {
        ElementId((self.interfaces.len() + self.media.len() + index) as u32)
    }

    /// Takes the packets of a station, and sets its next wake-up.
    fn take_departures(&mut self, now: Instant, index: usize) {
        let element = self.element_of_station(index);
        let StationSlot { station, interfaces } = &mut self.stations[index];
        let Some(station) = station else { return self.agenda.set(element, None) };
        while let Some((port, outgoing)) = station.poll_transmit(now) {
            if let Some(&interface) = interfaces.get(usize::from(port.0)) {
                self.departures.push_back((interface, outgoing.frame));
            }
        }
        self.agenda.set(element, station.poll_timeout().map(|(at, _)| at));
    }

    fn take_host_events(&mut self, now: Instant, index: usize) {
        let element = self.element_of_station(index);
        let Some(station) = &mut self.stations[index].station else { return };
        while let Some(event) = station.poll_event() {
            if self.recording.events {
                self.events.push_back(NetworkEvent {
                    at: now,
                    element,
                    what: EventKind::Host(event),
                });
            }
        }
    }
}

impl Node for Network {
    fn handle_input(&mut self, now: Instant, port: Port, input: Input) {
        // Devices carry packets, not signals.
        if let (Some(&index), Input::Frame(frame, vector)) =
            (self.devices.get(usize::from(port.0)), input)
        {
            self.enter(now, index, frame, vector);
            self.run(now);
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.run(now);
    }

    #[inline]
    fn poll_transmit(&mut self, now: Instant) -> Option<(Port, Outgoing)> {
        if !self.begun {
            self.run(now);
        }
        self.outputs.pop_front()
    }

    fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        if let Some(at) = self.watchdog.stalled() {
            return Some((at, "stalled"));
        }
        let (at, element) = self.agenda.next()?;
        let index = element.0 as usize;
        let rest = index.checked_sub(self.interfaces.len());
        let wake_up = match (rest, rest.and_then(|rest| self.media.get(rest))) {
            (None, _) => self.interfaces[index].interface.poll_timeout(),
            (Some(_), Some(slot)) => slot.medium.poll_timeout(),
            (Some(rest), None) => {
                let slot = &self.stations[rest - self.media.len()];
                slot.station.as_ref().and_then(Node::poll_timeout)
            }
        };
        Some((at, wake_up.map_or("nothing", |(_, reason)| reason)))
    }
}

impl Network {
    /// Takes a packet from a device, and assigns its tag.
    fn enter(&mut self, now: Instant, index: usize, mut frame: Frame, vector: RxVector) {
        let number = self.interfaces[index].ledger.enter();
        frame.tag = Some(tag_of(index, number));
        frame.kept = false;
        if self.recording.packets {
            self.events.push_back(passage(now, index, false, &frame));
        }
        self.stop_rest(index);
        let Slot { interface, ledger, .. } = &mut self.interfaces[index];
        interface.handle_input(now, DEVICE, Input::Frame(frame, vector));
        ledger.enter_flow(interface.last_flow());
        self.drain_interface(now, index);
    }
}

/// Returns the event of a packet that passes the device of interface `index`.
fn passage(at: Instant, index: usize, arrived: bool, frame: &Frame) -> NetworkEvent {
    let passage = Passage {
        arrived,
        tag: frame.tag,
        payload: frame.payload.clone(),
        damage: frame.damage.clone(),
    };
    NetworkEvent { at, element: ElementId(index as u32), what: EventKind::Passage(passage) }
}

#[cfg(test)]
mod tests;
