//! The coordinator, which polls the stations.

use std::collections::VecDeque;

use windfall_base::{DropReason, Duration, Frame, Input, Instant, Outgoing, Rate};
use windfall_wire_link::wavelan::{Address, Feedback, Head, Kind};

use super::{WavelanTiming, ack_len, split_head, with_head};
use crate::client::Client;

/// The number of polls without a unit that a station gets after it sent or received a unit.
const EAGER: u8 = 2;
/// The number of turns for which a station counts as active after it sent a unit.
const TALKATIVE: u8 = 16;
/// The timeout for the end of a frame, after its beginning was sensed.
const LONGEST_FRAME: Duration = Duration::from_secs(2);

/// The polling of stations without units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Idle {
    /// The first interval between polls; each following one is twice as long.
    pub shortest: Duration,
    /// The longest interval: the maximum delay of a station's first packet on an idle medium.
    pub longest: Duration,
    /// The minimum interval while other stations have units, which limits the air time of polls.
    pub while_busy: Duration,
}

impl Default for Idle {
    fn default() -> Self {
        Self {
            shortest: Duration::from_micros(500),
            longest: Duration::from_millis(4),
            while_busy: Duration::from_millis(60),
        }
    }
}

impl Idle {
    //= S3.33
    /// Returns the maximum share of the air time that polls of `silent` stations take while others
    /// have units. Each unit takes `unit` with its ACK.
    #[must_use]
    pub fn share_of_polls(
        &self,
        silent: usize,
        timing: &WavelanTiming,
        rate: Rate,
        unit: Duration,
    ) -> f64 {
        let polls = timing.empty_poll(rate).as_secs_f64() * silent as f64;
        // Each silent station is polled once in `while_busy`. If this is too short for all
        // stations, one is polled after every unit.
        polls / self.while_busy.as_secs_f64().max(polls + unit.as_secs_f64())
    }
}

#[derive(Debug)]
struct Peer {
    address: Address,
    /// When the station is polled next if no station has a unit.
    poll_at: Instant,
    pause: Duration,
    last_polled: Option<Instant>,
    /// The number of polls that the station still gets because it has just sent or received a unit.
    eager: u8,
    /// The number of turns for which the station still counts as active.
    talkative: u8,
    /// The poll of its last turn carried a unit, and no response came.
    was_silent: bool,
}

/// A poll and its response.
#[derive(Clone, Copy, Debug)]
struct Turn {
    peer: usize,
    /// The poll carried a unit that has not been acknowledged yet.
    unit_open: bool,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    Idle,
    /// The coordinator transmits the frames of its turn.
    Speaking(Turn),
    /// The coordinator waits for the response.
    Listening {
        turn: Turn,
        /// A carrier is sensed.
        heard: bool,
        /// The timeout of the response.
        until: Instant,
    },
}

/// Polls its stations in turn and exchanges units with them.
#[derive(Debug)]
pub struct Coordinator {
    address: Address,
    timing: WavelanTiming,
    idle: Idle,
    peers: Vec<Peer>,
    /// The index of the station that is considered next.
    cursor: usize,
    phase: Phase,
    /// The frames of the coordinator's turn.
    speech: VecDeque<Frame>,
    /// A frame of the coordinator is on the medium.
    sending: bool,
}

impl Coordinator {
    /// Creates a coordinator of the stations `peers`. It begins to poll after the longest interval.
    #[must_use]
    pub fn new(address: Address, peers: &[Address], timing: WavelanTiming, idle: Idle) -> Self {
        let peer = |&address| Peer {
            address,
            poll_at: Instant::START + idle.longest.max(Duration::from_nanos(1)),
            pause: idle.longest,
            last_polled: None,
            eager: 0,
            talkative: 0,
            was_silent: false,
        };
        Self {
            address,
            timing,
            idle,
            peers: peers.iter().map(peer).collect(),
            cursor: 0,
            phase: Phase::Idle,
            speech: VecDeque::new(),
            sending: false,
        }
    }

    /// Takes a frame or a signal of the medium.
    pub fn handle_input(&mut self, now: Instant, input: Input, client: &mut impl Client) {
        match input {
            Input::Frame(frame, _) => self.take(now, frame, client),
            Input::TransmissionDone => self.finish_frame(now),
            Input::CarrierBusy => {
                if let Phase::Listening { heard, until, .. } = &mut self.phase {
                    (*heard, *until) = (true, now + LONGEST_FRAME);
                }
            }
            Input::CarrierIdle => {
                // The frame could not be read. Another frame may follow at once.
                if let Phase::Listening { turn, heard: true, .. } = self.phase {
                    self.listen(now, turn);
                }
            }
            Input::ReceptionFailed(_) | Input::Overheard(_) | Input::CarrierPassed(_) => {}
        }
    }

    /// Notes that the client has a unit.
    pub fn handle_queued(&mut self, now: Instant, client: &mut impl Client) {
        if matches!(self.phase, Phase::Idle) {
            self.begin(now, None, client);
        }
    }

    /// Polls the station that is due, or ends the wait for a response. A spurious call changes
    /// nothing.
    pub fn handle_timeout(&mut self, now: Instant, client: &mut impl Client) {
        if self.poll_timeout().is_none_or(|(due, _)| due > now) {
            return;
        }
        match self.phase {
            Phase::Idle => self.begin(now, None, client),
            Phase::Listening { turn, .. } => self.end(now, turn, None, client),
            Phase::Speaking(_) => {}
        }
    }

    /// Yields the next frame of the turn after the previous one has been sent.
    pub fn poll_transmit(&mut self) -> Option<Outgoing> {
        if self.sending {
            return None;
        }
        let frame = self.speech.pop_front()?;
        self.sending = true;
        Some(self.timing.outgoing(frame))
    }

    /// Returns when to call `handle_timeout` next, and why.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        match self.phase {
            Phase::Idle => {
                let due = self.peers.iter().map(|peer| peer.poll_at).min()?;
                Some((due, "poll of an idle station"))
            }
            Phase::Speaking(_) => None,
            Phase::Listening { until, .. } => Some((until, "no answer to a poll")),
        }
    }

    fn finish_frame(&mut self, now: Instant) {
        self.sending = false;
        if let Phase::Speaking(turn) = self.phase
            && self.speech.is_empty()
        {
            self.listen(now, turn);
        }
    }

    /// Waits for the response of the station, which must begin within the timeout.
    fn listen(&mut self, now: Instant, turn: Turn) {
        let until = now + self.timing.patience.max(Duration::from_nanos(1));
        self.phase = Phase::Listening { turn, heard: false, until };
    }

    fn take(&mut self, now: Instant, mut frame: Frame, client: &mut impl Client) {
        let head = match split_head(&mut frame) {
            Ok(head) => head,
            Err(reason) => return client.on_useless(now, frame, reason),
        };
        let Phase::Listening { mut turn, .. } = self.phase else {
            return unasked(now, &head, frame, self.address, client);
        };
        let peer = self.peers[turn.peer].address;
        if head.to != self.address || head.from != peer || head.kind == Kind::Poll {
            return unasked(now, &head, frame, self.address, client);
        }
        if let Some((_, feedback)) = head.ack.as_ref().filter(|(to, _)| *to == self.address)
            && core::mem::take(&mut turn.unit_open)
        {
            self.peers[turn.peer].was_silent = false;
            client.on_outcome(now, peer, Some(feedback));
        }
        if head.more {
            if head.unit {
                unasked(now, &head, frame, self.address, client);
            }
            return self.listen(now, turn);
        }
        let ack = if head.unit {
            let state = &mut self.peers[turn.peer];
            (state.eager, state.talkative) = (EAGER, TALKATIVE);
            client.on_unit(now, peer, frame).map(|feedback| (peer, feedback))
        } else {
            None
        };
        self.end(now, turn, ack, client);
    }

    /// Ends a turn and begins the next one; `ack` acknowledges the unit received in this turn.
    fn end(
        &mut self,
        now: Instant,
        turn: Turn,
        ack: Option<(Address, Feedback)>,
        client: &mut impl Client,
    ) {
        if turn.unit_open {
            let peer = &mut self.peers[turn.peer];
            peer.was_silent = true;
            client.on_outcome(now, peer.address, None);
        }
        self.begin(now, ack, client);
    }

    /// Begins the next turn, if a poll is due.
    fn begin(
        &mut self,
        now: Instant,
        mut ack: Option<(Address, Feedback)>,
        client: &mut impl Client,
    ) {
        let Some(index) = self.next_peer(now, client) else {
            if ack.is_some() {
                // No station is polled, so the ACK is sent separately, and no response follows.
                let head = self.head(Kind::Ack, Address(0), false, ack);
                self.speech.push_back(with_head(&head, None));
            }
            self.phase = Phase::Idle;
            return;
        };
        self.cursor = index + 1;
        let peer = &mut self.peers[index];
        // A lost unit also lost its poll. An active station is now polled without a unit, so that
        // its own units are not delayed.
        let null = core::mem::take(&mut peer.was_silent) && peer.talkative > 0;
        let ahead = ack.as_ref().map_or(0, |(_, feedback)| ack_len(feedback));
        let unit = if null { None } else { client.on_opportunity(now, peer.address, ahead) };
        peer.last_polled = Some(now);
        peer.talkative = peer.talkative.saturating_sub(1);
        if unit.is_some() {
            peer.eager = EAGER;
            peer.pause = Duration::ZERO;
        } else if peer.eager > 0 {
            peer.eager -= 1;
            peer.pause = Duration::ZERO;
        } else {
            let longer = (peer.pause * 2).max(self.idle.shortest);
            peer.pause = longer.min(self.idle.longest);
        }
        let least = Duration::from_nanos(1);
        peer.poll_at = now + peer.pause.max(least);
        let to = peer.address;
        if unit.is_some() && ack.is_some() {
            let head = Head { more: true, ..self.head(Kind::Ack, to, false, ack.take()) };
            self.speech.push_back(with_head(&head, None));
        }
        let head = self.head(Kind::Poll, to, unit.is_some(), ack);
        self.phase = Phase::Speaking(Turn { peer: index, unit_open: unit.is_some() });
        self.speech.push_back(with_head(&head, unit));
    }

    /// Chooses the next station: stations with work in round robin, the others at their own
    /// intervals.
    ///
    /// If the client prefers another peer for its next unit, a peer with pending units is polled
    /// only at long intervals: its poll will come with its next unit.
    fn next_peer(&self, now: Instant, client: &mut impl Client) -> Option<usize> {
        let preferred = client.preferred();
        let has_work = |peer: &Peer| {
            let has_unit = client.has_unit(peer.address);
            match preferred {
                Some(address) if address == peer.address => true,
                Some(_) if has_unit => peer.eager > 0 && self.has_rested(peer, now),
                _ => has_unit || peer.eager > 0,
            }
        };
        let busy = self.peers.iter().any(has_work);
        let is_due = |peer: &Peer| {
            has_work(peer) || (peer.poll_at <= now && (self.has_rested(peer, now) || !busy))
        };
        let count = self.peers.len();
        (0..count).map(|n| (self.cursor + n) % count).find(|&index| is_due(&self.peers[index]))
    }

    fn has_rested(&self, peer: &Peer, now: Instant) -> bool {
        peer.last_polled.is_none_or(|last| now >= last + self.idle.while_busy)
    }

    fn head(&self, kind: Kind, to: Address, unit: bool, ack: Option<(Address, Feedback)>) -> Head {
        // An ACK frame without a poll is addressed to the station that it acknowledges.
        let to = match (&ack, kind) {
            (Some((station, _)), Kind::Ack) => *station,
            _ => to,
        };
        Head { kind, to, from: self.address, unit, more: false, ack }
    }
}

/// Handles an unexpected frame: reports it if it carries a unit.
fn unasked(now: Instant, head: &Head, frame: Frame, own: Address, client: &mut impl Client) {
    if head.unit {
        let ours = head.to == own;
        let reason = if ours { DropReason::Malformed } else { DropReason::NotForUs };
        client.on_useless(now, frame, reason);
    }
}
