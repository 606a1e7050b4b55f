//! Stations at rest: their receptions are decided together, and reported when they stop to rest.

use std::sync::Arc;

use windfall_base::{Duration, Input, Instant, Port, Preamble};

use super::config::Errors;
use super::edge::Edge;
use super::judge::{self, Sent};
use super::links::Hearer;
use super::log::{self, Outcome, Outlook, Ports};
use super::receiver::{Arrival, Receiver, Reception};
use super::{Radio, Transmission};

impl Radio {
    /// The station at `port` has nothing to do, whatever it hears, until a frame comes for it: from
    /// here on it is told nothing before it [stops to rest](Self::stop_rest).
    pub(crate) fn rest(&mut self, port: Port) {
        let Some(receiver) = self.receivers.get(usize::from(port.0)) else { return };
        if self.may_rest(port.0) {
            self.resting.rest(port.0, receiver.is_quiet());
        }
    }

    /// The station at `port` only waits for the medium: from here on it is told what it hears by
    /// [`poll_edge`](Self::poll_edge), until an edge says that it rests no longer, or it
    /// [stops to rest](Self::stop_rest). Returns `false` if it is told everything.
    pub(crate) fn contend(&mut self, port: Port) -> bool {
        let Some(receiver) = self.receivers.get(usize::from(port.0)) else { return false };
        let may_rest = self.resting.is_crowd() && receiver.is_quiet() && self.may_rest(port.0);
        may_rest && self.resting.contend(port.0)
    }

    /// Tells whether frames for others at a station may be decided without its receiver.
    fn may_rest(&self, port: u16) -> bool {
        // Others that have this address, or none, are given whole frames.
        let address = self.receivers[usize::from(port)].address;
        let is_constant = !self.links.moves() && self.config.fading.parts().is_none();
        is_constant && address.is_some_and(|own| self.addresses.get(&own) == Some(&port))
    }

    /// Yields the next change of the carrier at stations that contend.
    #[inline]
    pub(crate) fn poll_edge(&mut self) -> Option<Edge> {
        self.edges.pop_front()
    }

    /// The station at `port` becomes active: withheld inputs are given by
    /// [`poll_late`](Self::poll_late).
    pub(crate) fn stop_rest(&mut self, port: Port) {
        if port.0 < self.ports() {
            self.disturb(port.0, None);
            self.resting.stop_contending(port.0);
            self.resting.awaken(port.0);
        }
    }

    /// Yields what a station should have been given at an earlier instant.
    #[inline]
    pub(crate) fn poll_late(&mut self) -> Option<(Instant, Port, Input)> {
        self.late.pop_front()
    }

    /// Returns the time of others' carrier up to `now` of which a station that rests has not
    /// been told.
    pub(crate) fn untold(&self, port: Port, now: Instant) -> Duration {
        if port.0 < self.ports() { self.resting.untold(port.0, now) } else { Duration::ZERO }
    }

    pub(super) fn awaken(&mut self, port: u16) {
        self.disturb(port, None);
        self.end_contention(port);
        self.resting.awaken(port);
    }

    /// The station at `port` is told everything from now on, if it contends.
    pub(super) fn end_contention(&mut self, port: u16) {
        if self.resting.stop_contending(port) {
            self.resting.awaken(port);
            self.edges.push_back(Edge::Stop(Port(port)));
        }
    }

    /// Catches up with what a station at rest has heard, so that its receiver takes signals one by
    /// one. At the instant `arriving` more signals arrive, which compete with one that has.
    pub(super) fn disturb(&mut self, port: u16, arriving: Option<Instant>) {
        if !self.resting.is_untold(port) {
            return;
        }
        let heard = self.resting.hears(port).and_then(|index| {
            let transmission = self.transmissions[index as usize].as_ref()?;
            Some((index, transmission, transmission.place_of(port)?))
        });
        let is_read = heard.is_some_and(|(_, it, place)| it.outcome(place, port) == Outcome::Read);
        let missed = self.resting.disturb(port, is_read);
        self.judges[usize::from(port)].1 += missed.frames;
        let inputs = missed.inputs.into_iter();
        self.late.extend(inputs.map(|(at, input)| (at, Port(port), input)));
        let Some((index, it, place)) = heard else { return };
        let power = it.power_at(place);
        let preamble = it.sent.preamble();
        let hearer = &it.hearers[place as usize];
        let delay = hearer.delay;
        let is_known = hearer.reads(preamble);
        let at = it.began + delay;
        let receiver = &mut self.receivers[usize::from(port)];
        let arrival = Arrival { transmission: index, power, preamble };
        let is_first = receiver.arrive(power, is_known.then_some(arrival), &self.levels, |_| 0);
        if arriving == Some(at) {
            // It is judged together with the others.
            self.arrivals.extend(is_first.then_some(port));
            return;
        }
        receiver.detect(at, &self.levels, |_| 0);
        if receiver.carrier(&self.levels) == Some(true) {
            self.late.push_back((at, Port(port), Input::CarrierBusy));
        }
    }

    /// Computes the fate of a usual transmission at hearers around which the air is silent.
    pub(super) fn outlook(
        &mut self,
        from: u16,
        preamble: Preamble,
        sent: Sent,
        power: f64,
        hearers: &Arc<[Hearer]>,
    ) -> Option<Arc<Outlook>> {
        if self.links.moves() || self.config.fading.parts().is_some() {
            return None;
        }
        let key = log::key(from, sent.rate, preamble);
        if let Some(known) = self.outlooks.get(&key) {
            return Some(Arc::clone(known));
        }
        let outcome = |hearer: &Hearer| self.outcome_alone(sent, power, hearer);
        let outcomes: Box<[Outcome]> = hearers.iter().map(outcome).collect();
        let mut first = 0;
        let readers = hearers.chunk_by(|a, b| a.delay == b.delay).map(|wave| {
            let begin = first;
            first += wave.len();
            let read = wave.iter().zip(&outcomes[begin..]);
            let read = read.filter(|(_, outcome)| **outcome == Outcome::Read);
            (begin as u32, Arc::new(Ports::new(read.map(|(hearer, _)| hearer.port))))
        });
        let readers = readers.collect();
        let outlook = Arc::new(Outlook { outcomes, readers });
        self.outlooks.insert(key, Arc::clone(&outlook));
        Some(outlook)
    }

    /// Computes the fate of a signal at a receiver around which the air is silent.
    fn outcome_alone(&self, sent: Sent, power: f64, hearer: &Hearer) -> Outcome {
        let &Hearer { port, gain, .. } = hearer;
        let power = power * gain;
        let preamble = sent.preamble();
        let at = Instant::START;
        let mut receiver = Receiver::new(self.receivers[usize::from(port)].noise, None);
        let arrival = Arrival { transmission: 0, power, preamble };
        receiver.arrive(power, hearer.reads(preamble).then_some(arrival), &self.levels, |_| 0);
        receiver.detect(at, &self.levels, |_| 0);
        let is_sensed = receiver.carrier(&self.levels).is_some();
        let noise = self.noise(port, None);
        let is_whole = |reception: &Reception| {
            let is_certain = self.config.errors == Errors::Pattern;
            let is_flawless = || judge::is_flawless(&self.flawless, sent, reception, noise);
            reception.synchronised && is_certain && is_flawless()
        };
        match receiver.leave(at, 0, power) {
            None if !is_sensed => Outcome::Unnoticed,
            Some(reception) if is_sensed && is_whole(&reception) => Outcome::Read,
            _ => Outcome::Open,
        }
    }
}

impl Transmission {
    /// Computes its fate at a hearer around which the air is silent, and which passes up no more
    /// of it than its beginning.
    #[inline]
    pub(super) fn outcome(&self, hearer: u32, port: u16) -> Outcome {
        match &self.outlook {
            Some(outlook) if self.addressed != Some(port) => outlook.outcomes[hearer as usize],
            _ => Outcome::Open,
        }
    }

    /// The place of a port among the hearers.
    fn place_of(&self, port: u16) -> Option<u32> {
        let waves = &self.outlook.as_ref()?.readers;
        let ends = waves.iter().skip(1).map(|(first, _)| *first as usize);
        let ends = ends.chain([self.hearers.len()]);
        waves.iter().zip(ends).find_map(|(&(first, _), end)| {
            let wave = &self.hearers[first as usize..end];
            let place = wave.binary_search_by_key(&port, |hearer| hearer.port).ok()?;
            Some(first + place as u32)
        })
    }

    pub(super) fn readers_of(&self, first: u32) -> Option<&Arc<Ports>> {
        self.outlook.as_ref()?.readers_of(first)
    }
}

#[cfg(test)]
mod tests;
