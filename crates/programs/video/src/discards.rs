//! What a receiver discards, by its reason.

use serde::Serialize;

/// The datagrams that came and were discarded here, by their reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct VideoDiscards {
    /// Packets that came after their playout time.
    pub late: u64,
    /// Packets that had come before.
    pub copies: u64,
    /// Packets whose numbers were far from all others, and that no second one confirmed.
    pub far: u64,
    /// Packets that found the jitter buffer full.
    pub overflow: u64,
    /// Packets whose payload is not of the format.
    pub malformed: u64,
    /// Packets of other sources (SSRC), and of others that bear the identifier of one.
    pub other_sources: u64,
    /// Packets of another payload type than the one asked for, or than their source's.
    pub other_types: u64,
    /// Packets whose contributing sources or extension are longer than they are themselves.
    pub cut_headers: u64,
    /// Packets whose padding is empty or longer than they are themselves.
    pub bad_padding: u64,
    /// Packets of RTCP, whose place is the next port.
    pub rtcp: u64,
    /// Datagrams that are no packets of RTP or RTCP.
    pub strangers: u64,
    /// Datagrams whose UDP checksum is wrong, of all sources.
    pub bad_checksum: u64,
    /// Datagrams that found the socket's buffer full, of all sources.
    pub socket_full: u64,
}

impl VideoDiscards {
    /// Returns the reasons for which datagrams were discarded, with their numbers.
    pub(crate) fn reasons(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let all = [
            ("late", self.late),
            ("copies", self.copies),
            ("of numbers far from all others", self.far),
            ("beyond the jitter buffer", self.overflow),
            ("malformed", self.malformed),
            ("of other sources", self.other_sources),
            ("of other payload types", self.other_types),
            ("with headers beyond their end", self.cut_headers),
            ("with impossible padding", self.bad_padding),
            ("of RTCP on the port of RTP", self.rtcp),
            ("that are no RTP", self.strangers),
            ("with wrong checksums", self.bad_checksum),
            ("beyond the socket's buffer", self.socket_full),
        ];
        all.into_iter().filter(|(_, count)| *count > 0)
    }

    /// Returns the datagrams that belong to no stream.
    pub(crate) const fn outside(&self) -> u64 {
        self.other_types + self.cut_headers + self.bad_padding + self.rtcp + self.strangers
    }
}
