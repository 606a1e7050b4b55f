//! How much of a signal arrives: path loss, walls, shadowing.

use windfall_base::Stream;

use super::place::Position;

/// The speed of light, in metres per second.
pub(super) const LIGHT: f64 = 299_792_458.0;
/// Nearer than this the formulas of a far field say nothing; the loss there is that of this point.
const NEAREST: f64 = 0.1;

/// The loss of a signal with distance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PathLoss {
    /// This loss in decibels between all stations, wherever they are.
    Fixed(f64),
    /// Friis: nothing but distance.
    FreeSpace,
    /// Free space to one metre, from there 10 n dB for each factor of ten.
    LogDistance {
        /// The exponent n: 2 is free space; 1.6 to 1.8 a corridor, 2.6 to 3.3 one floor of offices.
        exponent: f64,
    },
    /// ITU-R P.1238 indoors: 20 lg f + N lg d + L(floors) − 28, in MHz and metres.
    Indoor {
        /// The coefficient N: 28 at home, 30 in offices, 22 in shops.
        coefficient: f64,
        /// The loss of the floors between, in decibels.
        floors: f64,
    },
}

impl PathLoss {
    /// The loss over `metres` at `megahertz`, in decibels.
    #[must_use]
    pub fn decibels(self, metres: f64, megahertz: f64) -> f64 {
        let metres = metres.max(NEAREST);
        let free = |metres: f64| {
            20.0 * (4.0 * core::f64::consts::PI * metres * megahertz * 1e6 / LIGHT).log10()
        };
        match self {
            Self::Fixed(loss) => loss,
            Self::FreeSpace => free(metres),
            Self::LogDistance { exponent } => free(1.0) + 10.0 * exponent * metres.log10(),
            Self::Indoor { coefficient, floors } => {
                20.0 * megahertz.log10() + coefficient * metres.log10() + floors - 28.0
            }
        }
    }
}

/// A wall: takes its loss from each path that crosses it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wall {
    /// The first end of the wall.
    pub from: Position,
    /// The second end of the wall.
    pub to: Position,
    /// The loss through it, in decibels.
    pub loss: f64,
}

impl Wall {
    /// Returns `true` if it stands between two points.
    #[must_use]
    pub fn between(&self, a: Position, b: Position) -> bool {
        // On which side of the line from p to q a point lies.
        let side = |p: Position, q: Position, r: Position| {
            (q.x - p.x) * (r.y - p.y) - (q.y - p.y) * (r.x - p.x)
        };
        side(a, b, self.from) * side(a, b, self.to) < 0.0
            && side(self.from, self.to, a) * side(self.from, self.to, b) < 0.0
    }
}

/// The log-normal loss or gain by furniture and people, on top of the mean.
///
/// It changes with the place: independent between pairs of stations, and along the path of one that
/// moves it is interpolated between independent values each correlation distance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shadowing {
    /// The standard deviation, in decibels: 3 to 8 indoors.
    pub sigma: f64,
    /// The distance over which it becomes another, in metres.
    pub correlation: f64,
}

impl Shadowing {
    /// The loss between two stations, in decibels; negative where the place is a good one.
    ///
    /// `stream` belongs to the pair; `metres` is the distance between the two.
    pub(super) fn decibels(&self, stream: &Stream, metres: f64) -> f64 {
        let place = metres / self.correlation.max(1e-3);
        let knot = place as u64;
        let share = place.fract();
        let normal = |knot: u64| windfall_phy::noise::normal(&mut stream.at(knot));
        // Scaled so that the variance is the same between the knots as on them.
        let scale = libm::hypot(1.0 - share, share);
        self.sigma * ((1.0 - share) * normal(knot) + share * normal(knot + 1)) / scale
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use windfall_base::Seed;

    #[test]
    fn losses_are_those_of_the_books() {
        let loss = |model: PathLoss, metres| model.decibels(metres, 2_437.0);
        assert!((loss(PathLoss::FreeSpace, 1.0) - 40.18).abs() < 0.01);
        assert!((loss(PathLoss::FreeSpace, 10.0) - 60.18).abs() < 0.01);
        let office = PathLoss::Indoor { coefficient: 30.0, floors: 0.0 };
        let table = [(1.0, 39.7), (4.0, 57.8), (6.0, 63.1), (8.0, 66.8), (12.2, 72.3)];
        for (metres, expected) in table {
            assert!((loss(office, metres) - expected).abs() < 0.06, "{metres} m");
        }
        let upstairs = PathLoss::Indoor { coefficient: 30.0, floors: 15.0 };
        assert!((loss(upstairs, 4.0) - loss(office, 4.0) - 15.0).abs() < 1e-9);
        let log = PathLoss::LogDistance { exponent: 3.0 };
        assert!((loss(log, 10.0) - 70.18).abs() < 0.01);
        assert_eq!(loss(log, 0.0), loss(log, 0.05));
    }

    #[test]
    fn a_wall_stands_only_between_those_whom_it_parts() {
        let wall = Wall { from: Position::new(5.0, -1.0), to: Position::new(5.0, 1.0), loss: 5.0 };
        let origin = Position::default();
        assert!(wall.between(origin, Position::new(6.0, 0.0)));
        assert!(!wall.between(origin, Position::new(4.0, 0.0)));
        assert!(!wall.between(origin, Position::new(6.0, 9.0)));
        assert!(!wall.between(Position::new(6.0, 0.5), Position::new(9.0, 0.0)));
        // A path along its end passes, and so does one that ends at it.
        for y in [-1.0, 1.0] {
            assert!(!wall.between(Position::new(0.0, y), Position::new(9.0, y)));
            assert!(!wall.between(Position::new(9.0, y), Position::new(0.0, y)));
        }
        for x in [0.0, 9.0] {
            assert!(!wall.between(Position::new(5.0, 0.0), Position::new(x, 0.0)));
            assert!(!wall.between(Position::new(x, 0.0), Position::new(5.0, 0.0)));
        }
    }

    #[test]
    fn a_wall_stands_between_two_points_if_the_lines_cross_inside_both() {
        let places = [(1.0, 2.0), (4.0, -3.0), (-2.0, 5.0), (7.0, 3.0), (3.0, 4.0), (-4.0, -1.0)];
        let places = places.map(|(x, y)| Position::new(x, y));
        let mut crossings = 0;
        for (i, from) in places.into_iter().enumerate() {
            for (j, to) in places.into_iter().enumerate() {
                for (k, a) in places.into_iter().enumerate() {
                    for (l, b) in places.into_iter().enumerate() {
                        if [j, k, l].contains(&i) || [k, l].contains(&j) || k == l {
                            continue;
                        }
                        // Where a + s (b - a) meets from + t (to - from), by Cramer's rule.
                        let ab = (b.x - a.x, b.y - a.y);
                        let wall = (to.x - from.x, to.y - from.y);
                        let gap = (from.x - a.x, from.y - a.y);
                        let cross = |u: (f64, f64), v: (f64, f64)| u.0 * v.1 - u.1 * v.0;
                        let s = cross(gap, wall);
                        let t = cross(gap, ab);
                        let s = s / cross(ab, wall);
                        let t = t / cross(ab, wall);
                        let crosses = s > 0.0 && s < 1.0 && t > 0.0 && t < 1.0;
                        crossings += u32::from(crosses);
                        assert_eq!(Wall { from, to, loss: 5.0 }.between(a, b), crosses);
                    }
                }
            }
        }
        assert!(crossings > 20, "{crossings}");
    }

    #[test]
    fn shadowing_has_its_deviation_everywhere_on_the_way() {
        let shadowing = Shadowing { sigma: 4.0, correlation: 2.0 };
        for metres in [2.0, 3.0, 3.5] {
            let values =
                (0..4_000).map(|i| shadowing.decibels(&Stream::new(Seed(i), "shadow"), metres));
            let square: f64 = values.map(|value| value * value).sum::<f64>() / 4e3;
            // The variance of 4 000 values is known to 2.2 %; three times that.
            assert!((square / 16.0 - 1.0).abs() < 0.07, "{square}");
        }
    }

    #[test]
    fn shadowing_is_another_value_each_correlation_distance_and_between_them_a_mean() {
        let shadowing = Shadowing { sigma: 4.0, correlation: 2.0 };
        let stream = Stream::new(Seed(3), "shadow");
        let value = |knot| 4.0 * windfall_phy::noise::normal(&mut stream.at(knot));
        let close = |metres: f64, expected: f64| {
            let found = shadowing.decibels(&stream, metres);
            assert!((found - expected).abs() < 1e-9, "{metres} m: {found}, not {expected}");
        };
        close(0.0, value(0));
        close(2.0, value(1));
        close(6.0, value(3));
        // Half way: the mean, whose variance would be half.
        close(5.0, (value(2) + value(3)) / 2.0 * 2_f64.sqrt());
        close(2.5, (0.75 * value(1) + 0.25 * value(2)) / 0.625_f64.sqrt());
    }
}
