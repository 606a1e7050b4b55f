use serde_json::{Value, json};
use windfall_base::{DropReason, FlowId, PacketDrop, Port, Tag};
use windfall_network::ElementId;

use super::*;

const AT: Instant = Instant::from_nanos(1_500_000_001);

fn logged(what: EventKind) -> Vec<Value> {
    let names = vec!["near".to_owned(), "air".to_owned()];
    let element = match what {
        EventKind::Medium(_) => ElementId(1),
        _ => ElementId(0),
    };
    let mut log = EventLog::new(Vec::new(), Seed(7), "windfall run -- true", names).unwrap();
    log.record(&NetworkEvent { at: AT, element, what }).unwrap();
    let text = String::from_utf8(log.into_inner()).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn packet(tag: Option<Tag>, kind: PacketEventKind) -> Value {
    logged(EventKind::Packet(kind.of_packet(tag))).pop().unwrap()
}

fn medium(fate: FrameFate) -> Value {
    let began = Instant::from_nanos(500_000_000);
    let event = windfall_channel::MediumEvent {
        duplicate: false,
        from: Port(0),
        to: Port(1),
        number: Some(3),
        tag: Some(Tag(5)),
        kept: true,
        names_only: false,
        is_repair: false,
        length: 1512,
        header: 8,
        trailer: 0,
        began,
        ended: AT,
        strength: Some(-71),
        fate,
    };
    logged(EventKind::Medium(event)).pop().unwrap()
}

#[test]
fn the_first_line_says_what_the_file_is() {
    let lines = logged(EventKind::Packet(PacketEventKind::Acknowledged.of_packet(Some(Tag(1)))));
    let expected = json!({
        "ev": "header", "t": 0.0, "format": 1, "version": env!("CARGO_PKG_VERSION"),
        "seed": 7, "command": "windfall run -- true", "elements": ["near", "air"],
    });
    assert_eq!(lines[0], expected);
    let expected = json!({"ev": "frame.acknowledged", "t": 1.500000001, "at": "near", "tag": 1});
    assert_eq!(lines[1], expected);
}

#[test]
fn the_life_of_a_packet_has_stable_names() {
    let tag = Some(Tag(1));
    let queued = packet(tag, PacketEventKind::Queued { flow: FlowId(0), len: 1500, queue: 2 });
    let expected = json!({
        "ev": "packet.queued", "t": 1.500000001, "at": "near", "tag": 1, "len": 1500,
        "flow": 0, "queue": 2,
    });
    assert_eq!(queued, expected);
    let marked = packet(tag, PacketEventKind::Marked);
    assert_eq!((&marked["ev"], &marked["tag"]), (&json!("packet.marked"), &json!(1)));
    let combined = packet(tag, PacketEventKind::Combined { copies: 3 });
    assert_eq!((&combined["ev"], &combined["copies"]), (&json!("packet.combined"), &json!(3)));
    let repaired = packet(tag, PacketEventKind::Repaired { was_missing: true });
    assert_eq!((&repaired["ev"], &repaired["tag"]), (&json!("packet.repaired"), &json!(1)));
    let sent = packet(tag, PacketEventKind::Sent { attempt: 2, len: 1512, kept: true });
    assert_eq!((&sent["ev"], &sent["attempt"]), (&json!("frame.sent"), &json!(2)));
    let reason = DropReason::FrameCheck;
    let drop = |len| PacketEventKind::Dropped(PacketDrop::at_sender(reason, len));
    let dropped = packet(tag, drop(1500));
    assert_eq!(dropped["reason"], "frame-check");
    assert_eq!((&dropped["ev"], &dropped["kept"]), (&json!("packet.dropped"), &json!(false)));
    let control = packet(None, drop(0));
    assert_eq!(control["ev"], "frame.dropped");
}

#[test]
fn damage_is_logged_as_known_and_as_true() {
    let damage = Damage { frame: Check::Bad, missing: 4, ..Damage::default() };
    let delivered = |len, damage| packet(Some(Tag(1)), PacketEventKind::Delivered { len, damage });
    let damaged = delivered(1496, Some(Box::new(damage)));
    let expected = json!({
        "frame": "bad", "header": "unchecked", "missing": 4, "corrected": 0, "suspect": [],
    });
    assert_eq!(damaged["damage"], expected);
    let clean = delivered(1500, None);
    assert_eq!(clean.get("damage"), None);

    let damaged = medium(FrameFate::Damaged { truncated: Some(800), inverted: vec![64, 99] });
    let expected = json!({
        "ev": "medium.damaged", "t": 1.500000001, "at": "air", "tag": 5, "len": 1512, "kept": true,
        "medium": {
            "from": 0, "to": 1, "frame": 3, "header": 8, "began": 0.5, "ended": 1.500000001,
            "strength": -71,
            "truncated": 800, "inverted": [64, 99],
        },
    });
    assert_eq!(damaged, expected);
    for (fate, name) in [
        (FrameFate::Intact, "medium.intact"),
        (FrameFate::Lost, "medium.lost"),
        (FrameFate::Collided, "medium.collided"),
    ] {
        assert_eq!(medium(fate)["ev"], name);
    }
}

#[test]
fn a_message_is_as_its_application_knows_it() {
    let arrival = MessageArrival {
        number: 4,
        precise: false,
        len: 100,
        age: Some(Duration::from_millis(20)),
        wrong_bytes: 2,
        missing: 10,
        marked: true,
    };
    let message = |arrival| {
        let app = windfall_stack::AppId(0);
        logged(EventKind::Host(HostEvent::Message { app, arrival })).pop().unwrap()
    };
    let expected = json!({
        "ev": "message.delivered", "t": 1.500000001, "at": "near", "len": 100,
        "message": {
            "number": 4, "precise": false, "age": 0.02, "wrong_bytes": 2, "missing": 10,
            "marked": true,
        },
    });
    assert_eq!(message(arrival), expected);
    let hidden = message(MessageArrival { age: None, ..arrival });
    assert!(hidden["message"].get("age").is_none(), "{hidden}");
}
