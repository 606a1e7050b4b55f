//! What captures have kept of packets.

use windfall_files::pcapng::read::CapturedPacket;
use windfall_files::traces::error_trace::TraceHeader;

/// The part of packets that two captures have kept.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Kept {
    /// The most bytes that both have kept of any packet, if they have not kept all.
    limit: Option<usize>,
    /// The number of packets of which one of them has kept less.
    partly: usize,
}

/// Tells whether a capture has kept the beginning of a packet only.
fn is_cut(packet: &CapturedPacket) -> bool {
    packet.data.len() < packet.original as usize
}

/// Cuts packets to the most bytes that both captures keep.
///
/// A capture has such a limit if it has cut the longest of what it kept. A packet of which it has
/// kept less for itself leaves the others as they are.
pub(super) fn clip(captures: [&mut Vec<CapturedPacket>; 2]) -> Kept {
    let limit_of = |packets: &Vec<CapturedPacket>| {
        let longest = packets.iter().map(|packet| packet.data.len()).max()?;
        packets
            .iter()
            .any(|packet| packet.data.len() == longest && is_cut(packet))
            .then_some(longest)
    };
    let limit = captures.iter().filter_map(|it| limit_of(it)).min();
    let is_partly = |packet: &&CapturedPacket| match limit {
        Some(_) => is_cut(packet) && Some(packet.data.len()) < limit,
        None => is_cut(packet),
    };
    let partly = captures.iter().flat_map(|it| it.iter()).filter(is_partly).count();
    if let Some(limit) = limit {
        for packet in captures.into_iter().flatten() {
            packet.data.truncate(limit);
        }
    }
    Kept { limit, partly }
}

impl Kept {
    /// Says in the header of a trace that the captures have kept the beginnings of packets only.
    pub(super) fn note(self, header: &mut TraceHeader) {
        let limit = self.limit.map(|kept| format!("the captures keep {kept} bytes of a packet"));
        let partly = match self.partly {
            0 => None,
            1 => Some("1 packet was captured in part".to_owned()),
            count => Some(format!("{count} packets were captured in part")),
        };
        for note in [limit, partly].into_iter().flatten() {
            let space = if header.workload.is_empty() { "" } else { "; " };
            header.workload.push_str(space);
            header.workload.push_str(&note);
        }
    }
}
