//! One control protocol: the automaton, its counters and timer, and its packets.

use windfall_base::{Duration, Instant};
use windfall_wire_link::ppp::{ControlCode, ControlPacket, PppOption, options};

use crate::ppp::automaton::{Action, Event, State, transition};
use crate::ppp::config::PppConfig;
use crate::ppp::negotiation::{Answer, Negotiation, answer};

/// Bytes of a rejected packet that are returned.
const REJECTED: usize = 64;

/// A notification of a layer to those above and below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Notice {
    /// Packets of the layers above may pass.
    Up,
    /// They may not any more.
    Down,
    /// The layer needs no lower layer any more.
    Finished,
}

/// The effects of an event: packets to send, and notifications in their order.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    pub(crate) packets: Vec<Vec<u8>>,
    pub(crate) notices: Vec<Notice>,
}

/// A control protocol.
#[derive(Clone, Debug)]
pub(crate) struct Layer<N> {
    pub(crate) negotiation: N,
    state: State,
    /// Attempts that are left.
    restarts: u8,
    deadline: Option<Instant>,
    /// Corrections in a row.
    failures: u8,
    identifier: u8,
    /// The request that was sent last.
    request: Request,
    /// The identifier and the options of the request of the peer that was granted last.
    granted: Option<(u8, Vec<u8>)>,
    /// Until when copies of it may come that were sent before this end was open.
    copies_until: Instant,
    /// The longest round trip that the last opening allows for.
    round_trip: Duration,
}

/// A Configure-Request that was sent.
#[derive(Clone, Debug)]
struct Request {
    identifier: u8,
    options: Vec<u8>,
    /// When it was sent first.
    at: Instant,
    /// A valid reply has come.
    is_answered: bool,
}

impl<N: Negotiation> Layer<N> {
    pub(crate) fn new(negotiation: N) -> Self {
        Self {
            negotiation,
            state: State::Initial,
            restarts: 0,
            deadline: None,
            failures: 0,
            identifier: 0,
            request: Request {
                identifier: 0,
                options: Vec::new(),
                at: Instant::START,
                is_answered: true,
            },
            granted: None,
            copies_until: Instant::START,
            round_trip: Duration::ZERO,
        }
    }

    pub(crate) fn is_open(&self) -> bool {
        self.state == State::Opened
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Takes an event without a packet.
    pub(crate) fn happen(
        &mut self,
        now: Instant,
        config: &PppConfig,
        event: Event,
        effects: &mut Effects,
    ) {
        self.run(now, config, event, None, effects);
    }

    /// Fires the timer if it is due.
    pub(crate) fn handle_timeout(
        &mut self,
        now: Instant,
        config: &PppConfig,
        effects: &mut Effects,
    ) {
        if self.deadline.is_some_and(|deadline| deadline <= now) {
            self.deadline = None;
            let again = self.restarts > 0;
            let event = if again { Event::TimeoutAgain } else { Event::TimeoutLast };
            self.run(now, config, event, None, effects);
        }
    }

    /// Takes a control packet; one that cannot be read or answers nothing is discarded.
    pub(crate) fn handle_packet(
        &mut self,
        now: Instant,
        config: &PppConfig,
        packet: ControlPacket<'_>,
        effects: &mut Effects,
    ) {
        // Of several copies of a reply the first counts.
        let is_ours = packet.identifier == self.request.identifier && !self.request.is_answered;
        let mut reply = None;
        let event = match ControlCode::of(packet.code) {
            Some(ControlCode::ConfigureRequest) if self.is_late_copy(now, &packet) => {
                // The answer before was lost or is still on its way: more copies may follow.
                self.copies_until = self.copies_until.max(now + self.round_trip + config.restart);
                send(ControlCode::ConfigureAck, packet.identifier, packet.data, effects);
                return;
            }
            Some(ControlCode::ConfigureRequest) => {
                let patience = self.failures < config.max_failure;
                let Some(it) = answer(&mut self.negotiation, packet.data, patience) else { return };
                // Corrections do not end a loop: without an answer the requests come to an end.
                if self.negotiation.is_looped() && !patience {
                    return;
                }
                let good = it.code == ControlCode::ConfigureAck;
                let correction = it.code == ControlCode::ConfigureNak;
                self.failures = if correction { self.failures + 1 } else { self.failures };
                reply = Some(it);
                if good { Event::GoodRequest } else { Event::BadRequest }
            }
            // RFC 1661, 5.2: the options match those of the request exactly.
            Some(ControlCode::ConfigureAck) if is_ours && packet.data == self.request.options => {
                Event::Ack
            }
            Some(ControlCode::ConfigureNak) if is_ours && self.take_corrections(packet.data) => {
                Event::Nak
            }
            Some(ControlCode::ConfigureReject) if is_ours && self.take_refusals(packet.data) => {
                Event::Nak
            }
            Some(
                ControlCode::ConfigureAck
                | ControlCode::ConfigureNak
                | ControlCode::ConfigureReject,
            ) => return,
            Some(ControlCode::TerminateRequest) => Event::TerminateRequest,
            Some(ControlCode::TerminateAck) => Event::TerminateAck,
            // Codes 1 to 7 are indispensable.
            Some(ControlCode::CodeReject) => match packet.data.first() {
                Some(1..=7) => Event::FatalReject,
                _ => Event::HarmlessReject,
            },
            _ => Event::UnknownCode,
        };
        self.request.is_answered |= matches!(event, Event::Ack | Event::Nak);
        self.run(now, config, event, Some(&(packet, reply)), effects);
    }

    /// Takes the options of a Configure-Nak (RFC 1661, 5.3); `false` if it corrects nothing of the
    /// request and names nothing that this end would add to it.
    fn take_corrections(&mut self, data: &[u8]) -> bool {
        let Some(wishes) = read(data) else { return false };
        let asked = read(&self.request.options).unwrap_or_default();
        let corrects = wishes.iter().any(|wish| asked.iter().any(|it| it.kind == wish.kind));
        wishes.into_iter().for_each(|wish| self.negotiation.correct(wish));
        let mut options = Vec::new();
        self.negotiation.request(&mut options);
        corrects || options != self.request.options
    }

    /// Does without the options of a Configure-Reject; `false` if it names one that the request
    /// does not hold as it is (RFC 1661, 5.4).
    fn take_refusals(&mut self, data: &[u8]) -> bool {
        let Some(refused) = read(data) else { return false };
        let asked = read(&self.request.options).unwrap_or_default();
        let is_valid = !refused.is_empty() && refused.iter().all(|it| asked.contains(it));
        if is_valid {
            refused.iter().for_each(|it| self.negotiation.refuse(it.kind));
        }
        is_valid
    }

    /// Tells whether a request is a copy of the one that was granted last, which was sent before
    /// the peer could know. It does not open the negotiation again, as a new one would.
    fn is_late_copy(&self, now: Instant, packet: &ControlPacket<'_>) -> bool {
        let granted = self.granted.as_ref().map(|(identifier, data)| (*identifier, &data[..]));
        self.state == State::Opened
            && now <= self.copies_until
            && granted == Some((packet.identifier, packet.data))
    }

    /// Answers an echo request of LCP.
    pub(crate) fn echo(
        &mut self,
        magic: [u8; 4],
        packet: ControlPacket<'_>,
        effects: &mut Effects,
    ) {
        let answers = transition(self.state, Event::Echo);
        if answers.is_some_and(|(actions, _)| actions.contains(&Action::Ser)) {
            let data = [&magic, packet.data.get(4..).unwrap_or_default()].concat();
            send(ControlCode::EchoReply, packet.identifier, &data, effects);
        }
    }

    /// The next identifier of a packet that asks for no answer.
    pub(crate) fn next_identifier(&mut self) -> u8 {
        self.identifier = self.identifier.wrapping_add(1);
        self.identifier
    }

    fn run(
        &mut self,
        now: Instant,
        config: &PppConfig,
        event: Event,
        cause: Option<&(ControlPacket<'_>, Option<Answer>)>,
        effects: &mut Effects,
    ) {
        let Some((actions, state)) = transition(self.state, event) else { return };
        self.state = state;
        if matches!(event, Event::Up | Event::Down) {
            // Of another connection nothing is awaited any more.
            (self.request.is_answered, self.granted) = (true, None);
        }
        let (packet, reply) = match cause {
            Some((packet, reply)) => (Some(packet), reply.as_ref()),
            None => (None, None),
        };
        for action in actions {
            self.act(now, config, *action, packet, reply, effects);
        }
        if matches!(
            state,
            State::Initial | State::Starting | State::Closed | State::Stopped | State::Opened
        ) {
            self.deadline = None;
        }
    }

    fn act(
        &mut self,
        now: Instant,
        config: &PppConfig,
        action: Action,
        packet: Option<&ControlPacket<'_>>,
        reply: Option<&Answer>,
        effects: &mut Effects,
    ) {
        let restart = Some(now + config.restart);
        match action {
            Action::Tlu => {
                self.failures = 0;
                // The peer repeats its request until the answer has come: a round trip.
                self.round_trip = now.saturating_since(self.request.at);
                self.copies_until = now + self.round_trip + config.restart;
                effects.notices.push(Notice::Up);
            }
            Action::Tld => effects.notices.push(Notice::Down),
            Action::Tls | Action::Ser => {}
            Action::Tlf => effects.notices.push(Notice::Finished),
            Action::Irc => {
                let closing = matches!(self.state, State::Closing | State::Stopping);
                self.restarts = if closing { config.max_terminate } else { config.max_configure };
            }
            Action::Zrc => (self.restarts, self.deadline) = (0, restart),
            Action::Scr => {
                let mut options = Vec::new();
                self.negotiation.request(&mut options);
                // RFC 1661, 5.1: a retransmission keeps its identifier, so that a reply that takes
                // longer than the timer still counts.
                if self.request.is_answered || self.request.options != options {
                    let identifier = self.next_identifier();
                    self.request = Request { identifier, options, at: now, is_answered: false };
                }
                self.restarts = self.restarts.saturating_sub(1);
                self.deadline = restart;
                let Request { identifier, options, .. } = &self.request;
                send(ControlCode::ConfigureRequest, *identifier, options, effects);
            }
            Action::Sca | Action::Scn => {
                if let (Some(packet), Some(reply)) = (packet, reply) {
                    self.granted =
                        (action == Action::Sca).then(|| (packet.identifier, packet.data.to_vec()));
                    send(reply.code, packet.identifier, &reply.data, effects);
                }
            }
            Action::Str => {
                self.restarts = self.restarts.saturating_sub(1);
                self.deadline = restart;
                let identifier = self.next_identifier();
                send(ControlCode::TerminateRequest, identifier, &[], effects);
            }
            Action::Sta => {
                let identifier = packet.map_or(self.identifier, |packet| packet.identifier);
                send(ControlCode::TerminateAck, identifier, &[], effects);
            }
            Action::Scj => {
                let mut rejected = Vec::new();
                if let Some(packet) = packet {
                    packet.encode(&mut rejected);
                }
                rejected.truncate(REJECTED);
                let identifier = self.next_identifier();
                send(ControlCode::CodeReject, identifier, &rejected, effects);
            }
        }
    }
}

/// The options of a packet; `None` if one cannot be read.
fn read(data: &[u8]) -> Option<Vec<PppOption<'_>>> {
    options(data).collect::<Result<_, _>>().ok()
}

fn send(code: ControlCode, identifier: u8, data: &[u8], effects: &mut Effects) {
    let mut bytes = Vec::new();
    ControlPacket { code: code as u8, identifier, data }.encode(&mut bytes);
    effects.packets.push(bytes);
}
