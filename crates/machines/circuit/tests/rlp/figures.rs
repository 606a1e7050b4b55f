//! The figures of paper 001 and its failed call, as timelines.

use windfall_base::Instant;
use windfall_circuit::rlp::{RlpConfig, RlpDown, RlpEvent, RlpLink, RlpRole, SLOT};
use windfall_testkit::assert_golden;
use windfall_testkit::timeline::Timeline;
use windfall_wire_link::rlp::{RlpControl, RlpFrame, Unnumbered};

use crate::circuit::{Circuit, UP, text};

/// Loses the first transmission of one information frame that goes up.
fn lose_once(number: u8) -> impl FnMut(usize, &RlpFrame) -> bool {
    let mut left = 1;
    move |from, frame| {
        let hit = from == UP
            && left > 0
            && matches!(frame.control, RlpControl::Information { ns, .. } if ns == number);
        left -= i32::from(hit);
        hit
    }
}

//= S1.15
//= S1.20
#[test]
fn figure_4_selective_reject() {
    let mut circuit = Circuit::connected(3);
    circuit.ends[UP].write(&[7; 24 * 8]);
    let mut is_lost = lose_once(2);
    (0..20).for_each(|_| circuit.step(&mut is_lost));
    assert_eq!(circuit.read[1].len(), 24 * 8);
    assert_eq!(circuit.ends[UP].counts().retransmissions, 1);
    assert_golden!("figure-4", circuit.timeline.as_str());
}

//= S1.17
#[test]
fn figure_5_checkpoint() {
    let mut circuit = Circuit::connected(3);
    circuit.ends[UP].write(&[7; 24 * 4]);
    // Nothing follows the last two frames, so only the timer can tell that they are lost.
    let mut third = lose_once(2);
    let mut fourth = lose_once(3);
    (0..45).for_each(|_| circuit.step(|from, frame| third(from, frame) || fourth(from, frame)));
    assert_eq!(circuit.read[1].len(), 24 * 4);
    assert_eq!(circuit.ends[UP].counts().polls, 1);
    assert_golden!("figure-5", circuit.timeline.as_str());
}

//= S1.18
#[test]
fn a_mute_peer_gets_seven_xids_48_frames_apart_and_then_the_link_is_down() {
    let mut link = RlpLink::new(RlpConfig::standard(RlpRole::Network));
    link.connect();
    let mut timeline = Timeline::new();
    let mut sent = Vec::new();
    let mut events = Vec::new();
    for slot in 0..400 {
        let now = Instant::START + SLOT * slot;
        let frame = RlpFrame::parse(&link.next_frame(now)).expect("a frame");
        if frame.control == RlpControl::Unnumbered(Unnumbered::Xid) {
            timeline.note(now, format_args!("down {}", text(&frame)));
            sent.push(slot);
        }
        while let Some(event) = link.poll_event() {
            timeline.note(now, format_args!("network {event:?}"));
            events.push(event);
        }
    }
    assert_eq!(sent, (0..7).map(|i| 48 * i).collect::<Vec<_>>());
    assert_eq!(events, [RlpEvent::Down(RlpDown::NoXidAnswer)]);
    assert_golden!("mute-peer", timeline.as_str());
}

//= S1.13
#[test]
fn a_call_is_negotiated_connected_and_ended() {
    let mut circuit = Circuit::new(crate::circuit::standard(), 3);
    circuit.ends[UP].connect();
    (0..16).for_each(|_| circuit.step(|_, _| false));
    circuit.ends[1].write(b"CONNECT 9600");
    (0..10).for_each(|_| circuit.step(|_, _| false));
    assert_eq!(circuit.read[UP], b"CONNECT 9600");
    circuit.ends[UP].disconnect();
    (0..10).for_each(|_| circuit.step(|_, _| false));
    assert_golden!("call", circuit.timeline.as_str());
}
