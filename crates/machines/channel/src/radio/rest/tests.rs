use windfall_base::{Dbm, Frame, Outgoing, Rate, Seed, Stream, Tag, TxVector};
use windfall_wire_link::ieee80211::{MacAddress, PhyRate};

use super::*;
use crate::medium::{Medium, MediumConfig};
use crate::radio::{Position, RadioConfig, RadioStation};

const STATIONS: u16 = 12;

/// The state of the medium as a station knows it from its inputs.
#[derive(Clone, Debug, Default, PartialEq)]
struct Known {
    busy_since: Option<Instant>,
    idle_since: Instant,
    /// The time of others' carrier.
    heard: Duration,
    /// Set if the last reception failed.
    failed: bool,
    reserved: Instant,
    frames: u32,
}

impl Known {
    fn take(&mut self, at: Instant, input: &Input) {
        match input {
            Input::CarrierBusy => self.busy_since = Some(at),
            Input::CarrierIdle => {
                let since = self.busy_since.take().expect("it was busy");
                self.heard += at.saturating_since(since);
                self.idle_since = at;
            }
            Input::CarrierPassed(time) => self.heard += *time,
            Input::ReceptionFailed(_) => self.failed = true,
            Input::Overheard(overheard) => {
                self.failed = !overheard.good;
                let [_, _, low, high] = overheard.head;
                if overheard.good {
                    let micros = u16::from_le_bytes([low, high]).into();
                    self.reserved = self.reserved.max(at + Duration::from_micros(micros));
                }
            }
            Input::Frame(..) => self.frames += 1,
            Input::TransmissionDone => {}
        }
    }

    /// Returns the part that may still matter.
    fn relevant(&self) -> Self {
        let reserved = Some(self.reserved).filter(|until| *until > self.idle_since);
        Self { reserved: reserved.unwrap_or_default(), ..self.clone() }
    }
}

/// A medium, its stations, and how many inputs they were given.
struct Cell {
    medium: Medium,
    known: Vec<Known>,
    given: u32,
    passed: u32,
}

impl Cell {
    fn new(config: RadioConfig) -> Self {
        let medium = Medium::new(MediumConfig::Wifi(Box::new(config)), Seed(1), "air");
        let known = vec![Known::default(); STATIONS.into()];
        Self { medium, known, given: 0, passed: 0 }
    }

    fn take(&mut self, at: Instant, port: Port, input: &Input) {
        self.given += 1;
        self.passed += u32::from(matches!(input, Input::CarrierPassed(_)));
        self.known[usize::from(port.0)].take(at, input);
    }

    fn take_late(&mut self) {
        while let Some((at, port, input)) = self.medium.poll_late() {
            self.take(at, port, &input);
        }
    }

    fn drain(&mut self, now: Instant) {
        self.medium.handle_timeout(now);
        self.take_late();
        while let Some((port, input)) = self.medium.poll_reception(now) {
            self.take(now, port, &input);
        }
    }

    /// Runs up to `until`, with `done` called at each instant.
    fn run(&mut self, until: Instant, mut done: impl FnMut(&mut Self)) {
        while let Some((now, _)) = self.medium.poll_timeout().filter(|(at, _)| *at <= until) {
            self.drain(now);
            done(self);
        }
    }

    fn events(&mut self) -> Vec<(Instant, crate::MediumEvent)> {
        core::iter::from_fn(|| self.medium.poll_event()).collect()
    }
}

/// Stations in a square, so that some hear all others, and some a few of them hardly.
fn square(stream: &mut Stream, metres: u64) -> RadioConfig {
    let mut place = || stream.below(metres * 10) as f64 / 10.0;
    let station = |port| RadioStation {
        address: Some(MacAddress::of_station(port)),
        ..RadioStation::at(Position::new(place(), place()))
    };
    RadioConfig::new((0..STATIONS).map(station).collect())
}

/// Some frame of any kind.
fn frame(stream: &mut Stream, tag: u64) -> Outgoing {
    let mut frame = Frame::packet(vec![0; stream.below(400) as usize]);
    let to = match stream.below(20) {
        0 => MacAddress::BROADCAST,
        _ => MacAddress::of_station(stream.below(u64::from(STATIONS) + 1) as u16),
    };
    let duration = match stream.below(20) {
        0 => 20_000_u16,
        1 => 1_000,
        _ => 44,
    };
    frame.header.extend([8, 0]);
    frame.header.extend(duration.to_le_bytes());
    frame.header.extend(to.0);
    frame.header.extend([0; 14]);
    frame.tag = Some(Tag(tag));
    let rates: [Rate; 3] = [PhyRate::Ofdm54, PhyRate::Ofdm6, PhyRate::Cck11].map(PhyRate::rate);
    let power = Some(Dbm(5.0)).filter(|_| stream.below(30) == 0);
    let rate = Some(rates[stream.below(3) as usize]);
    Outgoing { frame, vector: TxVector { rate, power, ..TxVector::default() } }
}

/// Three stations that hear each other without damage.
fn three() -> Medium {
    let station = |port: u16| RadioStation {
        address: Some(MacAddress::of_station(port)),
        ..RadioStation::at(Position::new(f64::from(port), 0.0))
    };
    let config = RadioConfig::new((0..3).map(station).collect());
    Medium::new(MediumConfig::Wifi(Box::new(config)), Seed(1), "air")
}

/// Sends a frame from station 0, and returns the edges that it causes, in words.
fn edges_of(medium: &mut Medium, at: Instant, to: u16) -> Vec<String> {
    let mut frame = Frame::packet(vec![0; 100]);
    frame.header.extend([8, 0, 44, 0]);
    frame.header.extend(MacAddress::of_station(to).0);
    frame.header.extend([0; 14]);
    medium.handle_transmit(at, Port(0), Outgoing::from(frame));
    let mut edges = Vec::new();
    while let Some((now, _)) = medium.poll_timeout() {
        medium.handle_timeout(now);
        while medium.poll_reception(now).is_some() {}
        edges.extend(core::iter::from_fn(|| medium.poll_edge()).map(|edge| match edge {
            Edge::Busy(_, readers) => format!("busy {}", readers.contains(Port(2))),
            Edge::Idle(_, head, readers) => format!("idle {head:?} {}", readers.contains(Port(2))),
            Edge::Stop(port) => format!("stop {}", port.0),
        }));
    }
    edges
}

#[test]
fn a_station_that_contends_is_told_by_edges_until_a_frame_comes_for_it() {
    let mut medium = three();
    let at = |millis: u64| Instant::START + Duration::from_millis(millis);
    assert!(medium.contend(Port(2)));
    assert!(!medium.contend(Port(2)), "it rests already");
    let for_another = ["busy true", "idle [8, 0, 44, 0] true"];
    assert_eq!(edges_of(&mut medium, at(0), 1), for_another);
    assert_eq!(edges_of(&mut medium, at(10), 1), for_another);
    assert_eq!(edges_of(&mut medium, at(20), 2), ["stop 2"]);
    assert_eq!(edges_of(&mut medium, at(30), 1), [""; 0], "it is told everything");
    assert!(medium.contend(Port(2)), "it may contend again");
}

#[test]
fn a_station_that_the_medium_does_not_have_has_missed_nothing() {
    let mut medium = three();
    medium.rest(Port(3));
    medium.stop_rest(Port(3));
    assert!(!medium.contend(Port(3)));
    assert_eq!(medium.untold(Port(3), Instant::START), Duration::ZERO);
}

#[test]
fn stations_at_rest_learn_in_the_end_what_others_learn_at_once() {
    let mut told = 0;
    let mut late = 0;
    let mut passed = 0;
    for seed in 0..40 {
        let stream = &mut Stream::new(Seed(seed), "rest");
        let config = square(stream, [20, 200, 2_000][seed as usize % 3]);
        let mut usual = Cell::new(config.clone());
        let mut rests = Cell::new(config);
        let mut now = Instant::START;
        for tag in 0..300 {
            now += Duration::from_micros(stream.below([100, 3_000][tag as usize % 2]));
            // Whatever has come for a station, it may rest again at once.
            let rest = |cell: &mut Cell| (0..STATIONS).for_each(|n| cell.medium.rest(Port(n)));
            usual.run(now, |_| {});
            rests.run(now, |cell| {
                let frames: Vec<u32> = cell.known.iter().map(|known| known.frames).collect();
                if frames != [0; STATIONS as usize] {
                    cell.known.iter_mut().for_each(|known| known.frames = 0);
                    rest(cell);
                }
            });
            assert_eq!(usual.events(), rests.events(), "seed {seed}, {now:?}");
            let from = Port(stream.below(STATIONS.into()) as u16);
            let outgoing = frame(stream, tag);
            for cell in [&mut usual, &mut rests] {
                cell.medium.stop_rest(from);
                cell.take_late();
                cell.known.iter_mut().for_each(|known| known.frames = 0);
            }
            let [a, b] = [&usual, &rests].map(|cell| cell.known[usize::from(from.0)].relevant());
            assert_eq!(a, b, "seed {seed}, {from:?}, {now:?}");
            for cell in [&mut usual, &mut rests] {
                cell.medium.handle_transmit(now, from, outgoing.clone());
                cell.drain(now);
            }
            if stream.below(3) == 0 {
                rest(&mut rests);
            }
        }
        let end = now + Duration::from_millis(1);
        for port in (0..STATIONS).map(Port) {
            let heard = |cell: &Cell| {
                let known = &cell.known[usize::from(port.0)];
                let now = known.busy_since.map_or(Duration::ZERO, |at| end.saturating_since(at));
                known.heard + now + cell.medium.untold(port, end)
            };
            assert_eq!(heard(&usual), heard(&rests), "seed {seed}, {port:?}");
        }
        told += usual.given;
        late += rests.given;
        passed += rests.passed;
    }
    assert!(late < told && passed > 1_000, "{late} of {told}, {passed} at once");
}
