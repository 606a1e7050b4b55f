//! Merges neighbours of one flow into large segments.

use bytes::{Bytes, BytesMut};
use windfall_base::Payload;

use super::{Cutting, Description, OffloadKind, OpenChecksum};
use crate::Protocol;
use crate::checksum::{Sum, checksum};
use crate::ip::IpPacket;

/// The longest segment, headers included: what IPv4's length field can say.
const LONGEST: usize = 65_535;
/// The most packets in one segment: what a system call takes in slices, with room for the headers.
const MOST: usize = 512;

/// The ECN field of a packet that a queue has marked (RFC 3168, section 5).
const CONGESTED: u8 = 0b11;

const TCP_PSH: u8 = 0x08;
const TCP_ACK: u8 = 0x10;
const TCP_ECE: u8 = 0x40;

/// A packet, or a segment of several, for the device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merged {
    /// The description for the device.
    pub description: Description,
    /// The headers, in bytes; 0 if nothing was merged.
    pub headers: u16,
    /// Its bytes, in order.
    pub slices: Vec<Bytes>,
    /// Number of packets in it.
    pub packets: usize,
}

/// Merges packets on their way to a device.
///
/// Only TCP segments that follow each other without a gap, differ in nothing but their sequence
/// numbers, and whose checksums hold are merged: a merged segment counts as valid, and a damaged
/// packet must be seen, and refused, by the receiving kernel itself. The order of packets stays.
///
/// What ECN counts by the packet stays whole: one that a queue has marked (CE) remains alone, since
/// the receiver of a merged one counts a single mark; AE and ECE, bits of the count in accurate ECN
/// (RFC 9768, section 3.2.2), must be equal; and one with CWR remains alone, since only the first
/// packet of a segment that is cut again would keep it.
#[derive(Debug, Default)]
pub struct Merger {
    open: Option<Open>,
}

impl Merger {
    /// Creates a merger that holds nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes a packet; returns the one before if the two do not belong together.
    ///
    /// `intact` says that no layer below found damage; without it nothing is merged.
    pub fn push(&mut self, packet: Payload, intact: bool) -> Option<Merged> {
        let parsed = if intact { Segment::parse(&packet) } else { None };
        if let (Some(open), Some(segment)) = (&mut self.open, &parsed)
            && open.takes(segment)
        {
            open.add(segment, packet);
            return None;
        }
        let open = match parsed {
            Some(segment) => Open::mergeable(&segment, packet),
            None => Open::alone(packet),
        };
        self.open.replace(open).map(Open::close)
    }

    /// Gives up what is still held.
    pub fn flush(&mut self) -> Option<Merged> {
        self.open.take().map(Open::close)
    }
}

/// A TCP packet that could be merged with others.
struct Segment {
    /// The IP header and the TCP header.
    head: Bytes,
    /// The offset of the TCP header.
    start: usize,
    /// Bytes of data.
    len: usize,
    sequence: u32,
}

impl Segment {
    /// Looks at a packet; `None` if it is not to be merged.
    fn parse(packet: &Payload) -> Option<Self> {
        let [first, second] = packet.slices();
        // The headers lie in one slice nearly always, and the rest is not worth a copy.
        let view = IpPacket::new(first).ok()?;
        let (start, total) = match &view {
            IpPacket::V4(v4) => {
                let plain = v4.header_len() == 20 && !v4.is_fragment() && v4.checksum_holds();
                (plain && v4.protocol() == Protocol::TCP).then_some((20, v4.total_len()))?
            }
            IpPacket::V6(v6) => {
                (v6.next_header() == Protocol::TCP).then_some((40, v6.total_len()))?
            }
        };
        let tcp = first.get(start..)?;
        let fixed = tcp.first_chunk::<20>()?;
        let header = usize::from(fixed[12] >> 4) * 4;
        let flags = fixed[13];
        let data = start + header;
        if total != packet.len()
            || header < 20
            || data > first.len()
            || data >= total
            || flags & !(TCP_PSH | TCP_ECE) != TCP_ACK
            || traffic_class(first) & CONGESTED == CONGESTED
        {
            return None;
        }
        let mut sum = view.addresses().pseudo_header(Protocol::TCP, (total - start) as u32);
        sum.add(tcp);
        sum.add(second);
        sum.holds().then(|| Self {
            head: packet.prefix(data),
            start,
            len: total - data,
            sequence: u32::from_be_bytes([fixed[4], fixed[5], fixed[6], fixed[7]]),
        })
    }

    fn pushes(&self) -> bool {
        self.head[self.start + 13] & TCP_PSH != 0
    }
}

/// Returns the byte of an IP header that ends with the ECN field.
fn traffic_class(header: &[u8]) -> u8 {
    if header[0] >> 4 == 4 { header[1] } else { header[1] >> 4 }
}

/// The segment that the next packet may join.
#[derive(Debug)]
struct Open {
    /// The headers of the first packet; empty if nothing can join.
    head: Bytes,
    start: usize,
    /// Data in each packet but the last.
    size: usize,
    /// Headers and data so far.
    total: usize,
    /// The sequence number of the next.
    next: u32,
    /// Packets so far.
    count: usize,
    /// The last one is short, or asks to be pushed: nothing may follow it.
    closed: bool,
    pushes: bool,
    /// The first packet whole, then the data of the others.
    first: Payload,
    rest: Vec<Bytes>,
}

impl Open {
    fn alone(packet: Payload) -> Self {
        Self {
            head: Bytes::new(),
            start: 0,
            size: 0,
            total: packet.len(),
            next: 0,
            count: 1,
            closed: true,
            pushes: false,
            first: packet,
            rest: Vec::new(),
        }
    }

    fn mergeable(segment: &Segment, packet: Payload) -> Self {
        Self {
            head: segment.head.clone(),
            start: segment.start,
            size: segment.len,
            next: segment.sequence.wrapping_add(segment.len as u32),
            closed: segment.pushes(),
            pushes: segment.pushes(),
            ..Self::alone(packet)
        }
    }

    fn takes(&self, segment: &Segment) -> bool {
        !self.closed
            && segment.start == self.start
            && segment.sequence == self.next
            && segment.len <= self.size
            && self.total + segment.len <= LONGEST
            && self.count < MOST
            && segment.head.len() == self.head.len()
            && self.same_but_for_position(segment)
    }

    /// Returns whether the headers differ only where those of consecutive packets do.
    fn same_but_for_position(&self, segment: &Segment) -> bool {
        let a = &self.head[..];
        let b = &segment.head[..];
        let agree = |from: usize, to: usize| a[from..to] == b[from..to];
        let network = if self.start == 20 {
            let identification = |head: &[u8]| u16::from_be_bytes([head[4], head[5]]);
            let expected = identification(a).wrapping_add(self.count as u16);
            agree(0, 2) && expected == identification(b) && agree(6, 10) && agree(12, 20)
        } else {
            agree(0, 4) && agree(6, 40)
        };
        let tcp = self.start;
        // Ports; acknowledgement, header length; window. Flags differ in PSH at most; the urgent
        // pointer and the options, timestamps among them, must be equal.
        network
            && agree(tcp, tcp + 4)
            && agree(tcp + 8, tcp + 13)
            && (a[tcp + 13] ^ b[tcp + 13]) & !TCP_PSH == 0
            && agree(tcp + 14, tcp + 16)
            && a[tcp + 18..] == b[tcp + 18..]
    }

    fn add(&mut self, segment: &Segment, packet: Payload) {
        self.closed = segment.len < self.size || segment.pushes();
        self.pushes |= segment.pushes();
        self.total += segment.len;
        self.next = self.next.wrapping_add(segment.len as u32);
        self.count += 1;
        let (head, body) = packet.into_parts();
        if head.len() > segment.head.len() {
            self.rest.push(head.slice(segment.head.len()..));
        }
        if !body.is_empty() {
            self.rest.push(body);
        }
    }

    fn close(self) -> Merged {
        let (head, body) = self.first.into_parts();
        if self.count == 1 {
            return Merged {
                description: Description::default(),
                headers: 0,
                slices: [head, body].into_iter().filter(|slice| !slice.is_empty()).collect(),
                packets: 1,
            };
        }
        let kind = if self.start == 20 { OffloadKind::TcpV4 } else { OffloadKind::TcpV6 };
        let mut slices = Vec::with_capacity(self.rest.len() + 3);
        let headers = self.head.len();
        slices.push(merged_head(&self.head, self.start, self.total, self.pushes));
        slices.push(head.slice(headers..));
        slices.push(body);
        slices.extend(self.rest);
        slices.retain(|slice| !slice.is_empty());
        Merged {
            description: Description {
                checksum: Some(OpenChecksum { start: self.start as u16, offset: 16 }),
                cutting: Some(Cutting { kind, size: self.size as u16 }),
            },
            headers: headers as u16,
            slices,
            packets: self.count,
        }
    }
}

/// Returns the headers of a segment of `total` bytes, its checksum left open.
fn merged_head(head: &[u8], start: usize, total: usize, pushes: bool) -> Bytes {
    let mut head = BytesMut::from(head);
    let mut put = |at: usize, word: u16| head[at..at + 2].copy_from_slice(&word.to_be_bytes());
    if start == 20 {
        put(2, total as u16);
        put(10, 0);
        let sum = checksum(&head[..20]);
        head[10..12].copy_from_slice(&sum.to_be_bytes());
    } else {
        put(4, (total - 40) as u16);
    }
    if pushes {
        head[start + 13] |= TCP_PSH;
    }
    let pseudo = IpPacket::new(&head).map_or_else(
        |_| Sum::new(),
        |view| view.addresses().pseudo_header(Protocol::TCP, (total - start) as u32),
    );
    let open = !pseudo.checksum();
    head[start + 16..start + 18].copy_from_slice(&open.to_be_bytes());
    head.freeze()
}
