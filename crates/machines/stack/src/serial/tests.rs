use core::net::Ipv4Addr;

use windfall_base::RxVector;
use windfall_circuit::ppp::FrameMode;
use windfall_circuit::rlp::RlpRole;
use windfall_link::policy::{Cost, PolicyChoice, PolicyKind};
use windfall_link::{Arq, Coding, PipeConfig};
use windfall_testkit::laws;

use super::*;
use crate::interface::{LinkLayerConfig, RepairsConfig};

const NEAR: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
const FAR: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);

fn ppp(mode: FrameMode, near: bool) -> PppConfig {
    let (local, peer) = if near { (NEAR, FAR) } else { (FAR, NEAR) };
    PppConfig { mode, local: Some(local), peer: Some(peer), ..PppConfig::default() }
}

/// A framing at the near and at the far end.
type Choose = fn(bool) -> SerialFraming;

fn strict(near: bool) -> SerialFraming {
    SerialFraming::Ppp(ppp(FrameMode::Strict, near))
}

fn lite(near: bool) -> SerialFraming {
    SerialFraming::Ppp(ppp(FrameMode::Lite, near))
}

fn over_rlp(near: bool) -> SerialFraming {
    let role = if near { RlpRole::Mobile } else { RlpRole::Network };
    let ppp = ppp(FrameMode::Strict, near);
    SerialFraming::Rlp { ppp, rlp: RlpConfig::standard(role), calls: near }
}

fn repeating(_near: bool) -> SerialFraming {
    let arq = Arq::Attempts(core::num::NonZeroU8::new(8).expect("not zero"));
    let link = LinkLayerConfig::Pipe(PipeConfig { arq, ..PipeConfig::default() });
    SerialFraming::Link(Box::new(InterfaceConfig { link, ..InterfaceConfig::default() }))
}

/// Packets in coded frames, of which a long one takes several.
fn coded(_near: bool) -> SerialFraming {
    let per_frame = Duration::from_micros(5);
    let per_byte = Duration::from_micros(800);
    let policy = PolicyChoice::Named(PolicyKind::Robust);
    let coding = Coding { policy, padded: false, cost: Cost { per_frame, per_byte } };
    let arq = Arq::Persistent;
    let config = PipeConfig { arq, coding: Some(coding), ..PipeConfig::default() };
    let link = LinkLayerConfig::Pipe(config);
    SerialFraming::Link(Box::new(InterfaceConfig { link, ..InterfaceConfig::default() }))
}

/// Packets with a repair behind each fourth.
fn with_repairs(_near: bool) -> SerialFraming {
    let code = Some("4/5".parse().expect("a code"));
    let repairs = RepairsConfig { send: code, receive: code, ..RepairsConfig::default() };
    SerialFraming::Link(Box::new(InterfaceConfig { repairs, ..InterfaceConfig::default() }))
}

fn end(framing: SerialFraming, seed: Seed) -> SerialEnd {
    let characters = NonZeroU32::new(5_760);
    SerialEnd::new(SerialConfig { framing, characters, queue: Limits::default() }, seed)
}

/// Two ends of a line on which single bits are inverted.
struct Pair {
    ends: [SerialEnd; 2],
    now: Instant,
    noise: (f64, Stream),
    delivered: Vec<Frame>,
    events: Vec<SerialEvent>,
}

impl Pair {
    fn new(choose: Choose, noise: f64, seed: u64) -> Self {
        let mut ends = [true, false].map(|near| end(choose(near), Seed(seed + u64::from(near))));
        ends.iter_mut().for_each(|end| end.open(Instant::START));
        let noise = (noise, Stream::new(Seed(seed), "noise"));
        Self { ends, now: Instant::START, noise, delivered: Vec::new(), events: Vec::new() }
    }

    fn send(&mut self, packet: Vec<u8>) {
        let input = Input::Frame(Frame::packet(packet), RxVector::wired(self.now));
        self.ends[0].handle_input(self.now, DEVICE, input);
        self.settle();
    }

    /// Carries bytes until both ends have nothing to say for the moment.
    fn settle(&mut self) {
        loop {
            let before = self.ends.each_ref().map(|end| end.counters().line_sent);
            for place in 0..2 {
                while let Some((port, outgoing)) = self.ends[place].poll_transmit(self.now) {
                    if port == DEVICE {
                        self.delivered.push(outgoing.frame);
                        continue;
                    }
                    let mut bytes = outgoing.frame.to_vec();
                    let (ratio, stream) = &mut self.noise;
                    for byte in &mut bytes {
                        if stream.unit() < *ratio {
                            *byte ^= 1 << stream.below(8);
                        }
                    }
                    let input = Input::Frame(Frame::packet(bytes), RxVector::wired(self.now));
                    self.ends[1 - place].handle_input(self.now, MEDIUM, input);
                }
                self.events.extend(std::iter::from_fn(|| self.ends[place].poll_event()));
            }
            if before == self.ends.each_ref().map(|end| end.counters().line_sent) {
                return;
            }
        }
    }

    fn run(&mut self, span: Duration) {
        let end = self.now + span;
        self.settle();
        loop {
            let due = self.ends.iter().filter_map(Node::poll_timeout).map(|(at, _)| at).min();
            self.now = due.unwrap_or(end).min(end).max(self.now);
            if self.now >= end {
                return;
            }
            self.ends.iter_mut().for_each(|end| end.handle_timeout(self.now));
            self.settle();
        }
    }
}

/// A packet of IPv4 by its first byte, and a number.
fn packet(number: u8, len: usize) -> Vec<u8> {
    let mut packet = vec![number; len];
    packet[0] = 0x45;
    packet
}

//= S1.11
#[test]
fn each_framing_carries_packets_over_a_clean_line() {
    for choose in [strict as Choose, lite, over_rlp, repeating, coded, with_repairs] {
        let mut pair = Pair::new(choose, 0.0, 3);
        pair.run(Duration::from_secs(10));
        (1..=50).for_each(|number| pair.send(packet(number, 300)));
        pair.run(Duration::from_secs(10));
        let number = |frame: &Frame| (1..=50).find(|it| frame.to_vec() == packet(*it, 300));
        let arrived: Vec<_> = pair.delivered.iter().map(number).collect();
        assert_eq!(arrived, (1..=50).map(Some).collect::<Vec<_>>(), "{:?}", pair.events);
        let counters = pair.ends.each_ref().map(SerialEnd::counters);
        assert_eq!((counters[0].sent, counters[1].received, counters[1].damaged), (50, 50, 0));
        assert!(pair.ends.iter().all(|end| end.ledger().balances()));
    }
}

/// Sends a hundred packets over a line that inverts a bit in each of 1 000 bytes, and returns those
/// that arrived as they were, and those that arrived damaged.
fn over_noise(choose: Choose) -> (usize, usize) {
    let mut pair = Pair::new(choose, 1e-3, 5);
    pair.run(Duration::from_secs(40));
    for number in 0..100 {
        pair.send(packet(number, 300));
        pair.run(Duration::from_millis(200));
    }
    pair.run(Duration::from_secs(40));
    assert!(!pair.delivered.is_empty(), "{:?} {:?}", pair.events, pair.ends[0].ledger());
    let (damaged, intact): (Vec<_>, Vec<_>) =
        pair.delivered.iter().partition(|frame| frame.damage.is_damaged());
    let whole = |frame: &&Frame| (0..100).any(|n| frame.to_vec() == packet(n, 300));
    (intact.into_iter().filter(whole).count(), damaged.len())
}

//= S1.12
//= S1.13
#[test]
fn over_noise_ppp_drops_lite_marks_and_rlp_and_a_link_repeat() {
    // 0.999 ^ 308 of the packets are intact: 73.5 %.
    let (intact, damaged) = over_noise(strict);
    assert!((60..=85).contains(&intact), "{intact}");
    assert_eq!(damaged, 0);
    let (of_lite, marked) = over_noise(lite);
    assert!((60..=85).contains(&of_lite), "{of_lite}");
    assert!((10..=35).contains(&marked), "{marked}");
    assert_eq!(over_noise(over_rlp), (100, 0));
    assert_eq!(over_noise(repeating), (100, 0));
}

#[test]
fn a_line_that_was_gone_is_negotiated_anew() {
    let mut pair = Pair::new(strict, 0.0, 7);
    pair.run(Duration::from_secs(5));
    for place in 0..2 {
        let empty = Input::Frame(Frame::packet(Vec::new()), RxVector::wired(pair.now));
        pair.ends[place].handle_input(pair.now, MEDIUM, empty);
    }
    pair.run(Duration::from_secs(10));
    pair.send(packet(1, 100));
    pair.run(Duration::from_secs(1));
    assert_eq!(pair.delivered.len(), 1);
    let up = |event: &&SerialEvent| matches!(event, SerialEvent::Ppp(PppEvent::Ipv4Up { .. }));
    assert!(pair.events.iter().filter(up).count() >= 4, "{:?}", pair.events);
}

/// With increments beside the copies that repeat packets, and a code across them.
fn with_all(near: bool) -> SerialFraming {
    let SerialFraming::Link(mut config) = with_repairs(near) else { unreachable!() };
    let arq = Arq::Persistent;
    let pipe = PipeConfig { arq, increments: true, combine: true, ..PipeConfig::default() };
    config.link = LinkLayerConfig::Pipe(pipe);
    SerialFraming::Link(config)
}

#[test]
fn an_end_that_is_started_again_is_heard_at_once() {
    let choices: [Choose; 4] = [repeating, coded, with_repairs, with_all];
    for (nth, choose) in choices.into_iter().enumerate() {
        let mut pair = Pair::new(choose, 0.0, 21);
        let send = |pair: &mut Pair, count: u8| {
            for number in 0..count {
                pair.send(packet(number, 200));
                pair.run(Duration::from_millis(50));
            }
            pair.run(Duration::from_secs(3));
        };
        send(&mut pair, 40);
        assert_eq!(pair.delivered.len(), 40, "framing {nth}");
        // The near end sends from zero on again: its first frame may be damage, the second is not.
        pair.ends[0] = end(choose(true), Seed(99));
        send(&mut pair, 20);
        let again = pair.delivered.len() - 40;
        assert!((19..=20).contains(&again), "framing {nth}: {again} of 20");
        // The far end hears a sender that goes on where it was.
        pair.ends[1] = end(choose(false), Seed(77));
        pair.delivered.clear();
        send(&mut pair, 20);
        let further = pair.delivered.len();
        assert!((19..=20).contains(&further), "framing {nth}: {further} of 20");
        assert!(pair.ends[1].ledger().balances(), "framing {nth}");
    }
}

#[test]
fn a_silent_line_is_asked_again_and_again() {
    let mut near = Pair::new(strict, 1.0, 9);
    near.run(Duration::from_secs(100));
    let ended = SerialEvent::Ppp(PppEvent::Finished);
    assert!(near.events.iter().filter(|event| **event == ended).count() >= 2);
    near.noise.0 = 0.0;
    near.run(Duration::from_secs(10));
    near.send(packet(1, 100));
    near.run(Duration::from_secs(1));
    assert_eq!(near.delivered.len(), 1);
}

#[test]
fn what_no_protocol_takes_is_dropped_by_name() {
    let mut pair = Pair::new(strict, 0.0, 11);
    pair.send(packet(1, 100));
    let ledger = pair.ends[0].ledger();
    assert_eq!(ledger.drops.of(windfall_base::DropReason::NoRoute), 1);
    assert!(ledger.balances());
}

#[test]
fn the_laws_hold_for_every_framing() {
    for choose in [strict as Choose, lite, over_rlp, repeating] {
        let subject = laws::Subject::new(2, |seed| {
            let mut end = end(choose(true), seed);
            end.open(Instant::START);
            end
        });
        laws::check(subject.reply(|_, _, _| None).ledger(SerialEnd::ledger));
    }
}

//= S1.14
#[test]
fn frames_of_rlp_follow_each_other_at_the_speed_of_the_line() {
    let mut pair = Pair::new(over_rlp, 0.0, 3);
    pair.run(Duration::from_secs(10));
    let before = pair.ends[0].counters().line_sent;
    pair.run(Duration::from_secs(10));
    let share = (pair.ends[0].counters().line_sent - before) as f64 / 57_600.0;
    // Whatever is in them: escapes take their own time, and no more.
    assert!((0.97..=1.01).contains(&share), "{share}");
}
