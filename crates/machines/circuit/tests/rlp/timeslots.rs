//! Two calls over one E1 line, whose channels a controller assigns.

use windfall_base::Instant;
use windfall_circuit::rlp::{
    E1Channel, E1Line, RlpConfig, RlpDown, RlpEvent, RlpLink, RlpRole, SLOT, TimeslotController,
    TrauReceiver,
};
use windfall_wire_link::trau::{DATA_DOWN, DATA_UP, TrauFrame};

/// A call: its mobile and network ends, their receivers, and the channels by which the base station
/// and the interworking function know it.
struct Call {
    ends: [RlpLink; 2],
    receivers: [TrauReceiver; 2],
    known_as: [E1Channel; 2],
    events: [Vec<RlpEvent>; 2],
    arrived: Vec<u8>,
}

impl Call {
    fn new(known_as: [E1Channel; 2]) -> Self {
        let roles = [RlpRole::Mobile, RlpRole::Network];
        let mut ends = roles.map(|role| RlpLink::new(RlpConfig::standard(role)));
        ends[0].connect();
        ends[0].write(&[7; 600]);
        Self {
            ends,
            receivers: [TrauReceiver::new(), TrauReceiver::new()],
            known_as,
            events: [Vec::new(), Vec::new()],
            arrived: Vec::new(),
        }
    }
}

/// Runs calls for some slots over a line in each direction.
fn run(calls: &mut [Call], slots: u64) {
    for slot in 0..slots {
        let now = Instant::START + SLOT * slot;
        for (from, kind) in [DATA_UP, DATA_DOWN].into_iter().enumerate() {
            let mut line = E1Line::default();
            for call in calls.iter_mut() {
                let block = call.ends[from].next_frame(now);
                let frame = TrauFrame::of_block(kind, &block);
                line.put(call.known_as[from], &frame.encode());
            }
            let to = 1 - from;
            for call in calls.iter_mut() {
                call.receivers[to].take(&line.channel(call.known_as[to]));
                while let Some(frame) = call.receivers[to].poll_frame() {
                    if let Some(frame) = frame {
                        let _ = call.ends[to].handle_frame(now, &frame.block());
                    }
                }
                call.arrived.extend(call.ends[1].read());
                let events = core::iter::from_fn(|| call.ends[to].poll_event());
                call.events[to].extend(events);
            }
        }
    }
}

//= S1.25
//= S1.59
//= S1.65
#[test]
fn a_wrong_timeslot_tears_its_call_down_and_no_other() {
    let mut controller = TimeslotController::new();
    let mut assign = || controller.assign().expect("a free channel");
    let first = assign();
    let second = assign();
    let idle = assign();
    // Both ends of both calls know the channel that was assigned.
    let mut calls = [Call::new([first; 2]), Call::new([second; 2])];
    run(&mut calls, 600);
    for call in &calls {
        assert!(call.ends.iter().all(RlpLink::is_up), "{:?}", call.events);
        assert_eq!(call.arrived, [7; 600]);
    }
    // The interworking function listens for the second call in a channel without one.
    let mut calls = [Call::new([first; 2]), Call::new([second, idle])];
    run(&mut calls, 600);
    assert!(calls[0].ends.iter().all(RlpLink::is_up));
    assert_eq!((calls[0].arrived.len(), calls[1].arrived.len()), (600, 0));
    assert!(!calls[1].ends[0].is_up());
    let down = RlpEvent::Down(RlpDown::NoXidAnswer);
    assert!(calls[1].events[0].contains(&down), "{:?}", calls[1].events);
}
