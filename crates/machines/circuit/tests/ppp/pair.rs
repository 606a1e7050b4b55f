//! Two ends on a line.

use core::net::Ipv4Addr;
use std::collections::VecDeque;

use proptest::prelude::*;
use windfall_base::{Duration, Instant, Seed, Stream};
use windfall_circuit::ppp::{FrameMode, PppConfig, PppEvent, PppLink};
use windfall_testkit::seed;
use windfall_wire_link::hdlc::{Accm, HdlcCheck};

/// A packet of IPv4 as far as PPP looks at it.
fn packet(len: usize) -> Vec<u8> {
    (0..len).map(|i| if i == 0 { 0x45 } else { (i * 7) as u8 }).collect()
}

/// Two ends on a line of 960 bytes a second, whose bytes a function may damage or drop.
pub(crate) struct Pair {
    pub(crate) ends: [PppLink; 2],
    now: Instant,
    events: [Vec<PppEvent>; 2],
    packets: [Vec<(Vec<u8>, bool)>; 2],
}

const NEAR: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const FAR: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

/// The far end knows both addresses, the near end asks for its own.
fn configs() -> [PppConfig; 2] {
    let far = PppConfig { local: Some(FAR), peer: Some(NEAR), ..PppConfig::default() };
    [PppConfig::default(), far]
}

impl Pair {
    fn new(configs: [PppConfig; 2], seed: u64) -> Self {
        let stream = |end| Stream::new(Seed(seed), ["near", "far"][end]);
        let ends = [0, 1].map(|end| PppLink::new(configs[end], &stream(end)));
        let events = Default::default();
        let packets = Default::default();
        Self { ends, now: Instant::START, events, packets }
    }

    /// Ends that draw from one stream, as with the same seed.
    fn of_one_stream(configs: [PppConfig; 2]) -> Self {
        let stream = Stream::new(Seed(1), "one");
        let ends = configs.map(|config| PppLink::new(config, &stream));
        Self { ends, ..Self::new(configs, 1) }
    }

    fn open(&mut self) {
        let now = self.now;
        self.ends.iter_mut().for_each(|end| end.open(now));
    }

    /// Lets the ends talk for some seconds.
    fn run(&mut self, seconds: u64, mut damage: impl FnMut(&mut Vec<u8>)) {
        let until = self.now + Duration::from_secs(seconds);
        while self.now < until {
            for from in 0..2 {
                let mut bytes = self.ends[from].take_line();
                damage(&mut bytes);
                self.ends[1 - from].handle_line(self.now, &bytes);
            }
            self.now += Duration::from_millis(100);
            for (end, link) in self.ends.iter_mut().enumerate() {
                link.handle_timeout(self.now);
                assert!(link.poll_timeout().is_none_or(|at| at > self.now));
                self.events[end].extend(std::iter::from_fn(|| link.poll_event()));
                let packets = std::iter::from_fn(|| link.poll_packet());
                self.packets[end].extend(packets.map(|it| (it.bytes, it.damaged)));
            }
        }
    }

    fn is_open(&mut self) -> bool {
        self.ends.iter_mut().all(|end| end.send(&packet(20)))
    }
}

//= S1.11
#[test]
fn two_ends_come_up_and_carry_packets() {
    let mut pair = Pair::new(configs(), 1);
    assert!(!pair.is_open());
    pair.open();
    pair.run(3, |_| {});
    let [near, far] = &pair.events;
    let up = PppEvent::Ipv4Up { local: NEAR, peer: Some(FAR) };
    assert!(near.contains(&PppEvent::Up) && near.contains(&up), "{near:?}");
    assert!(far.contains(&PppEvent::Ipv4Up { local: FAR, peer: Some(NEAR) }), "{far:?}");
    let identifiers = |events: &[PppEvent]| {
        events.iter().find_map(|event| match event {
            PppEvent::Ipv6Up { local, peer } => Some((*local, *peer)),
            _ => None,
        })
    };
    let (a, b) = identifiers(near).expect("IPv6 is up");
    assert_eq!(identifiers(far), Some((b, a)));
    let six: Vec<u8> = [vec![0x60], packet(39)].concat();
    assert!(pair.ends[0].send(&packet(1_500)) && pair.ends[1].send(&six));
    assert!(!pair.ends[0].send(&packet(1_501)) && !pair.ends[0].send(&[0x25]));
    pair.run(1, |_| {});
    assert_eq!(pair.packets[1], [(packet(1_500), false)]);
    assert_eq!(pair.packets[0], [(six, false)]);
    let now = pair.now;
    pair.ends[0].close(now);
    pair.run(10, |_| {});
    assert!(pair.events[0].ends_with(&[PppEvent::Finished]), "{:?}", pair.events[0]);
    assert!(pair.events[1].contains(&PppEvent::Down));
    assert!(!pair.is_open());
}

#[test]
fn two_ends_with_the_same_seed_come_up() {
    let named = PppConfig { local: Some(NEAR), peer: Some(FAR), ..PppConfig::default() };
    let alone = |local| PppConfig { local: Some(local), ..PppConfig::default() };
    let [asks, knows] = configs();
    for configs in [[asks, knows], [named, knows], [alone(NEAR), alone(FAR)]] {
        let mut pair = Pair::of_one_stream(configs);
        pair.open();
        pair.run(10, |_| {});
        assert!(pair.is_open(), "{configs:?}: {:?}", pair.events);
        for events in &pair.events {
            assert!(!events.contains(&PppEvent::Looped), "{configs:?}: {events:?}");
            assert!(events.iter().any(|event| matches!(event, PppEvent::Ipv6Up { .. })));
        }
    }
}

#[test]
fn ends_come_up_over_a_line_that_damages_and_drops_bytes() {
    seed::each(20, |Seed(seed)| {
        let mut pair = Pair::new(configs(), seed);
        let mut stream = Stream::new(Seed(seed), "line");
        pair.open();
        pair.run(40, |bytes| {
            bytes.retain(|_| stream.unit() > 0.002);
            bytes.iter_mut().for_each(|byte| *byte ^= u8::from(stream.unit() < 0.002));
        });
        pair.run(40, |_| {});
        assert!(pair.is_open(), "{:?}", pair.events);
    });
}

/// Opens the far end `later` and carries bytes with this delay each way, but for those of which
/// `is_lost` says so.
fn over_a_long_way(
    one_way: Duration,
    later: Duration,
    restart: Duration,
    mut is_lost: impl FnMut() -> bool,
) -> Pair {
    let configs = configs().map(|config| PppConfig { restart, ..config });
    let mut pair = Pair::new(configs, 1);
    let mut ways = [VecDeque::new(), VecDeque::new()];
    let now = pair.now;
    pair.ends[0].open(now);
    let mut is_open = false;
    for _ in 0..1_500 {
        let now = pair.now;
        if !is_open && now >= Instant::START + later {
            is_open = true;
            pair.ends[1].open(now);
        }
        for (from, way) in ways.iter_mut().enumerate() {
            // A program sends, whether the peer is open or not.
            pair.ends[from].send(&packet(20));
            let bytes = pair.ends[from].take_line();
            if !bytes.is_empty() && !is_lost() {
                way.push_back((now + one_way, bytes));
            }
            while way.front().is_some_and(|(at, _)| *at <= now) {
                let (_, bytes) = way.pop_front().expect("it is there");
                pair.ends[1 - from].handle_line(now, &bytes);
            }
        }
        pair.now += Duration::from_millis(100);
        for (end, link) in pair.ends.iter_mut().enumerate() {
            link.handle_timeout(pair.now);
            pair.events[end].extend(std::iter::from_fn(|| link.poll_event()));
        }
    }
    pair
}

#[test]
fn ends_come_up_once_over_a_round_trip_that_is_longer_than_the_timer() {
    for (seconds, later) in [(1, 0), (4, 0), (4, 1), (4, 5), (4, 9), (6, 2)] {
        let [one_way, later] = [seconds, later].map(Duration::from_secs);
        let mut pair = over_a_long_way(one_way, later, PppConfig::default().restart, || false);
        assert!(pair.is_open(), "{seconds} s, {later}: {:?}", pair.events);
        for events in &pair.events {
            assert!(!events.contains(&PppEvent::Down), "{seconds} s, {later}: {events:?}");
        }
    }
    // With a timer of its own it waits longer still.
    let mut pair = over_a_long_way(
        Duration::from_secs(15),
        Duration::from_secs(40),
        Duration::from_secs(20),
        || false,
    );
    assert!(pair.is_open(), "{:?}", pair.events);
}

#[test]
fn ends_come_up_and_stay_up_over_a_long_way_that_loses_frames() {
    seed::each(40, |Seed(seed)| {
        let mut stream = Stream::new(Seed(seed), "line");
        let one_way = Duration::from_secs(4);
        let restart = PppConfig::default().restart;
        let mut pair = over_a_long_way(one_way, Duration::ZERO, restart, || stream.unit() < 0.2);
        assert!(pair.is_open(), "{:?}", pair.events);
    });
}

#[test]
fn a_retransmitted_request_keeps_its_identifier() {
    let mut pair = Pair::new(configs(), 1);
    let now = pair.now;
    pair.ends[0].open(now);
    let mut requests = Vec::new();
    pair.run(8, |bytes| {
        requests.extend((!bytes.is_empty()).then(|| bytes.clone()));
        bytes.clear();
    });
    assert_eq!(requests.len(), 3, "at 0, 3 and 6 s");
    assert!(requests.iter().all(|it| *it == requests[0]), "{requests:?}");
}

#[test]
fn an_end_without_a_peer_asks_ten_times_and_finishes() {
    let mut pair = Pair::new(configs(), 1);
    let now = pair.now;
    pair.ends[0].open(now);
    let mut requests = 0;
    pair.run(60, |bytes| {
        requests += u32::from(!bytes.is_empty());
        bytes.clear();
    });
    assert_eq!((requests, pair.events[0].as_slice()), (10, &[PppEvent::Finished][..]));
}

#[test]
fn a_link_that_ended_is_opened_again_on_a_new_line() {
    let mut pair = Pair::new(configs(), 1);
    pair.open();
    pair.run(60, Vec::clear);
    for events in &mut pair.events {
        assert_eq!(events.split_off(0), [PppEvent::Finished]);
    }
    let now = pair.now;
    pair.ends.iter_mut().for_each(|end| end.line_down(now));
    pair.open();
    pair.run(5, |_| {});
    assert!(pair.is_open(), "{:?}", pair.events);
    // A line that breaks takes everything above it down, and a new one brings it back.
    pair.ends.iter_mut().for_each(|end| end.line_down(now));
    assert!(!pair.is_open());
    pair.open();
    pair.run(10, |_| {});
    assert!(pair.is_open(), "{:?}", pair.events);
}

#[test]
fn a_line_that_is_a_loop_never_opens() {
    let mut link = PppLink::new(PppConfig::default(), &Stream::new(Seed(1), "loop"));
    link.open(Instant::START);
    let mut now = Instant::START;
    let mut events = Vec::new();
    for _ in 0..600 {
        let bytes = link.take_line();
        link.handle_line(now, &bytes);
        now += Duration::from_millis(100);
        link.handle_timeout(now);
        events.extend(std::iter::from_fn(|| link.poll_event()));
        assert!(link.unsent() < 10_000);
    }
    assert!(events.contains(&PppEvent::Looped));
    assert_eq!(events.last(), Some(&PppEvent::Finished));
    assert!(!events.contains(&PppEvent::Up), "{events:?}");
}

//= S1.12
#[test]
fn a_lite_end_gets_the_damaged_packets_of_a_normal_one() {
    let mut configs = configs();
    configs[1].mode = FrameMode::Lite;
    let mut pair = Pair::new(configs, 1);
    pair.open();
    pair.run(3, |_| {});
    assert!(pair.is_open());
    pair.run(1, |_| {});
    pair.packets = Default::default();
    assert!(pair.ends[0].send(&packet(200)));
    assert!(pair.ends[1].send(&packet(200)));
    pair.run(1, |bytes| {
        if let Some(byte) = bytes.get_mut(100) {
            *byte ^= 1;
        }
    });
    // The near end is strict.
    assert_eq!(pair.packets[0], []);
    assert_eq!(pair.ends[0].counts().frame_check, 1);
    let [(bytes, true)] = &pair.packets[1][..] else { panic!("{:?}", pair.packets[1]) };
    let differ = bytes.iter().zip(packet(200)).filter(|(a, b)| **a != *b).count();
    assert_eq!((bytes.len(), differ), (200, 1));
}

#[test]
fn options_are_negotiated_whichever_side_has_them() {
    let mut configs = configs();
    configs[0].mru = 576;
    configs[1].accm = Accm(0x000a_0000);
    configs.iter_mut().for_each(|config| config.check = HdlcCheck::Fcs32);
    configs[1].ipv6 = false;
    let mut pair = Pair::new(configs, 1);
    pair.open();
    pair.run(5, |_| {});
    assert_eq!((pair.ends[1].peer_mru(), pair.ends[0].peer_mru()), (576, 1_500));
    assert!(pair.ends[1].send(&packet(576)) && !pair.ends[1].send(&packet(577)));
    assert!(pair.ends[0].send(&packet(1_500)));
    assert!(!pair.events[0].iter().any(|event| matches!(event, PppEvent::Ipv6Up { .. })));
    let mut line = pair.ends[0].take_line();
    assert!(!line.contains(&0x11) && !line.contains(&0x13));
    // XON and XOFF that the line inserts are ignored.
    line.insert(40, 0x13);
    let now = pair.now;
    pair.ends[1].handle_line(now, &line);
    assert_eq!(pair.ends[1].poll_packet().map(|it| it.bytes), Some(packet(1_500)));
}

proptest! {
    #[test]
    fn any_bytes_are_taken_without_panic(
        frames in prop::collection::vec(
            (0..6_usize, prop::collection::vec(any::<u8>(), 0..40)),
            0..40,
        ),
    ) {
        let mut pair = Pair::new(configs(), 1);
        pair.open();
        pair.run(1, |_| {});
        let protocols = [0xc021, 0x8021, 0x8057, 0x0021, 0x00fd, 0xc023_u16];
        for (protocol, data) in frames {
            let mut line = Vec::new();
            let head = protocols[protocol].to_be_bytes();
            let parts: [&[u8]; 2] = [&head, &data];
            windfall_wire_link::hdlc::encode_frame(&parts, HdlcCheck::Fcs16, Accm::ALL, &mut line);
            let now = pair.now;
            pair.ends[0].handle_line(now, &line);
            pair.run(1, |bytes| prop_size(bytes.len()));
        }
    }
}

/// An end says a bounded number of bytes to one frame.
fn prop_size(len: usize) {
    assert!(len < 4_000, "{len} bytes");
}
