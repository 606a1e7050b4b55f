//! The sender of an exchange: puts the missing parts of one pending packet into frames, as the
//! policy chooses.

use std::collections::VecDeque;

use windfall_base::seq::Seq16;
use windfall_base::{DropReason, Duration, Frame, Instant, PacketEvent, TransitTiming};
use windfall_wire_link::coded::{Number, Progress, Report};

use super::packet::{Flight, Packet, Planning, Softness};
use super::{CodedConfig, received};
use crate::persistence::Arq;
use crate::policy::{Outcome, Policy};
use crate::window::Pulled;

#[derive(Debug)]
pub(super) struct Sender {
    policy: Box<dyn Policy>,
    arq: Arq,
    padded: bool,
    pub(super) passage: TransitTiming,
    current: Option<Packet>,
    /// The frame that has not been reported yet.
    flight: Option<Flight>,
    softness: Softness,
    /// The number of the pending packet, or of the last one.
    seq: Seq16,
}

impl Sender {
    pub(super) fn new(config: CodedConfig) -> Self {
        Self {
            policy: config.policy.build(config.cost),
            arq: config.arq,
            padded: config.padded,
            passage: TransitTiming::default(),
            current: None,
            flight: None,
            softness: Softness::default(),
            seq: Seq16(0),
        }
    }

    pub(super) fn is_busy(&self) -> bool {
        self.current.is_some()
    }

    pub(super) fn next_unit(
        &mut self,
        now: Instant,
        mut pull: impl FnMut() -> Option<Pulled>,
        events: &mut VecDeque<PacketEvent>,
    ) -> Option<Frame> {
        loop {
            if self.current.is_none() {
                self.current = Some(Packet::new(pull()?, self.arq));
                self.seq = self.seq.next();
            }
            let current = self.current.as_mut()?;
            // A missing report counts as a loss.
            if let Some(flight) = self.flight.take() {
                current.settle(&flight, &[]);
            }
            let policy = &mut *self.policy;
            let softness = &mut self.softness;
            let padded = self.padded;
            let passage = self.passage;
            let beside = Planning::UNIT;
            let round_trip = Duration::ZERO;
            let planning = Planning { padded, passage, beside, round_trip };
            let Some(plan) = current.plan(now, policy, softness, &planning) else {
                self.give_up(DropReason::Expired, events);
                continue;
            };
            let (flight, unit) = current.frame(Number::Unit(self.seq), plan, self.padded, events);
            self.flight = Some(flight);
            return Some(unit);
        }
    }

    pub(super) fn take_outcome(
        &mut self,
        report: Option<&Report>,
        events: &mut VecDeque<PacketEvent>,
    ) {
        let seq = self.seq;
        let Some(current) = &mut self.current else { return };
        let Some(flight) = self.flight.take() else { return };
        let report = report.filter(|report| report.seq == seq);
        let fates = report.map(|report| &report.fates[..]);
        let told = fates.map(received);
        let outcome = told.as_ref().map_or(Outcome::Silence, |told| Outcome::Report(told));
        self.policy.learn(flight.plan, Packet::coded_bytes(&flight.head), outcome);
        self.softness.hear(&flight, fates.unwrap_or_default());
        if report.is_some_and(|report| report.progress == Progress::Complete) {
            events.push_back(current.acknowledged());
            self.current = None;
            return;
        }
        let again = report.is_some_and(|report| report.progress == Progress::Again);
        // A receiver that requests everything again has kept nothing.
        current.settle(&flight, if again { &[] } else { fates.unwrap_or_default() });
        if again {
            current.restart();
        }
        if current.is_used_up() {
            //= S3.12
            self.give_up(DropReason::RetryLimit, events);
        }
    }

    fn give_up(&mut self, reason: DropReason, events: &mut VecDeque<PacketEvent>) {
        events.extend(self.current.take().map(|packet| packet.dropped(reason)));
        self.flight = None;
    }
}
