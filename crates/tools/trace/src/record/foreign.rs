//! Packets of other flows in the capture of a receiver.
//!
//! Only an undamaged packet shows that it is of another flow: the addresses and ports of a damaged
//! one may be wrong.

use std::collections::BTreeSet;

use windfall_files::pcapng::read::CapturedPacket;
use windfall_wire_net::checksum::checksum;
use windfall_wire_net::{Addresses, Carried, IpPacket, Protocol};

use super::link;

/// The hosts of a packet, and the protocol that it carries.
type Hosts = (Addresses, Protocol);

/// What the headers of an IP packet say of its flow.
struct Flow {
    hosts: Hosts,
    /// The ports of TCP, UDP and UDP-Lite.
    ports: Option<[u8; 4]>,
    /// The checksum of the IPv4 header is right.
    has_right_header: bool,
    /// The checksum of the transport covers the packet and is right.
    is_whole: bool,
}

/// Returns the numbers of the received packets that are undamaged and belong to no flow of the
/// packets that were sent. The packets are still as they were captured.
///
/// Without a received packet between hosts of the sent ones there are none: a router may have
/// translated the addresses.
pub(super) fn numbers(sent: &[CapturedPacket], received: &[CapturedPacket]) -> BTreeSet<usize> {
    let sent: Vec<Flow> = sent.iter().filter_map(flow).collect();
    let hosts: BTreeSet<Hosts> = sent.iter().map(|it| it.hosts).collect();
    let flows: BTreeSet<(Hosts, Option<[u8; 4]>)> =
        sent.iter().map(|it| (it.hosts, it.ports)).collect();
    let mut has_known = false;
    let mut numbers = BTreeSet::new();
    for (number, packet) in received.iter().enumerate() {
        let is_foreign = match flow(packet) {
            Some(flow) if hosts.contains(&flow.hosts) => {
                has_known = true;
                flow.is_whole && !flows.contains(&(flow.hosts, flow.ports))
            }
            Some(flow) => flow.is_whole || flow.has_right_header,
            None => !sent.is_empty() && link::is_of_another_protocol(packet),
        };
        if is_foreign {
            numbers.insert(number);
        }
    }
    if has_known { numbers } else { BTreeSet::new() }
}

/// Returns what the headers of a captured packet say, if it is one of IP.
fn flow(packet: &CapturedPacket) -> Option<Flow> {
    let data = packet.data.get(link::header(packet)?..)?;
    let ip = IpPacket::new(data).ok()?;
    let carried = ip.carried().ok()?;
    let has_ports = [Protocol::TCP, Protocol::UDP, Protocol::UDP_LITE].contains(&carried.protocol);
    let ports = carried.bytes.first_chunk::<4>().filter(|_| has_ports && !carried.fragment);
    Some(Flow {
        hosts: (ip.addresses(), carried.protocol),
        ports: ports.copied(),
        has_right_header: matches!(ip, IpPacket::V4(packet) if packet.checksum_holds()),
        is_whole: holds(ip.addresses(), &carried),
    })
}

/// Tells whether a checksum over everything that a packet carries is there and right.
fn holds(addresses: Addresses, carried: &Carried<'_>) -> bool {
    if carried.fragment || carried.bytes.len() != carried.len {
        return false;
    }
    match carried.protocol {
        Protocol::ICMP => checksum(carried.bytes) == 0,
        Protocol::UDP if carried.bytes.get(6..8) == Some(&[0, 0]) => false,
        Protocol::TCP | Protocol::UDP | Protocol::ICMPV6 => {
            let Ok(len) = u32::try_from(carried.len) else { return false };
            let mut sum = addresses.pseudo_header(carried.protocol, len);
            sum.add(carried.bytes);
            sum.holds()
        }
        _ => false,
    }
}
