//! What routers change in the headers of IP: the hops that are left, the class of traffic with the
//! marks of congestion, and the checksum over them. It is no damage.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use windfall_files::pcapng::LINKTYPE_RAW;
use windfall_files::pcapng::read::CapturedPacket;
use windfall_wire_net::Ipv4Packet;
use windfall_wire_net::checksum::checksum;

/// The places in the header of IPv4: class of traffic, identification, hops, checksum.
const CLASS: usize = 1;
const IDENTIFICATION: usize = 4;
const HOPS: usize = 8;
const CHECKSUM: usize = 10;
/// The place of the hops in the header of IPv6; the class is in the first two bytes.
const HOPS_6: usize = 7;

/// Tells whether routers write identifications, flags or options anew: whether fewer than half of
/// the received headers with a right checksum have those of a sent one.
pub(super) fn writes_anew(sent: &[CapturedPacket], received: &[CapturedPacket]) -> bool {
    let written = |packet: &CapturedPacket| {
        let packet = Ipv4Packet::new(&packet.data).ok().filter(Ipv4Packet::checksum_holds)?;
        let flags = (packet.dont_fragment(), packet.more_fragments(), packet.fragment_offset());
        Some((packet.identification(), flags, packet.options().to_vec()))
    };
    let known: BTreeSet<_> = sent.iter().filter_map(written).collect();
    let arrived: Vec<_> = received.iter().filter_map(written).collect();
    let unknown = arrived.iter().filter(|it| !known.contains(it)).count();
    2 * unknown > arrived.len()
}

/// The change that most packets had on the way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Route {
    /// The hops by which they have less.
    hops: u8,
    /// The bits of the class that are inverted.
    class: u8,
}

/// The header of a packet of IP.
#[derive(Clone, Copy)]
enum Header {
    /// IPv4 with this length.
    Four(usize),
    Six,
}

/// Returns the header of a packet, if all of it is there.
fn header(packet: &CapturedPacket) -> Option<Header> {
    let data = &packet.data;
    let first = data.first().filter(|_| packet.link_type == LINKTYPE_RAW)?;
    let length = usize::from(first & 15) * 4;
    match first >> 4 {
        4 if length >= 20 && data.len() >= length => Some(Header::Four(length)),
        6 if data.len() >= 40 => Some(Header::Six),
        _ => None,
    }
}

impl Header {
    fn class(self, data: &[u8]) -> u8 {
        match self {
            Self::Four(_) => data[CLASS],
            Self::Six => data[0] << 4 | data[1] >> 4,
        }
    }

    fn hops(self, data: &[u8]) -> u8 {
        match self {
            Self::Four(_) => data[HOPS],
            Self::Six => data[HOPS_6],
        }
    }

    /// Writes class and hops, and the checksum that follows.
    fn write(self, data: &mut [u8], class: u8, hops: u8) {
        match self {
            Self::Four(length) => {
                data[CLASS] = class;
                data[HOPS] = hops;
                data[CHECKSUM..CHECKSUM + 2].fill(0);
                let sum = checksum(&data[..length]);
                data[CHECKSUM..CHECKSUM + 2].copy_from_slice(&sum.to_be_bytes());
            }
            Self::Six => {
                data[0] = data[0] & 0xf0 | class >> 4;
                data[1] = data[1] & 0x0f | class << 4;
                data[HOPS_6] = hops;
            }
        }
    }
}

/// Returns a packet without what routers change, by which it is matched. Some routers also write
/// identifications, flags and options `anew`.
pub(super) fn without_changes(packet: &CapturedPacket, anew: bool) -> CapturedPacket {
    let Some(header) = header(packet) else { return packet.clone() };
    let mut data = packet.data.to_vec();
    header.write(&mut data, 0, 0);
    if let Header::Four(length) = header {
        data[CHECKSUM..CHECKSUM + 2].fill(0);
        if anew {
            data[IDENTIFICATION..IDENTIFICATION + 4].fill(0);
            data[20..length].fill(0);
        }
    }
    CapturedPacket { data: Bytes::from(data), ..packet.clone() }
}

/// The routes of IPv4 and of IPv6, which routers choose apart.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Routes {
    four: Route,
    six: Route,
}

/// Returns the changes that most of these packets of each version had, sent and received, of those
/// that are the same otherwise.
pub(super) fn usual<'a>(
    pairs: impl Iterator<Item = (&'a CapturedPacket, &'a CapturedPacket)>,
) -> Routes {
    let mut four = BTreeMap::new();
    let mut six = BTreeMap::new();
    for (sent, received) in pairs {
        let Some((header, _)) = header(sent).zip(self::header(received)) else { continue };
        let hops = header.hops(&sent.data).wrapping_sub(header.hops(&received.data));
        let class = header.class(&sent.data) ^ header.class(&received.data);
        // No router adds hops.
        if hops < 128 {
            let found = if matches!(header, Header::Four(_)) { &mut four } else { &mut six };
            *found.entry(Route { hops, class }).or_default() += 1;
        }
    }
    Routes {
        four: most_frequent(four).unwrap_or_default(),
        six: most_frequent(six).unwrap_or_default(),
    }
}

/// Returns the route of most packets.
fn most_frequent(found: BTreeMap<Route, usize>) -> Option<Route> {
    found.into_iter().max_by_key(|(_, count)| *count).map(|(route, _)| route)
}

impl Routes {
    /// Returns the bytes of a sent packet as routers passed them on, to be compared with those of
    /// the received one.
    pub(super) fn passed(self, sent: &CapturedPacket, received: &CapturedPacket) -> Bytes {
        let Some(header) = header(sent) else { return sent.data.clone() };
        let route = if matches!(header, Header::Four(_)) { self.four } else { self.six };
        let mut data = sent.data.to_vec();
        match self::header(received) {
            // A header whose checksum is right is as the last router wrote it.
            Some(own @ Header::Four(length)) if checksum(&received.data[..length]) == 0 => {
                if matches!(header, Header::Four(sent) if sent == length) {
                    data[..length].copy_from_slice(&received.data[..length]);
                } else {
                    header.write(&mut data, own.class(&received.data), own.hops(&received.data));
                }
            }
            _ if route == Route::default() => {}
            _ => {
                let class = header.class(&data);
                let hops = header.hops(&data);
                header.write(&mut data, class ^ route.class, hops.wrapping_sub(route.hops));
            }
        }
        Bytes::from(data)
    }

    /// Says what the changes were, if there were any.
    pub(super) fn notes(self) -> Vec<String> {
        match (self.four.change(), self.six.change()) {
            (Some(four), Some(six)) if four == six => vec![router_note("", &four)],
            (four, six) => {
                let four = four.map(|changes| router_note(" of IPv4", &changes));
                let six = six.map(|changes| router_note(" of IPv6", &changes));
                four.into_iter().chain(six).collect()
            }
        }
    }
}

/// Returns the note that routers changed most packets.
fn router_note(of: &str, changes: &str) -> String {
    format!("most packets{of} arrived with {changes}, as routers pass them on: no damage")
}

impl Route {
    /// Says what the change is, if it is one.
    fn change(self) -> Option<String> {
        let hops = match self.hops {
            0 => None,
            1 => Some("1 hop less".to_owned()),
            hops => Some(format!("{hops} hops less")),
        };
        let class = (self.class != 0).then(|| "another class of traffic".to_owned());
        let changes: Vec<_> = [hops, class].into_iter().flatten().collect();
        (!changes.is_empty()).then(|| changes.join(" and "))
    }
}
