mod cell;

use proptest::prelude::*;
use windfall_base::{Input, Instant, RxVector};
use windfall_wire_link::wavelan::{Address, Feedback, Kind};

use super::*;
use crate::client::Client;

//= S3.2
#[test]
fn a_full_packet_takes_15_milliseconds_with_its_ack() {
    let time = |bytes: usize| {
        let outgoing = WavelanTiming::WAVELAN.outgoing(Frame::packet(vec![0; bytes]));
        (outgoing.vector.overhead + WAVELAN_RATE.time_of(bytes)).as_secs_f64()
    };
    // Head 5, link header 7, packet 1500, frame check 4; ACK 9.
    let exchange = time(5 + 7 + 1_500 + 4) + time(9);
    assert!((exchange - 0.015).abs() < 1e-6, "{exchange} s");
    let whole = WavelanTiming::WAVELAN.exchange(WAVELAN_RATE, 1_500).as_secs_f64();
    assert!((whole - exchange).abs() < 1e-9, "{whole} s");
}

/// A client that always has a unit and acknowledges every unit.
#[derive(Default)]
struct Willing {
    asked: usize,
    settled: usize,
}

impl Client for Willing {
    fn has_unit(&self, _: Address) -> bool {
        true
    }

    fn on_opportunity(&mut self, _: Instant, _: Address, _: usize) -> Option<Frame> {
        self.asked += 1;
        Some(Frame::packet(vec![0; 100]))
    }

    fn on_unit(&mut self, _: Instant, _: Address, _: Frame) -> Option<Feedback> {
        Some(Feedback::new())
    }

    fn on_outcome(&mut self, _: Instant, _: Address, _: Option<&Feedback>) {
        self.settled += 1;
    }

    fn on_useless(&mut self, _: Instant, _: Frame, _: DropReason) {}
}

//= S3.33
#[test]
fn polls_of_the_silent_take_the_share_of_the_air_that_is_told() {
    let idle = Idle { while_busy: Duration::from_millis(60), ..Idle::default() };
    let unit = Duration::from_millis(15);
    let share = |silent| idle.share_of_polls(silent, &WavelanTiming::WAVELAN, WAVELAN_RATE, unit);
    // Twice 250 µs and five bytes of 4 + 5.508 µs.
    let poll = 0.000_595_08;
    assert!(share(0).abs() < 1e-9);
    // If 60 ms suffice for all stations, each is polled once in that time; otherwise one for each
    // unit.
    assert!((share(10) - 10.0 * poll / 0.060).abs() < 1e-6, "{}", share(10));
    assert!((share(200) - 200.0 * poll / (200.0 * poll + 0.015)).abs() < 1e-6, "{}", share(200));
}

/// A client that acknowledges each unit by four bytes, and notes the lengths that it is told.
#[derive(Default)]
struct Measuring(Vec<usize>);

impl Client for Measuring {
    fn has_unit(&self, _: Address) -> bool {
        true
    }

    fn on_opportunity(&mut self, _: Instant, _: Address, ahead: usize) -> Option<Frame> {
        self.0.push(ahead);
        Some(Frame::packet(vec![0; 100]))
    }

    fn on_unit(&mut self, _: Instant, _: Address, _: Frame) -> Option<Feedback> {
        Some([1, 2, 3, 4].into_iter().collect())
    }

    fn on_outcome(&mut self, _: Instant, _: Address, _: Option<&Feedback>) {}

    fn on_useless(&mut self, _: Instant, _: Frame, _: DropReason) {}
}

#[test]
fn the_length_of_an_ack_ahead_of_a_unit_is_known_when_the_unit_is_chosen() {
    let peers = [Address(1)];
    let mut hub = Coordinator::new(Address(0), &peers, WavelanTiming::WAVELAN, Idle::default());
    let mut above = Measuring::default();
    let now = Instant::START;
    hub.handle_queued(now, &mut above);
    assert!(hub.poll_transmit().is_some(), "a unit with its poll");
    hub.handle_input(now, Input::TransmissionDone, &mut above);
    let head = Head {
        kind: Kind::Response,
        to: Address(0),
        from: Address(1),
        unit: true,
        more: false,
        ack: Some((Address(0), Feedback::new())),
    };
    let frame = with_head(&head, Some(Frame::packet(vec![1; 50])));
    hub.handle_input(now, Input::Frame(frame, RxVector::wired(now)), &mut above);
    let ack = hub.poll_transmit().expect("the ACK goes first").frame;
    assert_eq!(above.0, [0, ack.len()]);
}

/// A client that only counts the frames that it cannot use.
#[derive(Default)]
struct Refusing(Vec<DropReason>);

impl Client for Refusing {
    fn has_unit(&self, _: Address) -> bool {
        false
    }

    fn on_opportunity(&mut self, _: Instant, _: Address, _: usize) -> Option<Frame> {
        None
    }

    fn on_unit(&mut self, _: Instant, _: Address, _: Frame) -> Option<Feedback> {
        None
    }

    fn on_outcome(&mut self, _: Instant, _: Address, _: Option<&Feedback>) {}

    fn on_useless(&mut self, _: Instant, _: Frame, reason: DropReason) {
        self.0.push(reason);
    }
}

#[test]
fn a_unit_that_no_station_was_asked_for_is_discarded_by_name() {
    let peers = [Address(1), Address(2)];
    for (to, unit, expected) in [
        (Address(0), true, vec![DropReason::Malformed]),
        (Address(3), true, vec![DropReason::NotForUs]),
        (Address(0), false, vec![]),
    ] {
        let mut hub = Coordinator::new(Address(0), &peers, WavelanTiming::WAVELAN, Idle::default());
        let head =
            Head { kind: Kind::Response, to, from: Address(1), unit, more: false, ack: None };
        let frame = with_head(&head, unit.then(|| Frame::packet(vec![1; 50])));
        let mut above = Refusing::default();
        let input = Input::Frame(frame, RxVector::wired(Instant::START));
        hub.handle_input(Instant::START, input, &mut above);
        assert_eq!(above.0, expected, "to {to:?}");
        assert!(hub.poll_transmit().is_none());
    }
}

#[test]
fn frames_of_another_station_do_not_end_a_turn() {
    let peers = [Address(1), Address(2)];
    let mut hub = Coordinator::new(Address(0), &peers, WavelanTiming::WAVELAN, Idle::default());
    let mut above = Refusing::default();
    let (due, _) = hub.poll_timeout().expect("a poll is due");
    hub.handle_timeout(due, &mut above);
    assert!(hub.poll_transmit().is_some());
    hub.handle_input(due, Input::TransmissionDone, &mut above);
    let silence = hub.poll_timeout().expect("it waits for an answer").0;
    assert_eq!(silence, due + WavelanTiming::WAVELAN.patience);
    let heard = |kind, from, to| {
        let head = Head { kind, to, from, unit: false, more: false, ack: None };
        Input::Frame(with_head(&head, None), RxVector::wired(due))
    };
    for (kind, from, to) in [
        (Kind::Response, Address(2), Address(0)),
        (Kind::Response, Address(1), Address(3)),
        (Kind::Poll, Address(1), Address(0)),
    ] {
        hub.handle_input(due, heard(kind, from, to), &mut above);
        assert!(hub.poll_transmit().is_none(), "{kind:?} from {from:?} to {to:?}");
    }
    // A frame on the air puts the end of the patience off, and one that was not to be read does
    // not end the turn either.
    hub.handle_input(due, Input::CarrierBusy, &mut above);
    assert!(hub.poll_timeout().expect("it listens").0 > silence);
    let later = due + Duration::from_millis(2);
    hub.handle_input(later, Input::CarrierIdle, &mut above);
    let until = hub.poll_timeout().expect("it waits for an answer").0;
    assert_eq!(until, later + WavelanTiming::WAVELAN.patience);
    hub.handle_input(due, heard(Kind::Response, Address(1), Address(0)), &mut above);
    assert!(hub.poll_transmit().is_some(), "the next poll");
}

fn any_input() -> impl Strategy<Value = Input> {
    let kind = prop_oneof![Just(Kind::Poll), Just(Kind::Response), Just(Kind::Ack)];
    let head = (kind, 0_u8..4, 0_u8..4, any::<[bool; 2]>(), prop::option::of(0_u8..4));
    let spoken = head.prop_map(|(kind, to, from, [unit, more], ack)| {
        let ack = ack.map(|station| (Address(station), Feedback::new()));
        let head = Head { kind, to: Address(to), from: Address(from), unit, more, ack };
        let frame = with_head(&head, unit.then(|| Frame::packet(vec![1; 50])));
        Input::Frame(frame, RxVector::wired(Instant::START))
    });
    let noise = prop::collection::vec(any::<u8>(), 0..60).prop_map(|bytes| {
        let frame = Frame::control(bytes.into_iter().collect(), Default::default());
        Input::Frame(frame, RxVector::wired(Instant::START))
    });
    prop_oneof![
        4 => spoken,
        1 => noise,
        2 => Just(Input::TransmissionDone),
        1 => Just(Input::CarrierBusy),
        1 => Just(Input::CarrierIdle),
    ]
}

proptest! {
    #[test]
    fn whatever_is_heard_each_unit_is_settled_before_the_next(
        inputs in prop::collection::vec((any_input(), any::<bool>()), 1..80),
    ) {
        let peers = [Address(1), Address(2)];
        let mut hub = Coordinator::new(Address(0), &peers, WavelanTiming::WAVELAN, Idle::default());
        let mut station = Responder::new(Address(1), Address(0), WavelanTiming::WAVELAN);
        let mut above_hub = Willing::default();
        let mut above_station = Willing::default();
        let mut now = Instant::START;
        for (input, wait) in inputs {
            if wait && let Some((due, _)) = hub.poll_timeout() {
                prop_assert!(due > now);
                now = due;
            }
            hub.handle_timeout(now, &mut above_hub);
            hub.handle_input(now, input.clone(), &mut above_hub);
            station.handle_input(now, input, &mut above_station);
            while hub.poll_transmit().is_some() {}
            while station.poll_transmit().is_some() {}
            prop_assert!(above_hub.asked - above_hub.settled <= 1);
            prop_assert!(above_station.asked - above_station.settled <= 1);
        }
    }
}
