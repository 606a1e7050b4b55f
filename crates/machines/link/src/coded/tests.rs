use core::num::NonZeroU8;

use proptest::prelude::*;
use windfall_base::{Check, Class, Duration, PacketDrop, PacketEventKind, Seed, Stream, Tag};
use windfall_wire_link::coded::{BLOCK, HEADER_PARITY, Level, Stretch};

use super::stream::PacketStream;
use super::*;
use crate::policy::PolicyKind;

const COST: Cost =
    Cost { per_frame: Duration::from_micros(900), per_byte: Duration::from_nanos(9_508) };

fn config(policy: PolicyKind) -> CodedConfig {
    CodedConfig {
        policy: policy.into(),
        arq: Arq::Persistent,
        padded: false,
        accept_damaged: false,
        combine: false,
        cost: COST,
    }
}

fn packet(number: u64, len: usize) -> Frame {
    let mut stream = Stream::new(Seed(number), "packet");
    let bytes: Vec<u8> = (0..len).map(|_| stream.bits() as u8).collect();
    Frame { tag: Some(Tag(number)), ..Frame::packet(bytes) }
}

/// Two ends and what they did.
struct Pair {
    sender: Coded,
    receiver: Coded,
    delivered: Vec<Frame>,
    frames: u32,
    /// Bytes of blocks that were sent.
    bytes: usize,
}

impl Pair {
    fn new(config: CodedConfig) -> Self {
        let [sender, receiver] = [Coded::new(config.clone()), Coded::new(config)];
        Self { sender, receiver, delivered: Vec::new(), frames: 0, bytes: 0 }
    }

    /// Sends packets until none is left or `frames` of them were sent. The air may change a unit;
    /// `false` says that it or its ACK does not arrive.
    fn run(
        &mut self,
        packets: Vec<Frame>,
        frames: u32,
        mut air: impl FnMut(&mut Frame) -> (bool, bool),
    ) {
        let mut packets = packets.into_iter();
        for _ in 0..frames {
            let next = || packets.next().map(Pulled::from);
            let Some(mut unit) = self.sender.next_unit(Instant::START, next) else { break };
            self.frames += 1;
            self.bytes += unit.payload.len();
            let (arrives, answered) = air(&mut unit);
            let feedback = if arrives { self.receiver.take_unit(unit).1 } else { None };
            self.delivered.extend(core::iter::from_fn(|| self.receiver.poll_delivery()));
            self.sender.take_outcome(feedback.as_ref().filter(|_| answered));
        }
    }

    fn dropped(&mut self) -> Vec<DropReason> {
        let events = core::iter::from_fn(|| self.sender.poll_event());
        events.filter_map(|event| event.drop_reason()).collect()
    }
}

fn clean(_: &mut Frame) -> (bool, bool) {
    (true, true)
}

/// Inverts all bits of bytes of the payload.
fn spoil(unit: &mut Frame, bytes: impl Iterator<Item = usize>) {
    let origin = unit.header.len();
    let bits: Vec<u32> =
        bytes.flat_map(|byte| (0..8).map(move |bit| ((origin + byte) * 8 + bit) as u32)).collect();
    unit.invert(&bits);
}

#[test]
fn packets_arrive_as_they_were_sent_whatever_their_length() {
    for kind in PolicyKind::ALL {
        for padded in [false, true] {
            let mut pair = Pair::new(CodedConfig { padded, ..config(kind) });
            let lengths = [0, 1, 40, 248, 249, 250, 1_261, 1_262, 1_500, 9_000, 65_531];
            let packets: Vec<Frame> =
                lengths.into_iter().zip(0..).map(|(len, number)| packet(number, len)).collect();
            pair.run(packets.clone(), 10_000, clean);
            assert_eq!(pair.delivered.len(), packets.len());
            for (delivered, sent) in pair.delivered.iter().zip(&packets) {
                assert_eq!(delivered.payload.to_bytes(), sent.payload.to_bytes());
                assert_eq!((delivered.tag, delivered.damage.frame), (sent.tag, Check::Good));
            }
            assert_eq!((pair.sender.held(), pair.receiver.held()), (0, 0));
        }
    }
}

/// Frames and bytes of blocks until ten packets have arrived over air that inverts every bit of a
/// byte with a probability of `rate`.
fn effort(policy: PolicyKind, combine: bool, rate: f64) -> (u32, usize) {
    let mut pair = Pair::new(CodedConfig { combine, ..config(policy) });
    let packets: Vec<Frame> = (0..10).map(|number| packet(number, 1_200)).collect();
    let mut air = Stream::new(Seed(9), "air");
    pair.run(packets.clone(), 3_000, |unit| {
        let wrong: Vec<usize> = (0..unit.payload.len()).filter(|_| air.unit() < rate).collect();
        spoil(unit, wrong.into_iter());
        (true, true)
    });
    assert!(pair.delivered.len() == 10 || !combine, "{policy}: {}", pair.delivered.len());
    for (delivered, sent) in pair.delivered.iter().zip(&packets) {
        assert_eq!(delivered.payload.to_bytes(), sent.payload.to_bytes());
    }
    (pair.frames, pair.bytes)
}

#[test]
fn failed_blocks_are_combined_and_good_ones_of_whole_frames_are_kept() {
    // At these rates most frames of a static policy have a block that fails.
    for (policy, rate) in
        [(PolicyKind::Bold, 3e-3), (PolicyKind::Light, 3e-2), (PolicyKind::Robust, 0.16)]
    {
        let [alone, combined] = [false, true].map(|combine| effort(policy, combine, rate));
        assert!(combined.1 * 10 < alone.1 * 7, "{policy}: {combined:?} instead of {alone:?}");
    }
    for rate in [1e-3, 1e-2, 0.1] {
        for policy in [PolicyKind::Flex, PolicyKind::Best] {
            let [alone, combined] = [false, true].map(|combine| effort(policy, combine, rate));
            assert!(combined.1 <= alone.1, "{policy} at {rate}: {combined:?}, {alone:?}");
        }
    }
}

#[test]
fn a_packet_that_was_begun_is_held_until_its_sender_turns_to_another() {
    let mut pair =
        Pair::new(CodedConfig { arq: Arq::Attempts(NonZeroU8::MIN), ..config(PolicyKind::Bold) });
    let mut frames = 0;
    pair.run(vec![packet(1, 1_000)], 9, |unit| {
        frames += 1;
        spoil(unit, 300..340);
        (true, true)
    });
    assert_eq!((frames, pair.receiver.held(), pair.delivered.len()), (1, 1, 0));
    pair.run(vec![packet(2, 1_000)], 9, clean);
    assert_eq!((pair.receiver.held(), pair.delivered.len()), (0, 1));
    let lost: Vec<_> = core::iter::from_fn(|| pair.receiver.poll_event()).collect();
    let drop = PacketDrop::at_receiver(true, DropReason::Uncorrectable, 1_000);
    assert_eq!(lost, [PacketEvent::dropped(Some(Tag(1)), drop)]);
}

#[test]
fn a_clean_link_carries_packets_uncoded_and_losses_bring_blocks() {
    let mut pair = Pair::new(config(PolicyKind::Best));
    let mut uncoded = 0;
    let mut count = |unit: &Frame| uncoded += usize::from(unit.payload.len() == 1_500 + 4 + 2);
    pair.run((0..9).map(|n| packet(n, 1_500)).collect(), 9, |unit| {
        count(unit);
        (true, true)
    });
    assert_eq!((pair.delivered.len(), uncoded), (9, 9));
    // The first that is damaged is sent again, in blocks; nothing of it is lost.
    let mut first = None;
    pair.run(vec![packet(9, 1_500)], 99, |unit| {
        if first.is_none() {
            spoil(unit, 700..720);
        }
        first.get_or_insert(unit.payload.len());
        (true, true)
    });
    assert_eq!((pair.delivered.len(), first), (10, Some(1_506)));
    assert_eq!(pair.delivered[9].payload.to_bytes(), packet(9, 1_500).payload.to_bytes());
    // A frame that is cut is reported as missing, and repeated.
    pair.run(vec![packet(10, 1_500)], 99, {
        let mut frames = 0;
        move |unit| {
            frames += 1;
            if frames == 1 {
                unit.truncate(900);
            }
            (true, true)
        }
    });
    assert_eq!(pair.delivered[10].payload.to_bytes(), packet(10, 1_500).payload.to_bytes());
}

#[test]
fn a_packet_is_sent_if_all_its_frames_can_arrive_before_it_expires() {
    for kind in [PolicyKind::Bold, PolicyKind::Light, PolicyKind::Robust] {
        for (padded, len) in [false, true].into_iter().flat_map(|it| [(it, 40), (it, 1_500)]) {
            let config = CodedConfig { padded, ..config(kind) };
            let mut bytes = 0;
            let mut count = |unit: &mut Frame| {
                bytes += unit.len() as u64;
                (true, true)
            };
            let mut pair = Pair::new(config.clone());
            pair.run(vec![packet(0, len)], 99, &mut count);
            let passage = TransitTiming {
                per_byte: Duration::from_micros(1),
                delay: Duration::from_micros(50),
                ..TransitTiming::default()
            };
            let arrival = Instant::START + Duration::from_micros(bytes + 50);
            for (expires, sent) in [(arrival, true), (arrival - Duration::from_nanos(1), false)] {
                let mut sender = Coded::new(config.clone());
                sender.set_passage(passage);
                let mut queue = vec![Pulled { frame: packet(0, len), expires: Some(expires) }];
                let unit = sender.next_unit(Instant::START, || queue.pop());
                assert_eq!(unit.is_some(), sent, "{kind} {padded} {len}: {bytes} bytes");
            }
        }
    }
}

/// Fails frames until one has the strongest parity. A packet expires just before that if `late`.
fn frames_before_a_trial(late: Option<u32>) -> u32 {
    let mut sender = Coded::new(config(PolicyKind::Flex));
    let delay = Duration::from_millis(1);
    sender.set_passage(TransitTiming { delay, ..TransitTiming::default() });
    let expires = Instant::START + Duration::from_secs(1);
    let mut queue = VecDeque::from([0, 1].map(|number| packet(number, 1_200)));
    for frames in 0..100 {
        let is_late = late.is_some_and(|late| late <= frames);
        let now = if is_late { expires } else { Instant::START };
        let pull = || {
            let frame = queue.pop_front()?;
            let expires = (frame.tag == Some(Tag(0))).then_some(expires);
            Some(Pulled { frame, expires })
        };
        let mut unit = sender.next_unit(now, pull).expect("there is a packet");
        let head = codes::open_header(&unit.header).expect("a header");
        if head.level == Level::STRONGEST {
            return frames;
        }
        assert_eq!(unit.tag, Some(Tag(u64::from(is_late))));
        let len = unit.payload.len();
        spoil(&mut unit, 0..len);
        let (_, feedback) = Coded::new(config(PolicyKind::Flex)).take_unit(unit);
        sender.take_outcome(feedback.as_ref());
    }
    100
}

#[test]
fn a_packet_that_has_expired_uses_up_no_trial_of_the_strongest_parity() {
    let frames = frames_before_a_trial(None);
    assert!((1..100).contains(&frames));
    assert_eq!(frames_before_a_trial(Some(frames)), frames);
}

#[test]
fn a_packet_says_of_how_many_copies_its_blocks_were_made() {
    let mut pair = Pair::new(CodedConfig { combine: true, ..config(PolicyKind::Bold) });
    let mut attempts = 0;
    // Two blocks, each with a wrong byte that is right in the next attempt.
    pair.run(vec![packet(0, 400)], 9, |unit| {
        attempts += 1;
        spoil(unit, [10 * attempts, 255 + 10 * attempts].into_iter());
        (true, true)
    });
    assert_eq!((attempts, pair.delivered.len()), (2, 1));
    assert_eq!(pair.delivered[0].payload.to_bytes(), packet(0, 400).payload.to_bytes());
    let events = core::iter::from_fn(|| pair.receiver.poll_event());
    let kinds: Vec<_> = events.map(|event| event.kind).collect();
    assert_eq!(kinds, [PacketEventKind::Combined { copies: 2 }]);
}

//= S3.18
//= S3.19
//= S3.20
#[test]
fn fixed_policies_have_the_sizes_of_the_paper() {
    for (kind, len) in
        [(PolicyKind::Bold, 5 * BLOCK), (PolicyKind::Light, 5 * BLOCK), (PolicyKind::Robust, BLOCK)]
    {
        let mut pair = Pair::new(CodedConfig { padded: true, ..config(kind) });
        pair.run(vec![packet(1, 40)], 9, clean);
        assert_eq!((pair.frames, pair.bytes), (1, len), "{kind}");
        let mut pair = Pair::new(config(kind));
        pair.run(vec![packet(1, 40)], 9, clean);
        assert!(pair.bytes < 40 + 4 + 2 + 75, "{kind}");
    }
}

#[test]
fn padded_frames_of_short_packets_are_coded_for_their_length() {
    // Every third block of 255 bytes has four bad ones, of a short block hardly any has one.
    let run = |padded| {
        let mut pair = Pair::new(CodedConfig { padded, ..config(PolicyKind::Flex) });
        let mut number = 0;
        let mut position = 0;
        pair.run((0..400).map(|number| packet(number, 40)).collect(), 2_000, |unit| {
            number += 1;
            for at in (0..unit.payload.len()).step_by(BLOCK) {
                position += 1;
                if position % 3 == 0 && at + 244 <= unit.payload.len() {
                    spoil(unit, at + 240..at + 244);
                }
            }
            (true, true)
        });
        assert_eq!(pair.delivered.len(), 400);
        pair.frames
    };
    // Without parity each packet would take half as many frames more, whichever block it is in.
    assert!(run(true) < 420, "{}", run(true));
    assert_eq!(run(false), 400);
}

#[test]
fn only_failed_blocks_are_repeated_where_the_policy_says_so() {
    let strike = |frames: &mut u32, unit: &mut Frame| {
        *frames += 1;
        if *frames == 1 {
            spoil(unit, 300..340);
        }
        (true, true)
    };
    let mut first = 0;
    let mut flex = Pair::new(config(PolicyKind::Flex));
    flex.run(vec![packet(1, 1_200)], 9, |unit| strike(&mut first, unit));
    assert_eq!((flex.delivered.len(), flex.frames), (1, 2));
    // One block again, as it was: a single failure is no reason for parity.
    assert_eq!(flex.bytes, 1_200 + 4 + 5 * 2 + 253 + 2);
    let mut first = 0;
    let mut bold = Pair::new(config(PolicyKind::Bold));
    bold.run(vec![packet(1, 1_200)], 9, |unit| strike(&mut first, unit));
    assert_eq!((bold.frames, bold.bytes), (2, 2 * (1_200 + 4 + 5 * 2)));
}

#[test]
fn what_came_before_a_cut_is_kept() {
    let mut first = true;
    let mut pair = Pair::new(config(PolicyKind::Flex));
    pair.run(vec![packet(1, 1_200)], 9, |unit| {
        if core::mem::take(&mut first) {
            unit.truncate(unit.header.len() + 3 * BLOCK + 20);
        }
        (true, true)
    });
    assert_eq!((pair.delivered.len(), pair.frames), (1, 2));
    assert!(pair.bytes < 1_200 + 4 + 7 * 2 + 2 * BLOCK + 1, "{}", pair.bytes);
}

#[test]
fn parity_brings_back_a_short_cut() {
    let mut pair = Pair::new(config(PolicyKind::Light));
    pair.run(vec![packet(1, 1_100)], 1, |unit| {
        unit.truncate(unit.len() - 13);
        (true, true)
    });
    assert_eq!(pair.delivered.len(), 1);
}

#[test]
fn the_header_survives_six_wrong_bytes_and_is_refused_beyond() {
    for wrong in 1..=10 {
        let mut pair = Pair::new(config(PolicyKind::Bold));
        pair.run(vec![packet(1, 500)], 1, |unit| {
            let bits: Vec<u32> = (0..wrong).map(|n| n * 17).collect();
            unit.invert(&bits);
            (true, true)
        });
        assert_eq!(pair.delivered.len(), usize::from(wrong <= 6), "{wrong}");
    }
}

#[test]
fn a_packet_is_given_up_after_its_attempts() {
    let attempts = Arq::Attempts(NonZeroU8::new(3).unwrap());
    let mut pair = Pair::new(CodedConfig { arq: attempts, ..config(PolicyKind::Flex) });
    pair.run(vec![packet(1, 500)], 9, |_| (false, false));
    assert_eq!((pair.frames, pair.dropped()), (3, vec![DropReason::RetryLimit]));
}

//= S0.63
#[test]
fn damage_is_handed_up_only_where_it_is_welcome() {
    let class = |accept_damaged| Class {
        attempts: NonZeroU8::new(1),
        accept_damaged: Some(accept_damaged),
        ..Class::default()
    };
    for welcome in [false, true] {
        let mut pair = Pair::new(config(PolicyKind::Flex));
        let sent = packet(1, 1_200).with_class(class(welcome));
        pair.run(vec![sent.clone()], 9, |unit| {
            spoil(unit, 260..300);
            (true, true)
        });
        assert_eq!(pair.delivered.len(), usize::from(welcome));
        if let Some(delivered) = pair.delivered.first() {
            let suspect = delivered.damage.suspect.first().map(|range| (range.start, range.end));
            assert_eq!((suspect, delivered.damage.suspect.len()), (Some((253, 506)), 1));
            assert_eq!(delivered.damage.frame, Check::Bad);
            let got = delivered.payload.to_bytes();
            let sent = sent.payload.to_bytes();
            assert_eq!((&got[..253], &got[506..]), (&sent[..253], &sent[506..]));
            assert_ne!(got, sent);
        }
    }
}

/// A packet of `len` bytes with a check that is not its own.
pub(super) fn false_stream(len: usize) -> PacketStream {
    PacketStream { packet: vec![7; len].into(), check: [7; 4] }
}

#[test]
fn blocks_of_a_false_packet_are_asked_for_again() {
    // A block whose own check holds and yet is wrong: the check of the packet finds it.
    let head = |wish| Head {
        wish,
        level: Level::NONE,
        whole: false,
        padded: false,
        number: Number::Unit(windfall_base::seq::Seq16(1)),
        length: 100,
        uncoded: false,
        stretches: [Stretch { start: 0, len: 104 }].into_iter().collect(),
    };
    let head = head(windfall_wire_link::pipe::Wish::default());
    let mut unit = Frame::packet(blocks::write(&head, &false_stream(100)));
    unit.header = codes::seal_header(&head);
    let mut receiver = Coded::new(config(PolicyKind::Bold));
    let (_, feedback) = receiver.take_unit(unit);
    let report = Report::parse(&feedback.unwrap()).unwrap();
    assert_eq!(report.progress, windfall_wire_link::coded::Progress::Again);
    assert!(receiver.poll_delivery().is_none());
}

/// Says what a receiver reports of the first unit of a packet, which the air changes.
fn report(kind: PolicyKind, len: usize, mut air: impl FnMut(&mut Frame)) -> Report {
    let [mut sender, mut receiver] = [Coded::new(config(kind)), Coded::new(config(kind))];
    let next = || Some(Pulled::from(packet(1, len)));
    let mut unit = sender.next_unit(Instant::START, next).expect("there is a packet");
    air(&mut unit);
    Report::parse(&receiver.take_unit(unit).1.expect("the header is whole")).unwrap()
}

#[test]
fn each_block_is_reported_as_it_arrived() {
    let found = report(PolicyKind::Flex, 1_261, |unit| {
        spoil(unit, 300..310);
        unit.truncate(unit.header.len() + 3 * BLOCK + 20);
    });
    use windfall_wire_link::coded::Fate::{Failed, Good, Missing};
    assert_eq!(found.fates[..], [Good(0), Failed, Good(0), Missing, Missing]);
    // With parity a block survives six wrong bytes, or thirteen that were cut off, whole or not.
    for len in [5 * 240 - 4, 1_100] {
        let found = report(PolicyKind::Light, len, |unit| {
            spoil(unit, (260..263).chain(1_030..1_036));
        });
        assert_eq!(found.fates[..], [Good(0), Good(3), Good(0), Good(0), Good(6)], "{len}");
        let found = report(PolicyKind::Light, len, |unit| unit.truncate(unit.len() - 13));
        assert!(matches!(found.fates[..], [Good(0), .., Good(_)]), "{found:?}");
        let found = report(PolicyKind::Light, len, |unit| unit.truncate(unit.len() - 14));
        assert!(matches!(found.fates[..], [Good(0), .., Missing]), "{found:?}");
    }
}

#[test]
fn a_packet_says_how_many_symbols_were_corrected() {
    let mut pair = Pair::new(config(PolicyKind::Light));
    pair.run(vec![packet(1, 1_100)], 1, |unit| {
        spoil(unit, (260..263).chain(1_030..1_036));
        (true, true)
    });
    assert_eq!(pair.delivered.first().map(|frame| frame.damage.corrected), Some(9));
}

#[test]
fn what_is_behind_the_blocks_is_ignored() {
    let [mut sender, mut receiver] = [(); 2].map(|()| Coded::new(config(PolicyKind::Bold)));
    let next = || Some(Pulled::from(packet(1, 500)));
    let mut unit = sender.next_unit(Instant::START, next).expect("there is a packet");
    let blocks = unit.payload.to_bytes();
    unit.payload = windfall_base::Payload::new(blocks.slice(..200), {
        [&blocks[200..], &[0xaa; 2_000]].concat().into()
    });
    receiver.take_unit(unit);
    let delivered = receiver.poll_delivery().expect("all of it is there");
    assert_eq!(delivered.payload.to_bytes(), packet(1, 500).payload.to_bytes());
}

//= S3.18
#[test]
fn a_policy_that_repeats_whole_frames_keeps_nothing_of_a_damaged_one() {
    let mut pair = Pair::new(config(PolicyKind::Bold));
    let mut frames = 0;
    pair.run(vec![packet(1, 1_200)], 9, |unit| {
        frames += 1;
        match frames {
            1 => spoil(unit, 300..310),
            2 => spoil(unit, 10..20),
            _ => {}
        }
        (true, true)
    });
    assert_eq!((pair.frames, pair.delivered.len()), (3, 1));
}

#[test]
fn a_frame_of_another_length_under_the_same_number_is_refused() {
    let [mut one, mut other, mut receiver] = [(); 3].map(|()| Coded::new(config(PolicyKind::Flex)));
    let unit = |sender: &mut Coded, len| {
        let mut next = Some(Pulled::from(packet(1, len)));
        sender.next_unit(Instant::START, || next.take()).expect("there is a packet")
    };
    let mut begun = unit(&mut one, 600);
    spoil(&mut begun, 300..310);
    assert!(receiver.take_unit(begun).1.is_some());
    let foreign = unit(&mut other, 700);
    assert_eq!(receiver.take_unit(foreign), (Arrival::Packet, None));
    let events: Vec<PacketEvent> = core::iter::from_fn(|| receiver.poll_event()).collect();
    let reasons: Vec<_> = events.iter().map(PacketEvent::drop_reason).collect();
    assert_eq!(reasons, [Some(DropReason::Malformed)], "{events:?}");
    assert_eq!(receiver.held(), 1, "what was begun stays");
}

#[test]
fn a_packet_that_is_asked_for_again_is_taken_from_its_beginning() {
    let mut sender = Coded::new(config(PolicyKind::Flex));
    let mut receiver = Coded::new(config(PolicyKind::Flex));
    let unit = |sender: &mut Coded| {
        let next = || Some(Pulled::from(packet(1, 500)));
        sender.next_unit(Instant::START, next).expect("there is a packet")
    };
    let progress = |feedback: Option<Feedback>| Report::parse(&feedback.unwrap()).unwrap().progress;
    use windfall_wire_link::coded::Progress::{Again, Complete, Partial};
    // Blocks with checks of their own that hold, of other bytes than those of the packet.
    let mut first = unit(&mut sender);
    let head = codes::open_header(&first.header).unwrap();
    first.payload = blocks::write(&head, &false_stream(500)).into();
    let (_, feedback) = receiver.take_unit(first);
    sender.take_outcome(feedback.as_ref());
    assert_eq!(progress(feedback), Again);
    // The sender sends all of it again; of this the second block fails.
    let mut second = unit(&mut sender);
    assert_eq!(second.payload.len(), 504 + 2 * 2);
    spoil(&mut second, 300..310);
    let (_, feedback) = receiver.take_unit(second);
    sender.take_outcome(feedback.as_ref());
    assert_eq!(progress(feedback), Partial);
    let (_, feedback) = receiver.take_unit(unit(&mut sender));
    assert_eq!(progress(feedback), Complete);
    let delivered = receiver.poll_delivery().expect("it is complete");
    assert_eq!(delivered.payload.to_bytes(), packet(1, 500).payload.to_bytes());
    assert_eq!(delivered.damage.frame, Check::Good);
}

/// Of 1500 packets of 500 bytes, one every 8 ms and worthless after 30, how many are complete in
/// time; frames are lost in spells, and blocks have many wrong bytes in others.
fn in_time(policy: PolicyKind, seed: u64) -> usize {
    let [mut sender, mut receiver] = [Coded::new(config(policy)), Coded::new(config(policy))];
    let mut air = Stream::new(Seed(seed), "air");
    let mut is_lossy = false;
    let mut is_noisy = false;
    let interval = Duration::from_millis(8);
    let lifetime = Duration::from_millis(30);
    let mut now = Instant::START;
    let mut next = 0_u64;
    let mut count = 0;
    while next < 1_500 || sender.has_unit() {
        let pull = || {
            while next < 1_500 {
                let arrival = Instant::START + interval * next;
                if arrival > now {
                    return None;
                }
                next += 1;
                if arrival + lifetime >= now {
                    let frame = packet(next - 1, 500);
                    return Some(Pulled { frame, expires: Some(arrival + lifetime) });
                }
            }
            None
        };
        let Some(mut unit) = sender.next_unit(now, pull) else {
            now += Duration::from_millis(1);
            continue;
        };
        now += COST.of(unit.payload.len());
        is_lossy = if is_lossy { air.unit() < 0.7 } else { air.unit() < 0.1 };
        is_noisy = if is_noisy { air.unit() < 0.9 } else { air.unit() < 0.1 };
        let blocks = unit.payload.len().div_ceil(BLOCK);
        if is_noisy {
            let wrong = 15 * blocks as u64;
            let len = unit.payload.len() as u64;
            spoil(&mut unit, (0..wrong).map(|_| air.below(len) as usize));
        }
        let feedback = if is_lossy { None } else { receiver.take_unit(unit).1 };
        sender.take_outcome(feedback.as_ref());
        let done = core::iter::from_fn(|| receiver.poll_delivery());
        let due = |frame: &Frame| frame.tag.map(|Tag(n)| Instant::START + interval * n + lifetime);
        count += done.filter(|frame| due(frame).is_some_and(|due| now <= due)).count();
    }
    count
}

//= S3.16
//= S3.45
#[test]
fn the_policy_that_knows_deadlines_brings_more_in_time() {
    let mean = |policy| (1..=6).map(|seed| in_time(policy, seed)).sum::<usize>() / 6;
    let best = mean(PolicyKind::Best);
    for other in [PolicyKind::Bold, PolicyKind::Light, PolicyKind::Robust, PolicyKind::Flex] {
        let others = mean(other);
        assert!(best > others + 30, "{best} of 1500 with best, {others} with {other}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever the air does, packets arrive as they were sent, in order, none twice.
    #[test]
    fn nothing_false_is_delivered(
        seed: u64,
        policy in 0_usize..5,
        padded: bool,
        rate in 0.0..0.02_f64,
    ) {
        let mut pair = Pair::new(CodedConfig { padded, ..config(PolicyKind::ALL[policy]) });
        let packets: Vec<Frame> =
            (0..6).map(|number| packet(number, 37 + 411 * number as usize)).collect();
        let mut air = Stream::new(Seed(seed), "air");
        pair.run(packets.clone(), 400, |unit| {
            let bits: Vec<u32> = (0..unit.len() as u32)
                .filter(|_| air.unit() < rate)
                .map(|byte| byte * 8 + 3)
                .collect();
            unit.invert(&bits);
            if air.unit() < 0.2 {
                unit.truncate(air.below(unit.len() as u64) as usize);
            }
            (air.unit() > 0.1, air.unit() > 0.1)
        });
        for (delivered, sent) in pair.delivered.iter().zip(&packets) {
            prop_assert_eq!(delivered.payload.to_bytes(), sent.payload.to_bytes());
            prop_assert!(!delivered.damage.is_damaged());
        }
    }

    #[test]
    fn any_frame_is_taken_without_panic(
        fields in prop::collection::vec(any::<u8>(), 0..40),
        payload in prop::collection::vec(any::<u8>(), 0..1_400),
        is_sealed: bool,
        feedback in prop::collection::vec(any::<u8>(), 0..16),
    ) {
        let mut header: windfall_wire_link::pipe::HeaderBytes = fields.into_iter().collect();
        if let Some(first) = header.first_mut() {
            *first = 0x60 | *first & 0xf;
        }
        if is_sealed {
            let check = windfall_wire_link::check::header_check(&header);
            header.extend(check);
            header.extend([0; HEADER_PARITY]);
            let code = windfall_fec::ReedSolomon::new(HEADER_PARITY).unwrap();
            code.encode(&mut header).unwrap();
        }
        let mut end = Coded::new(CodedConfig { accept_damaged: true, ..config(PolicyKind::Flex) });
        let mut unit = Frame::packet(payload);
        unit.header = header;
        let _ = end.take_unit(unit);
        let _ = end.next_unit(Instant::START, || Some(packet(1, 700).into()));
        end.take_outcome(Some(&feedback.into_iter().collect()));
    }
}
