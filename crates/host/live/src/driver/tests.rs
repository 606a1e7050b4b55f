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

fn run(late: Duration) -> EventLoop<Delay, Late, Wire> {
    let arrivals = [(ms(1), Port(0)), (ms(5), Port(1))].into();
    let clock = Late { now: Instant::START, late, arrivals };
    let near = Wire { inbox: vec![vec![1].into(), vec![2].into()], ..Wire::default() };
    let far = Wire { inbox: vec![vec![3].into()], ..Wire::default() };
    let mut driver = EventLoop::new(Delay::default(), clock, vec![near, far]);
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
    let punctual = Lateness { delivered: 3, read: 3, ..Lateness::default() };
    assert_eq!(driver.lateness(), punctual);
}

#[test]
fn timers_fire_at_their_own_time_even_if_the_loop_is_late() {
    let driver = run(Duration::from_millis(7));
    assert_eq!(driver.node().fired, [ms(11), ms(11), ms(15)]);
    assert_eq!(driver.lateness().late, 3);
    assert_eq!(driver.lateness().worst, Duration::from_millis(7));
}

/// A node that hands every packet to the other port at once.
#[derive(Default)]
struct Through(VecDeque<(Port, Outgoing)>);

impl Node for Through {
    fn handle_input(&mut self, _now: Instant, port: Port, input: Input) {
        if let Input::Frame(frame, _) = input {
            self.0.push_back((Port(1 - port.0), frame.into()));
        }
    }
    fn handle_timeout(&mut self, _now: Instant) {}
    fn poll_transmit(&mut self, _now: Instant) -> Option<(Port, Outgoing)> {
        self.0.pop_front()
    }
    fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        None
    }
}

/// A clock that follows a script: when each wait ends, until when it knows that nothing had
/// happened, and which device has something then.
struct Script {
    now: Instant,
    waits: VecDeque<(Instant, Option<Instant>, Option<Port>)>,
    quiet: Option<Instant>,
}

impl Clock for Script {
    fn now(&mut self) -> Instant {
        self.now
    }
    fn wait(&mut self, _deadline: Option<Instant>, ready: &mut Vec<Port>) -> io::Result<()> {
        let (end, quiet, port) = self.waits.pop_front().ok_or(io::ErrorKind::UnexpectedEof)?;
        self.now = self.now.max(end);
        self.quiet = quiet;
        ready.extend(port);
        Ok(())
    }
    fn quiet_until(&mut self) -> Option<Instant> {
        self.quiet
    }
}

/// A device that has a packet at every second read, and may know how long it waited.
#[derive(Default)]
struct Source {
    reads: usize,
    waited: Option<Duration>,
}

impl Device for Source {
    fn receive(&mut self, packets: &mut Vec<Payload>) -> io::Result<()> {
        self.reads += 1;
        packets.extend((self.reads % 2 == 1).then(|| Payload::from(vec![1])));
        Ok(())
    }
    fn waited(&mut self) -> Option<Duration> {
        self.waited
    }
    fn send(&mut self, _frame: Frame) -> io::Result<()> {
        Ok(())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn follow(
    waits: &[(Instant, Option<Instant>, Option<Port>)],
    waited: Option<Duration>,
) -> Lateness {
    let waits = waits.iter().copied().collect();
    let clock = Script { now: Instant::START, waits, quiet: None };
    let devices = vec![Source { waited, ..Source::default() }, Source::default()];
    let mut driver = EventLoop::new(Through::default(), clock, devices);
    while driver.turn().is_ok() {}
    driver.lateness()
}

#[test]
fn time_on_the_device_before_the_read_counts() {
    let near = Some(Port(0));
    // Nothing had happened until the wait ended: as punctual as can be.
    let punctual = follow(&[(ms(50), Some(ms(50)), near)], None);
    assert_eq!((punctual.worst, punctual.late, punctual.pauses), (Duration::ZERO, 0, 0));
    // The process was stopped at 60 ms at the earliest, and went on at 5050 ms.
    let stopped = follow(&[(ms(60), Some(ms(60)), None), (ms(5050), Some(ms(60)), near)], None);
    assert_eq!((stopped.late, stopped.read_late), (1, 1));
    assert_eq!(stopped.worst, Duration::from_millis(4990));
    assert_eq!((stopped.pauses, stopped.longest_pause), (1, Duration::from_millis(4990)));
    // The kernel knows better when the packet came.
    let known = Some(Duration::from_millis(18));
    let stamped = follow(&[(ms(60), Some(ms(60)), None), (ms(5050), Some(ms(60)), near)], known);
    assert_eq!((stamped.worst, stamped.pauses), (Duration::from_millis(18), 1));
    // It was there already when the wait began: it came after the last look at the device.
    let busy = follow(&[(ms(60), Some(ms(60)), None), (ms(64), None, near)], None);
    assert_eq!((busy.worst, busy.pauses), (Duration::from_millis(4), 0));
    // A step of the time of day makes no packet older than the last look.
    let step = Some(Duration::from_secs(3600));
    let stepped = follow(&[(ms(60), Some(ms(60)), None), (ms(64), None, near)], step);
    assert_eq!(stepped.worst, Duration::from_millis(4));
}

#[test]
fn a_device_that_is_never_empty_is_not_taken_for_a_late_one() {
    let mut waits = vec![(ms(1), Some(ms(1)), None)];
    // Two reads a turn, of which one finds something: never seen empty by the wait.
    waits.extend((2..=1000).map(|at| (ms(at), None, Some(Port(0)))));
    let lateness = follow(&waits, None);
    assert!(lateness.worst <= Duration::from_millis(1), "{lateness:?}");
    let mut queue = Queue::default();
    let worst = (1..=1000).map(|at| queue.read(ms(at))).max();
    let bound = u64::from(2 * QUEUE + 1);
    assert!(worst <= Some(Duration::from_millis(bound)), "{worst:?}");
}
