use core::num::NonZeroU8;

use proptest::prelude::*;
use windfall_base::{Check, Class, Duration, PacketEventKind, Seed, Stream, Tag};
use windfall_wire_link::check::header_check;
use windfall_wire_link::coded::{BLOCK, HEADER_PARITY};
use windfall_wire_link::pipe::HeaderBytes;

use super::super::tests::false_stream;
use super::*;
use crate::pipe::{Pipe, PipeConfig};
use crate::policy::PolicyKind;
use crate::window::Window;

fn config(policy: PolicyKind) -> PipeConfig {
    let cost = Cost { per_frame: Duration::from_micros(5), per_byte: Duration::from_nanos(800) };
    let coding = Some(Coding { policy: policy.into(), padded: false, cost });
    PipeConfig { arq: Arq::Persistent, coding, ..PipeConfig::default() }
}

fn packets(count: u64) -> Vec<Frame> {
    let packet = |number: u64| {
        let mut stream = Stream::new(Seed(number), "packet");
        let len = 20 + number as usize * 397 % 1_900;
        let bytes: Vec<u8> = (0..len).map(|_| stream.bits() as u8).collect();
        Frame { tag: Some(Tag(number)), ..Frame::packet(bytes) }
    };
    (0..count).map(packet).collect()
}

/// Two ends of a pipe, and what came out at the second.
struct Pair {
    ends: [Pipe; 2],
    delivered: Vec<Frame>,
    /// Bytes of blocks that the first sent.
    bytes: usize,
    now: Instant,
}

impl Pair {
    fn new(config: PipeConfig) -> Self {
        let ends = [Pipe::new(config.clone()), Pipe::new(config)];
        Self { ends, delivered: Vec::new(), bytes: 0, now: Instant::START }
    }

    /// Sends until nothing happens any more or `steps` have passed. The air may change a frame from
    /// the end of the given number, and says whether it arrives.
    fn run(
        &mut self,
        packets: Vec<Frame>,
        steps: u32,
        mut air: impl FnMut(usize, &mut Frame) -> bool,
    ) {
        let mut waiting = packets.into_iter();
        for _ in 0..steps {
            let mut idle = true;
            for from in 0..2 {
                // A few frames are on their way before an answer comes.
                for _ in 0..4 {
                    let pull = || if from == 0 { waiting.next().map(Pulled::from) } else { None };
                    let Some(mut frame) = self.ends[from].poll_transmit(self.now, pull) else {
                        break;
                    };
                    idle = false;
                    self.bytes += if from == 0 { frame.payload.len() } else { 0 };
                    if air(from, &mut frame) {
                        self.ends[1 - from].handle_frame(self.now, frame);
                    }
                }
            }
            let delivery = || self.ends[1].poll_delivery();
            self.delivered.extend(core::iter::from_fn(delivery));
            let wakeups = self.ends.iter().filter_map(Pipe::poll_timeout).map(|(at, _)| at);
            match wakeups.min() {
                Some(at) if idle => self.now = self.now.max(at),
                None if idle => break,
                _ => self.now += Duration::from_micros(100),
            }
            let now = self.now;
            self.ends.iter_mut().for_each(|end| end.handle_timeout(now));
        }
    }

    fn dropped(&mut self) -> Vec<DropReason> {
        let events = core::iter::from_fn(|| self.ends[0].poll_event());
        events.filter_map(|event| event.drop_reason()).collect()
    }
}

fn assert_same(delivered: &[Frame], sent: &[Frame]) {
    assert_eq!(delivered.len(), sent.len());
    for (delivered, sent) in delivered.iter().zip(sent) {
        assert_eq!(delivered.tag, sent.tag);
        assert!(delivered.payload.to_bytes() == sent.payload.to_bytes());
        assert_eq!(delivered.damage.frame, Check::Good);
    }
}

#[test]
fn packets_arrive_in_order_under_every_policy() {
    for kind in PolicyKind::ALL {
        let mut pair = Pair::new(config(kind));
        pair.run(packets(40), 1_000, |_, _| true);
        assert_same(&pair.delivered, &packets(40));
        assert_eq!((pair.ends[0].held(), pair.ends[1].held()), (0, 0), "{kind}");
    }
}

#[test]
fn only_failed_blocks_are_repeated() {
    let sent = packets(4).split_off(3);
    let len = sent[0].payload.len();
    let mut first = true;
    let mut pair = Pair::new(config(PolicyKind::Flex));
    pair.run(sent.clone(), 100, |from, frame| {
        if from == 0 && core::mem::take(&mut first) {
            let origin = frame.header.len();
            frame.invert(&(0..40).map(|i| ((origin + 300 + i) * 8) as u32).collect::<Vec<_>>());
        }
        true
    });
    assert_same(&pair.delivered, &sent);
    assert!(pair.bytes < len + 4 + 5 * 2 + 2 * BLOCK, "{} of {len}", pair.bytes);
}

#[test]
fn a_lost_record_costs_no_more_than_the_frame_again() {
    let mut acks = 0;
    let mut pair = Pair::new(config(PolicyKind::Robust));
    pair.run(packets(30), 1_000, |from, frame| {
        if from == 1 {
            acks += 1;
            if acks % 2 == 0 {
                frame.payload = Vec::new().into();
            }
        } else if acks % 3 == 0 {
            let origin = frame.header.len() as u32;
            frame.invert(&(0..90).map(|i| (origin + i) * 8).collect::<Vec<_>>());
        }
        true
    });
    assert_same(&pair.delivered, &packets(30));
}

#[test]
fn a_packet_is_passed_over_after_its_attempts() {
    let arq = Arq::Attempts(NonZeroU8::new(3).unwrap());
    let mut pair = Pair::new(PipeConfig { arq, ..config(PolicyKind::Flex) });
    pair.run(packets(9), 1_000, |from, frame| from == 1 || frame.tag != Some(Tag(4)));
    let mut expected = packets(9);
    expected.remove(4);
    assert_same(&pair.delivered, &expected);
    assert_eq!(pair.dropped(), [DropReason::RetryLimit]);
    assert_eq!((pair.ends[0].held(), pair.ends[1].held()), (0, 0));
}

//= S0.63
#[test]
fn damage_is_handed_up_only_where_it_is_welcome() {
    for welcome in [false, true] {
        let class = Class {
            attempts: NonZeroU8::new(1),
            accept_damaged: Some(welcome),
            ..Class::default()
        };
        let sent: Vec<Frame> =
            packets(6).into_iter().map(|packet| packet.with_class(class)).collect();
        let mut pair = Pair::new(config(PolicyKind::Flex));
        pair.run(sent.clone(), 500, |from, frame| {
            if from == 0 && frame.tag == Some(Tag(3)) {
                let origin = frame.header.len() as u32;
                frame.invert(&(300..340).map(|i| (origin + i) * 8).collect::<Vec<_>>());
            }
            true
        });
        assert_eq!(pair.delivered.len(), if welcome { 6 } else { 5 });
        let bad = pair.delivered.iter().filter(|frame| frame.damage.is_damaged()).count();
        assert_eq!(bad, usize::from(welcome));
    }
}

//= S3.45
#[test]
fn what_cannot_arrive_in_time_gives_way() {
    let mut pair = Pair::new(config(PolicyKind::Best));
    let sent = packets(3);
    let expires = Some(Instant::START + Duration::from_micros(20));
    let mut waiting = sent
        .clone()
        .into_iter()
        .enumerate()
        .map(|(number, frame)| Pulled { frame, expires: expires.filter(|_| number == 1) });
    let first = pair.ends[0].poll_transmit(Instant::START, || waiting.next());
    assert!(first.is_some_and(|frame| frame.tag == Some(Tag(0))));
    let next = pair.ends[0].poll_transmit(Instant::START, || waiting.next());
    assert!(next.is_some_and(|frame| frame.tag == Some(Tag(2))), "packet 1 takes a millisecond");
    assert_eq!(pair.dropped(), [DropReason::Expired]);
}

/// One packet of `len` bytes.
fn long(number: u64, len: usize) -> Frame {
    let bytes: Vec<u8> = (0..len).map(|at| (at * 7 + number as usize) as u8).collect();
    Frame { tag: Some(Tag(number)), ..Frame::packet(bytes) }
}

/// Everything that an end sends of these packets until it waits for a report.
fn burst(end: &mut Pipe, packets: Vec<Frame>) -> Vec<Frame> {
    let mut waiting = packets.into_iter();
    let mut next = || end.poll_transmit(Instant::START, || waiting.next().map(Pulled::from));
    core::iter::from_fn(|| next().filter(|frame| frame.tag.is_some())).collect()
}

/// Brings the reports of the second end to the first.
fn answer(ends: &mut [Pipe; 2]) {
    while let Some(ack) = ends[1].poll_transmit(Instant::START, || None) {
        assert_eq!(ends[0].handle_frame(Instant::START, ack), Arrival::Control);
    }
}

fn spoil(frame: &mut Frame, bytes: core::ops::Range<usize>) {
    let origin = frame.header.len();
    frame.invert(&bytes.map(|byte| ((origin + byte) * 8) as u32).collect::<Vec<_>>());
}

fn reasons(end: &mut Pipe) -> Vec<(DropReason, bool)> {
    let drops = core::iter::from_fn(|| end.poll_event()).filter_map(|event| event.packet_drop());
    drops.map(|drop| (drop.reason, drop.kept)).collect()
}

#[test]
fn a_long_packet_goes_in_frames_without_a_wait_between_them() {
    let mut pair = Pair::new(config(PolicyKind::Flex));
    let frames = burst(&mut pair.ends[0], vec![long(1, 3_000)]);
    let lens: Vec<usize> = frames.iter().map(|frame| frame.payload.len()).collect();
    assert_eq!(lens, [5 * BLOCK, 5 * BLOCK, 3_004 - 10 * 253 + 2 * 2]);
    // While its frames are under way, a report of the first calls for nothing.
    let mut frames = frames.into_iter();
    let mut near = |frame: Option<Frame>| {
        pair.ends[1].handle_frame(Instant::START, frame.unwrap());
        pair.ends[1].poll_transmit(Instant::START, || None)
    };
    assert_eq!(near(frames.next()), None, "the frame that is next says more");
    let _ = near(frames.next());
    let ack = near(frames.next()).expect("the packet is complete");
    assert!(pair.ends[1].poll_delivery().is_some());
    pair.ends[0].handle_frame(Instant::START, ack);
    assert_eq!(pair.ends[0].held(), 0);
}

#[test]
fn what_is_under_way_is_not_sent_again_before_its_fate_is_known() {
    let mut pair = Pair::new(config(PolicyKind::Flex));
    let frames = burst(&mut pair.ends[0], vec![long(0, 100), long(1, 2_000)]);
    let [first, second, third] = frames.try_into().expect("one frame, and two");
    pair.ends[1].handle_frame(Instant::START, first);
    pair.ends[1].handle_frame(Instant::START, second);
    answer(&mut pair.ends);
    assert_eq!(burst(&mut pair.ends[0], vec![]), []);
    pair.ends[1].handle_frame(Instant::START, third);
    answer(&mut pair.ends);
    assert_eq!(pair.ends[0].held(), 0);
}

#[test]
fn an_ack_reports_the_blocks_of_every_transmission_since_the_last() {
    let mut pair = Pair::new(config(PolicyKind::Flex));
    let mut frames = burst(&mut pair.ends[0], (0..4).map(|n| long(n, 1_000)).collect());
    spoil(&mut frames[0], 300..340);
    for frame in frames {
        pair.ends[1].handle_frame(Instant::START, frame);
    }
    answer(&mut pair.ends);
    let again = burst(&mut pair.ends[0], vec![]);
    let lens: Vec<usize> = again.iter().map(|frame| frame.payload.len()).collect();
    assert_eq!(lens, [BLOCK], "the block that failed, and no other");
}

#[test]
fn an_ack_without_records_settles_what_was_taken_whole() {
    // Best would make smaller frames if it took them for lost.
    for kind in [PolicyKind::Flex, PolicyKind::Best] {
        let [with, without] = [true, false].map(|has_records| {
            let mut pair = Pair::new(config(kind));
            pair.run(packets(30), 1_000, |from, frame| {
                if from == 1 && !has_records {
                    frame.payload = Vec::new().into();
                }
                true
            });
            assert_same(&pair.delivered, &packets(30));
            pair.bytes
        });
        assert_eq!(with, without, "{kind}");
    }
}

#[test]
fn a_false_packet_is_sent_again_as_a_whole() {
    let mut pair = Pair::new(config(PolicyKind::Flex));
    let sent = long(1, 2_000);
    let mut frames = burst(&mut pair.ends[0], vec![sent.clone()]);
    assert_eq!(frames.len(), 2);
    // Blocks whose own checks hold, of other bytes: the check of the packet finds it.
    let head = codes::open_header(&frames[1].header).expect("nothing has changed it");
    frames[1].payload = super::super::blocks::write(&head, &false_stream(2_000)).into();
    for frame in frames {
        pair.ends[1].handle_frame(Instant::START, frame);
    }
    answer(&mut pair.ends);
    assert_eq!(pair.ends[0].held(), 1);
    pair.run(vec![], 100, |_, _| true);
    assert_same(&pair.delivered, &[sent]);
    assert_eq!(pair.bytes, 2_004 + 8 * 2, "each byte of it once more");
}

#[test]
fn what_was_begun_of_a_packet_is_dropped_when_its_sender_gives_it_up() {
    let arq = Arq::Attempts(NonZeroU8::MIN);
    let mut pair = Pair::new(PipeConfig { arq, ..config(PolicyKind::Flex) });
    let [mut first, second] =
        burst(&mut pair.ends[0], vec![long(0, 1_000), long(1, 100)]).try_into().unwrap();
    spoil(&mut first, 300..340);
    pair.ends[1].handle_frame(Instant::START, first);
    assert_eq!(pair.ends[1].held(), 1);
    pair.ends[1].handle_frame(Instant::START, second);
    assert_eq!(pair.ends[1].held(), 2, "the second packet waits for the first");
    pair.run(vec![], 100, |_, _| true);
    assert_eq!(pair.delivered.iter().map(|frame| frame.tag).collect::<Vec<_>>(), [Some(Tag(1))]);
    assert_eq!(reasons(&mut pair.ends[1]), [(DropReason::Uncorrectable, true)]);
    assert_eq!((pair.ends[0].held(), pair.ends[1].held()), (0, 0));
}

#[test]
fn a_peer_that_has_restarted_begins_with_packet_zero_and_ends_what_was_begun() {
    let config = config(PolicyKind::Flex);
    let mut pair = Pair::new(config.clone());
    pair.run(packets(3), 100, |_, _| true);
    let [first, _] = burst(&mut pair.ends[0], vec![long(3, 2_000)]).try_into().unwrap();
    pair.ends[1].handle_frame(pair.now, first);
    assert_eq!(pair.ends[1].held(), 1);
    pair.ends[0] = Pipe::new(config);
    pair.ends[1].restart_receiver();
    assert_eq!(pair.ends[1].held(), 0);
    assert_eq!(reasons(&mut pair.ends[1]), [(DropReason::Uncorrectable, true)]);
    pair.delivered.clear();
    pair.run(packets(3), 100, |_, _| true);
    assert_same(&pair.delivered, &packets(3));
}

#[test]
fn what_has_no_room_or_is_there_already_is_refused() {
    let mut pair = Pair::new(config(PolicyKind::Flex));
    let window = Window { packets: 2, bytes: 10_000 };
    pair.ends[1] = Pipe::new(PipeConfig { window, ..config(PolicyKind::Flex) });
    let [first, second, third] =
        burst(&mut pair.ends[0], (0..3).map(|n| long(n, 100)).collect()).try_into().unwrap();
    pair.ends[1].handle_frame(Instant::START, third);
    assert_eq!(reasons(&mut pair.ends[1]), [(DropReason::ReceiveBuffer, true)]);
    for expected in [vec![], vec![(DropReason::Duplicate, true)]] {
        pair.ends[1].handle_frame(Instant::START, second.clone());
        assert_eq!(reasons(&mut pair.ends[1]), expected);
    }
    pair.ends[1].handle_frame(Instant::START, first.clone());
    let delivered = core::iter::from_fn(|| pair.ends[1].poll_delivery()).map(|frame| frame.tag);
    assert_eq!(delivered.collect::<Vec<_>>(), [Some(Tag(0)), Some(Tag(1))]);
    pair.ends[1].handle_frame(Instant::START, first);
    assert_eq!(reasons(&mut pair.ends[1]), [(DropReason::Duplicate, true)]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever the air does to frames and ACKs, packets arrive as they were sent, in order.
    #[test]
    fn everything_arrives_whatever_happens(
        seed: u64,
        policy in 0_usize..5,
        rate in 0.0..0.005_f64,
        loss in 0.0..0.3_f64,
    ) {
        let mut pair = Pair::new(config(PolicyKind::ALL[policy]));
        // Robust corrects the most of those that do not adapt; the rate is one that all survive.
        let rate = if policy == 0 { rate / 20.0 } else { rate / 2.0 };
        let mut air = Stream::new(Seed(seed), "air");
        pair.run(packets(25), 20_000, |_, frame| {
            let bits: Vec<u32> = (0..frame.len() as u32)
                .filter(|_| air.unit() < rate)
                .map(|byte| byte * 8 + 3)
                .collect();
            frame.invert(&bits);
            if air.unit() < 0.1 {
                frame.truncate(air.below(frame.len() as u64) as usize);
            }
            air.unit() > loss
        });
        assert_same(&pair.delivered, &packets(25));
        prop_assert_eq!((pair.ends[0].held(), pair.ends[1].held()), (0, 0));
    }

    /// Whatever calls itself a frame, no packet comes of it that its checks reject.
    #[test]
    fn any_frame_is_taken_without_panic(
        frames in prop::collection::vec(
            (
                prop::collection::vec(any::<u8>(), 0..30),
                prop::collection::vec(any::<u8>(), 0..600),
                any::<bool>(),
            ),
            1..6,
        ),
        accept_damaged: bool,
    ) {
        let code = windfall_fec::ReedSolomon::new(HEADER_PARITY).unwrap();
        let mut end = Pipe::new(PipeConfig { accept_damaged, ..config(PolicyKind::Flex) });
        for (fields, payload, is_sealed) in frames {
            let mut header: HeaderBytes = fields.into_iter().collect();
            if let Some(first) = header.first_mut().filter(|_| is_sealed) {
                *first = 0x60 | *first & 0xf;
                header.extend(header_check(&header.clone()));
                header.extend([0; HEADER_PARITY]);
                code.encode(&mut header).unwrap();
            }
            let mut frame = Frame::packet(payload);
            frame.header = header;
            end.handle_frame(Instant::START, frame);
            let _ = end.poll_transmit(Instant::START, || packets(1).pop().map(Pulled::from));
            while let Some(delivered) = end.poll_delivery() {
                prop_assert!(accept_damaged || delivered.damage.frame == Check::Good);
            }
        }
    }
}

//= S3.18
#[test]
fn only_frames_with_what_was_sent_before_count_as_sent_again() {
    let mut pair = Pair::new(config(PolicyKind::Bold));
    let packet = Frame { tag: Some(Tag(0)), ..Frame::packet(vec![7; 12_000]) };
    let mut frames = 0;
    // Four frames are under way when the loss of the first is known; the others hold new blocks.
    pair.run(vec![packet.clone()], 1_000, |from, _| {
        frames += usize::from(from == 0);
        from == 1 || frames != 1
    });
    assert_same(&pair.delivered, &[packet]);
    let events = core::iter::from_fn(|| pair.ends[0].poll_event());
    let attempts: Vec<u32> = events
        .filter_map(|event| match event.kind {
            PacketEventKind::Sent { attempt, .. } => Some(attempt),
            _ => None,
        })
        .collect();
    assert_eq!(attempts.iter().filter(|attempt| **attempt > 1).count(), 1, "{attempts:?}");
    assert!(attempts.len() > 8, "{attempts:?}");
}
