//! A coordinator and its stations on an air that may lose a frame; each frame takes 1 ms.

use std::collections::{BTreeMap, VecDeque};

use super::*;

const FRAME: Duration = Duration::from_millis(1);
const MS: Duration = Duration::from_millis(1);
const HUB: Address = Address(0);

/// The layer above one station: units for each peer, sent until acknowledged.
#[derive(Default)]
struct Queue {
    units: BTreeMap<u8, VecDeque<u8>>,
    open: Option<u8>,
    got: Vec<u8>,
    /// The peer whose units go first.
    first: Option<u8>,
    silent: usize,
    useless: Vec<DropReason>,
}

impl Queue {
    fn of(units: &[(u8, &[u8])]) -> Self {
        let units = units.iter().map(|(peer, units)| (*peer, units.iter().copied().collect()));
        Self { units: units.collect(), ..Self::default() }
    }

    fn is_empty(&self) -> bool {
        self.open.is_none() && self.units.values().all(VecDeque::is_empty)
    }
}

impl Client for Queue {
    fn has_unit(&self, peer: Address) -> bool {
        self.units.get(&peer.0).is_some_and(|units| !units.is_empty())
    }

    fn preferred(&mut self) -> Option<Address> {
        self.first.map(Address).filter(|peer| self.has_unit(*peer))
    }

    fn on_opportunity(&mut self, _: Instant, peer: Address, _: usize) -> Option<Frame> {
        assert_eq!(self.open, None, "the last unit is not settled");
        self.open = self.units.get_mut(&peer.0)?.pop_front();
        self.open.map(|unit| Frame::packet(vec![unit; 10]))
    }

    fn on_unit(&mut self, _: Instant, _: Address, unit: Frame) -> Option<Feedback> {
        let name = unit.payload.to_bytes()[0];
        // A duplicate is acknowledged and discarded.
        if self.got.last() != Some(&name) {
            self.got.push(name);
        }
        Some([name].into_iter().collect())
    }

    fn on_outcome(&mut self, _: Instant, peer: Address, feedback: Option<&Feedback>) {
        let unit = self.open.take().expect("a unit was sent");
        match feedback {
            Some(feedback) => assert_eq!(feedback[..], [unit], "the ACK of another unit"),
            None => {
                self.silent += 1;
                self.units.entry(peer.0).or_default().push_front(unit);
            }
        }
    }

    fn on_useless(&mut self, _: Instant, _: Frame, reason: DropReason) {
        self.useless.push(reason);
    }
}

/// A frame on the air: its beginning, its sender and its head.
type Spoken = (Instant, Address, Head);

struct Cell {
    now: Instant,
    hub: (Coordinator, Queue),
    stations: Vec<(Responder, Queue)>,
    log: Vec<Spoken>,
}

impl Cell {
    fn new(idle: Idle, hub: Queue, stations: Vec<Queue>) -> Self {
        let peers: Vec<Address> = (1..).map(Address).take(stations.len()).collect();
        let station = |address: &Address| Responder::new(*address, HUB, WavelanTiming::WAVELAN);
        let responders = peers.iter().map(station).zip(stations).collect();
        let coordinator = Coordinator::new(HUB, &peers, WavelanTiming::WAVELAN, idle);
        let now = Instant::START;
        let log = Vec::new();
        Self { now, hub: (coordinator, hub), stations: responders, log }
    }

    /// Lets the air carry frames until `end`; `lost` says which of them no station can read.
    fn run(&mut self, end: Duration, mut lost: impl FnMut(usize, &Head) -> bool) {
        let end = Instant::START + end;
        self.hub.0.handle_queued(self.now, &mut self.hub.1);
        while self.now < end {
            if let Some(outgoing) = self.hub.0.poll_transmit() {
                let frame = outgoing.frame;
                let readable = self.carry(HUB, &frame, &mut lost);
                self.hub.0.handle_input(self.now, Input::TransmissionDone, &mut self.hub.1);
                for (station, above) in &mut self.stations {
                    if readable {
                        let input = Input::Frame(frame.clone(), RxVector::wired(self.now));
                        station.handle_input(self.now, input, above);
                    }
                }
                continue;
            }
            let speaks = |(station, _): &mut (Responder, Queue)| station.poll_transmit();
            let spoken: Vec<_> = self.stations.iter_mut().map(speaks).collect();
            let count = spoken.iter().flatten().count();
            assert!(count <= 1, "stations speak at once");
            if let Some(index) = spoken.iter().position(Option::is_some) {
                let frame = spoken.into_iter().flatten().next().expect("there is one").frame;
                self.hub.0.handle_input(self.now, Input::CarrierBusy, &mut self.hub.1);
                let readable = self.carry(Address(index as u8 + 1), &frame, &mut lost);
                let (station, above) = &mut self.stations[index];
                station.handle_input(self.now, Input::TransmissionDone, above);
                let input = if readable {
                    Input::Frame(frame, RxVector::wired(self.now))
                } else {
                    Input::CarrierIdle
                };
                self.hub.0.handle_input(self.now, input, &mut self.hub.1);
                continue;
            }
            let (due, _) = self.hub.0.poll_timeout().expect("it polls for ever");
            self.now = due;
            self.hub.0.handle_timeout(self.now, &mut self.hub.1);
        }
    }

    fn carry(
        &mut self,
        from: Address,
        frame: &Frame,
        lost: &mut impl FnMut(usize, &Head) -> bool,
    ) -> bool {
        let (head, _) = Head::parse(&frame.header).expect("a head of ours");
        // An ACK is never sent in the frame of a unit, and follows where it is announced.
        assert!(!(head.unit && head.ack.is_some()), "{head:?}");
        assert!(head.kind != Kind::Ack || head.ack.is_some(), "{head:?}");
        let readable = !lost(self.log.len(), &head);
        self.log.push((self.now, from, head));
        self.now += FRAME;
        readable
    }

    /// When the coordinator polled a station.
    fn polls(&self, to: u8) -> Vec<Instant> {
        let polls = self.log.iter().filter(|(_, _, head)| head.kind == Kind::Poll);
        polls.filter(|(_, _, head)| head.to == Address(to)).map(|(at, _, _)| *at).collect()
    }
}

fn no_loss(_: usize, _: &Head) -> bool {
    false
}

//= S3.2
#[test]
fn units_go_both_ways_once_each_and_in_order() {
    let hub = Queue::of(&[(1, &[1, 2, 3]), (2, &[4, 5])]);
    let stations = vec![Queue::default(), Queue::of(&[(0, &[10, 11, 12])]), Queue::default()];
    let mut cell = Cell::new(Idle::default(), hub, stations);
    cell.run(MS * 200, no_loss);
    assert_eq!(cell.hub.1.got, [10, 11, 12]);
    let got: Vec<_> = cell.stations.iter().map(|(_, above)| above.got.clone()).collect();
    assert_eq!(got, [vec![1, 2, 3], vec![4, 5], vec![]]);
    assert!(cell.hub.1.is_empty() && cell.stations.iter().all(|(_, above)| above.is_empty()));
    assert_eq!(cell.hub.1.silent, 0);
    assert!(cell.hub.1.useless.is_empty());
    // A frame for one station is useless to the others, and no other frame is useless.
    let useless = |above: &Queue| above.useless.iter().all(|it| *it == DropReason::NotForUs);
    assert!(cell.stations.iter().all(|(_, above)| useless(above)));
    assert_eq!(cell.stations[2].1.useless.len(), 5);
    // With a unit waiting no station waits for the rhythm of polls.
    assert_eq!(cell.log[0].0, Instant::START);
}

#[test]
fn what_is_lost_comes_again_and_nothing_is_taken_twice() {
    for lost in 0..24 {
        let hub = Queue::of(&[(1, &[1, 2, 3])]);
        let mut cell = Cell::new(Idle::default(), hub, vec![Queue::of(&[(0, &[10, 11])])]);
        cell.run(MS * 200, |index, _| index == lost);
        assert_eq!(cell.hub.1.got, [10, 11], "frame {lost} was lost");
        assert_eq!(cell.stations[0].1.got, [1, 2, 3], "frame {lost} was lost");
        assert!(cell.hub.1.is_empty() && cell.stations[0].1.is_empty(), "{lost}");
        assert!(cell.hub.1.silent + cell.stations[0].1.silent <= 2, "{lost}");
    }
}

#[test]
fn stations_with_units_have_their_turns_in_a_circle() {
    let units: Vec<u8> = (0..20).collect();
    let hub = Queue::of(&[(1, &units), (2, &units), (3, &units)]);
    let stations = vec![Queue::default(), Queue::default(), Queue::default()];
    let mut cell = Cell::new(Idle::default(), hub, stations);
    cell.run(MS * 60, no_loss);
    let order = cell.log.iter().filter(|(_, _, head)| head.kind == Kind::Poll && head.unit);
    let order: Vec<u8> = order.map(|(_, _, head)| head.to.0).take(12).collect();
    assert_eq!(order, [1, 2, 3].repeat(4));
}

#[test]
fn a_station_without_units_is_asked_ever_more_rarely() {
    let idle = Idle { shortest: MS * 10, longest: MS * 80, while_busy: MS * 60 };
    let mut cell = Cell::new(idle, Queue::of(&[(1, &[1])]), vec![Queue::default()]);
    cell.run(MS * 500, no_loss);
    let polls = cell.polls(1);
    let pauses: Vec<Duration> =
        polls.windows(2).map(|pair| pair[1].saturating_since(pair[0])).collect();
    // A poll and its answer take 2 ms. After the unit two more follow at once.
    let expected = [2, 2, 2, 10, 20, 40, 80, 80].map(|ms| MS * ms);
    assert_eq!(pauses[..8], expected);
}

#[test]
fn a_silent_station_takes_little_of_a_busy_air() {
    let idle = Idle { shortest: MS, longest: MS * 4, while_busy: MS * 60 };
    let units: Vec<u8> = (0..=255).collect();
    let hub = Queue::of(&[(1, &units)]);
    let mut cell = Cell::new(idle, hub, vec![Queue::default(), Queue::default()]);
    cell.run(MS * 480, no_loss);
    assert!(cell.hub.1.has_unit(Address(1)), "it was busy all the time");
    let polls = cell.polls(2);
    // Every 60 ms, or at the end of the exchange in progress.
    assert!((7..=8).contains(&polls.len()), "{polls:?}");
    for pair in polls.windows(2) {
        let pause = pair[1].saturating_since(pair[0]);
        assert!(pause >= MS * 60 && pause <= MS * 64, "{pause}");
    }
}

#[test]
fn the_units_of_the_preferred_station_go_first() {
    let idle = Idle { shortest: MS, longest: MS * 500, while_busy: MS * 60 };
    let units: Vec<u8> = (0..10).collect();
    let hub = Queue { first: Some(2), ..Queue::of(&[(1, &units), (2, &units)]) };
    let mut cell = Cell::new(idle, hub, vec![Queue::default(), Queue::default()]);
    cell.run(MS * 100, no_loss);
    let units = cell.log.iter().filter(|(_, _, head)| head.kind == Kind::Poll && head.unit);
    let (at, to): (Vec<_>, Vec<u8>) = units.map(|(at, _, head)| (*at, head.to.0)).unzip();
    assert_eq!(to, [[2; 10], [1; 10]].concat());
    // Each takes a poll and its answer.
    assert_eq!((at[0], at[9]), (Instant::START, Instant::START + MS * 18));
}

#[test]
fn who_is_not_preferred_is_asked_for_its_own_units_from_time_to_time() {
    let idle = Idle { shortest: MS, longest: MS * 30, while_busy: MS * 60 };
    let units: Vec<u8> = (0..200).collect();
    let hub = Queue { first: Some(2), ..Queue::of(&[(1, &units), (2, &units)]) };
    let stations = vec![Queue::of(&[(0, &[10, 11, 12])]), Queue::default()];
    let mut cell = Cell::new(idle, hub, stations);
    cell.run(MS * 300, no_loss);
    assert!(cell.hub.1.has_unit(Address(2)), "it was busy all the time");
    assert_eq!(cell.hub.1.got, [10, 11, 12]);
    let polls = cell.polls(1);
    assert!((4..=5).contains(&polls.len()), "{polls:?}");
    for pair in polls.windows(2) {
        let pause = pair[1].saturating_since(pair[0]);
        assert!(pause >= MS * 60 && pause <= MS * 64, "{pause}");
    }
}

#[test]
fn after_a_lost_unit_a_station_with_units_of_its_own_is_asked_for_them_alone() {
    for (units, alone) in [(&[10, 11, 12][..], true), (&[], false)] {
        let hub = Queue::of(&[(1, &[1, 2, 3])]);
        let mut cell = Cell::new(Idle::default(), hub, vec![Queue::of(&[(0, units)])]);
        // The second poll that carries a unit is lost.
        let mut polls = 0;
        cell.run(MS * 100, |_, head| {
            let carries = head.kind == Kind::Poll && head.unit;
            polls += u32::from(carries);
            carries && polls == 2
        });
        let polls = cell.log.iter().filter(|(_, _, head)| head.kind == Kind::Poll);
        let carries: Vec<bool> = polls.map(|(_, _, head)| head.unit).take(4).collect();
        assert_eq!(carries, [true, true, !alone, true], "{units:?}");
        assert_eq!(cell.stations[0].1.got, [1, 2, 3]);
    }
}

#[test]
fn an_acknowledgment_says_whether_a_poll_follows_it_and_alone_goes_to_its_station() {
    let hub = Queue::of(&[(2, &[1, 2, 3, 4])]);
    let stations = vec![Queue::of(&[(0, &[10, 11])]), Queue::default()];
    let mut cell = Cell::new(Idle::default(), hub, stations);
    cell.run(MS * 100, no_loss);
    let mut alone = 0;
    for (index, (_, from, head)) in cell.log.iter().enumerate() {
        if *from != HUB || head.kind != Kind::Ack {
            continue;
        }
        let follows = cell.log.get(index + 1).is_some_and(|(_, next, _)| *next == HUB && head.more);
        let (station, _) = head.ack.as_ref().expect("an ACK");
        assert_eq!(head.more, follows);
        assert_eq!(*station, Address(1), "who sent the unit");
        if !head.more {
            alone += 1;
            assert_eq!(head.to, *station);
        }
    }
    let acks = cell.log.iter().filter(|(_, from, head)| *from == HUB && head.ack.is_some()).count();
    assert_eq!(acks, 2, "{alone} alone");
}

#[test]
fn a_timeout_that_is_not_due_changes_nothing() {
    let peers = [Address(1)];
    let mut hub = Coordinator::new(HUB, &peers, WavelanTiming::WAVELAN, Idle::default());
    let mut above = Queue::default();
    let (due, _) = hub.poll_timeout().expect("a poll is due");
    hub.handle_timeout(Instant::from_nanos(due.as_nanos() - 1), &mut above);
    assert!(hub.poll_transmit().is_none());
    hub.handle_timeout(due, &mut above);
    assert!(hub.poll_transmit().is_some());
    hub.handle_input(due, Input::TransmissionDone, &mut above);
    let (until, why) = hub.poll_timeout().expect("it waits for an answer");
    assert_eq!(why, "no answer to a poll");
    hub.handle_timeout(Instant::from_nanos(until.as_nanos() - 1), &mut above);
    assert_eq!(hub.poll_timeout(), Some((until, why)));
    hub.handle_timeout(until + MS, &mut above);
    assert_ne!(hub.poll_timeout(), Some((until, why)));
}

#[test]
fn what_is_heard_while_a_station_answers_is_a_collision() {
    let mut station = Responder::new(Address(1), HUB, WavelanTiming::WAVELAN);
    let mut above = Queue::of(&[(0, &[10])]);
    let poll = || {
        let head = Head {
            kind: Kind::Poll,
            to: Address(1),
            from: HUB,
            unit: false,
            more: false,
            ack: None,
        };
        Input::Frame(with_head(&head, None), RxVector::wired(Instant::START))
    };
    station.handle_input(Instant::START, poll(), &mut above);
    // The answer is ready, then on its way, then gone.
    station.handle_input(Instant::START, poll(), &mut above);
    assert_eq!(above.useless, [DropReason::Collision]);
    assert!(station.poll_transmit().is_some());
    station.handle_input(Instant::START, poll(), &mut above);
    assert_eq!(above.useless, [DropReason::Collision; 2]);
    station.handle_input(Instant::START, Input::TransmissionDone, &mut above);
    station.handle_input(Instant::START, poll(), &mut above);
    assert_eq!((above.useless.len(), above.silent), (2, 1), "its unit was not acknowledged");
}
