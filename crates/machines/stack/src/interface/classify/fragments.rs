//! The classes of fragmented packets. Only the first fragment carries the ports.

use core::net::IpAddr;
use std::collections::VecDeque;

use windfall_base::Class;
use windfall_wire_net::{IpPacket, Protocol};

use super::Headers;

/// Fragmented packets whose class is remembered.
const REMEMBERED: usize = 256;

/// The identity of a packet in fragments (RFC 791, section 3.2; RFC 8200, section 4.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PacketId {
    source: IpAddr,
    destination: IpAddr,
    protocol: Protocol,
    identification: u32,
}

impl PacketId {
    /// Reads it from a packet whose headers have been read; `None` of one in a single piece.
    pub(super) fn read(packet: &IpPacket<'_>, headers: &Headers<'_>) -> Option<Self> {
        headers.fragment_offset?;
        let identification = match packet {
            IpPacket::V4(packet) => packet.identification().into(),
            IpPacket::V6(packet) => packet.upper().ok()?.fragment?.identification,
        };
        Some(Self {
            source: headers.source,
            destination: headers.destination,
            protocol: headers.protocol?,
            identification,
        })
    }
}

/// The classes of the latest packets in fragments, by their first fragments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FragmentClasses {
    latest: VecDeque<(PacketId, Option<Class>)>,
}

impl FragmentClasses {
    /// Remembers the class of a packet whose first fragment has come.
    pub(super) fn remember(&mut self, packet: PacketId, class: Option<Class>) {
        if self.latest.len() == REMEMBERED {
            self.latest.pop_front();
        }
        self.latest.push_back((packet, class));
    }

    /// Returns the class of the first fragment of a packet, if that has come.
    pub(super) fn recall(&self, packet: PacketId) -> Option<Option<Class>> {
        let same = self.latest.iter().rev().find(|(known, _)| *known == packet);
        same.map(|(_, class)| *class)
    }
}
