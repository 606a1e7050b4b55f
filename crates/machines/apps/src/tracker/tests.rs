use proptest::prelude::*;

use super::*;

//= S0.51
#[test]
fn the_walk_has_the_papers_length_and_speed() {
    let walk = walk();
    assert_eq!(walk.len(), 945);
    assert!((mean_speed(&walk, 1.0) - 1.56).abs() < 1e-3);
    assert!(walk.windows(2).all(|pair| pair[0].distance(pair[1]) < 3.0), "no step is a leap");
}

//= S0.50
#[test]
fn a_clean_run_gives_the_true_speed() {
    let mut tracker = Tracker::new(1.0, SPRINT);
    let walk = walk();
    for (number, point) in walk.iter().enumerate() {
        tracker.take(number as u32, &point.to_bytes());
    }
    let mean = tracker.mean().expect("points arrived");
    assert!((mean - mean_speed(&walk, 1.0)).abs() < 1e-9 && tracker.implausible == 0);
}

//= S0.52
#[test]
fn what_cannot_be_a_place_is_refused() {
    let place = |latitude: f64, longitude: f64| TrackPoint { latitude, longitude }.to_bytes();
    for bytes in
        [place(f64::NAN, 0.0), place(f64::INFINITY, 0.0), place(90.1, 0.0), place(0.0, -181.0)]
    {
        assert_eq!(TrackPoint::from_bytes(&bytes), None);
    }
    assert_eq!(TrackPoint::from_bytes(&[0; 15]), None);
    assert_eq!(TrackPoint::from_bytes(&place(90.0, -180.0)).map(|it| it.latitude), Some(90.0));
}

#[test]
fn a_wrong_beginning_is_given_up() {
    let mut tracker = Tracker::new(1.0, SPRINT);
    tracker.take(0, &TrackPoint { latitude: -10.0, longitude: 5.0 }.to_bytes());
    for (number, point) in walk().iter().enumerate().skip(1) {
        tracker.take(number as u32, &point.to_bytes());
    }
    assert_eq!(tracker.implausible, 3);
    assert!((tracker.mean().expect("points arrived") - 1.56).abs() < 0.01);
}

proptest! {
    //= S0.52
    #[test]
    fn a_corrupted_point_moves_the_average_by_no_more_than_the_bound(
        at in 1_usize..944, bits in prop::collection::vec(0_usize..128, 1..9),
    ) {
        let walk = walk();
        let mut clean = Tracker::new(1.0, SPRINT);
        let mut damaged = Tracker::new(1.0, SPRINT);
        for (number, point) in walk.iter().enumerate() {
            let mut bytes = point.to_bytes();
            clean.take(number as u32, &bytes);
            if number == at {
                bits.iter().for_each(|bit| bytes[bit / 8] ^= 0x80 >> (bit % 8));
            }
            damaged.take(number as u32, &bytes);
        }
        // Two steps touch the point, and each is at most as long as the bound allows.
        let moved = (clean.mean().expect("points") - damaged.mean().expect("points")).abs();
        prop_assert!(moved * 944.0 <= 2.0 * SPRINT, "{moved}");
    }
}
