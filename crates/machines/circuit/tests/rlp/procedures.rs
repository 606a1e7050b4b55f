//! Connecting, negotiating, resetting, and what a peer may do wrong.

use proptest::prelude::*;
use windfall_base::Duration;
use windfall_base::Instant;
use windfall_circuit::rlp::{RlpConfig, RlpDown, RlpEvent, RlpLink, RlpRole, SLOT};
use windfall_wire_link::rlp::{
    RLP_FRAME_LEN, RLP_INFO_LEN, RlpControl, RlpFrame, Supervisory, Unnumbered, XidParameters,
    fcs24,
};

use crate::circuit::{Circuit, DOWN, UP, standard};

fn unnumbered(kind: Unnumbered, command: bool) -> RlpFrame {
    let control = RlpControl::Unnumbered(kind);
    RlpFrame { command, poll_final: true, control, info: [0; RLP_INFO_LEN] }
}

/// The answer of a link to a frame.
fn answer(link: &mut RlpLink, frame: &RlpFrame) -> RlpFrame {
    link.handle_frame(Instant::START, &frame.encode()).expect("a frame");
    RlpFrame::parse(&link.next_frame(Instant::START)).expect("a frame")
}

//= S1.19
#[test]
fn two_that_connect_at_once_collide_and_the_mobile_station_tries_again_first() {
    for delay in 1..12 {
        let mut circuit = Circuit::new(standard(), delay);
        circuit.ends.iter_mut().for_each(RlpLink::connect);
        circuit.run(200, 0.0, 1);
        assert!(circuit.ends.iter().all(RlpLink::is_up), "{delay}");
        for events in &circuit.events {
            assert!(events.contains(&RlpEvent::XidCollision), "{delay}: {events:?}");
            assert_eq!(events.last(), Some(&RlpEvent::Up), "{delay}");
        }
        circuit.ends[UP].write(b"after the collision");
        circuit.run(40, 0.0, 1);
        assert_eq!(circuit.read[DOWN], b"after the collision");
    }
}

//= S1.19
#[test]
fn the_paper_s_asymmetric_windows_are_negotiated() {
    let [mut mobile, mut network] = standard();
    (mobile.window_up, network.window_up) = (15, 30);
    (network.t1, network.n2) = (Duration::from_millis(600), 9);
    let mut circuit = Circuit::new([mobile, network], 4);
    circuit.ends[UP].connect();
    circuit.run(60, 0.0, 1);
    for end in &circuit.ends {
        assert!(end.is_up());
        let config = end.config();
        assert_eq!((config.window_up, config.window_down), (15, 31));
        assert_eq!((config.t1, config.n2), (Duration::from_millis(600), 9));
    }
}

//= S1.16
#[test]
fn a_frame_that_never_arrives_resets_the_link_after_n2_retransmissions() {
    let mut circuit = Circuit::connected(3);
    circuit.ends[UP].write(&[1; 24 * 20]);
    let mut transmissions = 0;
    for _ in 0..600 {
        circuit.step(|from, frame| {
            let control = frame.control;
            let hit = from == UP && matches!(control, RlpControl::Information { ns: 3, .. });
            transmissions += i32::from(hit);
            hit
        });
        if circuit.ends[UP].counts().resets > 0 {
            break;
        }
    }
    circuit.run(1, 0.0, 1);
    assert_eq!(transmissions, 1 + 6);
    assert_eq!(circuit.ends[UP].counts().resets, 1);
    assert!(circuit.events[UP].iter().any(|event| matches!(event, RlpEvent::Reset { .. })));
    assert!(circuit.events[DOWN].iter().any(|event| matches!(event, RlpEvent::Reset { .. })));
    // After the reset the link carries data again.
    circuit.read[DOWN].clear();
    circuit.run(60, 0.0, 1);
    circuit.read[DOWN].clear();
    circuit.ends[UP].write(b"again");
    circuit.run(20, 0.0, 1);
    assert!(circuit.read[DOWN].ends_with(b"again"));
}

#[test]
fn a_peer_that_falls_silent_ends_the_link_by_polls_and_sabm() {
    let mut circuit = Circuit::connected(3);
    circuit.ends[UP].write(b"is anything there?");
    (0..1_000).for_each(|_| circuit.step(|_, _| true));
    assert_eq!(circuit.events[UP].last(), Some(&RlpEvent::Down(RlpDown::NoAnswer)));
    // 1 + N2 polls and 1 + N2 SABMs, each after T1.
    assert_eq!(circuit.ends[UP].counts().polls, 7);
}

#[test]
fn who_does_not_listen_refuses_and_the_caller_is_told() {
    let mut circuit = Circuit::new(standard(), 2);
    circuit.ends[DOWN].disconnect();
    circuit.ends[UP].connect();
    circuit.run(40, 0.0, 1);
    // The XID is answered by DM; without an answer to it the call ends by itself.
    circuit.run(400, 0.0, 1);
    assert!(matches!(circuit.events[UP].last(), Some(RlpEvent::Down(_))));
    let [mut mobile, network] = standard();
    mobile.negotiate = false;
    let mut circuit = Circuit::new([mobile, network], 2);
    circuit.ends[DOWN].disconnect();
    circuit.ends[UP].connect();
    circuit.run(40, 0.0, 1);
    assert_eq!(circuit.events[UP].last(), Some(&RlpEvent::Down(RlpDown::Refused)));
}

#[test]
fn the_commands_of_a_peer_are_answered_as_the_standard_says() {
    let mut link = RlpLink::new(RlpConfig::standard(RlpRole::Network));
    let control = |frame: RlpFrame| (frame.control, frame.command, frame.poll_final);
    let is = |kind| (RlpControl::Unnumbered(kind), false, true);
    let disc = unnumbered(Unnumbered::Disc, true);
    assert_eq!(control(answer(&mut link, &disc)), is(Unnumbered::Dm));
    let mut test = unnumbered(Unnumbered::Test, true);
    test.info[3] = 99;
    assert_eq!(answer(&mut link, &test).info, test.info);
    let mut xid = unnumbered(Unnumbered::Xid, true);
    xid.info = XidParameters { window_up: Some(0), ..XidParameters::default() }.encode();
    let answered = answer(&mut link, &xid);
    assert_eq!(control(answered.clone()), is(Unnumbered::Xid));
    assert_eq!(XidParameters::parse(&answered.info).window_up, Some(31));
    let poll = RlpControl::Supervisory { function: Supervisory::Rr, nr: 0 };
    let poll = RlpFrame { control: poll, ..unnumbered(Unnumbered::Ui, true) };
    assert_eq!(control(answer(&mut link, &poll)), is(Unnumbered::Dm));
    let sabm = unnumbered(Unnumbered::Sabm, true);
    assert_eq!(control(answer(&mut link, &sabm)), is(Unnumbered::Ua));
    assert!(link.is_up());
    let rr = RlpControl::Supervisory { function: Supervisory::Rr, nr: 0 };
    assert_eq!(control(answer(&mut link, &poll)), (rr, false, true));
    assert_eq!(control(answer(&mut link, &disc)), is(Unnumbered::Ua));
    assert!(!link.is_up());
}

#[test]
fn data_without_a_connection_are_not_taken() {
    // GSM 04.22, section 5.2.1: in ADM a polled command is answered by DM, and nothing else.
    let mut link = RlpLink::new(RlpConfig::standard(RlpRole::Network));
    let control = RlpControl::Information { function: Supervisory::Rr, ns: 0, nr: 0 };
    let mut info = [7; RLP_INFO_LEN];
    info[0] = 24;
    for (command, poll_final, is_answered) in
        [(true, true, true), (true, false, false), (false, true, false)]
    {
        let data = RlpFrame { command, poll_final, control, info };
        let kind = if is_answered { Unnumbered::Dm } else { Unnumbered::Null };
        let answer = answer(&mut link, &data);
        assert_eq!(answer.control, RlpControl::Unnumbered(kind), "{command} {poll_final}");
        assert_eq!(answer.poll_final, is_answered);
        assert!(link.read().is_empty() && !link.is_up());
    }
}

#[test]
fn a_reader_that_sleeps_pauses_the_peer_and_nothing_is_lost() {
    let mut circuit = Circuit::connected(3);
    let text: Vec<u8> = (0..8_000).map(|i| (i / 3) as u8).collect();
    let mut config = *circuit.ends[DOWN].config();
    config.buffer = 500;
    let mut links = [RlpLink::new(standard()[0]), RlpLink::new(config)];
    links[UP].connect();
    links[UP].write(&text);
    let mut read = Vec::new();
    let mut most = 0;
    for slot in 0..2_000 {
        let now = Instant::START + SLOT * slot;
        for from in [UP, DOWN] {
            let block = links[from].next_frame(now);
            links[1 - from].handle_frame(now, &block).expect("a frame");
        }
        if slot % 100 == 99 {
            let piece = links[DOWN].read();
            most = most.max(piece.len());
            read.extend(piece);
        }
    }
    assert!(links.iter().all(RlpLink::is_up));
    assert_eq!(read.len(), text.len());
    assert_eq!(read, text);
    // The window may be under way when the peer learns of it.
    assert!(most < 500 + 4 * 24, "{most}");
    circuit.run(1, 0.0, 1);
}

proptest! {
    #[test]
    fn any_blocks_are_taken_without_panic(
        blocks in prop::collection::vec((any::<[u8; RLP_FRAME_LEN]>(), any::<bool>()), 0..80),
        connects: bool,
    ) {
        let mut link = RlpLink::new(RlpConfig::standard(RlpRole::Mobile));
        link.write(&[7; 3_000]);
        if connects {
            link.connect();
        }
        let sabm = unnumbered(Unnumbered::Sabm, true).encode();
        for (slot, (mut block, up)) in blocks.into_iter().enumerate() {
            let now = Instant::START + SLOT * (40 * slot as u64);
            let check = fcs24(&block[..27]).to_le_bytes();
            block[27..].copy_from_slice(&check[..3]);
            let block = if up && !link.is_up() { sabm } else { block };
            let _ = link.handle_frame(now, &block);
            let sent = RlpFrame::parse(&link.next_frame(now));
            prop_assert!(sent.is_ok());
            let _ = link.read();
            while link.poll_event().is_some() {}
        }
    }
}
