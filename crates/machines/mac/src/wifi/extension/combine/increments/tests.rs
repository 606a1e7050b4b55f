use super::*;

fn votes(len: usize, margin: u16) -> Votes {
    Votes { bytes: vec![0; len], margins: vec![margin; len] }
}

/// Bytes that are wrong with the chance *q* each: of a block of 191 there are 191 *q* on average,
/// and 2 (191 *q* + 1.5 deviations) symbols of parity are enough for them nearly always.
#[test]
fn the_parity_asked_for_is_that_of_the_expected_errors() {
    let wanted = |odds: f64| {
        let margin = (STEPS * odds.ln()).round() as u16;
        Parity::default().wanted(&votes(8 * DATA, margin), true)
    };
    let all: Vec<_> = [1e5, 300.0, 50.0, 20.0, 5.0].map(wanted).into();
    assert_eq!(all, [Some(1), Some(1), Some(3), Some(4), None]);
}

#[test]
fn where_nothing_is_known_parity_doubles_until_a_copy_is_cheaper() {
    let mut parity = Parity::default();
    let votes = votes(400, UNKNOWN.into());
    let mut asked = Vec::new();
    while let Some(place) = parity.wanted(&votes, false) {
        asked.push(LEVELS[usize::from(place)]);
        parity.level = place;
    }
    assert_eq!(asked, [8, 16, 32, 64]);
}
