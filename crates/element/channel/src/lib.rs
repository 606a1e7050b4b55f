//! What the air does to a frame: models of loss and damage, traces, and media that carry frames.
//!
//! - [`Air`] decides what happens to each frame of one direction; [`AirConfig`] is its recipe.
//! - [`Verdict`] is that decision: the truth, which only events and tests may see.
//! - [`Medium`] carries frames between ports in time: a pipe, a shared half-duplex air, or a radio.
//! - [`radio`]: the air of 802.11b/g, with places, propagation, interference and carrier sense.
//! - [`Recorder`] takes down what an air did as an error trace, which repeats it.

mod air;
pub mod environment;
mod event;
mod exposure;
mod medium;
mod opportunities;
pub mod radio;
mod recorder;
mod verdict;

pub use air::{
    Air, AirConfig, Gaps, GilbertElliott, Model, ParseModelError, Pattern, Truncation, Window,
};
pub use event::MediumEvent;
pub use exposure::Exposure;
pub use medium::{
    Addressing, Hearing, Line, Medium, MediumConfig, PathConfig, PipeConfig, SharedConfig,
};
pub use opportunities::Opportunities;
pub use recorder::Recorder;
pub use verdict::{Missed, Verdict};
