use core::num::NonZeroU8;

use core::net::Ipv4Addr;

use windfall_base::frame::Tag;
use windfall_base::{
    Check, Class, Duration, FlowId, PacketEvent, PacketEventKind, Probability, Rate, RxVector,
    SlotTiming, Stream,
};
use windfall_link::policy::{Cost, PolicyKind};
use windfall_link::{Arq, Coding};
use windfall_queue::FlowConfig;
use windfall_testkit::laws;
use windfall_testkit::pair::{Pair, Side, Wire};
use windfall_wire_net::{Ipv4Repr, Protocol};

use super::*;
use crate::event::InterfaceEvent;

fn packet(tag: u64, len: usize) -> Input {
    let frame = Frame { tag: Some(Tag(tag)), ..Frame::packet(vec![0x45; len]) };
    Input::Frame(frame, RxVector::wired(Instant::START))
}

fn observed(config: InterfaceConfig) -> Interface {
    Interface::new(InterfaceConfig { observe: true, ..config }, Seed(1), "near")
}

/// Moves one frame from `a` to `b` across a perfect medium; whether there was one.
fn step(now: Instant, a: &mut Interface, b: &mut Interface) -> Option<Frame> {
    while let Some((port, outgoing)) = a.poll_transmit(now) {
        if port == DEVICE {
            return Some(outgoing.frame);
        }
        a.handle_input(now, MEDIUM, Input::TransmissionDone);
        b.handle_input(now, MEDIUM, Input::Frame(outgoing.frame, RxVector::wired(now)));
    }
    None
}

/// The kinds of an interface's packet events, in order.
fn kinds(interface: &mut Interface) -> Vec<PacketEventKind> {
    packet_events(interface).into_iter().map(|event| event.kind).collect()
}

fn packet_events(interface: &mut Interface) -> Vec<PacketEvent> {
    let events = core::iter::from_fn(|| interface.poll_event());
    let of_packet = |event| match event {
        InterfaceEvent::Packet(event) => Some(event),
        _ => None,
    };
    events.filter_map(of_packet).collect()
}

#[test]
fn a_packet_crosses_a_plain_pipe_as_it_was() {
    let now = Instant::START;
    let mut near = observed(InterfaceConfig::default());
    let mut far = observed(InterfaceConfig::default());
    near.handle_input(now, DEVICE, packet(7, 1_500));
    assert!(step(now, &mut near, &mut far).is_none());
    let frame = step(now, &mut far, &mut near).expect("it arrives");
    assert_eq!(frame.to_vec(), vec![0x45; 1_500]);
    assert_eq!((frame.tag, frame.damage.frame), (Some(Tag(7)), Check::Good));
    assert!(near.ledger().balances() && far.ledger().balances());
    assert!(matches!(
        kinds(&mut near)[..],
        [
            PacketEventKind::Queued { queue: 1, .. },
            PacketEventKind::Sent { attempt: 1, kept: false, .. }
        ]
    ));
    let delivered = PacketEventKind::Delivered { len: 1_500, damage: None };
    assert_eq!(kinds(&mut far), [delivered]);
}

//= S0.5
#[test]
fn each_place_that_discards_has_its_own_reason() {
    let now = Instant::START;
    let limits = Limits { packets: 1, bytes: 10_000, ..Limits::default() };
    let mut near = observed(InterfaceConfig { queue: limits, ..InterfaceConfig::default() });
    near.handle_input(now, DEVICE, packet(1, 1_501));
    near.handle_input(now, DEVICE, packet(2, 100));
    near.handle_input(now, DEVICE, packet(3, 100));
    let ledger = near.ledger();
    assert!(ledger.balances());
    let reasons: Vec<_> = ledger.drops.iter().collect();
    assert_eq!(reasons, [(DropReason::QueueFull, 1), (DropReason::TooBig, 1)]);
    assert_eq!((ledger.taken, ledger.held), (3, 1));
}

/// The ECN fields of a second's packets as they leave a queue that marks at two.
fn fields_that_leave(flows: Vec<ScheduledFlow>) -> (Vec<u8>, Interface) {
    let now = Instant::START;
    let queue = Limits { packets: 5, mark: 2, ..Limits::default() };
    let mut near = observed(InterfaceConfig { queue, flows, ..InterfaceConfig::default() });
    // The third finds two waiting, the fourth says that it does not understand marks.
    for (tag, class) in [2, 1, 2, 0, 1, 2].into_iter().enumerate() {
        near.handle_input(now, DEVICE, of_class(tag as u64, class));
    }
    let left = core::iter::from_fn(|| {
        let frame = near.poll_transmit(now)?.1.frame;
        near.handle_input(now, MEDIUM, Input::TransmissionDone);
        Some(frame.payload.to_bytes()[1])
    });
    (left.collect(), near)
}

#[test]
fn packets_that_join_a_long_queue_are_marked_and_none_is_dropped_for_it() {
    let share = FlowConfig { weight: 1.0, power_factor: 1.2, reserved: false };
    let scheduled = vec![ScheduledFlow { flow: FlowId(1), share, reserve: None }];
    for flows in [Vec::new(), scheduled] {
        let (fields, mut near) = fields_that_leave(flows);
        assert_eq!(fields, [2, 1, 3, 0, 3]);
        assert_eq!(near.counters().packets.marked, 2);
        let reasons: Vec<_> = near.ledger().drops.iter().collect();
        assert_eq!(reasons, [(DropReason::QueueFull, 1)], "the sixth finds no room");
        let marked = packet_events(&mut near)
            .into_iter()
            .filter(|event| event.kind == PacketEventKind::Marked)
            .filter_map(|event| event.tag.map(|tag| tag.0))
            .collect::<Vec<_>>();
        assert_eq!(marked, [2, 4]);
    }
}

#[test]
fn a_frame_that_the_medium_marked_brings_its_packet_marked() {
    let now = Instant::START;
    for (class, expected) in [
        (0, Congestion::Unmarkable),
        (1, Congestion::Markable),
        (2, Congestion::Markable),
        (3, Congestion::Markable),
    ] {
        let [mut near, mut far] = core::array::from_fn(|_| observed(InterfaceConfig::default()));
        near.handle_input(now, DEVICE, of_class(1, class));
        let mut frame = near.poll_transmit(now).expect("the packet").1.frame;
        assert_eq!(frame.congestion, expected, "{class}");
        frame.congestion = Congestion::Marked;
        far.handle_input(now, MEDIUM, Input::Frame(frame, RxVector::wired(now)));
        let bytes = far.poll_transmit(now).expect("the packet").1.frame.payload.to_bytes();
        let marked = u64::from(matches!(class, 1 | 2));
        assert_eq!(bytes[1], if class == 0 { 0 } else { 3 }, "{class}");
        assert_eq!(far.counters().packets.marked, marked, "{class}");
        let events = kinds(&mut far);
        let marks = events.iter().filter(|kind| **kind == PacketEventKind::Marked).count();
        assert_eq!(marks as u64, marked, "{class}");
    }
}

/// A packet of this name from the device, of this traffic class.
fn of_class(tag: u64, class: u8) -> Input {
    let mut repr =
        Ipv4Repr::new(Ipv4Addr::LOCALHOST, Ipv4Addr::LOCALHOST, Protocol::UDP, 0).expect("fits");
    repr.tos = class;
    let mut bytes = vec![0; 20];
    repr.emit(&mut bytes);
    let frame = Frame { tag: Some(Tag(tag)), ..Frame::packet(bytes) };
    Input::Frame(frame, RxVector::wired(Instant::START))
}

/// A pipe interface under the laws, with another one at the far end of its medium.
fn lawful(arq: Arq, accept_damaged: bool, policy: Option<PolicyKind>) {
    let cost = Cost { per_frame: Duration::from_nanos(60), per_byte: Duration::from_nanos(1) };
    let coding = policy.map(|policy| Coding { policy: policy.into(), padded: false, cost });
    for combine in [false, true] {
        let coding = coding.clone();
        let link = PipeConfig { arq, accept_damaged, combine, coding, ..PipeConfig::default() };
        lawful_with(&link, RepairsConfig::default());
        if combine && link.coding.is_none() {
            lawful_with(&PipeConfig { increments: true, ..link }, RepairsConfig::default());
        }
    }
}

fn lawful_with(link: &PipeConfig, repairs: RepairsConfig) {
    let build = move |seed| {
        let rules = vec![Rule::approximate()];
        let link = LinkLayerConfig::Pipe(link.clone());
        let config = InterfaceConfig { link, rules, repairs, ..InterfaceConfig::default() };
        Interface::new(config, seed, "subject")
    };
    // Frames that a peer could have sent: its own, sometimes damaged.
    let input = move |stream: &mut Stream, now: Instant| {
        let mut peer = build(Seed(stream.below(4)));
        for n in 0..=stream.below(3) {
            peer.handle_input(now, DEVICE, packet(n, 40 + stream.below(1_500) as usize));
        }
        let Some((_, Outgoing { mut frame, .. })) = peer.poll_transmit(now) else {
            return (MEDIUM, Input::TransmissionDone);
        };
        match stream.below(6) {
            0 => (DEVICE, packet(stream.below(100), 40 + stream.below(1_500) as usize)),
            1 => (MEDIUM, Input::TransmissionDone),
            2 => {
                frame.invert(&[stream.below(frame.len() as u64 * 8) as u32]);
                (MEDIUM, Input::Frame(frame, RxVector::wired(now)))
            }
            3 => {
                frame.truncate(stream.below(frame.len() as u64) as usize);
                (MEDIUM, Input::Frame(frame, RxVector::wired(now)))
            }
            _ => (MEDIUM, Input::Frame(frame, RxVector::wired(now))),
        }
    };
    let subject = laws::Subject::new(2, build).input(input).ledger(Interface::ledger);
    laws::check(subject);
}

#[test]
fn the_laws_hold_on_a_pipe() {
    lawful(Arq::None, false, None);
    lawful(Arq::Persistent, false, None);
    lawful(Arq::Attempts(NonZeroU8::MIN.saturating_add(2)), true, None);
}

#[test]
fn the_laws_hold_on_a_pipe_with_coded_frames() {
    lawful(Arq::Persistent, false, Some(PolicyKind::Flex));
    lawful(Arq::None, false, Some(PolicyKind::Robust));
    lawful(Arq::Attempts(NonZeroU8::MIN.saturating_add(2)), true, Some(PolicyKind::Best));
}

#[test]
fn the_laws_hold_under_a_code_across_packets() {
    for (code, arq) in [("3/5:2ms", Arq::None), ("window:4:50%:1ms", Arq::after(1))] {
        let code = code.parse().ok();
        let link = PipeConfig { arq, accept_damaged: true, ..PipeConfig::default() };
        for (accept_damaged, by_destination) in [(true, false), (false, true)] {
            let repairs =
                RepairsConfig { send: code, receive: code, accept_damaged, by_destination };
            lawful_with(&link, repairs);
        }
    }
}

#[test]
fn a_lost_packet_is_made_from_a_repair_and_keeps_its_name() {
    let now = Instant::START;
    let code = "4/6".parse().ok();
    let repairs = RepairsConfig { send: code, receive: code, ..RepairsConfig::default() };
    let link = LinkLayerConfig::Pipe(PipeConfig { accept_damaged: true, ..PipeConfig::default() });
    let config = InterfaceConfig { repairs, link, ..InterfaceConfig::default() };
    let mut near = observed(config.clone());
    let mut far = observed(config);
    (0..4).for_each(|tag| near.handle_input(now, DEVICE, packet(tag, 300)));
    let mut sent = 0;
    while let Some((MEDIUM, outgoing)) = near.poll_transmit(now) {
        near.handle_input(now, MEDIUM, Input::TransmissionDone);
        sent += 1;
        if sent == 2 || sent == 5 {
            continue;
        }
        far.handle_input(now, MEDIUM, Input::Frame(outgoing.frame, RxVector::wired(now)));
    }
    let frames = core::iter::from_fn(|| far.poll_transmit(now));
    let arrived: Vec<_> = frames.map(|(_, it)| (it.frame.tag, it.frame.len())).collect();
    assert_eq!(arrived, (0..4).map(|tag| (Some(Tag(tag)), 300)).collect::<Vec<_>>());
    assert_eq!((sent, far.counters().packets.repaired), (6, 1));
    assert!(near.ledger().balances() && far.ledger().balances());
    assert_eq!((near.ledger().taken, far.ledger().taken), (6, 5));
}

/// The packets that leave in time of 400 of 1000 bytes, one each `every` ms or several at once as
/// rarely, with this lifetime, on a pipe that takes a byte in 10 µs; and the frames without a
/// packet. They leave in slots with this gap and room for this number of them, if there are any.
fn in_time_beside_repairs(
    code: Option<&str>,
    flows: Vec<ScheduledFlow>,
    known: bool,
    (burst, lifetime): (u64, Duration),
    every: u64,
    slots: Option<(Duration, u64)>,
) -> [usize; 2] {
    let send = code.map(|code| code.parse().expect("a code"));
    let repairs = RepairsConfig { send, ..RepairsConfig::default() };
    let flow = flows.first().map_or(FlowId(0), |it| it.flow);
    let rules = vec![Rule {
        class: Class { lifetime: Some(lifetime), flow, ..Class::NONE },
        ..Rule::default()
    }];
    let mut near =
        observed(InterfaceConfig { repairs, rules, flows, ..InterfaceConfig::default() });
    if known {
        near.set_passage(TransitTiming {
            rate: Rate::from_bps(800_000),
            slots: slots.map(|(gap, room)| SlotTiming {
                wait: gap,
                per_frame: gap / room,
                per_byte: Duration::ZERO,
            }),
            ..TransitTiming::default()
        });
    }
    let mut busy = None::<Instant>;
    let mut counts = [0, 0];
    let mut slot = Instant::START;
    let mut left = 0;
    for step in 0..4_000 * every + 2_000 {
        let now = Instant::START + Duration::from_micros(100) * step;
        near.handle_timeout(now);
        if step % (burst * 10 * every) == 0 && step < 4_000 * every {
            let first = step / (10 * every);
            (first..first + burst).for_each(|n| near.handle_input(now, DEVICE, packet(n, 1_000)));
        }
        if busy.is_some_and(|until| until <= now) {
            busy = None;
            near.handle_input(now, MEDIUM, Input::TransmissionDone);
        }
        while let Some((MEDIUM, outgoing)) = near.poll_transmit(now) {
            let end = now + Duration::from_micros(10) * outgoing.frame.len() as u64;
            busy = Some(end);
            let end = slots.map_or(end, |(gap, room)| {
                while slot < end || left == 0 {
                    (slot, left) = (slot + gap, room);
                }
                left -= 1;
                slot
            });
            let sent =
                outgoing.frame.tag.map(|Tag(n)| Duration::from_millis(every) * (n / burst * burst));
            match sent {
                Some(sent) if end <= Instant::START + sent + lifetime => {
                    counts[0] += 1;
                }
                Some(_) => {}
                None => counts[1] += 1,
            }
        }
    }
    assert!(near.ledger().balances() && near.ledger().held == 0);
    counts
}

#[test]
fn repairs_give_way_to_packets_whose_lifetime_would_end() {
    let share = FlowConfig { weight: 1.0, power_factor: 1.2, reserved: false };
    let scheduled = vec![ScheduledFlow { flow: FlowId(1), share, reserve: None }];
    for flows in [Vec::new(), scheduled] {
        for known in [true, false] {
            for (burst, lifetime) in [(1, 60), (4, 60), (5, 80), (8, 120)] {
                let traffic = (burst, Duration::from_millis(lifetime));
                let count =
                    |code| in_time_beside_repairs(code, flows.clone(), known, traffic, 12, None);
                assert_eq!(count(None), [400, 0]);
                for code in ["8/12:20ms", "1/2:20ms", "window:32:50%:20ms", "window:8:100%:60ms"] {
                    let [packets, repairs] = count(Some(code));
                    let case = format!("{code}, {burst} at once, {known}: {packets}, {repairs}");
                    assert!(packets >= 390 && repairs >= 5, "{case}");
                }
            }
        }
    }
}

/// Each packet has time for the slot that it would leave in by itself, and hardly for a later one.
#[test]
fn repairs_give_way_to_packets_that_would_miss_their_slot_for_them() {
    let millis = Duration::from_millis;
    for (gap, room, lifetime) in [(30, 1_000, 45), (40, 1_000, 55), (30, 3, 75), (60, 6, 105)] {
        let count = |code| {
            let traffic = (1, millis(lifetime));
            in_time_beside_repairs(code, Vec::new(), true, traffic, 12, Some((millis(gap), room)))
        };
        let [alone, _] = count(None);
        assert!(alone >= 390, "{gap} ms: {alone}");
        for code in ["8/12:20ms", "1/2:20ms", "window:32:50%:20ms", "window:8:100%:60ms"] {
            let [packets, repairs] = count(Some(code));
            let case = format!("{code}, {room} each {gap} ms: {packets} of {alone}, {repairs}");
            assert!(packets + 10 >= alone, "{case}");
        }
    }
    // Where there is time for the slots, repairs go.
    let slots = Some((millis(30), 1_000));
    let [packets, repairs] =
        in_time_beside_repairs(Some("8/12:20ms"), Vec::new(), true, (1, millis(120)), 12, slots);
    assert!(packets >= 390 && repairs >= 60, "{packets}, {repairs}");
    // So they do where they are through before the next packet is expected.
    let slots = Some((millis(40), 1_000));
    let [packets, repairs] =
        in_time_beside_repairs(Some("4/6:20ms"), Vec::new(), true, (1, millis(55)), 30, slots);
    assert!(packets >= 390 && repairs >= 60, "{packets}, {repairs}");
}

//= S3.10
#[test]
fn a_lossy_pipe_with_persistent_repetition_loses_nothing_between_devices() {
    let build = || {
        let link = PipeConfig { arq: Arq::Persistent, ..PipeConfig::default() };
        let config =
            InterfaceConfig { link: LinkLayerConfig::Pipe(link), ..InterfaceConfig::default() };
        observed(config)
    };
    let loss = Probability::new(0.3).expect("a probability");
    let wire = Wire { loss, ..Wire::perfect(Duration::from_millis(3)) };
    let mut pair = Pair::new(build(), build(), (MEDIUM, MEDIUM), wire);
    for tag in 0..200 {
        pair.input(Side::Left, DEVICE, packet(tag, 700));
    }
    pair.run_to_rest(20_000);
    let tags: Vec<_> =
        pair.emitted.iter().filter_map(|emitted| emitted.outgoing.frame.tag).collect();
    assert_eq!(tags, (0..200).map(Tag).collect::<Vec<_>>());
    for interface in [&pair.left, &pair.right] {
        assert!(interface.ledger().balances());
        assert_eq!(interface.ledger().held, 0);
    }
    assert_eq!(pair.left.counters().packets.acknowledged, 200);
}
