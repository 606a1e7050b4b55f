//! The air of 802.11b/g: places, propagation, interference, carrier sense, and what receivers make
//! of it.
//!
//! A signal reaches each receiver in range after its delay, weakened by [`PathLoss`], [`Wall`]s,
//! [`Shadowing`] and [`Fading`]; fading stands still during a frame. A receiver that notices the
//! preamble follows the frame to its end, while all other signals in its band add up to
//! interference, piece by piece; whether the frame comes through is decided at its end. A receiver
//! that follows nothing hears energy only.
//!
//! Radios filter addresses: a frame for another station is not copied, but reported as
//! [`Input::Overheard`]. Frames are those of 802.11, whose receiver stands in bytes 4 to 9.

mod config;
mod edge;
mod hearing;
mod judge;
mod links;
mod log;
mod moment;
mod place;
mod propagation;
mod receiver;
mod rest;
mod selective;
mod transmission;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use windfall_base::{Dbm, Failure, Frame, Input, Instant, Outgoing, Port, Seed, Stream, TxVector};
use windfall_phy::decibel::{noise_milliwatts, ratio};
use windfall_phy::ofdm::Gains;
use windfall_wire_link::ieee80211::{MacAddress, PhyRate};

pub use crate::fading::Fading;
pub use config::{CarrierSense, Errors, RadioConfig, RadioStation, Thresholds};
pub use edge::{Edge, Readers};
pub use place::{Position, Track};
pub use propagation::{PathLoss, Shadowing, Wall};

use crate::event::{Events, MediumEvent};
use crate::fate::{FrameFate, Missed};
use judge::{Noise, Samplers, Sent};
use links::{Hearer, Links};
use log::{Outcome, Outlook, Outlooks, Resting};
use moment::{Moment, Moments};
use receiver::{Arrival, Levels, Receiver};
use transmission::Facts;

/// A radio medium at work; [`Medium`](crate::Medium) is its face.
#[derive(Debug)]
pub(crate) struct Radio {
    config: RadioConfig,
    links: Links,
    receivers: Vec<Receiver>,
    addresses: BTreeMap<MacAddress, u16>,
    /// The most power of each station, in milliwatts.
    powers: Vec<f64>,
    /// The randomness of each receiver, and how many frames it has judged.
    judges: Vec<(Stream, u64)>,
    /// The draws that decide to which of equally strong preambles each receiver synchronises.
    lots: Vec<Stream>,
    /// Transmissions so far.
    begun: u64,
    samplers: Samplers,
    /// For each rate the ratio from which on no error event can fall into a frame.
    flawless: [f64; 12],
    /// The transmissions on the air; places are used again.
    transmissions: Vec<Option<Box<Transmission>>>,
    moments: Moments,
    /// Frames given while their sender was still transmitting.
    waiting: VecDeque<(Port, Outgoing)>,
    /// The ports at which signals arrive at this instant, in order.
    arrivals: Vec<u16>,
    /// The signals among theirs that are for them.
    addressed: Vec<(u16, Arrival)>,
    /// The inputs that are due at the stations, in order.
    ready: VecDeque<(Instant, Port, Input)>,
    resting: Resting,
    outlooks: Outlooks,
    /// The inputs that stations that rested should have been given before, in order for each.
    late: VecDeque<(Instant, Port, Input)>,
    /// The changes of the carrier at stations that contend, in order.
    edges: VecDeque<Edge>,
    held: usize,
    /// Those of the configuration, as ratios.
    distortion: f64,
    levels: Levels,
}

#[derive(Debug)]
struct Transmission {
    from: u16,
    /// The number of transmissions that began before it.
    number: u64,
    began: Instant,
    ended: Instant,
    sent: Sent,
    /// The power in milliwatts.
    power: f64,
    /// The frame; given away at the end if only one receiver passes it up.
    frame: Frame,
    facts: Facts,
    to: Option<MacAddress>,
    hearers: Arc<[Hearer]>,
    /// The fading on the way to each hearer, as a ratio; empty where nothing fades.
    fading: Vec<f64>,
    /// Addressed receivers that do not follow it, and why.
    missed: Vec<(Port, Missed)>,
    /// The fate of it at hearers around which the air is silent; `None` if that varies.
    outlook: Option<Arc<Outlook>>,
    /// The port that its receiver's address names.
    addressed: Option<u16>,
    /// No other receiver passes the frame up.
    is_sole: bool,
    /// Moments still to come.
    left: u32,
}

impl Radio {
    pub(crate) fn new(config: RadioConfig, seed: Seed, name: &str) -> Self {
        let count = config.stations.len().min(usize::from(u16::MAX)) as u16;
        let receiver = |port: u16| {
            let noise_figure = config.stations[usize::from(port)].noise_figure;
            let address = config.stations[usize::from(port)].address;
            Receiver::new(noise_milliwatts(20e6, noise_figure), address)
        };
        let judge = |port: u16| (Stream::new(seed, &format!("{name}/{port}")), 0);
        let lot = |port: u16| Stream::new(seed, &format!("{name}/{port}/preambles"));
        let address = |port: u16| Some((config.stations[usize::from(port)].address?, port));
        let samplers = judge::samplers();
        Self {
            links: Links::new(&config, seed, name),
            receivers: (0..count).map(receiver).collect(),
            addresses: (0..count).filter_map(address).collect(),
            powers: config.stations.iter().map(|station| ratio(station.power.0)).collect(),
            judges: (0..count).map(judge).collect(),
            lots: (0..count).map(lot).collect(),
            begun: 0,
            flawless: judge::flawless(&samplers),
            samplers,
            transmissions: Vec::new(),
            moments: Moments::default(),
            waiting: VecDeque::new(),
            arrivals: Vec::new(),
            addressed: Vec::new(),
            ready: VecDeque::new(),
            resting: Resting::new(count),
            outlooks: Outlooks::new(),
            late: VecDeque::new(),
            edges: VecDeque::new(),
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
        events: &mut Events,
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
        events: &mut Events,
    ) -> Option<(Port, Input)> {
        self.settle(now, events);
        let (_, port, input) = self.ready.pop_front()?;
        Some((port, input))
    }

    pub(crate) fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        if let Some((due, ..)) = self.ready.front() {
            return Some((*due, "signal"));
        }
        self.moments.next().map(|(at, moment)| {
            let why = match moment {
                Moment::Done(_) => "transmission done",
                Moment::Leave(..) => "signal ends",
                Moment::Arrive(..) => "signal arrives",
            };
            (at, why)
        })
    }

    /// Lets everything happen that is due at `now`, which mostly is nothing.
    #[inline]
    pub(crate) fn settle(&mut self, now: Instant, events: &mut Events) {
        if self.moments.next().is_some_and(|(at, _)| at <= now) {
            self.settle_due(now, events);
        }
    }

    fn settle_due(&mut self, now: Instant, events: &mut Events) {
        while let Some((at, moment)) = self.moments.pop_due(now) {
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
        self.awaken(from);
        if self.resting.is_full() {
            for port in 0..self.ports() {
                self.disturb(port, None);
                self.end_contention(port);
            }
            self.resting.clear();
        }
        let hearers = self.links.reach(&self.config, from, at);
        let index = self.free_place();
        let mut left = 1;
        self.moments.enter(ended, Moment::Done(index));
        let mut first = 0;
        for wave in hearers.chunk_by(|a, b| a.delay == b.delay) {
            let begin = first as u32;
            let end = (first + wave.len()) as u32;
            let delay = wave[0].delay;
            self.moments.enter(ended + delay, Moment::Leave(index, begin, end));
            self.moments.enter(at + delay, Moment::Arrive(index, begin, end));
            (first, left) = (first + wave.len(), left + 2);
        }
        let receiver = &mut self.receivers[usize::from(from)];
        receiver.transmits = true;
        let abandoned = receiver.abandon();
        self.note(abandoned, Port(from), Missed::Transmitting);
        self.sense(at, from);
        self.begun += 1;
        let power = self.power(from, &vector);
        let to = frame
            .header
            .get(4..10)
            .map(|bytes| MacAddress(*bytes.first_chunk().expect("six bytes were taken")));
        let addressed = to.and_then(|to| self.addresses.get(&to).copied());
        // Receivers without an address of their own take every frame.
        let is_sole = addressed.is_some() && self.addresses.len() == self.receivers.len();
        let is_usual = vector.power.is_none() && to.is_some_and(|to| !to.is_group());
        let outlook =
            is_usual.then(|| self.outlook(from, vector.preamble, sent, power, &hearers)).flatten();
        self.transmissions[index as usize] = Some(Box::new(Transmission {
            from,
            number: self.begun - 1,
            began: at,
            ended,
            sent,
            power,
            to,
            facts: Facts::of(&frame),
            frame,
            fading: match self.config.fading.parts() {
                Some(_) => vec![1.0; hearers.len()],
                None => Vec::new(),
            },
            hearers,
            missed: Vec::new(),
            outlook,
            addressed,
            is_sole,
            left,
        }));
    }

    /// The power at which a station sends, in milliwatts: what the frame asks for, if it has that.
    fn power(&self, from: u16, vector: &TxVector) -> f64 {
        let most = self.config.stations[usize::from(from)].power.0;
        match vector.power {
            Some(asked) if asked.0 < most => ratio(asked.0),
            _ => self.powers[usize::from(from)],
        }
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
        let own = transmission.number;
        let preamble = transmission.sent.preamble();
        let mut is_read = false;
        let mut is_awaited = false;
        for place in first..end {
            let hearer = &transmission.hearers[place as usize];
            let port = hearer.port;
            let is_known = hearer.reads(preamble);
            if self.resting.is_untold(port) {
                let outcome = transmission.outcome(place, port);
                if self.resting.hear(port, index, outcome) {
                    is_read |= outcome == Outcome::Read;
                    is_awaited |= self.resting.contends(port);
                    continue;
                }
                self.disturb(port, Some(at));
                self.end_contention(port);
            }
            let Self { receivers, transmissions, levels, lots, .. } = self;
            if self.config.fading.parts().is_some() {
                let fading = self.links.fading(&self.config, transmission.from, port, at);
                transmission.fading[place as usize] = fading;
            }
            let power = transmission.power_at(place);
            let arrival = Arrival { transmission: index, power, preamble };
            let lot = |other: u32| {
                let other = transmissions[other as usize].as_ref().map_or(own, |it| it.number);
                lots[usize::from(port)].at(other).bits()
            };
            let receiver = &mut receivers[usize::from(port)];
            if receiver.arrive(power, is_known.then_some(arrival), levels, lot) {
                self.arrivals.push(port);
            }
            if is_known && transmission.is_for(receiver.address) {
                self.addressed.push((port, arrival));
            }
        }
        if is_read && let Some(readers) = transmission.readers_of(first) {
            let delay = at.saturating_since(transmission.began);
            self.resting.log(at, transmission.ended + delay, transmission.head(), readers);
            if is_awaited {
                self.edges.push_back(Edge::Busy(at, Readers(Arc::clone(readers))));
            }
        }
        self.put_back(index, transmission);
        // The arrivals of an instant stand next to each other, behind everything else.
        let more = self.moments.next().is_some_and(|(next, _)| next == at);
        if !more {
            self.detect(at);
        }
    }

    /// All signals of an instant have arrived: receivers judge their preambles.
    fn detect(&mut self, at: Instant) {
        let mut arrivals = core::mem::take(&mut self.arrivals);
        for port in arrivals.drain(..) {
            let Self { receivers, transmissions, levels, lots, .. } = self;
            let lot = |index: u32| {
                let transmission = transmissions[index as usize].as_ref();
                let number = transmission.map_or(0, |transmission| transmission.number);
                lots[usize::from(port)].at(number).bits()
            };
            if let Some((left, why)) = receivers[usize::from(port)].detect(at, levels, lot) {
                self.note(Some(left), Port(port), why);
            }
            self.sense(at, port);
        }
        self.arrivals = arrivals;
        let mut addressed = core::mem::take(&mut self.addressed);
        for (port, arrival) in addressed.drain(..) {
            let why = self.receivers[usize::from(port)].reason(&arrival, &self.levels);
            let transmission = self.transmissions[arrival.transmission as usize].as_mut();
            if let (Some(why), Some(transmission)) = (why, transmission) {
                transmission.missed.push((Port(port), why));
            }
        }
        self.addressed = addressed;
    }

    /// Remembers why an addressed receiver does not follow a transmission.
    fn note(&mut self, index: Option<u32>, port: Port, why: Missed) {
        let place = index.and_then(|index| self.transmissions[index as usize].as_mut());
        if let Some(transmission) = place
            && transmission.is_for(self.receivers[usize::from(port.0)].address)
        {
            transmission.missed.push((port, why));
        }
    }

    /// A signal ends at the hearers from `first` to before `end`.
    fn leave(&mut self, at: Instant, index: u32, first: u32, end: u32, events: &mut Events) {
        let Some(mut transmission) = self.transmissions[index as usize].take() else { return };
        let mut is_awaited = false;
        for hearer in first..end {
            let port = transmission.hearers[hearer as usize].port;
            if self.resting.leave(port, index) {
                is_awaited |= self.resting.contends(port);
                continue;
            }
            let power = transmission.power_at(hearer);
            if let Some(event) = self.leave_one(at, index, &mut transmission, port, power) {
                events.push_back((at, event));
            }
            self.sense(at, port);
            if self.receivers[usize::from(port)].is_quiet() {
                self.resting.settle(port);
            }
        }
        if is_awaited && let Some(readers) = transmission.readers_of(first) {
            let readers = Readers(Arc::clone(readers));
            self.edges.push_back(Edge::Idle(at, transmission.head(), readers));
        }
        self.put_back(index, transmission);
    }

    /// A signal ends at the station at `port`. Gives its fate, if it was for that station.
    fn leave_one(
        &mut self,
        at: Instant,
        index: u32,
        transmission: &mut Transmission,
        port: u16,
        power: f64,
    ) -> Option<MediumEvent> {
        let receiver = &mut self.receivers[usize::from(port)];
        let is_for = transmission.is_for(receiver.address);
        let strength = is_for.then(|| receiver.strength(power));
        let dbm = strength.map(whole_dbm);
        let Some(reception) = receiver.leave(at, index, power) else {
            if !is_for {
                return None;
            }
            let why = transmission.missed.iter().find(|(missing, _)| *missing == Port(port));
            let fate = FrameFate::Missed(why.map_or(Missed::Preamble, |(_, why)| *why));
            return Some(transmission.event(Port(port), dbm, (None, fate)));
        };
        if !reception.synchronised {
            let fate = FrameFate::Missed(Missed::Preamble);
            let due = Input::ReceptionFailed(Failure::Header);
            self.ready.push_back((at, Port(port), due));
            receiver.recycle(reception);
            return is_for.then(|| transmission.event(Port(port), dbm, (None, fate)));
        }
        let carriers = self.links.carriers(transmission.from, port, reception.began);
        let noise = self.noise(port, carriers.as_ref());
        let (stream, count) = &mut self.judges[usize::from(port)];
        *count += 1;
        let number = *count - 1;
        let stream = || stream.at(*count);
        let sent = transmission.sent;
        let mut sure = None;
        let fate = match self.config.errors {
            Errors::Formula => judge::by_formula(sent, &reception, noise, &mut stream()),
            Errors::Pattern if judge::is_flawless(&self.flawless, sent, &reception, noise) => {
                FrameFate::Intact
            }
            Errors::Pattern => {
                let samplers = &mut self.samplers;
                let stream = &mut stream();
                let fate = judge::by_pattern(samplers, sent, &reception, noise, is_for, stream);
                let fate = if is_for && self.config.spares_headers {
                    transmission.without_damaged_headers(fate)
                } else {
                    fate
                };
                if self.config.reliability && is_for {
                    sure = judge::reliability(samplers, sent, &fate, &reception, noise, stream);
                }
                fate
            }
        };
        let due = transmission.due(&reception, &fate, sure, strength);
        if matches!(due, Input::Frame(..)) {
            self.resting.awaken(port);
        }
        self.ready.push_back((at, Port(port), due));
        self.receivers[usize::from(port)].recycle(reception);
        is_for.then(|| transmission.event(Port(port), dbm, (Some(number), fate)))
    }

    fn done(&mut self, at: Instant, index: u32, events: &mut Events) {
        let Some(transmission) = self.transmissions[index as usize].take() else { return };
        let from = transmission.from;
        self.held -= usize::from(transmission.facts.frame.is_held());
        if let Some(to) = self.unreached(&transmission) {
            let fate = FrameFate::Missed(Missed::Preamble);
            events.push_back((at, transmission.event(to, None, (None, fate))));
        }
        self.receivers[usize::from(from)].transmits = false;
        self.ready.push_back((at, Port(from), Input::TransmissionDone));
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
            let unheard = transmission.hearers.is_empty() && other < self.ports();
            return unheard.then_some(Port(other));
        }
        let port = transmission.addressed?;
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

    /// Returns the noise against signals at a receiver, where carriers differ or do not.
    fn noise<'a>(&self, port: u16, carriers: Option<&'a Gains>) -> Noise<'a> {
        Noise {
            floor: self.receivers[usize::from(port)].noise,
            distortion: self.distortion,
            carriers,
            cck_interference: judge::cck_interference(self.config.errors),
        }
    }

    /// Tells a station when its carrier sense has changed.
    fn sense(&mut self, at: Instant, port: u16) {
        let carrier = self.receivers[usize::from(port)].carrier(&self.levels);
        if let Some(busy) = carrier {
            let input = if busy { Input::CarrierBusy } else { Input::CarrierIdle };
            self.ready.push_back((at, Port(port), input));
        }
    }
}

/// Rounds a power to whole dBm.
fn whole_dbm(power: Dbm) -> i8 {
    power.0.round().clamp(-127.0, 127.0) as i8
}

#[cfg(test)]
mod tests;
