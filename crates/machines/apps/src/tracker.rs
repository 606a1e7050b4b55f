//! Tracker: positions of a walker, and the mean speed that a receiver makes of those that arrive.
//!
//! Pure: the faces send and receive. A position is latitude and longitude in degrees, two 64-bit
//! numbers (S0.50).

/// The greatest plausible speed in m/s. Olympic sprinters reach 12.2 to 12.4 (S0.52).
pub const SPRINT: f64 = 12.4;
/// Points of the built-in walk, and its mean speed in m/s (S0.51).
pub const WALK: (usize, f64) = (945, 1.56);
/// The mean radius of the earth in metres.
const EARTH: f64 = 6_371_008.8;
/// Refused points in a row that agree with each other until they are believed instead.
const AGREEING: u32 = 3;

/// A position in degrees.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TrackPoint {
    /// North of the equator.
    pub latitude: f64,
    /// East of Greenwich.
    pub longitude: f64,
}

impl TrackPoint {
    /// The length of a written position, in bytes.
    pub const LEN: usize = 16;

    /// Writes the position: two 64-bit numbers in network order.
    #[must_use]
    pub fn to_bytes(self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        bytes[..8].copy_from_slice(&self.latitude.to_be_bytes());
        bytes[8..].copy_from_slice(&self.longitude.to_be_bytes());
        bytes
    }

    /// Reads a position; `None` if it is not one on earth.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (latitude, longitude) = bytes.split_first_chunk::<8>()?;
        let longitude: [u8; 8] = longitude.try_into().ok()?;
        let latitude = f64::from_be_bytes(*latitude);
        let longitude = f64::from_be_bytes(longitude);
        let point = Self { latitude, longitude };
        // NaN lies in no range.
        let on_earth = latitude.abs() <= 90.0 && longitude.abs() <= 180.0;
        on_earth.then_some(point)
    }

    /// The distance to `other` along a great circle, in metres (the haversine formula).
    #[must_use]
    pub fn distance(self, other: Self) -> f64 {
        let cosines = self.latitude.to_radians().cos() * other.latitude.to_radians().cos();
        let chord = haversine(self.latitude, other.latitude)
            + cosines * haversine(self.longitude, other.longitude);
        2.0 * EARTH * chord.sqrt().min(1.0).asin()
    }
}

/// Returns the haversine of the difference between two angles in degrees.
fn haversine(a: f64, b: f64) -> f64 {
    ((b - a).to_radians() / 2.0).sin().powi(2)
}

//= S0.51
/// The built-in walk around a campus: one point a second, as fast on average as the paper's.
#[must_use]
pub fn walk() -> Vec<TrackPoint> {
    let (count, mean) = WALK;
    let origin = TrackPoint { latitude: 47.653, longitude: -122.307 };
    // A walker who strolls and hurries, along a path that winds.
    let steps: Vec<(f64, f64)> = (1..count)
        .map(|second| {
            let t = second as f64;
            let speed = 1.0 + 0.35 * (t / 41.0).sin() + 0.15 * (t / 7.3).cos();
            let heading = t / 150.0 + 0.9 * (t / 53.0).sin();
            (speed * heading.cos(), speed * heading.sin())
        })
        .collect();
    let place = |scale: f64| {
        let mut north = 0.0;
        let mut east = 0.0;
        let mut points = vec![origin];
        for (n, e) in &steps {
            (north, east) = (north + scale * n, east + scale * e);
            let latitude = origin.latitude + (north / EARTH).to_degrees();
            let across = EARTH * origin.latitude.to_radians().cos();
            points.push(TrackPoint {
                latitude,
                longitude: origin.longitude + (east / across).to_degrees(),
            });
        }
        points
    };
    let found = mean_speed(&place(1.0), 1.0);
    place(mean / found)
}

/// The mean speed over points `seconds` apart, in m/s.
#[must_use]
pub fn mean_speed(points: &[TrackPoint], seconds: f64) -> f64 {
    let length: f64 = points.windows(2).map(|pair| pair[0].distance(pair[1])).sum();
    length / (seconds * points.len().saturating_sub(1).max(1) as f64)
}

/// The statistics of the positions that arrive.
#[derive(Clone, Debug)]
pub struct Tracker {
    seconds: f64,
    bound: f64,
    last: Option<(u32, TrackPoint)>,
    refused: Option<(u32, TrackPoint, u32)>,
    metres: f64,
    intervals: u64,
    /// Positions that were taken.
    pub taken: u64,
    /// Positions that cannot be: no place on earth, or too far from the last one.
    pub implausible: u64,
}

impl Tracker {
    /// A tracker of positions `seconds` apart that believes in speeds up to `bound` m/s.
    #[must_use]
    pub fn new(seconds: f64, bound: f64) -> Self {
        let last = None;
        let refused = None;
        Self { seconds, bound, last, refused, metres: 0.0, intervals: 0, taken: 0, implausible: 0 }
    }

    //= S0.26
    //= S0.52
    /// Takes position `number` as it arrived; gives the mean speed if it was believed.
    ///
    /// A position that implies a greater speed than the bound is discarded, and the next believable
    /// one bridges the gap with a straight line. If several discarded ones in a row agree among
    /// themselves, then it was the last believed one that was wrong.
    pub fn take(&mut self, number: u32, bytes: &[u8]) -> Option<f64> {
        let Some(point) = TrackPoint::from_bytes(bytes) else {
            self.implausible += 1;
            return None;
        };
        let Some((before, from)) = self.last else {
            self.last = Some((number, point));
            self.taken += 1;
            return None;
        };
        let gap = number.checked_sub(before).filter(|gap| *gap > 0)?;
        let metres = from.distance(point);
        if metres > self.bound * self.seconds * f64::from(gap) {
            self.implausible += 1;
            self.refuse(number, point);
            return None;
        }
        self.refused = None;
        self.last = Some((number, point));
        self.taken += 1;
        self.metres += metres;
        self.intervals += u64::from(gap);
        self.mean()
    }

    fn refuse(&mut self, number: u32, point: TrackPoint) {
        let agreeing = match self.refused {
            Some((before, other, count))
                if other.distance(point)
                    <= self.bound * self.seconds * f64::from(number.saturating_sub(before)) =>
            {
                count + 1
            }
            _ => 1,
        };
        self.refused = Some((number, point, agreeing));
        if agreeing >= AGREEING {
            self.last = Some((number, point));
            self.refused = None;
        }
    }

    //= S0.50
    /// The mean speed so far, in m/s.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.intervals > 0).then(|| self.metres / (self.intervals as f64 * self.seconds))
    }
}

#[cfg(test)]
mod tests;
