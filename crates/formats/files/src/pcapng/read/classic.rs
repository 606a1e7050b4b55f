//! The older format of captures, pcap (draft-ietf-opsawg-pcap): packets with their times alone.

use bytes::Bytes;
use windfall_base::{Instant, MemoryBudget};

use super::{CapturedPacket, ReadError, memory};
use crate::pcapng::Seen;

/// The length of the header of the file, and of that of each packet.
const FILE_HEADER: usize = 24;
const PACKET_HEADER: usize = 16;
/// The first word of files whose times are in microseconds, and in nanoseconds.
const MICROSECONDS: u32 = 0xa1b2_c3d4;
const NANOSECONDS: u32 = 0xa1b2_3c4d;

/// The variant of a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Format {
    is_big_endian: bool,
    /// The unit of the second part of a time, in nanoseconds.
    unit: u64,
}

impl Format {
    /// Returns the variant of a file, if it is one of this format.
    pub(super) fn of(file: &[u8]) -> Option<Self> {
        let start = *file.first_chunk()?;
        let orders = [(false, u32::from_le_bytes(start)), (true, u32::from_be_bytes(start))];
        orders.into_iter().find_map(|(is_big_endian, magic)| match magic {
            MICROSECONDS => Some(Self { is_big_endian, unit: 1_000 }),
            NANOSECONDS => Some(Self { is_big_endian, unit: 1 }),
            _ => None,
        })
    }

    pub(super) fn read(
        self,
        file: &Bytes,
        budget: &mut MemoryBudget,
    ) -> Result<Vec<CapturedPacket>, ReadError> {
        let mut packets = Vec::<CapturedPacket>::new();
        let mut at = FILE_HEADER;
        let cut = |at, length| ReadError::Block { at, length, size: file.len() };
        if file.len() < at {
            return Err(cut(0, at));
        }
        // The upper half may say how long a frame check is.
        let link_type = self.word(file, 20) as u16;
        while at < file.len() {
            let header = file.get(at..at + PACKET_HEADER).ok_or_else(|| cut(at, PACKET_HEADER))?;
            let [seconds, parts, length, original] =
                [0, 4, 8, 12].map(|start| self.word(header, start));
            let data = at + PACKET_HEADER;
            let end = data.checked_add(length as usize).filter(|end| *end <= file.len());
            let end = end.ok_or_else(|| cut(at, PACKET_HEADER.saturating_add(length as usize)))?;
            let nanos = u64::from(seconds) * 1_000_000_000 + u64::from(parts) * self.unit;
            packets.push(CapturedPacket {
                at: Instant::from_nanos(nanos),
                seen: Seen::Arrived,
                interface: 0,
                tag: None,
                link_type,
                data: file.slice(data..end),
                // Some writers leave the length on the wire at 0.
                original: original.max(length),
                comment: String::new(),
            });
            budget.check(memory(&packets))?;
            at = end;
        }
        budget.take(memory(&packets))?;
        Ok(packets)
    }

    fn word(self, header: &[u8], at: usize) -> u32 {
        let bytes = [header[at], header[at + 1], header[at + 2], header[at + 3]];
        if self.is_big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pcapng::read::{read, read_within};
    use proptest::prelude::*;

    /// A file as tcpdump writes it, in either byte order.
    fn file(magic: u32, is_big_endian: bool, packets: &[(u32, u32, Vec<u8>)]) -> Bytes {
        let word = |word: u32| if is_big_endian { word.to_be_bytes() } else { word.to_le_bytes() };
        let version = if is_big_endian { [0, 2, 0, 4] } else { [2, 0, 4, 0] };
        let mut file = [word(magic), version, [0; 4], [0; 4], word(65_535), word(101)].concat();
        for (seconds, parts, data) in packets {
            let length = data.len() as u32;
            file.extend([*seconds, *parts, length, length + 7].map(word).as_flattened());
            file.extend(data);
        }
        file.into()
    }

    proptest! {
        #[test]
        fn packets_are_read_in_both_orders_and_units(
            packets in prop::collection::vec(
                (any::<u32>(), 0..1_000_000_u32, prop::collection::vec(any::<u8>(), 0..90)),
                0..10,
            ),
            is_big_endian: bool,
            is_fine: bool,
        ) {
            let (magic, unit) = if is_fine { (NANOSECONDS, 1) } else { (MICROSECONDS, 1_000) };
            let found = read(&file(magic, is_big_endian, &packets)).expect("a capture");
            let found: Vec<_> = found.into_iter().map(|it| (it.at, it.data.to_vec())).collect();
            let time = |seconds: u32, parts: u32| {
                Instant::from_nanos(u64::from(seconds) * 1_000_000_000 + u64::from(parts) * unit)
            };
            let expected: Vec<_> =
                packets.into_iter().map(|(s, parts, data)| (time(s, parts), data)).collect();
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn any_bytes_are_a_capture_or_an_error(bytes: Vec<u8>, magic in prop::sample::select(
            vec![MICROSECONDS, NANOSECONDS],
        )) {
            let bytes = [&magic.to_le_bytes()[..], &bytes].concat();
            let _ = read_within(&bytes.into(), &mut MemoryBudget::default());
        }
    }

    #[test]
    fn a_file_that_was_cut_short_is_named_so() {
        let whole = file(MICROSECONDS, false, &[(1, 2, vec![3; 20])]);
        for length in [5, 23, 30, 50] {
            let error = read(&whole.slice(..length)).expect_err("it is cut").to_string();
            assert!(error.contains("cut short"), "{length}: {error}");
        }
    }

    #[test]
    fn no_packet_is_shorter_than_what_was_captured() {
        let mut bytes = file(MICROSECONDS, false, &[(1, 2, vec![3; 20])]).to_vec();
        bytes[FILE_HEADER + 12..FILE_HEADER + 16].fill(0);
        let packets = read(&bytes.into()).expect("a capture");
        assert_eq!(packets[0].original, 20);
    }
}
