use super::*;

fn claim(intervals: &[(f64, f64)], recorded: Verdict) -> Claim {
    let claim = Claim::paper("S0.57", "table 1: 1.43", "faster than TCP").recorded(recorded);
    intervals.iter().fold(claim, |claim, &(low, high)| {
        let value = f64::midpoint(low, high);
        let estimate = Estimate { value, low, high, runs: 10 };
        claim.compare("", estimate, Band::from(1.0, "an ordering"))
    })
}

const INSIDE: (f64, f64) = (1.2, 1.5);
const ACROSS: (f64, f64) = (0.8, 1.2);
const OUTSIDE: (f64, f64) = (0.5, 0.9);

#[test]
fn the_intervals_decide() {
    use Verdict::{InPart, NotReproduced, Reproduced};
    for (intervals, expected) in [
        (&[INSIDE, INSIDE][..], Reproduced),
        (&[INSIDE, ACROSS], InPart),
        (&[INSIDE, OUTSIDE], InPart),
        (&[ACROSS], NotReproduced),
        (&[OUTSIDE, ACROSS], NotReproduced),
    ] {
        assert_eq!(claim(intervals, Reproduced).verdict(), expected, "{intervals:?}");
    }
}

#[test]
fn a_quick_run_contradicts_only_by_what_it_shows() {
    use Verdict::{InPart, NotReproduced, Reproduced};
    for (recorded, intervals, agrees) in [
        (Reproduced, &[INSIDE, ACROSS][..], true),
        (Reproduced, &[INSIDE, OUTSIDE], false),
        (InPart, &[ACROSS, ACROSS], true),
        (InPart, &[INSIDE, INSIDE], false),
        (NotReproduced, &[ACROSS, OUTSIDE], true),
        (NotReproduced, &[INSIDE, OUTSIDE], false),
    ] {
        let claim = claim(intervals, recorded);
        assert_eq!(claim.is_as_recorded(Extent::Quick), agrees, "{recorded:?} {intervals:?}");
        let shown = claim.verdict_of(Extent::Quick);
        assert_eq!(shown == recorded, agrees || claim.verdict() == recorded, "{intervals:?}");
    }
}

#[test]
fn a_quick_run_may_fall_on_either_side_of_what_is_undecided() {
    for (intervals, on_full) in [(&[INSIDE][..], false), (&[ACROSS], true), (&[OUTSIDE], true)] {
        let claim = claim(intervals, Verdict::Reproduced).undecided();
        assert!(claim.is_as_recorded(Extent::Quick), "{intervals:?}");
        assert_eq!(claim.is_as_recorded(Extent::Paper), on_full, "{intervals:?}");
        // The many runs of a full one may find it inside.
        assert!(claim.is_as_recorded(Extent::Full), "{intervals:?}");
    }
    let open = claim(&[INSIDE, INSIDE], Verdict::InPart).left_open();
    let on = [Extent::Quick, Extent::Paper, Extent::Full].map(|it| open.is_as_recorded(it));
    assert_eq!(on, [true, false, true]);
    assert!(
        !claim(&[INSIDE, OUTSIDE], Verdict::Reproduced).left_open().is_as_recorded(Extent::Full)
    );
}

#[test]
fn a_full_run_must_have_the_verdict_on_record() {
    assert!(!claim(&[INSIDE, ACROSS], Verdict::Reproduced).is_as_recorded(Extent::Paper));
    assert!(claim(&[INSIDE, ACROSS], Verdict::InPart).is_as_recorded(Extent::Paper));
}

#[test]
fn json_has_null_for_open_ends() {
    let json = claim(&[INSIDE], Verdict::Reproduced).to_json(Extent::Paper);
    assert_eq!(json["comparisons"][0]["due"]["low"], 1.0);
    assert!(json["comparisons"][0]["due"]["high"].is_null());
    assert_eq!(json["paper"], "table 1: 1.43");
    let ours = Claim::ours("S0.24", "as fast").fact("yes", true).to_json(Extent::Paper);
    assert!(ours["paper"].is_null());
}
