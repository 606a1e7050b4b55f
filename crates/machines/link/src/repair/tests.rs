use proptest::prelude::*;
use windfall_base::{
    Check, Class, DropReason, Duration, Frame, Instant, PacketEvent, PacketEventKind, Probability,
    Seed,
};
use windfall_base::{Stream, Tag};

mod damage;

use super::*;
use crate::arrival::Arrival;

const STEP: Duration = Duration::from_millis(1);

fn config(text: &str) -> RepairConfig {
    text.parse().expect("a code")
}

fn packet(number: u64, len: usize) -> Frame {
    let mut stream = Stream::new(Seed(number), "packet");
    let bytes: Vec<u8> = (0..len).map(|_| stream.bits() as u8).collect();
    Frame { tag: Some(Tag(number)), ..Frame::packet(bytes) }
}

/// The result of sending a packet every millisecond through a code and a medium.
struct Run {
    delivered: Vec<(Instant, Frame)>,
    events: Vec<PacketEvent>,
    /// Frames with packets, and frames with repairs.
    sent: [usize; 2],
}

/// Sends `packets` packets; `air` may damage a frame or report it as lost.
fn run(
    text: &str,
    packets: u64,
    accept_damaged: bool,
    mut air: impl FnMut(usize, &mut Frame) -> bool,
) -> Run {
    let mut sender = RepairSender::new(config(text));
    let mut receiver = RepairReceiver::new(config(text), accept_damaged);
    let mut run = Run { delivered: Vec::new(), events: Vec::new(), sent: [0, 0] };
    for step in 0..packets + 20_000 {
        let now = Instant::START + STEP * step;
        let mut frames = Vec::new();
        if step < packets {
            let mut frame = packet(step, 60 + (step as usize * 37) % 300);
            sender.protect(now, 7, 4, &mut frame);
            frames.push(frame);
        }
        sender.handle_timeout(now);
        frames.extend(core::iter::from_fn(|| sender.poll_repair()));
        for mut frame in frames {
            run.sent[usize::from(frame.covers.is_some())] += 1;
            let number = run.sent[0] + run.sent[1] - 1;
            let sent = frame.payload.clone();
            if !air(number, &mut frame) {
                let arrival = receiver.handle_frame(now, frame.clone());
                // A trailer that is damaged beyond its code may look like another one.
                let is_told = arrival == Arrival::Control;
                assert!(frame.payload != sent || is_told == frame.covers.is_some());
            }
        }
        receiver.handle_timeout(now);
        let arrived = core::iter::from_fn(|| receiver.poll_delivery());
        run.delivered.extend(arrived.map(|frame| (now, frame)));
        run.events.extend(core::iter::from_fn(|| receiver.poll_event()));
        if step >= packets && sender.poll_timeout().or(receiver.poll_timeout()).is_none() {
            assert_eq!(receiver.held(), 0);
            return run;
        }
    }
    panic!("the run does not end");
}

impl Run {
    /// Returns the packets that arrived, each as it was sent.
    fn numbers(&self) -> Vec<u64> {
        let number = |(_, frame): &(Instant, Frame)| {
            let number = frame.tag.map_or(u64::MAX, |tag| tag.0);
            assert_eq!(frame.payload, packet(number, frame.payload.len()).payload);
            assert_eq!(frame.damage.frame, Check::Good);
            number
        };
        self.delivered.iter().map(number).collect()
    }
}

/// Inverts every bit of a packet with a probability of `rate`.
fn invert(frame: &mut Frame, rate: f64, air: &mut Stream) {
    let rate = Probability::new(rate).expect("a probability");
    let bits: Vec<u32> = (0..frame.len() as u32 * 8).filter(|_| air.chance(rate)).collect();
    if !bits.is_empty() {
        frame.invert(&bits);
        frame.damage.frame = Check::Bad;
    }
}

#[test]
fn without_losses_packets_pass_at_once() {
    for (text, repairs) in [("8/12", 200), ("window:32:25%:40ms", 100), ("window:32:10%:40ms", 40)]
    {
        let run = run(text, 400, false, |_, _| false);
        assert_eq!(run.numbers(), (0..400).collect::<Vec<_>>());
        assert_eq!(run.sent, [400, repairs], "{text}");
        assert!(
            run.delivered
                .iter()
                .all(|(at, it)| { it.tag.is_some_and(|Tag(n)| *at == Instant::START + STEP * n) })
        );
        assert_eq!(run.events, []);
    }
}

#[test]
fn lost_packets_are_made_again_in_order() {
    // A third of the frames of a block of twelve is lost, and one in nine.
    for (text, lost) in [("8/12", 3), ("window:32:25%:60ms", 9)] {
        let run = run(text, 400, false, |number, _| number % lost == 1);
        assert_eq!(run.numbers(), (0..400).collect::<Vec<_>>(), "{text}");
        let missing = |event: &PacketEvent| {
            event.tag.is_some() && event.kind == PacketEventKind::Repaired { was_missing: true }
        };
        assert!(run.events.iter().all(missing) && run.events.len() > 40, "{text}");
    }
}

/// The packets that a block code brings through a pattern of losses: those that arrive, and all of
/// a block that lacks no more frames than it has repairs.
fn expected(depth: usize, packets: u64, lost: &[bool]) -> Vec<u64> {
    let mut arrive = Vec::new();
    for (first, frames) in (0..packets).step_by(8 * depth).zip(lost.chunks(12 * depth)) {
        for place in 0..8 * depth {
            let own = frames.iter().skip(place % depth).step_by(depth);
            let is_whole = own.filter(|lost| **lost).count() <= 4;
            if is_whole || !frames[place] {
                arrive.push(first + place as u64);
            }
        }
    }
    arrive
}

#[test]
fn blocks_that_take_turns_share_a_burst() {
    // Bursts of a mean of 8 frames, after Gilbert; a twelfth of the frames is lost.
    let packets = 1_280;
    let mut air = Stream::new(Seed(7), "bursts");
    let mut is_bad = false;
    let mut step = |_| {
        is_bad = air.unit() < if is_bad { 7.0 / 8.0 } else { 1.0 / 88.0 };
        is_bad
    };
    let lost: Vec<bool> = (0..packets * 12 / 8).map(&mut step).collect();
    let mut arrived = Vec::new();
    for (text, depth) in [
        ("8/12", 1),
        ("8/12,interleave:2", 2),
        ("8/12,interleave:4", 4),
        ("8/12,interleave:16", 16),
    ] {
        let run = run(text, packets as u64, false, |number, _| lost[number]);
        assert_eq!(run.numbers(), expected(depth, packets as u64, &lost), "{text}");
        arrived.push(run.delivered.len());
    }
    assert!(arrived.is_sorted() && arrived[0] < packets - 40, "{arrived:?}");
    assert!(arrived[3] > packets - 10, "{arrived:?}");
}

#[test]
fn of_a_burst_as_long_as_all_their_repairs_nothing_is_lost() {
    for first in 0..48 {
        let is_lost = |number: usize| (first..first + 16).contains(&(number % 96));
        let run = run("8/12,interleave:4", 320, false, |number, _| is_lost(number));
        assert_eq!(run.numbers(), (0..320).collect::<Vec<_>>(), "from {first}");
        let late = run.delivered.iter().map(|(at, it)| {
            let sent = it.tag.map_or(0, |tag| tag.0);
            *at - (Instant::START + STEP * sent)
        });
        // A frame waits for the repairs behind the turn of its block.
        assert!(late.max() <= Some(STEP * 32), "from {first}");
    }
}

/// There is no feedback to the sender, so each receiver of a group repairs its own losses.
#[test]
fn every_receiver_of_a_group_repairs_bursts_of_its_own() {
    let mut sender = RepairSender::new(config("8/12,interleave:4"));
    let mut group = [(); 3].map(|()| RepairReceiver::new(config("8/12,interleave:4"), false));
    let mut delivered = [const { Vec::new() }; 3];
    let mut number = 0;
    let mut burst = Stream::new(Seed(3), "bursts");
    let mut first = [0; 3];
    for step in 0..640 {
        let now = Instant::START + STEP * step;
        let mut frame = packet(step, 200);
        sender.protect(now, 9, 20, &mut frame);
        for frame in [frame].into_iter().chain(core::iter::from_fn(|| sender.poll_repair())) {
            for (receiver, first) in group.iter_mut().zip(&mut first) {
                // Of each 48 frames 16 in a row are lost, elsewhere for each receiver.
                if number % 48 == 0 {
                    *first = burst.below(33);
                }
                if !(*first..*first + 16).contains(&(number % 48)) {
                    receiver.handle_frame(now, frame.clone());
                }
            }
            number += 1;
        }
        for (receiver, delivered) in group.iter_mut().zip(&mut delivered) {
            let arrived = core::iter::from_fn(|| receiver.poll_delivery());
            delivered.extend(arrived.map(|frame| frame.payload));
        }
    }
    let sent: Vec<_> = (0..640).map(|step| packet(step, 200).payload).collect();
    delivered.iter().for_each(|delivered| assert_eq!(*delivered, sent));
}

#[test]
fn numbers_may_begin_anew_while_blocks_take_turns() {
    // The sender's numbers are as far in each block: one before a number of coefficients.
    let mut encoder = windfall_fec::PacketEncoder::new(2);
    (0..127).for_each(|_| _ = encoder.push(&[0]));
    encoder.begin();
    let begin = 4_u32.wrapping_neg();
    let code = config("2/3,interleave:4");
    let mut stream = stream::ReceivingStream::new(1, code, begin);
    let (mut deliveries, mut events) = Default::default();
    let mut out = crate::output::Output { deliveries: &mut deliveries, events: &mut events };
    // Eight packets on both sides of the last number, one of them lost.
    for number in (0..8).map(|i| begin.wrapping_add(i)) {
        let frame = packet(u64::from(number), 40);
        let slices = frame.payload.slices();
        let check = windfall_wire_link::check::frame_check(&slices);
        let symbol = windfall_wire_link::repair::symbol(&slices, check);
        if number % 4 == 1 {
            encoder.push(&symbol);
        }
        if number != 1 {
            let [accepted, unordered] = [false; 2];
            let covered = stream::CoveredNumber { number, check, accepted, unordered };
            stream.take_packet(Instant::START, covered, frame, &mut out);
        }
    }
    let (cover, sum) = encoder.repair().expect("a repair");
    let cover = windfall_fec::Cover { first: begin + 1, ..cover };
    let check = windfall_wire_link::repair::repair_check(&sum);
    stream.take_repair(Instant::START, cover, check, &Frame::packet(sum), &mut out);
    assert_eq!(deliveries.len(), 8, "{deliveries:?}");
}

#[test]
fn repairs_come_before_a_packet_is_worthless() {
    for (lifetime, due) in [(None, 80), (Some(20), 10), (Some(500), 80)] {
        let mut sender = RepairSender::new(config("8/12,interleave:4"));
        let lifetime = lifetime.map(Duration::from_millis);
        let mut frame = packet(1, 50).with_class(Class { lifetime, ..Class::NONE });
        sender.protect(Instant::START, 1, 0, &mut frame);
        let (at, _) = sender.poll_timeout().expect("a block that is open");
        assert_eq!(at, Instant::START + Duration::from_millis(due));
        sender.handle_timeout(at);
        assert!(sender.poll_repair().is_some() && sender.poll_timeout().is_none());
    }
}

#[test]
fn damaged_packets_are_put_right_where_losses_of_as_many_could_not_be() {
    let mut air = Stream::new(Seed(4), "air");
    let mut damaged = 0;
    let run = run("8/12", 400, false, |_, frame| {
        invert(frame, 5e-4, &mut air);
        damaged += usize::from(frame.damage.is_damaged());
        false
    });
    // Of twelve frames more than four are damaged in most blocks.
    assert!(damaged > 200, "{damaged}");
    assert!(run.delivered.len() > 390, "{}", run.delivered.len());
    run.numbers();
}

#[test]
fn what_stays_damaged_is_passed_up_if_that_is_accepted_and_dropped_by_name_if_not() {
    for (accepts, asked) in [(true, None), (false, Some(true)), (false, None), (true, Some(false))]
    {
        let is_accepted = asked.unwrap_or(accepts);
        let mut sender = RepairSender::new(config("4/5"));
        let mut receiver = RepairReceiver::new(config("4/5"), accepts);
        let now = Instant::START;
        for number in 0..4 {
            let class = Class { accept_damaged: asked, ..Class::NONE };
            let mut frame = packet(number, 100).with_class(class);
            sender.protect(now, 1, 0, &mut frame);
            assert_eq!(frame.class.accept_damaged, None, "the link passes all of them up");
            if number < 2 {
                // Both at the same place, beyond what one repair can tell.
                frame.invert(&[80]);
                frame.damage.frame = Check::Bad;
            }
            receiver.handle_frame(now, frame);
        }
        assert!(receiver.poll_delivery().is_none() && receiver.held() == 4);
        let (due, _) = receiver.poll_timeout().expect("they do not wait for ever");
        assert_eq!(due, now + Duration::from_millis(40));
        receiver.handle_timeout(due);
        let delivered: Vec<_> = core::iter::from_fn(|| receiver.poll_delivery()).collect();
        let marks = delivered.iter().map(|frame| frame.damage.is_damaged());
        let dropped = core::iter::from_fn(|| receiver.poll_event())
            .filter(|event| event.drop_reason() == Some(DropReason::FrameCheck));
        let expected = if is_accepted { vec![true, true, false, false] } else { vec![false; 2] };
        assert_eq!(marks.collect::<Vec<_>>(), expected);
        assert_eq!(dropped.count(), if is_accepted { 0 } else { 2 });
        assert_eq!(receiver.poll_timeout(), None);
    }
}

#[test]
fn an_idle_sender_completes_its_repairs() {
    let run = run("8/12", 3, false, |number, _| number == 2);
    assert_eq!((run.numbers(), run.sent), (vec![0, 1, 2], [3, 2]));
    let (at, _) = run.delivered[2];
    assert_eq!(at, Instant::START + Duration::from_millis(20));
}

#[test]
fn blocks_that_take_turns_have_repairs_by_their_own_packets() {
    let mut sender = RepairSender::new(config("4/6,interleave:2"));
    for number in 0..5 {
        sender.protect(Instant::START, 7, 4, &mut packet(number, 100));
    }
    sender.handle_timeout(Instant::START + config("4/6,interleave:2").delay);
    // Three packets of the first block need two repairs, two of the second one need one.
    let covered = |repair: Frame| repair.covers.as_ref().map_or(0, |covered| covered.len());
    let repairs: Vec<usize> = core::iter::from_fn(|| sender.poll_repair()).map(covered).collect();
    assert_eq!(repairs, [3, 2, 3]);
}

/// A window is repaired all along, so that only what follows its last packet is a pause; a block is
/// late from its first packet on.
#[test]
fn a_window_pauses_after_its_last_packet_and_a_block_after_its_first() {
    for (text, begins) in [("window:32:25%:40ms", 2), ("8/12", 0)] {
        let mut sender = RepairSender::new(config(text));
        for number in 0..3 {
            sender.protect(Instant::START + STEP * number, 7, 4, &mut packet(number, 100));
        }
        let due = sender.poll_timeout().map(|(due, _)| due);
        assert_eq!(due, Some(Instant::START + STEP * begins + config(text).delay / 2), "{text}");
    }
}

#[test]
fn damage_that_the_sender_knows_of_is_not_vouched_for() {
    let mut sender = RepairSender::new(config("1/2"));
    let mut receiver = RepairReceiver::new(config("1/2"), true);
    let mut frame = packet(1, 50);
    frame.damage.frame = Check::Bad;
    sender.protect(Instant::START, 1, 0, &mut frame);
    receiver.handle_frame(Instant::START, frame);
    while let Some(repair) = sender.poll_repair() {
        receiver.handle_frame(Instant::START, repair);
    }
    assert!(receiver.poll_delivery().is_none());
    receiver.handle_timeout(Instant::START + Duration::from_millis(40));
    let passed = receiver.poll_delivery().expect("damage is accepted");
    assert_eq!((passed.damage.frame, passed.payload), (Check::Bad, packet(1, 50).payload));
}

#[test]
fn texts_are_read_and_written() {
    for text in [
        "8/12",
        "8/12:20ms",
        "1/129",
        "128/256",
        "8/12,interleave:4",
        "8/12:40ms,interleave:4",
        "window:32:25%:40ms",
        "window:1:100%:1s",
    ] {
        assert_eq!(config(text).to_string(), text);
        assert_eq!(config(&config(text).to_string()), config(text));
    }
    assert_eq!(config("8/12:40ms").to_string(), "8/12");
    assert_eq!(config("8/12:160ms,interleave:4").to_string(), "8/12,interleave:4");
    for (text, fix) in [
        ("8/12,interleave:1", "2, 4, 8 or 16"),
        ("8/12,interleave:3", "2, 4, 8 or 16"),
        ("8/12,interleave:32", "2, 4, 8 or 16"),
        ("8/12,interleave:many", "2, 4, 8 or 16"),
        ("8/12,deep:4", "write packets/all"),
        ("8/12,interleave:4:40ms", "before the comma"),
        ("window:32:25%:40ms,interleave:4", "interleave a block"),
        ("", "write packets/all"),
        ("8", "write packets/all"),
        ("0/4", "1 to 128 packets"),
        ("129/140", "1 to 128 packets"),
        ("8/8", "more frames than packets"),
        ("8/7", "more frames than packets"),
        ("8/200", "more frames than packets"),
        ("8/12:0s", "up to 10s"),
        ("8/12:1ns", "from 2ns"),
        ("8/12:11s", "up to 10s"),
        ("8/12:soon", "up to 10s"),
        ("window:32:25%", "write packets/all"),
        ("window:0:25%:40ms", "1 to 128 packets"),
        ("window:32:0%:40ms", "0.1% to 100%"),
        ("window:32:many:40ms", "0.1% to 100%"),
        ("8/12:1s:1s", "write packets/all"),
        ("8 / 12", "write packets/all"),
        ("8/12x", "write packets/all"),
    ] {
        let error = text.parse::<RepairConfig>().expect_err(text).to_string();
        assert!(error.contains(fix) && error.contains(&format!("\"{text}\"")), "{error}");
    }
}

#[test]
fn advice_for_a_short_lifetime_names_a_code_that_is_fast_enough_if_there_is_one() {
    let code = config("8/12:40ms");
    assert_eq!(code.within(STEP * 20), "write \"8/12:20ms\" or less");
    let nanosecond = Duration::from_nanos(1);
    assert_eq!(code.within(nanosecond * 2), "write \"8/12:2ns\" or less");
    assert_eq!(config("8/12:2ns").delay, nanosecond * 2);
    let advice = code.within(nanosecond);
    assert_eq!(advice, "no code is that fast, so give the flow more, such as 40ms");
}

#[test]
fn a_packet_that_others_did_not_wait_for_is_passed_up_when_it_comes_and_once() {
    for text in ["8/12", "window:32:25%:40ms", "8/12,interleave:4"] {
        let mut sender = RepairSender::new(config(text));
        let mut receiver = RepairReceiver::new(config(text), false);
        let mut frames: Vec<Frame> = (0..3).map(|number| packet(number, 100)).collect();
        frames.iter_mut().for_each(|frame| sender.protect(Instant::START, 7, 4, frame));
        let late = frames.remove(1);
        frames.into_iter().for_each(|frame| {
            receiver.handle_frame(Instant::START, frame);
        });
        let later = Instant::START + Duration::from_secs(10);
        receiver.handle_timeout(later);
        let mut passed = || -> Vec<_> {
            let all = core::iter::from_fn(|| receiver.poll_delivery());
            all.filter_map(|frame| frame.tag.map(|tag| tag.0)).collect()
        };
        assert_eq!(passed(), [0, 2], "{text}");
        receiver.handle_frame(later, late.clone());
        receiver.handle_frame(later, late);
        let mut passed = core::iter::from_fn(|| receiver.poll_delivery());
        assert_eq!(passed.next().and_then(|frame| frame.tag), Some(Tag(1)), "{text}");
        assert!(passed.next().is_none(), "{text}");
        let events: Vec<_> = core::iter::from_fn(|| receiver.poll_event()).collect();
        let again = |event: &PacketEvent| event.drop_reason() == Some(DropReason::Duplicate);
        assert!(events.len() == 1 && again(&events[0]), "{text}: {events:?}");
    }
}

/// A damaged copy that came late, or stayed damaged in time, is passed up where that is accepted,
/// and a whole one behind it all the same, once.
#[test]
fn a_damaged_copy_does_not_take_the_place_of_a_whole_one() {
    for (accepts, comes_in_time) in [(true, false), (true, true), (false, false), (false, true)] {
        let mut sender = RepairSender::new(config("8/12"));
        let mut receiver = RepairReceiver::new(config("8/12"), accepts);
        let mut frames: Vec<Frame> = (0..3).map(|number| packet(number, 100)).collect();
        frames.iter_mut().for_each(|frame| sender.protect(Instant::START, 7, 4, frame));
        let whole = frames.remove(1);
        let mut damaged = whole.clone();
        damaged.invert(&[80]);
        damaged.damage.frame = Check::Bad;
        let copies = if comes_in_time { 1 } else { 0 };
        frames.extend(core::iter::repeat_n(damaged.clone(), copies));
        let mut take = |now: Instant, frames: Vec<Frame>| -> Vec<(u64, Check)> {
            frames.into_iter().for_each(|frame| _ = receiver.handle_frame(now, frame));
            receiver.handle_timeout(now);
            let passed = core::iter::from_fn(|| receiver.poll_delivery());
            passed.map(|it| (it.tag.expect("a tag").0, it.damage.frame)).collect()
        };
        take(Instant::START, frames);
        let later = Instant::START + Duration::from_secs(10);
        let mut passed = take(later, vec![]);
        passed.extend(take(later, vec![damaged.clone(), damaged]));
        passed.retain(|(number, _)| *number == 1);
        let expected = if accepts { vec![(1, Check::Bad)] } else { vec![] };
        assert_eq!(passed, expected, "{accepts}, {comes_in_time}");
        assert_eq!(take(later, vec![whole.clone(), whole]), [(1, Check::Good)]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Packets arrive as they were sent, in order, none twice, whatever the air does.
    #[test]
    fn nothing_false_is_passed_up(
        seed: u64,
        code in 0..5_usize,
        loss in 0.0..0.5_f64,
        rate in 0.0..0.002_f64,
    ) {
        let window = ["window:8:50%:20ms", "window:32:25%:100ms"];
        let text = ["8/12", "3/4:5ms", window[0], window[1], "4/6,interleave:8"][code];
        let mut air = Stream::new(Seed(seed), "air");
        let run = run(text, 150, false, |_, frame| {
            invert(frame, rate, &mut air);
            air.unit() < loss
        });
        let numbers = run.numbers();
        prop_assert!(numbers.is_sorted_by(|a, b| a < b), "{:?}", numbers);
    }

    #[test]
    fn any_frame_is_taken_without_panic(
        frames in prop::collection::vec(
            (any::<u32>(), 0..300_u32, any::<[u8; 4]>(), prop::collection::vec(any::<u8>(), 0..60)),
            0..60,
        ),
        deep: bool,
    ) {
        use windfall_wire_link::repair::{Covered, RepairTrailer};
        let text = if deep { "8/12,interleave:2" } else { "window:8:50%:20ms" };
        let mut receiver = RepairReceiver::new(config(text), true);
        for (step, (stream, number, [a, b, c, d], bytes)) in (0..).zip(frames) {
            let now = Instant::START + STEP * step;
            let number = if d & 0x40 == 0 { number } else { stream };
            let kind = match d & 1 {
                0 => Covered::Packet {
                    check: [a, b, c, d],
                    accept_damaged: None,
                    unordered: d & 8 != 0,
                },
                _ => {
                    let check = windfall_wire_link::repair::repair_check(&bytes) ^ u16::from(d & 4);
                    Covered::Repair { count: 1 + a % 20, row: b & 0x7f, before: c & 0x3f, check }
                }
            };
            let trailer = RepairTrailer { stream: stream % 70, number, kind };
            let mut frame = Frame::packet(bytes);
            if d & 2 == 0 {
                frame.payload = trailer::append(&frame.payload, &trailer);
            }
            receiver.handle_frame(now, frame);
            receiver.handle_timeout(now);
            while receiver.poll_delivery().is_some() {}
            while receiver.poll_event().is_some() {}
            prop_assert!(receiver.held() <= MOST_STREAMS * 32);
        }
    }
}
