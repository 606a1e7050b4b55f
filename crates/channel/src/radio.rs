//! The air of 802.11b/g: places, propagation, interference, carrier sense, and what receivers make
//! of it.
//!
//! A signal reaches each receiver in range after its delay, weakened by [`PathLoss`], [`Wall`]s,
//! [`Shadowing`] and [`Fading`]; fading stands still during a frame. A receiver that notices the
//! preamble follows the frame to its end, while all other signals in its band add up to
//! interference, piece by piece; whether the frame comes through is decided at its end. A receiver
//! that follows nothing hears energy only.
//!
//! Radios filter addresses: a frame for somebody else is not copied, but reported as
//! [`Input::Overheard`]. Frames are those of 802.11, whose receiver stands in bytes 4 to 9.

mod config;
mod fading;
mod judge;
mod links;
mod place;
mod propagation;
mod receiver;
mod selective;

use core::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::sync::Arc;

use windfall_base::{Dbm, Rate};
use windfall_base::{
    Failure, Frame, Input, Instant, Outgoing, Overheard, Port, RxVector, Seed, Signal, Stream,
    TxVector,
};
use windfall_phy::decibel::{decibels, noise_milliwatts, ratio};
use windfall_wire_link::ieee80211::{MacAddress, PhyRate};

pub use config::{Errors, RadioConfig, RadioStation, Thresholds};
pub use fading::Fading;
pub use place::{Position, Track};
pub use propagation::{PathLoss, Shadowing, Wall};

use crate::event::Event;
use crate::verdict::{Missed, Verdict};
use judge::{Noise, Samplers, Sent};
use links::{Hearer, Links};
use receiver::{Levels, Receiver, Reception};

/// A radio medium at work; [`Medium`](crate::Medium) is its face.
#[derive(Debug)]
pub(crate) struct Radio {
    config: RadioConfig,
    links: Links,
    receivers: Vec<Receiver>,
    addresses: BTreeMap<MacAddress, u16>,
    /// The randomness of each receiver, and how many frames it has judged.
    judges: Vec<(Stream, u64)>,
    samplers: Samplers,
    /// What is on the air; places are used again.
    transmissions: Vec<Option<Box<Transmission>>>,
    agenda: BinaryHeap<Reverse<(Instant, Moment)>>,
    /// Frames given while their sender was still transmitting.
    waiting: VecDeque<(Port, Outgoing)>,
    /// What is due at the stations, in order: a signal, or the next of the frames.
    ready: VecDeque<(Instant, Port, Option<Signal>)>,
    /// The frames among it, in order.
    frames: VecDeque<(Frame, RxVector)>,
    held: usize,
    /// Those of the configuration, as ratios.
    distortion: f64,
    levels: Levels,
}

/// What happens next; of what happens at one instant, ends come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Moment {
    /// The sender's signal ends.
    Done(u32),
    /// It ends at the hearers from one to before another, whose delay is the same.
    Leave(u32, u32, u32),
    /// It arrives at them.
    Arrive(u32, u32, u32),
}

#[derive(Debug)]
struct Transmission {
    from: u16,
    began: Instant,
    ended: Instant,
    sent: Sent,
    /// In milliwatts.
    power: f64,
    frame: Frame,
    to: Option<MacAddress>,
    hearers: Arc<[Hearer]>,
    /// Addressed receivers that do not follow it, and why.
    missed: Vec<(Port, Missed)>,
    /// Moments still to come.
    left: u32,
}

impl Radio {
    pub(crate) fn new(config: RadioConfig, seed: Seed, name: &str) -> Self {
        let count = config.stations.len().min(usize::from(u16::MAX)) as u16;
        let receiver = |port: u16| {
            let noise_figure = config.stations[usize::from(port)].noise_figure;
            Receiver::new(noise_milliwatts(20e6, noise_figure))
        };
        let judge = |port: u16| (Stream::new(seed, &format!("{name}/{port}")), 0);
        let address = |port: u16| Some((config.stations[usize::from(port)].address?, port));
        Self {
            links: Links::new(&config, seed, name),
            receivers: (0..count).map(receiver).collect(),
            addresses: (0..count).filter_map(address).collect(),
            judges: (0..count).map(judge).collect(),
            samplers: judge::samplers(),
            transmissions: Vec::new(),
            agenda: BinaryHeap::new(),
            waiting: VecDeque::new(),
            ready: VecDeque::new(),
            frames: VecDeque::new(),
            held: 0,
            distortion: config.distortion.map_or(0.0, ratio),
            levels: Levels::new(&config.thresholds),
            config,
        }
    }

    pub(crate) fn ports(&self) -> u16 {
        self.receivers.len() as u16
    }

    pub(crate) fn held(&self) -> usize {
        self.held
    }

    pub(crate) fn handle_transmit(
        &mut self,
        now: Instant,
        from: Port,
        outgoing: Outgoing,
        events: &mut VecDeque<Event>,
    ) {
        self.settle(now, events);
        let Some(receiver) = self.receivers.get(usize::from(from.0)) else { return };
        self.held += usize::from(outgoing.frame.tag.is_some() && !outgoing.frame.kept);
        if receiver.transmits {
            self.waiting.push_back((from, outgoing));
        } else {
            self.begin(now, from.0, outgoing);
        }
    }

    #[inline]
    pub(crate) fn poll_reception(
        &mut self,
        now: Instant,
        events: &mut VecDeque<Event>,
    ) -> Option<(Port, Input)> {
        self.settle(now, events);
        let (_, port, signal) = self.ready.pop_front()?;
        if let Some(signal) = signal {
            return Some((port, signal.into()));
        }
        let (frame, vector) = self.frames.pop_front()?;
        Some((port, Input::Frame(frame, vector)))
    }

    /// The next reception, if it is a signal.
    #[inline]
    pub(crate) fn poll_signal(
        &mut self,
        now: Instant,
        events: &mut VecDeque<Event>,
    ) -> Option<(Port, Signal)> {
        self.settle(now, events);
        let &(_, port, signal) = self.ready.front()?;
        let signal = signal?;
        self.ready.pop_front();
        Some((port, signal))
    }

    pub(crate) fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        if let Some((due, ..)) = self.ready.front() {
            return Some((*due, "signal"));
        }
        self.agenda.peek().map(|Reverse((at, moment))| {
            let why = match moment {
                Moment::Done(_) => "transmission done",
                Moment::Leave(..) => "signal ends",
                Moment::Arrive(..) => "signal arrives",
            };
            (*at, why)
        })
    }

    /// Lets everything happen that is due at `now`, which mostly is nothing.
    #[inline]
    pub(crate) fn settle(&mut self, now: Instant, events: &mut VecDeque<Event>) {
        if self.agenda.peek().is_some_and(|Reverse((at, _))| *at <= now) {
            self.settle_due(now, events);
        }
    }

    fn settle_due(&mut self, now: Instant, events: &mut VecDeque<Event>) {
        while let Some(&Reverse((at, moment))) = self.agenda.peek()
            && at <= now
        {
            self.agenda.pop();
            match moment {
                Moment::Done(index) => self.done(at, index, events),
                Moment::Arrive(index, first, end) => self.arrive(at, index, first, end),
                Moment::Leave(index, first, end) => self.leave(at, index, first, end, events),
            }
        }
    }

    fn begin(&mut self, at: Instant, from: u16, outgoing: Outgoing) {
        let Outgoing { frame, vector } = outgoing;
        let rate = vector.rate.and_then(PhyRate::from_rate).unwrap_or(self.config.rate);
        let sent = Sent::new(rate, vector.preamble, frame.len());
        let ended = at + rate.frame_duration(vector.preamble, frame.len());
        let hearers = self.links.reach(&self.config, from, at);
        let index = self.free_place();
        let mut left = 1;
        self.agenda.push(Reverse((ended, Moment::Done(index))));
        let mut first = 0;
        for wave in hearers.chunk_by(|a, b| a.delay == b.delay) {
            let (begin, end) = (first as u32, (first + wave.len()) as u32);
            let delay = wave[0].delay;
            self.agenda.push(Reverse((at + delay, Moment::Arrive(index, begin, end))));
            self.agenda.push(Reverse((ended + delay, Moment::Leave(index, begin, end))));
            (first, left) = (first + wave.len(), left + 2);
        }
        let receiver = &mut self.receivers[usize::from(from)];
        receiver.transmits = true;
        let abandoned = receiver.abandon();
        self.note(abandoned, Port(from), Missed::Transmitting);
        self.sense(at, from);
        self.transmissions[index as usize] = Some(Box::new(Transmission {
            from,
            began: at,
            ended,
            sent,
            power: self.power(from, &vector),
            to: frame
                .header
                .get(4..10)
                .map(|bytes| MacAddress(*bytes.first_chunk().expect("six bytes were taken"))),
            frame,
            hearers,
            missed: Vec::new(),
            left,
        }));
    }

    /// The power at which a station sends, in milliwatts: what the frame asks for, if it has that.
    fn power(&self, from: u16, vector: &TxVector) -> f64 {
        let most = self.config.stations[usize::from(from)].power.0;
        ratio(vector.power.map_or(most, |asked| asked.0.min(most)))
    }

    fn free_place(&mut self) -> u32 {
        let free = self.transmissions.iter().position(Option::is_none).unwrap_or_else(|| {
            self.transmissions.push(None);
            self.transmissions.len() - 1
        });
        free as u32
    }

    /// A signal arrives at the hearers from `first` to before `end`.
    fn arrive(&mut self, at: Instant, index: u32, first: u32, end: u32) {
        let Some(mut transmission) = self.transmissions[index as usize].take() else { return };
        for hearer in &transmission.hearers[first as usize..end as usize] {
            let &Hearer { port, gain, same_channel, .. } = hearer;
            let fading = self.links.fading(&self.config, transmission.from, port, at);
            let power = transmission.power * gain * fading;
            let receiver = &mut self.receivers[usize::from(port)];
            let (missed, left) = receiver.arrive(at, index, power, same_channel, &self.levels);
            if let Some(why) = missed
                && is_for(&self.config, Port(port), transmission.to)
            {
                transmission.missed.push((Port(port), why));
            }
            self.note(left, Port(port), Missed::Captured);
            self.sense(at, port);
        }
        self.put_back(index, transmission);
    }

    /// Remembers why an addressed receiver does not follow a transmission.
    fn note(&mut self, index: Option<u32>, port: Port, why: Missed) {
        let place = index.and_then(|index| self.transmissions[index as usize].as_mut());
        if let Some(transmission) = place
            && is_for(&self.config, port, transmission.to)
        {
            transmission.missed.push((port, why));
        }
    }

    /// A signal ends at the hearers from `first` to before `end`.
    fn leave(
        &mut self,
        at: Instant,
        index: u32,
        first: u32,
        end: u32,
        events: &mut VecDeque<Event>,
    ) {
        let Some(transmission) = self.transmissions[index as usize].take() else { return };
        for hearer in first..end {
            let port = transmission.hearers[hearer as usize].port;
            if let Some(event) = self.leave_one(at, index, &transmission, port) {
                events.push_back(event);
            }
            self.sense(at, port);
        }
        self.put_back(index, transmission);
    }

    /// A signal ends at the station at `port`. Gives its fate, if it was for that station.
    fn leave_one(
        &mut self,
        at: Instant,
        index: u32,
        transmission: &Transmission,
        port: u16,
    ) -> Option<Event> {
        let receiver = &mut self.receivers[usize::from(port)];
        let is_for = is_for(&self.config, Port(port), transmission.to);
        let strength = if is_for { receiver.strength(index) } else { None };
        let Some(reception) = receiver.leave(at, index) else {
            let why = transmission.missed.iter().find(|(missing, _)| *missing == Port(port));
            let verdict = Verdict::Missed(why.map_or(Missed::Preamble, |(_, why)| *why));
            let event = || transmission.event(at, Port(port), None, verdict);
            return is_for.then(|| Event { strength, ..event() });
        };
        let (stream, count) = &mut self.judges[usize::from(port)];
        *count += 1;
        let (number, mut stream) = (*count - 1, stream.at(*count));
        let carriers = self.links.carriers(transmission.from, port, reception.began);
        let noise = Noise {
            floor: receiver.noise,
            distortion: self.distortion,
            carriers: carriers.as_ref(),
        };
        let sent = transmission.sent;
        let verdict = match self.config.errors {
            Errors::Formula => judge::by_formula(sent, &reception, noise, &mut stream),
            Errors::Pattern => {
                let samplers = &mut self.samplers;
                judge::by_pattern(samplers, sent, &reception, noise, is_for, &mut stream)
            }
        };
        let due = transmission.due(&reception, &verdict, is_for, &mut self.frames);
        self.ready.push_back((at, Port(port), due));
        receiver.recycle(reception);
        let event = || transmission.event(at, Port(port), Some(number), verdict);
        is_for.then(|| Event { strength, ..event() })
    }

    fn done(&mut self, at: Instant, index: u32, events: &mut VecDeque<Event>) {
        let Some(transmission) = self.transmissions[index as usize].take() else { return };
        let from = transmission.from;
        self.held -= usize::from(transmission.frame.tag.is_some() && !transmission.frame.kept);
        if let Some(to) = self.unreached(&transmission) {
            let verdict = Verdict::Missed(Missed::Preamble);
            events.push_back(transmission.event(at, to, None, verdict));
        }
        self.receivers[usize::from(from)].transmits = false;
        self.ready.push_back((at, Port(from), Some(Signal::TransmissionDone)));
        self.put_back(index, transmission);
        let next = self.waiting.iter().position(|(port, _)| port.0 == from);
        if let Some((_, outgoing)) = next.and_then(|i| self.waiting.remove(i)) {
            self.begin(at, from, outgoing);
        }
    }

    /// The receiver whose fate has to be told, since it lies beyond the reach of the signal; any
    /// one of those that a frame for all did not reach.
    fn unreached(&self, transmission: &Transmission) -> Option<Port> {
        let to = transmission.to?;
        if to.is_group() {
            let other = u16::from(transmission.from == 0);
            let nobody = transmission.hearers.is_empty() && other < self.ports();
            return nobody.then_some(Port(other));
        }
        let port = *self.addresses.get(&to)?;
        let heard = transmission.hearers.iter().any(|hearer| hearer.port == port);
        (!heard && port != transmission.from).then_some(Port(port))
    }

    /// One moment of a transmission is over; after the last one its place is free.
    fn put_back(&mut self, index: u32, mut transmission: Box<Transmission>) {
        transmission.left -= 1;
        if transmission.left > 0 {
            self.transmissions[index as usize] = Some(transmission);
        }
    }

    /// Tells a station when its carrier sense has changed.
    fn sense(&mut self, at: Instant, port: u16) {
        let carrier = self.receivers[usize::from(port)].carrier(&self.levels);
        if let Some(busy) = carrier {
            let signal = if busy { Signal::CarrierBusy } else { Signal::CarrierIdle };
            self.ready.push_back((at, Port(port), Some(signal)));
        }
    }
}

/// Whether the radio at `port` hands up frames for `to` whole.
fn is_for(config: &RadioConfig, port: Port, to: Option<MacAddress>) -> bool {
    let own = config.stations[usize::from(port.0)].address;
    match (own, to) {
        (Some(own), Some(to)) => to == own || to.is_group(),
        _ => true,
    }
}

impl Transmission {
    /// What a receiver that followed the frame tells its station; `None` if it is the frame itself,
    /// which then stands behind `frames`.
    fn due(
        &self,
        reception: &Reception,
        verdict: &Verdict,
        is_for: bool,
        frames: &mut VecDeque<(Frame, RxVector)>,
    ) -> Option<Signal> {
        match verdict {
            Verdict::Missed(Missed::Payload) => self.overheard(false),
            Verdict::Intact | Verdict::Damaged { .. } if is_for => {
                let mut frame = self.frame.clone();
                verdict.apply(&mut frame);
                let vector = RxVector {
                    began: reception.began,
                    rate: Some(self.rate()),
                    strength: Some(Dbm(decibels(reception.power))),
                };
                frames.push_back((frame, vector));
                None
            }
            Verdict::Intact => self.overheard(true),
            Verdict::Damaged { .. } => self.overheard(false),
            _ => Some(Signal::ReceptionFailed(Failure::Header)),
        }
    }

    fn rate(&self) -> Rate {
        self.sent.rate.rate()
    }

    fn overheard(&self, good: bool) -> Option<Signal> {
        let mut head = [0; 4];
        for (to, from) in head.iter_mut().zip(&self.frame.header) {
            *to = *from;
        }
        Some(Signal::Overheard(Overheard { head, good }))
    }

    fn event(&self, at: Instant, to: Port, number: Option<u64>, verdict: Verdict) -> Event {
        Event {
            at,
            from: Port(self.from),
            to,
            number,
            tag: self.frame.tag,
            kept: self.frame.kept,
            length: self.frame.len() as u32,
            header: self.frame.header.len() as u32,
            trailer: self.frame.trailer.len() as u32,
            began: self.began,
            ended: self.ended,
            strength: None,
            verdict,
        }
    }
}

#[cfg(test)]
mod tests;
