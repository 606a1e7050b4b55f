//! One source of a stream at its receiver.

use windfall_base::{Duration, Instant};
use windfall_rtp::{
    CodedPicture, Depacketizer, JitterBuffer, JitterBufferConfig, ReceptionStatistics, RtcpPacket,
    RtpPacket, SdesItem, SenderInfo, SequenceCheck, SourceChunk, VIDEO_CLOCK, VideoCodec, sdes,
};

use crate::clock::{VideoTime, ticks};

/// Packets that wait for playout at most.
const CAPACITY: usize = 4_096;
/// The most bytes of pictures that are kept; a stream that has more is over for the receiver.
const KEPT: usize = 256 << 20;

/// The timestamp of the first picture of a sender of this program: a receiver that loses it knows
/// by it where the others belong.
pub(crate) const fn first_timestamp(ssrc: u32) -> u32 {
    ssrc.rotate_left(7)
}

/// The state of one source.
#[derive(Debug)]
pub(crate) struct Session {
    ssrc: u32,
    pub(crate) statistics: ReceptionStatistics,
    buffer: JitterBuffer<Vec<u8>>,
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
        report: Option<(u64, u32)>,
    ) -> Self {
        let buffer = JitterBufferConfig { delay, clock: VIDEO_CLOCK, capacity: CAPACITY };
        Self {
            ssrc: packet.header.ssrc,
            statistics: ReceptionStatistics::trusted(packet.header.sequence),
            buffer: JitterBuffer::new(buffer),
            depacketizer: Depacketizer::new(codec),
            pictures: Vec::new(),
            kept: 0,
            seen_first: packet.header.timestamp,
            report,
            reported: None,
            sent: None,
            delays: (0.0, 0),
            last: now,
            is_over: false,
        }
    }

    /// The time of its last packet.
    pub(crate) const fn last(&self) -> Instant {
        self.last
    }

    /// Takes a packet of the source.
    pub(crate) fn take(
        &mut self,
        time: &VideoTime,
        now: Instant,
        packet: &RtpPacket<'_>,
        bytes: &[u8],
    ) {
        let header = &packet.header;
        let SequenceCheck::Valid(sequence) = self.statistics.update(header.sequence) else {
            return;
        };
        self.last = now;
        self.statistics.record_transit(header.timestamp, ticks(now));
        if let Some((ntp, timestamp)) = self.report {
            let media = f64::from(header.timestamp.wrapping_sub(timestamp) as i32);
            let since_report = time.ntp(now).wrapping_sub(ntp) as i64 as f64 / 4_294_967_296.0;
            self.delays.0 += since_report - media / f64::from(VIDEO_CLOCK);
            self.delays.1 += 1;
        }
        self.buffer.insert(now, sequence, header.timestamp, bytes.to_vec());
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
            if let Ok(packet) = RtpPacket::parse(&packet.item) {
                self.depacketizer.push(&packet.header, packet.payload, &[]);
            }
            self.collect();
        }
    }

    fn collect(&mut self) {
        while let Some(picture) = self.depacketizer.poll_picture() {
            self.kept += picture.data.len();
            self.pictures.push(picture);
        }
    }
}
