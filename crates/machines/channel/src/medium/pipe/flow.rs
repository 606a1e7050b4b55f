//! Flows whose frames meet, on top of what the path does to all frames, impairments of their own.

use std::collections::BTreeMap;

use windfall_base::{Duration, FlowId, Frame, Instant, Picked, Probability, Seed};

use super::outage::Outages;
use super::transit::Transit;
use super::{PathConfig, outages};
use crate::air::{Air, AirConfig, Model};
use crate::fate::FrameFate;

/// The effect of a path on the frames of one flow, on top of that on all frames.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowPathConfig {
    /// The flow, as senders write it into the class of its frames.
    pub flow: FlowId,
    /// The name of the flow, after which its random streams are named.
    pub name: String,
    /// Delay, jitter, reordering, duplication, interruptions and air. The line is that of the path.
    pub way: PathConfig,
}

/// The times at which a frame and its copies arrive.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrivals {
    pub(super) at: Instant,
    pub(super) copies: [Option<Instant>; 3],
}

/// The impairments of the flows of a path.
#[derive(Debug, Default)]
pub(super) struct FlowPaths(BTreeMap<FlowId, FlowPath>);

/// The impairments of one flow. All of them draw from random streams of its own, so that the frames
/// of other flows fare as they would without it.
#[derive(Debug)]
pub(super) struct FlowPath {
    air: Air,
    /// Inverts one bit of a packet that is picked to be damaged.
    damage: Air,
    transit: Transit,
    outages: Option<Outages>,
}

impl FlowPaths {
    pub(super) fn new(flows: &[FlowPathConfig], now: Instant, seed: Seed, path: &str) -> Self {
        let paths =
            flows.iter().map(|config| (config.flow, FlowPath::new(config, now, seed, path)));
        Self(paths.collect())
    }

    /// Becomes what the flows are from `now` on, each continuing from its state.
    pub(super) fn change(
        &mut self,
        flows: &[FlowPathConfig],
        now: Instant,
        seed: Seed,
        path: &str,
    ) {
        let mut before = core::mem::take(&mut self.0);
        for config in flows {
            let fresh = FlowPath::new(config, now, seed, path);
            let changed = match before.remove(&config.flow) {
                Some(before) => fresh.behind(before, config, seed, path),
                None => fresh,
            };
            self.0.insert(config.flow, changed);
        }
    }

    /// Returns the impairments of the flow of a frame. A repair of packets fares as they do, and a
    /// control frame belongs to no flow.
    #[inline]
    pub(super) fn of(&mut self, frame: &Frame) -> Option<&mut FlowPath> {
        let is_of_packets = frame.tag.is_some() || frame.covers.is_some();
        if self.0.is_empty() || !is_of_packets {
            return None;
        }
        self.0.get_mut(&frame.class.flow)
    }
}

/// The name of the random streams of a flow on a path.
fn stream_name(path: &str, flow: &str) -> String {
    format!("{path}/flow/{flow}")
}

/// The name of the random stream of damage to picked packets of a flow.
fn picked(flow: &str) -> String {
    format!("{flow}/picked")
}

/// The air that inverts one of the bits that `air` may hit.
fn one_bit(air: &AirConfig) -> AirConfig {
    AirConfig { models: vec![Model::Corruption(Probability::ONE.into())], ..air.clone() }
}

impl FlowPath {
    fn new(config: &FlowPathConfig, now: Instant, seed: Seed, path: &str) -> Self {
        let FlowPathConfig { name, way, .. } = config;
        let name = stream_name(path, name);
        Self {
            air: Air::new(&way.air, seed, &name),
            damage: Air::new(&one_bit(&way.air), seed, &picked(&name)),
            transit: Transit::new(way, seed, &name),
            outages: way.onoff.map(|it| outages(it, now, seed, &name)),
        }
    }

    /// Continues behind the frames that another has let through.
    fn behind(self, before: Self, config: &FlowPathConfig, seed: Seed, path: &str) -> Self {
        let FlowPathConfig { name, way, .. } = config;
        let name = stream_name(path, name);
        let mut air = before.air;
        air.change(&way.air, seed, &name);
        let mut damage = before.damage;
        damage.change(&one_bit(&way.air), seed, &picked(&name));
        let transit = self.transit.behind(&before.transit);
        let outages = self.outages.map(|it| it.behind(before.outages.as_ref()));
        Self { air, damage, transit, outages }
    }

    /// Returns the fate of a frame of the flow that has met `before` on the path.
    pub(super) fn judge(&mut self, frame: &Frame, before: FrameFate) -> FrameFate {
        // The models of the flow move on with each of its frames, whatever the path did to it.
        let (_, own) = self.air.judge(frame);
        let fate = before.and_then(own);
        let Picked { lose, damage, .. } = frame.class.picked;
        if lose {
            return FrameFate::Lost;
        }
        if damage {
            let (_, picked) = self.damage.judge(frame);
            return fate.and_then(picked);
        }
        fate
    }

    /// Returns whether the flow is interrupted at `ended`, when a frame has left.
    pub(super) fn is_off(&mut self, ended: Instant) -> bool {
        self.outages.as_mut().is_some_and(|outages| outages.is_off(ended))
    }

    /// Returns when `frame` arrives that the path alone would let arrive at `at`, and when its
    /// copies do, of which the path has made one if there is `copied`.
    pub(super) fn next(
        &mut self,
        frame: &Frame,
        at: Instant,
        copied: Option<Instant>,
        length: usize,
    ) -> Arrivals {
        let (later, own_copy) = self.transit.next(at, at, length);
        let added: Duration = later - at;
        let picked = frame.class.picked.copy.then_some(later);
        Arrivals { at: later, copies: [copied.map(|copied| copied + added), own_copy, picked] }
    }
}

#[cfg(test)]
mod tests;
