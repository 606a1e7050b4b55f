//! The frames of a stream, observed beside what its datagrams tell: their attempts and damage.

use std::collections::BTreeMap;

use windfall_base::{PacketEvent, PacketEventKind, Payload, Tag};
use windfall_network::{EventKind, NetworkEvent, direction_of};
use windfall_report::statistics;

/// The counts of frames or of datagrams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Damage {
    /// Those that were sent.
    pub(super) sent: u64,
    /// Those that arrived, intact or damaged.
    pub(super) arrived: u64,
    /// Those of them that are damaged.
    pub(super) damaged: u64,
    /// The number of bits in damaged ones.
    pub(super) damaged_bits: u64,
    /// Of these, the bit errors.
    pub(super) bit_errors: u64,
    /// The number of bits in all that arrived.
    pub(super) bits: u64,
}

impl core::ops::Add for Damage {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            sent: self.sent + other.sent,
            arrived: self.arrived + other.arrived,
            damaged: self.damaged + other.damaged,
            damaged_bits: self.damaged_bits + other.damaged_bits,
            bit_errors: self.bit_errors + other.bit_errors,
            bits: self.bits + other.bits,
        }
    }
}

impl Damage {
    /// Counts one that arrived with this number of bit errors.
    pub(super) fn arrive(&mut self, bytes: usize, is_damaged: bool, bit_errors: u64) {
        let bits = 8 * bytes as u64;
        self.arrived += 1;
        self.bits += bits;
        if is_damaged {
            self.damaged += 1;
            self.damaged_bits += bits;
            self.bit_errors += bit_errors;
        }
    }

    const fn missing(&self) -> u64 {
        self.sent.saturating_sub(self.arrived)
    }

    /// Returns the share that arrived damaged.
    pub(super) fn damaged_share(&self) -> Option<f64> {
        statistics::frame_loss_rate(0, self.damaged, self.sent)
    }

    //= S0.35
    /// Returns the bit error rate in damaged ones.
    pub(super) fn bit_error_rate(&self) -> Option<f64> {
        statistics::bit_error_rate_in_damaged(self.bit_errors, self.damaged_bits)
    }

    //= S0.36
    /// Returns the share of intact bits among all that arrived.
    pub(super) fn intact_bits(&self) -> Option<f64> {
        (self.bits > 0).then(|| 1.0 - self.bit_errors as f64 / self.bits as f64)
    }

    //= S0.37
    /// Returns the losses of a stock receiver: missing and damaged ones.
    pub(super) fn flr(&self) -> Option<f64> {
        statistics::frame_loss_rate(self.missing(), self.damaged, self.sent)
    }

    //= S0.37
    /// Returns the losses of SAP: missing ones only.
    pub(super) fn flr_but_damaged(&self) -> Option<f64> {
        statistics::frame_loss_rate_but_damaged(self.missing(), self.sent)
    }
}

/// The observer of the frames from the sender to the receiver.
#[derive(Clone, Debug, Default)]
pub(super) struct Frames {
    /// The length of a packet in bytes below which it is not counted.
    least: usize,
    pub(super) damage: Damage,
    /// Those of the frames sent that were sent more than once.
    pub(super) retransmitted: u64,
    /// The packets that were sent, without the bytes once they have arrived.
    sent: BTreeMap<Tag, Option<Payload>>,
}

impl Frames {
    pub(super) fn new(least: usize) -> Self {
        Self { least, ..Self::default() }
    }

    /// Counts an event of the network.
    pub(super) fn count(&mut self, event: &NetworkEvent) {
        match &event.what {
            EventKind::Packet(PacketEvent {
                tag: Some(tag),
                kind: PacketEventKind::Sent { attempt, .. },
            }) if self.sent.contains_key(tag) => {
                self.damage.sent += u64::from(*attempt == 1);
                self.retransmitted += u64::from(*attempt == 2);
            }
            EventKind::Passage(passage) => {
                let Some(tag) = passage.tag.filter(|tag| direction_of(*tag) == 0) else { return };
                if !passage.arrived && passage.payload.len() >= self.least {
                    self.sent.insert(tag, Some(passage.payload.clone()));
                } else if passage.arrived
                    && let Some(sent) = self.sent.get_mut(&tag).and_then(Option::take)
                {
                    let errors = bit_errors(&sent.to_bytes(), &passage.payload.to_bytes());
                    let is_damaged = passage.damage.is_damaged();
                    self.damage.arrive(sent.len(), is_damaged, errors);
                }
            }
            _ => {}
        }
    }
}

/// Returns the number of bits that differ.
pub(super) fn bit_errors(a: &[u8], b: &[u8]) -> u64 {
    a.iter().zip(b).map(|(a, b)| u64::from((a ^ b).count_ones())).sum()
}
