//! The headers of links before packets of IP, which differ from one end of a way to the other.

use windfall_pcapng::LINKTYPE_RAW;
use windfall_pcapng::read::CapturedPacket;

use super::RecordError;

/// The types of headers, by their numbers in the registry of pcap.
const LOOPBACK: u16 = 0;
const ETHERNET: u16 = 1;
const IP: [u16; 5] = [LINKTYPE_RAW, 12, 14, 228, 229];
const LINUX_COOKED: u16 = 113;
const LINUX_COOKED_2: u16 = 276;

/// The types of Ethernet of a tag of a virtual network, behind which the type follows.
const TAGS: [[u8; 2]; 3] = [[0x81, 0x00], [0x88, 0xa8], [0x91, 0x00]];

/// Removes the headers of links, if they are not of one type at both ends.
pub(super) fn align(
    sent: &mut [CapturedPacket],
    received: &mut [CapturedPacket],
) -> Result<(), RecordError> {
    let mut types = sent.iter().chain(&*received).map(|packet| packet.link_type);
    let first = types.next();
    if types.all(|it| Some(it) == first) {
        return Ok(());
    }
    sent.iter_mut().chain(received).try_for_each(strip)
}

/// Removes the header before the packet of IP.
pub(super) fn strip(packet: &mut CapturedPacket) -> Result<(), RecordError> {
    let data = &packet.data;
    let length = match packet.link_type {
        kind if IP.contains(&kind) => 0,
        LOOPBACK => 4,
        ETHERNET => {
            let is_tag =
                |at: usize| data.get(at..at + 2).is_some_and(|it| TAGS.iter().any(|tag| tag == it));
            14 + if is_tag(12) { 4 } else { 0 } + if is_tag(12) && is_tag(16) { 4 } else { 0 }
        }
        LINUX_COOKED => 16,
        LINUX_COOKED_2 => 20,
        kind => return Err(RecordError::UnknownLink(kind)),
    };
    packet.data = data.slice(length.min(data.len())..);
    packet.original = packet.original.saturating_sub(length as u32);
    packet.link_type = LINKTYPE_RAW;
    Ok(())
}
