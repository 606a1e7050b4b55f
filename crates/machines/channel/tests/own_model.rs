//! An error model and its kind that stand outside the crate.

use core::fmt;
use std::sync::Arc;

use windfall_base::{Frame, Seed, Stream, Tag};
use windfall_channel::{
    Air, AirConfig, ErrorModel, ErrorModelKind, ErrorProcess, FrameDamage, FrameFate, ListedModel,
    Model, ParseModelError,
};

/// Loses each frame of this number and its multiples, and inverts the last bit of the others.
#[derive(Clone, Debug)]
struct EveryNth(u64);

const EVERY_NTH: ErrorModelKind = ErrorModelKind {
    name: "every-nth",
    help: "Frames lost at regular intervals",
    detail: "",
    value: "N",
    parameters: "interval",
    example: "3",
    only_loses: false,
    parse: |text| match text.parse() {
        Ok(number) => Ok(Arc::new(EveryNth(number))),
        Err(_) => Err(ParseModelError::new("interval", text, "write frames, such as 3".to_owned())),
    },
};

impl fmt::Display for EveryNth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl ErrorModel for EveryNth {
    fn start(&self, _: &mut Stream) -> Box<dyn ErrorProcess> {
        Box::new(Counter { interval: self.0, frames: 0 })
    }
}

#[derive(Clone, Debug)]
struct Counter {
    interval: u64,
    frames: u64,
}

impl ErrorProcess for Counter {
    fn apply(&mut self, bits: u32, _: &mut Stream, damage: &mut FrameDamage) {
        self.frames += 1;
        if self.frames.is_multiple_of(self.interval) {
            damage.lose();
        } else {
            damage.invert(bits - 1);
        }
    }
}

#[test]
fn a_model_of_another_crate_acts_on_the_air() {
    let model = ListedModel::parse(EVERY_NTH, EVERY_NTH.example).expect("an interval");
    assert_eq!((model.kind().name, model.to_string().as_str()), ("every-nth", "3"));
    let mut air = Air::new(&AirConfig::of(Model::Listed(model)), Seed(1), "link/0-1");
    let frame = Frame { tag: Some(Tag(1)), ..Frame::packet(vec![0; 2]) };
    let damaged = FrameFate::Damaged { truncated: None, inverted: vec![15] };
    // A copy goes on from the same state.
    let mut fates = vec![air.judge(&frame).1];
    let mut copy = air.clone();
    fates.extend([copy.judge(&frame).1, copy.judge(&frame).1, air.judge(&frame).1]);
    assert_eq!(fates, [damaged.clone(), damaged.clone(), FrameFate::Lost, damaged]);
    let error = ListedModel::parse(EVERY_NTH, "often").expect_err("no number").to_string();
    assert!(error.contains("\"often\" is not an interval: write frames"), "{error}");
}
