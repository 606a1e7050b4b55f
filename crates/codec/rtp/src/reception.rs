//! Reception statistics of one source, by the algorithms of RFC 3550, appendix A.

use crate::rtcp::ReportBlock;

/// Packets in sequence before a source is valid.
const MIN_SEQUENTIAL: u16 = 2;
/// The largest step forward that is taken for loss, not for a restart.
const MAX_DROPOUT: u16 = 3_000;
/// The largest step back that is taken for reordering.
const MAX_MISORDER: u16 = 100;
const CYCLE: u32 = 1 << 16;
/// The largest value of the 24-bit count of lost packets.
const MAX_LOST: i64 = 0x7f_ffff;

/// The judgement on a sequence number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SequenceCheck {
    /// It belongs to the source, in order or not; the number that counts cycles too.
    Valid(u32),
    /// The source has not sent enough packets in sequence.
    Probation,
    /// It is far from the others; a second one in sequence with it restarts the source.
    Jump,
}

/// The account of one source.
//= S1.6
#[derive(Clone, Debug)]
pub struct ReceptionStatistics {
    max: u16,
    cycles: u32,
    base: u32,
    /// The sequence number after a jump that would confirm it; no 16-bit number if there is none.
    confirming: u32,
    probation: u16,
    received: u32,
    expected_before: u32,
    received_before: u32,
    transit: Option<u32>,
    /// Sixteen times the jitter.
    jitter: u32,
}

impl ReceptionStatistics {
    /// Begins with the first sequence number of a source, which [`update`](Self::update) takes
    /// next; the source is on probation.
    #[must_use]
    pub fn new(first: u16) -> Self {
        let mut this = Self {
            max: 0,
            cycles: 0,
            base: 0,
            confirming: 0,
            probation: MIN_SEQUENTIAL,
            received: 0,
            expected_before: 0,
            received_before: 0,
            transit: None,
            jitter: 0,
        };
        this.restart(first);
        this.max = first.wrapping_sub(1);
        this
    }

    /// Begins with the first sequence number of a source that is known to be valid, since a
    /// session description or a user named it.
    #[must_use]
    pub fn trusted(first: u16) -> Self {
        Self { probation: 0, ..Self::new(first) }
    }

    /// Begins anew at a sequence number (`init_seq`).
    fn restart(&mut self, first: u16) {
        self.base = u32::from(first);
        self.max = first;
        self.confirming = CYCLE + 1;
        self.cycles = 0;
        self.received = 0;
        self.expected_before = 0;
        self.received_before = 0;
    }

    /// `update_seq`: judges and counts a sequence number (appendix A.1).
    pub fn update(&mut self, sequence: u16) -> SequenceCheck {
        let step = sequence.wrapping_sub(self.max);
        if self.probation > 0 {
            if step != 1 {
                self.probation = MIN_SEQUENTIAL - 1;
                self.max = sequence;
                return SequenceCheck::Probation;
            }
            self.probation -= 1;
            self.max = sequence;
            if self.probation > 0 {
                return SequenceCheck::Probation;
            }
            self.restart(sequence);
        } else if step < MAX_DROPOUT {
            if sequence < self.max {
                self.cycles = self.cycles.wrapping_add(CYCLE);
            }
            self.max = sequence;
        } else if step <= u16::MAX - MAX_MISORDER + 1 {
            if u32::from(sequence) != self.confirming {
                self.confirming = u32::from(sequence.wrapping_add(1));
                return SequenceCheck::Jump;
            }
            self.restart(sequence);
        }
        self.received = self.received.wrapping_add(1);
        SequenceCheck::Valid(self.extended(sequence))
    }

    /// The sequence number with its cycle, the nearest to the highest.
    fn extended(&self, sequence: u16) -> u32 {
        let highest = self.highest();
        let behind = self.max.wrapping_sub(sequence);
        if behind < u16::MAX / 2 {
            highest.wrapping_sub(u32::from(behind))
        } else {
            highest.wrapping_add(u32::from(behind.wrapping_neg()))
        }
    }

    /// Takes the timestamp of a valid packet and its arrival by a clock of the same ticks
    /// (appendix A.8).
    pub fn record_transit(&mut self, timestamp: u32, arrival: u32) {
        let transit = arrival.wrapping_sub(timestamp);
        if let Some(before) = self.transit.replace(transit) {
            let difference = (transit.wrapping_sub(before) as i32).unsigned_abs();
            let decay = (self.jitter.saturating_add(8)) >> 4;
            self.jitter = self.jitter.saturating_add(difference) - decay;
        }
    }

    /// Returns the interarrival jitter in ticks.
    #[must_use]
    pub const fn jitter(&self) -> u32 {
        self.jitter >> 4
    }

    /// Returns the highest sequence number, extended by its cycles.
    #[must_use]
    pub fn highest(&self) -> u32 {
        self.cycles.wrapping_add(u32::from(self.max))
    }

    /// Returns the number of packets received, copies included.
    #[must_use]
    pub const fn received(&self) -> u32 {
        self.received
    }

    /// Returns the number of packets expected.
    #[must_use]
    pub fn expected(&self) -> u32 {
        self.highest().wrapping_sub(self.base).wrapping_add(1)
    }

    /// Returns the number of packets lost: expected less received, in the range of 24 bits.
    #[must_use]
    pub fn lost(&self) -> i32 {
        let lost = i64::from(self.expected()) - i64::from(self.received);
        lost.clamp(-MAX_LOST - 1, MAX_LOST) as i32
    }

    /// Returns the report on the time since the last one (appendix A.3); the caller adds what it
    /// knows of sender reports.
    pub fn report(&mut self, ssrc: u32) -> ReportBlock {
        let expected = self.expected();
        let expected_now = expected.wrapping_sub(self.expected_before);
        let received_now = self.received.wrapping_sub(self.received_before);
        (self.expected_before, self.received_before) = (expected, self.received);
        let lost_now = i64::from(expected_now) - i64::from(received_now);
        let fraction_lost = if expected_now == 0 || lost_now <= 0 {
            0
        } else {
            ((lost_now << 8) / i64::from(expected_now)).min(255) as u8
        };
        ReportBlock {
            ssrc,
            fraction_lost,
            lost: self.lost(),
            highest: self.highest(),
            jitter: self.jitter(),
            ..ReportBlock::default()
        }
    }
}

#[cfg(test)]
mod tests;
