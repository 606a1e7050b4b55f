use core::net::IpAddr;
use core::num::NonZeroU8;

use proptest::prelude::*;
use windfall_base::FlowId;
use windfall_base::frame::Tag;
use windfall_base::{Check, Duration, Node, Probability, RxVector, Seed, Stream};
use windfall_link::policy::{Cost, PolicyKind};
use windfall_link::{Arq, CodedConfig};
use windfall_mac::wavelan::WAVELAN_RATE;
use windfall_queue::{FlowConfig, Limits};
use windfall_testkit::laws;

use super::*;
use crate::event::InterfaceEvent;
use crate::{DEVICE, Interface, InterfaceConfig, LinkLayerConfig, MEDIUM, ScheduledFlow};

const HUB: Address = Address(1);

/// The fate of a frame on the air.
#[derive(Clone, Copy, Debug)]
enum Fate {
    Arrives,
    Lost,
    Inverted(u32),
    Cut(usize),
}

/// Stations on one half-duplex air that they all hear; station 0 is the coordinator.
struct Air<F> {
    now: Instant,
    stations: Vec<Interface>,
    on_air: Option<(usize, Frame, Instant)>,
    /// The signals that stations have still to hear at this instant, in order.
    signals: VecDeque<(usize, Input)>,
    fate: F,
    /// The frames that each station gave to its device, with their times.
    delivered: Vec<Vec<(Instant, Frame)>>,
    events: Vec<Vec<InterfaceEvent>>,
    /// The packets that each station's device brings without end: the number that waits at a time.
    sources: Vec<Option<usize>>,
    tags: u64,
    /// Frames with packets that did not arrive as they were.
    spoilt: u64,
    collisions: u64,
}

fn interface(role: WavelanRole, address: Address, framing: Framing) -> InterfaceConfig {
    let timing = WavelanTiming::WAVELAN;
    let link = WavelanConfig { address, role, framing, timing, rate: WAVELAN_RATE };
    let link = LinkLayerConfig::Wavelan(link);
    let queue = Limits { packets: 50, ..Limits::default() };
    InterfaceConfig { link, queue, observe: true, ..InterfaceConfig::default() }
}

/// Coded blocks on WaveLAN.
fn coded(policy: PolicyKind, arq: Arq) -> Framing {
    let cost = Cost {
        per_frame: Duration::from_micros(900),
        per_byte: WavelanTiming::WAVELAN.per_byte + WAVELAN_RATE.time_of(1),
    };
    let padded = false;
    let accept_damaged = false;
    let combine = false;
    Framing::Coded(CodedConfig {
        policy: policy.into(),
        arq,
        padded,
        accept_damaged,
        combine,
        cost,
    })
}

fn hub(stations: u8, framing: Framing) -> InterfaceConfig {
    let member = |n| WavelanPeer {
        address: Address(2 + n),
        behind: vec![IpAddr::from([10, 0, 0, 2 + n]).into()],
    };
    let members = (0..stations).map(member).collect();
    interface(WavelanRole::Coordinator { members, idle: Idle::default() }, HUB, framing)
}

fn station(n: u8, framing: Framing) -> InterfaceConfig {
    interface(WavelanRole::Station { coordinator: HUB }, Address(2 + n), framing)
}

fn packet(tag: u64, to: u8, len: usize) -> Frame {
    let mut bytes = vec![0x45, 0, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, to];
    bytes[2..4].copy_from_slice(&(len as u16).to_be_bytes());
    bytes.resize(len, tag as u8);
    Frame { tag: Some(Tag(tag)), ..Frame::packet(bytes) }
}

impl<F: FnMut(usize, &Frame) -> Fate> Air<F> {
    fn new(stations: u8, framing: impl Into<Framing>, fate: F) -> Self {
        let framing = framing.into();
        let members = (0..stations).map(|n| station(n, framing.clone()));
        let configs = core::iter::once(hub(stations, framing.clone())).chain(members);
        let stations: Vec<_> =
            configs.map(|config| Interface::new(config, Seed(1), "station")).collect();
        let count = stations.len();
        Self {
            now: Instant::START,
            stations,
            on_air: None,
            signals: VecDeque::new(),
            fate,
            delivered: vec![Vec::new(); count],
            events: vec![Vec::new(); count],
            sources: vec![None; count],
            tags: 0,
            spoilt: 0,
            collisions: 0,
        }
    }

    fn offer(&mut self, at: usize, to: u8, len: usize) {
        let frame = packet(self.tags, to, len);
        self.tags += 1;
        let input = Input::Frame(frame, RxVector::wired(self.now));
        self.stations[at].handle_input(self.now, DEVICE, input);
        self.drain(at);
        self.signal();
    }

    fn run_until(&mut self, until: Instant) {
        for station in 0..self.stations.len() {
            self.drain(station);
        }
        while let Some(next) = self.next().filter(|next| *next <= until) {
            assert!(next >= self.now);
            self.now = next;
            self.step();
        }
        self.now = until;
    }

    fn next(&self) -> Option<Instant> {
        let timers = self.stations.iter().filter_map(Node::poll_timeout);
        let end = self.on_air.iter().map(|(_, _, ended)| *ended);
        timers.map(|(at, _)| at).chain(end).min()
    }

    fn step(&mut self) {
        if let Some((from, frame, _)) = self.on_air.take_if(|(_, _, ended)| *ended <= self.now) {
            self.land(from, &frame);
        }
        self.signal();
        for station in 0..self.stations.len() {
            self.stations[station].handle_timeout(self.now);
            self.drain(station);
            self.signal();
        }
    }

    fn signal(&mut self) {
        while let Some((station, input)) = self.signals.pop_front() {
            self.stations[station].handle_input(self.now, MEDIUM, input);
            self.drain(station);
        }
    }

    fn land(&mut self, from: usize, frame: &Frame) {
        self.signals.push_back((from, Input::TransmissionDone));
        let fate = (self.fate)(from, frame);
        self.spoilt += u64::from(frame.tag.is_some() && !matches!(fate, Fate::Arrives));
        for to in (0..self.stations.len()).filter(|to| *to != from) {
            let mut copy = frame.clone();
            let bits = (copy.len() * 8) as u32;
            match fate {
                Fate::Arrives => {}
                Fate::Lost => copy.truncate(0),
                Fate::Inverted(bit) => copy.invert(&[bit % bits]),
                Fate::Cut(bytes) => copy.truncate(bytes % frame.len()),
            }
            if !matches!(fate, Fate::Lost) {
                let input = Input::Frame(copy, RxVector::wired(self.now));
                self.signals.push_back((to, input));
            }
            self.signals.push_back((to, Input::CarrierIdle));
        }
    }

    fn drain(&mut self, station: usize) {
        while let Some((port, outgoing)) = self.stations[station].poll_transmit(self.now) {
            if port == DEVICE {
                self.delivered[station].push((self.now, outgoing.frame));
                continue;
            }
            self.collisions += u64::from(self.on_air.is_some());
            let time = outgoing.vector.overhead + WAVELAN_RATE.time_of(outgoing.frame.len());
            self.on_air = Some((station, outgoing.frame, self.now + time));
            for other in (0..self.stations.len()).filter(|other| *other != station) {
                self.signals.push_back((other, Input::CarrierBusy));
            }
        }
        while let Some(event) = self.stations[station].poll_event() {
            self.events[station].push(event);
        }
        assert!(self.stations[station].ledger().balances());
        let waiting = self.stations[station].queue_len().0;
        if self.sources[station].is_some_and(|least| waiting < least) {
            self.offer(station, 2, 1_500);
        }
    }

    fn tags(&self, station: usize) -> Vec<u64> {
        self.delivered[station].iter().filter_map(|(_, frame)| frame.tag.map(|tag| tag.0)).collect()
    }
}

fn perfect(_: usize, _: &Frame) -> Fate {
    Fate::Arrives
}

fn seconds(n: u64) -> Instant {
    Instant::START + Duration::from_secs(n)
}

/// Bytes a second of packets of 1500 bytes that one end saturates the link with, alone.
fn throughput(from: usize, arq: Arq, fate: impl FnMut(usize, &Frame) -> Fate) -> f64 {
    let mut air = Air::new(1, arq, fate);
    air.sources[from] = Some(4);
    air.offer(from, 2, 1_500);
    air.run_until(seconds(60));
    assert_eq!(air.collisions, 0);
    air.delivered[1 - from].len() as f64 * 1_500.0 / 60.0
}

//= S3.2
#[test]
fn full_packets_get_100_kilobytes_a_second_in_either_direction() {
    for from in [0, 1] {
        let rate = throughput(from, Arq::Persistent, perfect);
        assert!((rate / 100_000.0 - 1.0).abs() < 0.01, "{rate} B/s from station {from}");
    }
}

//= S3.8
#[test]
fn throughput_falls_linearly_with_loss() {
    for from in [0, 1] {
        let full = throughput(from, Arq::Persistent, perfect);
        for window in [6, 12, 25, 50, 100] {
            // Five packets in a row of every period, control frames spared, as in the paper.
            let mut count = 0;
            let burst = move |_: usize, frame: &Frame| {
                count += u64::from(frame.tag.is_some());
                let hit = frame.tag.is_some() && (count - 1) % window < 5;
                if hit { Fate::Lost } else { Fate::Arrives }
            };
            let left = 1.0 - 5.0 / window as f64;
            let rate = throughput(from, Arq::Persistent, burst);
            assert!(rate > 0.9 * left * full && rate < 1.01 * left * full, "{window}: {rate}");
        }
    }
}

//= S3.12
#[test]
fn bounded_repetition_leaves_the_loss_of_figure_5() {
    for (seed, p, n) in [(1, 0.5, 1), (2, 0.5, 3), (3, 0.8, 4)] {
        let mut stream = Stream::new(Seed(seed), "air");
        let p = Probability::new(p).expect("a probability");
        let lose = move |_: usize, frame: &Frame| {
            if frame.tag.is_some() && stream.chance(p) { Fate::Lost } else { Fate::Arrives }
        };
        let attempts = NonZeroU8::new(n + 1).expect("one more than something");
        let mut air = Air::new(1, Arq::Attempts(attempts), lose);
        air.sources[0] = Some(4);
        air.run_until(seconds(150));
        let settled = air.stations[0].ledger();
        let lost = settled.drops.of(DropReason::RetryLimit) as f64;
        let packets = lost + air.delivered[1].len() as f64;
        let expected = p.get().powi(i32::from(n) + 1);
        let sigma = (expected * (1.0 - expected) / packets).sqrt();
        let found = lost / packets;
        assert!((found - expected).abs() < 4.0 * sigma, "{found} for {expected}");
    }
}

//= S3.11
#[test]
fn when_the_air_gets_worse_the_queue_overflows_and_nothing_else_is_lost() {
    // Packets at 60 % of the capacity; between seconds 10 and 20 only one frame in four arrives.
    let mut stream = Stream::new(Seed(1), "air");
    let bad = std::rc::Rc::new(core::cell::Cell::new(false));
    let is_bad = std::rc::Rc::clone(&bad);
    let fade = move |_: usize, frame: &Frame| {
        let lost = is_bad.get() && frame.tag.is_some() && stream.below(4) != 0;
        if lost { Fate::Lost } else { Fate::Arrives }
    };
    let mut air = Air::new(1, Arq::Persistent, fade);
    let mut overflow = Vec::new();
    for second in 0..40 {
        bad.set((10..20).contains(&second));
        for n in 0..40 {
            air.run_until(seconds(second) + Duration::from_millis(n * 25));
            air.offer(0, 2, 1_500);
        }
        overflow.push(air.stations[0].ledger().drops.of(DropReason::QueueFull));
    }
    air.run_until(seconds(50));
    // 400 packets come in the bad time, of 667 attempts a quarter gets through, 50 wait.
    let expected = 400.0 - 667.0 / 4.0 - 50.0;
    let sigma = (667.0 * 0.25 * 0.75_f64).sqrt();
    let dropped = overflow[39] as f64;
    assert!((dropped - expected).abs() < 4.0 * sigma, "{dropped} for {expected}");
    assert_eq!((overflow[9], overflow[20]), (0, overflow[39]));
    assert_eq!(air.stations[0].ledger().drops.total(), overflow[39]);
    let tags = air.tags(1);
    assert!(tags.is_sorted_by(|a, b| a < b));
    assert_eq!(tags.len() as u64, 1_600 - overflow[39]);
}

#[test]
fn several_stations_share_the_air_and_each_gets_what_is_behind_it() {
    let mut air = Air::new(3, Arq::Persistent, perfect);
    for _ in 0..40 {
        for to in 2..5 {
            air.offer(0, to, 1_500);
        }
    }
    for (station, count) in [(1, 10), (3, 30)] {
        for _ in 0..count {
            air.offer(station, 1, 1_000);
        }
    }
    air.run_until(seconds(5));
    for (n, station) in (1..4).enumerate() {
        let expected: Vec<_> = (0..40).map(|k| k * 3 + n as u64).collect();
        assert_eq!(air.tags(station), expected);
    }
    assert_eq!(air.delivered[0].len(), 40);
    assert_eq!(air.collisions, 0);
    // In turns: no station is far ahead while all have packets.
    let halfway = air.delivered[1][20].0;
    let of_others = air.delivered[3].iter().filter(|(at, _)| *at < halfway).count();
    assert!((18..=22).contains(&of_others), "{of_others}");
}

#[test]
fn an_idle_air_is_polled_cheaply_and_answers_soon() {
    let mut air = Air::new(1, Arq::Persistent, perfect);
    air.run_until(seconds(10));
    let polls = air.stations[0].counters().control_sent;
    // A pause of 4 ms and a null exchange of 2 · (0.25 ms + 5 · 9.508 µs).
    let expected = 10.0 / (0.004 + 2.0 * 0.000_297_54);
    assert!((polls as f64 / expected - 1.0).abs() < 0.2, "{polls} polls for {expected}");
    air.offer(1, 1, 100);
    air.run_until(seconds(11));
    let took = air.delivered[0][0].0 - seconds(10);
    assert!(took < Duration::from_millis(8), "{took}");
}

//= S0.6
#[test]
fn a_damaged_packet_is_handed_up_but_not_acknowledged() {
    let damage = |_: usize, frame: &Frame| match frame.tag {
        Some(Tag(1)) => Fate::Inverted(8 * 100),
        _ => Fate::Arrives,
    };
    let attempts = Arq::Attempts(NonZeroU8::new(3).expect("three"));
    let mut air = Air::new(1, attempts, damage);
    for _ in 0..3 {
        let class = windfall_base::Class { accept_damaged: Some(true), ..Default::default() };
        let frame = packet(air.tags, 2, 500).with_class(class);
        air.tags += 1;
        let input = Input::Frame(frame, RxVector::wired(air.now));
        air.stations[0].handle_input(air.now, DEVICE, input);
    }
    air.run_until(seconds(1));
    assert_eq!(air.tags(1), [0, 1, 2]);
    let checks: Vec<_> = air.delivered[1].iter().map(|(_, frame)| frame.damage.frame).collect();
    assert_eq!(checks, [Check::Good, Check::Bad, Check::Good]);
    let acknowledged = PacketEventKind::Acknowledged.of_packet(Some(Tag(1)));
    assert!(!air.events[0].contains(&InterfaceEvent::Packet(acknowledged)));
    assert_eq!(air.stations[0].ledger().drops.of(DropReason::RetryLimit), 1);
}

#[test]
fn of_packets_known_to_be_damaged_the_fate_is_unknown() {
    // The frame check of a coded packet says of damage that is old, so that it is acknowledged.
    let framings =
        [(Arq::Persistent.into(), false), (coded(PolicyKind::Robust, Arq::Persistent), true)];
    for (framing, is_acknowledged) in framings {
        let mut air = Air::new(1, framing, |_, _| Fate::Arrives);
        for is_damaged in [false, true] {
            let mut frame = packet(air.tags, 2, 500);
            if is_damaged {
                frame.damage.frame = Check::Bad;
            }
            air.tags += 1;
            let input = Input::Frame(frame, RxVector::wired(air.now));
            air.stations[0].handle_input(air.now, DEVICE, input);
            air.run_until(air.now + Duration::from_secs(1));
            let account = air.stations[0].flows()[0];
            let is_unknown = is_damaged && !is_acknowledged;
            assert_eq!(account.outcome_unknown, is_unknown);
            // What a code adds to a packet counts as effort without outcome.
            assert!(is_acknowledged || account.account.error_rate() == 0.0, "{account:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    //= S3.10
    //= S3.48
    #[test]
    fn packets_come_once_and_in_order_whatever_the_air_does(
        seed: u64,
        p in 0_u64..60,
        bounded in prop::option::of(1_u8..5),
        stations in 1_u8..3,
        policy in prop::option::of(0_usize..5),
    ) {
        let mut stream = Stream::new(Seed(seed), "air");
        // Units and control frames alike, headers too.
        let hit = move |_: usize, _: &Frame| match stream.below(100) {
            n if n >= p => Fate::Arrives,
            n if n % 2 == 0 => Fate::Lost,
            n if n % 4 == 1 => Fate::Inverted(stream.bits() as u32),
            _ => Fate::Cut(stream.bits() as usize),
        };
        let arq = bounded.and_then(NonZeroU8::new).map_or(Arq::Persistent, Arq::Attempts);
        let framing = policy.map_or(arq.into(), |policy| coded(PolicyKind::ALL[policy], arq));
        let mut air = Air::new(stations, framing, hit);
        for _ in 0..20 {
            for station in 0..=stations {
                air.offer(usize::from(station), 2 + station % stations, 300);
            }
        }
        air.run_until(seconds(30));
        let count = u64::from(stations) + 1;
        for station in 0..=stations {
            let tags = air.tags(usize::from(station));
            // Of each sender in order, and none twice.
            for sender in 0..count {
                let of_sender: Vec<_> = tags.iter().filter(|tag| **tag % count == sender).collect();
                prop_assert!(of_sender.is_sorted_by(|a, b| a < b), "{:?}", tags);
            }
        }
        if bounded.is_none() {
            let total: usize = air.delivered.iter().map(Vec::len).sum();
            prop_assert_eq!(total, 20 * usize::from(stations + 1));
        }
        prop_assert_eq!(air.collisions, 0);
    }
}

/// Frames that a peer could send, and arbitrary signals.
fn lawful(config: impl Fn() -> InterfaceConfig, peer: impl Fn() -> InterfaceConfig) {
    let config = &config;
    let input = move |stream: &mut Stream, now: Instant| {
        let frame = packet(stream.below(100), 2, 40 + stream.below(1_400) as usize);
        let input = Input::Frame(frame, RxVector::wired(now));
        match stream.below(8) {
            0 => return (DEVICE, input),
            1 => return (MEDIUM, Input::CarrierBusy),
            2 => return (MEDIUM, Input::CarrierIdle),
            3 => return (MEDIUM, Input::TransmissionDone),
            _ => {}
        }
        // What a peer says that has a packet to send, prompted by a poll if it needs one.
        let mut speaker = Interface::new(peer(), Seed(1), "peer");
        speaker.handle_input(now, DEVICE, input);
        let mut caller = Interface::new(config(), Seed(1), "caller");
        caller.handle_timeout(now + Duration::from_secs(1));
        if let Some((_, poll)) = caller.poll_transmit(now) {
            let input = Input::Frame(poll.frame, RxVector::wired(now));
            speaker.handle_input(now, MEDIUM, input);
        }
        let Some((_, mut outgoing)) = speaker.poll_transmit(now) else {
            return (MEDIUM, Input::CarrierIdle);
        };
        if stream.below(4) == 0 {
            let bits = outgoing.frame.len() as u64 * 8;
            outgoing.frame.invert(&[stream.below(bits) as u32]);
        }
        (MEDIUM, Input::Frame(outgoing.frame, RxVector::wired(now)))
    };
    let subject = laws::Subject::new(2, move |seed| Interface::new(config(), seed, "subject"))
        .input(input)
        .ledger(Interface::ledger);
    laws::check(subject);
}

#[test]
fn the_laws_hold_on_a_polled_medium() {
    let three = Arq::Attempts(NonZeroU8::MIN.saturating_add(2));
    let framings = [Arq::Persistent.into(), three.into(), coded(PolicyKind::Flex, three)];
    for framing in framings {
        lawful(|| hub(2, framing.clone()), || station(0, framing.clone()));
        lawful(|| station(0, framing.clone()), || hub(2, framing.clone()));
    }
}

/// Packets that two busy flows get through in a minute, half of the first one's being lost.
fn two_flows(power_factor: f64) -> [usize; 2] {
    let mut lost = 0;
    let half = move |_: usize, frame: &Frame| {
        if frame.class.flow != FlowId(1) {
            return Fate::Arrives;
        }
        lost += 1;
        if lost % 2 == 0 { Fate::Lost } else { Fate::Arrives }
    };
    let mut air = Air::new(1, Arq::Persistent, half);
    let flow = |number| ScheduledFlow {
        flow: FlowId(number),
        share: FlowConfig { weight: 1.0, power_factor, reserved: false },
        reserve: None,
    };
    let config = InterfaceConfig {
        queue: Limits { packets: 10_000, ..Limits::default() },
        flows: vec![flow(1), flow(2)],
        ..hub(1, Arq::Persistent.into())
    };
    air.stations[0] = Interface::new(config, Seed(1), "station");
    for number in 0..8_000 {
        let mut frame = packet(number, 2, 1_000);
        frame.class.flow = FlowId(1 + number as u16 % 2);
        let input = Input::Frame(frame, RxVector::wired(air.now));
        air.stations[0].handle_input(air.now, DEVICE, input);
    }
    air.run_until(seconds(60));
    let accounts = air.stations[0].flows();
    // A flow's error rate is what was lost, as its owner's share of the link shows.
    assert!((accounts[1].account.error_rate() - 0.5).abs() < 0.1, "{accounts:?}");
    assert!(accounts[2].account.error_rate() < 0.001, "{accounts:?}");
    let tags = air.tags(1);
    assert!(tags.iter().filter(|tag| **tag % 2 == 0).is_sorted());
    [0, 1].map(|flow| tags.iter().filter(|tag| **tag % 2 == flow).count())
}

//= S3.29
//= S3.38
//= S3.48
#[test]
fn flows_share_the_air_as_their_power_factors_say() {
    let share = |[first, second]: [usize; 2]| first as f64 / second as f64;
    // Effort-fair: half the throughput. Enough extra effort for all errors: the same throughput.
    assert!((share(two_flows(1.0)) - 0.5).abs() < 0.02);
    assert!((share(two_flows(2.5)) - 1.0).abs() < 0.02);
    // Limited: P (1 − E) = 0.6.
    assert!((share(two_flows(1.2)) - 0.6).abs() < 0.02);
}
