//! Chooses the checksum of exact datagrams: it depends on whether links of the path deliver damaged
//! datagrams.
//!
//! The system's own UDP checksum is cheap, but hides damage: a damaged datagram is lost instead of
//! delivered. So it is used only on paths on which nothing has ever arrived damaged. A sample of
//! the datagrams, and those after a loss, go without it to detect damage.

/// The number of datagrams sent without the system's checksum at the beginning, and after each
/// loss.
const SAMPLE: u32 = 64;
/// One in this number of datagrams is always sent without the system's checksum.
const EVERY: u64 = 1024;

/// The evidence that links of a path deliver damaged datagrams.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trust {
    /// Something has arrived damaged, at this end or, as it reports, at the peer.
    broken: bool,
    /// The number of following datagrams to send without the system's checksum.
    sample: u32,
}

impl Default for Trust {
    fn default() -> Self {
        Self { broken: false, sample: SAMPLE }
    }
}

impl Trust {
    /// Returns whether datagram `number`, if it is exact, may have the system's own checksum.
    pub(crate) fn take(&mut self, number: u64) -> bool {
        if self.broken {
            return false;
        }
        let shows = self.sample > 0 || number.is_multiple_of(EVERY);
        self.sample = self.sample.saturating_sub(1);
        !shows
    }

    /// Returns whether anything has arrived damaged in either direction.
    pub(crate) fn is_broken(&self) -> bool {
        self.broken
    }

    /// Notes that something has arrived damaged in either direction.
    pub(crate) fn on_damage(&mut self) {
        self.broken = true;
    }

    /// Notes a loss, which may have been damage.
    pub(crate) fn on_loss(&mut self) {
        self.sample = SAMPLE;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_trusted_after_a_sample_until_something_arrives_damaged() {
        let mut trust = Trust::default();
        let trusted = |trust: &mut Trust, from: u64| {
            (from..from + 2 * EVERY).filter(|it| trust.take(*it)).count()
        };
        assert_eq!(trusted(&mut trust, 0), 2048 - 64 - 1);
        assert_eq!(trusted(&mut trust, 2048), 2048 - 2);
        trust.on_loss();
        assert_eq!(trusted(&mut trust, 4096), 2048 - 64 - 1);
        trust.on_damage();
        trust.on_loss();
        assert_eq!(trusted(&mut trust, 6144), 0);
    }
}
