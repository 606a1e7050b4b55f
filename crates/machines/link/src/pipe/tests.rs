use core::num::NonZeroU8;
use std::collections::BTreeMap;

use proptest::prelude::*;
use windfall_base::{Check, Class, Duration, FlowId, Picked, Probability, Rate, Seed, Stream, Tag};

use super::*;
use crate::policy::{Cost, PolicyKind};

/// The effect of the wire on a frame.
#[derive(Clone, Debug)]
enum Fate {
    Arrives,
    Lost,
    Inverted(u32),
    Cut(usize),
}

/// One direction of a wire: keeps order, takes its time.
struct Wire {
    rate: Option<Rate>,
    delay: Duration,
    free_at: Instant,
    busy: bool,
    under_way: VecDeque<(Instant, Option<Frame>)>,
}

impl Wire {
    fn new(rate: Option<u64>, delay: u64) -> Self {
        Self {
            rate: rate.and_then(Rate::from_mbps),
            delay: Duration::from_micros(delay),
            free_at: Instant::START,
            busy: false,
            under_way: VecDeque::new(),
        }
    }

    fn send(&mut self, now: Instant, mut frame: Frame, fate: &Fate) {
        self.free_at = now + self.rate.map_or(Duration::ZERO, |rate| rate.time_of(frame.len()));
        self.busy = true;
        match fate {
            Fate::Arrives | Fate::Lost => {}
            Fate::Inverted(bit) => frame.invert(&[bit % (frame.len() as u32 * 8)]),
            Fate::Cut(bytes) => frame.truncate(bytes % frame.len()),
        }
        let arrives = (!matches!(fate, Fate::Lost)).then_some(frame);
        self.under_way.push_back((self.free_at + self.delay, arrives));
    }
}

/// Two ends and their records: end 0 sends, end 1 receives.
struct Run<F> {
    now: Instant,
    ends: [Pipe; 2],
    wires: [Wire; 2],
    queue: VecDeque<Frame>,
    delivered: Vec<Frame>,
    delivered_at: Vec<Instant>,
    /// When the last frame with each packet had left its sender.
    left: BTreeMap<Tag, Instant>,
    events: [Vec<PacketEvent>; 2],
    /// The number of frames whose packets arrived changed.
    spoilt: usize,
    fate: F,
}

impl<F: FnMut(usize, &Frame) -> Fate> Run<F> {
    fn new(config: PipeConfig, wire: (Option<u64>, u64), fate: F) -> Self {
        Self {
            now: Instant::START,
            ends: [Pipe::new(config.clone()), Pipe::new(config)],
            wires: [Wire::new(wire.0, wire.1), Wire::new(wire.0, wire.1)],
            queue: VecDeque::new(),
            delivered: Vec::new(),
            delivered_at: Vec::new(),
            left: BTreeMap::new(),
            events: [Vec::new(), Vec::new()],
            spoilt: 0,
            fate,
        }
    }

    fn offer(mut self, packets: u64, class: Class) -> Self {
        self.queue.extend((0..packets).map(|n| packet(n, class)));
        self
    }

    /// Runs until nothing happens any more.
    fn finish(mut self) -> Self {
        for _ in 0..2_000_000 {
            self.drain();
            let Some(next) = self.next() else { return self };
            assert!(next >= self.now);
            self.now = next;
            self.happen();
        }
        panic!("the run does not end");
    }

    fn drain(&mut self) {
        for end in [0, 1] {
            while !self.wires[end].busy {
                let queue = &mut self.queue;
                let pull = || if end == 0 { queue.pop_front().map(Pulled::from) } else { None };
                let Some(frame) = self.ends[end].poll_transmit(self.now, pull) else { break };
                let fate = (self.fate)(end, &frame);
                self.spoilt += usize::from(frame.tag.is_some() && !matches!(fate, Fate::Arrives));
                let tag = frame.tag;
                self.wires[end].send(self.now, frame, &fate);
                self.left.extend(tag.map(|tag| (tag, self.wires[end].free_at)));
            }
            while let Some(event) = self.ends[end].poll_event() {
                self.events[end].push(event);
            }
        }
        assert!(self.ends[0].poll_delivery().is_none(), "no packets go that way");
        while let Some(frame) = self.ends[1].poll_delivery() {
            self.delivered.push(frame);
            self.delivered_at.push(self.now);
        }
    }

    fn next(&self) -> Option<Instant> {
        let arrivals = self.wires.iter().filter_map(|wire| wire.under_way.front().map(|w| w.0));
        let ends = self.wires.iter().filter(|wire| wire.busy).map(|wire| wire.free_at);
        let timers = self.ends.iter().filter_map(|end| end.poll_timeout().map(|t| t.0));
        arrivals.chain(ends).chain(timers).min()
    }

    fn happen(&mut self) {
        for end in [0, 1] {
            let wire = &mut self.wires[end];
            wire.busy = wire.busy && wire.free_at > self.now;
            if wire.under_way.front().is_some_and(|(due, _)| *due <= self.now)
                && let Some((_, Some(frame))) = wire.under_way.pop_front()
            {
                let _ = self.ends[1 - end].handle_frame(self.now, frame);
            }
            self.ends[end].handle_timeout(self.now);
        }
    }

    fn tags(&self) -> Vec<u64> {
        self.delivered.iter().map(|frame| frame.tag.expect("packets are named").0).collect()
    }

    fn sent(&self) -> usize {
        self.events[0]
            .iter()
            .filter(|event| matches!(event.kind, PacketEventKind::Sent { .. }))
            .count()
    }

    fn given_up(&self) -> Vec<u64> {
        let given_up = |event: &&PacketEvent| event.drop_reason() == Some(DropReason::RetryLimit);
        self.events[0].iter().filter(given_up).filter_map(|event| Some(event.tag?.0)).collect()
    }
}

fn packet(n: u64, class: Class) -> Frame {
    let payload = vec![n as u8; 40 + (n as usize * 37) % 100];
    Frame { tag: Some(Tag(n)), ..Frame::packet(payload) }.with_class(class)
}

/// The window may exceed the distance that a header can encode.
#[test]
fn a_packet_that_is_given_up_does_not_hold_up_a_hundred_thousand() {
    let window = Window { packets: 100_000, bytes: 1 << 30 };
    let config = PipeConfig { window, ..config(Arq::Attempts(NonZeroU8::new(2).unwrap())) };
    let first = |end: usize, frame: &Frame| match (end, frame.tag) {
        (0, Some(Tag(0))) => Fate::Lost,
        _ => Fate::Arrives,
    };
    let count = 80_000;
    let run = Run::new(config, (Some(1_000), 100_000), first).offer(count, Class::default());
    let run = run.finish();
    let tags: Vec<u64> = run.delivered.iter().filter_map(|frame| frame.tag).map(|t| t.0).collect();
    assert!(tags.into_iter().eq(1..count));
}

fn config(arq: Arq) -> PipeConfig {
    PipeConfig { arq, ..PipeConfig::default() }
}

fn attempts(n: u8) -> Arq {
    Arq::Attempts(NonZeroU8::new(n).expect("the tests ask for one at least"))
}

/// Each frame is lost with probability `p` per cent, whatever it carries.
fn hit(seed: u64, p: u64, fates: [u64; 3]) -> impl FnMut(usize, &Frame) -> Fate {
    let mut stream = Stream::new(Seed(seed), "wire");
    move |_, _| {
        if stream.below(100) >= p {
            return Fate::Arrives;
        }
        let bits = stream.bits();
        match bits % fates.iter().sum::<u64>() {
            n if n < fates[0] => Fate::Lost,
            n if n < fates[0] + fates[1] => Fate::Inverted((bits >> 32) as u32),
            _ => Fate::Cut((bits >> 32) as usize),
        }
    }
}

/// Losses of frames with packets only, each with probability `p`.
fn lose_packets(seed: u64, p: f64) -> impl FnMut(usize, &Frame) -> Fate {
    let mut stream = Stream::new(Seed(seed), "wire");
    let p = Probability::new(p).expect("the tests use probabilities");
    move |_, frame| {
        if frame.tag.is_some() && stream.chance(p) { Fate::Lost } else { Fate::Arrives }
    }
}

fn any_wire() -> impl Strategy<Value = (Option<u64>, u64)> {
    (prop::option::of(1_u64..1_000), prop_oneof![Just(0_u64), 1..50_000_u64])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    //= S3.10
    //= S3.48
    #[test]
    fn persistent_repetition_delivers_each_packet_once_in_order(
        seed: u64,
        p in 0_u64..70,
        wire in any_wire(),
        window in 1_usize..40,
    ) {
        let window = Window { packets: window, bytes: 1 << 20 };
        let config = PipeConfig { window, ..config(Arq::Persistent) };
        let run = Run::new(config, wire, hit(seed, p, [2, 1, 1]));
        let run = run.offer(60, Class::default()).finish();
        prop_assert_eq!(run.tags(), (0..60).collect::<Vec<_>>());
        for (n, frame) in run.delivered.iter().enumerate() {
            prop_assert_eq!(frame.to_vec(), packet(n as u64, Class::default()).to_vec());
            prop_assert_eq!(frame.damage.frame, Check::Good);
        }
        prop_assert_eq!(run.ends[0].held() + run.ends[1].held(), 0);
    }

    #[test]
    fn bounded_repetition_delivers_at_most_once_in_order(
        seed: u64,
        p in 0_u64..70,
        n in 1_u8..5,
        wire in any_wire(),
        accept_damaged: bool,
    ) {
        let config = PipeConfig { accept_damaged, ..config(attempts(n)) };
        let run = Run::new(config, wire, hit(seed, p, [2, 1, 1]));
        let run = run.offer(60, Class::default()).finish();
        let tags = run.tags();
        prop_assert!(tags.is_sorted_by(|a, b| a < b), "out of order: {:?}", tags);
        prop_assert_eq!(run.ends[0].held() + run.ends[1].held(), 0);
        if n > 1 {
            // Who is not delivered was given up.
            let given_up = run.given_up();
            for tag in 0..60 {
                prop_assert!(tags.contains(&tag) || given_up.contains(&tag));
            }
        }
        let damaged = run.delivered.iter().filter(|frame| frame.damage.is_damaged()).count();
        prop_assert!(accept_damaged || damaged == 0);
    }

    #[test]
    fn any_frames_are_taken_without_panic(
        frames in prop::collection::vec(
            (
                prop::collection::vec(any::<u8>(), 0..60),
                prop::collection::vec(any::<u8>(), 0..40),
                any::<bool>(),
                // All kinds of frames, those of increments included.
                prop::sample::select(vec![1_u8, 2, 3, 4, 5, 6, 9, 10]),
            ),
            1..40,
        ),
        [accept_damaged, combine, increments]: [bool; 3],
    ) {
        let config = config(Arq::Persistent);
        let mut pipe = Pipe::new(PipeConfig { accept_damaged, combine, increments, ..config });
        let now = Instant::START;
        for (mut header, payload, valid, kind) in frames {
            if valid && let Some(first) = header.first_mut() {
                *first = kind << 4;
            }
            let mut frame = Frame::packet(payload);
            frame.header = header.iter().copied().collect();
            if valid {
                make_valid(&mut frame, kind);
            }
            let _ = pipe.handle_frame(now, frame);
            while pipe.poll_delivery().is_some() {}
            while pipe.poll_transmit(now, || Some(packet(0, Class::default()).into())).is_some()
                && pipe.held() < 100
            {}
        }
    }
}

/// Adds valid checks to arbitrary header bytes.
fn make_valid(frame: &mut Frame, kind: u8) {
    use windfall_wire_link::check::{frame_check, header_check};
    let need = match kind {
        1 => Some(5),
        2 => Some(7),
        3 => Some(15),
        6 => Some(23),
        9 => Some(19),
        _ => None,
    };
    if let Some(need) = need {
        frame.header.truncate(need);
        if frame.header.len() == need {
            let check = header_check(&frame.header[..need - 2]);
            frame.header[need - 2..].copy_from_slice(&check);
        }
    }
    frame.trailer = frame_check(&[&frame.header]).into_iter().collect();
}

//= S3.8
#[test]
fn nothing_is_repeated_in_vain() {
    // Where control frames get through, as many frames are sent as packets and losses together:
    // the capacity that remains is 1 - p of the whole.
    for (seed, p) in [(1, 0.0), (2, 0.05), (3, 0.2), (4, 0.417), (5, 0.833)] {
        for wire in [(None, 0), (Some(10), 0), (Some(10), 5_000), (Some(1_000), 30_000)] {
            let run = Run::new(config(Arq::Persistent), wire, lose_packets(seed, p));
            let run = run.offer(2_000, Class::default()).finish();
            assert_eq!(run.tags(), (0..2_000).collect::<Vec<_>>());
            assert_eq!(run.sent(), 2_000 + run.spoilt, "at p = {p} over {wire:?}");
        }
    }
}

//= S3.8
#[test]
fn the_link_stays_busy_whatever_is_lost() {
    // 4 000 packets of 89.5 bytes and 19 of framing at 10 Mb/s, 2 ms each way, at loss p: the time
    // is that of 4000 / (1 - p) frames, and of the last repetitions, each a round trip.
    for p in [0.0, 0.05, 0.1, 0.2, 0.417, 0.833] {
        let run = Run::new(config(Arq::Persistent), (Some(10), 2_000), lose_packets(7, p));
        let run = run.offer(4_000, Class::default()).finish();
        let busy = (89.5 + 19.0) * 8.0 / 10e6 * run.sent() as f64;
        let took = run.now.as_secs_f64();
        // Tail: the longest run of losses among the last window, ln(window) / -ln(p) round trips.
        let round_trips = if p > 0.0 { 1.0 + 60_f64.ln() / -f64::ln(p) } else { 1.0 };
        assert!(took < busy + 0.0045 * (round_trips + 8.0), "p = {p}: {took} s, busy {busy} s");
    }
}

#[test]
fn small_packets_fill_a_long_pipe_too() {
    let rate = Rate::from_mbps(100).expect("a rate");
    let delay = Duration::from_millis(10);
    let window = Window::of_pipe(rate, delay, 1_500);
    let config = PipeConfig { window, ..config(Arq::Persistent) };
    let run = Run::new(config, (Some(100), 10_000), |_: usize, _: &Frame| Fate::Arrives);
    let run = run.offer(20_000, Class::default()).finish();
    // Packets of 89.5 bytes and 19 of framing; the last ACK takes a round trip.
    let busy = 20_000.0 * (89.5 + 19.0) * 8.0 / 100e6;
    assert!(run.now.as_secs_f64() < busy + 0.021, "until {}, busy {busy} s", run.now);
}

//= S3.12
//= S3.50
#[test]
fn bounded_repetition_leaves_the_loss_of_figure_5() {
    let packets = 20_000;
    for (seed, p, n) in
        [(1, 0.1, 1), (2, 0.1, 3), (3, 0.3, 2), (4, 0.8, 4), (5, 0.5, 6), (6, 0.5, 3)]
    {
        // The last two are the limits of 802.11: seven attempts for short frames, four for long.
        // n retransmissions are n + 1 attempts in all; after one attempt no copy is kept.
        let run = Run::new(config(attempts(n + 1)), (Some(100), 500), lose_packets(seed, p));
        let run = run.offer(packets, Class::default()).finish();
        let expected = p.powi(i32::from(n) + 1);
        let lost = 1.0 - run.delivered.len() as f64 / packets as f64;
        let sigma = (expected * (1.0 - expected) / packets as f64).sqrt();
        assert!((lost - expected).abs() < 4.0 * sigma, "p = {p}, n = {n}: {lost} for {expected}");
        assert_eq!(run.given_up().len() + run.delivered.len(), packets as usize);
    }
}

#[test]
fn a_flow_may_ask_for_fewer_or_more_attempts_than_the_link_makes() {
    let none = |_: usize, frame: &Frame| match frame.tag {
        // The first transmission of every packet is lost.
        Some(Tag(tag)) if u64::from(order_of(frame)) == tag => Fate::Lost,
        _ => Fate::Arrives,
    };
    let class = |n| Class { attempts: NonZeroU8::new(n), ..Class::default() };
    let mut run = Run::new(config(Arq::Persistent), (Some(10), 100), none);
    run.queue.extend([packet(0, class(1)), packet(1, class(2)), packet(2, class(0))]);
    assert_eq!(run.finish().tags(), [1, 2]);
    // The reverse: on a link without retransmissions.
    let mut run = Run::new(config(attempts(1)), (Some(10), 100), none);
    run.queue.extend([packet(0, class(0)), packet(1, class(2)), packet(2, class(0))]);
    assert_eq!(run.finish().tags(), [1]);
}

fn order_of(frame: &Frame) -> u32 {
    u32::from_be_bytes(frame.header[7..11].try_into().expect("a numbered header has 15 bytes"))
}

//= S3.16
#[test]
fn what_is_worthless_by_now_is_not_repeated() {
    let dead = |_: usize, frame: &Frame| match frame.tag {
        Some(Tag(1)) => Fate::Lost,
        _ => Fate::Arrives,
    };
    let mut run = Run::new(config(Arq::Persistent), (Some(10), 1_000), dead);
    run.queue.extend((0..3).map(|n| packet(n, Class::default())));
    for _ in 0..100_000 {
        run.ends[0].handle_timeout(run.now);
        let queue = &mut run.queue;
        while !run.wires[0].busy {
            let pull = || {
                let expires = Some(Instant::START + Duration::from_millis(20));
                queue.pop_front().map(|frame| Pulled { frame, expires })
            };
            let Some(frame) = run.ends[0].poll_transmit(run.now, pull) else { break };
            let fate = dead(0, &frame);
            run.wires[0].send(run.now, frame, &fate);
        }
        run.drain();
        let Some(next) = run.next() else { break };
        run.now = next;
        run.happen();
    }
    assert_eq!(run.tags(), [0, 2]);
    let expired = |event: &&PacketEvent| event.drop_reason() == Some(DropReason::Expired);
    assert_eq!(run.events[0].iter().filter(expired).count(), 1);
    assert!(run.now < Instant::START + Duration::from_millis(40), "until {}", run.now);
}

//= S0.6
#[test]
fn a_damaged_packet_is_handed_up_but_never_acknowledged() {
    let damage = |_: usize, frame: &Frame| match frame.tag {
        // A bit of the payload, behind the header of 15 bytes.
        Some(Tag(1)) => Fate::Inverted(8 * 20),
        _ => Fate::Arrives,
    };
    let config = PipeConfig { accept_damaged: true, ..config(attempts(3)) };
    let run = Run::new(config, (Some(10), 1_000), damage).offer(3, Class::default()).finish();
    // The last of three attempts is better than nothing, and takes its place in the order.
    assert_eq!(run.tags(), [0, 1, 2]);
    let damaged: Vec<_> = run.delivered.iter().map(|f| f.damage.frame == Check::Bad).collect();
    assert_eq!(damaged, [false, true, false]);
    assert_eq!(run.given_up(), [1]);
    let acknowledged = PacketEventKind::Acknowledged.of_packet(Some(Tag(1)));
    assert!(!run.events[0].contains(&acknowledged));
    let copies = |event: &&PacketEvent| event.drop_reason() == Some(DropReason::FrameCheck);
    assert_eq!(run.events[1].iter().filter(copies).count(), 2);
}

#[test]
fn an_early_damaged_copy_is_handed_up_when_the_later_ones_are_lost() {
    let mut copies = 0;
    let damage = move |_: usize, frame: &Frame| {
        if frame.tag != Some(Tag(1)) {
            return Fate::Arrives;
        }
        copies += 1;
        if copies == 1 { Fate::Inverted(8 * 20) } else { Fate::Lost }
    };
    let config = PipeConfig { accept_damaged: true, ..config(attempts(3)) };
    let run = Run::new(config, (Some(10), 1_000), damage).offer(2, Class::default()).finish();
    assert_eq!(run.tags(), [0, 1]);
    assert!(run.delivered[1].damage.is_damaged());
}

//= S4.27
#[test]
fn a_numbered_pipe_counts_the_packets_that_were_given_up_before_the_next_whole_one() {
    let fate = |_: usize, frame: &Frame| match frame.tag {
        Some(Tag(1 | 2 | 5)) => Fate::Lost,
        Some(Tag(3)) => Fate::Inverted(8 * 20),
        _ => Fate::Arrives,
    };
    let lost = |config| {
        let run = Run::new(config, (Some(10), 1_000), fate).offer(8, Class::default()).finish();
        let count = |frame: &Frame| (frame.tag.unwrap().0, frame.damage.lost_before);
        run.delivered.iter().map(count).collect::<Vec<_>>()
    };
    let config = PipeConfig { accept_damaged: true, ..config(attempts(2)) };
    assert_eq!(lost(config.clone()), [(0, 0), (3, 0), (4, 2), (6, 1), (7, 0)]);
    // Plain frames have no numbers.
    let plain = lost(PipeConfig { arq: Arq::None, ..config });
    assert!(plain.iter().all(|(_, lost)| *lost == 0), "{plain:?}");
}

#[test]
fn a_plain_pipe_hands_up_damage_only_if_asked() {
    let damage = |_: usize, _: &Frame| Fate::Inverted(8 * 10);
    let accepting = Class { accept_damaged: Some(true), ..Class::default() };
    let run = Run::new(config(Arq::None), (None, 0), damage);
    assert_eq!(run.offer(5, Class::default()).finish().tags(), []);
    let run = Run::new(config(Arq::None), (None, 0), damage);
    let run = run.offer(5, accepting).finish();
    assert_eq!(run.tags(), [0, 1, 2, 3, 4]);
    assert!(run.delivered.iter().all(|frame| frame.damage.header == Check::Good));
    assert!(run.delivered.iter().all(|frame| frame.damage.frame == Check::Bad));
}

#[test]
fn a_link_that_lets_nothing_through_does_not_hold_time_still() {
    // Without rate and delay every attempt takes no time; the packet gets through at last.
    let mut attempts = 0;
    let fate = |_, frame: &Frame| {
        attempts += u32::from(frame.tag.is_some());
        if frame.tag.is_some() && attempts <= 1_000 { Fate::Lost } else { Fate::Arrives }
    };
    let config = PipeConfig { arq: Arq::Persistent, ..PipeConfig::default() };
    let run = Run::new(config, (None, 0), fate).offer(1, Class::default()).finish();
    assert_eq!(run.delivered.len(), 1);
    // A pause of 100 µs after each 16 attempts.
    assert!(run.now >= Instant::START + Duration::from_micros(100 * (1_000 / 16)), "{}", run.now);
}

#[test]
fn a_pipe_holds_what_is_not_settled_and_what_is_not_collected() {
    let cost = Cost { per_frame: Duration::from_micros(10), per_byte: Duration::from_nanos(4_000) };
    let coding = Coding { policy: PolicyKind::ALL[0].into(), padded: false, cost };
    for coding in [None, Some(coding)] {
        let config = PipeConfig { coding, ..config(Arq::Persistent) };
        let [mut near, mut far] = [Pipe::new(config.clone()), Pipe::new(config)];
        let mut queue: VecDeque<Frame> = (0..3).map(|n| packet(n, Class::default())).collect();
        let mut frames = Vec::new();
        while !queue.is_empty() {
            let pull = || queue.pop_front().map(Pulled::from);
            frames.extend(near.poll_transmit(Instant::START, pull));
        }
        assert_eq!((near.held(), far.held()), (3, 0));
        // The first packet is late, and the others wait for it.
        frames.rotate_left(1);
        for (count, frame) in (1..).zip(frames) {
            assert_eq!(far.handle_frame(Instant::START, frame), Arrival::Packet);
            assert_eq!(far.held(), count);
        }
        let order = core::iter::from_fn(|| far.poll_delivery()).map(|frame| frame.tag);
        assert_eq!(order.collect::<Vec<_>>(), [0, 1, 2].map(|n| Some(Tag(n))));
        assert_eq!(far.held(), 0);
        while let Some(ack) = far.poll_transmit(Instant::START, || None) {
            assert_eq!(near.handle_frame(Instant::START, ack), Arrival::Control);
        }
        assert_eq!(near.held(), 0);
    }
}

#[test]
fn what_waits_for_its_turn_is_kept_as_far_as_the_window_goes() {
    // The sender may have more under way than its receiver can keep.
    let mut near = Pipe::new(config(Arq::Persistent));
    let window = Window { bytes: 100, ..Window::default() };
    let mut far = Pipe::new(PipeConfig { window, ..config(Arq::Persistent) });
    let big = |n| Frame { tag: Some(Tag(n)), ..Frame::packet(vec![n as u8; 80]) };
    let mut queue: VecDeque<Frame> = (0..3).map(big).collect();
    let frames = [(); 3].map(|()| {
        let pull = || queue.pop_front().map(Pulled::from);
        near.poll_transmit(Instant::START, pull).expect("the window is open")
    });
    let [first, second, third] = frames;
    far.handle_frame(Instant::START, second);
    far.handle_frame(Instant::START, third);
    let events: Vec<PacketEvent> = core::iter::from_fn(|| far.poll_event()).collect();
    let reasons: Vec<_> = events.iter().map(PacketEvent::drop_reason).collect();
    assert_eq!(reasons, [Some(DropReason::ReceiveBuffer)], "{events:?}");
    // A packet that arrives in order is never refused for its length, because it need not be
    // stored.
    far.handle_frame(Instant::START, first);
    let order = core::iter::from_fn(|| far.poll_delivery()).map(|frame| frame.tag);
    assert_eq!(order.collect::<Vec<_>>(), [0, 1].map(|n| Some(Tag(n))));
}

/// Three flows in turn: of one packet is tried until it arrives, of the others three times or once.
fn three_flows(packets: u64) -> VecDeque<Frame> {
    let attempts = [None, NonZeroU8::new(3), NonZeroU8::new(1)];
    let class =
        |n: usize| Class { flow: FlowId(n as u16 + 1), attempts: attempts[n], ..Class::default() };
    (0..packets).map(|n| packet(n, class(n as usize % 3))).collect()
}

/// Runs three flows over a pipe that loses 30 % of the frames, from twenty seeds: each keeps its
/// order, and none waits for another.
fn check_order_of_flows(config: &PipeConfig) {
    for seed in 0..20 {
        let draw = Stream::new(Seed(seed), "loss");
        let mut frames = 0;
        let loses = move |end: usize, _: &Frame| {
            frames += 1;
            let lost = end == 0 && draw.at(frames).unit() < 0.3;
            if lost { Fate::Lost } else { Fate::Arrives }
        };
        let mut run = Run::new(config.clone(), (Some(10), 20_000), loses);
        run.queue = three_flows(3_000);
        let run = run.finish();
        let of = |flow: u64| {
            let tags = run.delivered.iter().filter_map(|frame| Some(frame.tag?.0));
            tags.filter(|tag| tag % 3 == flow).collect::<Vec<u64>>()
        };
        let [bulk, thrice, once] = [0, 1, 2].map(of);
        for flow in [&bulk, &thrice, &once] {
            assert!(flow.is_sorted_by(|a, b| a < b), "seed {seed}: {flow:?}");
        }
        assert_eq!(bulk.len(), 1_000);
        // 0.3 and 0.027 of a thousand are lost, give or take four deviations.
        assert!((642..=758).contains(&once.len()), "seed {seed}: {}", once.len());
        assert!((952..=994).contains(&thrice.len()), "seed {seed}: {}", thrice.len());
        // A packet with one attempt is passed up on arrival, however many wait for the first flow.
        let flight = Duration::from_millis(20);
        for (frame, at) in run.delivered.iter().zip(&run.delivered_at) {
            let Some(tag) = frame.tag.filter(|tag| tag.0 % 3 == 2) else { continue };
            let ends = run.left[&tag];
            assert_eq!(*at, ends + flight, "seed {seed}: packet {}", tag.0);
        }
        for end in &run.ends {
            assert_eq!(end.held(), 0);
        }
    }
}

//= S3.16
//= S3.48
#[test]
fn order_holds_within_a_flow_that_limits_its_attempts_and_not_across_flows() {
    check_order_of_flows(&PipeConfig { arq: Arq::Persistent, ..PipeConfig::default() });
}

//= S3.16
//= S3.48
#[test]
fn order_of_coded_packets_holds_within_such_a_flow_and_not_across_flows() {
    let cost = Cost { per_frame: Duration::from_micros(10), per_byte: Duration::from_nanos(800) };
    for policy in [PolicyKind::Bold, PolicyKind::Robust] {
        let coding = Some(Coding { policy: policy.into(), padded: false, cost });
        check_order_of_flows(&PipeConfig { arq: Arq::Persistent, coding, ..PipeConfig::default() });
    }
}

/// Sends three packets of a flow with a lifetime of 20 ms, at 0, 10 and 30 ms, of which the first
/// is lost; gives the packets that have arrived after each.
fn arrivals_after_a_loss(config: &PipeConfig) -> [Vec<u64>; 3] {
    let lifetime = Some(Duration::from_millis(20));
    let class = Class { flow: FlowId(1), lifetime, ..Class::default() };
    let [mut sender, mut receiver] = [(); 2].map(|()| Pipe::new(config.clone()));
    [(0, 0), (1, 10), (2, 30)].map(|(n, millis)| {
        let now = Instant::START + Duration::from_millis(millis);
        let expires = lifetime.map(|lifetime| now + lifetime);
        let mut waiting = Some(Pulled { frame: packet(n, class), expires });
        while let Some(frame) = sender.poll_transmit(now, || waiting.take()) {
            if n > 0 {
                receiver.handle_frame(now, frame);
            }
        }
        let arrived = core::iter::from_fn(|| receiver.poll_delivery());
        arrived.filter_map(|frame| Some(frame.tag?.0)).collect()
    })
}

//= S3.16
//= S3.48
#[test]
fn no_packet_waits_for_one_that_has_become_worthless() {
    let cost = Cost { per_frame: Duration::from_micros(10), per_byte: Duration::from_nanos(800) };
    let coded = Some(Coding { policy: PolicyKind::Bold.into(), padded: false, cost });
    for coding in [None, coded] {
        let config = PipeConfig { arq: Arq::Persistent, coding, ..PipeConfig::default() };
        assert_eq!(arrivals_after_a_loss(&config), [vec![], vec![], vec![1, 2]]);
    }
}

/// Sends three packets, of which the second came damaged to their sender; gives what was delivered
/// with what is known of each, what the sender reported of the second, and what the receiver
/// dropped.
fn passed_on(config: PipeConfig) -> (Vec<Frame>, Vec<PacketEvent>, Vec<DropReason>) {
    let mut run = Run::new(config, (Some(10), 1_000), |_, _| Fate::Arrives).offer(3, Class::NONE);
    run.queue[1].damage.frame = Check::Bad;
    let run = run.finish();
    assert_eq!(run.ends.each_ref().map(Pipe::held), [0, 0]);
    let (delivered, [sent, received]) = (run.delivered, run.events);
    let of_second = |event: &PacketEvent| match event.kind {
        PacketEventKind::Sent { .. } | PacketEventKind::Acknowledged => event.tag == Some(Tag(1)),
        PacketEventKind::Dropped(_) => true,
        _ => false,
    };
    let dropped = received.iter().filter_map(PacketEvent::drop_reason);
    (delivered, sent.into_iter().filter(of_second).collect(), dropped.collect())
}

//= S0.5
#[test]
fn damage_that_is_known_stays_known_across_a_link() {
    let cost = Cost { per_frame: Duration::from_micros(10), per_byte: Duration::from_nanos(800) };
    let coded = Some(Coding { policy: PolicyKind::Robust.into(), padded: false, cost });
    for (arq, coding) in [
        (Arq::None, None),
        (Arq::after(3), None),
        (Arq::Persistent, None),
        (Arq::Persistent, coded),
    ] {
        let is_coded = coding.is_some();
        let config = PipeConfig { arq, coding, accept_damaged: true, ..PipeConfig::default() };
        let (delivered, of_second, dropped) = passed_on(config);
        let packets = [0, 1, 2].map(|n| packet(n, Class::NONE).to_vec());
        let bytes = delivered.iter().map(Frame::to_vec).collect::<Vec<_>>();
        assert_eq!(bytes, packets, "{arq:?} {is_coded}");
        let checks = delivered.iter().map(|frame| frame.damage.frame).collect::<Vec<_>>();
        assert_eq!(checks, [Check::Good, Check::Bad, Check::Good], "{arq:?} {is_coded}");
        assert_eq!(dropped, []);
        // Only the check of a coded packet shows that the damage did not grow.
        let last = of_second.last().map(|event| &event.kind);
        let acknowledged = last == Some(&PacketEventKind::Acknowledged);
        assert_eq!((of_second[1..].len(), acknowledged), (usize::from(is_coded), is_coded));
    }
}

//= S0.5
#[test]
fn damage_that_is_known_is_not_passed_to_whoever_does_not_accept_it() {
    let cost = Cost { per_frame: Duration::from_micros(10), per_byte: Duration::from_nanos(800) };
    let coded = Some(Coding { policy: PolicyKind::Robust.into(), padded: false, cost });
    for (arq, coding) in [(Arq::None, None), (Arq::Persistent, None), (Arq::Persistent, coded)] {
        let is_coded = coding.is_some();
        let config = PipeConfig { arq, coding, ..PipeConfig::default() };
        let (delivered, _, dropped) = passed_on(config);
        assert_eq!(delivered.len(), 2, "{arq:?} {is_coded}");
        assert_eq!(dropped, [DropReason::FrameCheck]);
    }
}

/// Frames with packets that it takes until this number of packets has crossed a wire with bit
/// errors of `rate`, in the packets alone; what their receiver reports, and the bytes of the
/// frames.
fn frames_at(rate: f64, config: PipeConfig, packets: u64) -> (usize, Vec<PacketEvent>, usize) {
    frames_of(Class::NONE, rate, config, packets)
}

/// As [`frames_at`], with packets of a class.
fn frames_of(
    class: Class,
    rate: f64,
    config: PipeConfig,
    packets: u64,
) -> (usize, Vec<PacketEvent>, usize) {
    let mut air = Stream::new(Seed(7), "air");
    let run = Run::new(config, (Some(10), 1_000), |end, frame: &Frame| {
        let from = frame.header.len() as u32 * 8;
        let to = frame.payload.len() as u32 * 8;
        let wrong = end == 0 && to > 0 && air.unit() < 1.0 - (1.0 - rate).powf(f64::from(to));
        if wrong { Fate::Inverted(from + air.below(u64::from(to)) as u32) } else { Fate::Arrives }
    });
    let mut run = run.offer(packets, class).finish();
    if class.unordered {
        run.delivered.sort_by_key(|frame| frame.tag);
    }
    let numbers: Vec<_> = run.delivered.iter().filter_map(|frame| frame.tag).collect();
    assert!(numbers.iter().copied().eq((0..packets).map(Tag)), "in order, none twice");
    for frame in &run.delivered {
        let sent = packet(frame.tag.map_or(0, |tag| tag.0), class);
        assert_eq!(frame.payload, sent.payload);
        assert_eq!(frame.damage.frame, Check::Good);
    }
    let sent = run.events[0].iter().filter_map(|event| match event.kind {
        PacketEventKind::Sent { len, .. } => Some(len),
        _ => None,
    });
    let sent: Vec<usize> = sent.collect();
    (sent.len(), run.events[1].clone(), sent.iter().sum())
}

fn is_combined(event: &PacketEvent) -> bool {
    matches!(event.kind, PacketEventKind::Combined { .. })
}

#[test]
fn damaged_copies_make_a_packet_whole() {
    let [alone, combined] = [false, true].map(|combine| {
        let config = PipeConfig { combine, ..config(Arq::Persistent) };
        frames_at(1e-3, config, 200)
    });
    assert!(combined.0 < alone.0, "{} frames instead of {}", combined.0, alone.0);
    let made =
        |event: &PacketEvent| matches!(event.kind, PacketEventKind::Combined { copies: 2.. });
    assert_eq!(alone.1.iter().filter(|event| made(event)).count(), 0);
    assert!(combined.1.iter().filter(|event| made(event)).count() > 20);
}

#[test]
fn copies_that_find_no_room_are_not_kept() {
    let window = Window { packets: 64, bytes: 150 };
    let config = PipeConfig { combine: true, window, ..config(Arq::Persistent) };
    let (_, events, _) = frames_at(1e-3, config, 50);
    let made = events.iter().filter(|event| is_combined(event));
    assert!(made.count() > 0, "one packet at a time has room for a copy");
}

#[test]
fn parity_goes_in_place_of_a_copy_of_what_is_kept_damaged() {
    let [alone, parity] = [false, true].map(|increments| {
        let config = PipeConfig { increments, ..config(Arq::Persistent) };
        frames_at(1e-3, config, 200)
    });
    let least: usize = (0..200).map(|n| packet(n, Class::NONE).payload.len() + 19).sum();
    let more = |run: &(usize, Vec<PacketEvent>, usize)| (run.2 - least) as f64;
    assert!(more(&parity) < 0.5 * more(&alone), "{} {}", more(&parity), more(&alone));
    let made = parity.1.iter().filter(|event| is_combined(event));
    assert!(made.count() > 20);
    // Without room for damaged packets, copies are sent as usual.
    let window = Window { packets: 64, bytes: 10 };
    let little = PipeConfig { increments: true, window, ..config(Arq::Persistent) };
    let (_, events, _) = frames_at(1e-3, little, 50);
    assert!(!events.iter().any(is_combined));
}

/// Every property of a flow for which the flow has its own order.
#[test]
fn parity_goes_in_place_of_copies_in_a_flow_of_its_own_order_as_in_others() {
    let flow = FlowId(1);
    let lifetime = Some(Duration::from_secs(10));
    let classes = [
        Class { flow, lifetime, ..Class::NONE },
        Class { flow, attempts: NonZeroU8::new(60), ..Class::NONE },
        Class { flow, unordered: true, ..Class::NONE },
        Class { flow, lifetime, unordered: true, ..Class::NONE },
    ];
    for class in classes {
        let bytes = |increments| {
            let config = PipeConfig { increments, ..config(Arq::Persistent) };
            let (_, events, bytes) = frames_of(class, 1e-3, config, 200);
            let made = events.iter().filter(|event| is_combined(event));
            (made.count(), bytes)
        };
        let least: usize = (0..200).map(|n| packet(n, class).payload.len() + 27).sum();
        let ((none, copies), (made, parity)) = (bytes(false), bytes(true));
        assert_eq!(none, 0, "{class:?}");
        assert!(made > 20 && copies > least, "{class:?}: {made}");
        assert!(2 * (parity - least) < copies - least, "{class:?}: {parity}, {copies}, {least}");
    }
}

/// Sends two packets of a flow with a lifetime of 20 ms, at 0 and 10 ms, of which the first comes
/// damaged, and the report of that at `report` ms; gives the frames and events of the sender from
/// then on, and what has arrived when another packet comes at 40 ms.
fn after_a_damaged_packet(report: u64) -> (usize, Vec<PacketEvent>, Vec<u64>) {
    let lifetime = Some(Duration::from_millis(20));
    let class = Class { flow: FlowId(1), lifetime, ..Class::NONE };
    let config = PipeConfig { increments: true, ..config(Arq::Persistent) };
    let [mut sender, mut receiver] = [(); 2].map(|()| Pipe::new(config.clone()));
    let at = |millis| Instant::START + Duration::from_millis(millis);
    let send = |sender: &mut Pipe, receiver: &mut Pipe, n: Option<u64>, millis, damages: bool| {
        let expires = lifetime.map(|lifetime| at(millis) + lifetime);
        let mut waiting = n.map(|n| Pulled { frame: packet(n, class), expires });
        let mut count = 0;
        while let Some(mut frame) = sender.poll_transmit(at(millis), || waiting.take()) {
            count += usize::from(frame.tag.is_some());
            if damages && frame.tag.is_some() {
                frame.invert(&[8 * 30]);
            }
            receiver.handle_frame(at(millis), frame);
        }
        count
    };
    send(&mut sender, &mut receiver, Some(0), 0, true);
    send(&mut sender, &mut receiver, Some(1), 10, false);
    while let Some(ack) = receiver.poll_transmit(at(report), || None) {
        sender.handle_frame(at(report), ack);
    }
    while sender.poll_event().is_some() {}
    let count = send(&mut sender, &mut receiver, None, report, false);
    let events = core::iter::from_fn(|| sender.poll_event()).collect();
    send(&mut sender, &mut receiver, Some(2), 40, false);
    let arrived = core::iter::from_fn(|| receiver.poll_delivery());
    let arrived = arrived.filter_map(|frame| Some(frame.tag?.0)).collect();
    assert_eq!(receiver.held(), 0);
    (count, events, arrived)
}

#[test]
fn parity_of_a_packet_whose_lifetime_has_passed_is_not_sent_and_holds_up_none() {
    let (count, _, arrived) = after_a_damaged_packet(15);
    assert_eq!((count, arrived), (1, vec![0, 1, 2]), "made of its parity, in its order");
    let (count, events, arrived) = after_a_damaged_packet(25);
    assert_eq!((count, arrived), (0, vec![1, 2]));
    let expired = |event: &PacketEvent| {
        event.tag == Some(Tag(0)) && event.drop_reason() == Some(DropReason::Expired)
    };
    assert_eq!(events.iter().filter(|event| expired(event)).count(), 1);
}

#[test]
fn flows_that_ask_for_orders_of_their_own_do_not_wait_for_each_other() {
    for own_order in [false, true] {
        let mut frames = 0;
        let fate = move |end: usize, frame: &Frame| {
            let is_first = end == 0 && frame.tag == Some(Tag(0));
            frames += u32::from(is_first);
            if is_first && frames < 20 { Fate::Lost } else { Fate::Arrives }
        };
        let mut run = Run::new(config(Arq::Persistent), (Some(1), 5_000), fate);
        let class = |flow| Class { flow: FlowId(flow), own_order, ..Class::NONE };
        run.queue = [packet(0, class(1)), packet(1, class(0))].into();
        let expected = if own_order { [1, 0] } else { [0, 1] };
        assert_eq!(run.finish().tags(), expected);
    }
}

#[test]
fn what_is_picked_is_asked_of_the_first_frame_of_a_packet_alone() {
    for arq in [Arq::None, Arq::Persistent] {
        let picked = std::rc::Rc::new(core::cell::RefCell::new(Vec::new()));
        let seen = std::rc::Rc::clone(&picked);
        let fate = move |end: usize, frame: &Frame| {
            if end == 0 && frame.tag.is_some() {
                seen.borrow_mut().push(frame.class.picked.lose);
            }
            if frame.class.picked.lose { Fate::Lost } else { Fate::Arrives }
        };
        let mut run = Run::new(config(arq), (Some(1), 5_000), fate);
        let lose = Picked { lose: true, ..Picked::NONE };
        let class = Class { flow: FlowId(1), picked: lose, ..Class::NONE };
        run.queue = [packet(0, class)].into();
        run.finish();
        let expected: &[bool] = if arq == Arq::None { &[true] } else { &[true, false] };
        assert_eq!(*picked.borrow(), expected);
    }
}

/// The second flow makes two attempts, while the first packet of all is tried again and again.
#[test]
fn what_stays_damaged_in_a_flow_of_its_own_order_waits_for_no_other_flow() {
    let class = |n: u64| Class {
        flow: FlowId(n.min(1) as u16),
        attempts: NonZeroU8::new(2).filter(|_| n > 0),
        ..Class::NONE
    };
    for increments in [false, true] {
        let mut frames = [0; 3];
        let fate = move |end: usize, frame: &Frame| {
            let Some(Tag(tag)) = frame.tag.filter(|_| end == 0) else { return Fate::Arrives };
            frames[tag as usize] += 1;
            match (tag, frames[tag as usize]) {
                (0, 0..20) => Fate::Lost,
                (1, 1) => Fate::Inverted(8 * 40),
                (1, _) => Fate::Cut(60),
                _ => Fate::Arrives,
            }
        };
        let config = PipeConfig { increments, accept_damaged: true, ..config(Arq::Persistent) };
        let mut run = Run::new(config, (Some(1), 5_000), fate);
        run.queue = (0..3).map(|n| packet(n, class(n))).collect();
        let run = run.finish();
        assert_eq!(run.tags(), [1, 2, 0], "{increments}");
    }
}
