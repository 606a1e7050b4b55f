//! Input: validation, delivery to the host, reassembly, forwarding.

use core::net::IpAddr;

use bytes::{Bytes, BytesMut};
use windfall_base::{Check, Damage, DropReason, Frame, Instant, Payload};
use windfall_wire_net::ipv6::Upper;
use windfall_wire_net::ipv6::WalkError;
use windfall_wire_net::{
    Addresses, IpPacket, Ipv4Packet, Ipv4Repr, Ipv6Packet, Ipv6Repr, Protocol, WireError, ipv4,
    ipv6,
};

use super::{GATHERED, IpDatagram, Layer, Transit, Upward};
use crate::event::IpEventKind;
use crate::fragment;
use crate::reassembly::{Abandoned, FragmentKey, Piece, ReassemblyOutcome};
use crate::report::{HeaderFault, Problem};

/// The offset of the payload length in an IPv6 header.
const PAYLOAD_LENGTH: usize = 4;
/// The distance from the offset field of the fragment header to the fragment's data.
const FRAGMENT_FIELD: usize = ipv6::FRAGMENT_HEADER_LEN - 2;

/// The fields of a header that decide where a packet goes.
struct Reading {
    addresses: Addresses,
    /// The length of the packet as it states it.
    total: usize,
    hop_limit: u8,
}

impl Layer {
    //= S0.5
    //= S0.71
    /// Reads a packet's header, and delivers, forwards or drops the packet.
    pub(super) fn receive(&mut self, now: Instant, mut transit: Transit) {
        gather_header(&mut transit.payload);
        let [head, _] = transit.payload.slices();
        let reading = match read(head) {
            Ok(reading) => reading,
            Err(reason) => return self.drop_transit(now, &transit, reason),
        };
        // Bytes beyond the packet's end are the link's padding.
        transit.payload.truncate(reading.total);
        let destination = reading.addresses.dst();
        if self.takes(destination) {
            self.receive_local(now, transit, &reading);
        } else if self.config.forwarding && transit.interface.is_some() {
            self.forward(now, transit, &reading);
        } else {
            self.drop_transit(now, &transit, DropReason::NotForUs);
        }
    }

    /// Returns whether this station is the destination.
    fn takes(&self, destination: IpAddr) -> bool {
        if self.is_local(destination) {
            return true;
        }
        match destination {
            IpAddr::V4(to) => {
                to.is_broadcast() || to.is_multicast() || self.broadcasts.contains(&to)
            }
            IpAddr::V6(to) => to.is_multicast(),
        }
    }

    pub(super) fn drop_transit(&mut self, now: Instant, transit: &Transit, reason: DropReason) {
        self.discard(now, transit.tag, transit.payload.len(), reason);
    }

    /// Drops a packet and reports the reason to its source.
    fn return_transit(
        &mut self,
        now: Instant,
        transit: &Transit,
        reason: DropReason,
        problem: Problem,
    ) {
        self.report(now, transit.interface, &transit.payload, problem);
        self.drop_transit(now, transit, reason);
    }

    fn receive_local(&mut self, now: Instant, transit: Transit, reading: &Reading) {
        let [head, _] = transit.payload.slices();
        let Addresses::V4 { src, dst } = reading.addresses else {
            return self.receive_local_v6(now, transit, reading);
        };
        let Ok(packet) = Ipv4Packet::new(head) else {
            return self.drop_transit(now, &transit, DropReason::Malformed);
        };
        let header_len = packet.header_len();
        if !packet.is_fragment() {
            let protocol = packet.protocol();
            return self.deliver(now, transit, reading, protocol, header_len);
        }
        if transit.payload.len() < reading.total {
            return self.drop_transit(now, &transit, DropReason::Truncated);
        }
        let protocol = packet.protocol();
        let key = FragmentKey {
            addresses: Addresses::V4 { src, dst },
            protocol: Some(protocol),
            identification: packet.identification().into(),
        };
        let offset = packet.fragment_offset();
        let more = packet.more_fragments();
        let header = transit.payload.prefix(header_len);
        self.reassemble(now, &transit, key, header_len, |data, damage, tag| Piece {
            offset,
            more,
            protocol,
            header,
            data,
            damage,
            tag,
        });
    }

    fn receive_local_v6(&mut self, now: Instant, transit: Transit, reading: &Reading) {
        let [head, _] = transit.payload.slices();
        let Ok(packet) = Ipv6Packet::new(head) else {
            return self.drop_transit(now, &transit, DropReason::Malformed);
        };
        let upper = match packet.upper() {
            Ok(upper) => upper,
            Err(error) => return self.refuse_walk(now, &transit, error),
        };
        let start = ipv6::HEADER_LEN + upper.offset;
        let Some(fragment) = upper.fragment.filter(|fragment| !fragment.is_atomic()) else {
            return self.deliver(now, transit, reading, upper.protocol, start);
        };
        if transit.payload.len() < reading.total {
            return self.drop_transit(now, &transit, DropReason::Truncated);
        }
        let key = FragmentKey {
            addresses: reading.addresses,
            protocol: None,
            identification: fragment.identification,
        };
        // The fragmentable part begins right after the fragment header.
        let start = ipv6::HEADER_LEN + upper.per_fragment_end + ipv6::FRAGMENT_HEADER_LEN;
        let header = header_without_fragment(head, &upper, fragment.next_header);
        let offset = fragment.offset();
        let more = fragment.more();
        self.reassemble(now, &transit, key, start, |data, damage, tag| Piece {
            offset,
            more,
            protocol: fragment.next_header,
            header,
            data,
            damage,
            tag,
        });
    }

    /// Rejects a packet with an unrecognized extension header or option (RFC 8200, section 4.2).
    fn refuse_walk(&mut self, now: Instant, transit: &Transit, error: WalkError) {
        let at = |offset: usize| ipv6::HEADER_LEN + offset;
        let parameter = |fault, offset| Problem::Parameter { fault, pointer: at(offset) };
        let problem = match error {
            WalkError::Wire(_) => None,
            WalkError::Misplaced { at, .. } => Some(parameter(HeaderFault::NextHeader, at)),
            WalkError::Routing { at, .. } => Some(parameter(HeaderFault::Field, at)),
            // The two upper bits of the type decide whether the source gets a report.
            WalkError::Option { kind, at } => match kind >> 6 {
                0b10 => Some(parameter(HeaderFault::Option, at)),
                0b11 if !is_to_many(&transit.payload) => Some(parameter(HeaderFault::Option, at)),
                _ => None,
            },
        };
        match problem {
            Some(problem) => self.return_transit(now, transit, DropReason::Malformed, problem),
            None => self.drop_transit(now, transit, DropReason::Malformed),
        }
    }

    /// Passes up the payload of a whole packet.
    fn deliver(
        &mut self,
        now: Instant,
        transit: Transit,
        reading: &Reading,
        protocol: Protocol,
        start: usize,
    ) {
        let Transit { interface, payload: packet, mut damage, tag } = transit;
        let len = reading.total - start;
        let have = packet.len() - start;
        shift(&mut damage, start, have);
        damage.missing = (len - have) as u32;
        let addresses = reading.addresses;
        let size = packet.len();
        let datagram =
            IpDatagram { interface, addresses, protocol, len, damage, tag, packet, size, start };
        match protocol {
            Protocol::ICMP | Protocol::ICMPV6 => self.receive_message(now, datagram),
            _ => self.hand_up(datagram),
        }
    }

    pub(super) fn hand_up(&mut self, datagram: IpDatagram) {
        self.datagrams += 1;
        self.upward.push_back(Upward::Datagram(datagram));
    }

    fn reassemble(
        &mut self,
        now: Instant,
        transit: &Transit,
        key: FragmentKey,
        start: usize,
        piece: impl FnOnce(Bytes, Damage, Option<windfall_base::Tag>) -> Piece,
    ) {
        let interface = transit.interface;
        let tag = transit.tag;
        let len = transit.payload.len();
        let mut damage = transit.damage.clone();
        shift(&mut damage, start, len - start);
        let data = transit.payload.slice(start..len);
        match self.reassembler.insert(now, key, piece(data, damage, tag)) {
            ReassemblyOutcome::Held => {}
            ReassemblyOutcome::Complete(whole) => {
                // The fragments end here as delivered; their payload continues as one packet.
                self.given += whole.fragments as u64 - 1;
                let fragments = whole.fragments;
                let len = whole.data.len();
                self.note(now, IpEventKind::Reassembled { tag, fragments, len });
                let Some(header) = whole_header(&whole.header, len) else {
                    return self.discard(now, tag, len, DropReason::Malformed);
                };
                let header_len = header.len();
                let protocol = whole.protocol;
                let total = header_len + len;
                let reading = Reading { addresses: key.addresses, total, hop_limit: 0 };
                let payload = Payload::from([&header, &whole.data[..]].concat());
                let mut transit = Transit { interface, payload, damage: whole.damage, tag };
                unshift(&mut transit.damage, header_len);
                self.deliver_reassembled(now, transit, &reading, protocol, header_len);
            }
            ReassemblyOutcome::Duplicate => self.discard(now, tag, len, DropReason::Duplicate),
            ReassemblyOutcome::OddLength => self.refuse_fragment(now, transit, PAYLOAD_LENGTH),
            ReassemblyOutcome::TooLong => {
                self.refuse_fragment(now, transit, start - FRAGMENT_FIELD);
            }
            ReassemblyOutcome::Contradiction(abandoned) => {
                self.abandon(now, abandoned, DropReason::Malformed);
                self.discard(now, tag, len, DropReason::Malformed);
            }
        }
    }

    /// Drops an invalid fragment; over IPv6 its source gets a report of the wrong field (RFC 8200,
    /// section 4.5).
    fn refuse_fragment(&mut self, now: Instant, transit: &Transit, pointer: usize) {
        let [head, _] = transit.payload.slices();
        if let Ok(IpPacket::V6(_)) = IpPacket::new(head) {
            let problem = Problem::Parameter { fault: HeaderFault::Field, pointer };
            return self.return_transit(now, transit, DropReason::Malformed, problem);
        }
        self.drop_transit(now, transit, DropReason::Malformed);
    }

    /// Passes up a reassembled packet; over IPv6 its data may begin with more extension headers.
    fn deliver_reassembled(
        &mut self,
        now: Instant,
        transit: Transit,
        reading: &Reading,
        protocol: Protocol,
        header_len: usize,
    ) {
        let is_extension = matches!(
            protocol,
            Protocol::DESTINATION_OPTIONS | Protocol::ROUTING | Protocol::AUTHENTICATION
        );
        if reading.addresses.dst().is_ipv4() || !is_extension {
            return self.deliver(now, transit, reading, protocol, header_len);
        }
        let walk = Ipv6Packet::new(transit.payload.slices()[0]).map_err(WalkError::from);
        match walk.and_then(|packet| packet.upper()) {
            Ok(upper) if upper.fragment.is_none() => {
                let start = ipv6::HEADER_LEN + upper.offset;
                self.deliver(now, transit, reading, upper.protocol, start);
            }
            Ok(_) => self.drop_transit(now, &transit, DropReason::Malformed),
            Err(error) => self.refuse_walk(now, &transit, error),
        }
    }

    /// Counts dropped fragments, and reports to their source if the first of them is there.
    pub(super) fn abandon(&mut self, now: Instant, abandoned: Abandoned, reason: DropReason) {
        let first = abandoned.pieces.first().filter(|piece| piece.offset == 0);
        if let (Some(first), DropReason::Reassembly) = (first, reason) {
            let payload = Payload::new(first.header.clone(), first.data.clone());
            self.report(now, None, &payload, Problem::Reassembly);
        }
        for piece in abandoned.pieces {
            self.discard(now, piece.tag, piece.header.len() + piece.data.len(), reason);
        }
    }

    //= S0.30
    //= S0.72
    /// Forwards a packet for another station (RFC 1812, section 5.2; RFC 8200).
    fn forward(&mut self, now: Instant, transit: Transit, reading: &Reading) {
        let total = reading.total;
        if transit.payload.len() < total {
            return self.drop_transit(now, &transit, DropReason::Truncated);
        }
        if !may_pass(&reading.addresses) {
            return self.drop_transit(now, &transit, DropReason::NotForUs);
        }
        if reading.hop_limit <= 1 {
            return self.return_transit(now, &transit, DropReason::HopLimit, Problem::HopLimit);
        }
        let Some(interface) = self.routes.lookup(reading.addresses.dst()) else {
            return self.return_transit(now, &transit, DropReason::NoRoute, Problem::NoRoute);
        };
        let mtu = self.config.interfaces[interface].mtu;
        let [head, _] = transit.payload.slices();
        let may_cut = matches!(IpPacket::new(head), Ok(IpPacket::V4(v4)) if !v4.dont_fragment());
        if total > mtu && !may_cut {
            return self.return_transit(now, &transit, DropReason::TooBig, Problem::TooBig { mtu });
        }
        let tag = transit.tag;
        let is_damaged = transit.damage.is_damaged();
        let payload = take_hop(transit.payload);
        self.note(now, IpEventKind::Forwarded { tag, interface, len: total });
        if total <= mtu {
            return self.transmit.push_back((interface, passed_on(payload, is_damaged)));
        }
        let [head, _] = payload.slices();
        let header = Ipv4Packet::new(head).and_then(|packet| Ipv4Repr::parse(&packet));
        let Ok(header) = header else {
            return self.discard(now, tag, total, DropReason::Malformed);
        };
        let mut data = payload;
        data.advance(header.header_len());
        let fragments = fragment::cut_v4(&header, &data, mtu);
        let fragments = fragments.into_iter().map(|payload| passed_on(payload, is_damaged));
        self.transmit_fragments(now, interface, tag, fragments);
    }
}

/// Returns the frame of a forwarded packet or fragment, which stays marked if it is damaged.
fn passed_on(payload: Payload, is_damaged: bool) -> Frame {
    let mut frame = Frame::packet(payload);
    if is_damaged {
        frame.damage.frame = Check::Bad;
    }
    frame
}

/// Reads the header at the beginning of `head`, or returns why the packet is to be dropped.
fn read(head: &[u8]) -> Result<Reading, DropReason> {
    let packet = IpPacket::new(head).map_err(|error| match error {
        WireError::Short { .. } => DropReason::Truncated,
        _ => DropReason::Malformed,
    })?;
    if let IpPacket::V4(packet) = packet
        && !packet.checksum_holds()
    {
        return Err(DropReason::IpHeaderChecksum);
    }
    let addresses = packet.addresses();
    let hop_limit = packet.hop_limit();
    Ok(Reading { addresses, total: packet.total_len(), hop_limit })
}

/// Makes sure that the headers of a packet in two slices, IP's and the next, lie in the first.
fn gather_header(payload: &mut Payload) {
    let [head, body] = payload.slices();
    if body.is_empty() {
        return;
    }
    let gathered = match IpPacket::new(head) {
        Ok(IpPacket::V4(packet)) => head.len() >= packet.header_len() + GATHERED,
        Ok(IpPacket::V6(packet)) => {
            let extended = matches!(
                packet.next_header(),
                Protocol::HOP_BY_HOP
                    | Protocol::DESTINATION_OPTIONS
                    | Protocol::ROUTING
                    | Protocol::AUTHENTICATION
                    | Protocol::FRAGMENT
            );
            !extended && head.len() >= ipv6::HEADER_LEN + GATHERED
        }
        Err(_) => false,
    };
    if !gathered {
        *payload = payload.to_bytes().into();
    }
}

/// Decrements the hop limit of a packet. Only its header is copied.
fn take_hop(payload: Payload) -> Payload {
    let (mut head, body) = payload.into_parts();
    let header_len = match IpPacket::new(&head) {
        Ok(IpPacket::V4(packet)) => packet.header_len(),
        _ => ipv6::HEADER_LEN.min(head.len()),
    };
    // With only one slice in use, the copy takes the place of the header in the other.
    let (start, body) =
        if body.is_empty() { (head.split_to(header_len), head) } else { (head, body) };
    let mut start = BytesMut::from(&start[..]);
    match start.first().map(|first| first >> 4) {
        Some(4) => ipv4::take_hop(&mut start),
        Some(6) => ipv6::take_hop(&mut start),
        _ => None,
    };
    Payload::new(start.freeze(), body)
}

/// Returns whether packets with these addresses may be forwarded at all.
fn may_pass(addresses: &Addresses) -> bool {
    match addresses {
        Addresses::V4 { src, dst } => {
            let src_fits = !(src.is_unspecified()
                || src.is_multicast()
                || src.is_broadcast()
                || src.is_loopback()
                || src.is_link_local());
            src_fits && !(dst.is_unspecified() || dst.is_loopback() || dst.is_link_local())
        }
        Addresses::V6 { src, dst } => {
            let src_fits = !(src.is_unspecified()
                || src.is_multicast()
                || src.is_loopback()
                || src.is_unicast_link_local());
            let dst_fits =
                !(dst.is_unspecified() || dst.is_loopback() || dst.is_unicast_link_local());
            src_fits && dst_fits
        }
    }
}

fn is_to_many(payload: &Payload) -> bool {
    IpPacket::new(payload.slices()[0]).is_ok_and(|packet| packet.addresses().dst().is_multicast())
}

/// Returns the header of a packet of `len` bytes of data, made from that of its first fragment;
/// `None` if there can be no such packet.
fn whole_header(first: &[u8], len: usize) -> Option<Vec<u8>> {
    let mut header = first.to_vec();
    match IpPacket::new(first).ok()? {
        IpPacket::V4(packet) => {
            let repr = Ipv4Repr::parse(&packet).and_then(|repr| repr.with_payload_len(len));
            let mut repr = repr.ok()?;
            repr.fragment = ipv4::Fragment::WHOLE;
            repr.emit(&mut header);
        }
        IpPacket::V6(packet) => {
            let extensions = first.len() - ipv6::HEADER_LEN;
            let repr = Ipv6Repr::parse(&packet).with_payload_len(extensions + len);
            repr.ok()?.emit(&mut header);
        }
    }
    Some(header)
}

/// Returns the headers of a fragment without the fragment header.
fn header_without_fragment(packet: &[u8], upper: &Upper, next: Protocol) -> Bytes {
    let end = ipv6::HEADER_LEN + upper.per_fragment_end;
    let mut header = packet[..end].to_vec();
    let link = upper.link.map_or(6, |link| ipv6::HEADER_LEN + link);
    header[link] = next.0;
    header.into()
}

/// Makes suspect ranges relative to `start`, within `have` bytes.
fn shift(damage: &mut Damage, start: usize, have: usize) {
    let start = start as u32;
    let have = have as u32;
    for range in &mut damage.suspect {
        range.start = range.start.saturating_sub(start).min(have);
        range.end = range.end.saturating_sub(start).min(have);
    }
    damage.suspect.retain(|range| range.start < range.end);
}

/// Makes suspect ranges relative to a position `start` bytes earlier.
fn unshift(damage: &mut Damage, start: usize) {
    for range in &mut damage.suspect {
        range.start += start as u32;
        range.end += start as u32;
    }
}
