//! A miniature 802.11b station and the air around it, slot by slot.
//!
//! It is here to prove that [`Node`] can carry a radio: carrier sense, a backoff that freezes,
//! acknowledgements a fixed gap after the frame, and time-outs exact to the microsecond. It has no
//! RTS, no reservation of the medium and one peer.

use std::collections::VecDeque;

use windfall_base::{
    Check, DropReason, Duration, Frame, Input, Instant, Ledger, Node, Outgoing, Port, Rate, Seed,
    Stream, TxVector,
};

pub mod air;
pub mod mpdu;

use mpdu::{Kind, Mpdu};

/// The port of the device: bare packets.
pub const DEVICE: Port = Port(0);
/// The port of the radio.
pub const AIR: Port = Port(1);

/// One slot of the backoff.
pub const SLOT: Duration = Duration::from_micros(20);
/// The gap before an acknowledgement.
pub const SIFS: Duration = Duration::from_micros(10);
/// The gap after which the backoff counts: SIFS and two slots.
pub const DIFS: Duration = Duration::from_micros(50);
/// The gap after a frame that could not be read, so that its acknowledgement is not disturbed.
pub const EIFS: Duration = Duration::from_micros(364);
/// Preamble and PLCP header, long form.
pub const PREAMBLE: Duration = Duration::from_micros(192);
/// An acknowledgement at 1 Mb/s: preamble and 14 bytes.
pub const ACK_TIME: Duration = Duration::from_micros(304);
/// The time after its own frame in which a station waits for the end of the acknowledgement.
pub const ACK_TIMEOUT: Duration = Duration::from_micros(10 + 304 + 20);
/// The smallest contention window.
pub const CW_MIN: u32 = 31;
/// The largest contention window.
pub const CW_MAX: u32 = 1023;
/// Attempts in all.
pub const ATTEMPTS: u8 = 7;
/// Packets that wait, at most.
pub const QUEUE: usize = 64;

/// The activity of a station's radio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Radio {
    /// Listening, free to contend.
    Free,
    /// Sending a data frame.
    Data,
    /// Sending an acknowledgement.
    Ack,
    /// Waiting for an acknowledgement until then.
    Waiting(Instant),
}

/// One station: queues packets, contends for the medium, repeats, acknowledges.
#[derive(Debug)]
pub struct Station {
    address: u8,
    peer: u8,
    rate: Rate,
    draw: Stream,
    queue: VecDeque<Frame>,
    sequence: u16,
    attempts: u8,
    window: u32,
    /// Slots still to wait, as of `slots_from`.
    backoff: u32,
    /// Others are heard.
    busy: bool,
    /// When the slots begin to count, if the medium stays idle.
    slots_from: Instant,
    /// The gap to keep once the medium falls idle.
    gap: Duration,
    radio: Radio,
    /// An acknowledgement that is owed, and when.
    owed: Option<(Instant, u8)>,
    received: Option<u16>,
    up: VecDeque<Frame>,
    out: Option<Outgoing>,
    ledger: Ledger,
}

impl Station {
    /// A station that exchanges frames with `peer` at `rate`.
    #[must_use]
    pub fn new(address: u8, peer: u8, rate: Rate, seed: Seed) -> Self {
        Self {
            address,
            peer,
            rate,
            draw: Stream::new(seed, &format!("dcf/{address}")),
            queue: VecDeque::new(),
            sequence: 0,
            attempts: 0,
            window: CW_MIN,
            backoff: 0,
            busy: false,
            slots_from: Instant::START + DIFS,
            gap: DIFS,
            radio: Radio::Free,
            owed: None,
            received: None,
            up: VecDeque::new(),
            out: None,
            ledger: Ledger::default(),
        }
    }

    /// The account of the station.
    #[must_use]
    pub fn ledger(&self) -> Ledger {
        let held = (self.queue.len() + self.up.len()) as u64;
        Ledger { held, ..self.ledger.clone() }
    }

    /// When the head of the queue may be sent, if nothing disturbs.
    fn attempt_at(&self) -> Option<Instant> {
        let free = self.radio == Radio::Free && self.owed.is_none() && !self.busy;
        let ready = self.slots_from + SLOT * u64::from(self.backoff);
        (free && !self.queue.is_empty()).then_some(ready)
    }

    /// Does everything that is due at `now`.
    fn run(&mut self, now: Instant) {
        if let Some((at, to)) = self.owed
            && at <= now
        {
            self.owed = None;
            // A radio that is sending, or has been asked for something meanwhile, cannot answer.
            if self.radio == Radio::Free {
                self.freeze(now);
                self.radio = Radio::Ack;
                self.send(&Mpdu { kind: Kind::Ack, to, from: self.address, sequence: 0 });
            }
        }
        if let Radio::Waiting(until) = self.radio
            && until <= now
        {
            self.radio = Radio::Free;
            self.slots_from = self.slots_from.max(now);
            self.failed();
        }
        if self.attempt_at().is_some_and(|at| at <= now) {
            self.backoff = 0;
            self.attempts += 1;
            self.radio = Radio::Data;
            let to = self.peer;
            let from = self.address;
            let sequence = self.sequence;
            self.send(&Mpdu { kind: Kind::Data, to, from, sequence });
        }
    }

    /// Puts a frame on the air; a data frame carries the head of the queue.
    fn send(&mut self, mpdu: &Mpdu) {
        let mut frame = Frame::default();
        if mpdu.kind == Kind::Data
            && let Some(head) = self.queue.front()
        {
            frame = Frame { kept: true, ..head.clone() };
        }
        mpdu.wrap(&mut frame);
        let rate = if mpdu.kind == Kind::Data { Some(self.rate) } else { Rate::from_mbps(1) };
        let vector = TxVector { rate, overhead: PREAMBLE, ..TxVector::default() };
        self.out = Some(Outgoing { frame, vector });
    }

    /// Stops the countdown: whole slots that passed idle are done.
    fn freeze(&mut self, now: Instant) {
        let idle = now.saturating_since(self.slots_from).as_nanos();
        let slots = idle / SLOT.as_nanos();
        self.backoff = self.backoff.saturating_sub(u32::try_from(slots).unwrap_or(u32::MAX));
    }

    fn new_backoff(&mut self) {
        self.backoff = self.draw.below(u64::from(self.window) + 1) as u32;
    }

    /// An attempt got no acknowledgement.
    fn failed(&mut self) {
        if self.attempts >= ATTEMPTS {
            self.queue.pop_front();
            self.ledger.drops.count(DropReason::RetryLimit);
            self.finished();
        } else {
            self.window = (2 * self.window + 1).min(CW_MAX);
            self.new_backoff();
        }
    }

    /// The head of the queue is done with, either way.
    fn finished(&mut self) {
        self.sequence = self.sequence.wrapping_add(1);
        self.attempts = 0;
        self.window = CW_MIN;
        self.new_backoff();
    }

    fn enqueue(&mut self, now: Instant, packet: Frame) {
        self.ledger.taken += 1;
        if self.queue.len() == QUEUE {
            return self.ledger.drops.count(DropReason::QueueFull);
        }
        let idle = !self.busy && self.radio == Radio::Free && now >= self.slots_from;
        if self.queue.is_empty() && self.backoff == 0 && !idle {
            self.new_backoff();
        }
        self.queue.push_back(packet);
    }

    fn receive(&mut self, now: Instant, mut frame: Frame) {
        self.ledger.taken += 1;
        let Some(mpdu) = Mpdu::unwrap(&mut frame) else {
            self.gap = EIFS;
            return self.ledger.drops.count(DropReason::FrameCheck);
        };
        self.gap = DIFS;
        if mpdu.to != self.address {
            return self.ledger.drops.count(DropReason::NotForUs);
        }
        match mpdu.kind {
            Kind::Ack => {
                self.ledger.given += 1;
                if matches!(self.radio, Radio::Waiting(_)) {
                    self.radio = Radio::Free;
                    if self.queue.pop_front().is_some() {
                        self.ledger.given += 1;
                    }
                    self.finished();
                }
            }
            Kind::Data => {
                self.owed = Some((now + SIFS, mpdu.from));
                if self.received.replace(mpdu.sequence) == Some(mpdu.sequence) {
                    return self.ledger.drops.count(DropReason::Duplicate);
                }
                frame.damage.frame = Check::Good;
                frame.kept = false;
                self.up.push_back(frame);
            }
        }
    }
}

impl Node for Station {
    fn handle_input(&mut self, now: Instant, port: Port, input: Input) {
        match (port, input) {
            (DEVICE, Input::Frame(packet, _)) => self.enqueue(now, packet),
            (AIR, Input::Frame(frame, _)) => self.receive(now, frame),
            (AIR, Input::CarrierBusy) if !self.busy => {
                // A station cannot hear what begins in the very slot in which it begins itself.
                self.run(now);
                self.freeze(now);
                self.busy = true;
            }
            (AIR, Input::CarrierIdle) if self.busy => {
                self.busy = false;
                self.slots_from = self.slots_from.max(now + self.gap);
            }
            (AIR, Input::ReceptionFailed(_)) => self.gap = EIFS,
            (AIR, Input::TransmissionDone) => {
                match self.radio {
                    Radio::Data => self.radio = Radio::Waiting(now + ACK_TIMEOUT),
                    Radio::Ack => self.radio = Radio::Free,
                    Radio::Free | Radio::Waiting(_) => return,
                }
                self.slots_from = self.slots_from.max(now + DIFS);
            }
            (_, Input::Frame(..)) => {
                self.ledger.taken += 1;
                self.ledger.drops.count(DropReason::Malformed);
            }
            _ => {}
        }
        self.run(now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.run(now);
    }

    fn poll_transmit(&mut self, _: Instant) -> Option<(Port, Outgoing)> {
        if let Some(outgoing) = self.out.take() {
            return Some((AIR, outgoing));
        }
        let frame = self.up.pop_front()?;
        self.ledger.given += 1;
        Some((DEVICE, frame.into()))
    }

    fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        let acknowledge = self.owed.map(|(at, _)| (at, "acknowledge"));
        let attempt = self.attempt_at().map(|at| (at, "attempt"));
        let give_up = match self.radio {
            Radio::Waiting(until) => Some((until, "no acknowledgement")),
            _ => None,
        };
        [acknowledge, attempt, give_up].into_iter().flatten().min()
    }
}

#[cfg(test)]
mod tests;
