//! Segments of TCP in IP packets: read, cut, and made anew.

use std::net::IpAddr;

use windfall_base::seq::Seq32;
use windfall_base::{Frame, Payload};

use windfall_wire_net::ipv4::Ipv4Repr;
use windfall_wire_net::ipv6::Ipv6Repr;
use windfall_wire_net::tcp::{
    CorruptionKinds, TcpFlags, TcpPacket, TcpRepr, fill_checksum, put_flags,
};
use windfall_wire_net::{Addresses, IpPacket, Protocol, UdpPacket};

/// A segment with its addresses.
#[derive(Clone, Debug)]
pub(crate) struct Segment {
    pub(crate) addresses: Addresses,
    pub(crate) ports: (u16, u16),
    pub(crate) seq: u32,
    pub(crate) ack: u32,
    pub(crate) flags: TcpFlags,
    /// The header of TCP with its options.
    header: Vec<u8>,
    pub(crate) data: Vec<u8>,
}

impl Segment {
    /// Reads a packet; `None` if it carries no whole segment.
    pub(crate) fn read(packet: &Payload) -> Option<Self> {
        let bytes = packet.to_bytes();
        let ip = IpPacket::new(&bytes).ok()?;
        let carried = ip.carried().ok()?;
        if carried.protocol != Protocol::TCP
            || carried.fragment
            || carried.bytes.len() < carried.len
        {
            return None;
        }
        let tcp = TcpPacket::new(&carried.bytes[..carried.len]).ok()?;
        Some(Self {
            addresses: ip.addresses(),
            ports: (tcp.src_port(), tcp.dst_port()),
            seq: tcp.seq().0,
            ack: tcp.ack().0,
            flags: tcp.flags(),
            header: tcp.header().to_vec(),
            data: tcp.payload().to_vec(),
        })
    }

    pub(crate) fn source(&self) -> (IpAddr, u16) {
        (self.addresses.src(), self.ports.0)
    }

    pub(crate) fn destination(&self) -> (IpAddr, u16) {
        (self.addresses.dst(), self.ports.1)
    }

    pub(crate) fn has(&self, flag: TcpFlags) -> bool {
        self.flags.has(flag)
    }

    /// The sequence number behind its data, and behind SYN and FIN.
    pub(crate) fn end(&self) -> u32 {
        let flags = u32::from(self.has(TcpFlags::SYN)) + u32::from(self.has(TcpFlags::FIN));
        self.seq.wrapping_add(self.data.len() as u32).wrapping_add(flags)
    }

    /// Tells whether it brings something that has a sequence number.
    pub(crate) fn brings(&self) -> bool {
        self.end() != self.seq
    }

    /// A segment without data and options to the sender of this one.
    pub(crate) fn reply(&self, seq: u32, ack: u32, flags: TcpFlags) -> Option<Frame> {
        let header = TcpRepr {
            src_port: self.ports.1,
            dst_port: self.ports.0,
            seq: Seq32(seq),
            ack: Seq32(ack),
            flags,
            ..TcpRepr::default()
        };
        bare(self.addresses.reversed(), header)
    }

    /// The answer of a host that has no such connection (RFC 9293, section 3.5.2).
    pub(crate) fn refusal(&self) -> Option<Frame> {
        if self.has(TcpFlags::RST) {
            return None;
        }
        if self.has(TcpFlags::ACK) {
            return self.reply(self.ack, 0, TcpFlags::RST);
        }
        self.reply(0, self.end(), TcpFlags(TcpFlags::RST.0 | TcpFlags::ACK.0))
    }

    /// The part of its data from `from` on of at most `len` bytes, as a segment of its own. What
    /// belongs to the end of the data stays with the last part.
    pub(crate) fn part(&self, from: usize, len: usize) -> Option<Frame> {
        let end = (from + len).min(self.data.len());
        let is_last = end == self.data.len();
        let ending = TcpFlags::FIN.0 | TcpFlags::PSH.0;
        let flags = if is_last { self.flags } else { TcpFlags(self.flags.0 & !ending) };
        let mut header = self.header.clone();
        let seq = self.seq.wrapping_add(from as u32);
        header.get_mut(4..8)?.copy_from_slice(&seq.to_be_bytes());
        put_flags(&mut header, flags);
        packet(self.addresses, header, &self.data[from..end])
    }
}

/// Returns the source and the destination of a datagram of UDP; `None` of any other packet.
pub(crate) fn ends_of_datagram(packet: &Payload) -> Option<[(IpAddr, u16); 2]> {
    let bytes = packet.to_bytes();
    let ip = IpPacket::new(&bytes).ok()?;
    let carried = ip.carried().ok().filter(|it| it.protocol == Protocol::UDP && !it.fragment)?;
    let udp = UdpPacket::new(carried.bytes).ok()?;
    let addresses = ip.addresses();
    Some([(addresses.src(), udp.src_port()), (addresses.dst(), udp.dst_port())])
}

/// Returns a segment without data, which offers the largest window.
pub(crate) fn bare(addresses: Addresses, header: TcpRepr) -> Option<Frame> {
    let header = TcpRepr { window: 0xffff, ..header };
    let header = header.emit(&CorruptionKinds::default()).ok()?;
    packet(addresses, header.to_vec(), &[])
}

/// An IP packet with this header of TCP and this data, whose checksums are right.
fn packet(addresses: Addresses, mut header: Vec<u8>, data: &[u8]) -> Option<Frame> {
    fill_checksum(&addresses, &mut header, data);
    let len = header.len() + data.len();
    let mut bytes = match (addresses.src(), addresses.dst()) {
        (IpAddr::V4(src), IpAddr::V4(dst)) => {
            let mut ip = Ipv4Repr::new(src, dst, Protocol::TCP, len).ok()?;
            ip.dont_fragment = true;
            let mut bytes = vec![0; ip.header_len()];
            ip.emit(&mut bytes);
            bytes
        }
        (IpAddr::V6(src), IpAddr::V6(dst)) => {
            let ip = Ipv6Repr::new(src, dst, Protocol::TCP, len).ok()?;
            let mut bytes = vec![0; windfall_wire_net::ipv6::HEADER_LEN];
            ip.emit(&mut bytes);
            bytes
        }
        _ => return None,
    };
    bytes.extend(header);
    bytes.extend(data);
    Some(Frame::packet(bytes))
}
