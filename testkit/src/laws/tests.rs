//! Nodes that break one law each are caught, and one that keeps them all is not.

use std::panic::{AssertUnwindSafe, catch_unwind};

use windfall_base::{DropReason, Frame, RxVector};

use super::*;

/// The defects that a node may have.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    None,
    CountsTimeouts,
    WakesInThePast,
    ReadsAmbientState,
    PanicsOnOddPorts,
    ForgetsPackets,
    NeverEnds,
}

/// Echoes every frame after a millisecond, unless it is at fault.
struct Echo {
    fault: Fault,
    held: Vec<(Instant, Port, Frame)>,
    due: Vec<(Port, Frame)>,
    timeouts: u64,
    ledger: Ledger,
    salt: usize,
}

impl Echo {
    fn new(fault: Fault, salt: usize) -> Self {
        let held = Vec::new();
        let due = Vec::new();
        let ledger = Ledger::default();
        Self { fault, held, due, timeouts: 0, ledger, salt }
    }
}

impl Node for Echo {
    fn handle_input(&mut self, now: Instant, port: Port, input: Input) {
        assert!(self.fault != Fault::PanicsOnOddPorts || port.0 < 2, "port {port:?}");
        let Input::Frame(frame, _) = input else { return };
        self.ledger.taken += 1;
        if frame.is_empty() {
            if self.fault != Fault::ForgetsPackets {
                self.ledger.drops.count(DropReason::Malformed);
            }
            return;
        }
        let wait = if self.fault == Fault::WakesInThePast { 0 } else { 1_000_000 };
        self.ledger.held += 1;
        self.held.push((now + Duration::from_nanos(wait), port, frame));
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.timeouts += 1;
        let (due, held) = std::mem::take(&mut self.held).into_iter().partition(|it| it.0 <= now);
        self.held = held;
        let due: Vec<(Instant, Port, Frame)> = due;
        self.due.extend(due.into_iter().map(|(_, port, frame)| (port, frame)));
    }

    fn poll_transmit(&mut self, _: Instant) -> Option<(Port, Outgoing)> {
        if self.due.is_empty() {
            return None;
        }
        let (port, mut frame) = self.due[0].clone();
        if self.fault != Fault::NeverEnds {
            self.due.remove(0);
            self.ledger.held -= 1;
            self.ledger.given += 1;
        }
        match self.fault {
            Fault::CountsTimeouts => frame.truncate((self.timeouts % 7) as usize),
            Fault::ReadsAmbientState => frame.truncate(self.salt % 5),
            _ => {}
        }
        Some((port, frame.into()))
    }

    fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        self.held.iter().map(|it| it.0).min().map(|at| (at, "echo"))
    }
}

fn holds(fault: Fault) -> Result<(), String> {
    let lives = std::cell::Cell::new(0);
    let build = |_| {
        lives.set(lives.get() + 1);
        Echo::new(fault, lives.get())
    };
    let subject = Subject::new(2, build).seeds(3).ledger(|echo: &Echo| echo.ledger.clone()).input(
        |stream, now| {
            let frame = Frame::packet(arbitrary::bytes(stream, 40));
            (Port(0), Input::Frame(frame, RxVector::wired(now)))
        },
    );
    let result = catch_unwind(AssertUnwindSafe(|| check(subject)));
    result.map_err(|panic| match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(_) => String::new(),
    })
}

#[test]
fn a_lawful_node_passes() {
    assert_eq!(holds(Fault::None), Ok(()));
}

#[test]
fn each_breach_is_named() {
    for (fault, words) in [
        (Fault::CountsTimeouts, "a spurious timeout changed something"),
        (Fault::WakesInThePast, "yet wants to wake"),
        (Fault::ReadsAmbientState, "the same calls gave other bytes"),
        (Fault::PanicsOnOddPorts, "port Port("),
        (Fault::ForgetsPackets, "the ledger does not balance"),
        (Fault::NeverEnds, "poll_transmit never ends"),
    ] {
        let message = holds(fault).expect_err(words);
        assert!(message.contains(words), "expected {words:?}, got {message:?}");
    }
}

#[test]
fn a_subject_may_answer_for_the_medium() {
    let answered = std::cell::Cell::new(0_u64);
    let subject =
        Subject::new(2, |_| Echo::new(Fault::None, 0)).seeds(2).reply(|stream, port, _| {
            answered.set(answered.get() + 1);
            Some((Duration::from_micros(stream.below(50)), port, Input::CarrierBusy))
        });
    check(subject);
    assert!(answered.get() > 0);
}
