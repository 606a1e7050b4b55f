//! The entity of RLP: connecting, parameters, data, recovery.

use std::collections::VecDeque;

use windfall_base::{Duration, Instant};
use windfall_wire_link::l2r::{self, L2R_CHARACTERS, L2rStatus};
use windfall_wire_link::rlp::{
    RLP_FRAME_LEN, RLP_INFO_LEN, RlpControl, RlpError, RlpFrame, RlpInfo, Supervisory, Unnumbered,
    XidParameters,
};

use crate::rlp::config::RlpConfig;
use crate::rlp::event::{RlpDown, RlpEvent};
use crate::rlp::receive::ReceiveWindow;
use crate::rlp::transmit::TransmitWindow;
use crate::rlp::xid;

/// Responses that wait for a slot; more commands than that are not answered.
const MAX_RESPONSES: usize = 4;

const NO_INFO: RlpInfo = [0; RLP_INFO_LEN];

/// The state of the entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// No connection (asynchronous disconnected mode).
    Detached,
    /// XID was sent.
    Negotiating,
    /// SABM was sent.
    Connecting,
    /// Data may be sent (asynchronous balanced mode).
    Connected,
    /// SABM was sent to reset the connection.
    Resetting,
    /// DISC was sent.
    Disconnecting,
}

/// A command that waits for its answer.
#[derive(Clone, Copy, Debug)]
struct Command {
    /// When it was sent last; `None` before the first time.
    sent: Option<Instant>,
    /// Times that it was sent.
    attempts: u8,
}

impl Command {
    const NEW: Self = Self { sent: None, attempts: 0 };

    fn is_due(&self, now: Instant, period: Duration) -> bool {
        self.sent.is_none_or(|sent| now.saturating_since(sent) >= period)
    }

    fn note_sent(&mut self, now: Instant) {
        self.sent = Some(now);
        self.attempts = self.attempts.saturating_add(1);
    }
}

/// The counts of a link since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RlpCounts {
    /// Information frames sent, retransmissions among them.
    pub information: u64,
    /// Information frames sent again.
    pub retransmissions: u64,
    /// Requests for missing frames: SREJ and REJ.
    pub rejects: u64,
    /// Polls after T1.
    pub polls: u64,
    /// Blocks that were no frame: damaged, or with a value that no sender writes.
    pub damaged: u64,
    /// Resets of the connection.
    pub resets: u64,
}

/// An entity of RLP, version 0.
///
/// It has one clock: the caller asks for a frame in each slot of 20 ms and passes on the blocks
/// that arrive. Characters travel by L2RCOP, 24 to a frame.
#[derive(Clone, Debug)]
pub struct RlpLink {
    /// The parameters before any negotiation.
    offered: RlpConfig,
    config: RlpConfig,
    state: State,
    /// It answers a peer that connects.
    listens: bool,
    command: Command,
    /// The XID that was sent last has met one of the peer: neither is answered.
    collided: bool,
    /// The poll that is not answered.
    poll: Option<Command>,
    responses: VecDeque<RlpFrame>,
    transmit: TransmitWindow,
    receive: ReceiveWindow,
    /// The start of T1, while a frame is not acknowledged.
    t1_start: Option<Instant>,
    /// The moment since which an acknowledgement waits.
    unsent_ack: Option<Instant>,
    /// The peer asked for a response with F.
    owes_final: bool,
    /// The peer has sent RNR.
    peer_busy: bool,
    /// The peer has asked for a pause by the X of its status.
    peer_paused: bool,
    outgoing: VecDeque<u8>,
    incoming: Vec<u8>,
    /// The peer was told to pause.
    told_busy: bool,
    events: VecDeque<RlpEvent>,
    counts: RlpCounts,
}

impl RlpLink {
    /// An entity without a connection that answers a peer which connects.
    #[must_use]
    pub fn new(config: RlpConfig) -> Self {
        let (ours, theirs) = config.windows();
        Self {
            offered: config,
            config,
            state: State::Detached,
            listens: true,
            command: Command::NEW,
            collided: false,
            poll: None,
            responses: VecDeque::new(),
            transmit: TransmitWindow::new(ours),
            receive: ReceiveWindow::new(config.reject, theirs),
            t1_start: None,
            unsent_ack: None,
            owes_final: false,
            peer_busy: false,
            peer_paused: false,
            outgoing: VecDeque::new(),
            incoming: Vec::new(),
            told_busy: false,
            events: VecDeque::new(),
            counts: RlpCounts::default(),
        }
    }

    /// Begins to connect, unless the link is up or on its way there.
    pub fn connect(&mut self) {
        if self.state == State::Detached {
            self.listens = true;
            self.config = self.offered;
            let negotiate = self.config.negotiate;
            self.start(if negotiate { State::Negotiating } else { State::Connecting });
        }
    }

    /// Begins to disconnect; from then on a peer that connects is refused.
    pub fn disconnect(&mut self) {
        self.listens = false;
        match self.state {
            State::Detached | State::Disconnecting => {}
            State::Negotiating => self.go_down(RlpDown::ByUs),
            State::Connecting | State::Connected | State::Resetting => {
                self.start(State::Disconnecting);
            }
        }
    }

    /// Returns `true` while characters can be sent and received.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.state == State::Connected
    }

    /// The parameters in force.
    #[must_use]
    pub fn config(&self) -> &RlpConfig {
        &self.config
    }

    /// The counts so far.
    #[must_use]
    pub fn counts(&self) -> RlpCounts {
        self.counts
    }

    /// Takes characters to send; returns the number that found room.
    pub fn write(&mut self, characters: &[u8]) -> usize {
        let room = self.config.buffer.saturating_sub(self.outgoing.len());
        let taken = &characters[..characters.len().min(room)];
        self.outgoing.extend(taken);
        taken.len()
    }

    /// Characters that wait to be sent for the first time.
    #[must_use]
    pub fn unsent(&self) -> usize {
        self.outgoing.len()
    }

    /// Characters that the peer has not acknowledged, those that wait for their first sending
    /// included.
    #[must_use]
    pub fn unacknowledged(&self) -> usize {
        self.outgoing.len() + self.transmit.infos().map(characters_in).sum::<usize>()
    }

    /// V(R): the number of the next frame in order from the peer.
    #[must_use]
    pub fn expected(&self) -> u8 {
        self.receive.next()
    }

    /// Gives the characters that have arrived.
    pub fn read(&mut self) -> Vec<u8> {
        core::mem::take(&mut self.incoming)
    }

    /// Yields the next event; call until `None`.
    pub fn poll_event(&mut self) -> Option<RlpEvent> {
        self.events.pop_front()
    }

    /// The frame for the slot that begins `now`.
    pub fn next_frame(&mut self, now: Instant) -> [u8; RLP_FRAME_LEN] {
        self.give_up(now);
        let frame = self
            .responses
            .pop_front()
            .or_else(|| self.due_command(now))
            .or_else(|| if self.is_up() { self.data_frame(now) } else { None });
        frame.unwrap_or_else(|| unnumbered(Unnumbered::Null, false, false, NO_INFO)).encode()
    }

    /// Takes a block that arrived; one that is no frame is counted and forgotten.
    ///
    /// # Errors
    /// Why the block is no frame.
    pub fn handle_frame(&mut self, now: Instant, block: &[u8]) -> Result<(), RlpError> {
        let frame = RlpFrame::parse(block).inspect_err(|_| self.counts.damaged += 1)?;
        match frame.control {
            RlpControl::Unnumbered(kind) => self.handle_unnumbered(kind, &frame),
            RlpControl::Supervisory { function, nr } if self.is_up() => {
                self.handle_supervisory(now, function, nr, &frame);
            }
            RlpControl::Information { function, ns, nr } if self.is_up() => {
                self.handle_supervisory(now, function, nr, &frame);
                self.handle_information(now, ns, frame.info);
            }
            RlpControl::Supervisory { .. } | RlpControl::Information { .. } => {
                // The peer believes in a connection that is not there.
                if self.state == State::Detached && frame.command && frame.poll_final {
                    self.respond(Unnumbered::Dm, true, NO_INFO);
                }
            }
        }
        Ok(())
    }

    fn start(&mut self, state: State) {
        self.state = state;
        self.command = Command::NEW;
    }

    fn go_down(&mut self, reason: RlpDown) {
        self.state = State::Detached;
        self.outgoing.clear();
        self.clear();
        self.events.push_back(RlpEvent::Down(reason));
    }

    /// Forgets all frames and timers of a connection.
    fn clear(&mut self) {
        let (ours, theirs) = self.config.windows();
        self.transmit = TransmitWindow::new(ours);
        self.receive = ReceiveWindow::new(self.config.reject, theirs);
        (self.poll, self.t1_start, self.unsent_ack) = (None, None, None);
        (self.owes_final, self.told_busy) = (false, false);
        (self.peer_busy, self.peer_paused) = (false, false);
    }

    fn reset(&mut self) {
        self.counts.resets += 1;
        self.events.push_back(RlpEvent::Reset { unacknowledged: self.transmit.len() });
        self.clear();
    }

    fn go_up(&mut self) {
        match self.state {
            State::Resetting => self.reset(),
            _ => {
                self.clear();
                self.events.push_back(RlpEvent::Up);
            }
        }
        self.state = State::Connected;
    }

    /// Ends a procedure that was tried N2 times.
    fn give_up(&mut self, now: Instant) {
        let t1 = self.config.t1;
        let n2 = self.config.n2;
        let spent =
            |command: &Command, period| command.attempts > n2 && command.is_due(now, period);
        match self.state {
            State::Detached => {}
            //= S1.18
            State::Negotiating if spent(&self.command, self.config.xid_period()) => {
                self.go_down(RlpDown::NoXidAnswer);
            }
            State::Connecting | State::Resetting if spent(&self.command, t1) => {
                self.go_down(RlpDown::NoAnswer);
            }
            State::Disconnecting if spent(&self.command, t1) => self.go_down(RlpDown::ByUs),
            //= S1.16
            State::Connected
                if self.transmit.is_exhausted(n2)
                    || self.receive.is_exhausted(now, t1, n2)
                    || self.poll.as_ref().is_some_and(|poll| spent(poll, t1)) =>
            {
                self.start(State::Resetting);
            }
            _ => {}
        }
    }

    /// The command of the state, if it is due.
    fn due_command(&mut self, now: Instant) -> Option<RlpFrame> {
        let (kind, period, info) = match self.state {
            State::Detached | State::Connected => return None,
            State::Negotiating => {
                let info = xid::parameters(&self.config).encode();
                (Unnumbered::Xid, self.config.xid_period(), info)
            }
            State::Connecting | State::Resetting => (Unnumbered::Sabm, self.config.t1, NO_INFO),
            State::Disconnecting => (Unnumbered::Disc, self.config.t1, NO_INFO),
        };
        if !self.command.is_due(now, period) {
            return None;
        }
        self.command.note_sent(now);
        self.collided = false;
        Some(unnumbered(kind, true, true, info))
    }

    /// The frame of a connection: a final, a poll, data, or an acknowledgement; `None` if nothing
    /// has to be sent.
    fn data_frame(&mut self, now: Instant) -> Option<RlpFrame> {
        if core::mem::take(&mut self.owes_final) {
            let function = self.acknowledgement();
            return Some(self.supervisory(function, self.receive.next(), false, true));
        }
        //= S1.17
        let t1 = self.config.t1;
        let has_expired = |start: Instant| now.saturating_since(start) >= t1;
        if self.poll.is_none() && self.t1_start.is_some_and(has_expired) {
            self.poll = Some(Command::NEW);
        }
        if let Some(poll) = self.poll.as_mut().filter(|poll| poll.is_due(now, t1)) {
            poll.note_sent(now);
            self.counts.polls += 1;
            let function = self.acknowledgement();
            return Some(self.supervisory(function, self.receive.next(), true, true));
        }
        let data = self.next_information(now);
        let request = self.receive.request(now, t1);
        self.counts.rejects += u64::from(request.is_some());
        if data.is_none() && request.is_none() && !self.must_acknowledge(now) {
            return None;
        }
        let (function, nr) =
            request.unwrap_or_else(|| (self.acknowledgement(), self.receive.next()));
        Some(match data {
            Some((ns, info)) => {
                let control = RlpControl::Information { function, ns, nr };
                RlpFrame { command: true, poll_final: false, control, info }
            }
            None => self.supervisory(function, nr, true, false),
        })
    }

    fn supervisory(&self, function: Supervisory, nr: u8, command: bool, pf: bool) -> RlpFrame {
        let control = RlpControl::Supervisory { function, nr };
        RlpFrame { command, poll_final: pf, control, info: NO_INFO }
    }

    /// RR or RNR, of which note is taken as sent.
    fn acknowledgement(&mut self) -> Supervisory {
        self.unsent_ack = None;
        self.told_busy = self.is_busy();
        if self.told_busy { Supervisory::Rnr } else { Supervisory::Rr }
    }

    fn is_busy(&self) -> bool {
        self.incoming.len() >= self.config.buffer
    }

    /// Returns `true` if an acknowledgement has waited for T2, or the peer must learn that it may
    /// go on.
    fn must_acknowledge(&self, now: Instant) -> bool {
        let has_waited = |since: Instant| now.saturating_since(since) >= self.config.t2;
        self.unsent_ack.is_some_and(has_waited) || self.told_busy != self.is_busy()
    }

    /// The next frame of data, unless a poll waits for its answer or the peer has to be spared.
    fn next_information(&mut self, now: Instant) -> Option<(u8, RlpInfo)> {
        if self.poll.is_some() {
            return None;
        }
        let before = self.transmit.len();
        if self.peer_busy && !self.outgoing.is_empty() {
            // Its report that it is ready again may be lost: T1 makes sure that it is asked.
            self.t1_start.get_or_insert(now);
        }
        let may_send = !self.peer_busy && !self.peer_paused;
        let outgoing = &mut self.outgoing;
        let next = self.transmit.next(|| if may_send { pack(outgoing) } else { None })?;
        self.counts.information += 1;
        self.counts.retransmissions += u64::from(self.transmit.len() == before);
        self.t1_start.get_or_insert(now);
        Some(next)
    }

    fn handle_unnumbered(&mut self, kind: Unnumbered, frame: &RlpFrame) {
        match (kind, frame.command) {
            (Unnumbered::Xid, true) => self.handle_xid_command(&frame.info),
            (Unnumbered::Xid, false) if self.state == State::Negotiating => {
                xid::agree(&mut self.config, &XidParameters::parse(&frame.info));
                self.events.push_back(RlpEvent::Negotiated);
                self.start(State::Connecting);
            }
            (Unnumbered::Sabm, true) => self.handle_sabm(),
            (Unnumbered::Ua, false) => match self.state {
                State::Connecting | State::Resetting => self.go_up(),
                State::Disconnecting => self.go_down(RlpDown::ByUs),
                _ => {}
            },
            (Unnumbered::Dm, false) => match self.state {
                State::Connecting if frame.poll_final => self.go_down(RlpDown::Refused),
                State::Connected | State::Resetting => self.go_down(RlpDown::ByPeer),
                State::Disconnecting => self.go_down(RlpDown::ByUs),
                _ => {}
            },
            (Unnumbered::Disc, true) if self.state == State::Detached => {
                self.respond(Unnumbered::Dm, frame.poll_final, NO_INFO);
            }
            (Unnumbered::Disc, true) => {
                self.respond(Unnumbered::Ua, frame.poll_final, NO_INFO);
                let is_ours = self.state == State::Disconnecting;
                self.go_down(if is_ours { RlpDown::ByUs } else { RlpDown::ByPeer });
            }
            (Unnumbered::Test, true) => {
                self.respond(Unnumbered::Test, frame.poll_final, frame.info);
            }
            // UI, NULL, REMAP and responses to nothing ask for no answer.
            _ => {}
        }
    }

    //= S1.19
    /// Answers an XID; two commands that meet are both ignored, and the mobile station tries again
    /// first.
    fn handle_xid_command(&mut self, info: &RlpInfo) {
        if self.state == State::Negotiating && !core::mem::replace(&mut self.collided, true) {
            self.events.push_back(RlpEvent::XidCollision);
            return;
        }
        if !self.listens {
            return self.respond(Unnumbered::Dm, true, NO_INFO);
        }
        if self.state == State::Detached {
            self.config = self.offered;
        }
        xid::agree(&mut self.config, &XidParameters::parse(info));
        let answer = xid::parameters(&self.config).encode();
        self.respond(Unnumbered::Xid, true, answer);
        self.events.push_back(RlpEvent::Negotiated);
        if self.state == State::Negotiating {
            self.start(State::Connecting);
        }
    }

    fn handle_sabm(&mut self) {
        match self.state {
            State::Detached if !self.listens => self.respond(Unnumbered::Dm, true, NO_INFO),
            State::Disconnecting => self.respond(Unnumbered::Dm, true, NO_INFO),
            // The answer to the peer's own SABM brings this entity up.
            State::Connecting | State::Resetting => self.respond(Unnumbered::Ua, true, NO_INFO),
            State::Connected => {
                // Before anything was exchanged it only says that our UA was lost.
                if self.receive.next() != 0 || !self.transmit.is_fresh() {
                    self.reset();
                }
                self.respond(Unnumbered::Ua, true, NO_INFO);
            }
            State::Detached | State::Negotiating => {
                self.respond(Unnumbered::Ua, true, NO_INFO);
                self.go_up();
            }
        }
    }

    fn respond(&mut self, kind: Unnumbered, pf: bool, info: RlpInfo) {
        if self.responses.len() < MAX_RESPONSES {
            self.responses.push_back(unnumbered(kind, false, pf, info));
        }
    }

    fn handle_supervisory(
        &mut self,
        now: Instant,
        function: Supervisory,
        nr: u8,
        frame: &RlpFrame,
    ) {
        self.owes_final |= frame.command && frame.poll_final;
        if function == Supervisory::Srej {
            return self.transmit.reject_one(nr);
        }
        let Some(progress) = self.transmit.acknowledge(nr) else { return };
        self.peer_busy = function == Supervisory::Rnr;
        if !frame.command && frame.poll_final && self.poll.take().is_some() {
            //= S1.17
            self.transmit.reject_all();
            self.restart_t1(now);
        } else if progress {
            self.restart_t1(now);
        }
        if function == Supervisory::Rej {
            self.transmit.reject_all();
        }
    }

    /// T1 runs while a frame is not acknowledged.
    fn restart_t1(&mut self, now: Instant) {
        self.t1_start = (self.transmit.len() > 0).then_some(now);
    }

    fn handle_information(&mut self, now: Instant, ns: u8, info: RlpInfo) {
        let incoming = &mut self.incoming;
        let paused = &mut self.peer_paused;
        self.receive.take(ns, info, |info| {
            // A field that no sender writes came through the check; nothing in it can be trusted.
            if let Some(content) = l2r::parse_characters(info) {
                incoming.extend_from_slice(&content.characters);
                *paused = content.status.x;
            }
        });
        self.unsent_ack.get_or_insert(now);
    }
}

/// The number of characters in an information field.
fn characters_in(info: &RlpInfo) -> usize {
    l2r::parse_characters(info).map_or(0, |content| content.characters.len())
}

//= S1.14
/// Packs characters into an information field; `None` if there are none.
fn pack(outgoing: &mut VecDeque<u8>) -> Option<RlpInfo> {
    let count = outgoing.len().min(L2R_CHARACTERS);
    if count == 0 {
        return None;
    }
    let mut characters = [0; L2R_CHARACTERS];
    outgoing.drain(..count).zip(&mut characters).for_each(|(from, to)| *to = from);
    Some(l2r::encode_characters(L2rStatus::default(), &characters[..count]))
}

fn unnumbered(kind: Unnumbered, command: bool, poll_final: bool, info: RlpInfo) -> RlpFrame {
    RlpFrame { command, poll_final, control: RlpControl::Unnumbered(kind), info }
}
