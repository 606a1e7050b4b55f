//! Cuts large segments into packets.

use bytes::{Bytes, BytesMut};
use windfall_base::Payload;

use super::{Cutting, Description, OffloadKind, OpenChecksum, SegmentError};
use crate::Protocol;
use crate::checksum::{Sum, checksum};
use crate::ip::IpPacket;

const TCP_FIN: u8 = 0x01;
const TCP_PSH: u8 = 0x08;
const TCP_CWR: u8 = 0x80;

/// Makes packets with complete checksums of what a kernel handed over.
///
/// A packet that is not to be cut stays in its buffer. Those cut from a segment share its data;
/// only their headers are new.
///
/// # Errors
/// If the description does not fit the packet; nothing has then been appended.
pub fn cut(
    description: &Description,
    mut packet: BytesMut,
    packets: &mut Vec<Payload>,
) -> Result<(), SegmentError> {
    match (description.cutting, description.checksum) {
        (None, None) => packets.push(packet.freeze().into()),
        (None, Some(open)) => {
            complete(&mut packet, open)?;
            packets.push(packet.freeze().into());
        }
        (Some(cutting), Some(open)) if cutting.size > 0 => {
            let start = usize::from(open.start);
            Template::new(&packet, cutting, start)?.cut(&packet.freeze(), packets);
        }
        (Some(_), _) => return Err(SegmentError::Cutting),
    }
    Ok(())
}

/// Completes a checksum whose field holds the sum over the pseudo-header.
fn complete(packet: &mut [u8], open: OpenChecksum) -> Result<(), SegmentError> {
    let start = usize::from(open.start);
    let at = start + usize::from(open.offset);
    if at + 2 > packet.len() {
        return Err(SegmentError::Checksum { at, len: packet.len() });
    }
    let mut sum = Sum::new();
    sum.add(&packet[start..]);
    // Zero says "no checksum" to UDP, and every other transport takes 0xffff as well.
    packet[at..at + 2].copy_from_slice(&sum.nonzero_checksum().to_be_bytes());
    Ok(())
}

/// The headers of a large segment, and how they change from packet to packet.
struct Template {
    kind: OffloadKind,
    size: usize,
    /// The offset of the transport header.
    start: usize,
    /// The offset of the data.
    data: usize,
    addresses: crate::Addresses,
    sequence: u32,
    identification: u16,
}

impl Template {
    fn new(packet: &[u8], cutting: Cutting, start: usize) -> Result<Self, SegmentError> {
        let view = IpPacket::new(packet).map_err(|_| SegmentError::Headers)?;
        let (least, identification) = match (&view, cutting.kind) {
            (IpPacket::V4(v4), OffloadKind::TcpV4 | OffloadKind::Udp) => {
                (v4.header_len(), v4.identification())
            }
            (IpPacket::V6(_), OffloadKind::TcpV6 | OffloadKind::Udp) => (40, 0),
            _ => return Err(SegmentError::Headers),
        };
        let transport = packet.get(start..).ok_or(SegmentError::Headers)?;
        let (header, sequence) = match cutting.kind {
            OffloadKind::Udp => (8, 0),
            OffloadKind::TcpV4 | OffloadKind::TcpV6 => {
                let fixed = transport.first_chunk::<20>().ok_or(SegmentError::Headers)?;
                let sequence = u32::from_be_bytes([fixed[4], fixed[5], fixed[6], fixed[7]]);
                (usize::from(fixed[12] >> 4) * 4, sequence)
            }
        };
        let enough = if cutting.kind == OffloadKind::Udp { 8 } else { 20 };
        if start < least || header < enough || header >= transport.len() {
            return Err(SegmentError::Headers);
        }
        Ok(Self {
            kind: cutting.kind,
            size: usize::from(cutting.size),
            start,
            data: start + header,
            addresses: view.addresses(),
            sequence,
            identification,
        })
    }

    fn cut(&self, segment: &Bytes, packets: &mut Vec<Payload>) {
        let data = segment.slice(self.data..);
        let count = data.len().div_ceil(self.size);
        // One buffer for all headers; each packet holds its part of it.
        let mut heads = BytesMut::with_capacity(count * self.data);
        packets.reserve(count);
        for i in 0..count {
            let from = i * self.size;
            let body = data.slice(from..data.len().min(from + self.size));
            heads.extend_from_slice(&segment[..self.data]);
            let mut head = heads.split();
            self.write(&mut head, &body, i, i + 1 == count);
            packets.push(Payload::new(head.freeze(), body));
        }
    }

    /// Turns a copy of the segment's headers into those of the packet with this number.
    fn write(&self, head: &mut [u8], body: &[u8], number: usize, last: bool) {
        let len = head.len() + body.len();
        // Lengths fit: a packet is never longer than the segment of at most 64 KiB it comes from.
        if head[0] >> 4 == 4 {
            put(head, 2, len as u16);
            put(head, 4, self.identification.wrapping_add(number as u16));
            put(head, 10, 0);
            let header = usize::from(head[0] & 0x0f) * 4;
            let sum = checksum(&head[..header]);
            put(head, 10, sum);
        } else {
            put(head, 4, (len - 40) as u16);
        }
        let transport_len = (len - self.start) as u32;
        let transport = &mut head[self.start..];
        let (protocol, field) = match self.kind {
            OffloadKind::Udp => {
                put(transport, 4, transport_len as u16);
                (Protocol::UDP, 6)
            }
            OffloadKind::TcpV4 | OffloadKind::TcpV6 => {
                let sequence = self.sequence.wrapping_add((number * self.size) as u32);
                transport[4..8].copy_from_slice(&sequence.to_be_bytes());
                if !last {
                    transport[13] &= !(TCP_FIN | TCP_PSH);
                }
                if number > 0 {
                    transport[13] &= !TCP_CWR;
                }
                (Protocol::TCP, 16)
            }
        };
        put(transport, field, 0);
        let mut sum = self.addresses.pseudo_header(protocol, transport_len);
        sum.add(transport);
        sum.add(body);
        let checksum =
            if self.kind == OffloadKind::Udp { sum.nonzero_checksum() } else { sum.checksum() };
        put(transport, field, checksum);
    }
}

fn put(bytes: &mut [u8], at: usize, word: u16) {
    bytes[at..at + 2].copy_from_slice(&word.to_be_bytes());
}
