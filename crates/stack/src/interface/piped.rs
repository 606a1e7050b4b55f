//! A full-duplex pipe below an interface: one queue, and a link that pulls from it.

use std::collections::VecDeque;

use core::num::NonZeroU8;

use windfall_base::{DropReason, Frame, Input, Instant, Outgoing};
use windfall_link::{Arq, Arrival, Pipe, PipeConfig};
use windfall_queue::{DropTail, Limits, Waiting};

use super::account::Account;

#[derive(Debug)]
pub(super) struct Piped {
    /// What goes ahead of the queue.
    urgent: VecDeque<Waiting>,
    queue: DropTail,
    link: Pipe,
    /// The medium carries a frame of ours that has not left it.
    sending: bool,
}

impl Piped {
    /// A link that repeats nothing of itself still numbers its frames if `repetition` is asked for
    /// by some class.
    pub(super) fn new(link: PipeConfig, limits: Limits, repetition: bool) -> Self {
        let link = if link.arq == Arq::None && repetition {
            PipeConfig { arq: Arq::Attempts(NonZeroU8::MIN), ..link }
        } else {
            link
        };
        let (urgent, queue) = (VecDeque::new(), DropTail::new(limits));
        Self { urgent, queue, link: Pipe::new(link), sending: false }
    }

    /// Takes a packet into the queue, and gives the packets that wait with it.
    pub(super) fn take_packet(&mut self, now: Instant, frame: Frame) -> Result<usize, DropReason> {
        match self.queue.push(now, frame) {
            None => Ok(self.queue.len()),
            Some(_) => Err(DropReason::QueueFull),
        }
    }

    /// Takes a packet that goes ahead of those that wait.
    pub(super) fn take_first(&mut self, now: Instant, frame: Frame) -> Result<usize, DropReason> {
        self.urgent.push_back(Waiting { since: now, frame });
        Ok(self.queue.len() + self.urgent.len())
    }

    pub(super) fn handle_input(&mut self, now: Instant, input: Input, account: &mut Account) {
        match input {
            Input::Frame(frame, _) => {
                match self.link.handle_frame(now, frame) {
                    Arrival::Packet => account.arrived(),
                    Arrival::More => account.counters.from_medium += 1,
                    Arrival::Control => account.counters.control_received += 1,
                }
                self.collect(now, account);
            }
            Input::TransmissionDone => self.sending = false,
            // A pipe has no carrier to sense.
            Input::CarrierBusy
            | Input::CarrierIdle
            | Input::ReceptionFailed(_)
            | Input::Overheard(_) => {}
        }
    }

    pub(super) fn handle_timeout(&mut self, now: Instant, account: &mut Account) {
        self.link.handle_timeout(now);
        self.collect(now, account);
    }

    pub(super) fn poll_delivery(&mut self) -> Option<Frame> {
        self.link.poll_delivery()
    }

    pub(super) fn poll_transmit(
        &mut self,
        now: Instant,
        account: &mut Account,
    ) -> Option<Outgoing> {
        if self.sending {
            return None;
        }
        let packets_sent = account.counters.sent;
        let (urgent, queue) = (&mut self.urgent, &mut self.queue);
        let mut pop = || urgent.pop_front().or_else(|| queue.pop());
        let frame = self.link.poll_transmit(now, || account.pull(now, &mut pop));
        self.collect(now, account);
        let frame = frame?;
        self.sending = true;
        account.counters.bytes_sent += frame.len() as u64;
        account.counters.control_sent += u64::from(account.counters.sent == packets_sent);
        Some(frame.into())
    }

    pub(super) fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        self.link.poll_timeout()
    }

    pub(super) fn held(&self) -> usize {
        self.urgent.len() + self.queue.len() + self.link.held()
    }

    pub(super) fn queue_len(&self) -> (usize, usize) {
        (self.queue.len(), self.queue.bytes())
    }

    /// Takes down what the link has reported.
    fn collect(&mut self, now: Instant, account: &mut Account) {
        while let Some(event) = self.link.poll_event() {
            account.link(now, event);
        }
    }
}
