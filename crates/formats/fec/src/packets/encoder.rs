//! The sending side: the last packets, and repairs of them.

use std::collections::VecDeque;

use super::{Cover, MOST_COVERED, ROWS, add_products, pad};
use crate::lanes::{Instructions, LANES};

/// Makes repairs of the last packets.
#[derive(Clone, Debug)]
pub struct PacketEncoder {
    window: usize,
    instructions: Instructions,
    /// The last packets with zeros up to whole lanes, and their lengths.
    packets: VecDeque<(Vec<u8>, usize)>,
    /// The number of the next packet.
    pub(super) next: u32,
    row: u8,
}

impl PacketEncoder {
    /// An encoder whose repairs cover the last `window` packets, 1 to [`MOST_COVERED`]; other
    /// windows count as the nearest of these.
    #[must_use]
    pub fn new(window: usize) -> Self {
        let window = window.clamp(1, MOST_COVERED);
        let instructions = Instructions::detect();
        Self { window, instructions, packets: VecDeque::new(), next: 0, row: 0 }
    }

    /// Selects other instructions for the encoder, if this processor has them.
    #[must_use]
    pub fn with_instructions(mut self, instructions: Instructions) -> Self {
        if Instructions::available().contains(&instructions) {
            self.instructions = instructions;
        }
        self
    }

    /// Takes a packet and returns its number. The packet that leaves the window gives its memory.
    pub fn push(&mut self, packet: &[u8]) -> u32 {
        let mut bytes = match self.packets.len() {
            len if len == self.window => self.packets.pop_front().map(|(bytes, _)| bytes),
            _ => None,
        }
        .unwrap_or_default();
        bytes.clear();
        bytes.reserve(packet.len().next_multiple_of(LANES));
        bytes.extend_from_slice(packet);
        self.packets.push_back((pad(bytes), packet.len()));
        let number = self.next;
        self.next = self.next.wrapping_add(1);
        number
    }

    /// Returns the number of packets in the window.
    #[must_use]
    pub fn len(&self) -> usize {
        self.packets.len()
    }

    /// Returns `true` if the window has no packet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Begins a new window behind the last packet, as at the end of a block.
    pub fn begin(&mut self) {
        self.packets.clear();
    }

    /// Returns the number of the next packet.
    #[must_use]
    pub fn next_number(&self) -> u32 {
        self.next
    }

    /// Makes the next repair of the packets in the window, as long as the longest of them; `None`
    /// if there is none.
    pub fn repair(&mut self) -> Option<(Cover, Vec<u8>)> {
        let longest = self.packets.iter().map(|(_, len)| *len).max()?;
        let count = self.packets.len();
        let first = self.next.wrapping_sub(count as u32);
        let cover = Cover { first, count: count as u8, row: self.row };
        self.row = (self.row + 1) % ROWS;
        let terms: Vec<(u8, &[u8])> = cover
            .numbers()
            .zip(&self.packets)
            .map(|(number, (bytes, _))| (cover.coefficient(number), &bytes[..]))
            .collect();
        let mut repair = vec![0; longest.next_multiple_of(LANES)];
        add_products(self.instructions, &mut repair, &terms);
        repair.truncate(longest);
        Some((cover, repair))
    }
}
