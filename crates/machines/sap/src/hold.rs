//! Delayed reports of damaged packets: the link may still deliver them intact.
//!
//! A link may deliver a damaged frame and retransmit it, so that an intact copy of the packet
//! arrives a little later. An immediate report would make the SAP sender retransmit the packet too.

use std::collections::VecDeque;

use windfall_base::{Duration, Instant, SmoothedRtt};
use windfall_wire_net::sap::ack;

/// The time by which the first reports are delayed.
const FIRST: Duration = Duration::from_millis(10);
/// The longest delay of a report.
const LONGEST: Duration = Duration::from_millis(100);
/// The margin added to the usual time of a link-layer retransmission.
const MARGIN: Duration = Duration::from_millis(1);
/// The number of consecutive packets without an intact copy after which reports are not delayed.
const ENOUGH: u32 = 4;

/// A packet of which only the header arrived intact.
#[derive(Clone, Copy, Debug)]
struct Damaged {
    number: u64,
    at: Instant,
    /// The time of the report.
    due: Instant,
    /// No intact copy had arrived by then.
    missed: bool,
}

/// The latest packets of which only the header arrived intact.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hold {
    packets: VecDeque<Damaged>,
    /// The time after which the link delivered an intact copy.
    repeats: SmoothedRtt,
    /// Packets in a row without an intact copy.
    missed: u32,
}

impl Hold {
    /// Returns how long the link takes to deliver an intact copy; zero if it delivers none.
    fn span(&self) -> Duration {
        if self.missed >= ENOUGH {
            return Duration::ZERO;
        }
        let usual = self.repeats.mean().map(|mean| mean + self.repeats.variation() * 4 + MARGIN);
        usual.unwrap_or(FIRST).min(LONGEST)
    }

    /// Notes a damaged packet; returns the time of its report, `now` unless it may wait.
    pub(crate) fn insert(&mut self, now: Instant, number: u64, may_wait: bool) -> Instant {
        let due = if may_wait { now + self.span() } else { now };
        if let Some(packet) = self.packets.iter_mut().find(|packet| packet.number == number) {
            // The link retransmits the packet, and has not succeeded yet.
            packet.due = if packet.missed { packet.due } else { due };
            return packet.due;
        }
        if self.packets.len() == ack::MAX_DAMAGED {
            self.packets.pop_front();
        }
        self.packets.push_back(Damaged { number, at: now, due, missed: false });
        due
    }

    /// Returns whether only the header of `number` has arrived intact.
    pub(crate) fn contains(&self, number: u64) -> bool {
        self.packets.iter().any(|packet| packet.number == number)
    }

    /// Notes that `number` arrived intact.
    pub(crate) fn arrived(&mut self, now: Instant, number: u64) {
        let Some(index) = self.packets.iter().position(|packet| packet.number == number) else {
            return;
        };
        if let Some(packet) = self.packets.remove(index) {
            self.missed = 0;
            self.repeats.sample(now.saturating_since(packet.at));
        }
    }

    /// Counts the packets whose time is over at `now`; returns the time of the next report.
    pub(crate) fn expire(&mut self, now: Instant) -> Option<Instant> {
        for packet in self.packets.iter_mut().filter(|packet| packet.due <= now) {
            if !core::mem::replace(&mut packet.missed, true) {
                self.missed = self.missed.saturating_add(1);
            }
        }
        self.packets.iter().map(|packet| packet.due).filter(|due| *due > now).min()
    }

    /// Returns the packets to report at `now`: their delay is over, or the link has delivered a
    /// later packet. Packets from `next` on have not arrived intact.
    pub(crate) fn reported(&self, now: Instant, next: u64) -> impl Iterator<Item = u64> {
        let is_due = move |packet: &&Damaged| packet.due <= now || packet.number < next;
        self.packets.iter().filter(is_due).map(|packet| packet.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Instant = |ms| Instant::START + Duration::from_millis(ms);

    fn reported(hold: &Hold, now: Instant) -> Vec<u64> {
        hold.reported(now, 0).collect()
    }

    #[test]
    fn a_report_waits_for_the_link_as_long_as_that_usually_takes() {
        let mut hold = Hold::default();
        assert_eq!(hold.insert(MS(0), 7, true), MS(10));
        assert!(reported(&hold, MS(9)).is_empty());
        hold.arrived(MS(3), 7);
        assert!(reported(&hold, MS(99)).is_empty(), "the link has repeated it");
        for number in 8..50 {
            hold.insert(MS(number * 10), number, true);
            hold.arrived(MS(number * 10 + 3), number);
        }
        let due = hold.insert(MS(1000), 50, true);
        assert!(due > MS(1003) && due < MS(1006), "{due:?}");
        assert_eq!(
            hold.insert(MS(1004), 50, true),
            due + Duration::from_millis(4),
            "damaged again"
        );
        assert_eq!(reported(&hold, MS(1010)), [50]);
    }

    #[test]
    fn nothing_is_held_back_where_the_link_does_not_repeat() {
        let mut hold = Hold::default();
        for number in 0..4 {
            assert_eq!(hold.insert(MS(number * 20), number, true), MS(number * 20 + 10));
            assert_eq!(hold.expire(MS(number * 20 + 5)), Some(MS(number * 20 + 10)));
            assert_eq!(hold.expire(MS(number * 20 + 10)), None);
        }
        assert_eq!(hold.insert(MS(100), 4, true), MS(100));
        hold.expire(MS(100));
        // An intact copy after all.
        hold.arrived(MS(102), 4);
        assert!(hold.insert(MS(110), 5, true) > MS(112));
    }
}
