use windfall_base::frame::Tag;

use super::*;
use crate::arbitrary::packet;
use crate::laws;

const WIRE: Port = Port(0);
const UP: Port = Port(1);

/// Passes frames between its two ports, unchanged.
#[derive(Debug, Default)]
struct Bridge {
    waiting: Vec<(Port, Frame)>,
}

impl Node for Bridge {
    fn handle_input(&mut self, _: Instant, port: Port, input: Input) {
        if let Input::Frame(frame, _) = input {
            self.waiting.push((if port == WIRE { UP } else { WIRE }, frame));
        }
    }
    fn handle_timeout(&mut self, _: Instant) {}
    fn poll_transmit(&mut self, _: Instant) -> Option<(Port, Outgoing)> {
        if self.waiting.is_empty() {
            return None;
        }
        let (port, frame) = self.waiting.remove(0);
        Some((port, frame.into()))
    }
    fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        None
    }
}

fn pair(wire: Wire) -> Pair<Bridge, Bridge> {
    Pair::new(Bridge::default(), Bridge::default(), (WIRE, WIRE), wire)
}

fn tags(pair: &Pair<Bridge, Bridge>) -> Vec<(u64, u64)> {
    let tag = |emitted: &Emitted| emitted.outgoing.frame.tag.map_or(0, |Tag(tag)| tag);
    pair.emitted.iter().map(|emitted| (emitted.at.as_micros(), tag(emitted))).collect()
}

#[test]
fn the_bridge_keeps_the_laws() {
    laws::check(laws::Subject::new(2, |_| Bridge::default()));
}

#[test]
fn a_frame_takes_its_air_time_and_the_delay() {
    let rate = Rate::from_mbps(8);
    let mut pair = pair(Wire { rate, ..Wire::perfect(Duration::from_millis(1)) });
    pair.frame(Side::Left, UP, packet(vec![0; 100], 7));
    pair.run_to_rest(10);
    assert_eq!(tags(&pair), [(1_100, 7)]);
}

#[test]
fn chosen_frames_are_lost() {
    let lost = vec![(Side::Left, 1)];
    let mut pair = pair(Wire { lost, ..Wire::perfect(Duration::ZERO) });
    for tag in 0..3 {
        pair.frame(Side::Left, UP, packet(vec![0; 100], tag));
    }
    pair.run_until(Instant::from_nanos(5_000));
    assert_eq!(tags(&pair), [(0, 0), (0, 2)]);
    assert_eq!(pair.now(), Instant::from_nanos(5_000));
}

#[test]
fn a_lossy_wire_loses_its_share() {
    let loss = Probability::new(0.25).unwrap();
    let mut pair = pair(Wire { loss, ..Wire::perfect(Duration::ZERO) });
    for tag in 0..4_000 {
        pair.frame(Side::Right, UP, packet(vec![0; 10], tag));
        pair.run_to_rest(10);
    }
    // Four standard deviations of a binomial of 4000 trials at 0.75: 4 * 27.4.
    assert!(pair.emitted.len().abs_diff(3_000) < 110, "{}", pair.emitted.len());
}
