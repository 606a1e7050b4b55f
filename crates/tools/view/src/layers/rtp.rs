//! Packets of RTP, which a log does not tell of and a capture does.

use core::ops::RangeInclusive;
use std::collections::BTreeMap;

use windfall_files::pcapng::read::CapturedPacket;
use windfall_rtp::RtpPacket;
use windfall_wire_net::{CarrierPacket, IpPacket, Protocol, UdpLitePacket, UdpPacket};

use crate::layers::log::{LayerLog, LayerRow, LogLayer};

/// Payload types that no packet of RTP has: those that packets of RTCP would have (RFC 5761,
/// section 4). Reports go to any port: to that which the packets of RTP came from.
const REPORTS: RangeInclusive<u8> = 64..=95;

/// A packet of RTP: its number, its bytes with the header, and what its header says.
struct Seen {
    number: u16,
    len: usize,
    note: String,
}

impl LayerLog {
    //= S1.32
    /// Adds a row of RTP beside each row of a packet whose bytes a capture has. Returns the number
    /// of packets of RTP that were found.
    pub fn add_rtp(&mut self, captures: &[CapturedPacket]) -> usize {
        let found: BTreeMap<u64, Seen> = captures
            .iter()
            .filter_map(|packet| Some((packet.tag?.0, rtp_of(&packet.data)?)))
            .collect();
        let mut positions: BTreeMap<(Option<usize>, u64), u64> = BTreeMap::new();
        let mut sent: BTreeMap<Option<usize>, u64> = BTreeMap::new();
        let mut rows = Vec::with_capacity(self.rows.len());
        for row in self.rows.drain(..) {
            let seen =
                row.tag.filter(|_| row.layer == LogLayer::Ip).and_then(|tag| found.get(&tag));
            if let (Some(seen), Some(tag)) = (seen, row.tag) {
                let before = sent.entry(row.sender).or_default();
                let position = *positions.entry((row.sender, tag)).or_insert_with(|| {
                    let position = *before;
                    *before += seen.len as u64;
                    position
                });
                let note = match row.note.as_str() {
                    "" => seen.note.clone(),
                    reason => reason.to_owned(),
                };
                rows.push(LayerRow {
                    layer: LogLayer::Rtp,
                    number: Some(u64::from(seen.number)),
                    len: seen.len,
                    position: Some(position),
                    note,
                    ..row.clone()
                });
            }
            rows.push(row);
        }
        self.rows = rows;
        found.len()
    }
}

/// The packet of RTP inside a packet to an even port, as RFC 3550 has it, in UDP, UDP-Lite, or
/// UDP-Lite carried by UDP.
fn rtp_of(packet: &[u8]) -> Option<Seen> {
    let carried = IpPacket::new(packet).ok()?.carried().ok()?;
    let (port, payload) = match carried.protocol {
        Protocol::UDP => {
            let udp = UdpPacket::new(carried.bytes).ok()?;
            let payload = udp.payload();
            (udp.dst_port(), CarrierPacket::new(payload).map_or(payload, |inner| inner.payload()))
        }
        Protocol::UDP_LITE => {
            let udp = UdpLitePacket::new(carried.bytes).ok()?;
            (udp.dst_port(), udp.payload())
        }
        _ => return None,
    };
    let rtp = RtpPacket::parse(payload).ok().filter(|_| port.is_multiple_of(2))?;
    if REPORTS.contains(&rtp.header.payload_type) {
        return None;
    }
    let mark = if rtp.header.marker { ", last of its picture" } else { "" };
    let note = format!("timestamp {}{mark}", rtp.header.timestamp);
    Some(Seen { number: rtp.header.sequence, len: payload.len(), note })
}

#[cfg(test)]
mod tests;
