//! A station that transmits only when it is polled.

use std::collections::VecDeque;

use windfall_base::{DropReason, Frame, Input, Instant, Outgoing};
use windfall_wire_link::wavelan::{Address, Feedback, Head, Kind};

use super::{WavelanTiming, ack_len, split_head, with_head};
use crate::client::Client;

/// A station on a polled medium: it transmits only in response to the coordinator.
///
/// It has no timers: the coordinator's next frame tells whether its unit was acknowledged.
#[derive(Debug)]
pub struct Responder {
    address: Address,
    coordinator: Address,
    timing: WavelanTiming,
    /// The frames of the current response.
    answer: VecDeque<Frame>,
    /// A frame of the station is on the medium.
    sending: bool,
    /// The last unit of the station has not been acknowledged yet.
    awaiting: bool,
}

impl Responder {
    /// The station `address`, which answers `coordinator`.
    #[must_use]
    pub fn new(address: Address, coordinator: Address, timing: WavelanTiming) -> Self {
        let answer = VecDeque::new();
        Self { address, coordinator, timing, answer, sending: false, awaiting: false }
    }

    /// Takes a frame or a signal of the medium.
    pub fn handle_input(&mut self, now: Instant, input: Input, client: &mut impl Client) {
        match input {
            Input::Frame(frame, _) => self.take(now, frame, client),
            Input::TransmissionDone => self.sending = false,
            Input::CarrierBusy
            | Input::CarrierIdle
            | Input::ReceptionFailed(_)
            | Input::Overheard(_)
            | Input::CarrierPassed(_) => {}
        }
    }

    /// Yields the next frame of the answer when the one before has left.
    pub fn poll_transmit(&mut self) -> Option<Outgoing> {
        if self.sending {
            return None;
        }
        let frame = self.answer.pop_front()?;
        self.sending = true;
        Some(self.timing.outgoing(frame))
    }

    fn take(&mut self, now: Instant, mut frame: Frame, client: &mut impl Client) {
        let head = match split_head(&mut frame) {
            Ok(head) => head,
            Err(reason) => return client.on_useless(now, frame, reason),
        };
        if head.from != self.coordinator {
            if head.unit {
                client.on_useless(now, frame, DropReason::NotForUs);
            }
            return;
        }
        if self.sending || !self.answer.is_empty() {
            // No station may transmit while this one responds.
            return client.on_useless(now, frame, DropReason::Collision);
        }
        if self.awaiting {
            self.awaiting = false;
            let ours = head.ack.as_ref().filter(|(station, _)| *station == self.address);
            client.on_outcome(now, self.coordinator, ours.map(|(_, feedback)| feedback));
        }
        if head.to != self.address {
            if head.unit {
                client.on_useless(now, frame, DropReason::NotForUs);
            }
        } else if head.kind == Kind::Poll {
            self.respond(now, head.unit.then_some(frame), client);
        } else if head.unit {
            client.on_useless(now, frame, DropReason::Malformed);
        }
    }

    /// Responds to a poll: first a separate ACK of its unit, then the station's own unit.
    fn respond(&mut self, now: Instant, unit: Option<Frame>, client: &mut impl Client) {
        let was_null = unit.is_none();
        let feedback = unit.and_then(|unit| client.on_unit(now, self.coordinator, unit));
        let ahead = feedback.as_ref().map_or(0, ack_len);
        let own = client.on_opportunity(now, self.coordinator, ahead);
        if let Some(feedback) = feedback {
            let more = own.is_some();
            let head = self.head(Kind::Ack, false, more, Some(feedback));
            self.answer.push_back(with_head(&head, None));
        }
        self.awaiting = own.is_some();
        if own.is_some() || was_null {
            let head = self.head(Kind::Response, own.is_some(), false, None);
            self.answer.push_back(with_head(&head, own));
        }
    }

    fn head(&self, kind: Kind, unit: bool, more: bool, feedback: Option<Feedback>) -> Head {
        let to = self.coordinator;
        let from = self.address;
        Head { kind, to, from, unit, more, ack: feedback.map(|feedback| (to, feedback)) }
    }
}
