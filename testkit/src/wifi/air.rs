//! The air between stations of a test: who hears a station hears it a microsecond later.

use windfall_base::{
    Duration, Failure, Frame, Input, Instant, Node, Outgoing, Port, Rate, RxVector,
};

use super::{AIR, DEVICE};
use crate::timeline::Timeline;

/// The propagation delay from one station to another.
pub const PROPAGATION: Duration = Duration::from_micros(1);

/// Frames that may still be on the air: whatever began before them is over.
const RECENT: usize = 64;

/// An event that awaits a station.
#[derive(Debug)]
enum Coming {
    /// Energy of others begins.
    Begin,
    /// The frame with this number ends, and perhaps it can be read.
    End(usize),
    /// The station's own frame has left.
    Done,
}

/// A frame on the air.
#[derive(Debug)]
struct Flight {
    from: usize,
    began: Instant,
    ends: Instant,
    frame: Frame,
    rate: Option<Rate>,
}

/// Stations around one medium, and the record of what they did.
#[derive(Debug)]
pub struct Cell<S> {
    /// The stations, in the order of their addresses.
    pub stations: Vec<S>,
    /// The stations that sent, read, missed and delivered frames.
    pub timeline: Timeline,
    /// Inverts the first bit of the payload of these frames, counted from 0 over all senders.
    pub damaged: Vec<usize>,
    /// Pairs of sender and receiver that do not hear each other, in that direction.
    pub hidden: Vec<(usize, usize)>,
    /// Says in a few words what a frame is.
    describe: fn(&Frame) -> String,
    now: Instant,
    flights: Vec<Flight>,
    /// Of equal times the earlier pushed comes first.
    coming: Vec<(Instant, usize, Coming)>,
    /// The number of others that each station hears.
    heard: Vec<u32>,
}

impl<S: Node> Cell<S> {
    /// Puts the stations around one medium; `describe` names frames in the timeline.
    #[must_use]
    pub fn new(stations: Vec<S>, describe: fn(&Frame) -> String) -> Self {
        let heard = vec![0; stations.len()];
        Self {
            stations,
            timeline: Timeline::new(),
            damaged: Vec::new(),
            hidden: Vec::new(),
            describe,
            now: Instant::START,
            flights: Vec::new(),
            coming: Vec::new(),
            heard,
        }
    }

    /// The current time of the air.
    #[must_use]
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// Hands a packet to the device of a station now.
    pub fn packet(&mut self, station: usize, packet: Frame) {
        self.feed(station, DEVICE, Input::Frame(packet, RxVector::wired(self.now)));
    }

    /// Runs up to and including `until`, which is then the time.
    pub fn run_until(&mut self, until: Instant) {
        while let Some(at) = self.next().filter(|at| *at <= until) {
            self.now = at;
            self.step();
        }
        self.now = until;
    }

    fn next(&self) -> Option<Instant> {
        let wakes = self.stations.iter().filter_map(Node::poll_timeout).map(|(at, _)| at);
        self.coming.iter().map(|(at, ..)| *at).chain(wakes).min()
    }

    fn step(&mut self) {
        let now = self.now;
        let due = |station: &S| station.poll_timeout().is_some_and(|(at, _)| at <= now);
        if let Some(index) = self.coming.iter().position(|(at, ..)| *at <= now) {
            let (_, station, coming) = self.coming.remove(index);
            self.happen(station, &coming);
        } else if let Some(station) = self.stations.iter().position(due) {
            self.stations[station].handle_timeout(now);
            self.drain(station);
        }
    }

    fn feed(&mut self, station: usize, port: Port, input: Input) {
        self.stations[station].handle_input(self.now, port, input);
        self.drain(station);
    }

    fn drain(&mut self, station: usize) {
        while let Some((port, outgoing)) = self.stations[station].poll_transmit(self.now) {
            if port == AIR {
                self.launch(station, outgoing);
            } else {
                self.note(station, "^", &outgoing.frame);
            }
        }
    }

    fn launch(&mut self, from: usize, outgoing: Outgoing) {
        let Outgoing { frame, vector } = outgoing;
        self.note(from, ">", &frame);
        let bits = vector.rate.map_or(Duration::ZERO, |rate| rate.time_of(frame.len()));
        let ends = self.now + vector.overhead + bits;
        let flight = self.flights.len();
        let hears = |other: &usize| *other != from && !self.hidden.contains(&(from, *other));
        for other in (0..self.stations.len()).filter(hears) {
            self.coming.push((self.now + PROPAGATION, other, Coming::Begin));
            self.coming.push((ends + PROPAGATION, other, Coming::End(flight)));
        }
        self.coming.push((ends, from, Coming::Done));
        self.flights.push(Flight { from, began: self.now, ends, frame, rate: vector.rate });
    }

    fn happen(&mut self, station: usize, coming: &Coming) {
        match *coming {
            Coming::Done => self.feed(station, AIR, Input::TransmissionDone),
            Coming::Begin => {
                self.heard[station] += 1;
                if self.heard[station] == 1 {
                    self.feed(station, AIR, Input::CarrierBusy);
                }
            }
            Coming::End(flight) => {
                self.arrive(station, flight);
                self.heard[station] -= 1;
                if self.heard[station] == 0 {
                    self.feed(station, AIR, Input::CarrierIdle);
                }
            }
        }
    }

    /// A frame has ended at a station, which reads it unless something disturbed.
    fn arrive(&mut self, station: usize, number: usize) {
        let flight = &self.flights[number];
        let overlaps = |other: &Flight| other.began <= flight.ends && flight.began <= other.ends;
        let heard = |other: &Flight| !self.hidden.contains(&(other.from, station));
        let others = self.flights.iter().enumerate().rev().take(RECENT);
        let others = others.filter(|(other, _)| *other != number).map(|(_, other)| other);
        let mut collision = false;
        for other in others.filter(|other| overlaps(other) && heard(other)) {
            if other.from == station {
                // Whoever sends is deaf meanwhile, and does not even know it.
                return;
            }
            collision = true;
        }
        let mut frame = flight.frame.clone();
        let began = flight.began + PROPAGATION;
        let rate = flight.rate;
        if collision {
            self.note(station, "x", &frame);
            return self.feed(station, AIR, Input::ReceptionFailed(Failure::Header));
        }
        if self.damaged.contains(&number) {
            frame.invert(&[frame.header.len() as u32 * 8]);
        }
        self.note(station, "<", &frame);
        let vector = RxVector { rate, ..RxVector::wired(began) };
        self.feed(station, AIR, Input::Frame(frame, vector));
    }

    /// Adds a line: the station, what it did, and with which frame.
    fn note(&mut self, station: usize, did: &str, frame: &Frame) {
        let what = (self.describe)(frame);
        self.timeline.note(self.now, format_args!("{station} {did} {what}"));
    }
}
