//! One connection: what its application asks of it, and what it knows.
//!
//! `transmit` chooses and builds the next datagram, `arrive` takes one, `timers` says what happens
//! when nothing does.

use std::collections::{BTreeMap, VecDeque};

use core::net::SocketAddr;

use bytes::Bytes;
use windfall_base::{Duration, Instant};
use windfall_wire_net::sap::{HEADER_LEN, Reason, SapData, SapPing, SapRepair};

use crate::config::{Profile, SapConfig};
use crate::congestion::Congestion;
use crate::encode::{Encoded, complement, encode, overhead, spans};
use crate::error::{CloseReason, SapSendError};
use crate::event::{SapEvent, Undelivered};
use crate::handshake::Asking;
use crate::message::{Integrity, Message, MessageKind, Mode, Received};
use crate::numbers::Numbers;
use crate::order::Order;
use crate::pacer::Pacer;
use crate::path::PathSize;
use crate::rtt::Rtt;
use crate::seal::{Seal, SharedKey, TAG_LEN};
use crate::sent::Sent;

mod arrive;
mod timers;
mod transmit;

/// Where a connection stands.
#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    /// The ping has no answer yet.
    Connecting(Connecting),
    /// Messages may travel.
    Open,
    /// It has ended.
    Closed,
}

/// A ping that waits for its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Connecting {
    ping: SapPing,
    /// When to send it, and how long to wait for the answer after that.
    due: Instant,
    wait: Duration,
    deadline: Instant,
}

/// How far one direction is from its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// Nobody asked for it.
    Open,
    /// It ends when everything before is acknowledged.
    Wanted,
    /// The end was announced.
    Announced,
    /// The other end knows.
    Known,
}

/// What is on its way out.
#[derive(Clone, Debug, Default)]
struct Outbox {
    /// Precise messages and repairs that are not acknowledged, by name.
    precise: BTreeMap<u64, Encoded>,
    /// Those of them that were never sent, and those that were lost.
    new: VecDeque<u64>,
    again: VecDeque<u64>,
    /// Approximate messages that were never sent.
    approximate: VecDeque<Encoded>,
    /// Requests for repair that are not acknowledged, and those that are to be sent.
    requests: BTreeMap<u64, SapRepair>,
    requests_due: VecDeque<u64>,
    /// The next name.
    name: u64,
    /// Bytes of everything above.
    bytes: usize,
    /// Bytes of precise messages on their way, and their number.
    flying: (usize, usize),
    /// The next numbers of each stream: of precise and of approximate messages.
    numbers: BTreeMap<u16, (u32, u32)>,
    /// Approximate messages sent, in all.
    approximates: u32,
    /// Somebody was told that the buffer is full.
    was_full: bool,
    /// Whether the last message was approximate: the kinds take turns.
    turn: bool,
    /// Sent approximate messages that may be asked for again, and their bytes.
    memory: VecDeque<(u16, u32, Bytes)>,
    remembered: usize,
}

/// What has arrived and waits for the application.
#[derive(Clone, Debug, Default)]
struct Inbox {
    ready: VecDeque<Received>,
    orders: BTreeMap<u16, Order>,
    /// Bytes of everything that waits.
    bytes: usize,
    /// How many may wait.
    limit: usize,
    /// How many the endpoint has counted.
    counted: usize,
    /// What the other end was told last of the room.
    told_room: usize,
}

/// When the other end must hear of what arrived.
#[derive(Clone, Copy, Debug, Default)]
struct AckState {
    due: Option<Instant>,
    /// Precise packets that wait for their acknowledgement, and approximate ones for their report.
    precise: u32,
    approximate: u32,
    /// Bytes of those precise packets.
    bytes: usize,
    /// Approximate packets in all.
    total: u32,
}

/// One connection.
#[derive(Debug)]
pub(crate) struct Connection {
    config: SapConfig,
    peer: SocketAddr,
    peer_id: u32,
    state: State,
    /// The keys, if the two ends share one.
    seal: Option<Box<Seal>>,
    /// What waits for the answer that brings the keys.
    asking: Option<Asking>,
    /// Bytes that each datagram has around the body.
    around: usize,
    sent: Sent,
    seen: Numbers,
    outbox: Outbox,
    inbox: Inbox,
    ack: AckState,
    rtt: Rtt,
    congestion: Congestion,
    pacer: Pacer,
    path: PathSize,
    /// Bytes for which the other end has room.
    peer_room: usize,
    sending: Ending,
    /// Whether the other end has finished.
    peer_finished: bool,
    /// When the next packet is lost for sure.
    loss_at: Option<Instant>,
    /// Timeouts in a row.
    timeouts: u32,
    /// Packets that may go out whatever the window says, after a timeout.
    spare: u32,
    /// The pacer's next moment.
    pace_at: Option<Instant>,
    probe_due: bool,
    heard_at: Instant,
    asked_at: Instant,
    /// When it ends, whatever happens.
    deadline: Option<Instant>,
    /// When something last went out for the first time or was acknowledged.
    progress_at: Instant,
    /// What was not delivered when it ended.
    left: Undelivered,
    reset: Option<Reason>,
    /// The application needs it no more.
    released: bool,
    events: VecDeque<SapEvent>,
}

impl Connection {
    fn new(now: Instant, config: SapConfig, peer: SocketAddr, state: State) -> Self {
        Self {
            config,
            peer,
            peer_id: 0,
            state,
            seal: None,
            asking: None,
            around: HEADER_LEN,
            sent: Sent::default(),
            seen: Numbers::default(),
            outbox: Outbox::default(),
            inbox: Inbox {
                told_room: config.receive_buffer,
                limit: config.receive_buffer,
                ..Inbox::default()
            },
            ack: AckState::default(),
            rtt: Rtt::default(),
            congestion: Congestion::new(config.base_datagram),
            pacer: Pacer::default(),
            path: PathSize::new(config.base_datagram, config.max_datagram),
            peer_room: config.base_datagram * 16,
            sending: Ending::Open,
            peer_finished: false,
            loss_at: None,
            timeouts: 0,
            spare: 0,
            pace_at: None,
            probe_due: false,
            heard_at: now,
            asked_at: now,
            deadline: None,
            progress_at: now,
            left: Undelivered::default(),
            reset: None,
            released: false,
            events: VecDeque::new(),
        }
    }

    //= S0.18
    /// A connection that asks `peer` for itself; with a shared key, and fresh random bytes, for
    /// one that is sealed.
    pub(crate) fn connect(
        now: Instant,
        config: SapConfig,
        id: u32,
        peer: SocketAddr,
        key: Option<(SharedKey, [u8; 32])>,
    ) -> Self {
        let max_datagram = config.max_datagram as u16;
        let mut ping = SapPing { connection: id, max_datagram, ..SapPing::default() };
        let begun = key.and_then(|(key, fresh)| Asking::begin(&key, fresh, (id, max_datagram)));
        let asking = begun.map(|(asking, handshake)| {
            ping.handshake = handshake;
            asking
        });
        let deadline = now + config.connect_timeout;
        let connecting = Connecting { ping, due: now, wait: config.initial_timeout, deadline };
        let mut connection = Self::new(now, config, peer, State::Connecting(connecting));
        connection.around += asking.as_ref().map_or(0, |_| TAG_LEN);
        connection.asking = asking;
        connection
    }

    /// A connection that was asked for by a ping of `peer`, whose accept was packet 0.
    pub(crate) fn accept(
        now: Instant,
        config: SapConfig,
        peer: SocketAddr,
        ping: (u32, u16),
        seal: Option<Box<Seal>>,
    ) -> Self {
        let mut connection = Self::new(now, config, peer, State::Open);
        connection.around += seal.as_ref().map_or(0, |_| TAG_LEN);
        connection.seal = seal;
        connection.sent.push(now, None);
        connection.open(now, ping.0, ping.1);
        connection
    }

    /// The other end is there: what was learned of it, and the search for the path's size.
    fn open(&mut self, now: Instant, peer_id: u32, max_datagram: u16) {
        self.peer_id = peer_id;
        let most = self.config.max_datagram.min(usize::from(max_datagram));
        self.path = PathSize::new(self.config.base_datagram, most);
        if self.config.path_discovery {
            self.path.search(now);
        }
        (self.heard_at, self.asked_at) = (now, now);
    }

    /// The address of the other end.
    pub(crate) fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// The connection id of the other end.
    pub(crate) fn peer_id(&self) -> u32 {
        self.peer_id
    }

    /// Whether it stands.
    pub(crate) fn is_open(&self) -> bool {
        self.state == State::Open
    }

    /// Whether it has ended and nobody needs it.
    pub(crate) fn is_gone(&self) -> bool {
        self.state == State::Closed && self.released && self.reset.is_none()
    }

    /// Whether something waits for the application.
    pub(crate) fn is_readable(&self) -> bool {
        !self.inbox.ready.is_empty()
    }

    /// Whether a message of the usual size would find room.
    pub(crate) fn is_writable(&self) -> bool {
        self.state != State::Closed && self.outbox.bytes < self.config.send_buffer
    }

    /// The smoothed round trip, once it is measured.
    pub(crate) fn round_trip(&self) -> Option<Duration> {
        self.rtt.smoothed()
    }

    /// Whether everything precise that was sent is acknowledged, and everything else sent.
    pub(crate) fn is_flushed(&self) -> bool {
        self.outbox.precise.is_empty() && self.outbox.approximate.is_empty()
    }

    /// Whether the other end knows that this one has finished.
    pub(crate) fn is_finished(&self) -> bool {
        self.sending == Ending::Known || self.state == State::Closed
    }

    /// What the other end has not acknowledged, or has not been sent; what it was when the
    /// connection ended, if it has.
    pub(crate) fn undelivered(&self) -> Undelivered {
        if self.state == State::Closed {
            return self.left;
        }
        let outbox = &self.outbox;
        let waiting = outbox.precise.values().chain(&outbox.approximate);
        waiting.fold(Undelivered::default(), |sum, encoded| Undelivered {
            messages: sum.messages + 1,
            bytes: sum.bytes + (encoded.exact.len() + encoded.rest.len()) as u64,
        })
    }

    /// When a close gives up, unless there is progress before.
    pub(crate) fn gives_up_at(&self) -> Instant {
        self.progress_at + self.patience()
    }

    /// How long a close waits without progress: a round trip may be long.
    fn patience(&self) -> Duration {
        self.config.close_timeout.max(self.timeout() * 3)
    }

    /// The other end has something new, or is about to get it: a close may take longer.
    fn note_progress(&mut self, now: Instant) {
        self.progress_at = now;
        if self.released && self.deadline.is_some() && self.sending != Ending::Known {
            self.deadline = Some(self.gives_up_at());
        }
    }

    /// The longest message that this path carries, in bytes, if it is not in ranges.
    pub(crate) fn max_message(&self) -> usize {
        let room = self.path.size() - self.around;
        room - overhead(room, self.config.block_checks)
    }

    /// Takes a message to send.
    pub(crate) fn send(&mut self, message: &Message) -> Result<(), SapSendError> {
        match (&self.state, self.sending) {
            (State::Closed, _) => return Err(SapSendError::NotOpen),
            (_, Ending::Open) => {}
            _ => return Err(SapSendError::Finished),
        }
        let precise = message.mode == Mode::Precise;
        let numbers = self.outbox.numbers.entry(message.stream).or_default();
        let number = if precise { numbers.0 } else { numbers.1 };
        let encoded = encode(message, number, self.config.block_checks)?;
        if self.around + encoded.len() > self.path.size() {
            let most = self.path.size() - self.around - (encoded.len() - message.data.len());
            return Err(SapSendError::TooLong { len: message.data.len(), most });
        }
        if self.outbox.bytes + encoded.len() > self.config.send_buffer {
            self.outbox.was_full = true;
            return Err(SapSendError::Full);
        }
        self.outbox.bytes += encoded.len();
        if precise {
            numbers.0 = number.wrapping_add(1);
            self.outbox.push_precise(encoded);
        } else {
            numbers.1 = number.wrapping_add(1);
            self.remember(message, number);
            self.outbox.approximate.push_back(encoded);
        }
        Ok(())
    }

    /// Keeps an approximate message for repair.
    fn remember(&mut self, message: &Message, number: u32) {
        let outbox = &mut self.outbox;
        outbox.memory.push_back((message.stream, number, message.data.clone()));
        outbox.remembered += weight(message.data.len());
        while outbox.remembered > self.config.repair_memory
            && let Some((_, _, data)) = outbox.memory.pop_front()
        {
            outbox.remembered -= weight(data.len());
        }
    }

    /// The next message that arrived.
    pub(crate) fn receive(&mut self, now: Instant) -> Option<Received> {
        let received = self.inbox.ready.pop_front()?;
        self.inbox.bytes -= weight(received.data.len());
        // The other end may have stopped for want of room.
        if self.is_open() && self.room() >= self.inbox.told_room + self.inbox.limit / 2 {
            self.ack.due = Some(now);
        }
        Some(received)
    }

    /// Whether the other end must hear something now.
    pub(crate) fn has_news(&self, now: Instant) -> bool {
        self.ack.due.is_some_and(|due| due <= now)
    }

    //= S0.56
    /// Asks for `ranges` of approximate message `number` again.
    pub(crate) fn repair(
        &mut self,
        stream: u16,
        number: u32,
        ranges: &[core::ops::Range<usize>],
    ) -> Result<(), SapSendError> {
        if !self.is_open() {
            return Err(SapSendError::NotOpen);
        }
        let most = windfall_wire_net::sap::data::MAX_SPANS;
        for ranges in ranges.chunks(most) {
            let name = self.outbox.next_name();
            let request = SapRepair(SapData { stream, number, spans: spans(ranges) });
            self.outbox.requests.insert(name, request);
            self.outbox.requests_due.push_back(name);
        }
        Ok(())
    }

    /// Says that nothing more will be sent.
    pub(crate) fn finish(&mut self) {
        if self.sending == Ending::Open {
            self.sending = Ending::Wanted;
        }
    }

    //= S0.19
    /// Ends the connection when everything precise is acknowledged, or when nothing has got on for
    /// the time that a close may take.
    pub(crate) fn close(&mut self, now: Instant) {
        self.released = true;
        self.inbox.ready.clear();
        self.inbox.bytes = 0;
        match self.state {
            State::Open => {
                self.finish();
                self.deadline = Some(now + self.patience());
                self.settle(now);
            }
            State::Connecting(_) => self.state = State::Closed,
            State::Closed => {}
        }
    }

    /// Ends the connection at once.
    pub(crate) fn abort(&mut self, reason: CloseReason) {
        if self.state == State::Closed {
            return;
        }
        if self.state == State::Open {
            self.reset = Some(Reason::Closed);
        }
        self.end(reason);
    }

    fn end(&mut self, reason: CloseReason) {
        self.left = self.undelivered();
        self.state = State::Closed;
        self.outbox = Outbox::default();
        self.sent.clear();
        self.deadline = None;
        self.events.push_back(SapEvent::Closed(reason));
    }

    /// Looks whether both directions have ended.
    fn settle(&mut self, now: Instant) {
        if !self.is_open() || self.sending != Ending::Known {
            return;
        }
        if self.peer_finished {
            // The other end may repeat its last words, and needs an answer then.
            if self.deadline.is_none() || self.released {
                let linger = self.timeout() * 3;
                self.deadline = Some(self.deadline.unwrap_or(now + linger).min(now + linger));
            }
        } else if self.released {
            self.abort(CloseReason::Closed);
        }
    }

    fn room(&self) -> usize {
        self.inbox.limit.saturating_sub(self.inbox.bytes)
    }

    /// Keeps no more than `share` bytes for the application from now on, nor than its own buffer.
    pub(crate) fn limit(&mut self, share: usize) {
        self.inbox.limit = share.min(self.config.receive_buffer);
    }

    /// The bytes for the application that were counted last.
    pub(crate) fn counted(&self) -> usize {
        self.inbox.counted
    }

    /// Counts the bytes that wait for the application.
    pub(crate) fn count(&mut self) -> usize {
        self.inbox.counted = self.inbox.bytes;
        self.inbox.counted
    }

    /// How long to wait for an acknowledgement.
    fn timeout(&self) -> Duration {
        let measured = self.rtt.timeout(self.config.ack_delay);
        match measured.filter(|_| self.config.adaptive_timeout) {
            Some(timeout) => timeout.max(self.config.min_timeout),
            None => self.config.initial_timeout,
        }
    }

    fn is_paper(&self) -> bool {
        self.config.profile == Profile::Paper
    }

    /// What happened.
    pub(crate) fn poll_event(&mut self) -> Option<SapEvent> {
        self.events.pop_front()
    }

    /// Tells the application once that it can read.
    fn tell_readable(&mut self) {
        if self.inbox.ready.len() == 1 {
            self.events.push_back(SapEvent::Readable);
        }
    }

    /// Hands a message to the application.
    fn deliver(&mut self, received: Received) {
        self.inbox.bytes += weight(received.data.len());
        self.inbox.ready.push_back(received);
        self.tell_readable();
    }

    /// The message that was delivered last may hold wrong bits, if nobody has checked it.
    pub(crate) fn distrust(&mut self) {
        if let Some(last) = self.inbox.ready.back_mut()
            && last.integrity == Integrity::Unknown
        {
            last.integrity = Integrity::Suspect(complement(&last.exact, last.data.len()));
        }
    }

    /// The precise message `number` of `stream`.
    fn deliver_precise(&mut self, stream: u16, number: u32, data: Bytes) {
        let exact = Vec::from_iter((!data.is_empty()).then_some(0..data.len()));
        let integrity = Integrity::Intact;
        let received =
            Received { stream, kind: MessageKind::Precise, number, data, exact, integrity };
        self.deliver(received);
    }
}

/// What a message of so many bytes takes of the memory; empty ones are not free.
const fn weight(len: usize) -> usize {
    len + 64
}

impl Outbox {
    fn next_name(&mut self) -> u64 {
        self.name += 1;
        self.name
    }

    fn push_precise(&mut self, encoded: Encoded) {
        let name = self.next_name();
        self.precise.insert(name, encoded);
        self.new.push_back(name);
    }
}
