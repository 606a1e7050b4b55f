//! A rate control with a constant rate.

use windfall_base::{Instant, Stream};
use windfall_wire_link::ieee80211::PhyRate;

use super::{RateControl, RateControlKind};

/// Uses the rate of the station for every frame.
pub const FIXED: RateControlKind = RateControlKind {
    name: "fixed",
    help: "The rate of the link",
    is_adaptive: false,
    build: |setup| Box::new(Fixed(setup.rates[0])),
};

#[derive(Debug)]
struct Fixed(PhyRate);

impl RateControl for Fixed {
    fn rate(&mut self, _: Instant, _: u32, _: &mut Stream) -> PhyRate {
        self.0
    }

    fn on_attempt(&mut self, _: PhyRate, _: bool) {}
}
