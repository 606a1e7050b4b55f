//! Segments of scripts as bytes, and back.

use windfall_files::packet_script::SegmentOption;
use windfall_wire_net::TcpPacket;

/// The numbers of the options.
mod kind {
    pub(super) const END: u8 = 0;
    pub(super) const NOP: u8 = 1;
    pub(super) const MSS: u8 = 2;
    pub(super) const SCALE: u8 = 3;
    pub(super) const SACK_PERMITTED: u8 = 4;
    pub(super) const SACK: u8 = 5;
    pub(super) const TIMESTAMPS: u8 = 8;
    pub(super) const FAST_OPEN: u8 = 34;
}

/// Appends options, padded to whole words.
pub(crate) fn write_options(options: &[SegmentOption], bytes: &mut Vec<u8>) {
    for option in options {
        write_option(option, bytes);
    }
    bytes.resize(bytes.len().next_multiple_of(4), kind::END);
}

fn write_option(option: &SegmentOption, bytes: &mut Vec<u8>) {
    let mut value = Vec::new();
    let number = match option {
        SegmentOption::End => return bytes.push(kind::END),
        SegmentOption::Nop => return bytes.push(kind::NOP),
        SegmentOption::Foreign(_) => return,
        SegmentOption::Mss(size) => {
            value.extend(size.to_be_bytes());
            kind::MSS
        }
        SegmentOption::Scale(shift) => {
            value.push(*shift);
            kind::SCALE
        }
        SegmentOption::SackPermitted => kind::SACK_PERMITTED,
        SegmentOption::Sack(blocks) => {
            value.extend(
                blocks
                    .iter()
                    .flat_map(|(left, right)| [left, right])
                    .flat_map(|it| it.to_be_bytes()),
            );
            kind::SACK
        }
        SegmentOption::Timestamps { value: clock, echo } => {
            value.extend([clock, echo].into_iter().flat_map(|it| it.to_be_bytes()));
            kind::TIMESTAMPS
        }
        SegmentOption::FastOpen(cookie) => {
            value.extend(cookie);
            kind::FAST_OPEN
        }
    };
    bytes.extend([number, value.len() as u8 + 2]);
    bytes.extend(value);
}

/// Reads the options of a segment that the engine wrote, padding left out.
pub(crate) fn read_options(packet: &TcpPacket<'_>) -> Vec<SegmentOption> {
    let mut options = Vec::new();
    let mut area = packet.option_bytes();
    while let Some((&number, rest)) = area.split_first() {
        match number {
            kind::END => break,
            kind::NOP => {
                area = rest;
                continue;
            }
            _ => {}
        }
        let len = rest.first().map_or(0, |len| usize::from(*len));
        let Some(value) = area.get(2..len) else { break };
        options.push(read_option(number, value));
        area = &area[len..];
    }
    options
}

fn read_option(number: u8, value: &[u8]) -> SegmentOption {
    let (words, rest) = value.as_chunks::<4>();
    let words: Vec<u32> = words.iter().map(|word| u32::from_be_bytes(*word)).collect();
    match (number, value, &words[..], rest) {
        (kind::MSS, &[high, low], ..) => SegmentOption::Mss(u16::from_be_bytes([high, low])),
        (kind::SCALE, &[shift], ..) => SegmentOption::Scale(shift),
        (kind::SACK_PERMITTED, [], ..) => SegmentOption::SackPermitted,
        (kind::SACK, _, words, []) => SegmentOption::Sack(
            words.as_chunks::<2>().0.iter().map(|pair| (pair[0], pair[1])).collect(),
        ),
        (kind::TIMESTAMPS, _, &[value, echo], []) => SegmentOption::Timestamps { value, echo },
        (kind::FAST_OPEN, cookie, ..) => SegmentOption::FastOpen(cookie.to_vec()),
        _ => SegmentOption::Foreign(format!("kind {number}")),
    }
}
