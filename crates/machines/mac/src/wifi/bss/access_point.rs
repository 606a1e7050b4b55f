//! The access point of an infrastructure BSS.

use std::collections::{BTreeMap, VecDeque};

use windfall_base::{DropReason, Instant};
use windfall_wire_link::ieee80211::management::{
    AssociationRequest, AssociationResponse, Authentication, Beacon, MAX_AID,
};
use windfall_wire_link::ieee80211::{Flags, Header, Kind, MacAddress};

use super::{Order, UNIT, Use};
use crate::wifi::event::DcfEvent;
use crate::wifi::{Packet, Pull};

/// The number of packets buffered for one dozing member, or for the group address.
const ROOM: usize = 64;
/// Status code 17: the access point cannot handle more associated stations (802.11-2007, 7.3.1.9).
const TOO_MANY: u16 = 17;

/// Sends beacons, admits members, relays between them, and buffers frames for dozing members.
#[derive(Debug)]
pub(in crate::wifi) struct AccessPoint {
    address: MacAddress,
    /// The contents of its beacons, without timestamp and TIM.
    beacon: Beacon,
    /// The start of its TSF timer.
    began: Instant,
    next_beacon: Instant,
    members: BTreeMap<MacAddress, Admitted>,
    /// The frames that are sent before packets from above.
    urgent: VecDeque<Order>,
    /// Group-addressed packets that wait for the next beacon because a member dozes.
    for_all: VecDeque<Order>,
}

#[derive(Debug)]
struct Admitted {
    aid: u16,
    dozes: bool,
    waiting: VecDeque<Order>,
}

impl AccessPoint {
    /// Creates an access point that sends `beacon`; its TSF timer is 0 at `began`.
    pub(super) fn new(address: MacAddress, beacon: Beacon, began: Instant) -> Self {
        Self {
            address,
            began,
            next_beacon: began + UNIT * u64::from(beacon.interval),
            beacon,
            members: BTreeMap::new(),
            urgent: VecDeque::new(),
            for_all: VecDeque::new(),
        }
    }

    pub(super) const fn address(&self) -> MacAddress {
        self.address
    }

    pub(super) fn clock(&self, at: Instant) -> u64 {
        at.saturating_since(self.began).as_micros()
    }

    pub(super) const fn alarm(&self) -> Option<Instant> {
        Some(self.next_beacon)
    }

    pub(super) fn held(&self) -> usize {
        let waiting = self.members.values().flat_map(|member| &member.waiting);
        let all = self.urgent.iter().chain(&self.for_all).chain(waiting);
        all.filter(|order| order.is_data()).count()
    }

    /// Drops packets whose lifetime ended while they waited for the beacon that is due now.
    pub(super) fn expire(&mut self, now: Instant, events: &mut VecDeque<DcfEvent>) {
        if now < self.next_beacon {
            return;
        }
        let waiting = self.members.values_mut().map(|member| &mut member.waiting);
        for queue in waiting.chain([&mut self.for_all]) {
            queue.retain(|Order { packet, .. }| {
                let expired = packet.expires.is_some_and(|expires| expires < now);
                if expired {
                    let tag = packet.frame.tag;
                    let len = packet.frame.payload.len();
                    events.push_back(DcfEvent::given_up(tag, DropReason::Expired, len));
                }
                !expired
            });
        }
    }

    /// Queues the beacon that is due, in place of an earlier one that has not been sent yet.
    pub(super) fn settle(&mut self, now: Instant) {
        if now < self.next_beacon {
            return;
        }
        let interval = UNIT * u64::from(self.beacon.interval);
        while self.next_beacon <= now {
            self.next_beacon += interval;
        }
        self.urgent.retain(|order| order.kind != Kind::Beacon);
        let mut waiting: Vec<u16> =
            self.members.values().filter(|it| !it.waiting.is_empty()).map(|it| it.aid).collect();
        if !self.for_all.is_empty() {
            waiting.push(0);
        }
        waiting.sort_unstable();
        // Members in power save mode stay awake for group-addressed frames until More Data is 0.
        let last = self.for_all.len().saturating_sub(1);
        for (number, mut order) in self.for_all.drain(..).enumerate().rev() {
            order.flags = order.flags.with(Flags::MORE_DATA, number < last);
            self.urgent.push_front(order);
        }
        // The timestamp is set at transmission.
        let beacon = Beacon { waiting: Some(waiting), ..self.beacon.clone() };
        self.urgent.push_front(Order::own(Kind::Beacon, MacAddress::BROADCAST, beacon.encode()));
    }

    /// Returns the next frame: an urgent one, or the next packet from above for a member that is
    /// awake.
    pub(super) fn next(
        &mut self,
        pull: Pull<'_>,
        events: &mut VecDeque<DcfEvent>,
    ) -> Option<Order> {
        loop {
            if let Some(order) = self.urgent.pop_front() {
                return Some(order);
            }
            let packet = pull.next_packet()?;
            let tag = packet.frame.tag;
            let len = packet.frame.payload.len();
            if let Err(reason) = self.take(packet) {
                events.push_back(DcfEvent::given_up(tag, reason, len));
            }
        }
    }

    /// Queues a packet, or buffers it if its destination dozes.
    ///
    /// # Errors
    /// If the destination is not a member, or its buffer is full.
    pub(super) fn take(&mut self, packet: Packet) -> Result<(), DropReason> {
        let to = packet.to;
        let flags = Flags::FROM_DS;
        let source = packet.source.unwrap_or(self.address);
        let doze = self.members.values().any(|member| member.dozes);
        let queue = match self.members.get_mut(&to) {
            _ if to.is_group() && doze => &mut self.for_all,
            _ if to.is_group() => &mut self.urgent,
            Some(member) if member.dozes => &mut member.waiting,
            Some(_) => &mut self.urgent,
            None => return Err(DropReason::NoRoute),
        };
        if queue.len() >= ROOM {
            return Err(DropReason::QueueFull);
        }
        queue.push_back(Order { flags, third: Some(source), ..packet.into() });
        Ok(())
    }

    pub(super) fn handle_data(&mut self, header: &Header) -> Use {
        let is_member = self.members.contains_key(&header.transmitter);
        if !(is_member && header.flags.has(Flags::TO_DS)) {
            return Use::Refuse(DropReason::NotForUs);
        }
        self.set_mode(header.transmitter, header.flags.has(Flags::POWER_MANAGEMENT));
        self.use_for(header.destination())
    }

    /// Decides what to do with a data frame, by its destination.
    pub(super) fn use_for(&self, destination: MacAddress) -> Use {
        match destination {
            to if to == self.address => Use::Up,
            to if to.is_group() => Use::Both,
            to if self.members.contains_key(&to) => Use::Relay,
            _ => Use::Refuse(DropReason::NoRoute),
        }
    }

    pub(super) fn handle_own(&mut self, header: &Header, body: &[u8]) {
        let from = header.transmitter;
        match header.kind {
            Kind::Authentication => {
                if let Ok(Authentication { algorithm: 0, step: 1, .. }) =
                    Authentication::parse(body)
                {
                    let answer = Authentication { algorithm: 0, step: 2, status: 0 };
                    self.answer(Kind::Authentication, from, answer.encode());
                }
            }
            Kind::AssociationRequest | Kind::ReassociationRequest => {
                let again = header.kind == Kind::ReassociationRequest;
                let request = AssociationRequest::parse(body, again);
                if request.is_ok_and(|request| request.network.ssid == self.beacon.network.ssid) {
                    let kind =
                        if again { Kind::ReassociationResponse } else { Kind::AssociationResponse };
                    let answer = self.admit(from);
                    self.answer(kind, from, answer.encode());
                    // A station is in active mode when it is associated.
                    self.set_mode(from, false);
                }
            }
            Kind::Disassociation | Kind::Deauthentication => self.leave(from),
            Kind::Null => self.set_mode(from, header.flags.has(Flags::POWER_MANAGEMENT)),
            Kind::PsPoll => self.handle_poll(from),
            _ => {}
        }
    }

    /// Sets the power management mode of a member. Its buffered packets are sent as soon as it is
    /// known to be awake (802.11-2020, 11.2.3).
    fn set_mode(&mut self, station: MacAddress, dozes: bool) {
        if let Some(member) = self.members.get_mut(&station) {
            member.dozes = dozes;
            if !dozes {
                self.urgent.append(&mut member.waiting);
            }
        }
    }

    fn answer(&mut self, kind: Kind, to: MacAddress, body: Vec<u8>) {
        self.urgent.push_back(Order::own(kind, to, body));
    }

    fn admit(&mut self, station: MacAddress) -> AssociationResponse {
        let taken = |aid: &u16| self.members.values().any(|member| member.aid == *aid);
        let known = self.members.get(&station).map(|member| member.aid);
        let aid = known.or_else(|| (1..=MAX_AID).find(|aid| !taken(aid)));
        if let Some(aid) = aid {
            let fresh = || Admitted { aid, dozes: false, waiting: VecDeque::new() };
            self.members.entry(station).or_insert_with(fresh);
        }
        AssociationResponse {
            capability: self.beacon.capability,
            status: if aid.is_some() { 0 } else { TOO_MANY },
            aid: aid.unwrap_or(0),
            network: self.beacon.network.clone(),
        }
    }

    /// Removes a member; its buffered packets are still sent, and dropped at the retry limit.
    fn leave(&mut self, station: MacAddress) {
        if let Some(mut member) = self.members.remove(&station) {
            self.urgent.append(&mut member.waiting);
        }
    }

    /// Sends a dozing member one buffered packet; its More Data flag tells whether others are
    /// buffered.
    fn handle_poll(&mut self, from: MacAddress) {
        let Some(member) = self.members.get_mut(&from) else { return };
        let mut order = member.waiting.pop_front().unwrap_or_else(|| Order {
            flags: Flags::FROM_DS,
            third: Some(self.address),
            ..Order::own(Kind::Null, from, Vec::new())
        });
        order.flags = order.flags.with(Flags::MORE_DATA, !member.waiting.is_empty());
        self.urgent.push_back(order);
    }
}
