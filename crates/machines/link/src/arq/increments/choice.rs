//! The amount of parity that goes first, or whether a copy is the better attempt.

use super::blocks;

/// Parity symbols of each block in all, after each increment.
pub(crate) const LEVELS: [usize; 5] = [8, 16, 32, 64, 128];
/// Bytes of a frame beside its contents: header and check.
const OVERHEAD: f64 = 23.0;
/// The weight of the earlier observations against a new one.
const MEMORY: f64 = 0.95;
/// Packets that failed and are repeated, of which one tries parity all the same.
const TRIAL: u32 = 32;
/// Packets that failed and are repeated, of which one tries parity if attempts are few and trials
/// keep failing.
const RAREST_TRIAL: u32 = 1024;
/// Packets with few attempts that may have less than a copy under way, at most.
const MOST_TRUSTED: u32 = 1024;
/// Packets for which parity was enough that make good one for which it was not.
const LOSS_OF_TRUST: u32 = 2;

/// Learns how much parity damaged packets needed, and chooses by the bytes that go on the air.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    /// The number of times that each level was enough, and last that none was; old ones weigh less.
    enough: [f64; LEVELS.len() + 1],
    /// The share of copies that arrived damaged or not at all.
    failing: f64,
    since_trial: u32,
    /// Packets with few attempts of which one tries parity that is no longer worth a copy.
    trial_after: u32,
    /// Packets with few attempts of which less than a copy may be under way: one at first, and
    /// more with each for which that was enough, as in slow start.
    trusted: u32,
    /// Packets with few attempts of which less than a copy is under way.
    under_way: u32,
}

impl Default for Choice {
    /// Initially, a little parity is presumed to be enough most of the time.
    fn default() -> Self {
        let enough = [0.4, 0.3, 0.15, 0.1, 0.04, 0.01];
        Self { enough, failing: 0.5, since_trial: 0, trial_after: TRIAL, trusted: 1, under_way: 0 }
    }
}

impl Choice {
    /// Learns the fate of a copy of a packet.
    pub(crate) fn note_copy(&mut self, arrived: bool) {
        let failed = if arrived { 0.0 } else { 1.0 };
        self.failing += (failed - self.failing) / 16.0;
    }

    /// Learns the level that made a packet whole, or that none did.
    pub(crate) fn note_enough(&mut self, level: Option<usize>) {
        self.enough.iter_mut().for_each(|weight| *weight *= MEMORY);
        self.enough[level.unwrap_or(LEVELS.len())] += 1.0;
        if level.is_some() {
            self.trial_after = TRIAL;
            self.trusted = (self.trusted + 1).min(MOST_TRUSTED);
        }
    }

    /// Learns that a level was not enough for a packet, and not which one would have been, or that
    /// none would: the packet counts as those of the past that needed more.
    pub(crate) fn note_more(&mut self, level: usize) {
        self.enough.iter_mut().for_each(|weight| *weight *= MEMORY);
        let more = &mut self.enough[level + 1..];
        let sum: f64 = more.iter().sum();
        more.iter_mut().for_each(|weight| *weight += *weight / sum.max(f64::MIN_POSITIVE));
        self.trial_after = (2 * self.trial_after).min(RAREST_TRIAL);
        self.trusted = self.trusted.saturating_sub(LOSS_OF_TRUST).max(1);
    }

    /// Tells whether one more packet with few attempts may have less than a copy under way.
    pub(crate) fn has_room(&self) -> bool {
        self.under_way < self.trusted
    }

    /// Tells whether the parity sent lately was enough more often than not.
    pub(crate) fn is_trusted(&self) -> bool {
        self.trusted > 1
    }

    /// Counts a packet with few attempts of which less than a copy goes under way, or no longer is.
    pub(crate) fn count_under_way(&mut self, begins: bool) {
        self.under_way = if begins { self.under_way + 1 } else { self.under_way.saturating_sub(1) };
    }

    /// The share of packets with few attempts for which parity that is less than a copy must be
    /// enough: as many as copies arrive whole, and until it has proved itself half of the others
    /// too.
    pub(crate) fn least(&self) -> f64 {
        if self.is_trusted() { 1.0 - self.failing } else { 1.0 - self.failing / 2.0 }
    }

    /// The share of the packets for which `level` is enough, of those for which the levels below
    /// `from` are not.
    pub(crate) fn reaches(&self, from: usize, level: usize) -> f64 {
        let of = |levels: &[f64]| levels.iter().sum::<f64>();
        of(&self.enough[from..=level]) / of(&self.enough[from..]).max(1e-9)
    }

    /// Returns the level of the first increment of a packet of `len` bytes, which makes at least
    /// the share `least` of such packets; `None` if another copy is the better attempt.
    pub(crate) fn first(&mut self, len: usize, least: f64) -> Option<usize> {
        let cheapest = |least| {
            let levels = (0..LEVELS.len()).filter(|level| self.reaches(0, *level) >= least);
            let costs = levels.filter_map(|first| Some((first, self.cost(len, first)?)));
            costs.min_by(|a, b| a.1.total_cmp(&b.1))
        };
        let copy = len as f64 + OVERHEAD;
        let (first, trial_after) = match cheapest(least) {
            Some((first, cost)) if cost < copy / (1.0 - self.failing.min(0.99)) => {
                return Some(first);
            }
            Some((first, _)) => (first, TRIAL),
            None => (cheapest(0.0)?.0, self.trial_after),
        };
        self.since_trial += 1;
        if self.since_trial < trial_after {
            return None;
        }
        self.since_trial = 0;
        Some(first)
    }

    /// The bytes that a packet costs that begins with this level; `None` if they are more than a
    /// copy at once.
    fn cost(&self, len: usize, first: usize) -> Option<f64> {
        let copy = len as f64 + OVERHEAD;
        fits(len, 0, LEVELS[first]).then_some(())?;
        let total: f64 = self.enough.iter().sum();
        let (mut sum, mut spent, mut sent) = (0.0, 0.0, 0);
        let mut open = total;
        for (level, parity) in LEVELS.into_iter().enumerate().skip(first) {
            if !fits(len, sent, parity) {
                break;
            }
            spent += (blocks(len) * (parity - sent)) as f64 + OVERHEAD;
            sent = parity;
            let below: f64 = if level == first { self.enough[..level].iter().sum() } else { 0.0 };
            sum += (self.enough[level] + below) * spent;
            open -= self.enough[level] + below;
        }
        // With the parity that has come a second copy is nearly always enough.
        Some((sum + open * (spent + 1.2 * copy)) / total)
    }
}

/// Tells whether the parity symbols from `sent` to `level` of each block are less than a copy.
pub(crate) fn fits(len: usize, sent: usize, level: usize) -> bool {
    blocks(len) * (level - sent) < len
}
