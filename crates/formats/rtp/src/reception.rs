//! Reception statistics of one source, by the algorithms of RFC 3550, appendix A.

use crate::rtcp::ReportBlock;

/// Packets in sequence before a source is valid.
const MIN_SEQUENTIAL: u16 = 2;
/// The largest step forward that is taken for loss, not for a restart.
const MAX_DROPOUT: u16 = 3_000;
/// The largest step back that is taken for reordering.
const MAX_MISORDER: u16 = 100;
/// Copies in sequence that show a source which has begun anew with the same numbers.
const COPIES: u16 = 8;
/// A difference of transit times, in ticks of the media clock, that no network has: a minute of
/// video.
const FAR: u32 = 60 * crate::VIDEO_CLOCK;
/// A difference of transit times, in ticks of the media clock, that packets on a path may have: a
/// second of video. What comes so late, with an earlier timestamp, is no new beginning.
const LATE: u32 = crate::VIDEO_CLOCK;
/// The difference of transit times, in ticks of the media clock, within which numbers that come
/// again are copies, however many: half a second of video.
const NEAR: u32 = crate::VIDEO_CLOCK / 2;
/// The difference of transit times, in ticks of the media clock, between packets that a source
/// sends in the time that they state: a tenth of a second of video, or half of what they state.
const STEADY: u32 = crate::VIDEO_CLOCK / 10;
const CYCLE: u32 = 1 << 16;
/// The largest value of the 24-bit count of lost packets.
const MAX_LOST: i64 = 0x7f_ffff;

/// The judgement on a sequence number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SequenceCheck {
    /// It belongs to the source, in order or not; the number that counts cycles too.
    Valid(u32),
    /// It has come before; the number that counts cycles too.
    Copy(u32),
    /// The source has not sent enough packets in sequence.
    Probation,
    /// It is far from the others; a second one in sequence with it restarts the source.
    Jump,
    /// The source has begun anew, with the packets before this one in sequence that were a
    /// [`Jump`](Self::Jump) or copies; the number that counts cycles too, and how many they are.
    Restart(u32, u16),
}

/// A judgement on the transit time of a packet, beside that of others.
#[derive(Clone, Copy, Debug, Default)]
struct Timing {
    /// It is another than any network has: the sender's clock has begun anew.
    is_far: bool,
    /// The packet was sent before the newest, and may come as late as this.
    is_late: bool,
    /// The packet was sent before the newest, as late as this only if its number is one of those
    /// since the first.
    is_earlier: bool,
    /// It is a copy if its number has come before.
    is_near: bool,
    /// The transit time and the timestamp, if they are known.
    clock: Option<(u32, u32)>,
}

/// Tells whether a packet comes as long after the `first` one as their timestamps are apart, as
/// those of a living source do; copies that a path kept come all at once.
fn is_steady(first: Option<(u32, u32)>, clock: Option<(u32, u32)>) -> bool {
    let Some(((before, first), (transit, timestamp))) = first.zip(clock) else { return true };
    let apart = |a: u32, b: u32| (a.wrapping_sub(b) as i32).unsigned_abs();
    apart(transit, before) <= (apart(timestamp, first) / 2).max(STEADY)
}

/// Which of the highest number and the 4095 before it were received: a bit for each, in the place
/// of its remainder.
#[derive(Clone, Debug)]
struct Seen([u64; 64]);

impl Default for Seen {
    fn default() -> Self {
        Self([0; 64])
    }
}

impl Seen {
    const fn place(sequence: u16) -> (usize, u64) {
        ((sequence / 64 % 64) as usize, 1 << (sequence % 64))
    }

    const fn holds(&self, sequence: u16) -> bool {
        let (word, bit) = Self::place(sequence);
        self.0[word] & bit != 0
    }

    const fn note(&mut self, sequence: u16) {
        let (word, bit) = Self::place(sequence);
        self.0[word] |= bit;
    }

    /// Makes room for the `step` numbers after `max`.
    fn forget(&mut self, max: u16, step: u16) {
        for sequence in (1..=step).map(|number| max.wrapping_add(number)) {
            let (word, bit) = Self::place(sequence);
            self.0[word] &= !bit;
        }
    }
}

//= S1.6
/// The account of one source.
#[derive(Clone, Debug)]
pub struct ReceptionStatistics {
    max: u16,
    cycles: u32,
    base: u32,
    /// The sequence number after a jump that would confirm it; no 16-bit number if there is none.
    confirming: u32,
    probation: u16,
    /// Packets received, copies included.
    received: u32,
    /// Those of them that had come before.
    copied: u32,
    seen: Seen,
    /// The copies in sequence up to now, which may be a source that begins anew, and the transit
    /// time and the timestamp of the first.
    copies: u16,
    first_copy: Option<(u32, u32)>,
    /// Packets expected, received and copied before the source began anew.
    earlier: (u32, u32, u32),
    expected_before: u32,
    received_before: u32,
    transit: Option<u32>,
    /// The transit time and the timestamp of the packet with the highest number.
    original: Option<(u32, u32)>,
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
            copied: 0,
            seen: Seen::default(),
            copies: 0,
            first_copy: None,
            earlier: (0, 0, 0),
            expected_before: 0,
            received_before: 0,
            transit: None,
            original: None,
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
        Self { probation: 0, max: first, ..Self::new(first) }
    }

    /// Begins anew at a sequence number (`init_seq`).
    fn restart(&mut self, first: u16) {
        self.base = u32::from(first);
        self.max = first;
        self.confirming = CYCLE + 1;
        self.cycles = 0;
        self.received = 0;
        self.copied = 0;
        self.seen = Seen::default();
        self.copies = 0;
        self.transit = None;
        self.original = None;
        self.expected_before = 0;
        self.received_before = 0;
    }

    /// `update_seq`: judges and counts a sequence number (appendix A.1).
    pub fn update(&mut self, sequence: u16) -> SequenceCheck {
        self.judge(sequence, Timing::default())
    }

    /// Judges and counts a packet by its number, timestamp and arrival, in ticks of the media
    /// clock. The times reveal a source that begins again with numbers near the old ones.
    pub fn update_timed(&mut self, sequence: u16, timestamp: u32, arrival: u32) -> SequenceCheck {
        let transit = arrival.wrapping_sub(timestamp);
        let apart = |last: u32| (transit.wrapping_sub(last) as i32).unsigned_abs();
        let is_before = |newest| timestamp.wrapping_sub(newest) as i32 <= 0;
        let is_within =
            |span| self.original.is_some_and(|(last, at)| apart(last) < span && is_before(at));
        let timing = Timing {
            is_far: self.transit.is_some_and(|last| apart(last) > FAR),
            is_late: is_within(LATE),
            is_earlier: is_within(FAR),
            is_near: is_within(NEAR),
            clock: Some((transit, timestamp)),
        };
        let check = self.judge(sequence, timing);
        let is_newest = match check {
            SequenceCheck::Valid(_) => sequence == self.max,
            SequenceCheck::Restart(..) => true,
            _ => false,
        };
        if is_newest {
            self.original = Some((transit, timestamp));
        }
        check
    }

    /// Judges a sequence number.
    fn judge(&mut self, sequence: u16, timing: Timing) -> SequenceCheck {
        let Timing { is_far, is_late, is_earlier, is_near, clock } = timing;
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
        }
        let step = sequence.wrapping_sub(self.max);
        let may_be_far_behind = is_late || is_earlier && self.is_known(sequence);
        let most = if may_be_far_behind { MAX_DROPOUT } else { MAX_MISORDER };
        let is_behind = step > u16::MAX - most + 1;
        let back = self.max.wrapping_sub(sequence);
        let is_copy = back <= most && self.seen.holds(sequence);
        let confirms = u32::from(sequence) == self.confirming;
        self.copies = match is_copy && !is_near {
            true if confirms && self.copies > 0 && is_steady(self.first_copy, clock) => {
                self.copies + 1
            }
            true => 1,
            false => 0,
        };
        if self.copies == 1 {
            self.first_copy = clock;
        }
        if self.copies == COPIES {
            // Those before this one were counted as copies.
            self.received -= u32::from(COPIES - 1);
            self.copied -= u32::from(COPIES - 1);
            return self.begin_anew(sequence, COPIES - 1);
        }
        if (step >= MAX_DROPOUT && !is_behind) || (is_far && (step != 1 || confirms)) {
            if confirms {
                return self.begin_anew(sequence, 1);
            }
            self.confirming = u32::from(sequence.wrapping_add(1));
            self.copies = 0;
            return SequenceCheck::Jump;
        }
        if is_copy {
            self.confirming = u32::from(sequence.wrapping_add(1));
            self.received = self.received.wrapping_add(1);
            self.copied = self.copied.wrapping_add(1);
            return SequenceCheck::Copy(self.extended(sequence));
        }
        self.confirming = CYCLE + 1;
        if !is_behind {
            if sequence < self.max {
                self.cycles = self.cycles.wrapping_add(CYCLE);
            }
            self.seen.forget(self.max, step);
            self.max = sequence;
        }
        self.seen.note(sequence);
        self.received = self.received.wrapping_add(1);
        let extended = self.extended(sequence);
        if (extended.wrapping_sub(self.base) as i32) < 0 {
            // It overtook the first packet that came.
            self.base = extended;
        }
        SequenceCheck::Valid(extended)
    }

    /// Tells whether a number lies between the first and the highest, so that it is known whether
    /// it has come.
    fn is_known(&self, sequence: u16) -> bool {
        let since_first = self.extended(sequence).wrapping_sub(self.base) as i32;
        let back = self.max.wrapping_sub(sequence);
        since_first >= 0 && (1..=MAX_DROPOUT).contains(&back)
    }

    /// Begins anew with a packet and the `before` packets before it.
    fn begin_anew(&mut self, sequence: u16, before: u16) -> SequenceCheck {
        self.earlier.0 = self.earlier.0.wrapping_add(self.expected());
        self.earlier.1 = self.earlier.1.wrapping_add(self.received);
        self.earlier.2 = self.earlier.2.wrapping_add(self.copied);
        self.restart(sequence.wrapping_sub(before));
        for _ in 0..before {
            self.judge(self.max.wrapping_add(u16::from(self.received > 0)), Timing::default());
        }
        match self.judge(sequence, Timing::default()) {
            SequenceCheck::Valid(extended) => SequenceCheck::Restart(extended, before),
            other => other,
        }
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

    /// Returns the number of packets lost by RFC 3550: expected less received, copies included, in
    /// the range of 24 bits. Copies make it less than what is [`missing`](Self::total_missing), and
    /// even negative.
    #[must_use]
    pub fn lost(&self) -> i32 {
        let lost = i64::from(self.expected()) - i64::from(self.received);
        lost.clamp(-MAX_LOST - 1, MAX_LOST) as i32
    }

    /// Returns the distinct packets received since the first one, also before the source began
    /// anew: without copies.
    #[must_use]
    pub const fn total_distinct(&self) -> u32 {
        let (_, received, copied) = self.earlier;
        received.wrapping_add(self.received).wrapping_sub(copied).wrapping_sub(self.copied)
    }

    /// Returns the copies received since the first packet, also before the source began anew.
    #[must_use]
    pub const fn total_copies(&self) -> u32 {
        self.earlier.2.wrapping_add(self.copied)
    }

    /// Returns the packets expected since the first one, also before the source began anew.
    #[must_use]
    pub fn total_expected(&self) -> u32 {
        self.earlier.0.wrapping_add(self.expected())
    }

    /// Returns the packets that are missing since the first one, also before the source began anew:
    /// those expected less the distinct ones received, whatever was copied.
    #[must_use]
    pub fn total_missing(&self) -> u32 {
        self.total_expected().saturating_sub(self.total_distinct())
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
