//! The pipe: full duplex between two ports, each direction with its own line, delay and air.

mod bucket;
mod flow;
mod jitter;
mod line;
mod outage;
mod reorder;
mod slot;
mod transit;

use core::fmt;
use core::str::FromStr;
use std::collections::VecDeque;

use windfall_base::{
    Congestion, Duration, Frame, Input, Instant, Outgoing, Port, RxVector, Seed, Stream,
    TransitTiming, earlier,
};

use crate::air::{Air, AirConfig, Chance, ParseModelError};
use crate::event::{Events, FrameFacts, MediumEvent};
use crate::fate::FrameFate;
use flow::{Arrivals, FlowPaths};
use line::LineState;
use outage::Outages;
use transit::Transit;

pub use bucket::Bucket;
pub use flow::FlowPathConfig;
pub use jitter::{Distribution, Jitter};
pub use line::Line;
pub use outage::OnOff;
pub use reorder::Reorder;
pub use slot::Slotting;

/// Cells of one length, into which a line cuts frames, as ATM does.
///
/// The text form is `PAYLOAD+HEADER` in bytes, such as `48+5`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    payload: u16,
    header: u16,
}

impl Cell {
    /// Returns the bytes of the cells that carry `bytes`, the last one filled up.
    #[must_use]
    pub const fn bytes_of(self, bytes: usize) -> usize {
        bytes.div_ceil(self.payload as usize) * (self.payload as usize + self.header as usize)
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}+{}", self.payload, self.header)
    }
}

impl FromStr for Cell {
    type Err = ParseModelError;

    fn from_str(text: &str) -> Result<Self, ParseModelError> {
        let parse = |word: &str| word.trim().parse::<u16>().ok();
        let both = text.split_once('+').and_then(|(a, b)| parse(a).zip(parse(b)));
        let cell = both.filter(|(payload, _)| *payload > 0);
        let fix = "write the bytes of payload and of header, such as 48+5";
        let (payload, header) =
            cell.ok_or_else(|| ParseModelError::new("cell", text, fix.to_owned()))?;
        Ok(Self { payload, header })
    }
}

/// One direction of a pipe.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PathConfig {
    /// The rate at which bits leave the sender.
    pub line: Line,
    /// The tokens that a line of a constant rate saves while it is idle.
    pub bucket: Option<Bucket>,
    /// The random times for which all frames are lost.
    pub onoff: Option<OnOff>,
    /// The propagation delay of each bit.
    pub delay: Duration,
    /// The deviation of the delay from frame to frame. Frames keep their order, unless
    /// `reorder` is set.
    pub jitter: Option<Jitter>,
    /// Which frames overtake those before them.
    pub reorder: Option<Reorder>,
    /// The moments at which frames leave, once they are due.
    pub slot: Option<Slotting>,
    /// The frames that arrive twice: they are copied behind the line.
    pub duplicate: Option<Chance>,
    /// The bytes that a packet takes on the line beside its own; `None`: those of its frame.
    pub overhead: Option<u32>,
    /// The cells into which the line cuts frames.
    pub cell: Option<Cell>,
    /// The models that act on the frames.
    pub air: AirConfig,
    /// The flows whose frames meet more than those of others.
    pub flows: Vec<FlowPathConfig>,
    /// The path from these times on, in their order: frames that begin to leave then meet it. Of
    /// the frame that is leaving, the bits that are left go at the new rate, and the whole takes
    /// the new delay. The changes of a change count for nothing.
    pub changes: Vec<(Instant, PathConfig)>,
}

/// A pipe: two directions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PipeMediumConfig {
    /// From port 0 to port 1.
    pub forward: PathConfig,
    /// From port 1 to port 0.
    pub backward: PathConfig,
}

#[derive(Debug)]
pub(super) struct Pipe {
    paths: [Path; 2],
    held: usize,
}

impl Pipe {
    pub(super) fn new(config: PipeMediumConfig, seed: Seed, name: &str) -> Self {
        let forward = Path::new(Port(0), config.forward, seed, &format!("{name}/0-1"));
        let backward = Path::new(Port(1), config.backward, seed, &format!("{name}/1-0"));
        Self { paths: [forward, backward], held: 0 }
    }

    pub(super) fn held(&self) -> usize {
        self.held
    }

    pub(super) fn met(&self, from: Port) -> &[Instant] {
        self.paths.get(usize::from(from.0)).map_or(&[], |path| &path.met)
    }

    /// Puts the states of each path from `now` on in place of those that were to come.
    pub(super) fn change(&mut self, now: Instant, config: PipeMediumConfig) {
        let both = [config.forward, config.backward];
        for (path, config) in self.paths.iter_mut().zip(both) {
            path.changes.truncate(path.changes.partition_point(|(at, _)| *at < now));
            path.changes.extend(config.changes.into_iter().filter(|(at, _)| *at >= now));
        }
    }

    pub(super) fn handle_transmit(&mut self, now: Instant, from: Port, outgoing: Outgoing) {
        if let Some(path) = self.paths.get_mut(usize::from(from.0)) {
            self.held += usize::from(outgoing.frame.tag.is_some() && !outgoing.frame.kept);
            path.transmit(now, outgoing);
        }
    }

    pub(super) fn passage(&self, from: Port) -> Option<TransitTiming> {
        self.paths.get(usize::from(from.0)).map(Path::passage)
    }

    pub(super) fn poll_reception(
        &mut self,
        now: Instant,
        events: &mut Events,
    ) -> Option<(Port, Input)> {
        self.paths.iter_mut().for_each(|path| path.advance(now));
        loop {
            let ((due, _), path) = self.next()?;
            if due > now {
                return None;
            }
            let sender = Port(path as u16);
            let path = &mut self.paths[path];
            if path.done.front() == Some(&due) {
                path.done.pop_front();
                return Some((sender, Input::TransmissionDone));
            }
            let Flight { at, frame, event, began } = path.flights.pop_front()?;
            self.held -= usize::from(event.tag.is_some() && !event.kept);
            let to = event.to;
            events.push_back((at, event));
            if let Some(frame) = frame {
                return Some((to, Input::Frame(frame, RxVector::wired(began))));
            }
        }
    }

    pub(super) fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        self.next().map(|(due, _)| due)
    }

    /// Returns the next due event, with its time and its path.
    fn next(&self) -> Option<((Instant, &'static str), usize)> {
        match [self.paths[0].next(), self.paths[1].next()] {
            [Some(a), Some(b)] => Some(if b.0 < a.0 { (b, 1) } else { (a, 0) }),
            [Some(a), None] => Some((a, 0)),
            [None, Some(b)] => Some((b, 1)),
            [None, None] => None,
        }
    }
}

/// The end of a transmission, as the cause of a wake-up.
const DONE: &str = "transmission done";

/// A frame on its way; `None` if the air has lost it.
#[derive(Debug)]
struct Flight {
    /// When its last bit arrives.
    at: Instant,
    frame: Option<Frame>,
    event: MediumEvent,
    /// When its first bit arrives.
    began: Instant,
}

impl Flight {
    /// The flight of a copy of a frame, with its first and its last bit at these times.
    fn of_copy(frame: Frame, event: MediumEvent, began: Instant, at: Instant) -> Self {
        let frame = Some(Frame { kept: true, ..frame });
        // The truth about the frame itself decides; its copy has no number.
        let event = MediumEvent { number: None, kept: true, duplicate: true, ..event };
        Self { at, frame, event, began }
    }
}

/// A frame that is leaving, and what the air has decided.
#[derive(Debug)]
struct Sending {
    frame: Frame,
    facts: FrameFacts,
    judged: (Option<u64>, FrameFate),
    /// The bytes that it takes on the line.
    length: usize,
    began: Instant,
    /// The time that its sender takes behind its last byte.
    overhead: Duration,
}

#[derive(Debug)]
struct Path {
    /// The port at which it begins.
    from: Port,
    seed: Seed,
    name: String,
    /// The path as it is, without what it becomes later.
    config: PathConfig,
    changes: VecDeque<(Instant, PathConfig)>,
    line: LineState,
    /// The frame that is leaving.
    sending: Option<Sending>,
    /// Frames that were given before the line was free.
    waiting: VecDeque<Outgoing>,
    transit: Transit,
    outages: Option<Outages>,
    air: Air,
    flows: FlowPaths,
    /// The time since which the path is as it is, and the times of this kind of the states that a
    /// frame has met.
    state: Instant,
    met: Vec<Instant>,
    /// When the last frame has left; `None` before the first one has.
    free_at: Option<Instant>,
    /// Ends of transmissions that the sender has yet to learn of, in order.
    done: VecDeque<Instant>,
    /// Frames on their way, in the order of arrival.
    flights: VecDeque<Flight>,
}

fn outages(means: OnOff, now: Instant, seed: Seed, name: &str) -> Outages {
    Outages::new(means, Stream::new(seed, &format!("{name}/onoff")), now)
}

impl Path {
    fn new(from: Port, mut config: PathConfig, seed: Seed, name: &str) -> Self {
        Self {
            from,
            seed,
            name: name.to_owned(),
            changes: core::mem::take(&mut config.changes).into(),
            line: LineState::new(config.line.clone(), config.bucket),
            sending: None,
            waiting: VecDeque::new(),
            transit: Transit::new(&config, seed, name),
            outages: config.onoff.map(|it| outages(it, Instant::START, seed, name)),
            air: Air::new(&config.air, seed, name),
            flows: FlowPaths::new(&config.flows, Instant::START, seed, name),
            config,
            state: Instant::START,
            met: Vec::new(),
            free_at: None,
            done: VecDeque::new(),
            flights: VecDeque::new(),
        }
    }

    /// Returns when something is due next, and what.
    fn next(&self) -> Option<(Instant, &'static str)> {
        let done = self.done.front().map(|at| (*at, DONE));
        let arrival = self.flights.front().map(|flight| (flight.at, "arrival"));
        let due = earlier(done.or_else(|| self.leaving()), arrival);
        // A change matters only to the frame that it meets on the line.
        let change = self.sending.as_ref().and_then(|_| self.changes.front());
        earlier(due, change.map(|(at, _)| (*at, "change")))
    }

    fn leaving(&self) -> Option<(Instant, &'static str)> {
        let ends = self.sending.as_ref().and_then(|sending| self.ends(sending));
        ends.map(|at| (at, DONE))
    }

    /// Returns when a frame that is leaving has left, if the line does not change.
    fn ends(&self, sending: &Sending) -> Option<Instant> {
        self.line.ends().map(|ends| ends.saturating_add(sending.overhead))
    }

    fn passage(&self) -> TransitTiming {
        let rate = self.line.constant_rate();
        let cell = self.config.cell.map(|cell| [cell.payload, cell.header]);
        let overhead = self.config.overhead;
        let delay = self.transit.usual_delay();
        let slots = self.transit.slots();
        TransitTiming { rate, overhead, cell, delay, slots, ..TransitTiming::default() }
    }

    /// Becomes what it is from now on, if that has changed.
    #[inline]
    fn change(&mut self, now: Instant) {
        while self.changes.front().is_some_and(|(at, _)| *at <= now) {
            self.make_change();
        }
    }

    /// Makes the next change: a part that has a state continues from it, and other settings are
    /// read from `config`.
    fn make_change(&mut self) {
        let Some((at, config)) = self.changes.pop_front() else { return };
        self.state = at;
        if self.sending.is_some() {
            self.meet();
        }
        self.line.change(at, &config.line, config.bucket);
        let transit = Transit::new(&config, self.seed, &self.name);
        self.transit = transit.behind(&self.transit);
        self.air.change(&config.air, self.seed, &self.name);
        let fresh = config.onoff.map(|it| outages(it, at, self.seed, &self.name));
        self.outages = fresh.map(|fresh| fresh.behind(self.outages.as_ref()));
        if config.flows != self.config.flows {
            self.flows.change(&config.flows, at, self.seed, &self.name);
        }
        self.config = config;
    }

    /// Lets frames leave, and changes meet them, up to `now`.
    #[inline]
    fn advance(&mut self, now: Instant) {
        while let Some(sending) = self.sending.take() {
            let change = self.changes.front().map(|(at, _)| *at).filter(|at| *at <= now);
            let ended = self.ends(&sending).filter(|ended| *ended <= now);
            match (ended, change) {
                (Some(ended), change) if change.is_none_or(|at| ended <= at) => {
                    self.finish(sending, ended);
                    if let Some(outgoing) = self.waiting.pop_front() {
                        self.begin(ended, outgoing);
                    }
                }
                (_, Some(_)) => {
                    self.sending = Some(sending);
                    self.make_change();
                }
                (_, None) => {
                    self.sending = Some(sending);
                    break;
                }
            }
        }
    }

    fn transmit(&mut self, now: Instant, outgoing: Outgoing) {
        self.advance(now);
        if self.sending.is_some() {
            self.waiting.push_back(outgoing);
        } else {
            self.begin(now, outgoing);
            self.advance(now);
        }
    }

    /// Begins to send a frame on a line that is free.
    fn begin(&mut self, began: Instant, outgoing: Outgoing) {
        self.change(began);
        self.meet();
        let Outgoing { mut frame, vector } = outgoing;
        let facts = FrameFacts::of(&frame);
        let length = self.charged(&facts);
        self.line.begin(began, self.free_at == Some(began), length);
        let mut judged = self.air.judge(&frame);
        if self.air.has_marked() {
            frame.congestion = Congestion::Marked;
        }
        if let Some(flow) = self.flows.of(&frame) {
            judged.1 = flow.judge(&frame, judged.1);
        }
        let overhead = vector.overhead;
        self.sending = Some(Sending { frame, facts, judged, length, began, overhead });
    }

    /// The frame has left: it is on its way now.
    fn finish(&mut self, sending: Sending, ended: Instant) {
        let Sending { mut frame, facts, mut judged, length, began, .. } = sending;
        self.free_at = Some(ended);
        let mut flow = self.flows.of(&frame);
        let is_off = self.outages.as_mut().is_some_and(|outages| outages.is_off(ended));
        let is_flow_off = flow.as_mut().is_some_and(|flow| flow.is_off(ended));
        if is_off || is_flow_off || self.line.is_over(ended) {
            judged.1 = FrameFate::Lost;
        }
        let (at, copied) = self.transit.next(began, ended, length);
        let Arrivals { at, copies } = match flow {
            Some(flow) => flow.next(&frame, at, copied, length),
            None => Arrivals { at, copies: [copied, None, None] },
        };
        judged.1.apply(&mut frame);
        let path = (self.from, Port(1 - self.from.0));
        let event = MediumEvent::new(facts, path, (began, ended), judged);
        let frame = event.fate.arrives().then_some(frame);
        self.done.push_back(ended);
        let taken = ended - began;
        let copies = copies.map(|at| Some((at?, frame.clone()?, event.clone())));
        self.fly(Flight { at, frame, event, began: at - taken });
        for (at, frame, event) in copies.into_iter().flatten() {
            self.fly(Flight::of_copy(frame, event, at - taken, at));
        }
    }

    /// Notes that a frame meets the path as it is.
    #[inline]
    fn meet(&mut self) {
        if self.met.last() != Some(&self.state) {
            self.met.push(self.state);
        }
    }

    /// Returns the bytes that a frame takes on the line.
    fn charged(&self, facts: &FrameFacts) -> usize {
        let FrameFacts { length, header, trailer, .. } = *facts;
        let PathConfig { overhead, cell, .. } = self.config;
        let bytes = overhead.map_or(length, |overhead| length - header - trailer + overhead);
        cell.map_or(bytes as usize, |cell| cell.bytes_of(bytes as usize))
    }

    /// Puts a frame among those on their way, behind those that arrive at the same time.
    #[inline]
    fn fly(&mut self, flight: Flight) {
        let is_last = self.flights.back().is_none_or(|last| last.at <= flight.at);
        self.flights.push_back(flight);
        if !is_last {
            self.move_forward();
        }
    }

    /// Moves the last of the frames on their way to its place.
    fn move_forward(&mut self) {
        let Some(flight) = self.flights.pop_back() else { return };
        let place = self.flights.partition_point(|other| other.at <= flight.at);
        self.flights.insert(place, flight);
    }
}
