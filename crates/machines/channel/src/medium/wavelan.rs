//! The shared medium: one half-duplex air, on which frames that overlap at a receiver collide.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use windfall_base::{Failure, Frame, Input, Instant, Outgoing, Port, Rate, RxVector, Seed};
use windfall_wire_link::wavelan::Head;

use crate::air::{Air, AirConfig};
use crate::event::{Events, FrameFacts, MediumEvent};
use crate::fate::FrameFate;

/// The stations that hear each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Hearing {
    /// Everybody hears everybody.
    #[default]
    All,
    /// Only these pairs of sender and receiver.
    Pairs(BTreeSet<(Port, Port)>),
}

/// A shared half-duplex air.
#[derive(Clone, Debug, PartialEq)]
pub struct WavelanMediumConfig {
    /// The number of stations that share it.
    pub ports: u16,
    /// The rate of frames whose sender asks for none.
    pub rate: Rate,
    /// The air around each sender, by its port; a port beyond the list has ideal air.
    pub air: Vec<AirConfig>,
    /// The air from a sender to a receiver, where it differs from that around the sender.
    pub paths: BTreeMap<(Port, Port), AirConfig>,
    /// The stations that hear each other.
    pub hearing: Hearing,
    /// Whom frames are for.
    pub addressing: Addressing,
}

/// The way in which a frame names its receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Addressing {
    /// No address: every station in range takes it.
    #[default]
    None,
    /// By a header of [`wavelan`](windfall_wire_link::wavelan), where address *n* + 1 stands
    /// at port *n*.
    Polled,
}

impl Addressing {
    /// Returns `true` if a frame is for the station at `port`, as far as it says.
    fn is_for(self, frame: &Frame, port: Port) -> bool {
        match self {
            Self::None => true,
            Self::Polled => Head::parse(&frame.header)
                .map_or(true, |(head, _)| u16::from(head.to.0) == port.0 + 1),
        }
    }
}

impl WavelanMediumConfig {
    /// An ideal air for `ports` stations that all hear each other.
    #[must_use]
    pub fn new(ports: u16, rate: Rate) -> Self {
        Self {
            ports,
            rate,
            air: Vec::new(),
            paths: BTreeMap::new(),
            hearing: Hearing::All,
            addressing: Addressing::None,
        }
    }

    /// The air from a sender to a receiver; `None` where it is ideal.
    pub(super) fn air_between(&self, from: Port, to: Port) -> Option<&AirConfig> {
        self.paths.get(&(from, to)).or_else(|| self.air.get(usize::from(from.0)))
    }
}

#[derive(Debug)]
pub(super) struct Wavelan {
    config: WavelanMediumConfig,
    seed: Seed,
    name: String,
    /// Set where port `i` hears port `j`, at `j * ports + i`.
    hears: Vec<bool>,
    /// The air from `j` to `i`, at `j * ports + i`; made when first needed.
    airs: Vec<Option<Box<Air>>>,
    /// The air for frames that `i` overhears, which do not count among the frames for it.
    overheard: Vec<Option<Box<Air>>>,
    /// The transmissions on the air, in the order of beginning.
    on_air: Vec<Transmission>,
    /// When the first of them ends.
    first_end: Option<Instant>,
    /// Frames given while their sender was still transmitting.
    waiting: VecDeque<(Port, Outgoing)>,
    receivers: Vec<Receiver>,
    /// The inputs that are due at the stations, in order.
    ready: VecDeque<(Instant, Port, Input)>,
    held: usize,
}

/// The signals that one station's receiver hears.
#[derive(Clone, Debug, Default)]
struct Receiver {
    /// Transmissions of others that it hears.
    carriers: u32,
    /// Two of them have overlapped.
    failed: bool,
}

#[derive(Debug)]
struct Transmission {
    from: Port,
    began: Instant,
    ended: Instant,
    rate: Rate,
    frame: Frame,
    /// Receivers that cannot make it out, perhaps repeatedly.
    deaf: Vec<Port>,
}

impl Wavelan {
    pub(super) fn new(config: WavelanMediumConfig, seed: Seed, name: &str) -> Self {
        let ports = usize::from(config.ports);
        let mut hears = vec![matches!(config.hearing, Hearing::All); ports * ports];
        if let Hearing::Pairs(pairs) = &config.hearing {
            for (from, to) in pairs {
                if from.0 < config.ports && to.0 < config.ports {
                    hears[usize::from(from.0) * ports + usize::from(to.0)] = true;
                }
            }
        }
        for port in 0..ports {
            hears[port * ports + port] = false;
        }
        Self {
            seed,
            name: name.to_owned(),
            hears,
            airs: vec![None; ports * ports],
            overheard: vec![None; ports * ports],
            on_air: Vec::new(),
            first_end: None,
            waiting: VecDeque::new(),
            receivers: vec![Receiver::default(); ports],
            ready: VecDeque::new(),
            held: 0,
            config,
        }
    }

    pub(super) fn ports(&self) -> u16 {
        self.config.ports
    }

    pub(super) fn held(&self) -> usize {
        self.held
    }

    pub(super) fn handle_transmit(
        &mut self,
        now: Instant,
        from: Port,
        outgoing: Outgoing,
        events: &mut Events,
    ) {
        if from.0 >= self.config.ports {
            return;
        }
        self.settle(now, events);
        self.held += usize::from(outgoing.frame.tag.is_some() && !outgoing.frame.kept);
        if self.on_air.iter().any(|other| other.from == from) {
            self.waiting.push_back((from, outgoing));
        } else {
            self.begin(now, from, outgoing);
        }
    }

    pub(super) fn poll_reception(
        &mut self,
        now: Instant,
        events: &mut Events,
    ) -> Option<(Port, Input)> {
        self.settle(now, events);
        self.ready.pop_front().map(|(_, port, input)| (port, input))
    }

    pub(super) fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        if let Some((due, _, _)) = self.ready.front() {
            return Some((*due, "signal"));
        }
        self.first_end.map(|end| (end, "transmission done"))
    }

    /// Ends every transmission that is over at `now`, in the order of ending.
    #[inline]
    pub(super) fn settle(&mut self, now: Instant, events: &mut Events) {
        if self.first_end.is_some_and(|end| end <= now) {
            self.settle_due(now, events);
        }
    }

    fn settle_due(&mut self, now: Instant, events: &mut Events) {
        while let Some(first) = (0..self.on_air.len()).min_by_key(|&i| self.on_air[i].ended)
            && self.on_air[first].ended <= now
        {
            let transmission = self.on_air.remove(first);
            self.first_end = self.on_air.iter().map(|other| other.ended).min();
            let from = transmission.from;
            let ended = transmission.ended;
            self.finish(transmission, events);
            let next = self.waiting.iter().position(|(port, _)| *port == from);
            if let Some((_, outgoing)) = next.and_then(|i| self.waiting.remove(i)) {
                self.begin(ended, from, outgoing);
            }
        }
    }

    fn hears(&self, from: Port, to: Port) -> bool {
        self.hears[self.path(from, to)]
    }

    fn path(&self, from: Port, to: Port) -> usize {
        usize::from(from.0) * usize::from(self.config.ports) + usize::from(to.0)
    }

    fn begin(&mut self, at: Instant, from: Port, outgoing: Outgoing) {
        let Outgoing { frame, vector } = outgoing;
        let rate = vector.rate.unwrap_or(self.config.rate);
        let ended = at + vector.overhead + rate.time_of(frame.len());
        let mut deaf = Vec::new();
        let mut on_air = core::mem::take(&mut self.on_air);
        for other in &mut on_air {
            for to in (0..self.config.ports).map(Port) {
                // A station that transmits hears no other, and one that hears two reads neither.
                let hears_this = to == from || self.hears(from, to);
                let hears_other = to == other.from || self.hears(other.from, to);
                if hears_this && hears_other {
                    deaf.push(to);
                    other.deaf.push(to);
                }
            }
        }
        self.on_air = on_air;
        for to in (0..self.config.ports).map(Port) {
            if self.hears(from, to) {
                let receiver = &mut self.receivers[usize::from(to.0)];
                receiver.carriers += 1;
                if receiver.carriers == 1 {
                    self.ready.push_back((at, to, Input::CarrierBusy));
                }
            }
        }
        self.first_end = Some(self.first_end.map_or(ended, |end| end.min(ended)));
        self.on_air.push(Transmission { from, began: at, ended, rate, frame, deaf });
    }

    fn finish(&mut self, transmission: Transmission, events: &mut Events) {
        let Transmission { from, began, ended, rate, frame, deaf } = transmission;
        let facts = FrameFacts::of(&frame);
        self.held -= usize::from(facts.is_held());
        self.ready.push_back((ended, from, Input::TransmissionDone));
        for to in (0..self.config.ports).map(Port) {
            if !self.hears(from, to) {
                continue;
            }
            let (number, mut fate) = self.judge(&frame, from, to);
            if deaf.contains(&to) {
                fate = FrameFate::Collided;
            }
            if fate.arrives() {
                let mut copy = frame.clone();
                fate.apply(&mut copy);
                let vector = RxVector { began, rate: Some(rate), strength: None };
                self.ready.push_back((ended, to, Input::Frame(copy, vector)));
            }
            let receiver = &mut self.receivers[usize::from(to.0)];
            receiver.carriers -= 1;
            receiver.failed |= fate == FrameFate::Collided;
            if receiver.carriers == 0 {
                if core::mem::take(&mut receiver.failed) {
                    let failure = Input::ReceptionFailed(Failure::Header);
                    self.ready.push_back((ended, to, failure));
                }
                self.ready.push_back((ended, to, Input::CarrierIdle));
            }
            let event = MediumEvent::new(facts, (from, to), (began, ended), (number, fate));
            events.push_back((ended, event));
        }
    }

    /// Judges a frame on its way, and numbers it among those that are for the receiver.
    fn judge(&mut self, frame: &Frame, from: Port, to: Port) -> (Option<u64>, FrameFate) {
        let path = self.path(from, to);
        let own = self.config.addressing.is_for(frame, to);
        let (airs, suffix) =
            if own { (&mut self.airs, "") } else { (&mut self.overheard, "/overheard") };
        let air = airs[path].get_or_insert_with(|| {
            let ideal = AirConfig::default();
            let config = self.config.air_between(from, to);
            let name = format!("{}/{}-{}{suffix}", self.name, from.0, to.0);
            Box::new(Air::new(config.unwrap_or(&ideal), self.seed, &name))
        });
        let (number, fate) = air.judge(frame);
        (number.filter(|_| own), fate)
    }
}
