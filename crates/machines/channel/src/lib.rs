//! The effects of the air on frames: models of loss and damage, traces, and media.
//!
//! - [`Air`] decides what happens to each frame of one direction; [`AirConfig`] is its recipe.
//! - [`FrameFate`] is that decision: the truth, which only events and tests may see.
//! - [`Medium`] carries frames between ports in time: a pipe, a shared half-duplex air, or a radio.
//! - [`radio`]: the air of 802.11b/g, with places, propagation, interference and carrier sense.
//! - [`Recorder`] takes down what an air did as an error trace, which repeats it.

mod air;
pub mod environment;
mod event;
mod exposure;
mod fading;
mod fate;
mod medium;
mod opportunities;
pub mod radio;
mod recorder;
mod surroundings;

pub use air::{
    Air, AirConfig, BurstWindow, ByteRange, Chance, CloneProcess, ErrorModel, ErrorModelKind,
    ErrorProcess, FrameDamage, Gaps, GilbertElliott, GsmBlocks, GsmConfig, GsmEnvironment,
    ListedModel, LossPattern, LossStates, Model, ParseModelError, RangeOrigin, SignalQuality,
    Truncation,
};
pub use event::{FrameFacts, MediumEvent};
pub use exposure::Exposure;
pub use fate::{FrameFate, Missed};
pub use medium::{
    Addressing, Bucket, Cell, Distribution, FlowPathConfig, Hearing, Jitter, Line, Medium,
    MediumConfig, OnOff, PathConfig, PipeMediumConfig, Reorder, Slotting, WavelanMediumConfig,
};
pub use opportunities::Opportunities;
pub use recorder::Recorder;
pub use surroundings::Surroundings;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
