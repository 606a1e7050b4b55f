//! The laws of the contract, checked on any node from many seeds by one function.

use std::hash::{DefaultHasher, Hash, Hasher};

use windfall_base::{
    Duration, Frame, FrameParts, Input, Instant, Ledger, Node, Outgoing, Port, Seed, Stream,
};

use crate::{arbitrary, seed};

pub mod memory;

/// The polls of one drain after which a node counts as one that never ends.
const DRAIN_LIMIT: usize = 100_000;
/// Steps of each run: an input, or the firing of a timer.
const STEPS: usize = 150;
/// Seeds, unless the subject asks for another number.
const SEEDS: u64 = 32;

type Reply = (Duration, Port, Input);
type Build<'a, N> = Box<dyn Fn(Seed) -> N + 'a>;
type Generate<'a> = Box<dyn Fn(&mut Stream, Instant) -> (Port, Input) + 'a>;
type Respond<'a> = Box<dyn Fn(&mut Stream, Port, &Outgoing) -> Option<Reply> + 'a>;
type Account<'a, N> = Box<dyn Fn(&N) -> Ledger + 'a>;

/// A node under test: how to build it, what to feed it, and how to read its account.
pub struct Subject<'a, N> {
    build: Build<'a, N>,
    ports: u16,
    seeds: u64,
    generate: Option<Generate<'a>>,
    respond: Option<Respond<'a>>,
    account: Option<Account<'a, N>>,
}

impl<'a, N: Node> Subject<'a, N> {
    /// A node that `build` makes from the seed of the run, with ports `0..ports`.
    pub fn new(ports: u16, build: impl Fn(Seed) -> N + 'a) -> Self {
        let build = Box::new(build);
        Self { build, ports, seeds: SEEDS, generate: None, respond: None, account: None }
    }

    /// Feeds the node sensible inputs made by `generate` beside the arbitrary ones.
    #[must_use]
    pub fn input(mut self, generate: impl Fn(&mut Stream, Instant) -> (Port, Input) + 'a) -> Self {
        self.generate = Some(Box::new(generate));
        self
    }

    /// Answers what the node transmits: after a while, on a port, with an input.
    ///
    /// Without it every transmission is followed by [`Input::TransmissionDone`] on the same port.
    #[must_use]
    pub fn reply(
        mut self,
        respond: impl Fn(&mut Stream, Port, &Outgoing) -> Option<Reply> + 'a,
    ) -> Self {
        self.respond = Some(Box::new(respond));
        self
    }

    /// Checks after every step that the account which `account` reads balances.
    #[must_use]
    pub fn ledger(mut self, account: impl Fn(&N) -> Ledger + 'a) -> Self {
        self.account = Some(Box::new(account));
        self
    }

    /// Sets the number of seeds, which is 32 otherwise.
    #[must_use]
    pub fn seeds(mut self, count: u64) -> Self {
        self.seeds = count;
        self
    }
}

/// Holds a node to the laws of [`Node`], from many seeds, on sensible and on arbitrary input.
///
/// Three twins live the same life: the second proves that the same calls give the same bytes, the
/// third gets spurious timeouts besides and must not be told apart.
///
/// # Panics
/// If the node breaks a law or panics itself; prints the seed, which
/// [`WINDFALL_TEST_SEED`](seed::VARIABLE) replays.
#[expect(clippy::needless_pass_by_value, reason = "the subject is built where it is checked")]
pub fn check<N: Node>(subject: Subject<'_, N>) {
    seed::each(subject.seeds, |seed| {
        // Sensible input alone reaches deep states; arbitrary input reaches odd ones.
        for noise in [0, 1, 4] {
            let first = Life::new(&subject, seed, noise, false).live();
            let again = Life::new(&subject, seed, noise, false).live();
            same("the same calls gave other bytes", &first, &again);
            let nudged = Life::new(&subject, seed, noise, true).live();
            same("a spurious timeout changed something", &first, &nudged);
        }
    });
}

/// Fails at the first line in which two records differ.
fn same(law: &str, left: &[String], right: &[String]) {
    for (number, pair) in left.iter().zip(right).enumerate() {
        assert_eq!(pair.0, pair.1, "{law}, at record {number}");
    }
    assert_eq!(left.len(), right.len(), "{law}: one life has more records");
}

/// One run of one node, and the record of all that could be observed.
struct Life<'s, 'a, N> {
    subject: &'s Subject<'a, N>,
    node: N,
    now: Instant,
    /// Draws the life; the same for all twins, so never touched by what only one of them gets.
    script: Stream,
    /// Draws the spurious timeouts.
    nudges: Option<Stream>,
    /// Inputs of arbitrary content, in quarters.
    noise: u64,
    /// Replies under way, in the order in which they were caused.
    replies: Vec<(Instant, Port, Input)>,
    record: Vec<String>,
}

impl<'s, 'a, N: Node> Life<'s, 'a, N> {
    fn new(subject: &'s Subject<'a, N>, seed: Seed, noise: u64, nudged: bool) -> Self {
        Self {
            subject,
            node: (subject.build)(seed),
            now: Instant::START,
            script: Stream::new(seed, "laws/script").at(noise),
            nudges: nudged.then(|| Stream::new(seed, "laws/nudges")),
            noise,
            replies: Vec::new(),
            record: Vec::new(),
        }
    }

    /// Lives the whole life and gives the record of it.
    fn live(mut self) -> Vec<String> {
        self.settle(true);
        for _ in 0..STEPS {
            self.step();
        }
        self.record
    }

    /// One step: whatever is due first, or a new input after a pause.
    fn step(&mut self) {
        let pause = match self.script.below(4) {
            0 => 0,
            1 => self.script.below(2_000),
            2 => self.script.below(1_000_000),
            _ => self.script.below(50_000_000),
        };
        let late = if self.script.below(8) == 0 { self.script.below(3_000_000) } else { 0 };
        let timer_first = self.script.below(2) == 0;
        let arrival = self.now + Duration::from_nanos(pause);
        let wake = self.node.poll_timeout().map(|(at, _)| at);
        let reply = self.replies.iter().map(|(at, ..)| *at).min();
        match (wake, reply) {
            (Some(wake), _) if wake < arrival && reply.is_none_or(|reply| wake < reply) => {
                self.advance(wake + Duration::from_nanos(late));
                self.fire();
            }
            (_, Some(reply)) if reply <= arrival => {
                self.advance(reply);
                self.fire_due(timer_first);
                let index = self.replies.iter().position(|(at, ..)| *at <= reply);
                let (_, port, input) = self.replies.remove(index.expect("one is due"));
                self.feed(port, input);
            }
            _ => {
                self.advance(arrival);
                self.fire_due(timer_first);
                let (port, input) = self.draw();
                self.feed(port, input);
            }
        }
    }

    /// Lets time pass; a nudged twin is woken for nothing on the way.
    fn advance(&mut self, to: Instant) {
        if let Some(nudges) = &mut self.nudges {
            for _ in 0..nudges.below(3) {
                let wake = self.node.poll_timeout().map_or(to, |(at, _)| at.min(to));
                let gap = wake.saturating_since(self.now).as_nanos();
                let at = self.now + Duration::from_nanos(nudges.below(gap));
                // Strictly before the wake-up, or it would not be for nothing.
                if self.node.poll_timeout().is_none_or(|(wake, _)| at < wake) {
                    self.node.handle_timeout(at);
                    assert!(
                        self.node.poll_transmit(at).is_none(),
                        "a spurious timeout made the node transmit at {at}"
                    );
                    self.now = at;
                }
            }
        }
        self.now = self.now.max(to);
    }

    /// Fires what is due before an input of the same instant, or leaves it for after.
    fn fire_due(&mut self, timer_first: bool) {
        let due = self.node.poll_timeout().is_some_and(|(at, _)| at <= self.now);
        if due && timer_first {
            self.fire();
        }
    }

    fn fire(&mut self) {
        let reason = self.node.poll_timeout().map(|(_, reason)| reason);
        self.record.push(format!("{} timeout {reason:?}", self.now));
        self.node.handle_timeout(self.now);
        self.settle(true);
    }

    fn draw(&mut self) -> (Port, Input) {
        match &self.subject.generate {
            Some(generate) if self.script.below(4) >= self.noise => {
                generate(&mut self.script, self.now)
            }
            _ => arbitrary::input(&mut self.script, self.now, self.subject.ports),
        }
    }

    fn feed(&mut self, port: Port, input: Input) {
        self.record.push(format!("{} input {port:?} {}", self.now, describe(&input)));
        let due = self.node.poll_timeout().is_some_and(|(at, _)| at <= self.now);
        self.node.handle_input(self.now, port, input);
        self.settle(!due);
        if due {
            self.fire();
        }
    }

    /// Drains the node, notes what came out, and checks what must hold after every drain.
    fn settle(&mut self, wake_in_future: bool) {
        let mut polls = 0;
        while let Some((port, outgoing)) = self.node.poll_transmit(self.now) {
            polls += 1;
            assert!(polls < DRAIN_LIMIT, "poll_transmit never ends at {}", self.now);
            let frame = frame(&outgoing.frame);
            let vector = outgoing.vector;
            self.record.push(format!("{} transmit {port:?} {frame} {vector:?}", self.now));
            self.answer(port, &outgoing);
        }
        let wake = self.node.poll_timeout();
        self.record.push(format!("{} wake {wake:?}", self.now));
        if wake_in_future && let Some((at, reason)) = wake {
            assert!(at > self.now, "drained at {}, yet wants to wake at {at}: {reason}", self.now);
        }
        if let Some(account) = &self.subject.account {
            let ledger = account(&self.node);
            assert!(ledger.balances(), "the ledger does not balance at {}: {ledger:?}", self.now);
        }
    }

    fn answer(&mut self, port: Port, outgoing: &Outgoing) {
        let reply = match &self.subject.respond {
            Some(respond) => respond(&mut self.script, port, outgoing),
            None => {
                let air = Duration::from_nanos(self.script.below(2_000_000));
                Some((air, port, Input::TransmissionDone))
            }
        };
        if let Some((after, port, input)) = reply {
            self.replies.push((self.now + after, port, input));
        }
    }
}

/// An input in one line.
fn describe(input: &Input) -> String {
    match input {
        Input::Frame(it, vector) => format!("{} {vector:?}", frame(it)),
        signal => format!("{signal:?}"),
    }
}

/// A frame in one line; its bytes as a digest, which is as good for telling twins apart.
fn frame(frame: &Frame) -> String {
    let mut digest = DefaultHasher::new();
    frame.slices().concat().hash(&mut digest);
    let FrameParts { header, trailer, damage, class, expires, covers } = &**frame;
    let Frame { payload, tag, kept, .. } = frame;
    let lengths = (header.len(), payload.len(), trailer.len());
    let digest = digest.finish();
    let owner = format!("{class:?} {tag:?} {expires:?} {covers:?}");
    format!("{lengths:?} {digest:016x} {damage:?} {owner} kept={kept}")
}

#[cfg(test)]
mod tests;
