//! One connection: a machine of segments, time and two byte streams.
//!
//! - `handle_segment` and `handle_timeout` feed it; `write`, `read`, `shutdown`, `close`, `abort`
//!   are the application's verbs.
//! - `poll_transmit` (until `None`), `poll_timeout` and `poll_event` drain it, in this order after
//!   every change.
//!
//! The phases are files of their own: opening, receiving, acknowledgments, sending, closing,
//! timers, header prediction, damaged segments, and the queries of the owner.

use std::sync::Arc;

use core::net::SocketAddr;
use core::num::NonZeroU64;
use core::ops::Range;

use bytes::Bytes;
use windfall_base::seq::Seq32;
use windfall_base::{DropReason, Duration, Instant, RangeSet};
use windfall_congestion::CongestionController;
use windfall_wire_net::Addresses;

use crate::config::{LossRecovery, TcpConfig};
use crate::event::{Signals, TcpError, TcpEvent, UseError};
use crate::operations::Operations;
use crate::reassembly::Reassembly;
use crate::recovery::{Recovery, SendSequence};
use crate::rtt::RttEstimator;
use crate::segment::Segment;
use crate::send_buffer::SendBuffer;
use crate::sequence::position;
use crate::timers::{Timer, Timers};

mod acknowledge;
mod buffers;
mod close;
mod damage;
pub(crate) mod ecn;
mod expire;
mod facts;
pub(crate) mod fast_open;
mod habits;
mod header;
mod told;

pub use habits::Cork;
pub use told::{SendFlight, SendPhase};
mod open;
mod path;
mod predict;
mod rate;
mod receive;
mod send;

/// Answers to suspicious segments in one second (RFC 5961, section 7).
const CHALLENGES: u16 = 10;

/// The states of RFC 9293, section 3.3.2; listening is the endpoint's business.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TcpState {
    /// A SYN was sent.
    SynSent,
    /// A SYN was received and answered.
    SynReceived,
    /// Data flow in both directions.
    Established,
    /// This end has finished; its FIN is not acknowledged.
    FinWait1,
    /// This end has finished, the other has not.
    FinWait2,
    /// The peer has finished, this one has not.
    CloseWait,
    /// Both have finished at once; this end's FIN is not acknowledged.
    Closing,
    /// Both have finished; this end's FIN is not acknowledged.
    LastAck,
    /// Both have finished; old segments may still be on the way.
    TimeWait,
    /// The connection is over.
    Closed,
}

/// The options that both ends agreed on in their SYNs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct NegotiatedOptions {
    /// Timestamps in every segment (RFC 7323).
    pub timestamps: bool,
    /// Selective acknowledgment (RFC 2018).
    pub sack: bool,
    /// Explicit congestion notification (RFC 3168).
    pub ecn: bool,
    /// Each end reports how many packets arrived marked (RFC 9768).
    pub accurate_ecn: bool,
    /// Scaled windows (RFC 7323), by these shifts.
    pub scaling: bool,
    /// The shift of the windows received.
    pub send_shift: u8,
    /// The shift of the windows sent.
    pub receive_shift: u8,
    /// Notifications name any damaged segment.
    pub extended_notification: bool,
    /// Each segment with data carries a CRC-32C over them.
    pub data_check: bool,
}

/// The two ends of a connection, this one first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SocketPair {
    /// The local address and port.
    pub local: SocketAddr,
    /// The address and port of the peer.
    pub remote: SocketAddr,
    /// The source and destination addresses of segments that are sent.
    addresses: Addresses,
}

impl SocketPair {
    /// Creates a path, if both ends are of one family.
    #[must_use]
    pub fn new(local: SocketAddr, remote: SocketAddr) -> Option<Self> {
        let addresses = Addresses::new(local.ip(), remote.ip())?;
        Some(Self { local, remote, addresses })
    }

    /// Returns the source and destination addresses of segments that are sent.
    #[must_use]
    pub const fn addresses(&self) -> &Addresses {
        &self.addresses
    }
}

/// The urgency of an acknowledgment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Due {
    #[default]
    Nothing,
    Later,
    Now,
}

/// The event that the retransmission timer waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Awaited {
    /// An acknowledgment: without one, everything is lost (RFC 6298).
    Acknowledgment,
    /// One of the last segments: without one, a probe asks for it (RFC 8985, section 7).
    Tail,
    /// A segment that may have been overtaken: without it, it is lost (RFC 8985, section 6).
    Reordering,
}

/// A reset to send.
#[derive(Clone, Copy, Debug)]
struct Reset {
    seq: Seq32,
    /// It ends this connection; else it only answers a segment that fits nowhere.
    ends: bool,
}

/// The sending half.
#[derive(Debug)]
struct Sender {
    origin: Seq32,
    una: u64,
    nxt: u64,
    max: u64,
    /// The end of the window that the peer offers.
    snd_wnd_right: u64,
    /// The window as it stood in the last header, and scaled.
    raw_window: u16,
    window: u64,
    max_snd_wnd: u64,
    /// Sequence and acknowledgment of the segment that last set the window.
    window_from: (u64, u64),
    buffer: SendBuffer,
    /// The bytes that it may hold now.
    capacity: usize,
    /// FIN follows the last byte written.
    finished: bool,
    /// Data bytes of a full-sized segment, and their limits.
    mss: u64,
    peer_mss: u16,
    path_mss: u16,
    search: Option<Box<path::PathSearch>>,
    /// The segment whose round trip is being measured, and when it left.
    timed: Option<(u64, Instant)>,
    last_sent: Instant,
    /// Once per round trip: no further reduction before this is acknowledged.
    reduced_until: u64,
    /// Tell the peer that the window was reduced.
    announce_reduction: bool,
    /// Timeouts in a row without progress.
    attempts: u8,
    /// The meaning of the timer, and the time at which nothing is left but to repeat.
    awaited: Awaited,
    timeout_at: Instant,
    /// Segments are paced; when the next may leave, and whether it waits for that.
    is_paced: bool,
    free_at: Instant,
    waits: bool,
    /// A probe of the tail is due.
    tail_probe: bool,
    /// A probe or keepalive is due.
    probe: bool,
    /// Segments that may still leave back to back.
    burst_left: u16,
    /// Set when the send buffer was full, so that the owner waits for room.
    wants_send_space: bool,
    /// Set if the endpoint had less memory than the write at hand wanted.
    memory_refused: bool,
    /// Send a reset and nothing more.
    reset: Option<Reset>,
    /// Segments retransmitted because the peer received them damaged, and the duplicate
    /// acknowledgments that this explains.
    repairs: Vec<damage::Repaired>,
    /// The state for the habits of an operating system.
    habits: Option<Box<habits::Habits>>,
    /// The positions that the peer's notifications name.
    reports: damage::PeerReports,
}

/// The receiving half.
#[derive(Debug)]
struct Receiver {
    origin: Seq32,
    buffer: Reassembly,
    /// The position of the peer's FIN, if it has come before its turn.
    fin: Option<NonZeroU64>,
    finished: bool,
    /// The peer's SYN, if it came with data or FIN while both ends open at once.
    syn: Option<Box<Segment>>,
    /// The application will not read any more.
    abandoned: bool,
    /// The end of the window that was offered.
    rcv_wnd_right: u64,
    /// The endpoint is short of memory: the window closes but for a little.
    is_pressed: bool,
    /// The start of the round trip in which reading is measured, and the bytes read by then.
    round: (Instant, u64),
    due: Due,
    /// Bytes that arrived in order and are not acknowledged; the largest segment seen.
    unacked: u64,
    full: u64,
    /// Segments of data that are not acknowledged.
    waiting: u16,
    /// The acknowledgment that is due answers a segment that may come from an outsider.
    is_challenge: bool,
    /// The last acknowledgment sent.
    acked: u64,
    /// RFC 7323: the timestamp to echo, and when it came.
    recent: u32,
    recent_at: Instant,
    /// The timestamp of this end that came with it: how long ago that was is a round trip.
    echo: u32,
    /// A range that arrived twice and is to be reported (RFC 2883); empty if there is none.
    duplicate: Range<u64>,
    /// A packet was marked and the peer has not answered (RFC 3168).
    congested: bool,
    /// Marks of both directions, where they are counted (RFC 9768).
    accurate: ecn::AccurateEcn,
    /// Segments for one acknowledgment, where that follows the traffic; segments in order so far.
    stride: u16,
    in_order: u32,
    /// Suspicious segments answered in the second that began then.
    challenges_since: Instant,
    challenges: u16,
    /// Notifications to send, and damaged segments beyond a hole.
    notices: Vec<damage::Notice>,
    damaged: RangeSet,
}

/// A TCP connection.
#[derive(Debug)]
pub struct Connection {
    config: Arc<TcpConfig>,
    path: SocketPair,
    state: TcpState,
    negotiated: NegotiatedOptions,
    sender: Sender,
    receiver: Receiver,
    rtt: RttEstimator,
    congestion: Box<dyn CongestionController>,
    recovery: Recovery,
    timers: Timers,
    template: Option<Box<header::Template>>,
    operations: Operations,
    signals: Signals,
    passive: bool,
    fast_open: fast_open::FastOpen,
    error: Option<TcpError>,
    heard: Instant,
    probes: u8,
    /// The offset between the clock and the timestamps sent.
    clock_offset: u32,
}

impl Connection {
    fn new(
        config: Arc<TcpConfig>,
        path: SocketPair,
        origin: Seq32,
        state: TcpState,
        now: Instant,
    ) -> Self {
        let mss = u64::from(config.mss);
        let repair = if config.loss_recovery == LossRecovery::Sack {
            LossRecovery::NewReno
        } else {
            config.loss_recovery
        };
        let mut connection = Self {
            path,
            state,
            negotiated: NegotiatedOptions::default(),
            sender: Sender::new(origin, &config, now),
            receiver: Receiver::new(&config, now),
            rtt: RttEstimator::new(config.timeout),
            congestion: config.congestion_control.start(
                mss,
                u64::from(config.initial_window),
                config.byte_counting,
            ),
            recovery: Recovery::new(repair, config.limited_transmit),
            timers: Timers::default(),
            template: None,
            operations: Operations::default(),
            signals: Signals::default(),
            passive: state == TcpState::SynReceived,
            fast_open: fast_open::FastOpen::Off,
            error: None,
            heard: now,
            probes: 0,
            clock_offset: origin.0.rotate_left(16) ^ 0x5bd1_e995,
            config,
        };
        if connection.config.manner.adds_least_timeout {
            connection.rtt.add_least();
        }
        connection.watch_silence(now);
        connection.prepare_recovery();
        connection
    }

    /// Enables the configured options of congestion control and loss recovery.
    fn prepare_recovery(&mut self) {
        if self.config.hystart {
            self.congestion.use_hystart();
        }
        let models = self.congestion.is_model();
        self.sender.is_paced = models || self.config.pacing;
        // Congestion control with a model of the path decides itself what a recovery sends.
        if self.negotiated.sack && self.config.prr && !models {
            self.recovery.use_rate();
        }
        // If the link below retransmits and reorders, only a timeout detects losses.
        let by_time = self.negotiated.sack && self.config.rack && self.config.fast_retransmit;
        if by_time || models {
            self.recovery.use_time(self.config.f_rto, models);
        }
    }

    /// Takes a segment for this connection.
    ///
    /// # Errors
    /// The reason for which it was discarded.
    pub fn handle_segment(&mut self, now: Instant, seg: &mut Segment) -> Result<(), DropReason> {
        self.operations.segments_received += 1;
        self.operations.detections += u64::from(seg.damaged);
        if self.config.manner.drops(seg.header.flags) {
            return Err(DropReason::TcpSequence);
        }
        self.heard = now;
        self.probes = 0;
        match self.state {
            TcpState::Closed => return Err(DropReason::NoListener),
            _ if seg.damaged => return self.receive_damaged(now, seg),
            TcpState::SynSent => return self.receive_answer(now, seg),
            _ => {}
        }
        if self.config.burst.is_some() {
            self.sender.burst_left = self.config.burst.unwrap_or(u16::MAX);
        }
        if self.predict(now, seg)? {
            return Ok(());
        }
        self.receive(now, seg)
    }

    /// Returns whether a segment lies beyond everything that this connection has received.
    pub(crate) fn is_beyond(&self, seg: &Segment) -> bool {
        self.locate(seg.header.seq).is_some_and(|start| start > self.expected())
    }

    /// Says when to call `handle_timeout` next, and why.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        self.timers.next().map(|(at, timer)| (at, timer.name()))
    }

    /// Yields the next event; call until `None`.
    pub fn poll_event(&mut self) -> Option<TcpEvent> {
        match self.signals.take(self.error)? {
            TcpEvent::Connected if self.passive => Some(TcpEvent::Accepted),
            event => Some(event),
        }
    }

    /// Returns whether an event waits.
    #[must_use]
    pub const fn has_event(&self) -> bool {
        !self.signals.is_empty()
    }

    /// Appends data to the stream up to the room in the send buffer; returns the bytes taken.
    ///
    /// # Errors
    /// This end has finished, or the connection is over.
    pub fn write(&mut self, data: &[u8]) -> Result<usize, UseError> {
        let taken = self.room(data.len())?;
        self.operations.copied_bytes += taken as u64;
        self.sender.buffer.push_slice(&data[..taken]);
        self.note_written(taken);
        Ok(taken)
    }

    /// As [`write`](Self::write), sharing the bytes instead of copying them.
    ///
    /// # Errors
    /// This end has finished, or the connection is over.
    pub fn write_bytes(&mut self, mut data: Bytes) -> Result<usize, UseError> {
        let taken = self.room(data.len())?;
        data.truncate(taken);
        self.sender.buffer.push(data);
        self.note_written(taken);
        Ok(taken)
    }

    /// Remembers where a write ends, if the segments show it.
    fn note_written(&mut self, taken: usize) {
        if taken > 0 {
            self.note_write();
        }
    }

    fn room(&mut self, wanted: usize) -> Result<usize, UseError> {
        if let Some(error) = self.error {
            return Err(UseError::Over(error));
        }
        if self.sender.finished || self.state == TcpState::Closed {
            return Err(UseError::Finished);
        }
        let room = self.sender.capacity.saturating_sub(self.sender.buffer.len());
        self.sender.wants_send_space =
            room < wanted || core::mem::take(&mut self.sender.memory_refused);
        Ok(room.min(wanted))
    }

    /// Notes that the endpoint has less memory than the next write wanted, so that its owner waits
    /// for room.
    pub(crate) const fn note_shortage(&mut self, is_short: bool) {
        self.sender.memory_refused = is_short;
    }

    /// Takes the next bytes that arrived, `most` at most; `None` if there are none.
    pub fn read(&mut self, most: usize) -> Option<Bytes> {
        let data = self.receiver.buffer.read(most)?;
        if self.receiver.buffer.capacity() < self.config.receive_buffer.most {
            self.grow_receive_buffer();
        }
        self.offer_window();
        Some(data)
    }

    /// Returns whether the application has released the connection and nothing more will happen.
    pub(crate) fn is_done(&self) -> bool {
        self.state == TcpState::Closed && self.receiver.abandoned && self.sender.reset.is_none()
    }

    fn flow(&self) -> SendSequence {
        let sender = &self.sender;
        SendSequence { una: sender.una, nxt: sender.nxt, max: sender.max, mss: sender.mss }
    }

    /// Returns the position of the next byte expected, or after FIN.
    fn expected(&self) -> u64 {
        1 + self.receiver.buffer.next() + u64::from(self.receiver.finished)
    }

    /// Returns the position that a sequence number of the peer stands for.
    fn locate(&self, seq: Seq32) -> Option<u64> {
        position(self.receiver.origin, self.expected(), seq)
    }

    /// Returns the position that an acknowledgment number stands for.
    fn locate_ack(&self, ack: Seq32) -> Option<u64> {
        position(self.sender.origin, self.sender.una, ack)
    }

    /// Returns the clock that timestamps show, in milliseconds (RFC 7323, section 4.1).
    fn clock(&self, now: Instant) -> u32 {
        ((now.as_nanos() / 1_000_000) as u32).wrapping_add(self.clock_offset)
    }

    /// Owes an acknowledgment at once.
    fn owe_ack(&mut self) {
        self.receiver.due = Due::Now;
        self.timers.stop(Timer::DelayedAck);
    }

    /// Answers a segment that may come from an outsider, within limits (RFC 5961, section 7).
    fn challenge(&mut self, now: Instant) {
        let receiver = &mut self.receiver;
        if now.saturating_since(receiver.challenges_since) >= Duration::from_secs(1) {
            (receiver.challenges_since, receiver.challenges) = (now, 0);
        }
        receiver.challenges = receiver.challenges.saturating_add(1);
        if receiver.challenges <= CHALLENGES {
            receiver.is_challenge = true;
            self.owe_ack();
        }
    }
}

impl Sender {
    fn new(origin: Seq32, config: &TcpConfig, now: Instant) -> Self {
        Self {
            origin,
            una: 0,
            nxt: 0,
            max: 0,
            snd_wnd_right: 1,
            raw_window: 0,
            window: 0,
            max_snd_wnd: 0,
            window_from: (0, 0),
            buffer: SendBuffer::default(),
            capacity: config.send_buffer.initial,
            finished: false,
            mss: u64::from(config.mss),
            peer_mss: config.mss,
            path_mss: u16::MAX,
            search: None,
            timed: None,
            last_sent: now,
            reduced_until: 0,
            announce_reduction: false,
            attempts: 0,
            awaited: Awaited::Acknowledgment,
            timeout_at: now,
            is_paced: false,
            free_at: now,
            waits: false,
            tail_probe: false,
            probe: false,
            burst_left: config.burst.unwrap_or(u16::MAX),
            wants_send_space: false,
            memory_refused: false,
            reset: None,
            repairs: Vec::new(),
            habits: None,
            reports: damage::PeerReports::new(config.corruption.mode),
        }
    }

    /// Returns the position after the last byte written.
    const fn data_end(&self) -> u64 {
        self.buffer.end() + 1
    }

    /// Returns whether FIN was sent and its acknowledgment has not arrived.
    const fn awaits_end(&self) -> bool {
        self.finished && self.max > self.data_end() && self.una <= self.data_end()
    }

    /// Returns whether the acknowledgment of FIN has arrived.
    const fn is_finished(&self) -> bool {
        self.finished && self.una > self.data_end()
    }
}

impl Receiver {
    fn new(config: &TcpConfig, now: Instant) -> Self {
        Self {
            origin: Seq32(0),
            buffer: Reassembly::new(config.first_receive_buffer()),
            fin: None,
            finished: false,
            syn: None,
            abandoned: false,
            rcv_wnd_right: 1 + config.first_receive_buffer().min(65_535) as u64,
            is_pressed: false,
            round: (now, 0),
            due: Due::Nothing,
            unacked: 0,
            full: 0,
            waiting: 0,
            is_challenge: false,
            acked: 0,
            recent: 0,
            recent_at: now,
            echo: 0,
            duplicate: 0..0,
            congested: false,
            accurate: ecn::AccurateEcn::default(),
            stride: 2,
            in_order: 0,
            challenges_since: now,
            challenges: 0,
            notices: Vec::new(),
            damaged: RangeSet::default(),
        }
    }
}
