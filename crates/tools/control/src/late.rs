//! The limit of lateness beyond which a run fails.

use core::str::FromStr;

use windfall_base::{Duration, Probability};
use windfall_live::Lateness;

/// The greatest share of packets that may be late, and from which delay on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LateLimit {
    delay: Duration,
    share: Probability,
}

impl FromStr for LateLimit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let fix = "write a time and a share, such as 1ms:1%";
        let (delay, share) = text.split_once(':').ok_or(fix)?;
        let delay = delay.parse().map_err(|_| fix)?;
        Ok(Self { delay, share: share.parse().map_err(|_| fix)? })
    }
}

impl LateLimit {
    /// The delay from which on a packet is late.
    #[must_use]
    pub fn delay(self) -> Duration {
        self.delay
    }

    /// Refuses a run of which too many packets were late.
    ///
    /// # Errors
    /// Says how many were.
    pub fn check(self, lateness: &Lateness) -> Result<(), String> {
        let Lateness { beyond, delivered, read, .. } = lateness;
        let all = delivered + read;
        if *beyond as f64 <= self.share.get() * all as f64 {
            return Ok(());
        }
        Err(format!(
            "{beyond} of {all} packets were later than {}, more than --max-late allows: the \
             machine was too busy, and delays are not the link's alone",
            self.delay
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_a_share_of_all_packets() {
        let limit: LateLimit = "1ms:10%".parse().expect("a limit");
        let with = |beyond| Lateness { beyond, delivered: 60, read: 40, ..Lateness::default() };
        assert_eq!((limit.check(&with(10)), limit.delay()), (Ok(()), Duration::from_millis(1)));
        limit.check(&with(11)).expect_err("too many");
        assert_eq!(limit.check(&Lateness::default()), Ok(()));
        for wrong in ["1ms", "1ms:", ":1%", "1ms:150%", "x:1%"] {
            wrong.parse::<LateLimit>().expect_err(wrong);
        }
    }
}
