//! Two nodes joined by a wire, with time that jumps from one happening to the next.

use windfall_base::{
    Duration, Frame, Input, Instant, Node, Outgoing, Port, Probability, Rate, RxVector, Seed,
    Stream,
};

/// One of the two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// The first node.
    Left,
    /// The second node.
    Right,
}

impl Side {
    /// Returns the opposite side.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Left => Self::Right,
            Self::Right => Self::Left,
        }
    }
}

/// The wire between two nodes; the same in both directions, full duplex.
#[derive(Clone, Debug)]
pub struct Wire {
    /// Time from the last bit sent to the last bit received.
    pub delay: Duration,
    /// The rate at which bits leave; all at once if `None`.
    pub rate: Option<Rate>,
    /// The probability with which each frame is lost.
    pub loss: Probability,
    /// Frames that are lost for certain: the end that sends them, and their number from 0.
    pub lost: Vec<(Side, u64)>,
    /// Draws the losses.
    pub seed: Seed,
}

impl Wire {
    /// A wire that loses nothing and takes only `delay`.
    #[must_use]
    pub const fn perfect(delay: Duration) -> Self {
        Self { delay, rate: None, loss: Probability::ZERO, lost: Vec::new(), seed: Seed(0) }
    }
}

/// A frame that left a node on a port other than the wired one.
#[derive(Clone, Debug)]
pub struct Emitted {
    /// When it left.
    pub at: Instant,
    /// Which node it left.
    pub side: Side,
    /// On which port.
    pub port: Port,
    /// The frame, with what the sender asked.
    pub outgoing: Outgoing,
}

/// Two nodes, the wire between one port of each, and what came out of all other ports.
#[derive(Debug)]
pub struct Pair<L, R> {
    /// The first node.
    pub left: L,
    /// The second node.
    pub right: R,
    /// The frames that left the nodes elsewhere than on the wire, in order, for tests to take.
    pub emitted: Vec<Emitted>,
    now: Instant,
    wire: Wire,
    ports: (Port, Port),
    sent: (u64, u64),
    /// The frames on their way; of equal times the earlier pushed arrives first.
    pending: Vec<(Instant, Side, Port, Input)>,
    draw: Stream,
}

impl<L: Node, R: Node> Pair<L, R> {
    /// Joins `ports.0` of `left` to `ports.1` of `right`.
    #[must_use]
    pub fn new(left: L, right: R, ports: (Port, Port), wire: Wire) -> Self {
        let draw = Stream::new(wire.seed, "testkit/wire");
        let now = Instant::START;
        let sent = (0, 0);
        Self { left, right, emitted: Vec::new(), now, wire, ports, sent, pending: Vec::new(), draw }
    }

    /// The current time of the pair.
    #[must_use]
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// Gives `side` an input on `port` now.
    pub fn input(&mut self, side: Side, port: Port, input: Input) {
        match side {
            Side::Left => self.left.handle_input(self.now, port, input),
            Side::Right => self.right.handle_input(self.now, port, input),
        }
        self.drain(side);
    }

    /// Gives `side` a frame on `port` now.
    pub fn frame(&mut self, side: Side, port: Port, frame: Frame) {
        let vector = RxVector::wired(self.now);
        self.input(side, port, Input::Frame(frame, vector));
    }

    /// Lets `change` call the left node directly, then drains it.
    pub fn with_left<T>(&mut self, change: impl FnOnce(&mut L, Instant) -> T) -> T {
        let result = change(&mut self.left, self.now);
        self.drain(Side::Left);
        result
    }

    /// Lets `change` call the right node directly, then drains it.
    pub fn with_right<T>(&mut self, change: impl FnOnce(&mut R, Instant) -> T) -> T {
        let result = change(&mut self.right, self.now);
        self.drain(Side::Right);
        result
    }

    /// When something happens next; `None` if nothing will by itself.
    #[must_use]
    pub fn next(&self) -> Option<Instant> {
        let wakes = [self.left.poll_timeout(), self.right.poll_timeout()];
        let wakes = wakes.into_iter().flatten().map(|(at, _)| at);
        self.pending.iter().map(|(at, ..)| *at).chain(wakes).min()
    }

    /// Lets the next thing happen; false if nothing is left to happen.
    pub fn step(&mut self) -> bool {
        let Some(at) = self.next() else { return false };
        self.now = self.now.max(at);
        let first = self.pending.iter().enumerate().min_by_key(|(index, item)| (item.0, *index));
        if let Some((index, item)) = first
            && item.0 <= self.now
        {
            let (_, side, port, input) = self.pending.remove(index);
            self.input(side, port, input);
        } else if self.left.poll_timeout().is_some_and(|(wake, _)| wake <= self.now) {
            self.left.handle_timeout(self.now);
            self.drain(Side::Left);
        } else {
            self.right.handle_timeout(self.now);
            self.drain(Side::Right);
        }
        true
    }

    /// Runs up to and including the instant `until`, which is then the time.
    pub fn run_until(&mut self, until: Instant) {
        while self.next().is_some_and(|at| at <= until) {
            self.step();
        }
        self.now = self.now.max(until);
    }

    /// Runs until nothing is left to happen.
    ///
    /// # Panics
    /// If that takes more than `steps` steps.
    pub fn run_to_rest(&mut self, steps: usize) {
        for _ in 0..steps {
            if !self.step() {
                return;
            }
        }
        panic!("still busy after {steps} steps at {}", self.now);
    }

    fn drain(&mut self, side: Side) {
        loop {
            let next = match side {
                Side::Left => self.left.poll_transmit(self.now),
                Side::Right => self.right.poll_transmit(self.now),
            };
            let Some((port, outgoing)) = next else { return };
            let wired = match side {
                Side::Left => self.ports.0,
                Side::Right => self.ports.1,
            };
            if port == wired {
                self.carry(side, outgoing);
            } else {
                self.emitted.push(Emitted { at: self.now, side, port, outgoing });
            }
        }
    }

    /// Puts a frame on the wire: its sender hears when it has left, the peer gets it.
    fn carry(&mut self, side: Side, outgoing: Outgoing) {
        let bits = outgoing.frame.len();
        let air = self.wire.rate.map_or(Duration::ZERO, |rate| rate.time_of(bits));
        let gone = self.now + outgoing.vector.overhead + air;
        let (from, to, number) = match side {
            Side::Left => (self.ports.0, self.ports.1, &mut self.sent.0),
            Side::Right => (self.ports.1, self.ports.0, &mut self.sent.1),
        };
        let lost = self.wire.lost.contains(&(side, *number)) || self.draw.chance(self.wire.loss);
        *number += 1;
        self.pending.push((gone, side, from, Input::TransmissionDone));
        if !lost {
            let vector = RxVector::wired(self.now + self.wire.delay);
            let input = Input::Frame(outgoing.frame, vector);
            self.pending.push((gone + self.wire.delay, side.other(), to, input));
        }
    }
}

#[cfg(test)]
mod tests;
