//! Where stations stand, and how they move.

use windfall_base::Instant;

/// A point of the plane, in metres.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Position {
    /// Metres east of the origin.
    pub x: f64,
    /// Metres north of the origin.
    pub y: f64,
}

impl Position {
    /// The point (`x`, `y`), in metres.
    #[must_use]
    pub const fn new(x: f64, y: f64) -> Self {
        Self { x, y }
    }

    /// Returns the distance to another point, in metres.
    #[must_use]
    pub fn distance(self, other: Self) -> f64 {
        libm::hypot(self.x - other.x, self.y - other.y)
    }
}

/// The place of a station at any time: straight lines between points, each reached at its time.
///
/// Before the first point and after the last one the station rests there.
#[derive(Clone, Debug, PartialEq)]
pub struct Track {
    points: Vec<(Instant, Position)>,
}

impl Track {
    /// A station that stays where it is.
    #[must_use]
    pub fn fixed(position: Position) -> Self {
        Self { points: vec![(Instant::START, position)] }
    }

    /// A station that walks from point to point.
    ///
    /// `None` without points, if they are not in the order of time, or if a coordinate is no
    /// number.
    #[must_use]
    pub fn walk(points: Vec<(Instant, Position)>) -> Option<Self> {
        let ordered = points.is_sorted_by(|a, b| a.0 < b.0);
        let finite = points.iter().all(|(_, p)| p.x.is_finite() && p.y.is_finite());
        (!points.is_empty() && ordered && finite).then_some(Self { points })
    }

    /// Returns `true` if it ever moves.
    #[must_use]
    pub fn moves(&self) -> bool {
        self.points.iter().any(|(_, point)| *point != self.points[0].1)
    }

    /// Returns the place of the station at `now`.
    #[must_use]
    pub fn at(&self, now: Instant) -> Position {
        let next = self.points.partition_point(|(at, _)| *at <= now);
        match (next.checked_sub(1).map(|last| self.points[last]), self.points.get(next)) {
            (Some((from, a)), Some((to, b))) => {
                let share = (now - from).as_secs_f64() / (*to - from).as_secs_f64();
                Position::new(a.x + share * (b.x - a.x), a.y + share * (b.y - a.y))
            }
            (Some((_, last)), None) => last,
            (None, Some((_, first))) => *first,
            (None, None) => Position::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_is_a_chain_of_straight_lines() {
        let at = |seconds: u64| Instant::from_nanos(seconds * 1_000_000_000);
        let points = vec![
            (at(10), Position::new(0.0, 0.0)),
            (at(20), Position::new(10.0, 0.0)),
            (at(30), Position::new(10.0, 5.0)),
        ];
        let track = Track::walk(points.clone()).expect("it is in order");
        assert!(track.moves());
        assert_eq!(track.at(at(0)), Position::new(0.0, 0.0));
        assert_eq!(track.at(at(15)), Position::new(5.0, 0.0));
        assert_eq!(track.at(at(28)), Position::new(10.0, 4.0));
        assert_eq!(track.at(at(99)), Position::new(10.0, 5.0));
        assert_eq!(Track::walk(points.into_iter().rev().collect()), None);
        assert_eq!(Track::walk(Vec::new()), None);
        assert!(!Track::fixed(Position::new(1.0, 2.0)).moves());
        // Two points at one time, and places that are none.
        let still = (at(1), Position::default());
        assert_eq!(Track::walk(vec![still, still]), None);
        for place in [Position::new(f64::NAN, 0.0), Position::new(0.0, f64::INFINITY)] {
            assert_eq!(Track::walk(vec![(at(1), place)]), None);
        }
        // Back again, on both axes.
        let points = vec![(at(0), Position::new(6.0, 8.0)), (at(10), Position::new(1.0, 3.0))];
        let back = Track::walk(points).expect("it is in order");
        assert_eq!(back.at(at(4)), Position::new(4.0, 6.0));
    }

    #[test]
    fn distances_are_those_between_the_points() {
        assert_eq!(Position::new(1.0, 2.0).distance(Position::new(4.0, 6.0)), 5.0);
        assert_eq!(Position::new(-1.0, 2.0).distance(Position::new(4.0, -10.0)), 13.0);
    }
}
