use windfall_base::{Class, Duration, Ledger, Node as _, Port, RxVector, Seed, Stream};
use windfall_testkit::laws;
use windfall_wire_link::rlp::{RlpControl, RlpFrame};

use super::*;
use crate::interface::{DEVICE, Interface, InterfaceConfig, LinkLayerConfig, MEDIUM};

const SLOT: Duration = Duration::from_millis(20);
/// A block takes 20 ms and the interleaver some 110 ms more.
const ON_THE_WAY: usize = 6;
const RLP: GsmService = GsmService::NonTransparent { n2: 6 };
const MNP: GsmService = GsmService::Modems { compresses: false };
const MNP_5: GsmService = GsmService::Modems { compresses: true };

fn interface(service: GsmService, calls: bool, accept_damaged: bool) -> Interface {
    tunnelled(service, calls, accept_damaged, None)
}

fn tunnelled(
    service: GsmService,
    calls: bool,
    accept_damaged: bool,
    tunnel: Option<GsmTunnel>,
) -> Interface {
    let link = LinkLayerConfig::Gsm(GsmLinkConfig { service, calls, accept_damaged, tunnel });
    Interface::new(InterfaceConfig { link, ..InterfaceConfig::default() }, Seed(1), "gsm")
}

fn packet(tag: u64, len: usize) -> Frame {
    Frame { tag: Some(Tag(tag)), ..Frame::packet(vec![0x45; len]) }
}

/// Two ends, and what is on its way from each.
struct Circuit {
    ends: [Interface; 2],
    flying: [VecDeque<Frame>; 2],
    now: Instant,
    delivered: Vec<(u64, Frame)>,
}

impl Circuit {
    fn new(service: GsmService, accept_damaged: bool) -> Self {
        let ends = [true, false].map(|calls| interface(service, calls, accept_damaged));
        Self { ends, flying: Default::default(), now: Instant::START, delivered: Vec::new() }
    }

    fn send(&mut self, frame: Frame) {
        let input = Input::Frame(frame, RxVector::wired(self.now));
        self.ends[0].handle_input(self.now, DEVICE, input);
    }

    /// Runs for some slots; `damage` changes blocks of the first end.
    fn run(&mut self, slots: u64, mut damage: impl FnMut(u64, &mut Frame)) {
        for slot in 0..slots {
            for place in 0..2 {
                while let Some((port, outgoing)) = self.ends[place].poll_transmit(self.now) {
                    if port == DEVICE {
                        let millis = self.now.as_nanos() / 1_000_000;
                        self.delivered.push((millis, outgoing.frame));
                        continue;
                    }
                    let mut frame = outgoing.frame;
                    if place == 0 {
                        damage(slot, &mut frame);
                    }
                    self.flying[place].push_back(frame);
                }
            }
            self.now += SLOT;
            for place in 0..2 {
                self.ends[place].handle_input(self.now, MEDIUM, Input::TransmissionDone);
                if self.flying[place].len() > ON_THE_WAY {
                    let frame = self.flying[place].pop_front().expect("there are some");
                    let input = Input::Frame(frame, RxVector::wired(self.now));
                    self.ends[1 - place].handle_input(self.now, MEDIUM, input);
                }
            }
        }
    }

    fn tags(&self) -> Vec<u64> {
        self.delivered.iter().filter_map(|(_, frame)| Some(frame.tag?.0)).collect()
    }

    fn ledgers(&self) -> [Ledger; 2] {
        [self.ends[0].ledger(), self.ends[1].ledger()]
    }
}

//= S1.13
//= S1.21
#[test]
fn packets_cross_either_service_as_they_were_and_in_order() {
    for service in [GsmService::Transparent, RLP, MNP, MNP_5] {
        let mut circuit = Circuit::new(service, false);
        for (tag, len) in [(1, 40), (2, 1_500), (3, 1), (4, 20), (5, 2), (6, 3), (7, 600)] {
            circuit.send(packet(tag, len));
        }
        circuit.run(200, |_, _| {});
        assert_eq!(circuit.tags(), [1, 2, 3, 4, 5, 6, 7], "{service:?}");
        for (_, frame) in &circuit.delivered {
            assert_eq!(frame.payload.to_bytes(), vec![0x45; frame.payload.len()]);
            assert_eq!(frame.damage.frame, Check::Good);
        }
        let [near, far] = circuit.ledgers();
        assert!(near.balances() && far.balances(), "{near:?} {far:?}");
        assert_eq!((near.held, far.held, near.drops.total()), (0, 0, 0));
        assert_eq!((near.given, far.given), (7, 7));
    }
}

//= S1.14
//= S1.66
#[test]
fn the_line_empties_at_960_bytes_a_second_or_at_1200() {
    for (service, rate) in [(GsmService::Transparent, 960.0), (RLP, 1_200.0)] {
        let mut circuit = Circuit::new(service, false);
        circuit.run(100, |_, _| {});
        // The size of the paper's socket buffer, in packets without bytes that need escapes.
        for tag in 0..16 {
            circuit.send(packet(tag, 512 - 8));
        }
        let start = circuit.now.as_nanos() / 1_000_000;
        circuit.run(600, |_, _| {});
        let (last, _) = circuit.delivered.last().expect("they arrive");
        let seconds = (last - start) as f64 / 1e3;
        assert_eq!(circuit.delivered.len(), 16);
        let due = 8_192.0 / rate;
        // Two slots of rounding and the way; RLP acknowledges in frames that carry data too.
        assert!((due - 0.05..due + 0.4).contains(&seconds), "{service:?}: {seconds} {due}");
    }
}

//= S1.12
//= S1.22
#[test]
fn damage_goes_through_ppp_lite_and_is_dropped_or_repeated_otherwise() {
    // Bits in the middle of a packet of some eight blocks, of the characters of the payload.
    let damage = |slot: u64, frame: &mut Frame| {
        if slot == 203 {
            frame.invert(&[21, 22]);
        }
    };
    let run = |service, accept_damaged| {
        let mut circuit = Circuit::new(service, accept_damaged);
        circuit.run(200, |_, _| {});
        circuit.send(packet(1, 150));
        circuit.send(packet(2, 150));
        let mut slots = 200;
        circuit.run(300, |_, frame| {
            damage(slots, frame);
            slots += 1;
        });
        let [near, far] = circuit.ledgers();
        assert!(near.balances() && far.balances(), "{near:?} {far:?}");
        let repeated = circuit.ends[0].counters().packets.retransmissions;
        (circuit.tags(), circuit.delivered.clone(), far.drops, repeated)
    };
    let (tags, delivered, ..) = run(GsmService::Transparent, true);
    assert_eq!(tags, [1, 2]);
    let (_, first) = &delivered[0];
    assert_eq!((first.damage.frame, first.payload.len()), (Check::Bad, 150));
    assert_ne!(first.payload.to_bytes(), vec![0x45; 150]);
    let (tags, _, drops, _) = run(GsmService::Transparent, false);
    assert_eq!(tags, [2]);
    assert_eq!(drops.iter().collect::<Vec<_>>(), [(DropReason::FrameCheck, 1)]);
    // RLP, error control of modems, and compression with it: drops negate best effort.
    let modems = [false, true].map(|compresses| GsmService::Modems { compresses });
    for service in [RLP, modems[0], modems[1]] {
        let (tags, delivered, drops, _) = run(service, true);
        assert_eq!(tags, [1, 2], "{service:?}");
        assert!(delivered.iter().all(|(_, frame)| frame.damage.frame == Check::Good));
        assert_eq!(drops.total(), 0);
    }
}

/// The queues of two flows change the order of their packets, and so that of their tags.
#[test]
fn packets_of_several_flows_keep_their_tags_and_lifetimes() {
    let lifetime = Duration::from_millis(600);
    let class = Class { lifetime: Some(lifetime), ..Class::NONE };
    let tags = [20, 0, 21, 1, 22, 2, 23, 3, 24, 4];
    for service in [GsmService::Transparent, RLP, MNP] {
        let mut circuit = Circuit::new(service, false);
        circuit.run(100, |_, _| {});
        let start = circuit.now;
        for tag in tags {
            circuit.send(packet(tag, 20 + tag as usize).with_class(class));
        }
        // Five blocks are damaged, so that what is behind them waits for retransmissions.
        circuit.run(500, |slot, frame| {
            if (14..19).contains(&slot) {
                frame.invert(&[0, 17, 99, 140, 200]);
            }
        });
        let found = circuit.tags();
        let mut order = tags.iter().filter(|tag| found.contains(tag));
        assert!(found.iter().eq(&mut order), "{service:?}: {found:?}");
        let end = (start + lifetime).as_nanos() / 1_000_000;
        for (at, frame) in &circuit.delivered {
            let tag = frame.tag.expect("each has one");
            assert_eq!(frame.payload.len(), 20 + tag.0 as usize, "{service:?}: {tag:?}");
            assert!(*at <= end, "{service:?}: {tag:?} at {at} of {end}");
        }
        let late = circuit.ledgers()[1].drops.of(DropReason::Late);
        assert_eq!(late > 0, service != GsmService::Transparent, "{service:?}: {late}");
    }
}

//= S1.16
#[test]
fn a_peer_that_falls_silent_costs_what_was_not_acknowledged() {
    let mut circuit = Circuit::new(RLP, false);
    circuit.run(100, |_, _| {});
    circuit.send(packet(1, 100));
    circuit.send(packet(2, 100));
    // Nothing that can be read comes from the first end for half a minute.
    circuit.run(1_500, |_, frame| frame.invert(&[0, 17, 99]));
    let [near, far] = circuit.ledgers();
    assert!(near.balances() && far.balances(), "{near:?} {far:?}");
    assert_eq!(near.drops.iter().collect::<Vec<_>>(), [(DropReason::RetryLimit, 2)]);
    // The link comes up again.
    circuit.send(packet(3, 100));
    circuit.run(500, |_, _| {});
    assert_eq!(circuit.tags(), [3]);
}

//= S1.12
/// A packet is delivered under its own tag or dropped, and never both, whichever bit of its last
/// block is damaged: that of the flag behind it too.
#[test]
fn any_damage_to_a_last_block_costs_a_packet_once() {
    for accept_damaged in [false, true] {
        for bit in 0..240 {
            let mut circuit = Circuit::new(GsmService::Transparent, accept_damaged);
            circuit.send(packet(1, 40));
            circuit.send(packet(2, 40));
            circuit.run(40, |_, frame| {
                if frame.tag == Some(Tag(1)) {
                    frame.invert(&[bit]);
                }
            });
            // Its first flag ends what is still open.
            circuit.send(packet(3, 40));
            circuit.run(20, |_, _| {});
            let tags = circuit.tags();
            assert_eq!(tags.len(), circuit.delivered.len(), "{bit}: each has a tag");
            assert!(tags.is_sorted_by(|one, next| one < next), "{bit}: {tags:?}");
            let [near, far] = circuit.ledgers();
            assert!(near.balances() && far.balances(), "{near:?} {far:?}");
            assert_eq!(tags.len() as u64 + far.drops.total(), 3, "{bit}: {far:?}");
        }
    }
}

//= S1.12
/// Bytes that one inverted bit makes a flag: the piece before it goes up under the tag of its
/// packet, once the packet has ended, and nothing goes up without one.
#[test]
fn the_piece_before_a_false_flag_is_counted_as_its_packet() {
    let mut pieces = 0;
    for bit in 0..240 {
        let mut circuit = Circuit::new(GsmService::Transparent, true);
        for tag in 1..=3 {
            let mut bytes = vec![0x7f; 60];
            bytes[0] = 0x45;
            circuit.send(Frame { tag: Some(Tag(tag)), ..Frame::packet(bytes) });
        }
        circuit.run(60, |slot, frame| {
            if slot == 5 {
                frame.invert(&[bit]);
            }
        });
        let tags = circuit.tags();
        assert_eq!(tags.len(), circuit.delivered.len(), "{bit}: each has a tag");
        assert!(tags.is_sorted_by(|one, next| one < next), "{bit}: {tags:?}");
        pieces += circuit.delivered.iter().filter(|(_, frame)| frame.len() < 60).count();
        let [near, far] = circuit.ledgers();
        assert!(near.balances() && far.balances(), "{near:?} {far:?}");
        let given = (tags.len() as u64, far.given);
        assert_eq!((given.0, given.0 + far.drops.total()), (given.1, 3), "{bit}: {far:?}");
    }
    assert!(pieces > 5, "{pieces}");
}

//= S1.21
//= S1.28
/// Blocks are damaged at random: modems repeat, and each packet arrives once, under its tag.
#[test]
fn modems_that_correct_errors_lose_nothing() {
    for service in [MNP, MNP_5] {
        let mut circuit = Circuit::new(service, false);
        for tag in 0..40 {
            let byte = |at: u64| if at == 0 { 0x45 } else { (at ^ tag) as u8 };
            let bytes: Vec<u8> = (0..150).map(byte).collect();
            circuit.send(Frame { tag: Some(Tag(tag)), ..Frame::packet(bytes) });
        }
        let stream = Stream::new(Seed(1), "blocks");
        circuit.run(2_500, |slot, frame| {
            if stream.at(slot).below(30) == 0 {
                frame.invert(&[50, 51, 120]);
            }
        });
        assert_eq!(circuit.tags(), (0..40).collect::<Vec<_>>(), "{service:?}");
        for (tag, (_, frame)) in (0_u64..).zip(&circuit.delivered) {
            let bytes = frame.payload.to_bytes();
            assert!((1..150).all(|at| bytes[at as usize] == (at ^ tag) as u8), "{tag}");
        }
        let [near, far] = circuit.ledgers();
        assert!(near.balances() && far.balances(), "{near:?} {far:?}");
        assert_eq!((near.given, near.held, far.drops.total()), (40, 0, 0), "{near:?}");
    }
}

/// Modems that get nothing through hang up after twelve attempts, and then drop what comes.
#[test]
fn modems_hang_up_where_nothing_comes_through() {
    let mut circuit = Circuit::new(MNP, false);
    (0..3).for_each(|tag| circuit.send(packet(tag, 100)));
    circuit.run(2_000, |_, frame| frame.invert(&(0..240).step_by(3).collect::<Vec<_>>()));
    circuit.send(packet(3, 100));
    circuit.run(10, |_, _| {});
    let [near, far] = circuit.ledgers();
    assert!(near.balances() && far.balances(), "{near:?} {far:?}");
    assert_eq!(near.drops.of(DropReason::RetryLimit), 4, "{near:?}");
    assert_eq!((near.held, circuit.delivered.len()), (0, 0));
}

//= S1.16
/// A reset is told of once: each packet is delivered under its own tag, or dropped by
/// its sender, and never both.
#[test]
fn a_frame_that_never_arrives_costs_each_packet_begun_once() {
    let mut circuit = Circuit::new(RLP, false);
    circuit.run(100, |_, _| {});
    for tag in 0..100 {
        circuit.send(packet(tag, 40));
    }
    // The fourth frame and its six retransmissions; those behind it arrive and wait for it.
    let mut left = 7;
    circuit.run(1_000, |_, frame| {
        let octets = frame.to_vec().into_iter().map(u8::reverse_bits).collect::<Vec<_>>();
        let control = RlpFrame::parse(&octets).map(|frame| frame.control);
        if matches!(control, Ok(RlpControl::Information { ns: 3, .. })) && left > 0 {
            left -= 1;
            frame.invert(&[0, 17, 99]);
        }
    });
    let [near, far] = circuit.ledgers();
    assert!(near.balances() && far.balances(), "{near:?} {far:?}");
    let tags = circuit.tags();
    assert_eq!(tags.len(), circuit.delivered.len(), "each has a tag");
    assert!(tags.is_sorted_by(|one, next| one < next), "{tags:?}");
    let lost = near.drops.total();
    assert!((1..50).contains(&lost), "{near:?}");
    assert_eq!((tags.len() as u64 + lost, far.drops.total()), (100, 0), "{far:?}");
}

/// A circuit under the laws, with blocks of another at the far end of its medium.
fn lawful(service: GsmService, accept_damaged: bool, tunnel: Option<GsmTunnel>) {
    let build = move |_| tunnelled(service, true, accept_damaged, tunnel);
    let input = move |stream: &mut Stream, now: Instant| -> (Port, Input) {
        let mut peer = interface(service, false, accept_damaged);
        for tag in 0..=stream.below(3) {
            let input = packet(tag, 1 + stream.below(100) as usize);
            peer.handle_input(now, DEVICE, Input::Frame(input, RxVector::wired(now)));
        }
        let mut block = Frame::default();
        for _ in 0..=stream.below(8) {
            if let Some((_, outgoing)) = peer.poll_transmit(now) {
                block = outgoing.frame;
            }
            peer.handle_input(now, MEDIUM, Input::TransmissionDone);
        }
        let frame = |frame| Input::Frame(frame, RxVector::wired(now));
        match stream.below(6) {
            0 => (DEVICE, frame(packet(stream.below(100), stream.below(200) as usize))),
            1 | 2 => (MEDIUM, Input::TransmissionDone),
            3 => {
                block.invert(&[stream.below(240) as u32, stream.below(240) as u32]);
                (MEDIUM, frame(block))
            }
            4 => {
                block.truncate(stream.below(31) as usize);
                (MEDIUM, frame(block))
            }
            _ => (MEDIUM, frame(block)),
        }
    };
    laws::check(laws::Subject::new(2, build).input(input).ledger(Interface::ledger));
}

#[test]
fn the_laws_hold_on_a_circuit() {
    lawful(GsmService::Transparent, false, None);
    lawful(GsmService::Transparent, true, None);
    lawful(RLP, false, None);
    lawful(MNP, false, None);
    lawful(MNP_5, false, None);
    lawful(RLP, false, Some(GsmTunnel { depth: 2, skew: -3_000 }));
}
