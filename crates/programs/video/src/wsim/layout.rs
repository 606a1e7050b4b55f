//! The headers before a packet of video, as Figure 3 shows them.

use crate::wsim::literal::LITERAL_HEADERS;
use crate::wsim::run::WsimProtocol;

/// A part of the headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeaderPart {
    /// The layer and the field.
    pub name: &'static str,
    /// Its first byte.
    pub offset: usize,
    /// Its length in bytes.
    pub length: usize,
}

//= S1.5
//= S1.60
//= S1.64
/// The headers of a packet with their offsets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderLayout {
    /// The parts in the order of transmission.
    pub parts: Vec<HeaderPart>,
}

/// PPP up to its protocol field; flag and check behind the packet are not among the headers.
const PPP: [(&str, usize); 4] =
    [("PPP flag 7e", 1), ("PPP address ff", 1), ("PPP control 03", 1), ("PPP protocol 0021", 2)];
const IP: [(&str, usize); 10] = [
    ("IP version, length", 1),
    ("IP type of service", 1),
    ("IP total length", 2),
    ("IP identification", 2),
    ("IP fragment", 2),
    ("IP hop limit", 1),
    ("IP protocol", 1),
    ("IP checksum", 2),
    ("IP source", 4),
    ("IP destination", 4),
];
const RTP: [(&str, usize); 5] = [
    ("RTP version, padding, sources", 1),
    ("RTP marker, payload type", 1),
    ("RTP sequence number", 2),
    ("RTP timestamp", 4),
    ("RTP source", 4),
];

impl HeaderLayout {
    /// Returns the headers as they are on the line, up to the payload header of RFC 4629.
    #[must_use]
    pub fn exact(protocol: WsimProtocol) -> Self {
        let fields = PPP.into_iter().chain(IP).chain(transport(protocol)).chain(RTP);
        Self::of(fields.chain([("payload header of H.263+", 2)]))
    }

    /// Returns the headers by the paper's count: seven bytes each for PPP, with its check, and RTP.
    #[must_use]
    pub fn literal(protocol: WsimProtocol) -> Self {
        let fields = [("PPP", 7)].into_iter().chain(IP).chain(transport(protocol));
        Self::of(fields.chain([("RTP", 7)]))
    }

    fn of(fields: impl Iterator<Item = (&'static str, usize)>) -> Self {
        let mut offset = 0;
        let part = |(name, length)| {
            let part = HeaderPart { name, offset, length };
            offset += length;
            part
        };
        Self { parts: fields.map(part).collect() }
    }

    /// Returns the length of all of them.
    #[must_use]
    pub fn total(&self) -> usize {
        self.parts.iter().map(|part| part.length).sum()
    }
}

fn transport(protocol: WsimProtocol) -> [(&'static str, usize); 4] {
    match protocol {
        WsimProtocol::Udp => [
            ("UDP source port", 2),
            ("UDP destination port", 2),
            ("UDP length", 2),
            ("UDP checksum", 2),
        ],
        WsimProtocol::UdpLite => [
            ("UDP-Lite source port", 2),
            ("UDP-Lite destination port", 2),
            ("UDP-Lite checksum coverage", 2),
            ("UDP-Lite checksum", 2),
        ],
    }
}

const _: () = assert!(LITERAL_HEADERS == 7 + 20 + 8 + 7);

#[cfg(test)]
mod tests {
    use super::*;

    //= S1.5
    //= S1.38
    //= S1.60
    //= S1.64
    #[test]
    fn the_layouts_add_up_to_the_configured_headers() {
        for protocol in [WsimProtocol::Udp, WsimProtocol::UdpLite] {
            assert_eq!(HeaderLayout::literal(protocol).total(), LITERAL_HEADERS);
            let exact = HeaderLayout::exact(protocol);
            assert_eq!(exact.total(), 5 + 20 + 8 + 12 + 2);
            let ends = exact.parts.iter().map(|part| part.offset + part.length);
            let starts = exact.parts.iter().skip(1).map(|part| part.offset);
            assert!(starts.zip(ends).all(|(start, end)| start == end));
        }
        let coverage = HeaderLayout::exact(WsimProtocol::UdpLite);
        let coverage = coverage.parts.iter().find(|part| part.name.ends_with("coverage"));
        assert_eq!(coverage.map(|part| part.offset), Some(5 + 20 + 4));
    }
}
