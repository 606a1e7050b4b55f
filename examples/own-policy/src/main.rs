//! A policy for coded frames of one's own, used from outside the workspace of Windfall.
//!
//! It knows the largest number of symbols that any of the last blocks needed, and takes the level
//! that corrects twice as many: simple, and cautious. Here it sends packets over a pipe whose bits
//! are inverted more and more often.

use std::collections::VecDeque;
use std::num::NonZeroU32;

use windfall_base::{Duration, Frame, Instant, Probability, Seed, Stream};
use windfall_link::policy::{Cost, Outcome, OwnPolicy, Plan, Policy, PolicyChoice, Request};
use windfall_link::{Arq, Coding, Pipe, PipeConfig};
use windfall_wire_link::coded::{Fate, Level};

/// Blocks that it remembers.
const MEMORY: usize = 40;

/// The symbols that the last blocks needed.
#[derive(Debug, Default)]
struct Cautious {
    needed: VecDeque<usize>,
}

impl Policy for Cautious {
    fn plan(&mut self, _request: &Request) -> Option<Plan> {
        let most = self.needed.iter().copied().max().unwrap_or(0);
        let level = Level::correcting(2 * most);
        Some(Plan { blocks: 5, level, whole: false, uncoded: false })
    }

    fn learn(&mut self, plan: Plan, _bytes: usize, outcome: Outcome<'_>) {
        let Outcome::Report(fates) = outcome else { return };
        for fate in fates {
            let needed = match fate {
                Fate::Good(symbols) => usize::from(*symbols),
                Fate::Missing => continue,
                // It needed more than there was.
                _ => plan.level.correctable() + 1,
            };
            self.needed.push_front(needed);
        }
        self.needed.truncate(MEMORY);
    }
}

/// Sends packets of 1200 bytes, and returns how many arrived and the bytes sent for them.
fn send(policy: PolicyChoice, rate: f64) -> (usize, usize) {
    let cost = Cost { per_frame: Duration::from_micros(60), per_byte: Duration::from_micros(1) };
    let coding = Some(Coding { policy, padded: false, cost });
    let config = PipeConfig { arq: Arq::Persistent, coding, ..PipeConfig::default() };
    let mut ends = [Pipe::new(config.clone()), Pipe::new(config)];
    let mut errors = Stream::new(Seed(1), "errors");
    let rate = Probability::new(rate).expect("a probability");
    let mut waiting = (0..200).map(|_| Frame::packet(vec![7; 1_200]).into());
    let (mut now, mut sent, mut arrived) = (Instant::START, 0, 0);
    for _ in 0..10_000 {
        for from in 0..2 {
            let pull = || if from == 0 { waiting.next() } else { None };
            let Some(mut frame) = ends[from].poll_transmit(now, pull) else { continue };
            let bits = frame.payload.len() as u32 * 8;
            let header = frame.header.len() as u32 * 8;
            let wrong: Vec<u32> = (0..bits).filter(|_| errors.chance(rate)).collect();
            frame.invert(&wrong.iter().map(|bit| header + bit).collect::<Vec<_>>());
            sent += frame.len();
            ends[1 - from].handle_frame(now, frame);
        }
        while ends[1].poll_delivery().is_some() {
            arrived += 1;
        }
        now += Duration::from_millis(1);
        ends.iter_mut().for_each(|end| end.handle_timeout(now));
    }
    (arrived, sent)
}

fn main() {
    let own = OwnPolicy { name: "cautious", build: |_| Box::new(Cautious::default()) };
    for rate in [0.0, 1e-4, 1e-3, 1e-2] {
        let (arrived, sent) = send(PolicyChoice::Own(own), rate);
        let each = u32::try_from(arrived).ok().and_then(NonZeroU32::new);
        let each = each.map_or(f64::INFINITY, |n| sent as f64 / f64::from(n.get()));
        println!("{rate:e}: {arrived} of 200 packets, {each:.0} bytes sent for each");
    }
}
