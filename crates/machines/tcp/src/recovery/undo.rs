//! Spurious reductions: all retransmitted data had only been late, so the window is restored (RFC
//! 3522, 3708 and 4015; RFC 9438, section 4.9.2).

use core::ops::Range;

use windfall_base::{Instant, RangeSet};

use super::rack::{Echo, is_older};
use super::{Recovery, SendSequence};
use crate::config::LossRecovery;

/// Retransmitted data, each copy counted: the peer reports each duplicate that it receives once.
#[derive(Clone, Debug, Default)]
struct Copies {
    /// The set at `n` holds what left more than `n` times.
    sets: Vec<RangeSet>,
}

impl Copies {
    const fn is_empty(&self) -> bool {
        self.sets.is_empty()
    }

    /// Counts one copy more of `range`.
    fn add(&mut self, range: Range<u64>) {
        let mut pieces = vec![range];
        for set in &mut self.sets {
            let again = pieces.iter().flat_map(|piece| set.within(piece.clone())).collect();
            for piece in core::mem::replace(&mut pieces, again) {
                set.insert(piece);
            }
        }
        if !pieces.is_empty() {
            let mut set = RangeSet::default();
            pieces.into_iter().for_each(|piece| _ = set.insert(piece));
            self.sets.push(set);
        }
    }

    /// Counts one copy less of `range`.
    fn take(&mut self, range: Range<u64>) {
        let mut pieces = vec![range];
        for set in self.sets.iter_mut().rev() {
            let rest = pieces.iter().flat_map(|piece| set.gaps(piece.clone())).collect();
            for piece in core::mem::replace(&mut pieces, rest) {
                set.remove(piece);
            }
        }
        self.sets.retain(|set| !set.is_empty());
    }

    /// Forgets all copies of `range`.
    fn remove(&mut self, range: &Range<u64>) {
        self.sets.iter_mut().for_each(|set| set.remove(range.clone()));
        self.sets.retain(|set| !set.is_empty());
    }
}

/// The last reduction for a loss, while it may still prove to be without need.
#[derive(Clone, Debug, Default)]
pub(super) struct Undo {
    /// Sent again since the reduction, and not shown to have been without need.
    unexplained: Copies,
    /// The data that the peer has received damaged: no congestion.
    damaged: RangeSet,
    /// When the first retransmission was sent.
    since: Option<Instant>,
    /// It was made for a timeout.
    by_timeout: bool,
    is_spurious: bool,
    /// The bytes that had been lost before it, by the account of the rates of delivery.
    lost_before: u64,
    /// SND.NXT before it.
    snd_nxt: u64,
    /// The timeouts since then, which belong to it.
    timeouts: u64,
}

/// A reduction that has proved to be without need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spurious {
    /// A timeout caused it, not a fast recovery.
    pub by_timeout: bool,
    /// SND.NXT before it.
    pub snd_nxt: u64,
    /// The reductions to take back: itself, and those of the timeouts that belong to it.
    pub reductions: u64,
}

impl Undo {
    fn new(by_timeout: bool, lost_before: u64, snd_nxt: u64) -> Self {
        Self { by_timeout, lost_before, snd_nxt, ..Self::default() }
    }

    /// Notes that a timeout follows the reduction and belongs to it.
    pub(super) const fn on_later_timeout(&mut self) {
        self.timeouts += 1;
    }

    /// Returns the bytes that had been lost before the reduction.
    pub(super) const fn lost_before(&self) -> u64 {
        self.lost_before
    }

    /// Notes that `range` left once more.
    fn on_repeated(&mut self, now: Instant, range: Range<u64>) {
        self.damaged.gaps(range).for_each(|gap| self.unexplained.add(gap));
        self.since.get_or_insert(now);
    }

    /// Notes that one copy of `range` was without need.
    fn explain_copy(&mut self, range: Range<u64>) {
        if !self.unexplained.is_empty() {
            self.unexplained.take(range);
            self.is_spurious |= self.unexplained.is_empty();
        }
    }

    /// Notes that every copy of `range` was without need.
    fn explain_copies(&mut self, range: &Range<u64>) {
        if !self.unexplained.is_empty() {
            self.unexplained.remove(range);
            self.is_spurious |= self.unexplained.is_empty();
        }
    }
}

impl Recovery {
    /// Keeps the last reduction, whatever proves to be without need from here on.
    pub(crate) fn forget_undo(&mut self) {
        self.undo = None;
    }

    /// Returns the record of a reduction that may prove to be without need; Net/3 keeps none.
    pub(super) fn new_undo(&self, by_timeout: bool, flow: &SendSequence) -> Option<Box<Undo>> {
        if self.repair == LossRecovery::Net3 {
            return None;
        }
        let lost = self.timed.as_ref().map_or(0, |timed| timed.counted_losses());
        let mut undo = Undo::new(by_timeout, lost, flow.nxt);
        // The timeout ends the wait for the answer to a probe of the tail (RFC 8985, section 7.4).
        // If that repaired a loss, the peer reports no duplicate of it, and the reduction stays.
        if by_timeout && let Some(probe) = self.repeated_probe() {
            undo.unexplained.add(probe);
        }
        Some(Box::new(undo))
    }

    pub(super) fn note_repeated(&mut self, now: Instant, range: &Range<u64>, flow: &SendSequence) {
        if let Some(undo) = &mut self.undo
            && range.start < flow.max
            && flow.una < self.recover
        {
            undo.on_repeated(now, range.start..range.end.min(flow.max));
        }
    }

    /// Takes a D-SACK for `range`: one copy of it was without need (RFC 3708).
    pub(crate) fn explain(&mut self, range: Range<u64>) {
        if let Some(undo) = &mut self.undo {
            undo.explain_copy(range);
        }
    }

    /// Takes the report that `range` arrived damaged. The reduction was without need if that was so
    /// of everything that seemed lost.
    pub(crate) fn explain_damage(&mut self, range: Range<u64>) {
        let Some(undo) = self.undo.as_mut().filter(|undo| !undo.by_timeout) else { return };
        undo.damaged.insert(range.clone());
        undo.unexplained.remove(&range);
        let lost = self.timed.as_ref().map(|timed| timed.lost());
        let mut others = lost.into_iter().flat_map(RangeSet::iter);
        let is_damaged = |lost: Range<u64>| undo.damaged.gaps(lost).next().is_none();
        undo.is_spurious |= undo.unexplained.is_empty() && others.all(is_damaged);
    }

    /// Takes an acknowledgment of everything below `una`. If it echoes something older than the
    /// first retransmission, it answers first transmissions (RFC 3522, section 3.2).
    pub(super) fn explain_by_echo(&mut self, una: u64, echo: &Echo) {
        if let Some(undo) = &mut self.undo {
            match undo.since {
                Some(since) if is_older(echo, since) => undo.explain_copies(&(0..una)),
                // No retransmission has left: the data that seemed lost have arrived.
                None => undo.is_spurious |= !undo.by_timeout && una >= self.recover,
                Some(_) => {}
            }
        }
    }

    /// Undoes the last reduction if it proved spurious, and returns its cause.
    pub(crate) fn take_spurious(&mut self, flow: &SendSequence) -> Option<Spurious> {
        let undo = self.undo.take_if(|undo| undo.is_spurious)?;
        if self.active {
            self.leave();
        }
        self.settle_timeout();
        self.timed.iter_mut().for_each(|timed| timed.take_back_losses(undo.lost_before));
        if flow.una < self.recover {
            // One within the repair of an earlier timeout leaves that to be continued.
            self.timeout.take_if(|_| !undo.by_timeout || undo.snd_nxt >= self.recover);
            self.timed.iter_mut().for_each(|timed| timed.reconsider(flow));
        }
        let Undo { by_timeout, snd_nxt, timeouts, .. } = *undo;
        Some(Spurious { by_timeout, snd_nxt, reductions: 1 + timeouts })
    }
}
