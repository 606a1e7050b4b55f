//! Sent packets: in flight, acknowledged, lost.

use std::collections::{BTreeMap, VecDeque};

use windfall_base::{Duration, Instant};
use windfall_wire_net::sap::SapAck;

use crate::numbers::listed;
use crate::optimistic_ack_guard::Skips;

/// The number of later packets that arrive before a missing one is declared lost (kPacketThreshold
/// of RFC 9002).
const THRESHOLD: u64 = 3;
/// The bytes charged for a remembered packet.
const PACKET: usize = 96;
/// The number of packets declared lost that are remembered, to detect spurious losses.
const REMEMBERED: usize = 1024;

/// The contents of a packet, for retransmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Load {
    /// The precise message or repair with this key.
    Precise(u64),
    /// An approximate message that is not retransmitted.
    Approximate {
        /// All its bytes are exact.
        is_exact: bool,
    },
    /// The approximate datagram with this key, which is retransmitted if it is lost.
    Repeatable(u64),
    /// The request for repair with this key.
    Request(u64),
    /// The FIN of this direction.
    Fin,
    /// A keepalive probe.
    Probe,
    /// A path MTU probe of this datagram size, whose loss is no sign of congestion.
    MtuProbe(usize),
}

/// A packet in flight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SentPacket {
    /// The number of the packet.
    pub(crate) number: u64,
    /// The time of transmission.
    pub(crate) at: Instant,
    /// The size in bytes.
    pub(crate) size: usize,
    /// The contents of the packet.
    pub(crate) load: Load,
    /// The packet directly follows one that requests an immediate report.
    pub(crate) is_behind: bool,
}

impl SentPacket {
    /// Returns the size of a path MTU probe; 0 for other packets.
    fn probe_size(&self) -> usize {
        if matches!(self.load, Load::MtuProbe(_)) { self.size } else { 0 }
    }
}

/// The result of an acknowledgement.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// Packets that arrived intact.
    pub(crate) arrived: Vec<SentPacket>,
    /// Packets whose exact bytes arrived damaged.
    pub(crate) damaged: Vec<SentPacket>,
    /// Packets among `arrived` that arrived after packets with higher numbers.
    pub(crate) overtaken: Vec<SentPacket>,
    /// Packets that were declared lost and have arrived nevertheless.
    pub(crate) late: Vec<SentPacket>,
    /// The time of transmission of the largest acknowledged packet, if it is newly acknowledged: an
    /// RTT sample (RFC 9002, section 5.1).
    pub(crate) sample: Option<Instant>,
    /// The time at which the largest packet was sent, if it had been declared lost.
    pub(crate) late_sample: Option<Instant>,
    /// The acknowledgement lists a packet number that was never sent.
    pub(crate) forged: bool,
}

/// Packets in flight by number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sent {
    /// Packets from number `first` on; `None` for those that need no acknowledgement, or have one.
    packets: VecDeque<Option<SentPacket>>,
    first: u64,
    largest: Option<u64>,
    in_flight: usize,
    /// The bytes of path MTU probes among those in flight.
    probes: usize,
    count: usize,
    last_at: Option<Instant>,
    /// The latest packets that were declared lost: they may still arrive.
    given_up: BTreeMap<u64, SentPacket>,
    /// The packet numbers that are skipped on purpose; `None` in the paper profile.
    skips: Option<Skips>,
}

impl Sent {
    /// Creates an empty record, which skips unpredictable packet numbers if there is a key for
    /// them.
    pub(crate) fn new(skips: Option<[u8; 16]>) -> Self {
        Self { skips: skips.map(Skips::new), ..Self::default() }
    }

    /// Returns the number of the next packet.
    pub(crate) fn next(&self) -> u64 {
        self.first + self.packets.len() as u64
    }

    /// Records the next packet; `None` if it is not ack-eliciting.
    pub(crate) fn push(&mut self, now: Instant, packet: Option<(usize, Load)>, is_behind: bool) {
        let number = self.next();
        let packet =
            packet.map(|(size, load)| SentPacket { number, at: now, size, load, is_behind });
        if let Some(packet) = packet {
            self.in_flight += packet.size;
            self.probes += packet.probe_size();
            self.count += 1;
            self.last_at = Some(now);
        }
        self.append(packet);
        let next = self.next();
        if self.skips.as_mut().is_some_and(|skips| skips.skip(next)) {
            self.append(None);
        }
    }

    fn append(&mut self, packet: Option<SentPacket>) {
        if packet.is_none() && self.packets.is_empty() {
            self.first += 1;
        } else {
            self.packets.push_back(packet);
        }
    }

    /// Returns the memory of the packets that are remembered, in bytes.
    pub(crate) fn charge(&self) -> usize {
        (self.packets.len() + self.given_up.len()) * PACKET
    }

    /// Forgets packets in flight; the numbers continue, since none may be used twice.
    pub(crate) fn clear(&mut self) {
        *self = Self { first: self.next(), ..Self::default() };
    }

    /// Returns the number of bytes in flight.
    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// Returns the number of bytes in flight that are no path MTU probes.
    pub(crate) fn in_flight_without_probes(&self) -> usize {
        self.in_flight - self.probes
    }

    /// Returns whether no packet is in flight.
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns when the last ack-eliciting packet was sent, while any is in flight.
    pub(crate) fn last_at(&self) -> Option<Instant> {
        self.last_at.filter(|_| !self.is_empty())
    }

    /// Returns whether the last packet in flight carries an approximate message.
    pub(crate) fn is_last_approximate(&self) -> bool {
        let last = self.packets.iter().rev().flatten().next();
        last.is_some_and(|packet| {
            matches!(packet.load, Load::Approximate { .. } | Load::Repeatable(_))
        })
    }

    /// Restarts the retransmission timer.
    pub(crate) fn restart_timer(&mut self, now: Instant) {
        self.last_at = Some(now);
    }

    /// Returns the number closest to the packets in flight whose low 32 bits are `low`; `None` if
    /// no such packet was sent.
    fn expand(&self, low: u32) -> Option<u64> {
        let last = self.next().checked_sub(1)?;
        let behind = u64::from((last as u32).wrapping_sub(low));
        (behind < 1 << 31).then(|| last.checked_sub(behind)).flatten()
    }

    /// Removes the packets that an acknowledgement lists.
    pub(crate) fn acknowledge(&mut self, ack: &SapAck) -> Outcome {
        let mut outcome = Outcome::default();
        let Some(largest) = self.expand(ack.largest) else { return outcome };
        let runs = listed(ack, largest);
        if let Some(skips) = &self.skips
            && runs.iter().any(|(first, last)| skips.touches(*first, *last))
        {
            outcome.forged = true;
            return outcome;
        }
        for below in &ack.damaged {
            let number = largest.checked_sub(u64::from(*below));
            outcome.damaged.extend(number.and_then(|number| self.take(number)));
        }
        for (first, last) in runs {
            for number in first.max(self.first)..=last {
                let Some(packet) = self.take(number) else { continue };
                if number == largest {
                    outcome.sample = Some(packet.at);
                }
                if self.largest.is_some_and(|largest| number < largest) {
                    outcome.overtaken.push(packet);
                }
                outcome.arrived.push(packet);
            }
            let late =
                |it: &Self| it.given_up.range(first..=last).next().map(|(number, _)| *number);
            while let Some(packet) = late(self).and_then(|number| self.given_up.remove(&number)) {
                if packet.number == largest {
                    outcome.late_sample = Some(packet.at);
                }
                outcome.late.push(packet);
            }
        }
        self.largest = self.largest.max(Some(largest));
        self.forget();
        outcome
    }

    /// Removes the packets that are lost by now, and returns when the next one will be (RFC 9002,
    /// section 6.1). `reordering` is the time threshold; the packet threshold applies only while
    /// packets arrive `in_order`.
    pub(crate) fn lost(
        &mut self,
        now: Instant,
        reordering: Option<Duration>,
        in_order: bool,
    ) -> (Vec<SentPacket>, Option<Instant>) {
        let Some(largest) = self.largest else { return (Vec::new(), None) };
        let mut lost = Vec::new();
        let mut next = None;
        let end = largest.saturating_sub(self.first).min(self.packets.len() as u64);
        for index in 0..end as usize {
            let Some(packet) = self.packets[index] else { continue };
            let late = reordering.map(|span| packet.at + span);
            let is_far = in_order && largest - packet.number >= THRESHOLD;
            if is_far || late.is_some_and(|late| late <= now) {
                lost.extend(self.give_up_one(packet.number));
            } else if next.is_none() {
                next = late;
            }
        }
        self.forget();
        (lost, next)
    }

    /// Declares the oldest `count` packets lost and removes them.
    pub(crate) fn give_up(&mut self, count: usize) -> Vec<SentPacket> {
        let oldest = self.packets.iter().flatten().take(count).map(|packet| packet.number);
        let oldest = oldest.collect();
        self.give_up_all(oldest)
    }

    /// Declares the packets lost for which `is_lost` holds, and removes them.
    pub(crate) fn give_up_if(&mut self, is_lost: impl Fn(&SentPacket) -> bool) -> Vec<SentPacket> {
        let named = self.packets.iter().flatten().filter(|packet| is_lost(packet));
        let named = named.map(|packet| packet.number).collect();
        self.give_up_all(named)
    }

    fn give_up_all(&mut self, numbers: Vec<u64>) -> Vec<SentPacket> {
        let lost = numbers.into_iter().filter_map(|number| self.give_up_one(number)).collect();
        self.forget();
        lost
    }

    fn give_up_one(&mut self, number: u64) -> Option<SentPacket> {
        let packet = self.take(number)?;
        self.given_up.insert(number, packet);
        if self.given_up.len() > REMEMBERED {
            self.given_up.pop_first();
        }
        Some(packet)
    }

    fn take(&mut self, number: u64) -> Option<SentPacket> {
        let index = usize::try_from(number.checked_sub(self.first)?).ok()?;
        let packet = self.packets.get_mut(index)?.take()?;
        self.in_flight -= packet.size;
        self.probes -= packet.probe_size();
        self.count -= 1;
        Some(packet)
    }

    /// Drops settled packets from the front.
    fn forget(&mut self) {
        while let Some(None) = self.packets.front() {
            self.packets.pop_front();
            self.first += 1;
        }
    }
}

#[cfg(test)]
mod tests;
