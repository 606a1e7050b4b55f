//! Segments on their way in and out of a connection.

use bytes::Bytes;
use windfall_base::Payload;
use windfall_wire_net::{Addresses, Ecn, TcpFlags, TcpHeaderBytes, TcpRepr};

/// A segment whose header is trusted: the checksum held, or the detection option did.
#[derive(Clone, Debug, Default)]
pub struct Segment {
    /// The header of the segment.
    pub header: TcpRepr,
    /// The ECN field of the packet.
    pub ecn: Ecn,
    /// The data of the segment.
    pub data: Bytes,
    /// The checksum failed: only fields that the detection option covers can be used.
    pub damaged: bool,
    /// Bytes of data that the packet lacks although the IP header promised them.
    pub missing: u32,
    /// Frames that the link knows to have lost right before it.
    pub lost_before: u16,
}

impl Segment {
    /// Returns whether any of `flags` is set.
    #[must_use]
    pub const fn has_any(&self, flags: TcpFlags) -> bool {
        self.header.flags.has_any(flags)
    }

    /// Returns the number of sequence numbers that the segment takes: its data, SYN and FIN.
    #[must_use]
    pub fn span(&self) -> u64 {
        let controls = self.header.flags.0 & (TcpFlags::SYN | TcpFlags::FIN).0;
        self.data.len() as u64 + u64::from(self.missing) + u64::from(controls.count_ones())
    }
}

/// The fields of an IP packet that matter to the segment in it.
#[derive(Clone, Copy, Debug)]
pub struct SegmentMeta {
    /// From whom and to whom.
    pub addresses: Addresses,
    /// The ECN field.
    pub ecn: Ecn,
    /// Bytes that the IP header promised and the packet lacks.
    pub missing: u32,
    /// Frames that the link knows to have lost right before it.
    pub lost_before: u16,
}

/// A segment to put into an IP packet; the checksum is in the header.
#[derive(Clone, Debug)]
pub struct TcpTransmit {
    /// From whom and to whom.
    pub addresses: Addresses,
    /// The ECN field that the packet must have.
    pub ecn: Ecn,
    /// The TCP header with its options.
    pub header: TcpHeaderBytes,
    /// The data, shared with the send buffer.
    pub data: Bytes,
}

impl TcpTransmit {
    /// Returns the metadata with which the segment arrives if nothing happens to it on the way.
    #[must_use]
    pub const fn meta(&self) -> SegmentMeta {
        SegmentMeta { addresses: self.addresses, ecn: self.ecn, missing: 0, lost_before: 0 }
    }

    /// Returns the segment as one payload in two slices; the header is copied.
    #[must_use]
    pub fn payload(&self) -> Payload {
        Payload::new(Bytes::copy_from_slice(&self.header), self.data.clone())
    }

    /// Returns the length of the segment in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.header.len() + self.data.len()
    }

    /// Returns whether it carries no data.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_takes_the_numbers_of_its_data_present_or_not_and_of_syn_and_fin() {
        // RFC 9293, section 3.4.
        let span = |flags| {
            let header = TcpRepr { flags, ..TcpRepr::default() };
            let data = Bytes::from_static(b"abc");
            Segment { header, data, missing: 4, ..Segment::default() }.span()
        };
        assert_eq!(span(TcpFlags::ACK), 7);
        assert_eq!(span(TcpFlags::FIN | TcpFlags::ACK), 8);
        assert_eq!(span(TcpFlags::SYN | TcpFlags::FIN), 9);
    }

    #[test]
    fn a_segment_to_send_is_empty_without_data_and_as_long_as_header_and_data() {
        let address = core::net::Ipv4Addr::LOCALHOST.into();
        let addresses = Addresses::new(address, address).unwrap();
        let header = TcpHeaderBytes::try_from(&[0; 20][..]).unwrap();
        let ecn = Ecn::NotCapable;
        let data = Bytes::new();
        let mut transmit = TcpTransmit { addresses, ecn, header, data };
        assert_eq!((transmit.is_empty(), transmit.len()), (true, 20));
        transmit.data = Bytes::from_static(b"abc");
        assert_eq!((transmit.is_empty(), transmit.len()), (false, 23));
    }
}
