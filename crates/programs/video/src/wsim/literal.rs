//! The algorithm of paper 001, section 5.1, word by word.

use core::ops::Range;

use windfall_base::{Seed, Stream};

use crate::wsim::blocks::{BLOCK_LEN, BlockErrors};
use crate::wsim::run::{WsimOutcome, WsimPacket, WsimProtocol, WsimRun};

//= S1.38
/// Headers of RTP (7), UDP (8), IP (20) and PPP (7) by the paper's count.
pub const LITERAL_HEADERS: usize = 42;
/// Bytes of a packet in each block; two are taken for start and stop bits.
const DATA_PER_BLOCK: usize = 28;
/// A fifth of the bytes of a block.
const FIFTH: usize = BLOCK_LEN / 5;

//= S1.41
//= S1.54
/// The bytes of a damaged block that are changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockCorruption {
    /// All 28 that carry data, as the algorithm says.
    All,
    /// Six of the 30 at random, as the text before it says.
    Fifth,
}

/// The settings of the algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiteralConfig {
    /// The transport protocol.
    pub protocol: WsimProtocol,
    /// Bytes of the stream in a packet (ADU_size), at least 1.
    pub adu: usize,
    /// The bytes of a damaged block that are changed.
    pub corruption: BlockCorruption,
    /// The seed of the changes.
    pub seed: Seed,
}

//= S1.38
//= S1.39
//= S1.40
//= S1.42
/// Sends the pictures of a stream, one after the other, over the blocks from `first` on.
#[must_use]
pub fn literal(
    config: &LiteralConfig,
    pictures: &[&[u8]],
    errors: &BlockErrors,
    first: u64,
) -> WsimRun {
    let stream = pictures.concat();
    let changes = Stream::new(config.seed, "wsim");
    let mut run = WsimRun { pictures: vec![Vec::new(); pictures.len()], ..WsimRun::default() };
    let places = Places::new(pictures);
    for (number, adu) in stream.chunks(config.adu.max(1)).enumerate() {
        let mut packet = vec![0; LITERAL_HEADERS];
        packet.extend(adu);
        let first_block = first + run.blocks;
        let (changed, hits) =
            damage(config.corruption, &mut packet, errors, first_block, &changes.at(number as u64));
        let blocks = packet.len().div_ceil(DATA_PER_BLOCK) as u64;
        run.blocks += blocks;
        let in_header = changed.first().is_some_and(|at| *at < LITERAL_HEADERS);
        let outcome = match config.protocol {
            _ if changed.is_empty() => WsimOutcome::Intact,
            WsimProtocol::UdpLite if !in_header => WsimOutcome::Damaged,
            WsimProtocol::Udp | WsimProtocol::UdpLite => WsimOutcome::Dropped,
        };
        if outcome != WsimOutcome::Dropped {
            let at = number * config.adu.max(1);
            places.deliver(at, &packet[LITERAL_HEADERS..], &mut run.pictures);
        }
        run.packets.push(WsimPacket {
            data_len: adu.len(),
            packet_len: packet.len(),
            first_block,
            blocks,
            damaged_blocks: hits,
            outcome,
            delay: None,
            arrival: None,
        });
    }
    run
}

/// Changes bytes of a packet as the trace says; returns their positions, ascending, and the number
/// of damaged blocks.
fn damage(
    corruption: BlockCorruption,
    packet: &mut [u8],
    errors: &BlockErrors,
    first_block: u64,
    changes: &Stream,
) -> (Vec<usize>, u64) {
    let mut draws = changes.clone();
    let mut changed = Vec::new();
    let mut hits = 0;
    for (number, data) in packet.chunks_mut(DATA_PER_BLOCK).enumerate() {
        if !errors.is_damaged(first_block + number as u64) {
            continue;
        }
        hits += 1;
        let chosen: Vec<usize> = match corruption {
            BlockCorruption::All => (0..data.len()).collect(),
            BlockCorruption::Fifth => fifth(&mut draws, data.len()),
        };
        for at in chosen {
            // Never 0: the byte is another afterwards.
            data[at] ^= 1 + draws.below(255) as u8;
            changed.push(number * DATA_PER_BLOCK + at);
        }
    }
    (changed, hits)
}

/// Draws six of the 30 bytes of a block, and returns those that carry data of the packet.
fn fifth(draws: &mut Stream, data_len: usize) -> Vec<usize> {
    let mut bytes: Vec<usize> = (0..BLOCK_LEN).collect();
    for at in 0..FIFTH {
        let other = at + draws.below((BLOCK_LEN - at) as u64) as usize;
        bytes.swap(at, other);
    }
    let overhead = BLOCK_LEN - DATA_PER_BLOCK;
    let mut chosen: Vec<usize> =
        bytes[..FIFTH].iter().filter_map(|at| at.checked_sub(overhead)).collect();
    chosen.retain(|at| *at < data_len);
    chosen.sort_unstable();
    chosen
}

/// The beginnings and ends of the pictures of a stream.
struct Places(Vec<Range<usize>>);

impl Places {
    fn new(pictures: &[&[u8]]) -> Self {
        let mut at = 0;
        let ends = pictures.iter().map(|picture| {
            let start = at;
            at += picture.len();
            start..at
        });
        Self(ends.collect())
    }

    /// Appends bytes of the stream from `at` on to the pictures of which they are.
    fn deliver(&self, at: usize, bytes: &[u8], pictures: &mut [Vec<u8>]) {
        let first = self.0.partition_point(|it| it.end <= at);
        for (place, picture) in self.0[first..].iter().zip(&mut pictures[first..]) {
            if place.start >= at + bytes.len() {
                break;
            }
            let from = place.start.max(at) - at;
            let until = place.end.min(at + bytes.len()) - at;
            picture.extend(&bytes[from..until]);
        }
    }
}

#[cfg(test)]
mod tests;
