//! A network whose stations have faults at their ports.

use std::collections::BTreeMap;
use std::net::IpAddr;

use windfall_base::node::earlier;
use windfall_base::{Frame, Input, Instant, Node, Outgoing, Payload, Port, RxVector, Seed, Stream};
use windfall_wire_net::TcpFlags;

use crate::fault_injection::connection::{Connection, Verdict, Way};
use crate::fault_injection::port_faults::{ConnectionFault, PortFaults};
use crate::fault_injection::segment::{Segment, ends_of_datagram};

/// The most connections that are remembered; the oldest is forgotten.
const MOST: usize = 16_384;

/// The note on a fault whose port has nothing for it.
const ONLY_UDP: &str = " (only UDP was seen at this port)";

/// Counts of the work of the faults of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaultCounters {
    /// Connections that had the faults.
    pub connections: u64,
    /// Packets that were held back for good or answered in the place of an end.
    pub withheld: u64,
    /// Packets that were made: parts, ends and resets.
    pub made: u64,
}

/// A node whose ports are stations, with faults of their connections.
///
/// Without faults it is the node itself. Packets that faults hold are in no ledger of the node: it
/// has not got them yet, or has delivered them.
#[derive(Debug)]
pub struct Faulty<N> {
    node: N,
    places: Vec<Place>,
    connections: BTreeMap<Key, Connection>,
    /// Things that are to happen, by time and number.
    waiting: BTreeMap<(Instant, u64), Item>,
    number: u64,
    random: Stream,
}

/// A port of a station that has faults.
#[derive(Debug)]
struct Place {
    faults: PortFaults,
    addresses: Vec<IpAddr>,
    /// The ports of the node at which the station is.
    ports: Vec<Port>,
    counters: FaultCounters,
    /// The [bits](super::port_faults::ConnectionFault::bit) of the faults that have acted.
    acted: u16,
    seen: Seen,
}

/// The transport protocols that packets of a port had.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Seen {
    tcp: bool,
    udp: bool,
}

impl Seen {
    /// Returns what a fault of the port did not say of itself.
    fn note(self) -> &'static str {
        if self.udp && !self.tcp { ONLY_UDP } else { "" }
    }
}

/// An address and a port.
type Endpoint = (IpAddr, u16);

/// The client, and the station's address and port.
type Key = (Endpoint, Endpoint);

#[derive(Debug)]
enum Item {
    Frame(Way, Port, Frame),
    Look(Key, Port),
}

impl<N> Faulty<N> {
    /// A node without faults yet; `seed` chooses the connections that have them.
    #[must_use]
    pub fn new(node: N, seed: Seed) -> Self {
        Self {
            node,
            places: Vec::new(),
            connections: BTreeMap::new(),
            waiting: BTreeMap::new(),
            number: 0,
            random: Stream::new(seed, "faults"),
        }
    }

    /// Returns the node.
    pub fn node(&self) -> &N {
        &self.node
    }

    /// The node, for what is no packet.
    pub fn node_mut(&mut self) -> &mut N {
        &mut self.node
    }

    /// The node alone.
    pub fn into_node(self) -> N {
        self.node
    }

    /// Sets the faults of a port of the station that has these addresses and stands at these ports
    /// of the node, in place of those that it had; no faults clear it. What waits already still
    /// comes. The counts begin anew.
    pub fn set(&mut self, faults: PortFaults, addresses: Vec<IpAddr>, ports: Vec<Port>) {
        self.places.retain(|place| {
            place.faults.station != faults.station || place.faults.port != faults.port
        });
        // What was broken stays broken only while the port has faults.
        let port = faults.port;
        self.connections
            .retain(|(_, (address, own)), _| *own != port || !addresses.contains(address));
        if faults.all().next().is_some() {
            let counters = FaultCounters::default();
            let seen = Seen::default();
            self.places.push(Place { faults, addresses, ports, counters, acted: 0, seen });
        }
    }

    /// The ports that have faults, and what those did.
    pub fn faults(&self) -> impl Iterator<Item = (&PortFaults, FaultCounters)> {
        self.places.iter().map(|place| (&place.faults, place.counters))
    }

    /// Returns the faults that have never acted, as text with their ports.
    pub fn idle_faults(&self) -> impl Iterator<Item = String> {
        self.idle_faults_of(|_| true)
    }

    /// Returns those of the idle faults that cannot act, because their ports have carried only UDP.
    pub fn faults_of_udp(&self) -> impl Iterator<Item = String> {
        self.idle_faults_of(|place| place.seen.note() == ONLY_UDP)
    }

    fn idle_faults_of(&self, is_chosen: fn(&Place) -> bool) -> impl Iterator<Item = String> {
        self.places.iter().filter(move |place| is_chosen(place)).flat_map(|place| {
            let PortFaults { faults, upstream, .. } = &place.faults;
            let port = place.faults.place();
            let note = place.seen.note();
            let of = |list: &[ConnectionFault], from_client: bool, way: &str| {
                let idle = list.iter().filter(|it| place.acted & it.bit(from_client) == 0);
                idle.map(|it| format!("{port} {way}{it}{note}")).collect::<Vec<_>>()
            };
            [of(faults, false, ""), of(upstream, true, "upstream ")].concat()
        })
    }

    /// Takes a packet of a faulty port out of the way; gives back any other.
    fn divert(&mut self, now: Instant, port: Port, way: Way, frame: Frame) -> Option<Frame> {
        let is_here = |place: &Place| place.ports.contains(&port);
        if !self.places.iter().any(is_here) {
            return Some(frame);
        }
        let from_client = way == Way::Home;
        let Some(segment) = Segment::read(&frame.payload) else {
            self.note_datagram(&frame.payload, port, from_client);
            return Some(frame);
        };
        let (own, client) = if from_client {
            (segment.destination(), segment.source())
        } else {
            (segment.source(), segment.destination())
        };
        let Some(place) = place_of(&mut self.places, port, own) else { return Some(frame) };
        place.seen.tcp = true;
        let key = (client, own);
        let begins = segment.has(TcpFlags::SYN) && !segment.has(TcpFlags::ACK);
        let known = self.connections.get(&key);
        if known.is_none_or(|known| begins && known.is_replaced_by(&segment)) {
            if self.connections.len() >= MOST {
                self.connections.pop_first();
            }
            let has_faults = self.random.chance(place.faults.share);
            place.counters.connections += u64::from(has_faults);
            let connection = Connection::new(now, &segment, from_client, has_faults);
            self.connections.insert(key, connection);
        }
        let Some(connection) = self.connections.get_mut(&key) else { return Some(frame) };
        if !connection.has_faults {
            return Some(frame);
        }
        let verdict = connection.judge(now, &place.faults, &segment, frame, from_client);
        place.counters.withheld += u64::from(!verdict.frames.iter().any(|it| it.1 == way));
        place.counters.made += verdict.frames.len().saturating_sub(1) as u64;
        place.acted |= verdict.acted;
        self.keep(key, port, verdict);
        None
    }

    /// Notes at a port with faults that it has carried a datagram.
    fn note_datagram(&mut self, packet: &Payload, port: Port, from_client: bool) {
        let Some([source, destination]) = ends_of_datagram(packet) else { return };
        let own = if from_client { destination } else { source };
        if let Some(place) = place_of(&mut self.places, port, own) {
            place.seen.udp = true;
        }
    }

    /// Keeps what is to happen until its time.
    fn keep(&mut self, key: Key, port: Port, verdict: Verdict) {
        let frames = verdict.frames.into_iter();
        let frames = frames.map(|(at, way, frame)| (at, Item::Frame(way, port, frame)));
        let wake = verdict.wake.map(|at| (at, Item::Look(key, port)));
        for (at, item) in frames.chain(wake) {
            self.number += 1;
            self.waiting.insert((at, self.number), item);
        }
    }

    /// The first thing that is due and of this kind.
    fn due(&mut self, now: Instant, is_kind: fn(&Item) -> bool) -> Option<Item> {
        let due = self.waiting.range(..=(now, u64::MAX));
        let place = due.into_iter().find(|(_, item)| is_kind(item)).map(|(place, _)| *place)?;
        self.waiting.remove(&place)
    }
}

/// Returns the faults of a port of a station that stands at this port of the node.
fn place_of(places: &mut [Place], port: Port, own: Endpoint) -> Option<&mut Place> {
    places.iter_mut().find(|place| {
        place.ports.contains(&port)
            && place.faults.port == own.1
            && place.addresses.contains(&own.0)
    })
}

fn is_for_home(item: &Item) -> bool {
    matches!(item, Item::Frame(Way::Home, ..))
}

fn is_no_frame_for_home(item: &Item) -> bool {
    !is_for_home(item)
}

impl<N: Node> Faulty<N> {
    /// Does one of the things that are due; `false` if none is.
    fn do_next(&mut self, now: Instant) -> bool {
        match self.due(now, is_no_frame_for_home) {
            None => return false,
            Some(Item::Frame(_, port, frame)) => {
                self.node.handle_input(now, port, Input::Frame(frame, RxVector::wired(now)));
            }
            Some(Item::Look(key, port)) => {
                let faults = self.places.iter_mut().find(|place| {
                    place.faults.port == key.1.1 && place.addresses.contains(&key.1.0)
                });
                if let (Some(place), Some(known)) = (faults, self.connections.get_mut(&key)) {
                    let verdict = known.wake(now, &place.faults);
                    place.acted |= verdict.acted;
                    self.keep(key, port, verdict);
                }
            }
        }
        true
    }
}

impl<N: Node> Node for Faulty<N> {
    #[inline]
    fn handle_input(&mut self, now: Instant, port: Port, input: Input) {
        if self.places.is_empty() {
            return self.node.handle_input(now, port, input);
        }
        match input {
            Input::Frame(frame, vector) => {
                if let Some(frame) = self.divert(now, port, Way::Away, frame) {
                    self.node.handle_input(now, port, Input::Frame(frame, vector));
                } else {
                    self.do_next(now);
                }
            }
            other => self.node.handle_input(now, port, other),
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        if self.waiting.is_empty() || !self.do_next(now) {
            self.node.handle_timeout(now);
        }
    }

    #[inline]
    fn poll_transmit(&mut self, now: Instant) -> Option<(Port, Outgoing)> {
        if self.places.is_empty() && self.waiting.is_empty() {
            return self.node.poll_transmit(now);
        }
        loop {
            if let Some(Item::Frame(_, port, frame)) = self.due(now, is_for_home) {
                return Some((port, frame.into()));
            }
            let (port, outgoing) = self.node.poll_transmit(now)?;
            let vector = outgoing.vector;
            if let Some(frame) = self.divert(now, port, Way::Home, outgoing.frame) {
                return Some((port, Outgoing { frame, vector }));
            }
        }
    }

    #[inline]
    fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        let own = self.waiting.first_key_value().map(|((at, _), _)| (*at, "a fault"));
        earlier(self.node.poll_timeout(), own)
    }
}

#[cfg(test)]
mod tests;
