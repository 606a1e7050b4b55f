use super::FrameFate::{self, Damaged, Intact, Lost};

fn damaged(truncated: Option<u32>, inverted: &[u32]) -> FrameFate {
    Damaged { truncated, inverted: inverted.to_vec() }
}

#[test]
fn a_frame_that_meets_two_fates_has_the_damage_of_both() {
    let both = |before: FrameFate, later: FrameFate| before.and_then(later);
    assert_eq!(both(Intact, Intact), Intact);
    assert_eq!(both(Intact, damaged(None, &[3])), damaged(None, &[3]));
    assert_eq!(both(damaged(None, &[3]), Intact), damaged(None, &[3]));
    assert_eq!(both(damaged(None, &[3]), Lost), Lost);
    assert_eq!(both(Lost, damaged(None, &[3])), Lost);
    assert_eq!(both(damaged(None, &[3, 9]), damaged(None, &[5, 9])), damaged(None, &[3, 5]));
    assert_eq!(both(damaged(None, &[3]), damaged(None, &[3])), Intact);
    assert_eq!(both(damaged(Some(20), &[3]), damaged(None, &[15, 16])), {
        damaged(Some(20), &[3, 15])
    });
    assert_eq!(both(damaged(Some(20), &[]), damaged(Some(8), &[3])), damaged(Some(8), &[3]));
}
