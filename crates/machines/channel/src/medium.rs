//! Media: they carry frames between ports, with rates, delays, air and reachability.

mod pipe;
mod wavelan;

use windfall_base::{Duration, Input, Instant, Outgoing, Port, Rate, Seed, TransitTiming};

use crate::air::AirConfig;
use crate::event::{Events, MediumEvent};
use crate::exposure::Exposure;
use crate::radio::{Edge, Radio, RadioConfig};

pub use pipe::{
    Bucket, Cell, Distribution, FlowPathConfig, Jitter, Line, OnOff, PathConfig, PipeMediumConfig,
    Reorder, Slotting,
};
pub use wavelan::{Addressing, Hearing, WavelanMediumConfig};

use pipe::Pipe;
use wavelan::Wavelan;
use windfall_files::traces::error_trace::BitOrder;

/// The configuration of a medium.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum MediumConfig {
    /// Two ports, each with a line of its own to the other.
    Pipe(Box<PipeMediumConfig>),
    /// Any number of ports on one half-duplex air.
    Wavelan(WavelanMediumConfig),
    /// Any number of ports on the air of 802.11b/g.
    Wifi(Box<RadioConfig>),
}

impl MediumConfig {
    /// Returns the number of stations that can be attached.
    #[must_use]
    pub fn ports(&self) -> u16 {
        match self {
            Self::Pipe(_) => 2,
            Self::Wavelan(wavelan) => wavelan.ports,
            Self::Wifi(radio) => radio.stations.len() as u16,
        }
    }

    /// The air from one port to another; `None` where it is ideal or nothing is heard.
    #[must_use]
    pub fn air(&self, from: Port, to: Port) -> Option<&AirConfig> {
        match (self, from.0, to.0) {
            (Self::Pipe(pipe), 0, 1) => Some(&pipe.forward.air),
            (Self::Pipe(pipe), 1, 0) => Some(&pipe.backward.air),
            (Self::Pipe(_) | Self::Wifi(_), ..) => None,
            (Self::Wavelan(wavelan), ..) => wavelan.air_between(from, to),
        }
    }

    /// Returns what the air from one port to another may hit.
    ///
    /// A radio hits all that is sent; frames without a packet are not counted.
    #[must_use]
    pub fn exposure(&self, from: Port, to: Port) -> Exposure {
        match self {
            Self::Wifi(_) => Exposure { header: true, trailer: true, control: false },
            _ => self.air(from, to).map(|air| air.exposure).unwrap_or_default(),
        }
    }

    /// Returns the order in which the bits of a byte are sent.
    #[must_use]
    pub fn bit_order(&self) -> BitOrder {
        if matches!(self, Self::Wifi(_)) { BitOrder::Lsb } else { BitOrder::Msb }
    }

    /// The rate at which a sender transmits, where it is always the same.
    #[must_use]
    pub fn rate(&self, from: Port) -> Option<Rate> {
        let line = match (self, from.0) {
            (Self::Pipe(pipe), 0) => &pipe.forward.line,
            (Self::Pipe(pipe), _) => &pipe.backward.line,
            (Self::Wavelan(wavelan), _) => return Some(wavelan.rate),
            (Self::Wifi(_), _) => return None,
        };
        match line {
            Line::Rate(rate) => Some(*rate),
            Line::Instant | Line::Paused | Line::Trace(_) => None,
        }
    }
}

impl MediumConfig {
    /// The line on which the station at `port` sends.
    ///
    /// A shared medium has none: its capacity depends on the other senders.
    #[must_use]
    pub fn line(&self, port: Port) -> Line {
        match self {
            Self::Pipe(pipe) if port == Port(0) => pipe.forward.line.clone(),
            Self::Pipe(pipe) => pipe.backward.line.clone(),
            Self::Wavelan(_) | Self::Wifi(_) => Line::Instant,
        }
    }
}

/// A medium: carries each frame from its sender to the stations in range.
///
/// It mirrors the verbs of a [`base::Node`](windfall_base::Node) with the types flipped: it takes
/// [`Outgoing`] frames and gives [`Input`]s. The sender gets [`Input::TransmissionDone`] after the
/// air time and only then transmits again; a frame given earlier waits for the line. The order of
/// calls is that of the contract: mutate once, drain `poll_reception` and `poll_event`, ask
/// `poll_timeout`.
#[derive(Debug)]
pub struct Medium {
    kind: Kind,
    events: Events,
}

#[derive(Debug)]
enum Kind {
    Pipe(Box<Pipe>),
    Wavelan(Box<Wavelan>),
    Wifi(Box<Radio>),
}

impl Medium {
    /// A medium `name` in a run with `seed`; name and seed decide all damage.
    #[must_use]
    pub fn new(config: MediumConfig, seed: Seed, name: &str) -> Self {
        let kind = match config {
            MediumConfig::Pipe(config) => Kind::Pipe(Box::new(Pipe::new(*config, seed, name))),
            MediumConfig::Wavelan(config) => {
                Kind::Wavelan(Box::new(Wavelan::new(config, seed, name)))
            }
            MediumConfig::Wifi(config) => Kind::Wifi(Box::new(Radio::new(*config, seed, name))),
        };
        Self { kind, events: Events::new() }
    }

    /// Returns the number of stations that can be attached.
    #[must_use]
    pub fn ports(&self) -> u16 {
        match &self.kind {
            Kind::Pipe(_) => 2,
            Kind::Wavelan(wavelan) => wavelan.ports(),
            Kind::Wifi(radio) => radio.ports(),
        }
    }

    /// Counts the packets that it alone holds: on their way, and not kept by their sender.
    #[must_use]
    pub fn held(&self) -> usize {
        match &self.kind {
            Kind::Pipe(pipe) => pipe.held(),
            Kind::Wavelan(wavelan) => wavelan.held(),
            Kind::Wifi(radio) => radio.held(),
        }
    }

    /// Puts the changes that `config` has from `now` on in place of those that are to come; those
    /// before stay as they are. Only a pipe changes: another medium, or a configuration of another
    /// one, returns `false`.
    pub fn change(&mut self, now: Instant, config: &MediumConfig) -> bool {
        match (&mut self.kind, config) {
            (Kind::Pipe(pipe), MediumConfig::Pipe(config)) => {
                pipe.change(now, (**config).clone());
                true
            }
            _ => false,
        }
    }

    /// Returns the times of those changes of the path from a station, and of its beginning, after
    /// which a frame was on the path before the next one; none but for a pipe.
    #[must_use]
    pub fn met(&self, from: Port) -> &[Instant] {
        match &self.kind {
            Kind::Pipe(pipe) => pipe.met(from),
            Kind::Wavelan(_) | Kind::Wifi(_) => &[],
        }
    }

    /// Returns what the station at `from` can know of the time that its frames take at present;
    /// `None` where its access to the medium tells.
    #[must_use]
    pub fn passage(&self, from: Port) -> Option<TransitTiming> {
        match &self.kind {
            Kind::Pipe(pipe) => pipe.passage(from),
            Kind::Wavelan(_) | Kind::Wifi(_) => None,
        }
    }

    /// Takes a frame from the station at port `from`; a port that does not exist is ignored.
    pub fn handle_transmit(&mut self, now: Instant, from: Port, outgoing: Outgoing) {
        match &mut self.kind {
            Kind::Pipe(pipe) => pipe.handle_transmit(now, from, outgoing),
            Kind::Wavelan(wavelan) => {
                wavelan.handle_transmit(now, from, outgoing, &mut self.events);
            }
            Kind::Wifi(radio) => radio.handle_transmit(now, from, outgoing, &mut self.events),
        }
    }

    /// Takes note that time has passed; `poll_reception` does so too.
    pub fn handle_timeout(&mut self, now: Instant) {
        match &mut self.kind {
            Kind::Pipe(_) => {}
            Kind::Wavelan(wavelan) => wavelan.settle(now, &mut self.events),
            Kind::Wifi(radio) => radio.settle(now, &mut self.events),
        }
    }

    /// Yields the next input that is due at a station, with its port; call until `None`.
    #[inline]
    pub fn poll_reception(&mut self, now: Instant) -> Option<(Port, Input)> {
        match &mut self.kind {
            Kind::Pipe(pipe) => pipe.poll_reception(now, &mut self.events),
            Kind::Wavelan(wavelan) => wavelan.poll_reception(now, &mut self.events),
            Kind::Wifi(radio) => radio.poll_reception(now, &mut self.events),
        }
    }

    /// The station at `port` is idle until a frame for it arrives: the medium may withhold other
    /// inputs until it [stops to rest](Self::stop_rest). A medium that reports them at once does no
    /// harm.
    pub fn rest(&mut self, port: Port) {
        if let Kind::Wifi(radio) = &mut self.kind {
            radio.rest(port);
        }
    }

    /// The station at `port` waits for the medium, and nothing else matters to it until a frame
    /// comes for it: of what it hears it is told by [`poll_edge`](Self::poll_edge), until an edge
    /// says that it is told everything again, or it [stops to rest](Self::stop_rest). Returns
    /// `false` if it is told everything all the same.
    pub fn contend(&mut self, port: Port) -> bool {
        match &mut self.kind {
            Kind::Pipe(_) | Kind::Wavelan(_) => false,
            Kind::Wifi(radio) => radio.contend(port),
        }
    }

    /// Yields the next change of the carrier at stations that contend; call until `None`, before
    /// [`poll_late`](Self::poll_late).
    #[inline]
    pub fn poll_edge(&mut self) -> Option<Edge> {
        match &mut self.kind {
            Kind::Pipe(_) | Kind::Wavelan(_) => None,
            Kind::Wifi(radio) => radio.poll_edge(),
        }
    }

    /// The station at `port` becomes active: withheld inputs are given by
    /// [`poll_late`](Self::poll_late).
    pub fn stop_rest(&mut self, port: Port) {
        if let Kind::Wifi(radio) = &mut self.kind {
            radio.stop_rest(port);
        }
    }

    /// Yields what a station that rested should have been given, with the instant; call until
    /// `None`, after [`handle_timeout`](Self::handle_timeout) or [`stop_rest`](Self::stop_rest) and
    /// before [`poll_reception`](Self::poll_reception).
    #[inline]
    pub fn poll_late(&mut self) -> Option<(Instant, Port, Input)> {
        match &mut self.kind {
            Kind::Pipe(_) | Kind::Wavelan(_) => None,
            Kind::Wifi(radio) => radio.poll_late(),
        }
    }

    /// Returns the time of others' carrier up to `now` of which a station that rests has not
    /// been told.
    #[must_use]
    pub fn untold(&self, port: Port, now: Instant) -> Duration {
        match &self.kind {
            Kind::Pipe(_) | Kind::Wavelan(_) => Duration::ZERO,
            Kind::Wifi(radio) => radio.untold(port, now),
        }
    }

    /// Says when something is due next, and what.
    #[must_use]
    #[inline]
    pub fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        match &self.kind {
            Kind::Pipe(pipe) => pipe.poll_timeout(),
            Kind::Wavelan(wavelan) => wavelan.poll_timeout(),
            Kind::Wifi(radio) => radio.poll_timeout(),
        }
    }

    /// Yields the fate of a frame, once it is sealed, with the time of that; call until `None`.
    #[inline]
    pub fn poll_event(&mut self) -> Option<(Instant, MediumEvent)> {
        self.events.pop_front()
    }
}

#[cfg(test)]
mod tests;
