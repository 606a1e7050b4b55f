//! A signal on its way: how strong it is where, whom it is for, and what its receivers are told.

use bytes::Bytes;
use windfall_base::{Dbm, Failure, Frame, Input, Overheard, Port, Rate, RxVector};
use windfall_wire_link::ieee80211::MacAddress;
use windfall_wire_net::transport;

use super::Transmission;
use super::receiver::Reception;
use crate::event::{FrameFacts, MediumEvent};
use crate::fate::{FrameFate, Missed};

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

    /// Returns what a receiver that followed the frame passes up; the strength is given where the
    /// frame is for it.
    pub(super) fn due(
        &mut self,
        reception: &Reception,
        fate: &FrameFate,
        sure: Option<Bytes>,
        strength: Option<Dbm>,
    ) -> Input {
        match fate {
            FrameFate::Missed(Missed::Payload) => self.overheard(false),
            FrameFate::Intact | FrameFate::Damaged { .. } if strength.is_some() => {
                let frame = &mut self.frame;
                let mut frame = if self.is_sole { core::mem::take(frame) } else { frame.clone() };
                fate.apply(&mut frame);
                if sure.is_some() {
                    frame.damage.reliability = sure.map(Box::new);
                }
                let vector = RxVector { began: reception.began, rate: Some(self.rate()), strength };
                Input::Frame(frame, vector)
            }
            FrameFate::Intact => self.overheard(true),
            FrameFate::Damaged { .. } => self.overheard(false),
            _ => Input::ReceptionFailed(Failure::Header),
        }
    }

    /// Returns `fate` without the bit errors in the headers of the packet.
    pub(super) fn without_damaged_headers(&self, mut fate: FrameFate) -> FrameFate {
        let FrameFate::Damaged { truncated: None, inverted } = &mut fate else { return fate };
        if self.facts.frame.tag.is_none() {
            return fate;
        }
        let packet = self.facts.frame.header * 8;
        let headers = transport::data_offset(&self.frame.payload).unwrap_or(0) as u32 * 8;
        inverted.retain(|bit| !(packet..packet + headers).contains(bit));
        if inverted.is_empty() { FrameFate::Intact } else { fate }
    }

    pub(super) fn rate(&self) -> Rate {
        self.sent.rate.rate()
    }

    fn overheard(&self, good: bool) -> Input {
        Input::Overheard(Overheard { head: self.facts.head, good })
    }

    /// The first bytes of the frame.
    pub(super) fn head(&self) -> [u8; 4] {
        self.facts.head
    }

    pub(super) fn event(
        &self,
        to: Port,
        strength: Option<i8>,
        judged: (Option<u64>, FrameFate),
    ) -> MediumEvent {
        let path = (Port(self.from), to);
        let time = (self.began, self.ended);
        MediumEvent { strength, ..MediumEvent::new(self.facts.frame, path, time, judged) }
    }
}

/// The facts about a frame on the air that outlast it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts {
    pub(super) frame: FrameFacts,
    /// The first bytes of the frame; zeros if it has fewer.
    head: [u8; 4],
}

impl Facts {
    pub(super) fn of(frame: &Frame) -> Self {
        let mut head = [0; 4];
        for (to, from) in head.iter_mut().zip(&frame.header) {
            *to = *from;
        }
        Self { frame: FrameFacts::of(frame), head }
    }
}
