//! Exchanges between a few stations around an ideal air, a microsecond apart.

mod bss;
mod coded;
mod contention;
mod exchange;
mod gaps;
mod laws;
mod limits;
mod options;
mod protection;
mod rate_control;
mod switch;

use std::collections::VecDeque;

use windfall_base::{
    DropReason, DropSite, Duration, Frame, Input, Instant, Ledger, Node, Outgoing, PacketDrop,
    PacketEvent, PacketEventKind, Port, RxVector, Seed,
};
use windfall_testkit::arbitrary::packet;
use windfall_testkit::wifi::air::{Cell, PROPAGATION};
use windfall_testkit::wifi::{AIR, DEVICE};
use windfall_wire_link::ieee80211::{Flags, Header, Kind, MacAddress, Phy, PhyRate, snap};

use super::{Config, Dcf, DcfEvent, Packet, Pull};

/// A source of packets and the station below it.
#[derive(Debug)]
pub(super) struct Station {
    pub(super) dcf: Dcf,
    pub(super) to: MacAddress,
    pub(super) queue: VecDeque<Packet>,
    pub(super) ledger: Ledger,
    /// The events so far.
    pub(super) events: Vec<DcfEvent>,
}

impl Station {
    pub(super) fn new(config: Config, to: MacAddress, seed: u64) -> Self {
        let name = config.address.to_string();
        Self {
            dcf: Dcf::new(config, Seed(seed), &name),
            to,
            queue: VecDeque::new(),
            ledger: Ledger::default(),
            events: Vec::new(),
        }
    }

    fn with(&mut self, act: impl FnOnce(&mut Dcf, Pull<'_>)) {
        let queue = &mut self.queue;
        act(&mut self.dcf, &mut || queue.pop_front());
        let waiting = self.queue.len();
        self.queue.extend(core::iter::from_fn(|| self.dcf.poll_relay()));
        self.ledger.taken += (self.queue.len() - waiting) as u64;
        while let Some(event) = self.dcf.poll_event() {
            if let DcfEvent::Packet(event) = &event {
                let is_received = |drop: PacketDrop| drop.site == DropSite::Receiver;
                self.ledger.taken += u64::from(event.packet_drop().is_some_and(is_received));
                self.ledger.record(&event.kind);
            }
            self.events.push(event);
        }
    }

    pub(super) fn ledger(&self) -> Ledger {
        let held = self.queue.len() + self.dcf.held();
        Ledger { held: held as u64, ..self.ledger.clone() }
    }

    /// Data frames sent.
    pub(super) fn sent(&self) -> usize {
        self.packet_events()
            .filter(|event| matches!(event.kind, PacketEventKind::Sent { .. }))
            .count()
    }

    /// The events of packets so far.
    pub(super) fn packet_events(&self) -> impl Iterator<Item = &PacketEvent> {
        self.events.iter().filter_map(|event| match event {
            DcfEvent::Packet(event) => Some(event),
            _ => None,
        })
    }

    /// Counts the drops at `site` for `reason`.
    pub(super) fn drops(&self, site: DropSite, reason: DropReason) -> usize {
        let drops = self.packet_events().filter_map(PacketEvent::packet_drop);
        drops.filter(|drop| (drop.site, drop.reason) == (site, reason)).count()
    }
}

impl Node for Station {
    fn handle_input(&mut self, now: Instant, port: Port, input: Input) {
        match (port, input) {
            (DEVICE, Input::Frame(frame, _)) => {
                self.ledger.taken += 1;
                let to = self.to;
                let ether_type = snap::IPV4;
                let packet = Packet { frame, to, ether_type, expires: None, source: None };
                self.queue.push_back(packet);
                self.with(|dcf, pull| dcf.handle_queued(now, pull));
            }
            (AIR, input) => {
                self.with(|dcf, pull| dcf.handle_input(now, input, pull));
                if !self.queue.is_empty() {
                    self.with(|dcf, pull| dcf.handle_queued(now, pull));
                }
            }
            _ => {}
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.with(|dcf, pull| dcf.handle_timeout(now, pull));
    }

    fn poll_transmit(&mut self, _now: Instant) -> Option<(Port, Outgoing)> {
        if let Some(outgoing) = self.dcf.poll_transmit() {
            return Some((AIR, outgoing));
        }
        let frame = self.dcf.poll_delivery()?;
        self.ledger.taken += 1;
        self.ledger.given += 1;
        Some((DEVICE, frame.into()))
    }

    fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        self.dcf.poll_timeout()
    }
}

pub(super) fn address(number: u16) -> MacAddress {
    MacAddress::of_station(number)
}

/// A frame in a few words.
pub(super) fn describe(frame: &Frame) -> String {
    let len = frame.len();
    match Header::parse(&frame.header) {
        Err(_) if frame.damage.is_damaged() => format!("packet len={len} damaged"),
        Err(_) => format!("packet len={len}"),
        Ok(header) => {
            let Header { kind, duration, fragment, .. } = header;
            let to = header.receiver.0[5];
            let retry = if header.flags.has(Flags::RETRY) { " again" } else { "" };
            let number = if kind == Kind::Data { format!(" #{fragment}") } else { String::new() };
            format!("{kind:?}{number}{retry} to {to} len={len} reserves={duration}us")
        }
    }
}

/// A cell of stations, each of which sends to the next, changed by `change`.
pub(super) fn cell(
    stations: u16,
    phy: Phy,
    seed: u64,
    change: impl Fn(&mut Config),
) -> Cell<Station> {
    let station = |number| {
        let mut config = Config::new(address(number), phy);
        change(&mut config);
        Station::new(config, address((number + 1) % stations), seed)
    };
    Cell::new((0..stations).map(station).collect(), describe)
}

pub(super) fn micros(n: u64) -> Instant {
    Instant::START + Duration::from_micros(n)
}

/// A packet whose data frame is 1024 bytes long.
pub(super) fn kilobyte(tag: u64) -> Frame {
    packet(vec![0x5a; 988], tag)
}
