//! What is on its way, what has arrived of it, and what must be lost.

use std::collections::VecDeque;

use windfall_base::{Duration, Instant};
use windfall_wire_net::sap::SapAck;

use crate::numbers::listed;

/// Packets that arrive after one that is missing until it counts as lost.
const THRESHOLD: u64 = 3;

/// What a packet carried, so that its loss can be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Load {
    /// The precise message, or the repair, with this name.
    Precise(u64),
    /// An approximate message; nobody repeats it.
    Approximate,
    /// A request for repair, by its name.
    Request(u64),
    /// The end of this direction.
    Fin,
    /// A packet that asks for a word.
    Probe,
    /// A trial of this datagram size; its loss is no loss.
    Trial(usize),
}

/// A packet on its way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flying {
    /// Its number.
    pub(crate) number: u64,
    /// When it was sent.
    pub(crate) at: Instant,
    /// Its size in bytes.
    pub(crate) size: usize,
    /// What it carried.
    pub(crate) load: Load,
}

/// What an acknowledgement said.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// Packets that arrived whole.
    pub(crate) arrived: Vec<Flying>,
    /// Packets whose exact bytes arrived damaged.
    pub(crate) damaged: Vec<Flying>,
    /// When the largest one was sent, if it is new.
    pub(crate) sample: Option<Instant>,
}

/// Packets on their way, by their numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sent {
    /// From number `first` on; `None` for those that need no word, or had one.
    packets: VecDeque<Option<Flying>>,
    first: u64,
    largest: Option<u64>,
    in_flight: usize,
    count: usize,
    last_at: Option<Instant>,
}

impl Sent {
    /// The number of the next packet.
    pub(crate) fn next(&self) -> u64 {
        self.first + self.packets.len() as u64
    }

    /// Notes the next packet; `None` if nobody will say a word of it.
    pub(crate) fn push(&mut self, now: Instant, packet: Option<(usize, Load)>) {
        let number = self.next();
        let flying = packet.map(|(size, load)| Flying { number, at: now, size, load });
        if let Some(flying) = flying {
            self.in_flight += flying.size;
            self.count += 1;
            self.last_at = Some(now);
        }
        if flying.is_none() && self.packets.is_empty() {
            self.first += 1;
        } else {
            self.packets.push_back(flying);
        }
    }

    /// Forgets what is on its way; the numbers go on, since none may be used twice.
    pub(crate) fn clear(&mut self) {
        *self = Self { first: self.next(), ..Self::default() };
    }

    /// Bytes on their way.
    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// Whether nothing is on its way.
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// When the last packet was sent that should be acknowledged.
    pub(crate) fn last_at(&self) -> Option<Instant> {
        self.last_at.filter(|_| !self.is_empty())
    }

    /// Waits anew for what is on its way.
    pub(crate) fn wait_anew(&mut self, now: Instant) {
        self.last_at = Some(now);
    }

    /// The number nearest to the packets on their way whose low 32 bits are `low`; `None` if no
    /// such packet was sent.
    fn expand(&self, low: u32) -> Option<u64> {
        let last = self.next().checked_sub(1)?;
        let behind = u64::from((last as u32).wrapping_sub(low));
        (behind < 1 << 31).then(|| last.checked_sub(behind)).flatten()
    }

    /// Takes out what an acknowledgement lists.
    pub(crate) fn acknowledge(&mut self, ack: &SapAck) -> Outcome {
        let mut outcome = Outcome::default();
        let Some(largest) = self.expand(ack.largest) else { return outcome };
        for below in &ack.damaged {
            let number = largest.checked_sub(u64::from(*below));
            outcome.damaged.extend(number.and_then(|number| self.take(number)));
        }
        for (first, last) in listed(ack, largest) {
            for number in first.max(self.first)..=last {
                let Some(flying) = self.take(number) else { continue };
                if number == largest {
                    outcome.sample = Some(flying.at);
                }
                outcome.arrived.push(flying);
            }
        }
        self.largest = self.largest.max(Some(largest));
        self.forget();
        outcome
    }

    /// Takes out what must be lost by now; the second value is when the next one will be.
    pub(crate) fn lost(
        &mut self,
        now: Instant,
        reordering: Option<Duration>,
    ) -> (Vec<Flying>, Option<Instant>) {
        let Some(largest) = self.largest else { return (Vec::new(), None) };
        let (mut lost, mut next) = (Vec::new(), None);
        let end = largest.saturating_sub(self.first).min(self.packets.len() as u64);
        for index in 0..end as usize {
            let Some(flying) = self.packets[index] else { continue };
            let late = reordering.map(|span| flying.at + span);
            if largest - flying.number >= THRESHOLD || late.is_some_and(|late| late <= now) {
                lost.extend(self.take(flying.number));
            } else if next.is_none() {
                next = late;
            }
        }
        self.forget();
        (lost, next)
    }

    /// Takes out the oldest `count` packets, given up for lost.
    pub(crate) fn give_up(&mut self, count: usize) -> Vec<Flying> {
        let oldest: Vec<u64> =
            self.packets.iter().flatten().take(count).map(|flying| flying.number).collect();
        let lost = oldest.into_iter().filter_map(|number| self.take(number)).collect();
        self.forget();
        lost
    }

    fn take(&mut self, number: u64) -> Option<Flying> {
        let index = usize::try_from(number.checked_sub(self.first)?).ok()?;
        let flying = self.packets.get_mut(index)?.take()?;
        self.in_flight -= flying.size;
        self.count -= 1;
        Some(flying)
    }

    /// Drops what is settled from the front.
    fn forget(&mut self) {
        while let Some(None) = self.packets.front() {
            self.packets.pop_front();
            self.first += 1;
        }
    }
}

#[cfg(test)]
mod tests;
