//! A non-AP station: it scans, associates, roams and saves power.

use std::collections::{BTreeMap, VecDeque};

use windfall_base::{DropReason, Duration, Instant};
use windfall_wire_link::ieee80211::management::{
    AssociationRequest, AssociationResponse, Authentication, Beacon, NetworkDescription,
};
use windfall_wire_link::ieee80211::{Flags, Header, Kind, MacAddress};

use super::{Order, UNIT, Use, capability};
use crate::wifi::Pull;
use crate::wifi::config::Config;

/// The time for which the station continues to scan after the first beacon.
const LOOKS: Duration = Duration::from_millis(150);
/// The timeout of an authentication or association request.
const PATIENCE: Duration = Duration::from_millis(100);
/// The time before and after an expected beacon (TBTT) during which the radio is on.
const EARLY: Duration = Duration::from_millis(1);
const LATE: Duration = Duration::from_millis(20);
/// The time for which the station stays awake for frames that the TIM announced.
const PROMISED: Duration = Duration::from_millis(50);
/// The number of consecutive missed beacons after which the station scans again.
const MISSED: u32 = 8;
/// Hysteresis of roaming: the signal of another access point must be stronger by this, in decibels.
const BETTER: f64 = 6.0;

/// Scans for a network, associates with it, and dozes between beacons in power save mode.
#[derive(Debug)]
pub(in crate::wifi) struct Member {
    address: MacAddress,
    network: NetworkDescription,
    capability: u16,
    power_save: bool,
    step: Step,
    /// The access points of the network, and their last beacons.
    heard: BTreeMap<MacAddress, Heard>,
    aid: u16,
    /// The beacons of the access point with which the station is associated.
    beacons: BeaconTimes,
    /// Consecutive beacons that were missed.
    missed: u32,
    /// The radio stays on at least until this time.
    awake: Instant,
    urgent: VecDeque<Order>,
    alarm: Option<Instant>,
}

/// The last beacon of an access point.
#[derive(Clone, Copy, Debug)]
struct Heard {
    /// Its signal, in dBm; `None` if unknown.
    signal: Option<f64>,
    beacons: BeaconTimes,
}

/// The times of the beacons of an access point.
#[derive(Clone, Copy, Debug)]
struct BeaconTimes {
    interval: Duration,
    next: Instant,
}

impl BeaconTimes {
    /// Beacons are due at multiples of their interval by the clock of the access point (TBTT).
    fn of(beacon: &Beacon, now: Instant) -> Self {
        let interval = u64::from(beacon.interval.max(1)) * UNIT.as_micros();
        let due = (beacon.timestamp / interval).saturating_add(1).saturating_mul(interval);
        let ahead = Duration::from_micros(due.saturating_sub(beacon.timestamp));
        let interval = Duration::from_micros(interval);
        Self { interval, next: now + ahead.min(interval) }
    }

    /// Passes the beacons that should have arrived by `now`, and returns their number.
    fn pass(&mut self, now: Instant) -> u32 {
        let mut missed = 0;
        while self.next + LATE <= now {
            self.next += self.interval;
            missed += 1;
        }
        missed
    }
}

/// The progress of authentication and association.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    /// The station listens for beacons. `until` is set by the first beacon.
    Scanning { until: Option<Instant> },
    /// It has sent its authentication request.
    Authenticating { with: MacAddress, leaves: Option<MacAddress>, until: Instant },
    /// It has sent its association request.
    Associating { with: MacAddress, until: Instant },
    /// The station is associated with this access point.
    Joined(MacAddress),
}

impl Member {
    pub(super) fn new(config: &Config, network: NetworkDescription, power_save: bool) -> Self {
        Self {
            address: config.address,
            network,
            capability: capability(config),
            power_save,
            step: Step::Scanning { until: None },
            heard: BTreeMap::new(),
            aid: 0,
            beacons: BeaconTimes { interval: UNIT * 100, next: Instant::START },
            missed: 0,
            awake: Instant::START,
            urgent: VecDeque::new(),
            alarm: None,
        }
    }

    pub(super) const fn access_point(&self) -> Option<MacAddress> {
        match self.step {
            Step::Joined(with) => Some(with),
            _ => None,
        }
    }

    pub(super) const fn alarm(&self) -> Option<Instant> {
        self.alarm
    }

    /// Returns `true` if the radio may be off: between beacons, with no frame expected or queued.
    pub(super) fn dozes(&self, now: Instant) -> bool {
        self.power_save
            && self.access_point().is_some()
            && self.urgent.is_empty()
            && now >= self.awake
            && now + EARLY < self.beacons.next
    }

    pub(super) fn next(&mut self, pull: Pull<'_>) -> Option<Order> {
        if let Some(order) = self.urgent.pop_front() {
            return Some(order);
        }
        let with = self.access_point()?;
        let mut packet = pull.next_packet()?;
        let third = Some(packet.to);
        packet.to = with;
        let flags = Flags::TO_DS.with(Flags::POWER_MANAGEMENT, self.power_save);
        Some(Order { flags, third, ..packet.into() })
    }

    pub(super) fn handle_data(&mut self, header: &Header) -> Use {
        let ours = self.access_point() == Some(header.transmitter);
        // The access point relays group-addressed frames back to their source, which discards them.
        if !(ours && header.flags.has(Flags::FROM_DS)) || header.source() == self.address {
            return Use::Refuse(DropReason::NotForUs);
        }
        self.handle_promised(header);
        Use::Up
    }

    /// Handles a frame that the TIM announced. Its More Data flag tells whether another follows.
    fn handle_promised(&mut self, header: &Header) {
        let more = header.flags.has(Flags::MORE_DATA);
        if !more {
            self.awake = Instant::START;
        } else if self.power_save && !header.receiver.is_group() {
            self.poll();
        }
    }

    pub(super) fn handle_own(
        &mut self,
        now: Instant,
        header: &Header,
        body: &[u8],
        signal: Option<f64>,
    ) {
        let from = header.transmitter;
        match (header.kind, self.step) {
            (Kind::Beacon, _) => {
                if let Ok(beacon) = Beacon::parse(body) {
                    self.handle_beacon(now, from, &beacon, signal);
                }
            }
            (Kind::Authentication, Step::Authenticating { with, leaves, .. }) if from == with => {
                if let Ok(Authentication { step: 2, status: 0, .. }) = Authentication::parse(body) {
                    self.associate(now, with, leaves);
                }
            }
            (
                Kind::AssociationResponse | Kind::ReassociationResponse,
                Step::Associating { with, .. },
            ) if from == with => {
                if let Ok(AssociationResponse { status: 0, aid, .. }) =
                    AssociationResponse::parse(body)
                {
                    self.join(now, with, aid);
                }
            }
            (Kind::Disassociation | Kind::Deauthentication, Step::Joined(with)) if from == with => {
                self.scan();
            }
            (Kind::Null, Step::Joined(with)) if from == with => self.handle_promised(header),
            _ => {}
        }
    }

    fn handle_beacon(
        &mut self,
        now: Instant,
        from: MacAddress,
        beacon: &Beacon,
        signal: Option<f64>,
    ) {
        if beacon.network.ssid != self.network.ssid {
            return;
        }
        let beacons = BeaconTimes::of(beacon, now);
        self.heard.insert(from, Heard { signal, beacons });
        match self.step {
            Step::Scanning { until: None } => {
                self.step = Step::Scanning { until: Some(now + LOOKS) };
            }
            Step::Joined(with) if from == with => {
                self.beacons = beacons;
                self.missed = 0;
                let waiting = beacon.waiting.iter().flatten();
                for aid in waiting.filter(|_| self.power_save).copied().collect::<Vec<_>>() {
                    if aid == 0 || aid == self.aid {
                        self.awake = now + PROMISED;
                    }
                    if aid == self.aid {
                        self.poll();
                    }
                }
            }
            Step::Joined(with) => {
                // Unknown signals cannot be compared, so the station stays.
                let own = self.heard.get(&with).and_then(|heard| heard.signal);
                if signal.zip(own).is_some_and(|(signal, own)| signal >= own + BETTER) {
                    self.urgent.push_back(self.own(Kind::Disassociation, with, vec![8, 0]));
                    self.authenticate(now, from, Some(with));
                }
            }
            _ => {}
        }
    }

    /// Sends a PS-Poll, which requests one buffered frame from the access point.
    fn poll(&mut self) {
        if let Some(with) = self.access_point() {
            let order = Order::own(Kind::PsPoll, with, Vec::new());
            self.urgent.push_back(Order { aid: self.aid, ..order });
        }
    }

    fn scan(&mut self) {
        self.step = Step::Scanning { until: None };
        self.heard.clear();
    }

    fn authenticate(&mut self, now: Instant, with: MacAddress, leaves: Option<MacAddress>) {
        let body = Authentication { algorithm: 0, step: 1, status: 0 }.encode();
        self.urgent.push_back(self.own(Kind::Authentication, with, body));
        self.step = Step::Authenticating { with, leaves, until: now + PATIENCE };
    }

    fn associate(&mut self, now: Instant, with: MacAddress, leaves: Option<MacAddress>) {
        let request = AssociationRequest {
            capability: self.capability,
            listen_interval: 1,
            leaves,
            network: self.network.clone(),
        };
        let kind = match leaves {
            Some(_) => Kind::ReassociationRequest,
            None => Kind::AssociationRequest,
        };
        self.urgent.push_back(self.own(kind, with, request.encode()));
        self.step = Step::Associating { with, until: now + PATIENCE };
    }

    /// Builds a frame to an access point, whose address is also the BSSID.
    fn own(&self, kind: Kind, to: MacAddress, body: Vec<u8>) -> Order {
        Order { third: Some(to), ..Order::own(kind, to, body) }
    }

    fn join(&mut self, now: Instant, with: MacAddress, aid: u16) {
        self.step = Step::Joined(with);
        self.aid = aid;
        self.missed = 0;
        if let Some(heard) = self.heard.get(&with) {
            self.beacons = heard.beacons;
            self.beacons.pass(now);
        }
        if self.power_save {
            let flags = Flags::TO_DS.with(Flags::POWER_MANAGEMENT, true);
            self.urgent.push_back(Order { flags, ..self.own(Kind::Null, with, Vec::new()) });
            // The access point may have delayed the beacon that the station heard. So the station
            // stays awake for one interval.
            self.awake = now + self.beacons.interval;
        }
    }

    /// Gives up exchanges that time out, and sets the time of the next check.
    pub(super) fn settle(&mut self, now: Instant) {
        let due = |until: Instant| until <= now;
        match self.step {
            Step::Scanning { until: Some(until) } if due(until) => {
                // An access point of unknown signal is the last choice.
                let signal = |heard: &Heard| heard.signal.unwrap_or(f64::NEG_INFINITY);
                let best = self.heard.iter().max_by(|a, b| signal(a.1).total_cmp(&signal(b.1)));
                match best.map(|(address, _)| *address) {
                    Some(with) => self.authenticate(now, with, None),
                    None => self.scan(),
                }
            }
            Step::Authenticating { until, .. } | Step::Associating { until, .. } if due(until) => {
                self.scan();
            }
            Step::Joined(_) => {
                self.missed += self.beacons.pass(now);
                if self.missed > MISSED {
                    self.scan();
                }
            }
            _ => {}
        }
        self.alarm = match self.step {
            Step::Scanning { until } => until,
            Step::Authenticating { until, .. } | Step::Associating { until, .. } => Some(until),
            Step::Joined(_) => {
                let next = self.beacons.next;
                let early = Instant::from_nanos(next.as_nanos().saturating_sub(EARLY.as_nanos()));
                let moments = [self.awake, early, next + LATE];
                moments.into_iter().filter(|at| *at > now).min()
            }
        };
    }
}
