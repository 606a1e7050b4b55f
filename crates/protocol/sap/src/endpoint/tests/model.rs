//! A connection against a model of it, the table of states in docs/sap.md: an arm for each row.

use proptest::prelude::*;

use windfall_wire_net::sap::Reason;

use super::super::*;
use super::network::{A, B, FAIR, Network, SECOND, Weather, address};
use crate::message::Mode;

/// What an application or the network does; a second passes after each.
#[derive(Clone, Copy, Debug)]
enum Step {
    Send(usize),
    Finish(usize),
    Close(usize),
    Abort(usize),
    /// The path goes dead for 63 seconds, and works again.
    Silence,
    Wait,
}

/// One end as the table has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct End {
    /// It has said that it sends no more, and the other end knows.
    finished: bool,
    closed: bool,
    /// The application has let go of it.
    released: bool,
    /// Messages that have arrived here.
    arrived: usize,
}

#[derive(Clone, Copy, Debug, Default)]
struct Model([End; 2]);

impl Model {
    /// What the step leads to; whether a message is taken.
    fn step(&mut self, step: Step) -> bool {
        match step {
            Step::Send(by) => {
                let taken = !self.0[by].finished && !self.0[by].closed;
                self.0[1 - by].arrived += usize::from(taken && !self.0[1 - by].released);
                return taken;
            }
            Step::Finish(by) => self.0[by].finished = true,
            Step::Close(by) => self.close(by),
            Step::Abort(by) => {
                // The word of it is the reset, if there is somebody to hear it.
                self.0[by].closed = true;
                self.0[1 - by].closed = true;
            }
            Step::Silence => self.0.iter_mut().for_each(|end| end.closed = true),
            Step::Wait => {}
        }
        if self.0[A].finished && self.0[B].finished {
            // Both know: they linger for three timeouts, less than a second.
            self.0.iter_mut().for_each(|end| end.closed = true);
        }
        false
    }

    fn close(&mut self, by: usize) {
        if self.0[by].closed {
            self.0[by].released = true;
            return;
        }
        self.0[by] = End { finished: true, closed: true, released: true, ..self.0[by] };
        // The other end learns of it: of the end of this direction, and of the reset.
        self.0[1 - by].closed = true;
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (0_usize..2).prop_map(Step::Send),
        2 => (0_usize..2).prop_map(Step::Finish),
        1 => (0_usize..2).prop_map(Step::Close),
        1 => (0_usize..2).prop_map(Step::Abort),
        1 => Just(Step::Silence),
        3 => Just(Step::Wait),
    ];
    prop::collection::vec(step, 1..12)
}

/// Does the step at the real endpoints; whether a message was taken.
fn perform(network: &mut Network, ids: [ConnectionId; 2], step: Step) -> bool {
    let now = network.now;
    let taken = match step {
        Step::Send(by) => {
            let message = Message::new(Mode::Precise, &b"one"[..]);
            network.ends[by].send(ids[by], &message).is_ok()
        }
        Step::Finish(by) => {
            network.ends[by].finish(ids[by]);
            false
        }
        Step::Close(by) => {
            network.ends[by].close(now, ids[by]);
            false
        }
        Step::Abort(by) => {
            network.ends[by].abort(ids[by], CloseReason::Closed);
            false
        }
        Step::Silence => {
            network.weather = Weather { loss: 1.0, ..FAIR };
            network.run(SECOND * 63);
            network.weather = FAIR;
            false
        }
        Step::Wait => false,
    };
    network.run(SECOND);
    taken
}

proptest! {
    #[test]
    fn a_connection_does_what_its_table_says(steps in steps()) {
        let (mut network, ids) = Network::connected(SapConfig::standard(), FAIR, 1);
        let mut model = Model::default();
        let mut arrived = [0; 2];
        for step in steps {
            let taken = perform(&mut network, ids, step);
            prop_assert_eq!(taken, model.step(step), "{:?}: taken", step);
            for end in [A, B] {
                arrived[end] += network.receive(end, ids[end]).len();
                let expected = model.0[end];
                prop_assert_eq!(arrived[end], expected.arrived, "{:?}: arrived at {}", step, end);
                let open = network.ends[end].is_open(ids[end]);
                prop_assert_eq!(open, !expected.closed, "{:?}: {} open", step, end);
            }
        }
        for end in [A, B] {
            network.ends[end].close(network.now, ids[end]);
        }
        network.run(SECOND * 90);
        for end in [A, B] {
            prop_assert!(network.ends[end].is_empty(), "{:?}", network.ends[end]);
            let closed = |event: &SapEvent| matches!(event, SapEvent::Closed(_));
            let events = network.events[end].iter().filter(|(_, event)| closed(event));
            prop_assert_eq!(events.count(), 1, "it ends once");
            let last = network.events[end].last().map(|(_, event)| closed(event));
            prop_assert_eq!(last, Some(true), "nothing happens after the end");
        }
    }
}

/// A ping meets whatever may stand at the other end: a listener, nobody, a dead path.
#[test]
fn a_ping_leads_where_its_table_says() {
    for (listens, loss, open, refused) in
        [(true, 0.0, true, false), (false, 0.0, false, true), (true, 1.0, false, false)]
    {
        let weather = Weather { loss, ..FAIR };
        let mut network = Network::new(SapConfig::standard(), weather, 1);
        network.ends[B].listen(listens);
        let id = network.ends[A].connect(network.now, address(B));
        network.run(SECOND * 6);
        assert_eq!(network.ends[A].is_open(id), open);
        let reason = CloseReason::Refused(Reason::NotListening);
        assert_eq!(network.happened(A, &SapEvent::Closed(reason)), refused);
        let silent = network.happened(A, &SapEvent::Closed(CloseReason::NoAnswer));
        assert_eq!(silent, loss > 0.5);
        assert_eq!(network.happened(A, &SapEvent::Connected), open);
    }
}
