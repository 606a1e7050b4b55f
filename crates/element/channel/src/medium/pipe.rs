//! The pipe: full duplex between two ports, each direction with its own line, delay and air.

use std::collections::VecDeque;

use windfall_base::{Duration, Frame, Input, Instant, Outgoing, Port, Rate, RxVector, Seed};

use crate::air::{Air, AirConfig};
use crate::event::{Events, FrameFacts, MediumEvent};
use windfall_channel_trace::rate_trace::{RateTrace, TracePosition};

/// The rate at which bits leave a sender.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Line {
    /// All at once.
    #[default]
    Instant,
    /// At a constant rate.
    Rate(Rate),
    /// At the rate of a trace.
    Trace(RateTrace),
}

/// One direction of a pipe.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PathConfig {
    /// The rate at which bits leave the sender.
    pub line: Line,
    /// The propagation delay of each bit.
    pub delay: Duration,
    /// The models that act on the frames.
    pub air: AirConfig,
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
        let forward = Path::new(config.forward, seed, &format!("{name}/0-1"));
        let backward = Path::new(config.backward, seed, &format!("{name}/1-0"));
        Self { paths: [forward, backward], held: 0 }
    }

    pub(super) fn held(&self) -> usize {
        self.held
    }

    pub(super) fn handle_transmit(&mut self, now: Instant, from: Port, outgoing: Outgoing) {
        if let Some(path) = self.paths.get_mut(usize::from(from.0)) {
            self.held += usize::from(outgoing.frame.tag.is_some() && !outgoing.frame.kept);
            path.transmit(now, from, outgoing);
        }
    }

    pub(super) fn poll_reception(
        &mut self,
        now: Instant,
        events: &mut Events,
    ) -> Option<(Port, Input)> {
        loop {
            let (due, path) = self.next()?;
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
        let (due, path) = self.next()?;
        let is_done = self.paths[path].done.front() == Some(&due);
        Some((due, if is_done { "transmission done" } else { "arrival" }))
    }

    /// The moment at which something is due next, and on which path.
    fn next(&self) -> Option<(Instant, usize)> {
        match [self.paths[0].next(), self.paths[1].next()] {
            [Some(a), Some(b)] => Some(if b < a { (b, 1) } else { (a, 0) }),
            [Some(a), None] => Some((a, 0)),
            [None, Some(b)] => Some((b, 1)),
            [None, None] => None,
        }
    }
}

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

#[derive(Debug)]
struct Path {
    line: LineState,
    delay: Duration,
    air: Air,
    /// When the line is free; `None` before the first frame.
    free_at: Option<Instant>,
    /// Ends of transmissions that the sender has yet to learn of, in order.
    done: VecDeque<Instant>,
    /// Frames on their way, in the order of arrival, which is that of sending.
    flights: VecDeque<Flight>,
}

#[derive(Debug)]
enum LineState {
    Instant,
    Rate(Rate),
    Trace(TracePosition),
}

impl Path {
    fn new(config: PathConfig, seed: Seed, name: &str) -> Self {
        let line = match config.line {
            Line::Instant => LineState::Instant,
            Line::Rate(rate) => LineState::Rate(rate),
            Line::Trace(trace) => LineState::Trace(TracePosition::new(trace)),
        };
        Self {
            line,
            delay: config.delay,
            air: Air::new(&config.air, seed, name),
            free_at: None,
            done: VecDeque::new(),
            flights: VecDeque::new(),
        }
    }

    fn next(&self) -> Option<Instant> {
        let done = self.done.front().copied();
        let arrival = self.flights.front().map(|flight| flight.at);
        match (done, arrival) {
            (Some(done), Some(arrival)) => Some(done.min(arrival)),
            (done, arrival) => done.or(arrival),
        }
    }

    fn transmit(&mut self, now: Instant, from: Port, outgoing: Outgoing) {
        let Outgoing { mut frame, vector } = outgoing;
        let (facts, length) = (FrameFacts::of(&frame), frame.len());
        let began = self.free_at.map_or(now, |free| free.max(now));
        let follows = self.free_at == Some(began);
        let ended = match &mut self.line {
            LineState::Instant => began,
            LineState::Rate(rate) => began + rate.time_of(length),
            LineState::Trace(progress) => progress.finish(began, follows, length),
        } + vector.overhead;
        self.free_at = Some(ended);
        let judged = self.air.judge(&frame);
        judged.1.apply(&mut frame);
        let path = (from, Port(1 - from.0));
        let event = MediumEvent::new(facts, path, (began, ended), judged);
        let frame = event.fate.arrives().then_some(frame);
        self.done.push_back(ended);
        let (at, began) = (ended + self.delay, began + self.delay);
        self.flights.push_back(Flight { at, frame, event, began });
    }
}
