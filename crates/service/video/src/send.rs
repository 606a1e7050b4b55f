//! The sender of a video.

use std::net::{IpAddr, SocketAddr, UdpSocket};

use windfall_base::{Duration, Instant};
use windfall_rtp::{
    RTP_HEADER_LEN, RtcpPacket, RtpHeader, RtpPacket, SdesItem, SdpSession, SenderInfo,
    SourceChunk, VIDEO_CLOCK, VideoPayload, packetize, sdes,
};

use crate::PAYLOAD_TYPE;
use crate::clip::CodedClip;
use crate::clock::{VideoTime, ticks};
use crate::error::VideoError;
use crate::session::first_timestamp;
use crate::socket::{VideoProtocol, VideoSocket, is_quiet};

/// The time between two sender reports, the least of RFC 3550.
const REPORTS: Duration = Duration::from_secs(5);
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
    /// The most bytes of a payload.
    pub payload: usize,
    /// Bytes behind the header of UDP-Lite that its checksum covers; up to the header of the
    /// picture or slice if `None`.
    pub coverage: Option<usize>,
    /// Packets behind the first of a picture repeat its header.
    pub repeat: bool,
}

impl VideoSenderConfig {
    /// Returns the session description by which players find the stream.
    #[must_use]
    pub fn description(&self, clip: &CodedClip) -> String {
        let size = (clip.format.width, clip.format.height, clip.format.rate);
        let (address, port, codec) = (self.to, self.port, clip.codec);
        let size = Some(size);
        SdpSession { address, port, payload_type: PAYLOAD_TYPE, codec, size }.to_text(&clip.name)
    }

    /// Returns the mean load of the clip in b/s, with the headers of IPv4, UDP and RTP.
    #[must_use]
    pub fn load(&self, clip: &CodedClip) -> f64 {
        let payloads = clip.coded.iter().flat_map(|picture| self.payloads(clip, picture));
        let bytes = payloads.map(|it| it.bytes.len() + RTP_HEADER_LEN + IP_UDP_LEN);
        8.0 * bytes.sum::<usize>() as f64 / clip.seconds()
    }

    fn payloads(&self, clip: &CodedClip, picture: &[u8]) -> Vec<VideoPayload> {
        packetize(clip.codec, picture, self.payload, self.repeat)
    }
}

/// Sends each picture of a clip at its time, and reports meanwhile; returns the number of packets.
///
/// # Errors
/// If there is no socket, or it fails.
//= S1.4
//= S1.8
pub fn send_video(config: &VideoSenderConfig, clip: &CodedClip) -> Result<u32, VideoError> {
    let mut sender = Sender::new(config)?;
    for (number, picture) in clip.coded.iter().enumerate() {
        let at = number as f64 / clip.format.rate;
        sender.time.sleep_until(Instant::START + Duration::from_secs_f64(at));
        sender.report_if_due()?;
        let since_start = (at * f64::from(VIDEO_CLOCK)) as u32;
        for payload in config.payloads(clip, picture) {
            sender.send(&payload, since_start)?;
        }
    }
    for _ in 0..GOODBYES {
        sender.time.sleep_until(sender.time.now() + PAUSE);
        sender.report(true)?;
    }
    Ok(sender.packets)
}

/// A sender, and the fields of its reports.
struct Sender<'a> {
    config: &'a VideoSenderConfig,
    time: VideoTime,
    socket: VideoSocket,
    control: UdpSocket,
    ssrc: u32,
    sequence: u16,
    packets: u32,
    octets: u32,
    reported: Option<Instant>,
}

impl<'a> Sender<'a> {
    fn new(config: &'a VideoSenderConfig) -> Result<Self, VideoError> {
        let local: IpAddr = if config.to.is_ipv4() { [0; 4].into() } else { [0; 16].into() };
        let any = SocketAddr::new(local, 0);
        let socket = VideoSocket::bind(config.protocol, any)?;
        let control = UdpSocket::bind(any).map_err(|error| VideoError::Bind(any, error))?;
        let time = VideoTime::start();
        // Two senders at once have different names unless they start in the same microsecond.
        let now = time.ntp(time.now());
        let ssrc = (now >> 12) as u32 ^ std::process::id().rotate_left(16);
        let sequence = now as u16;
        Ok(Self {
            config,
            time,
            socket,
            control,
            ssrc,
            sequence,
            packets: 0,
            octets: 0,
            reported: None,
        })
    }

    //= S1.4
    //= S1.55
    fn send(&mut self, payload: &VideoPayload, since_start: u32) -> Result<(), VideoError> {
        let header = RtpHeader {
            marker: payload.is_last,
            payload_type: PAYLOAD_TYPE,
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
        if self.reported.is_some_and(|last| now.saturating_since(last) < REPORTS) {
            return Ok(());
        }
        self.reported = Some(now);
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
        match self.control.send_to(&RtcpPacket::encode_compound(&compound), to) {
            Err(error) if !is_quiet(&error) => Err(error.into()),
            _ => Ok(()),
        }
    }
}
