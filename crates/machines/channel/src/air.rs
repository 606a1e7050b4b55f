//! The air of one direction: models of loss and damage, applied one after the other to each frame.

mod bits;
mod burst;
mod byte_range;
mod chance;
mod error;
mod exponential;
mod gilbert;
mod gsm;
mod kind;
mod loss_states;
mod model;
mod replay;

use core::ops::Range;

use windfall_base::{Congestion, Frame, Seed, Stream};

pub use bits::Gaps;
pub use burst::{BurstWindow, Truncation};
pub use byte_range::{ByteRange, RangeOrigin};
pub use chance::Chance;
pub(crate) use chance::Chances;
pub use error::ParseModelError;
pub use gilbert::GilbertElliott;
pub use gsm::{GsmBlocks, GsmConfig, GsmEnvironment, SignalQuality};
pub use kind::{CloneProcess, ErrorModel, ErrorModelKind, ErrorProcess, ListedModel};
pub use loss_states::LossStates;
pub use model::{LossPattern, Model};

use crate::exposure::Exposure;
use crate::fate::{FrameFate, cancel_pairs, earlier_cut};
use byte_range::BitRange;
use model::State;

impl ErrorModelKind {
    /// The error models of this crate that have rows, in the order of the reference.
    pub const BUILT_IN: &[Self] = &[loss_states::LOSS_STATES];
}

/// The recipe of one direction's air: models in the order in which they act.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AirConfig {
    /// The models; each acts on what those before it let through. None: nothing ever happens.
    pub models: Vec<Model>,
    /// The bits that may be hit besides the packet; none by default.
    pub exposure: Exposure,
    /// Bit errors strike only these bytes of the payload; all of it if `None`.
    pub range: Option<ByteRange>,
    /// Frames that may be marked are, where a model of losses would lose them, as netem's `ecn`.
    pub marks: bool,
}

impl AirConfig {
    /// The air of one model that spares everything but the packet.
    #[must_use]
    pub fn of(model: Model) -> Self {
        Self { models: vec![model], ..Self::default() }
    }
}

/// The air of one direction.
///
/// The seed, the direction's name, the number of a frame and the state of the models decide the
/// outcome of the frame, so a seed repeats it in real time too. Each model draws from a stream that
/// is named after its kind, and after how many of that kind come before it: what other models there
/// are changes nothing of what it draws.
#[derive(Clone, Debug)]
pub struct Air {
    layers: Vec<Layer>,
    exposure: Exposure,
    range: Option<ByteRange>,
    number: u64,
    marks: bool,
    /// The last frame that was judged is to be marked.
    has_marked: bool,
    /// Positions among the exposed bits; kept only for its memory.
    scratch: Vec<u32>,
}

/// A model at work.
#[derive(Clone, Debug)]
struct Layer {
    model: Model,
    /// The number of earlier models of its kind.
    earlier: usize,
    state: State,
    stream: Stream,
    /// It leaves the bits of frames alone, so what it would lose may be marked in place of that.
    only_loses: bool,
}

impl Layer {
    fn continue_from(&mut self, before: &Self) {
        if self.model == before.model {
            self.state = before.state.clone();
        } else {
            self.state.continue_from(&before.state);
        }
    }
}

impl Air {
    /// The air of the direction `name` in a run with `seed`.
    #[must_use]
    pub fn new(config: &AirConfig, seed: Seed, name: &str) -> Self {
        let layer = |(i, model): (usize, &Model)| {
            let kind = model.kind();
            let earlier = config.models[..i].iter().filter(|other| other.kind() == kind).count();
            let mut stream = Stream::new(seed, &format!("{name}/{kind}-{earlier}"));
            let state = State::new(model, &mut stream);
            let only_loses = model.only_loses();
            Layer { model: model.clone(), earlier, state, stream, only_loses }
        };
        Self {
            layers: config.models.iter().enumerate().map(layer).collect(),
            exposure: config.exposure,
            range: config.range.clone(),
            number: 0,
            marks: config.marks,
            has_marked: false,
            scratch: Vec::new(),
        }
    }

    /// Becomes the air of another recipe from the next frame on. A model that stays as it is keeps
    /// its state, and one with other parameters continues from the state of the one before.
    pub(crate) fn change(&mut self, config: &AirConfig, seed: Seed, name: &str) {
        let mut changed = Self::new(config, seed, name);
        for layer in &mut changed.layers {
            let same_place = |before: &&Layer| {
                (before.model.kind(), before.earlier) == (layer.model.kind(), layer.earlier)
            };
            if let Some(before) = self.layers.iter().find(same_place) {
                layer.continue_from(before);
            }
        }
        changed.number = self.number;
        *self = changed;
    }

    /// The number that the next counted frame gets.
    #[must_use]
    pub const fn next_number(&self) -> u64 {
        self.number
    }

    /// Tells whether the frame that was judged last, had it not been markable, would be lost.
    pub(crate) const fn has_marked(&self) -> bool {
        self.has_marked
    }

    /// Decides what happens to `frame`, the next one in this direction.
    ///
    /// Gives its number too; `None` for a frame that is neither a packet nor a repair of some,
    /// which the air spares.
    pub fn judge(&mut self, frame: &Frame) -> (Option<u64>, FrameFate) {
        self.has_marked = false;
        // A repair is made of packets, and fares as they do.
        let is_of_packets = frame.tag.is_some() || frame.covers.is_some();
        if !is_of_packets && !self.exposure.control {
            return (None, FrameFate::Intact);
        }
        let number = self.number;
        self.number += 1;
        if self.layers.is_empty() {
            return (Some(number), FrameFate::Intact);
        }
        let target = Target::of(frame, self.exposure, self.range.as_ref());
        let may_mark = self.marks && frame.congestion != Congestion::Unmarkable;
        let fate = self.draw(number, &target, may_mark);
        (Some(number), fate)
    }

    fn draw(&mut self, number: u64, target: &Target, may_mark: bool) -> FrameFate {
        let mut damage =
            FrameDamage { positions: core::mem::take(&mut self.scratch), ..FrameDamage::default() };
        damage.positions.clear();
        for layer in &mut self.layers {
            layer.state.apply(number, &layer.stream, target, &mut damage);
            if damage.lost && may_mark && layer.only_loses {
                (damage.lost, self.has_marked) = (false, true);
            }
        }
        let fate = damage.fate(target);
        self.scratch = damage.positions;
        fate
    }
}

/// The bits of a frame that may be hit: up to three stretches, seen as one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    /// Stretches of whole-frame bit positions, in order.
    parts: [Range<u32>; 3],
    /// Exposed bits in all.
    pub(crate) bits: u32,
    /// The first bit of the payload.
    pub(crate) origin: u32,
    /// From the first to the last bit that is not spared, by whole-frame position.
    pub(crate) open: Range<u32>,
    /// The headers of the packet that are spared, by whole-frame position.
    spared: Range<u32>,
}

impl Target {
    fn of(frame: &Frame, exposure: Exposure, range: Option<&ByteRange>) -> Self {
        let header = frame.header.len() as u32 * 8;
        let payload = frame.payload.len() as u32 * 8;
        let trailer = frame.trailer.len() as u32 * 8;
        let bits = match range {
            Some(range) => range.bits_of(frame),
            None => BitRange { open: 0..payload, headers: 0 },
        };
        let parts = [
            0..if exposure.header { header } else { 0 },
            header + bits.open.start..header + bits.open.end,
            header + payload..header + payload + if exposure.trailer { trailer } else { 0 },
        ];
        let spared = header..header + bits.headers;
        let bits = parts.iter().map(|part| part.end - part.start).sum();
        let open = if exposure.header { 0 } else { header }
            ..header + payload + if exposure.trailer { trailer } else { 0 };
        Self { parts, bits, origin: header, open, spared }
    }

    /// The whole-frame position of exposed bit `position`.
    fn whole(&self, mut position: u32) -> u32 {
        for part in &self.parts {
            let length = part.end - part.start;
            if position < length {
                return part.start + position;
            }
            position -= length;
        }
        self.parts[2].end
    }
}

/// The effects of the models on one frame so far; positions count the exposed bits.
#[derive(Debug, Default)]
pub struct FrameDamage {
    /// The frame does not arrive.
    pub(crate) lost: bool,
    /// The first exposed bit that is missing.
    pub(crate) cut: Option<u32>,
    /// Exposed bits hit, in any order; a bit hit twice is whole again.
    pub(crate) positions: Vec<u32>,
    /// As `positions`, by whole-frame position.
    pub(crate) whole: Vec<u32>,
    /// As `cut`, by whole-frame position.
    pub(crate) whole_cut: Option<u32>,
}

impl FrameDamage {
    /// Tells whether the frame is lost.
    #[must_use]
    pub const fn is_lost(&self) -> bool {
        self.lost
    }

    /// Loses the frame.
    pub const fn lose(&mut self) {
        self.lost = true;
    }

    /// Inverts exposed bit `position`; inverted twice it is whole again.
    pub fn invert(&mut self, position: u32) {
        self.positions.push(position);
    }

    /// Cuts the frame at exposed bit `position`, if it is not cut before that already.
    pub fn cut_at(&mut self, position: u32) {
        self.cut = Some(self.cut.map_or(position, |cut| cut.min(position)));
    }

    fn fate(&mut self, target: &Target) -> FrameFate {
        if self.lost {
            return FrameFate::Lost;
        }
        if self.positions.is_empty()
            && self.whole.is_empty()
            && self.cut.is_none()
            && self.whole_cut.is_none()
        {
            return FrameFate::Intact;
        }
        let cut = self.cut.map(|cut| target.whole(cut));
        let truncated = earlier_cut(cut, self.whole_cut);
        let mut inverted = core::mem::take(&mut self.whole);
        inverted.retain(|position| !target.spared.contains(position));
        inverted.extend(self.positions.iter().map(|&position| target.whole(position)));
        if !inverted.is_sorted_by(|a, b| a < b) {
            inverted.sort_unstable();
            cancel_pairs(&mut inverted);
        }
        if let Some(bit) = truncated {
            let keep = inverted.partition_point(|&position| position < bit / 8 * 8);
            inverted.truncate(keep);
        }
        if inverted.is_empty() && truncated.is_none() {
            return FrameFate::Intact;
        }
        FrameFate::Damaged { truncated, inverted }
    }
}

#[cfg(test)]
mod tests;
