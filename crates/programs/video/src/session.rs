//! One source of a stream at its receiver.

use std::net::{IpAddr, SocketAddr};

use windfall_base::{Duration, Instant};
use windfall_rtp::{
    CodedPicture, Depacketizer, JitterBuffer, JitterBufferConfig, JitterBufferCounters,
    ReceptionStatistics, RtcpPacket, RtpHeader, RtpPacket, SdesItem, SenderInfo, SequenceCheck,
    SourceChunk, VIDEO_CLOCK, VideoCodec, sdes,
};

use crate::clock::{VideoTime, ticks};
use crate::discards::VideoDiscards;

/// Packets that wait for playout at most.
const CAPACITY: usize = 4_096;
/// Packets that are held for a source that may begin anew at most.
const HELD: usize = 16;
/// The packets of another payload type in a row with which a source has changed its type. Fewer may
/// be repairs or redundant copies (RFC 5109, RFC 4588), which alternate with those of the stream.
const OTHER_TYPE: u32 = 16;
/// The silence after which a source may go on from another address, as a sender that has moved.
/// Before it, what comes from there is a third party's or a loop's (RFC 3550, section 8.2).
const MOVED: Duration = Duration::from_secs(2);
/// The most bytes of pictures that are kept; a stream that has more is over for the receiver.
const KEPT: usize = 256 << 20;

/// The timestamp of the first picture of a sender of this program: a receiver that loses it knows
/// by it where the others belong.
pub(crate) const fn first_timestamp(ssrc: u32) -> u32 {
    ssrc.rotate_left(7)
}

/// A packet that waits for its playout.
#[derive(Debug)]
struct Waiting {
    bytes: Vec<u8>,
    /// The ticks added to its timestamp.
    shift: u32,
}

/// A packet that may be of the source's next life.
#[derive(Debug)]
struct Held {
    now: Instant,
    timestamp: u32,
    bytes: Vec<u8>,
    /// It was far from the others, and was not passed on.
    is_far: bool,
}

/// The state of one source.
#[derive(Debug)]
pub(crate) struct Session {
    ssrc: u32,
    /// The address that it sends from, and the time of its last packet, of whatever number.
    from: SocketAddr,
    heard: Instant,
    payload_type: u8,
    /// Another payload type, and the number of its packets since the last one of the stream.
    other_type: (u8, u32),
    pub(crate) statistics: ReceptionStatistics,
    /// Its packets of RTP, whatever happened to them.
    pub(crate) taken: u64,
    buffer: JitterBuffer<Waiting>,
    delay: Duration,
    /// The counts of buffers before the sender began anew.
    earlier: JitterBufferCounters,
    /// Packets in sequence that may be the beginning of the source's next life.
    held: Vec<Held>,
    /// Packets that were far from all others, and were followed by none.
    far: u64,
    /// The ticks added to the timestamps of the sender's present life, so that it goes on where the
    /// one before ended.
    shift: u32,
    /// The last timestamp so far, and when it came.
    latest: (u32, Instant),
    /// The timestamp of the last packet passed on.
    passed: Option<u32>,
    depacketizer: Depacketizer,
    pub(crate) pictures: Vec<CodedPicture>,
    kept: usize,
    /// The timestamp of the first packet that came.
    pub(crate) seen_first: u32,
    /// A time of day and the timestamp of that time, by the last sender report.
    report: Option<(u64, u32)>,
    /// The packets that the sender has sent, by its last report and by its goodbye.
    reported: Option<u32>,
    pub(crate) sent: Option<u32>,
    /// The sum of the delays in seconds, and their number.
    delays: (f64, u32),
    last: Instant,
    is_over: bool,
}

impl Session {
    pub(crate) fn new(
        packet: &RtpPacket<'_>,
        codec: VideoCodec,
        delay: Duration,
        now: Instant,
        from: SocketAddr,
    ) -> Self {
        Self {
            ssrc: packet.header.ssrc,
            from,
            heard: now,
            payload_type: packet.header.payload_type,
            other_type: (0, 0),
            statistics: ReceptionStatistics::trusted(packet.header.sequence),
            taken: 0,
            buffer: buffer(delay),
            delay,
            earlier: JitterBufferCounters::default(),
            held: Vec::new(),
            far: 0,
            shift: 0,
            latest: (packet.header.timestamp, now),
            passed: None,
            depacketizer: Depacketizer::new(codec),
            pictures: Vec::new(),
            kept: 0,
            seen_first: packet.header.timestamp,
            report: None,
            reported: None,
            sent: None,
            delays: (0.0, 0),
            last: now,
            is_over: false,
        }
    }

    /// Takes over a report of the sender that came before its first packet.
    pub(crate) fn with_report(mut self, report: Option<(u64, u32)>) -> Self {
        self.report = report;
        self
    }

    /// The time of its last packet.
    pub(crate) const fn last(&self) -> Instant {
        self.last
    }

    /// The address that its packets come from, without the port.
    pub(crate) const fn address(&self) -> IpAddr {
        self.from.ip()
    }

    /// Tells whether the source sends from there.
    pub(crate) fn is_from(&self, from: SocketAddr) -> bool {
        self.from == from
    }

    /// Tells whether a packet of this payload type is of the stream. A source that `may_change` its
    /// type has done so if only packets of another one come.
    pub(crate) const fn hears_type(&mut self, kind: u8, may_change: bool) -> bool {
        if kind == self.payload_type {
            self.other_type.1 = 0;
            return true;
        }
        if !may_change {
            return false;
        }
        if self.other_type.0 != kind {
            self.other_type = (kind, 0);
        }
        self.other_type.1 += 1;
        if self.other_type.1 < OTHER_TYPE {
            return false;
        }
        self.payload_type = kind;
        self.other_type = (kind, 0);
        true
    }

    /// Tells whether a packet that comes from there now is the source's own.
    pub(crate) fn hears(&mut self, now: Instant, from: SocketAddr) -> bool {
        if self.from != from && now.saturating_since(self.heard) <= MOVED {
            return false;
        }
        (self.from, self.heard) = (from, now);
        true
    }

    /// Takes a packet of the source.
    pub(crate) fn take(
        &mut self,
        time: &VideoTime,
        now: Instant,
        packet: &RtpPacket<'_>,
        bytes: &[u8],
    ) {
        self.taken += 1;
        let header = &packet.header;
        let number = header.sequence;
        let timestamp = header.timestamp;
        let check = self.statistics.update_timed(number, timestamp, ticks(now));
        let held = Held { now, timestamp, bytes: bytes.to_vec(), is_far: false };
        let sequence = match check {
            SequenceCheck::Valid(sequence) => {
                self.drop_held();
                sequence
            }
            SequenceCheck::Copy(_) => {
                self.last = now;
                // Copies in sequence may be the same numbers, used again.
                if self.held.first().is_some_and(|it| it.is_far) {
                    self.drop_held();
                }
                self.held.push(held);
                if self.held.len() > HELD {
                    self.held.remove(0);
                }
                return;
            }
            SequenceCheck::Probation | SequenceCheck::Jump => {
                self.drop_held();
                self.held.push(Held { is_far: true, ..held });
                return;
            }
            SequenceCheck::Restart(sequence, before) => {
                self.begin_anew(sequence, usize::from(before), timestamp);
                sequence
            }
        };
        self.last = now;
        self.statistics.record_transit(header.timestamp, ticks(now));
        if let Some((ntp, timestamp)) = self.report {
            let media = f64::from(header.timestamp.wrapping_sub(timestamp) as i32);
            let since_report = time.ntp(now).wrapping_sub(ntp) as i64 as f64 / 4_294_967_296.0;
            self.delays.0 += since_report - media / f64::from(VIDEO_CLOCK);
            self.delays.1 += 1;
        }
        let late = self.buffer.counters().late;
        let waiting = Waiting { bytes: held.bytes, shift: self.shift };
        self.buffer.insert(now, sequence, timestamp, waiting);
        let shifted = timestamp.wrapping_add(self.shift);
        if self.buffer.counters().late == late && shifted.wrapping_sub(self.latest.0) as i32 >= 0 {
            self.latest = (shifted, now);
        }
    }

    /// Gives up what was held for a new beginning that did not come.
    fn drop_held(&mut self) {
        self.far += self.held.drain(..).filter(|it| it.is_far).count() as u64;
    }

    /// Lets the source begin anew with the last `before` packets that are held: everything of its
    /// former life is played, and the new one goes on behind it, later by the time between.
    fn begin_anew(&mut self, sequence: u32, before: usize, timestamp: u32) {
        while let Some(at) = self.buffer.poll_timeout() {
            self.pass_on(at);
        }
        self.depacketizer.finish();
        self.collect();
        self.depacketizer.forget_sequence();
        let counters = self.buffer.counters();
        self.buffer = buffer(self.delay);
        let first = self.held.len().saturating_sub(before);
        let again: Vec<Held> = self.held.drain(first..).collect();
        self.drop_held();
        self.earlier.late += counters.late;
        self.earlier.overflow += counters.overflow;
        let (latest, came) = self.latest;
        let (begin, now) = again.first().map_or((timestamp, came), |it| (it.timestamp, it.now));
        let pause = now.saturating_since(came).as_secs_f64() * f64::from(VIDEO_CLOCK);
        self.shift = latest.wrapping_add((pause as u32).max(1)).wrapping_sub(begin);
        self.report = None;
        let count = again.len() as u32;
        for (number, held) in (0..).zip(again) {
            let shift = self.shift;
            let number = sequence.wrapping_sub(count).wrapping_add(number);
            let waiting = Waiting { bytes: held.bytes, shift };
            self.buffer.insert(held.now, number, held.timestamp, waiting);
        }
    }

    /// Returns the packets that came and were discarded.
    pub(crate) fn discards(&self) -> VideoDiscards {
        let counters = self.buffer.counters();
        VideoDiscards {
            late: self.earlier.late + counters.late,
            copies: self.statistics.total_copies().into(),
            far: self.far + self.held.iter().filter(|it| it.is_far).count() as u64,
            overflow: self.earlier.overflow + counters.overflow,
            malformed: self.depacketizer.malformed(),
            ..VideoDiscards::default()
        }
    }

    /// Takes a sender report, and returns the answer.
    pub(crate) fn take_report(&mut self, info: &SenderInfo) -> Vec<u8> {
        self.report = Some((info.ntp, info.timestamp));
        self.reported = Some(info.packets);
        let mut block = self.statistics.report(self.ssrc);
        block.last_report = (info.ntp >> 16) as u32;
        let blocks = vec![block];
        let ssrc = self.ssrc.wrapping_add(1);
        let name = SdesItem { kind: sdes::CNAME, text: b"windfall receiver".to_vec() };
        RtcpPacket::encode_compound(&[
            RtcpPacket::Report { ssrc, sender: None, blocks },
            RtcpPacket::Description(vec![SourceChunk { ssrc, items: vec![name] }]),
        ])
    }

    /// Takes a goodbye, which stands behind the last report.
    pub(crate) fn take_goodbye(&mut self) {
        self.is_over = true;
        self.sent = self.reported;
    }

    /// Passes on the packets whose playout time has come; `true` when the stream is over.
    pub(crate) fn play(&mut self, now: Instant, idle: Duration) -> bool {
        self.pass_on(now);
        let is_silent = now.saturating_since(self.last) > idle;
        (self.is_over && self.buffer.is_empty()) || is_silent || self.kept > KEPT
    }

    /// Passes on everything that has come, and ends the picture under way.
    pub(crate) fn finish(&mut self) {
        while let Some(at) = self.buffer.poll_timeout() {
            self.pass_on(at);
        }
        self.depacketizer.finish();
        self.collect();
    }

    /// The mean delay in seconds, once the sender has reported.
    pub(crate) fn delay(&self) -> Option<f64> {
        let (sum, count) = self.delays;
        (count > 0).then(|| sum / f64::from(count))
    }

    /// Passes on the packets whose playout time has come.
    fn pass_on(&mut self, now: Instant) {
        while let Some(packet) = self.buffer.poll(now) {
            let Waiting { bytes, shift } = packet.item;
            let Ok(packet) = RtpPacket::parse(&bytes) else { continue };
            let timestamp = packet.header.timestamp.wrapping_add(shift);
            if self.passed.replace(timestamp) != Some(timestamp) {
                // Not before: a picture may go on behind a packet with a mark.
                self.collect();
            }
            let header = RtpHeader { timestamp, ..packet.header };
            self.depacketizer.push(&header, packet.payload, &[]);
        }
    }

    fn collect(&mut self) {
        while let Some(picture) = self.depacketizer.poll_picture() {
            self.kept += picture.data.len();
            self.pictures.push(picture);
        }
    }
}

/// An empty jitter buffer of video.
fn buffer(delay: Duration) -> JitterBuffer<Waiting> {
    JitterBuffer::new(JitterBufferConfig { delay, clock: VIDEO_CLOCK, capacity: CAPACITY })
}
