//! A bulk source and sink: a stream of bytes of which each depends on its place, so that the other
//! end can tell whether all arrived and where the first wrong one is.

use bytes::Bytes;
use windfall_base::{Duration, Instant, Seed};

/// The number of bytes that a source has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// This number of bytes.
    Bytes(u64),
    /// As many as go out in so long.
    Time(Duration),
}

/// The task of one end of a bulk transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// The amount that it sends, if it sends.
    pub send: Option<Amount>,
    /// Received data are compared with what the peer's source sends.
    pub check: bool,
    /// The seed of both streams.
    pub seed: Seed,
    /// This end opened the connection; the two directions carry different bytes.
    pub opened: bool,
}

/// The bytes of one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pattern(u64);

impl Pattern {
    /// The stream that the end which opened the connection sends, or the other one.
    pub(super) const fn new(seed: Seed, of_opener: bool) -> Self {
        Self(mix(seed.0 ^ if of_opener { 0x6f70 } else { 0x6c69 }))
    }

    /// Fills `bytes` with the stream from `place` on.
    pub(super) fn fill(self, place: u64, bytes: &mut [u8]) {
        let mut at = place;
        let mut rest = bytes;
        while !rest.is_empty() {
            let word = mix(self.0 ^ (at / 8)).to_be_bytes();
            let part = &word[(at % 8) as usize..];
            let len = part.len().min(rest.len());
            let (head, tail) = rest.split_at_mut(len);
            head.copy_from_slice(&part[..len]);
            at += len as u64;
            rest = tail;
        }
    }

    /// The place of the first of `bytes` that is not of the stream from `place` on.
    pub(super) fn first_wrong(self, place: u64, bytes: &[u8]) -> Option<u64> {
        const STEP: usize = 4096;
        let mut expected = [0; STEP];
        for (number, chunk) in bytes.chunks(STEP).enumerate() {
            let begin = place + (number * STEP) as u64;
            let expected = &mut expected[..chunk.len()];
            self.fill(begin, expected);
            if expected != chunk {
                let differs = chunk.iter().zip(expected.iter()).position(|(a, b)| a != b);
                return differs.map(|at| begin + at as u64);
            }
        }
        None
    }
}

/// A permutation of the 64-bit words that leaves no pattern (the finaliser of splitmix64).
const fn mix(word: u64) -> u64 {
    let word = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// One end of a bulk transfer at work.
#[derive(Debug)]
pub(super) struct Worker {
    job: Job,
    sent: u64,
    received: u64,
    began: Option<Instant>,
    wrong: Option<u64>,
}

impl Worker {
    pub(super) const fn new(job: Job) -> Self {
        Self { job, sent: 0, received: 0, began: None, wrong: None }
    }

    /// The next `most` bytes to send; `None` at the end.
    pub(super) fn next(&mut self, now: Instant, most: usize) -> Option<Bytes> {
        let began = *self.began.get_or_insert(now);
        let left = match self.job.send? {
            Amount::Bytes(all) => all - self.sent,
            Amount::Time(span) => {
                if now.saturating_since(began) < span {
                    u64::MAX
                } else {
                    0
                }
            }
        };
        let mut bytes = vec![0; most.min(usize::try_from(left).unwrap_or(most))];
        if bytes.is_empty() {
            return None;
        }
        Pattern::new(self.job.seed, self.job.opened).fill(self.sent, &mut bytes);
        self.sent += bytes.len() as u64;
        Some(bytes.into())
    }

    /// Takes what arrived.
    pub(super) fn take(&mut self, bytes: &[u8]) {
        if self.job.check && self.wrong.is_none() {
            let pattern = Pattern::new(self.job.seed, !self.job.opened);
            self.wrong = pattern.first_wrong(self.received, bytes);
        }
        self.received += bytes.len() as u64;
    }

    /// Tells whether its job has nothing to send.
    pub(super) const fn only_receives(&self) -> bool {
        self.job.send.is_none()
    }

    /// The place of the first wrong byte that arrived.
    pub(super) const fn wrong(&self) -> Option<u64> {
        self.wrong
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_the_same_however_it_is_cut() {
        let pattern = Pattern::new(Seed(3), true);
        let mut whole = vec![0; 20_000];
        pattern.fill(5, &mut whole);
        for (begin, end) in [(0, 1), (1, 9), (7, 8_193), (4_096, 20_000)] {
            let mut part = vec![0; end - begin];
            pattern.fill(5 + begin as u64, &mut part);
            assert_eq!(part, whole[begin..end]);
        }
        assert_eq!(pattern.first_wrong(5, &whole), None);
        whole[9_000] ^= 1;
        assert_eq!(pattern.first_wrong(5, &whole), Some(9_005));
        assert_eq!(Pattern::new(Seed(3), false).first_wrong(5, &whole), Some(5));
    }

    #[test]
    fn a_worker_sends_what_its_job_says_and_finds_what_is_wrong() {
        let job = |send, opened| Job { send, check: true, seed: Seed(1), opened };
        let mut source = Worker::new(job(Some(Amount::Bytes(100)), true));
        let mut sink = Worker::new(job(None, false));
        let first = source.next(Instant::START, 64).expect("64 bytes");
        sink.take(&first);
        assert_eq!(source.next(Instant::START, 64).map(|bytes| bytes.len()), Some(36));
        assert_eq!(source.next(Instant::START, 64), None);
        assert_eq!(sink.next(Instant::START, 64), None);
        assert_eq!(sink.wrong(), None);
        sink.take(&first);
        assert_eq!(sink.wrong(), Some(64));
    }

    #[test]
    fn a_source_of_some_time_ends_after_it() {
        let send = Some(Amount::Time(Duration::from_secs(1)));
        let mut source = Worker::new(Job { send, check: false, seed: Seed(1), opened: true });
        assert!(source.next(Instant::START, 10).is_some());
        assert!(
            source.next(Instant::START.saturating_add(Duration::from_millis(999)), 10).is_some()
        );
        assert!(source.next(Instant::START.saturating_add(Duration::from_secs(1)), 10).is_none());
    }
}
