//! The receiver of a video.

use std::net::{IpAddr, SocketAddr, UdpSocket};

use serde::Serialize;
use windfall_base::Duration;
use windfall_media::{ClipQuality, VideoFormat, YuvPicture};
use windfall_rtp::{CodedPicture, RtcpPacket, VIDEO_CLOCK, VideoCodec};
use windfall_socket::ChecksumErrors;

use crate::clock::VideoTime;
use crate::contents;
use crate::discards::VideoDiscards;
use crate::error::VideoError;
use crate::ffmpeg::{decode, decode_reordered};
use crate::intake::Intake;
use crate::missing::Missing;
use crate::session::{Session, first_timestamp};
use crate::socket::{VideoProtocol, VideoSocket};

/// The longest that the loop sleeps.
const TICK: Duration = Duration::from_millis(20);
/// Packets that a sender counts beyond those expected at most; more are another count.
const LONGEST_GAP: u32 = 1 << 24;

/// The settings of a receiver.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VideoReceiverConfig {
    /// The address to listen on.
    pub on: IpAddr,
    /// The port to listen on; reports come at the next.
    pub port: u16,
    /// The transport protocol.
    pub protocol: VideoProtocol,
    /// The format of the stream.
    pub codec: VideoCodec,
    /// The payload type of the stream; any if `None`.
    pub payload_type: Option<u8>,
    /// The playout delay of the jitter buffer.
    pub buffer: Duration,
    /// The time without a packet after which the stream has ended; before the first one six times
    /// as long.
    pub idle: Duration,
}

/// The findings of a receiver about a stream.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct VideoReport {
    /// The distinct packets of the source that came, late ones included.
    pub received: u32,
    /// The distinct packets of the source that did not come: those from the first number to the
    /// last less those received. Reports of RTCP subtract copies as well (RFC 3550, A.3).
    pub lost: u32,
    /// The pictures of which anything came.
    pub pictures: usize,
    /// The pictures of which no packet is missing.
    pub whole: usize,
    /// The pictures of which nothing came, by the times of the others and the packets that are
    /// missing.
    pub pictures_lost: usize,
    /// The packets that the sender counts in its goodbye beyond the expected ones: before the first
    /// that came, or after the last. `None` if no goodbye came.
    pub lost_outside: Option<u32>,
    /// The datagrams that came and were discarded here.
    pub discarded: VideoDiscards,
    /// The mean time from the picture to the arrival of its packets, by the sender's reports.
    pub delay_seconds: Option<f64>,
    /// The interarrival jitter (RFC 3550, A.8).
    pub jitter_seconds: f64,
    /// The mean PSNR against the original.
    pub psnr_db: Option<f64>,
    /// The mean structural similarity to the original.
    pub ssim: Option<f64>,
    /// The pictures that repeat the one before although the original moves.
    pub frozen: Option<usize>,
}

/// A stream as it arrived.
#[derive(Clone, Debug)]
pub struct ReceivedVideo {
    /// The findings about it.
    pub report: VideoReport,
    pictures: Vec<CodedPicture>,
    ssrc: u32,
    seen_first: u32,
}

//= S1.4
//= S1.8
/// Receives one stream until its goodbye, or until nothing more comes, or until `is_stopped` says
/// so, which is asked many times a second. Of several sources that send at once it is the one of
/// the most packets; what is no RTP, or of another payload type than the first packet of its
/// source, or from another address than its others, is ignored and counted.
///
/// # Errors
/// If there is no socket, or it fails, or no picture comes.
pub fn receive_video(
    config: &VideoReceiverConfig,
    is_stopped: &mut dyn FnMut() -> bool,
) -> Result<ReceivedVideo, VideoError> {
    let time = VideoTime::start();
    let at = SocketAddr::new(config.on, config.port);
    let checksums = ChecksumErrors::now();
    let socket = VideoSocket::bind(config.protocol, at)?;
    let at = SocketAddr::new(config.on, config.port + 1);
    let control = UdpSocket::bind(at).map_err(|error| VideoError::Bind(at, error))?;
    control.set_nonblocking(true)?;
    let start = time.now();
    let mut intake = Intake::new(config.codec, config.payload_type, config.buffer);
    let mut arrivals = Vec::new();
    loop {
        socket.receive(TICK, &mut arrivals)?;
        let now = time.now();
        for (from, bytes) in arrivals.drain(..) {
            intake.take(&time, now, from, &bytes);
        }
        take_reports(&control, &mut intake);
        let is_stopped = is_stopped();
        let Some(busiest) = intake.busiest() else {
            let is_late = now.saturating_since(start) > config.idle.saturating_mul(6);
            let strangers = intake.outside();
            match (is_stopped, strangers) {
                (true, _) => return Err(VideoError::Stopped(config.port)),
                (false, 0) if is_late => return Err(VideoError::Silence(config.port)),
                (false, _) if is_late => {
                    let port = config.port;
                    let kind = config.payload_type;
                    return Err(VideoError::Strangers { port, kind, strangers });
                }
                _ => continue,
            }
        };
        if !(intake.play(busiest, now, config.idle) || is_stopped) {
            continue;
        }
        let Some((session, discarded)) = intake.finish(busiest) else {
            return Err(VideoError::Silence(config.port));
        };
        // The system counts both kinds of a socket as one.
        let dropped = socket.dropped();
        let bad_checksum = dropped.min(checksums.since());
        let socket_full = dropped - bad_checksum;
        let discarded = VideoDiscards { bad_checksum, socket_full, ..discarded };
        let video = ReceivedVideo::of(busiest, session, discarded);
        return match video.check(config.codec, config.port) {
            Err(VideoError::NoPicture { port, .. }) if is_stopped => Err(VideoError::Stopped(port)),
            checked => checked.map(|()| video),
        };
    }
}

/// Takes what has come of RTCP, and answers it.
fn take_reports(control: &UdpSocket, intake: &mut Intake) {
    let mut buffer = [0; 2_048];
    while let Ok((length, from)) = control.recv_from(&mut buffer) {
        let Ok(packets) = RtcpPacket::parse_compound(&buffer[..length]) else { continue };
        for answer in intake.take_reports(from.ip(), &packets) {
            // A report that is lost is followed by others.
            let _ = control.send_to(&answer, from);
        }
    }
}

impl ReceivedVideo {
    fn of(ssrc: u32, session: Session, discarded: VideoDiscards) -> Self {
        let statistics = &session.statistics;
        let expected = statistics.total_expected();
        let lost = statistics.total_missing();
        // A number of another sender's making may be anything.
        let lost_outside = session.sent.map(|sent| sent.wrapping_sub(statistics.expected()));
        let lost_outside = lost_outside.filter(|it| *it < LONGEST_GAP);
        let missing = Missing { inside: lost, outside: lost_outside.unwrap_or(0), expected };
        let report = VideoReport {
            received: statistics.total_distinct(),
            lost,
            discarded,
            pictures: session.pictures.len(),
            whole: session.pictures.iter().filter(|it| it.is_whole).count(),
            pictures_lost: missing.pictures(session.pictures.iter().map(|it| it.timestamp)),
            lost_outside,
            delay_seconds: session.delay(),
            jitter_seconds: f64::from(statistics.jitter()) / f64::from(VIDEO_CLOCK),
            ..VideoReport::default()
        };
        Self { report, ssrc, seen_first: session.seen_first, pictures: session.pictures }
    }

    /// Returns an error if no picture of the format can be decoded.
    fn check(&self, codec: VideoCodec, port: u16) -> Result<(), VideoError> {
        let has = |is_wanted: fn(u8) -> bool| {
            self.pictures.iter().any(|it| contents::h264_types(&it.data).any(is_wanted))
        };
        let has_h265 = |is_wanted: fn(u8) -> bool| {
            self.pictures.iter().any(|it| contents::h265_types(&it.data).any(is_wanted))
        };
        let has_picture = match codec {
            VideoCodec::H263Plus | VideoCodec::H263 => {
                self.pictures.iter().any(|it| contents::has_h263_picture(&it.data))
            }
            VideoCodec::H264 => has(contents::is_h264_slice),
            VideoCodec::H265 => has_h265(contents::is_h265_slice),
        };
        if !has_picture {
            return Err(VideoError::NoPicture { port, packets: self.report.received });
        }
        let lacks_sets = match codec {
            VideoCodec::H264 => !has(contents::is_h264_set),
            VideoCodec::H265 => !has_h265(contents::is_h265_set),
            VideoCodec::H263Plus | VideoCodec::H263 => false,
        };
        if lacks_sets {
            return Err(VideoError::NoParameters(port));
        }
        Ok(())
    }

    /// Returns the stream that arrived: the pictures one after the other.
    #[must_use]
    pub fn stream(&self) -> Vec<u8> {
        self.pictures.iter().flat_map(|it| &it.data).copied().collect()
    }

    /// Returns `count` coded pictures at `rate` a second, of which those without bytes are missing.
    #[must_use]
    pub fn coded(&self, rate: f64, count: usize) -> Vec<Vec<u8>> {
        let mut coded = vec![Vec::new(); count];
        for (picture, place) in self.pictures.iter().zip(self.places(rate, count)) {
            if let Some(place) = coded.get_mut(place) {
                place.clone_from(&picture.data);
            }
        }
        coded
    }

    /// Decodes `count` pictures, each of which repeats the one before where none can be decoded.
    ///
    /// # Errors
    /// If ffmpeg is missing or fails.
    pub fn decode(
        &self,
        codec: VideoCodec,
        format: VideoFormat,
        count: usize,
    ) -> Result<Vec<YuvPicture>, VideoError> {
        let mut places = self.places(format.rate, count);
        let reorders = matches!(codec, VideoCodec::H264 | VideoCodec::H265);
        if !reorders || places.is_sorted() {
            return Ok(decode(codec, format, &self.coded(format.rate, count))?);
        }
        places.sort_unstable();
        Ok(decode_reordered(codec, format, &self.stream(), &places, count)?)
    }

    /// Returns the place of each picture that came among `count` pictures at `rate` a second.
    fn places(&self, rate: f64, count: usize) -> Vec<usize> {
        let place = |ticks: f64| (ticks / f64::from(VIDEO_CLOCK) * rate).round();
        // Other programs begin anywhere.
        let ours = first_timestamp(self.ssrc);
        let is_ours = (0.0..count as f64).contains(&place(ticks_since(self.seen_first, ours)));
        let first = if is_ours { ours } else { self.seen_first };
        let place = |it: &CodedPicture| place(ticks_since(it.timestamp, first)).max(0.0) as usize;
        self.pictures.iter().map(place).collect()
    }
}

/// Returns the ticks from the first timestamp to another one.
fn ticks_since(timestamp: u32, first: u32) -> f64 {
    f64::from(timestamp.wrapping_sub(first) as i32)
}

impl VideoReport {
    /// Adds the quality of the pictures.
    pub fn set_quality(&mut self, quality: &ClipQuality) {
        self.psnr_db = quality.mean_psnr();
        self.ssim = quality.mean_ssim();
        self.frozen = Some(quality.frozen.len());
    }

    /// Returns the report in a few lines.
    #[must_use]
    pub fn to_text(&self) -> String {
        let Self { received, lost, pictures, whole, pictures_lost, jitter_seconds, .. } = self;
        let mut text = format!("{received} packets received, {lost} lost");
        if let Some(more) = self.lost_outside.filter(|it| *it > 0) {
            text += &format!(" and {more} at the ends");
        }
        let all = pictures + pictures_lost;
        text += &format!("; {whole} of {all} pictures whole, {pictures_lost} lost\n");
        let discarded: Vec<_> =
            self.discarded.reasons().map(|(reason, count)| format!("{count} {reason}")).collect();
        if !discarded.is_empty() {
            text += &format!("discarded here: {}\n", discarded.join(", "));
        }
        text += &match self.delay_seconds {
            Some(delay) => format!("mean delay {delay:.3} s, "),
            None => "no report of the sender came, ".to_owned(),
        };
        text += &format!("interarrival jitter {jitter_seconds:.3} s\n");
        if let (Some(psnr), Some(ssim), Some(frozen)) = (self.psnr_db, self.ssim, self.frozen) {
            text += &format!(
                "against the original: PSNR {psnr:.1} dB, SSIM {ssim:.3}, {frozen} frozen\n"
            );
        }
        text
    }
}
