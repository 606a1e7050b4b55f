//! The frames of a link between the flags of a line.
//!
//! A link tells header, data and trailer of a frame apart by their place on a medium; here a byte
//! says how long the header and the trailer are: `h << 2 | t / 4`. After it comes the incarnation
//! of the sender: two bytes, chosen at random at its start, because a link numbers its frames from
//! zero on. These three bytes are sent three times before each frame, and a majority vote decides
//! each bit.

use std::collections::VecDeque;

use windfall_base::{Frame, FrameParts, Input, Instant, Ledger, Node as _, RxVector, Seed, Stream};
use windfall_wire_link::hdlc::{Accm, encode_unchecked};

use super::Body;
use super::unchecked::UncheckedDeframer;
use crate::interface::{DEVICE, Interface, InterfaceConfig, MEDIUM};

/// Link headers, trailers and parity beside a packet, in bytes.
const BESIDE: usize = 512;

/// Earlier incarnations of a peer that are remembered.
const REMEMBERED: usize = 8;
/// The number of consecutive frames after which a new incarnation is accepted: a single one may be
/// damaged.
const BELIEVED: u32 = 2;
/// The number of consecutive frames after which an earlier incarnation is accepted again. A few may
/// be delayed frames, but a peer that continues to send is alive.
const BELIEVED_AGAIN: u32 = 64;

/// The incarnation of a peer.
#[derive(Debug, Default)]
struct Peer {
    now: Option<u16>,
    /// Another incarnation in the last frames, and the number of those frames.
    other: (u16, u32),
    past: VecDeque<u16>,
}

/// The meaning of the incarnation in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Heard {
    /// The frame is from the present incarnation.
    Same,
    /// The peer has restarted.
    Restarted,
    /// The frame is from an earlier incarnation, or from one not accepted yet.
    Stray,
}

impl Peer {
    fn hear(&mut self, incarnation: u16) -> Heard {
        let Some(now) = self.now else {
            self.now = Some(incarnation);
            return Heard::Same;
        };
        if now == incarnation {
            self.other.1 = 0;
            return Heard::Same;
        }
        let (other, count) = self.other;
        let count = if other == incarnation { count + 1 } else { 1 };
        self.other = (incarnation, count);
        let is_past = self.past.contains(&incarnation);
        if count < if is_past { BELIEVED_AGAIN } else { BELIEVED } {
            return Heard::Stray;
        }
        self.past.truncate(REMEMBERED - 1);
        self.past.push_front(now);
        (self.now, self.other.1) = (Some(incarnation), 0);
        Heard::Restarted
    }
}

/// An interface whose medium is the line.
#[derive(Debug)]
pub(super) struct FramedLink {
    interface: Interface,
    incarnation: u16,
    peer: Peer,
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
        let incarnation = Stream::new(seed, "incarnation").below(1 << 16) as u16;
        let peer = Peer::default();
        let deliveries = VecDeque::new();
        Self { interface, incarnation, peer, deframer, next: None, deliveries }
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
            let Some((incarnation, frame)) = apart(&bytes) else { continue };
            match self.peer.hear(incarnation) {
                Heard::Same => {}
                Heard::Restarted => self.deliveries.extend(self.interface.restart_receiver(now)),
                Heard::Stray => continue,
            }
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
        let lengths = ((frame.header.len() << 2) | (frame.trailer.len() / 4)) as u8;
        let [high, low] = self.incarnation.to_be_bytes();
        let before = [[lengths, high, low]; 3];
        encode_unchecked(&[before.as_flattened(), &frame.to_vec()], Accm::NONE, &mut bytes);
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

/// The frame of these bytes and the incarnation of its sender; `None` if it is too short for its
/// own lengths.
fn apart(bytes: &[u8]) -> Option<(u16, Frame)> {
    let (before, rest) = bytes.split_first_chunk::<9>()?;
    let [lengths, high, low] = core::array::from_fn(|at| {
        let [a, b, c] = [before[at], before[at + 3], before[at + 6]];
        (a & b) | (a & c) | (b & c)
    });
    let header = usize::from(lengths >> 2);
    let trailer = 4 * usize::from(lengths & 3);
    let (header, rest) = rest.split_at_checked(header)?;
    let (data, trailer) = rest.split_at_checked(rest.len().checked_sub(trailer)?)?;
    let parts = FrameParts {
        header: header.try_into().ok()?,
        trailer: trailer.try_into().ok()?,
        ..FrameParts::default()
    };
    let frame = Frame { parts: Some(Box::new(parts)), ..Frame::packet(data.to_vec()) };
    Some((u16::from_be_bytes([high, low]), frame))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_start_is_believed_by_its_second_frame_and_an_earlier_one_only_if_it_goes_on() {
        let mut peer = Peer::default();
        let mut hear = |incarnation, times: u32| {
            let heard: Vec<_> = (0..times).map(|_| peer.hear(incarnation)).collect();
            heard.iter().position(|it| *it == Heard::Restarted)
        };
        assert_eq!(hear(1, 10), None);
        // Damage now and then.
        assert_eq!((hear(2, 1), hear(1, 1), hear(2, 1), hear(1, 1)), (None, None, None, None));
        assert_eq!(hear(2, 3), Some(1));
        // What was long under way.
        assert_eq!((hear(1, 63), hear(2, 1), hear(1, 63)), (None, None, None));
        assert_eq!(hear(2, 1), None);
        assert_eq!(hear(1, 64), Some(63), "it is there and goes on");
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_taken_apart_without_panic(
            bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..64),
        ) {
            let whole = bytes.len();
            if let Some((_, frame)) = apart(&bytes) {
                proptest::prop_assert_eq!(frame.len() + 9, whole);
            }
        }
    }
}
