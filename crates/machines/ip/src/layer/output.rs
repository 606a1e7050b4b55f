//! Output: packets of the host above, and messages of the layer itself.

use core::net::IpAddr;

use bytes::Bytes;
use windfall_base::{Damage, DropReason, Frame, Instant, Payload, Tag};
use windfall_wire_net::{Addresses, Ipv4Repr, Ipv6Repr, Protocol, WireError, ipv6};

use super::{IpSendError, Layer, Outbound, Transit};
use crate::event::IpEventKind;
use crate::fragment;

/// The header of a packet that starts here.
enum Header {
    V4(Ipv4Repr),
    V6(Ipv6Repr),
}

impl Layer {
    /// Sends a packet that starts here, in fragments if need be.
    pub(super) fn send(&mut self, now: Instant, packet: Outbound<'_>) -> Result<(), IpSendError> {
        let destination = packet.addresses.dst();
        let len = packet.header.len() + packet.data.len();
        let header = self.header_for(&packet, len).map_err(|_| IpSendError::TooLong(len))?;
        self.taken += 1;
        if self.is_local(destination) {
            let payload = whole(&header, packet.header, packet.data);
            let damage = Damage::default();
            self.receive(now, Transit { interface: None, payload, damage, tag: None });
            return Ok(());
        }
        let total = header.len() + len;
        let Some(interface) = self.interface_towards(destination) else {
            self.discard(now, None, total, DropReason::NoRoute);
            return Err(IpSendError::NoRoute(destination));
        };
        let link = self.config.interfaces[interface].mtu;
        // TCP fits its segments to the path itself, and probes whether a longer one passes.
        let mtu = if packet.protocol == Protocol::TCP {
            link
        } else {
            self.sent_lately.note(destination, packet.protocol, packet.header, total);
            self.path_mtus.get(now, destination, link)
        };
        if total <= mtu {
            let payload = whole(&header, packet.header, packet.data);
            self.transmit.push_back((interface, Frame::packet(payload)));
            return Ok(());
        }
        let data = Payload::new(Bytes::copy_from_slice(packet.header), packet.data);
        let fragments = match header {
            Header::V4(repr) => fragment::cut_v4(&repr, &data, mtu),
            Header::V6(repr) => {
                let identification = self.identification();
                fragment::cut_v6(&repr, identification, &data, mtu)
            }
        };
        self.transmit_fragments(now, interface, None, fragments.into_iter().map(Frame::packet));
        Ok(())
    }

    /// Returns the header for a packet of `len` bytes of content.
    ///
    /// Over IPv4 no router may fragment it, so that routers report the path MTU (RFC 1191), unless
    /// it is fragmented here.
    fn header_for(&mut self, packet: &Outbound<'_>, len: usize) -> Result<Header, WireError> {
        let protocol = packet.protocol;
        let hop_limit = self.config.hop_limit;
        match packet.addresses {
            Addresses::V4 { src, dst } => {
                let identification = self.identification() as u16;
                let mut repr = Ipv4Repr::new(src, dst, protocol, len)?;
                (repr.hop_limit, repr.identification) = (hop_limit, identification);
                (repr.dont_fragment, repr.tos) = (true, packet.ecn.bits());
                Ok(Header::V4(repr))
            }
            Addresses::V6 { src, dst } => {
                let mut repr = Ipv6Repr::new(src, dst, protocol, len)?;
                (repr.hop_limit, repr.traffic_class) = (hop_limit, packet.ecn.bits());
                Ok(Header::V6(repr))
            }
        }
    }

    fn identification(&mut self) -> u32 {
        let identification = self.next_identification;
        self.next_identification = identification.wrapping_add(1);
        identification
    }

    /// Puts the fragments of one packet on an interface; the others originate here.
    pub(super) fn transmit_fragments(
        &mut self,
        now: Instant,
        interface: usize,
        tag: Option<Tag>,
        fragments: impl ExactSizeIterator<Item = Frame>,
    ) {
        self.taken += fragments.len() as u64 - 1;
        self.note(now, IpEventKind::Fragmented { tag, fragments: fragments.len() });
        self.transmit.extend(fragments.map(|fragment| (interface, fragment)));
    }

    /// Returns the station's address for a message about something that came in by `interface`.
    pub(super) fn address_towards(
        &self,
        interface: Option<usize>,
        destination: IpAddr,
    ) -> Option<IpAddr> {
        let there = interface.and_then(|interface| self.address_on(interface, destination));
        there.or_else(|| self.source_for(destination))
    }
}

impl Header {
    fn len(&self) -> usize {
        match self {
            Self::V4(repr) => repr.header_len(),
            Self::V6(_) => ipv6::HEADER_LEN,
        }
    }
}

/// Returns the packet in two slices: all headers in one, the data, shared, in the other.
fn whole(header: &Header, upper: &[u8], data: Bytes) -> Payload {
    let len = header.len();
    // An allocator gives room that is zeroed much more slowly.
    let mut head = Vec::with_capacity(len + upper.len());
    head.resize(len, 0);
    match header {
        Header::V4(repr) => repr.emit(&mut head),
        Header::V6(repr) => repr.emit(&mut head),
    }
    head.extend_from_slice(upper);
    Payload::new(head.into(), data)
}
