//! A connection against its model, the table of states in docs/reference/sap.md: one arm for each
//! row.

use proptest::prelude::*;

use windfall_wire_net::sap::Reason;

use super::super::*;
use super::network::{A, B, CLEAN, Impairments, Network, SECOND, address};
use crate::message::Mode;

/// An action of an application or of the network, followed by four seconds, so that ends
/// that have said all have left.
#[derive(Clone, Copy, Debug)]
enum Step {
    Send(usize),
    Finish(usize),
    Close(usize),
    Abort(usize),
    /// The path loses everything for 63 seconds.
    Silence,
    Wait,
}

/// The state of one end, as in the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct End {
    /// Its FIN was acknowledged.
    finished: bool,
    closed: bool,
    /// The application has closed it.
    released: bool,
    /// The number of messages received.
    arrived: usize,
}

#[derive(Clone, Copy, Debug, Default)]
struct Model([End; 2]);

impl Model {
    /// Applies the step; returns whether a message is accepted.
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
                // The reset informs the peer, if the connection is still open there.
                self.0[by].closed = true;
                self.0[1 - by].closed = true;
            }
            Step::Silence => self.0.iter_mut().for_each(|end| end.closed = true),
            Step::Wait => {}
        }
        if self.0[A].finished && self.0[B].finished {
            // Both have finished: they linger for three seconds.
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
        // The peer receives the FIN and the reset.
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

/// Applies the step to the endpoints; returns whether a message was accepted.
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
            network.impairments = Impairments { loss: 1.0, ..CLEAN };
            network.run(SECOND * 63);
            network.impairments = CLEAN;
            false
        }
        Step::Wait => false,
    };
    network.run(SECOND * 4);
    taken
}

proptest! {
    #[test]
    fn a_connection_follows_its_table_of_states(steps in steps()) {
        let (mut network, ids) = Network::connected(SapConfig::standard(), CLEAN, 1);
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

/// Sends pings to a listener, to a host that does not listen, and over a dead path.
#[test]
fn a_ping_follows_its_table_of_states() {
    for (listens, loss, open, refused) in
        [(true, 0.0, true, false), (false, 0.0, false, true), (true, 1.0, false, false)]
    {
        let impairments = Impairments { loss, ..CLEAN };
        let mut network = Network::new(SapConfig::standard(), impairments, 1);
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
