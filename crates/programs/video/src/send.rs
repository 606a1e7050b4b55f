//! The sender of a video.

use std::net::{IpAddr, SocketAddr, UdpSocket};

use windfall_base::{Duration, Instant};
use windfall_rtp::{
    RTP_HEADER_LEN, RtcpPacket, RtpHeader, RtpPacket, SdesItem, SdpSession, SenderInfo,
    SourceChunk, VIDEO_CLOCK, VideoCodec, VideoPayload, packetize, sdes,
};

use crate::adapt::EncoderRateControl;
use crate::clip::CodedClip;
use crate::clock::{VideoTime, ticks};
use crate::error::VideoError;
use crate::session::first_timestamp;
use crate::socket::{VideoProtocol, VideoSocket, is_quiet};

/// Reports in a row without an answer after which the receiver is silent.
const UNANSWERED: u64 = 2;
/// Copies of the last report, since a goodbye may be lost.
const GOODBYES: u64 = 3;
/// The time before each of them: what is still on its way goes before it.
const PAUSE: Duration = Duration::from_millis(300);
/// Bytes of the headers of IPv4 and UDP.
const IP_UDP_LEN: usize = 28;

/// The settings of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VideoSenderConfig {
    /// The address of the receiver.
    pub to: IpAddr,
    /// The port of the receiver; reports go to the next.
    pub port: u16,
    /// The transport protocol.
    pub protocol: VideoProtocol,
    /// The payload type.
    pub payload_type: u8,
    /// The most bytes of a payload.
    pub payload: usize,
    /// Bytes behind the header of UDP-Lite that its checksum covers; up to the header of the
    /// picture or slice if `None`.
    pub coverage: Option<usize>,
    /// Packets behind the first of a picture repeat its header.
    pub repeat: bool,
    /// The time between two sender reports.
    pub reports: Duration,
}

/// An account of a stream that was sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SentVideo {
    /// The number of packets.
    pub packets: u32,
    /// The rates at which pictures were coded, with the first picture of each; none where the
    /// sender did not choose them.
    pub rates: Vec<(usize, u32)>,
}

impl VideoSenderConfig {
    /// The time between two reports, the least of RFC 3550.
    pub const REPORTS: Duration = Duration::from_secs(5);
    /// The time between two reports where the rate depends on their answers; RFC 4585 allows less
    /// than RFC 3550.
    pub const OFTEN: Duration = Duration::from_secs(2);

    /// Returns the session description by which players find the stream.
    #[must_use]
    pub fn description(&self, clip: &CodedClip) -> String {
        let size = (clip.format.width, clip.format.height, clip.format.rate);
        let address = self.to;
        let port = self.port;
        let codec = clip.codec;
        let size = Some(size);
        SdpSession { address, port, payload_type: self.payload_type, codec, size }
            .to_text(&clip.name)
    }

    /// Returns the mean load of the clip in b/s, with the headers of IPv4, UDP and RTP.
    #[must_use]
    pub fn load(&self, clip: &CodedClip) -> f64 {
        let payloads = clip.coded.iter().flat_map(|picture| self.payloads(clip.codec, picture));
        let bytes = payloads.map(|it| it.bytes.len() + RTP_HEADER_LEN + IP_UDP_LEN);
        8.0 * bytes.sum::<usize>() as f64 / clip.seconds()
    }

    fn payloads(&self, codec: VideoCodec, picture: &[u8]) -> Vec<VideoPayload> {
        packetize(codec, picture, self.payload, self.repeat)
    }
}

//= S1.4
//= S1.8
/// Sends each picture of a clip at its time, and reports meanwhile.
///
/// # Errors
/// If there is no socket, or it fails.
pub fn send_video(config: &VideoSenderConfig, clip: &CodedClip) -> Result<SentVideo, VideoError> {
    let mut sender = Sender::new(config)?;
    let places = clip.places();
    // A picture is sent when an encoder could have it: not before those that it is decoded before.
    let ahead = places.iter().enumerate().map(|(number, place)| place.saturating_sub(number));
    sender.lag = ahead.max().unwrap_or(0);
    for ((number, picture), place) in clip.coded.iter().enumerate().zip(places) {
        sender.send_picture(number, place, clip.format.rate, clip.codec, picture)?;
    }
    sender.take_leave()?;
    Ok(SentVideo { packets: sender.packets, rates: Vec::new() })
}

/// Pictures that are coded while they are sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdaptiveVideo {
    /// The format of the coded pictures.
    pub codec: VideoCodec,
    /// The number of pictures.
    pub pictures: usize,
    /// Pictures in a second.
    pub rate: f64,
    /// The highest rate of the coded pictures, in b/s.
    pub highest: u32,
}

//= S1.57
/// Sends pictures as [`send_video`] does, which `encode` codes meanwhile: from a picture on and at
/// a rate, any number of them, the first of which needs no other.
///
/// # Errors
/// If there is no socket, or it fails, or `encode` does, or it makes no picture.
pub fn send_adaptive(
    config: &VideoSenderConfig,
    video: &AdaptiveVideo,
    encode: &mut dyn FnMut(usize, u32) -> Result<Vec<Vec<u8>>, VideoError>,
) -> Result<SentVideo, VideoError> {
    let mut sender = Sender::new(config)?;
    let mut rates: Vec<(usize, u32)> = Vec::new();
    let mut first = 0;
    let mut coded = Vec::new();
    for number in 0..video.pictures {
        let chosen = sender.control.rate(video.highest);
        let is_new = rates.last().is_none_or(|(_, rate)| *rate != chosen);
        if is_new || number - first == coded.len() {
            (first, coded) = (number, encode(number, chosen)?);
            if is_new {
                rates.push((number, chosen));
            }
        }
        let picture = coded.get(number - first).ok_or(VideoError::Empty)?;
        sender.send_picture(number, number, video.rate, video.codec, picture)?;
        sender.take_answers();
    }
    sender.take_leave()?;
    Ok(SentVideo { packets: sender.packets, rates })
}

/// A sender, and the fields of its reports.
struct Sender<'a> {
    config: &'a VideoSenderConfig,
    time: VideoTime,
    socket: VideoSocket,
    reports: UdpSocket,
    control: EncoderRateControl,
    ssrc: u32,
    sequence: u16,
    /// Pictures that the first one waits for, since others are shown later and sent before.
    lag: usize,
    packets: u32,
    octets: u32,
    reported: Option<Instant>,
    /// The last time at which an answer came, or its absence was noted.
    answered: Instant,
}

impl<'a> Sender<'a> {
    fn new(config: &'a VideoSenderConfig) -> Result<Self, VideoError> {
        let local: IpAddr = if config.to.is_ipv4() { [0; 4].into() } else { [0; 16].into() };
        let any = SocketAddr::new(local, 0);
        let socket = VideoSocket::bind(config.protocol, any)?;
        let reports = UdpSocket::bind(any).map_err(|error| VideoError::Bind(any, error))?;
        reports.set_nonblocking(true)?;
        let time = VideoTime::start();
        // Two senders at once have different names unless they start in the same microsecond.
        let now = time.ntp(time.now());
        let ssrc = (now >> 12) as u32 ^ std::process::id().rotate_left(16);
        let sequence = now as u16;
        Ok(Self {
            config,
            time,
            socket,
            reports,
            control: EncoderRateControl::default(),
            ssrc,
            sequence,
            lag: 0,
            packets: 0,
            octets: 0,
            reported: None,
            answered: Instant::START,
        })
    }

    /// Sends a picture at the time of its number, with the timestamp of its place.
    fn send_picture(
        &mut self,
        number: usize,
        place: usize,
        rate: f64,
        codec: VideoCodec,
        picture: &[u8],
    ) -> Result<(), VideoError> {
        let at = (number + self.lag) as f64 / rate;
        self.time.sleep_until(Instant::START + Duration::from_secs_f64(at));
        self.report_if_due()?;
        let since_start = (place as f64 / rate * f64::from(VIDEO_CLOCK)) as u32;
        for payload in self.config.payloads(codec, picture) {
            self.send(&payload, since_start)?;
        }
        Ok(())
    }

    /// Says goodbye, more than once.
    fn take_leave(&mut self) -> Result<(), VideoError> {
        for _ in 0..GOODBYES {
            self.time.sleep_until(self.time.now() + PAUSE);
            self.report(true)?;
        }
        Ok(())
    }

    //= S1.57
    /// Takes the answers to reports that have come, and notes it if none has for long.
    fn take_answers(&mut self) {
        let mut buffer = [0; 2_048];
        // A receiver that is not there yet is silent.
        while let Ok((length, _)) = self.reports.recv_from(&mut buffer) {
            let Ok(packets) = RtcpPacket::parse_compound(&buffer[..length]) else { continue };
            let now = self.time.now();
            let own = packets.iter().filter_map(|packet| match packet {
                RtcpPacket::Report { blocks, .. } => blocks.iter().find(|it| it.ssrc == self.ssrc),
                _ => None,
            });
            for block in own {
                let sent = u64::from(block.last_report) + u64::from(block.delay);
                let ticks = ((self.time.ntp(now) >> 16) as u32).wrapping_sub(sent as u32);
                // More than half of the range is a report from the future.
                let round_trip =
                    Duration::from_secs_f64(f64::from((ticks as i32).max(0)) / 65_536.0);
                self.control.handle_report(f64::from(block.fraction_lost) / 256.0, round_trip);
                self.answered = now;
            }
        }
        let now = self.time.now();
        if now.saturating_since(self.answered) > self.config.reports * (UNANSWERED + 1) {
            self.control.handle_silence();
            self.answered = now;
        }
    }

    //= S1.4
    //= S1.55
    fn send(&mut self, payload: &VideoPayload, since_start: u32) -> Result<(), VideoError> {
        let header = RtpHeader {
            marker: payload.is_last,
            payload_type: self.config.payload_type,
            sequence: self.sequence,
            timestamp: first_timestamp(self.ssrc).wrapping_add(since_start),
            ssrc: self.ssrc,
        };
        let packet = RtpPacket { header, payload: &payload.bytes, ..RtpPacket::default() }.encode();
        let exact = self.config.coverage.unwrap_or(RTP_HEADER_LEN + payload.exact);
        self.socket.send(&packet, exact, SocketAddr::new(self.config.to, self.config.port))?;
        self.sequence = self.sequence.wrapping_add(1);
        self.packets = self.packets.wrapping_add(1);
        self.octets = self.octets.wrapping_add(payload.bytes.len() as u32);
        Ok(())
    }

    fn report_if_due(&mut self) -> Result<(), VideoError> {
        let now = self.time.now();
        if self.reported.is_some_and(|last| now.saturating_since(last) < self.config.reports) {
            return Ok(());
        }
        if self.reported.replace(now).is_none() {
            // Nothing was to be answered before.
            self.answered = now;
        }
        self.report(false)
    }

    /// Sends a report, and at the end a goodbye.
    fn report(&self, is_last: bool) -> Result<(), VideoError> {
        let now = self.time.now();
        let info = SenderInfo {
            ntp: self.time.ntp(now),
            timestamp: first_timestamp(self.ssrc).wrapping_add(ticks(now)),
            packets: self.packets,
            octets: self.octets,
        };
        let name = SdesItem { kind: sdes::CNAME, text: b"windfall".to_vec() };
        let mut compound = vec![
            RtcpPacket::Report { ssrc: self.ssrc, sender: Some(info), blocks: Vec::new() },
            RtcpPacket::Description(vec![SourceChunk { ssrc: self.ssrc, items: vec![name] }]),
        ];
        if is_last {
            compound.push(RtcpPacket::Goodbye { sources: vec![self.ssrc], reason: None });
        }
        let to = SocketAddr::new(self.config.to, self.config.port + 1);
        match self.reports.send_to(&RtcpPacket::encode_compound(&compound), to) {
            Err(error) if !is_quiet(&error) => Err(error.into()),
            _ => Ok(()),
        }
    }
}
