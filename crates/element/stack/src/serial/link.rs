//! The frames of a link between the flags of a line.
//!
//! A link tells header, data and trailer of a frame apart by their place on a medium; here a byte
//! says how long the header and the trailer are: `h << 2 | t / 4`. It stands before them three
//! times, and each bit is that of the majority.

use std::collections::VecDeque;

use windfall_base::{Frame, FrameParts, Input, Instant, Ledger, Node as _, RxVector, Seed};
use windfall_wire_link::hdlc::{Accm, encode_unchecked};

use super::Body;
use super::unchecked::UncheckedDeframer;
use crate::interface::{DEVICE, Interface, InterfaceConfig, MEDIUM};

/// Link headers, trailers and parity beside a packet, in bytes.
const BESIDE: usize = 512;

/// An interface whose medium is the line.
#[derive(Debug)]
pub(super) struct FramedLink {
    interface: Interface,
    deframer: UncheckedDeframer,
    /// The frame that waits for the line; the interface gives one at a time.
    next: Option<Frame>,
    deliveries: VecDeque<Frame>,
}

impl FramedLink {
    pub(super) fn new(config: InterfaceConfig, seed: Seed) -> Self {
        // A coded frame may be twice as long as its packet.
        let deframer = UncheckedDeframer::new(2 * config.mtu + BESIDE);
        let interface = Interface::new(config, seed, "line");
        Self { interface, deframer, next: None, deliveries: VecDeque::new() }
    }

    fn drain(&mut self, now: Instant) {
        while let Some((port, outgoing)) = self.interface.poll_transmit(now) {
            match port {
                DEVICE => self.deliveries.push_back(outgoing.frame),
                _ => self.next = Some(outgoing.frame),
            }
        }
    }
}

impl Body for FramedLink {
    fn take_packet(&mut self, now: Instant, frame: Frame) {
        self.interface.handle_input(now, DEVICE, Input::Frame(frame, RxVector::wired(now)));
        self.drain(now);
    }

    fn take_bytes(&mut self, now: Instant, bytes: &[u8]) {
        for bytes in self.deframer.take(bytes) {
            let Some(frame) = apart(&bytes) else { continue };
            let input = Input::Frame(frame, RxVector::wired(now));
            self.interface.handle_input(now, MEDIUM, input);
            self.drain(now);
        }
    }

    fn line_free(&mut self, now: Instant) {
        self.interface.handle_input(now, MEDIUM, Input::TransmissionDone);
        self.drain(now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.interface.handle_timeout(now);
        self.drain(now);
    }

    fn next_bytes(&mut self, now: Instant) -> Option<Vec<u8>> {
        self.drain(now);
        let frame = self.next.take()?;
        let mut bytes = Vec::with_capacity(frame.len() + frame.len() / 64 + 2);
        let lengths = [((frame.header.len() << 2) | (frame.trailer.len() / 4)) as u8; 3];
        encode_unchecked(&[&lengths, &frame.to_vec()], Accm::NONE, &mut bytes);
        Some(bytes)
    }

    fn poll_delivery(&mut self, now: Instant) -> Option<Frame> {
        self.drain(now);
        self.deliveries.pop_front()
    }

    fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        self.interface.poll_timeout()
    }

    fn ledger(&self) -> Ledger {
        self.interface.ledger()
    }

    fn sent(&self) -> u64 {
        let counters = self.interface.counters();
        counters.taken_up
    }
}

/// The frame of these bytes; `None` if it is too short for its own lengths.
fn apart(bytes: &[u8]) -> Option<Frame> {
    let ([a, b, c], rest) = bytes.split_first_chunk()?;
    let lengths = (a & b) | (a & c) | (b & c);
    let (header, trailer) = (usize::from(lengths >> 2), 4 * usize::from(lengths & 3));
    let (header, rest) = rest.split_at_checked(header)?;
    let (data, trailer) = rest.split_at_checked(rest.len().checked_sub(trailer)?)?;
    let parts = FrameParts {
        header: header.try_into().ok()?,
        trailer: trailer.try_into().ok()?,
        ..FrameParts::default()
    };
    Some(Frame { parts: Some(Box::new(parts)), ..Frame::packet(data.to_vec()) })
}
