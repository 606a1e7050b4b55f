//! A signal on its way: how strong it is where, whom it is for, and what its receivers are told.

use std::collections::VecDeque;

use windfall_base::{Dbm, Failure, Frame, Instant, Overheard, Port, Rate, RxVector, Signal};
use windfall_phy::decibel::decibels;
use windfall_wire_link::ieee80211::MacAddress;

use super::Transmission;
use super::receiver::Reception;
use crate::event::MediumEvent;
use crate::verdict::{Missed, Verdict};

impl Transmission {
    /// The power that arrives at a hearer, in milliwatts.
    #[inline]
    pub(super) fn power_at(&self, hearer: u32) -> f64 {
        let fading = self.fading.get(hearer as usize).copied().unwrap_or(1.0);
        self.power * self.hearers[hearer as usize].gain * fading
    }

    /// Returns `true` if the radio with the address `own` passes the frame up whole.
    #[inline]
    pub(super) fn is_for(&self, own: Option<MacAddress>) -> bool {
        match (own, self.to) {
            (Some(own), Some(to)) => to == own || to.is_group(),
            _ => true,
        }
    }

    /// Returns the report of a receiver that followed the frame; `None` if it is the frame itself,
    /// which then stands behind `frames`.
    pub(super) fn due(
        &self,
        reception: &Reception,
        verdict: &Verdict,
        is_for: bool,
        frames: &mut VecDeque<(Frame, RxVector)>,
    ) -> Option<Signal> {
        match verdict {
            Verdict::Missed(Missed::Payload) => self.overheard(false),
            Verdict::Intact | Verdict::Damaged { .. } if is_for => {
                let mut frame = self.frame.clone();
                verdict.apply(&mut frame);
                let vector = RxVector {
                    began: reception.began,
                    rate: Some(self.rate()),
                    strength: Some(Dbm(decibels(reception.power))),
                };
                frames.push_back((frame, vector));
                None
            }
            Verdict::Intact => self.overheard(true),
            Verdict::Damaged { .. } => self.overheard(false),
            _ => Some(Signal::ReceptionFailed(Failure::Header)),
        }
    }

    pub(super) fn rate(&self) -> Rate {
        self.sent.rate.rate()
    }

    pub(super) fn overheard(&self, good: bool) -> Option<Signal> {
        Some(Signal::Overheard(Overheard { head: self.head(), good }))
    }

    /// The first bytes of the frame.
    pub(super) fn head(&self) -> [u8; 4] {
        let mut head = [0; 4];
        for (to, from) in head.iter_mut().zip(&self.frame.header) {
            *to = *from;
        }
        head
    }

    pub(super) fn event(
        &self,
        at: Instant,
        to: Port,
        number: Option<u64>,
        verdict: Verdict,
    ) -> MediumEvent {
        MediumEvent {
            at,
            from: Port(self.from),
            to,
            number,
            tag: self.frame.tag,
            kept: self.frame.kept,
            length: self.frame.len() as u32,
            header: self.frame.header.len() as u32,
            trailer: self.frame.trailer.len() as u32,
            began: self.began,
            ended: self.ended,
            strength: None,
            verdict,
        }
    }
}
