//! The line between base station and interworking function: timeslots and their owners.

use std::collections::BTreeSet;

use windfall_wire_link::trau::{TRAU_BITS, TRAU_LEN};

/// Timeslots of an E1 line; the first carries its framing.
const SLOTS: usize = 32;
/// Channels of 16 kb/s in a timeslot of 64 kb/s, two bits of each octet.
const CHANNELS: u8 = 4;
/// Frames of the line in the 20 ms of a TRAU frame.
const FRAMES: usize = TRAU_BITS / 2;

/// A channel of 16 kb/s: two bits of a timeslot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct E1Channel {
    slot: u8,
    part: u8,
}

impl E1Channel {
    /// The channel `part`, 0 to 3, of timeslot `slot`, 1 to 31; `None` if there is none such.
    #[must_use]
    pub fn new(slot: u8, part: u8) -> Option<Self> {
        let is_there = (1..SLOTS as u8).contains(&slot) && part < CHANNELS;
        is_there.then_some(Self { slot, part })
    }

    fn shift(self) -> u8 {
        6 - 2 * self.part
    }
}

//= S1.25
/// Gives the channels of a line to calls, as the controller of paper 001's testbed does (S1.25).
#[derive(Clone, Debug, Default)]
pub struct TimeslotController {
    taken: BTreeSet<E1Channel>,
}

impl TimeslotController {
    /// A controller of a line without calls.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Assigns the first free channel to a call; `None` if all 124 are taken.
    pub fn assign(&mut self) -> Option<E1Channel> {
        let all = (1..SLOTS as u8).flat_map(|slot| (0..CHANNELS).map(move |part| (slot, part)));
        let free = all.map(|(slot, part)| E1Channel { slot, part });
        let channel = free.into_iter().find(|channel| !self.taken.contains(channel))?;
        self.taken.insert(channel);
        Some(channel)
    }

    /// Frees the channel of a call that has ended; `false` if no call had it.
    pub fn release(&mut self, channel: E1Channel) -> bool {
        self.taken.remove(&channel)
    }
}

//= S1.24
//= S1.59
/// The contents of one direction of an E1 line in 20 ms: 160 frames of 32 octets. Channels without
/// a call carry ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct E1Line {
    octets: Vec<u8>,
}

impl Default for E1Line {
    /// A line without calls.
    fn default() -> Self {
        Self { octets: vec![0xff; FRAMES * SLOTS] }
    }
}

impl E1Line {
    /// Returns the octets in the order of the line.
    #[must_use]
    pub fn octets(&self) -> &[u8] {
        &self.octets
    }

    /// Puts a TRAU frame into a channel.
    pub fn put(&mut self, channel: E1Channel, frame: &[u8; TRAU_LEN]) {
        let slot = usize::from(channel.slot);
        let shift = channel.shift();
        for (number, octets) in self.octets.chunks_mut(SLOTS).enumerate() {
            let bits = frame[number / 4] >> (6 - 2 * (number % 4)) & 0x3;
            octets[slot] = octets[slot] & !(0x3 << shift) | bits << shift;
        }
    }

    /// Returns the bits of a channel, as bytes with the first bit the most significant.
    #[must_use]
    pub fn channel(&self, channel: E1Channel) -> [u8; TRAU_LEN] {
        let slot = usize::from(channel.slot);
        let shift = channel.shift();
        let mut bits = [0; TRAU_LEN];
        for (number, octets) in self.octets.chunks(SLOTS).enumerate() {
            bits[number / 4] |= (octets[slot] >> shift & 0x3) << (6 - 2 * (number % 4));
        }
        bits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_call_has_a_channel_of_its_own_until_there_is_none() {
        let mut controller = TimeslotController::new();
        let all: Vec<E1Channel> = std::iter::from_fn(|| controller.assign()).collect();
        assert_eq!((all.len(), all.iter().collect::<BTreeSet<_>>().len()), (124, 124));
        assert_eq!(all[5], E1Channel::new(2, 1).expect("a channel"));
        assert!(controller.release(all[5]) && !controller.release(all[5]));
        assert_eq!(controller.assign(), Some(all[5]));
        for (slot, part) in [(0, 0), (32, 0), (1, 4)] {
            assert_eq!(E1Channel::new(slot, part), None);
        }
    }

    #[test]
    fn channels_do_not_touch_each_other() {
        let channel = |slot, part| E1Channel::new(slot, part).expect("a channel");
        let frame = |seed: u8| core::array::from_fn(|at| (at as u8).wrapping_mul(37) ^ seed);
        let mut line = E1Line::default();
        let calls = [(1, 0), (1, 3), (17, 2), (31, 3)];
        for (number, (slot, part)) in calls.into_iter().enumerate() {
            line.put(channel(slot, part), &frame(number as u8));
        }
        for (number, (slot, part)) in calls.into_iter().enumerate() {
            assert_eq!(line.channel(channel(slot, part)), frame(number as u8));
        }
        assert_eq!(line.channel(channel(1, 1)), [0xff; TRAU_LEN]);
        assert_eq!(line.octets().len(), 5_120);
        // 2.048 Mb/s for 20 ms, of which the first slot of each frame is none of ours.
        assert!(line.octets().chunks(32).all(|frame| frame[0] == 0xff));
        // The first two bits of a frame are those of the first octet of its timeslot.
        assert_eq!(line.octets()[17] >> 2 & 0x3, frame(2)[0] >> 6);
    }
}
