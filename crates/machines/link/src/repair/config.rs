//! The configuration of a code across packets, and its text form.

use core::fmt;
use core::str::FromStr;

use windfall_base::{Duration, Probability};
use windfall_fec::MOST_COVERED;

/// The default time that a receiver waits for repairs, for each of the interleaved blocks.
const DELAY: Duration = Duration::from_millis(40);
/// The minimum of that time: an idle sender completes its repairs within half of it.
const SHORTEST_DELAY: Duration = Duration::from_nanos(2);
/// The maximum of that time.
const LONGEST_DELAY: Duration = Duration::from_secs(10);
/// The maximum number of interleaved blocks.
const DEEPEST: u8 = 16;
/// The number of units in a whole: the share of repairs is counted in millionths.
pub(super) const WHOLE: u32 = 1_000_000;

/// A code across packets.
///
/// The text form of a block code is `8/12` or `8/12:40ms`, with interleaved blocks
/// `8/12,interleave:4` or `8/12:160ms,interleave:4`. That of a code with a sliding window is
/// `window:32:25%:40ms`. The time is the delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RepairConfig {
    /// The code of the repairs.
    pub code: RepairCode,
    /// The maximum time that a missing or damaged packet, and the packets after it, wait for a
    /// repair. An idle sender completes its repairs within half of this time.
    pub delay: Duration,
}

/// The packets that each repair covers, and the rate of repairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RepairCode {
    /// A block code: each block of packets is followed by its repairs.
    Block {
        /// The number of packets in a block, 1 to 128.
        packets: u8,
        /// The number of repairs after each block, 1 to 128.
        repairs: u8,
        /// The number of interleaved blocks: 1, 2, 4, 8 or 16. Interleaving spreads a burst of
        /// losses equally over the blocks.
        depth: u8,
    },
    /// A code with a sliding window: each repair covers the last packets before it.
    Window {
        /// The number of packets that a repair covers, 1 to 128.
        packets: u8,
        /// The number of repairs for a million packets, 1000 to 1 000 000.
        share: u32,
    },
}

impl RepairConfig {
    /// Returns advice for an owner whose packets have a `lifetime` shorter than the delay.
    #[must_use]
    pub fn within(self, lifetime: Duration) -> String {
        if lifetime < SHORTEST_DELAY {
            let delay = self.delay;
            return format!("no code is that fast, so give the flow more, such as {delay}");
        }
        let fitting = Self { delay: lifetime, ..self };
        format!("write \"{fitting}\" or less")
    }
}

impl RepairCode {
    /// Returns the maximum number of packets that a repair covers.
    #[must_use]
    pub const fn covered(self) -> usize {
        match self {
            Self::Block { packets, .. } | Self::Window { packets, .. } => packets as usize,
        }
    }

    /// Returns the number of interleaved blocks.
    #[must_use]
    pub const fn depth(self) -> u8 {
        match self {
            Self::Block { depth, .. } => depth,
            Self::Window { .. } => 1,
        }
    }
}

/// The text is not a code across packets.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("code \"{text}\": {fix}")]
pub struct ParseRepairError {
    text: String,
    fix: &'static str,
}

const FORMS: &str = "write packets/all of a block as 8/12, 8/12:40ms or 8/12,interleave:4, or \
                     window:packets:share:delay as window:32:25%:40ms";
const DEPTH: &str = "2, 4, 8 or 16 blocks take turns: 8/12,interleave:4";
const TURNS: &str = "the delay stands before the comma: 8/12:160ms,interleave:4";
const SPREAD: &str = "a window spreads its repairs by itself: interleave a block, as 8/12";
const PACKETS: &str = "a repair covers 1 to 128 packets";
const ALL: &str = "a block has more frames than packets, by 1 to 128 repairs: 8/12 adds 4 to 8";
const SHARE: &str = "the share of repairs is 0.1% to 100% of the packets";
const WAIT: &str = "the delay is a time from 2ns up to 10s, such as 40ms";

impl FromStr for RepairConfig {
    type Err = ParseRepairError;

    fn from_str(text: &str) -> Result<Self, ParseRepairError> {
        let fail = |fix| ParseRepairError { text: text.to_owned(), fix };
        // A text without a number is not such a form, and a number that is too large exceeds the
        // limits.
        let is_number =
            |text: &str| !text.is_empty() && text.bytes().all(|letter| letter.is_ascii_digit());
        let packets = |text: &str| {
            if !is_number(text) {
                return Err(fail(FORMS));
            }
            let number = text.parse::<u8>().ok();
            let fits = |number: &u8| (1..=MOST_COVERED).contains(&usize::from(*number));
            number.filter(fits).ok_or(fail(PACKETS))
        };
        let delay = |text: &str| {
            let time = text.parse::<Duration>().ok();
            let fits = |time: &Duration| (SHORTEST_DELAY..=LONGEST_DELAY).contains(time);
            time.filter(fits).ok_or(fail(WAIT))
        };
        let (code, depth) = match text.trim().split_once(',') {
            None => (text.trim(), 1),
            Some((code, turns)) => {
                let depth = turns.trim().strip_prefix("interleave:").ok_or(fail(FORMS))?;
                if turns.matches(':').count() > 1 {
                    return Err(fail(TURNS));
                }
                let fits = |depth: &u8| depth.is_power_of_two() && (2..=DEEPEST).contains(depth);
                (code, depth.parse().ok().filter(fits).ok_or(fail(DEPTH))?)
            }
        };
        let parts: Vec<&str> = code.split(':').collect();
        let (block, time) = match parts[..] {
            ["window", ..] if depth > 1 => return Err(fail(SPREAD)),
            ["window", count, share, time] => {
                let share = share.parse::<Probability>().map_err(|_| fail(SHARE))?;
                let share = (share.get() * f64::from(WHOLE)).round() as u32;
                if share < WHOLE / 1_000 {
                    return Err(fail(SHARE));
                }
                let code = RepairCode::Window { packets: packets(count)?, share };
                return Ok(Self { code, delay: delay(time)? });
            }
            [block] => (block, DELAY * u64::from(depth)),
            [block, time] if block != "window" => (block, delay(time)?),
            _ => return Err(fail(FORMS)),
        };
        let (count, all) = block.split_once('/').ok_or(fail(FORMS))?;
        let packets = packets(count)?;
        if !is_number(all) {
            return Err(fail(FORMS));
        }
        let all = all.parse::<u16>().map_err(|_| fail(ALL))?;
        let repairs = all.checked_sub(packets.into()).filter(|it| (1..=128).contains(it));
        let repairs = repairs.ok_or(fail(ALL))? as u8;
        Ok(Self { code: RepairCode::Block { packets, repairs, depth }, delay: time })
    }
}

impl fmt::Display for RepairConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let delay = self.delay;
        match self.code {
            RepairCode::Block { packets, repairs, depth } => {
                write!(f, "{packets}/{}", u16::from(packets) + u16::from(repairs))?;
                if delay != DELAY * u64::from(depth) {
                    write!(f, ":{delay}")?;
                }
                if depth > 1 { write!(f, ",interleave:{depth}") } else { Ok(()) }
            }
            RepairCode::Window { packets, share } => {
                let percent = f64::from(share) * 100.0 / f64::from(WHOLE);
                write!(f, "window:{packets}:{percent}%:{delay}")
            }
        }
    }
}
