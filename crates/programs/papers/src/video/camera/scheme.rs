//! The ways in which the stream crosses the link.

use core::net::Ipv4Addr;

use windfall_base::{Duration, Instant};
use windfall_media::H264Protector;
use windfall_rtp::{RtpHeader, RtpPacket, VIDEO_CLOCK, VideoCodec, packetize};
use windfall_video::wsim::{WsimProtocol, rtp_datagram};

use super::flight::FORMAT;

/// The drone and the pilot.
pub(super) const ENDS: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 77, 0, 1), Ipv4Addr::new(10, 77, 0, 2)];
/// The most bytes behind the header of RTP.
const LONGEST: usize = 1_200;
/// Bytes of a slice, so that its packet is not much longer than [`LONGEST`].
pub(super) const SLICE: u32 = 1_100;

/// A way to protect the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scheme {
    pub(super) name: &'static str,
    pub(super) protocol: WsimProtocol,
    /// Cut into protected parts; else RTP payloads of RFC 6184.
    pub(super) is_protected: bool,
    /// The link passes up damaged packets.
    pub(super) takes_damaged: bool,
    /// Further keys of the link.
    pub(super) link: &'static str,
    /// Further keys of the flow.
    pub(super) flow: &'static str,
    /// The time that a picture whose end came damaged waits for a better copy.
    pub(super) wait: Duration,
}

pub(super) const ARQ: usize = 0;
pub(super) const BLOCKS: usize = 1;
pub(super) const BARE: usize = 2;
pub(super) const PARTS: usize = 3;
pub(super) const PARTS_ARQ: usize = 4;

/// The ways, in the order of the tables.
pub(super) const SCHEMES: [Scheme; 5] = [
    Scheme {
        name: "RTP over UDP, ARQ",
        protocol: WsimProtocol::Udp,
        is_protected: false,
        takes_damaged: false,
        link: "",
        flow: "",
        wait: Duration::ZERO,
    },
    Scheme { name: "8/12, no ARQ", link: "arq = \"none\"\nfec = \"8/12\"\n", ..PLAIN },
    Scheme {
        name: "bare over UDP-Lite",
        protocol: WsimProtocol::UdpLite,
        takes_damaged: true,
        ..PLAIN
    },
    Scheme {
        name: "protected parts",
        protocol: WsimProtocol::UdpLite,
        is_protected: true,
        takes_damaged: true,
        ..PLAIN
    },
    Scheme {
        name: "protected parts, ARQ",
        protocol: WsimProtocol::UdpLite,
        is_protected: true,
        takes_damaged: true,
        flow: "attempts = 7\n",
        wait: Duration::from_millis(10),
        ..PLAIN
    },
];

const PLAIN: Scheme = Scheme {
    name: "",
    protocol: WsimProtocol::Udp,
    is_protected: false,
    takes_damaged: false,
    link: "",
    flow: "",
    wait: Duration::ZERO,
};

/// Returns the instant of a picture.
pub(super) fn instant(picture: usize) -> Instant {
    Instant::START + Duration::from_secs_f64(picture as f64 / FORMAT.rate)
}

/// Returns the ticks of the clock of RTP at a picture.
fn ticks(picture: usize) -> u32 {
    (picture as f64 / FORMAT.rate * f64::from(VIDEO_CLOCK)).round() as u32
}

/// Returns the picture of a timestamp.
pub(super) fn picture_at(timestamp: u32) -> usize {
    (f64::from(timestamp) / f64::from(VIDEO_CLOCK) * FORMAT.rate).round() as usize
}

impl Scheme {
    /// Returns the packets of all pictures with their times.
    pub(super) fn packets(&self, coded: &[Vec<u8>]) -> Vec<(Instant, Vec<u8>)> {
        let mut protector = H264Protector::new(LONGEST).expect("the length is one of parts");
        let mut packets = Vec::new();
        for (picture, bytes) in coded.iter().enumerate() {
            let payloads: Vec<(Vec<u8>, usize)> = if self.is_protected {
                let parts = protector.push(bytes);
                parts.into_iter().map(|part| (part.bytes, part.exact)).collect()
            } else {
                // The stream as it stands: nothing but the header of RTP is covered.
                let payloads = packetize(VideoCodec::H264, bytes, LONGEST, false);
                payloads.into_iter().map(|payload| (payload.bytes, 0)).collect()
            };
            let last = payloads.len().saturating_sub(1);
            for (place, (payload, exact)) in payloads.iter().enumerate() {
                let header = RtpHeader {
                    marker: place == last,
                    payload_type: 96,
                    sequence: packets.len() as u16,
                    timestamp: ticks(picture),
                    ssrc: 1,
                };
                let rtp = RtpPacket { header, payload, ..RtpPacket::default() }.encode();
                packets.push((instant(picture), rtp_datagram(self.protocol, ENDS, &rtp, *exact)));
            }
        }
        packets
    }
}
