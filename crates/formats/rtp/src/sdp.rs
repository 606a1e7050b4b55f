//! Session descriptions (RFC 8866) of one stream of video.

use core::fmt::Write as _;
use core::net::IpAddr;

use crate::VIDEO_CLOCK;
use crate::payload::VideoCodec;

/// One stream of video, as a player must know it.
#[derive(Clone, Debug, PartialEq)]
pub struct SdpSession {
    /// The address at which the player listens.
    pub address: IpAddr,
    /// The port for RTP; RTCP has the next.
    pub port: u16,
    /// The payload type.
    pub payload_type: u8,
    /// The format of the stream.
    pub codec: VideoCodec,
    /// Width, height and pictures a second, if they are known.
    pub size: Option<(u32, u32, f64)>,
}

impl SdpSession {
    /// Returns the description; `name` is a line of text.
    #[must_use]
    pub fn to_text(&self, name: &str) -> String {
        let family = if self.address.is_ipv6() { "IP6" } else { "IP4" };
        let at = self.address;
        let name: String = name.chars().filter(|c| !c.is_control()).collect();
        let name = if name.is_empty() { "-".to_owned() } else { name };
        let kind = self.payload_type;
        let mut out = format!("v=0\r\no=- 0 0 IN {family} {at}\r\ns={name}\r\n");
        // Writing to a string cannot fail.
        let _ = write!(out, "c=IN {family} {at}\r\nt=0 0\r\n");
        let _ = write!(out, "m=video {} RTP/AVP {kind}\r\n", self.port);
        let _ = write!(out, "a=rtpmap:{kind} {}/{VIDEO_CLOCK}\r\n", self.codec.name());
        if self.codec == VideoCodec::H264 {
            let _ = write!(out, "a=fmtp:{kind} packetization-mode=1\r\n");
        }
        if let Some((width, height, rate)) = self.size {
            let _ = write!(out, "a=framesize:{kind} {width}-{height}\r\na=framerate:{rate}\r\n");
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_names_address_port_type_and_clock() {
        let session = SdpSession {
            address: "127.0.0.1".parse().unwrap(),
            port: 5004,
            payload_type: 96,
            codec: VideoCodec::H263Plus,
            size: Some((176, 144, 10.0)),
        };
        let text = session.to_text("a head\nthat talks");
        assert!(text.starts_with("v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\ns=a headthat talks\r\n"));
        assert!(text.contains("m=video 5004 RTP/AVP 96\r\na=rtpmap:96 H263-1998/90000\r\n"));
        assert!(text.contains("a=framesize:96 176-144\r\na=framerate:10\r\n"), "{text}");
    }
}
