//! Walks: the plan of a track, and the points of a GPX file.

use windfall_apps::tracker::TrackPoint;
use windfall_base::Duration;

/// The most points that a receiver believes in, the longest time between two of them in
/// microseconds (a day), and the greatest speed in m/s (that of light).
const MOST: (u32, u64, f64) = (100_000_000, 86_400_000_000, 299_792_458.0);

/// The plan of a walk: on the wire the number of points (4 bytes), the microseconds between two of
/// them (8), the true speed (8).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrackPlan {
    /// The number of points.
    pub points: u32,
    /// The time between two of them.
    pub spacing: Duration,
    /// The true mean speed, in m/s.
    pub speed: f64,
}

impl TrackPlan {
    /// The length of a plan, in bytes.
    pub const LEN: usize = 20;

    /// The plan as bytes; `None` if no walk is like this.
    #[must_use]
    pub fn to_bytes(self) -> Option<Vec<u8>> {
        let mut plan = Vec::with_capacity(Self::LEN);
        plan.extend(self.points.to_be_bytes());
        plan.extend(self.spacing.as_micros().to_be_bytes());
        plan.extend(self.speed.to_be_bytes());
        Self::from_bytes(&plan).map(|_| plan)
    }

    /// Reads a plan; `None` if no walk is like this.
    #[must_use]
    pub fn from_bytes(plan: &[u8]) -> Option<Self> {
        let (most, longest, light) = MOST;
        let (points, rest) = plan.split_first_chunk::<4>()?;
        let (micros, speed) = rest.split_first_chunk::<8>()?;
        let speed: [u8; 8] = speed.try_into().ok()?;
        let points = u32::from_be_bytes(*points);
        let micros = u64::from_be_bytes(*micros);
        let speed = f64::from_be_bytes(speed);
        let is_walk = (1..=most).contains(&points)
            && (1..=longest).contains(&micros)
            && (0.0..=light).contains(&speed);
        is_walk.then(|| Self { points, spacing: Duration::from_micros(micros), speed })
    }
}

/// The track points of a GPX file, in their order.
///
/// # Errors
/// Says where the text is no GPX, or has too few points.
pub fn read_gpx(text: &str) -> Result<Vec<TrackPoint>, String> {
    let document = roxmltree::Document::parse(text).map_err(|error| {
        let at = error.pos();
        format!("it is no GPX: no XML from line {}, column {} on", at.row, at.col)
    })?;
    let mut points = Vec::new();
    // Names without their namespace, which differs between versions of GPX.
    let is_point =
        |node: &roxmltree::Node<'_, '_>| node.is_element() && node.tag_name().name() == "trkpt";
    for node in document.descendants().filter(is_point) {
        let number = |name: &str| node.attribute(name).and_then(|text| text.parse().ok());
        let point = number("lat").zip(number("lon"));
        let point = point.map(|(latitude, longitude)| TrackPoint { latitude, longitude });
        let at = document.text_pos_at(node.range().start);
        points.push(
            point
                .and_then(|point| TrackPoint::from_bytes(&point.to_bytes()))
                .ok_or_else(|| format!("the point at {at} has no lat and lon that are degrees"))?,
        );
    }
    if points.len() < 2 {
        return Err("it has fewer than two track points (trkpt)".to_owned());
    }
    Ok(points)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_comes_back_and_what_is_no_walk_does_not() {
        let plan = TrackPlan { points: 945, spacing: Duration::from_millis(1000), speed: 1.56 };
        let bytes = plan.to_bytes().expect("a walk");
        assert_eq!(bytes.len(), TrackPlan::LEN);
        assert_eq!(TrackPlan::from_bytes(&bytes), Some(plan));
        for wrong in [
            TrackPlan { points: 0, ..plan },
            TrackPlan { spacing: Duration::ZERO, ..plan },
            TrackPlan { speed: f64::NAN, ..plan },
            TrackPlan { speed: 3e8, ..plan },
        ] {
            assert_eq!(wrong.to_bytes(), None, "{wrong:?}");
        }
        assert_eq!(TrackPlan::from_bytes(&bytes[..19]), None);
    }
}
