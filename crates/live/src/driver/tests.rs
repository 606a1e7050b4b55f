use std::collections::VecDeque;

use windfall_base::{Outgoing, RxVector};

use super::*;

/// A node that delays every packet by 10 ms and hands it to the other port.
#[derive(Default)]
struct Delay {
    held: VecDeque<(Instant, Port, Frame)>,
    out: VecDeque<(Port, Outgoing)>,
    /// The times at which timers fired.
    fired: Vec<Instant>,
}

impl Node for Delay {
    fn handle_input(&mut self, now: Instant, port: Port, input: Input) {
        if let Input::Frame(frame, RxVector { .. }) = input {
            self.held.push_back((now + Duration::from_millis(10), Port(1 - port.0), frame));
        }
    }
    fn handle_timeout(&mut self, now: Instant) {
        while let Some((due, port, _)) = self.held.front()
            && *due <= now
        {
            self.fired.push(now);
            let port = *port;
            let (_, _, frame) = self.held.pop_front().expect("it was at the front");
            self.out.push_back((port, frame.into()));
        }
    }
    fn poll_transmit(&mut self, _now: Instant) -> Option<(Port, Outgoing)> {
        self.out.pop_front()
    }
    fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        self.held.front().map(|(due, ..)| (*due, "a packet is due"))
    }
}

/// A clock whose waits end late by a fixed span, or early by an arrival.
struct Late {
    now: Instant,
    late: Duration,
    arrivals: VecDeque<(Instant, Port)>,
}

impl Clock for Late {
    fn now(&mut self) -> Instant {
        self.now
    }
    fn wait(&mut self, deadline: Option<Instant>, ready: &mut Vec<Port>) -> io::Result<()> {
        let next = self.arrivals.front().copied();
        match (deadline, next) {
            (Some(due), Some((at, _))) if due < at => self.now = due + self.late,
            (_, Some((at, port))) => {
                self.arrivals.pop_front();
                self.now = self.now.max(at);
                ready.push(port);
            }
            (Some(due), None) => self.now = self.now.max(due + self.late),
            (None, None) => return Err(io::ErrorKind::UnexpectedEof.into()),
        }
        Ok(())
    }
}

#[derive(Default)]
struct Wire {
    inbox: Vec<Payload>,
    outbox: Vec<Frame>,
    flushed: usize,
}

impl Device for Wire {
    fn receive(&mut self, packets: &mut Vec<Payload>) -> io::Result<()> {
        packets.append(&mut self.inbox);
        Ok(())
    }
    fn send(&mut self, frame: Frame) -> io::Result<()> {
        self.outbox.push(frame);
        Ok(())
    }
    fn flush(&mut self) -> io::Result<()> {
        self.flushed = self.outbox.len();
        Ok(())
    }
}

fn ms(n: u64) -> Instant {
    Instant::START + Duration::from_millis(n)
}

fn run(late: Duration) -> Loop<Delay, Late, Wire> {
    let arrivals = [(ms(1), Port(0)), (ms(5), Port(1))].into();
    let clock = Late { now: Instant::START, late, arrivals };
    let near = Wire { inbox: vec![vec![1].into(), vec![2].into()], ..Wire::default() };
    let far = Wire { inbox: vec![vec![3].into()], ..Wire::default() };
    let mut driver = Loop::new(Delay::default(), clock, vec![near, far]);
    while driver.turn().is_ok() {}
    driver
}

#[test]
fn packets_cross_and_are_flushed() {
    let driver = run(Duration::ZERO);
    let bytes = |i: usize| -> Vec<_> {
        driver.devices()[i].outbox.iter().map(|frame: &Frame| frame.to_vec()).collect()
    };
    assert_eq!(bytes(1), [[1], [2]]);
    assert_eq!(bytes(0), [[3]]);
    assert!(driver.devices().iter().all(|wire| wire.flushed == wire.outbox.len()));
    assert_eq!(driver.lateness(), Lateness { delivered: 3, late: 0, worst: Duration::ZERO });
}

#[test]
fn timers_fire_at_their_own_time_even_if_the_loop_is_late() {
    let driver = run(Duration::from_millis(7));
    assert_eq!(driver.node().fired, [ms(11), ms(11), ms(15)]);
    assert_eq!(driver.lateness().late, 3);
    assert_eq!(driver.lateness().worst, Duration::from_millis(7));
}
