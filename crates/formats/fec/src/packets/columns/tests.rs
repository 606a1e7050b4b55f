use super::*;

/// Returns the coefficients of suspects in equations, of which no few cancel.
fn suspects(count: u8, equations: u8) -> Vec<Vec<u8>> {
    let of = |suspect: u8| (0..equations).map(move |row| 0x80 | row ^ suspect << 3);
    (0..count)
        .map(|suspect| of(suspect).map(|sum| field().div(1, sum).unwrap_or(1)).collect())
        .collect()
}

/// Returns what equations leave over of `errors`: of each the suspect, the place and the value.
fn left_over(suspects: &[Vec<u8>], len: usize, errors: &[(usize, usize, u8)]) -> Vec<Vec<u8>> {
    let mut left = vec![vec![0; len]; suspects[0].len()];
    for (suspect, at, value) in errors {
        for (sum, coefficient) in left.iter_mut().zip(&suspects[*suspect]) {
            sum[*at] ^= field().mul(*coefficient, *value);
        }
    }
    left
}

#[test]
fn two_wrong_bytes_of_a_column_are_told_from_three_equations() {
    for [a, b] in [[0, 1], [2, 7], [0, 7]] {
        let suspects = suspects(8, 3);
        let left = left_over(&suspects, 40, &[(a, 5, 0x21), (b, 5, 0xc4), (b, 31, 7)]);
        let found = examine(&left, &suspects);
        let of = |suspect: usize| found[suspect].candidates(&[0; 40]).next().unwrap();
        let mut wrong_a = vec![0; 40];
        wrong_a[5] = 0x21;
        let mut wrong_b = vec![0; 40];
        wrong_b[5] = 0xc4;
        wrong_b[31] = 7;
        assert_eq!(of(a), wrong_a);
        assert_eq!(of(b), wrong_b);
        let others = (0..8).filter(|it| ![a, b].contains(it));
        assert!(others.into_iter().all(|it| of(it) == [0; 40]), "nothing else is blamed");
    }
}

#[test]
fn two_equations_do_not_tell_two_wrong_bytes_of_a_column() {
    let suspects = suspects(8, 2);
    let left = left_over(&suspects, 40, &[(2, 5, 0x21), (7, 5, 0xc4)]);
    let found = examine(&left, &suspects);
    assert!(found.iter().all(|wrong| wrong.candidates(&[0; 40]).all(|it| it == [0; 40])));
}

#[test]
fn the_second_candidate_has_the_sure_bytes_of_bursts_alone() {
    let wrong = |at, is_sure| WrongByte { at, value: 1, is_sure };
    // The last byte is one too far from the burst before it.
    let burst = [wrong(10, true), wrong(20, false), wrong(20 + NEAR, true)];
    let alone = wrong(burst[2].at + NEAR + 1, true);
    let found = WrongBytes([burst.as_slice(), &[alone]].concat());
    let candidates: Vec<Vec<usize>> = found
        .candidates(&[0; 64])
        .map(|bytes| (0..64).filter(|at| bytes[*at] != 0).collect())
        .collect();
    assert_eq!(candidates, [vec![10, 20, 36, 53], vec![10, 36]]);
}

#[test]
fn two_bytes_are_put_right_if_nothing_is_left_over_in_any_equation() {
    let suspects = suspects(2, 4);
    let answer = |errors: &[(usize, usize, u8)], changed: u8| {
        let sums = left_over(&suspects, 1, errors);
        let mut left: Vec<u8> = sums.iter().map(|sum| sum[0]).collect();
        left[3] ^= changed;
        together(&left, &suspects[0], &suspects[1])
    };
    let both = [(0, 0, 0x21), (1, 0, 0xc4)];
    assert_eq!(answer(&both, 0), Some([0x21, 0xc4]));
    assert_eq!(answer(&both, 1), None, "the last equation says otherwise");
    assert_eq!([answer(&both[..1], 0), answer(&both[1..], 0)], [None, None], "one is wrong");
}
