//! Infrastructure networks: access points and their members.
//!
//! Besides exchanging frames, an [`AccessPoint`] sends beacons, admits members, relays between them
//! and buffers frames for members in power save mode. A [`Member`] scans, joins the network,
//! changes to an access point with a stronger signal, and dozes between beacons in power save mode.
//! Both decide which frames to send and what a received frame means; the DCF performs the exchange.

mod access_point;
mod member;

use std::collections::VecDeque;

use windfall_base::{DropReason, Duration, Frame, Instant, Preamble, Stream};
use windfall_wire_link::ieee80211::management::{
    Beacon, NetworkDescription, Ssid, capability, erp,
};
use windfall_wire_link::ieee80211::{Flags, Header, Kind, MacAddress, Phy, PhyRate, Timing};

use super::config::{Config, Role};
use super::event::DcfEvent;
use super::{Packet, Pull};
use access_point::AccessPoint;
use member::Member;

/// The time unit (TU) of the standard, in which beacon intervals are given.
const UNIT: Duration = Duration::from_micros(1024);

/// A frame to be sent: a data frame with a packet, or a management or control frame.
#[derive(Clone, Debug)]
pub(super) struct Order {
    pub(super) packet: Packet,
    pub(super) kind: Kind,
    pub(super) flags: Flags,
    /// Address 3; the BSSID if `None`.
    pub(super) third: Option<MacAddress>,
    /// The AID, which replaces the Duration in a PS-Poll.
    pub(super) aid: u16,
}

impl From<Packet> for Order {
    /// Builds the data frame of a packet that needs no access point.
    fn from(packet: Packet) -> Self {
        Self { packet, kind: Kind::Data, flags: Flags::default(), third: None, aid: 0 }
    }
}

impl Order {
    /// Builds a management or control frame with this body.
    fn own(kind: Kind, to: MacAddress, body: Vec<u8>) -> Self {
        let frame = Frame::packet(body);
        Self { kind, ..Packet { frame, to, ether_type: 0, expires: None, source: None }.into() }
    }

    fn is_data(&self) -> bool {
        self.kind == Kind::Data
    }
}

/// The treatment of a received data frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// The station passes it up: it is the destination.
    Up,
    /// The access point relays it to another member.
    Relay,
    /// The access point passes it up and relays it: it is group-addressed.
    Both,
    /// The station discards it.
    Refuse(DropReason),
}

/// The role of a station in an infrastructure BSS.
#[derive(Debug)]
pub(super) enum Bss {
    AccessPoint(AccessPoint),
    Member(Member),
}

impl Bss {
    /// Returns the role from the configuration; `None` for an ad hoc network. Each access point
    /// draws the time of its first beacon, so that the beacons of different access points do not
    /// collide.
    pub(super) fn new(config: &Config, draw: &Stream) -> Option<Self> {
        match &config.role {
            Role::AdHoc => None,
            Role::AccessPoint { ssid, interval, channel } => {
                let interval = (*interval).max(1);
                let beacon = Beacon {
                    timestamp: 0,
                    interval,
                    capability: capability(config),
                    network: network(config, ssid),
                    channel: *channel,
                    waiting: None,
                    erp: erp(config),
                };
                let began = Duration::from_micros(draw.at(1).below(u64::from(interval) * 1024));
                let it = AccessPoint::new(config.address, beacon, Instant::START + began);
                Some(Self::AccessPoint(it))
            }
            Role::Member { ssid, power_save } => {
                Some(Self::Member(Member::new(config, network(config, ssid), *power_save)))
            }
        }
    }

    /// Returns the next frame to send: a management or control frame, or a packet from `pull`.
    pub(super) fn next(
        &mut self,
        pull: Pull<'_>,
        events: &mut VecDeque<DcfEvent>,
    ) -> Option<Order> {
        match self {
            Self::AccessPoint(it) => it.next(pull, events),
            Self::Member(it) => it.next(pull),
        }
    }

    /// Decides what to do with an intact data frame.
    pub(super) fn handle_data(&mut self, header: &Header) -> Use {
        match self {
            Self::AccessPoint(it) => it.handle_data(header),
            Self::Member(it) => it.handle_data(header),
        }
    }

    /// Decides what to do with a damaged data frame. Its header may be wrong, so no state changes.
    pub(super) fn use_of_damaged(&self, header: &Header) -> Use {
        match self {
            _ if self.access_point() != Some(header.network()) => {
                Use::Refuse(DropReason::LinkHeader)
            }
            Self::AccessPoint(it) => it.use_for(header.destination()),
            Self::Member(_) => Use::Up,
        }
    }

    /// Handles an intact frame other than data; `signal` is in dBm, `None` if unknown.
    pub(super) fn handle_own(
        &mut self,
        now: Instant,
        header: &Header,
        body: &Frame,
        signal: Option<f64>,
    ) {
        let bytes = body.payload.to_bytes();
        match self {
            Self::AccessPoint(it) => it.handle_own(header, &bytes),
            Self::Member(it) => it.handle_own(now, header, &bytes, signal),
        }
    }

    /// Drops packets whose lifetime has ended, before a beacon announces them in the TIM.
    pub(super) fn expire(&mut self, now: Instant, events: &mut VecDeque<DcfEvent>) {
        if let Self::AccessPoint(it) = self {
            it.expire(now, events);
        }
    }

    /// Performs the actions that are due.
    pub(super) fn settle(&mut self, now: Instant) {
        match self {
            Self::AccessPoint(it) => it.settle(now),
            Self::Member(it) => it.settle(now),
        }
    }

    /// Returns when to call `settle` next.
    pub(super) fn alarm(&self) -> Option<Instant> {
        match self {
            Self::AccessPoint(it) => it.alarm(),
            Self::Member(it) => it.alarm(),
        }
    }

    /// Returns `true` if the radio may be switched off.
    pub(super) fn dozes(&self, now: Instant) -> bool {
        match self {
            Self::AccessPoint(_) => false,
            Self::Member(it) => it.dozes(now),
        }
    }

    /// Returns the TSF timer at `at`, in microseconds; 0 on a station that sends no beacons.
    pub(super) fn clock(&self, at: Instant) -> u64 {
        match self {
            Self::AccessPoint(it) => it.clock(at),
            Self::Member(_) => 0,
        }
    }

    /// Returns the access point of the BSS, which may be the station itself; `None` if not
    /// associated.
    pub(super) fn access_point(&self) -> Option<MacAddress> {
        match self {
            Self::AccessPoint(it) => Some(it.address()),
            Self::Member(it) => it.access_point(),
        }
    }

    /// Returns the number of buffered packets.
    pub(super) fn held(&self) -> usize {
        match self {
            Self::AccessPoint(it) => it.held(),
            Self::Member(_) => 0,
        }
    }
}

/// Returns the Capability Information field of the station's frames.
fn capability(config: &Config) -> u16 {
    let flag = |bit, set| if set { bit } else { 0 };
    capability::ESS
        | flag(capability::PRIVACY, config.wep)
        | flag(capability::SHORT_PREAMBLE, config.preamble == Preamble::Short)
        | flag(capability::SHORT_SLOT, config.timing == Timing::G_SHORT_SLOT)
}

/// Returns the ERP element of a beacon. It assumes that all stations in range have the capabilities
/// of this one.
fn erp(config: &Config) -> Option<u8> {
    let long = config.preamble == Preamble::Long;
    (config.phy == Phy::G).then_some(if long { erp::BARKER_PREAMBLE } else { 0 })
}

/// Returns the SSID and the supported rates for the station's frames.
fn network(config: &Config, ssid: &Ssid) -> NetworkDescription {
    let rates: Vec<PhyRate> =
        PhyRate::ALL.into_iter().filter(|rate| config.phy.has(*rate)).collect();
    NetworkDescription::new(ssid, &rates, &config.basic_rates)
}

#[cfg(test)]
mod tests;
