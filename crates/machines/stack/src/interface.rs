//! One network interface of a station: classify, queue, link.

mod account;
pub mod assist;
mod checksums;
pub mod classify;
pub mod flows;
pub mod gsm;
mod link;
mod pace;
pub mod picks;
mod pipe;
mod repairs;
pub mod wavelan;
pub mod wifi;

use windfall_base::{
    Congestion, DropReason, FlowId, Frame, Input, Instant, Ledger, Node, Outgoing, Picked, Port,
    Seed, Stream, Tag, TransitTiming, earlier,
};
use windfall_link::{PipeConfig, RepairSender};
use windfall_mac::wifi::radio::Airtime;
use windfall_mac::wifi::{Contention, Rest};
use windfall_queue::{Discipline, Limits};

pub use account::Counters;
pub use checksums::ChecksumConfig;
pub use repairs::RepairsConfig;

use crate::event::InterfaceEvent;
use account::InterfaceAccount;
use assist::{Assist, AssistConfig};
use classify::{Classifier, Rule, note_markable};
use flows::{FlowAccount, QueueConfig, ScheduledFlow};
use gsm::{GsmLink, GsmLinkConfig};
use link::Link;
use pipe::PipeLink;
use repairs::Repairs;
use wavelan::{WavelanConfig, WavelanLink};
use wifi::{WifiConfig, WifiLink};

/// The port of bare IP packets.
pub const DEVICE: Port = Port(0);
/// The port of frames on the air.
pub const MEDIUM: Port = Port(1);

/// The longest packet that a link header can describe, in bytes.
const MAX_MTU: usize = 65_535;

/// The configuration of an interface.
#[derive(Clone, Debug)]
pub struct InterfaceConfig {
    /// The longest packet that it takes from the device, in bytes.
    pub mtu: usize,
    /// The rules that classify packets; the first rule that matches applies.
    pub rules: Vec<Rule>,
    /// The capacity of the queue for the link, or of the queue of each scheduled flow.
    pub queue: Limits,
    /// In which order flows are served.
    pub discipline: Discipline,
    /// Flows with a share of their own; rules name them.
    pub flows: Vec<ScheduledFlow>,
    /// Flows whose packets have a ledger of their own.
    pub counted: Vec<FlowId>,
    /// The assistance for TCP connections over the interface.
    pub assist: AssistConfig,
    /// The erasure codes across packets.
    pub repairs: RepairsConfig,
    /// The checksums of packets whose owner accepts damage.
    pub checksums: ChecksumConfig,
    /// The link below.
    pub link: LinkLayerConfig,
    /// Keep events for [`Interface::poll_event`]; without it only counters and the ledger are kept.
    pub observe: bool,
}

impl Default for InterfaceConfig {
    /// MTU 1500 over a pipe without error control, unobserved.
    fn default() -> Self {
        Self {
            mtu: 1_500,
            rules: Vec::new(),
            queue: Limits::default(),
            discipline: Discipline::default(),
            flows: Vec::new(),
            counted: Vec::new(),
            assist: AssistConfig::default(),
            repairs: RepairsConfig::default(),
            checksums: ChecksumConfig::default(),
            link: LinkLayerConfig::Pipe(PipeConfig::default()),
            observe: false,
        }
    }
}

/// Which link an interface has.
#[derive(Clone, Debug)]
pub enum LinkLayerConfig {
    /// One end of a full-duplex pipe.
    Pipe(PipeConfig),
    /// One station of a polled, shared medium (S3.2).
    Wavelan(WavelanConfig),
    /// One station of an 802.11 network.
    Wifi(WifiConfig),
    /// One end of a GSM circuit.
    Gsm(GsmLinkConfig),
}

/// A network interface: [`DEVICE`] carries bare IP packets, [`MEDIUM`] frames.
///
/// Kinds of method: the verbs of [`Node`], `poll_event` (call until `None` if observed), getters.
#[derive(Debug)]
pub struct Interface {
    mtu: usize,
    classifier: Classifier,
    assist: Assist,
    repairs: Repairs,
    checksums: ChecksumConfig,
    link: Box<dyn Link>,
    account: InterfaceAccount,
    /// The flow of the last packet from the device.
    last_flow: FlowId,
}

impl Interface {
    /// Creates an interface. Links with contention draw from stream `name` of `seed`.
    #[must_use]
    pub fn new(config: InterfaceConfig, seed: Seed, name: &str) -> Self {
        let InterfaceConfig { mtu, rules, queue, discipline, flows, .. } = config;
        let InterfaceConfig { assist, repairs, checksums, link, observe, .. } = config;
        let classifier = Classifier::new(rules);
        let random = Stream::new(seed, &format!("{name}/queue"));
        let queues = QueueConfig { discipline, limits: queue, flows, random };
        let link: Box<dyn Link> = match link {
            LinkLayerConfig::Pipe(link) => {
                Box::new(PipeLink::new(link, classifier.asks_for_repetition(), &queues))
            }
            LinkLayerConfig::Wavelan(link) => Box::new(WavelanLink::new(link, &queues)),
            LinkLayerConfig::Gsm(link) => Box::new(GsmLink::new(link, mtu, &queues)),
            LinkLayerConfig::Wifi(link) => {
                Box::new(WifiLink::new(link, classifier.clone(), &queues, seed, name))
            }
        };
        let assist = Assist::new(assist);
        let repairs = Repairs::new(repairs, name);
        let account = InterfaceAccount::new(observe);
        let last_flow = FlowId::default();
        Self { mtu, classifier, assist, repairs, checksums, link, account, last_flow }
    }

    /// Returns the oldest event; `None` always if the interface is not observed.
    #[inline]
    pub fn poll_event(&mut self) -> Option<InterfaceEvent> {
        self.account.poll_event()
    }

    /// Lends the contention of the station, if frames for other stations need not be passed to it
    /// for a while. Call [`resume`](Self::resume) before any other input.
    #[must_use]
    pub fn rest(&self) -> Option<Rest> {
        let rest = self.link.rest();
        // The timers of the assistance would be missed during the contention.
        let waits =
            || self.assist.poll_timeout().is_some() || self.repairs.poll_timeout().is_some();
        rest.filter(|rest| matches!(rest, Rest::Idle) || !waits())
    }

    /// Restores the contention that [`rest`](Self::rest) has lent.
    pub fn resume(&mut self, contention: Contention) {
        self.link.resume(contention);
    }

    /// The account: a packet from the device counts once, each frame with a packet from the medium
    /// counts once (S0.5).
    #[must_use]
    pub fn ledger(&self) -> Ledger {
        self.account.ledger(self.link.held() + self.repairs.held())
    }

    /// Returns the missing packets that a received repair packet may still recover.
    pub fn awaited(&self) -> impl Iterator<Item = Tag> + '_ {
        self.repairs.awaited()
    }

    /// Returns the counts of the interface so far.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.account.counters
    }

    /// Returns the time that the radio spent in each state, up to `now`; `None` without a radio of
    /// 802.11.
    #[must_use]
    pub fn airtime(&self, now: Instant) -> Option<Airtime> {
        self.link.airtime(now)
    }

    //= S0.10
    /// Sets whether an 802.11 radio passes up frames for this station whose FCS failed. Other links
    /// ignore the call.
    pub fn set_accept_damaged(&mut self, accept: bool) {
        let has_code = self.repairs.set_accept_damaged(accept);
        self.link.set_accept_damaged(accept || has_code);
    }

    /// Sets the expected transit time of frames. The link does not send packets that would arrive
    /// after their lifetime.
    pub fn set_passage(&mut self, passage: TransitTiming) {
        self.account.set_passage(passage);
        self.link.set_passage(passage);
    }

    /// Returns the flow of the packet that the device gave last.
    #[must_use]
    pub const fn last_flow(&self) -> FlowId {
        self.last_flow
    }

    /// Returns the use of the link by each flow, with best effort first; empty without flows.
    #[must_use]
    pub fn flows(&self) -> Vec<FlowAccount> {
        self.link.flows()
    }

    /// Returns the number of packets that wait for the link, and their bytes.
    #[must_use]
    pub fn queue_len(&self) -> (usize, usize) {
        self.link.queue_len()
    }

    fn take_packet(&mut self, now: Instant, mut frame: Frame) {
        self.account.taken();
        self.account.counters.from_device += 1;
        self.classifier.classify(&mut frame);
        // The expiry of an earlier link does not apply.
        let lifetime = frame.class.lifetime;
        frame.set_expiry(lifetime.map(|lifetime| now.saturating_add(lifetime)));
        note_markable(&mut frame);
        let tag = frame.tag;
        let flow = frame.class.flow;
        self.last_flow = flow;
        let len = frame.len();
        if len > self.mtu.min(MAX_MTU) {
            return self.account.refused(tag, DropReason::TooBig, len);
        }
        self.checksums.handle_sent(&mut frame);
        let seen = self.assist.keeps_packets().then(|| frame.clone());
        self.repairs.protect(now, &mut frame);
        match self.link.take_packet(now, frame, &mut self.account) {
            Ok(waiting) => self.account.queued(tag, flow, len, waiting),
            Err(reason) => {
                self.account.refused(tag, reason, len);
                return self.send_repairs(now);
            }
        }
        self.send_repairs(now);
        if let Some(frame) = seen {
            self.assist.handle_queued(now, &frame);
        }
        self.link.handle_queued(now, &mut self.account);
    }
}

impl Interface {
    /// Queues the repair packets that are due.
    fn send_repairs(&mut self, now: Instant) {
        while let Some(frame) = self.repairs.sender.as_mut().and_then(RepairSender::poll_repair) {
            self.account.taken();
            let len = frame.len();
            match self.link.take_packet(now, frame, &mut self.account) {
                Ok(_) => self.link.handle_queued(now, &mut self.account),
                Err(reason) => self.account.refused(None, reason, len),
            }
        }
    }

    /// Restarts the receiver, because the peer has restarted and its numbers begin at zero; yields
    /// the packets that waited.
    pub(crate) fn restart_receiver(&mut self, now: Instant) -> Vec<Frame> {
        self.link.restart_receiver(now, &mut self.account);
        let mut packets: Vec<_> = std::iter::from_fn(|| self.poll_delivery(now)).collect();
        self.repairs.restart_receiver(&mut self.account);
        packets.extend(std::iter::from_fn(|| self.poll_delivery(now)));
        packets
    }

    /// Returns the next packet that the link and the erasure code pass up.
    fn next_received(&mut self, now: Instant) -> Option<Frame> {
        loop {
            if let Some(frame) = self.repairs.poll_delivery() {
                return Some(frame);
            }
            let frame = self.link.poll_delivery(&mut self.account)?;
            if let Some(frame) = self.repairs.take(now, frame, &mut self.account) {
                return Some(frame);
            }
        }
    }

    /// Returns the next packet for the device.
    fn poll_delivery(&mut self, now: Instant) -> Option<Frame> {
        loop {
            let mut frame = self.next_received(now)?;
            if frame.is_late(now) {
                self.account.discarded(frame.tag, false, DropReason::Late, frame.len());
                continue;
            }
            frame.set_expiry(None);
            if frame.congestion == Congestion::Marked {
                self.account.mark(&mut frame);
            }
            let fate = self.assist.handle_delivery(now, &mut frame);
            self.repeat(now);
            match fate {
                Ok(()) => {
                    self.checksums.handle_received(&mut frame);
                    self.account.delivered(&frame);
                    return Some(frame);
                }
                Err(reason) => {
                    self.account.discarded(frame.tag, false, reason, frame.len());
                }
            }
        }
    }

    /// Queues the packets that the assistance retransmits, ahead of all others.
    fn repeat(&mut self, now: Instant) {
        while let Some(mut frame) = self.assist.poll_repetition() {
            self.account.taken();
            let tag = frame.tag;
            let len = frame.len();
            if frame.class.picked != Picked::NONE {
                frame.class.picked = Picked::NONE;
            }
            self.repairs.protect(now, &mut frame);
            match self.link.take_first(now, frame, &mut self.account) {
                Ok(_) => self.link.handle_queued(now, &mut self.account),
                Err(reason) => self.account.refused(tag, reason, len),
            }
            self.send_repairs(now);
        }
    }
}

impl Node for Interface {
    fn handle_input(&mut self, now: Instant, port: Port, input: Input) {
        // An input is large. Passing it on as a whole avoids a copy.
        if port == MEDIUM {
            return self.link.handle_input(now, input, &mut self.account);
        }
        // A device sends no signals, and there is no other port.
        if let (DEVICE, Input::Frame(frame, _)) = (port, input) {
            self.take_packet(now, frame);
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.link.handle_timeout(now, &mut self.account);
        self.assist.handle_timeout(now);
        self.repairs.handle_timeout(now, &mut self.account);
        self.send_repairs(now);
        self.repeat(now);
    }

    #[inline]
    fn poll_transmit(&mut self, now: Instant) -> Option<(Port, Outgoing)> {
        if let Some(frame) = self.poll_delivery(now) {
            return Some((DEVICE, frame.into()));
        }
        let outgoing = self.link.poll_transmit(now, &mut self.account)?;
        Some((MEDIUM, outgoing))
    }

    fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        let above = earlier(self.assist.poll_timeout(), self.repairs.poll_timeout());
        earlier(self.link.poll_timeout(), above)
    }
}

#[cfg(test)]
mod tests;
