//! The models of the air, and each of them at work.

use core::fmt;
use core::str::FromStr;
use std::sync::Arc;

use windfall_base::{Probability, Stream};

use windfall_files::traces::error_trace::ErrorTrace;

use super::bits::Gaps;
use super::burst::{BurstWindow, Truncation};
use super::chance::{Chance, Chances};
use super::error::ParseModelError;
use super::gilbert::{Chain, GilbertElliott};
use super::gsm::{GsmBlocks, GsmConfig};
use super::kind::{ErrorProcess, ListedModel};
use super::replay::Replay;
use super::{FrameDamage, Target};

/// One thing that the air does.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Model {
    /// Each frame is lost with this probability, independently of the others.
    Loss(Probability),
    /// Frames are lost by chance, with a correlation of successive losses.
    CorrelatedLoss(Chance),
    /// Bursts of lost frames at fixed places.
    LossPattern(LossPattern),
    /// Each bit is inverted with this probability, independently of the others.
    BitErrors(Probability),
    /// Frames are lost by a two-state chain that takes a step with each frame.
    FrameBursts(GilbertElliott),
    /// Bits are inverted by a two-state chain that takes a step with each bit.
    BitBursts(GilbertElliott),
    /// Bits are inverted within one bounded window of a frame.
    BurstWindow(BurstWindow),
    /// Exactly one bit of a frame is inverted, by this chance, as netem's `corrupt` does.
    Corruption(Chance),
    /// Frames are cut short.
    Truncation(Truncation),
    /// Replays a trace, frame by frame or bit by bit, over and over.
    Replay(Arc<ErrorTrace>),
    /// The radio blocks of a GSM data channel, one after the other through the frames.
    Gsm(GsmConfig),
    /// A model of the table [`ErrorModelKind::BUILT_IN`](super::ErrorModelKind::BUILT_IN), or of
    /// another crate.
    Listed(ListedModel),
}

impl From<Chance> for Model {
    /// Returns losses by this chance.
    fn from(chance: Chance) -> Self {
        match chance {
            Chance { probability, correlation: Probability::ZERO } => Self::Loss(probability),
            _ => Self::CorrelatedLoss(chance),
        }
    }
}

impl Model {
    /// Tells whether it is a model of losses, which leaves the bits of other frames alone.
    #[must_use]
    pub const fn only_loses(&self) -> bool {
        match self {
            Self::Loss(_)
            | Self::CorrelatedLoss(_)
            | Self::LossPattern(_)
            | Self::FrameBursts(_) => true,
            Self::Listed(model) => model.kind().only_loses,
            _ => false,
        }
    }

    /// The name of its kind, as in scenarios.
    pub(super) const fn kind(&self) -> &'static str {
        match self {
            Self::Loss(_) | Self::CorrelatedLoss(_) => "loss",
            Self::LossPattern(_) => "burst",
            Self::BitErrors(_) => "ber",
            Self::FrameBursts(_) => "gemodel",
            Self::BitBursts(_) => "bit-gemodel",
            Self::BurstWindow(_) => "window",
            Self::Corruption(_) => "corrupt",
            Self::Truncation(_) => "truncate",
            Self::Replay(_) => "error-trace",
            Self::Gsm(_) => "gsm",
            Self::Listed(model) => model.kind().name,
        }
    }
}

/// A burst of lost frames in every window of a number of frames (S3.6, S3.8, S3.13).
///
/// The text form is `5/100`: of every 100 frames the first 5 are lost; `5/100+95`: the last 5.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LossPattern {
    burst: u64,
    every: u64,
    offset: u64,
}

impl LossPattern {
    /// `burst` lost frames in every window of `every`, from frame `offset` of the window on.
    ///
    /// `None` if the burst is longer than the window, the window empty, or the offset beyond it.
    #[must_use]
    pub const fn new(burst: u64, every: u64, offset: u64) -> Option<Self> {
        if burst > every || offset >= every {
            return None;
        }
        Some(Self { burst, every, offset })
    }

    //= S3.6
    //= S3.8
    //= S3.13
    /// Returns `true` if the frame of this number is lost.
    #[must_use]
    pub const fn loses(&self, number: u64) -> bool {
        // The place within the window, counted from the burst's first frame.
        (number % self.every + (self.every - self.offset)) % self.every < self.burst
    }

    /// The share of frames that are lost.
    #[must_use]
    pub fn loss_rate(&self) -> f64 {
        self.burst as f64 / self.every as f64
    }
}

impl fmt::Display for LossPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.burst, self.every)?;
        if self.offset == 0 { Ok(()) } else { write!(f, "+{}", self.offset) }
    }
}

impl FromStr for LossPattern {
    type Err = ParseModelError;

    fn from_str(text: &str) -> Result<Self, ParseModelError> {
        let fail = |fix: &str| ParseModelError::new("burst pattern", text, fix.to_owned());
        let syntax = || fail("write lost frames / frames [+ offset], such as 5/100 or 5/100+95");
        let (burst, rest) = text.split_once('/').ok_or_else(syntax)?;
        let (every, offset) = rest.split_once('+').unwrap_or((rest, "0"));
        let number = |word: &str| word.trim().parse::<u64>().map_err(|_| syntax());
        let burst = number(burst)?;
        let every = number(every)?;
        let offset = number(offset)?;
        if every > u64::MAX / 2 {
            return Err(fail("use a shorter window"));
        }
        Self::new(burst, every, offset).ok_or_else(|| {
            fail("the burst must fit in the window and the offset lie inside it, such as 5/100+95")
        })
    }
}

/// A model in use: its parameters, its precomputed values, and its state.
#[derive(Clone, Debug)]
pub(super) enum State {
    Loss(Probability),
    CorrelatedLoss(Chances),
    LossPattern(LossPattern),
    BitErrors(Gaps),
    FrameBursts(Chain),
    BitBursts(Box<Chain>),
    BurstWindow(BurstWindow, Gaps),
    CorrelatedCorruption(Chances),
    Truncation(Truncation),
    Replay(Replay),
    Gsm(Box<GsmBlocks>),
    Listed(Box<dyn ErrorProcess>),
}

impl State {
    /// Makes `model` ready; a state to start from is drawn from `stream`.
    pub(super) fn new(model: &Model, stream: &mut Stream) -> Self {
        match model {
            Model::Loss(p) => Self::Loss(*p),
            Model::CorrelatedLoss(chance) => Self::CorrelatedLoss(Chances::new(*chance)),
            Model::LossPattern(pattern) => Self::LossPattern(*pattern),
            Model::BitErrors(p) => Self::BitErrors(Gaps::new(*p)),
            Model::FrameBursts(model) => Self::FrameBursts(Chain::new(*model, stream)),
            Model::BitBursts(model) => Self::BitBursts(Box::new(Chain::new(*model, stream))),
            Model::BurstWindow(window) => Self::BurstWindow(*window, Gaps::new(window.rate)),
            Model::Corruption(Chance { probability, correlation: Probability::ZERO }) => {
                let rate = Probability::ONE;
                let window = BurstWindow { probability: *probability, bits: 1, rate };
                Self::BurstWindow(window, Gaps::new(rate))
            }
            Model::Corruption(chance) => Self::CorrelatedCorruption(Chances::new(*chance)),
            Model::Truncation(truncation) => Self::Truncation(*truncation),
            Model::Replay(trace) => Self::Replay(Replay::new(Arc::clone(trace))),
            Model::Gsm(config) => Self::Gsm(Box::new(GsmBlocks::new(*config, stream))),
            Model::Listed(model) => Self::Listed(model.start(stream)),
        }
    }

    /// Continues from the state of the same kind of model with other parameters.
    pub(super) fn continue_from(&mut self, before: &Self) {
        match (self, before) {
            (Self::FrameBursts(chain), Self::FrameBursts(before)) => chain.continue_from(before),
            (Self::BitBursts(chain), Self::BitBursts(before)) => chain.continue_from(before),
            (Self::CorrelatedLoss(chances), Self::CorrelatedLoss(before))
            | (Self::CorrelatedCorruption(chances), Self::CorrelatedCorruption(before)) => {
                chances.continue_from(before);
            }
            (Self::Listed(process), Self::Listed(before)) => process.continue_from(&**before),
            _ => {}
        }
    }

    /// Acts on the frame of this number.
    pub(super) fn apply(
        &mut self,
        number: u64,
        base: &Stream,
        target: &Target,
        damage: &mut FrameDamage,
    ) {
        match self {
            // Chains move on with every frame, also with those that are lost already.
            Self::FrameBursts(chain) => chain.strike_frame(&mut base.at(number), damage),
            Self::BitBursts(chain) => chain.strike_bits(&mut base.at(number), target, damage),
            Self::CorrelatedLoss(chances) => damage.lost |= chances.next(base, number),
            Self::Listed(process) => process.apply(target.bits, &mut base.at(number), damage),
            Self::CorrelatedCorruption(chances) => {
                // The place is independent of what the stream of the frame's chance begins with.
                if chances.next(base, number) && !damage.lost && target.bits > 0 {
                    let place = base.unit_at(number) * f64::from(target.bits);
                    damage.positions.push((place as u32).min(target.bits - 1));
                }
            }
            Self::Replay(replay) => replay.apply(number, target, damage),
            Self::Gsm(blocks) => blocks.apply(target, damage),
            _ if damage.lost => {}
            Self::Loss(p) => damage.lost = base.unit_at(number) < p.get(),
            Self::LossPattern(pattern) => damage.lost = pattern.loses(number),
            Self::BitErrors(gaps) => {
                gaps.strike_at(base, number, target.bits, |bit| damage.positions.push(bit));
            }
            Self::BurstWindow(window, gaps) => window.apply(gaps, base, number, target, damage),
            Self::Truncation(truncation) => {
                truncation.apply(base, number, target, damage);
            }
        }
    }
}
