//! Whether links of the path pass damage up, which decides on the checksum of exact datagrams.
//!
//! The system's own checksum is cheap, but hides damage: a datagram is then lost instead of
//! arriving damaged. It is for paths on which nothing ever arrived damaged. Samples without it, and
//! what follows a loss, would show damage.

/// The number of datagrams that show damage at the beginning, and after each loss.
const SAMPLE: u32 = 64;
/// One of this number of datagrams shows damage at any time.
const EVERY: u64 = 1024;

/// The knowledge about the links of a path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trust {
    /// Something has arrived damaged, at this end or, as it reports, at the peer.
    broken: bool,
    /// The number of datagrams that will show damage.
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
