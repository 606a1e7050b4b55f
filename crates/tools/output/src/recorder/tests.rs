use std::sync::{Arc, Mutex};

use windfall_base::{Damage, FlowId, Instant, Port};
use windfall_network::tag_of;

use windfall_files::pcapng::read;

use super::*;

/// A file that outlives its writer.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Shared {
    fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap().clone()
    }

    /// The lines without the head.
    fn lines(&self) -> Vec<String> {
        let text = String::from_utf8(self.bytes()).unwrap();
        text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
    }

    fn packets(&self) -> Vec<(Seen, String)> {
        let packets = read::read(&self.bytes().into()).unwrap();
        packets.into_iter().map(|packet| (packet.seen, packet.comment)).collect()
    }
}

const NEAR: ElementId = ElementId(0);
const FAR: ElementId = ElementId(1);
const AIR: ElementId = ElementId(2);
/// Bytes of each packet.
const LEN: usize = 100;
/// Bytes of the link header and trailer around it.
const HEADER: u32 = 8;
const TRAILER: u32 = 4;

/// A recorder of everything, with its files: log, letters, captures at near and far, and what was
/// dropped of near.
fn recorder() -> (RunRecorder, [Shared; 5]) {
    let elements = vec!["near".into(), "far".into(), "air".into()];
    let run = Run { seed: Seed(7), command: "test".into(), epoch: 0, elements };
    let mut recorder = RunRecorder::new(run);
    let files: [Shared; 5] = Default::default();
    let out = |i: usize| Box::new(files[i].clone()) as Out;
    recorder.log_to(out(0)).unwrap();
    recorder.packet_log_to(out(1), NEAR, "uplink", "droptail", Line::Instant).unwrap();
    recorder.capture_to(out(2), out(4), NEAR).unwrap();
    recorder.capture_to(out(3), Box::new(Shared::default()), FAR).unwrap();
    (recorder, files)
}

struct Story {
    recorder: RunRecorder,
    now: u64,
}

impl Story {
    fn tell(&mut self, element: ElementId, what: EventKind) {
        self.now += 1_000_000;
        let at = Instant::from_nanos(self.now);
        self.recorder.record(&NetworkEvent { at, element, what }).unwrap();
    }

    fn happens(&mut self, element: ElementId, tag: Tag, kind: PacketEventKind) {
        self.tell(element, EventKind::Packet(kind.of_packet(Some(tag))));
    }

    fn packet(&mut self, element: ElementId, tag: Tag, arrived: bool) {
        self.bytes(element, tag, arrived, vec![0x45; LEN]);
    }

    fn bytes(&mut self, element: ElementId, tag: Tag, arrived: bool, bytes: Vec<u8>) {
        let payload = Payload::from(bytes);
        let damage = Damage::default();
        self.tell(
            element,
            EventKind::Passage(Passage { arrived, tag: Some(tag), payload, damage }),
        );
    }

    fn enter(&mut self, tag: Tag) {
        self.packet(NEAR, tag, false);
        self.happens(NEAR, tag, PacketEventKind::Queued { flow: FlowId(0), len: LEN, queue: 1 });
    }

    fn air(&mut self, tag: Tag, kept: bool, fate: FrameFate) {
        self.frame(LEN as u32, tag, kept, fate);
    }

    /// A frame that carries `carried` bytes for a packet.
    fn frame(&mut self, carried: u32, tag: Tag, kept: bool, fate: FrameFate) {
        let at = Instant::START;
        let event = windfall_channel::MediumEvent {
            duplicate: false,
            from: Port(0),
            to: Port(1),
            number: Some(0),
            tag: Some(tag),
            kept,
            names_only: false,
            is_repair: false,
            length: HEADER + carried + TRAILER,
            header: HEADER,
            trailer: TRAILER,
            began: at,
            ended: at,
            strength: None,
            fate,
        };
        self.tell(AIR, EventKind::Medium(event));
    }

    fn deliver(&mut self, tag: Tag) {
        self.happens(FAR, tag, PacketEventKind::Delivered { len: LEN, damage: None });
        self.packet(FAR, tag, true);
    }

    fn drop(&mut self, element: ElementId, tag: Tag, kept: bool, reason: DropReason) {
        let drop = PacketDrop::at_receiver(kept, reason, LEN);
        self.happens(element, tag, PacketEventKind::Dropped(drop));
    }
}

/// Bits of the header, the packet and the trailer, as the air counts them.
fn damaged() -> FrameFate {
    FrameFate::Damaged { truncated: None, inverted: vec![3, 64, 65 + 99 * 8, 64 + 100 * 8] }
}

#[test]
fn a_clean_packet_is_seen_at_both_ends() {
    let (recorder, [log, letters, near, far, _]) = recorder();
    let mut story = Story { recorder, now: 0 };
    let tag = tag_of(0, 0);
    story.enter(tag);
    story.air(tag, false, FrameFate::Intact);
    story.deliver(tag);
    assert_eq!(near.packets(), [(Seen::Sent, String::new())]);
    assert_eq!(far.packets(), [(Seen::Arrived, String::new())]);
    assert_eq!(letters.lines(), ["2 + 100", "4 - 100 2"]);
    assert_eq!(log.lines().len(), 4, "a head, queued, intact, delivered");
    assert!(story.recorder.under_way.is_empty());
}

#[test]
fn damage_that_was_handed_up_is_noted_with_the_bits_of_the_packet() {
    let (recorder, [_, letters, _, far, _]) = recorder();
    let mut story = Story { recorder, now: 0 };
    let tag = tag_of(0, 0);
    story.enter(tag);
    story.air(tag, false, damaged());
    story.happens(FAR, tag, PacketEventKind::Delivered { len: LEN, damage: None });
    let mut bytes = vec![0x45; LEN];
    (bytes[0], bytes[99]) = (0x45 ^ 0x80, 0x45 ^ 0x40);
    story.bytes(FAR, tag, true, bytes);
    let note = "damaged: 2 inverted bits: 0 793".to_owned();
    assert_eq!(far.packets(), [(Seen::Arrived, note)]);
    assert_eq!(letters.lines(), ["2 + 100", "3 c 4", "4 - 100 2"]);
}

#[test]
fn a_mark_of_the_queue_is_no_damage() {
    let (recorder, [log, _, _, far, _]) = recorder();
    let mut story = Story { recorder, now: 0 };
    let tag = tag_of(0, 0);
    let capable = |byte| [vec![0x45, byte], vec![0; LEN - 2]].concat();
    story.bytes(NEAR, tag, false, capable(2));
    story.happens(NEAR, tag, PacketEventKind::Marked);
    let mut marked = capable(3);
    marked[10..12].copy_from_slice(&[0xff, 0xfe]);
    story.bytes(FAR, tag, true, marked);
    assert_eq!(far.packets(), [(Seen::Arrived, String::new())]);
    let log = String::from_utf8(log.bytes()).unwrap();
    assert!(log.lines().any(|line| line.contains("\"packet.marked\"")), "{log}");
}

#[test]
fn a_repetition_makes_up_for_what_the_air_did_before() {
    let (recorder, [_, letters, near, far, _]) = recorder();
    let mut story = Story { recorder, now: 0 };
    let tag = tag_of(0, 0);
    story.enter(tag);
    story.air(tag, true, FrameFate::Lost);
    story.air(tag, true, damaged());
    story.drop(FAR, tag, true, DropReason::FrameCheck);
    story.air(tag, true, FrameFate::Intact);
    story.deliver(tag);
    assert_eq!(near.packets(), [(Seen::Sent, String::new())]);
    assert_eq!(far.packets(), [(Seen::Arrived, String::new())]);
    assert_eq!(letters.lines(), ["2 + 100", "4 c 4", "7 - 100 5"]);
}

#[test]
fn what_a_code_mended_is_not_noted() {
    let (recorder, [_, _, near, far, dropped]) = recorder();
    let mut story = Story { recorder, now: 0 };
    let [mended, given_up] = [0, 1].map(|n| tag_of(0, n));
    for tag in [mended, given_up] {
        story.enter(tag);
        story.frame(LEN as u32 + 10, tag, true, damaged());
    }
    story.deliver(mended);
    story.drop(NEAR, given_up, false, DropReason::RetryLimit);
    assert_eq!(far.packets(), [(Seen::Arrived, String::new())]);
    assert_eq!(near.packets(), [(Seen::Sent, String::new()), (Seen::Sent, String::new())]);
    assert_eq!(dropped.packets(), [(Seen::Dropped, "dropped: retry-limit".to_owned())]);
}

#[test]
fn every_copy_is_compared_with_what_was_sent() {
    let (recorder, [_, _, _, far, _]) = recorder();
    let mut story = Story { recorder, now: 0 };
    let tag = tag_of(0, 0);
    story.enter(tag);
    story.bytes(FAR, tag, true, vec![0x45; LEN - 2]);
    story.deliver(tag);
    story.bytes(FAR, tag, true, [vec![0x44], vec![0x45; LEN - 1]].concat());
    let packets = far.packets();
    let notes: Vec<_> = packets.iter().map(|(_, note)| note.as_str()).collect();
    assert_eq!(notes, ["damaged: 2 bytes cut off the end", "", "damaged: 1 inverted bit: 7"]);
}

//= S0.5
#[test]
fn a_dropped_packet_is_kept_beside_the_sender_with_the_reason() {
    let (recorder, [_, letters, near, far, dropped]) = recorder();
    let mut story = Story { recorder, now: 0 };
    let [lost, bad, full] = [0, 1, 2].map(|n| tag_of(0, n));
    story.enter(lost);
    story.air(lost, false, FrameFate::Lost);
    story.enter(bad);
    story.air(bad, false, damaged());
    story.drop(FAR, bad, false, DropReason::FrameCheck);
    story.packet(NEAR, full, false);
    story.drop(NEAR, full, false, DropReason::QueueFull);
    assert!(near.packets().iter().all(|(seen, _)| *seen == Seen::Sent));
    let dropped = dropped.packets();
    assert!(dropped.iter().all(|(seen, _)| *seen == Seen::Dropped));
    let notes: Vec<_> = dropped.iter().map(|(_, note)| note.as_str()).collect();
    assert_eq!(
        notes,
        [
            "dropped: lost",
            "dropped: frame-check; damaged: 2 inverted bits: 0 793",
            "dropped: queue-full",
        ]
    );
    assert!(far.packets().is_empty());
    assert_eq!(
        letters.lines(),
        ["2 + 100", "3 d 1 100", "5 + 100", "6 c 4", "7 d 1 100", "9 + 100", "9 d 1 100"]
    );
    assert!(story.recorder.under_way.is_empty() && story.recorder.damage.is_empty());
}

#[test]
fn nothing_is_wanted_unless_asked_for() {
    let run = Run { seed: Seed(1), command: String::new(), epoch: 0, elements: Vec::new() };
    let mut recorder = RunRecorder::new(run);
    assert!(!recorder.wants_events() && !recorder.wants_packets());
    let file = Shared::default();
    recorder.log_to(Box::new(file.clone())).unwrap();
    assert!(recorder.wants_events() && !recorder.wants_packets());
    // An event of an element without a name.
    let what = EventKind::Packet(PacketEventKind::Acknowledged.of_packet(None));
    recorder.record(&NetworkEvent { at: Instant::START, element: ElementId(9), what }).unwrap();
    recorder.finish().unwrap();
    assert_eq!(file.lines().len(), 2);
}
