//! The distributed coordination function of 802.11b/g: listen, wait, count down, transmit, repeat.
//!
//! - [`Config`]: the configuration of a station. [`Packet`]: a packet to transmit (MSDU).
//! - `access`: carrier sense, the NAV, interframe spaces and the backoff.
//! - [`Contention`]: the backoff of a station that receives only frames for others.
//! - `window`: how the contention window grows and shrinks.
//! - `pending_packet`: the packet in transmission: fragments, attempts, retry limits.
//! - `send` and `receive`: the two halves of an exchange.
//! - `assembly`: duplicate detection and defragmentation. `bss`: access points and their members.
//! - [`rate_control`]: the rate of each attempt. [`radio`]: the states of the radio, for energy.
//!
//! Standard: IEEE 802.11-2007, clause 9. Everything beyond the standard is in `extension`: coded
//! frames, reports in acknowledgements, and the combination of damaged copies.

mod access;
mod assembly;
mod bss;
mod config;
mod contention;
mod event;
mod extension;
mod pending_packet;
pub mod radio;
pub mod rate_control;
mod receive;
mod send;
mod window;

use std::collections::VecDeque;
use std::sync::Arc;

use windfall_base::{
    DropReason, Duration, Frame, Input, Instant, Outgoing, RxVector, Seed, Stream, Tag, earlier,
};
use windfall_wire_link::ieee80211::header::MAX_SEQUENCE;
use windfall_wire_link::ieee80211::{Kind, MacAddress, Phy};

pub use config::{
    Backoff, Config, ConfigError, EifsPolicy, LEAST_FRAGMENT, NO_THRESHOLD, Protection, Retries,
    Role,
};
pub use contention::{Contention, Rest};
pub use event::DcfEvent;
pub use extension::{RadioPolicy, UnknownRadioPolicy};
pub use rate_control::{RateControl, RateControlKind};

use access::Access;
use assembly::Assembly;
use bss::{Bss, Order};
use extension::ReceiverCode;
use pending_packet::PendingPacket;
use radio::{Airtime, Radio};
use rate_control::Rates;
use send::{OnAir, Phase, Response};
use window::Window;

/// A packet to transmit: an MSDU with its addresses.
#[derive(Clone, Debug)]
pub struct Packet {
    /// The packet: the LLC/SNAP payload, with the class that its owner requests.
    pub frame: Frame,
    /// The destination of the packet (DA).
    pub to: MacAddress,
    /// The EtherType of the packet.
    pub ether_type: u16,
    /// The end of the packet's lifetime.
    pub expires: Option<Instant>,
    /// The original source of a packet that an access point relays (address 3).
    pub source: Option<MacAddress>,
}

/// The layer above a station, which has the packets to send.
pub trait PacketSource {
    /// Gives the next packet, if there is one.
    fn next_packet(&mut self) -> Option<Packet>;

    /// Learns the outcome of a packet, before the station asks for the next one.
    fn packet_done(&mut self, _outcome: PacketOutcome) {}
}

impl<F: FnMut() -> Option<Packet>> PacketSource for F {
    fn next_packet(&mut self) -> Option<Packet> {
        self()
    }
}

/// The outcome of a packet that the station has finished with, and the air time that it took.
///
/// An attempt consists of DIFS, the mean backoff of its contention window, RTS and CTS if they are
/// used, the frame, SIFS and the ACK. All of them count, whether or not the ACK came. The
/// contention window grows with each failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketOutcome {
    /// The tag of the packet.
    pub tag: Option<Tag>,
    /// The number of attempts. A packet in fragments counts one, and one more for each failure.
    pub attempts: u32,
    /// The air time of all attempts.
    pub spent: Duration,
    /// The air time of one attempt at the highest rate that the station may choose, with the
    /// smallest contention window.
    pub ideal: Duration,
    /// The packet was acknowledged, or was sent without acknowledgement.
    pub arrived: bool,
    /// The packet was sent without acknowledgement, so its outcome is unknown: it was
    /// group-addressed, or is known to be damaged.
    pub outcome_unknown: bool,
}

/// The source of packets for the length of one call.
pub type Pull<'a> = &'a mut dyn PacketSource;

/// An 802.11 station: pulls packets from above when it may transmit, contends for the medium,
/// retries, acknowledges, and passes packets up.
///
/// It has the verbs of a [`base::Node`](windfall_base::Node). Methods that may begin an attempt
/// also take the source of the next packet. After each `handle_*`, call every `poll_*` until it
/// returns `None`. [`set_accept_damaged`](Self::set_accept_damaged) may be called at any time.
#[derive(Debug)]
pub struct Dcf {
    config: Config,
    access: Access,
    window: Window,
    draw: Stream,
    rates: Rates,
    radio: Radio,
    job: Option<PendingPacket>,
    /// The outcome of the last packet, until the source has been notified.
    outcome: Option<PacketOutcome>,
    phase: Phase,
    /// The frame on the air, while the radio transmits.
    on_air: Option<OnAir>,
    /// A pending response (ACK or CTS), and when it is due.
    owed: Option<(Instant, Response)>,
    sequence: u16,
    assembly: Assembly,
    /// The receiver's half of the extension beyond the standard.
    receiver_code: ReceiverCode,
    /// The role of the station in an infrastructure BSS.
    bss: Option<Box<Bss>>,
    /// Since when the radio is on; `None` while the station dozes.
    awake_since: Option<Instant>,
    /// The source had no packet when it was last asked, and has not called `handle_queued` since.
    source_is_empty: bool,
    out: Option<Outgoing>,
    up: VecDeque<Frame>,
    /// Packets from one member for another member or for all, which the access point relays.
    relayed: VecDeque<Packet>,
    events: VecDeque<DcfEvent>,
}

impl Dcf {
    /// A station that has done nothing; it draws from stream `name` of `seed`.
    #[must_use]
    pub fn new(config: Config, seed: Seed, name: &str) -> Self {
        let draw = Stream::new(seed, &format!("dcf/{name}"));
        let first = draw.at(0).below(0x1000) as u16;
        let setups = [Phy::G, Phy::B].map(|phy| config.rates(phy));
        Self {
            access: Access::new(config.timing, config.poll_answer_time()),
            window: Window::new(config.backoff, config.timing, config.retries),
            rates: Rates::new(config.rate_control, setups, Arc::clone(&config.without_ofdm)),
            radio: Radio::new(config.observe_radio),
            job: None,
            outcome: None,
            phase: Phase::Idle,
            on_air: None,
            owed: None,
            sequence: first,
            assembly: Assembly::default(),
            receiver_code: ReceiverCode::new(&config),
            bss: Bss::new(&config, &draw).map(Box::new),
            awake_since: Some(Instant::START),
            source_is_empty: false,
            out: None,
            up: VecDeque::new(),
            relayed: VecDeque::new(),
            events: VecDeque::new(),
            draw,
            config,
        }
    }

    /// Notes that the source has a packet. A station that found the source empty asks again only
    /// after this call.
    pub fn handle_queued(&mut self, now: Instant, pull: Pull<'_>) {
        self.source_is_empty = false;
        self.run(now, pull);
    }

    /// Takes a frame or a signal of the radio.
    pub fn handle_input(&mut self, now: Instant, mut input: Input, pull: Pull<'_>) {
        match input {
            Input::CarrierBusy => {
                // A transmission that is due at this instant begins before another station could be
                // sensed.
                self.act(now, pull);
                self.radio.carrier(now, true);
                let window = &self.window;
                let draw = &mut self.draw;
                let contends = self.phase == Phase::Contending;
                self.access.carrier_busy(now, contends, || window.draw(draw));
                return self.report();
            }
            Input::CarrierIdle => {
                self.radio.carrier(now, false);
                self.access.carrier_idle(now);
                self.end_of_carrier(now);
            }
            Input::Frame(ref frame, ref vector) if self.slept_through(vector) => {
                self.discard(frame.tag, frame.kept, DropReason::Lost, frame.payload.len());
            }
            Input::Frame(ref mut frame, ref vector) => self.handle_frame(now, frame, vector),
            Input::Overheard(_) if self.access.is_deaf() => {}
            Input::Overheard(frame) => self.handle_overheard(now, frame),
            // A station that transmitted meanwhile missed the preamble, so there was no reception
            // to fail.
            Input::ReceptionFailed(_) if self.access.is_deaf() => {}
            Input::ReceptionFailed(failure) => self.handle_failed_reception(now, failure),
            Input::CarrierPassed(time) => self.radio.carrier_passed(now, time),
            Input::TransmissionDone => self.transmission_done(now),
        }
        self.run(now, pull);
    }

    /// Performs the actions that are due.
    pub fn handle_timeout(&mut self, now: Instant, pull: Pull<'_>) {
        self.run(now, pull);
    }

    /// Gives the next frame for the air, with its transmit vector.
    #[inline]
    pub fn poll_transmit(&mut self) -> Option<Outgoing> {
        // Returns early if there is no frame: `take` would still copy as many bytes.
        if self.out.is_some() { self.out.take() } else { None }
    }

    /// Gives the next packet that has arrived.
    #[inline]
    pub fn poll_delivery(&mut self) -> Option<Frame> {
        self.up.pop_front()
    }

    /// Yields the next packet that the access point has to relay to a member or to all. The caller
    /// queues it with the access point's own packets.
    #[inline]
    pub fn poll_relay(&mut self) -> Option<Packet> {
        self.relayed.pop_front()
    }

    /// Yields the events, oldest first.
    #[inline]
    pub fn poll_event(&mut self) -> Option<DcfEvent> {
        self.events.pop_front()
    }

    /// Returns when to call [`handle_timeout`](Self::handle_timeout), and why.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        let exchange = match self.phase {
            Phase::Idle | Phase::Sending => None,
            Phase::Contending => self.access.attempt_at().map(|at| (at, "attempt")),
            Phase::Pausing { until } => Some((until, "next frame of the exchange")),
            Phase::Awaiting { until, .. } => until.map(|at| (at, "no answer")),
        };
        let owed = self.owed.as_ref().map(|(at, _)| (*at, "response"));
        let assembly = self.assembly.next_expiry().map(|at| (at, "fragments"));
        let bss = self.bss.as_ref().and_then(|bss| bss.alarm()).map(|at| (at, "beacon"));
        earlier(earlier(owed, exchange), earlier(assembly, bss))
    }

    /// Returns a model of the station that can process frames for other stations in its place.
    /// Returns `None` while the station must receive each frame itself, for example while it
    /// transmits, awaits an answer, or has fragments to reassemble.
    #[must_use]
    pub fn rest(&self) -> Option<Rest> {
        let is_silent = self.on_air.is_none() && self.owed.is_none() && !self.config.observe_radio;
        if !is_silent || self.bss.is_some() || !self.assembly.is_empty() {
            return None;
        }
        match self.phase {
            Phase::Idle if self.is_at_rest() && self.access.is_settled() => Some(Rest::Idle),
            Phase::Contending if self.access.is_counting() => {
                Some(Rest::Contending(Contention(self.access.clone())))
            }
            _ => None,
        }
    }

    /// Takes back the contention that [`rest`](Self::rest) lent.
    pub fn resume(&mut self, contention: Contention) {
        self.access = contention.0;
    }

    /// Returns the number of packets from above that the station still holds.
    #[must_use]
    pub fn held(&self) -> usize {
        let own = self.job.as_ref().is_some_and(|job| job.is_packet() && !job.given_away);
        usize::from(own) + self.bss.as_ref().map_or(0, |bss| bss.held())
    }

    /// Returns the time that the radio spent in each state, up to `now`.
    #[must_use]
    pub fn airtime(&self, now: Instant) -> Airtime {
        self.radio.airtime(now)
    }

    //= S0.10
    /// Sets the receive switch: if `accept` is set, frames for this station with a wrong FCS are
    /// passed up (S0.10–S0.12). They are never acknowledged.
    pub fn set_accept_damaged(&mut self, accept: bool) {
        self.config.accept_damaged = accept;
    }

    /// Performs all actions due at `now`, and reports the states of the radio.
    fn run(&mut self, now: Instant, pull: Pull<'_>) {
        self.act(now, pull);
        self.report();
    }

    /// Performs all actions that are due at `now`, and takes the next packet if none is pending.
    fn act(&mut self, now: Instant, pull: Pull<'_>) {
        if self.is_at_rest() {
            return;
        }
        self.assembly.expire(now, &mut self.events);
        if let Some(bss) = &mut self.bss {
            bss.expire(now, &mut self.events);
            bss.settle(now);
        }
        if let Some((at, _)) = self.owed
            && at <= now
        {
            self.respond(now);
        }
        if let Phase::Awaiting { until: Some(until), .. } = self.phase
            && until <= now
        {
            self.no_answer(now);
        }
        loop {
            if self.job.is_none() {
                self.take_next(now, pull);
            }
            match self.phase {
                Phase::Pausing { until } if until <= now => self.continue_exchange(now),
                Phase::Contending if self.access.attempt_at().is_some_and(|at| at <= now) => {
                    self.begin_exchange(now);
                }
                _ => break,
            }
        }
        self.doze_or_wake(now);
    }

    /// Reports the states of the radio, if an observer asks for them.
    #[inline]
    fn report(&mut self) {
        if self.config.observe_radio {
            self.events.extend(self.radio.report().map(DcfEvent::Radio));
        }
    }

    /// Returns `true` if no timer can be due and the source is empty.
    #[inline]
    fn is_at_rest(&self) -> bool {
        let waits = self.job.is_some() || self.owed.is_some() || !self.assembly.is_empty();
        self.source_is_empty && self.bss.is_none() && !waits
    }

    /// Takes a packet from the source, if there is one, and contends for it.
    fn take_next(&mut self, now: Instant, pull: Pull<'_>) {
        if let Some(outcome) = self.outcome.take() {
            pull.packet_done(outcome);
        }
        let order = match &mut self.bss {
            None => pull.next_packet().map(Order::from),
            Some(bss) => bss.next(pull, &mut self.events).map(|order| {
                let third = order.third.or(bss.access_point());
                Order { third, ..order }
            }),
        };
        self.source_is_empty = order.is_none();
        let Some(order) = order else { return };
        self.wake(now);
        let sequence = self.next_sequence(order.kind);
        self.job = Some(self.cut(now, PendingPacket::new(order, sequence, &self.config)));
        self.phase = Phase::Contending;
        let window = &self.window;
        let draw = &mut self.draw;
        self.access.want(now, || window.draw(draw));
    }

    /// Returns the sequence number of the next frame. A PS-Poll has none, so it takes none.
    fn next_sequence(&mut self, kind: Kind) -> u16 {
        if kind != Kind::PsPoll {
            self.sequence = (self.sequence + 1) & MAX_SEQUENCE;
        }
        self.sequence
    }

    //= S2.19
    /// Switches the radio off while a member in power save mode has nothing to do before its next
    /// beacon, and on again in time.
    fn doze_or_wake(&mut self, now: Instant) {
        let Some(bss) = &self.bss else { return };
        let busy = self.job.is_some() || self.owed.is_some() || self.on_air.is_some();
        if busy || !bss.dozes(now) {
            self.wake(now);
        } else if self.awake_since.take().is_some() {
            self.access.sleep();
            self.radio.doze(now, true);
        }
    }

    fn wake(&mut self, now: Instant) {
        if self.awake_since.is_none() {
            self.awake_since = Some(now);
            self.access.wake();
            self.radio.doze(now, false);
        }
    }

    /// Returns `true` if the radio was off when a frame began.
    fn slept_through(&self, vector: &RxVector) -> bool {
        self.awake_since.is_none_or(|since| vector.began < since)
    }
}

/// Returns the timeout for an answer, from the end of the frame to the end of the answer's preamble
/// (802.11-2007, 9.2.8: SIFS, one slot, and PHY-RX-START-Delay).
fn answer_time(config: &Config, preamble: Duration) -> Duration {
    config.timing.sifs + config.timing.slot + preamble
}

#[cfg(test)]
mod tests;
