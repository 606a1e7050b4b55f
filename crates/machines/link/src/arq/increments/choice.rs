//! The choice between a copy and parity for a retransmission, and the amount of parity.

use super::blocks;

/// The total number of parity symbols of each block after each increment.
pub(crate) const LEVELS: [usize; 5] = [8, 16, 32, 64, 128];
/// The bytes of a frame beside its contents: header and frame check.
const OVERHEAD: f64 = 23.0;
/// The weight of the earlier observations after a new one.
const MEMORY: f64 = 0.95;
/// One in this many failed packets probes parity even if a copy seems better.
const TRIAL: u32 = 32;
/// One in this many failed packets with limited attempts probes parity, after repeated failures of
/// such probes.
const RAREST_TRIAL: u32 = 1024;
/// The maximum of [`Choice::trusted`].
const MOST_TRUSTED: u32 = 1024;
/// The number of successes of parity that outweigh one failure.
const LOSS_OF_TRUST: u32 = 2;

/// Estimates the parity that damaged packets need, and minimizes the bytes on the air.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    /// The number of times that each level sufficed, and that none did (last entry); it decays.
    enough: [f64; LEVELS.len() + 1],
    /// The share of copies that did not arrive undamaged.
    failing: f64,
    since_trial: u32,
    /// One in this many packets with limited attempts probes parity that seems worse than a copy.
    trial_after: u32,
    /// The maximum number of packets with limited attempts that may have less than a copy in
    /// flight. It is one at first and grows with each success, as in slow start.
    trusted: u32,
    /// The number of packets with limited attempts that have less than a copy in flight.
    under_way: u32,
}

impl Default for Choice {
    /// Returns the initial estimate: a little parity suffices most of the time.
    fn default() -> Self {
        let enough = [0.4, 0.3, 0.15, 0.1, 0.04, 0.01];
        Self { enough, failing: 0.5, since_trial: 0, trial_after: TRIAL, trusted: 1, under_way: 0 }
    }
}

impl Choice {
    /// Records whether a copy of a packet arrived undamaged.
    pub(crate) fn note_copy(&mut self, arrived: bool) {
        let failed = if arrived { 0.0 } else { 1.0 };
        self.failing += (failed - self.failing) / 16.0;
    }

    /// Records the level that restored a packet; `None` if none did.
    pub(crate) fn note_enough(&mut self, level: Option<usize>) {
        self.enough.iter_mut().for_each(|weight| *weight *= MEMORY);
        self.enough[level.unwrap_or(LEVELS.len())] += 1.0;
        if level.is_some() {
            self.trial_after = TRIAL;
            self.trusted = (self.trusted + 1).min(MOST_TRUSTED);
        }
    }

    /// Records that a level did not suffice for a packet, of which the sufficient level is unknown.
    /// The packet counts as the earlier packets that needed more than this level.
    pub(crate) fn note_more(&mut self, level: usize) {
        self.enough.iter_mut().for_each(|weight| *weight *= MEMORY);
        let more = &mut self.enough[level + 1..];
        let sum: f64 = more.iter().sum();
        more.iter_mut().for_each(|weight| *weight += *weight / sum.max(f64::MIN_POSITIVE));
        self.trial_after = (2 * self.trial_after).min(RAREST_TRIAL);
        self.trusted = self.trusted.saturating_sub(LOSS_OF_TRUST).max(1);
    }

    /// Returns `true` if another packet with limited attempts may have less than a copy in flight.
    pub(crate) fn has_room(&self) -> bool {
        self.under_way < self.trusted
    }

    /// Returns `true` if recent parity sufficed more often than not.
    pub(crate) fn is_trusted(&self) -> bool {
        self.trusted > 1
    }

    /// Counts a packet with limited attempts that begins or ceases to have less than a copy in
    /// flight.
    pub(crate) fn count_under_way(&mut self, begins: bool) {
        self.under_way = if begins { self.under_way + 1 } else { self.under_way.saturating_sub(1) };
    }

    /// Returns the minimum success probability of parity for packets with limited attempts. It is
    /// that of a copy, and higher until parity has proved itself.
    pub(crate) fn least(&self) -> f64 {
        if self.is_trusted() { 1.0 - self.failing } else { 1.0 - self.failing / 2.0 }
    }

    /// Returns the share of packets for which `level` suffices, among the packets for which the
    /// levels below `from` do not.
    pub(crate) fn reaches(&self, from: usize, level: usize) -> f64 {
        let of = |levels: &[f64]| levels.iter().sum::<f64>();
        of(&self.enough[from..=level]) / of(&self.enough[from..]).max(1e-9)
    }

    /// Returns the level of the first increment of a packet of `len` bytes; `None` if another copy
    /// is the better attempt. The level restores at least the share `least` of such packets.
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

    /// Returns the expected bytes for a packet that begins with this level; `None` if its first
    /// increment is longer than a copy.
    fn cost(&self, len: usize, first: usize) -> Option<f64> {
        let copy = len as f64 + OVERHEAD;
        fits(len, 0, LEVELS[first]).then_some(())?;
        let total: f64 = self.enough.iter().sum();
        let mut sum = 0.0;
        let mut spent = 0.0;
        let mut sent = 0;
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
        // After the received parity, a second copy almost always suffices.
        Some((sum + open * (spent + 1.2 * copy)) / total)
    }
}

/// Returns `true` if the parity symbols from `sent` to `level` of all blocks are shorter than a
/// copy.
pub(crate) fn fits(len: usize, sent: usize, level: usize) -> bool {
    blocks(len) * (level - sent) < len
}
